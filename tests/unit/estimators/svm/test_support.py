"""What all support vector machines do: words, Grams, several programs, callbacks, budgets, interruption."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mercer.domains import Similarities, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.estimators.svm.support import centered_variance
from mercer.estimators.svm.svc import SVC, NuSVC
from mercer.gram import Auto, Dense, Tiles
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.problems import Status
from mercer.solvers import SMO
from tests.clock import allowed, answers

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 4))
HARD = np.sign(rng.normal(size=3000))  # labels at random: many support vectors, much to do
EASY = np.where(X[:, 0] + 0.5 * rng.normal(size=3000) > 0, 1, 0)
MANY = np.digitize(X[:, 0] + 0.5 * rng.normal(size=3000), [-0.7, 0.0, 0.7])


def test_variance_of_all_numbers():
    A = X[:50] + 3.0
    w = rng.integers(0, 4, size=50).astype(float)
    for storage in (np.asarray, sp.csr_array):
        S = Vectors.pack(storage(A))
        assert centered_variance(S) == pytest.approx(A.var())
        assert centered_variance(S, w) == pytest.approx(np.repeat(A, w.astype(int), axis=0).var())
    far = Vectors.pack(A + 1e8)
    assert centered_variance(far) == pytest.approx(A.var(), rel=1e-6)
    assert centered_variance(Vectors.pack(np.ones((4, 2)))) == 0.0
    assert centered_variance(Vectors.pack(X)) == pytest.approx(X.var())


@pytest.mark.parametrize("word", ["rbf", "laplacian", "poly", "sigmoid"])
@pytest.mark.parametrize("size", [np.finfo(float).max, 1e307, 1e200, 1e-200, 1e-300])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_variances_out_of_range_are_refused(word, size, storage):
    small = np.random.default_rng(1).uniform(-1.0, 1.0, size=(20, 3))
    with pytest.raises(DomainError, match=rf"variance is too {'large' if size > 1 else 'small'} .* Scale the data"):
        SVC(word).fit(storage(size * small), EASY[:20])


@pytest.mark.parametrize("size", [1e150, 1e-150, 1e20])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_gamma_scale_has_the_unit_of_the_data(size, storage):
    small = np.random.default_rng(1).uniform(-1.0, 1.0, size=(20, 3))
    dtype = np.float32 if size == 1e20 else float  # whose squares overflow in float32
    model = SVC("rbf").fit(storage((size * small).astype(dtype)), EASY[:20])
    assert model.kernel_.length_scale == pytest.approx(size * np.sqrt(1.5 * small.var()), rel=1e-6)


def test_constant_data_have_some_gamma():
    model = SVC("rbf").fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    assert model.kernel_ == Gaussian.from_gamma(1.0)
    assert SVC("rbf", gamma="auto").fit(X[:50], EASY[:50]).kernel_ == Gaussian.from_gamma(0.25)


def test_how_k_is_held():
    model, S = SVC(Gaussian(1.0)), Vectors.pack(X[:10])
    assert isinstance(model._gram_spec(Gaussian(1.0), S), Dense)
    assert model._gram_spec(Gaussian(1.0), Vectors.pack(X)) == Tiles(precision="mixed")
    assert SVC(tol=1e-6)._gram_spec(Gaussian(1.0), Vectors.pack(X)) == Tiles(precision="double")
    assert SVC(C=np.inf)._gram_spec(Gaussian(1.0), Vectors.pack(X)) == Tiles(precision="double")
    assert SVC(gram=Auto())._gram_spec(Gaussian(1.0), S) == Dense()
    assert SVC(gram=Tiles())._gram_spec(Gaussian(1.0), S) == Tiles()
    square = Similarities.pack(np.eye(3000))
    assert isinstance(SVC("precomputed")._gram_spec(Gaussian(1.0), square), Dense)


def test_options_go_to_the_solver_or_stand_in_it():
    model = SVC(Gaussian(1.0), tol=1e-4, max_iter=500_000, cache_size=100, shrinking=False).fit(X[:80], EASY[:80])
    assert model.solver_ == SMO(1e-4, 500_000, "100MB", False)
    assert SVC(Gaussian(1.0), max_iter=-1).fit(X[:80], EASY[:80]).solver_.max_iter is None
    for more in ({"tol": 1e-4}, {"max_iter": 5}, {"cache_size": 100}):
        with pytest.raises(ParameterError, match="Write them into the solver"):
            SVC(Gaussian(1.0), solver=SMO(), **more).fit(X[:80], EASY[:80])


def test_large_data_equal_small_ones_in_answer():
    """Tiles above 2048 samples, the stored matrix below: the same machine."""
    one = SVC(Gaussian(2.0)).fit(X, EASY)
    two = SVC(Gaussian(2.0), gram=Dense()).fit(X, EASY)
    assert isinstance(one.gram_, Tiles) and isinstance(two.gram_, Dense)
    np.testing.assert_allclose(one.decision_function(X[:200]), two.decision_function(X[:200]), atol=1e-5)
    assert np.array_equal(one.predict(X), two.predict(X))
    assert one.solution_.state is None and one.solution_.residual <= 1e-3


def test_threads_do_not_change_a_bit():
    for target in (EASY, MANY):
        found = [SVC(Gaussian(2.0), n_threads=threads).fit(X, target) for threads in (1, 2)]
        assert np.array_equal(found[0].dual_coef_, found[1].dual_coef_)
        assert np.array_equal(found[0].intercept_, found[1].intercept_)
        assert np.array_equal(found[0].decision_function(X), found[1].decision_function(X))


def test_the_solution_kept_is_the_worst_of_several():
    with pytest.warns(ConvergenceWarning, match=r"in \d of 6 programs"):
        model = SVC(Gaussian(2.0), C=100.0, max_iter=5).fit(X[:200], MANY[:200])
    assert model.solution_.status is Status.MAX_ITER and model.n_iter_.shape == (6,)


@pytest.mark.timing
@pytest.mark.parametrize("target", ["two", "four"])
def test_a_time_limit_leaves_a_model_and_a_warning(target):
    """Solved for as long as it is given; the model predicts, and tells how far it came."""
    y = HARD if target == "two" else rng.integers(0, 4, size=3000)
    model = SVC(Gaussian(1.0), C=1e5, max_time=0.6)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model.fit(X, y)
    assert time.monotonic() - began < allowed(4.0)
    assert model.fit_status_ == 1 and model.solution_.status is Status.TIME
    assert model.solution_.residual > 1e-3 and np.isfinite(model.solution_.residual)
    assert model.predict(X[:20]).shape == (20,) and np.isfinite(model.decision_function(X[:20])).all()


class Listener:
    """Counts the steps that a fit reports; may ask it to stop."""

    def __init__(self, stop_after=None):
        self.steps, self.stop_after, self.begun, self.ended = 0, stop_after, 0, 0

    def setup(self, estimator=None, context=None, **_):
        pass

    def teardown(self, estimator=None, context=None, **_):
        pass

    def on_fit_task_begin(self, *_, **__):
        self.begun += 1

    def on_fit_task_end(self, *_, **__):
        self.ended += 1
        self.steps += 1
        return self.stop_after is not None and self.steps >= self.stop_after


@pytest.mark.parametrize("target", ["two", "four"])
def test_progress_goes_to_callbacks(target):
    listener = Listener()
    SVC(Gaussian(2.0)).set_callbacks(listener).fit(X, EASY if target == "two" else MANY)
    assert listener.begun == listener.ended == 101  # a hundred steps and the fit itself


def test_a_callback_may_stop_it():
    model = SVC(Gaussian(1.0), C=1e5, max_time=300.0).set_callbacks(Listener(stop_after=20))
    with pytest.warns(ConvergenceWarning, match="stopped"):
        model.fit(X, HARD)
    assert model.fit_status_ == 1


@pytest.mark.timing
@pytest.mark.parametrize("target", ["two", "four"])
def test_an_interrupt_leaves_the_estimator_as_before(target):
    y = HARD if target == "two" else rng.integers(0, 4, size=3000)
    model = SVC(Gaussian(2.0))
    with pytest.warns(ConvergenceWarning):
        SVC(Gaussian(2.0), C=1e6, max_iter=5).fit(X, y)  # compiled now: a compiler does not hear Ctrl-C
    model.fit(X[:300], y[:300]).set_params(C=1e6)
    before = {key: id(value) for key, value in vars(model).items()}

    def unharmed():
        assert {key: id(value) for key, value in vars(model).items()} == before

    assert max(answers(lambda: model.fit(X, y), (0.15, 0.5), 2, unharmed)) <= allowed(0.75)
    assert model.predict(X[:5]).shape == (5,)


def test_the_memory_plan_names_its_buffers():
    plan = SVC(Gaussian(1.0)).memory_plan(100_000, 20)
    assert plan.total < 400 * 2**20 and "working set" in plan.buffers and "Gram matrix" not in plan.buffers
    assert "Gram matrix" in SVC(Gaussian(1.0)).memory_plan(1000, 20).buffers
    wide = SVC(Gaussian(1.0)).memory_plan(100_000, 300)
    assert wide.buffers["row cache"] == 512 * 2**20
    assert "Gram matrix" in SVC(Gaussian(1.0), gram=Dense()).memory_plan(5000, 3).buffers
    with pytest.raises(MemoryError, match="budget"):
        SVC(Gaussian(1.0), gram=Dense(), memory="1MB").fit(X, EASY)


def test_zero_weights_are_found_by_their_place():
    w = np.where(np.arange(100) % 2, 1.0, 0.0)
    model = SVC(Gaussian(1.0)).fit(X[:100], EASY[:100], sample_weight=w)
    assert np.all(model.support_ % 2 == 1)
    assert np.array_equal(model.support_vectors_, X[model.support_])


def test_a_failed_fit_changes_nothing():
    model = NuSVC(Gaussian(1.0), nu=0.1).fit(X[:100], EASY[:100])
    before = {key: id(value) for key, value in vars(model).items()}
    for bad in (X[:99], np.full((100, 4), np.nan)):
        with pytest.raises(ValueError):
            model.fit(bad, EASY[:100])
        assert {key: id(value) for key, value in vars(model).items()} == before


def test_only_the_gaussian_is_predicted_in_float32(monkeypatch):
    """Of others the error is not known, so they are evaluated as the decision function is."""
    for kernel in (Laplacian(1.0), Linear(), Gaussian(1.0) * Laplacian(1.0)):
        model = SVC(kernel).fit(X[:100], EASY[:100])
        np.testing.assert_array_equal(model._quick_values(X[:50]), model.decision_function(X[:50]))


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(Gaussian(1.0), probability=True).fit(X[:200], MANY[:200]).predict_proba(X[:10])


@pytest.mark.parametrize("size", [1e300, 1e39, 1.0, 1e-300])
@pytest.mark.parametrize("gram", [None, Tiles(precision="mixed")], ids=repr)
def test_the_unit_of_the_data_does_not_matter(size, gram):
    """Numbers that float32 cannot hold are computed in float64, in the fit and in predict."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] * X[:, 1] > 0
    expected = SVC().fit(X, y).predict(X)
    assert expected.any() and not expected.all()
    assert np.array_equal(SVC(gram=gram).fit(X * size, y).predict(X * size), expected)

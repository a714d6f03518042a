"""Kernel logistic regression."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import mercer
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators.squares.logistic import KernelLogisticRegression
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum
from mercer.problems import Status
from mercer.solvers import Newton

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
T = rng.normal(size=(40, 4))
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.7 * rng.normal(size=120), [-0.6, 0.5])]
TWO = THREE == "b"
COUNTS = rng.integers(0, 4, 120)


@pytest.mark.parametrize("gram", [None, Dense(), Tiles()], ids=repr)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"C": 50.0},
        {"C": 0.01, "fit_intercept": False},
        {"class_weight": "balanced"},
        {"fit_intercept": False, "class_weight": "balanced"},
    ],
    ids=str,
)
def test_a_linear_kernel_is_scikit_learns_logistic_regression(params, y, gram):
    for weight in (None, COUNTS.astype(float)):
        theirs = LogisticRegression(tol=1e-10, max_iter=10_000, **params).fit(X, y, sample_weight=weight)
        ours = KernelLogisticRegression("linear", gram=gram, tol=1e-9, **params).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_proba(T), theirs.predict_proba(T), atol=1e-6)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-6)
        np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))
        np.testing.assert_allclose(ours.decision_function(T), theirs.decision_function(T), atol=1e-5)


def test_weights_of_classes_by_label():
    weights = {"a": 2.0, "c": 0.5}
    theirs = LogisticRegression(tol=1e-10, max_iter=10_000, class_weight=weights).fit(X, THREE)
    ours = KernelLogisticRegression("linear", class_weight=weights, tol=1e-9).fit(X, THREE)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("gram", [Dense(), Tiles()], ids=repr)
def test_a_weight_is_a_number_of_copies(y, gram):
    for class_weight in (None, "balanced"):
        model = KernelLogisticRegression(C=3.0, gram=gram, class_weight=class_weight, tol=1e-10)
        short = clone(model).fit(X, y, sample_weight=COUNTS)
        long = clone(model).fit(np.repeat(X, COUNTS, axis=0), np.repeat(y, COUNTS))
        assert np.allclose(short.kernel_.length_scale, long.kernel_.length_scale)
        np.testing.assert_allclose(short.predict_proba(T), long.predict_proba(T), atol=1e-8)
        assert (short.dual_coef_[COUNTS == 0] == 0.0).all()


def test_coefficients_tell_how_wrong_the_model_is():
    model = KernelLogisticRegression(Gaussian(1.0), C=4.0, tol=1e-10).fit(X, TWO)
    right = np.where(TWO, *model.predict_proba(X).T[::-1])
    np.testing.assert_allclose(model.dual_coef_, 4.0 * (1.0 - right) * np.where(TWO, 1.0, -1.0), atol=1e-7)
    several = KernelLogisticRegression(Gaussian(1.0), C=4.0, tol=1e-10).fit(X, THREE)
    observed = several.classes_ == THREE[:, None]
    np.testing.assert_allclose(several.dual_coef_, 4.0 * (observed - several.predict_proba(X)), atol=1e-7)


def test_probabilities_and_their_logarithms():
    for y in (TWO, THREE):
        model = KernelLogisticRegression(Gaussian(1.0), C=1e4).fit(X, y)
        P = model.predict_proba(T)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(T)), P, rtol=1e-10)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(T))
    far = KernelLogisticRegression("linear", C=100.0).fit([[-1.0], [1.0]], [0, 1])
    assert np.isfinite(far.predict_log_proba([[1e4]])).all()


def test_fitted_attributes_say_what_was_done():
    model = KernelLogisticRegression().fit(X, THREE)
    assert model.gram_ == Dense() and model.solver_ == Newton(1e-6, 100) and isinstance(model.kernel_, Gaussian)
    assert model.solution_.status is Status.CONVERGED and model.solution_.residual <= 1e-6
    assert model.solution_.state is None and 1 <= model.n_iter_ < 20
    assert model.dual_coef_.shape == (120, 3) and model.intercept_.shape == (3,)
    assert KernelLogisticRegression(Linear()).fit(X, TWO).gram_ == Features()
    with pytest.raises(AttributeError, match="Linear"):
        model.coef_  # noqa: B018


def test_other_data_than_vectors():
    words = ["abab", "abba", "baba", "cdcd", "dcdc", "ccdd", "abcd"] * 3
    labels = [0, 0, 0, 1, 1, 1, 0] * 3
    model = KernelLogisticRegression(Spectrum(2), C=10.0).fit(words, labels)
    np.testing.assert_array_equal(model.predict(["abab", "cdcd"]), [0, 1])
    sparse = KernelLogisticRegression("linear").fit(sp.csr_array(X), TWO)
    dense = KernelLogisticRegression("linear").fit(X, TWO)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(T)), dense.predict_proba(T), atol=1e-6)
    K = Gaussian(1.0)(X)
    given = KernelLogisticRegression("precomputed").fit(K, TWO)
    made = KernelLogisticRegression(Gaussian(1.0)).fit(X, TWO)
    np.testing.assert_allclose(given.predict_proba(Gaussian(1.0)(T, X)), made.predict_proba(T), atol=1e-8)


def test_a_kernel_that_is_definite_conditionally_needs_the_intercept():
    model = KernelLogisticRegression(NegativeDistance(), gram=Dense(), tol=1e-9).fit(X, THREE)
    tiles = KernelLogisticRegression(NegativeDistance(), gram=Tiles(), tol=1e-9).fit(X, THREE)
    np.testing.assert_allclose(model.predict_proba(T), tiles.predict_proba(T), atol=1e-6)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-7)
    with pytest.raises(CapabilityError, match="order"):
        KernelLogisticRegression(NegativeDistance(), fit_intercept=False).fit(X, TWO)


def test_iterations_that_run_out_warn_and_leave_the_best():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = KernelLogisticRegression(Gaussian(0.5), C=1e6, max_iter=1).fit(X, TWO)
    assert model.solution_.status is Status.MAX_ITER and np.isfinite(model.predict_proba(T)).all()


def test_separable_data_and_extreme_penalties():
    y = X[:, 0] > 0
    for C in (1e-10, 1e8):
        model = KernelLogisticRegression("linear", C=C).fit(X, y)
        assert model.solution_.status is Status.CONVERGED and np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"C": 0.0}, ParameterError),
        ({"C": np.inf}, ParameterError),
        ({"tol": 0.0}, ParameterError),
        ({"max_iter": 0}, ParameterError),
        ({"class_weight": "heavy"}, ParameterError),
        ({"class_weight": {"z": 1.0}}, ParameterError),
        ({"solver": Newton(), "tol": 1e-3}, ParameterError),
    ],
    ids=str,
)
def test_bad_parameters(params, error):
    with pytest.raises(error):
        KernelLogisticRegression(**params).fit(X, TWO)


def test_a_class_without_weight():
    with pytest.raises(TargetError, match="no sample of positive weight"):
        KernelLogisticRegression().fit(X, THREE, sample_weight=(THREE != "a").astype(float))


class Saved(KernelLogisticRegression):
    """What a model file holds must be data."""


def test_files_and_pickles_give_the_same_model(tmp_path):
    for y, kernel in ((TWO, Gaussian(1.0)), (THREE, Linear())):
        model = Saved(kernel).fit(X, y)
        mercer.save(model, tmp_path / "model.mercer", force=True)
        for again in (mercer.load(tmp_path / "model.mercer", classes=[Saved]), pickle.loads(pickle.dumps(model))):
            assert (again.predict_proba(T) == model.predict_proba(T)).all()

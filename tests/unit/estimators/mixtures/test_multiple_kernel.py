"""What all learners with several kernels share: the model, its kernel, budgets, files."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import MultipleKernelClassifier, MultipleKernelDetector, MultipleKernelRegressor
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.gram import Dense, FastGauss, IncompleteCholesky, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.mixtures import Alignment, Average, ElasticNet, Given, LpBall, Simplex
from mercer.solvers import MixtureNewton, MixtureTurns

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] > 0, 1, 0)
T, TARGET = rng.normal(size=(9, 3)), X[:, 0] * X[:, 1]
KERNELS = {"first": Gaussian(1.0).on(0), "both": Gaussian(1.0).on((0, 1)), "line": Linear()}
MODELS = {
    "classifier": lambda **more: MultipleKernelClassifier(KERNELS, normalization="variance", **more).fit(X, Y),
    "regressor": lambda **more: MultipleKernelRegressor(KERNELS, normalization="variance", **more).fit(
        X, X[:, 0] * X[:, 1]
    ),
    "detector": lambda **more: MultipleKernelDetector(KERNELS, nu=0.2, normalization="trace", **more).fit(X),
}


def values(model, A):
    return model.decision_function(A) if hasattr(model, "decision_function") else model.predict(A)


@pytest.mark.parametrize("name", MODELS)
def test_the_kernel_is_an_ordinary_one(name):
    """Everything that takes a kernel takes it: a machine of its own with it is the same machine."""
    model = MODELS[name]()
    K = sum(d * s * k(X) for d, s, k in zip(model.weights_, model.scales_, KERNELS.values(), strict=True))
    assert np.allclose(model.kernel_(X), K, rtol=1e-9)
    single = {
        "classifier": lambda: mercer.SVC(model.kernel_).fit(X, Y),
        "regressor": lambda: mercer.SVR(model.kernel_).fit(X, TARGET),
        "detector": lambda: mercer.OneClassSVM(model.kernel_, nu=0.2).fit(X),
    }[name]()
    assert np.allclose(values(single, T), values(model, T), rtol=1e-6, atol=1e-6)
    assert mercer.KernelPCA(model.kernel_, n_components=2).fit_transform(X).shape == (60, 2)


@pytest.mark.parametrize("name", MODELS)
def test_parts_add_up_to_the_function(name):
    model = MODELS[name]()
    parts = model.contributions(T)
    assert parts.shape == (9, 3)
    assert np.allclose(parts.sum(axis=1) + model.intercept_[0], values(model, T), rtol=1e-9, atol=1e-12)
    assert np.isclose(model.contributions_.sum(), 1.0)
    assert np.all(parts[:, model.weights_ == 0.0] == 0.0)
    assert model.support_kernels_ == tuple(n for n, d in zip(KERNELS, model.weights_, strict=True) if d > 0)


@pytest.mark.parametrize("gram", [Tiles(), IncompleteCholesky(60, tol=1e-13), Nystrom(60, random_state=0)], ids=repr)
@pytest.mark.filterwarnings("ignore:IncompleteCholesky")
def test_however_the_grams_are_held(gram):
    held, dense = MODELS["classifier"](gram=gram), MODELS["classifier"](gram=Dense())
    assert np.allclose(held.weights_, dense.weights_, atol=1e-4)
    assert np.allclose(values(held, T), values(dense, T), atol=1e-3)
    parts = held.contributions(T)
    assert np.allclose(parts.sum(axis=1) + held.intercept_[0], values(held, T), atol=1e-9)


@pytest.mark.parametrize(
    "mixture", [Simplex(), Average(), LpBall(2.0), ElasticNet(0.5), Alignment(), Given((1.0, 0.5, 0.0))], ids=repr
)
def test_all_mixtures_are_models(mixture, tmp_path):
    model = MODELS["classifier"](mixture=mixture)
    assert model.solution_.status.converged and model.solution_.residual <= 1e-3
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert np.array_equal(values(again, T), values(model, T))
    assert again.kernel_ == model.kernel_ and again.support_kernels_ == model.support_kernels_
    assert np.array_equal(again.contributions(T), model.contributions(T))


@pytest.mark.parametrize("mixture", [Simplex(), LpBall(1.5), Alignment()], ids=repr)
def test_weights_of_samples_are_repetitions(mixture):
    w = rng.integers(0, 4, size=60)
    index = np.repeat(np.arange(60), w)
    options = dict(mixture=mixture, normalization="variance")
    solver = None if not isinstance(mixture, LpBall) else MixtureTurns(1e-9)
    once = MultipleKernelClassifier(KERNELS, solver=solver, **options).fit(X, Y, sample_weight=w)
    copies = MultipleKernelClassifier(KERNELS, solver=solver, **options).fit(X[index], Y[index])
    # of a gap of 1e-9 weights are exact to its root
    assert np.allclose(once.weights_, copies.weights_, atol=1e-4 if solver else 1e-8)
    assert np.allclose(values(once, T), values(copies, T), atol=1e-3 if solver else 1e-6)


def test_sources_of_different_kinds():
    table = {"gene": ["abab", "bbab", "cddc", "dccd"] * 5, "size": np.arange(20.0)}
    y = np.array([0, 0, 1, 1] * 5)
    model = MultipleKernelClassifier(
        {"gene": Spectrum(2).normalized().on("gene"), "size": Gaussian(3.0).on("size")}
    ).fit(table, y)
    assert model.support_kernels_ == ("gene",) and model.score(table, y) == 1.0
    new = {"gene": ["baba", "dcdc"], "size": [1.0, 2.0]}
    assert model.predict(new).tolist() == [0, 1]
    assert np.all(model.contributions(new)[:, 1] == 0.0)


def test_similarities_that_were_computed_before():
    from mercer.kernels import Precomputed

    K, L = Gaussian(1.0)(X[:, :1]), Gaussian(1.0)(X[:, 1:])
    table = {"first": K, "rest": L}
    given = MultipleKernelClassifier({name: Precomputed().on(name) for name in table}).fit(table, Y)
    direct = MultipleKernelClassifier([Gaussian(1.0).on(0), Gaussian(1.0).on((1, 2))]).fit(X, Y)
    assert np.allclose(given.weights_, direct.weights_, atol=1e-8)
    new = {"first": Gaussian(1.0)(T[:, :1], X[:, :1]), "rest": Gaussian(1.0)(T[:, 1:], X[:, 1:])}
    assert np.allclose(given.decision_function(new), direct.decision_function(T), atol=1e-8)


def test_budgets_are_kept():
    with pytest.raises(MemoryBudgetError, match=r"gram=Tiles\(\)"):
        MultipleKernelClassifier(gram=Dense(), memory="100kB").fit(X, Y)
    model = MultipleKernelClassifier(memory="600kB").fit(X, Y)
    free = MultipleKernelClassifier().fit(X, Y)
    assert np.allclose(model.weights_, free.weights_, atol=1e-4)
    plan = MultipleKernelClassifier(gram=Dense()).memory_plan(1000, 3)
    assert plan.buffers["5 Gram matrices"] == 5 * 8 * 1000**2


def test_a_solver_may_be_given():
    model = MODELS["classifier"](solver=MixtureNewton(1e-6))
    assert model.solution_.residual <= 1e-6
    with pytest.raises(ParameterError, match="Write it into the solver"):
        MODELS["classifier"](solver=MixtureNewton(1e-6), tol=1e-4)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"kernels": []}, ParameterError, "a list of kernels"),
        ({"kernels": "rbf"}, ParameterError, "a list of kernels"),
        ({"kernels": [Gaussian(-1.0)]}, ParameterError, "length_scale"),
        ({"mixture": "simplex"}, ParameterError, "mixture"),
        ({"mixture": LpBall(0.5)}, ParameterError, "p="),
        ({"mixture": Given((1.0,))}, ParameterError, "Give 5 weights"),
        ({"normalization": "unit"}, ParameterError, "trace"),
        ({"gram": FastGauss()}, CapabilityError, "products alone"),
        ({"mixture": LpBall(2.0), "solver": MixtureNewton()}, CapabilityError, "MixtureTurns"),
    ],
)
def test_what_is_refused(options, error, match):
    with pytest.raises(error, match=match):
        MultipleKernelClassifier(**options).fit(X, Y)


def test_alignment_needs_targets():
    with pytest.raises(CapabilityError, match="aligns kernels with targets"):
        MultipleKernelDetector(mixture=Alignment()).fit(X)


def test_single_precision_is_planned_where_double_does_not_fit():
    """Fifty matrices of 200 x 200 in double precision take 16 MB; in single precision they fit into 12."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = MultipleKernelClassifier([Gaussian(w) for w in np.geomspace(0.2, 5.0, 50)], memory="12MB")
    assert model.memory_plan(200, 2).total < 12e6
    model.fit(X, X[:, 0] > 0)
    assert model.solution_.residual <= 1e-3


def test_time_that_is_up_during_the_matrices_names_a_way_that_there_is():
    assert MultipleKernelClassifier.in_parts == "gram=Tiles()"
    with pytest.warns(ConvergenceWarning):
        model = MultipleKernelClassifier(KERNELS, normalization="trace", gram=Tiles(), max_time=1e-9).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_ball_of_a_large_norm_gives_every_kernel_the_weight_one():
    """(m^-1/p, 1]: every kernel with a length, to 1e-7; the machine is then that of the sum."""
    model = MultipleKernelClassifier(KERNELS, mixture=LpBall(1e8), normalization="trace", tol=1e-6).fit(X, Y)
    assert np.all(model.squares_ > 0.0) and np.allclose(model.weights_, 1.0, atol=1e-6)
    whole = MultipleKernelClassifier(KERNELS, mixture=Given((1.0,) * 3), normalization="trace", tol=1e-6).fit(X, Y)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-5)

"""Support vector regression: epsilon-insensitive, nu, Huber and quantile machines."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import ParameterError, TargetError
from mercer.estimators.squares.ridge import KernelRidge
from mercer.estimators.svm.quantile_svr import QuantileSVR
from mercer.estimators.svm.svr import SVR, HuberSVR, NuSVR
from mercer.estimators.tasks.task_machines import MultiTaskSVR
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum
from mercer.losses import Absolute, EpsilonInsensitive, Huber, Pinball
from mercer.problems import Status
from mercer.solvers import SMO, InteriorPoint

MACHINES = [
    (SVR, {"epsilon": 0.1}, EpsilonInsensitive(0.1)),
    (SVR, {"epsilon": 0.0}, Absolute()),
    (NuSVR, {"nu": 0.37}, None),
    (HuberSVR, {"threshold": 0.3}, Huber(0.3)),
    (QuantileSVR, {"quantiles": 0.8}, Pinball(0.8)),
]
NAMES = ["tube", "absolute", "nu", "huber", "quantile"]


def table(name, n=40):
    """Samples and targets, of which some make trouble."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    if name == "duplicates":
        X[n // 2 :] = X[: n // 2]
    elif name == "constant":
        y = np.full(n, 2.5)
    elif name == "equal rows":
        X[:] = 1.0
    return X, y


def objective(model, loss, X, y, w):
    """What is minimised, at the fitted function and bias."""
    f = model.predict(X)
    coef = model.dual_coef_[0]
    norm = coef @ (f[model.support_] - model.intercept_[0])
    if loss is None:
        loss = EpsilonInsensitive(float(model.epsilon_))
        return model.C * (model.nu * w.sum() * model.epsilon_ + w @ loss.value(y, f)) + 0.5 * norm
    return model.C * w @ loss.value(y, f) + 0.5 * norm


@pytest.mark.parametrize(("machine", "options", "loss"), MACHINES, ids=NAMES)
@pytest.mark.parametrize("data", ["random", "duplicates", "constant", "equal rows"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), NegativeDistance()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("C", [1e-6, 1.0, 100.0])
def test_is_the_minimum_of_its_quadratic_program(machine, options, loss, data, kernel, C):
    X, y = table(data)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(y))
    ours = machine(kernel, C, **options).fit(X, y, sample_weight=w)
    theirs = machine(kernel, C, **options, solver=InteriorPoint()).fit(X, y, sample_weight=w)
    assert ours.solution_.status is Status.CONVERGED
    assert np.isclose(objective(ours, loss, X, y, w), objective(theirs, loss, X, y, w), rtol=1e-6, atol=1e-7 * C)
    f, g = (m.predict(X) - m.intercept_[0] for m in (ours, theirs))  # unique; the bias need not be
    np.testing.assert_allclose(f - f.mean(), g - g.mean(), atol=1e-6)


@pytest.mark.parametrize(("machine", "options", "loss"), MACHINES, ids=NAMES)
@pytest.mark.parametrize("data", ["random", "duplicates", "constant", "equal rows"])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Gaussian(1.0), Linear(), NegativeDistance()], ids=repr)
def test_errors_may_cost_very_much(machine, options, loss, data, kernel):
    X, y = table(data, 20)
    w = np.ones(20)
    ours = machine(kernel, 1e6, **options).fit(X, y)
    theirs = machine(kernel, 1e6, **options, solver=InteriorPoint()).fit(X, y)
    assert ours.solution_.status is Status.CONVERGED
    assert objective(ours, loss, X, y, w) <= objective(theirs, loss, X, y, w) * (1.0 + 1e-6) + 1e-2


@pytest.mark.parametrize(("machine", "options", "loss"), MACHINES, ids=NAMES)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_primal_and_dual_meet(machine, options, loss, C):
    """No function has a smaller objective than the dual value, which weak duality puts below all of them."""
    X, y = table("random")
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(y))
    model = machine(Gaussian(1.0), C, **options).fit(X, y, sample_weight=w)
    dual = -model.solution_.trace.objective[-1]
    assert np.isclose(objective(model, loss, X, y, w), dual, rtol=1e-9)
    assert model.solution_.gap <= 1e-9 * C and model.solution_.residual <= 1e-9


@pytest.mark.parity
@pytest.mark.parametrize("C", [0.05, 0.5])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [(SVR, svm.SVR, {"epsilon": 0.2}), (SVR, svm.SVR, {"epsilon": 0.0}), (NuSVR, svm.NuSVR, {"nu": 0.43})],
)
def test_is_libsvm(ours, theirs, options, kernel, C):
    X, y = table("random", 80)
    mine = ours(kernel, C, **options).fit(X, y)
    reference = theirs(kernel=kernel, C=C, tol=1e-10, **options).fit(X, y)  # it holds K in float32
    np.testing.assert_allclose(mine.predict(X), reference.predict(X), atol=2e-6)
    np.testing.assert_allclose(mine.intercept_, reference.intercept_, atol=2e-6)
    assert mine.support_.dtype == reference.support_.dtype and mine.dual_coef_.shape == (1, len(mine.support_))
    assert mine.n_support_.shape == (1,) and mine.fit_status_ == 0 and isinstance(mine.n_iter_, int)
    np.testing.assert_array_equal(mine.support_vectors_, X[mine.support_])
    if kernel == "linear":
        np.testing.assert_allclose(mine.coef_, reference.coef_, atol=2e-6)
    else:
        assert not hasattr(mine, "coef_")


@pytest.mark.parametrize(("machine", "options", "loss"), MACHINES, ids=NAMES)
def test_weights_are_repetitions(machine, options, loss):
    X, y = table("random", 60)
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), weight)
    once = machine(C=3.0, **options).fit(X, y, sample_weight=weight)
    often = machine(C=3.0, **options).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(once.predict(X), often.predict(X), atol=1e-6)
    assert not np.isin(once.support_, np.flatnonzero(weight == 0)).any()


@pytest.mark.parametrize(("machine", "options", "loss"), MACHINES, ids=NAMES)
def test_kernels_may_be_shifted(machine, options, loss):
    """Adding g(x) + g(x') + c to the kernel changes nothing but the bias, since the coefficients sum to zero."""
    X, y = table("random")
    K, g = Gaussian(1.0)(X), X[:, 1]
    moved = K + g[:, None] + g[None, :] + 3.0
    plain = machine("precomputed", 2.0, **options).fit(K, y)
    shifted = machine("precomputed", 2.0, **options).fit(moved, y)
    np.testing.assert_allclose(plain.predict(K), shifted.predict(moved), atol=1e-7)
    np.testing.assert_allclose(plain.predict(K), machine(Gaussian(1.0), 2.0, **options).fit(X, y).predict(X), atol=1e-9)


@pytest.mark.parametrize(("machine", "options", "loss"), MACHINES, ids=NAMES)
def test_any_domain(machine, options, loss):
    words = ["abcab", "bcabc", "cabca", "xyzxy", "yzxyz", "zxyzx"]
    model = machine(Spectrum(2), 50.0, **options).fit(words, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    low, high = model.predict(["xyxyz", "abcbc"])
    assert low < high
    X, y = table("random")
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = (machine(Gaussian(1.0), **options).fit(A, y) for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.predict(X), sparse.predict(sp.csr_array(X)), atol=1e-9)


def test_grams_agree():
    X, y = make_friedman1(2100, random_state=0)
    models = [SVR("rbf", gram=gram).fit(X, y) for gram in (None, Dense())]
    assert isinstance(models[0].gram_, Tiles)
    np.testing.assert_allclose(models[0].predict(X[:200]), models[1].predict(X[:200]), atol=1e-3)


@pytest.mark.parametrize("machine", [SVR, NuSVR, HuberSVR])
def test_several_outputs_are_several_machines(machine):
    X, y = table("random")
    Y = np.column_stack([y, X[:, 0] ** 2, -y])
    model = machine(Gaussian(1.0)).fit(X, Y)
    apart = [machine(Gaussian(1.0)).fit(X, column) for column in Y.T]
    np.testing.assert_allclose(model.predict(X), np.column_stack([m.predict(X) for m in apart]), atol=1e-9)
    assert model.dual_coef_.shape == (3, len(model.support_)) and model.intercept_.shape == (3,)
    assert model.n_iter_.shape == (3,)
    if machine is NuSVR:
        np.testing.assert_allclose(model.epsilon_, [m.epsilon_ for m in apart])
    assert machine(Gaussian(1.0)).fit(X, Y[:, :1]).predict(X).shape == (len(X), 1)


@pytest.mark.parametrize("machine", [SVR, QuantileSVR])
def test_the_same_bits_for_any_number_of_threads(machine):
    X, y = make_friedman1(2100, random_state=0)
    model = machine() if machine is SVR else machine(quantiles=(0.2, 0.8))
    y = np.column_stack([y, -2 * y]) if machine is SVR else y
    one, two = (model.set_params(n_threads=n).fit(X, y).expansion_ for n in (1, 2))
    assert np.array_equal(one.coef, two.coef) and np.array_equal(one.intercept, two.intercept)


@pytest.mark.parametrize(("machine", "options", "loss"), MACHINES, ids=NAMES)
def test_matrices_have_samples_without_weight(machine, options, loss):
    X, y = table("random")
    weight = np.arange(40) % 3
    K = Gaussian(1.0)(X)
    ours = machine("precomputed", **options).fit(K, y, sample_weight=weight)
    theirs = machine(Gaussian(1.0), **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(K), theirs.predict(X), atol=1e-9)
    assert np.array_equal(ours.support_, theirs.support_)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8, 1.0])
def test_nu_bounds_errors_and_support_vectors(nu):
    X, y = table("random", 200)
    w = np.random.default_rng(0).choice([1.0, 2.0], size=200)
    model = NuSVR(Gaussian(1.0), 10.0, nu=nu).fit(X, y, sample_weight=w)
    outside = np.abs(y - model.predict(X)) > model.epsilon_ + 1e-9
    assert w[outside].sum() <= nu * w.sum() + 1e-9
    assert w[model.support_].sum() >= nu * w.sum() - 1e-9
    tube = SVR(Gaussian(1.0), 10.0, epsilon=float(model.epsilon_)).fit(X, y, sample_weight=w)
    if nu < 1.0:
        np.testing.assert_allclose(tube.predict(X), model.predict(X), atol=1e-6)


def test_huber_lies_between_ridge_and_absolute():
    X, y = table("random")
    C = 5.0
    wide = HuberSVR(Gaussian(1.0), C, threshold=100.0).fit(X, y)
    ridge = KernelRidge(Gaussian(1.0), alpha=100.0 / C, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(wide.predict(X), ridge.predict(X), atol=1e-8)
    narrow = HuberSVR(Gaussian(1.0), C, threshold=1e-7).fit(X, y)
    np.testing.assert_allclose(narrow.predict(X), SVR(Gaussian(1.0), C, epsilon=0.0).fit(X, y).predict(X), atol=1e-4)


def test_outliers_pull_no_harder_for_being_far():
    X, y = table("random")
    for machine in (SVR, HuberSVR, QuantileSVR):
        fits = []
        for size in (1e2, 1e4):
            y[3] = size
            fits.append(machine(Gaussian(1.0)).fit(X, y).predict(X))
        np.testing.assert_allclose(*fits, atol=1e-7)


def test_limits_are_told():
    X, y = table("random", 100)
    with pytest.warns(ConvergenceWarning, match="iterations"):
        model = SVR(Gaussian(1.0), 1e3, max_iter=3).fit(X, y)
    assert model.fit_status_ == 1 and model.n_iter_ == 3 and model.solution_.residual > 1e-3
    with pytest.warns(ConvergenceWarning, match="2 of 2 programs"):
        SVR(Gaussian(1.0), 1e3, max_iter=3).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ParameterError, match="options of the default solver"):
        SVR(tol=1e-5, solver=SMO()).fit(X, y)


def test_what_is_refused():
    X, y = table("random")
    for wrong in ({"epsilon": -0.1}, {"C": 0.0}, {"C": np.nan}, {"tol": 0.0}):
        with pytest.raises(ParameterError):
            SVR(**wrong).fit(X, y)
    for quantiles in (0.0, 1.0, (), (0.5, 1.5), "half", [[0.1], [0.2]], None):
        with pytest.raises(ParameterError, match="quantiles"):
            QuantileSVR(quantiles=quantiles).fit(X, y)
    with pytest.raises(ParameterError, match="nu"):
        NuSVR(nu=0.0).fit(X, y)
    with pytest.raises(ParameterError, match="threshold"):
        HuberSVR(threshold=0.0).fit(X, y)
    with pytest.raises(ParameterError, match="crossing"):
        QuantileSVR(crossing="maybe").fit(X, y)
    with pytest.raises(TargetError):
        QuantileSVR().fit(X, np.column_stack([y, y]))
    assert SVR(Gaussian(1.0)).memory_plan(10_000, 10).total > 0


@pytest.mark.parametrize("data", ["random", "constant"])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), NegativeDistance()], ids=lambda k: type(k).__name__)
def test_a_tube_without_errors_is_that_of_every_c_that_no_coefficient_reaches(kernel, data):
    X, y = table(data)
    hard = SVR(kernel, np.inf, epsilon=0.1).fit(X, y)
    assert hard.solution_.status is Status.CONVERGED
    assert np.abs(hard.predict(X) - y).max() <= 0.1 + 1e-6
    largest = max(1.0, np.abs(hard.dual_coef_).max(initial=0.0))
    soft = SVR(kernel, 10.0 * largest, epsilon=0.1, solver=InteriorPoint()).fit(X, y)
    np.testing.assert_allclose(hard.predict(X), soft.predict(X), atol=1e-5)


def test_without_errors_and_without_a_tube_it_interpolates():
    X, y = table("random")
    hard = SVR(Gaussian(0.3), np.inf, epsilon=0.0).fit(X, y)
    K, one = Gaussian(0.3)(X), np.ones((len(y), 1))
    coef = np.linalg.solve(np.block([[K, one], [one.T, np.zeros((1, 1))]]), np.r_[y, 0.0])
    np.testing.assert_allclose(hard.predict(X), y, atol=1e-6)
    new = X + 0.1
    np.testing.assert_allclose(hard.predict(new), Gaussian(0.3)(new, X) @ coef[:-1] + coef[-1], atol=1e-6)


@pytest.mark.parametrize("columns", [1, 2])
def test_a_tube_that_no_function_stays_in_is_refused(columns):
    X, y = table("random")
    several = y if columns == 1 else np.column_stack([X[:, 0], y])
    with pytest.raises(TargetError, match=r"C=inf was given, and no function of Linear\(\) stays within epsilon=0.1"):
        SVR(Linear(), np.inf).fit(X, several)
    SVR(Linear(), np.inf, epsilon=2.0 * np.abs(y).max()).fit(X, several)


@pytest.mark.parametrize("machine", [NuSVR, HuberSVR, QuantileSVR])
def test_machines_without_a_tube_need_a_finite_c(machine):
    with pytest.raises(ParameterError, match="C must be a finite number"):
        machine(C=np.inf).fit(*table("random"))


def test_the_default_tube_is_in_the_unit_of_the_targets():
    X, y = table("random")
    Y = np.column_stack([y, 1e6 * y - 7e5])
    with_unit = SVR(Gaussian("columns"), C=3.0, epsilon=0.1, tol=1e-9).fit(X, (y - y.mean()) / y.std())
    expected = y.mean() + y.std() * with_unit.predict(X)
    for scale in (1.0, 1e-6, 1e6):
        model = SVR(tol=1e-9).fit(X, scale * y)
        np.testing.assert_allclose([model.C_, model.epsilon_], scale * y.std() * np.array([3.0, 0.1]))
        np.testing.assert_allclose(model.predict(X) / scale, expected, atol=1e-7)  # 100 times the violation allowed
    several = SVR(tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(several.C_, 3.0 * Y.std(axis=0))
    np.testing.assert_allclose(several.predict(X), np.column_stack([expected, 1e6 * expected - 7e5]), rtol=1e-6)


@pytest.mark.parametrize(
    ("machine", "sizes"),
    [
        (NuSVR, {"C": 3.0}),
        (HuberSVR, {"C": 3.0, "threshold": 0.3}),
        (QuantileSVR, {"C": 6.0}),
        (MultiTaskSVR, {"C": 3.0, "epsilon": 0.1}),
    ],
)
def test_default_sizes_of_the_whole_family_are_in_the_unit_of_the_targets(machine, sizes):
    X, y = table("random")
    given = machine(Gaussian("columns"), **sizes, tol=1e-9).fit(X, (y - y.mean()) / y.std())
    expected = y.mean() + y.std() * given.predict(X)
    for scale in (1e-6, 1e6):
        model = machine(tol=1e-9).fit(X, scale * y)
        told = [getattr(model, f"{name}_") for name in sizes]
        np.testing.assert_allclose(told, scale * y.std() * np.array([*sizes.values()]))
        np.testing.assert_allclose(model.predict(X) / scale, expected, atol=1e-7)  # 100 times the violation allowed
    plain = machine("rbf").fit(X, y)
    usual = {"C": 1.0, "threshold": 1.0, "epsilon": 0.1}
    assert [getattr(plain, f"{name}_") for name in sizes] == [usual[name] for name in sizes]


def test_the_default_median_is_that_of_a_tube_of_no_width():
    X, y = table("random")
    a, b = QuantileSVR(tol=1e-9).fit(X, y), SVR(epsilon=0.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(a.C_, 2.0 * b.C_)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-7 * y.std())  # the same program, to 100 times tol


def test_a_kernel_or_a_number_that_is_given_means_what_it_means_in_scikit_learn():
    X, y = table("random")
    for kernel in ("rbf", Gaussian(1.0)):
        model = SVR(kernel).fit(X, 10.0 * y)
        assert (model.C_, model.epsilon_) == (1.0, 0.1)
        model = SVR(kernel, "spread", epsilon="spread").fit(X, 10.0 * y)
        np.testing.assert_allclose([model.C_, model.epsilon_], [30.0 * y.std(), y.std()])
    model = SVR(C=2.0, epsilon=0.3).fit(X, 10.0 * y)
    assert (model.C_, model.epsilon_) == (2.0, 0.3)


def test_weights_are_repetitions_in_the_default_tube():
    X, y = table("random")
    weight = np.arange(len(y)) % 3
    again = np.repeat(np.arange(len(y)), weight)
    a, b = SVR(tol=1e-9).fit(X, y, sample_weight=weight), SVR(tol=1e-9).fit(X[again], y[again])
    np.testing.assert_allclose([a.C_, a.epsilon_], [b.C_, b.epsilon_])
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-7)  # 100 times the violation allowed


@pytest.mark.parametrize("y", [0.0, 0.1, -1e300, 5e-324, "tiny", "large"])
def test_targets_without_a_spread_or_at_the_ends_of_the_range(y):
    X, shape = table("random")
    y = np.full(len(shape), y) if isinstance(y, float) else shape * (1e-280 if y == "tiny" else 1e280)
    model = SVR().fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    if (y == y[0]).all():
        assert (model.C_, model.epsilon_) == (3.0, 0.1)
        np.testing.assert_allclose(model.predict(X), y, atol=0.1)
    else:
        unit = y[0] / shape[0]
        np.testing.assert_allclose(model.predict(X) / unit, SVR().fit(X, shape).predict(X), atol=1e-2)  # tol is 1e-3

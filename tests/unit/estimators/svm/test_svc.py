"""SVC, NuSVC and MarginBoundSVC: against scikit-learn, against their definitions, and at the edges."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import CapabilityError, DegenerateWarning, ParameterError, TargetError
from mercer.estimators.svm.svc import SVC, MarginBoundSVC, NuSVC
from mercer.kernels import Gaussian, Laplacian, Linear, NegativeDistance, Polynomial, Sigmoid, ThinPlate
from mercer.solvers import SMO

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER[0])[:300], CANCER[1][:300]
DIGITS = tuple(part[:400] for part in load_digits(return_X_y=True))
SETS = {"iris": IRIS, "cancer": CANCER, "digits": DIGITS}

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, 0)
Y3 = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
NEW = rng.normal(size=(40, 3))

MACHINES = {
    "SVC": lambda **o: SVC(Gaussian(1.0), **o),
    "squared hinge": lambda **o: SVC(Gaussian(1.0), loss="squared_hinge", **o),
    "NuSVC": lambda **o: NuSVC(Gaussian(1.0), nu=0.3, **o),
    "MarginBoundSVC": lambda **o: MarginBoundSVC(Gaussian(1.0), C=0.2, **o),
}
machines = pytest.mark.parametrize("machine", MACHINES)


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([SVC(multi_class="ovr"), SVC(probability=True)])
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DegenerateWarning)  # random labels leave nu-machines no margin
        check(estimator)


# scikit-learn -------------------------------------------------------------------------------------------


def pairs_of_models(name):
    C, gamma = {"iris": (1.0, 0.5), "cancer": (1.0, 0.02), "digits": (3.0, 1e-3)}[name]
    more = {
        "rbf": {"kernel": "rbf", "gamma": gamma, "C": C},
        "scale": {"kernel": "rbf", "gamma": "scale", "C": C},
        "linear": {"kernel": "linear", "C": 0.01 * C},
        "poly": {"kernel": "poly", "degree": 2, "gamma": "scale", "coef0": 1.0, "C": C},
        "balanced": {"kernel": "rbf", "gamma": "scale", "class_weight": "balanced", "C": C},
        "dict": {"kernel": "rbf", "gamma": "scale", "class_weight": {0: 2.0, 1: 0.5}, "C": C},
    }
    for words in more.values():
        yield SVC(**words), sklearn.svm.SVC(**words, tol=1e-9)
    # a nu at which both classes have free variables: elsewhere any bias of an interval is right
    yield NuSVC("rbf", nu=0.13, gamma="scale"), sklearn.svm.NuSVC(nu=0.13, kernel="rbf", gamma="scale", tol=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("which", range(7))
def test_fitted_attributes_are_those_of_scikit_learn(name, which):
    A, y = SETS[name]
    ours, theirs = list(pairs_of_models(name))[which]
    ours.fit(A, y)
    theirs.fit(A, y)
    close = 1e-5
    if type(ours) is NuSVC and name == "digits":
        close = 1e-3  # decision values divided by a small margin
    for shape in ("ovo", "ovr"):
        ours.set_params(decision_function_shape=shape)
        theirs.set_params(decision_function_shape=shape)
        np.testing.assert_allclose(ours.decision_function(A), theirs.decision_function(A), atol=close, rtol=close)
    assert np.array_equal(ours.predict(A), theirs.predict(A))
    assert np.array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=close, rtol=close)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours.intercept_.shape == theirs.intercept_.shape and ours.fit_status_ == theirs.fit_status_ == 0
    # vectors whose coefficient is rounding in one of the two may be support vectors in one alone
    assert ours.dual_coef_.shape == (len(ours.classes_) - 1, len(ours.support_))
    assert ours.support_.dtype == theirs.support_.dtype and ours.n_support_.dtype == theirs.n_support_.dtype
    assert np.array_equal(ours.support_vectors_, A[ours.support_])
    assert ours.n_support_.sum() == len(ours.support_)
    codes = np.searchsorted(ours.classes_, y[ours.support_])
    assert np.all(np.diff(codes) >= 0) and np.array_equal(np.bincount(codes), ours.n_support_)
    ends = np.cumsum(ours.n_support_)[:-1]
    assert all(np.all(np.diff(part) > 0) for part in np.split(ours.support_, ends))
    if ours.kernel != "linear":  # whose coefficients are not unique
        wide = [np.zeros((len(ours.classes_) - 1, len(y))) for _ in range(2)]
        wide[0][:, ours.support_], wide[1][:, theirs.support_] = ours.dual_coef_, theirs.dual_coef_
        np.testing.assert_allclose(wide[0], wide[1], atol=1e-3 * max(1.0, np.abs(wide[1]).max()))
        assert abs(len(ours.support_) - len(theirs.support_)) <= 2
    else:
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=close, rtol=1e-4)


def test_the_fitted_function_is_what_the_attributes_say():
    model = SVC(Gaussian(1.0)).fit(X, Y)
    K = Gaussian(1.0)(NEW, model.support_vectors_)
    np.testing.assert_allclose(model.decision_function(NEW), K @ model.dual_coef_[0] + model.intercept_[0], atol=1e-12)


@pytest.mark.filterwarnings("ignore::mercer.errors.IndefiniteWarning")
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.05])
@pytest.mark.parametrize("word", ["rbf", "poly", "sigmoid"])
def test_words_mean_what_they_mean_there(word, gamma):
    A, y = CANCER
    options = {"kernel": word, "gamma": gamma, "C": 0.5}
    ours, theirs = SVC(**options).fit(A, y), sklearn.svm.SVC(**options, tol=1e-9).fit(A, y)
    f, g = ours.decision_function(A), theirs.decision_function(A)
    if word == "sigmoid":  # not definite: several optima, and none need be found
        assert np.mean((f > 0) == (g > 0)) > 0.95
    else:
        np.testing.assert_allclose(f, g, atol=1e-4 * max(1.0, np.abs(g).max()))


def test_sigmoid_says_that_it_is_not_definite():
    with pytest.warns(UserWarning, match="not positive definite"):
        SVC("sigmoid").fit(X, Y)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_precomputed_similarities(scheme):
    K, test = Gaussian(1.0)(X), Gaussian(1.0)(NEW, X)
    for target in (Y, Y3):
        direct = SVC(Gaussian(1.0), multi_class=scheme).fit(X, target)
        given = SVC("precomputed", multi_class=scheme).fit(K, target)
        np.testing.assert_allclose(given.decision_function(test), direct.decision_function(NEW), atol=1e-9)
        assert np.array_equal(given.predict(test), direct.predict(NEW))
        assert np.array_equal(given.support_, direct.support_)
    theirs = sklearn.svm.SVC(kernel="precomputed", tol=1e-9).fit(K, Y)
    ours = SVC("precomputed").fit(K, Y)
    np.testing.assert_allclose(ours.decision_function(test), theirs.decision_function(test), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", Laplacian(2.0)], ids=repr)
def test_sparse_is_dense(kernel):
    A, y = DIGITS
    sparse = sp.csr_array(A)
    one, two = SVC(kernel).fit(A, y), SVC(kernel).fit(sparse, y)
    np.testing.assert_allclose(two.decision_function(sparse), one.decision_function(A), atol=1e-6)
    np.testing.assert_allclose(two.decision_function(A), one.decision_function(A), atol=1e-6)
    assert np.array_equal(two.predict(sparse), one.predict(A))
    assert sp.issparse(two.support_vectors_)
    if kernel == "linear":
        np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-9)


def test_coef_belongs_to_the_linear_kernel():
    assert not hasattr(SVC(Gaussian(1.0)).fit(X, Y), "coef_")
    assert not hasattr(SVC(Linear()), "coef_")
    assert SVC(Linear()).fit(X, Y).coef_.shape == (1, 3)
    assert SVC(Linear()).fit(X, Y3).coef_.shape == (3, 3)


# weights ------------------------------------------------------------------------------------------------


@machines
@pytest.mark.parametrize("target", ["two", "three"])
@pytest.mark.parametrize("seed", range(3))
def test_a_weight_is_a_repetition(machine, target, seed):
    """To 1e-6 at the default tolerance, weights of zero included; default kernels and words learn from weights too."""
    y = Y if target == "two" else Y3
    w = np.random.default_rng(seed).integers(0, 4, size=60)
    w[[np.flatnonzero(y == c)[0] for c in np.unique(y)]] = 1
    make = MACHINES[machine]
    weighted = make().fit(X, y, sample_weight=w)
    repeated = make().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-6)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6)
    assert not np.isin(weighted.support_, np.flatnonzero(w == 0)).any()


@pytest.mark.parametrize("kernel", [None, "rbf", "poly"])
@pytest.mark.parametrize(
    "options", [{}, {"class_weight": "balanced"}, {"C": 100.0}, {"loss": "squared_hinge"}], ids=repr
)
def test_kernels_learn_from_weights_as_from_repetitions(kernel, options):
    w = np.random.default_rng(5).integers(0, 4, size=60)
    weighted = SVC(kernel, **options).fit(X, Y, sample_weight=w)
    repeated = SVC(kernel, **options).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-6)


@pytest.mark.parametrize("C", [1e-5, 1e-3])
def test_a_weight_is_a_repetition_where_nothing_is_free(C):
    w = np.random.default_rng(1).integers(1, 4, size=60)
    weighted = SVC(Gaussian(1.0), C=C).fit(X, Y, sample_weight=w)
    repeated = SVC(Gaussian(1.0), C=C).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-6)


@machines
def test_a_weight_of_zero_leaves_a_sample_out(machine):
    w = np.where(np.arange(60) % 3, 1.0, 0.0)
    kept = np.flatnonzero(w)
    one, two = MACHINES[machine]().fit(X, Y, sample_weight=w), MACHINES[machine]().fit(X[kept], Y[kept])
    np.testing.assert_allclose(one.decision_function(NEW), two.decision_function(NEW), atol=1e-9)
    assert np.array_equal(one.support_, kept[two.support_])


def test_a_class_without_weight_is_refused():
    with pytest.raises(TargetError, match="no sample of positive weight"):
        SVC(Gaussian(1.0)).fit(X, Y, sample_weight=Y)


def test_class_weights_multiply_sample_weights():
    w = rng.uniform(0.5, 2.0, 60)
    by_class = SVC(Gaussian(1.0), class_weight={1: 3.0}).fit(X, Y, sample_weight=w)
    by_hand = SVC(Gaussian(1.0)).fit(X, Y, sample_weight=w * np.where(Y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(NEW), by_hand.decision_function(NEW), atol=1e-8)
    for bad in ({1: -1.0}, {1: np.nan}, {1: True}, {1: "x"}, {7: 1.0}):
        with pytest.raises(ParameterError, match="class_weight"):
            SVC(Gaussian(1.0), class_weight=bad).fit(X, Y)


# edges --------------------------------------------------------------------------------------------------


@machines
def test_one_class_with_one_point(machine):
    y = np.zeros(60, int)
    y[7] = 1
    A = np.vstack([X[:7], [[4.0, 4.0, 4.0]], X[8:]])  # apart from the others, whatever their seed
    model = {
        "NuSVC": NuSVC(Gaussian(1.0), nu=0.02),
        "MarginBoundSVC": MarginBoundSVC(Gaussian(1.0), C=1.0),
    }.get(machine, MACHINES[machine](C=10.0) if machine in ("SVC", "squared hinge") else None)
    model.fit(A, y)
    assert model.predict(A[7:8])[0] == 1 and np.isfinite(model.decision_function(X)).all()


@machines
@pytest.mark.filterwarnings("ignore:the margin rho:mercer.errors.DegenerateWarning")
def test_twins_with_opposite_labels(machine):
    A, y = np.vstack([X, X]), np.r_[Y, 1 - Y]
    model = MACHINES[machine]()
    model.fit(A, y)
    assert np.isfinite(model.decision_function(NEW)).all()
    assert set(model.predict(NEW)) <= {0, 1}


@machines
@pytest.mark.filterwarnings("ignore:the margin rho:mercer.errors.DegenerateWarning")
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()], ids=repr)
def test_all_rows_equal(machine, kernel):
    model = MACHINES[machine]().set_params(kernel=kernel).fit(np.ones((60, 2)), Y)
    assert np.isfinite(model.decision_function(np.ones((3, 2)))).all()


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_costs(C):
    ours = SVC(Gaussian(1.0), C=C).fit(X, Y)
    theirs = sklearn.svm.SVC(C=C, gamma=0.5, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-4)


def test_nu_out_of_reach():
    y = np.zeros(60, int)
    y[:5] = 1
    with pytest.raises(ParameterError, match=r"specified nu is infeasible.*at most 0\.1667"):
        NuSVC(Gaussian(1.0), nu=0.5).fit(X, y)
    NuSVC(Gaussian(1.0), nu=2 * 5 / 60).fit(X, y)
    NuSVC(Gaussian(1.0), nu=0.5, class_weight="balanced").fit(X, y)
    with pytest.raises(ParameterError, match="at least 1/2"):
        MarginBoundSVC(Gaussian(1.0), C=0.05).fit(X, y)


def test_hard_margin():
    side = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    hard = SVC(Linear(), C=np.inf, tol=1e-6).fit(X, side)
    assert (side * hard.decision_function(X)).min() == pytest.approx(1.0, abs=1e-5)
    large = SVC(Linear(), C=1e7, tol=1e-6).fit(X, side)
    np.testing.assert_allclose(hard.decision_function(NEW), large.decision_function(NEW), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hard_margin_where_there_is_none(kernel):
    """Ends by itself, with an error, and leaves the estimator as it was."""
    model = SVC(kernel, C=np.inf, max_time=20.0)
    with pytest.raises(TargetError, match="cannot be separated"):
        model.fit(X, np.roll(Y, 1))
    assert not hasattr(model, "classes_")
    with pytest.raises(TargetError, match="cannot be separated"):
        SVC(Gaussian(1.0), C=np.inf, max_time=20.0).fit(np.vstack([X, X]), np.r_[Y, 1 - Y])


@pytest.mark.parametrize(
    "bad",
    [
        {"C": 0.0}, {"C": -1.0}, {"C": np.nan}, {"loss": "log"}, {"multi_class": "all"}, {"class_weight": "even"},
        {"tol": 0.0},
        {"max_iter": 0}, {"decision_function_shape": "x"}, {"probability": 1}, {"gamma": -1.0}, {"gamma": "much"},
        {"cache_size": 0}, {"shrinking": None}, {"solver": SMO(), "tol": 1e-5}, {"gamma": 1.0, "kernel": Gaussian(1.0)},
        {"break_ties": True, "decision_function_shape": "ovo"}, {"n_threads": 0}, {"max_time": -1.0},
    ],
    ids=repr,
)  # fmt: skip
def test_bad_parameters(bad):
    model = SVC(**bad)
    with pytest.raises(ParameterError):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, np.nan])
def test_bad_nu(nu):
    with pytest.raises(ParameterError, match="nu"):
        NuSVC(nu=nu).fit(X, Y)


def test_kernels_of_higher_order_are_refused():
    with pytest.raises(CapabilityError, match="order 2"):
        SVC(ThinPlate()).fit(X, Y)


# laws ---------------------------------------------------------------------------------------------------


def test_it_minimises_the_regularised_risk():
    """C sum hinge + |f|^2 / 2 over functions with a bias: the primal, with its slacks, by another solver."""
    A, y, C = X[:25], np.where(Y[:25] > 0, 1.0, -1.0), 0.7
    K = Gaussian(1.0)(A)
    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.maximum(values, 0.0))  # K = F F'

    def risk(v):
        return C * np.maximum(0.0, 1.0 - y * (F @ v[:-1] + v[-1])).sum() + 0.5 * v[:-1] @ v[:-1]

    # the primal with slacks, a smooth program for SLSQP
    n = len(A)

    def value(z):
        return 0.5 * z[:n] @ z[:n] + C * z[n + 1 :].sum()

    def slope(z):
        return np.r_[z[:n], 0.0, np.full(n, C)]

    rows = np.hstack([y[:, None] * F, y[:, None], np.eye(n)])
    found = scipy.optimize.minimize(
        value, np.r_[np.zeros(n + 1), np.ones(n)], jac=slope, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
        bounds=[(None, None)] * (n + 1) + [(0.0, None)] * n,
        constraints={"type": "ineq", "fun": lambda z: rows @ z - 1.0, "jac": lambda z: rows},
    )  # fmt: skip
    model = SVC(Gaussian(1.0), C=C).fit(A, Y[:25])
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    ours = C * np.maximum(0.0, 1.0 - y * model.decision_function(A)).sum() + 0.5 * beta @ K @ beta
    assert ours == pytest.approx(risk(found.x[: n + 1]), rel=1e-5)
    assert model.solution_.gap <= 1e-6


def test_nu_bounds_errors_and_support_vectors():
    A, y = CANCER
    for nu in (0.1, 0.2, 0.4, 0.6):
        model = NuSVC(Gaussian(5.0), nu=nu).fit(A, y)
        margin = np.where(y == 1, 1.0, -1.0) * model.decision_function(A)
        assert np.mean(margin < 1.0 - 1e-6) <= nu + 1e-12
        assert len(model.support_) / len(y) >= nu - 1e-12
        assert model.margin_.shape == (1,) and model.margin_[0] > 0


def test_nu_one_is_the_parzen_windows_classifier():
    """[HSS]: with classes of equal size all coefficients are equal."""
    order = np.r_[np.flatnonzero(Y == 1)[:20], np.flatnonzero(Y == 0)[:20]]
    model = NuSVC(Gaussian(1.0), nu=1.0).fit(X[order], Y[order])
    size = np.abs(model.dual_coef_)
    np.testing.assert_allclose(size, size[0, 0])
    K = Gaussian(1.0)(NEW, X[order])
    parzen = K[:, :20].mean(axis=1) - K[:, 20:].mean(axis=1)
    f = model.decision_function(NEW) - model.intercept_[0]
    np.testing.assert_allclose(f, 20 * size[0, 0] * parzen, atol=1e-10)


@pytest.mark.parametrize("machine", ["SVC", "squared hinge", "NuSVC"])
def test_adding_f_x_plus_f_z_and_a_constant_to_the_kernel(machine):
    """F-TRANSL: the decision function is the same."""
    K, new = Gaussian(1.0)(X), Gaussian(1.0)(NEW, X)
    f, g = 0.3 * np.sin(X[:, 0]), 0.3 * np.sin(NEW[:, 0])
    plain = MACHINES[machine]().set_params(kernel="precomputed").fit(K, Y)
    moved = MACHINES[machine]().set_params(kernel="precomputed")
    moved.fit(K + f[:, None] + f + 0.5, Y)
    np.testing.assert_allclose(
        moved.decision_function(new + g[:, None] + f + 0.5), plain.decision_function(new), atol=2e-3
    )


def test_conditionally_definite_kernel():
    """-|x - z| and |x| + |z| - |x - z|, which is definite, are the same machine."""
    far = np.linalg.norm
    K = far(X, axis=1)[:, None] + far(X, axis=1) - far(X[:, None] - X[None], axis=2)
    new = far(NEW, axis=1)[:, None] + far(X, axis=1) - far(NEW[:, None] - X[None], axis=2)
    definite = SVC("precomputed").fit(K, Y).decision_function(new)
    np.testing.assert_allclose(SVC(NegativeDistance(1.0)).fit(X, Y).decision_function(NEW), definite, atol=1e-6)


def bound_value(f_norm_one, y, gamma, C):
    return gamma - C * np.maximum(0.0, gamma - y * f_norm_one).sum()


def test_bound_machine_by_its_definition():
    """Norm one; gamma*, lambda* and the slacks as they follow from the function; no better function near."""
    C = 0.08
    model = MarginBoundSVC(Gaussian(1.0), C=C).fit(X, Y)
    y = np.where(Y == 1, 1.0, -1.0)
    K, f = Gaussian(1.0)(X), model.decision_function(X)
    beta = np.zeros(60)
    beta[model.support_] = model.dual_coef_[0]
    assert beta @ K @ beta == pytest.approx(1.0)
    gamma, slack = model.margin_[0], np.maximum(0.0, model.margin_[0] - y * f)
    assert model.slack_[0] == pytest.approx(slack.sum(), rel=1e-6)
    # alpha = beta times the norm of the unscaled solution sums to one half in each class
    norm = 2.0 * model.multiplier_[0]
    np.testing.assert_allclose([beta[y > 0].sum() * norm, -beta[y < 0].sum() * norm], 0.5, rtol=1e-9)
    assert gamma - C * slack.sum() == pytest.approx(norm)  # gamma - C sum xi = 2 lambda
    best = bound_value(f, y, gamma, C)
    own = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        other = beta + size * own.normal(size=60) * np.abs(beta).max()
        bias = model.intercept_[0] + size * own.normal()
        g = K @ other / np.sqrt(other @ K @ other) + bias
        for step in (-size, 0.0, size):
            assert bound_value(g, y, gamma + step, C) <= best + 1e-9


def test_bound_machine_and_nu_machine():
    """C = 1 / (nu m): the same direction and the same classes, [ST]."""
    nu = 0.4
    bound, by_nu = MarginBoundSVC(Gaussian(1.0), C=1.0 / (nu * 60)).fit(X, Y), NuSVC(Gaussian(1.0), nu=nu).fit(X, Y)
    f, g = bound.decision_function(NEW), by_nu.decision_function(NEW)
    np.testing.assert_allclose(f / bound.margin_[0], g, atol=1e-7)
    assert np.array_equal(bound.predict(NEW), by_nu.predict(NEW))


def test_c_and_nu_machines_meet():
    """A NuSVC is the SVC with C = 1 / (rho of the nu-machine)."""
    by_nu = NuSVC(Gaussian(1.0), nu=0.35).fit(X, Y)
    C = np.abs(by_nu.dual_coef_).max()
    by_c = SVC(Gaussian(1.0), C=C).fit(X, Y)
    np.testing.assert_allclose(by_c.decision_function(NEW), by_nu.decision_function(NEW), atol=1e-6)


def test_defaults_that_fit_the_classes():
    """None is as large a nu, or as small a C, as the weights of the classes allow."""
    y = np.zeros(60, int)
    y[:5] = 1
    np.testing.assert_allclose(
        NuSVC(Gaussian(1.0)).fit(X, y).decision_function(NEW),
        NuSVC(Gaussian(1.0), nu=10 / 60).fit(X, y).decision_function(NEW), atol=1e-9,
    )  # fmt: skip
    np.testing.assert_allclose(
        NuSVC(Gaussian(1.0)).fit(X, Y).decision_function(NEW),
        NuSVC(Gaussian(1.0), nu=0.5).fit(X, Y).decision_function(NEW), atol=1e-9,
    )  # fmt: skip
    tiny = np.where(Y == 1, 1e-3, 1.0)
    model = MarginBoundSVC(Gaussian(1.0)).fit(X, Y, sample_weight=tiny)
    given = MarginBoundSVC(Gaussian(1.0), C=0.5 / (1e-3 * Y.sum()) * (1 + 1e-9)).fit(X, Y, sample_weight=tiny)
    np.testing.assert_allclose(model.decision_function(NEW), given.decision_function(NEW), atol=1e-5)
    half = NuSVC(Gaussian(1.0), nu=0.5).fit(X, Y)
    assert np.array_equal(MarginBoundSVC(Gaussian(1.0)).fit(X, Y).predict(NEW), half.predict(NEW))


@pytest.mark.parametrize("unit", [1e-300, 1e-15, 1e-3, 1e15, 1e300])
def test_the_unit_of_weights_does_not_matter_to_nu(unit):
    w = rng.uniform(0.5, 2.0, 60)
    one = NuSVC(Gaussian(1.0), nu=0.3).fit(X, Y, sample_weight=w)
    two = NuSVC(Gaussian(1.0), nu=0.3).fit(X, Y, sample_weight=unit * w)
    np.testing.assert_allclose(two.decision_function(NEW), one.decision_function(NEW), atol=1e-8)
    assert two.margin_[0] == pytest.approx(unit * one.margin_[0], rel=1e-8)


def test_a_margin_of_nothing_is_told():
    own = np.random.default_rng(0)
    y = np.repeat([-1, 1], 150)
    A = own.normal(size=(300, 2)) + 0.8 * y[:, None]
    with pytest.warns(DegenerateWarning, match="next to nothing") as told:
        NuSVC(Gaussian(1.5), nu=0.05).fit(A, y)
    assert told[0].filename == __file__  # the user's line, not one of mercer
    assert NuSVC(Gaussian(1.5), nu=0.5).fit(A, y).margin_ > 1.0


def test_classes_that_cannot_be_separated_are_an_error_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TargetError, match="cannot be separated"):
            SVC("linear", C=np.inf).fit([[0.0], [1.0], [2.0]], [0, 1, 0])


def exact_nu_machine(K, y, nu):
    """Decision values and margin of the nu-machine by a general solver, from the dual as it stands in [HSS] (81)."""
    clarabel = pytest.importorskip("clarabel")
    n = len(y)
    quadratic = sp.csc_matrix(np.triu(K * np.outer(y, y)))
    A = sp.vstack([sp.csc_matrix(y[None, :]), sp.csc_matrix(np.ones((1, n))), -sp.eye(n), sp.eye(n)]).tocsc()
    b = np.r_[0.0, nu * n, np.zeros(n), np.ones(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(2 * n)]
    found = clarabel.DefaultSolver(quadratic, np.zeros(n), A, b, cones, settings).solve()
    bias, rho = found.z[0], -found.z[1]
    return (K @ (y * np.array(found.x)) + bias) / rho, rho


@pytest.mark.parity
@pytest.mark.parametrize("nu", [0.1, 0.3])
def test_where_nu_is_small_it_is_libsvm_that_differs_from_the_optimum(nu):
    """LIBSVM meets its tolerance before it divides by rho, so its decision values are off by up to tol / rho.

    At a smaller tolerance the difference is smaller in proportion; ours are exact at either.
    """
    X, classes = CANCER
    y = np.where(classes > 0, 1.0, -1.0)
    gamma = 1.0 / (X.shape[1] * X.var())
    exact, rho = exact_nu_machine(Gaussian.from_gamma(gamma)(X), y, nu)
    off = []
    for tol in (1e-3, 1e-6):
        ours = NuSVC("rbf", nu=nu, tol=tol).fit(X, y)
        theirs = sklearn.svm.NuSVC(nu=nu, tol=tol).fit(X, y)
        assert np.abs(ours.decision_function(X) - exact).max() <= 1e-6 / rho
        off.append(np.abs(theirs.decision_function(X) - exact).max())
        assert off[-1] <= 10.0 * tol / rho
    assert off[0] > 10.0 * off[1]


def test_probabilities_that_were_not_prepared():
    model = SVC(Gaussian(1.0)).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    model.probability = True
    with pytest.raises(NotFittedError, match=r"fitted before probability=True was set.*Call fit again"):
        model.predict_proba([[0.0]])


def test_weights_that_are_computed_at_each_call_cannot_be_written_to():
    model = SVC(Linear()).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0


@pytest.mark.parametrize("seed", range(4))
def test_an_indefinite_kernel_ends_where_it_does_from_the_other_storage(seed):
    """Programs with many stationary points: one bit of K leads to another, so that the bits must be the same."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.5)
    y = data[:, 0] + 0.5 * rng.normal(size=60) > 0.0
    with warnings.catch_warnings():  # not definite, and some margins are next to nothing
        warnings.simplefilter("ignore")
        one = NuSVC(Sigmoid(0.3), nu=0.3).fit(data, y)
        other = NuSVC(Sigmoid(0.3), nu=0.3).fit(sp.csr_array(data), y)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)

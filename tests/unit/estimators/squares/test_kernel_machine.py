"""Kernel machines of any loss, against the machines that each loss has of its own, and against scipy."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    LSSVC,
    SVC,
    SVR,
    HuberSVR,
    KernelGLM,
    KernelLogisticRegression,
    KernelRidge,
    QuantileSVR,
    SmoothingSpline,
)
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators.squares.kernel_machine import KernelMachine, KernelMachineClassifier
from mercer.gram import Dense, Nystrom, Tiles
from mercer.hilbert.regularizers import NormPower, Radius, Regularizer
from mercer.kernels import Gaussian, NegativeDistance, Spectrum, ThinPlate
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Linex,
    Logistic,
    Loss,
    Multinomial,
    Ordinal,
    Pinball,
    Poisson,
)
from mercer.solvers import SMO, Cholesky, Newton
from mercer.solvers.smooth.proximal_point import ProximalPoint

rng = np.random.default_rng(0)
N = 60
X = rng.uniform(-2, 2, size=(N, 2))
T = rng.uniform(-2, 2, size=(25, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=N)
SIGN = np.where(Y + 0.4 * rng.normal(size=N) > 0.0, 1.0, -1.0)
CODES = np.digitize(Y, [-0.4, 0.5])
K = Gaussian(1.0)
COUNTS = rng.integers(0, 4, N)


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks(
    [
        KernelMachine(loss="absolute", unpenalized="constant"),
        KernelMachineClassifier(loss="hinge", unpenalized="constant"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


REGRESSIONS = {
    "ridge": (KernelMachine(K, alpha=0.3), KernelRidge(K, alpha=0.3), 1e-7),
    "huber": (
        KernelMachine(K, loss=Huber(0.2), alpha=0.5, unpenalized="constant"),
        HuberSVR(K, C=2.0, threshold=0.2, tol=1e-9),
        1e-6,
    ),
    "tube": (
        KernelMachine(K, loss=EpsilonInsensitive(0.1), alpha=0.5, unpenalized="constant"),
        SVR(K, C=2.0, epsilon=0.1, tol=1e-9),
        1e-6,
    ),
    "quantile": (
        KernelMachine(K, loss=Pinball(0.8), alpha=0.5, unpenalized="constant"),
        QuantileSVR(K, C=2.0, quantiles=0.8, tol=1e-9),
        1e-6,
    ),
    "proximal tube": (
        KernelMachine(K, loss=EpsilonInsensitive(0.1), alpha=0.5, unpenalized="constant", solver=ProximalPoint(1e-11)),
        SVR(K, C=2.0, epsilon=0.1, tol=1e-9),
        1e-4,
    ),
    "spline": (KernelMachine(ThinPlate(), alpha=0.7), SmoothingSpline(ThinPlate(), alpha=0.7), 1e-6),
    "linear part": (
        KernelMachine(K, alpha=0.7, unpenalized="linear"),
        SmoothingSpline(K, alpha=0.7, order=2),
        1e-6,
    ),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_losses_of_numbers_are_the_machines_that_they_belong_to(name):
    machine, other, near = REGRESSIONS[name]
    for weight in (None, COUNTS.astype(float)):
        ours = clone(machine).fit(X, Y, sample_weight=weight)
        theirs = clone(other).fit(X, Y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict(T), theirs.predict(T), atol=near)
        assert ours.dual_gap_ <= 1e-6 * ours.objective_


CLASSIFIERS = {
    "svc": (KernelMachineClassifier(K, loss="hinge", alpha=0.5, unpenalized="constant"), SVC(K, C=2.0, tol=1e-9)),
    "squared": (
        KernelMachineClassifier(K, loss="squared_hinge", alpha=0.5, unpenalized="constant"),
        SVC(K, C=2.0, loss="squared_hinge", tol=1e-9),
    ),
    "logistic": (
        KernelMachineClassifier(K, alpha=0.5, unpenalized="constant"),
        KernelLogisticRegression(K, C=2.0, tol=1e-9),
    ),
    "least squares": (
        KernelMachineClassifier(K, loss="squared", alpha=0.5, unpenalized="constant"),
        LSSVC(K, C=2.0),
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_losses_of_classes_are_the_machines_that_they_belong_to(name):
    machine, other = CLASSIFIERS[name]
    for weight in (None, COUNTS.astype(float)):
        ours = clone(machine).fit(X, SIGN, sample_weight=weight)
        theirs = clone(other).fit(X, SIGN, sample_weight=weight)
        np.testing.assert_allclose(ours.decision_function(T), theirs.decision_function(T), atol=1e-5)


def test_several_classes_together_and_one_by_one():
    ours = KernelMachineClassifier(K, loss="multinomial", alpha=0.5, unpenalized="constant").fit(X, CODES)
    theirs = KernelLogisticRegression(K, C=2.0, tol=1e-9).fit(X, CODES)
    np.testing.assert_allclose(ours.predict_proba(T), theirs.predict_proba(T), atol=1e-6)
    alone = KernelMachineClassifier(K, loss=Hinge(), alpha=0.5, unpenalized="constant").fit(X, CODES)
    for code in range(3):
        one = SVC(K, C=2.0, tol=1e-9).fit(X, np.where(code == CODES, 1, -1))
        np.testing.assert_allclose(alone.decision_function(T)[:, code], one.decision_function(T), atol=1e-4)
    assert not hasattr(alone, "predict_proba") and alone.score(X, CODES) > 0.7
    rest = KernelMachineClassifier(K, alpha=0.5).fit(X, CODES).predict_proba(T)
    np.testing.assert_allclose(rest.sum(axis=1), 1.0)
    two = KernelMachineClassifier(K, loss="multinomial").fit(X, SIGN)
    assert two.decision_function(T).shape == (25,) and set(two.predict(T)) <= {-1.0, 1.0}


def test_likelihoods_are_generalised_linear_models():
    counts = rng.poisson(np.exp(Y)).astype(float)
    ours = KernelMachine(K, loss=Poisson(), alpha=0.7, unpenalized="constant").fit(X, counts)
    theirs = KernelGLM(K, "poisson", 0.7, tol=1e-9).fit(X, counts)
    np.testing.assert_allclose(ours.predict(T), theirs.predict(T), rtol=1e-5)
    np.testing.assert_allclose(np.log(ours.predict(T)), ours.linear_predictor(T), atol=1e-12)
    with pytest.raises(TargetError, match="counts"):
        KernelMachine(K, loss="poisson").fit(X, -counts - 1)
    with pytest.raises(TargetError, match="positive"):
        KernelMachine(K, loss=Gamma()).fit(X, 0 * counts)


class Quartic(Loss):
    """A smooth loss of a user."""

    smooth = True

    def value(self, y, f):
        return (y - f) ** 4 / 4

    def gradient(self, y, f):
        return -((y - f) ** 3)

    def curvature(self, y, f):
        return 3 * (y - f) ** 2


class Steps(Loss):
    """A loss of a user with three kinks and no formulas but its own."""

    def value(self, y, f):
        xi = np.abs(y - f)
        return 0.2 * xi + np.maximum(xi - 0.3, 0.0)

    def gradient(self, y, f):
        xi = y - f
        return -np.sign(xi) * (0.2 + (np.abs(xi) > 0.3))

    def curvature(self, y, f):
        return np.ones_like(f)


class Barrier(Regularizer):
    """A regulariser of a user: no function is longer than 3."""

    def value(self, s):
        return -np.log1p(-s / 9.0) if s < 9.0 else np.inf

    def derivative(self, s):
        return 1.0 / (9.0 - s) if s < 9.0 else np.inf


REGULARIZERS = [NormPower(2.0), NormPower(1.0), NormPower(3.5), Barrier()]


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda spec: type(spec).__name__ + str(spec.get_params()))
@pytest.mark.parametrize("loss", [Quartic(), Linex(1.0), Huber(0.5)], ids=repr)
def test_odd_losses_and_regularisers_against_a_general_optimiser(loss, regularizer):
    few, y = X[:20], Y[:20]
    G = K(few)
    B = np.ones((20, 1))

    def objective(p):
        a, m = p[:20], p[20:]
        energy = a @ G @ a
        return loss.value(y, G @ a + B @ m).sum() + 0.8 * regularizer.value(energy)

    def gradient(p):
        a, m = p[:20], p[20:]
        slope = loss.gradient(y, G @ a + B @ m)
        return np.concatenate([G @ (slope + 1.6 * regularizer.derivative(a @ G @ a) * a), B.T @ slope])

    ours = KernelMachine(K, loss=loss, alpha=0.8, regularizer=regularizer, unpenalized="constant").fit(few, y)
    start = np.concatenate([0.5 * ours.dual_coef_ + 1e-3, [0.0]])
    found = minimize(objective, start, jac=gradient, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    assert ours.objective_ <= found.fun + 1e-7 * abs(found.fun)
    assert ours.objective_ == pytest.approx(found.fun, rel=1e-4)
    at = np.concatenate([ours.dual_coef_, [ours.intercept_]])
    assert objective(at) == pytest.approx(ours.objective_, rel=1e-6)
    assert np.abs(gradient(at)).max() < 1e-3
    assert ours.penalty_ == pytest.approx(1.6 * regularizer.derivative(ours.norm_**2), rel=1e-4)


@pytest.mark.parametrize("unpenalized", [None, "constant", "linear"])
def test_a_loss_of_a_user_with_kinks(unpenalized):
    """Its dual is a quadratic program of two stacked tubes: 0.2 |xi| + max(|xi| - 0.3, 0)."""
    model = KernelMachine(K, loss=Steps(), alpha=0.5, unpenalized=unpenalized).fit(X, Y)
    assert isinstance(model.solver_, ProximalPoint) and model.dual_gap_ <= 1e-8 * model.objective_
    rough = np.inf
    for seed in range(200):  # nothing near is better
        a = model.dual_coef_ + 1e-2 * np.random.default_rng(seed).normal(size=N)
        a -= a.mean() if unpenalized else 0.0
        f = K(X) @ a + (model.predict(X) - K(X) @ model.dual_coef_)
        rough = min(rough, Steps().value(Y, f).sum() + 0.25 * a @ K(X) @ a)
    assert rough >= model.objective_


def test_the_norm_as_regulariser_gives_zero_exactly_where_data_are_not_worth_it():
    pull = np.sqrt(Y @ K(X) @ Y)  # |R'(0)| of the squared loss
    for loss in ("squared", Linex(0.01)):
        scale = 1.0 if loss == "squared" else 1e-4
        nothing = KernelMachine(K, loss=loss, alpha=1.2 * pull * scale, regularizer="norm").fit(X, Y)
        assert nothing.norm_ == 0.0 and nothing.penalty_ == np.inf and not nothing.predict(T).any()
        something = KernelMachine(K, loss=loss, alpha=0.8 * pull * scale, regularizer="norm").fit(X, Y)
        assert something.norm_ > 0.01


def test_a_regulariser_that_is_not_convex():
    model = KernelMachine(K, alpha=1.0, regularizer=NormPower(0.5)).fit(X, Y)
    for penalty in np.logspace(-4, 3, 40):
        other = KernelMachine(K, alpha=penalty).fit(X, Y)
        assert model.objective_ <= other.risk_ + 2.0 * np.sqrt(other.norm_) + 1e-6


@pytest.mark.parametrize("gram", [Tiles(), Nystrom(N)], ids=repr)
@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=repr)
@pytest.mark.parametrize("unpenalized", [None, "constant", "linear"])
def test_other_grams(gram, loss, unpenalized):
    options = {"loss": loss, "alpha": 0.5, "unpenalized": unpenalized}
    exact = KernelMachineClassifier(K, gram=Dense(), **options).fit(X, SIGN)
    other = KernelMachineClassifier(K, gram=gram, **options).fit(X, SIGN)
    np.testing.assert_allclose(other.decision_function(T), exact.decision_function(T), atol=2e-3)
    assert other.objective_ == pytest.approx(exact.objective_, rel=1e-6)


def test_which_solver_is_chosen():
    def solver(loss, unpenalized=None, kernel=K):
        return type(KernelMachine(kernel, loss=loss, unpenalized=unpenalized).fit(X, Y).solver_)

    assert solver("squared") is Newton and solver(Linex(), "linear") is Newton
    assert solver("absolute") is ProximalPoint and solver("absolute", "linear") is ProximalPoint
    assert solver("absolute", "constant") is SMO and solver("absolute", None, NegativeDistance()) is SMO


def test_functions_that_are_not_penalised():
    given = KernelMachine(K, alpha=0.7, unpenalized=lambda X: np.column_stack([np.ones(len(X)), X])).fit(X, Y)
    word = KernelMachine(K, alpha=0.7, unpenalized="linear").fit(X, Y)
    np.testing.assert_allclose(given.predict(T), word.predict(T), atol=1e-7)
    one = KernelMachine(K, alpha=0.7, unpenalized=(1,)).fit(X, Y)
    two = KernelMachine(K, alpha=0.7, unpenalized=(lambda X: np.ones(len(X)), lambda X: X[:, 1])).fit(X, Y)
    np.testing.assert_allclose(one.predict(T), two.predict(T), atol=1e-7)
    assert one.basis_coef_.shape == (2,)
    # a straight line costs nothing, however large alpha is
    line = 3.0 + 2.0 * X[:, 0] - X[:, 1]
    model = KernelMachine(K, alpha=1e6, loss="absolute", unpenalized="linear").fit(X, line)
    np.testing.assert_allclose(model.predict(T), 3.0 + 2.0 * T[:, 0] - T[:, 1], atol=1e-5)


def test_strings_have_kernel_machines_too():
    words = ["aab", "aba", "bbb", "bba", "abab", "bbbb", "aaaa", "babb"]
    y = np.array([2.0, 1.0, -3.0, -1.0, 0.0, -4.0, 4.0, -2.0])
    model = KernelMachine(Spectrum(2), loss="absolute", alpha=0.1, unpenalized="constant").fit(words, y)
    assert np.abs(model.predict(words) - y).mean() < 0.6
    with pytest.raises(CapabilityError, match="functions of numbers"):
        KernelMachine(Spectrum(2), unpenalized="linear").fit(words, y)


def test_several_outputs():
    both = np.column_stack([Y, X[:, 0] ** 2])
    for loss, unpenalized in (("squared", None), ("absolute", "constant"), ("absolute", "linear")):
        model = KernelMachine(K, loss=loss, alpha=0.3, unpenalized=unpenalized).fit(X, both)
        for column in range(2):
            alone = KernelMachine(K, loss=loss, alpha=0.3, unpenalized=unpenalized).fit(X, both[:, column])
            np.testing.assert_allclose(model.predict(T)[:, column], alone.predict(T), atol=2e-4)


def test_ivanovs_form():
    for loss in ("squared", "huber", Linex(0.5)):
        free = KernelMachine(K, loss=loss, alpha=0.4, unpenalized="constant").fit(X, Y)
        ball = KernelMachine(K, loss=loss, regularizer=Radius(free.norm_), unpenalized="constant").fit(X, Y)
        assert ball.penalty_ == pytest.approx(0.4, rel=1e-4)
        assert ball.norm_ == pytest.approx(free.norm_, rel=1e-7)
        assert ball.objective_ == ball.risk_ and ball.risk_ == pytest.approx(free.risk_, rel=1e-5)
        np.testing.assert_allclose(ball.predict(T), free.predict(T), atol=1e-4)


def test_what_is_refused():
    for bad in ("quadratic", 3.5, True, (), ("a",), (0, np.sin), (1.5,)):
        with pytest.raises(ParameterError, match="unpenalized"):
            KernelMachine(K, unpenalized=bad).fit(X, Y)
    with pytest.raises(ParameterError, match="columns from -2 to 1"):
        KernelMachine(K, unpenalized=(2,)).fit(X, Y)
    with pytest.raises(ParameterError, match="KernelMachineClassifier"):
        KernelMachine(K, loss=Hinge()).fit(X, Y)
    with pytest.raises(ParameterError, match="KernelGLM"):
        KernelMachine(K, loss=Ordinal()).fit(X, Y)
    with pytest.raises(ParameterError, match="other responses"):
        KernelMachineClassifier(K, loss=Poisson()).fit(X, SIGN)
    with pytest.raises(ParameterError, match="loss must be"):
        KernelMachine(K, loss="hinge").fit(X, Y)
    with pytest.raises(ParameterError, match="Radius was given radius"):
        KernelMachine(K, regularizer=Radius(-1.0)).fit(X, Y)
    with pytest.raises(ParameterError, match="together with solver"):
        KernelMachine(K, tol=1e-3, solver=Newton()).fit(X, Y)
    with pytest.raises(CapabilityError, match="kinks"):
        KernelMachine(K, loss="absolute", solver=Newton()).fit(X, Y)
    with pytest.raises(CapabilityError, match="box dual"):
        KernelMachine(K, loss="absolute", solver=SMO()).fit(X, Y)
    with pytest.raises(CapabilityError, match="LinearSystem"):
        KernelMachine(K, solver=Cholesky()).fit(X, Y)
    with pytest.raises(CapabilityError, match="polynomials of degree below"):
        KernelMachine(ThinPlate(), unpenalized=lambda X: np.ones(len(X))).fit(X, Y)
    with pytest.raises(ParameterError, match="values of shape"):
        KernelMachine(K, unpenalized=lambda X: np.full(len(X), np.nan)).fit(X, Y)


def test_iterations_that_run_out_are_told_with_the_gap():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = KernelMachine(K, loss=Absolute(), max_iter=1).fit(X, Y)
    assert model.dual_gap_ > 0.0 and model.solution_.status.name == "MAX_ITER"


def test_copies_and_pickles():
    model = KernelMachine(K, loss=Absolute(), alpha=0.2, unpenalized="linear").fit(X, Y, COUNTS.astype(float))
    repeated = KernelMachine(K, loss=Absolute(), alpha=0.2, unpenalized="linear").fit(
        np.repeat(X, COUNTS, axis=0), np.repeat(Y, COUNTS)
    )
    np.testing.assert_allclose(model.predict(T), repeated.predict(T), atol=1e-3)
    assert model.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    assert not model.dual_coef_[COUNTS == 0].any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(T), model.predict(T))


def test_the_softmax_in_a_ball():
    model = KernelMachineClassifier(K, loss=Multinomial(), regularizer=Radius(2.0)).fit(X, CODES)
    assert model.norm_ == pytest.approx(2.0, rel=1e-6) and model.dual_gap_ < 1e-6

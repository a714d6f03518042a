"""Newton's method in the coordinates of a factor; oracles: Newton's and the proximal point method, scikit-learn,
SciPy's minimisation of the same objective."""

import functools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from mercer import SVC, KernelLogisticRegression, KernelMachineClassifier, parse
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Ordinal,
    Poisson,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.problems import ConvexRisk, SmoothRisk, Status
from mercer.solvers import SMO, Newton, PrimalNewton, ProximalPoint
from mercer.solvers.smooth import primal_newton as module
from mercer.solvers.smooth.primal_descent import Descent
from tests.resuming import Memory, resumed

rng = np.random.default_rng(0)
N = 3000
X = rng.normal(size=(N, 2))
S = Vectors.pack(X)
Y = np.where(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=N) > 0.0, 1.0, -1.0)
W = rng.uniform(0.5, 2.0, size=N)
ONES = np.ones((N, 1))
CLEAR = np.where(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] > 0.0, 1.0, -1.0)  # few samples have a loss at the minimum
WAVE = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_t(2.0, size=N)
BENT = {
    "squared hinge": (SquaredHinge(), CLEAR),
    "squared hinge, noise": (SquaredHinge(), Y),
    "tube": (SquaredEpsilonInsensitive(1.5), WAVE),
    "Huber": (Huber(0.02), WAVE),
}
CODES = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.3).astype(int)


@functools.cache
def built(precision="double"):
    return Nystrom(25, precision=precision).build(Gaussian(1.0), S)


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(module, "_LONG", 0.0)
    monkeypatch.setattr(module, "_SHORT", 0.0)


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("border", [None, ONES, np.column_stack([np.ones(N), X])], ids=["none", "constant", "linear"])
@pytest.mark.parametrize("penalty", [1.0, 1e-2])
def test_logistic_is_that_of_newton(precision, border, penalty):
    problem = SmoothRisk(built(precision), Logistic(), Y, W, penalty, border)
    exact = Newton(1e-10).solve(problem)
    found = PrimalNewton(1e-9).solve(problem)
    assert found.status is Status.CONVERGED and found.residual <= 1e-9
    assert np.allclose(found.state.values, exact.state.values, atol=2e-6)
    assert np.allclose(found.coef, exact.coef, atol=1e-6 / penalty)
    assert found.gap < 1e-6 and np.all(np.diff(found.trace.objective) <= 1e-9)


@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge(), Absolute()], ids=["squared hinge", "hinge", "absolute"])
@pytest.mark.parametrize("border", [None, ONES], ids=["none", "constant"])
def test_losses_that_are_not_smooth_are_those_of_the_proximal_point_method(loss, border):
    problem = ConvexRisk(built(), loss, Y, W, 1.0, border)
    exact = ProximalPoint(1e-12).solve(problem)
    found = PrimalNewton(1e-8 if isinstance(loss, SquaredHinge) else 1e-4).solve(problem)

    def objective(solution):
        return float(np.sum(W * loss.value(Y, solution.state.values))) + 0.5 * float(
            solution.weights @ solution.weights
        )

    assert found.status is Status.CONVERGED
    assert 0.0 <= objective(found) - objective(exact) + 1e-9 <= found.gap + 2e-9
    assert found.gap <= 1.1e-8 * objective(exact)


def minimised(loss, y, penalty):
    """Least objective by SciPy, and that of the best constant."""
    P = np.column_stack([built().factor(), np.ones(N)])

    def objective(x):
        u, v = W * loss.gradient(y, P @ x), np.append(penalty * x[:-1], 0.0)
        return float(W @ loss.value(y, P @ x)) + 0.5 * float(v @ x), P.T @ u + v

    x, constant = np.zeros(P.shape[1]), minimize(lambda m: objective(np.append(np.zeros(25), m))[0], [0.0], tol=1e-12)
    for _ in range(5):  # each forgets the curvature that the former has gathered
        x = minimize(objective, x, jac=True, method="L-BFGS-B", options={"ftol": 0.0, "gtol": 1e-9, "maxiter": 4000}).x
    return objective(x)[0], constant.fun


@pytest.mark.parametrize("loss, y", BENT.values(), ids=BENT)
@pytest.mark.parametrize("penalty", [1.0, 1e-2])
def test_bent_losses_reach_the_minimum_of_scipy_in_few_steps(loss, y, penalty, monkeypatch):
    least, constant = minimised(loss, y, penalty)
    problem = ConvexRisk(built(), loss, y, W, penalty, ONES)
    within = []
    monkeypatch.setattr(Descent, "among", lambda *given, inner=Descent.among: within.append(1) or inner(*given))
    for tol in (1e-1, 1e-2, 1e-3, 1e-6):
        found = PrimalNewton(tol).solve(problem)
        objective = float(W @ loss.value(y, found.state.values)) + 0.5 * penalty * float(found.weights @ found.weights)
        assert found.status is Status.CONVERGED and len(found.trace.objective) <= 16
        assert objective == pytest.approx(found.trace.objective[-1], rel=1e-10)
        assert -1e-9 * least <= objective - least <= 3.0 * tol**2 * (constant - least) + 1e-9 * least
        assert np.all(np.diff(found.trace.objective) <= 1e-9) and objective - least <= found.gap + 1e-9 * least
    assert within or y is Y


def test_several_outputs_together_and_apart():
    table = np.eye(3)[CODES]
    joined = SmoothRisk(built(), Multinomial(), table, W, 0.5, ONES)
    exact, found = Newton(1e-10).solve(joined), PrimalNewton(1e-9).solve(joined)
    assert found.status is Status.CONVERGED
    assert np.allclose(Multinomial().mean(found.state.values), Multinomial().mean(exact.state.values), atol=1e-6)
    apart = ConvexRisk(built(), SquaredHinge(), 2.0 * table - 1.0, W, 0.5, ONES)
    both = PrimalNewton(1e-9).solve(apart)
    one = PrimalNewton(1e-9).solve(ConvexRisk(apart.gram, SquaredHinge(), apart.y[:, 1], W, 0.5, ONES))
    assert both.coef.shape == (N, 3) and both.multipliers.shape == (1, 3)
    assert np.allclose(both.weights[:, 1], one.weights) and np.allclose(both.state.values[:, 1], one.state.values)


def test_other_smooth_losses_and_few_samples():
    counts = rng.poisson(np.exp(0.5 * X[:, 0]))
    problem = SmoothRisk(built(), Poisson(), counts.astype(float), W, 1.0, ONES)
    exact = Newton(1e-10).solve(problem)
    for samples in (2, 200):  # with 200 for each column all samples are taken: M is the Hessian
        found = PrimalNewton(1e-9, samples=samples).solve(problem)
        assert np.allclose(found.state.values, exact.state.values, atol=1e-5)


def test_it_can_begin_anywhere_and_be_stopped():
    problem = SmoothRisk(built(), Logistic(), Y, W, 0.1, ONES)
    exact = PrimalNewton(1e-10).solve(problem)
    again = PrimalNewton(1e-6).solve(problem, start=exact.coef)
    assert again.details["passes"] < 6 and np.allclose(again.state.values, exact.state.values, atol=1e-5)
    assert PrimalNewton(1e-10).solve(problem, monitor=lambda i, r: True).status is Status.STOPPED
    assert PrimalNewton(1e-10).solve(problem, monitor=lambda i, r: Status.TIME).status is Status.TIME
    assert PrimalNewton(1e-12, max_iter=1).solve(problem).status is Status.MAX_ITER
    table = 2.0 * np.eye(3)[CODES] - 1.0
    apart = ConvexRisk(problem.gram, SquaredHinge(), table, W, 0.1)
    assert PrimalNewton(1e-10).solve(apart, monitor=lambda i, r: Status.TIME).status is Status.TIME


def test_the_same_bits_again_with_one_thread_or_two():
    from mercer.budget import Resources

    found = []
    for threads in (1, 2):
        K = Nystrom(25, precision="mixed").build(Gaussian(1.0), S, Resources(n_threads=threads))
        found.append([PrimalNewton().solve(ConvexRisk(K, SquaredHinge(), y, W, 0.1, ONES)).coef for y in (Y, CLEAR)])
    assert np.array_equal(found[0], found[1])


def test_explicit_features_are_those_of_scikit_learn(large):
    K = built()
    F = K.factor()
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=1000).fit(F, Y, sample_weight=W)
    ours = KernelLogisticRegression(Gaussian(1.0), C=2.0, gram=Nystrom(25), tol=1e-8).fit(X, Y, sample_weight=W)
    assert isinstance(ours.solver_, PrimalNewton)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(F), atol=1e-5)
    # The bias of LinearSVC is penalised, less and less with its scaling; its loss has no 1/2. Where it ends early is a
    # matter of rounding: values differ by at most sqrt(2 gap), the objective having curvature 1 and k(x, x) being 1.
    theirs = LinearSVC(C=1.0, tol=1e-10, max_iter=20000, intercept_scaling=100.0, dual=False).fit(F, Y, sample_weight=W)
    ours = SVC(Gaussian(1.0), C=2.0, loss="squared_hinge", gram=Nystrom(25), tol=1e-8).fit(X, Y, sample_weight=W)
    assert isinstance(ours.solver_, PrimalNewton)
    found = ours.decision_function(X)
    weights = np.linalg.lstsq(np.column_stack([F, np.ones(len(F))]), found, rcond=None)[0][:-1]

    def objective(values, v):
        return 0.5 * v @ v + np.sum(W * np.maximum(0.0, 1.0 - np.where(Y > 0, 1.0, -1.0) * values) ** 2)

    best, other = objective(found, weights), objective(theirs.decision_function(F), theirs.coef_[0])
    assert -1e-9 * best <= other - best <= 1e-6 * best
    assert np.allclose(found, theirs.decision_function(F), rtol=0, atol=1e-5 + np.sqrt(2.0 * max(other - best, 0.0)))
    theirs = LinearSVC(C=1.0, tol=1e-12, max_iter=50000, fit_intercept=False, dual=False).fit(F, Y, sample_weight=W)
    ours = PrimalNewton(1e-10).solve(ConvexRisk(K, SquaredHinge(), Y, W, 0.5))
    assert np.allclose(ours.state.values, theirs.decision_function(F), atol=1e-6)


def test_estimators_take_it_where_it_pays(large):
    usual = {"gram": Nystrom(25)}
    machine = KernelMachineClassifier(Gaussian(1.0), loss="squared_hinge", alpha=0.5, unpenalized="constant", **usual)
    machine.fit(X, Y)
    assert isinstance(machine.solver_, PrimalNewton) and machine.dual_gap_ < 1e-5
    svc = SVC(Gaussian(1.0), C=2.0, loss="squared_hinge", tol=1e-7, **usual).fit(X, Y)
    assert np.allclose(machine.decision_function(X[:50]), svc.decision_function(X[:50]), atol=1e-5)
    assert len(svc.support_) < N and svc.dual_coef_.shape == (1, len(svc.support_))
    softmax = KernelLogisticRegression(Gaussian(1.0), class_weight="balanced", **usual).fit(X, CODES)
    plain = KernelLogisticRegression(Gaussian(1.0), class_weight="balanced", solver=Newton(), **usual).fit(X, CODES)
    assert isinstance(softmax.solver_, PrimalNewton)
    assert np.allclose(softmax.predict_proba(X[:50]), plain.predict_proba(X[:50]), atol=1e-5)
    pairs = SVC(Gaussian(1.0), loss="squared_hinge", class_weight="balanced", tol=1e-6, **usual).fit(X, CODES)
    dual = SVC(Gaussian(1.0), loss="squared_hinge", class_weight="balanced", tol=1e-6, solver=None, gram=Dense())
    assert pairs.expansion_.outputs == (3,) and isinstance(pairs.solver_, PrimalNewton)
    few = slice(0, 400)
    exact = dual.fit(X[few], CODES[few]).decision_function(X[:50])
    full = SVC(Gaussian(1.0), loss="squared_hinge", class_weight="balanced", tol=1e-7, gram=Nystrom(400))
    full.set_params(solver=PrimalNewton(1e-9), tol=1e-3)
    assert np.allclose(full.fit(X[few], CODES[few]).decision_function(X[:50]), exact, atol=1e-4)
    assert isinstance(
        SVC(Gaussian(1.0), probability=True, loss="squared_hinge", **usual).fit(X[few], Y[few]).solver_, SMO
    )


def test_what_is_refused():
    K = built()
    with pytest.raises(CapabilityError, match="low rank"):
        PrimalNewton().solve(ConvexRisk(Dense().build(Gaussian(1.0), S[:9]), Logistic(), Y[:9], W[:9], 1.0))
    with pytest.raises(CapabilityError, match="parameters of their own"):
        PrimalNewton().solve(ConvexRisk(K, Ordinal((0.0, 1.0)), CODES.astype(float), W, 1.0))
    with pytest.raises(ParameterError, match="positive and finite"):
        PrimalNewton().solve(ConvexRisk(K, Logistic(), Y, W, 0.0))
    for bad in (PrimalNewton(tol=0.0), PrimalNewton(samples=0), PrimalNewton(max_iter=0)):
        with pytest.raises(ParameterError):
            bad.check()
    assert parse(repr(PrimalNewton(1e-4, samples=10))) == PrimalNewton(1e-4, samples=10)


@pytest.mark.parametrize(
    "loss, y",
    [(Logistic(), Y), (SquaredHinge(), Y), (SquaredHinge(), CLEAR), (Hinge(), Y)],
    ids=["logistic", "squared hinge", "few curved", "hinge"],
)
def test_it_goes_on_to_the_same_bits_after_an_interruption(loss, y):
    def run(monitor):
        return PrimalNewton(1e-6 if loss.smooth or y is CLEAR else 1e-3).solve(
            ConvexRisk(built("mixed"), loss, y, W, 1.0, ONES), monitor=monitor
        )

    whole = run(Memory())
    last = run(counting := Memory()) and counting.calls
    for interrupt in (1, last // 2, last - 1):
        found = resumed(run, interrupt)
        assert np.array_equal(found.coef, whole.coef) and np.array_equal(found.weights, whole.weights)
        assert np.array_equal(found.trace.objective, whole.trace.objective) and found.status is whole.status


def test_outputs_apart_go_on_to_the_same_bits():
    def run(monitor):
        risk = ConvexRisk(built(), SquaredHinge(), 2.0 * np.eye(3)[CODES] - 1.0, W, 1.0, ONES)
        return PrimalNewton(1e-5).solve(risk, monitor=monitor)

    whole = run(None)
    assert np.array_equal(resumed(run, 25, times=2).coef, whole.coef)

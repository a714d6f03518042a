import numpy as np
import pytest

from mercer.errors import CapabilityError, ParameterError
from mercer.losses import EpsilonInsensitive, Hinge, Loss, SquaredHinge
from mercer.problems import LinearRisk, LinearSystem, Status
from mercer.solvers import BundleMethod, CuttingPlane, DualDescent
from mercer.solvers.rows import tangents as module
from tests.unit.solvers.linear_problems import LOSSES, objective, problem, whole

losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
SOLVERS = [BundleMethod, CuttingPlane]
both = pytest.mark.parametrize("method", SOLVERS)


@losses
@both
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_agrees_with_dual_descent(method, loss, sparse):
    risk = problem(loss, sparse=sparse, C=0.5)
    exact = objective(risk, DualDescent().solve(risk).weights)
    solution = method(tol=1e-6, max_iter=5000).solve(risk)
    found = objective(risk, solution.weights)
    assert solution.status is Status.CONVERGED
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-5)
    # the gap is a true bound, and the coefficients give the weights
    assert found - exact <= solution.gap + 1e-12 and solution.residual <= 1e-6
    assert solution.gap == pytest.approx(solution.residual * found, abs=1e-12)
    np.testing.assert_allclose(whole(risk).T @ solution.coef, solution.weights, atol=1e-9)
    assert solution.trace.objective[-1] == pytest.approx(found)


@both
@pytest.mark.parametrize("C", [1e-6, 1e3])
def test_extreme_weights(method, C):
    for loss in (Hinge(), SquaredHinge()):
        risk = problem(loss, C=C)
        solution = method(tol=1e-5, max_iter=5000).solve(risk)
        exact = objective(risk, DualDescent().solve(risk).weights)
        assert objective(risk, solution.weights) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), EpsilonInsensitive(0.1)], ids=repr)
def test_the_line_search_saves_tangents(loss):
    risk = problem(loss, n=400, d=20, C=0.2)
    plain, optimised = (method(tol=1e-4, max_iter=3000).solve(risk) for method in SOLVERS)
    assert optimised.status is plain.status is Status.CONVERGED
    assert 2 * optimised.state < plain.state
    assert np.all(np.diff(optimised.trace.objective) <= 1e-12)


def test_any_convex_loss():
    class Logistic(Loss):
        def value(self, y, f):
            return np.logaddexp(0.0, -y * f)

        def gradient(self, y, f):
            return -y / (1.0 + np.exp(y * f))

        def curvature(self, y, f):
            return np.full_like(f, 0.25)

    base = problem(Hinge())
    risk = LinearRisk(base.X, base.y, Logistic(), base.weight, 1.0)
    solution = BundleMethod(tol=1e-9, max_iter=2000).solve(risk)
    F = whole(risk)
    gradient = solution.weights + F.T @ (risk.weight * risk.loss.gradient(risk.y, F @ solution.weights))
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(gradient, 0.0, atol=1e-3)
    with pytest.raises(CapabilityError, match="box_dual"):
        CuttingPlane().solve(risk)


@both
def test_idle_tangents_are_forgotten(method, monkeypatch):
    risk = problem(SquaredHinge(), n=200, d=10)
    expected = objective(risk, DualDescent().solve(risk).weights)
    monkeypatch.setattr(module, "_IDLE", 5)
    solution = method(tol=1e-5, max_iter=5000).solve(risk)
    assert objective(risk, solution.weights) == pytest.approx(expected, rel=1e-4)


@both
def test_warm_start(method):
    risk = problem(Hinge())
    first = DualDescent().solve(risk)
    solution = method(tol=1e-6).solve(risk, start=first.coef)
    assert solution.trace.objective[0] == pytest.approx(objective(risk, first.weights))
    assert objective(risk, solution.weights) == pytest.approx(objective(risk, first.weights), rel=1e-6)


@both
def test_iterations_run_out_and_monitors_stop(method):
    risk = problem(Hinge(), C=10.0)
    short = method(tol=1e-9, max_iter=3).solve(risk)
    assert short.status is Status.MAX_ITER and short.state == 3 and short.gap > 0.0
    stopped = method(tol=1e-9).solve(risk, monitor=lambda iteration, residual: iteration == 2)
    assert stopped.status is Status.STOPPED and stopped.state == 2
    late = method(tol=1e-9).solve(risk, monitor=lambda iteration, residual: Status.TIME)
    assert late.status is Status.TIME and np.all(np.isfinite(late.weights))


@both
def test_errors(method):
    with pytest.raises(CapabilityError, match="LinearRisk"):
        method().solve(LinearSystem(np.eye(2), 1.0, np.ones(2)))
    with pytest.raises(ParameterError, match="tol"):
        method(tol=2.0).solve(problem(Hinge()))

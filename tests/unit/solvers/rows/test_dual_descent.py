import numpy as np
import pytest
import scipy.sparse as sp

from mercer.errors import CapabilityError, ParameterError
from mercer.losses import Hinge, SquaredHinge
from mercer.problems import LinearRisk, LinearSystem, Status
from mercer.solvers import DualDescent
from mercer.solvers.rows import dual_descent as module
from tests.unit.solvers.linear_problems import LOSSES, objective, problem, reference, whole

losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


@losses
@pytest.mark.parametrize("constant", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_equals_a_general_solver(loss, constant, sparse):
    risk = problem(loss, constant=constant, sparse=sparse)
    solution = DualDescent().solve(risk)
    expected = reference(risk)
    assert solution.status is Status.CONVERGED
    assert objective(risk, solution.weights) <= objective(risk, expected) * (1 + 1e-9)
    np.testing.assert_allclose(solution.weights, expected, atol=2e-4 * np.abs(expected).max())
    np.testing.assert_allclose(solution.weights, whole(risk).T @ solution.coef, atol=1e-9)
    assert solution.residual <= 1e-8 and solution.gap <= 1e-9 * objective(risk, expected)


@losses
def test_descent_alone_comes_to_its_tolerance(loss):
    risk = problem(loss, C=0.3)
    plain = DualDescent(tol=1e-6, max_iter=100_000, polish=False).solve(risk)
    exact = DualDescent().solve(risk)
    assert plain.status is Status.CONVERGED and plain.residual <= 1e-5
    assert objective(risk, plain.weights) == pytest.approx(objective(risk, exact.weights), rel=1e-6)
    unshrunk = DualDescent(tol=1e-6, max_iter=100_000, polish=False, shrinking=False).solve(risk)
    np.testing.assert_allclose(unshrunk.weights, plain.weights, atol=1e-4)


@losses
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_weights(loss, C):
    risk = problem(loss, n=80, C=C)
    solution = DualDescent().solve(risk)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 1e-6 * objective(risk, solution.weights)


@losses
def test_wide_samples(loss):
    risk = problem(loss, n=30, d=80)
    solution = DualDescent().solve(risk)
    np.testing.assert_allclose(solution.weights, reference(risk), atol=1e-4 * np.abs(solution.weights).max())
    assert solution.gap <= 1e-9


@losses
def test_systems_too_large_to_be_factored(loss, monkeypatch):
    monkeypatch.setattr(module, "is_factored", lambda rows: False)
    risk = problem(loss, n=200, d=40, sparse=True, C=0.3)
    solution = DualDescent(max_iter=5000).solve(risk)
    monkeypatch.undo()
    assert solution.status is Status.CONVERGED
    exact = objective(risk, DualDescent().solve(risk).weights)
    assert objective(risk, solution.weights) == pytest.approx(exact, rel=1e-7)


@losses
def test_float32_samples_are_those_numbers(loss):
    small, wide = problem(loss, dtype=np.float32), problem(loss, dtype=np.float32)
    wide = LinearRisk(wide.X.astype(np.float64), wide.y, loss, wide.weight, 1.0)
    np.testing.assert_allclose(DualDescent().solve(small).weights, DualDescent().solve(wide).weights, atol=1e-9)


@losses
def test_order_and_seed_do_not_matter(loss):
    risk = problem(loss)
    order = np.random.default_rng(3).permutation(60)
    mixed = LinearRisk(risk.X[order], risk.y[order], loss, risk.weight[order], 1.0)
    one, two = DualDescent().solve(risk), DualDescent(random_state=7).solve(mixed)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-8 * np.abs(one.weights).max())


def test_the_same_seed_gives_the_same_bits():
    risk = problem(Hinge())
    for options in ({}, {"random_state": 0}):
        one, two = DualDescent(**options).solve(risk), DualDescent().solve(risk)
        assert np.array_equal(one.coef, two.coef) and np.array_equal(one.weights, two.weights)


@losses
def test_warm_start(loss):
    risk = problem(loss)
    first = DualDescent().solve(risk)
    again = DualDescent().solve(risk, start=first.coef)
    assert again.state == 0 and again.status is Status.CONVERGED
    np.testing.assert_array_equal(again.coef, first.coef)
    near = LinearRisk(risk.X, risk.y, loss, 1.01 * risk.weight, 1.0)
    plain = DualDescent(tol=1e-3, polish=False)
    assert plain.solve(near, start=first.coef).state <= plain.solve(near).state


def test_a_start_outside_the_box_is_clipped():
    risk = problem(Hinge())
    expected = DualDescent().solve(risk).weights
    np.testing.assert_allclose(DualDescent().solve(risk, start=np.full(60, 1e3)).weights, expected, atol=1e-8)


def test_duplicates_with_opposite_labels():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 2, axis=0)
    y = np.tile([1.0, -1.0], 10)
    for loss in (Hinge(), SquaredHinge()):
        solution = DualDescent().solve(LinearRisk(X, y, loss, np.ones(20), 1.0))
        np.testing.assert_allclose(solution.weights, 0.0, atol=1e-9)
        assert solution.status is Status.CONVERGED


def test_samples_of_zeros():
    X = np.zeros((4, 3))
    X[0] = 1.0
    solution = DualDescent().solve(LinearRisk(X, np.array([1.0, -1.0, 1.0, 1.0]), Hinge(), np.ones(4)))
    np.testing.assert_allclose(solution.weights, [1 / 3, 1 / 3, 1 / 3, 0.0], atol=1e-9)
    np.testing.assert_allclose(solution.coef[1:], [-1.0, 1.0, 1.0])


def test_iterations_run_out():
    solution = DualDescent(tol=1e-8, max_iter=2, polish=False).solve(problem(Hinge(), C=1e3))
    assert solution.status is Status.MAX_ITER and solution.state == 2
    assert np.isfinite(solution.gap) and solution.residual > 1e-8


@pytest.mark.parametrize("answer", [True, Status.TIME])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
def test_a_monitor_may_stop_the_run(loss, answer, monkeypatch):
    monkeypatch.setattr(module, "_WORK", 2000)  # so that there are several chunks
    calls = []

    def monitor(iteration, residual):
        calls.append((iteration, residual))
        return answer if len(calls) == 3 else False

    solution = DualDescent(tol=1e-9).solve(problem(loss, n=500, C=1e4), monitor=monitor)
    assert solution.status is (Status.TIME if answer is Status.TIME else Status.STOPPED)
    assert len(calls) == 3 and np.all(np.isfinite(solution.weights)) and solution.gap >= 0.0


def test_errors():
    with pytest.raises(CapabilityError, match="LinearRisk"):
        DualDescent().solve(LinearSystem(np.eye(2), 1.0, np.ones(2)))
    with pytest.raises(ParameterError, match="tol"):
        DualDescent(tol=0.0).solve(problem(Hinge()))
    with pytest.raises(ParameterError, match="max_iter"):
        DualDescent(max_iter=0).solve(problem(Hinge()))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [Hinge(), LOSSES["tube"], SquaredHinge()], ids=repr)
def test_python_original(loss, sparse, monkeypatch):
    risk = problem(loss, n=15, d=3, sparse=sparse, C=0.5)
    expected = DualDescent(polish=False).solve(risk)
    monkeypatch.setattr(module, "_descend", module._descend.py_func)
    solution = DualDescent(polish=False).solve(risk)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.weights, expected.weights, atol=1e-3)


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_newton_from_the_start_and_after_descent_agree(sparse, C, monkeypatch):
    rng = np.random.default_rng(1)
    X = (rng.random((600, 120)) < 0.05).astype(float)
    y = np.where(X @ rng.normal(size=120) + rng.normal(size=600) > 0.0, 1.0, -1.0)
    risk = LinearRisk(sp.csr_array(X) if sparse else X, y, SquaredHinge(), np.full(600, 2.0 * C), 1.0)
    first = DualDescent().solve(risk)
    monkeypatch.setattr(module, "_CHEAP", 0.0)
    after = DualDescent().solve(risk)
    assert first.state == 0 and after.state > 0  # passes of descent
    assert first.status is after.status is Status.CONVERGED
    assert max(first.residual, after.residual) <= 1e-7  # 1e-3 of the tolerance
    # the risk is strongly convex with modulus 1; of the gap, rounding hides 1e-15 of the risk at zero
    gap = first.gap + after.gap + 1e-15 * float(np.sum(risk.weight))
    assert np.linalg.norm(first.weights - after.weights) <= 2.0 * np.sqrt(gap)

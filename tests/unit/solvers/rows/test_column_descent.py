"""Coordinate descent over columns, for machines with few of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer.problems import SparseRisk, Status
from mercer.solvers import ColumnDescent
from mercer.solvers.rows import column_descent as module

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6))
Y = np.where(X[:, 0] - 0.5 * X[:, 1] + 0.3 * RNG.normal(size=40) > 0, 1.0, -1.0)
C = RNG.uniform(0.2, 2.0, size=40)


def objective(problem, w):
    F = np.column_stack([problem.X, np.full(len(problem.X), problem.constant)])
    return np.abs(w).sum() + problem.weight @ np.maximum(0.0, 1.0 - problem.y * (F @ w)) ** 2


def by_splitting(problem):
    """w = p - q with p, q >= 0: a smooth problem for a general method."""
    F = problem.y[:, None] * np.column_stack([problem.X, np.full(len(problem.X), problem.constant)])
    d = F.shape[1]

    def value(pq):
        b = np.maximum(0.0, 1.0 - F @ (pq[:d] - pq[d:]))
        g = -2.0 * F.T @ (problem.weight * b)
        return pq.sum() + problem.weight @ b**2, np.concatenate([1.0 + g, 1.0 - g])

    found = minimize(value, np.full(2 * d, 0.1), jac=True, bounds=[(0, None)] * (2 * d), options={"maxiter": 10_000})
    return found.x[:d] - found.x[d:]


@pytest.mark.parametrize("constant", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("scale", [0.03, 1.0, 100.0])
def test_no_general_method_finds_less(constant, scale):
    problem = SparseRisk(X, Y, scale * C, constant)
    solution = ColumnDescent(1e-8).solve(problem)
    assert solution.status is Status.CONVERGED and solution.residual <= 1e-8
    least = objective(problem, by_splitting(problem))
    assert objective(problem, solution.weights) <= least * (1.0 + 1e-9)
    assert 0.0 <= solution.gap <= 1e-6 * least  # of the dual problem: nothing is less
    assert solution.weights[-1] == 0.0 or constant


def test_the_dual_coefficients_make_the_slope():
    problem = SparseRisk(X, Y, C, 1.0)
    solution = ColumnDescent(1e-8).solve(problem)
    slope = np.append(X.T @ solution.coef, solution.coef.sum())
    assert np.abs(slope).max() <= 1.0 + 1e-8
    np.testing.assert_allclose(
        slope[solution.weights != 0], np.sign(solution.weights[solution.weights != 0]), atol=1e-8
    )


@pytest.mark.parametrize("kind", [sp.csr_array, np.float32, np.asfortranarray])
def test_storage_makes_no_difference(kind):
    thin = np.where(np.abs(X) > 0.5, np.round(X, 2), 0.0).astype(np.float32).astype(np.float64)
    given = thin.astype(np.float32) if kind is np.float32 else kind(thin)
    expected = ColumnDescent(1e-9).solve(SparseRisk(thin, Y, C, 1.0)).weights
    np.testing.assert_allclose(ColumnDescent(1e-9).solve(SparseRisk(given, Y, C, 1.0)).weights, expected, atol=1e-7)


def test_columns_that_depend_on_each_other():
    twice = np.column_stack([X, X[:, 0] + X[:, 1], 2.0 * X[:, 2]])
    problem = SparseRisk(twice, Y, 50.0 * C, 1.0)
    solution = ColumnDescent(1e-6).solve(problem)
    assert solution.status is Status.CONVERGED
    assert objective(problem, solution.weights) <= objective(problem, by_splitting(problem)) * (1.0 + 1e-9)


def test_small_costs_leave_nothing():
    solution = ColumnDescent().solve(SparseRisk(X, Y, 1e-4 * C, 1.0))
    assert not solution.weights.any() and solution.status is Status.CONVERGED


def test_samples_of_no_cost_do_not_matter():
    c = np.where(np.arange(40) < 30, C, 0.0)
    few = ColumnDescent(1e-9).solve(SparseRisk(X[:30], Y[:30], C[:30], 1.0)).weights
    np.testing.assert_allclose(ColumnDescent(1e-9).solve(SparseRisk(X, Y, c, 1.0)).weights, few, atol=1e-7)


def test_from_the_solution_nothing_is_left_to_do():
    problem = SparseRisk(X, Y, C, 1.0)
    solution = ColumnDescent(1e-6).solve(problem)
    assert ColumnDescent(1e-6).solve(problem, start=solution.weights).state == 0


def test_a_monitor_may_stop_it():
    solution = ColumnDescent(1e-12).solve(SparseRisk(X, Y, C, 1.0), monitor=lambda iteration, residual: True)
    assert solution.status is Status.STOPPED


def test_the_loop_without_the_compiler():
    columns = module._Columns.of(module.Rows.of(X, 1.0), Y)
    held = columns.data, columns.index, columns.offsets, C
    states = [(np.zeros(7), np.ones(40)) for _ in range(2)]
    order = np.arange(7)
    found = [
        f(*held, *state, order) for f, state in zip((module._descend, module._descend.py_func), states, strict=True)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    np.testing.assert_allclose(states[0][0], states[1][0], rtol=1e-10)

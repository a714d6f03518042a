"""The simplex method on the lasso's doubled variables."""

import numpy as np
import pytest
from scipy.optimize import linprog

from mercer.problems import Status
from mercer.solvers.sparse.complementarity import ComplementaryPivoting, _pivot
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent
from mercer.solvers.sparse.design import PenalisedLeastSquares, design_of
from mercer.solvers.sparse.lars import LeastAngle


def problem_of(n, D, share, seed=0, common=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) + common * rng.normal(size=(n, 1))
    design = design_of(X, np.ones(n))
    z, _ = design.target(X[:, 0] - X[:, 1] + rng.normal(size=n))
    top = PenalisedLeastSquares(design, z, 0.0).largest_alpha
    return PenalisedLeastSquares(design, z, share * top)


@pytest.mark.parametrize("case", [(50, 8, 0.3), (50, 8, 1e-3), (30, 50, 0.05), (60, 30, 0.01, 1, 2.0)], ids=str)
def test_all_three_algorithms_agree(case):
    problem = problem_of(*case)
    pivoted = ComplementaryPivoting().solve(problem)
    assert pivoted.status is Status.CONVERGED and pivoted.residual < 1e-12
    assert np.allclose(pivoted.coef, CoordinateDescent().solve(problem).coef, atol=1e-9)
    assert np.allclose(pivoted.coef, LeastAngle().solve(problem).coef, atol=1e-9)


def test_pivots_are_the_knots_of_the_path():
    problem = problem_of(60, 30, 0.01, 1, 2.0)
    path = LeastAngle().solve(problem).state
    assert ComplementaryPivoting().solve(problem).state == len(path.steps) + 1  # the artificial variable enters too


def test_with_the_complementarity_left_out_it_is_another_problem():
    """The linear program alone is the Dantzig selector: often the lasso, but not always."""
    apart = []
    for seed in range(6):
        problem = problem_of(15, 12, 0.02, seed, 2.0)
        A = problem.design.transposed.T
        G, s, D = A.T @ A, A.T @ problem.target, 12
        M = np.block([[G, -G], [-G, G]])
        found = linprog(np.ones(2 * D), A_ub=M, b_ub=np.concatenate([problem.alpha + s, problem.alpha - s])).x
        dantzig, lasso = found[:D] - found[D:], ComplementaryPivoting().solve(problem).coef
        assert np.abs(A.T @ (problem.target - A @ dantzig)).max() <= problem.alpha * (1 + 1e-6)
        assert np.abs(dantzig).sum() <= np.abs(lasso).sum() * (1 + 1e-9)
        apart.append(np.abs(dantzig - lasso).max())
    assert max(apart) > 1e-2


def test_ends():
    assert not ComplementaryPivoting().solve(problem_of(20, 4, 1.2)).coef.any()
    problem = problem_of(60, 40, 0.001)
    assert ComplementaryPivoting(max_iter=2).solve(problem).status is Status.MAX_ITER
    assert ComplementaryPivoting().solve(problem, monitor=lambda i, r: True).status in (
        Status.STOPPED,
        Status.CONVERGED,
    )


def test_copies_of_a_column():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 1))
    design = design_of(np.hstack([x, x, -x]), np.ones(30))
    z, _ = design.target(2 * x[:, 0])
    problem = PenalisedLeastSquares(design, z, 1.0)
    b = ComplementaryPivoting().solve(problem).coef
    assert problem.violation(b, design.correlations(problem.left(b))) < 1e-10


def test_the_compiled_pivot_is_its_python_original():
    T = np.random.default_rng(0).uniform(1, 2, size=(4, 10))
    one, two = T.copy(), T.copy()
    a, b = np.arange(5, 9), np.arange(5, 9)
    assert _pivot(one, a, 4, 0, 3, 2) == _pivot.py_func(two, b, 4, 0, 3, 2)
    assert np.allclose(one, two) and np.array_equal(a, b)

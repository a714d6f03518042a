"""Coordinate descent with an active-set finish."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso as Reference

from mercer.errors import CapabilityError, ParameterError
from mercer.problems import LinearSystem, Status
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent, _descend, polish
from mercer.solvers.sparse.design import PenalisedLeastSquares, design_of

rng = np.random.default_rng(0)


def problem_of(n, D, share, common=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) + common * rng.normal(size=(n, 1))
    y = X[:, : min(D, 5)] @ rng.normal(size=min(D, 5)) + rng.normal(size=n)
    design = design_of(X, np.ones(n))
    z, _ = design.target(y)
    top = PenalisedLeastSquares(design, z, 0.0).largest_alpha
    return X, y, PenalisedLeastSquares(design, z, share * top)


def naive(A, z, alpha, passes=20_000):
    """Equations (14) and (15), one coefficient after the other."""
    W, s = A.T @ A, A.T @ z
    b = np.zeros(A.shape[1])
    for _ in range(passes):
        before = b.copy()
        for i in range(len(b)):
            aim = s[i] - W[i] @ b + W[i, i] * b[i]
            b[i] = (aim - alpha) / W[i, i] if aim > alpha else (aim + alpha) / W[i, i] if aim < -alpha else 0.0
        if np.abs(b - before).max() < 1e-14:
            break
    return b


@pytest.mark.parametrize(("n", "D", "share", "common"), [(40, 8, 0.1, 0.0), (40, 60, 0.05, 0.0), (60, 20, 0.01, 2.0)])
def test_the_naive_twin(n, D, share, common):
    X, _, problem = problem_of(n, D, share, common)
    solution = CoordinateDescent().solve(problem)
    slow = naive(X - X.mean(0), problem.target, problem.alpha)
    assert solution.status is Status.CONVERGED and np.allclose(solution.coef, slow, atol=1e-9)
    c = problem.design.correlations(problem.left(solution.coef))
    assert problem.violation(solution.coef, c) < 1e-10 * problem.alpha and solution.residual < 1e-13


def test_scikit_learn():
    X, y, problem = problem_of(200, 300, 0.05)
    theirs = Reference(alpha=problem.alpha / 200, tol=1e-12, max_iter=100_000).fit(X, y)
    assert np.allclose(CoordinateDescent().solve(problem).coef, theirs.coef_, atol=1e-8)


def test_above_the_largest_alpha_all_is_zero():
    _, _, problem = problem_of(30, 5, 1.0)
    solution = CoordinateDescent().solve(problem)
    assert not solution.coef.any() and solution.state == 0


def test_a_warm_start_takes_no_round():
    _, _, problem = problem_of(100, 50, 0.05)
    first = CoordinateDescent().solve(problem)
    again = CoordinateDescent().solve(problem, start=first.coef)
    assert first.state >= 1 and again.state == 0 and np.array_equal(first.coef, again.coef)


def test_the_path_is_the_single_fits():
    _, _, problem = problem_of(80, 100, 0.5)
    alphas = problem.alpha * np.geomspace(1.0, 0.05, 6)
    for alpha, one in zip(alphas, CoordinateDescent().path(problem, alphas), strict=True):
        alone = CoordinateDescent().solve(PenalisedLeastSquares(problem.design, problem.target, alpha))
        assert np.allclose(one.coef, alone.coef, atol=1e-9)


def test_columns_that_depend_on_one_another():
    X, _, _ = problem_of(30, 6, 0.1)
    doubled = np.hstack([X, X, X @ rng.normal(size=(6, 3)), np.zeros((30, 1))])
    design = design_of(doubled, np.ones(30))
    z, _ = design.target(X[:, 0] - X[:, 1])
    problem = PenalisedLeastSquares(design, z, 0.5)
    solution = CoordinateDescent().solve(problem)
    assert solution.status is Status.CONVERGED and solution.coef[-1] == 0.0
    assert problem.violation(solution.coef, design.correlations(problem.left(solution.coef))) < 1e-9


def test_out_of_rounds_or_stopped_gives_the_best_so_far():
    _, _, problem = problem_of(100, 200, 0.001)
    calls = []
    stopped = CoordinateDescent().solve(problem, monitor=lambda i, r: calls.append((i, r)) or len(calls) > 3)
    assert stopped.status is Status.STOPPED and np.isfinite(stopped.gap) and all(r > 0 for _, r in calls)
    timed = CoordinateDescent().solve(problem, monitor=lambda i, r: Status.TIME)
    assert timed.status is Status.TIME
    one = CoordinateDescent(max_iter=1).solve(problem)
    full = CoordinateDescent().solve(problem)
    assert one.status is Status.MAX_ITER and full.gap < one.gap and one.gap <= one.trace.residual[0] * 1e12


def test_no_residual_is_told_that_was_not_reached():
    _, _, problem = problem_of(50, 20, 0.1)
    solution = CoordinateDescent().solve(problem)
    b = solution.coef
    c = problem.design.correlations(problem.left(b))
    assert np.isclose(solution.gap, problem.gap(b, problem.left(b), c), rtol=1e-6, atol=1e-14)


def test_polish_drops_and_adds():
    A = rng.normal(size=(40, 6))
    z = A[:, 0] * 3 - A[:, 1]
    G, s = A.T @ A, A.T @ z
    b = np.array([0.0, 2.0, 5.0, -1.0, 0.0, 0.0])  # wrong signs, wrong columns
    q = s - G @ b
    assert polish(G, q, b, 4.0, steps=50) < 1e-11
    assert np.allclose(b, naive(A, z, 4.0), atol=1e-10) and np.allclose(q, s - G @ b, atol=1e-10)


def test_polish_of_a_singular_matrix_ends():
    G, b = np.ones((2, 2)), np.array([1.0, 1.0])
    q = np.array([5.0, 5.0]) - G @ b
    assert polish(G, q, b, 1.0) < 1e-12 and np.isclose(b.sum(), 4.0)
    opposite = np.array([3.0, -1.0])
    q = np.array([5.0, 5.0]) - G @ opposite
    polish(G, q, opposite, 1.0)  # along the null vector the penalty falls until one of them is zero
    assert np.isclose(opposite.sum(), 4.0) and np.isclose(np.abs(opposite).sum(), 4.0)


def test_the_compiled_pass_is_its_python_original():
    A = rng.normal(size=(20, 5))
    G, s = A.T @ A, A.T @ rng.normal(size=20)
    b, c, q, p = np.zeros(5), np.zeros(5), s.copy(), s.copy()
    assert np.isclose(_descend(G, q, b, 1.0, 0.0, 7), _descend.py_func(G, p, c, 1.0, 0.0, 7), rtol=1e-6, atol=1e-13)
    assert np.allclose(b, c) and np.allclose(q, p)


def test_options_are_checked():
    _, _, problem = problem_of(20, 3, 0.1)
    with pytest.raises(ParameterError, match="tol"):
        CoordinateDescent(tol=0.0).solve(problem)
    with pytest.raises(CapabilityError, match="LinearSystem"):
        CoordinateDescent().solve(LinearSystem(np.eye(2), 1.0, np.ones(2)))


def test_numbers_that_overflow_end_the_finish():
    G, q, b = np.diag([1.0, 1e-300]), np.array([np.inf, 1.0]), np.array([1.0, 0.0])
    assert polish(G, q, b, 1.0) == np.inf and b.tolist() == [1.0, 0.0]

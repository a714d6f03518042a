"""Least angle regression with drops."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lars_path

from mercer.problems import Status
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent
from mercer.solvers.sparse.design import PenalisedLeastSquares, design_of
from mercer.solvers.sparse.lars import Knots, LeastAngle


def problem_of(X, y, share=0.0):
    design = design_of(X, np.ones(len(X)))
    z, _ = design.target(y)
    whole = PenalisedLeastSquares(design, z, 0.0)
    return PenalisedLeastSquares(design, z, share * whole.largest_alpha)


def correlated(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 30)) + 2 * rng.normal(size=(60, 1))
    return X, X[:, :5] @ rng.normal(size=5) + rng.normal(size=60)


def test_the_knots_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    path = LeastAngle().solve(problem_of(X, y)).state
    alphas, _, coefs = lars_path(X - X.mean(0), y - y.mean(), method="lasso")
    assert len(path.alphas) == 13 and np.allclose(path.alphas, alphas * len(X), atol=1e-8)
    assert np.allclose(path.coefs, coefs.T, atol=1e-8)
    assert [step for _, step, _ in path.steps].count("leave") == 1


def test_coordinate_descent_at_every_alpha():
    X, y = correlated()
    whole = problem_of(X, y)
    path = LeastAngle().solve(whole).state
    assert any(step == "leave" for _, step, _ in path.steps)
    for alpha in whole.largest_alpha * np.array([2.0, 0.9, 0.3, 0.1, 0.03, 0.003]):
        problem = PenalisedLeastSquares(whole.design, whole.target, alpha)
        assert np.allclose(path.at(alpha), CoordinateDescent().solve(problem).coef, atol=1e-9)
        alone = LeastAngle().solve(problem)
        assert np.allclose(alone.coef, path.at(alpha), atol=1e-11) and alone.residual < 1e-12


def test_the_end_of_the_path_is_least_squares():
    X, y = correlated(1)
    solution = LeastAngle().solve(problem_of(X, y))
    expected = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
    assert np.allclose(solution.coef, expected, atol=1e-9) and solution.residual < 1e-12


def test_more_columns_than_samples_and_copies_of_columns():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(25, 60)), rng.normal(size=25)
    X[:, 3] = X[:, 2]
    X[:, 4] = 0.0
    problem = problem_of(X, y, 1e-3)
    solution = LeastAngle().solve(problem)
    c = problem.design.correlations(problem.left(solution.coef))
    assert solution.status is Status.CONVERGED and problem.violation(solution.coef, c) < 1e-9 * problem.alpha
    assert solution.coef[4] == 0.0 and (solution.coef[2] == 0.0 or solution.coef[3] == 0.0)


def test_neighbours_that_are_nearly_the_same_column():
    x = np.sort(np.random.default_rng(0).uniform(0, 6, 100))
    K = np.exp(-((x[:, None] - x) ** 2) / 8)
    problem = problem_of(K, np.sin(2 * x), 1e-3)
    solution = LeastAngle().solve(problem)
    c = problem.design.correlations(problem.left(solution.coef))
    assert solution.status is Status.CONVERGED and problem.violation(solution.coef, c) < 1e-9 * problem.alpha


def test_nothing_to_do():
    X, y = correlated()
    assert not LeastAngle().solve(problem_of(X, y, 1.5)).coef.any()
    assert not LeastAngle().solve(problem_of(X, np.zeros(60))).coef.any()
    assert not LeastAngle().solve(problem_of(np.zeros((60, 2)), y)).coef.any()


def test_it_can_be_stopped():
    X, y = correlated()
    seen = []
    solution = LeastAngle().solve(problem_of(X, y), monitor=lambda i, r: seen.append(r) or len(seen) == 3)
    assert solution.status is Status.STOPPED and len(solution.state.alphas) == 4 and seen == sorted(seen)[::-1]
    assert LeastAngle(max_iter=2).solve(problem_of(X, y)).status is Status.MAX_ITER


@pytest.mark.parametrize(("alpha", "value"), [(3.0, 0.0), (2.0, 0.0), (1.5, 0.5), (1.0, 1.0), (0.25, 2.5), (-1.0, 3.0)])
def test_interpolation(alpha, value):
    path = Knots(np.array([2.0, 1.0, 0.0]), np.array([[0.0], [1.0], [3.0]]), ())
    assert path.at(alpha)[0] == value

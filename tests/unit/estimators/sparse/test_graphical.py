"""Graphs from a covariance matrix."""

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso as reference

from mercer.estimators.sparse.graphical import _descend_but, graphical_lasso, neighbourhood
from mercer.problems import Status
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent
from mercer.solvers.sparse.design import PenalisedLeastSquares, design_of

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 8)) @ (np.eye(8) + 0.5 * np.eye(8, k=1))
S = np.cov(X.T, bias=True)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.3])
def test_scikit_learn(alpha):
    ours = graphical_lasso(S, alpha, tol=1e-9)
    _, Theta = reference(S, alpha, tol=1e-9, enet_tol=1e-10, max_iter=1000)
    assert ours.status is Status.CONVERGED
    assert np.allclose(ours.coef, Theta, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_optimality_conditions(alpha):
    Theta = graphical_lasso(S, alpha, tol=1e-12).coef
    slope = np.linalg.inv(Theta) - S
    off = ~np.eye(8, dtype=bool)
    assert np.allclose(np.diag(slope), 0.0, atol=1e-6) and np.abs(slope[off]).max() <= alpha + 1e-5
    used = off & (Theta != 0.0)
    assert used.any() and np.allclose(slope[used], alpha * np.sign(Theta[used]), atol=1e-5)
    assert np.array_equal(Theta, Theta.T) and np.linalg.eigvalsh(Theta)[0] > 0


def test_a_singular_covariance():
    few = np.cov(X[:5].T, bias=True)
    found = graphical_lasso(few, 0.2)
    assert found.status is Status.CONVERGED and np.linalg.eigvalsh(found.coef)[0] > 0


def test_warm_starts_and_stops():
    first = graphical_lasso(S, 0.1, tol=1e-8)
    again = graphical_lasso(S, 0.1, first.state[1], tol=1e-8)
    assert len(again.trace) <= len(first.trace) and np.allclose(first.coef, again.coef, atol=1e-6)
    assert graphical_lasso(S, 0.01, tol=1e-14, monitor=lambda i, r: True).status is Status.STOPPED
    assert graphical_lasso(S, 0.01, tol=1e-15, max_iter=1).status is Status.MAX_ITER


@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_a_neighbourhood_is_a_lasso(alpha):
    n = len(X)
    for j in range(8):
        others = np.delete(np.arange(8), j)
        design = design_of(X[:, others], np.ones(n))
        z, _ = design.target(X[:, j])
        lasso = CoordinateDescent().solve(PenalisedLeastSquares(design, z, n * alpha)).coef
        ours = neighbourhood(S, j, alpha)
        assert ours[j] == 0.0 and np.allclose(ours[others], lasso, atol=1e-9)
        assert np.allclose(neighbourhood(S, j, alpha, start=rng.normal(size=8)), ours, atol=1e-9)


def test_the_compiled_pass_is_its_python_original():
    b, c = np.zeros(8), np.zeros(8)
    q, p = S[2].copy(), S[2].copy()
    assert np.isclose(_descend_but(S, q, b, 2, 0.1, 0.0, 5), _descend_but.py_func(S, p, c, 2, 0.1, 0.0, 5), rtol=1e-6)
    assert np.allclose(b, c) and b[2] == 0.0

"""Pivoted Cholesky factors and their preconditioner, against dense algebra."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.numerics.pivoting import Preconditioner, pivoted_cholesky

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
K = Gaussian(1.0)(X)


def factor_of(K, rank, tol=1e-12):
    return pivoted_cholesky(np.diag(K), lambda i: K[i], rank, tol)


def naive(K, rank):
    """Subtract, from what is left, the row and column of the largest diagonal entry."""
    left, pivots = K.copy(), []
    for _ in range(rank):
        i = int(np.argmax(np.diag(left)))
        left = left - np.outer(left[i], left[i]) / left[i, i]
        pivots.append(i)
    return left, pivots


@pytest.mark.parametrize("rank", [1, 5, 20])
def test_it_takes_the_largest_rest_first(rank):
    found = factor_of(K, rank)
    left, pivots = naive(K, rank)
    assert found.pivots.tolist() == pivots
    assert np.allclose(K - found.array @ found.array.T, left, atol=1e-12)
    assert np.isclose(found.left, np.trace(left), rtol=1e-9)


def test_all_rows_give_the_matrix():
    found = factor_of(K, 60, tol=0.0)
    assert np.allclose(found.array @ found.array.T, K, atol=1e-10)


def test_it_ends_where_nothing_is_left():
    low = X @ X.T
    found = factor_of(low, 50, tol=1e-10)
    assert found.array.shape == (60, 2) and found.left < 1e-12
    assert factor_of(np.zeros((3, 3)), 3).array.shape == (3, 0)
    assert factor_of(np.zeros((0, 0)), 3).array.shape == (0, 0)


def test_the_preconditioner_is_its_matrix():
    shift = rng.uniform(0.1, 1.0, size=60)
    P = Preconditioner.of(factor_of(K, 10).array, shift)
    M = P.array @ P.array.T + np.diag(shift)
    R = rng.normal(size=(60, 3))
    assert np.allclose(P.solve(R), np.linalg.solve(M, R), rtol=1e-10)
    assert np.isclose(P.logdet(), np.linalg.slogdet(M)[1], rtol=1e-12)
    E = P.inverse_root()
    assert np.allclose(np.diag(1.0 / shift) - E @ E.T, np.linalg.inv(M), atol=1e-10)


def test_what_it_draws_has_its_covariance():
    P = Preconditioner.of(np.array([[1.0], [2.0], [0.0]]), np.array([0.5, 1.0, 2.0]))
    Z = P.draw(np.random.default_rng(1), 200_000)
    assert np.allclose(Z @ Z.T / 200_000, P.array @ P.array.T + np.diag(P.shift), atol=0.05)
    assert np.array_equal(Z[:, :5], P.draw(np.random.default_rng(1), 200_000)[:, :5])


def test_it_divides_by_the_shift():
    with pytest.raises(ParameterError, match="positive"):
        Preconditioner.of(np.ones((2, 1)), 0.0)

"""Pivoted Cholesky factors and their preconditioner, against dense algebra."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.numerics.pivoting import Preconditioner, block_pivoted_cholesky, pick, pivoted_cholesky
from mercer.runtime.tiling import Stopped

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


def smooth(n=400, width=0.5):
    """A Gram matrix whose eigenvalues fall quickly, and blocks of it."""
    x = np.random.default_rng(3).normal(size=(n, 2))
    K = np.exp(-np.square(x[:, None] - x).sum(axis=2) / (2.0 * width**2))
    return K, lambda rows, index: K[rows][:, index]


def drawn(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("rng", [None, 0])
def test_a_block_factor_reproduces_its_pivots(rng):
    K, block = smooth()
    factor = block_pivoted_cholesky(np.diag(K), block, 60, rng=None if rng is None else drawn(rng))
    rest = K - factor.array @ factor.array.T
    assert len(set(factor.pivots.tolist())) == 60
    assert np.abs(rest[factor.pivots]).max() < 1e-9 and np.linalg.eigvalsh(rest)[0] > -1e-9
    assert np.isclose(factor.left, np.trace(rest))
    triangle = factor.array[factor.pivots]
    assert np.array_equal(triangle, np.tril(triangle))


def test_blocks_leave_no_more_than_single_columns():
    for width in (0.2, 0.5, 1.5):
        K, block = smooth(width=width)
        one = pivoted_cholesky(np.diag(K), lambda i, K=K: K[i], 40)
        assert block_pivoted_cholesky(np.diag(K), block, 40).left < 1.1 * one.left


@pytest.mark.parametrize("rng", [None, 0])
@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-6])
def test_a_block_factor_ends_at_the_tolerance(rng, tol):
    K, block = smooth()
    factor = block_pivoted_cholesky(np.diag(K), block, 400, tol, rng=None if rng is None else drawn(rng))
    assert factor.left <= tol * 400 and len(factor.pivots) < 400
    assert 400 - np.square(factor.array[:, :-1]).sum() > tol * 400


def test_a_whole_block_factor_is_exact_and_stops_at_rounding():
    K, block = smooth(300, 2.0)
    for rng in (None, drawn(0)):
        factor = block_pivoted_cholesky(np.diag(K), block, 300, rng=rng)
        assert len(factor.pivots) < 300 and np.abs(K - factor.array @ factor.array.T).max() < 1e-12
    nothing = block_pivoted_cholesky(np.zeros(5), lambda rows, index: np.zeros((5, 5))[rows][:, index], 3)
    assert nothing.array.shape == (5, 0) and nothing.left == 0.0


def test_pivots_are_drawn_by_what_is_left():
    """The law of the first two pivots is that of drawing them one at a time."""
    K = np.diag([1.0, 2.0, 3.0]) + 0.9
    counts = np.zeros((3, 3))
    for seed in range(1000):
        a, b = block_pivoted_cholesky(np.diag(K), lambda r, i: K[r][:, i], 2, rng=drawn(seed)).pivots
        counts[a, b] += 1
    for a in range(3):
        rest = np.diag(K) - K[:, a] ** 2 / K[a, a]
        expected = K[a, a] / np.trace(K) * rest / rest.sum()
        assert np.allclose(counts[a] / 1000, expected, atol=0.05)


def test_threads_change_no_bit_and_a_monitor_stops():
    K, block = smooth(1500, 0.3)
    a, b = (block_pivoted_cholesky(np.diag(K), block, 150, n_threads=count) for count in (1, 2))
    assert np.array_equal(a.array, b.array) and np.array_equal(a.pivots, b.pivots)
    with pytest.raises(Stopped):
        block_pivoted_cholesky(np.diag(K), block, 150, monitor=lambda done: True)


def test_the_share_of_the_trace_ends_single_columns_too():
    K, _ = smooth()
    factor = pivoted_cholesky(np.diag(K), lambda i: K[i], 400, share=0.05)
    assert factor.left <= 0.05 * 400 < 400 - np.square(factor.array[:, :-1]).sum()


def test_picks_of_the_plain_function():
    K, _ = smooth(30)
    chances = drawn(1).random(30)
    for chance in (np.zeros(0), chances):
        for x, y in zip(pick(K, chance, 1e-3, 9), pick.py_func(K, chance, 1e-3, 9), strict=True):
            assert np.allclose(x, y)

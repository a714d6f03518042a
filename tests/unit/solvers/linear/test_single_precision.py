"""Factors in float32 whose solutions are those of float64."""

import tracemalloc

import numpy as np
import pytest

from mercer.errors import NotPositiveDefinite
from mercer.numerics.cholesky import safe_cholesky
from mercer.solvers.linear.single_precision import mixed_cholesky

SIZES = [0, 1, 2, 3, 63, 64, 65, 129, 300]


def definite(n, seed=0, ridge=0.1):
    X = np.random.default_rng(seed).normal(size=(n, n + 3))
    return X @ X.T / (n + 3) + ridge * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("k", [1, 3])
def test_solutions_are_those_of_float64(n, k):
    G = definite(n)
    rhs = np.random.default_rng(1).normal(size=(n, k))
    factor = mixed_cholesky(G.copy())
    assert factor is not None
    found = factor.refined(rhs)
    exact, left = safe_cholesky(G.copy()).refined(rhs)
    assert found.safe and found.steps <= 4
    np.testing.assert_allclose(found.solution, exact, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found.left, rhs - G @ found.solution, atol=1e-13)
    assert np.linalg.norm(found.left) <= 10 * np.linalg.norm(left) + 1e-14


@pytest.mark.parametrize("n", SIZES)
def test_one_array_holds_the_matrix_and_its_factor(n):
    G = definite(n)
    K = G.copy()
    factor = mixed_cholesky(K)
    assert factor.array is K and factor.single.dtype == np.float32
    assert n == 0 or np.shares_memory(factor.single, K)
    np.testing.assert_allclose(np.triu(factor.single).T, np.linalg.cholesky(G), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(np.tril(K, -1), np.tril(G, -1))
    np.testing.assert_allclose(factor.product(np.eye(n)), G, rtol=1e-15)
    np.testing.assert_array_equal(factor.release(), G)


def test_a_view_into_a_larger_array():
    G = definite(50)
    whole = np.full((57, 57), 7.0)
    whole[4:54, 4:54] = G
    factor = mixed_cholesky(whole[4:54, 4:54])
    rhs = np.ones((50, 1))
    np.testing.assert_allclose(factor.refined(rhs).solution, np.linalg.solve(G, rhs), rtol=1e-11)
    factor.release()
    assert np.all(whole[:4] == 7.0) and np.all(whole[54:] == 7.0) and np.all(whole[:, :4] == 7.0)
    assert np.all(whole[:, 54:] == 7.0)


@pytest.mark.parametrize("shift", [0.7, np.linspace(0.1, 3.0, 40)], ids=["scalar", "vector"])
def test_the_shift_is_part_of_the_matrix(shift):
    K = definite(40)
    G = K + np.diag(np.broadcast_to(shift, 40))
    rhs = np.ones((40, 2))
    factor = mixed_cholesky(K.copy(), shift)
    np.testing.assert_allclose(factor.refined(rhs).solution, np.linalg.solve(G, rhs), rtol=1e-11)
    np.testing.assert_array_equal(factor.release(), G)


def test_a_matrix_that_float32_cannot_factor_is_left_as_it_was():
    x = np.linspace(0, 1, 60)
    K = np.exp(-((x[:, None] - x) ** 2))
    before = K.copy()
    assert mixed_cholesky(K, 1e-12) is None
    np.testing.assert_array_equal(K, before)
    for huge in (1e200, 1e-200):
        big = definite(10) * huge
        kept = big.copy()
        found = mixed_cholesky(big)
        assert found is None
        np.testing.assert_array_equal(big, kept)


def test_what_is_not_accurate_enough_is_said_so():
    X = np.random.default_rng(0).normal(size=(90, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(-1))
    rhs = np.random.default_rng(1).normal(size=(90, 1))
    found = mixed_cholesky(K.copy(), 1e-5).refined(rhs)
    assert not found.safe and found.steps == 4
    np.testing.assert_allclose(found.left, rhs - K @ found.solution - 1e-5 * found.solution, atol=1e-8)


def test_a_column_of_zeros_beside_others():
    G = definite(30)
    rhs = np.stack([np.zeros(30), np.ones(30)], axis=1)
    found = mixed_cholesky(G.copy()).refined(rhs)
    assert found.safe and not found.solution[:, 0].any()
    np.testing.assert_allclose(found.solution[:, 1], np.linalg.solve(G, np.ones(30)), rtol=1e-11)


def test_right_hand_sides_beyond_the_range_of_float32():
    G = definite(30)
    for scale in (1e60, 1e-60):
        found = mixed_cholesky(G.copy()).refined(np.full((30, 1), scale))
        assert found.safe
        np.testing.assert_allclose(found.solution / scale, np.linalg.solve(G, np.ones((30, 1))), rtol=1e-11)


def test_entries_that_are_not_finite():
    G = definite(5)
    G[1, 3] = G[3, 1] = np.nan
    with pytest.raises(NotPositiveDefinite, match="row 1, column 3"):
        mixed_cholesky(G)


def test_no_second_array_is_needed():
    G = definite(700)
    tracemalloc.start()
    mixed_cholesky(G).refined(np.ones((700, 1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * G.nbytes

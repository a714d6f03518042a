"""The Goursat problem of many pairs of paths beside one pair at a time, by power series on every cell."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from scipy.special import i0, j0

from mercer.numerics.goursat import goursat

TERMS = 70  # of power series on a cell, in numbers of about sixteen digits: enough while a row of |D| adds up to 100
FACTORIALS = np.array([float(factorial(p)) for p in range(2 * TERMS)])


def by_power_series(D):
    """u at the end of two paths: power series on two edges of a cell give those on the two others, cell after cell.

    With u(s, 0) = sum_p a_p s^p / p! and u(0, t) = sum_p b_p t^p / p!, where the corner counts to a alone,
    a'_p = sum_k a_{p-k} D^k / k! + D^p sum_q b_q / (p + q)!, and the same for b'.
    """
    p = np.arange(TERMS)
    apart = p[:, None] - p
    sums = 1.0 / FACTORIALS[p[:, None] + p]
    lower, left = np.zeros((D.shape[1], TERMS)), np.eye(1, TERMS)[0]
    for row in D:
        left = np.eye(1, TERMS)[0]
        for j, d in enumerate(row):
            powers = float(d) ** p
            shifts = np.where(apart >= 0, powers[np.abs(apart)] / FACTORIALS[np.abs(apart)], 0.0)
            left, lower[j] = shifts @ left + powers * (sums @ lower[j]), shifts @ lower[j] + powers * (sums @ left)
            lower[j, 0] = 0.0
    return float(left @ (1.0 / FACTORIALS[:TERMS]))


def stacked(left, right):
    """Inner products of the pieces of all paths, and where paths begin: the last row of every path holds zeros."""
    offsets = [np.cumsum([0, *(len(x) + 1 for x in side)]) for side in (left, right)]
    X, Y = (np.concatenate([np.append(x, 0.0 * x[:1], axis=0) for x in side]) for side in (left, right))
    return X @ Y.T, *offsets


def solved(left, right=None):
    D, rows, columns = stacked(left, left if right is None else right)
    out = np.empty((rows.size - 1, columns.size - 1))
    goursat(D, rows, columns, right is None, out)
    return np.triu(out) + np.triu(out, 1).T if right is None else out


def paths(seed, lengths, size):
    rng = np.random.default_rng(seed)
    return [rng.normal(scale=size, size=(length, 2)) + 0.3 * size for length in lengths]


# Rounding alone: the values on antidiagonals are sums of three numbers of at most a few times their size, so that a
# thousandth of a millionth of a thousandth is some fifty roundings on each of the up to ninety antidiagonals.
@pytest.mark.parametrize("size", [0.02, 0.1, 0.3, 0.7])
def test_all_pairs_beside_power_series(size):
    left, right = paths(0, (1, 2, 7, 40, 33), size), paths(1, (50, 1, 9), size)
    expected = [[by_power_series(x @ y.T) for y in right] for x in left]
    # the largest value that the same increments can lead to, all in one direction
    bound = [[i0(2.0 * np.sqrt(np.abs(x @ y.T).sum())) for y in right] for x in left]
    assert np.all(np.abs(solved(left, right) - expected) <= 1e-12 * np.maximum(np.abs(expected), np.sqrt(bound)))


@pytest.mark.parametrize("product", [0.01, 0.099, 0.101, 0.99, 1.01, 3.99, 4.01, 60.0, -0.5, -1.0, -3.9, -10.0])
def test_one_cell_is_a_bessel_function(product):
    value = solved([np.array([[1.0]])], [np.array([[product]])])[0, 0]
    root = 2.0 * np.sqrt(abs(product))
    expected = i0(root) if product > 0.0 else j0(root)
    assert value == pytest.approx(expected, abs=1e-13 * i0(root))


def test_straight_lines_of_many_pieces_are_one_piece():
    x, y = np.full((37, 1), 1.0 / 37.0), np.full((90, 1), 20.0 / 90.0)
    assert solved([x], [y])[0, 0] == pytest.approx(i0(2.0 * np.sqrt(20.0)), rel=1e-13)


def test_company_changes_nothing():
    X = paths(2, (3, 70, 1, 31, 32, 33, 2), 0.2)
    together = solved(X)
    for i, x in enumerate(X):
        for j in range(i, len(X)):
            assert solved([x], [X[j]])[0, 0] == pytest.approx(together[i, j], rel=1e-13)
    np.testing.assert_allclose(solved(X, X), together, rtol=1e-12)


def test_large_steps_are_cut_where_they_are():
    X = paths(3, (20, 30), 0.1)
    X[0][4] *= 40.0
    X[1][11] *= 60.0
    D = X[0] @ X[1].T
    assert np.abs(D).max() > 4.0
    assert solved(X)[0, 1] == pytest.approx(by_power_series(D), rel=1e-12)


def test_paths_without_pieces_and_values_too_large():
    D, rows, columns = np.zeros((3, 2)), np.array([0, 1, 3]), np.array([0, 2])
    out = np.empty((2, 1))
    goursat(D, rows, columns, False, out)
    np.testing.assert_array_equal(out, 1.0)
    D[1, 0] = 1e6
    goursat(D, rows, columns, False, out)
    assert not np.isfinite(out).all()

"""Products with parts of Kronecker products, against the parts written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.numerics import kronecker_products as kronecker
from mercer.numerics.kronecker_products import PairIndex, pair_products


def draw(seed, most=9):
    rng = np.random.default_rng(seed)
    m1, q1, m2, q2 = rng.integers(1, most, 4)
    n, m = rng.integers(1, 4 * most, 2)
    source = PairIndex(np.column_stack([rng.integers(0, q1, n), rng.integers(0, q2, n)]), (int(q1), int(q2)))
    target = PairIndex(np.column_stack([rng.integers(0, m1, m), rng.integers(0, m2, m)]), (int(m1), int(m2)))
    return rng, rng.normal(size=(m1, q1)), rng.normal(size=(m2, q2)), source, target


def written(factor, rows, columns):
    """Entries of a factor: a matrix, an identity told by matches, or ones."""
    if factor is None:
        return np.ones((len(rows), len(columns)))
    if factor.ndim == 1:
        return (factor[rows][:, None] == columns).astype(float)
    return factor[rows][:, columns]


def whole(left, right, source, target):
    return written(left, target.index[:, 0], source.index[:, 0]) * written(
        right, target.index[:, 1], source.index[:, 1]
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-9, 8.0, 1e9]), st.integers(0, 3))
def test_every_way_gives_the_entries_written_out(seed, gain, k):
    rng, L, R, source, target = draw(seed)
    V = rng.normal(size=(len(source), k))
    before, kronecker._GAIN = kronecker._GAIN, gain
    try:
        for left, right in ((L, R), (L, None), (None, R), (None, None), (L, ids(rng, R)), (ids(rng, L), R)):
            got = pair_products(left, right, source, target, V)
            np.testing.assert_allclose(got, whole(left, right, source, target) @ V, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(pair_products(ids(rng, L), None, source, target, V).shape, (len(target), k))
    finally:
        kronecker._GAIN = before


def ids(rng, factor):
    """An identity: rows are the same as some columns, or as none."""
    m, q = factor.shape
    return np.where(rng.random(m) < 0.8, rng.integers(0, q, m), -1)


def test_an_identity_beside_ones():
    source = PairIndex(np.array([[0, 0], [1, 0], [0, 1]]), (2, 2))
    target = PairIndex(np.array([[0, 0], [1, 1], [2, 0]]), (3, 2))
    got = pair_products(np.array([1, 0, -1]), None, source, target, np.array([[1.0], [2.0], [4.0]]))
    assert got.ravel().tolist() == [2.0, 5.0, 0.0]


def test_a_grid_is_the_kronecker_product():
    rng = np.random.default_rng(0)
    L, R = rng.normal(size=(4, 4)), rng.normal(size=(3, 3))
    grid = PairIndex(np.indices((4, 3)).reshape(2, -1).T, (4, 3))
    v = rng.normal(size=(12, 2))
    np.testing.assert_allclose(pair_products(L, R, grid, grid, v), np.kron(L, R) @ v, rtol=1e-12)
    assert grid.is_grid and grid.swapped.is_grid and grid.take(np.arange(12)[::-1]).is_grid
    assert not grid.take(np.arange(11)).is_grid and not grid.take(np.r_[0, np.arange(11)]).is_grid


@pytest.mark.parametrize("gain", [1e-9, 1e9])
def test_threads_do_not_change_a_bit(gain, monkeypatch):
    monkeypatch.setattr(kronecker, "_GAIN", gain)
    rng = np.random.default_rng(1)
    K, index = rng.normal(size=(300, 300)), PairIndex(rng.integers(0, 300, (4000, 2)), (300, 300))
    V = rng.normal(size=(4000, 1))
    one, two = (pair_products(K, K, index, index, V, n_threads=threads) for threads in (1, 2))
    assert np.array_equal(one, two)


def test_places_and_tables():
    pairs = PairIndex(np.array([[1, 0], [0, 1], [1, 0]]), (2, 2))
    assert pairs.flat.tolist() == [2, 1, 2] and len(pairs) == 3
    assert pairs.table(np.array([1.0, 2.0, 4.0])).tolist() == [[0.0, 2.0], [5.0, 0.0]]
    order, bounds = pairs.right
    assert order.tolist() == [0, 2, 1] and bounds.tolist() == [0, 2, 3]


def test_the_loops_in_python():
    rng = np.random.default_rng(2)
    columns, members, starts = rng.normal(size=(3, 4)), np.array([0, 2, 1]), np.array([0, 2, 3])
    values, out = rng.normal(size=3), np.zeros((2, 4))
    kronecker._collect.py_func(columns, members, starts, values, out)
    np.testing.assert_allclose(out[0], values[0] * columns[0] + values[1] * columns[2])
    found = np.empty(2)
    kronecker._dots.py_func(columns, columns, np.array([0, 1]), np.array([2, 1]), found)
    np.testing.assert_allclose(found, [columns[0] @ columns[2], columns[1] @ columns[1]])

"""Rows kept for a second use."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import Dense, Repeated, Tiles
from mercer.kernels import Gaussian
from mercer.solvers.box import row_cache
from mercer.solvers.box.row_cache import RowCache

X = np.random.default_rng(0).normal(size=(40, 3))
S = Vectors.pack(X)
K = Dense().build(Gaussian(1.0), S).array


class Counting:
    """A Gram that counts the rows it computes."""

    dtype = np.dtype(float)
    resources = Resources()

    def __init__(self, K):
        self.K, self.shape, self.asked = K, K.shape, []

    def rows(self, index, columns=slice(None), out=None):
        self.asked.extend(index.tolist())
        found = self.K[index][:, columns]
        if out is None:
            return found
        out[...] = found
        return out


def cache_of(slots, K=K):
    gram = Counting(K)
    return gram, RowCache(gram, slots * len(K) * 8)


@given(st.integers(0, 45), st.lists(st.lists(st.integers(0, 39), min_size=1, max_size=12, unique=True), max_size=8))
def test_sums_are_those_of_the_gram_whatever_is_held(slots, rounds):
    gram, cache = cache_of(slots)
    out, expected, asked = np.zeros(40), np.zeros(40), 0
    for k, chosen in enumerate(rounds):
        index = np.array(chosen)
        V = np.random.default_rng(k).normal(size=len(index))
        held = cache.held(index)
        cache.update(index, V, out)
        expected += K[:, index] @ V
        asked += len(index)
        assert cache.hits + cache.misses == asked and cache.misses == len(gram.asked)
        assert not set(gram.asked[len(gram.asked) - np.count_nonzero(~held) :]) & set(index[held].tolist())
        now = index[cache.held(index)]
        assert len(now) >= min(len(index) - np.count_nonzero(held), max(2, min(slots, 40)))
        assert np.array_equal(cache.entries(now, np.arange(40)), K[now])
        assert 0.0 <= cache.hit_rate <= 1.0 and cache.nbytes <= max(2, min(slots, 40)) * 320
    np.testing.assert_allclose(out, expected, atol=1e-13)


def test_the_longest_unused_row_goes_first():
    gram, cache = cache_of(3)
    out = np.zeros(40)
    for row in (0, 1, 2, 0, 3):  # 1 is the one not used for longest when 3 comes
        cache.update(np.array([row]), np.ones(1), out)
    assert cache.held(np.array([0, 1, 2, 3])).tolist() == [True, False, True, True]
    assert (cache.hits, cache.misses) == (1, 4)
    assert gram.asked == [0, 1, 2, 3]


def test_room_for_two_rows_is_always_made():
    _, cache = cache_of(0)
    out = np.zeros(40)
    cache.update(np.arange(7), np.ones(7), out)
    np.testing.assert_allclose(out, K[:, :7].sum(axis=1))
    assert cache.nbytes == 2 * 320 and np.count_nonzero(cache.held(np.arange(40))) == 2


def test_a_row_that_is_asked_for_twice_at_once_counts_twice():
    _, cache = cache_of(4)
    out = np.zeros(40)
    cache.update(np.array([5, 5, 6]), np.array([1.0, 2.0, 1.0]), out)
    cache.update(np.array([5, 7, 8, 9]), np.ones(4), out)
    expected = 4 * K[5] + K[6] + K[7] + K[8] + K[9]
    np.testing.assert_allclose(out, expected, atol=1e-13)
    assert np.array_equal(cache.entries(np.array([9]), np.array([1, 2])), K[9:10, 1:3])


def test_nothing_asked_nothing_done():
    gram, cache = cache_of(4)
    out = np.ones(40)
    cache.update(np.zeros(0, np.intp), np.zeros(0), out)
    assert (out == 1.0).all() and cache.hit_rate == 0.0 and cache.nbytes == 0 and not gram.asked


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_it_equals_the_update_of_tiles(precision):
    gram = Tiles(precision=precision).build(Gaussian(1.0), S)
    cache = RowCache(gram, 2**20)
    assert cache._table.dtype == gram.dtype
    index, V = np.array([3, 30, 7]), np.array([1.0, -2.0, 0.5])
    for _ in range(2):
        out, expected = np.zeros(40), np.zeros(40)
        cache.update(index, V, out)
        gram.update(index, V, expected)
        np.testing.assert_allclose(out, expected, atol=1e-13 if precision == "double" else 2e-6)
    assert cache.hits == cache.misses == 3


def test_repeated_samples():
    gram = Repeated(Tiles().build(Gaussian(1.0), S), np.r_[np.arange(40), np.arange(40)])
    cache, out = RowCache(gram, 2**20), np.zeros(80)
    cache.update(np.array([3, 43]), np.array([2.0, -1.0]), out)
    np.testing.assert_allclose(out, np.tile(K[3], 2), atol=1e-14)


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(row_cache, "_COLUMNS", 7)
    found = []
    for threads in (1, 2):
        gram = Tiles(precision="mixed").build(Gaussian(1.0), S, Resources(n_threads=threads))
        cache, out = RowCache(gram, 2**20), np.zeros(40)
        cache.update(np.arange(20), np.random.default_rng(1).normal(size=20), out)
        found.append(out)
    assert np.array_equal(*found)


def test_the_source_of_the_sum():
    out, again = np.zeros(4), np.zeros(4)
    table, slots, V = np.arange(12.0).reshape(3, 4), np.array([2, 0]), np.array([1.0, -1.0])
    row_cache._accumulate(table, slots, V, out)
    row_cache._accumulate.py_func(table, slots, V, again)
    assert out.tolist() == again.tolist() == [8.0] * 4

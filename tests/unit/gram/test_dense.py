"""Dense: the whole matrix in memory."""

import tracemalloc

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, MemoryBudgetError
from mercer.gram import Dense
from mercer.kernels import Gaussian, Spectrum

X = np.random.default_rng(0).normal(size=(40, 3))


def test_it_holds_the_kernel_matrix():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    assert np.array_equal(K.array, Gaussian(1.0)(X))
    assert K.shape == (40, 40)
    v = np.arange(40.0)
    assert np.array_equal(K @ v, K.array @ v)
    assert np.array_equal(K.diag(), np.ones(40))


def test_rows_update_and_take():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    index = np.array([3, 7, 3])
    assert np.array_equal(K.rows(index), K.array[index])
    assert np.array_equal(K.rows(index, np.array([1, 2])), K.array[np.ix_(index, [1, 2])])
    out = np.ones((3, 40))
    assert K.rows(index, out=out) is out and np.array_equal(out, K.array[index])
    total = np.ones(40)
    K.update(np.array([3, 7]), np.array([2.0, -1.0]), total)
    assert np.allclose(total, 1 + 2 * K.array[:, 3] - K.array[:, 7])
    part = K.take(np.array([5, 1]))
    assert np.array_equal(part.array, K.array[np.ix_([5, 1], [5, 1])]) and len(part.samples) == 2


def test_float32_samples_give_a_float64_matrix():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X.astype(np.float32)))
    assert K.array.dtype == np.float64
    assert np.allclose(K.array, Gaussian(1.0)(X.astype(np.float32).astype(float)), atol=1e-15)


def test_the_array_is_given_away_once():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    array = K.release()
    array[:] = 0.0
    with pytest.raises(CapabilityError, match="Build it again"):
        K @ np.ones(40)


def test_it_refuses_before_it_allocates():
    S = Vectors.pack(X)
    tracemalloc.start()
    with pytest.raises(MemoryBudgetError, match=r"Gram matrix, budget .*Tiles"):
        Dense().build(Gaussian(1.0), S, Resources(memory=1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 40 * 8
    K = Dense().build(Gaussian(1.0), S, Resources(memory=40 * 40 * 8))
    assert K.to_dense() is not K.array


def test_other_domains():
    K = Dense().build(Spectrum(2), Strings.pack(["abab", "ab", "ba"]))
    assert np.array_equal(K.array, [[5, 2, 1], [2, 1, 0], [1, 0, 1]])


def test_the_upper_triangle_is_mirrored_to_the_bit():
    K = Dense().build(Gaussian(0.3), Vectors.pack(np.random.default_rng(1).normal(size=(900, 7)))).array
    assert np.array_equal(K, K.T)


def test_update_of_some_rows():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    index, V = np.array([3, 0, 3]), np.array([1.0, -2.0, 0.5])
    for rows in (None, np.array([5, 1]), np.zeros(0, np.intp)):
        chosen = np.arange(40) if rows is None else rows
        out = np.ones(len(chosen))
        K.update(index, V, out, rows=rows)
        np.testing.assert_allclose(out, 1.0 + K.array[np.ix_(chosen, index)] @ V)
    assert K.refined() is K and K.dtype == np.float64 and K.entry_cost == 0.0

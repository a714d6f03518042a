"""Tiles: computed when needed, never stored."""

import tracemalloc

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.errors import ParameterError
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear, Spectrum

X = np.random.default_rng(0).normal(size=(60, 3))


def test_products_equal_those_of_the_stored_matrix():
    S = Vectors.pack(X)
    V = np.random.default_rng(1).normal(size=(60, 2))
    dense, tiles = Dense().build(Gaussian(1.0), S), Tiles().build(Gaussian(1.0), S)
    assert np.allclose(tiles @ V, dense @ V, rtol=1e-13)
    assert np.allclose(tiles @ V[:, 0], (dense @ V)[:, 0], rtol=1e-13)
    assert np.array_equal(tiles.diag(), dense.diag())


def test_rows_update_take_and_dense():
    S = Vectors.pack(X)
    dense, tiles = Dense().build(Gaussian(1.0), S), Tiles().build(Gaussian(1.0), S)
    index = np.array([3, 7])
    assert np.allclose(tiles.rows(index), dense.rows(index), rtol=1e-14)
    assert np.allclose(tiles.rows(index, np.array([0, 5])), dense.rows(index, np.array([0, 5])), rtol=1e-14)
    out, expected = np.zeros(60), np.zeros(60)
    tiles.update(index, np.array([1.0, 2.0]), out)
    dense.update(index, np.array([1.0, 2.0]), expected)
    assert np.allclose(out, expected, rtol=1e-13)
    assert np.allclose(tiles.take(index).to_dense(), dense.take(index).array, rtol=1e-14)
    assert np.array_equal(tiles.to_dense(), dense.array)


def test_nothing_of_the_size_of_the_matrix_is_allocated():
    n = 3000
    S = Vectors.pack(np.random.default_rng(0).normal(size=(n, 5)))
    K = Tiles().build(Gaussian(1.0), S, Resources(n_threads=2))
    K @ np.ones(n)  # compile first
    tracemalloc.start()
    K @ np.ones(n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.15 * 8 * n * n


def test_mixed_precision_is_close_and_stated():
    S = Vectors.pack(X)
    v = np.random.default_rng(2).normal(size=60)
    exact = Dense().build(Gaussian(1.0), S) @ v
    mixed = Tiles(precision="mixed").build(Gaussian(1.0), S) @ v
    assert mixed.dtype == np.float64
    assert 0 < np.max(np.abs(mixed - exact)) < 1e-5 * np.sum(np.abs(v))


def test_too_many_rows_at_once_are_refused():
    K = Tiles(memory=1000).build(Gaussian(1.0), Vectors.pack(X))
    with pytest.raises(ParameterError, match="fewer rows"):
        K.rows(np.arange(10))
    assert K.rows(np.arange(2)).shape == (2, 60)


@pytest.mark.parametrize("bad", [{"memory": "much"}, {"memory": 0}, {"precision": "half"}])
def test_bad_parameters(bad):
    with pytest.raises(ParameterError):
        Tiles(**bad).build(Gaussian(1.0), Vectors.pack(X))


def test_strings_in_tiles():
    texts = ["abab", "ab", "ba"]
    K = Tiles().build(Spectrum(2), Strings.pack(texts))
    assert np.array_equal(K @ np.eye(3), Spectrum(2)(texts))


def test_overflow_is_reported_with_its_remedy():
    K = Tiles().build(Linear() ** 40, Vectors.pack(1e10 * X))
    with pytest.raises(ValueError, match="Scale the data"):
        K @ np.ones(60)

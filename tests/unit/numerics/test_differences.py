"""Distances from differences, against sums in Python (more in test_distances)."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.numerics.differences import half_square_tile, manhattan_tile

rng = np.random.default_rng(0)


@pytest.mark.parametrize("d", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_coordinates(d, dtype):
    X, Z = rng.normal(size=(6, d)).astype(dtype), rng.normal(size=(5, d)).astype(dtype)
    w = rng.uniform(0.5, 2.0, size=d).astype(dtype)
    tol = 1e-5 if dtype is np.float32 else 1e-14
    out = np.empty((6, 5), dtype)
    for weights, factor in ((np.empty(0, dtype), np.ones(d)), (w, w)):
        half_square_tile(X, Z, weights, out)
        expected = [[-sum(((a - b) * f) ** 2 for a, b, f in zip(x, z, factor, strict=True)) / 2 for z in Z] for x in X]
        assert np.allclose(out, expected, rtol=tol)
    manhattan_tile(X, Z, slice(1, 4), slice(0, 5), out[:3])
    expected = [[sum(abs(a - b) for a, b in zip(x, z, strict=True)) for z in Z] for x in X[1:4]]
    assert np.allclose(out[:3], expected, rtol=tol)


def test_differences_of_near_points_are_exact():
    X = np.array([[1e8, 1.0]])
    out = np.empty((1, 1))
    half_square_tile(X, X + np.array([[1e-7, 0.0]]), np.empty(0), out)
    gap = (1e8 + 1e-7) - 1e8  # what is left of the gap at this size, in floating point
    assert out[0, 0] == -(gap**2) / 2


def test_sparse_rows_are_made_dense_for_the_tile():
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    dense, sparse = np.empty((6, 6)), np.empty((6, 6))
    manhattan_tile(X, X, slice(0, 6), slice(0, 6), dense)
    manhattan_tile(sp.csr_array(X), sp.csr_array(X), slice(0, 6), slice(0, 6), sparse)
    assert np.array_equal(dense, sparse)

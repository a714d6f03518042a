"""What either side of a tile contributes (more in test_distances)."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.numerics.operands import beside, center_of, distance_operands, dot_operands, right_side, row_products

X = np.random.default_rng(0).normal(size=(8, 5)) + 3.0
Z = np.random.default_rng(1).normal(size=(6, 5)) + 3.0
SCALE = np.array([0.5, 1.0, 2.0, 4.0, 8.0])


def test_points_are_centred_and_scaled_and_the_source_is_not():
    left, right = distance_operands(X, Z, center_of(Z), SCALE)
    assert np.allclose(left.points, (X - Z.mean(axis=0)) / SCALE)
    assert np.allclose(right.half_norms, ((Z - Z.mean(axis=0)) / SCALE) ** 2 @ np.full(5, 0.5))
    assert np.array_equal(left.source, X) and left.unit == 1.0 and len(left) == 8
    assert left.largest == left.half_norms.max()


def test_the_same_collection_is_one_operand():
    left, right = distance_operands(X, X, center_of(X))
    assert left is right


def test_dot_products_are_not_centred():
    left, right = dot_operands(X, Z, SCALE)
    assert np.allclose(left.points @ right.points.T, (X / SCALE) @ (Z / SCALE).T)
    assert left.half_norms is None and left.largest == 0.0


def test_sparse_data_are_neither_centred_nor_made_dense():
    left, _ = distance_operands(sp.csr_array(X), Z, None)
    assert left.is_sparse and center_of(sp.csr_array(X)) is None
    assert np.allclose(left.points.toarray(), X)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_extreme_sizes_get_a_unit(size):
    left, right = distance_operands(X * size, Z * size, center_of(Z * size))
    assert left.unit != 1.0 and np.log2(left.unit) == int(np.log2(left.unit))
    assert np.isfinite(left.half_norms).all() and left.half_norms.all()
    assert np.allclose(left.points * left.unit, X * size - (Z * size).mean(axis=0), rtol=1e-12)
    assert right.unit == left.unit


def test_read_only_data_are_copied_rather_than_compiled_for():
    frozen = X.copy()
    frozen.flags.writeable = False
    left, _ = distance_operands(frozen, Z)
    assert left.source.flags.writeable and np.array_equal(left.source, X)


def test_columns():
    left, right = distance_operands(X, Z, center_of(Z), None, [1, 3])
    assert left.points.shape == (8, 2) and np.allclose(right.points, (Z - Z.mean(axis=0))[:, [1, 3]])


def test_few_sparse_numbers_are_multiplied_as_dense_ones():
    """Zeros or no zeros: the same arrays, so that products have the same bits."""
    X = np.random.default_rng(0).normal(size=(20, 5)) * (np.arange(5) % 2)
    for dense, sparse in zip(dot_operands(X, X[:7]), dot_operands(sp.csr_array(X), sp.csr_array(X[:7])), strict=True):
        assert not sparse.is_sparse
        np.testing.assert_array_equal(sparse.points, dense.points)
    wide = sp.csr_array((2, 1 << 20))
    assert dot_operands(wide, wide)[0].is_sparse


rng = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(5, 3), (40, 12), (300, 70)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_collections_give_the_same_bits_whoever_owns_the_memory(shape, dtype):
    X = rng.normal(size=shape).astype(dtype)
    apart = row_products(X, X.copy(), same=False)
    for shared in (X, X[:], X.view()):
        assert np.array_equal(row_products(X, shared, same=False), apart)
        assert np.array_equal(row_products(X, shared, same=False, out=np.empty_like(apart)), apart)
    np.testing.assert_allclose(apart, np.einsum("ik,jk->ij", X, X), rtol=1e-4, atol=1e-4)


def test_one_collection_gives_a_symmetric_matrix():
    X = rng.normal(size=(60, 33))
    K = row_products(X, X, same=True)
    assert np.array_equal(K, K.T)


def test_slices_that_begin_at_the_same_place():
    X = rng.normal(size=(20, 6))
    assert np.array_equal(row_products(X[:7], X, same=False), row_products(X[:7].copy(), X, same=False))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [None, SCALE])
@pytest.mark.parametrize("factor", [0.0, 1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_a_side_made_once_is_to_the_bit_that_made_beside_the_other(dtype, scale, factor):
    with np.errstate(over="ignore", under="ignore"):
        points = (factor * X).astype(dtype)
    points[~np.isfinite(points)] = 0.0
    kept = right_side(Z.astype(dtype), scale)
    assert kept is not None
    found = beside(points, kept)
    expected = distance_operands(points, Z.astype(dtype), center_of(Z.astype(dtype)), scale)
    if found is None:  # its size is extreme, and the general way is taken
        assert np.abs(points).max() > (1e30 if dtype is np.float64 else 1e10)
        return
    for one, other in zip(found, expected, strict=True):
        assert one.unit == other.unit and one.largest == other.largest
        for name in ("points", "half_norms", "source", "weights"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("points", [np.zeros((2, 5)), np.full((2, 5), 1e200), np.full((2, 5), 1e-200)])
def test_a_side_of_extreme_size_is_not_kept(points):
    assert right_side(points, None) is None

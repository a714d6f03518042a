import numpy as np
import pytest

from mercer.numerics.row_products import row_products

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

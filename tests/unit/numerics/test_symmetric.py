"""Products that read half of a symmetric matrix."""

import numpy as np
import pytest

from mercer.numerics.symmetric import symmetric_product

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 3, 499, 500, 1203])
def test_it_is_the_product(n):
    K, V = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
    K += K.T
    assert np.allclose(symmetric_product(K, V), K @ V, rtol=0, atol=1e-11)


def test_half_is_read_and_threads_change_no_bit():
    K, V = rng.normal(size=(1100, 1100)), rng.normal(size=(1100, 5))
    K += K.T
    whole = symmetric_product(K, V, n_threads=1)
    K[500:, :500] = np.nan
    assert np.array_equal(symmetric_product(K, V, n_threads=3), whole)


def test_nothing():
    assert symmetric_product(np.zeros((0, 0)), np.zeros((0, 2))).shape == (0, 2)
    assert symmetric_product(np.zeros((2, 2)), np.zeros((2, 0))).shape == (2, 0)

"""Block statistics: equal to the unbiased estimate of each block."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.gram import Tiles
from mercer.inference.blocks import block_null, block_size_of, check_blocks, hsic_blocks, mmd_blocks
from mercer.inference.dependence_measures import hsic, mmd
from mercer.inference.tests import hsic_test, mmd_test
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(41, 2)), RNG.normal(0.3, size=(37, 2))
K = Gaussian(1.0)


@pytest.mark.parametrize("b", [2, 5])
def test_discrepancy(b):
    found = mmd_blocks(K, Vectors.pack(X), Vectors.pack(Y), b)
    assert len(found) == 37 // b
    for c, value in enumerate(found):
        x, y = X[c * b : (c + 1) * b], Y[c * b : (c + 1) * b]
        h = K(x) + K(y) - K(x, y) - K(y, x)
        assert value == pytest.approx((h.sum() - np.trace(h)) / (b * (b - 1)), rel=1e-10)


def test_dependence():
    found = hsic_blocks((K, Gaussian(2.0)), Vectors.pack(X[:36]), Vectors.pack(Y[:36]), 6)
    for c, value in enumerate(found):
        part = slice(6 * c, 6 * c + 6)
        assert value == pytest.approx(hsic(X[part], Y[part], (K, Gaussian(2.0)), estimator="unbiased"), abs=1e-12)


def test_chunks_do_not_show():
    x = RNG.normal(size=(1000, 1))
    found = mmd_blocks(K, Vectors.pack(x[:500]), Vectors.pack(x[500:]), 2)
    single = [
        mmd_blocks(K, Vectors.pack(x[i : i + 2]), Vectors.pack(x[500 + i : 502 + i]), 2)[0] for i in range(0, 500, 2)
    ]
    np.testing.assert_allclose(found, single, rtol=1e-9, atol=1e-12)


def test_null():
    value, null = block_null(np.array([1.0, 2.0, 3.0]))
    assert value == 2.0 and null.std == pytest.approx(1.0 / np.sqrt(3.0))


def test_sizes():
    assert block_size_of("linear", None, 100, 2) == 2
    assert block_size_of("block", None, 100, 2) == 10
    for size, n in ((1, 100), (2.5, 100), (True, 100), (60, 100)):
        with pytest.raises(ParameterError, match="block_size"):
            block_size_of("block", size, n, 2)


@pytest.mark.parametrize("estimator", ["biased", "unbiased", "linear"])
def test_sizes_are_of_blocks_alone(estimator):
    for function in (mmd, hsic, mmd_test, hsic_test):
        with pytest.raises(ParameterError, match="estimator='block'"):
            function(X[:30], Y[:30], estimator=estimator, block_size=-3)


@pytest.mark.parametrize("estimator", ["block", "linear"])
def test_blocks_hold_no_gram(estimator):
    for function in (mmd, hsic, mmd_test, hsic_test):
        for gram in ("nonsense", 5, Tiles()):
            with pytest.raises(ParameterError, match="no Gram matrix"):
                function(X[:30], Y[:30], estimator=estimator, gram=gram)
    check_blocks(estimator, None, None)

"""Matrices multiplied entry by entry: every way of holding them gives the same numbers."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram import Nystrom, Tiles
from mercer.inference.entrywise import Entrywise, trace_of
from mercer.inference.forms import represent
from mercer.kernels import Gaussian, Linear

X, Y = np.random.default_rng(0).normal(size=(2, 40, 2))
W = np.random.default_rng(1).normal(size=(7, 40))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()], ids=repr)  # of full and of low rank
@pytest.mark.parametrize("gram", [None, Tiles(), Nystrom(40), 40], ids=repr)
def test_product(kernel, gram):
    first, second = (represent(kernel, Vectors.pack(S), gram) for S in (X, Y))
    P = np.eye(40) - 1.0 / 40.0
    K, L = (P @ kernel(S) @ P for S in (X, Y))
    H, found = K * L, Entrywise(first, second)
    np.testing.assert_allclose(found.forms(W), np.einsum("bi,ij,bj->b", W, H, W), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.sums(), H.sum(axis=1), rtol=1e-7, atol=1e-9)
    assert found.squares() == pytest.approx(np.sum(H**2), rel=1e-7)
    assert trace_of(first, second) == pytest.approx(np.trace(K @ L), rel=1e-7)

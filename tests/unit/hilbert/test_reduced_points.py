"""Blocks of moving points against the kernel itself."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.hilbert.reduced_points import Moving, _Pieces, _Stored
from mercer.kernels import Cauchy, Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic

RNG = np.random.default_rng(0)
X = Vectors.pack(RNG.normal(size=(300, 3)) + 5.0)
Z = Vectors.pack(RNG.normal(size=(5, 3)) + 5.0)
STORED = [Gaussian(1.3), Gaussian((0.5, 1.0, 2.0)), Matern(1.5, 2.0), Matern(0.8), RationalQuadratic(0.7), Cauchy(2.0)]
PIECES = [Laplacian(1.0), Polynomial(2), Gaussian(1.0) + Linear(), 3.0 * Gaussian(0.8)]


@pytest.mark.parametrize("kernel", STORED + PIECES)
def test_values_and_derivatives_are_the_kernels(kernel):
    moving = Moving(kernel, X, Resources())
    near, own = moving.near(Z), moving.own(Z)
    assert isinstance(near, _Stored) == (kernel in STORED)
    B, A = RNG.normal(size=(5, 2)), RNG.normal(size=(300, 2))
    np.testing.assert_allclose(near.values(), kernel(Z, X), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(near.product(A), kernel(Z, X) @ A, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(near.pull(B, A), kernel.pullback_inputs(Z, X, B @ A.T), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(own.values(), kernel(Z), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(own.pull(B, B), kernel.pullback_inputs(Z, Z, B @ B.T), rtol=1e-8, atol=1e-9)


def test_pieces_sum_to_the_whole(monkeypatch):
    monkeypatch.setattr("mercer.hilbert.reduced_points._PIECE", 64 * 5)
    kernel = Polynomial(2)
    big = Vectors.pack(RNG.normal(size=(20_000, 3)))
    B, A = RNG.normal(size=(5, 1)), RNG.normal(size=(20_000, 1))
    found = _Pieces(kernel, Z, big, Resources()).pull(B, A)
    np.testing.assert_allclose(found, kernel.pullback_inputs(Z, big, B @ A.T), rtol=1e-9)


def test_sparse_samples_and_huge_numbers(monkeypatch):
    sparse = Vectors.pack(sp.random_array((50, 3), density=0.3, random_state=0, format="csr"))
    B, A = RNG.normal(size=(5, 1)), RNG.normal(size=(50, 1))
    for most, kind in ((2**24, _Stored), (10, _Pieces)):
        monkeypatch.setattr("mercer.hilbert.reduced_points._STORED", most)
        near = Moving(Gaussian(1.0), sparse, Resources()).near(Z)
        assert isinstance(near, kind)
        np.testing.assert_allclose(near.values(), Gaussian(1.0)(Z, sparse), rtol=1e-9)
        np.testing.assert_allclose(near.pull(B, A), Gaussian(1.0).pullback_inputs(Z, sparse, B @ A.T), rtol=1e-8)
    huge = Vectors.pack(1e150 * RNG.normal(size=(50, 3)))
    assert isinstance(Moving(Gaussian(1e150), huge, Resources()).near(Z), _Pieces)

"""Sums, products, multiples, constants: values, declared properties, features, frequencies."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import (
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    NegativeDistance,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Spectrum,
    Sum,
    ThinPlate,
)
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(8, 3))
S = Vectors.pack(X)
G, L, P = Gaussian(1.2), Linear(), Polynomial(2)
NODES = [G + L, G * L, 0.5 * G, G + 2.0, (G + L) * (P + 1.0), 0.3 * (G * P) + L, Constant(2.0), L + P + 1.0]


def test_values():
    g, l, p = G(X), L(X), P(X)
    np.testing.assert_allclose((G + L + P)(X), g + l + p, rtol=1e-13)
    np.testing.assert_allclose((G * L * P)(X), g * l * p, rtol=1e-13)
    np.testing.assert_allclose((0.5 * G)(X), 0.5 * g, rtol=1e-15)
    np.testing.assert_allclose((G + 2.0)(X), g + 2.0, rtol=1e-15)
    assert (Constant(3.0)(X, X[:2]) == 3.0).all()


@pytest.mark.parametrize("kernel", NODES, ids=repr)
def test_laws(kernel):
    check_kernel(kernel, X)


def test_the_ring_of_kernels():
    a, b, c = G, L, P
    np.testing.assert_allclose(((a + b) * c)(X), (a * c + b * c)(X), rtol=1e-12)
    np.testing.assert_allclose((a + b)(X), (b + a)(X), rtol=1e-15)
    np.testing.assert_allclose((a * b)(X), (b * a)(X), rtol=1e-15)
    np.testing.assert_allclose((2.0 * (a + b))(X), (2.0 * a + 2.0 * b)(X), rtol=1e-14)


def test_orders():
    cpd, indefinite = NegativeDistance(), Sigmoid()
    assert (G + L).order == 0 and (G + cpd).order == 1 and (cpd + ThinPlate()).order == 2
    assert (G + indefinite).order is None
    assert (G * L).order == 0 and (G * cpd).order is None
    assert (2.0 * cpd).order == 1


def test_declared_properties():
    assert (G + L).strict and not (L + P).strict and not (0.0 * G).strict
    assert (G + L).universal and not (L + P).universal and not (0.0 * G).universal
    assert (G * Laplacian(1.0)).strict and (G * Laplacian(1.0)).normalised
    assert not (G * L).strict  # the linear kernel vanishes at zero
    assert (G + Laplacian(1.0)).stationary and not (G + L).stationary
    assert (0.5 * G).bounded and not (G + L).bounded
    assert Constant(1.0).normalised and not Constant(2.0).normalised


def test_features():
    for kernel in (L + P, L * P, 0.5 * L, L + 1.0, (L + 1.0) * P):
        F, keys = kernel.features(S)
        assert F.shape[1] == kernel.feature_count(S)
        np.testing.assert_allclose(F @ F.T, kernel(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel.features(S[:3], keys)[0], F[:3], rtol=1e-13)
    assert (L + G).feature_count(S) is None


def test_sparse_features():
    words = ["ab", "ba", "abba"]
    kernel = (Spectrum(1) + Spectrum(2)) * (Spectrum(1) + 1.0)
    F, _ = kernel.features(kernel.pack(words))
    assert sp.issparse(F)
    np.testing.assert_allclose((F @ F.T).toarray(), kernel(words), rtol=1e-13)


@pytest.mark.parametrize(
    "kernel", [0.5 * G + 2.0 * Laplacian(1.5), G * Laplacian(1.5), 3.0 * G, G + 1.0, 0.3 * (G + G) + G], ids=repr
)
def test_frequencies_are_those_of_the_normalised_kernel(kernel):
    assert "frequencies" in kernel.capabilities
    w = kernel.frequencies(np.random.default_rng(0), 40_000, 3)
    shift = X[:3] - X[3:6]
    expected = np.diagonal(kernel(X[:3], X[3:6])) / kernel.diag(S)[0]
    np.testing.assert_allclose(np.cos(w @ shift.T).mean(axis=0), expected, atol=0.03)


def test_free_parameters_in_order():
    kernel = 0.5 * G + Laplacian((1.0, 2.0, 3.0)) * (L + 1.0)
    assert free_names(kernel) == (
        "0__scale",
        "0__kernel__length_scale",
        "1__0__length_scale[0]",
        "1__0__length_scale[1]",
        "1__0__length_scale[2]",
        "1__1__1__value",
    )
    assert kernel.pullback(S, S, np.ones((8, 8))).shape == (6,)


def test_gradient_of_a_product_with_a_zero_factor():
    W = np.ones((1, 8))
    zero = Vectors.pack(np.zeros((1, 3)))
    gradient = ((2.0 * L) * (3.0 * L)).pullback(zero, S, W)
    assert gradient.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("bad", [Scaled(-1.0, G), Constant(-1.0), Constant(np.inf), Sum((G, 1.0)), Product((G, None))])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ParameterError):
        bad(X)

"""Distances induced by kernels, and kernels made of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC
from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels import (
    Anchored,
    Brownian,
    FeatureDistance,
    Gaussian,
    Linear,
    NegativeDistance,
    Sigmoid,
    Spectrum,
    ThinPlate,
)
from mercer.language import parse

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
WORDS = ["abab", "ba", "", "aab", "bbb"]


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.7, 2.0])
def test_the_formula(exponent):
    for kernel in (Gaussian(0.8), Linear() + 1.0, NegativeDistance()):
        made = FeatureDistance(kernel, exponent)
        np.testing.assert_allclose(made(X, Z), -(kernel.distance(X, Z) ** exponent), atol=1e-7)
        np.testing.assert_allclose(made(X), -(kernel.distance(X) ** exponent), atol=1e-7)
        np.testing.assert_array_equal(np.diag(made(X)), np.zeros(8))
        np.testing.assert_array_equal(made.diag(Vectors.pack(X)), np.zeros(8))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_of_the_linear_kernel_it_is_the_negative_distance(exponent):
    np.testing.assert_allclose(FeatureDistance(Linear(), exponent)(X, Z), NegativeDistance(exponent)(X, Z), rtol=1e-6)


def test_there_and_back():
    """d^2 = k(x, x) + k(z, z) - 2 k(x, z): from a kernel to its distance, to a kernel, to its distance."""
    for kernel, data in ((Gaussian(0.8), X), (Spectrum(2), WORDS), (NegativeDistance(1.3), X)):
        d = kernel.distance(data)
        half = 0.5 * FeatureDistance(kernel, 2.0)
        np.testing.assert_allclose(half.distance(data), d, atol=1e-7)
        again = Anchored(half, data[:1])
        np.testing.assert_allclose(again.distance(data), d, atol=1e-7)
        # what a positive definite kernel loses on the way is the origin
        np.testing.assert_allclose(again(data), Anchored(kernel, data[:1])(data), atol=1e-7)


def test_gaussian_of_distances_between_strings():
    made = (0.5 * FeatureDistance(Spectrum(1), 2.0)).exp()
    d = Spectrum(1).distance(WORDS)
    np.testing.assert_allclose(made(WORDS), np.exp(-0.5 * d**2))
    assert made.order == 0 and np.linalg.eigvalsh(made(WORDS)).min() > -1e-12
    same = SVC(made).fit(WORDS, [0, 1, 0, 1, 1]).predict(WORDS)
    assert set(same) <= {0, 1}


def test_brownian_motion_is_the_negative_distance_seen_from_zero():
    t = np.abs(X[:, :1])
    np.testing.assert_allclose(Anchored(NegativeDistance(), [[0.0]])(t), 2.0 * Brownian()(t), atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), NegativeDistance(), NegativeDistance(0.4), Linear()], ids=repr)
def test_anchored(kernel):
    o = np.array([[0.3, -0.2, 1.0]])
    made = Anchored(kernel, o)
    expected = kernel(X, Z) - kernel(X, o) - kernel(o, Z) + kernel(o)
    np.testing.assert_allclose(made(X, Z), expected, atol=1e-12)
    np.testing.assert_allclose(made.diag(Vectors.pack(X)), np.diag(made(X)), atol=1e-12)
    np.testing.assert_allclose(made.distance(X), kernel.distance(X), atol=1e-7)
    np.testing.assert_allclose(made(o, X), 0.0, atol=1e-12)
    assert made.order == 0 and not made.stationary and np.linalg.eigvalsh(made(X)).min() > -1e-12
    np.testing.assert_allclose(made(sp.csr_array(X)), made(X), atol=1e-12)


def test_strings_and_tables():
    made = Anchored(Spectrum(1), ["ab"])
    k = Spectrum(1)
    np.testing.assert_allclose(made(WORDS), k(WORDS) - k(WORDS, ["ab"]) - k(["ab"], WORDS) + k(["ab"]))
    assert isinstance(made.pack(WORDS), Strings)
    table = {"x": X[:, 0], "w": ["a", "b", "ab", "ba", "", "a", "b", "aa"]}
    both = FeatureDistance(Gaussian(1.0).on("x") + Spectrum(1).on("w"), 2.0)
    expected = FeatureDistance(Gaussian(1.0), 2.0)(X[:, :1]) + FeatureDistance(Spectrum(1), 2.0)(table["w"])
    np.testing.assert_allclose(both(table), expected, atol=1e-12)


def test_refusals():
    for kernel in (Sigmoid(1.0, offset=-1.0), ThinPlate()):
        with pytest.raises(DomainError, match="square of a distance"):
            kernel.distance(4.0 * X)
    with pytest.raises(CapabilityError, match="indefinite"):
        FeatureDistance(Sigmoid())(X)
    with pytest.raises(CapabilityError, match="order 2"):
        Anchored(ThinPlate(), X[:1])(X)
    with pytest.raises(DomainError, match="one is accepted"):
        Anchored(Gaussian(1.0), X[:2])(X)
    with pytest.raises(ParameterError, match="exponent"):
        FeatureDistance(Linear(), 2.5)(X)


def test_text_and_claims():
    kernel = FeatureDistance(NegativeDistance(), exponent=1.5)
    assert parse(repr(kernel)) == kernel and kernel.order == 1
    assert FeatureDistance(Gaussian(1.0)).strict and not FeatureDistance(Linear()).strict
    anchored = Anchored(NegativeDistance(), [[0.0, 1.0]])
    assert parse(repr(anchored)) == anchored

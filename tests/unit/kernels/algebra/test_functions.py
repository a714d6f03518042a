"""Functions of kernels: powers, exponentials, polynomials, normalisation."""

import numpy as np
import pytest

from mercer import SVC
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import (
    Anchored,
    ExponentialDot,
    Gaussian,
    Linear,
    Multiquadric,
    NegativeDistance,
    Normalized,
    Polynomial,
    PolynomialOf,
    Sigmoid,
    Spectrum,
    ThinPlate,
)
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(8, 3))
S = Vectors.pack(X)
G, L = Gaussian(1.2), Linear()
NODES = [
    L**2,
    (G + L) ** 3,
    L.exp(),
    (0.5 * G).exp(),
    NegativeDistance().exp(),
    L.polynomial((1.0, 0.0, 2.0)),
    L.polynomial((3.0,)),
    L.normalized(),
    (L + 1.0).normalized(),
    (L * G + 0.5).normalized(),
    (2.0 * Polynomial(3)).normalized(),
]


@pytest.mark.parametrize("kernel", NODES, ids=repr)
def test_laws(kernel):
    check_kernel(kernel, X)


def test_values():
    K = L(X)
    np.testing.assert_allclose((L**3)(X), K**3, rtol=1e-13)
    np.testing.assert_allclose(L.exp()(X), np.exp(K), rtol=1e-14)
    np.testing.assert_allclose(L.polynomial((1.0, 2.0, 3.0))(X), 1 + 2 * K + 3 * K**2, rtol=1e-12)
    d = np.sqrt(np.diagonal(K))
    np.testing.assert_allclose(L.normalized()(X), K / np.outer(d, d), rtol=1e-13)
    np.testing.assert_allclose(L.normalized()(X, X[:3]), (K / np.outer(d, d))[:, :3], rtol=1e-13)


def test_the_normalised_exponential_is_the_gaussian():
    np.testing.assert_allclose(ExponentialDot(1.2).normalized()(X), G(X), rtol=1e-12)
    np.testing.assert_allclose((L + 1.0).normalized().diag(S), 1.0)
    np.testing.assert_allclose((L.polynomial((1.0, 2.0, 1.0)))(X), Polynomial(2)(X), rtol=1e-12)


def test_declared_properties():
    assert (L**2).order == 0 and (NegativeDistance() ** 2).order is None and (NegativeDistance() ** 1).order == 1
    assert NegativeDistance().exp().order == 0 and Sigmoid().exp().order is None
    assert L.normalized().normalised and L.normalized().bounded
    assert G.exp().universal and G.exp().strict and G.normalized().universal and (G**2).strict
    assert (G**2).normalised and not (2.0 * G).exp().normalised
    assert G.polynomial((1.0, 1.0)).strict and not G.polynomial((1.0,)).strict
    assert G.normalized().stationary


def test_zero_self_similarity_has_a_value_and_a_warning():
    A = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [2.0, 0.0]])
    with pytest.warns(DegenerateWarning, match="2 of 4 samples have zero self-similarity under Linear"):
        K = L.normalized()(A)
    r = np.sqrt(0.5)
    np.testing.assert_allclose(K, [[1, 0, 1, 0], [0, 1, 0, r], [1, 0, 1, 0], [0, r, 0, 1]])
    assert np.linalg.eigvalsh(K).min() > -1e-14
    with pytest.warns(DegenerateWarning):
        assert L.normalized()(A, A[:1]).ravel().tolist() == [1.0, 0.0, 1.0, 0.0]
    with pytest.warns(DegenerateWarning):
        F, _ = L.normalized().features(Vectors.pack(A))
    np.testing.assert_allclose(F @ F.T, K, atol=1e-15)
    with pytest.warns(DegenerateWarning):
        assert Spectrum(3).normalized()(["a", "b"]).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    "kernel",
    [NegativeDistance(), Multiquadric(), ThinPlate(), 2.0 * NegativeDistance(), G + NegativeDistance()],
    ids=repr,
)
def test_what_is_conditionally_definite_only_cannot_be_normalised(kernel):
    for make in (kernel.normalized, lambda: Normalized(kernel)(X), lambda: SVC(Normalized(kernel)).fit(X, X[:, 0] > 0)):
        with pytest.raises(CapabilityError, match=r"is not a squared length and may be zero.* Use one that it defines"):
            make()
    kernel = NegativeDistance()
    assert np.all(np.isfinite(kernel.exp().normalized()(X))) and Anchored(kernel, X[:1]).normalized().order == 0


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
def test_an_indefinite_kernel_with_a_zero_on_its_diagonal_cannot_be_normalised():
    K = Sigmoid(1.0).normalized()
    with pytest.raises(DomainError, match=r"k\(x, x\) = 0 and k\(x, z\) != 0"):
        (Linear() * Sigmoid(1.0, offset=-1.0) + 0.0).normalized()([[1.0], [2.0]])
    assert np.allclose(np.diagonal(K(X)), 1.0)


def test_a_normalised_kernel_on_a_part_of_a_table():
    np.testing.assert_allclose(L.normalized().on([0, 1])(X), L.normalized()(X[:, :2]), rtol=1e-14)
    kernel = L.normalized().on([0, 1]) + L.on([2]).normalized() * L.normalized().on([1, 2])
    expected = L.normalized()(X[:, :2]) + L.normalized()(X[:, 2:]) * L.normalized()(X[:, 1:])
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-13)
    words = {"w": ["ab", "ba", "a"], "x": [1.0, 2.0, 3.0]}
    both = (Spectrum(1).on("w") + L.on("x")).normalized()
    plain = (Spectrum(1).on("w") + L.on("x"))(words)
    np.testing.assert_allclose(both(words), plain / np.sqrt(np.outer(np.diagonal(plain), np.diagonal(plain))))


def test_no_derivative_where_there_is_no_direction():
    zero = Vectors.pack([[0.0, 0.0, 0.0]])
    with pytest.raises(DomainError, match="not differentiable"):
        (2.0 * L).normalized().pullback(zero, S, np.ones((1, 8)))


def test_a_negative_self_similarity_cannot_be_normalised():
    with pytest.raises(DomainError, match="negative"):
        Normalized(Sigmoid(1.0, offset=-5.0))(X)


@pytest.mark.parametrize("bad", [(), (0.0, 0.0), (-1.0, 1.0), (np.nan,), "ab"])
def test_polynomials_have_coefficients(bad):
    with pytest.raises(ParameterError):
        PolynomialOf(L, bad).check()


def test_coefficients_are_free():
    assert free_names(L.polynomial((1.0, 2.0))) == ("coefficients[0]", "coefficients[1]")


def test_float32_stays():
    for kernel in NODES:
        assert kernel(X.astype(np.float32)).dtype == np.float32

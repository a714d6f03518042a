"""The arc-cosine kernel, above all near the angles 0 and pi."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.kernels import ArcCosine, Polynomial
from mercer.language import parse
from mercer.testing import check_kernel
from tests.naive import dot as naive

rng = np.random.default_rng(2)
X, Z = rng.normal(size=(9, 5)), rng.normal(size=(7, 5))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_agrees_with_the_formula(n):
    k = ArcCosine(n)
    expected = naive.gram(lambda x, z: naive.arc_cosine(x, z, n), X, Z)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(k(X.astype(np.float32), Z.astype(np.float32)), expected, rtol=1e-4, atol=1e-5)
    dense = SPARSE.toarray()
    expected = naive.gram(lambda x, z: naive.arc_cosine(x, z, n), dense, Z)
    np.testing.assert_allclose(k(SPARSE, Z), expected, rtol=1e-12, atol=1e-14)
    assert parse(repr(k)) == k


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("data", [X, SPARSE], ids=["dense", "sparse"])
def test_obeys_the_laws(n, data):
    check_kernel(ArcCosine(n), data)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_is_an_expectation_over_random_units(n):
    w = np.random.default_rng(3).normal(size=(400_000, 2))
    x, z = np.array([1.0, 0.5]), np.array([-0.3, 1.0])
    active = (w @ x > 0) & (w @ z > 0)
    average = 2 * np.mean(active * (w @ x) ** n * (w @ z) ** n)
    assert ArcCosine(n)([x], [z])[0, 0] == pytest.approx(average, abs=0.03)


@pytest.mark.parametrize("scale", [1e-180, 1.0, 1e120])
def test_equal_and_opposite_vectors_are_exact(scale):
    x = X * scale
    K = ArcCosine(0)(np.vstack([x, 3 * x]), -2 * x)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(np.diagonal(K[:9]), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.diagonal(ArcCosine(0)(x, 5 * x)), 1.0, rtol=1e-15)


@pytest.mark.parametrize("gap", [1e-12, 1e-9, 1e-5, 1e-2])
def test_small_angles_keep_their_digits(gap):
    """The cosine of a small angle is 1 - gap^2 / 2: by itself it would lose half the digits."""
    x, z = np.array([[1.0, 0.0]]), np.array([[np.cos(gap), np.sin(gap)]])
    assert (1 - ArcCosine(0)(x, z)[0, 0]) * np.pi == pytest.approx(gap, rel=1e-3 if gap < 1e-10 else 1e-6)
    assert ArcCosine(0)(x, -z)[0, 0] * np.pi == pytest.approx(gap, rel=1e-14)


def test_zero_vectors_are_at_right_angles():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = np.vstack([X, np.zeros(5)])
        np.testing.assert_array_equal(ArcCosine(0)(data)[-1], np.full(10, 0.5))
        np.testing.assert_array_equal(ArcCosine(1)(data)[-1], np.zeros(10))
        assert ArcCosine(0).diag(Vectors.pack(data))[-1] == 0.5
        gradient = ArcCosine(2).pullback_inputs(Vectors.pack(data), Vectors.pack(data), np.ones((10, 10)))
    assert np.isfinite(gradient).all()
    assert np.linalg.eigvalsh(ArcCosine(0)(data))[0] > -1e-12


def test_diagonal():
    squares = Polynomial(1, offset=0.0).diag(Vectors.pack(X))
    np.testing.assert_allclose(ArcCosine(1).diag(Vectors.pack(X)), squares, rtol=1e-13)
    np.testing.assert_allclose(ArcCosine(2).diag(Vectors.pack(X)), 3 * squares**2, rtol=1e-13)


def test_what_is_declared():
    assert [ArcCosine(n).bounded for n in (0, 1, 2)] == [True, False, False]
    assert ArcCosine().degree == 1
    for degree in (3, -1, 1.0):
        with pytest.raises(ParameterError, match="degree must be"):
            ArcCosine(degree)(X)

"""Radial kernels: naive twins, limits, frequencies, derivatives at extreme scales."""

import mpmath
import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Cauchy, Exponential, Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.testing import check_kernel
from tests.naive import radial as naive

X = np.random.default_rng(0).normal(size=(7, 3))
Z = np.random.default_rng(1).normal(size=(5, 3))
SCALES = (0.7, 1.3, 2.1)
TWINS = {
    "Gaussian": (lambda l: Gaussian(l), naive.gaussian, ()),
    "Exponential": (lambda l: Exponential(l), naive.exponential, ()),
    "Cauchy": (lambda l: Cauchy(l), naive.cauchy, ()),
    "Laplacian": (lambda l: Laplacian(l), naive.laplacian, ()),
    "RationalQuadratic": (lambda l: RationalQuadratic(0.8, length_scale=l), naive.rational_quadratic, (0.8,)),
    **{
        f"Matern {nu}": (lambda l, nu=nu: Matern(nu, length_scale=l), naive.matern, (nu,))
        for nu in (0.3, 0.5, 1.0, 1.5, 2.2, 2.5, 3.5, 7.5, 20.5, 21.5)
    },
}


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("length", [1.0, 0.4, 3.0, SCALES], ids=str)
def test_agrees_with_its_naive_twin(name, length):
    make, twin, parameters = TWINS[name]
    expected = naive.table(twin, X, Z, *parameters, length)
    np.testing.assert_allclose(make(length)(X, Z), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("length", [1.1, SCALES], ids=str)
def test_obeys_the_laws(name, length):
    check_kernel(TWINS[name][0](length), X)


@pytest.mark.parametrize("columns", [1, 4, 9, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_number_of_columns(columns, dtype):
    A = np.random.default_rng(2).normal(size=(6, columns)).astype(dtype)
    got = Gaussian(2.0)(A)
    assert got.dtype == dtype
    expected = naive.table(naive.gaussian, A.astype(float), A.astype(float), 2.0)
    np.testing.assert_allclose(got, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_exponential_is_the_roughest_matern():
    assert np.array_equal(Exponential(1.3)(X), Matern(0.5, length_scale=1.3)(X))


def test_cauchy_is_a_rational_quadratic():
    np.testing.assert_allclose(Cauchy(1.3)(X), RationalQuadratic(1.0, length_scale=1.3 / np.sqrt(2))(X), rtol=1e-13)


@pytest.mark.parametrize("kernel", [Matern(1e5), RationalQuadratic(1e7)], ids=repr)
def test_large_orders_approach_the_gaussian(kernel):
    np.testing.assert_allclose(kernel(X), Gaussian(1.0)(X), rtol=1e-3)


@pytest.mark.parametrize("nu", [0.05, 0.9, 1.0, 1.7, 30.2, 60.0, 99.9, 100.1, 150.5, 2000.3])
def test_matern_of_any_order_to_twelve_digits(nu):
    d = np.array([0.0, 1e-200, 1e-8, 1e-4, 0.01, 0.15, 0.7, 2.0, 6.0])
    got = Matern(nu)([[0.0]], d[:, None])[0]
    with mpmath.workdps(40):
        for value, distance in zip(got, d, strict=True):
            s = mpmath.sqrt(2 * mpmath.mpf(nu)) * mpmath.mpf(float(distance))
            exact = 2 ** (1 - mpmath.mpf(nu)) / mpmath.gamma(nu) * s**nu * mpmath.besselk(nu, s) if s else 1
            assert abs(value - exact) <= 1e-12 * exact, (distance, value, exact)


def test_values_too_small_are_zero_and_never_nan():
    far = [[0.0], [1e160], [-1e300]]
    for make, _, _ in TWINS.values():
        K = make(1.0)(far)
        assert np.isfinite(K).all() and (np.diagonal(K) == 1.0).all()


def test_small_differences_beside_huge_numbers_are_refused():
    for kernel in (Gaussian(1.0), Matern(1.5), Cauchy(1.0)):  # Laplacian squares nothing
        with pytest.raises(DomainError, match="differences vanish"):
            kernel([[0.0], [1e3], [1e160], [-1e300]])


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200])
def test_values_depend_on_the_ratio_of_distance_and_length_scale(name, size):
    make = TWINS[name][0]
    np.testing.assert_allclose(make(size)(X * size), make(1.0)(X), rtol=1e-11, atol=1e-15)
    scales = tuple(size * s for s in SCALES)
    np.testing.assert_allclose(make(scales)(X * size), make(SCALES)(X), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", TWINS)
def test_derivatives_of_extreme_data_are_finite(name):
    A, B, W = Vectors.pack(X * 1e200), Vectors.pack(Z), np.ones((7, 5))
    for kernel in (TWINS[name][0](1.0), TWINS[name][0](SCALES)):
        assert np.isfinite(kernel.pullback(A, B, W)).all()


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("length", [0.8, SCALES], ids=str)
def test_frequencies_are_those_of_the_kernel(name, length):
    # k(x, z) = E cos(w . (x - z)): a mean of 40 000 draws is within some 5 / sqrt(40 000)
    kernel = TWINS[name][0](length)
    w = kernel.frequencies(np.random.default_rng(0), 40_000, 3)
    assert w.shape == (40_000, 3)
    shift = X[:4] - Z[:4]
    means = np.cos(w @ shift.T).mean(axis=0)
    exact = np.diagonal(kernel(X[:4], Z[:4]))
    np.testing.assert_allclose(means, exact, atol=0.03)


@pytest.mark.parametrize("length", [0.0, -1.0, np.nan, np.inf, "mean", (1.0, -1.0), (), True])
def test_a_length_scale_is_positive(length):
    with pytest.raises(ParameterError, match="length_scale"):
        Gaussian(length)(X)


def test_length_scales_are_as_many_as_columns():
    with pytest.raises(DomainError, match="2 length scales were given for data with 3 columns"):
        Gaussian((1.0, 2.0))(X)


@pytest.mark.parametrize("nu", [0.0, -1.0, np.nan, "high"])
def test_nu_is_positive(nu):
    with pytest.raises(ParameterError, match="nu"):
        Matern(nu)(X)


def test_texts():
    assert repr(Matern(1.5, length_scale=2.0)) == "Matern(1.5, length_scale=2.0)"
    assert repr(Gaussian((1.0, 2.0))) == "Gaussian((1.0, 2.0))"
    assert repr(Exponential()) == "Exponential(1.0)"

"""Spectral measures of kernels, and Bochner's theorem as a test."""

import numpy as np
import pytest

from mercer.errors import CapabilityError, ParameterError
from mercer.hilbert.bochner import bochner_test, spectral_measure
from mercer.kernels import (
    BSpline,
    Cauchy,
    Epanechnikov,
    Gaussian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    RadialFunction,
    SpectralMixture,
    Spectrum,
    Wendland,
)


def hat(r):
    return np.maximum(0.0, 1.0 - r)


def box(r):
    return (r < 1.0) * 1.0


def test_a_sum_adds_densities_and_atoms():
    measure = spectral_measure(2.0 * Gaussian(1.5) + 0.5 * Matern(0.5) + 3.0 + Periodic(2.0))
    omega = np.linspace(-3, 3, 7)[:, None]
    expected = 2.0 * Gaussian(1.5).spectral_density(omega) + 0.5 * Matern(0.5).spectral_density(omega)
    np.testing.assert_allclose(measure.density(omega), expected, rtol=1e-14)
    places, masses = measure.atoms
    assert measure.mass == pytest.approx(6.5)
    assert masses.sum() == pytest.approx(4.0)
    assert masses[np.all(places == 0.0, axis=1)].max() == 3.0
    assert measure.has_density and not measure.is_absolutely_continuous and measure.support == "everything"
    assert repr(measure).endswith(f"in 1 column: mass 6.5, density on everything, {len(masses)} atoms>")


def test_a_product_convolves():
    omega = np.linspace(-4, 4, 9)[:, None]
    # two bells: variances add
    both = spectral_measure(Gaussian(1.0) * Gaussian(2.0))
    np.testing.assert_allclose(both.density(omega), Gaussian(1 / np.sqrt(1.25)).spectral_density(omega), atol=1e-14)
    # two Cauchy laws: scales add
    both = spectral_measure(Matern(0.5, 1.0) * Matern(0.5, 0.5))
    np.testing.assert_allclose(both.density(omega), Matern(0.5, 1 / 3).spectral_density(omega), atol=1e-14)
    # by a convolution on a grid
    both = spectral_measure(Gaussian(1.0) * Matern(1.5, 0.7))
    grid = np.linspace(-300, 300, 120_001)
    rough, smooth = Matern(1.5, 0.7).spectral_density(grid[:, None]), Gaussian(1.0).spectral_density
    slow = [np.trapezoid(rough * smooth(w - grid[:, None]), grid) for w in omega[:, 0]]
    np.testing.assert_allclose(both.density(omega), slow, rtol=1e-9)
    # points times a density: a bell about each
    comb = spectral_measure(Periodic(2.0) * Gaussian(3.0))
    points, masses = Periodic(2.0).spectral_atoms(1)
    expected = sum(m * Gaussian(3.0).spectral_density(omega - p) for p, m in zip(points, masses, strict=True))
    np.testing.assert_allclose(comb.density(omega), expected, rtol=1e-12)
    assert comb.is_absolutely_continuous


def test_powers_polynomials_exponentials_and_normalised_kernels():
    omega = np.linspace(0, 3, 4)[:, None]
    square = spectral_measure(Gaussian(1.0) ** 2)
    np.testing.assert_allclose(square.density(omega), Gaussian(np.sqrt(0.5)).spectral_density(omega), atol=1e-14)
    sums = spectral_measure(Gaussian(1.0).polynomial((0.5, 2.0, 1.0)))
    expected = 2.0 * Gaussian(1.0).spectral_density(omega) + Gaussian(np.sqrt(0.5)).spectral_density(omega)
    np.testing.assert_allclose(sums.density(omega), expected, atol=1e-13)
    assert sums.atoms[1].tolist() == [0.5]
    grown = spectral_measure(Gaussian(1.0).exp())
    series, factorial = np.zeros(4), 1.0
    for n in range(1, 30):
        factorial *= n
        series += Gaussian(n**-0.5).spectral_density(omega) / factorial
    np.testing.assert_allclose(grown.density(omega), series, atol=1e-13)
    assert grown.mass == pytest.approx(np.e) and grown.atoms[1].tolist() == [1.0] and grown.support == "everything"
    unit = spectral_measure(BSpline(3).normalized(), 2)
    assert unit.mass == pytest.approx(1.0)


def test_columns():
    omega = np.array([[0.5, -1.0], [2.0, 0.0]])
    product = spectral_measure(Gaussian(1.0).on([0]) * Matern(0.5).on([1]), 2)
    expected = Gaussian(1.0).spectral_density(omega[:, :1]) * Matern(0.5).spectral_density(omega[:, 1:])
    np.testing.assert_allclose(product.density(omega), expected, rtol=1e-14)
    apart = spectral_measure(Gaussian(1.0).on(0) + Matern(0.5).on(1), 2)
    assert apart.support == "subspace" and not apart.has_density and not apart.is_absolutely_continuous
    drawn = apart.sample(np.random.default_rng(0), 100)
    assert np.all(drawn.min(axis=1) * drawn.max(axis=1) == 0.0)
    assert "a density on a subspace" in repr(apart)
    with pytest.raises(CapabilityError, match="numbers below 2"):
        spectral_measure(Gaussian(1.0).on("age"), 2)


@pytest.mark.parametrize(
    ("kernel", "width", "support"),
    [
        (Gaussian(1.0), 3, "everything"),
        (Periodic(1.0), 1, "lattice"),
        (2.0 * Periodic(1.0) + 1.0, 1, "lattice"),
        (Gaussian(1.0) * 0.0 + 1.0, 1, "everything"),
        (RadialFunction(hat), 1, "open"),
        (SpectralMixture((1.0,), (1.0,), (1.0,)), 1, "everything"),
    ],
)
def test_support(kernel, width, support):
    assert spectral_measure(kernel, width).support == support


def test_what_is_not_known_is_said():
    measure = spectral_measure(Gaussian(1.0) * BSpline(3), 2)
    assert not measure.has_density
    with pytest.raises(CapabilityError, match="not known"):
        measure.density(np.zeros((1, 2)))
    assert measure.sample(np.random.default_rng(0), 3).shape == (3, 2)  # but it can be drawn from


@pytest.mark.parametrize("kernel", [Linear(), Multiquadric(1.0), Spectrum(2)])
def test_kernels_that_are_not_stationary_are_refused(kernel):
    with pytest.raises(CapabilityError, match="no spectral measure"):
        spectral_measure(kernel)


def test_arguments_are_refused():
    with pytest.raises(ParameterError, match="kernel must be a Kernel"):
        spectral_measure("rbf")  # pyright: ignore
    with pytest.raises(ParameterError, match="width must be an integer >= 1"):
        spectral_measure(Gaussian(1.0), 0)
    with pytest.raises(ParameterError, match="rows of 1 numbers"):
        spectral_measure(Gaussian(1.0)).density([0.0])


@pytest.mark.parametrize(
    ("kernel", "width", "positive"),
    [
        (Epanechnikov(1.0), 1, False),
        (Epanechnikov(2.0), 3, False),
        (RadialFunction(box), 1, False),
        (RadialFunction(hat), 1, True),
        (RadialFunction(hat), 2, False),
        (Wendland(1, smoothness=0), 3, False),
        (Wendland(3, smoothness=1), 3, True),
        (Gaussian(1.0) + 0.1 * Epanechnikov(1.0), 1, False),
        (Gaussian(1.0) + 3.0, 2, True),
    ],
    ids=repr,
)
def test_bochners_theorem_tells_kernels(kernel, width, positive):
    result = bochner_test(kernel, width)
    assert result.positive == positive
    if positive:
        return
    # the frequency that was found is a witness: waves of it along the way make a negative quadratic form
    assert result.proved and result.density < -1e-6
    n = 4000 if width == 1 else 0
    if n:
        x = np.linspace(-40, 40, n)[:, None]
        c = np.cos(x[:, 0] * result.omega[0]) * np.exp(-((x[:, 0] / 15) ** 2))
        assert c @ kernel(x) @ c < 0.0


def test_proofs_and_searches_are_told_apart():
    assert bochner_test(Cauchy(1.0)).proved
    searched = bochner_test(RadialFunction(hat))
    assert searched.positive and not searched.proved and searched.error < 1e-12


def test_a_signed_measure_cannot_be_drawn_from():
    with pytest.raises(CapabilityError, match="may be negative"):
        spectral_measure(Epanechnikov(1.0)).sample(np.random.default_rng(0), 3)

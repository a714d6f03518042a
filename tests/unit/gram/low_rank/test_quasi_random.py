"""Frequencies from low-discrepancy points have the law that the kernel's own sampler has."""

import numpy as np
import pytest
from scipy.integrate import quad

from mercer.errors import CapabilityError
from mercer.gram.low_rank.quasi_random import quasi_frequencies
from mercer.kernels import (
    BSpline,
    Cauchy,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
    SpectralMixture,
)

KERNELS = [
    Gaussian(0.7),
    Laplacian(2.0),
    Exponential(1.5),
    Matern(1.5, 0.8),
    Matern(2.2),
    RationalQuadratic(0.7, 2.0),
    RationalQuadratic(3.0),
    Cauchy(1.3),
    InverseMultiquadric(0.9),
    SpectralMixture((1.0, 2.0), (0.5, 3.0), (0.3, 1.0)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_law_is_the_spectral_density(kernel):
    """Shares of points below some values are those of the density's integral, closer than chance would have them."""
    omega = np.sort(np.abs(quasi_frequencies(kernel, np.random.default_rng(0), 2048, 1)[:, 0]))
    total = float(kernel.diag(kernel.pack([[0.0]]))[0])
    low = 1e-8  # some densities are infinite at zero, and can be integrated
    for share in (0.2, 0.5, 0.8):
        place = float(np.quantile(omega, share))
        points = [p for p in (1e-4, 1e-2, 0.1) if low < p < place]
        below = 2.0 * quad(lambda w: float(kernel.spectral_density(np.array([[w]]))[0]), low, place, points=points)[0]
        assert below / total == pytest.approx(share, abs=0.012), share


@pytest.mark.parametrize("kernel", [*KERNELS[:9], Periodic(2.0, 0.8), Gaussian(1.0) * Laplacian(1.0)], ids=repr)
@pytest.mark.parametrize("width", [1, 3])
def test_waves_average_to_the_kernel(kernel, width):
    X = np.random.default_rng(1).normal(size=(12, width))
    omega = quasi_frequencies(kernel, np.random.default_rng(2), 4096, width)
    turn = X @ omega.T
    found = (np.cos(turn) @ np.cos(turn).T + np.sin(turn) @ np.sin(turn).T) / len(omega)
    assert np.abs(found - kernel(X)).max() < 0.03


def test_points_are_more_even_than_chance():
    chance = Gaussian(1.0).frequencies(np.random.default_rng(0), 1024, 4)
    even = quasi_frequencies(Gaussian(1.0), np.random.default_rng(0), 1024, 4)
    assert np.abs(even.mean(axis=0)).max() < 0.1 * np.abs(chance.mean(axis=0)).max()
    assert np.isfinite(even).all()


def test_seeds_and_counts():
    one, two = (quasi_frequencies(Matern(1.5), np.random.default_rng(7), 100, 3) for _ in range(2))
    assert np.array_equal(one, two) and one.shape == (100, 3)
    assert not np.array_equal(one, quasi_frequencies(Matern(1.5), np.random.default_rng(8), 100, 3))
    assert quasi_frequencies(Gaussian(1.0), np.random.default_rng(0), 1, 2).shape == (1, 2)


def test_what_is_refused():
    with pytest.raises(CapabilityError, match="rejection"):
        quasi_frequencies(BSpline(3), np.random.default_rng(0), 10, 2)
    with pytest.raises(CapabilityError, match="coordinates"):
        quasi_frequencies(Gaussian(1.0), np.random.default_rng(0), 2, 30_000)

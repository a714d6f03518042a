"""Kernels that change from place to place: against integrals, and against their parts far from the change."""

import mpmath
import numpy as np
import pytest

from mercer import GaussianProcessRegressor
from mercer.errors import DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import ChangePoint, Gaussian, Gibbs, Linear, Match, Matern, NegativeDistance
from mercer.testing import check_kernel

rng = np.random.default_rng(4)
X = rng.normal(size=(10, 2))


def widening(X):
    return 0.5 + np.abs(X[:, 0])


MEMBERS = {
    "Gibbs": [Gibbs(widening)],
    "ChangePoint": [ChangePoint(Gaussian(0.7), Matern(1.5) + Linear(), location=0.25, width=0.5)],
}


def _before_and_after(x, z):
    def s(v):
        return 1 / (1 + mpmath.exp(-(v[0] - mpmath.mpf(0.25)) / mpmath.mpf(0.5)))

    square = mpmath.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))
    return (1 - s(x)) * (1 - s(z)) * mpmath.exp(-square / 2) + s(x) * s(z) * mpmath.exp(-square / 8)


TWINS = {
    "ChangePoint": {
        "kernel": ChangePoint(Gaussian(1.0), Gaussian(2.0), location=0.25, width=0.5),
        "formula": _before_and_after,
        "size": lambda x, z, value: mpmath.mpf(1),
    }
}


def test_gibbs_is_an_inner_product_of_normal_densities():
    points = np.array([[-1.0], [0.25], [2.0]])

    def density(u, x):
        variance = widening(np.array([[x]]))[0] ** 2 / 2
        return np.exp(-((u - x) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    grid = np.linspace(-40.0, 40.0, 80_001)
    values = np.stack([density(grid, x) for x in points[:, 0]])
    inner = np.trapezoid(values[:, None] * values, grid)  # smooth and zero at the ends: exact to rounding
    own = np.sqrt(np.diag(inner))
    np.testing.assert_allclose(Gibbs(widening)(points), inner / np.outer(own, own), rtol=1e-10)


def test_gibbs_of_a_constant_is_gaussian():
    np.testing.assert_allclose(Gibbs(lambda X: np.full(len(X), 1.3))(X), Gaussian(1.3)(X), rtol=1e-12)


def test_gibbs_refuses_what_is_no_length():
    with pytest.raises(DomainError, match="positive"):
        Gibbs(lambda X: X[:, 0])(X)
    with pytest.raises(ParameterError, match="function"):
        Gibbs(2.0).check()


@pytest.mark.parametrize("k", [*MEMBERS["Gibbs"], *MEMBERS["ChangePoint"]], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, X)


def test_far_from_the_change_only_one_kernel_is_left():
    k = ChangePoint(Gaussian(1.0), Linear(), location=0.0, width=0.1)
    left, right = X - 50.0, X + 50.0
    np.testing.assert_allclose(k(left), Gaussian(1.0)(left), rtol=1e-12)
    np.testing.assert_allclose(k(right), Linear()(right), rtol=1e-12)
    np.testing.assert_allclose(k(left, right), 0.0, atol=1e-12)


def test_a_process_finds_the_change():
    t = np.linspace(-3.0, 3.0, 60)[:, None]
    y = np.where(t[:, 0] < 1.0, 0.3 * t[:, 0], np.sin(9.0 * t[:, 0]))
    start = ChangePoint(Gaussian(2.0), Gaussian(0.3), location=0.3, width=0.2)
    fitted = GaussianProcessRegressor(start, noise=1e-3, fixed=("noise",)).fit(t, y)
    assert fitted.kernel_.location == pytest.approx(1.0, abs=0.3)
    assert free_names(start) == ("before__length_scale", "after__length_scale", "location", "width")


def test_change_point_knows_what_its_parts_are():
    assert ChangePoint(Gaussian(), NegativeDistance()).order is None
    with pytest.raises(ParameterError, match="Strings"):
        ChangePoint(Gaussian(), Match()).check()
    with pytest.raises(DomainError, match="column 2"):
        ChangePoint(Gaussian(), Linear(), column=2)(X)

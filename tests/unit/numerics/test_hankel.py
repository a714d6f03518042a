"""Transforms of functions of the distance against formulas."""

import numpy as np
import pytest
from scipy import special

from mercer.numerics.hankel import Panels, direction_mean, radial_transform, resolve, sphere_surface

W = np.concatenate([[0.0], np.geomspace(1e-3, 100.0, 30)])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_bells(d):
    values, error = radial_transform(lambda r: np.exp(-0.5 * r * r), W, d)
    exact = (2 * np.pi) ** (-d / 2) * np.exp(-0.5 * W**2)
    np.testing.assert_allclose(values, exact, atol=1e-14)
    assert error < 1e-14


@pytest.mark.parametrize("d", [1, 2, 3])
def test_exponentials_which_have_a_kink_at_zero(d):
    values, _ = radial_transform(lambda r: np.exp(-r), W, d)
    power = 0.5 * (1 + d)
    exact = special.gamma(power) / np.pi**power * (1 + W**2) ** -power
    np.testing.assert_allclose(values, exact, atol=1e-14)


def test_kinks_and_jumps_where_nobody_told():
    hat, _ = radial_transform(lambda r: np.maximum(0.0, 1.0 - r / 1.7), W)
    np.testing.assert_allclose(hat, 1.7 / (2 * np.pi) * np.sinc(1.7 * W / (2 * np.pi)) ** 2, atol=1e-14)
    box, error = radial_transform(lambda r: (r < 1.3) * 1.0, W)
    np.testing.assert_allclose(box, 1.3 / np.pi * np.sinc(1.3 * W / np.pi), atol=1e-13)
    assert error < 1e-13


def test_functions_that_fall_slowly():
    values, error = radial_transform(lambda r: 1.0 / (1.0 + r * r), W)
    np.testing.assert_allclose(values, 0.5 * np.exp(-W), atol=1e-13)
    assert error < 1e-12
    half, _ = radial_transform(lambda r: (1.0 + r * r) ** -0.5, W[1:])
    np.testing.assert_allclose(half, special.k0(W[1:]) / np.pi, rtol=1e-9, atol=1e-13)


def test_an_integral_that_is_infinite_is_said_to_be():
    values, _ = radial_transform(lambda r: (1.0 + r * r) ** -0.5, np.zeros(1))
    assert values[0] == np.inf
    in_space, _ = radial_transform(lambda r: 1.0 / (1.0 + r * r) ** 2, np.zeros(1), 3)
    np.testing.assert_allclose(in_space, np.pi**2 / (2 * np.pi) ** 3, rtol=1e-12)


def test_an_integrable_pole_at_zero():
    values, _ = radial_transform(lambda w: special.k0(np.maximum(w, 1e-300)) / np.pi, np.array([0.0, 1.0, 3.0]))
    np.testing.assert_allclose(2 * np.pi * values, (1.0 + np.array([0.0, 1.0, 9.0])) ** -0.5, rtol=1e-9)


def test_a_known_end_and_other_units():
    free, _ = radial_transform(lambda r: np.maximum(0.0, 1.0 - r) ** 3, W, 2)
    known, _ = radial_transform(lambda r: (1.0 - r) ** 3, W, 2, end=1.0)
    np.testing.assert_allclose(known, free, atol=1e-15)
    far, _ = radial_transform(lambda r: np.exp(-r / 1e6), W / 1e6, scale=1e6)
    near, _ = radial_transform(lambda r: np.exp(-r), W)
    np.testing.assert_allclose(far / 1e6, near, atol=1e-14)


def test_panels():
    panels = resolve(lambda r: np.maximum(0.0, 1.0 - r), 1.0)
    assert panels.vanishes
    nodes, weights = panels.nodes(0.1)
    assert weights.min() > 0
    np.testing.assert_allclose(weights @ np.maximum(0.0, 1.0 - nodes), 0.5, rtol=1e-14)
    assert Panels(np.array([0.0, 1.0]), False).upto(7.0).edges.tolist() == [0.0, 1.0, 2.0, 4.0, 8.0]
    bell = resolve(lambda r: np.exp(-r * r), 1.0, 4.0).interpolant(lambda r: np.exp(-r * r))
    x = np.linspace(0, 4, 301)
    np.testing.assert_allclose(bell(x), np.exp(-x * x), atol=1e-13)


def test_noise_is_not_resolved_for_ever():
    noise = np.random.default_rng(0)
    panels = resolve(lambda r: np.exp(-r) + 1e-9 * noise.normal(size=r.shape))
    assert len(panels.edges) < 100_000


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_means_over_directions(d):
    rng = np.random.default_rng(1)
    e = rng.normal(size=(200_000, d))
    e /= np.linalg.norm(e, axis=1)[:, None]
    for z in (0.0, 1e-4, 0.7, 5.0):
        assert abs(direction_mean(np.array([z]), d)[0] - np.cos(z * e[:, 0]).mean()) < 0.01
    assert sphere_surface(d) == pytest.approx(2 * np.pi ** (d / 2) / special.gamma(d / 2))

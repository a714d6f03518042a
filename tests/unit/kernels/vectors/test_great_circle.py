"""Similarity of places on a sphere: against the textbook formula, and where it stops being positive definite."""

import math

import numpy as np
import pytest

from mercer.errors import DomainError, ParameterError
from mercer.kernels import Haversine
from mercer.language import parse
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
PLACES = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, 40))), rng.uniform(-180, 180, 40)])


def distance(x, z, radius=6371.0088):
    """The haversine formula, pair by pair."""
    (a, b), (c, d) = np.radians(x), np.radians(z)
    h = math.sin((a - c) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((b - d) / 2) ** 2
    return 2.0 * radius * math.asin(math.sqrt(min(h, 1.0)))


@pytest.mark.parametrize("exponent", [1.0, 0.6])
def test_agrees_with_the_formula(exponent):
    k = Haversine(2000.0, exponent=exponent)
    expected = [[math.exp(-((distance(x, z) / 2000.0) ** exponent)) for z in PLACES[:9]] for x in PLACES]
    np.testing.assert_allclose(k(PLACES, PLACES[:9]), expected, rtol=1e-12)
    assert parse(repr(k)) == k


def test_near_and_opposite_places_keep_their_digits():
    """The angle of points given by three coordinates, in exact steps along the equator."""
    step = 2.0**-30
    k = Haversine(1.0, radius=1.0, unit="radians")
    theta = -np.log(k([[0.0, 0.0]], [[0.0, step]])[0, 0])
    assert theta == pytest.approx(step, rel=1e-6)  # the logarithm of nearly one has lost the rest
    far = Haversine.distance_of([[0.0, 0.0]], [[0.0, np.pi - step]], radius=1.0, unit="radians")[0, 0]
    assert np.pi - far == pytest.approx(step, abs=1e-15)


def test_obeys_the_laws():
    check_kernel(Haversine(3000.0), PLACES)
    check_kernel(Haversine(0.5, exponent=0.3, radius=1.0, unit="radians"), np.radians(PLACES))


def test_is_positive_definite_where_the_gaussian_of_the_same_distance_is_not():
    # places on a great circle: the Gaussian of the angle has negative Fourier coefficients there
    circle = np.column_stack([np.zeros(24), np.arange(24) * 15.0])
    angles = Haversine.distance_of(circle, circle, radius=1.0)
    assert np.linalg.eigvalsh(np.exp(-((angles / 2.0) ** 2)))[0] < -1e-3
    assert np.linalg.eigvalsh(Haversine(1.0, radius=1.0)(circle))[0] > 0.0
    with pytest.raises(ParameterError, match="exponent"):
        Haversine(exponent=2.0).check()


def test_turns_and_poles_are_one_place():
    k = Haversine()
    np.testing.assert_allclose(k([[10.0, 20.0]], [[10.0, 380.0], [10.0, -340.0]]), 1.0, rtol=1e-12)
    np.testing.assert_allclose(k([[90.0, 20.0]], [[90.0, -120.0]]), 1.0, rtol=1e-12)


def test_refuses_what_is_no_place():
    with pytest.raises(DomainError, match="latitude 120"):
        Haversine()([[120.0, 10.0]])
    with pytest.raises(DomainError, match="3 columns"):
        Haversine()([[1.0, 2.0, 3.0]])

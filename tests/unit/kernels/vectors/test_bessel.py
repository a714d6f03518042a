"""The Matern profile of any smoothness: the polynomials against SciPy's function and against 40 digits."""

import mpmath
import numpy as np
import pytest

from mercer.kernels.vectors import bessel

ORDERS = (1e-3, 0.3, 0.8, 1.0, 1.7, 2.0, 7.2, 20.0)


@pytest.mark.parametrize("nu", ORDERS)
def test_polynomials_equal_the_function_they_replace(nu):
    """A thousand values an octave of the arguments where the profile is a normal number; AMOS has 14 digits."""
    s = np.exp2(np.random.default_rng(0).uniform(-42.0, 9.4, size=50_000))
    np.testing.assert_allclose(bessel.matern(nu, s), bessel._by_amos(nu, s), rtol=1e-13)


@pytest.mark.parametrize("nu", ORDERS)
def test_both_sides_of_every_part_of_an_octave(nu):
    edges = np.outer([0.25, 8.0], 1.0 + np.arange(16) / 16).ravel()
    s = np.concatenate([np.nextafter(edges, 0.0), edges])
    got = bessel.matern(nu, s)
    with mpmath.workdps(40):
        order = mpmath.mpf(nu)
        exact = [2 ** (1 - order) / mpmath.gamma(order) * mpmath.mpf(x) ** order * mpmath.besselk(order, x) for x in s]
    np.testing.assert_allclose(got, np.array(exact, dtype=float), rtol=1e-12)


def test_zero_infinity_and_nan():
    s = np.array([[0.0, np.nan, 5e-324], [2001.0, 1e300, np.inf]])
    got = bessel.matern(0.8, s)
    assert got[0, 0] == got[0, 2] == 1.0 and np.isnan(got[0, 1])
    assert np.array_equal(got[1], [0.0, 0.0, 0.0])


@pytest.mark.parametrize("nu", [1e-3, 0.05, 0.8, 1.0, 3.0])
def test_the_smallest_arguments(nu):
    """Against 1 - Gamma(1 - nu) / Gamma(1 + nu) (s / 2)^(2 nu): what follows is of the order of s^2."""
    s = np.array([1e-199, 1e-201, 1e-290, 1e-307, 4e-320])
    exact = np.ones(5)
    if nu < 1.0:
        with mpmath.workdps(40):
            ratio = mpmath.gamma(1 - mpmath.mpf(nu)) / mpmath.gamma(1 + mpmath.mpf(nu))
            exact = np.array([1 - ratio * (mpmath.mpf(x) / 2) ** (2 * mpmath.mpf(nu)) for x in s], dtype=float)
    np.testing.assert_allclose(bessel.matern(nu, s), exact, rtol=1e-12)


def test_values_do_not_depend_on_their_place():
    s = np.abs(np.random.default_rng(1).normal(size=(37, 41)))
    whole = bessel.matern(2.2, s)
    assert np.array_equal(bessel.matern(2.2, np.asfortranarray(s)), whole)
    assert np.array_equal(bessel.matern(2.2, s[3:5, 7:8]), whole[3:5, 7:8])

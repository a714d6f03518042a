"""Spline kernels pair by pair, written from their formulas alone."""

import math

from scipy.interpolate import BSpline as Spline


def b_spline(x, z, degree, length_scale):
    """The product of B-splines with the knots -(n + 1) / 2, ..., (n + 1) / 2, zero beyond."""
    basis = Spline.basis_element([k - (degree + 1) / 2 for k in range(degree + 2)], extrapolate=False)
    values = (float(basis((a - b) / length_scale)) for a, b in zip(x, z, strict=True))
    return math.prod(0.0 if math.isnan(value) else value for value in values)


def linear_spline(x, z):
    """[HSS] Eq. (39) as it is printed."""
    return math.prod(
        min(a, b) ** 3 / 3 + min(a, b) ** 2 * abs(a - b) / 2 + 1 + a * b for a, b in zip(x, z, strict=True)
    )


def brownian(x, z):
    return math.prod(min(a, b) for a, b in zip(x, z, strict=True))

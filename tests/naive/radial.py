"""The obvious slow twins of the radial kernels, from their docstrings' formulas, one pair at a time."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gamma, kv


def _distance(x, z, length):
    return math.sqrt(sum(((a - b) / l) ** 2 for a, b, l in zip(x, z, _lengths(x, length), strict=True)))


def _lengths(x, length):
    return [length] * len(x) if np.ndim(length) == 0 else list(length)


def gaussian(x, z, length=1.0):
    return math.exp(-(_distance(x, z, length) ** 2) / 2)


def matern(x, z, nu, length=1.0):
    s = math.sqrt(2 * nu) * _distance(x, z, length)
    return 1.0 if s == 0 else float(2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s))


def exponential(x, z, length=1.0):
    return math.exp(-_distance(x, z, length))


def rational_quadratic(x, z, alpha, length=1.0):
    return (1 + _distance(x, z, length) ** 2 / (2 * alpha)) ** -alpha


def cauchy(x, z, length=1.0):
    return 1 / (1 + _distance(x, z, length) ** 2)


def laplacian(x, z, length=1.0):
    return math.exp(-sum(abs(a - b) / l for a, b, l in zip(x, z, _lengths(x, length), strict=True)))


def table(pair, X, Z, *parameters):
    """The matrix of a kernel that is given for one pair."""
    return np.array([[pair(x, z, *parameters) for z in Z] for x in X])

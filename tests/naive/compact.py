"""Compactly supported functions pair by pair, written from their formulas alone."""

import math

import numpy as np


def _distance(x, z, length_scale):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) / length_scale


def wendland(x, z, dimension, smoothness, length_scale):
    """Integrate t f(t) from r to 1, `smoothness` times, starting from (1 - t)^j; scaled to 1 at 0."""
    r = _distance(x, z, length_scale)
    j = dimension // 2 + smoothness + 1
    f = np.polynomial.Polynomial([1.0, -1.0]) ** j
    for _ in range(smoothness):
        F = (np.polynomial.Polynomial([0.0, 1.0]) * f).integ()
        f = F(1.0) - F
    return float(f(r) / f(0.0)) if r < 1.0 else 0.0


def epanechnikov(x, z, length_scale):
    return max(0.0, 1.0 - _distance(x, z, length_scale) ** 2)

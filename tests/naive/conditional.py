"""Conditionally positive definite kernels pair by pair, written from their formulas alone."""

import math


def _distance(x, z, length_scale=1.0):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) / length_scale


def negative_distance(x, z, exponent):
    return -(_distance(x, z) ** exponent)


def logarithmic(x, z, exponent, length_scale):
    return -math.log(1.0 + _distance(x, z, length_scale) ** exponent)


def multiquadric(x, z, length_scale):
    return -math.sqrt(1.0 + _distance(x, z, length_scale) ** 2)


def inverse_multiquadric(x, z, length_scale):
    return 1.0 / math.sqrt(1.0 + _distance(x, z, length_scale) ** 2)


def thin_plate(x, z):
    d = _distance(x, z)
    return d * d * math.log(d) if d > 0 else 0.0

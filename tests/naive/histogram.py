"""Kernels on histograms, pair by pair, as their docstrings write them."""

import math


def chi_squared(x, z, gamma):
    return math.exp(-gamma * sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0))


def additive_chi_squared(x, z):
    return sum(2 * a * b / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


def intersection(x, z):
    return sum(min(a, b) for a, b in zip(x, z, strict=True))


def tanimoto(x, z):
    if not x.any() and not z.any():
        return 1.0
    t = float(x @ z)
    return t / (float(x @ x) + float(z @ z) - t)

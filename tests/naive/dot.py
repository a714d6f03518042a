"""Kernels of the dot product, pair by pair, as their docstrings write them."""

import math

import numpy as np


def gram(k, X, Z):
    """Evaluate k(x, z) for all pairs of rows, in float64."""
    return np.array([[k(x, z) for z in np.asarray(Z, float)] for x in np.asarray(X, float)])


def dot(x, z):
    return sum(a * b for a, b in zip(x.tolist(), z.tolist(), strict=True))


def polynomial(x, z, p, c, s):
    return sum(math.comb(p, n) * c ** (p - n) * s**n * dot(x, z) ** n for n in range(p + 1))


def exponential_dot(x, z, length):
    return math.exp(dot(x, z) / length**2)


def power_series(x, z, a):
    return sum(a_n * dot(x, z) ** n for n, a_n in enumerate(a))


def sigmoid(x, z, s, c):
    return math.tanh(s * dot(x, z) + c)


def arc_cosine(x, z, n):
    lengths = math.sqrt(dot(x, x)) * math.sqrt(dot(z, z))
    theta = math.acos(max(-1.0, min(1.0, dot(x, z) / lengths)))
    J = {
        0: math.pi - theta,
        1: math.sin(theta) + (math.pi - theta) * math.cos(theta),
        2: 3 * math.sin(theta) * math.cos(theta) + (math.pi - theta) * (1 + 2 * math.cos(theta) ** 2),
    }
    return lengths**n * J[n] / math.pi


def mahalanobis(x, z, B):
    return sum(x[i] * B[i][j] * z[j] for i in range(len(x)) for j in range(len(z)))


def locality_improved(x, z, site, length, letters, p, c):
    total = 0.0
    for j in range(len(x)):
        total += x[j] * math.exp(-((j // letters - site) ** 2) / (2 * length**2)) * z[j]
    return (total + c) ** p


def pyramidal(x, z, shape, patch, p1, p2):
    x, z = x.reshape(shape), z.reshape(shape)
    total = 0.0
    for top in range(shape[0] - patch[0] + 1):
        for left in range(shape[1] - patch[1] + 1):
            window = (slice(top, top + patch[0]), slice(left, left + patch[1]))
            total += dot(x[window].ravel(), z[window].ravel()) ** p1
    return total**p2

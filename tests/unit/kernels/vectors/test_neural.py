"""Kernels of infinitely wide networks: their formulas layer by layer, and networks that are wide."""

import mpmath
import numpy as np
import pytest

from mercer.kernels import ArcCosine, DeepArcCosine, NeuralTangent
from mercer.testing import check_kernel

rng = np.random.default_rng(3)
X = np.vstack([rng.normal(size=(9, 4)), np.zeros((1, 4))])
MEMBERS = {
    "DeepArcCosine": [DeepArcCosine(n, depth=2) for n in (0, 1, 2)],
    "NeuralTangent": [NeuralTangent(1), NeuralTangent(3, offset=0.5)],
}


def _angle(c):
    return mpmath.acos(max(mpmath.mpf(-1), min(mpmath.mpf(1), c)))


def _dot(x, z):
    return mpmath.fsum(a * b for a, b in zip(x, z, strict=True))


def deep(n, depth):
    def layer(k, a, b):
        t = _angle(k / mpmath.sqrt(a * b))
        J = {
            0: mpmath.pi - t,
            1: mpmath.sin(t) + (mpmath.pi - t) * mpmath.cos(t),
            2: 3 * mpmath.sin(t) * mpmath.cos(t) + (mpmath.pi - t) * (1 + 2 * mpmath.cos(t) ** 2),
        }[n]
        return (a * b) ** (mpmath.mpf(n) / 2) * J / mpmath.pi

    def formula(x, z):
        k, a, b = _dot(x, z), _dot(x, x), _dot(z, z)
        for _ in range(depth):
            k, a, b = layer(k, a, b), layer(a, a, a), layer(b, b, b)
        return k

    return formula


def tangent(depth, offset=0):
    def formula(x, z):
        k, a, b = _dot(x, z) + offset, _dot(x, x) + offset, _dot(z, z) + offset
        theta = k
        for _ in range(depth):
            t = _angle(k / mpmath.sqrt(a * b))
            k = mpmath.sqrt(a * b) * (mpmath.sin(t) + (mpmath.pi - t) * mpmath.cos(t)) / mpmath.pi
            theta = k + theta * (mpmath.pi - t) / mpmath.pi
        return theta

    return formula


TWINS = {
    "DeepArcCosine": {"formula": deep(1, 2), "signed": False},
    "NeuralTangent": {"formula": tangent(2), "signed": False},
}


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_layers_agree_with_the_formula(n, depth):
    points = X[:5]
    with mpmath.workdps(40):
        exact = [
            [float(deep(n, depth)(list(map(mpmath.mpf, x)), list(map(mpmath.mpf, z)))) for z in points] for x in X[:5]
        ]
    np.testing.assert_allclose(DeepArcCosine(n, depth=depth)(points), exact, rtol=1e-11)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_one_layer_is_the_arc_cosine_kernel(n):
    np.testing.assert_allclose(DeepArcCosine(n, depth=1)(X), ArcCosine(n)(X), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("k", [*MEMBERS["DeepArcCosine"], *MEMBERS["NeuralTangent"]], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, X)


def test_near_vectors_keep_their_digits():
    gap = 1e-7
    with mpmath.workdps(60):
        z = [mpmath.mpf(1), mpmath.mpf(gap)]
        exact = 1 - deep(1, 4)([mpmath.mpf(1), mpmath.mpf(0)], z) / mpmath.sqrt(_dot(z, z))
    u = DeepArcCosine(1, depth=4)([[1.0, 0.0]], [[1.0, gap]])[0, 0] / np.hypot(1.0, gap)
    assert abs((1.0 - u) - float(exact)) <= 4 * np.finfo(float).eps


def test_offset_is_a_constant_input():
    constant = np.column_stack([X, np.full(len(X), np.sqrt(0.5))])
    np.testing.assert_allclose(NeuralTangent(2, offset=0.5)(X), NeuralTangent(2)(constant), rtol=1e-13)


def test_is_the_tangent_of_a_wide_network():
    """Inner products of gradients of a random network with one hidden layer of many rectified units."""
    width, draws = 200_000, np.random.default_rng(0)
    x, z = X[0], X[1]
    V, a = draws.normal(size=(width, 4)), draws.normal(size=width)
    hidden = [np.maximum(V @ v, 0.0) * np.sqrt(2.0 / width) for v in (x, z)]
    inner = [np.sqrt(2.0 / width) * a * (V @ v > 0) for v in (x, z)]
    expected = hidden[0] @ hidden[1] + (inner[0] @ inner[1]) * (x @ z)
    size = np.sqrt((x @ x) * (z @ z))
    assert NeuralTangent(1)([x], [z])[0, 0] == pytest.approx(expected, abs=0.03 * size)  # some 6 standard errors

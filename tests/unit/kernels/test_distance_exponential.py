"""Exponentials of distances, by one that is known: that of two numbers."""

import numpy as np

from mercer.constraints import Positive
from mercer.domains import Vectors
from mercer.kernels.distance_exponential import DistanceExponential


class Apart(DistanceExponential):
    domain = Vectors
    constraints = {"length_scale": Positive()}

    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    def _distances(self, A, B):
        return np.abs(A.X - B.X.T)


x, z = np.array([[0.0], [1.0], [4.0]]), np.array([[0.5], [1e308]])


def test_values_and_the_diagonal():
    d = np.abs(x - z.T)
    np.testing.assert_allclose(Apart(2.0)(x, z), np.exp(-d / 2.0))
    np.testing.assert_array_equal(Apart(2.0).diag(x), 1.0)
    assert Apart(1e-300)(x, z).max() == 0.0  # far beyond the largest exponent


def test_the_derivative_in_the_length_scale():
    W = np.arange(6.0).reshape(3, 2)
    step = 1e-6
    up, down = (np.vdot(W, Apart(2.0 + s)(x, z)) for s in (step, -step))
    np.testing.assert_allclose(Apart(2.0).pullback(x, z, W), [(up - down) / (2 * step)], rtol=1e-8)
    assert np.isfinite(Apart(1e-300).pullback(x, z, W)).all()

"""What kernels of this package derive from: raw data and packed samples, tiles and blocks, give the same numbers."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.kernels import Gaussian, Kernel, Linear, Matern, NegativeDistance
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import block_derivative, derivative, pull, pullback

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))
W = RNG.normal(size=(7, 5))


class Squared(Kernel):
    """A user's kernel with a derivative of whole blocks: theta <x, z>^2."""

    domain = Vectors
    constraints = Gaussian.constraints

    def __init__(self, length_scale=2.0):
        self.length_scale = length_scale

    def block(self, A, B):
        return self.length_scale * A.dot(B) ** 2

    def pullback(self, A, B, W):
        return np.array([np.vdot(W, A.dot(B) ** 2)])


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.3), Matern(1.5, 0.7), NegativeDistance(1.2), 2.0 * Gaussian(1.0)], ids=repr
)
def test_raw_data_and_samples_have_one_derivative(kernel):
    A, B = kernel.prepare(X), kernel.prepare(Z)
    np.testing.assert_array_equal(kernel.pullback(X, Z, W), kernel.pullback(A, B, W))


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Squared(), Squared() + Gaussian(0.9)], ids=repr)
def test_tiles_and_blocks_have_one_derivative(kernel):
    A, B = kernel.prepare(Vectors.pack(X)), kernel.prepare(Vectors.pack(Z))
    expected = kernel.pullback(A, B, W)
    view = Comparison(kernel, A, B).at(slice(0, 7), slice(0, 5))
    for value, back in (derivative(view, kernel), block_derivative(view, kernel)):
        np.testing.assert_allclose(value, kernel(X, Z), rtol=1e-12)
        np.testing.assert_allclose(back(W), expected, rtol=1e-10)
    np.testing.assert_allclose(pull(kernel, A, B, lambda rows, columns: W[rows, columns]), expected, rtol=1e-10)


def test_without_parameters_there_is_nothing_to_derive_in():
    class Bare(Linear.__base__):
        """A dot product of a user."""

        order = 0

        def apply(self, tile):
            """Leave it."""

    assert pullback(Bare(), Vectors.pack(X), Vectors.pack(Z), W).shape == (0,)

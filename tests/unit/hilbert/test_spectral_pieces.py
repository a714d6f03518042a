"""Pieces of spectral measures: what they are made of, and how they combine."""

import numpy as np
import pytest

from mercer.errors import CapabilityError
from mercer.hilbert.spectral_pieces import pieces_of
from mercer.kernels import Exponential, Gaussian, Laplacian, Matern, Periodic, RadialFunction, Wendland


def rough(r):
    return np.exp(-np.sqrt(r))


def level(r):
    return 0.25 + 0.75 * np.exp(-r)


def one(kernel, width=1):
    (piece,) = pieces_of(kernel, tuple(range(width)), width)
    return piece


def test_a_piece_knows_its_kernel_and_mass():
    t = np.random.default_rng(0).normal(size=(6, 3))
    for kernel in (Gaussian((0.5, 1.0, 2.0)), Laplacian(2.0), Periodic(3.0), 2.0 * Matern(1.5) * Periodic(2.0)):
        piece = one(kernel, 3)
        np.testing.assert_allclose(piece.value(t), kernel(np.zeros((1, 3)), t)[0], atol=1e-13)
        assert piece.mass == pytest.approx(kernel.diag(kernel.pack(np.zeros((1, 3))))[0])


def test_functions_of_one_distance_are_recognised():
    np.testing.assert_array_equal(one(Gaussian((0.5, 1.0)), 2).lengths, [0.5, 1.0])
    assert one(Laplacian(1.0), 2).lengths is None
    both = one(Gaussian((0.5, 1.0)) * Matern(0.5, (1.0, 2.0)), 2).lengths
    assert both is not None and both.tolist() == [0.5, 1.0]
    assert one(Gaussian((0.5, 1.0)) * Matern(0.5, (1.0, 3.0)), 2).density is None


def test_a_function_that_falls_to_a_constant_has_a_point_at_zero():
    atom, rest = pieces_of(RadialFunction(level), (0,), 1)
    assert atom.columns == () and atom.mass == pytest.approx(0.25)
    omega = np.array([[0.0], [1.0], [5.0]])
    np.testing.assert_allclose(
        rest.density_at(omega, Gaussian(1.0)), 0.75 * Exponential(1.0).spectral_density(omega), atol=1e-14
    )


def test_a_function_without_a_limit_is_refused():
    with pytest.raises(CapabilityError, match="neither falls"):
        pieces_of(RadialFunction(lambda r: np.cos(r) + 2.0), (0,), 1)


@pytest.mark.parametrize(("kernel", "width"), [(Wendland(3, length_scale=2.0), 3), (RadialFunction(rough), 1)])
def test_tabulated_samples_have_the_measure(kernel, width):
    t = np.random.default_rng(1).normal(size=(5, width))
    omega = one(kernel, width).sample(np.random.default_rng(2), 40_000)
    waves = np.cos(omega @ t.T)
    assert np.all(np.abs(waves.mean(axis=0) - kernel(np.zeros((1, width)), t)[0]) < 5 * waves.std(axis=0) / 200 + 1e-3)


def test_too_many_points_are_refused():
    with pytest.raises(CapabilityError, match="spectral points"):
        pieces_of(Periodic(1.0, 0.01) * Periodic(0.7, 0.01), (0,), 1)

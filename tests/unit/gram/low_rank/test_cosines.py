"""Cosines and sines against NumPy's in long double."""

import numpy as np
import pytest

from mercer.gram.low_rank import cosines as waves
from mercer.gram.low_rank.cosines import cosines_and_sines

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 2e-15), (np.float32, 3e-7)])
@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 50.0, 1e3, 1e5])
def test_waves(dtype, bound, size):
    Z = (size * rng.normal(size=(6, 100))).astype(dtype)
    Z[0, :3] = 0.0, -0.0, size
    out = np.empty((6, 200), dtype)
    cosines_and_sines(Z, 1.0, out)
    exact = np.hstack([np.cos(Z.astype(np.longdouble)), np.sin(Z.astype(np.longdouble))])
    assert np.abs(out - exact).max() < bound


def test_quadrants_and_scale():
    angles = np.arange(-12, 13)[None] * (np.pi / 4)
    out = np.empty((1, 50))
    cosines_and_sines(angles, 3.0, out)
    assert np.allclose(out, 3.0 * np.hstack([np.cos(angles), np.sin(angles)]), atol=1e-14)
    assert np.allclose(out[:, :25] ** 2 + out[:, 25:] ** 2, 9.0)


def test_python_twin_and_far_angles():
    Z = rng.normal(size=(2, 9)) * 10.0
    one, two = np.empty((2, 18)), np.empty((2, 18))
    cosines_and_sines(Z, 0.5, one)
    waves._write_waves.py_func(Z, waves._NUMBERS[Z.dtype], 0.5, two)
    assert np.allclose(one, two, atol=1e-15)
    far = np.array([[1e12, np.inf]])
    out = np.empty((1, 4))
    cosines_and_sines(far, 1.0, out)
    assert out[0, 0] == np.cos(1e12) and np.isnan(out[0, 1])
    cosines_and_sines(np.zeros((0, 2)), 1.0, np.empty((0, 4)))

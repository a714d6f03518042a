"""Losses that cost more on one side."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.losses import Linex
from mercer.testing import check_loss

xi = np.linspace(-3.0, 3.0, 13)


@pytest.mark.parametrize("a", [0.5, -2.0])
def test_formula(a):
    assert np.allclose(Linex(a).value(xi, 0.0 * xi), np.exp(a * xi) - a * xi - 1.0)
    step = 1e-6
    slope = (Linex(a).value(xi, step + 0.0 * xi) - Linex(a).value(xi, -step + 0.0 * xi)) / (2 * step)
    assert np.allclose(Linex(a).gradient(xi, 0.0 * xi), slope, atol=1e-6)
    bend = (Linex(a).gradient(xi, step + 0.0 * xi) - Linex(a).gradient(xi, -step + 0.0 * xi)) / (2 * step)
    assert np.allclose(Linex(a).curvature(xi, 0.0 * xi), bend, atol=1e-5)


def test_small_asymmetry_is_the_squared_loss():
    assert np.allclose(Linex(1e-4).value(xi, 0.0 * xi) / 1e-8, 0.5 * xi**2, atol=1e-3)


def test_no_asymmetry_is_refused():
    with pytest.raises(ParameterError, match="Squared"):
        Linex(0.0).check()


def test_far_errors_are_numbers():
    assert np.isfinite(Linex(1.0).value(np.array([1e6]), np.array([0.0]))).all()


def test_laws():
    check_loss(Linex(0.7))

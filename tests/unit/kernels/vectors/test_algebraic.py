"""Profiles without an exponential (more in test_profiles)."""

import numpy as np
import pytest

from mercer.kernels.vectors import algebraic

h = -(np.linspace(0.0, 4.0, 77).reshape(7, 11) ** 2) / 2  # of distances d from 0 to 4
d = np.sqrt(-2 * h)


def applied(function, *args):
    tile = h.copy()
    function(tile, *args)
    return tile


def test_profiles_are_their_formulas():
    assert np.allclose(applied(algebraic.cauchy, 0.5), 1 / (1 + (0.5 * d) ** 2), rtol=1e-14)
    assert np.allclose(applied(algebraic.epanechnikov, 0.5), np.maximum(0, 1 - (0.5 * d) ** 2), atol=1e-14)
    assert np.allclose(applied(algebraic.power, 5, 2.0, 0.5), (2.0 * h + 0.5) ** 5, rtol=1e-13)
    r = np.minimum(0.4 * d, 1.0)
    assert np.allclose(applied(algebraic.wendland, 0.4, 2, 1), (1 - r) ** 3 * (3 * r + 1), atol=1e-14)


@pytest.mark.parametrize("name", ["cauchy", "epanechnikov"])
def test_slopes_are_derivatives(name):
    inside = h[(d > 0.1) & (d < 1.9)]
    step = 1e-6
    up, down = inside + step, inside - step
    for tile in (up, down):
        getattr(algebraic, name)(tile, 0.5)
    slope = getattr(algebraic, f"{name}_slope")(inside.copy(), 0.5)
    assert np.allclose(slope, (up - down) / (2 * step), rtol=1e-6)


def test_only_whole_tiles_are_taken():
    with pytest.raises(ValueError, match=r"contiguous|gaps"):
        algebraic.cauchy(h[:, ::2], 1.0)

"""Profiles without an exponential, transposes and the finiteness of a tile (more in test_profiles)."""

import numpy as np
import pytest

from mercer.numerics import algebraic

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


@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (8, 8), (16, 17), (23, 31), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transposes_of_every_shape(shape, dtype):
    source = np.random.default_rng(0).normal(size=shape).astype(dtype)
    wide = np.full((shape[1] + 2, shape[0] + 3), np.nan, dtype)
    target = wide[1 : 1 + shape[1], 2 : 2 + shape[0]]  # a view into something larger, as in a Gram matrix
    algebraic.transpose_into(source, target)
    assert np.array_equal(target, source.T)
    assert np.isnan(wide).sum() == wide.size - source.size  # nothing beside it was touched
    algebraic._transpose.py_func(source, again := np.empty(shape[::-1], dtype))
    assert np.array_equal(again, source.T)


def test_a_target_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="reversed shape"):
        algebraic.transpose_into(np.ones((2, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_number_is_found(bad):
    tile = h.copy()
    assert algebraic.all_finite(tile)
    tile[3, 5] = bad
    assert not algebraic.all_finite(tile)


def test_only_whole_tiles_are_taken():
    with pytest.raises(ValueError, match=r"contiguous|gaps"):
        algebraic.cauchy(h[:, ::2], 1.0)

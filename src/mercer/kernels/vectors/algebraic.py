"""Profiles made of sums, products and quotients alone.

Legend: h = -||x - z||^2 / 2 <= 0 (what the tile holds), d = sqrt(-2 h), r = d / l, inv_l = 1 / length scale,
slope = dk/dh. The rules of ``mercer.kernels.vectors.profiles`` hold here too; import the profiles from there.
"""

import math
from collections.abc import Sequence

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import flat, fresh_copy, scalar

_SQRT2 = math.sqrt(2.0)
_CHUNK = 256  # entries of scratch that stay in the first-level cache


@compiled(fastmath={"contract"})
def _divide(tile, c, factor):
    one = tile.dtype.type(1)
    for i in range(tile.size):
        tile[i] = factor / (one - c * tile[i])


@compiled(fastmath={"contract"})
def _divide_square(tile, c, factor):
    one = tile.dtype.type(1)
    for i in range(tile.size):
        quotient = one / (one - c * tile[i])
        tile[i] = factor * quotient * quotient


@compiled(fastmath={"contract"})
def _cut_parabola(tile, c):
    zero = tile.dtype.type(0)
    one = tile.dtype.type(1)
    for i in range(tile.size):
        value = one + c * tile[i]
        if value < zero:
            value = zero
        tile[i] = value


@compiled
def _cut_constant(tile, c):
    zero = tile.dtype.type(0)
    one = tile.dtype.type(1)
    for i in range(tile.size):
        value = one + c * tile[i]
        if value > zero:
            tile[i] = c
        elif value <= zero:
            tile[i] = zero


@compiled
def _raise(base, total, size, exponent):
    """Multiply total by base**exponent by repeated squaring; base is used up."""
    while exponent > 0:
        if exponent & 1:
            for i in range(size):
                total[i] *= base[i]
        exponent >>= 1
        if exponent > 0:
            for i in range(size):
                base[i] *= base[i]


@compiled(fastmath={"contract"})
def _power(tile, degree, scale, offset):
    base = np.empty(_CHUNK, tile.dtype)
    for start in range(0, tile.size, _CHUNK):
        part = tile[start : start + _CHUNK]
        for i in range(part.size):
            base[i] = scale * part[i] + offset
            part[i] = 1.0
        _raise(base, part, part.size, degree)


@compiled(fastmath={"contract"})
def _cut_power(tile, c, coefficients, exponent):
    """Replace h by (1 - r)_+^exponent (c0 + c1 r + c2 r^2 + c3 r^3), r = c sqrt(-h)."""
    zero = tile.dtype.type(0)
    one = tile.dtype.type(1)
    c0, c1, c2, c3 = coefficients[0], coefficients[1], coefficients[2], coefficients[3]
    base = np.empty(_CHUNK, tile.dtype)
    for start in range(0, tile.size, _CHUNK):
        part = tile[start : start + _CHUNK]
        for i in range(part.size):
            r = c * np.sqrt(-part[i])
            if r > one:
                r = one
            base[i] = one - r
            value = c0 + r * (c1 + r * (c2 + r * c3))
            if r == one:  # also for exponent 0
                value = zero
            part[i] = value
        _raise(base, part, part.size, exponent)


def cauchy(tile: Floats, inv_l: float) -> None:
    """Replace h by 1 / (1 + d^2 / l^2)."""
    _divide(flat(tile), scalar(tile, 2.0 * inv_l * inv_l), scalar(tile, 1.0))


def cauchy_slope(tile: Floats, inv_l: float, out: Floats | None = None) -> Floats:
    """Return (2 / l^2) / (1 + d^2 / l^2)^2."""
    out = fresh_copy(tile, out)
    c = scalar(tile, 2.0 * inv_l * inv_l)
    _divide_square(flat(out), c, c)
    return out


def epanechnikov(tile: Floats, inv_l: float) -> None:
    """Replace h by max(0, 1 - d^2 / l^2)."""
    _cut_parabola(flat(tile), scalar(tile, 2.0 * inv_l * inv_l))


def epanechnikov_slope(tile: Floats, inv_l: float, out: Floats | None = None) -> Floats:
    """Return 2 / l^2 where d < l and 0 elsewhere."""
    out = fresh_copy(tile, out)
    _cut_constant(flat(out), scalar(tile, 2.0 * inv_l * inv_l))
    return out


def power(tile: Floats, degree: int, scale: float = 1.0, offset: float = 0.0) -> None:
    """Replace t by (scale t + offset)^degree by repeated multiplication, degree = 0, 1, 2, ..."""
    _power(flat(tile), int(degree), scalar(tile, scale), scalar(tile, offset))


def _wendland_polynomial(j: int, k: int) -> tuple[float, float, float, float]:
    """Return c0..c3 of the polynomial beside (1 - r)^(j + k), normalised to c0 = 1."""
    return (
        (1.0, 0.0, 0.0, 0.0),
        (1.0, j + 1.0, 0.0, 0.0),
        (1.0, j + 2.0, (j + 1.0) * (j + 3.0) / 3.0, 0.0),
        (1.0, j + 3.0, (6.0 * j * j + 36.0 * j + 45.0) / 15.0, (j + 1.0) * (j + 3.0) * (j + 5.0) / 15.0),
    )[k]


def _apply_wendland(tile: Floats, inv_l: float, coefficients: Sequence[float], exponent: int) -> None:
    numbers = np.array([scalar(tile, number) for number in coefficients], dtype=tile.dtype)
    _cut_power(flat(tile), scalar(tile, inv_l * _SQRT2), numbers, exponent)


def wendland(tile: Floats, inv_l: float, j: int, k: int) -> None:
    r"""Replace h by Wendland's profile of smoothness 2 k, k = 0, 1, 2 or 3, with support d < l.

    It is (1 - r)_+^(j + k) times a polynomial of degree k in r: the integral I f(r) = int_r^1 t f(t) dt,
    k times, of (1 - r)_+^j, scaled to 1 at r = 0. Positive definite on R^m for j >= floor(m / 2) + k + 1.
    """
    _apply_wendland(tile, inv_l, _wendland_polynomial(j, k), j + k)


def wendland_slope(tile: Floats, inv_l: float, j: int, k: int, out: Floats | None = None) -> Floats:
    """Return the slope: for k >= 1 a multiple of the profile (j, k - 1); for k = 0 unbounded at d = 0."""
    root = np.sqrt(-tile) if k == 0 else None
    out = fresh_copy(tile, out)
    if root is None:
        _apply_wendland(out, inv_l, _wendland_polynomial(j, k - 1), j + k - 1)
        out *= scalar(tile, inv_l * inv_l * (j + 2.0 * k - 1.0) * (j + 2.0 * k) / (2.0 * k - 1.0))
        return out
    _apply_wendland(out, inv_l, (1.0, 0.0, 0.0, 0.0), j - 1)
    out *= scalar(tile, j * inv_l / _SQRT2)
    with np.errstate(over="ignore"):
        np.divide(out, root, out=out, where=root != 0)
    out[root == 0] = 0
    return out

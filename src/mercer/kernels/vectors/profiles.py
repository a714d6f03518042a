r"""Radial profiles applied in place to a tile of half squared distances, and their slopes.

Legend: h = -||x - z||^2 / 2 <= 0 (what the tile holds), d = ||x - z|| = sqrt(-2 h), inv_l = 1 / length scale,
k = g(h) the kernel's value, slope = dk/dh. Since k depends on h / l^2 alone, dk/dl = slope * (-2 h / l).

Every profile works in place on a C-contiguous tile of float32 or float64, in one thread and without the
interpreter lock. Its ``*_slope`` twin leaves the tile as it is and returns ``out`` (fresh by default, or the
tile itself); where a slope is unbounded at d = 0 it is 0 there. Finite tiles never give NaN, and NaN stays
NaN. Values below the smallest normal number are flushed to 0.

Numba does not vectorise ``math.exp`` and NumPy's exp is fast only on some machines, so exp is written here:
x = n log 2 + r with abs(r) <= log(2) / 2, a minimax polynomial for exp(r), and n added to the exponent bits.
Its error is below 1.1 units in the last place in float64 and in float32. The rounding of its argument comes
on top: exp(x) is known to about abs(x) units when x itself is known to one.

Sums of Gaussians, sum_j exp(s h_ij) v_j, are made in one pass over a tile of dot products. Legend: t = <x, z> (what the
tile holds), a = |x|^2 / 2, b = |z|^2 / 2, h = t - a - b, s = 1 / l^2. A tile of kernel values that is multiplied with a
vector at once need not be written: the pass that subtracts the norms also takes the exponential and adds up the
products. The exponential is 2^x with x = n + r, abs(r) <= 1/2, a minimax polynomial for 2^r and n added to the exponent
bits; its error is below 2 units in the last place. Unlike `mercer.numerics.cancellation` nothing is computed again
where the subtraction cancels, so the exponent is off by about the rounding of s (a + b): `is_exact_enough` checks
whether that is as small as the rest.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload as compiled_overload
from scipy import sparse

from mercer.arrays import Floats
from mercer.kernels.vectors.algebraic import (
    cauchy,
    cauchy_slope,
    epanechnikov,
    epanechnikov_slope,
    power,
    wendland,
    wendland_slope,
)
from mercer.numerics.bits import from_bits, to_bits
from mercer.numerics.operands import Operand, row_products
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import flat, fresh_copy, scalar

__all__ = [
    "cauchy",
    "cauchy_slope",
    "epanechnikov",
    "epanechnikov_slope",
    "exp_scaled",
    "exp_scaled_slope",
    "exponential",
    "exponential_slope",
    "gaussian_sums",
    "gaussian_tile",
    "half_integer",
    "half_integer_slope",
    "is_exact_enough",
    "matern32",
    "matern32_slope",
    "matern52",
    "matern52_slope",
    "power",
    "rational_quadratic",
    "rational_quadratic_alpha",
    "rational_quadratic_slope",
    "wendland",
    "wendland_slope",
]

_SQRT2 = math.sqrt(2.0)
_CHUNK = 256  # entries of scratch that stay in the first-level cache

# exp in float64: limits of normal results, log 2 in two parts, 1.5 * 2^52 whose addition rounds to integers.
_LOW64, _HIGH64 = -708.3964185322641, 709.782712893384
_LOG2E64 = 1.4426950408889634
_LN2_HIGH64, _LN2_LOW64 = 0.6931471803691238, 1.9082149292705877e-10
_ROUND64 = 6755399441055744.0
# The same in float32. Typed constants, since a Python number would carry the whole loop to float64.
_LOW32, _HIGH32 = np.float32(-87.33654), np.float32(88.72283)
_LOG2E32 = np.float32(1.442695)
_LN2_HIGH32, _LN2_LOW32 = np.float32(0.69317626953125), np.float32(-2.9088971132296138e-05)
_ROUND32 = np.float32(12582912.0)
_ZERO32, _ONE32, _INF32 = np.float32(0.0), np.float32(1.0), np.float32(np.inf)
# exp(r) = 1 + r + r^2 (C2 + C3 r + ...): relative minimax error 3.7e-18 and 3.1e-9.
_C2, _C3, _C4, _C5 = 0.5000000000000011, 0.1666666666666641, 0.0416666666665297, 0.008333333333494976
_C6, _C7, _C8 = 0.0013888888943766802, 0.0001984126950580184, 2.4801492943021588e-05
_C9, _C10, _C11 = 2.7557586761798475e-06, 2.763030846069754e-07, 2.500003601883954e-08
_S2, _S3, _S4 = np.float32(0.49999994), np.float32(0.16666521), np.float32(0.041668393)
_S5, _S6 = np.float32(0.008368745), np.float32(0.0013814535)
# log((1 + s) / (1 - s)) = 2 s + s^3 (L1 + L2 s^2 + ...), abs(s) <= 0.1716: relative minimax error 1.3e-18.
_L1, _L2, _L3 = 0.6666666666666735, 0.3999999999941039, 0.28571428743392574
_L4, _L5, _L6, _L7 = 0.2222219846439214, 0.18183570277870384, 0.1531389072620345, 0.14797623200065937
_HALF_ROOT_BITS = 0x3FE6A09E667F3BCD  # sqrt(1/2)
_ONE_BITS = 0x3FF0000000000000
_ROUND_BITS = 0x4338000000000000
_POSITIVE = 0x7FFFFFFFFFFFFFFF
# of sums in one pass
_LOWEST64, _LOWEST32 = -1021.0, np.float32(-125.0)  # 2^x below is a number that is not normal, and is taken as this
_WIDEST = 10_000  # columns of sparse points: those of a tile's columns are held as a dense table
_MOST = {4: 64.0, 8: 1e4}  # of s (a + b): errors of the exponent up to about 1e-5 and 1e-12


# "contract" forms the fused multiply-adds of the polynomial; it cannot break the rounding trick, because
# (x + c) - c may not be reordered.
@compiled(fastmath={"contract"}, inline=True)
def _exp64(x):
    shifted = x * _LOG2E64 + _ROUND64
    n = shifted - _ROUND64
    r = (x - n * _LN2_HIGH64) - n * _LN2_LOW64
    # Sums of pairs rather than one long chain: latency, not the number of operations, is what costs here.
    r2 = r * r
    r4 = r2 * r2
    q = ((_C6 + _C7 * r) + (_C8 + _C9 * r) * r2) + (_C10 + _C11 * r) * r4
    q = ((_C2 + _C3 * r) + (_C4 + _C5 * r) * r2) + q * r4
    y = 1.0 + (r + r2 * q)
    y = from_bits(to_bits(y) + (to_bits(shifted) << 52))
    if x < _LOW64:
        y = 0.0
    if not (x <= _HIGH64):  # overflow gives infinity, NaN stays NaN
        y = x + np.inf
    return y


@compiled(fastmath={"contract"}, inline=True)
def _exp32(x):
    shifted = x * _LOG2E32 + _ROUND32
    n = shifted - _ROUND32
    r = (x - n * _LN2_HIGH32) - n * _LN2_LOW32
    r2 = r * r
    q = (_S2 + _S3 * r) + ((_S4 + _S5 * r) + _S6 * r2) * r2
    y = _ONE32 + (r + r2 * q)
    y = from_bits(np.int32(to_bits(y) + (to_bits(shifted) << 23)))
    if x < _LOW32:
        y = _ZERO32
    if not (x <= _HIGH32):
        y = x + _INF32
    return y


def _exp(x):
    """Exponential of the width of its argument."""
    return _exp32(x) if x.dtype == np.float32 else _exp64(x)


@compiled_overload(_exp, inline="always")
def _compile_exp(x):
    if x == types.float32:
        return lambda x: _exp32(x)
    return lambda x: _exp64(x)


@compiled(fastmath={"contract"})
def _log1p64(q):
    """Logarithm of 1 + q for 0 <= q < 1e300, within about 1 unit in the last place."""
    u = 1.0 + q
    bits = to_bits(u)
    biased = ((bits + (_ONE_BITS - _HALF_ROOT_BITS)) & _POSITIVE) >> 52
    m = from_bits(bits - ((biased - 1023) << 52))  # in [sqrt(1/2), sqrt(2))
    n = from_bits(biased - 1023 + _ROUND_BITS) - _ROUND64
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    # log m = s (2 + p) = f - s (f - p) with f = m - 1 exact: the leading term carries no rounding.
    f = m - 1.0
    tail = n * _LN2_LOW64 + (q - (u - 1.0)) / u
    return n * _LN2_HIGH64 + (f - (s * (f - p) - tail))


@compiled(fastmath={"contract"})
def _scale_exp(tile, a):
    for i in range(tile.size):
        tile[i] = _exp(a * tile[i])


# sqrt(-h) is taken before any scaling so that nothing overflows; beyond ``limit`` exp(-s) is 0 and the
# clamp keeps the polynomial finite (infinity * 0 would be NaN).
@compiled(fastmath={"contract"})
def _damp(tile, c, p1, p2, limit):
    one = tile.dtype.type(1)
    for i in range(tile.size):
        s = c * np.sqrt(-tile[i])
        if s > limit:
            s = limit
        tile[i] = (one + s * (p1 + s * p2)) * _exp(-s)


@compiled(fastmath={"contract"})
def _slope_exponential(tile, c, factor, limit):
    zero = tile.dtype.type(0)
    for i in range(tile.size):
        root = np.sqrt(-tile[i])
        s = c * root
        if s > limit:
            s = limit
        value = factor * _exp(-s) / root
        if root == zero:
            value = zero
        tile[i] = value


@compiled(fastmath={"contract"})
def _damp_long(tile, c, ratios):
    # In float64 for either width: the polynomial of a large order outgrows float32 before exp(-s) vanishes.
    s = np.empty(_CHUNK)
    nested = np.empty(_CHUNK)
    for start in range(0, tile.size, _CHUNK):
        part = tile[start : start + _CHUNK]
        for i in range(part.size):
            step = c * np.sqrt(-np.float64(part[i]))
            if step > 709.0:
                step = 709.0
            s[i] = step
            nested[i] = 1.0
        for ratio in ratios:
            for i in range(part.size):
                nested[i] = 1.0 + ratio * s[i] * nested[i]
        for i in range(part.size):
            part[i] = nested[i] * _exp64(-s[i])


@compiled(fastmath={"contract"})
def _decay_rationally(tile, c, exponent, factor):
    for i in range(tile.size):
        q = -c * np.float64(tile[i])
        if q > 1e300:
            q = 1e300
        tile[i] = factor * _exp64(-exponent * _log1p64(q))


def exp_scaled(tile: Floats, a: float) -> None:
    """Replace h by exp(a h): the Gaussian with a = 1 / l^2, or any exponential of a tile."""
    _scale_exp(flat(tile), scalar(tile, a))


def exp_scaled_slope(tile: Floats, a: float, out: Floats | None = None) -> Floats:
    """Return a exp(a h)."""
    out = fresh_copy(tile, out)
    exp_scaled(out, a)
    out *= scalar(tile, a)
    return out


def _apply_matern(tile: Floats, c: float, order: int) -> None:
    """Replace h by P(s) exp(-s), s = c d, P the polynomial of Matern nu = order + 1/2."""
    line = flat(tile)
    if order > 2:
        i = np.arange(1, order + 1, dtype=np.float64)
        ratios = 2.0 * (order - i + 1.0) / (i * (2.0 * order - i + 1.0))
        _damp_long(line, min(c * _SQRT2, 1e308), ratios[::-1].copy())
        return
    first, second = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0 / 3.0))[order]
    limit = 709.0 if tile.dtype == np.float64 else 88.0
    numbers = (scalar(tile, number) for number in (c * _SQRT2, first, second, limit))
    _damp(line, *numbers)


def half_integer(tile: Floats, inv_l: float, order: int) -> None:
    r"""Replace h by the Matern profile of smoothness nu = order + 1/2.

    With s = sqrt(2 nu) d / l it is exp(-s) sum_i c_i s^i, c_0 = 1, and the coefficients follow from
    r_i = c_i / c_(i-1) = 2 (p - i + 1) / (i (2 p - i + 1)), p = order. Evaluated as
    1 + s r_1 (1 + s r_2 (1 + ...)), whose terms neither underflow nor overflow.
    """
    _apply_matern(tile, math.sqrt(2.0 * order + 1.0) * inv_l, order)


def half_integer_slope(tile: Floats, inv_l: float, order: int, out: Floats | None = None) -> Floats:
    """Return the slope: c^2 / (2 p - 1) times the profile of order p - 1 at the same s = c d, p = order."""
    if order == 0:
        return exponential_slope(tile, inv_l, out)
    out = fresh_copy(tile, out)
    c = math.sqrt(2.0 * order + 1.0) * inv_l
    _apply_matern(out, c, order - 1)
    out *= scalar(tile, c * c / (2.0 * order - 1.0))
    return out


def exponential(tile: Floats, inv_l: float) -> None:
    """Replace h by exp(-d / l), the Matern profile of nu = 1/2."""
    half_integer(tile, inv_l, 0)


def exponential_slope(tile: Floats, inv_l: float, out: Floats | None = None) -> Floats:
    """Return exp(-d / l) / (l d), and 0 where d = 0, at which it is unbounded."""
    out = fresh_copy(tile, out)
    limit = 709.0 if tile.dtype == np.float64 else 88.0
    numbers = (scalar(tile, number) for number in (inv_l * _SQRT2, inv_l / _SQRT2, limit))
    _slope_exponential(flat(out), *numbers)
    return out


def matern32(tile: Floats, inv_l: float) -> None:
    """Replace h by (1 + s) exp(-s), s = sqrt(3) d / l."""
    half_integer(tile, inv_l, 1)


def matern32_slope(tile: Floats, inv_l: float, out: Floats | None = None) -> Floats:
    """Return (3 / l^2) exp(-s), s = sqrt(3) d / l."""
    return half_integer_slope(tile, inv_l, 1, out)


def matern52(tile: Floats, inv_l: float) -> None:
    """Replace h by (1 + s + s^2 / 3) exp(-s), s = sqrt(5) d / l."""
    half_integer(tile, inv_l, 2)


def matern52_slope(tile: Floats, inv_l: float, out: Floats | None = None) -> Floats:
    """Return (5 / (3 l^2)) (1 + s) exp(-s), s = sqrt(5) d / l."""
    return half_integer_slope(tile, inv_l, 2, out)


def rational_quadratic(tile: Floats, inv_l: float, alpha: float) -> None:
    """Replace h by (1 + d^2 / (2 alpha l^2))^(-alpha), computed in float64 for either width."""
    _decay_rationally(flat(tile), min(inv_l * inv_l / alpha, 1e308), float(alpha), 1.0)


def rational_quadratic_slope(tile: Floats, inv_l: float, alpha: float, out: Floats | None = None) -> Floats:
    """Return (1 + d^2 / (2 alpha l^2))^(-alpha - 1) / l^2."""
    out = fresh_copy(tile, out)
    square = inv_l * inv_l
    _decay_rationally(flat(out), min(square / alpha, 1e308), alpha + 1.0, min(square, 1e308))
    return out


def rational_quadratic_alpha(tile: Floats, inv_l: float, alpha: float, out: Floats | None = None) -> Floats:
    """Return dk/dalpha = k (q / (1 + q) - log(1 + q)), q = d^2 / (2 alpha l^2)."""
    with np.errstate(over="ignore"):
        q = np.minimum(tile.astype(np.float64) * -min(inv_l * inv_l / alpha, 1e308), 1e300)
    out = fresh_copy(tile, out)
    rational_quadratic(out, inv_l, alpha)
    out *= q / (1.0 + q) - np.log1p(q)
    return out


# Gaussian tiles and sums in one pass ---------------------------------------------------------------


def is_exact_enough(left: Operand, right: Operand, scale: float) -> bool:
    """Return whether the exponents s h are exact enough without repair, and the points fit for one pass."""
    if left.half_norms is None or left.unit != 1.0:
        return False
    if left.is_sparse and left.points.shape[1] > _WIDEST:
        return False
    extent = left.largest + right.largest
    return 0.0 < scale < np.inf and scale * extent <= _MOST[left.points.dtype.itemsize]


def gaussian_tile(left: Operand, right: Operand, where: tuple[slice, slice], tile: Floats, scale: float) -> Floats:
    """Write exp(s h_ij) for some rows and columns of two dense operands into a tile, and return it.

    Parameters
    ----------
    left, right : Operand
        From ``distance_operands``, dense.
    where : (slice, slice)
        Rows and columns.
    tile : (rows, columns) array
        Of the operands' dtype.
    scale : float
        s = 1 / l^2.
    """
    single = tile.dtype == np.float32
    a, b, factor = _numbers(left, right, where, tile.dtype, scale)
    if left.nonzeros is not None:
        data, indices, starts, table = _nonzeros(left, right, where)
        (_sparse_tile32 if single else _sparse_tile64)(data, indices, starts, table, (a, b, factor), tile)
    else:
        _multiply(left, right, where, tile)
        (_exponentials32 if single else _exponentials64)(tile, a, b, factor)
    return tile


def gaussian_sums(
    left: Operand, right: Operand, where: tuple[slice, slice], tile: Floats, V: Floats, scale: float
) -> Floats:
    """Return sum_j exp(s h_ij) V_jk for some rows and columns of two dense operands, (rows, k), in their dtype.

    Parameters
    ----------
    left, right, where, scale
        As in `gaussian_tile`.
    tile : (rows, columns) array
        Scratch, of the operands' dtype.
    V : (columns, k) array
        Of the operands' dtype.
    """
    if V.shape[1] > 1:
        return gaussian_tile(left, right, where, tile, scale) @ V
    single = tile.dtype == np.float32
    a, b, factor = _numbers(left, right, where, tile.dtype, scale)
    v = np.ascontiguousarray(V[:, 0])
    out = np.empty((len(tile), 1), tile.dtype)
    if left.nonzeros is not None:
        data, indices, starts, table = _nonzeros(left, right, where)
        (_sparse_sums32 if single else _sparse_sums64)(data, indices, starts, table, (a, b, factor), v, out[:, 0])
    else:
        _multiply(left, right, where, tile)
        (_sums32 if single else _sums64)(tile, a, b, v, factor, out[:, 0])
    return out


def _numbers(left: Operand, right: Operand, where: tuple[slice, slice], dtype: Any, scale: float) -> Any:
    """Half norms of both sides, and s for powers of two."""
    assert left.half_norms is not None and right.half_norms is not None
    return left.half_norms[where[0]], right.half_norms[where[1]], dtype.type(scale * _LOG2E64)


def _multiply(left: Operand, right: Operand, where: tuple[slice, slice], tile: Floats) -> None:
    """Write the dot products of some rows and columns into the tile."""
    same = left is right and where[0] == where[1]
    row_products(left.points[where[0]], right.points[where[1]], same=same, out=tile)


def _nonzeros(left: Operand, right: Operand, where: tuple[slice, slice]) -> Any:
    """Nonzero numbers of some rows, their columns and where each row starts; and the other points by columns."""
    rows, columns = where
    X, Z = left.nonzeros, right.points[columns]
    Z = Z.toarray() if sparse.issparse(Z) else Z
    return X.data, X.indices, X.indptr[rows.start : rows.stop + 1], np.ascontiguousarray(Z.T)


# minimax polynomials of 2^r - 1 - r log 2 over r^2, on [-1/2, 1/2]
_P64 = (
    0.24022650695910075, 0.05550410866482158, 0.009618129107618665, 0.0013333558146423213, 0.00015403530424776529,
    1.5252733820795803e-05, 1.3215451633221434e-06, 1.0178067267449427e-07, 7.070977866508138e-09, 4.45410341058704e-10,
)  # fmt: skip
_A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9, _A10, _A11 = _P64
_LN2 = 0.6931471805599453
_B1, _B2, _B3 = np.float32(0.6931471880262288), np.float32(0.24022650760568126), np.float32(0.05550357114219078)
_B4, _B5, _B6 = np.float32(0.009618082557277852), np.float32(0.0013390863364671234), np.float32(0.0001545316294512069)


# "contract" forms fused multiply-adds, which only leave out roundings; x + c - c may not be reordered.
@compiled(fastmath={"contract"})
def _power32(x):
    x = x if x > _LOWEST32 else _LOWEST32
    shifted = x + _ROUND32
    r = x - (shifted - _ROUND32)
    y = _ONE32 + r * (_B1 + r * (_B2 + r * (_B3 + r * (_B4 + r * (_B5 + r * _B6)))))
    return from_bits(np.int32(to_bits(y) + (to_bits(shifted) << 23)))


@compiled(fastmath={"contract"})
def _power64(x):
    x = x if x > _LOWEST64 else _LOWEST64
    shifted = x + _ROUND64
    r = x - (shifted - _ROUND64)
    r2 = r * r
    low = (_A2 + _A3 * r) + (_A4 + _A5 * r) * r2
    high = ((_A6 + _A7 * r) + (_A8 + _A9 * r) * r2) + (_A10 + _A11 * r) * (r2 * r2)
    y = 1.0 + (r * _LN2 + r2 * (low + high * (r2 * r2)))
    return from_bits(to_bits(y) + (to_bits(shifted) << 52))


# "reassoc" lets the sum run in lanes: any order of a sum is equally exact. Powers are functions of their own, since in
# them nothing may be reordered.
@compiled(fastmath={"contract", "reassoc"}, inline=True)
def _row_sum32(row, a, b, v, factor):
    total = np.float32(0.0)
    zero = np.float32(0.0)
    for j in range(row.size):
        h = row[j] - a - b[j]
        h = h if h < zero else zero
        total += _power32(factor * h) * v[j]
    return total


@compiled(fastmath={"contract", "reassoc"}, inline=True)
def _row_sum64(row, a, b, v, factor):
    total = 0.0
    for j in range(row.size):
        h = row[j] - a - b[j]
        h = h if h < 0.0 else 0.0
        total += _power64(factor * h) * v[j]
    return total


@compiled(fastmath={"contract", "reassoc"})
def _sums32(tile, a, b, v, factor, out):
    for i in range(tile.shape[0]):
        out[i] = _row_sum32(tile[i], a[i], b, v, factor)


@compiled(fastmath={"contract", "reassoc"})
def _sums64(tile, a, b, v, factor, out):
    for i in range(tile.shape[0]):
        out[i] = _row_sum64(tile[i], a[i], b, v, factor)


@compiled
def _exponentials32(tile, a, b, factor):
    zero = np.float32(0.0)
    for i in range(tile.shape[0]):
        row, mine = tile[i], a[i]
        for j in range(row.size):
            h = row[j] - mine - b[j]
            h = h if h < zero else zero
            row[j] = _power32(factor * h)


@compiled
def _exponentials64(tile, a, b, factor):
    for i in range(tile.shape[0]):
        row, mine = tile[i], a[i]
        for j in range(row.size):
            h = row[j] - mine - b[j]
            h = h if h < 0.0 else 0.0
            row[j] = _power64(factor * h)


# Four nonzero numbers at a time: the row of the tile, which stays in the first-level cache, is read and written once.
@compiled(fastmath={"contract"})
def _add_rows(row, data, indices, table):
    count = data.size - data.size % 4
    for k in range(0, count, 4):
        x0, x1, x2, x3 = data[k], data[k + 1], data[k + 2], data[k + 3]
        z0, z1 = table[indices[k]], table[indices[k + 1]]
        z2, z3 = table[indices[k + 2]], table[indices[k + 3]]
        for j in range(row.size):
            row[j] += (x0 * z0[j] + x1 * z1[j]) + (x2 * z2[j] + x3 * z3[j])
    for k in range(count, data.size):
        x, z = data[k], table[indices[k]]
        for j in range(row.size):
            row[j] += x * z[j]


@compiled(fastmath={"contract", "reassoc"})
def _sparse_sums32(data, indices, starts, table, numbers, v, out):
    a, b, factor = numbers
    row = np.empty(table.shape[1], np.float32)
    for i in range(out.size):
        row[:] = np.float32(0.0)
        mine = slice(starts[i], starts[i + 1])
        _add_rows(row, data[mine], indices[mine], table)
        out[i] = _row_sum32(row, a[i], b, v, factor)


@compiled(fastmath={"contract", "reassoc"})
def _sparse_sums64(data, indices, starts, table, numbers, v, out):
    a, b, factor = numbers
    row = np.empty(table.shape[1])
    for i in range(out.size):
        row[:] = 0.0
        mine = slice(starts[i], starts[i + 1])
        _add_rows(row, data[mine], indices[mine], table)
        out[i] = _row_sum64(row, a[i], b, v, factor)


@compiled
def _sparse_tile32(data, indices, starts, table, numbers, tile):
    a, b, factor = numbers
    tile[:] = np.float32(0.0)
    for i in range(tile.shape[0]):
        mine = slice(starts[i], starts[i + 1])
        _add_rows(tile[i], data[mine], indices[mine], table)
    _exponentials32(tile, a, b, factor)


@compiled
def _sparse_tile64(data, indices, starts, table, numbers, tile):
    a, b, factor = numbers
    tile[:] = 0.0
    for i in range(tile.shape[0]):
        mine = slice(starts[i], starts[i + 1])
        _add_rows(tile[i], data[mine], indices[mine], table)
    _exponentials64(tile, a, b, factor)

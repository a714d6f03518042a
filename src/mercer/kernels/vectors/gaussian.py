r"""The Gaussian kernel: similarity fades with the squared distance.

Sums of Gaussians, sum_j exp(s h_ij) v_j, are made in one pass over a tile of dot products.

Legend: t = <x, z> (what the tile holds), a = |x|^2 / 2, b = |z|^2 / 2, h = t - a - b = -|x - z|^2 / 2, s = 1 / l^2.

A tile of kernel values that is multiplied with a vector at once need not be written: the pass that subtracts the
norms also takes the exponential and adds up the products. The exponential is 2^x with x = n + r, abs(r) <= 1/2, a
minimax polynomial for 2^r and n added to the exponent bits; its error is below 2 units in the last place. Unlike
`mercer.numerics.distances` nothing is computed again where the subtraction cancels, so the exponent is off by
about the rounding of s (a + b): `is_exact_enough` checks whether that is as small as the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays import Floats
from mercer.constraints import is_real
from mercer.errors import ParameterError
from mercer.kernels.comparison import Comparison
from mercer.kernels.vectors import profiles
from mercer.kernels.vectors.pointwise import Radial, in_lengths, log_volume
from mercer.numerics.bits import from_bits, to_bits
from mercer.numerics.operands import Operand, row_products
from mercer.runtime.compiled import compiled

__all__ = ["Gaussian", "gaussian_sums", "gaussian_tile", "is_exact_enough"]
__public__ = ["Gaussian"]

_LOG2E = 1.4426950408889634
_ROUND64 = 6755399441055744.0  # 1.5 * 2^52, whose addition rounds to integers
_ROUND32 = np.float32(12582912.0)
_LOWEST64, _LOWEST32 = -1021.0, np.float32(-125.0)  # 2^x below is a number that is not normal, and is taken as this
_WIDEST = 10_000  # columns of sparse points: those of a tile's columns are held as a dense table
_MOST = {4: 64.0, 8: 1e4}  # of s (a + b): errors of the exponent up to about 1e-5 and 1e-12


class Gaussian(Radial):
    r"""Gaussian kernel: similarity fades with the squared distance.

    .. math:: k(x, x') = \exp\!\left(-\|x - x'\|^2 / (2 l^2)\right)

    Seed: [HSS] Eq. (30), [STS] Eq. (18), with ``length_scale`` = sigma. [KIKS] Section 2 and [SS] Section 3.3
    write exp(-d^2 / s^2): there s = sqrt(2) l.

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0
        Distance over which similarity falls to exp(-1/2). Positive.

    Notes
    -----
    Domain Vectors. Features no; frequencies normal; differentiable in parameters and inputs.
    Cost O(mnd) by one matrix product; memory O(mn). Values below 2.2e-308 are returned as zero.

    Examples
    --------
    >>> Gaussian(1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    synonyms = ("radial basis function", "RBF", "squared exponential")
    formula = r"\exp(-\|x - x'\|^2 / (2 l^2))"
    cost = "O(mnd), one matrix product"
    strict = True
    universal = True
    spectral_support = "everything"

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """Return exp(-gamma d^2), as scikit-learn writes it: l = 1 / sqrt(2 gamma).

        Examples
        --------
        >>> Gaussian.from_gamma(0.5)
        Gaussian(1.0)
        """
        if not is_real(gamma) or not 0 < gamma < np.inf:
            raise ParameterError(
                f"Gaussian.from_gamma was given gamma={gamma!r}; gamma must be a finite number greater than zero. "
                "Use 1 / (2 length_scale ** 2)."
            )
        return cls(1.0 / math.sqrt(2.0 * float(gamma)))

    def quick(self, comparison: Comparison) -> Callable[..., Floats] | None:
        """Return how to make a tile or its product in one pass, if exponents are exact enough without a second pass."""
        changed = type(self).tile is not Gaussian.tile or type(self).profile is not Gaussian.profile
        if changed or comparison.is_table(()):  # a subclass has values of its own
            return None
        base, length = self.base()
        recipe = comparison.recipe((), base)
        left, right = recipe.left, recipe.right
        scale = (1.0 / length) ** 2 if length > 1e-150 else math.inf  # its square has no inverse
        if not is_exact_enough(left, right, scale):
            return None

        def run(rows: slice, columns: slice, V: Floats | None = None) -> Floats:
            comparison.scratch.reset()
            shape = rows.stop - rows.start, columns.stop - columns.start
            tile = comparison.scratch.empty(shape, comparison.dtype)
            if V is None:
                return gaussian_tile(left, right, (rows, columns), tile, scale)
            return gaussian_sums(left, right, (rows, columns), tile, V, scale)

        return run

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by exp(h / l^2)."""
        profiles.exp_scaled(tile, inv_l * inv_l)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return exp(h / l^2) / l^2."""
        return profiles.exp_scaled_slope(tile, inv_l * inv_l)

    def slope_at(self, tile: Floats, value: Floats, inv_l: float) -> Floats:
        """Return exp(h / l^2) / l^2 without a second exponential."""
        square = inv_l * inv_l
        if type(self).slope is not Gaussian.slope or not 0.0 < square < math.inf:
            return self.slope(tile, inv_l)
        return value * square

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw normal frequencies with standard deviation 1 / l."""
        return rng.normal(size=(count, width)) / np.asarray(self.length_scale, dtype=float)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the normal density with standard deviation 1 / l."""
        s2, logs = in_lengths(omega, self.length_scale)
        return np.exp(logs - 0.5 * omega.shape[1] * math.log(2.0 * math.pi) - 0.5 * s2)

    def log_integral(self, width: int) -> float | None:
        """Return log of (2 pi)^(d/2) times the product of the length scales."""
        return 0.5 * width * math.log(2.0 * math.pi) + log_volume(self.length_scale, width)


# tiles and sums ------------------------------------------------------------------------------------


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
    return left.half_norms[where[0]], right.half_norms[where[1]], dtype.type(scale * _LOG2E)


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
_ONE32 = np.float32(1.0)


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

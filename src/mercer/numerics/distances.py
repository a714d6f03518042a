r"""Squared distances, dot products and Manhattan distances of tiles: the one place they come from.

Legend: X (n, d), Z (m, d) points, c center, s length scales, a = |(x - c)/s|^2 / 2, b = |(z - c)/s|^2 / 2,
h = -|(x - z)/s|^2 / 2 = ((x - c)/s) . ((z - c)/s) - a - b, the half squared distance of the tile, <= 0.

One matrix product and one pass give a tile. The pass subtracts the norms and looks for entries where the
subtraction cancels: those are computed again from the differences x - z of the points as they were given, so
that near points are as exact as far ones and equal points give exactly 0. The norms are not folded into the
product as two more columns, since the pass reads them anyway: this way a and b enter as a + b, a tile over the
same rows and columns is symmetric to the bit, and no widened copy of the points is held.

Everything here runs in the calling thread (which has set BLAS to one thread) and releases the interpreter lock.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from mercer.arrays import Floats, Indices
from mercer.numerics.compiled import compiled
from mercer.numerics.differences import _half_squares, _sizes

__all__ = [
    "Operand",
    "center_of",
    "distance_operands",
    "dot_operands",
    "dot_tile",
    "half_distance_tile",
    "manhattan_tile",
]

Matrix: TypeAlias = "Floats | sparse.csr_array"
Rows: TypeAlias = "slice | Indices"

_FEW = 8  # up to so many columns, summing the squares of differences is quicker than a matrix product and its repair


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """One side of a tile: the points ready for the product, and what the repair needs.

    Attributes
    ----------
    points : (n, d) array or csr_array
        Centred and scaled points, in units of ``unit``.
    half_norms : (n,) array or None
        Half their squared norms; None for dot products.
    source : (n, d) array or csr_array
        The points as they were given (times a power of two), neither centred nor scaled.
    weights : (d,) array
        What differences of ``source`` are multiplied by; empty for none.
    unit : float
        A power of two, 1 except for data of extreme size: h = unit^2 * tile, dot = unit^2 * tile.
    """

    points: Matrix
    half_norms: Floats | None
    source: Matrix
    weights: Floats
    unit: float = 1.0

    def __len__(self) -> int:
        return self.points.shape[0]

    @property
    def is_sparse(self) -> bool:
        """Tell whether the points are kept sparse."""
        return sparse.issparse(self.points)


def center_of(X: Matrix) -> Floats | None:
    """Return a point amid the rows of X, in float64: the mean; None for sparse X, which is not centred."""
    if sparse.issparse(X):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.mean(X, axis=0, dtype=np.float64)
    if np.isfinite(mean).all():
        return mean
    return np.min(X, axis=0) / 2.0 + np.max(X, axis=0) / 2.0


def distance_operands(
    X: Matrix,
    Z: Matrix,
    center: Floats | None = None,
    scale: Floats | None = None,
    columns: Indices | None = None,
) -> tuple[Operand, Operand]:
    """Return the two sides of tiles of h = -|(x - z) / scale|^2 / 2.

    Parameters
    ----------
    X, Z : (n, d) and (m, d) arrays or csr_arrays
        Finite points. ``Z is X`` gives the same operand twice. The wider dtype is taken for both. If one is
        sparse, so become both, and the center is left out.
    center : (d,) array, optional
        A point subtracted from all rows, best amid the data: it keeps cancellation small. One number for each
        column of X, also where ``columns`` is given.
    scale : (d,) or (len(columns),) array, optional
        Positive length scales, one for each chosen column.
    columns : sequence of int, optional
        The columns that count; all by default.
    """
    return _operands(X, Z, center, scale, columns, norms=True)


def dot_operands(
    X: Matrix, Z: Matrix, scale: Floats | None = None, columns: Indices | None = None
) -> tuple[Operand, Operand]:
    """Return the two sides of tiles of (x / scale) . (z / scale), parameters as in ``distance_operands``."""
    return _operands(X, Z, None, scale, columns, norms=False)


def _operands(X: Matrix, Z: Matrix, center, scale, columns, *, norms: bool) -> tuple[Operand, Operand]:
    same = Z is X
    dtype = np.result_type(X.dtype, Z.dtype)
    if sparse.issparse(X) or sparse.issparse(Z):
        center = None
        X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    if columns is not None:
        index = np.asarray(columns, dtype=np.intp)
        X, Z = X[:, index], (X[:, index] if same else Z[:, index])
        center = None if center is None else np.asarray(center)[index]
    X = _typed(X, dtype)
    Z = X if same else _typed(Z, dtype)
    shift, weights, unit = _plan(X, Z, center, scale)
    left = _operand(X, center, shift, weights, unit, norms)
    return left, (left if same else _operand(Z, center, shift, weights, unit, norms))


def _typed(X: Matrix, dtype: np.dtype) -> Matrix:
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=dtype)
    X = X.astype(dtype, copy=False)
    X.sum_duplicates()  # also sorts: the merge of two rows needs it
    return X


def _column_tops(X: Matrix) -> Floats:
    """Return the largest absolute value of each column."""
    if X.shape[0] == 0:
        return np.zeros(X.shape[1])
    if isinstance(X, np.ndarray):
        return np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
    return np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).reshape(-1)


def _plan(X: Matrix, Z: Matrix, center, scale) -> tuple[np.ndarray | None, Floats, float]:
    """Choose exponents (d,) to take from the columns first (None: none), the weights after that, and the unit.

    Squares of numbers between 2^-300 and 2^300 (float32: 2^-40 and 2^40) neither overflow nor vanish. Larger or
    smaller data are divided by powers of two, which is exact.
    """
    dtype = X.dtype
    bound = 300 if dtype == np.float64 else 40
    tops = np.maximum(_column_tops(X), _column_tops(Z))
    if center is not None:
        tops = np.maximum(tops, np.abs(center))
    if scale is None:
        mantissa, exponent = np.ones(tops.size), np.zeros(tops.size, dtype=np.int64)
    else:
        mantissa, exponent = np.frexp(np.asarray(scale, dtype=np.float64))
    extent = np.frexp(tops)[1].astype(np.int64) - exponent
    extent = extent[tops > 0]
    largest = int(extent.max()) if extent.size else 0
    shift = 0 if -bound <= largest <= bound else largest
    # A shift of 0 may still need the careful way: numbers and scales may be extreme, and only their ratio not.
    plain = shift == 0 and np.frexp(tops.max(initial=0.0))[1] <= bound and np.abs(exponent).max(initial=0) <= bound
    if plain:
        weights = np.empty(0, dtype) if scale is None else (1.0 / np.asarray(scale, np.float64)).astype(dtype)
        return None, weights, 1.0
    weights = np.empty(0, dtype) if scale is None else (1.0 / mantissa).astype(dtype)
    return (exponent + shift).astype(np.int32), weights, float(2.0**shift)


def _operand(X: Matrix, center, shift, weights: Floats, unit: float, norms: bool) -> Operand:
    if shift is not None:
        X = _map_columns(np.ldexp, X, -shift)
        center = None if center is None else np.ldexp(center, -shift)
    points = X
    if isinstance(X, np.ndarray) and center is not None:
        points = X - np.asarray(center, dtype=X.dtype)
        if weights.size:
            points *= weights
    elif weights.size:
        points = _map_columns(np.multiply, X, weights)
    return Operand(points, _half_norms(points) if norms else None, X, weights, unit)


def _map_columns(function, X: Matrix, row: np.ndarray) -> Matrix:
    """Apply function(value, row[column]) to every stored value."""
    if isinstance(X, np.ndarray):
        return function(X, row)
    return sparse.csr_array((function(X.data, row[X.indices]), X.indices, X.indptr), shape=X.shape)


def _half_norms(points: Matrix) -> Floats:
    if isinstance(points, np.ndarray):
        squares = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    else:
        data = points.data.astype(np.float64) ** 2
        squares = sparse.csr_array((data, points.indices, points.indptr), shape=points.shape).sum(axis=1)
    return (np.asarray(squares) / 2.0).astype(points.dtype)


def _multiply(A: Matrix, B: Matrix, out: Floats) -> None:
    """Write A @ B.T into out."""
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        np.matmul(A, B.T, out=out)
    else:
        (A @ B.T).toarray(out=out)


def dot_tile(left: Operand, right: Operand, rows: Rows, cols: Rows, out: Floats) -> None:
    """Write the dot products of some rows of two operands into out (C-contiguous), in units of unit^2."""
    _multiply(left.points[rows], right.points[cols], out)


def half_distance_tile(
    left: Operand, right: Operand, rows: Rows, cols: Rows, out: Floats, reach: float | None = None
) -> None:
    """Write h = -|x - z|^2 / 2 of some rows of two operands into out (C-contiguous), in units of unit^2.

    Parameters
    ----------
    left, right : Operand
        From ``distance_operands``.
    rows, cols : slice or (q,) index array
        The rows of either side. Slices are views; index arrays copy.
    out : (rows, cols) array
        Of the operands' dtype.
    reach : float, optional
        Square of the shortest length scale in use (1 where the operands are divided by length scales). With it,
        distances of data that spread over very many length scales are also kept exact up to some 30 length scales.

    Notes
    -----
    Relative error of h at most about 1e-10 (float64), 1e-4 (float32) for any h; far below that unless the two points
    are much nearer to one another than to the center.
    """
    assert left.half_norms is not None and right.half_norms is not None
    if out.size == 0:
        return
    if not left.is_sparse and left.points.shape[1] <= _FEW:
        _half_squares(left.source[rows], right.source[cols], left.weights, out)
        return
    _multiply(left.points[rows], right.points[cols], out)
    norms = (left.half_norms[rows], right.half_norms[cols])
    limits = _limits(norms, reach, left.unit)
    if left.is_sparse:
        _finish_sparse(out, _parts(left.source[rows]), _parts(right.source[cols]), left.weights, norms, limits)
    else:
        _finish_dense(out, left.source[rows], right.source[cols], left.weights, norms, limits)


def _limits(norms: tuple[Floats, Floats], reach: float | None, unit: float) -> tuple:
    """Return (tau, floor, near): repair where -h < tau (a + b), and where a + b > floor and -h < near."""
    dtype = norms[0].dtype
    tau, many, far = (1e-5, 2e4, 1500.0) if dtype == np.float64 else (1e-2, 1e3, 200.0)
    floor, near = np.inf, 0.0
    if reach is not None:
        reach = reach / unit / unit
        if float(norms[0].max()) + float(norms[1].max()) > 0.5 * many * reach:
            floor, near = 0.5 * many * reach, 0.5 * far * reach
    return tuple(dtype.type(number) for number in (tau, floor, near))


def _parts(X) -> tuple[Floats, Indices, Indices]:
    return X.data, X.indices.astype(np.intp, copy=False), X.indptr.astype(np.intp, copy=False)


_SEGMENT = 64


# "reassoc" lets the count run in lanes: whole numbers add exactly in any order. The count is kept in the row's own
# width, as an integer count would halve the number of lanes in float32. "contract" is harmless in a threshold.
@compiled(fastmath={"contract", "reassoc"})
def _subtract_norms(row, a, b, tau):
    zero = row.dtype.type(0)
    one = row.dtype.type(1)
    hits = zero
    for j in range(row.size):
        total = a + b[j]
        h = row[j] - total
        hits += one if h > -tau * total else zero
        row[j] = zero if h > zero else h
    return hits


@compiled(fastmath={"contract", "reassoc"})
def _subtract_norms_near(row, a, b, limits):
    tau, floor, near = limits
    zero = row.dtype.type(0)
    one = row.dtype.type(1)
    hits = zero
    for j in range(row.size):
        total = a + b[j]
        h = row[j] - total
        limit = tau * total
        if total > floor and near > limit:
            limit = near
        hits += one if h > -limit else zero
        row[j] = zero if h > zero else h
    return hits


@compiled
def _scan(row, a, b, limits):
    if limits[2] > 0:
        return _subtract_norms_near(row, a, b, limits)
    return _subtract_norms(row, a, b, limits[0])


@compiled(fastmath={"contract", "reassoc"})
def _count(row, a, b, limits):
    tau, floor, near = limits
    zero = row.dtype.type(0)
    one = row.dtype.type(1)
    hits = zero
    for j in range(row.size):
        total = a + b[j]
        cancels = (row[j] > -tau * total) | ((total > floor) & (row[j] > -near))
        hits += one if cancels else zero
    return hits


@compiled
def _collect(row, a, b, limits, chosen):
    """Write the places of the entries that cancel into chosen and return their number.

    Most rows with any have one, the point itself: segments without a hit are passed over in lanes.
    """
    tau, floor, near = limits
    count = 0
    for start in range(0, row.size, _SEGMENT):
        stop = min(start + _SEGMENT, row.size)
        if _count(row[start:stop], a, b[start:stop], limits) > 0:
            for j in range(start, stop):
                total = a + b[j]
                if row[j] > -tau * total or (total > floor and row[j] > -near):
                    chosen[count] = j
                    count += 1
    return count


# "reassoc" lets the sum of squares run in lanes; all its terms are positive, so any order is equally exact.
@compiled(fastmath={"contract", "reassoc"})
def _square_distance(x, z, weights):
    total = x.dtype.type(0)
    if weights.size > 0:
        for k in range(x.size):
            difference = (x[k] - z[k]) * weights[k]
            total += difference * difference
    else:
        for k in range(x.size):
            difference = x[k] - z[k]
            total += difference * difference
    return total


@compiled
def _finish_dense(out, X, Z, weights, norms, limits):
    a, b = norms
    zero, half = out.dtype.type(0), out.dtype.type(0.5)
    chosen = np.empty(out.shape[1], np.intp)
    for i in range(out.shape[0]):
        row = out[i]
        if _scan(row, a[i], b, limits) > 0:
            for j in chosen[: _collect(row, a[i], b, limits, chosen)]:
                row[j] = zero - half * _square_distance(X[i], Z[j], weights)


@compiled
def _merge_square_distance(x, x_columns, z, z_columns, weights):
    """Sum the squared differences of two sparse rows with sorted columns."""
    total = x.dtype.type(0)
    i, j = 0, 0
    while i < x.size or j < z.size:
        if j >= z.size or (i < x.size and x_columns[i] < z_columns[j]):
            column, difference = x_columns[i], x[i]
            i += 1
        elif i >= x.size or z_columns[j] < x_columns[i]:
            column, difference = z_columns[j], z[j]
            j += 1
        else:
            column, difference = x_columns[i], x[i] - z[j]
            i += 1
            j += 1
        if weights.size > 0:
            difference *= weights[column]
        total += difference * difference
    return total


@compiled
def _finish_sparse(out, left, right, weights, norms, limits):
    a, b = norms
    x, x_columns, x_starts = left
    z, z_columns, z_starts = right
    zero, half = out.dtype.type(0), out.dtype.type(0.5)
    chosen = np.empty(out.shape[1], np.intp)
    for i in range(out.shape[0]):
        row = out[i]
        if _scan(row, a[i], b, limits) > 0:
            mine = slice(x_starts[i], x_starts[i + 1])
            for j in chosen[: _collect(row, a[i], b, limits, chosen)]:
                other = slice(z_starts[j], z_starts[j + 1])
                square = _merge_square_distance(x[mine], x_columns[mine], z[other], z_columns[other], weights)
                row[j] = zero - half * square


def manhattan_tile(X: Matrix, Z: Matrix, rows: Rows, cols: Rows, out: Floats) -> None:
    """Write sum_k abs(x_k - z_k) of some rows of X and Z into out (C-contiguous, their dtype).

    Sparse rows are made dense for the tile. Sums too large for the dtype become infinite, never NaN.
    """
    A, B = X[rows], Z[cols]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    B = B if isinstance(B, np.ndarray) else B.toarray()
    _sizes(np.ascontiguousarray(A, out.dtype), np.ascontiguousarray(B, out.dtype), out)

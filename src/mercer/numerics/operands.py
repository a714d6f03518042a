"""Tiles of distances and dot products, and their operands: points centred, scaled, and kept from overflow.

Legend: X (n, d), Z (m, d) points, c center, s length scales of the columns, unit a power of two.

Squares of very large or very small numbers overflow or vanish. Such data are divided by a power of two, which
is exact; the unit is passed on with the tile, and is 1 for all ordinary data.

Dot products of the rows of two arrays are taken by a routine that the problem decides and not the memory. NumPy looks
at addresses: where both operands of ``A @ B.T`` begin at the same place it calls the symmetric routine (SYRK),
elsewhere the general one (GEMM), and on some processors these round differently. Then a model that is asked for its own
training samples would answer in other bits than its copy from a file.

For few columns a tile is summed from the differences themselves, without a product; absolute values always are. Four
coordinates of Z are copied side by side (a panel), so that the loop over the columns runs in lanes. Loops copy number
by number: an assignment to a slice takes Numba seconds to compile, for the message it might raise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mercer.arrays import Array, Floats, Indices
from mercer.numerics.cancellation import finish_dense, finish_sparse
from mercer.runtime.compiled import compiled
from mercer.sparse_checks import used_columns

__all__ = [
    "Matrix",
    "Operand",
    "Rows",
    "Side",
    "beside",
    "center_of",
    "distance_operands",
    "dot_operands",
    "is_mostly_zero",
    "narrowed",
    "right_side",
    "row_products",
    "dot_tile",
    "half_distance_tile",
    "half_square_tile",
    "half_squares",
    "manhattan",
    "manhattan_tile",
]

_FEW = 8  # up to this many columns, summing squares of differences beats a matrix product and its repair

Matrix: TypeAlias = Any  # Floats or scipy.sparse.csr_array, of whose methods type checkers know too little
Rows: TypeAlias = "slice | Indices"

_DENSEST = 0.2  # share of numbers that are not zero up to which zeros are skipped
_LARGE = 2**16  # numbers from which it is worth it
_SMALL = 1 << 20  # sparse numbers, with their zeros, that are multiplied as dense ones are: to the same bits
_ROWS = 1024  # rows that are centred at a time: no second copy of the points in their own dtype
_SHIFT = 1000  # units stay between 2^-1000 and 2^1000, which are floats


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
    largest : float
        The largest of ``half_norms``; 0 without them.
    nonzeros : csr_array or None
        The points again, if most of their numbers are zero: one-hot columns, counts of words.
    """

    points: Matrix
    half_norms: Floats | None
    source: Matrix
    weights: Floats
    unit: float = 1.0
    largest: float = 0.0
    nonzeros: Any = None

    def __len__(self) -> int:
        return self.points.shape[0]

    @property
    def is_sparse(self) -> bool:
        """Return whether the points are kept sparse."""
        return sparse.issparse(self.points)

    def take(self, index: Indices, nonzeros: bool = True) -> Operand:
        """Return the operand of some of the points, in the same unit and around the same center.

        Of the right side of a tile the numbers that are not zero are not asked for separately.
        """
        norms = None if self.half_norms is None else self.half_norms[index]
        points = self.points[index]
        source = points if self.source is self.points else SomeRows(self.source, index)
        kept = points if self.is_sparse else self.nonzeros[index] if nonzeros and self.nonzeros is not None else None
        return Operand(points, norms, source, self.weights, self.unit, self.largest, kept)


@dataclass(frozen=True, slots=True, eq=False)
class SomeRows:
    """Some rows of an array, copied only as far as they are asked for."""

    array: Matrix
    index: Indices

    def __getitem__(self, rows: Any) -> Matrix:
        return self.array[self.index[rows]]


def center_of(X: Matrix) -> Floats | None:
    """Return a point amid the rows of X, in float64: the mean; None for sparse X, which is not centred."""
    if sparse.issparse(X):
        return None
    if not len(X):
        return np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.add.reduce(X, axis=0, dtype=np.float64) / len(X)
    if np.isfinite(mean).all():
        return mean
    return np.asarray(np.min(X, axis=0) / 2.0 + np.max(X, axis=0) / 2.0)


def narrowed(X: Matrix, center: Floats | None, dtype: Any) -> Matrix:
    """Return dense points less the center in a narrower dtype; the difference is taken before digits are lost."""
    if center is None:
        return X.astype(dtype, copy=False)
    out = np.empty(X.shape, dtype)
    with np.errstate(over="ignore"):
        for start in range(0, len(X), _ROWS):
            np.subtract(X[start : start + _ROWS], center, out=out[start : start + _ROWS], casting="same_kind")
    return out


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
        column of X, even where ``columns`` is given.
    scale : (d,) or (len(columns),) array, optional
        Positive length scales, one for each chosen column.
    columns : sequence of int, optional
        The columns that count; all by default.
    """
    return _operands(X, Z, center, scale, columns, norms=True)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The right side of tiles of distances, made once for many left sides."""

    center: Floats
    operand: Operand
    highest: int  # largest exponent on the left for which this side stays the same


def right_side(Z: Array, scale: Floats | None) -> Side | None:
    """Return the operand that `distance_operands` makes of dense points Z for any left side; None for extreme sizes.

    Parameters
    ----------
    Z : (m, d) array
        Not empty.
    scale : (d,) array or None
        Positive length scales.
    """
    center = center_of(Z)
    Z = _typed(Z, Z.dtype)
    shift, weights, unit = _plan(Z, Z, center, scale)
    if center is None or shift is not None or not (Z.any() or center.any()):
        return None
    bound = 300 if Z.dtype == np.float64 else 40
    least = 0 if scale is None else int(np.frexp(scale)[1].min())
    return Side(center, _operand(Z, center, shift, weights, unit, norms=True), min(bound, bound + least))


def beside(X: Array, right: Side) -> tuple[Operand, Operand] | None:
    """Return the two sides for dense points X, bit for bit as `distance_operands` does; None if that must be called.

    Examples
    --------
    >>> X, Z = np.array([[1.0]]), np.array([[0.0], [3.0]])
    >>> left, right = beside(X, right_side(Z, None))
    >>> left.points, right.half_norms
    (array([[-0.5]]), array([1.125, 1.125]))
    """
    if math.frexp(max(float(X.max()), -float(X.min())))[1] > right.highest:
        return None
    X, weights = _typed(X, X.dtype), right.operand.weights
    if X.size >= _LARGE:
        return _operand(X, right.center, None, weights, 1.0, norms=True), right.operand
    points = X - np.asarray(right.center, dtype=X.dtype)
    if weights.size:
        points *= weights
    half_norms = _half_norms(points)
    return Operand(points, half_norms, X, weights, 1.0, float(half_norms.max(initial=0.0))), right.operand


def dot_operands(
    X: Matrix, Z: Matrix, scale: Floats | None = None, columns: Indices | None = None
) -> tuple[Operand, Operand]:
    """Return the two sides of tiles of (x / scale) . (z / scale), parameters as in ``distance_operands``."""
    return _operands(X, Z, None, scale, columns, norms=False)


def _operands(X: Any, Z: Any, center: Any, scale: Any, columns: Any, *, norms: bool) -> tuple[Operand, Operand]:
    same = Z is X
    dtype = np.result_type(X.dtype, Z.dtype)
    if sparse.issparse(X) or sparse.issparse(Z):
        center = None
        if not norms and (X.shape[0] + Z.shape[0]) * X.shape[1] <= _SMALL:
            X = _filled(X)
            Z = X if same else _filled(Z)
        else:
            X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    if columns is not None:
        index = np.asarray(columns, dtype=np.intp)
        X, Z = X[:, index], (None if same else Z[:, index])
        center = None if center is None else np.asarray(center)[index]
    if sparse.issparse(X):
        X, Z, used = used_columns(X, X if same else Z)
        if used is not None and np.ndim(scale):
            scale = np.asarray(scale)[used]
    X = _typed(X, dtype)
    Z = X if same else _typed(Z, dtype)
    shift, weights, unit = _plan(X, Z, center, scale)
    left = _operand(X, center, shift, weights, unit, norms)
    return left, (left if same else _operand(Z, center, shift, weights, unit, norms))


def _filled(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def _typed(X: Any, dtype: np.dtype) -> Matrix:
    if isinstance(X, np.ndarray):
        X = np.ascontiguousarray(X, dtype=dtype)
        # a read-only array is another type to the compiler: a copy takes less time than a second compilation
        return X if X.flags.writeable else X.copy()
    X = X.astype(dtype, copy=False)
    if not X.has_canonical_format:  # the merge of two rows needs sorted columns
        X = X.copy()
        X.sum_duplicates()
    return X


def _top(X: Any, axis: int | None) -> Floats:
    """Return the largest absolute value, of every column or of all together, as a (d,) or (1,) array."""
    if 0 in X.shape:
        return np.zeros(X.shape[1] if axis == 0 else 1)
    if isinstance(X, np.ndarray):
        top = np.maximum(X.max(axis=axis), -X.min(axis=axis))
    elif axis is None:
        top = np.abs(X.data).max(initial=0.0)
    else:
        top = abs(X).max(axis=0).toarray()
    return np.asarray(top, dtype=np.float64).reshape(-1)


def _plan(X: Matrix, Z: Matrix, center: Any, scale: Any) -> tuple[np.ndarray | None, Floats, float]:
    """Choose exponents (d,) to take from the columns first (None: none), then weights (d,), and the unit.

    Squares of numbers between 2^-300 and 2^300 (float32: 2^-40 and 2^40) neither overflow nor vanish.
    """
    bound = 300 if X.dtype == np.float64 else 40
    if scale is None and isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and X.size and Z.size:
        top = max(float(X.max()), -float(X.min()))
        if Z is not X:
            top = max(top, float(Z.max()), -float(Z.min()))
        if center is not None:
            top = max(top, float(np.abs(center).max()))
        if abs(math.frexp(top)[1]) <= bound:
            return None, np.empty(0, X.dtype), 1.0
    axis = None if scale is None else 0
    top = np.maximum(_top(X, axis), _top(Z, axis)) if Z is not X else _top(X, axis)
    if center is not None:
        top = np.maximum(top, _top(np.asarray(center)[None], axis))
    scale = None if scale is None else np.broadcast_to(np.asarray(scale, dtype=np.float64), X.shape[1:])
    mantissa, exponent = (np.ones(1), np.zeros(1, dtype=np.int64)) if scale is None else np.frexp(scale)
    size = np.frexp(top)[1]
    extent = (size.astype(np.int64) - exponent)[top > 0]
    largest = int(extent.max()) if extent.size else 0
    shift = 0 if abs(largest) <= bound else min(max(largest, -_SHIFT), _SHIFT)
    if abs(largest - shift) > bound:  # the unit saturates: such distances are infinite or zero to any kernel
        shift = largest
    none = np.empty(0, X.dtype)
    # With shift 0 numbers and scales may still be extreme, and only their ratio not.
    if shift == 0 and size.max(initial=0) <= bound and np.abs(exponent).max(initial=0) <= bound:
        return None, none if scale is None else (1.0 / scale).astype(X.dtype), 1.0
    weights = none if scale is None else (1.0 / mantissa).astype(X.dtype)
    unit = 2.0 ** min(max(shift, -_SHIFT), _SHIFT)
    return np.broadcast_to(exponent + shift, X.shape[1:]).astype(np.int32), weights, unit


def _operand(X: Matrix, center: Any, shift: Any, weights: Floats, unit: float, norms: bool) -> Operand:
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
    if not norms:
        return Operand(points, None, X, weights, unit)
    half_norms = _half_norms(points)
    nonzeros = points if sparse.issparse(points) else sparse.csr_array(points) if is_mostly_zero(points) else None
    return Operand(points, half_norms, X, weights, unit, float(half_norms.max(initial=0.0)), nonzeros)


def is_mostly_zero(X: Matrix) -> bool:
    """Return whether so few numbers are not zero that skipping the others pays."""
    if sparse.issparse(X):
        return True
    if X.size < _LARGE:
        return False
    few = X[:: max(1, len(X) // 64)]  # some rows show whether it is worth counting
    if np.count_nonzero(few) > _DENSEST * few.size:
        return False
    return bool(np.count_nonzero(X) <= _DENSEST * X.size)


def _map_columns(function: np.ufunc, X: Matrix, row: np.ndarray) -> Matrix:
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


def row_products(A: Array, B: Array, *, same: bool, out: Array | None = None) -> Array:
    """Return A @ B.T, (len A, len B).

    Parameters
    ----------
    A, B : (n, d) and (m, d) arrays
    same : bool
        Whether both are the same rows of one collection, whose matrix is symmetric to the bit. Two collections that
        happen to share memory are not the same.
    out : (n, m) array, optional

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> row_products(X, X[:1], same=False)
    array([[ 5.],
           [11.]])
    """
    if not same and A.shape == B.shape and _address(A) == _address(B):
        B = B.copy()
    return np.matmul(A, B.T, out=out)


def _address(X: Array) -> int:
    return X.__array_interface__["data"][0]


def _multiply(left: Operand, right: Operand, rows: Rows, cols: Rows, out: Floats) -> None:
    """Write the products of some rows of two operands into out."""
    A, B = left.points[rows], right.points[cols]
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        row_products(A, B, same=left is right and _is_one_slice(rows, cols), out=out)
    else:
        (A @ B.T).toarray(out=out)


def _is_one_slice(rows: Rows, cols: Rows) -> bool:
    return isinstance(rows, slice) and isinstance(cols, slice) and rows == cols


def dot_tile(left: Operand, right: Operand, rows: Rows, cols: Rows, out: Floats) -> None:
    """Write the dot products of some rows of two operands into out (C-contiguous), in units of unit^2."""
    _multiply(left, right, rows, cols, out)


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
        Array of the operands' dtype.
    reach : float, optional
        Square of the shortest length scale in use (1 where the operands are divided by length scales). With
        it, distances are exact up to some 30 length scales, even in data that spread over very many.

    Notes
    -----
    The relative error of h is at most about 1e-10 (float64) or 1e-4 (float32), and far less unless two points
    are much nearer to one another than to the center. Up to 8 dense columns it is a few roundings.
    """
    assert left.half_norms is not None and right.half_norms is not None
    if out.size == 0:
        return
    if not left.is_sparse and left.points.shape[1] <= _FEW:
        half_square_tile(left.source[rows], right.source[cols], left.weights, out)
        return
    _multiply(left, right, rows, cols, out)
    norms = np.ascontiguousarray(left.half_norms[rows]), np.ascontiguousarray(right.half_norms[cols])
    limits = _limits(left, right, reach)
    if left.is_sparse:
        finish_sparse(out, _parts(left.source[rows]), _parts(right.source[cols]), left.weights, norms, limits)
    else:
        X, Z = np.ascontiguousarray(left.source[rows]), np.ascontiguousarray(right.source[cols])
        finish_dense(out, X, Z, left.weights, norms, limits)


def _limits(left: Operand, right: Operand, reach: float | None) -> tuple:
    """Return (tau, floor, near): repair where -h < tau (a + b), and where a + b > floor and -h < near."""
    dtype = left.points.dtype
    tau, many, far = (1e-5, 2e4, 1500.0) if dtype == np.float64 else (1e-2, 1e3, 200.0)
    floor, near = np.inf, 0.0
    if reach is not None:
        reach = reach / left.unit / left.unit
        if left.largest + right.largest > 0.5 * many * reach:
            floor, near = 0.5 * many * reach, 0.5 * far * reach
    return tuple(dtype.type(number) for number in (tau, floor, near))


def _parts(X: Any) -> tuple[Floats, Indices, Indices]:
    return X.data, X.indices.astype(np.intp, copy=False), X.indptr.astype(np.intp, copy=False)


def half_square_tile(X: Floats, Z: Floats, weights: Floats, out: Floats) -> None:
    """Write -sum_k ((x_k - z_k) w_k)^2 / 2 of dense rows into out (C-contiguous); empty weights for none."""
    half_squares(np.ascontiguousarray(X), np.ascontiguousarray(Z), weights, out)


def manhattan_tile(X: Matrix, Z: Matrix, rows: Rows, cols: Rows, out: Floats) -> None:
    """Write sum_k abs(x_k - z_k) of some rows of X and Z into out (C-contiguous).

    Sparse rows are made dense for the tile. Sums too large for the dtype become infinite, never NaN.
    """
    A, B = X[rows], Z[cols]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    B = B if isinstance(B, np.ndarray) else B.toarray()
    manhattan(np.ascontiguousarray(A, out.dtype), np.ascontiguousarray(B, out.dtype), out)


_PANEL = 4


def _padded(X: Floats) -> Floats:
    """Return points with columns of zeros up to a multiple of the panel; themselves if there are as many."""
    n, d = X.shape
    if d % _PANEL == 0:
        return X
    out = np.zeros((n, d + _PANEL - d % _PANEL), X.dtype)
    out[:, :d] = X
    return out


def _panels(Z: Floats) -> Floats:
    """Return Z transposed, with rows of zeros up to a multiple of the panel."""
    m, d = Z.shape
    out = np.zeros(((d + _PANEL - 1) // _PANEL * _PANEL, m), Z.dtype)
    out[:d] = Z.T
    return out


def half_squares(X: Floats, Z: Floats, weights: Floats, out: Floats) -> None:
    """Write -sum_k ((x_k - z_k) w_k)^2 / 2 into out; empty weights for none."""
    _half_squares(_padded(X), _panels(Z), _padded(weights[None])[0] if weights.size else weights, out)


# "contract" forms fused multiply-adds; it only leaves out roundings of the squares.
@compiled(fastmath={"contract"})
def _half_squares(X, panels, weights, out):
    half, zero = out.dtype.type(0.5), out.dtype.type(0)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = zero
        for k in range(0, panels.shape[0], _PANEL):
            x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
            if weights.size > 0:
                w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                for j in range(out.shape[1]):
                    d0, d1 = (x0 - panels[k, j]) * w0, (x1 - panels[k + 1, j]) * w1
                    d2, d3 = (x2 - panels[k + 2, j]) * w2, (x3 - panels[k + 3, j]) * w3
                    out[i, j] -= half * ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3))
            else:
                for j in range(out.shape[1]):
                    d0, d1 = x0 - panels[k, j], x1 - panels[k + 1, j]
                    d2, d3 = x2 - panels[k + 2, j], x3 - panels[k + 3, j]
                    out[i, j] -= half * ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3))


def manhattan(X: Floats, Z: Floats, out: Floats) -> None:
    """Write sum_k abs(x_k - z_k) into out, panel after panel, so that a panel stays in cache for all rows."""
    out.fill(0.0)
    _add_sizes(_padded(X), _panels(Z), out)


@compiled
def _add_sizes(X, panels, out):
    for k in range(0, panels.shape[0], _PANEL):
        for i in range(out.shape[0]):
            x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
            for j in range(out.shape[1]):
                low = abs(x0 - panels[k, j]) + abs(x1 - panels[k + 1, j])
                high = abs(x2 - panels[k + 2, j]) + abs(x3 - panels[k + 3, j])
                out[i, j] += low + high

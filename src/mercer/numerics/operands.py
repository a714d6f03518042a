"""Operands of tiles of distances and dot products: points centred, scaled, and kept from overflow.

Legend: X (n, d), Z (m, d) points, c center, s length scales of the columns, unit a power of two.

Squares of very large or very small numbers overflow or vanish. Such data are divided by a power of two, which
is exact; the unit is passed on with the tile, and is 1 for all ordinary data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mercer.arrays import Floats, Indices
from mercer.sparse_checks import used_columns

__all__ = ["Matrix", "Operand", "Rows", "center_of", "distance_operands", "dot_operands", "is_mostly_zero", "narrowed"]

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
        mean = np.asarray(np.mean(X, axis=0, dtype=np.float64))
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
    return Operand(points, half_norms, X, weights, unit, float(np.max(half_norms, initial=0.0)), nonzeros)


def is_mostly_zero(X: Matrix) -> bool:
    """Return whether so few numbers are not zero that skipping the others pays."""
    if sparse.issparse(X):
        return True
    few = X[:: max(1, len(X) // 64)]  # some rows show whether it is worth counting
    if X.size < _LARGE or np.count_nonzero(few) > _DENSEST * few.size:
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

"""Samples as rows of numbers, for solvers that work in the weights of a linear function.

Symbols: x_i a row, s the value of a constant column that stands for the bias, w the d weights and that of the
constant, last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["Rows"]

_SCATTERED = 8  # as many times faster is a product of a dense matrix than one that is scattered


@dataclass(frozen=True, eq=False)
class Rows:
    r"""Rows of numbers, dense or sparse, with a constant column at their end: a factor of K.

    .. math:: K = F F^\top, \qquad F = (X, s \mathbf{1})

    Parameters
    ----------
    data : (nnz,) array, float64 or float32
        The numbers, row after row.
    indices : (nnz,) array of uint32
        Their columns; empty if X is dense.
    offsets : (n + 1,) array of int64
        Where the rows begin.
    width : int
        d.
    constant : float, default 0.0
        s; 0 leaves the constant column without effect.

    Examples
    --------
    >>> rows = Rows.of(np.array([[1.0, 2.0], [0.0, 1.0]]), constant=1.0)
    >>> rows.scores(np.array([1.0, 1.0, 0.5]))
    array([3.5, 1.5])
    >>> rows.combine(np.array([1.0, 1.0]))
    array([1., 3., 2.])
    """

    data: Floats
    indices: Any
    offsets: Any
    width: int
    constant: float = 0.0

    @classmethod
    def of(cls, X: Any, constant: float = 0.0) -> Rows:
        """Rows of an array (n, d) or a CSR matrix; nothing is copied that is C-contiguous or has small indices."""
        if isinstance(X, Rows):
            return X
        if sp.issparse(X):
            X = sp.csr_array(X)
            indices = X.indices.view(np.uint32) if X.indices.dtype == np.int32 else X.indices.astype(np.uint32)
            return cls(X.data, indices, X.indptr.astype(np.int64), X.shape[1], float(constant))
        X = np.ascontiguousarray(X)
        n, d = X.shape
        offsets = np.arange(n + 1, dtype=np.int64) * d
        return cls(X.reshape(-1), np.empty(0, dtype=np.uint32), offsets, d, float(constant))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return len(self.indices) > 0 or self.offsets[-1] == 0

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """What compiled code receives."""
        return self.data, self.indices, self.offsets

    @cached_property
    def squares(self) -> Floats:
        """Squared lengths of the rows, the constant included, (n,)."""
        out = np.empty(len(self))
        _square(self.data, self.offsets, self.constant, out)
        return out

    def scores(self, w: Floats) -> Floats:
        """F w, (n,)."""
        out = np.empty(len(self))
        _multiply(*self.arrays, w, self.constant, out)
        return out

    def combine(self, beta: Floats) -> Floats:
        """F^T beta, (d + 1,)."""
        out = np.zeros(self.width + 1)
        _combine(*self.arrays, beta, self.constant, out)
        return out

    def take(self, index: Indices) -> Rows:
        """Some of the rows, in float64."""
        if not self.is_sparse:
            chosen = self.data.reshape(-1, self.width)[index].astype(np.float64, copy=False)
            offsets = np.arange(len(index) + 1, dtype=np.int64) * self.width
            return Rows(chosen.reshape(-1), self.indices, offsets, self.width, self.constant)
        lengths = self.offsets[index + 1] - self.offsets[index]
        offsets = np.zeros(len(index) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.repeat(self.offsets[index] - offsets[:-1], lengths) + np.arange(offsets[-1])
        data = self.data[places].astype(np.float64, copy=False)
        return Rows(data, self.indices[places], offsets, self.width, self.constant)

    @property
    def is_scattered(self) -> bool:
        """Whether a product of all pairs of numbers in a row is cheaper entry by entry than as a dense matrix."""
        return self.is_sparse and _SCATTERED * len(self.data) <= len(self) * (self.width + 1)

    def normal(self, chosen: Indices, weight: Floats) -> Floats:
        """F_S^T diag(weight_S) F_S, (d + 1, d + 1), S the chosen rows; the weights, (n,), are not negative."""
        p = self.width + 1
        out = np.zeros((p, p))
        if self.is_scattered:
            _scatter_pairs(*self.arrays, chosen, weight, self.constant, out)
            return out + out.T
        step = max(1, 2**18 // p)
        for start in range(0, len(chosen), step):
            part = chosen[start : start + step]
            F = self.take(part).dense()
            F *= np.sqrt(weight[part, None])
            out += F.T @ F  # of a matrix and itself: NumPy computes one triangle
        return out

    @property
    def normal_work(self) -> float:
        """Products of numbers that `normal` of all rows costs, in the unit of products that are done one by one."""
        n, p = len(self), self.width + 1
        if self.is_scattered:
            return 0.5 * len(self.data) * (len(self.data) / n + 2.0)
        return n * p * p / 16.0

    def dense(self, part: slice = slice(None)) -> Floats:
        """Some rows of F as an array, (m, d + 1), in float64."""
        first, last, _ = part.indices(len(self))
        out = np.zeros((last - first, self.width + 1))
        out[:, -1] = self.constant
        if self.is_sparse:
            low, high = self.offsets[first], self.offsets[last]
            rows = np.repeat(np.arange(last - first), np.diff(self.offsets[first : last + 1]))
            out[rows, self.indices[low:high]] = self.data[low:high]
        else:
            out[:, :-1] = self.data.reshape(-1, self.width)[first:last]
        return out


# Sums may be reordered and fused ("reassoc", "contract"): they are sums of products over the columns, whose error
# does not depend on the order, and vector instructions need the freedom.
@compiled(fastmath={"contract", "reassoc"})
def _square(data, offsets, constant, out):
    for i in range(len(offsets) - 1):
        total = constant * constant
        for k in range(offsets[i], offsets[i + 1]):
            value = np.float64(data[k])
            total += value * value
        out[i] = total


@compiled(fastmath={"contract", "reassoc"})
def _multiply(data, indices, offsets, w, constant, out):
    d = len(w) - 1
    last = constant * w[d]
    sparse = len(indices) > 0
    for i in range(len(offsets) - 1):
        start = offsets[i]
        total = 0.0
        if sparse:
            for k in range(np.uint64(start), np.uint64(offsets[i + 1])):
                total += data[k] * w[indices[k]]
        elif offsets[i + 1] > start:
            for k in range(d):
                total += data[start + k] * w[k]
        out[i] = total + last


@compiled(fastmath={"contract", "reassoc"})
def _combine(data, indices, offsets, beta, constant, out):
    d = len(out) - 1
    sparse = len(indices) > 0
    for i in range(len(offsets) - 1):
        b = beta[i]
        if b == 0.0:
            continue
        start = offsets[i]
        if sparse:
            for k in range(np.uint64(start), np.uint64(offsets[i + 1])):
                out[indices[k]] += b * data[k]
        elif offsets[i + 1] > start:
            for k in range(d):
                out[k] += b * data[start + k]
        out[d] += b * constant


@compiled
def _scatter_pairs(data, indices, offsets, chosen, weight, constant, out):
    """Add weight_i x_i x_i^T to a matrix, each pair of entries in one of its triangles and the diagonal by half."""
    d = len(out) - 1
    for i in chosen:
        scale = weight[i]
        start, stop = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        for k in range(start, stop):
            value = scale * data[k]
            row = out[indices[k]]
            for l in range(start, k):
                row[indices[l]] += value * data[l]
            row[indices[k]] += 0.5 * value * data[k]
            out[d, indices[k]] += value * constant
        out[d, d] += 0.5 * scale * constant * constant

"""Distances of a tile summed from the differences of coordinates, without a matrix product.

Legend: X (q, d) and Z (m, d) rows of the tile, out (q, m) the tile, w weights of the coordinates.

Differences of near points are exact, so nothing cancels here. The cost is d subtractions an entry, which
beats a matrix product for few coordinates only; absolute values come from no product and always from here.

Four coordinates of Z are copied side by side (a panel), so that the loop over the columns runs in lanes.
"""

from typing import Any, TypeAlias

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["Matrix", "Rows", "half_square_tile", "manhattan_tile"]

Matrix: TypeAlias = Any  # Floats or scipy.sparse.csr_array, of whose methods type checkers know too little
Rows: TypeAlias = "slice | Indices"

_PANEL = 4


@compiled
def _lay_panels(Z):
    """Return Z transposed, with rows of zeros up to a multiple of the panel."""
    m, d = Z.shape
    panels = np.zeros(((d + _PANEL - 1) // _PANEL * _PANEL, m), Z.dtype)
    for j in range(m):
        for k in range(d):
            panels[k, j] = Z[j, k]
    return panels


# "contract" forms fused multiply-adds; it only leaves out roundings of the squares.
@compiled(fastmath={"contract"})
def _subtract_squares(row, x, panel):
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    half = row.dtype.type(0.5)
    for j in range(row.size):
        d0, d1 = x0 - panel[0, j], x1 - panel[1, j]
        d2, d3 = x2 - panel[2, j], x3 - panel[3, j]
        row[j] -= half * ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3))


@compiled(fastmath={"contract"})
def _subtract_weighted_squares(row, x, panel, w):
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
    half = row.dtype.type(0.5)
    for j in range(row.size):
        d0, d1 = (x0 - panel[0, j]) * w0, (x1 - panel[1, j]) * w1
        d2, d3 = (x2 - panel[2, j]) * w2, (x3 - panel[3, j]) * w3
        row[j] -= half * ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3))


@compiled
def _half_squares(X, Z, weights, out):
    """Write -sum_k ((x_k - z_k) w_k)^2 / 2 into out; empty weights for none."""
    d = X.shape[1]
    panels = _lay_panels(Z)
    x = np.zeros(panels.shape[0], X.dtype)
    w = np.zeros(panels.shape[0], X.dtype)
    w[: weights.size] = weights
    for i in range(X.shape[0]):
        x[:d] = X[i]
        row = out[i]
        row[:] = 0
        for k in range(0, d, _PANEL):
            if weights.size > 0:
                _subtract_weighted_squares(row, x[k:], panels[k:], w[k:])
            else:
                _subtract_squares(row, x[k:], panels[k:])


@compiled
def _add_sizes(row, x, panel):
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    for j in range(row.size):
        low = abs(x0 - panel[0, j]) + abs(x1 - panel[1, j])
        high = abs(x2 - panel[2, j]) + abs(x3 - panel[3, j])
        row[j] += low + high


@compiled
def _sizes(X, Z, out):
    """Write sum_k abs(x_k - z_k) into out, panel after panel, so that a panel stays in cache for all rows."""
    d = X.shape[1]
    x = np.zeros(_PANEL, X.dtype)
    out[:] = 0
    for start in range(0, d, _PANEL):
        stop = min(start + _PANEL, d)
        panel = _lay_panels(Z[:, start:stop])
        x[:] = 0
        for i in range(X.shape[0]):
            x[: stop - start] = X[i, start:stop]
            _add_sizes(out[i], x, panel)


def half_square_tile(X: Floats, Z: Floats, weights: Floats, out: Floats) -> None:
    """Write -sum_k ((x_k - z_k) w_k)^2 / 2 of dense rows into out (C-contiguous); empty weights for none."""
    _half_squares(np.ascontiguousarray(X), np.ascontiguousarray(Z), weights, out)


def manhattan_tile(X: Matrix, Z: Matrix, rows: Rows, cols: Rows, out: Floats) -> None:
    """Write sum_k abs(x_k - z_k) of some rows of X and Z into out (C-contiguous).

    Sparse rows are made dense for the tile. Sums too large for the dtype become infinite, never NaN.
    """
    A, B = X[rows], Z[cols]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    B = B if isinstance(B, np.ndarray) else B.toarray()
    _sizes(np.ascontiguousarray(A, out.dtype), np.ascontiguousarray(B, out.dtype), out)

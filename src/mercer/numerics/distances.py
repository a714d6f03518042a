r"""Loops over tiles of squared and Manhattan distances; `mercer.numerics.operands` calls them.

Legend: X (n, d), Z (m, d) points, c center, s length scales, a = |(x - c)/s|^2 / 2, b = |(z - c)/s|^2 / 2,
h = -|(x - z)/s|^2 / 2 = ((x - c)/s) . ((z - c)/s) - a - b, the half squared distance of the tile, <= 0.

One matrix product and one pass give a tile. The pass subtracts the norms and looks for entries where the
subtraction cancels: those are computed again from the differences x - z of the points as they were given, so
that near points are as exact as far ones and equal points give exactly 0. The norms are not folded into the
product as two more columns, since the pass reads them anyway: this way a and b enter as a + b, a tile over
the same rows and columns is symmetric to the bit, and no widened copy of the points is held.

For few coordinates a tile is summed from the differences themselves, without a product; absolute values always are.
Four coordinates of Z are copied side by side (a panel), so that the loop over the columns runs in lanes.

Loops copy number by number: an assignment to a slice takes Numba seconds to compile, for the message it might raise.

Everything here runs in the calling thread (which has set BLAS to one thread), without the interpreter lock.
"""

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled

__all__ = ["finish_dense", "finish_sparse", "half_squares", "manhattan"]


_SEGMENT = 64


# The passes over a row return whether any entry cancels: an "or" runs in lanes without fastmath, which might
# regroup h = row - (a + b) and break the symmetry of the tile.
@compiled
def _subtract_norms(row, a, b, tau):
    zero = row.dtype.type(0)
    hit = False
    for j in range(row.size):
        total = a + b[j]
        h = row[j] - total
        hit |= h > -tau * total
        row[j] = zero if h > zero else h
    return hit


@compiled
def _subtract_norms_near(row, a, b, limits):
    tau, floor, near = limits
    zero = row.dtype.type(0)
    hit = False
    for j in range(row.size):
        total = a + b[j]
        h = row[j] - total
        hit |= (h > -tau * total) | ((total > floor) & (h > -near))
        row[j] = zero if h > zero else h
    return hit


@compiled
def _scan(row, a, b, limits):
    if limits[2] > 0:
        return _subtract_norms_near(row, a, b, limits)
    return _subtract_norms(row, a, b, limits[0])


@compiled
def _holds_any(row, a, b, limits):
    tau, floor, near = limits
    hit = False
    for j in range(row.size):
        total = a + b[j]
        hit |= (row[j] > -tau * total) | ((total > floor) & (row[j] > -near))
    return hit


@compiled
def _collect(row, a, b, limits, chosen):
    """Write the places of the entries that cancel into chosen and return their number.

    Most rows with any have one, the point itself: segments without a hit are passed over in lanes.
    """
    tau, floor, near = limits
    count = 0
    for start in range(0, row.size, _SEGMENT):
        stop = min(start + _SEGMENT, row.size)
        if _holds_any(row[start:stop], a, b[start:stop], limits):
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
def finish_dense(out, X, Z, weights, norms, limits):
    """Subtract the norms from a tile of products, and compute again where that cancels."""
    a, b = norms
    zero, half = out.dtype.type(0), out.dtype.type(0.5)
    chosen = np.empty(out.shape[1], np.intp)
    for i in range(out.shape[0]):
        row = out[i]
        if _scan(row, a[i], b, limits):
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
def finish_sparse(out, left, right, weights, norms, limits):
    """Do what `finish_dense` does, for rows of sparse matrices."""
    a, b = norms
    x, x_columns, x_starts = left
    z, z_columns, z_starts = right
    zero, half = out.dtype.type(0), out.dtype.type(0.5)
    chosen = np.empty(out.shape[1], np.intp)
    for i in range(out.shape[0]):
        row = out[i]
        if _scan(row, a[i], b, limits):
            mine = slice(x_starts[i], x_starts[i + 1])
            for j in chosen[: _collect(row, a[i], b, limits, chosen)]:
                other = slice(z_starts[j], z_starts[j + 1])
                square = _merge_square_distance(x[mine], x_columns[mine], z[other], z_columns[other], weights)
                row[j] = zero - half * square


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

r"""From a tile of dot products to one of half squared distances; `mercer.numerics.operands` calls these loops.

Legend: X (n, d), Z (m, d) points, c center, s length scales, a = |(x - c)/s|^2 / 2, b = |(z - c)/s|^2 / 2,
h = -|(x - z)/s|^2 / 2 = ((x - c)/s) . ((z - c)/s) - a - b, the half squared distance of the tile, <= 0.

One matrix product and one pass give a tile. The pass subtracts the norms and looks for entries where the
subtraction cancels: those are computed again from the differences x - z of the points as they were given, so
that near points are as exact as far ones and equal points give exactly 0. The norms are not folded into the
product as two more columns, since the pass reads them anyway: this way a and b enter as a + b, a tile over
the same rows and columns is symmetric to the bit, and no widened copy of the points is held.

Everything here runs in the calling thread (which has set BLAS to one thread), without the interpreter lock.
"""

import numpy as np

from mercer.runtime.compiled import compiled

__all__ = ["finish_dense", "finish_sparse"]


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

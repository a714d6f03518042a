"""The Goursat problem u_st = <x'(s), y'(t)> u, u = 1 on both axes, for many pairs of paths of straight pieces at once.

Symbols: D = <x'(s), y'(t)>, constant on the cell of two pieces; a(s) = u(s, 0) and b(t) = u(0, t) - u(0, 0) on its
lower and left edge; J the integral from the start of an edge; m_k = (J^k a)(1), n_k = (J^k b)(1). On the other edges

    u(s, 1) = sum_k (D J)^k (a / k! + n_k),    u(1, t) - u(1, 0) = sum_k (D J)^k b / k! + sum_{k > 0} (D J)^k m_k
    u(1, 1) = sum_k D^k (m_k + n_k) / k!

Edges are held as their first Legendre coefficients, in which J has two diagonals, and the values at corners for
themselves. What is cut off an edge reaches a corner only by as many integrals as there are coefficients, and came about
by as many: the error is that of D to twice their number, however many cells there are in a row. The sums are cut where
their terms are smaller than rounding, and the pieces whose D is not small enough are halved, they alone.

The cells of all pairs are one table: its antidiagonals are long and their cells do not depend on each other. Cells are
taken thirty-two at a time with all numbers of a cell in registers; each register holds the same number of eight cells.
"""

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["goursat"]

_LANES = 32  # cells at a time
_SIZE = 6  # coefficients of an edge
_COLUMN = 3 + _SIZE  # rows of a strip: D, u(0, 0), u(1, 0), a; then u(0, 1) and b, which come from the column
_ROWS = _COLUMN + 1 + _SIZE
_SMALL = 0.1  # |D| up to which seven integrals are enough: 0.1^8 / 8!^2 is less than a tenth of rounding
_LARGEST = 0.5  # |D| up to which pieces are not cut: 0.5^12, over factorials and odd numbers, is far below rounding
_MOST = 7  # halvings of a piece; beyond, values are near the end of the range of numbers
_G0, _G1, _G2, _G3, _G4 = (1.0 / (4.0 * (2 * q + 1) * (2 * q + 3)) for q in range(_SIZE - 1))


def goursat(D: Floats, rows: Indices, columns: Indices, symmetric: bool, out: Floats) -> None:
    """Write u at the ends of all pairs of paths; of a symmetric block those on and above the diagonal.

    Parameters
    ----------
    D : (p, q) array
        Inner products of the pieces of both sides. The last row and the last column of every path are no pieces: zeros.
    rows, columns : (m + 1,), (n + 1,) arrays of int
        Where the paths of each side begin and end.
    symmetric : bool
        Whether both sides are the same paths.
    out : (m, n) array
        To be written. Infinite where values are too large.

    Examples
    --------
    >>> out = np.empty((1, 1))
    >>> goursat(np.array([[0.5, 0.0], [0.0, 0.0]]), np.array([0, 2]), np.array([0, 2]), False, out)
    >>> out.round(6)  # the Bessel function I_0(2 sqrt(0.5))
    array([[1.566083]])
    """
    _solve(D, rows, columns, symmetric, out)


# "contract" and "reassoc" only leave out roundings, and reorder sums: any order is equally exact. Coefficients belong
# to multiples of Legendre polynomials for which the lower diagonal of J has ones. The loops over lanes have constant
# distances in a single array: the compiler sees no overlap and keeps a cell in registers.
@compiled(fastmath={"contract", "reassoc"})
def _integral(x):
    x0, x1, x2, x3, x4, x5 = x
    return 0.5 * x0 - _G0 * x1, x0 - _G1 * x2, x1 - _G2 * x3, x2 - _G3 * x4, x3 - _G4 * x5, x4


@compiled(fastmath={"contract", "reassoc"})
def _next(x, d, first, h):
    """Return x + first + d J h."""
    x0, x1, x2, x3, x4, x5 = x
    h0, h1, h2, h3, h4, h5 = _integral(h)
    return x0 + first + d * h0, x1 + d * h1, x2 + d * h2, x3 + d * h3, x4 + d * h4, x5 + d * h5


@compiled(inline=True)
def _finish(d, a, b, m, n, h, g, rest):
    """Do the last seven steps of Horner's scheme for both edges and the corner; m and n are multiplied by k!."""
    m1, m2, m3, m4, m5, m6 = m
    n1, n2, n3, n4, n5, n6 = n
    h, g = _next(a, d / 7.0, n6, h), _next(b, d / 7.0, m6, g)
    h, g = _next(a, d / 6.0, n5, h), _next(b, d / 6.0, m5, g)
    h, g = _next(a, d / 5.0, n4, h), _next(b, d / 5.0, m4, g)
    h, g = _next(a, d / 4.0, n3, h), _next(b, d / 4.0, m3, g)
    h, g = _next(a, d / 3.0, n2, h), _next(b, d / 3.0, m2, g)
    h, g = _next(a, d / 2.0, n1, h), _next(b, d / 2.0, m1, g)
    rest = (m5 + n5) + d / 36.0 * ((m6 + n6) + d / 49.0 * rest)
    rest = (m2 + n2) + d / 9.0 * ((m3 + n3) + d / 16.0 * ((m4 + n4) + d / 25.0 * rest))
    return h, g, d * ((m1 + n1) + d / 4.0 * rest)


@compiled(inline=True)
def _moments(a):
    """Return k! (J^k a)(1) for k up to 6, and J^6 a."""
    a1 = _integral(a)
    a2 = _integral(a1)
    a3 = _integral(a2)
    a4 = _integral(a3)
    a5 = _integral(a4)
    return (a[0], 2.0 * a1[0], 6.0 * a2[0], 24.0 * a3[0], 120.0 * a4[0], 720.0 * a5[0]), _integral(a5)


@compiled(inline=True)
def _six_more(m1, m2, m3, m4, m5, m6):
    """Multiply by (k + 6)! / k!."""
    return 5040.0 * m1, 20160.0 * m2, 60480.0 * m3, 151200.0 * m4, 332640.0 * m5, 665280.0 * m6


@compiled(inline=True)
def _read(work, lane, row):
    return (
        work[row * _LANES + lane],
        work[(row + 1) * _LANES + lane],
        work[(row + 2) * _LANES + lane],
        work[(row + 3) * _LANES + lane],
        work[(row + 4) * _LANES + lane],
        work[(row + 5) * _LANES + lane],
    )


@compiled(inline=True)
def _write(work, lane, row, x):
    work[row * _LANES + lane] = x[0]
    work[(row + 1) * _LANES + lane] = x[1]
    work[(row + 2) * _LANES + lane] = x[2]
    work[(row + 3) * _LANES + lane] = x[3]
    work[(row + 4) * _LANES + lane] = x[4]
    work[(row + 5) * _LANES + lane] = x[5]


@compiled(fastmath={"contract", "reassoc"})
def _cross(work):
    """Go from the lower and left edges of cells to the upper and right ones, by seven integrals."""
    for lane in range(_LANES):
        d, corner, right, top = work[lane], work[_LANES + lane], work[2 * _LANES + lane], work[_COLUMN * _LANES + lane]
        a, b = _read(work, lane, 3), _read(work, lane, _COLUMN + 1)
        (m, y), (n, z) = _moments(a), _moments(b)
        m7, n7 = 5040.0 * y[0], 5040.0 * z[0]
        h, g = (a[0] + n7, a[1], a[2], a[3], a[4], a[5]), (b[0] + m7, b[1], b[2], b[3], b[4], b[5])
        h, g, more = _finish(d, a, b, m, n, h, g, m7 + n7)
        h, g = _next(a, d, top - corner, h), _next(b, d, 0.0, g)
        end = (right - corner) + top + more
        work[_LANES + lane], work[2 * _LANES + lane], work[_COLUMN * _LANES + lane] = top, end, end
        _write(work, lane, 3, h)
        _write(work, lane, _COLUMN + 1, g)


@compiled(fastmath={"contract", "reassoc"})
def _cross_far(work):
    """The same by twelve integrals."""
    for lane in range(_LANES):
        d, corner, right, top = work[lane], work[_LANES + lane], work[2 * _LANES + lane], work[_COLUMN * _LANES + lane]
        a, b = _read(work, lane, 3), _read(work, lane, _COLUMN + 1)
        (m, y), (n, z) = _moments(a), _moments(b)
        (m7, m8, m9, m10, m11, m12), _ = _moments(y)
        (n7, n8, n9, n10, n11, n12), _ = _moments(z)
        m7, m8, m9, m10, m11, m12 = _six_more(m7, m8, m9, m10, m11, m12)
        n7, n8, n9, n10, n11, n12 = _six_more(n7, n8, n9, n10, n11, n12)
        h, g = (a[0] + n12, a[1], a[2], a[3], a[4], a[5]), (b[0] + m12, b[1], b[2], b[3], b[4], b[5])
        h, g = _next(a, d / 12.0, n11, h), _next(b, d / 12.0, m11, g)
        h, g = _next(a, d / 11.0, n10, h), _next(b, d / 11.0, m10, g)
        h, g = _next(a, d / 10.0, n9, h), _next(b, d / 10.0, m9, g)
        h, g = _next(a, d / 9.0, n8, h), _next(b, d / 9.0, m8, g)
        h, g = _next(a, d / 8.0, n7, h), _next(b, d / 8.0, m7, g)
        rest = (m10 + n10) + d / 121.0 * ((m11 + n11) + d / 144.0 * (m12 + n12))
        rest = (m7 + n7) + d / 64.0 * ((m8 + n8) + d / 81.0 * ((m9 + n9) + d / 100.0 * rest))
        h, g, more = _finish(d, a, b, m, n, h, g, rest)
        h, g = _next(a, d, top - corner, h), _next(b, d, 0.0, g)
        end = (right - corner) + top + more
        work[_LANES + lane], work[2 * _LANES + lane], work[_COLUMN * _LANES + lane] = top, end, end
        _write(work, lane, 3, h)
        _write(work, lane, _COLUMN + 1, g)


@compiled
def _copy(source, target):
    for place in range(source.size):
        target[place] = source[place]


@compiled
def _gather(D, left, right, cells):
    """Write D of cells whose pieces are cut."""
    pieces, shares = left
    others, parts = right
    for lane in range(cells.size):
        cells[lane] = D[pieces[lane], others[lane]] * (shares[lane] * parts[lane])


@compiled(fastmath={"reassoc"})
def _largest(row):
    largest = 0.0
    for j in range(row.size):
        size = abs(row[j])
        largest = size if size > largest else largest
    return largest


@compiled
def _halvings(largest):
    """Return how often to halve a piece whose largest |D| this is, if the piece of the other side is halved alike."""
    count = 0
    while largest > _LARGEST and count < _MOST:
        largest, count = 0.25 * largest, count + 1
    return count if largest <= _LARGEST else -1


@compiled
def _cut(largest, offsets):
    """Cut pieces: return the piece that each part is of, its share of it, where paths begin, whose each part is."""
    count = 0
    for i in range(largest.size):
        count += 1 << _halvings(largest[i])
    pieces, shares, owner = np.empty(count, np.int64), np.empty(count), np.empty(count, np.int64)
    starts = np.empty_like(offsets)
    part = 0
    for k in range(offsets.size - 1):
        starts[k] = part
        for i in range(offsets[k], offsets[k + 1]):
            halvings = _halvings(largest[i])
            for _ in range(1 << halvings):
                pieces[part], shares[part], owner[part] = i, 0.5**halvings, k
                part += 1
    starts[-1] = part
    return pieces, shares, starts, owner


@compiled
def _solve(D, rows, columns, symmetric, out):
    """Go through the antidiagonals of the table. Lane i of the strips is row i, and columns lie from right to left."""
    out[:] = 1.0  # of paths without pieces
    across, down = np.zeros(D.shape[0]), np.zeros(D.shape[1])
    for i in range(D.shape[0]):
        row = D[i]
        across[i] = _largest(row)
        for j in range(row.size):
            size = abs(row[j])
            down[j] = size if size > down[j] else down[j]
    if _halvings(_largest(across)) < 0:
        out[:] = np.inf
        return
    pieces, shares, row_starts, row_owner = _cut(across, rows)
    others, parts, column_starts, column_owner = _cut(down, columns)
    others, parts = others[::-1].copy(), parts[::-1].copy()
    n, m = pieces.size, others.size
    numbers, step, whole = D.reshape(-1), max(m - 1, 1), n == D.shape[0] and m == D.shape[1]
    ending = np.full(m, -1)
    for c in range(columns.size - 1):
        if columns[c + 1] - columns[c] > 1:
            ending[column_starts[c + 1] - 2] = c
    strips = np.zeros(((n + _LANES - 1) // _LANES, _ROWS * _LANES))
    lower = np.zeros((1 + _SIZE, m + 2 * _LANES))
    reached = -1
    for antidiagonal in range(n + m - 1):
        low, high = max(0, antidiagonal - m + 1), min(n - 1, antidiagonal)
        if symmetric:  # rows up to the diagonal block of the column
            while reached < high and row_owner[reached + 1] <= column_owner[antidiagonal - reached - 1]:
                reached += 1
            high = min(high, reached)
        shift = m - 1 - antidiagonal
        for c in range(columns.size - 1):
            i = antidiagonal - column_starts[c]
            if low <= i <= high:
                strip, lane = strips[i // _LANES], i % _LANES
                for row in range(1, _COLUMN):
                    strip[row * _LANES + lane] = 1.0 if row <= 3 else 0.0
        for r in range(rows.size - 1):
            i = row_starts[r]
            if low <= i <= high:
                lower[1:, _LANES + i + shift] = 0.0
                lower[0, _LANES + i + shift] = 1.0
        for block in range(low // _LANES, high // _LANES + 1):
            strip, place = strips[block], (block + 1) * _LANES + shift
            first, last = max(low, block * _LANES), min(high, block * _LANES + _LANES - 1) + 1
            cells = strip[first - block * _LANES : last - block * _LANES]
            if whole:
                start = first * m + antidiagonal - first
                _copy(numbers[start : start + (last - first - 1) * step + 1 : step], cells)
            else:
                right = others[first + shift : last + shift], parts[first + shift : last + shift]
                _gather(D, (pieces[first:last], shares[first:last]), right, cells)
            strip[: first - block * _LANES] = 0.0
            strip[last - block * _LANES : _LANES] = 0.0
            for row in range(1 + _SIZE):
                start = (_COLUMN + row) * _LANES
                _copy(lower[row, place : place + _LANES], strip[start : start + _LANES])
            if _largest(strip[:_LANES]) <= _SMALL:
                _cross(strip)
            else:
                _cross_far(strip)
            for row in range(1 + _SIZE):
                start = (_COLUMN + row) * _LANES
                _copy(strip[start : start + _LANES], lower[row, place : place + _LANES])
        for r in range(rows.size - 1):
            i = row_starts[r + 1] - 2
            if rows[r + 1] - rows[r] > 1 and low <= i <= high and ending[antidiagonal - i] >= 0:
                out[r, ending[antidiagonal - i]] = strips[i // _LANES, 2 * _LANES + i % _LANES]

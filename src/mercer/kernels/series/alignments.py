"""Alignments of two time series: the sum of the similarities of all of them, and the least of their costs.

Symbols: x of n points, y of m points; c_ij = |x_i - y_j|^2; w_ij the weight of the band; kappa_ij the local similarity;
M_ij the sum over the alignments of the first i and j points of the products of kappa; K = M_nm.

The table is filled along its antidiagonals, whose cells do not depend on each other: the loops run in vector registers.
Numbers have exponents of their own, in units of 2^512, so that nothing overflows or vanishes.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.domains.sequences import Sequences
from mercer.numerics.bits import from_bits, to_bits
from mercer.runtime.compiled import compiled

__all__ = ["FARTHEST", "least_costs", "sum_alignments"]

_UNIT, _INVERSE = 2.0**512, 2.0**-512  # what an exponent counts
_HIGH, _LOW = 2.0**256, 2.0**-256  # beyond, a number gets another exponent
_LOG_UNIT = 512.0 * float(np.log(2.0))
_NOTHING = -(2**61)  # the exponent of zero
FARTHEST = 2.0**50  # bits that a single pair of points may cost
_ROUND = 6755399441055744.0  # 1.5 * 2^52, whose addition rounds to integers
_ROUND_BITS = int(np.float64(_ROUND).view(np.int64))
_LN2 = 0.6931471805599453


def sum_alignments(
    A: Sequences,
    B: Sequences,
    out: Floats,
    *,
    similarity: tuple[float, float, float] = (1.0, 2.0, 1.0),
    band: tuple[float, bool] = (np.inf, False),
    symmetric: bool = False,
    slopes: bool = False,
) -> None:
    """Write log K of all pairs, and perhaps its derivative in the logarithm of a length scale.

    Parameters
    ----------
    A, B : Sequences
    out : (len A, len B, 2) array
    similarity : (u, t, b), default (1.0, 2.0, 1.0)
        kappa = w g / (t - b w g) with g = 2^(-u c).
    band : (width, share), default (inf, False)
        w = max(0, 1 - |i - j| / width), or the same of the places from 0 to 1 along the series.
    symmetric : bool, default False
        Whether only pairs on and above the diagonal are wanted.
    slopes : bool, default False
        For the default similarity only.

    Notes
    -----
    Costs of pairs of points beyond FARTHEST bits count as FARTHEST.
    """
    longest = int(A.lengths.max(initial=0))
    room = (*_sides(A, B), np.empty((6 if slopes else 3, longest + 2)))
    exponents, bits = np.empty((3, longest + 2), np.int64), np.empty(longest)
    _add_all((A.values, A.offsets), (B.values, B.offsets), similarity, band, symmetric, (*room, exponents, bits), out)


def least_costs(A: Sequences, B: Sequences, out: Floats, *, symmetric: bool = False) -> None:
    """Write the least cost of an alignment of all pairs, (len A, len B): dynamic time warping."""
    longest = int(A.lengths.max(initial=0))
    room = (*_sides(A, B), np.empty((3, longest + 2)), np.empty(longest))
    _least_all((A.values, A.offsets), (B.values, B.offsets), symmetric, room, out)


def _sides(A: Sequences, B: Sequences) -> tuple[Floats, Floats]:
    """Return room for a series of each, channels first."""
    one, other = (np.empty((A.width, int(S.lengths.max(initial=0)))) for S in (A, B))
    return one, other


# ---------------------------------------------------------------------- tables with exponents

# minimax polynomial of 2^r - 1 - r log 2 over r^2, on [-1/2, 1/2]
_P = (
    0.24022650695910075, 0.05550410866482158, 0.009618129107618665, 0.0013333558146423213, 0.00015403530424776529,
    1.5252733820795803e-05, 1.3215451633221434e-06, 1.0178067267449427e-07, 7.070977866508138e-09, 4.45410341058704e-10,
)  # fmt: skip
_A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9, _A10, _A11 = _P


# "contract" forms fused multiply-adds, which only leave out roundings; x + c - c may not be reordered.
@compiled(fastmath={"contract"})
def _power(x):
    """Return 2^x for -1000 < x < 1000."""
    shifted = x + _ROUND
    r = x - (shifted - _ROUND)
    r2 = r * r
    low = (_A2 + _A3 * r) + (_A4 + _A5 * r) * r2
    high = ((_A6 + _A7 * r) + (_A8 + _A9 * r) * r2) + (_A10 + _A11 * r) * (r2 * r2)
    y = 1.0 + (r * _LN2 + r2 * (low + high * (r2 * r2)))
    return from_bits(to_bits(y) + (to_bits(shifted) << 52))


@compiled
def _scale(gap):
    """Return the factor of a number whose exponent is this much below the largest."""
    return 1.0 if gap == 0 else _INVERSE if gap == 1 else 0.0


@compiled(fastmath={"contract"})
def _costs(x, y, bits):
    """Write the squared distances of the pairs of points on a piece of an antidiagonal."""
    for c in range(x.shape[0]):
        u, v = x[c], y[c]
        if c == 0:
            for a in range(bits.size):
                bits[a] = (u[a] - v[a]) * (u[a] - v[a])
        else:
            for a in range(bits.size):
                bits[a] += (u[a] - v[a]) * (u[a] - v[a])


# Each of the loops below writes few enough arrays for the compiler to see no overlap and use vector registers. Cell a
# of a piece has its upper, left and diagonal neighbours at a and a + 1 of the last antidiagonal, a of the one before.
@compiled
def _tops(last, before, new):
    """Write the largest exponent of the three neighbours."""
    for a in range(new.size):
        top = last[a] if last[a] > last[a + 1] else last[a + 1]
        new[a] = top if top > before[a] else before[a]


@compiled
def _gather(last, before, power_last, power_before, tops, new):
    """Write the sums of the three neighbours, in units of the largest exponent."""
    for a in range(new.size):
        top = tops[a]
        new[a] = (
            last[a] * _scale(top - power_last[a])
            + last[a + 1] * _scale(top - power_last[a + 1])
            + before[a] * _scale(top - power_before[a])
        )


@compiled(fastmath={"contract"})
def _weigh(bits, similarity, steep, start, new, powers):
    """Multiply with the local similarities. The band weighs 1 - |a + start| steep."""
    unit, top, bottom = similarity
    for a in range(new.size):
        x = unit * bits[a]
        x = x if x < FARTHEST else FARTHEST
        shifted = x * (1.0 / 512.0) + _ROUND
        units = shifted - _ROUND
        weight = 1.0 - abs(a + start) * steep
        g = _power(512.0 * units - x) * (weight if weight > 0.0 else 0.0)
        value = new[a] * g / (top - bottom * (g if units == 0.0 else 0.0))
        small, large = value < _LOW, value > _HIGH
        new[a] = value * (_UNIT if small else _INVERSE if large else 1.0)
        powers[a] -= to_bits(shifted) - _ROUND_BITS + (1 if small else -1 if large else 0)


@compiled(fastmath={"contract"})
def _weigh_slopes(bits, steep, start, new, slopes, powers):
    """As above for g / (2 - g), with the derivatives in log l."""
    for a in range(new.size):
        x = bits[a]
        x = x if x < FARTHEST else FARTHEST
        shifted = x * (1.0 / 512.0) + _ROUND
        units = shifted - _ROUND
        weight = 1.0 - abs(a + start) * steep
        g = _power(512.0 * units - x) * (weight if weight > 0.0 else 0.0)
        rest = 2.0 - (g if units == 0.0 else 0.0)
        value = new[a] * g / rest
        small, large = value < _LOW, value > _HIGH
        by = _UNIT if small else _INVERSE if large else 1.0
        slopes[a] = (slopes[a] * g / rest + value * (4.0 * _LN2 * x / rest)) * by
        new[a] = value * by
        powers[a] -= to_bits(shifted) - _ROUND_BITS + (1 if small else -1 if large else 0)


@compiled
def _add_pair(x, y, n, m, similarity, band, room, out):
    """Write log K of two series, channels first and the second backwards in time, and perhaps its derivative.

    Row i of a table has its cell of antidiagonal d = i + j at place i + 1; what is beside a piece is zero.
    """
    numbers, exponents, bits = room
    with_slopes = numbers.shape[0] == 6
    numbers[:, : n + 2] = 0.0
    exponents[:, : n + 2] = _NOTHING
    width, share = band
    # places of points i and j differ by (i + off) times a factor on an antidiagonal; `steep` divides by the band
    steep = (1.0 / n + 1.0 / m) / width if share else 2.0 / width
    reach = 1.0 / steep
    old, older = 2, 1  # tables of the last antidiagonals
    numbers[older, 0] = 1.0  # before the first points of both there is one alignment, the empty one
    exponents[older, 0] = 0
    for d in range(n + m - 1):
        new = d % 3
        low, high = max(0, d - m + 1), min(n - 1, d)
        off = (0.5 * m - (d + 0.5) * n) / (n + m) if share else -0.5 * d
        if width < n + m:
            low = max(low, int(np.floor(-off - reach)) + 1)
            high = min(high, int(np.ceil(reach - off)) - 1)
        count = high - low + 1
        if count > 0:
            shift = low + m - 1 - d
            _costs(x[:, low : low + count], y[:, shift : shift + count], bits[:count])
            start = low + off
            first, behind = low, low + count + 1
            last, before = exponents[old, first:behind], exponents[older, first:behind]
            powers = exponents[new, first + 1 : behind]
            _tops(last, before, powers)
            for row in range(0, numbers.shape[0], 3):
                here = numbers[row + new, first + 1 : behind]
                _gather(
                    numbers[row + old, first:behind], numbers[row + older, first:behind], last, before, powers, here
                )
            cells = numbers[new, first + 1 : behind]
            if with_slopes:
                _weigh_slopes(bits, steep, start, cells, numbers[new + 3, first + 1 : behind], powers)
            else:
                _weigh(bits, similarity, steep, start, cells, powers)
        else:  # the band passes between two points
            numbers[new::3, : n + 2] = 0.0
            exponents[new, : n + 2] = _NOTHING
        for place in (low, high + 2):
            if 0 <= place < n + 2:
                numbers[new::3, place] = 0.0
                exponents[new, place] = _NOTHING
        older, old = old, new
    apart = abs(0.5 / n - 0.5 / m) if share else abs(n - m)
    value = numbers[old, n] if apart < width else 0.0
    out[0] = np.log(value) + _LOG_UNIT * exponents[old, n] if value > 0.0 else -np.inf
    if with_slopes:
        out[1] = numbers[old + 3, n] / value


@compiled
def _add_all(left, right, similarity, band, symmetric, room, out):
    points, offsets = left
    others, places = right
    x, y, numbers, exponents, bits = room
    for i in range(offsets.size - 1):
        n = offsets[i + 1] - offsets[i]
        for a in range(n):
            x[:, a] = points[offsets[i] + a]
        for j in range(i if symmetric else 0, places.size - 1):
            m = places[j + 1] - places[j]
            for a in range(m):
                y[:, m - 1 - a] = others[places[j] + a]
            _add_pair(x, y, n, m, similarity, band, (numbers, exponents, bits), out[i, j])


# ---------------------------------------------------------------------- least costs


@compiled
def _add_least(last, before, costs, new):
    """Write the costs and the least of the three neighbours."""
    for a in range(new.size):
        least = last[a] if last[a] < last[a + 1] else last[a + 1]
        new[a] = costs[a] + (least if least < before[a] else before[a])


@compiled
def _least_pair(x, y, n, m, table, costs):
    """Return the least cost of two series, channels first and the second backwards in time."""
    table[:, : n + 2] = np.inf
    old, older = 2, 1
    table[older, 0] = 0.0
    for d in range(n + m - 1):
        new = d % 3
        low, high = max(0, d - m + 1), min(n - 1, d)
        count, behind = high - low + 1, high + 2
        shift = low + m - 1 - d
        _costs(x[:, low : low + count], y[:, shift : shift + count], costs[:count])
        _add_least(table[old, low:behind], table[older, low:behind], costs[:count], table[new, low + 1 : behind])
        for place in (low, behind):
            table[new, place] = np.inf
        older, old = old, new
    return table[old, n]


@compiled
def _least_all(left, right, symmetric, room, out):
    points, offsets = left
    others, places = right
    x, y, table, costs = room
    for i in range(offsets.size - 1):
        n = offsets[i + 1] - offsets[i]
        for a in range(n):
            x[:, a] = points[offsets[i] + a]
        for j in range(i if symmetric else 0, places.size - 1):
            m = places[j + 1] - places[j]
            for a in range(m):
                y[:, m - 1 - a] = others[places[j] + a]
            out[i, j] = _least_pair(x, y, n, m, table, costs)

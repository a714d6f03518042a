"""String kernels that compare subsequences: symbols in their order, with gaps between them.

Symbols: p the length of the subsequences, lambda the decay, |s| the symbols of a string.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from mercer.arrays import Codes, Floats
from mercer.constraints import Integer, Interval
from mercer.domains import Samples, Strings
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.comparison import LANES, Comparison, View, side_of_tiles
from mercer.kernels.kernel import Tiled, mirror
from mercer.kernels.protocols import Pullback
from mercer.kernels.strings.patterns import PatternKernel, require_room
from mercer.runtime.compiled import compiled
from mercer.spec import free_names

__all__ = ["GappySpectrum", "Subsequence"]
__public__ = __all__


_TABLE = 512  # entries of a table of a level for one string, over all levels: the table stays in the nearest cache
_CELLS = 2.5e7  # entries of tables that take some 20 milliseconds


class Subsequence(Tiled, DifferentiatedByTiles):
    r"""Gap-weighted subsequence kernel: common subsequences, each weighted by how far it is spread out.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\, \phi_u(t), \qquad
              \phi_u(s) = \sum_{i : s(i) = u} \lambda^{l(i)}

    where i = (i_1 < ... < i_p) are places of s with the symbols u, and l(i) = i_p - i_1 + 1 is the length of the piece
    of s they span.

    Seed: [HSS] Eqs. (40), (41); [ST] "Gap weighted string kernels".

    Parameters
    ----------
    length : int
        The number p of symbols of the subsequences. At least 1.
    decay : float, default 0.5
        The factor lambda, 0 < lambda <= 1, for each symbol of the piece a subsequence spans, gaps included.

    Notes
    -----
    Domain Strings: texts, or sequences of hashable symbols such as words. A string shorter than p has no subsequence
    of that length, and so k(s, s) = 0. The features are as many as there are subsequences and are never made.
    Differentiable in `decay`. Positive definite of order 0 by its features; not strict, since strings shorter than p
    are all alike, and hence not universal; not bounded (``.normalized()`` removes the influence of the length).
    No number is ever subtracted: values have a relative error of a few rounding units times |s| + |t|.
    Cost O(p |s| |t|) a pair, by the recursion over prefixes

    .. math:: K''_l(i, j) = \lambda K''_l(i, j-1) + [s_i = t_j] K'_{l-1}(i-1, j-1), \qquad
              K'_l(i, j) = \lambda K'_l(i-1, j) + K''_l(i, j)

    with K'_0 = 1 and k = lambda^{2p} sum_ij [s_i = t_j] K'_{p-1}(i-1, j-1). `GappySpectrum` limits the gaps, and then
    has features and linear cost.

    Examples
    --------
    With lambda = 0.5 "cat" and "car" have "ca" in common, which spans two letters of either:

    >>> Subsequence(2, decay=0.5)(["cat", "car"])
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    >>> Subsequence(3, decay=0.5)(["lass das"], ["asd"]).item() == 2 * 0.5**5 * 0.5**3
    True
    """

    synonyms = ("gap-weighted subsequence kernel", "string subsequence kernel")
    domain = Strings
    formula = r"\sum_{u \in \Sigma^p} \sum_{i, j : s(i) = t(j) = u} \lambda^{l(i) + l(j)}"
    cost = "O(p |s| |t|) a pair"
    constraints = {"length": Integer(1), "decay": Interval(0.0, 1.0, closed="right")}

    def __init__(self, length: int, decay: float = 0.5) -> None:
        self.length = length
        self.decay = decay

    @property
    def _scale(self) -> float:
        return float(self.decay) ** (2 * int(self.length))

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where strings are long."""
        return side_of_tiles(comparison, _CELLS / int(self.length), LANES)

    def tile(self, view: View) -> Floats:
        """Fill the tables of all pairs, four columns at a time."""
        left, right = view.comparison.keep((view.path, "aligned"), lambda: aligned(*view.collections))
        out = view.empty()
        symmetric = right is left and view.rows == view.columns
        _compare(left[view.rows], right[view.columns], int(self.length), float(self.decay), symmetric, out)
        out *= self._scale
        return mirror(out) if symmetric else out

    def _diag(self, A: Samples) -> Floats:
        """Compare every string with itself."""
        assert isinstance(A, Strings)
        out = np.empty((1, 1))
        values = np.empty(len(A))
        for i in range(len(A)):
            one = A[i : i + 1]
            _compare(one, one, int(self.length), float(self.decay), True, out)
            values[i] = self._scale * out[0, 0]
        return values

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the decay."""
        left, right = view.comparison.keep((view.path, "aligned"), lambda: aligned(*view.collections))
        p, decay = int(self.length), float(self.decay)
        value, slope = np.empty(view.shape), np.empty(view.shape)
        sides = left[view.rows].arrays, right[view.columns].arrays
        longest = int(right.lengths.max(initial=0))
        _differentiate(*sides, p, decay, np.empty((2, p, longest + 1)), value, slope)
        # k = lambda^(2p) S, and the recursion gives S and its derivative
        slope = self._scale * (slope + 2.0 * p / decay * value)
        value *= self._scale
        return value, lambda W: np.array([np.vdot(W, slope)] * len(free_names(self)))


def aligned(A: Samples, B: Samples) -> tuple[Strings, Strings]:
    """Return two collections of strings with codes of one vocabulary; the same object twice if they are one."""
    assert isinstance(A, Strings) and isinstance(B, Strings)
    return (A, A) if B is A else A.align(B)


def _compare(A: Strings, B: Strings, p: int, decay: float, symmetric: bool, out: Floats) -> None:
    """Write the unscaled kernel of all pairs; of a symmetric block, at least those on and above the diagonal."""
    order = np.argsort(B.lengths, kind="stable")  # strings in one table are nearly of one length
    columns = max(8, min(128, _TABLE // p))
    longest = int(A.lengths.max(initial=0)), int(B.lengths.max(initial=0))
    table, edges = np.empty((p, columns + 1, LANES)), np.empty((longest[0], 2, p, LANES))
    lanes = np.empty((longest[1], LANES), np.int32)
    _compare_all((A.codes, A.offsets), (B.codes, B.offsets), order, decay, symmetric, (table, edges, lanes), out)


@compiled
def _load(codes, offsets, order, first, lanes):
    """Write the next strings side by side, filled up with a code that matches nothing; return the longest length."""
    longest = 0
    for a in range(LANES):
        if first + a < order.size:
            longest = max(longest, offsets[order[first + a] + 1] - offsets[order[first + a]])
    for a in range(LANES):
        begin, length = 0, 0
        if first + a < order.size:
            begin = offsets[order[first + a]]
            length = offsets[order[first + a] + 1] - begin
        for j in range(length):
            lanes[j, a] = codes[begin + j]
        for j in range(length, longest):
            lanes[j, a] = -1
    return longest


@compiled
def _advance(symbol, codes, decay, below, level, running):
    """Go through a row of one level: K''(i, j) in four registers, K'(i, j) in place of K'(i-1, j)."""
    q0, q1, q2, q3 = running[0], running[1], running[2], running[3]
    for j in range(codes.shape[0]):
        x0, x1, x2, x3 = below[j, 0], below[j, 1], below[j, 2], below[j, 3]
        y0, y1, y2, y3 = level[j + 1, 0], level[j + 1, 1], level[j + 1, 2], level[j + 1, 3]
        q0 = decay * q0 + (x0 if codes[j, 0] == symbol else 0.0)
        q1 = decay * q1 + (x1 if codes[j, 1] == symbol else 0.0)
        q2 = decay * q2 + (x2 if codes[j, 2] == symbol else 0.0)
        q3 = decay * q3 + (x3 if codes[j, 3] == symbol else 0.0)
        level[j + 1, 0] = decay * y0 + q0
        level[j + 1, 1] = decay * y1 + q1
        level[j + 1, 2] = decay * y2 + q2
        level[j + 1, 3] = decay * y3 + q3
    running[0], running[1], running[2], running[3] = q0, q1, q2, q3


@compiled
def _add(symbol, codes, below, total):
    """Add K'(i-1, j-1) of the level before the last wherever the symbols match."""
    q0, q1, q2, q3 = total[0], total[1], total[2], total[3]
    for j in range(codes.shape[0]):
        x0, x1, x2, x3 = below[j, 0], below[j, 1], below[j, 2], below[j, 3]
        q0 += x0 if codes[j, 0] == symbol else 0.0
        q1 += x1 if codes[j, 1] == symbol else 0.0
        q2 += x2 if codes[j, 2] == symbol else 0.0
        q3 += x3 if codes[j, 3] == symbol else 0.0
    total[0], total[1], total[2], total[3] = q0, q1, q2, q3


@compiled
def _four(s, lanes, decay, table, edges, total):
    """Compare a string with four: table[l, j] is K'_l of the row above, in strips of some columns.

    A strip leaves K'' and K' of its last column in `edges`, a row each, for the next strip.
    """
    p, columns = table.shape[0], table.shape[1] - 1
    total[:] = 0.0
    edges[: s.size] = 0.0
    start = 0
    while start < lanes.shape[0]:
        width = min(columns, lanes.shape[0] - start)
        codes = lanes[start : start + width]
        table[:] = 0.0
        table[0] = 1.0
        for i in range(s.size):
            edge = edges[i]
            _add(s[i], codes, table[p - 1], total)
            for level in range(p - 1, 0, -1):  # from above: what is below is still of the row before
                _advance(s[i], codes, decay, table[level - 1], table[level], edge[0, level])
            for level in range(1, p):
                for a in range(LANES):
                    before = edge[1, level, a]
                    edge[1, level, a] = table[level, width, a]
                    table[level, 0, a] = before
        start += width


@compiled
def _compare_all(left, right, order, decay, symmetric, room, out):
    codes, offsets = left
    others, places = right
    table, edges, lanes = room
    total = np.empty(LANES)
    for first in range(0, order.size, LANES):
        stop = min(first + LANES, order.size)
        longest = _load(others, places, order, first, lanes)
        last = 0
        for a in range(first, stop):
            last = max(last, order[a])
        for i in range(offsets.size - 1):
            if symmetric and i > last:
                break
            _four(codes[offsets[i] : offsets[i + 1]], lanes[:longest], decay, table, edges, total)
            for a in range(first, stop):
                out[i, order[a]] = total[a - first]


@compiled
def _differentiate(left, right, p, decay, table, value, slope):
    """Write the unscaled kernel of all pairs and its derivative in the decay: K' and dK' side by side."""
    codes, offsets = left
    others, places = right
    for i in range(offsets.size - 1):
        for j in range(places.size - 1):
            table[:] = 0.0
            table[0, 0] = 1.0
            value[i, j], slope[i, j] = 0.0, 0.0
            for row in range(offsets[i], offsets[i + 1]):
                for level in range(p, 0, -1):
                    q, dq = 0.0, 0.0
                    for column in range(places[j + 1] - places[j]):
                        x, dx = 0.0, 0.0
                        if others[places[j] + column] == codes[row]:
                            x, dx = table[0, level - 1, column], table[1, level - 1, column]
                        if level == p:
                            value[i, j] += x
                            slope[i, j] += dx
                            continue
                        dq = q + decay * dq + dx
                        q = decay * q + x
                        above = table[0, level, column + 1]
                        table[0, level, column + 1] = decay * above + q
                        table[1, level, column + 1] = above + decay * table[1, level, column + 1] + dq


# ---------------------------------------------------------------------- gaps with a limit


class GappySpectrum(PatternKernel):
    r"""Spectrum kernel with gaps: common subsequences of a given length whose gaps are few.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\, \phi_u(t), \qquad
              \phi_u(s) = \sum_{i : s(i) = u,\; l(i) \le p + g} \lambda^{l(i) - p}

    where i = (i_1 < ... < i_p) are places of s with the symbols u, and l(i) = i_p - i_1 + 1 is the length of the piece
    of s they span, so that l(i) - p symbols are left out.

    Seed: [KIKS] Section 6.1.2, "the spectrum kernel with gaps", between the spectrum kernel and that of all
    subsequences: g = 0 gives `Spectrum(p)`, and g at least as large as the strings `Subsequence(p, decay)` divided by
    decay^(2p). Every occurrence counts once; where windows are counted, one with few gaps lies in several.

    Parameters
    ----------
    length : int
        The number p of symbols of the subsequences. At least 1.
    gaps : int, default 1
        The number g of symbols that may be left out in all. At least 0.
    decay : float, default 1.0
        The factor lambda, 0 < lambda <= 1, for each symbol that is left out.

    Notes
    -----
    Domain Strings. A string shorter than p has no subsequence of that length, and so k(s, s) = 0. Features the weighted
    counts of the subsequences that occur. Differentiable in `decay`. Positive definite of order 0 by its features; not
    strict, since different strings may have the same counts, and hence not universal; not bounded. With decay = 1
    values are whole numbers, exact below 2^53. Cost O(c N) to count for N symbols, with c = C(p + g - 1, g) choices of
    gaps, then that of a spectrum kernel.

    Examples
    --------
    >>> GappySpectrum(2, gaps=1)(["cat", "ct"])  # "ct" is in "cat" with one gap
    array([[3., 1.],
           [1., 1.]])
    >>> GappySpectrum(2, gaps=1, decay=0.5)(["cat"], ["ct"])
    array([[0.5]])
    """

    formula = r"\sum_{u \in \Sigma^p} \sum_{i, j : s(i) = t(j) = u,\; l \le p + g} \lambda^{l(i) + l(j) - 2p}"
    cost = "O(c N) to count with c choices of gaps, then O(common subsequences) a pair"
    constraints = {"length": Integer(1), "gaps": Integer(0), "decay": Interval(0.0, 1.0, closed="right")}

    def __init__(self, length: int, gaps: int = 1, decay: float = 1.0) -> None:
        self.length = length
        self.gaps = gaps
        self.decay = decay

    @property
    def _key(self) -> str:
        return f"gappy:{self.length}:{self.gaps}"

    def patterns(self) -> tuple[Codes, Codes]:
        """Return all ways to choose places with few gaps, and how many symbols each leaves out."""
        p, gaps = int(self.length), int(self.gaps) if self.length > 1 else 0
        require_room(comb(p + gaps - 1, gaps), p)
        chosen = [(0, *rest) for rest in combinations(range(1, p + gaps), p - 1)]
        places = np.array(chosen, dtype=np.int32).reshape(-1, p)
        return places, places[:, -1] - (p - 1)

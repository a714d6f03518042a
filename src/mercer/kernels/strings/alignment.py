"""String kernels that align two strings: sums over all alignments, and the score of the best one.

Symbols: S(a, b) the score of two symbols that are matched, beta the inverse temperature, |s| the symbols of a string.
An alignment matches places i_1 < i_2 < ... of s with places j_1 < j_2 < ... of t; n symbols between two matched places
that are left out, in either string, cost gap_open + (n - 1) gap_extend.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import AnyOf, Constraint, Fixed, Interval, OneOf, Positive, is_real
from mercer.domains import Samples, Strings
from mercer.errors import DomainError, ParameterError
from mercer.kernels.comparison import LANES, Comparison, View, side_of_tiles
from mercer.kernels.kernel import Tiled, mirror
from mercer.kernels.strings.subsequence import aligned
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["GlobalAlignment", "LocalAlignment"]
__public__ = __all__

_CELLS = 1.5e6  # pairs of places that take some 20 milliseconds
_UNIT = 2.0**512  # what an exponent counts
_LOG_UNIT = 512.0 * float(np.log(2.0))
_HIGH, _LOW = 1e77, 1e-80  # beyond, a number gets another exponent
_NOTHING = -(2**40)  # the exponent of zero
_STEEPEST = 300.0  # beta times a score: its exponential stays a number when multiplied with another

_AMINO = "ARNDCQEGHILKMFPSTWYVBZX*"
_BLOSUM62 = """
 4 -1 -2 -2  0 -1 -1  0 -2 -1 -1 -1 -1 -2 -1  1  0 -3 -2  0 -2 -1  0 -4
-1  5  0 -2 -3  1  0 -2  0 -3 -2  2 -1 -3 -2 -1 -1 -3 -2 -3 -1  0 -1 -4
-2  0  6  1 -3  0  0  0  1 -3 -3  0 -2 -3 -2  1  0 -4 -2 -3  3  0 -1 -4
-2 -2  1  6 -3  0  2 -1 -1 -3 -4 -1 -3 -3 -1  0 -1 -4 -3 -3  4  1 -1 -4
 0 -3 -3 -3  9 -3 -4 -3 -3 -1 -1 -3 -1 -2 -3 -1 -1 -2 -2 -1 -3 -3 -2 -4
-1  1  0  0 -3  5  2 -2  0 -3 -2  1  0 -3 -1  0 -1 -2 -1 -2  0  3 -1 -4
-1  0  0  2 -4  2  5 -2  0 -3 -3  1 -2 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
 0 -2  0 -1 -3 -2 -2  6 -2 -4 -4 -2 -3 -3 -2  0 -2 -2 -3 -3 -1 -2 -1 -4
-2  0  1 -1 -3  0  0 -2  8 -3 -3 -1 -2 -1 -2 -1 -2 -2  2 -3  0  0 -1 -4
-1 -3 -3 -3 -1 -3 -3 -4 -3  4  2 -3  1  0 -3 -2 -1 -3 -1  3 -3 -3 -1 -4
-1 -2 -3 -4 -1 -2 -3 -4 -3  2  4 -2  2  0 -3 -2 -1 -2 -1  1 -4 -3 -1 -4
-1  2  0 -1 -3  1  1 -2 -1 -3 -2  5 -1 -3 -1  0 -1 -3 -2 -2  0  1 -1 -4
-1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5  0 -2 -1 -1 -1 -1  1 -3 -1 -1 -4
-2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6 -4 -2 -2  1  3 -1 -3 -3 -1 -4
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7 -1 -1 -4 -3 -2 -2 -1 -2 -4
 1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4  1 -3 -2 -2  0  0  0 -4
 0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5 -2 -2  0 -1 -1  0 -4
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11  2 -3 -4 -3 -2 -4
-2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7 -1 -3 -2 -1 -4
 0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4 -3 -2 -1 -4
-2 -1  3  4 -3  0  1 -1  0 -3 -4  0 -3 -3 -2  0 -1 -4 -3 -3  4  1 -1 -4
-1  0  0  1 -3  3  4 -2  0 -3 -3  1 -1 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
 0 -1 -1 -1 -2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -2  0  0 -2 -1 -1 -1 -1 -1 -4
-4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4  1
"""


def blosum62() -> tuple[tuple[str, ...], Floats]:
    """Return the letters of amino acids and the BLOSUM62 scores of all pairs, in half bits.

    Examples
    --------
    >>> letters, scores = blosum62()
    >>> scores[letters.index("W"), letters.index("W")].item()
    11.0
    """
    return tuple(_AMINO), np.array(_BLOSUM62.split(), dtype=float).reshape(len(_AMINO), len(_AMINO))


class _Scores(Constraint):
    """Scores of a match and of a mismatch: two numbers, the first at least the second."""

    @property
    def accepted(self) -> str:
        return "'blosum62' or a tuple (match, mismatch) of two finite numbers with match >= mismatch"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, tuple) or len(value) != 2:
            return False
        return all(map(is_real, value)) and bool(np.isfinite(value).all()) and value[0] >= value[1]

    def advice(self, name: str, value: Any) -> str:
        return f"Write {name}=(2.0, -1.0) for letters of any kind, {name}='blosum62' for proteins."


class _Alignment(Tiled):
    """What alignments of both kinds share."""

    domain = Strings
    cost = "O(|s| |t|) a pair"
    constraints = {
        "scores": AnyOf(_Scores(), OneOf("blosum62")),
        "gap_open": Fixed(Interval(0.0, np.inf, closed="left")),
        "gap_extend": Fixed(Interval(0.0, np.inf, closed="left")),
        "beta": Fixed(Positive()),
        "form": OneOf("normalised", "sum", "log", "score"),
    }
    is_local: ClassVar[bool]

    def __init__(
        self,
        scores: str | tuple[float, float] = (2.0, -1.0),
        gap_open: float = 3.0,
        gap_extend: float = 1.0,
        beta: float = 0.2,
        form: str = "normalised",
    ) -> None:
        self.scores = scores
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.beta = beta
        self.form = form

    def check(self) -> Self:
        """Check the parameters, one by one and together."""
        super().check()
        scores = blosum62()[1] if isinstance(self.scores, str) else np.array(self.scores, dtype=float)
        largest = max(float(np.abs(scores).max()), float(self.gap_open), float(self.gap_extend))
        if self.form != "score" and self.beta * largest > _STEEPEST:
            raise ParameterError(
                f"{type(self).__name__} was given beta={self.beta} for scores and costs up to {largest:g}; products up "
                f"to {_STEEPEST:g} are accepted. Give beta <= {_STEEPEST / largest:g}, or form='score', which is the "
                "limit for large beta."
            )
        return self

    @derived
    def order(self) -> int | None:
        """0 if the sum over alignments is taken and exp(beta S) is a kernel on the symbols, else None."""
        if self.form not in ("normalised", "sum"):
            return None
        if not isinstance(self.scores, str):
            return 0
        _, scores = blosum62()
        weights = np.exp(float(self.beta) * (scores - scores.max()))
        return 0 if np.linalg.eigvalsh(weights)[0] > 0.0 else None

    @derived
    def normalised(self) -> bool:
        """Whether k(s, s) = 1."""
        return self.form == "normalised"

    @derived
    def bounded(self) -> bool:
        """Whether values are at most one."""
        return self.form == "normalised" and self.order == 0

    @property
    def _key(self) -> str:
        kind = "local" if self.is_local else "global"
        return f"alignment:{kind}:{self.scores!r}:{self.gap_open}:{self.gap_extend}:{self.beta}"

    def pack(self, X: Any) -> Samples:
        """Turn texts or sequences of symbols into Strings, whose symbols have scores.

        Parameters
        ----------
        X : list or array of str, or of sequences of symbols; a pandas, polars or pyarrow column
        """
        S = Strings.pack(X)
        self._symbols(S)
        return S

    def _prepare(self, A: Samples) -> Samples:
        """Compare every string with itself, once per collection, where values are normalised."""
        if self.form != "normalised" or self._key in A.derived:
            return A
        return A.with_derived(self._key, self._own(A))

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where strings are long."""
        return side_of_tiles(comparison, _CELLS, LANES)

    def tile(self, view: View) -> Floats:
        """Fill the tables of all pairs."""
        A, B = view.collections
        keep = view.comparison.keep
        left, right, scores = keep((view.path, self._key), lambda: self._scored(A, B))
        symmetric = right is left and view.rows == view.columns
        out = view.empty()
        self._compare(left[view.rows], right[view.columns], scores, symmetric, out)
        if symmetric:
            mirror(out)
        if self.form == "normalised":
            own = [self.prepare(S).derived[self._key] for S in ((A,) if B is A else (A, B))]
            out -= 0.5 * own[0][view.rows, None]
            out -= 0.5 * own[-1][view.columns]
        if symmetric and self.form == "normalised":
            np.fill_diagonal(out, 0.0)
        return self._formed(out)

    def _diag(self, A: Samples) -> Floats:
        """Compare every string with itself."""
        if self.form == "normalised":
            return np.ones(len(A))
        return self._formed(self._own(A))

    def best(self, s: Any, t: Any) -> tuple[float, Indices]:
        """Return the score of the best alignment of two strings, and the places it matches, (q, 2).

        Examples
        --------
        >>> score, places = LocalAlignment().best("TTGATTACATT", "CCGATACACC")
        >>> score, ["TTGATTACATT"[i] for i, _ in places]
        (9.0, ['G', 'A', 'T', 'A', 'C', 'A'])
        """
        left, right = aligned(*(self.pack([one]) for one in (s, t)))
        scores = self._matrix(right)[np.ix_(left.codes, right.codes)]
        return _trace(scores, float(self.gap_open), float(self.gap_extend), self.is_local)

    def _formed(self, values: Floats) -> Floats:
        """Return log K, or scores, in the form that was asked for, in place."""
        if self.form == "log":
            values /= float(self.beta)
        elif self.form != "score":
            with np.errstate(over="ignore"):  # values that are not finite are refused with advice
                np.exp(values, out=values)
        return values

    def _own(self, A: Samples) -> Floats:
        """Return log k(s, s), or scores."""
        assert isinstance(A, Strings)
        scores, values = self._matrix(A), np.empty(len(A))
        for i in range(len(A)):
            one = A[i : i + 1]
            self._compare(one, one, scores, False, values[i : i + 1].reshape(1, 1))
        return values

    def _compare(self, A: Strings, B: Strings, scores: Floats, symmetric: bool, out: Floats) -> None:
        """Write log K, or scores, of all pairs; of a symmetric block those on and above the diagonal."""
        sides = (A.codes, A.offsets), (B.codes, B.offsets)
        costs = float(self.gap_open), float(self.gap_extend)
        width = int(B.lengths.max(initial=0)) + 1
        if self.form == "score":
            _score_all(*sides, scores, costs, (self.is_local, symmetric), np.empty((width, 3)), out)
            return
        beta = float(self.beta)
        factors = np.exp(-beta * costs[0]), np.exp(-beta * costs[1])
        room = np.empty((width, 3)), np.empty(width, np.int64)
        _sum_all(*sides, np.exp(beta * scores), factors, (self.is_local, symmetric), room, out)

    def _scored(self, A: Samples, B: Samples) -> tuple[Strings, Strings, Floats]:
        left, right = aligned(A, B)
        return left, right, self._matrix(right)

    def _symbols(self, S: Strings) -> tuple[Floats, Indices] | None:
        """Return the table of scores and the place of each symbol in it; refuse symbols without scores."""
        if not isinstance(self.scores, str):
            return None
        letters, scores = blosum62()
        place: dict[Hashable, int] = {letter: i for i, letter in enumerate(letters)}
        places = np.array([place.get(symbol, -1) for symbol in S.vocabulary], dtype=np.intp)
        strange = (places < 0)[S.codes] if len(places) else np.zeros(0, bool)
        if strange.any():
            at = int(np.flatnonzero(strange)[0])
            i = int(np.searchsorted(S.offsets, at, side="right")) - 1
            raise DomainError(
                f"Symbol {at - int(S.offsets[i])} of sample {i} is {S.vocabulary[S.codes[at]]!r}, which has no "
                f"{self.scores} score; the letters {''.join(letters)} are accepted. Change case with str.upper, "
                "replace the symbol by 'X', or give scores=(match, mismatch)."
            )
        return scores, places

    def _matrix(self, S: Strings) -> Floats:
        """Return the scores of all pairs of codes."""
        found = self._symbols(S)
        count = max(len(S.vocabulary), 1)
        if found is None:
            match, mismatch = map(float, self.scores)
            return np.where(np.eye(count, dtype=bool), match, mismatch)
        scores, places = found
        return np.ascontiguousarray(scores[np.ix_(places, places)]) if len(places) else np.zeros((1, 1))


class LocalAlignment(_Alignment):
    r"""Local alignment kernel: a sum over all ways to match pieces of two strings, with gaps.

    .. math:: K(s, t) = \sum_\pi \exp(\beta\, S(\pi)), \qquad k(s, t) = K(s, t) / \sqrt{K(s, s) K(t, t)}

    over all local alignments pi, the empty one included, whose score S(pi) is the sum of the scores of the symbols
    that are matched less the costs of the gaps between them. What comes before the first match and after the last one
    costs nothing.

    Seed: [KIKS] Section 6.1.2, a convolution kernel whose parts are matched symbols and gaps; [ST] "Probabilistic model
    kernels", pair HMMs.

    Parameters
    ----------
    scores : tuple (match, mismatch) or "blosum62", default (2.0, -1.0)
        Scores of two equal and of two different symbols, the former at least the latter; or the BLOSUM62 scores of
        amino acids.
    gap_open, gap_extend : float, default 3.0 and 1.0
        What the first and every further symbol of a gap costs. At least 0. With BLOSUM62 scores 11 and 1 are usual.
    beta : float, default 0.2
        The inverse temperature: the larger, the more the best alignment dominates, and the more every string is like
        itself alone. Positive.
    form : {"normalised", "sum", "log", "score"}, default "normalised"
        k as above; K itself, which grows exponentially with the strings; log(K) / beta, a soft score; or the score of
        the best alignment (Smith and Waterman), which is the limit of log(K) / beta for large beta.

    Notes
    -----
    Domain Strings. No features; its parameters have no derivatives. "normalised" and "sum" are
    positive definite of order 0 where exp(beta S) is positive definite on the symbols, as it is for every match >=
    mismatch: K is then a sum of convolutions of kernels. For BLOSUM62 this is computed, see `order`.
    "log" and "score" are symmetric, and in general indefinite: `order` is None. Not strict, hence not universal.
    Numbers have an exponent of their own, so that nothing overflows or vanishes, except finally in the form "sum".
    Values have a relative error of a few rounding units times |s| + |t|. Cost O(|s| |t|) a pair, by the recursion

    .. math:: M_{ij} = e^{\beta S(s_i, t_j)} (1 + M + X + Y)_{i-1, j-1}, \quad
              X_{ij} = e^{-\beta d} M_{i-1, j} + e^{-\beta e} X_{i-1, j}, \quad
              Y_{ij} = e^{-\beta d} (M + X)_{i, j-1} + e^{-\beta e} Y_{i, j-1}

    with d = gap_open, e = gap_extend and K = 1 + sum_ij M_ij.

    Examples
    --------
    >>> LocalAlignment()(["GATTACA", "GATACA", "CCCC"]).round(3)
    array([[1.   , 0.916, 0.319],
           [0.916, 1.   , 0.405],
           [0.319, 0.405, 1.   ]])
    >>> LocalAlignment(form="score")(["GATTACA"], ["GATACA"])  # six matches, one gap
    array([[9.]])
    """

    synonyms = ("local alignment kernel", "Smith-Waterman kernel")
    formula = r"\sum_\pi \exp(\beta S(\pi)) / \sqrt{K(s, s) K(t, t)}"
    is_local = True


class GlobalAlignment(_Alignment):
    r"""Global alignment kernel: a sum over all ways to match two whole strings, with gaps.

    .. math:: K(s, t) = \sum_\pi \exp(\beta\, S(\pi)), \qquad k(s, t) = K(s, t) / \sqrt{K(s, s) K(t, t)}

    over all alignments pi, whose score S(pi) is the sum of the scores of the symbols that are matched less the costs of
    the gaps between them, before the first match and after the last one.

    Seed: [KIKS] Section 6.1.2, a convolution kernel whose parts are matched symbols and gaps; [ST] "Probabilistic model
    kernels", pair HMMs.

    Parameters
    ----------
    scores, gap_open, gap_extend, beta : default (2.0, -1.0), 3.0, 1.0 and 0.2
        Scores of symbols, costs of gaps and the inverse temperature, as for `LocalAlignment`.
    form : {"normalised", "sum", "log", "score"}, default "normalised"
        k as above; K itself, which grows exponentially with the strings; log(K) / beta, a soft score; or the score of
        the best alignment (Needleman and Wunsch), which is the limit of log(K) / beta for large beta.

    Notes
    -----
    Domain Strings. As for `LocalAlignment`: no features; "normalised" and "sum" are positive definite of order 0 where
    exp(beta S) is positive definite on the symbols, see `order`; "log" and "score" are indefinite in general; not
    strict; cost O(|s| |t|) a pair by the same recursion, without the 1 of a new beginning, and with K the sum of M, X
    and Y at the end of both strings. The empty string has K = 1 with itself.

    Examples
    --------
    >>> GlobalAlignment()(["GATTACA", "GATACA", "CCCC"]).round(4)
    array([[1.    , 0.8942, 0.1988],
           [0.8942, 1.    , 0.2729],
           [0.1988, 0.2729, 1.    ]])
    >>> GlobalAlignment(form="score")(["GATTACA"], ["TTACA"])  # five matches, a gap of two
    array([[6.]])
    """

    formula = r"\sum_\pi \exp(\beta S(\pi)) / \sqrt{K(s, s) K(t, t)}"
    is_local = False


# ---------------------------------------------------------------------- sums over alignments


@compiled
def _scale(power, top):
    """Return the factor of a number with an exponent in units of a larger exponent."""
    return 1.0 if power == top else 1.0 / _UNIT if power == top - 1 else 0.0


@compiled
def _settle(cell, power):
    """Bring the numbers of a cell into the middle of the range of floating-point numbers; return their exponent."""
    largest = max(cell[0], cell[1], cell[2])
    if largest == 0.0:
        return _NOTHING
    by = 1.0
    while largest * by > _HIGH:
        by /= _UNIT
        power += 1
    while largest * by < _LOW:
        by *= _UNIT
        power -= 1
    for state in range(3):
        cell[state] *= by
    return power


@compiled
def _row(s_i, t, weights, factors, start, room, cell, total):
    """Go from the row above to row i: M, X, Y of all columns and their exponents, in place, from column 1 on.

    `cell` holds M, X, Y of the row above in column 0, and cell[3] their exponent. A new beginning has the weight
    `start`. Adds M to the total, which is a number and its exponent.
    """
    opening, extending = factors
    table, powers = room
    m, x, y, power = cell[0], cell[1], cell[2], np.int64(cell[3])  # above and to the left
    amount, reach = total[0], np.int64(total[1])
    for j in range(1, t.size + 1):
        above, left = powers[j], powers[j - 1]
        weight = weights[s_i, t[j - 1]]
        if power == above and power == left and (start == 0.0 or power == 0):
            top = power
            new_m = weight * (start + m + x + y)
            new_x = opening * table[j, 0] + extending * table[j, 1]
            new_y = opening * (table[j - 1, 0] + table[j - 1, 1]) + extending * table[j - 1, 2]
        else:
            top = max(power, above, left)
            if start > 0.0:
                top = max(top, 0)
            new_m = weight * (start * _scale(0, top) + (m + x + y) * _scale(power, top))
            new_x = (opening * table[j, 0] + extending * table[j, 1]) * _scale(above, top)
            new_y = opening * (table[j - 1, 0] + table[j - 1, 1]) + extending * table[j - 1, 2]
            new_y *= _scale(left, top)
        m, x, y, power = table[j, 0], table[j, 1], table[j, 2], above
        table[j, 0], table[j, 1], table[j, 2] = new_m, new_x, new_y
        largest = max(new_m, new_x, new_y)
        if largest > _HIGH or largest < _LOW:
            top = _settle(table[j], top)
        powers[j] = top
        if top == reach:
            amount += table[j, 0]
        elif top != _NOTHING:
            higher = max(reach, top)
            amount = amount * _scale(reach, higher) + table[j, 0] * _scale(top, higher)
            reach = higher
    total[0], total[1] = amount, reach


@compiled
def _sum_pair(s, t, weights, factors, is_local, table, powers):
    """Return the logarithm of the sum over all alignments of two strings."""
    opening, extending = factors
    cell, total = np.zeros(4), np.zeros(2)
    table[: t.size + 1] = 0.0
    powers[: t.size + 1] = _NOTHING
    if is_local:
        total[0] = 1.0
    else:
        table[0, 0], powers[0] = 1.0, 0
        for j in range(1, t.size + 1):
            table[j, 2] = opening if j == 1 else extending * table[j - 1, 2]
            powers[j] = _settle(table[j], powers[j - 1])
    for i in range(s.size):
        cell[:3], cell[3] = table[0], powers[0]
        if not is_local:
            table[0, 1] = opening if i == 0 else extending * table[0, 1]
            table[0, 0] = 0.0
            powers[0] = _settle(table[0], powers[0])
        _row(s[i], t, weights, factors, 1.0 if is_local else 0.0, (table, powers), cell, total)
    if is_local:
        return np.log(total[0]) + _LOG_UNIT * total[1]
    return np.log(table[t.size].sum()) + _LOG_UNIT * powers[t.size]


@compiled
def _sum_all(left, right, weights, factors, flags, room, out):
    codes, offsets = left
    others, places = right
    is_local, symmetric = flags
    for i in range(offsets.size - 1):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(i if symmetric else 0, places.size - 1):
            t = others[places[j] : places[j + 1]]
            out[i, j] = _sum_pair(s, t, weights, factors, is_local, room[0], room[1])


# ---------------------------------------------------------------------- the best alignment


@compiled
def _score_pair(s, t, scores, costs, is_local, table):
    """Return the score of the best alignment; the table holds M, X and Y of the row above."""
    opening, extending = costs
    best = 0.0 if is_local else -np.inf
    table[: t.size + 1] = -np.inf
    for i in range(s.size + 1):
        y, m_left, x_left, above = -np.inf, -np.inf, -np.inf, -np.inf
        for j in range(t.size + 1):
            m, x = -np.inf, -np.inf
            if i == 0 and j == 0 and not is_local:
                m = 0.0
            if i > 0:
                x = max(table[j, 0] - opening, table[j, 1] - extending)
            y = max(max(m_left, x_left) - opening, y - extending)
            if i > 0 and j > 0:
                m = scores[s[i - 1], t[j - 1]] + (max(above, 0.0) if is_local else above)
            above = max(table[j, 0], table[j, 1], table[j, 2])
            table[j, 0], table[j, 1], table[j, 2] = m, x, y
            m_left, x_left = m, x
            if is_local:
                best = max(best, m)
    return best if is_local else max(table[t.size, 0], table[t.size, 1], table[t.size, 2])


@compiled
def _score_all(left, right, scores, costs, flags, table, out):
    codes, offsets = left
    others, places = right
    is_local, symmetric = flags
    for i in range(offsets.size - 1):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(i if symmetric else 0, places.size - 1):
            out[i, j] = _score_pair(s, others[places[j] : places[j + 1]], scores, costs, is_local, table)


def _trace(scores: Floats, opening: float, extending: float, is_local: bool) -> tuple[float, Indices]:
    """Return the best score and the places it matches, from the scores of all pairs of places."""
    n, m = scores.shape
    table = np.full((3, n + 1, m + 1), -np.inf)  # ending with a match, a gap in t, a gap in s
    if not is_local:
        table[0, 0, 0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            if i and j:
                before = table[:, i - 1, j - 1].max()
                table[0, i, j] = scores[i - 1, j - 1] + (max(before, 0.0) if is_local else before)
            if i:
                table[1, i, j] = max(table[0, i - 1, j] - opening, table[1, i - 1, j] - extending)
            if j:
                table[2, i, j] = max(table[:2, i, j - 1].max() - opening, table[2, i, j - 1] - extending)
    if is_local and table[0].max() <= 0.0:
        return 0.0, np.empty((0, 2), np.intp)
    state, i, j = (
        np.unravel_index(np.argmax(table[0]), (1, n + 1, m + 1)) if is_local else (table[:, n, m].argmax(), n, m)
    )
    best, places = float(table[state, i, j]), []
    while (i or j) and not (is_local and state == 0 and i == 0):
        if state == 0:
            places.append((i - 1, j - 1))
            i, j = i - 1, j - 1
            before = table[:, i, j]
            if is_local and before.max() <= 0.0:
                break
            state = int(before.argmax())
        elif state == 1:
            state = 0 if table[0, i - 1, j] - opening >= table[1, i - 1, j] - extending else 1
            i -= 1
        else:
            inner = table[:2, i, j - 1]
            state = int(inner.argmax()) if inner.max() - opening >= table[2, i, j - 1] - extending else 2
            j -= 1
    return best, np.array(places[::-1], dtype=np.intp).reshape(-1, 2)

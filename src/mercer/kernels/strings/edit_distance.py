"""Similarity by the number of edits that turn one string into another.

Symbols: s and t strings, d(s, t) the least cost of substitutions, insertions and deletions that turn s into t.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Boolean, Fixed, Positive
from mercer.domains import Samples, Strings
from mercer.domains.samples import packed_pair
from mercer.kernels.comparison import Comparison, side_of_tiles
from mercer.kernels.distance_exponential import DistanceExponential
from mercer.kernels.kernel import mirror
from mercer.runtime.compiled import compiled

__all__ = ["EditDistance"]
__public__ = __all__

_CELLS = 1e7  # of tables, that take some 20 milliseconds


class EditDistance(DistanceExponential):
    r"""Edit-distance kernel: similarity fades with the number of letters that must be changed, added or removed.

    .. math:: k(s, t) = e^{-d(s, t) / l}

    where d is the least cost of edits that turn s into t; with costs of one it is Levenshtein's distance.

    Seed: none of the five gives it; [HSS] Section 2.2.2 says which exponentials of distances are positive definite, and
    this one is none of them.

    Parameters
    ----------
    length_scale : float, default 1.0
        l > 0, in the unit of the costs.
    substitution, gap : float, default 1.0
        Costs of changing a letter, and of adding or removing one; positive. Not free parameters.
    relative : bool, default False
        Whether d is divided by the length of the longer string.

    Notes
    -----
    Domain Strings. Features no; differentiable in the length scale. Indefinite: `order` is None, as the edit distance
    is not of negative type, so that for some l the matrix of some strings has a negative eigenvalue. Small l makes it
    nearly the identity, and definite on given strings; `Dense(indefinite=...)` says what to do otherwise. For a
    positive definite kernel of alignments use `LocalAlignment` or `Subsequence`. Two empty strings are equal.
    Normalised and bounded. Cost O(|s| |t|) a pair.

    Examples
    --------
    >>> k = EditDistance(2.0)
    >>> k(["kitten", "sitting", "mitten"]).round(3)
    array([[1.   , 0.223, 0.607],
           [0.223, 1.   , 0.223],
           [0.607, 0.223, 1.   ]])
    >>> k.edits(["kitten"], ["sitting"])
    array([[3.]])
    """

    domain = Strings
    formula = r"\exp(-d(s, t) / l)"
    cost = "O(|s| |t|) a pair"
    order = None
    normalised = True
    bounded = True
    constraints = {
        "length_scale": Positive(),
        "substitution": Fixed(Positive()),
        "gap": Fixed(Positive()),
        "relative": Boolean(),
    }

    def __init__(
        self, length_scale: float = 1.0, substitution: float = 1.0, gap: float = 1.0, relative: bool = False
    ) -> None:
        self.length_scale = length_scale
        self.substitution = substitution
        self.gap = gap
        self.relative = relative

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where strings are long."""
        return side_of_tiles(comparison, _CELLS)

    def edits(self, X: object, Y: object) -> Floats:
        """Return the costs d of all pairs, (len X, len Y)."""
        self.check()
        return self._distances(*packed_pair(X, Y, self._ready))

    def _distances(self, A: Samples, B: Samples) -> Floats:
        assert isinstance(A, Strings) and isinstance(B, Strings)
        left, right = (A, A) if B is A else A.align(B)
        out = np.zeros((len(A), len(B)))
        costs = float(self.substitution), float(self.gap)
        _measure_all((left.codes, left.offsets), (right.codes, right.offsets), costs, B is A, out)
        if self.relative:
            longest = np.maximum(left.lengths[:, None], right.lengths)
            np.divide(out, longest, out=out, where=longest > 0)
        return mirror(out) if B is A else out


@compiled
def _measure(s, t, costs, row):
    """Return the least cost of edits; `row` has room for one number more than t has letters."""
    substitution, gap = costs
    for j in range(t.size + 1):
        row[j] = gap * j
    for i in range(s.size):
        diagonal = row[0]
        row[0] = gap * (i + 1)
        for j in range(t.size):
            best = diagonal + (0.0 if s[i] == t[j] else substitution)
            step = (row[j] if row[j] < row[j + 1] else row[j + 1]) + gap
            diagonal = row[j + 1]
            row[j + 1] = best if best < step else step
    return row[t.size]


@compiled
def _measure_all(left, right, costs, symmetric, out):
    codes, offsets = left
    others, places = right
    longest = 0
    for j in range(places.size - 1):
        longest = max(longest, places[j + 1] - places[j])
    row = np.empty(longest + 1)
    for i in range(offsets.size - 1):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(i + 1 if symmetric else 0, places.size - 1):
            out[i, j] = _measure(s, others[places[j] : places[j + 1]], costs, row)

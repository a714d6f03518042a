"""Weighted degree kernel: substrings that two sequences have in common at the same positions, or nearly so.

Symbols: P the largest length, beta_p the weight of substrings of p letters, S the largest shift, t_h the weight of a
shift by h. A run of r equal letters that begins at a position holds a common substring of each length up to r, so that
one pass over the positions counts all lengths at once.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer
from mercer.domains import Samples, Strings
from mercer.domains.samples import packed_pair
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, mirror
from mercer.runtime.compiled import compiled

__all__ = ["WeightedDegree"]
__public__ = __all__

_STEPS = 2e7  # comparisons of letters that take some 20 milliseconds


class WeightedDegree(Kernel):
    r"""Weighted degree kernel: common substrings count where they are at the same position, longer ones for more.

    .. math:: k(s, t) = \sum_{p=1}^P \beta_p \sum_{i, j} t_{i-j}\, [s(i : i + p) = t(j : j + p)], \quad
        \beta_p = \frac{2 (P - p + 1)}{P (P + 1)}, \quad t_0 = 1, \ t_h = \frac{1}{2 (|h| + 1)}

    over positions i and j that differ by at most S; without shifts, S = 0, they are equal.

    Seed: [KIKS] Section 6.1.1, kernels for biological sequences; [HSS] "Locality Improved Kernels", which also compares
    positions. Raetsch and Sonnenburg (2004), with shifts Raetsch, Sonnenburg and Schoelkopf (2005).

    Parameters
    ----------
    degree : int
        P >= 1, the length of the longest substrings that are counted.
    shift : int, default 0
        S >= 0, by how many letters positions may differ.

    Notes
    -----
    Domain Strings; positions are counted from the first letter, so the sequences should be aligned, as windows around a
    splice site are. No features, nothing to differentiate. Positive definite of order 0: without shifts it is a dot
    product of indicators of substrings at positions; with shifts these are multiplied with the Toeplitz matrix of t_h,
    which is positive definite, since 1 + sum_{h=1}^S cos(h w) / (h + 1) >= 1/2 for every w (Rogosinski and Szegoe). Not
    strict; not bounded (``.normalized()`` removes that). The empty string has k = 0. Cost O((2 S + 1) L) a pair of
    strings of L letters, whatever the degree.

    Examples
    --------
    >>> WeightedDegree(2)(["GATT", "GACT", "TGAT"]).round(3)
    array([[3.667, 2.333, 0.667],
           [2.333, 3.667, 0.667],
           [0.667, 0.667, 3.667]])
    >>> WeightedDegree(2, shift=1)(["GATT"], ["TGAT"]).round(3)
    array([[1.333]])
    """

    domain = Strings
    formula = r"\sum_p \beta_p \sum_{i, j} t_{i-j} [s(i : i + p) = t(j : j + p)]"
    cost = "O((2 S + 1) L) a pair"
    constraints = {"degree": Integer(1), "shift": Integer(0)}

    def __init__(self, degree: int, shift: int = 0) -> None:
        self.degree = degree
        self.shift = shift

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where strings are long."""
        lengths = [float(S.lengths.mean()) for S in comparison.sides(()) if isinstance(S, Strings) and len(S)]
        return max(1, int(np.sqrt(_STEPS / (max([1.0, *lengths]) * (2 * self.shift + 1)))))

    @property
    def _rewards(self) -> Floats:
        """What a run of r letters, r = 0, ..., P, is worth: the sum of the first r weights."""
        P = int(self.degree)
        weights = 2.0 * np.arange(P, 0, -1) / (P * (P + 1.0))
        return np.concatenate(([0.0], np.cumsum(weights)))

    def block(self, A: Samples, B: Samples) -> Floats:
        """Add up the runs of equal letters of all pairs."""
        A, B = packed_pair(A, B, self._ready)
        assert isinstance(A, Strings) and isinstance(B, Strings)
        left, right = (A, A) if B is A else A.align(B)
        out = np.zeros((len(A), len(B)))
        sides = (left.codes, left.offsets), (right.codes, right.offsets)
        _compare_all(*sides, self._rewards, int(self.shift), B is A, out)
        return mirror(out) if B is A else out

    def _diag(self, A: Samples) -> Floats:
        """Compare every string with itself."""
        assert isinstance(A, Strings)
        out = np.empty(len(A))
        _compare_own(A.codes, A.offsets, self._rewards, int(self.shift), out)
        return out


@compiled
def _compare(s, t, rewards, shift):
    """Return the kernel of two strings."""
    total = 0.0
    longest = rewards.size - 1
    for h in range(-shift, shift + 1):
        part, run = 0.0, 0
        for i in range(min(s.size, t.size - h) - 1, max(0, -h) - 1, -1):
            run = run + 1 if s[i] == t[i + h] else 0
            part += rewards[run if run < longest else longest]
        total += part if h == 0 else part / (2.0 * (abs(h) + 1.0))
    return total


@compiled
def _compare_all(left, right, rewards, shift, symmetric, out):
    codes, offsets = left
    others, places = right
    for i in range(offsets.size - 1):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(i if symmetric else 0, places.size - 1):
            out[i, j] = _compare(s, others[places[j] : places[j + 1]], rewards, shift)


@compiled
def _compare_own(codes, offsets, rewards, shift, out):
    for i in range(offsets.size - 1):
        s = codes[offsets[i] : offsets[i + 1]]
        out[i] = _compare(s, s, rewards, shift)

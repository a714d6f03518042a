"""String kernels that compare contiguous substrings of one length, or of all lengths up to one, and categories.

Symbols: p the length, a k-mer is a substring of p symbols, N the symbols of a collection, D its distinct
k-mers.

Every collection gets a table of its distinct k-mers and, for each string, their counts. Nothing is hashed
to a fixed width: where the k-mers over the vocabulary can be numbered in 62 bits they are, and otherwise
they are ranked by sorting, so that two k-mers are taken as equal only if they are.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Integer, OneOf, Positive
from mercer.domains import Samples, Strings
from mercer.domains.missing_values import is_fraction, is_missing
from mercer.domains.samples import is_hashable
from mercer.domains.strings import listed
from mercer.errors import DomainError
from mercer.kernels.abilities import DifferentiatedByTiles, Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import renumbered
from mercer.kernels.kernel import Tiled
from mercer.kernels.kmers import KmerCounts, Kmers, common_kmers, count_kmers
from mercer.kernels.protocols import Pullback, Reason
from mercer.kernels.strings.tries import common_substrings
from mercer.spec import derived, free_names

__all__ = ["BlendedSpectrum", "Match", "Spectrum"]
__public__ = __all__


class Spectrum(Tiled, Featured):
    r"""Spectrum kernel: how many substrings of a given length two strings have in common.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \#(s, u)\, \#(t, u)

    where #(s, u) counts the places at which u occurs in s, without gaps.

    Seed: [ST] "String kernels", p-spectrum, and "Trie based p-spectrum kernels"; [KIKS] Section 6.1.2.

    Parameters
    ----------
    length : int
        The number p of symbols of the substrings. At least 1.
    method : {"counts", "trie"}, default "counts"
        How the same numbers are found. "counts" numbers the substrings of a collection and multiplies their counts.
        "trie" splits the lists of the places of both sides symbol by symbol and leaves branches that are empty on one
        side; it stores nothing between calls.

    Notes
    -----
    Domain Strings: texts, or sequences of hashable symbols such as words. A string shorter than p has no
    substring of that length, and so k(s, s) = 0. Features the counts of the substrings that occur; no
    parameter to differentiate. Positive definite of order 0 by its features; not strict, since different
    strings may have the same counts, and hence not universal; not bounded, as it grows with the strings
    (``.normalized()`` removes that). Counts are added in float64: exact below 2^53. Substrings are compared
    exactly, whatever the alphabet. Cost: O(N) to count (with a sort where p is large), then one addition
    for each pair of strings and each distinct substring that both have; substrings that most strings have are
    multiplied as a matrix. By a trie O(p (|s| + |t|)) for a pair, and O(p N) for the lists of a collection.

    Examples
    --------
    >>> Spectrum(3)(["statistics", "computation"])
    array([[8., 2.],
           [2., 9.]])
    >>> Spectrum(1)([["to", "be", "or", "not", "to", "be"]], [["to", "do"]])
    array([[2.]])
    >>> Spectrum(3, method="trie")(["statistics"], ["computation"])
    array([[2.]])
    """

    synonyms = ("bag of n-grams", "k-mer kernel", "n-gram kernel", "p-spectrum", "trie kernel")
    domain = Strings
    formula = r"\sum_{u \in \Sigma^p} \#(s, u) \#(t, u)"
    cost = "O(N) to count, then O(common substrings) a pair"
    constraints = {"length": Integer(1), "method": OneOf("counts", "trie")}

    def __init__(self, length: int, method: str = "counts") -> None:
        self.length = length
        self.method = method

    @property
    def _key(self) -> str:
        return f"spectrum:{self.length}"

    def _prepare(self, A: Samples) -> Samples:
        """Count the k-mers of every string, once per collection; a trie needs nothing."""
        return A if self.method == "trie" else self._prepared(A)

    def _prepared(self, A: Samples) -> Samples:
        if self._key in A.derived:
            return A
        assert isinstance(A, Strings)
        return A.with_derived(self._key, count_kmers(A, int(self.length)))

    def tile(self, view: View) -> Floats:
        """Add the products of counts over common k-mers."""
        keep, path = view.comparison.keep, (view.path, self._key)
        A, B = view.collections
        out = view.empty()
        if self.method == "trie":
            left, right = keep(path, lambda: _aligned(A, B))
            sides = (left[view.rows].arrays, right[view.columns].arrays)
            np.copyto(out, common_substrings(*sides, int(self.length), len(left.vocabulary)))
        else:
            common = keep(path, lambda: common_kmers(self._counts(A), None if B is A else self._counts(B)))
            common.tile(view.rows, view.columns, out)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of squared counts."""
        if self.method == "trie":
            return np.concatenate([self.block(one, one)[0] for one in A] or [np.empty(0)])
        matrix = self._counts(A).matrix
        return np.asarray((matrix * matrix).sum(axis=1), dtype=float)

    def _features(self, A: Samples, keys: Kmers | None = None) -> tuple[sp.csr_array, Kmers]:
        """Return the counts, (len A, D) CSR, and the k-mers of the columns; with `keys`, of those only."""
        counts = self._counts(A)
        if keys is None or keys is counts.kmers:
            return counts.matrix, counts.kmers
        return renumbered(counts.matrix, keys.find(counts.kmers), len(keys)), keys

    def _feature_count(self, A: Samples) -> int:
        """Return the number of distinct k-mers of the collection."""
        return len(self._counts(A).kmers)

    def _counts(self, A: Samples) -> KmerCounts:
        return self._prepared(A).derived[self._key]


class BlendedSpectrum(Tiled, Featured, DifferentiatedByTiles):
    r"""Blended spectrum kernel: common substrings of all lengths up to one, weighted by length.

    .. math:: k(s, t) = \sum_{l=1}^p \lambda^l \sum_{u \in \Sigma^l} \#(s, u)\, \#(t, u)

    Seed: [ST] "String kernels", p-spectrum, summed over p; [HSS] "n-grams and Suffix Trees" with c_u = lambda^|u| for
    |u| <= p.

    Parameters
    ----------
    length : int
        The number p of symbols of the longest substrings. At least 1.
    decay : float, default 1.0
        The factor lambda > 0 for each symbol of a common substring. Below one, short substrings count more.

    Notes
    -----
    Domain Strings. Features the counts of the substrings that occur, times the root of their weight. Differentiable in
    `decay`. Positive definite of order 0 as a sum of spectrum kernels; not strict, since different strings may have
    the same short substrings, and hence not universal; not bounded. Only the empty string has k(s, s) = 0. Cost that
    of p spectrum kernels. `Substrings` has no limit on the length and any weights.

    Examples
    --------
    >>> BlendedSpectrum(2)(["ab", "abab"])
    array([[ 3.,  6.],
           [ 6., 13.]])
    >>> BlendedSpectrum(2, decay=0.5)(["ab"], ["abab"])  # 4 common letters, 2 common pairs
    array([[2.5]])
    """

    synonyms = ("blended spectrum kernel",)
    domain = Strings
    formula = r"\sum_{l=1}^p \lambda^l \sum_{u \in \Sigma^l} \#(s, u) \#(t, u)"
    cost = "that of p spectrum kernels"
    constraints = {"length": Integer(1), "decay": Positive()}

    def __init__(self, length: int, decay: float = 1.0) -> None:
        self.length = length
        self.decay = decay

    @property
    def _terms(self) -> list[tuple[int, float, Spectrum]]:
        """Lengths, weights and kernels."""
        lengths = range(1, int(self.length) + 1)
        with np.errstate(over="ignore"):  # values that are not finite are refused with advice
            return [(p, float(np.float64(self.decay) ** p), Spectrum(p)) for p in lengths]

    def _prepare(self, A: Samples) -> Samples:
        """Count the substrings of every length, once per collection."""
        for _, _, kernel in self._terms:
            A = kernel.prepare(A)
        return A

    def tile(self, view: View) -> Floats:
        """Add the spectrum kernels of all lengths."""
        out = view.full(0.0)
        for _, weight, kernel in self._terms:
            out += weight * kernel.tile(view)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the weighted sums of squared counts."""
        A = self.prepare(A)
        return np.sum([weight * kernel.diag(A) for _, weight, kernel in self._terms], axis=0)

    def _features(self, A: Samples, keys: tuple[Kmers, ...] | None = None) -> tuple[sp.csr_array, tuple[Kmers, ...]]:
        """Return counts times roots of weights, (len A, D) CSR, and the k-mers of the columns, by length."""
        A = self.prepare(A)
        parts = [kernel.features(A, None if keys is None else keys[p - 1]) for p, _, kernel in self._terms]
        weighted = [np.sqrt(weight) * matrix for (matrix, _), (_, weight, _) in zip(parts, self._terms, strict=True)]
        return sp.csr_array(sp.hstack(weighted, format="csr")), tuple(found for _, found in parts)

    def _feature_count(self, A: Samples) -> int:
        """Return the number of distinct substrings of the collection, up to the length."""
        return sum(kernel._feature_count(A) for _, _, kernel in self._terms)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the decay."""
        value, slope = view.full(0.0), np.zeros(view.shape)
        for p, weight, kernel in self._terms:
            tile = kernel.tile(view)
            value += weight * tile
            slope += p * weight / self.decay * tile
        return value, lambda W: np.array([np.vdot(W, slope)] * len(free_names(self)))


class Match(Spectrum):
    r"""Match kernel: one if two values are equal, zero if they are not; for categories.

    .. math:: k(x, x') = [x = x']

    Seed: [ST] "String kernels", p-spectrum, for strings of a single symbol, p = 1.

    Notes
    -----
    Domain Strings of one symbol each: a value (a text, a whole number, True or False) is taken as a whole,
    so that "red" and "reed" differ as much as "red" and "blue". Missing values and real numbers are refused.
    Features one indicator per category that occurs; no parameter to differentiate. Strictly positive definite:
    the matrix of different values is the identity. Normalised, hence bounded; a value never seen before is
    like no other. Cost O(1) a pair.

    Examples
    --------
    >>> Match()(["red", "blue", "red"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    synonyms = ("delta kernel", "Dirac kernel", "identity kernel")
    formula = r"[x = x']"
    cost = "O(1) a pair"
    constraints = {}
    strict = True
    universal = True  # compact sets of strings are finite
    continuous = True
    normalised = True
    bounded = True
    reads = "Strings of one symbol"

    def __init__(self) -> None:
        pass

    @derived
    def length(self) -> int:
        """One symbol."""
        return 1

    @derived
    def method(self) -> str:
        """By counts."""
        return "counts"

    def reasons(self, width: int | None) -> dict[str, Reason]:
        """Return why it is strict, universal and characteristic."""
        same = "Gram matrices of different objects are the identity"
        return {
            "strict": Reason(True, same, "HSS Def. 3"),
            "universal": Reason(True, f"{same}, and compact sets of strings are finite"),
            "characteristic": Reason(True, "the mean of a distribution is the distribution itself"),
        }

    def pack(self, X: Any) -> Samples:
        """Turn values into strings of one symbol each.

        Parameters
        ----------
        X : list or array of str, int or bool; a pandas, polars or pyarrow column; or packed Strings
        """
        if not isinstance(X, Samples):
            X = [_as_symbol(value, i) for i, value in enumerate(listed(X))]
        S = Strings.pack(X)
        if np.any(S.lengths != 1):
            i = int(np.flatnonzero(S.lengths != 1)[0])
            raise DomainError(
                f"Match was given packed strings, of which sample {i} has {S.lengths[i]} symbols; one symbol per "
                "sample is accepted. Give the raw values, or use Spectrum(1) to compare strings symbol by symbol."
            )
        return S


def _aligned(A: Samples, B: Samples) -> tuple[Strings, Strings]:
    assert isinstance(A, Strings) and isinstance(B, Strings)
    return A.align(B)


def _as_symbol(value: Any, i: int) -> tuple[Hashable]:
    """Return a category as a string of one symbol."""
    given = "missing" if is_missing(value) else "a real number" if is_fraction(value) else None
    if given is None and not is_hashable(value):
        given = f"of type {type(value).__name__}"
    if given is not None:
        raise DomainError(
            f"Sample {i} is {given} ({str(value)[:40]}); categories are texts, whole numbers, True or False. Replace "
            "or drop it; numbers that are measured are compared by kernels on vectors, for example Gaussian()."
        )
    return (value,)

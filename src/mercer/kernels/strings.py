"""String kernels that compare contiguous substrings of one length, and categories.

Symbols: p the length, a k-mer is a substring of p symbols, N the symbols of a collection, D its distinct
k-mers.

Every collection gets a table of its distinct k-mers and, for each string, their counts. Nothing is hashed
to a fixed width: where the k-mers over the vocabulary can be numbered in 62 bits they are, and otherwise
they are ranked by sorting, so that two k-mers are taken as equal only if they are.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Codes, Floats, Indices
from mercer.constraints import Integer
from mercer.domains import Samples, Strings
from mercer.domains.samples import is_hashable
from mercer.domains.strings import is_missing, listed
from mercer.errors import DomainError
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Tiled
from mercer.numerics.compiled import compiled

__all__ = ["Match", "Spectrum"]

_LIMIT = 2**62
_FEW, _FILLED = (
    4096,
    0.03,
)  # up to so many k-mers, so many of which two strings share, a matrix product is quicker


class Spectrum(Tiled):
    r"""Spectrum kernel: how many substrings of a given length two strings have in common.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \#(s, u)\, \#(t, u)

    where #(s, u) counts the places at which u stands in s, without gaps.

    Seed: [ST] "String kernels", p-spectrum; [KIKS] Section 6.1.2. Ledger: K-STR-SPECTRUM.

    Parameters
    ----------
    length : int
        The number p of symbols of the substrings. At least 1.

    Notes
    -----
    Domain Strings: texts, or sequences of hashable symbols such as words. A string shorter than p has no
    substring of that length, and so k(s, s) = 0. Features the counts of the substrings that occur; no
    parameter to differentiate. Positive definite of order 0 by its features; not strict, since different
    strings may have the same counts, and hence not universal; not bounded, as it grows with the strings
    (``.normalized()`` removes that). Counts are added in float64: exact below 2^53. Substrings are compared
    exactly, whatever the alphabet. Cost: O(N) to count (with a sort where p is large), then one addition
    for each pair of strings and each distinct substring that both have.

    Examples
    --------
    >>> Spectrum(3)(["statistics", "computation"])
    array([[8., 2.],
           [2., 9.]])
    >>> Spectrum(1)([["to", "be", "or", "not", "to", "be"]], [["to", "do"]])
    array([[2.]])
    """

    domain = Strings
    formula = r"\sum_{u \in \Sigma^p} \#(s, u) \#(t, u)"
    cost = "O(N) to count, then O(common substrings) a pair"
    constraints = {"length": Integer(1)}

    def __init__(self, length: int) -> None:
        self.length = length

    @property
    def _key(self) -> str:
        return f"spectrum:{self.length}"

    def prepare(self, A: Samples) -> Samples:
        """Count the k-mers of every string, once per collection."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Strings)
        return A.with_derived(self._key, _count(A, int(self.length)))

    def tile(self, view: View) -> Floats:
        """Add the products of counts over common k-mers."""
        keep, path = view.comparison.keep, (view.path, self._key)
        A, B = view.collections
        common = keep(path, lambda: _common(self._counts(A), None if B is A else self._counts(B)))
        rows, columns = (s.indices(len(S)) for s, S in ((view.rows, A), (view.columns, B)))
        out = view.empty()
        if common.dense is None:
            _add_products(common.left, common.right, rows[:2], columns[:2], out)
        else:
            left, right = (
                matrix[s].toarray() for matrix, s in zip(common.dense, (view.rows, view.columns), strict=True)
            )
            np.copyto(out, left @ right.T)
        if B is A:
            _add_own(common.own, rows[:2], columns[:2], out)
        return out

    def diag(self, A: Samples) -> Floats:
        """Return the sums of squared counts."""
        matrix = self._counts(A).matrix
        return np.asarray((matrix * matrix).sum(axis=1), dtype=float)

    def features(self, A: Samples, keys: Kmers | None = None) -> tuple[sp.csr_array, Kmers]:
        """Return the counts, (len A, D) CSR, and the k-mers of the columns; with `keys`, of those only."""
        counts = self._counts(A)
        if keys is None or keys is counts.kmers:
            return counts.matrix, counts.kmers
        return _renumbered(counts.matrix, keys.find(counts.kmers), len(keys)), keys

    def feature_count(self, A: Samples) -> int:
        """Return the number of distinct k-mers of the collection."""
        return len(self._counts(A).kmers)

    def _counts(self, A: Samples) -> _Counts:
        return self.prepare(A).derived[self._key]


class Match(Spectrum):
    r"""Match kernel: one if two values are equal, zero if they are not; for categories.

    .. math:: k(x, x') = [x = x']

    Seed: [ST] "String kernels", p-spectrum, for strings of a single symbol, p = 1. Ledger: K-STR-SPECTRUM.

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

    formula = r"[x = x']"
    cost = "O(1) a pair"
    constraints = {}
    strict = True
    normalised = True
    bounded = True
    reads = "Strings of one symbol"

    def __init__(self) -> None:
        pass

    @property
    def length(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """One symbol."""
        return 1

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


def _as_symbol(value: Any, i: int) -> tuple[Hashable]:
    """Return a category as a string of one symbol."""
    given = "missing" if is_missing(value) else "a real number" if isinstance(value, float | complex) else None
    if given is None and not is_hashable(value):
        given = f"of type {type(value).__name__}"
    if given is not None:
        raise DomainError(
            f"Sample {i} is {given} ({str(value)[:40]}); categories are texts, whole numbers, True or False. Replace "
            "or drop it; numbers that are measured are compared by kernels on vectors, for example Gaussian()."
        )
    return (value,)


# ---------------------------------------------------------------------- k-mers and their counts


@dataclass(frozen=True, eq=False)
class Kmers:
    """The distinct k-mers of a collection, in a fixed order: the columns of the spectrum features.

    Attributes
    ----------
    vocabulary : tuple
        The symbols that codes stand for.
    length : int
        Symbols in a k-mer.
    codes : (total,) array
        Text in which every k-mer stands somewhere.
    starts : (D,) array
        Where each k-mer begins in the text.

    Notes
    -----
    The order is that of the k-mers' numbers in base len(vocabulary) where those fit in 62 bits.
    """

    vocabulary: tuple[Hashable, ...]
    length: int
    codes: Codes
    starts: Indices

    def __len__(self) -> int:
        return len(self.starts)

    def symbols(self, i: int) -> tuple[Hashable, ...]:
        """Return the symbols of k-mer i, as they were given."""
        start = self.starts[i]
        return tuple(self.vocabulary[code] for code in self.codes[start : start + self.length])

    @cached_property
    def numbers(self) -> NDArray[np.int64] | None:
        """The numbers of the k-mers, ascending; None if they do not fit in 62 bits."""
        if not _numerable(len(self.vocabulary), self.length):
            return None
        return _numbers(self.codes, self.starts, self.length, len(self.vocabulary))

    def find(self, other: Kmers) -> Indices:
        """Return for each k-mer of `other` its place here, or -1."""
        if other is self:
            return np.arange(len(self), dtype=np.intp)
        place = {symbol: code for code, symbol in enumerate(self.vocabulary)}
        recoded = np.array([place.get(symbol, -1) for symbol in other.vocabulary], dtype=np.int64)
        codes = recoded[other.codes] if len(recoded) else np.empty(0, np.int64)
        if self.numbers is None:
            ours, theirs = self._ranked_with(codes, other.starts)
        else:
            ours, theirs = self.numbers, _numbers(codes, other.starts, self.length, len(self.vocabulary))
        if not len(ours):
            return np.full(len(other), -1, dtype=np.intp)
        order = np.argsort(ours, kind="stable")
        near = order[np.minimum(np.searchsorted(ours, theirs, sorter=order), len(ours) - 1)]
        return np.where(ours[near] == theirs, near, -1).astype(np.intp)

    def _ranked_with(self, codes: NDArray[np.int64], starts: Indices) -> tuple[Any, Any]:
        """Return ranks of our k-mers and of those at `starts` in another text, in one order."""
        both = np.concatenate([self.codes.astype(np.int64), codes]) + 1  # an unknown symbol, -1, is 0
        ranks = _ranks(both, self.length)
        return ranks[self.starts], ranks[starts + len(self.codes)]


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often each k-mer stands in each string; slices of a collection share the k-mers."""

    matrix: sp.csr_array  # (n, D) float64, indices sorted
    kmers: Kmers

    def __len__(self) -> int:
        return len(self.matrix.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the counts and of the k-mers' places."""
        return sum(a.nbytes for a in _arrays(self.matrix)) + self.kmers.starts.nbytes

    def take(self, index: slice | Indices) -> _Counts:
        """Counts of some of the strings."""
        return _Counts(self.matrix[index], self.kmers)


def _count(S: Strings, length: int) -> _Counts:
    """Return the k-mers of a collection and their counts."""
    codes, offsets = S.codes, np.asarray(S.offsets, dtype=np.intp)
    per_string = np.maximum(np.diff(offsets) - length + 1, 0)
    bounds = np.concatenate([[0], np.cumsum(per_string)]).astype(np.intp)
    starts = np.arange(bounds[-1], dtype=np.intp) + np.repeat(offsets[:-1] - bounds[:-1], per_string)
    if _numerable(len(S.vocabulary), length):
        values = _numbers(codes, starts, length, len(S.vocabulary))
        span = max(len(S.vocabulary), 1) ** length
    else:
        values = _ranks(codes.astype(np.int64), length)[starts] if len(starts) else np.empty(0, np.int64)
        span = _LIMIT
    ids, first = _sorted_distinct(values, span)
    matrix = sp.csr_array((np.ones(len(ids)), ids, bounds), shape=(len(S), len(first)))
    matrix.sum_duplicates()
    return _Counts(matrix, Kmers(S.vocabulary, length, codes, starts[first]))


def _numerable(symbols: int, length: int) -> bool:
    """Tell whether the k-mers over so many symbols can be numbered in 62 bits."""
    return length * np.log2(max(symbols, 2)) < 61.9


def _numbers(codes: Any, starts: Indices, length: int, base: int) -> NDArray[np.int64]:
    """Return the numbers in a base of the k-mers at `starts`, -1 for one with an unknown symbol (code -1)."""
    out = np.empty(len(starts), np.int64)
    _number_kmers(codes.astype(np.int64, copy=False), starts, length, max(base, 1), out)
    return out


@compiled
def _number_kmers(codes, starts, length, base, out):
    for i in range(starts.size):
        number = 0
        for t in range(length):
            code = codes[starts[i] + t]
            if code < 0:
                number = -1
                break
            number = number * base + code
        out[i] = number


def _ranks(codes: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return a number for the k-mer that begins at each place, the same for equal k-mers only.

    Windows double: that of width w at i and the one at i + step name the window of width w + step at i.
    Numbers are made small again by ranking whenever a pair of them would not fit in 62 bits. Windows may
    run over the ends of strings.
    """
    width, ranks = 1, codes
    span = int(ranks.max(initial=0)) + 1
    while width < length:
        step = min(width, length - width)
        if span * span >= _LIMIT:
            ranks, distinct = _distinct(ranks)
            span = len(distinct)
        ranks = ranks[: max(len(ranks) - step, 0)] * span + ranks[step:]
        span, width = span * span, width + step
    return ranks


def _sorted_distinct(values: NDArray[np.int64], span: int) -> tuple[Indices, Indices]:
    """Return the rank of each value among the distinct ones, and a place where each distinct one stands."""
    if span > 8 * len(values) + 1024:
        ids, first = _distinct(values)
        order = np.argsort(values[first])
        rank = np.empty(len(order), np.intp)
        rank[order] = np.arange(len(order))
        return rank[ids], first[order]
    place = np.full(span, -1, dtype=np.intp)
    place[values] = np.arange(len(values))
    present = np.flatnonzero(place >= 0)
    first = place[present]
    place[present] = np.arange(len(present))
    return place[values], first


def _distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], Indices]:
    """Number the distinct values in the order in which they are first seen: numbers, and where they were."""
    ids, first = np.empty(len(values), np.int64), np.empty(len(values), np.intp)
    bits = max(int(2 * len(values)).bit_length(), 4)
    count = _number_values(values, np.full(1 << bits, -1, np.int64), 64 - bits, ids, first)
    return ids, first[:count].copy()


@compiled
def _number_values(values, slots, shift, ids, first):
    """Look every value up in a table with open addressing; the values themselves are compared."""
    last = slots.size - 1
    count = 0
    for i in range(values.size):
        value = values[i]
        # the golden ratio spreads neighbouring numbers over the table
        slot = np.int64((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
        while slots[slot] >= 0 and values[first[slots[slot]]] != value:
            slot = (slot + 1) & last
        if slots[slot] < 0:
            slots[slot] = count
            first[count] = i
            count += 1
        ids[i] = slots[slot]
    return count


def _renumbered(matrix: sp.csr_array, places: Indices, width: int) -> sp.csr_array:
    """Return the matrix with column j moved to places[j], or left out if that is -1."""
    columns = places[matrix.indices]
    known = columns >= 0
    kept = np.concatenate([[0], np.cumsum(known)])[matrix.indptr]
    moved = sp.csr_array((matrix.data[known], columns[known], kept), shape=(len(matrix.indptr) - 1, width))
    moved.sort_indices()
    return moved


def _arrays(matrix: Any) -> tuple[Any, Any, Any]:
    """Return ``(indices, data, indptr)`` of CSR or CSC as compiled code reads them."""
    return matrix.indices.astype(np.int32, copy=False), matrix.data, matrix.indptr.astype(np.intp)


@dataclass(frozen=True, eq=False)
class _Common:
    """What two collections have in common: k-mers that do not occur on both sides are left out."""

    left: tuple[Any, Any, Any]  # of each string: k-mers, counts; where a string begins
    right: tuple[Any, Any, Any]  # of each k-mer: strings, counts; where a k-mer begins
    own: Floats  # what each string shares with itself alone, if the collections are one
    dense: tuple[Any, Any] | None  # the counts of both sides, if a matrix product is quicker than the lists


def _common(left: _Counts, right: _Counts | None) -> _Common:
    """Return the counts of the left and, by k-mers, those of the right; None on the right means the left."""
    own = np.zeros(len(left))
    if right is None:
        matrix, least = left.matrix, 2
    else:
        matrix, least = right.matrix, 1
        if right.kmers is not left.kmers:
            matrix = _renumbered(matrix, left.kmers.find(right.kmers), len(left.kmers))
    owners = np.bincount(matrix.indices, minlength=len(left.kmers))
    if right is None:  # most k-mers of long texts occur in one string only: they need no lists
        squares = np.where(owners[matrix.indices] < least, matrix.data**2, 0.0)
        own = np.add.reduceat(np.append(squares, 0.0), matrix.indptr[:-1]) * (np.diff(matrix.indptr) > 0)
    kept = owners >= least
    places = np.where(kept, np.cumsum(kept) - 1, -1)
    width = int(kept.sum())
    chosen = _renumbered(left.matrix, places, width)
    other = chosen if right is None else _renumbered(matrix, places, width)
    filled = [m.nnz / max((len(m.indptr) - 1) * width, 1) for m in (chosen, other)]
    dense = (chosen, other) if width <= _FEW and filled[0] * filled[1] > _FILLED else None
    return _Common(_arrays(chosen), _arrays(other.tocsc()), own, dense)


@compiled
def _add_products(left, right, rows, columns, out):
    """Write sum_u #(s, u) #(t, u) for strings s of rows and t of columns, by the lists of who has u."""
    kmers, counts, begins = left
    strings, theirs, lists = right
    low, high = columns
    for i in range(rows[0], rows[1]):
        row = out[i - rows[0]]
        row[:] = 0.0
        for place in range(begins[i], begins[i + 1]):
            count = counts[place]
            start, stop = lists[kmers[place]], lists[kmers[place] + 1]
            end = stop
            while start < end:  # the first string of the list that is not before the tile
                middle = (start + end) // 2
                if strings[middle] < low:
                    start = middle + 1
                else:
                    end = middle
            while start < stop and strings[start] < high:
                row[strings[start] - low] += count * theirs[start]
                start += 1


@compiled
def _add_own(own, rows, columns, out):
    for i in range(max(rows[0], columns[0]), min(rows[1], columns[1])):
        out[i - rows[0], i - columns[0]] += own[i]

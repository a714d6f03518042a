"""The distinct k-mers of a collection of strings, and how often each occurs in each string.

Symbols: a k-mer is a substring of p symbols, D of them are distinct. Nothing is hashed to a fixed width: where the
k-mers over the vocabulary can be numbered in 62 bits they are, and otherwise they are ranked by sorting, so that two
k-mers are taken as equal only if they are.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Codes, Indices
from mercer.domains import Strings
from mercer.domains.samples import codes_among
from mercer.kernels.counts import Overlap, arrays_of, count, overlap, renumbered
from mercer.runtime.compiled import compiled

__all__ = ["KmerCounts", "Kmers", "common_kmers", "count_kmers"]
__saved__ = ["Kmers"]

_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class Kmers:
    """The distinct k-mers of a collection, in a fixed order: the columns of the spectrum features.

    Attributes
    ----------
    vocabulary : tuple
        The symbols of the codes.
    length : int
        Symbols in a k-mer.
    codes : (total,) array
        Text in which every k-mer occurs.
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
        recoded = codes_among(self.vocabulary, other.vocabulary, -1)
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

    def merged(self, other: Kmers) -> Kmers:
        """Return the k-mers of both, each once."""
        words = [keys.symbols(i) for keys in (self, other) for i in range(len(keys))]
        return count_kmers(Strings.pack(words), self.length).kmers

    def _ranked_with(self, codes: NDArray[np.int64], starts: Indices) -> tuple[Any, Any]:
        """Return ranks of our k-mers and of those at `starts` in another text, in one order."""
        both = np.concatenate([self.codes.astype(np.int64), codes]) + 1  # an unknown symbol, -1, is 0
        ranks = _ranks(both, self.length)
        return ranks[self.starts], ranks[starts + len(self.codes)]


@dataclass(frozen=True, eq=False)
class KmerCounts:
    """How often each k-mer occurs in each string; slices of a collection share the k-mers."""

    matrix: sp.csr_array  # (n, D) float64, indices sorted
    kmers: Kmers

    def __len__(self) -> int:
        return len(self.matrix.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the counts and of the k-mers' places."""
        return sum(a.nbytes for a in arrays_of(self.matrix)) + self.kmers.starts.nbytes

    def take(self, index: slice | Indices) -> KmerCounts:
        """Counts of some of the strings."""
        return KmerCounts(self.matrix[index], self.kmers)


def count_kmers(S: Strings, length: int) -> KmerCounts:
    """Return the k-mers of a collection and their counts."""
    codes, offsets, base = S.codes, np.asarray(S.offsets, dtype=np.intp), max(len(S.vocabulary), 1)
    per_string = np.maximum(np.diff(offsets) - length + 1, 0)
    bounds = np.concatenate([[0], np.cumsum(per_string)]).astype(np.intp)
    if _numerable(len(S.vocabulary), length):
        values, span = np.empty(bounds[-1], np.int64), base**length
        _number_windows(codes, offsets, length, base, values)
    else:
        starts = np.arange(bounds[-1], dtype=np.intp) + np.repeat(offsets[:-1] - bounds[:-1], per_string)
        values = _ranks(codes.astype(np.int64), length)[starts] if len(starts) else np.empty(0, np.int64)
        span = int(values.max(initial=0)) + 1
    matrix, first = count(values, bounds, span)
    owners = np.searchsorted(bounds, first, side="right") - 1
    return KmerCounts(matrix, Kmers(S.vocabulary, length, codes, first + (offsets - bounds)[owners]))


def common_kmers(left: KmerCounts, right: KmerCounts | None) -> Overlap:
    """Return what two collections have in common; None on the right means the left."""
    if right is None or right.kmers is left.kmers:
        return overlap(left.matrix, None if right is None else right.matrix)
    return overlap(left.matrix, renumbered(right.matrix, left.kmers.find(right.kmers), len(left.kmers)))


def _numerable(symbols: int, length: int) -> bool:
    """Return whether the k-mers over this many symbols can be numbered in 62 bits."""
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


@compiled
def _number_windows(codes, offsets, length, base, out):
    """Number the k-mers of all strings, each from the one before it."""
    highest = 1
    for _ in range(length - 1):
        highest *= base
    place = 0
    for i in range(offsets.size - 1):
        number = 0
        for t in range(offsets[i], offsets[i + 1]):
            if t - offsets[i] >= length:
                number -= codes[t - length] * highest
            number = number * base + codes[t]
            if t - offsets[i] >= length - 1:
                out[place] = number
                place += 1


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


def _distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], Indices]:
    """Number the distinct values in the order in which they are first seen: numbers, and where they were."""
    ids, first = np.empty(len(values), np.int64), np.empty(len(values), np.intp)
    bits = max(int(2 * len(values)).bit_length(), 4)
    total = _number_values(values, np.full(1 << bits, -1, np.int64), 64 - bits, ids, first)
    return ids, first[:total].copy()


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

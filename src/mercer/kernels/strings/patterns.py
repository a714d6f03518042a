"""Symbols read through patterns of places: what kernels of gaps, wildcards and mismatches count.

A pattern chooses p places of a window that is moved over a string; instead of a place it may have None, which is open:
it matches any symbol. What is read, symbols and open places, is a word. Symbols: n strings, P patterns, M words in all,
D distinct ones.

Nothing is hashed: words are numbered in 62 bits where they can be, and otherwise ranked on the way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import budget
from mercer.arrays import Codes, Floats, Indices
from mercer.domains import Samples, Strings
from mercer.kernels.abilities import DifferentiatedByTiles, Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import Overlap, arrays_of, count, overlap, renumbered
from mercer.kernels.kernel import Tiled
from mercer.kernels.kmers import Kmers
from mercer.kernels.protocols import Pullback
from mercer.runtime.compiled import compiled
from mercer.spec import free_names

_LIMIT = 2**62
Words = tuple[sp.csr_array, Kmers]  # numbers of the words of each string, and the words
Weights = Callable[[Indices], Floats]  # of groups of patterns


class PatternKernel(Tiled, Featured, DifferentiatedByTiles):
    """A kernel whose features are counts of words, each with the factor decay^group of its pattern.

    A subclass has the parameter `decay` and says which patterns it reads.
    """

    domain = Strings
    decay: float

    @abstractmethod
    def patterns(self) -> tuple[Codes, Codes]:
        """Return the places of all patterns, (P, p) with -1 for an open one, and their groups, (P,)."""

    @property
    @abstractmethod
    def _key(self) -> str: ...

    def _prepare(self, A: Samples) -> Samples:
        """Count words by groups, once per collection, whatever the decay."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Strings)
        return A.with_derived(self._key, count_words(A, *self.patterns()))

    def _words(self, A: Samples) -> WordCounts:
        return self.prepare(A).derived[self._key]

    def _weights(self, groups: Indices) -> Floats:
        return float(self.decay) ** groups.astype(float)

    def _slopes(self, groups: Indices) -> Floats:
        return groups * float(self.decay) ** np.maximum(groups - 1.0, 0.0)

    def tile(self, view: View) -> Floats:
        """Add the products of weighted counts over common words."""
        A, B = view.collections
        key = view.path, self._key, float(self.decay)
        common = view.comparison.keep(key, lambda: compared(self._weighted(A), None if B is A else self._weighted(B)))
        out = view.empty()
        common.tile(view.rows, view.columns, out)
        return out

    def _weighted(self, A: Samples) -> Words:
        return self._words(A).weighted(self._weights)

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of squared weighted counts."""
        matrix, _ = self._weighted(A)
        return np.asarray((matrix * matrix).sum(axis=1), dtype=float)

    def _features(self, A: Samples, keys: Kmers | None = None) -> Words:
        """Return the weighted counts, (len A, D) CSR, and the words of the columns; with `keys`, of those only."""
        return _placed(self._weighted(A), keys)

    def _feature_count(self, A: Samples) -> int:
        """Return the number of distinct words of the collection."""
        return len(self._words(A).words)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the decay."""
        A, B = view.sides
        F, keys = self.features(A)
        G, dF, dG = (
            _placed(self._words(S).weighted(weights), keys)[0]
            for S, weights in ((B, self._weights), (A, self._slopes), (B, self._slopes))
        )
        slope = (dF @ G.T + F @ dG.T).toarray()
        return (F @ G.T).toarray(), lambda W: np.array([np.vdot(W, slope)] * len(free_names(self)))


def require_room(count: int, length: int) -> None:
    """Raise MemoryBudgetError if this many patterns of this many places cannot be listed."""
    budget.Plan(f"{count} patterns of {length} places", {"patterns": 64 * (length + 1) * count}).require(None)


def _placed(found: Words, keys: Kmers | None) -> Words:
    """Return numbers of words in the columns of `keys`, or as they are."""
    matrix, words = found
    if keys is None or keys is words:
        return found
    return renumbered(matrix, keys.find(words), len(keys)), keys


def compared(left: Words, right: Words | None, factors: Floats | None = None) -> Overlap:
    """Return what two collections have in common; None is the left. Factors are for the words of the left."""
    matrix, words = left
    return overlap(matrix, None if right is None else _placed(right, words)[0], factors)


@dataclass(frozen=True, eq=False)
class WordCounts:
    """How often each word is read in each string, by groups of patterns; slices of a collection share the words."""

    matrix: sp.csr_array  # (n, E): a column for each word and group in which it is read; indices sorted
    owners: Indices  # (E,) the words of the columns, ascending
    groups: Indices  # (E,) the groups of the columns
    words: Kmers  # D of them; an open place has the symbol None

    def __len__(self) -> int:
        return len(self.matrix.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the counts and of the words."""
        arrays = (*arrays_of(self.matrix), self.owners, self.groups, self.words.codes, self.words.starts)
        return sum(a.nbytes for a in arrays)

    def take(self, index: slice | Indices) -> WordCounts:
        """Counts of some of the strings."""
        return WordCounts(self.matrix[index], self.owners, self.groups, self.words)

    @property
    def found(self) -> Words:
        """The counts and the words, if every word is of one group."""
        return self.matrix, self.words

    def weighted(self, weights: Weights) -> Words:
        """Return the counts of each word, (n, D), summed over groups with a weight for each group."""
        indices, data, indptr = arrays_of(self.matrix)
        data = data * weights(self.groups)[indices]
        matrix = sp.csr_array((data, self.owners.astype(np.int32)[indices], indptr), shape=(len(self), len(self.words)))
        matrix.has_sorted_indices = True
        if len(self.words) < len(self.owners):
            matrix.sum_duplicates()
        return matrix, self.words


def count_words(
    S: Strings, places: Codes, groups: Codes, pieces: tuple[Indices, Indices, Indices] | None = None
) -> WordCounts:
    """Read strings through patterns and count the words.

    Parameters
    ----------
    S : Strings
    places : (P, p) array of int32
        Places from the beginning of the window, ascending, -1 for open ones.
    groups : (P,) array of int
        Words of patterns of different groups are counted apart.
    pieces : (begins, ends, owners), optional
        Pieces of the codes that contain the windows, in order, and the string of each. Whole strings by default.

    Examples
    --------
    >>> counts = count_words(Strings.pack(["cat"]), np.array([[0, 1], [0, 2]], np.int32), np.array([0, 1]))
    >>> matrix, words = counts.weighted(lambda groups: 0.5**groups)
    >>> {"".join(words.symbols(j)): value for j, value in enumerate(matrix.toarray()[0].tolist())}
    {'ca': 1.0, 'ct': 0.5, 'at': 1.0}
    """
    begins, ends, owners = pieces or (S.offsets[:-1], S.offsets[1:], np.arange(len(S), dtype=np.intp))
    text = S.codes, np.asarray(begins, np.intp), np.asarray(ends, np.intp)
    window = np.maximum(places.max(axis=1).astype(np.int64) + 1, places.shape[1])  # its last place may be open
    per_piece = np.maximum((ends - begins)[:, None] - window + 1, 0).sum(axis=1)
    per_string = np.bincount(owners, weights=per_piece, minlength=len(S)).astype(np.intp)
    bounds = np.concatenate([[0], np.cumsum(per_string)]).astype(np.intp)
    total = int(bounds[-1])
    budget.Plan(f"{len(window)} patterns of places in {len(S)} strings", {"words": 48 * total}).require(None)
    is_open = bool((places < 0).any())
    vocabulary: tuple[Hashable, ...] = (*S.vocabulary, None) if is_open else S.vocabulary
    base, kinds = max(len(vocabulary), 1), int(groups.max(initial=0)) + 1
    values, span = _numbered(text, places, window, base, total, kinds)
    _add_groups(*text[1:], window, groups.astype(np.int64), kinds, values)
    matrix, first = count(values, bounds, span * kinds)
    distinct = values[first]
    fresh = np.diff(distinct // kinds, prepend=-1) > 0
    codes = np.empty((int(fresh.sum()), places.shape[1]), np.int32)
    order = np.argsort(first[fresh], kind="stable")
    _decode(text, places, window, base - 1, first[fresh], order, codes)
    words = Kmers(vocabulary, places.shape[1], codes.ravel(), np.arange(len(codes), dtype=np.intp) * places.shape[1])
    return WordCounts(matrix, np.cumsum(fresh) - 1, distinct % kinds, words)


def _numbered(
    text: Any, places: Codes, window: NDArray[np.int64], base: int, total: int, kinds: int
) -> tuple[NDArray[np.int64], int]:
    """Return numbers of all words, equal for equal words only, in their order, and a number above all of them."""
    values, span, slot = np.zeros(total, np.int64), 1, 0
    while slot < places.shape[1]:
        stop, reach = slot, span
        while stop < places.shape[1] and reach * base * kinds < _LIMIT:
            stop, reach = stop + 1, reach * base
        if stop == slot:
            values = np.unique(values, return_inverse=True)[1].astype(np.int64)
            span = int(values.max(initial=0)) + 1
            continue
        _append(*text, places[:, slot:stop], window, base, values)
        span, slot = reach, stop
    return values, span


@compiled
def _append(codes, begins, ends, places, window, base, values):
    """Append the symbols at some places to the number of every word."""
    at = 0
    for piece in range(begins.size):
        for pattern in range(places.shape[0]):
            for start in range(begins[piece], ends[piece] - window[pattern] + 1):
                number = values[at]
                for slot in range(places.shape[1]):
                    place = places[pattern, slot]
                    number = number * base + (base - 1 if place < 0 else codes[start + place])
                values[at] = number
                at += 1


@compiled
def _add_groups(begins, ends, window, groups, kinds, values):
    at = 0
    for piece in range(begins.size):
        for pattern in range(window.size):
            for _ in range(begins[piece], ends[piece] - window[pattern] + 1):
                values[at] = values[at] * kinds + groups[pattern]
                at += 1


@compiled
def _decode(text, places, window, unknown, first, order, out):
    """Write the symbols of the words that are read at the positions `first`, which `order` sorts."""
    codes, begins, ends = text
    at, done = 0, 0
    for piece in range(begins.size):
        for pattern in range(places.shape[0]):
            steps = max(0, ends[piece] - window[pattern] + 1 - begins[piece])
            while done < order.size and first[order[done]] < at + steps:
                start = begins[piece] + first[order[done]] - at
                for slot in range(places.shape[1]):
                    place = places[pattern, slot]
                    out[order[done], slot] = unknown if place < 0 else codes[start + place]
                done += 1
            at += steps

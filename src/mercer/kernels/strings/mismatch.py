"""String kernels that compare substrings of one length and forgive some wrong symbols.

Symbols: k the length, a k-mer is a substring of k symbols, m the mismatches forgiven, a the letters of the alphabet, N
the symbols of a collection.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations, product
from math import comb
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import budget
from mercer.arrays import Codes, Floats
from mercer.constraints import Constraint, Integer, Interval
from mercer.domains import Samples, Strings
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import Overlap, renumbered
from mercer.kernels.kernel import Tiled
from mercer.kernels.kmers import Kmers
from mercer.kernels.strings.patterns import PatternKernel, WordCounts, Words, compared, count_words, require_room
from mercer.models.alphabet import ALPHABETS, letters_of
from mercer.numerics.ragged import Ragged
from mercer.runtime.compiled import compiled

__all__ = ["Mismatch", "Wildcard"]
__public__ = __all__

_SMALL = 4096  # k-mers over the alphabet that a dense product handles easily
_LIMIT = 2**62


class _Alphabet(Constraint):
    """The name of an alphabet, or at least two distinct symbols."""

    @property
    def accepted(self) -> str:
        names = ", ".join(map(repr, ALPHABETS))
        return f"{names}, or a string or tuple of at least two distinct symbols"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) and value in ALPHABETS:
            return True
        try:
            return isinstance(value, str | tuple) and len(value) >= 2 and len(set(value)) == len(value)
        except TypeError:  # a symbol that cannot be hashed
            return False

    def advice(self, name: str, value: Any) -> str:
        if isinstance(value, str) and value.lower() in ALPHABETS:
            return f"Write {name}={value.lower()!r}."
        return f"Name every symbol that can occur, once, for example {name}='ACGT'."


class Mismatch(Tiled, Featured):
    r"""Mismatch kernel: common substrings of a given length, some symbols of which may be wrong.

    .. math:: k(s, t) = \sum_{u \in \Sigma^k} \#(s, u, m)\, \#(t, u, m)

    where #(s, u, m) counts the places of s with a k-mer that differs from u in at most m symbols. Every u
    over the alphabet counts, whether it occurs or not: the value depends on the alphabet.

    Seed: [HSS] "n-grams and Suffix Trees", #(x, s, epsilon); [KIKS] reference 75.

    Parameters
    ----------
    length : int
        The number k of symbols of the substrings. At least 1.
    mismatches : int, default 1
        The number m of symbols that may be wrong. At least 0 (which is `Spectrum`) and at most `length`.
    alphabet : {"dna", "rna", "protein"}, str or tuple, default "dna"
        The letters, or symbols, of which strings are made.

    Notes
    -----
    Domain Strings over the alphabet. K-mers with a letter that denotes several (such as "N" in the named alphabets) or
    a gap are left out; other letters are refused. A string without a k-mer has k(s, s) = 0. Features the numbers #(s,
    u, m) of the u near the k-mers that occur; no parameter to differentiate. Positive definite of order 0 by its
    features; not strict, since different strings may have the same k-mers, and hence not universal; not bounded. Values
    are whole numbers, exact below 2^53.

    Cost: linear in the strings, O(c N) to count and then one addition for each common word of a pair. Two ways give the
    same numbers, and the cheaper one is taken. Where few k-mers are near one, c = sum_i<=m C(k, i) (a - 1)^i of them,
    the features are multiplied. Otherwise c = sum_i<=2m C(k, i), whatever the alphabet: the number of u near two k-mers
    depends only on the number of symbols in which they differ, and how many pairs of k-mers differ in that many follows
    from how many agree on each choice of at least k - 2m places.

    Examples
    --------
    >>> Mismatch(3, 1)(["GATTACA", "GATCACA", "TTTTTTT"])
    array([[ 74.,  54.,  60.],
           [ 54.,  70.,  30.],
           [ 60.,  30., 250.]])
    >>> Mismatch(2, 1, alphabet="ab")(["ab", "ba"])  # either is near three words, "aa" and "bb" are common
    array([[3., 2.],
           [2., 3.]])
    """

    synonyms = ("mismatch string kernel",)
    domain = Strings
    example = (2, 1, "abcdrxyz")
    formula = r"\sum_{u \in \Sigma^k} \#(s, u, m) \#(t, u, m)"
    cost = "O(c N) to count with c words near or around a k-mer, then O(common words) a pair"
    reads = "Strings over an alphabet"
    constraints = {"length": Integer(1), "mismatches": Integer(0), "alphabet": _Alphabet()}

    def __init__(self, length: int, mismatches: int = 1, alphabet: str | tuple[Hashable, ...] = "dna") -> None:
        self.length = length
        self.mismatches = mismatches
        self.alphabet = alphabet

    def check(self) -> Self:
        """Check the parameters, one by one and together."""
        super().check()
        if self.mismatches > self.length:
            raise ParameterError(
                f"Mismatch was given mismatches={self.mismatches} for substrings of length={self.length}; at most as "
                f"many as there are symbols are accepted. Give mismatches <= {self.length}, as a rule 1 or 2."
            )
        return self

    @property
    def letters(self) -> tuple[Hashable, ...]:
        """The symbols of the alphabet."""
        return letters_of(self.alphabet)[0]

    @property
    def _near(self) -> int:
        """How many k-mers are near one."""
        k, a = int(self.length), len(self.letters)
        return sum(comb(k, i) * (a - 1) ** i for i in range(int(self.mismatches) + 1))

    @property
    def _choices(self) -> int:
        """On how many choices of places two k-mers are compared."""
        k = int(self.length)
        return sum(comb(k, i) for i in range(min(2 * int(self.mismatches), k) + 1))

    @property
    def _by_features(self) -> bool:
        words = len(self.letters) ** int(self.length)
        return words <= _SMALL or (words < _LIMIT and self._near <= self._choices)

    @property
    def _key(self) -> str:
        return f"mismatch:{self.length}:{self.mismatches}:{self.alphabet!r}"

    def pack(self, X: Any) -> Samples:
        """Turn texts or sequences of symbols into Strings, all of whose symbols are of the alphabet.

        Parameters
        ----------
        X : list or array of str, or of sequences of symbols; a pandas, polars or pyarrow column
        """
        S = Strings.pack(X)
        self._recoded(S)
        return S

    def _prepare(self, A: Samples) -> Samples:
        """Count what the kernel compares, once per collection."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Strings)
        k = int(self.length)
        if self._by_features:
            matrix, words = self._neighbours(A)
            each = np.arange(len(words))
            return A.with_derived(self._key, WordCounts(matrix, each, np.zeros_like(each), words))
        places, missing = with_open_places(k, min(2 * int(self.mismatches), k))
        return A.with_derived(self._key, count_words(*self._pieces(A, places, missing)))

    def tile(self, view: View) -> Floats:
        """Add products over common words."""
        A, B = view.collections
        common = view.comparison.keep((view.path, self._key), lambda: self._compared(A, B))
        out = view.empty()
        common.tile(view.rows, view.columns, out)
        return out

    def _compared(self, A: Samples, B: Samples) -> Overlap:
        left = self._counts(A)
        factors = None if self._by_features else self._factors[left.groups]
        return compared(left.found, None if B is A else self._counts(B).found, factors)

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of squared numbers."""
        counts = self._counts(A)
        squares = counts.matrix * counts.matrix
        factors = np.ones(len(counts.groups)) if self._by_features else self._factors[counts.groups]
        return np.asarray(squares @ factors, dtype=float)

    def _features(self, A: Samples, keys: Kmers | None = None) -> Words:
        """Return #(s, u, m), (len A, D) CSR, and the words u of the columns; with `keys`, of those only."""
        matrix, words = self._counts(A).found if self._by_features else self._neighbours(A)
        if keys is None or keys is words:
            return matrix, words
        return renumbered(matrix, keys.find(words), len(keys)), keys

    def _feature_count(self, A: Samples) -> int:
        """Return the number of words near the k-mers of the collection."""
        return len(self.features(A)[1])

    @property
    def _factors(self) -> Floats:
        """Factors of the agreements on all but i places, i = 0, 1, ...: pairs at distance d get what they share."""
        k, m = int(self.length), int(self.mismatches)
        most = min(2 * m, k)
        factors = [0] * (most + 1)
        for d in range(most, -1, -1):  # a pair at distance d agrees on C(k - d, i - d) choices of k - i places
            above = sum(factors[i] * comb(k - d, i - d) for i in range(d + 1, most + 1))
            factors[d] = common_neighbours(k, m, d, len(self.letters)) - above
        return np.array(factors, dtype=float)

    def _counts(self, A: Samples) -> WordCounts:
        return self.prepare(A).derived[self._key]

    def _recoded(self, S: Strings) -> Codes:
        """Return the codes in the alphabet, -1 for a letter that is not known; refuse letters of no alphabet."""
        letters, others = letters_of(self.alphabet)
        place: dict[Any, int] = {letter: code for code, letter in enumerate(letters)} | dict.fromkeys(others, -1)
        table = np.array([place.get(symbol, -2) for symbol in S.vocabulary], dtype=np.int32)
        codes = table[S.codes] if len(table) else S.codes
        if len(codes) and codes.min() == -2:
            at = int(np.flatnonzero(codes == -2)[0])
            i = int(np.searchsorted(S.offsets, at, side="right")) - 1
            symbol = S.vocabulary[S.codes[at]]
            shown = "".join(map(str, letters)) if isinstance(self.alphabet, str) else str(letters)[:60]
            raise DomainError(
                f"Symbol {at - int(S.offsets[i])} of sample {i} is {symbol!r}, which is not in alphabet="
                f"{self.alphabet!r}; strings over {shown} are accepted. Give the alphabet of the strings, change case "
                "with str.upper, or remove the symbol."
            )
        return codes

    def _pieces(self, S: Strings, places: Codes, groups: Codes) -> tuple[Any, ...]:
        """Return strings in codes of the alphabet, patterns, and the pieces between letters that are not known."""
        codes = self._recoded(S)
        offsets = np.asarray(S.offsets, np.intp)
        unknown = np.flatnonzero(codes < 0)
        begins, ends = np.sort(np.append(offsets[:-1], unknown + 1)), np.sort(np.append(offsets[1:], unknown))
        owner = np.searchsorted(offsets, unknown, side="right") - 1
        owners = np.repeat(np.arange(len(S)), 1 + np.bincount(owner, minlength=len(S)))
        return Strings(Ragged(codes, offsets), self.letters), places, groups, (begins, ends, owners)

    def _neighbours(self, S: Samples) -> Words:
        """Return the features: counts of k-mers times the words near each of them."""
        assert isinstance(S, Strings)
        k, letters = int(self.length), self.letters
        if len(letters) ** k >= _LIMIT:
            raise CapabilityError(
                f"{self!r} has more than 2**62 words, too many to make features of; at most "
                f"{int(62 / np.log2(len(letters)))} symbols are accepted for that. Use gram=Dense(), which needs none."
            )
        counts = count_words(*self._pieces(S, np.arange(k, dtype=np.int32)[None], np.zeros(1, np.int64)))
        kmers = counts.words.codes.reshape(-1, k)
        plan = {"words": 40 * len(kmers) * self._near}
        budget.Plan(f"features of {self!r}, {self._near} for each of {len(kmers)} substrings", plan).require(None)
        near = np.empty((len(kmers), self._near), np.int64)
        _number_near(kmers, _changes(k, int(self.mismatches), len(letters)), len(letters), near)
        distinct, columns = np.unique(near, return_inverse=True)
        indptr = np.arange(len(kmers) + 1, dtype=np.intp) * self._near
        around = sp.csr_array((np.ones(near.size), columns.ravel(), indptr), shape=(len(kmers), len(distinct)))
        matrix = sp.csr_array(counts.matrix @ around)
        matrix.sort_indices()
        powers = len(letters) ** np.arange(k - 1, -1, -1, dtype=np.int64)
        codes = (distinct[:, None] // powers % len(letters)).astype(np.int32)
        return matrix, Kmers(letters, k, codes.ravel(), np.arange(len(codes), dtype=np.intp) * k)


def common_neighbours(length: int, mismatches: int, distance: int, letters: int) -> int:
    """Return how many words differ in at most some symbols from both of two words that differ in `distance`.

    Examples
    --------
    >>> common_neighbours(2, 1, 1, 4)  # the two words, and the other letters at the place in which they differ
    4
    """
    total = 0
    for first, second in product(
        range(distance + 1), repeat=2
    ):  # of the places that differ: as in one, as in the other
        neither = distance - first - second
        if neither < 0:
            continue
        ways = comb(distance, first) * comb(distance - first, second) * (letters - 2) ** neither
        rest = mismatches - max(distance - first, distance - second)
        total += sum(ways * comb(length - distance, e) * (letters - 1) ** e for e in range(max(rest, -1) + 1))
    return total


def with_open_places(length: int, most: int) -> tuple[Codes, Codes]:
    """Return all patterns of some places with at most this many open ones, (P, length), and how many each has."""
    require_room(sum(comb(length, count) for count in range(most + 1)), length)
    patterns = []
    for count in range(most + 1):
        for is_open in combinations(range(length), count):
            patterns.append([-1 if place in is_open else place for place in range(length)])
    places = np.array(patterns, dtype=np.int32)
    return places, (places < 0).sum(axis=1)


def _changes(length: int, mismatches: int, letters: int) -> NDArray[np.int64]:
    """Return all ways to change at most this many letters: what is added to each, modulo the number of letters."""
    changes = []
    for count in range(mismatches + 1):
        for places in combinations(range(length), count):
            for steps in product(range(1, letters), repeat=count):
                change = [0] * length
                for place, step in zip(places, steps, strict=True):
                    change[place] = step
                changes.append(change)
    return np.array(changes, dtype=np.int64)


@compiled
def _number_near(kmers, changes, letters, out):
    for i in range(kmers.shape[0]):
        for change in range(changes.shape[0]):
            number = 0
            for t in range(kmers.shape[1]):
                letter = kmers[i, t] + changes[change, t]
                number = number * letters + (letter - letters if letter >= letters else letter)
            out[i, change] = number


class Wildcard(PatternKernel):
    r"""Wildcard kernel: common substrings of a given length, some symbols of which may be any.

    .. math:: k(s, t) = \sum_{u \in (\Sigma \cup \{*\})^k,\; |u|_* \le m} \lambda^{2 |u|_*}\, \#(s, u)\, \#(t, u)

    where #(s, u) counts the places of s with a k-mer that agrees with u wherever u has a symbol, and |u|_*
    counts the wildcards * of u.

    Seed: [HSS] "n-grams and Suffix Trees", inexact matches of a limited degree. Unlike `Mismatch` it does not depend on
    an alphabet.

    Parameters
    ----------
    length : int
        The number k of symbols of the substrings. At least 1.
    wildcards : int, default 1
        The number m of symbols that may be any. At least 0 (which is `Spectrum`); more than `length` are as many.
    decay : float, default 1.0
        The factor lambda, 0 < lambda <= 1, of a feature for each of its wildcards.

    Notes
    -----
    Domain Strings. A string shorter than k has k(s, s) = 0. Features the counts of the words that occur, in which None
    is a wildcard, times lambda^|u|_*. Differentiable in `decay`. Positive definite of order 0 by its features; not
    strict, since different strings may have the same counts, and hence not universal; not bounded. With decay = 1
    values are whole numbers, exact below 2^53. Cost O(c N) to count with c = sum_i<=m C(k, i) choices of places, then
    that of a spectrum kernel.

    Examples
    --------
    >>> Wildcard(3, 1)(["cat", "cut"])  # "c*t"
    array([[4., 1.],
           [1., 4.]])
    >>> Wildcard(3, 1, decay=0.5)(["cat", "cut"])
    array([[1.75, 0.25],
           [0.25, 1.75]])
    """

    formula = r"\sum_{u \in (\Sigma \cup \{*\})^k,\; |u|_* \le m} \lambda^{2 |u|_*} \#(s, u) \#(t, u)"
    cost = "O(c N) to count with c choices of places, then O(common words) a pair"
    constraints = {"length": Integer(1), "wildcards": Integer(0), "decay": Interval(0.0, 1.0, closed="right")}

    def __init__(self, length: int, wildcards: int = 1, decay: float = 1.0) -> None:
        self.length = length
        self.wildcards = wildcards
        self.decay = decay

    @property
    def _key(self) -> str:
        return f"wildcard:{self.length}:{self.wildcards}"

    def patterns(self) -> tuple[Codes, Codes]:
        """Return all choices of open places, and how many each has."""
        return with_open_places(int(self.length), min(int(self.wildcards), int(self.length)))

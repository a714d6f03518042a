"""MinHash: random features whose dot product is nearly the Jaccard similarity of two sets.

Symbols: X a set of symbols or of substrings, h_c random orders of all there may be, c = 1, ..., C; b bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.constraints import Integer
from mercer.domains import Samples, Strings
from mercer.domains.samples import packed_pair
from mercer.kernels.abilities import Featured
from mercer.kernels.kernel import Kernel, mirror
from mercer.runtime.compiled import compiled

__all__ = ["MinHash"]
__public__ = __all__


class MinHash(Kernel, Featured):
    r"""MinHash kernel: sets are as alike as the share of random orders in which they have the same first element.

    .. math:: k(X, X') = \frac{1}{C} \sum_{c=1}^C [m_c(X) = m_c(X')], \quad
        m_c(X) = \min_{x \in X} h_c(x) \bmod 2^b, \quad
        \mathbb{E}\, k = J + 2^{-b} (1 - J)

    where J is the Jaccard similarity of the sets, and h_c are random hashes.

    Seed: none of the five gives it; Broder (1997), by bits Li and Koenig (2010).

    Parameters
    ----------
    count : int, default 128
        C >= 1 hashes: the standard deviation from J is at most 1 / (2 sqrt(C)).
    length : int, default 1
        How many consecutive symbols make an element: 1 takes a string as the set of its symbols, 5 as that of its
        substrings of five.
    bits : int, default 8
        b, between 1 and 16: how many bits of each hash are kept. There are C 2^b features, C of them not zero.
    random_state : int, default 0
        The hashes depend on it and on the symbols alone, not on the process or on what else is in a call.

    Notes
    -----
    Domain Strings: a list of texts, of lists of words, or of Python sets. Features indicators of the hashes, sparse: a
    linear machine on them is one with the Jaccard kernel on many sets. Nothing to differentiate. Positive definite of
    order 0 by its features, which the estimate J is not if 2^-b is subtracted. Not strict; normalised and bounded.
    Empty sets are alike. For exact values use `Jaccard`. Cost O(C) a symbol, then O(C) a pair.

    Examples
    --------
    >>> words = [{"red", "round", "sweet"}, {"red", "round", "sour"}, {"loud"}]
    >>> MinHash(1000)(words).round(1)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """

    domain = Strings
    formula = r"\sum_c [m_c(X) = m_c(X')] / C"
    cost = "O(C) a symbol, then O(C) a pair"
    normalised = True
    bounded = True
    constraints = {"count": Integer(1), "length": Integer(1), "bits": Integer(1, 16), "random_state": Integer(0)}

    def __init__(self, count: int = 128, length: int = 1, bits: int = 8, random_state: int = 0) -> None:
        self.count = count
        self.length = length
        self.bits = bits
        self.random_state = random_state

    def pack(self, X: Any) -> Samples:
        """Pack a list of sets as the symbols in them, anything else as strings."""
        one_axis = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 1)
        if one_axis and len(X) and all(isinstance(one, Set) for one in X):
            X = [sorted(one, key=lambda member: (type(member).__name__, repr(member))) for one in X]
        return Strings.pack(X)

    @property
    def _key(self) -> str:
        return f"minima:{self!r}"

    def _prepare(self, A: Samples) -> Samples:
        """Hash every sample, once per collection."""
        return A if self._key in A.derived else A.with_derived(self._key, self._minima(A))

    def _minima(self, A: Samples) -> NDArray[np.uint16]:
        """Return the kept bits of the least hashes, (len A, C)."""
        assert isinstance(A, Strings)
        words = np.array([_digest(word) for word in A.vocabulary] or [0], dtype=np.uint64)
        seeds = np.random.default_rng(int(self.random_state)).integers(0, 2**64, int(self.count), dtype=np.uint64)
        out = np.empty((len(A), int(self.count)), np.uint16)
        _hash_all(words, A.codes, A.offsets, int(self.length), seeds, np.uint64(2**self.bits - 1), out)
        return out

    def _signatures(self, A: Samples) -> NDArray[np.uint16]:
        return self.prepare(A).derived[self._key]

    def block(self, A: Samples, B: Samples) -> Floats:
        """Count equal hashes."""
        A, B = packed_pair(A, B, self._ready)
        out = np.zeros((len(A), len(B)))
        _count_equal(self._signatures(A), self._signatures(B), B is A, out)
        return mirror(out) if B is A else out

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return an indicator for each hash and value, over the root of C, as CSR; the columns are always the same."""
        S = self._signatures(A).astype(np.int64)
        places = S + 2 ** int(self.bits) * np.arange(S.shape[1])
        indptr = np.arange(0, S.size + 1, S.shape[1])
        data = np.full(S.size, 1.0 / np.sqrt(S.shape[1]))
        return sp.csr_array((data, places.ravel(), indptr), shape=(len(S), S.shape[1] * 2 ** int(self.bits))), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return C 2^b."""
        return int(self.count) * 2 ** int(self.bits)


def _digest(word: Any) -> int:
    """Return 64 bits that depend on a symbol alone; whole numbers of all types are the same symbol."""
    plain = int(word) if isinstance(word, bool | int | np.integer) else word
    content = f"{type(plain).__name__}:{plain!r}".encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


@compiled
def _mix(x):
    """Return 64 well-mixed bits of 64 bits (splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _hash_all(words, codes, offsets, length, seeds, mask, out):
    largest = np.uint64(0xFFFFFFFFFFFFFFFF)
    least = np.empty(seeds.size, np.uint64)
    for i in range(offsets.size - 1):
        least[:] = largest  # of a set without elements
        for start in range(offsets[i], offsets[i + 1] - length + 1):
            element = np.uint64(length)
            for place in range(start, start + length):
                element = _mix(element * np.uint64(0x9E3779B97F4A7C15) + words[codes[place]])
            for c in range(seeds.size):
                value = _mix(element ^ seeds[c])
                if value < least[c]:
                    least[c] = value
        for c in range(seeds.size):
            out[i, c] = _mix(least[c]) & mask  # low bits of a minimum are mixed: their size says nothing


@compiled
def _count_equal(left, right, symmetric, out):
    count = left.shape[1]
    for i in range(left.shape[0]):
        for j in range(i if symmetric else 0, right.shape[0]):
            equal = 0
            for c in range(count):
                equal += left[i, c] == right[j, c]
            out[i, j] = equal / count

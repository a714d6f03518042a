"""A kernel on texts that compares pairs of words that occur near each other, in a sentence or a window.

Symbols: t, u words, V the number of distinct words, L the number of pairs of places that are near.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from mercer import budget
from mercer.arrays import Indices
from mercer.constraints import Boolean, Constraint, Integer, Optional
from mercer.domains import Samples, Whole
from mercer.domains.texts import Texts
from mercer.kernels.counts import count
from mercer.kernels.kmers import Kmers
from mercer.kernels.texts.bag_of_words import FREQUENCY, Bag, OfTerms, Tokenizer, frequencies
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import in_background
from mercer.spec import derived

__all__ = ["WordPairs"]
__public__ = __all__


class _Letters(Constraint):
    """A text of different characters, which may be empty."""

    @property
    def accepted(self) -> str:
        return "a text of the characters that end a sentence"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str)

    def advice(self, name: str, value: Any) -> str:
        return f"Write {name}='.!?', or {name}='' for one sentence per document."


class WordPairs(OfTerms):
    r"""Word pairs: which pairs of words occur in one sentence, or near each other, in both documents.

    .. math:: k(d, d') = \sum_{\{t, u\}} \#(d, \{t, u\}) \, \#(d', \{t, u\})

    where #(d, {t, u}) counts the pairs of places of d with the words t and u in one sentence, at most `window` apart.

    Seed: [HSS] Section 2.2.5, "Bag of Words".

    Parameters
    ----------
    window : int, optional
        How many words apart the two may be at most; 1 takes neighbours only. None takes all pairs of a sentence.
    ordered : bool, default False
        Whether "dog bites man" and "man bites dog" have different pairs.
    ends : str, default ".!?"
        Characters that end a sentence unless a word continues after them. With "" a document is one sentence. In
        documents that are given as lists of words, or made by a tokenizer, they are separate words.
    frequency : {"count", "binary", "log"}, default "count"
        What # is: how often the pair occurs in the document; 1 if it does; 1 + ln of how often.
    tokenizer : callable, optional
        Takes one document and returns its words, as for `BagOfWords`.

    Notes
    -----
    Domain Texts. Features the frequencies of the pairs that occur, sparse; no parameter to differentiate. A word that
    occurs twice in a sentence is a pair with itself. Pairs seen before or not count alike. Positive definite of order 0
    by its features; not strict, since different documents may have the same pairs, and hence not universal; not
    bounded. A document without two words in a sentence has k(d, d) = 0. Cost O(L) to count, then one product for each
    pair of documents and each pair of words both have; L grows with the square of the sentences unless there is a
    window.

    Examples
    --------
    >>> WordPairs()(["Dogs bark. Cats purr.", "Cats and dogs bark.", "Purr, cats!"])
    array([[2., 1., 1.],
           [1., 6., 0.],
           [1., 0., 1.]])
    >>> WordPairs(1, ordered=True)(["dog bites man"], ["man bites dog", "the dog bites"])
    array([[0., 1.]])
    """

    formula = r"\sum_{\{t, u\}} \#(d, \{t, u\}) \, \#(d', \{t, u\})"
    cost = "O(pairs) to count, then O(common pairs) a pair"
    constraints = {
        "window": Optional(Integer(1)),
        "ordered": Boolean(),
        "ends": _Letters(),
        "frequency": FREQUENCY,
    }

    def __init__(
        self,
        window: int | None = None,
        *,
        ordered: bool = False,
        ends: str = ".!?",
        frequency: str = "count",
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.window = window
        self.ordered = ordered
        self.ends = ends
        self.frequency = frequency
        self.tokenizer = tokenizer

    @derived
    def part(self) -> Hashable:
        """The documents as words and ends of sentences."""
        return Whole(("words", self.tokenizer, self.ends))

    def pack(self, X: Any) -> Samples:
        """Cut documents into words and ends of sentences; packed Texts are returned as they are.

        Parameters
        ----------
        X : list or array of str, or of lists of words; a pandas, polars or pyarrow column
        """
        return Texts.pack(X, self.tokenizer, self.ends)

    def bag(self, A: Samples) -> Bag:
        """Count the pairs of every document."""
        assert isinstance(A, Texts)
        is_end = np.array([isinstance(w, str) and len(w) == 1 and w in self.ends for w in A.vocabulary], dtype=bool)
        base = max(len(A.vocabulary), 1)
        longest = int(A.lengths.max(initial=1))
        reach = longest if self.window is None else min(int(self.window), longest)
        rows = A.codes, np.asarray(A.offsets, dtype=np.intp), is_end, reach
        bounds = _bounds(*rows)
        # numbers, and what sorts them
        budget.Plan(f"{self!r} on {len(A)} documents", {"pairs": 40 * int(bounds[-1])}).require(None)
        values = np.empty(bounds[-1], np.int64)
        in_background(_pair, *rows, base, bool(self.ordered), values, work=8.0 * len(values))
        matrix, first = count(values, bounds, base * base)
        codes = np.stack(np.divmod(values[first], base), axis=1).ravel()
        pairs = Kmers(A.vocabulary, 2, codes, 2 * np.arange(len(first), dtype=np.intp))
        return Bag(frequencies(matrix, self.frequency), pairs)

    def places(self, terms: Any, others: Any) -> Indices:
        """Find pairs among others, in either order if the order does not count."""
        found = terms.find(others)
        if self.ordered or others is terms:
            return found
        turned = Kmers(others.vocabulary, 2, others.codes.reshape(-1, 2)[:, ::-1].ravel(), others.starts)
        return np.maximum(found, terms.find(turned))


@compiled
def _bounds(codes, offsets, is_end, reach):
    """Return where the pairs of each document begin among all pairs."""
    bounds = np.zeros(offsets.size, np.intp)
    for i in range(offsets.size - 1):
        count, before = 0, 0  # words of the sentence so far
        for place in range(offsets[i], offsets[i + 1]):
            if is_end[codes[place]]:
                before = 0
            else:
                count += min(before, reach)
                before += 1
        bounds[i + 1] = bounds[i] + count
    return bounds


@compiled
def _pair(codes, offsets, is_end, reach, base, ordered, values):
    """Write the numbers of all pairs."""
    count = 0
    for i in range(offsets.size - 1):
        for place in range(offsets[i], offsets[i + 1]):
            code = np.int64(codes[place])
            if is_end[code]:
                continue
            for other in range(place + 1, min(place + reach + 1, offsets[i + 1])):
                second = np.int64(codes[other])
                if is_end[second]:
                    break
                if ordered or code <= second:
                    values[count] = code * base + second
                else:
                    values[count] = second * base + code
                count += 1

"""Kernels on texts that compare the words two documents have in common: bag of words and tf-idf.

Symbols: D the matrix of documents and terms, tf(t, d) how often term t occurs in document d, m the number of documents
of a corpus, df(t) in how many of them t occurs, w(t) the weight of a term.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, InstanceOf, OneOf, Optional, Satisfies
from mercer.domains import Samples, Whole
from mercer.domains.samples import is_hashable
from mercer.domains.texts import Texts
from mercer.errors import ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import arrays_of, count, overlap, renumbered
from mercer.kernels.kernel import Kernel, Tiled
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["BagOfWords", "Corpus", "TfIdf"]
__public__ = ["BagOfWords", "TfIdf"]

Tokenizer = Callable[[str], Iterable[Any]]

FREQUENCY = OneOf("count", "binary", "log")


@dataclass(frozen=True, eq=False)
class Bag:
    """Numbers of terms in documents, with the meaning of the columns; slices of a collection share the terms."""

    matrix: sp.csr_array  # (n, D) float64, indices sorted
    terms: Any

    def __len__(self) -> int:
        return len(self.matrix.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return sum(a.nbytes for a in arrays_of(self.matrix))

    def take(self, index: slice | Indices) -> Bag:
        """Numbers of some of the documents."""
        return Bag(self.matrix[index], self.terms)


class OfTerms(Tiled, Featured):
    """A kernel that is the dot product of sparse vectors of terms, made once per collection."""

    domain = Texts
    constraints = {
        "tokenizer": Satisfies(
            "a function of one text that returns its words, or None",
            lambda value: value is None or (callable(value) and is_hashable(value)),
            "str.split",
        )
    }
    tokenizer: Tokenizer | None

    # data -------------------------------------------------------------------------------------------

    @derived
    def part(self) -> Hashable:
        """The documents as words: beside a kernel on their letters, both read the same documents."""
        return Whole(("words", self.tokenizer, ""))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the documents, cut into words."""
        return {self.part: self.pack}

    def pack(self, X: Any) -> Samples:
        """Cut documents into words; packed Texts are returned as they are.

        Parameters
        ----------
        X : list or array of str, or of lists of words; a pandas, polars or pyarrow column
        """
        return Texts.pack(X, self.tokenizer)

    # numbers ----------------------------------------------------------------------------------------

    @abstractmethod
    def bag(self, A: Samples) -> Bag:
        """Return the vectors of terms of a collection, from the words."""

    @abstractmethod
    def places(self, terms: Any, others: Any) -> Indices:
        """Return for each of the other terms its place among the terms, or -1."""

    def _prepare(self, A: Samples) -> Samples:
        """Make the vectors of terms, once per collection."""
        key = repr(self)  # what is learned appears there as a digest
        return A if key in A.derived else A.with_derived(key, self.bag(A))

    def prepared(self, A: Samples) -> Bag:
        """Return the vectors of terms of a collection, which may have been made before."""
        return self.prepare(A).derived[repr(self)]

    def tile(self, view: View) -> Floats:
        """Add the products of numbers over common terms."""
        A, B = view.collections
        out = view.empty()
        common = view.comparison.keep(("terms", id(self), view.path), lambda: self._compared(A, B))
        common.tile(view.rows, view.columns, out)
        return out

    def _compared(self, A: Samples, B: Samples) -> Any:
        left = self.prepared(A)
        return overlap(left.matrix, None if B is A else self._renumbered(self.prepared(B), left.terms))

    def _renumbered(self, bag: Bag, terms: Any) -> sp.csr_array:
        if terms is bag.terms:
            return bag.matrix
        return renumbered(bag.matrix, self.places(terms, bag.terms), len(terms))

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of squares."""
        matrix = self.prepared(A).matrix
        return np.asarray((matrix * matrix).sum(axis=1), dtype=float)

    def _features(self, A: Samples, keys: Any = None) -> tuple[sp.csr_array, Any]:
        """Return the vectors of terms, (len A, D) CSR, and the terms of the columns; with `keys`, of those only."""
        bag = self.prepared(A)
        return (bag.matrix, bag.terms) if keys is None else (self._renumbered(bag, keys), keys)

    def _feature_count(self, A: Samples) -> int:
        """Return the number of distinct terms of the collection."""
        return len(self.prepared(A).terms)


class BagOfWords(OfTerms):
    r"""Bag of words: which words two documents have in common, wherever they occur.

    .. math:: k(d, d') = \sum_t \mathrm{tf}(t, d) \, \mathrm{tf}(t, d'), \qquad K = D D^\top

    Seed: [ST] "Kernels for text", the vector space model; [HSS] Section 2.2.5, "Bag of Words"; [SS] Section 7.1.

    Parameters
    ----------
    frequency : {"count", "binary", "log"}, default "count"
        What tf is: how often the word occurs in the document; 1 if it does; 1 + ln of how often.
    tokenizer : callable, optional
        Takes one document and returns its words. By default documents are put in lower case and cut into runs of
        letters, digits and marks (see `mercer.domains.texts.Texts`). Documents given as lists of words are not cut.

    Notes
    -----
    Domain Texts, from raw documents. Features the frequencies of the words that occur, sparse; no parameter to
    differentiate. Every word counts, seen before or not, and the value for two documents depends on no other. Positive
    definite of order 0 by its features; not strict, since the order of words is ignored, and hence not universal; not
    bounded, as it grows with the documents (``.normalized()`` gives the cosine). Only a document without words has
    k(d, d) = 0. Cost O(N) to count N words, then one product for each pair of documents and each word both have.

    Examples
    --------
    >>> BagOfWords()(["The cat sat on the mat.", "A cat!", "The dog sat."])
    array([[8., 1., 3.],
           [1., 2., 0.],
           [3., 0., 3.]])
    >>> BagOfWords(tokenizer=str.split)(["to be or not to be"], ["to do"])
    array([[2.]])
    """

    synonyms = ("bag of words", "vector space kernel")
    formula = r"\sum_t \mathrm{tf}(t, d) \, \mathrm{tf}(t, d')"
    cost = "O(N) to count, then O(common words) a pair"
    constraints = {"frequency": FREQUENCY}

    def __init__(self, *, frequency: str = "count", tokenizer: Tokenizer | None = None) -> None:
        self.frequency = frequency
        self.tokenizer = tokenizer

    def bag(self, A: Samples) -> Bag:
        """Count the words of every document."""
        assert isinstance(A, Texts)
        values, span = A.codes.astype(np.int64), len(A.vocabulary)
        matrix, first = count(values, np.asarray(A.offsets, dtype=np.intp), max(span, 1))
        if len(first) < span:  # a slice of a collection, without some of its words
            terms = tuple(A.vocabulary[code] for code in A.codes[first])
        else:
            terms = A.vocabulary
        return Bag(frequencies(matrix, self.frequency), terms)

    def places(self, terms: Any, others: Any) -> Indices:
        """Find words among others."""
        return find(terms, others)


def find(terms: Sequence[Hashable], others: Sequence[Hashable]) -> Indices:
    """Return for each of the other terms its place among the terms, or -1."""
    if others is terms:
        return np.arange(len(terms), dtype=np.intp)
    place = {term: i for i, term in enumerate(terms)}
    return np.array([place.get(term, -1) for term in others], dtype=np.intp)


def frequencies(counts: sp.csr_array, kind: str) -> sp.csr_array:
    """Return tf of counts."""
    if kind == "count":
        return counts
    data = np.ones_like(counts.data) if kind == "binary" else 1.0 + np.log(counts.data)
    return sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


# ---------------------------------------------------------------------------------------- weights


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """What tf-idf knows of a corpus: how many documents there are, and in how many each word occurs.

    Parameters
    ----------
    documents : float
        m; with weighted documents the sum of their weights.
    words : tuple
        Distinct words.
    frequencies : (N,) array
        df of each word, above 0 and at most m.

    Examples
    --------
    >>> corpus = Corpus(4, ("the", "cat"), np.array([4.0, 1.0]))
    >>> TfIdf(corpus=corpus)(["the cat", "the dog"]).round(3)
    array([[1.922, 0.   ],
           [0.   , 0.   ]])
    >>> (np.log([4 / 4, 4 / 1]) ** 2).round(3)
    array([0.   , 1.922])
    """

    documents: float
    words: tuple[Hashable, ...]
    frequencies: Floats

    def check(self) -> None:
        """Raise ParameterError unless the numbers are those of some corpus."""
        df, m = np.asarray(self.frequencies), self.documents
        sound = isinstance(m, (int, float)) and np.isfinite(m) and m > 0 and isinstance(self.words, tuple)
        sound = (
            sound and df.shape == (len(self.words),) and df.dtype.kind in "fiu" and bool(np.all((df > 0) & (df <= m)))
        )
        if not sound or len(set(self.words)) != len(self.words):
            raise ParameterError(
                f"A Corpus was given of {m!r} documents, {len(self.words)} words and frequencies of shape {df.shape}; "
                "different words are needed and for each a number above 0 of at most that of the documents. Leave the "
                "corpus out to learn it from training documents."
            )

    @cached_property
    def digest(self) -> str:
        """A few letters that differ from corpus to corpus."""
        return digest(self.documents, self.words, np.asarray(self.frequencies, dtype=float))

    def __repr__(self) -> str:
        return f"<Corpus: {self.documents:g} documents, {len(self.words)} words, {self.digest}>"

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Corpus) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __deepcopy__(self, memo: dict[int, Any]) -> Corpus:
        return self


def digest(*parts: Any) -> str:
    """Return a few letters that differ if any of some arrays and other values do."""
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype}{part.shape}".encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(repr(part).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


class TfIdf(OfTerms):
    r"""Tf-idf: the words two documents have in common, each weighted by how rare it is in a corpus.

    .. math:: k(d, d') = \sum_t w(t)^2 \, \mathrm{tf}(t, d) \, \mathrm{tf}(t, d'), \qquad w(t) = \ln(m / \mathrm{df}(t))

    Seed: [ST] "Semantics for text".

    Parameters
    ----------
    smooth : bool, default False
        Whether w(t) = ln((1 + m) / (1 + df(t))) + 1, scikit-learn's default, in which no word has weight 0.
    frequency : {"count", "binary", "log"}, default "count"
        What tf is: how often the word occurs in the document; 1 if it does; 1 + ln of how often.
    corpus : Corpus, optional
        Numbers of documents with each word. By default they are learned from training documents, in `fit`.
    tokenizer : callable, optional
        Takes one document and returns its words, as for `BagOfWords`.

    Notes
    -----
    Domain Texts. What is learned comes from the training documents alone: nothing leaks between folds. A document of
    weight v counts as v documents. Words that occur in every document have weight 0, and so do words that the corpus
    does not have: a new document is compared by its known words. Features w(t) tf(t, d), sparse, a column for each word
    of the corpus; no parameter to differentiate. Positive definite of order 0 by its features; neither strict nor
    universal; not bounded. ``TfIdf(smooth=True).normalized()`` is the dot product of scikit-learn's TfidfVectorizer.
    Cost O(N) to count N words, then one product for each pair of documents and each word both have.

    Examples
    --------
    >>> documents = ["the cat sat", "the dog sat", "the cat ran", "the end"]
    >>> k = TfIdf()
    >>> k = k.learn(k.pack(documents))
    >>> k
    TfIdf(corpus=<Corpus: 4 documents, 6 words, bed9a80a42f22603>)
    >>> k(["a cat sat", "the cat", "the"]).round(3)
    array([[0.961, 0.48 , 0.   ],
           [0.48 , 0.48 , 0.   ],
           [0.   , 0.   , 0.   ]])
    """

    synonyms = ("tf-idf kernel",)
    formula = r"\sum_t \ln(m / \mathrm{df}(t))^2 \, \mathrm{tf}(t, d) \, \mathrm{tf}(t, d')"
    cost = "O(N) to count, then O(common words) a pair"
    constraints = {"smooth": Boolean(), "frequency": FREQUENCY, "corpus": Optional(InstanceOf(Corpus))}

    def __init__(
        self,
        *,
        smooth: bool = False,
        frequency: str = "count",
        corpus: Corpus | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.smooth = smooth
        self.frequency = frequency
        self.corpus = corpus
        self.tokenizer = tokenizer

    def check(self) -> Self:
        """Raise ParameterError unless a corpus that is given is sound."""
        super().check()
        if self.corpus is not None:
            self.corpus.check()
        return self

    @property
    def _words(self) -> BagOfWords:
        return BagOfWords(frequency=self.frequency, tokenizer=self.tokenizer)

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Count the documents with each word."""
        if self.corpus is not None:
            return self
        assert isinstance(S, Texts)
        v = np.ones(len(S)) if weight is None else np.asarray(weight, dtype=float)
        m, terms, df = float(v.sum()), S.vocabulary, np.zeros(len(S.vocabulary))
        _add_documents(S.codes, S.offsets, v, np.full(len(terms), -1, np.intp), df)
        if not df.all():  # words of other documents of the collection, or of those that are left out
            terms, df = tuple(terms[i] for i in np.flatnonzero(df)), df[df > 0]
        return self.replace(corpus=Corpus(m, terms, np.minimum(df, m)))  # sums may be rounded

    @property
    def weights(self) -> dict[Hashable, float]:
        """w(t) of the words of the corpus."""
        corpus = self._learned()
        return dict(zip(corpus.words, self._idf(corpus).tolist(), strict=True))

    def _idf(self, corpus: Corpus) -> Floats:
        m, df = corpus.documents, np.asarray(corpus.frequencies, dtype=float)
        return np.log((1.0 + m) / (1.0 + df)) + 1.0 if self.smooth else np.log(m / df)

    def _learned(self) -> Corpus:
        if self.corpus is None:
            raise ParameterError(
                f"{self!r} is not fitted: its weights are learned from training documents. "
                "Use it in an estimator, call learn(samples), or give a corpus."
            )
        return self.corpus

    def bag(self, A: Samples) -> Bag:
        """Weigh the words that the corpus has."""
        corpus = self._learned()
        counts = self._words.prepared(A)
        known = renumbered(counts.matrix, find(corpus.words, counts.terms), len(corpus.words))
        data = known.data * self._idf(corpus)[known.indices]
        return Bag(sp.csr_array((data, known.indices, known.indptr), shape=known.shape), corpus.words)

    def _feature_count(self, A: Samples) -> int:
        """Return the number of words of the corpus; before it is learned, that of the collection."""
        return self._words._feature_count(A) if self.corpus is None else len(self.corpus.words)

    def places(self, terms: Any, others: Any) -> Indices:
        """Find words among others."""
        return find(terms, others)


@compiled
def _add_documents(codes, offsets, weights, last, df):
    """Add the weight of each document to its words, once to each; `last` is where each word was seen last."""
    for i in range(offsets.size - 1):
        for place in range(offsets[i], offsets[i + 1]):
            word = codes[place]
            if last[word] != i:
                last[word] = i
                df[word] += weights[i]

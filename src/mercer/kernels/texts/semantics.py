"""Kernels on texts that know how words are related: semantic maps, co-occurrence, latent semantics.

Symbols: phi(d) the vector of terms of a document, S the matrix of a semantic map, with a row for each term; D the
matrix of documents and terms of a corpus, m its documents; D' = U Sigma V' its singular value decomposition.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from mercer import budget
from mercer.arrays import Floats, Indices
from mercer.constraints import InstanceOf, Integer, Optional, Satisfies, is_real
from mercer.domains import Samples
from mercer.domains.samples import is_hashable
from mercer.errors import ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import Base, Path, View
from mercer.kernels.composite import Wrapped
from mercer.kernels.counts import renumbered
from mercer.kernels.kernel import Kernel, narrowed, offers
from mercer.kernels.protocols import HasFeatures
from mercer.kernels.texts.bag_of_words import Bag, BagOfWords, OfTerms, TfIdf, Tokenizer, digest, find
from mercer.numerics.operands import row_products
from mercer.runtime.tiling import in_background
from mercer.sparse_checks import sparse_fault
from mercer.spec import derived

__all__ = ["Cooccurrence", "LatentSemantic", "Semantic", "SemanticMap"]
__public__ = ["Cooccurrence", "LatentSemantic", "Semantic"]

_DENSE = 2**24  # entries of a matrix of documents and terms up to which all singular vectors are computed


@dataclass(frozen=True, eq=False, repr=False)
class SemanticMap:
    """The matrix S of a semantic map, with the meaning of its rows.

    Parameters
    ----------
    keys : tuple of words, or what a kernel gives as the keys of its features
        One for each row.
    matrix : (N, q) array or csr_array
        Row t is what term t contributes to each of q meanings.

    Examples
    --------
    >>> S = SemanticMap(("car", "auto", "boat"), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> Semantic(S)(["my car", "an auto", "a boat"])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    keys: Any
    matrix: Any

    def check(self) -> None:
        """Raise ParameterError unless there is a row of finite numbers for each key."""
        matrix: Any = self.matrix
        sparse = isinstance(matrix, sp.csr_array)
        sound = (sparse and sparse_fault(matrix) is None) or (isinstance(matrix, np.ndarray) and matrix.ndim == 2)
        values = np.asarray(matrix.data if sparse else matrix)
        sound = sound and values.dtype.kind in "fiu" and bool(np.isfinite(values).all())
        if not sound:
            raise ParameterError(
                f"A SemanticMap was given with a matrix of type {type(matrix).__name__} and shape "
                f"{getattr(matrix, 'shape', None)}; an array or csr_array of finite numbers with a row for each term "
                "is accepted. Correct the matrix."
            )

    @cached_property
    def digest(self) -> str:
        """A few letters that differ from map to map."""
        matrix: Any = self.matrix
        arrays = (matrix.data, matrix.indices, matrix.indptr) if sp.issparse(matrix) else (np.asarray(matrix),)
        # keys of other kernels are not words; the numbers made from them differ
        return digest(self.keys if isinstance(self.keys, tuple) else None, *arrays)

    def __repr__(self) -> str:
        rows, columns = self.matrix.shape
        return f"<SemanticMap: {rows} terms, {columns} meanings, {self.digest}>"

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, SemanticMap) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __deepcopy__(self, memo: dict[int, Any]) -> SemanticMap:
        return self


def _are_links(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return bool(value) and all(map(_is_triple, value))
    return isinstance(value, (Mapping, SemanticMap))


class Semantic(OfTerms):
    r"""Semantic kernel: words count for what they mean according to a given map.

    .. math:: k(d, d') = \phi(d)^\top S S^\top \phi(d')

    Seed: [ST] "Semantics for text".

    Parameters
    ----------
    links : dict, tuple or SemanticMap
        The rows of S. A dict maps a word to what it means: a word (stemming: ``{"cats": "cat"}``), a list of words
        (synonyms, broader terms as in WordNet: each with weight 1) or a dict of words and weights (query expansion:
        ``{"car": {"car": 1.0, "engine": 0.3}}``). A tuple has a (word, meaning, weight) for each entry that is not
        zero. In both, words that are not named mean themselves. A SemanticMap gives the matrix; words that it does not
        have are left out.
    base : BagOfWords or TfIdf, optional
        Gives phi; BagOfWords() by default. With TfIdf, S is diag(w) times the links.

    Notes
    -----
    Domain Texts. Features phi(d)' S, sparse, with the meanings as keys; no parameter to differentiate. Positive
    definite of order 0 by its features; neither strict nor universal; not bounded. Cost that of the base, and one
    product for each entry of S that a document needs.

    Examples
    --------
    >>> k = Semantic({"cats": "cat", "feline": {"cat": 0.8}})
    >>> k(["cats", "a feline", "a dog"])
    array([[1.  , 0.8 , 0.  ],
           [0.8 , 1.64, 1.  ],
           [0.  , 1.  , 2.  ]])
    >>> Semantic((("cats", "cat", 1.0),))(["cats"], ["cat"])
    array([[1.]])
    """

    example = ({"cat": {"mat": 0.5}},)
    formula = r"\phi(d)^\top S S^\top \phi(d')"
    cost = "that of the base, and the map once per document"
    constraints = {
        "links": Satisfies(
            "a dict of words and what they mean (a word, a list of words, or a dict of words and weights), a tuple of "
            "(word, meaning, weight), or a SemanticMap",
            _are_links,
            "{'cat': {'mat': 0.5}}",
        ),
        "base": Optional(InstanceOf(BagOfWords, TfIdf)),
    }

    def __init__(self, links: Any, base: BagOfWords | TfIdf | None = None) -> None:
        self.links = links
        self.base = base

    def check(self) -> Self:
        """Raise ParameterError unless the links are words and finite weights."""
        super().check()
        if isinstance(self.links, SemanticMap):
            self.links.check()
            keys, rows = self.links.keys, self.links.matrix.shape[0]
            if not isinstance(keys, tuple) or len(keys) != rows or len(set(keys)) != rows:
                raise ParameterError(
                    f"Semantic was given a map with keys {str(keys)[:40]} for {rows} rows; a tuple of different words "
                    "is needed, one for each row. Give the words of the rows."
                )
        else:
            self._meanings()
        return self

    @property
    def _base(self) -> BagOfWords | TfIdf:
        return BagOfWords() if self.base is None else self.base

    @derived
    def tokenizer(self) -> Tokenizer | None:
        """That of the base."""
        return self._base.tokenizer

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Let the base learn its weights."""
        learned = self._base.learn(S, y, weight)
        return self if isinstance(learned, BagOfWords) else self.replace(base=learned)

    def bag(self, A: Samples) -> Bag:
        """Map the words to their meanings."""
        words = self._base.prepared(A)
        if isinstance(self.links, SemanticMap):
            keys, matrix = self.links.keys, self.links.matrix
            known = renumbered(words.matrix, find(keys, words.terms), len(keys))
            return Bag(_sorted(known @ sp.csr_array(matrix)), tuple(range(matrix.shape[1])))
        meanings = self._meanings()
        place: dict[Hashable, int] = {}
        rows, columns, data = [], [], []
        for row, word in enumerate(words.terms):
            for meaning, value in meanings.get(word, ((word, 1.0),)):
                rows.append(row)
                columns.append(place.setdefault(meaning, len(place)))
                data.append(value)
        S = sp.csr_array((np.array(data, dtype=float), (rows, columns)), shape=(len(words.terms), len(place)))
        return Bag(_sorted(words.matrix @ S), tuple(place))

    def _feature_count(self, A: Samples) -> int:
        """Return the number of meanings of the collection, whether the base has learned its weights or not."""
        base = self._base
        if isinstance(base, TfIdf) and base.corpus is None:
            return self.replace(base=BagOfWords(tokenizer=base.tokenizer))._feature_count(A)
        return super()._feature_count(A)

    def places(self, terms: Any, others: Any) -> Indices:
        """Find meanings among others."""
        return find(terms, others)

    def _meanings(self) -> dict[Hashable, tuple[tuple[Hashable, float], ...]]:
        """Return what each word means, with weights; ParameterError if the links are not valid."""
        found: dict[Hashable, list[tuple[Any, Any]]] = {}
        if isinstance(self.links, Mapping):
            for word, meaning in self.links.items():
                if isinstance(meaning, Mapping):
                    found[word] = list(meaning.items())
                else:
                    found[word] = [(one, 1.0) for one in (meaning if isinstance(meaning, list) else [meaning])]
        else:
            for word, meaning, value in self.links:
                found.setdefault(word, []).append((meaning, value))
        for word, meanings in found.items():
            for meaning, value in meanings:
                if not is_real(value) or not np.isfinite(value) or not is_hashable(meaning):
                    raise ParameterError(
                        f"Semantic was given the meaning {str(meaning)[:40]!r} with weight {str(value)[:40]} for "
                        f"{str(word)[:40]!r}; words and finite weights are accepted. Give such weights."
                    )
        return {word: tuple((meaning, float(value)) for meaning, value in pairs) for word, pairs in found.items()}


def _is_triple(link: Any) -> bool:
    return isinstance(link, (tuple, list)) and len(link) == 3 and is_hashable(link[0])


def _sorted(matrix: Any) -> sp.csr_array:
    """Return CSR with its indices in order, as `Bag` has them."""
    matrix = sp.csr_array(matrix)
    matrix.sort_indices()
    return matrix


# ---------------------------------------------------------------------------- maps that are learned


class _Learned(Wrapped, Featured):
    """A kernel phi' S S' phi whose map S is learned from the features phi of training samples."""

    anchored = True  # what was learned stays where it is when the data move
    base: Kernel | None
    map: SemanticMap | None

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield nothing: the features of the base are used, not its values."""
        return ()

    @derived
    def kernel(self) -> Kernel:
        """The kernel whose features are mapped."""
        return BagOfWords() if self.base is None else self.base

    def rebuild(self, kernels: tuple[Kernel, ...]) -> Kernel:
        """Return the same node over another kernel."""
        return self.replace(base=kernels[0])

    def check(self) -> Any:
        """Raise ParameterError unless the base is a positive definite kernel with features."""
        super().check()
        if self.map is not None:
            self.map.check()
        if not offers(self.kernel, HasFeatures):
            raise ParameterError(
                f"{type(self).__name__} was given base={self.kernel!r}, which has no finite feature map; it maps "
                "features. Use BagOfWords(), TfIdf(), or another kernel that lists features in `capabilities`."
            )
        return self

    @abstractmethod
    def _matrix(self, F: Any) -> Any:
        """Return S, given the features of the training samples."""

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Find the map, after the base has learned what it learns; a sample of weight v counts as v samples."""
        if self.map is not None:
            return self
        base = self.kernel.learn(narrowed(self.kernel, S), y, weight)
        # a composite reads all of a table, another kernel its part
        F, keys = base.features(base.prepare(narrowed(base, S)))
        if weight is not None:
            v = np.sqrt(np.asarray(weight, dtype=float))
            F = sp.csr_array(sp.diags_array(v) @ F) if sp.issparse(F) else F * v[:, None]
        return self.replace(base=base, map=SemanticMap(keys, self._matrix(F)))

    def _map(self) -> SemanticMap:
        if self.map is None:
            raise ParameterError(
                f"{self!r} is not fitted: its map is learned from training documents. "
                "Use it in an estimator, or call learn(samples)."
            )
        return self.map

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the mapped features, (len A, q)."""
        found = self._map()
        F, _ = self.kernel.features(narrowed(self.kernel, A), found.keys)
        return F @ found.matrix, None

    def _feature_count(self, A: Samples) -> int:
        """Return the number of columns of the map; before it is learned, that of one learned from these samples."""
        return self._most(A) if self.map is None else self.map.matrix.shape[1]

    @abstractmethod
    def _most(self, A: Samples) -> int:
        """Return the number of columns of a map that is learned from these samples."""

    def _prepare(self, A: Samples) -> Samples:
        """Map the features, once per collection."""
        key = repr(self)  # what is learned appears there as a digest
        if key in A.derived:
            return A
        self._map()
        A = super()._prepare(A)
        size = len(A) * self._feature_count(A) * 8
        budget.Plan(f"{self!r} on {len(A)} samples", {"mapped features": size}).require(None)
        G = self.features(A)[0]
        return A.with_derived(key, np.ascontiguousarray(G.toarray() if sp.issparse(G) else G))

    def _mapped(self, A: Samples) -> Floats:
        return self.prepare(A).derived[repr(self)]

    def _both(self, A: Samples, B: Samples) -> tuple[Floats, Floats]:
        left = self._mapped(A)
        return left, left if B is A else self._mapped(B)

    def tile(self, view: View) -> Floats:
        """Multiply the mapped features of both sides."""
        left, right = view.comparison.keep(("mapped", id(self), view.path), lambda: self._both(*view.collections))
        out = view.empty()
        np.copyto(out, row_products(left[view.rows], right[view.columns], same=view.on_diagonal))
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the squared lengths of the mapped features."""
        return np.square(self._mapped(A)).sum(axis=1)

    @derived
    def order(self) -> int | None:
        """Positive definite, by its features."""
        return 0

    @derived
    def bounded(self) -> bool:
        """Whether the base is, since the map is fixed."""
        return self.kernel.bounded

    stationary = False


class Cooccurrence(_Learned):
    r"""Co-occurrence kernel: words are related if they occur in the same documents of a corpus.

    .. math:: k(d, d') = \phi(d)^\top D^\top D \, \phi(d'), \qquad
        (D^\top D)_{tu} = \sum_{c} \mathrm{tf}(t, c) \, \mathrm{tf}(u, c)

    Seed: [ST] "Semantics for text", S = D', the generalised vector space model.

    Parameters
    ----------
    base : Kernel, optional
        Gives phi: any kernel with explicit features, BagOfWords() by default. TfIdf().normalized() keeps long documents
        and frequent words from dominating.
    map : SemanticMap, optional
        S = D'. By default it is learned from training documents, in `fit`.

    Notes
    -----
    Domain that of the base. A document is described by its similarities to the training documents: features
    D phi(d), one for each of them. D'D, which has an entry for each pair of terms, is never formed. Terms that the
    corpus does not have are left out. No parameter to differentiate. Positive definite of order 0 by its features;
    neither strict nor universal; bounded as the base is. Cost O(m) a pair, and the base once for each document and
    training document.

    Examples
    --------
    >>> corpus = ["car engine", "auto engine", "boat sail"]
    >>> k = Cooccurrence()
    >>> k = k.learn(k.pack(corpus))
    >>> k(["car"], ["car", "auto", "engine", "boat"])
    array([[1., 0., 1., 0.]])
    >>> k(["engine"], ["car", "auto", "engine", "boat"])
    array([[1., 1., 2., 0.]])
    """

    synonyms = ("generalised vector space model",)
    formula = r"\phi(d)^\top D^\top D \, \phi(d')"
    cost = "O(m) a pair"
    constraints = {"base": Optional(InstanceOf(Kernel)), "map": Optional(InstanceOf(SemanticMap))}

    def __init__(self, base: Kernel | None = None, *, map: SemanticMap | None = None) -> None:
        self.base = base
        self.map = map

    def _most(self, A: Samples) -> int:
        return len(A)

    def _matrix(self, F: Any) -> Any:
        return sp.csr_array(F.T) if sp.issparse(F) else np.ascontiguousarray(F.T)


class LatentSemantic(_Learned):
    r"""Latent semantic kernel: documents in the space of the strongest directions of a corpus.

    .. math:: k(d, d') = \phi(d)^\top U_k U_k^\top \phi(d'), \qquad D^\top = U \Sigma V^\top

    Seed: [ST] "Semantics for text", latent semantic indexing.

    Parameters
    ----------
    rank : int
        k, the number of directions. If the corpus has fewer, all of them are used.
    base : Kernel, optional
        Gives phi: any kernel with explicit features, BagOfWords() by default. TfIdf().normalized() is usual.
    map : SemanticMap, optional
        U_k. By default it is learned from training documents, in `fit`.

    Notes
    -----
    Domain that of the base. Features the k coordinates U_k' phi(d), which are those of kernel PCA of the base without
    centring: words that occur with the same words come near each other. Terms that the corpus does not have are left
    out. The directions are unique if the k-th singular value is greater than the next; signs are fixed. No parameter to
    differentiate. Positive definite of order 0 by its features, of rank k at most; bounded as the base is. Cost O(k) a
    pair; to learn, a truncated singular value decomposition of a sparse matrix.

    Examples
    --------
    >>> corpus = ["car engine", "auto engine", "boat sail", "ship sail"]
    >>> k = LatentSemantic(2)
    >>> k = k.learn(k.pack(corpus))
    >>> (k(["car"], ["auto", "engine", "boat"]) + 0.0).round(3)  # car and auto never occur together
    array([[0.167, 0.333, 0.   ]])
    """

    synonyms = ("latent semantic analysis", "latent semantic indexing")
    formula = r"\phi(d)^\top U_k U_k^\top \phi(d')"
    cost = "O(k) a pair, and a truncated singular value decomposition to learn"
    constraints = {"rank": Integer(1), **Cooccurrence.constraints}

    def __init__(self, rank: int, base: Kernel | None = None, *, map: SemanticMap | None = None) -> None:
        self.rank = rank
        self.base = base
        self.map = map

    def _most(self, A: Samples) -> int:
        return min(int(self.rank), len(A))

    def _matrix(self, F: Any) -> Any:
        """Return the right singular vectors of the features, each with its largest entry positive."""
        k = min(int(self.rank), *F.shape)
        if 3 * k >= min(F.shape) or F.shape[0] * F.shape[1] <= _DENSE:
            dense = F.toarray() if sp.issparse(F) else np.asarray(F, dtype=float)
            budget.Plan(f"{self!r} on {len(dense)} samples", {"singular vectors": 3 * dense.nbytes}).require(None)
            work = 20.0 * dense.size * min(dense.shape)
            _, s, Vt = in_background(np.linalg.svd, dense, False, work=work)
        else:
            start = np.random.default_rng(0).standard_normal(min(F.shape))
            _, s, Vt = svds(F, k, v0=start)
        s, Vt = np.asarray(s), np.asarray(Vt)
        best = np.argsort(-s, kind="stable")[:k]
        best = best[s[best] > max(F.shape) * np.finfo(float).eps * s.max(initial=0.0)]
        U = Vt[best].T
        if U.size:
            U = U * np.sign(U[np.argmax(np.abs(U), axis=0), np.arange(U.shape[1])])
        return np.ascontiguousarray(U)

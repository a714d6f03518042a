"""Rows of the kernels on texts, beside scikit-learn's vectorisers; everybody starts from raw documents.

Words are drawn as often as they are in natural texts (Zipf's law), with capitals and full stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from benchmarks.row import Peer, Row, Timing, times_faster
from mercer.kernels.texts.bag_of_words import BagOfWords, TfIdf
from mercer.kernels.texts.semantics import LatentSemantic
from mercer.kernels.texts.word_pairs import WordPairs

PATTERN = r"\w+"
TFIDF = TfIdf(smooth=True)  # scikit-learn's formula


@dataclass(frozen=True)
class Documents:
    """Random documents over 50 000 words."""

    count: int
    length: int

    def make(self) -> list[str]:
        rng = np.random.default_rng(0)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        words = sorted({"".join(rng.choice(letters, rng.integers(1, 11))) for _ in range(50_000)})
        rng.shuffle(words)
        odds = 1.0 / (np.arange(len(words)) + 2.7)
        drawn = rng.choice(len(words), (self.count, self.length), p=odds / odds.sum())
        documents = (" ".join(words[i] for i in row) for row in drawn)
        return [document.capitalize() + "." for document in documents]

    def __str__(self) -> str:
        return f"{self.count} documents of {self.length} words"


def learned(kernel: Any, documents: list[str]) -> Any:
    S = kernel.pack(documents)
    kernel = kernel.learn(S)
    return kernel, kernel.prepare(S)


def vectors(documents: list[str]) -> Any:
    kernel, S = learned(TFIDF.normalized(), documents)
    return kernel.features(S)[0]


def gram(documents: list[str]) -> Any:
    kernel, S = learned(TFIDF.normalized(), documents)
    return kernel(S)


def coordinates(documents: list[str]) -> Any:
    kernel, S = learned(LatentSemantic(50, TFIDF.normalized()), documents)
    return kernel.features(S)[0]


def their_vectors(documents: list[str]) -> Any:
    return TfidfVectorizer(token_pattern=PATTERN).fit_transform(documents)


def their_gram(documents: list[str]) -> Any:
    D = their_vectors(documents)
    return (D @ D.T).toarray()


def their_coordinates(documents: list[str]) -> Any:
    return TruncatedSVD(50, algorithm="arpack", random_state=0).fit_transform(their_vectors(documents))


def their_counts(documents: list[str]) -> Any:
    D: Any = CountVectorizer(token_pattern=PATTERN).fit_transform(documents)
    return (D @ D.T).toarray()


def products(result: Any, data: Any) -> np.ndarray:
    """Columns may come in another order or with another sign."""
    some = result[:200]
    product = some @ some.T
    return product.toarray() if hasattr(product, "toarray") else product


ROWS: tuple[Row, ...] = (
    Timing(
        "tfidf-vectors",
        "TfIdf, learned, sparse features, from str",
        Documents(5000, 150),
        Documents(500, 150),
        ours=vectors,
        peers=(Peer("sklearn TfidfVectorizer", their_vectors, times_faster(2.5)),),
        outcome=products,
    ),
    Timing(
        "tfidf-gram",
        "TfIdf, learned, cosines of all pairs, from str",
        Documents(5000, 150),
        Documents(500, 150),
        ours=gram,
        peers=(Peer("sklearn TfidfVectorizer", their_gram, times_faster(4.0)),),
    ),
    Timing(
        "bag-of-words",
        "BagOfWords, all pairs, from str",
        Documents(2000, 150),
        Documents(500, 150),
        ours=lambda documents: BagOfWords()(documents),
        peers=(Peer("sklearn CountVectorizer", their_counts, times_faster(3.0)),),
    ),
    Timing(
        "latent-semantic",
        "LatentSemantic(50, TfIdf), learned, features, from str",
        Documents(5000, 150),
        Documents(1000, 150),
        ours=coordinates,
        peers=(Peer("sklearn TfidfVectorizer + TruncatedSVD", their_coordinates, times_faster(1.0)),),
        outcome=products,
        fewest=2,
    ),
    Timing(
        "word-pairs",
        "WordPairs(5), all pairs, from str",
        Documents(2000, 150),
        Documents(500, 150),
        ours=lambda documents: WordPairs(5)(documents),
        fewest=2,
    ),
)

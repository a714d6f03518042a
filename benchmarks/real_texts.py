"""Kernels on real texts beside scikit-learn's vectorisers with a linear machine: `python -m benchmarks.real_texts`.

Reuters R8: 5485 training and 2189 test documents of eight topics; accuracy on the test documents, and the seconds of
learning and of prediction from raw documents. Published figures for support vector machines with tf-idf on this split
(Cardoso-Cachopo) are about 0.97. The 40 Reuters documents: leave one out with normalised kernels, and the seconds of
one Gram matrix. Reviews of films: ten folds of the authors (Pang and Lee report 0.872 for words that are there or not).
The folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import LeaveOneOut, PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC as TheirLinearSVC

from mercer import SVC, LinearSVC
from mercer.kernels import Precomputed
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.texts.bag_of_words import BagOfWords, TfIdf
from mercer.kernels.texts.semantics import Cooccurrence, LatentSemantic
from mercer.kernels.texts.word_pairs import WordPairs

DATA = ("reuters40", "reuters_r8", "movie_reviews")
OTHERS = (("subsequence", "Subsequence", (3,), {"decay": 0.5}),)


def read(name: str) -> tuple[list[str], np.ndarray, list[dict[str, str]]]:
    """Return the documents, their labels, and all columns."""
    with gzip.open(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [row["text"] for row in rows], np.array([row["label"] for row in rows]), rows


def line(data: str, who: str, accuracy: float, count: int, *seconds: float) -> None:
    errors = round((1.0 - accuracy) * count)
    print(f"{data:15}{who:52}{accuracy:9.4f}{errors:6} of {count:5}", *(f"{s:9.3f} s" for s in seconds), flush=True)


class Linear(ClassifierMixin, BaseEstimator):
    """A linear machine on the sparse features of a kernel, all from raw documents."""

    def __init__(self, kernel: Any = None, C: float = 1.0) -> None:
        self.kernel = kernel
        self.C = C

    def fit(self, X: Any, y: Any) -> Linear:
        S = self.kernel.pack(X)
        self.kernel_ = self.kernel.learn(S)
        F, self.keys_ = self.kernel_.features(self.kernel_.prepare(S))
        self.machine_ = LinearSVC(C=self.C).fit(F, y)
        self.classes_ = self.machine_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.machine_.predict(self.kernel_.features(self.kernel_.prepare(self.kernel_.pack(X)), self.keys_)[0])


def split(data: str, who: str, model: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> None:
    """Fit and predict once, and print a line."""
    began = time.perf_counter()
    model.fit(*train)
    fitted = time.perf_counter()
    guesses = model.predict(test[0])
    done = time.perf_counter()
    line(data, who, float(np.mean(guesses == test[1])), len(test[1]), fitted - began, done - fitted)


def r8(cost: float) -> None:
    """Print the lines of Reuters R8."""
    X, y, rows = read("reuters_r8")
    is_train = np.array([row["part"] == "train" for row in rows])
    train, test = (([X[i] for i in np.flatnonzero(part)], y[part]) for part in (is_train, ~is_train))
    kernels: dict[str, Any] = {
        "LinearSVC(BagOfWords, log, normalised)": BagOfWords(frequency="log"),
        "LinearSVC(TfIdf, normalised)": TfIdf(),
        "LinearSVC(TfIdf, smooth, log, normalised)": TfIdf(smooth=True, frequency="log"),
    }
    for who, kernel in kernels.items():
        split("reuters_r8", who, Linear(kernel.normalized(), C=cost), train, test)
    for rank in (50, 200):
        lsi = LatentSemantic(rank, TfIdf(smooth=True, frequency="log").normalized()).normalized()
        split("reuters_r8", f"LinearSVC(LatentSemantic({rank}, TfIdf), normalised)", Linear(lsi, C=cost), train, test)
    whole = SVC(TfIdf(smooth=True, frequency="log").normalized(), C=cost)
    split("reuters_r8", "SVC(TfIdf, smooth, log, normalised)", whole, train, test)
    vectors = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    split(
        "reuters_r8", "sklearn TfidfVectorizer + LinearSVC", make_pipeline(vectors, TheirLinearSVC(C=cost)), train, test
    )
    for rank in (50, 200):
        reduced = make_pipeline(
            vectors, TruncatedSVD(rank, algorithm="arpack", random_state=0), Normalizer(), TheirLinearSVC(C=cost)
        )
        split("reuters_r8", f"sklearn Tfidf + TruncatedSVD({rank}) + LinearSVC", reduced, train, test)


def reuters40(cost: float) -> None:
    """Print the lines of the 40 Reuters documents."""
    X, y, _ = read("reuters40")
    kernels: dict[str, Any] = {
        "BagOfWords()": BagOfWords(),
        "TfIdf()": TfIdf(),
        "TfIdf(frequency='log')": TfIdf(frequency="log"),
        "Cooccurrence(TfIdf)": Cooccurrence(TfIdf().normalized()),
        "LatentSemantic(10, TfIdf)": LatentSemantic(10, TfIdf().normalized()),
        "WordPairs(4)": WordPairs(4),
        "Spectrum(4)": Spectrum(4),
        "Spectrum(6)": Spectrum(6),
    }
    for module, name, positional, named in OTHERS:
        try:
            kernel = getattr(importlib.import_module(f"mercer.kernels.{module}"), name)(*positional, **named)
            kernels[f"{name}({positional[0]}, decay={named['decay']})"] = kernel
        except (ImportError, AttributeError, TypeError):
            continue
    for who, kernel in kernels.items():
        learned = kernel.learn(kernel.pack(X)).normalized()
        began = time.perf_counter()
        K = learned(X)
        taken = time.perf_counter() - began
        if isinstance(kernel, (TfIdf, Cooccurrence, LatentSemantic)):  # what is learned is learned in every fold
            guesses = cross_val_predict(SVC(kernel.normalized(), C=cost), X, y, cv=LeaveOneOut())
        else:
            guesses = cross_val_predict(SVC(Precomputed(), C=cost), K, y, cv=LeaveOneOut())
        line("reuters40", who, float(np.mean(guesses == y)), len(y), taken)
    peer = make_pipeline(TfidfVectorizer(sublinear_tf=True), TheirLinearSVC(C=cost))
    began = time.perf_counter()
    D: Any = TfidfVectorizer(sublinear_tf=True).fit_transform(X)
    _ = (D @ D.T).toarray()
    taken = time.perf_counter() - began
    guesses = cross_val_predict(peer, X, y, cv=LeaveOneOut())
    line("reuters40", "sklearn TfidfVectorizer + LinearSVC", float(np.mean(guesses == y)), len(y), taken)


def reviews(cost: float) -> None:
    """Print the lines of the reviews of films."""
    X, y, rows = read("movie_reviews")
    folds = PredefinedSplit([int(row["fold"]) for row in rows])
    models: dict[str, Any] = {
        "LinearSVC(BagOfWords, binary, normalised)": Linear(BagOfWords(frequency="binary").normalized(), C=cost),
        "LinearSVC(TfIdf, smooth, log, normalised)": Linear(TfIdf(smooth=True, frequency="log").normalized(), C=cost),
        "LinearSVC(TfIdf + WordPairs(1), normalised)": Linear(
            TfIdf(smooth=True, frequency="log").normalized()
            + WordPairs(1, ordered=True, frequency="binary").normalized(),
            C=cost,
        ),
        "sklearn TfidfVectorizer + LinearSVC": make_pipeline(
            TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+"), TheirLinearSVC(C=cost)
        ),
    }
    for who, model in models.items():
        began = time.perf_counter()
        guesses = cross_val_predict(model, X, y, cv=folds)
        line("movie_reviews", who, float(np.mean(guesses == y)), len(y), time.perf_counter() - began)


def main() -> None:
    """Print a line per data set and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(DATA))
    parser.add_argument("--cost", type=float, default=1.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'data':15}{'contender':52}{'accuracy':>9}{'errors':>15}   seconds (fit, predict; Gram; all folds)")
    for name in options.names:
        {"reuters_r8": r8, "reuters40": reuters40, "movie_reviews": reviews}[name](options.cost)


if __name__ == "__main__":
    main()

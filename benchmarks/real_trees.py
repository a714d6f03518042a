"""Tree kernels on questions and sentences: `python -m benchmarks.real_trees`.

Questions: the six types of the TREC questions (5452 to train, 500 to test) by support vector machines on dependency
trees, whose nodes are lexical (lct) or grammatical relations (grct), beside a bag of words in scikit-learn. Kernels
are normalised, C = 10 everywhere, and nothing is chosen by the test questions. Sentences: seconds of a Gram matrix of
500 trees of the Penn treebank, and pairs of nodes per second (of the triangle that is computed). The folder of the
data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from mercer import SVC
from mercer.domains.structures.trees import Trees
from mercer.kernels import Precomputed
from mercer.kernels.trees.common_trees import CorootedSubtree, PartialTree, SubsetTree
from mercer.kernels.trees.tree_spectrum import Subtree, TreeSpectrum

KERNELS = {
    "SubsetTree(0.4)": SubsetTree(0.4),
    "SubsetTree(0.4, counted)": SubsetTree(0.4, leaves="counted"),
    "PartialTree(0.4, 0.4)": PartialTree(0.4, 0.4),
    "Subtree(0.5)": Subtree(0.5),
    "TreeSpectrum(2)": TreeSpectrum(2),
    "TreeSpectrum(3)": TreeSpectrum(3),
    "CorootedSubtree(0.5)": CorootedSubtree(0.5),
}


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with gzip.open(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def questions(names: list[str], forms: list[str], count: int | None, with_words: bool) -> None:
    """Print the accuracy on the test questions."""
    rows = read("trec_questions_trees")
    train, test = ([row for row in rows if row["part"] == part] for part in ("train", "test"))
    train = train[:count]
    y, z = (np.array([row["label"] for row in part]) for part in (train, test))
    print(f"{'trees':8}{'contender':30}{'accuracy':>10}{'Gram':>12}{'in all':>12}")
    for ngrams in ((1, 1), (1, 2)):
        began = time.perf_counter()
        words: Any = make_pipeline(CountVectorizer(ngram_range=ngrams, token_pattern=r"\S+"), Normalizer())
        machine = make_pipeline(words, LinearSVC(C=10.0)).fit([row["question"] for row in train], y)
        score = float(np.mean(machine.predict([row["question"] for row in test]) == z))
        who = f"sklearn words {ngrams}, LinearSVC"
        print(f"{'-':8}{who:30}{score:10.4f}{'':12}{time.perf_counter() - began:10.2f} s", flush=True)
    W, V = (words.transform([row["question"] for row in part]) for part in (train, test))
    for form in forms:
        S, T = (Trees.pack([row[f"tree_{form}"] for row in part]) for part in (train, test))
        for who in names:
            kernel = KERNELS[who].normalized()
            began = time.perf_counter()
            K = kernel(S)
            taken = time.perf_counter() - began
            L = kernel(T, S)
            score = _accuracy(K, L, y, z)
            total = time.perf_counter() - began
            print(f"{form:8}{who:30}{score:10.4f}{taken:10.2f} s{total:10.2f} s", flush=True)
            if with_words:
                score = _accuracy(K + (W @ W.T).toarray(), L + (V @ W.T).toarray(), y, z)
                print(f"{form:8}{who + ' + words':30}{score:10.4f}", flush=True)


def _accuracy(K: np.ndarray, L: np.ndarray, y: np.ndarray, z: np.ndarray) -> float:
    return float(np.mean(SVC(Precomputed(), C=10.0).fit(K, y).predict(L) == z))


def sentences(names: list[str]) -> None:
    """Print seconds and pairs of nodes per second."""
    S = Trees.pack([row["tree"] for row in read("treebank_sample")[:500]])
    pairs = (float(S.sizes.sum()) ** 2 + float((S.sizes**2).sum())) / 2
    print(f"\n500 sentences of the treebank, {S.sizes.sum()} nodes, {pairs:.3g} pairs of nodes")
    for who in names:
        kernel = KERNELS[who]
        kernel(S[:5])
        began = time.perf_counter()
        kernel(S)
        taken = time.perf_counter() - began
        print(f"{who:30}{taken:10.3f} s{pairs / taken / 1e6:12.0f} million pairs a second", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(KERNELS))
    parser.add_argument("--forms", nargs="+", default=["grct", "lct"], choices=["grct", "lct"])
    parser.add_argument("--words", action="store_true", help="also the sum of each kernel and that of words and pairs")
    parser.add_argument("--train", type=int, help="only so many questions to train")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sentences(options.names)
    questions(options.names, options.forms, options.train, options.words)


if __name__ == "__main__":
    main()

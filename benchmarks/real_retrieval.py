"""Retrieval across views of real data by canonical correlations: `python -m benchmarks.real_retrieval`.

Multi30k: captions of images in English, German and French. Directions are found on training captions; then each of the
1000 test captions of one language looks for its translation among all those of the other, by the cosine of the scores.
Printed: how often it comes first, how often among the first ten, the mean of one over the rank, and the seconds of the
fit. Beside it stands latent semantic indexing across languages: singular vectors of both languages' words together.
mfeat: six views of 2000 handwritten digits; canonical scores of all views learned together, a nearest neighbour on the
scores of one view against one on its own columns. The folder of the data is named by the variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from mercer import KernelCCA, retrieval_ranks
from mercer.gram import Nystrom
from mercer.kernels.texts.bag_of_words import TfIdf


def line(data: str, who: str, A: np.ndarray, B: np.ndarray, seconds: float) -> None:
    """Print one way of searching: first, among ten, reciprocal rank."""
    ranks = retrieval_ranks(A, B)
    shares = f"{np.mean(ranks <= 1):9.3f}{np.mean(ranks <= 10):9.3f}{np.mean(1.0 / ranks):9.3f}"
    print(f"{data:12}{who:44}{shares}{seconds:9.1f} s", flush=True)


def captions(train: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return training and test captions of each language."""
    path = Path(os.environ["MERCER_DATA"]) / "multi30k_en_de_fr.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    parts = [[row for row in rows if row["part"] == "train"][:train], [r for r in rows if r["part"].startswith("test")]]
    first, second = ({name: [row[name] for row in part] for name in ("en", "de", "fr")} for part in parts)
    return first, second


def indexing(train: Any, test: Any, languages: tuple[str, str], components: int) -> tuple[list[np.ndarray], float]:
    """Latent semantic indexing across languages: documents of both, side by side, then each language by itself."""
    began = time.perf_counter()
    words = [TfidfVectorizer(sublinear_tf=True).fit(train[name]) for name in languages]
    both = sp.hstack([w.transform(train[name]) for w, name in zip(words, languages, strict=True)]).tocsr()
    axes = TruncatedSVD(components, random_state=0).fit(both).components_
    seconds = time.perf_counter() - began
    cut = len(words[0].vocabulary_)
    pieces = (axes[:, :cut], axes[:, cut:])
    found = [w.transform(test[n]) @ piece.T for w, n, piece in zip(words, languages, pieces, strict=True)]
    return found, seconds


def multi30k(count: int, rank: int, components: int, tau: float) -> None:
    """Print the lines of Multi30k."""
    train, test = captions(count)
    for languages in (("en", "de"), ("en", "fr")):
        data = "-".join(languages)
        (A, B), seconds = indexing(train, test, languages, components)
        line(data, f"cross-language indexing, {components} axes", A, B, seconds)
        model = KernelCCA(TfIdf(), components, tau=tau, gram=Nystrom(rank))
        began = time.perf_counter()
        model.fit(*(train[name] for name in languages))
        seconds = time.perf_counter() - began
        A, B = model.transform(*(test[name] for name in languages))
        line(data, f"KernelCCA(TfIdf, tau={tau:g}, rank {rank})", A, B, seconds)
        line(data, "  and back", B, A, seconds)
    model = KernelCCA(TfIdf(), components, tau=tau, gram=Nystrom(rank // 2))
    began = time.perf_counter()
    model.fit([train[name] for name in ("en", "de", "fr")])
    seconds = time.perf_counter() - began
    scores = model.transform([test[name] for name in ("en", "de", "fr")])
    line("de-fr", f"KernelCCA of three views, rank {rank // 2}", scores[1], scores[2], seconds)


def mfeat(rank: int) -> None:
    """Print the accuracy of a nearest neighbour on single views, and on their canonical scores."""
    stored = np.load(Path(os.environ["MERCER_DATA"]) / "mfeat.npz")
    names, y = ("fou", "kar", "zer", "pix"), stored["y"]
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1000], order[1000:]
    views = [StandardScaler().fit(stored[name][train]).transform(stored[name]) for name in names]
    began = time.perf_counter()
    model = KernelCCA(None, 20, tau=0.01, gram=Nystrom(rank)).fit([view[train] for view in views])
    seconds = time.perf_counter() - began
    for v, name in enumerate(names):
        raw = KNeighborsClassifier(1).fit(views[v][train], y[train]).score(views[v][test], y[test])
        scores = model.project(views[v], v)
        shared = KNeighborsClassifier(1).fit(scores[train], y[train]).score(scores[test], y[test])
        print(f"mfeat {name:6} 1-NN on columns {raw:.3f}, on scores shared by 4 views {shared:.3f}{seconds:9.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=12000)
    parser.add_argument("--rank", type=int, default=2000)
    parser.add_argument("--components", type=int, default=400)
    parser.add_argument("--tau", type=float, default=0.001)
    given = parser.parse_args()
    print(f"{'data':12}{'method':44}{'first':>9}{'ten':>9}{'1/rank':>9}{'fit':>9}")
    multi30k(given.train, given.rank, given.components, given.tau)
    mfeat(min(given.rank, 500))


if __name__ == "__main__":
    main()

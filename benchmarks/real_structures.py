"""Structured outputs on real data: `python -m benchmarks.real_structures [letters] [ranking] [labels]`.

Letters: handwritten words, a chain of 26 letters each, Gaussian kernel on the pixels, trained on fold 0 and tested on
the others (with "all": trained on folds 1 to 9, K of low rank, and tested on fold 0); printed is the share of letters
that are right, with transitions between letters and without. Ranking: documents of queries, linear, against
scikit-learn's linear regressions on the relevance, by the mean NDCG of the first ten, each with the parameter that
folds of training queries prefer: on the 50 test queries, and on all 251 queries in nested folds, with standard errors;
and the seconds for 100 000 made-up rows. Labels: sets of labels against one support
vector machine per label. The folder of the data is named by the variable MERCER_DATA.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import gaussian_filter
from sklearn.linear_model import Ridge
from sklearn.metrics import label_ranking_loss
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVR

from mercer import SVC, KernelCRF, LabelSequences, LabelSets, MultilabelSVC, RankSVM, StructuredSVC
from mercer.estimators.structured.rank_svm import mean_ndcg
from mercer.gram import Nystrom
from mercer.kernels import Constant, Gaussian, Linear


def data(name: str) -> Any:
    return np.load(Path(os.environ["MERCER_DATA"]) / name)


def smoothed(X: Any) -> Any:
    """Pictures of 16 x 8 pixels, blurred: strokes that are drawn a little aside still meet."""
    return gaussian_filter(np.asarray(X).reshape(-1, 16, 8), (0.0, 1.2, 1.2), mode="constant").reshape(-1, 128)


def letters(everything: bool) -> None:
    """Words of handwritten letters; blur, width and C were chosen by learning fold 9 and looking at fold 8."""
    d = data("ocr_letters.npz")
    X, cut = np.unpackbits(d["X"], axis=1).astype(float), np.cumsum(d["length"])[:-1]
    words, labels, fold = np.split(X, cut), np.split(d["y"].astype(int), cut), d["fold"]
    first = [i for i, f in enumerate(fold) if f == 0]
    rest = [i for i, f in enumerate(fold) if f != 0]
    train, test = (rest, first) if everything else (first, rest)
    gram = Nystrom(2000, random_state=0) if everything else None
    plain, blurred = Gaussian(4.0), Gaussian(1.33).of(smoothed)
    for name, kernel, C, scale in (
        ("chain, pixels blurred", blurred, 100.0, 0.1),
        ("letters by themselves, pixels blurred", blurred, 100.0, 0.0),
        ("chain, pixels as they are", plain, 10.0, 1.0),
    ):
        began = time.perf_counter(), time.process_time()
        model = KernelCRF(kernel, C=C, outputs=LabelSequences(transition_scale=scale), gram=gram, tol=1e-2)
        model.fit([words[i] for i in train], [labels[i] for i in train])
        wall, processor = time.perf_counter() - began[0], time.process_time() - began[1]
        score = model.score([words[i] for i in test], [labels[i] for i in test])
        print(
            f"letters  KernelCRF, {name:40s}{score:8.4f}  {wall:6.1f} s ({processor:6.1f} of processors), "
            f"{model.n_iter_} iterations",
            flush=True,
        )


def gain(model: Any, X: Any, y: Any, groups: Any, T: Any, z: Any, queries: Any) -> Any:
    """NDCG of the first ten of each query, on other queries than those that a model is fitted on."""
    fitted = model.fit(X, y, groups) if isinstance(model, RankSVM) else model.fit(X, y)
    f = fitted.predict(T)
    relevant = [q for q in np.unique(queries) if z[queries == q].any()]
    return np.array([mean_ndcg(z[queries == q], f[queries == q]) for q in relevant])


def tuned(models: Any, X: Any, y: Any, groups: Any, T: Any, z: Any, queries: Any) -> tuple[float, Any, Any]:
    """Mean gain in folds of training queries of the best model, its gains on other queries, and the model."""
    folds = list(GroupKFold(5).split(X, y, groups))
    means = [np.mean([gain(m, X[a], y[a], groups[a], X[b], y[b], groups[b]).mean() for a, b in folds]) for m in models]
    best = models[int(np.argmax(means))]
    return float(max(means)), gain(best, X, y, groups, T, z, queries), best


def at(parts: Any, rows: Any) -> Any:
    return tuple(part[rows] for part in parts)


def error(values: Any) -> float:
    """Standard error of a mean."""
    return float(np.std(values) / np.sqrt(len(values)))


def ranking() -> None:
    """Documents of queries."""
    d = data("ranking_sample.npz")

    def part(name: str) -> tuple[Any, Any, Any]:
        y, size = d[f"{name}_y"].astype(float), d[f"{name}_query_size"]
        X = sp.csr_matrix((d[f"{name}_data"], d[f"{name}_indices"], d[f"{name}_indptr"]), shape=(len(y), 301))
        return X.toarray(), y, np.repeat(np.arange(len(size)), size)

    (X, y, groups), (T, z, queries) = part("train"), part("test")
    scale = MaxAbsScaler().fit(X)
    X, T = scale.transform(X), scale.transform(T)
    families = {
        "RankSVM": [RankSVM(Linear(), C=C, tol=1e-4) for C in 10.0 ** np.arange(-5, 0)],
        "RankSVM, gain": [RankSVM(Linear(), C=C, gain="exponential", tol=1e-4) for C in 10.0 ** np.arange(-6, -1)],
        "RankSVM, exact": [
            RankSVM(Linear(), C=C, margin="exact", share="samples", tol=1e-4) for C in 0.5 * 10.0 ** np.arange(-4.0, 1)
        ],
        "Ridge": [Ridge(alpha=a) for a in 10.0 ** np.arange(0, 5)],
        "LinearSVR": [LinearSVR(C=C, max_iter=20_000, random_state=0) for C in 10.0 ** np.arange(-4, 1)],
    }
    # every family gets its parameter the same way: by folds of training queries; test queries are seen once
    every, gains = (np.concatenate([X, T]), np.append(y, z), np.append(groups, queries + groups.max() + 1)), {}
    for name, models in families.items():
        began = time.perf_counter()
        folds, found, best = tuned(models, X, y, groups, T, z, queries)
        outer = GroupKFold(5).split(*every)
        gains[name] = np.concatenate([tuned(models, *at(every, a), *at(every, b))[1] for a, b in outer])
        seconds = time.perf_counter() - began
        print(
            f"ranking  {name:14s}folds {folds:.4f}, test {found.mean():.4f} +- {error(found):.4f}, nested "
            f"folds {gains[name].mean():.4f}  {seconds:6.1f} s  {best!r}",
            flush=True,
        )
    for name in ("RankSVM", "RankSVM, gain", "RankSVM, exact"):
        more = gains[name] - gains["LinearSVR"]
        print(f"ranking  {name} above LinearSVR, query by query: {more.mean():+.4f} +- {error(more):.4f}", flush=True)
    rng = np.random.default_rng(0)
    many = rng.normal(size=(100_000, 50))
    relevance = np.digitize(many @ rng.normal(size=50) + 3.0 * rng.normal(size=100_000), [-8.0, 0.0, 8.0, 12.0])
    RankSVM(Linear(), C=1e-6).fit(many[:100], relevance[:100])  # compiled before
    began = time.perf_counter()
    model = RankSVM(Linear(), C=1e-6, tol=1e-3).fit(many, relevance, np.arange(100_000) // 100)
    print(f"ranking  100 000 rows, {model.n_pairs_} pairs: {time.perf_counter() - began:.1f} s", flush=True)


def labels() -> None:
    """Sets of labels."""
    for name in ("emotions", "yeast"):
        d = data(f"multilabel_{name}.npz")
        n = int(d["n_train"][0])
        scale = StandardScaler().fit(d["X"][:n])
        X, T, Y, Z = scale.transform(d["X"][:n]), scale.transform(d["X"][n:]), d["Y"][:n], d["Y"][n:]
        kernel = Gaussian(np.sqrt(X.shape[1])) + Constant(1.0)
        rows = []
        for who, model in (
            ("MultilabelSVC", MultilabelSVC(kernel)),
            ("StructuredSVC(LabelSets)", StructuredSVC(kernel, C=1.0, outputs=LabelSets(), tol=1e-2)),
        ):
            began = time.perf_counter()
            fitted: Any = model.fit(X, Y)
            f = fitted.decision_function(T) if who == "MultilabelSVC" else fitted.expansion_(fitted.kernel_.pack(T))
            rows.append((who, f, time.perf_counter() - began))
        began = time.perf_counter()
        each = [SVC(kernel, C=1.0).fit(X, Y[:, k]) for k in range(Y.shape[1])]
        values = np.column_stack([one.decision_function(T) for one in each])
        rows.append(("one SVC per label", values, time.perf_counter() - began))
        for who, f, took in rows:
            hamming = np.mean((f > 0) != Z)
            print(
                f"labels   {name:9s}{who:26s} ranking loss {label_ranking_loss(Z, f):.4f}, Hamming {hamming:.4f}"
                f"  {took:7.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:] or ["letters", "ranking", "labels"]
    if "letters" in chosen:
        letters("all" in chosen)
    if "ranking" in chosen:
        ranking()
    if "labels" in chosen:
        labels()

"""Choosing parameters: the engine beside scikit-learn's grid search, by processor time or, if idle, by the clock.

Run: ``python -m benchmarks.choosing``; ``--clock`` compares seconds with ``n_jobs=2``, ``--large`` adds n = 10 000,
``--only ridge`` runs one kind, ``--part`` times one fold of scikit-learn's and a fifth of the widths of ridge
regression on both sides, ``--intelex`` puts scikit-learn-intelex in the place of scikit-learn's machine (it has to be
installed). Processor time is what a busy machine can compare: both sides keep all cores busy when they are free; set
OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1 with it.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import kernel_ridge, svm
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import mercer
from mercer import SVC, KernelRidge
from mercer.choosing import KernelSearchCV, LeaveOneOut
from mercer.kernels import Gaussian, Precomputed, Spectrum

PART = 50  # of the refits, or of the ridges, that are timed where all would take minutes


def timed(work: Callable[[], Any], clock: Callable[[], float]) -> tuple[float, Any]:
    began = clock()
    found = work()
    return clock() - began, found


def table(n: int, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        n, d, n_informative=8, n_redundant=4, class_sep=0.8, flip_y=0.05, random_state=0
    )  # fmt: skip
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def classifier(n: int, count: int, clock: Callable[[], float], jobs: int | None, part: bool, peer: str) -> str:
    X, y = table(n)
    C, widths = np.logspace(-1, 3, count), np.logspace(-0.3, 1.5, count)
    ours = KernelSearchCV(SVC(Gaussian(1.0)), {"C": C, "kernel__length_scale": widths}, cv=5, refit=False)
    folds = list(StratifiedKFold(5).split(X, y))
    cv = folds[:1] if part else folds
    theirs = GridSearchCV(
        importlib.import_module(peer).SVC(), {"C": C, "gamma": 0.5 / widths**2}, cv=cv, refit=False, n_jobs=jobs
    )
    quick, _ = timed(lambda: ours.fit(X, y), clock)
    slow = 5 / len(cv) * timed(lambda: theirs.fit(X, y), clock)[0]
    scores = [
        np.mean([search.cv_results_[f"split{j}_test_score"] for j in range(len(cv))], axis=0)
        for search in (ours, theirs)
    ]
    apart, same = np.abs(scores[0] - scores[1]).max(), scores[0].argmax() == scores[1].argmax()
    return (
        f"SVC {count} x {count}, 5 folds, n = {n}: {quick:.2f} s, {peer} {slow:.2f} s"
        f"{' (of one fold)' if part else ''}, {slow / quick:.1f} times; scores within {apart:.1e}, same choice: {same}"
    )


def ridge(n: int, clock: Callable[[], float], jobs: int | None, part: bool) -> str:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    widths, alphas = np.logspace(-0.3, 1.0, 20), np.logspace(-4, 2, 50)
    grid = {"kernel__length_scale": widths[::5] if part else widths, "alpha": alphas}
    quick = (5 if part else 1) * timed(
        lambda: mercer.search(KernelRidge(Gaussian(1.0)), X, y, grid, criterion=LeaveOneOut(), refit=False), clock
    )[0]  # fmt: skip
    matrices = [Gaussian(float(width))(X) for width in widths[::5]]
    eigen = 5.0 * timed(lambda: [np.linalg.eigh(K) for K in matrices], clock)[0]
    few = {"gamma": 0.5 / widths[:2] ** 2, "alpha": alphas[:5]}
    slow = 100.0 * timed(
        lambda: GridSearchCV(kernel_ridge.KernelRidge(kernel="rbf"), few, cv=5, refit=False, n_jobs=jobs).fit(X, y),
        clock,
    )[0]  # fmt: skip
    return (
        f"ridge 20 x 50, leave one out, n = {n}: {quick:.2f} s, 20 eigh {eigen:.2f} s ({quick / eigen:.2f} of it), "
        f"scikit-learn with 5 folds {slow:.0f} s (of a tenth), {slow / quick:.0f} times"
    )


def strings(n: int, clock: Callable[[], float]) -> str:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("acgt"), 200)) for _ in range(n)]
    y = np.array([word.count("ac") > word.count("gt") for word in words]).astype(int)
    kernel = Spectrum(4).normalized()
    gram, K = timed(lambda: kernel(words), clock)
    grid = {"C": np.logspace(-1, 2, 20)}
    machines, _ = timed(lambda: KernelSearchCV(SVC(Precomputed()), grid, cv=10, refit=False).fit(K, y), clock)
    whole, _ = timed(lambda: KernelSearchCV(SVC(kernel), grid, cv=10, refit=False).fit(words, y), clock)
    return (
        f"strings, 20 costs, 10 folds, n = {n}: {whole:.2f} s, one Gram matrix {gram:.2f} s, machines "
        f"{machines:.2f} s, {whole / (gram + machines):.2f} of both"
    )


def left_out(n: int, clock: Callable[[], float]) -> str:
    X, y = table(n)
    grid = {"C": [10.0], "kernel__length_scale": [4.0]}
    quick, _ = timed(lambda: mercer.search(SVC(Gaussian(1.0)), X, y, grid, criterion=LeaveOneOut(), refit=False), clock)
    K = Gaussian(4.0)(X)

    def refit(i: int) -> None:
        rest = np.delete(np.arange(n), i)
        svm.SVC(kernel="precomputed", C=10.0).fit(K[np.ix_(rest, rest)], y[rest]).predict(K[i : i + 1, rest])

    slow = n / PART * timed(lambda: [refit(i) for i in range(PART)], clock)[0]
    return (
        f"SVC, leave one out, n = {n}: {quick:.2f} s, refitting by scikit-learn {slow:.1f} s (of {PART}), "
        f"{slow / quick:.0f} times"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--part", action="store_true")
    parser.add_argument("--intelex", action="store_true")
    parser.add_argument("--only", choices=["classifier", "left_out", "strings", "ridge"])
    parser.add_argument("--size", type=int, default=2000)
    chosen = parser.parse_args()
    clock, jobs = (time.perf_counter, 2) if chosen.clock else (time.process_time, None)
    X, y = table(60)  # what is compiled at the first call is not counted
    KernelSearchCV(SVC(Gaussian(1.0)), {"C": [0.1, 1000.0]}, cv=3, scoring="roc_auc").fit(X, y)
    KernelSearchCV(SVC(Gaussian(1.0)), {"C": [0.1, 1000.0]}, cv=3).fit(X, y)
    mercer.search(KernelRidge(Gaussian(1.0)), X, y, {"alpha": [1.0]}, criterion=LeaveOneOut())
    mercer.search(SVC(Gaussian(1.0)), X, y, {"C": [1.0]}, criterion=LeaveOneOut())
    Spectrum(4).normalized()(["acgt", "gtac"])
    size, part, peer = chosen.size, chosen.part, "sklearnex.svm" if chosen.intelex else "sklearn.svm"
    rows = [
        ("classifier", lambda: classifier(size // 4, 10, clock, jobs, part, peer)),
        ("left_out", lambda: left_out(size // 2, clock)),
        ("strings", lambda: strings(size // 4, clock)),
        ("classifier", lambda: classifier(size, 10, clock, jobs, part, peer)),
        ("ridge", lambda: ridge(size, clock, jobs, part)),
    ]
    if chosen.large:
        rows.append(("classifier", lambda: classifier(5 * size, 5, clock, jobs, part, peer)))
    for name, row in rows:
        if chosen.only in (None, name):
            print(row(), flush=True)


if __name__ == "__main__":
    main()

"""Kernels of time series on real ones: `python -m benchmarks.real_series`.

Accuracy of a support vector machine (C = 10) on the official test part, and CPU seconds of the whole: Gram matrices,
choice, fit and prediction. Channels are scaled to unit variance over the training part. Each kernel has a handful of
length scales, out of which five folds of the training part choose. Signatures see the time as one more channel and
series that begin at the origin, since they do not see where a series lies; they are normalised. Beside them a machine
with a Gaussian kernel on the mean and the deviation of every channel and of its increments (C and width chosen alike),
and the nearest neighbour by dynamic time warping. For *levels too* the folds choose whether random convolutions see
series standardised, each by itself, or as they are. The folder of the data is named by the environment variable
MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as TheirSVC

from mercer import SVC
from mercer.domains import Vectors
from mercer.kernels.kernel import Kernel
from mercer.kernels.series.global_alignment import GlobalAlignmentSeries
from mercer.kernels.series.random_convolutions import RandomConvolutions
from mercer.kernels.series.signature import Signature
from mercer.kernels.series.soft_dtw import SoftDTW
from mercer.kernels.sets.tensor_subspaces import Cumulant
from mercer.kernels.vectors.pointwise import median_distance
from mercer.runtime.compiled import compiled

DATA = ("japanese_vowels", "basic_motions", "italy_power", "coffee", "gunpoint", "arrowhead")
Series = list[np.ndarray]


def read(name: str) -> tuple[Series, np.ndarray, int]:
    """Return the series, time first, their classes, and how many are for training."""
    with np.load(Path(os.environ["MERCER_DATA"]) / f"ts_{name}.npz") as stored:
        X, y, n = stored["X"].astype(float), stored["y"].astype(int), int(stored["n_train"][0])
        if "length" in stored:
            series = np.split(X, np.cumsum(stored["length"])[:-1])
        else:
            series = [x.T if x.ndim == 2 else x[:, None] for x in X]
    points = np.concatenate(series[:n])
    return [(x - points.mean(axis=0)) / points.std(axis=0) for x in series], y, n


def timed(series: Series) -> Series:
    """The series with the time, from 0 to 1, as one more channel, and with the origin as their first point."""
    begun = [np.concatenate((np.zeros((1, x.shape[1])), x)) for x in series]
    return [np.column_stack((np.linspace(0.0, 1.0, len(x)), x)) for x in begun]


def chosen(kernels: list[Kernel], X: Series, y: np.ndarray, n: int) -> tuple[float, str]:
    """Return the accuracy of the kernel that is best on folds of the training part, and its name."""
    folds, best, name, matrix = StratifiedKFold(5, shuffle=True, random_state=0), -1.0, "", np.empty(0)
    for kernel in kernels:
        kernel = kernel.learn(kernel.pack(X[:n]))
        K = kernel(X, X[:n])
        score = float(np.mean(cross_val_score(SVC("precomputed", C=10.0), K[:n], y[:n], cv=folds)))
        if score > best:
            best, name, matrix = score, repr(kernel), K
    found = SVC("precomputed", C=10.0).fit(matrix[:n], y[:n]).predict(matrix[n:])
    return float(np.mean(found == y[n:])), name


def summaries(X: Series, y: np.ndarray, n: int) -> tuple[float, str]:
    def told(x: np.ndarray) -> np.ndarray:
        steps = np.diff(x, axis=0)
        return np.concatenate([x.mean(axis=0), x.std(axis=0), steps.mean(axis=0), steps.std(axis=0)])

    F = np.array([told(x) for x in X])
    grid = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": [0.01 / F.shape[1], 0.1 / F.shape[1], 1.0 / F.shape[1]]}
    search = GridSearchCV(make_pipeline(StandardScaler(), TheirSVC()), grid, cv=5).fit(F[:n], y[:n])
    return float(search.score(F[n:], y[n:])), ""


def warped(X: Series, y: np.ndarray, n: int) -> tuple[float, str]:
    cost = np.array([[_warping(x, z) for z in X[:n]] for x in X[n:]])
    return float(np.mean(y[cost.argmin(axis=1)] == y[n:])), ""


@compiled
def _warping(x, y):
    """Return the cost of the best alignment, in squared distances."""
    table = np.full((x.shape[0] + 1, y.shape[0] + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            cost = 0.0
            for c in range(x.shape[1]):
                cost += (x[i, c] - y[j, c]) ** 2
            table[i + 1, j + 1] = cost + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


def contenders(X: Series, n: int, seed: int = 0) -> dict[str, Callable[..., tuple[float, str]]]:
    points = Vectors.pack(np.concatenate(X[:n]))
    scale = median_distance(points) * float(np.sqrt(np.median([len(x) for x in X[:n]])))
    factors = (0.1, 0.2, 0.4, 1.0)
    longest = max(map(len, X))

    def family(kernels: list[Kernel], with_time: bool = False) -> Callable[..., tuple[float, str]]:
        return lambda X, y, n: chosen(kernels, timed(X) if with_time else X, y, n)

    found: dict[str, Callable[..., tuple[float, str]]] = {"summaries, Gaussian": summaries, "warping, nearest": warped}
    found["GlobalAlignmentSeries"] = family([GlobalAlignmentSeries(f * scale) for f in factors])
    found["GlobalAlignmentSeries('median')"] = family([GlobalAlignmentSeries("median")])
    found["GlobalAlignmentSeries, band"] = family(
        [GlobalAlignmentSeries(f * scale, longest // 2) for f in factors]  # lengths differ by less
        if min(map(len, X)) > longest - longest // 2
        else [GlobalAlignmentSeries(f * scale, longest) for f in factors]
    )
    found["GlobalAlignmentSeries, a fifth"] = family([GlobalAlignmentSeries(f * scale, 0.2) for f in factors])
    cost = float(np.median([len(x) for x in X[:n]]))  # of squared units, about one a point
    found["SoftDTW(0)"] = family([SoftDTW(0.0, f * cost) for f in (0.01, 0.1, 1.0)])
    found["SoftDTW(1)"] = family([SoftDTW(1.0, f * cost) for f in (0.01, 0.1, 1.0)])
    found["RandomConvolutions"] = family([RandomConvolutions(2000, random_state=seed)])
    found["RandomConvolutions, levels too"] = family(
        [RandomConvolutions(2000, standardise=flag, random_state=seed) for flag in (True, False)]
    )
    spans = [np.linalg.norm(np.diff(x, axis=0), axis=1).sum() for x in X[:n]]
    unit = float(np.median(spans))
    for depth in (2, 3, 4, 5):
        scales = (0.03, 0.1, 0.2, 0.4, 1.0) if depth > 3 else (0.01, 0.03, 0.1, 0.3, 1.0)
        found[f"Signature({depth})"] = family(
            [Signature(depth, length_scale=f * unit).normalized() for f in scales], True
        )
    if longest <= 300:
        found["Signature(None)"] = family(
            [Signature(None, length_scale=f * unit).normalized() for f in (0.1, 0.2, 0.4)], True
        )
        width = np.sqrt(X[0].shape[1])
        found["Signature(base='gaussian')"] = family(
            [Signature(None, "gaussian", f * width).normalized() for f in (1.0, 2.0, 4.0)], True
        )
    if X[0].shape[1] > 1:
        found["Cumulant"] = family([Cumulant(f, lags=lags) for f in (0.5, 1.0, 2.0) for lags in ((0,), (0, 1))])
    return found


def main() -> None:
    """Print a line per data set and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(DATA))
    parser.add_argument("--only", default="", help="contenders whose names contain this")
    parser.add_argument("--draws", type=int, default=1, help="of the patterns of RandomConvolutions")
    given = parser.parse_args()
    print(f"{'data':18}{'contender':32}{'accuracy':>9}{'spread':>8}{'seconds':>9}  chosen")
    for name in given.names:
        X, y, n = read(name)
        for who, predict in contenders(X, n).items():
            if given.only not in who:
                continue
            draws = given.draws if who.startswith("RandomConvolutions") else 1
            began, found, told = time.process_time(), [], ""
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for seed in range(draws):
                    accuracy, told = (contenders(X, n, seed)[who] if seed else predict)(X, y, n)
                    found.append(100.0 * accuracy)
            taken = (time.process_time() - began) / draws
            spread = f"{np.std(found):8.1f}" if draws > 1 else " " * 8
            print(f"{name:18}{who:32}{np.mean(found):9.1f}{spread}{taken:9.1f}  {told}", flush=True)


if __name__ == "__main__":
    main()

"""Training samples drawn with a bias: `python -m benchmarks.real_shift`.

Rows are drawn for training with a probability that depends on x alone; the rest are the population that counts. A
linear model, which cannot be right everywhere, is fitted without weights, with those of `mean_matching`, with those of
a logistic regression that tells the two samples apart, and with the true ones, one over the probability of being drawn.
Numbers are test errors, means over the draws: squared error over the variance of y, or the share of wrong labels. The
folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from mercer import KernelLogisticRegression, KernelRidge, mean_matching
from mercer.kernels import Gaussian, Linear

Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]
SIZE = 200  # of training samples, about
POPULATION = 1000  # samples at most


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    A = np.genfromtxt(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", delimiter=",", skip_header=1)
    A = A[~np.isnan(A).any(axis=1)]
    X, y = A[:, :-1], A[:, -1]
    varies = X.std(axis=0) > 0
    return (X[:, varies] - X[:, varies].mean(axis=0)) / X[:, varies].std(axis=0), y


def along_the_first_component(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows near one end of the first principal component, normally distributed around a place between end and mean."""
    z = X @ np.linalg.svd(X, full_matrices=False)[2][0]
    low, mean = np.quantile(z, 0.02), z.mean()
    return np.exp(-0.5 * ((z - (low + (mean - low) / 3.0)) / ((mean - low) / 1.5)) ** 2)


def near_the_middle(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows near the mean."""
    return np.exp(-0.05 * np.sum(X**2, axis=1))


TASKS: dict[str, tuple[Draw, bool]] = {
    "abalone": (along_the_first_component, False),
    "airfoil": (along_the_first_component, False),
    "bodyfat": (along_the_first_component, False),
    "boston_housing": (along_the_first_component, False),
    "california_housing": (along_the_first_component, False),
    "concrete": (along_the_first_component, False),
    "kin8nm": (along_the_first_component, False),
    "breast_cancer_wisconsin_original": (near_the_middle, True),
    "ionosphere": (near_the_middle, True),
    "pima": (near_the_middle, True),
}


def logistic_weights(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    told = LogisticRegression(max_iter=1000).fit(np.vstack([X, Z]), np.repeat([0, 1], [len(X), len(Z)]))
    return np.exp(told.decision_function(X)) * len(X) / len(Z)


def error(X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray, w: Any, labels: bool) -> float:
    w = None if w is None else w * (len(w) / w.sum())
    if labels:
        told = KernelLogisticRegression(Linear(), C=0.1).fit(X, y, sample_weight=w)
        return float(np.mean(told.predict(T) != t))
    fitted = KernelRidge(Linear(), 1.0, fit_intercept=True).fit(X, y, sample_weight=w)
    return float(np.mean((fitted.predict(T) - t) ** 2) / t.var())


def draws(name: str, count: int) -> tuple[np.ndarray, float, float]:
    """Errors (count, 4), seconds of one matching, and the share of samples that its weights are worth."""
    X, y = table(name)
    bias, labels = TASKS[name]
    out, seconds, worth = np.empty((count, 4)), 0.0, 0.0
    for turn in range(count):
        rng = np.random.default_rng(turn)
        p = bias(X, rng)
        p = np.clip(p * min(SIZE, len(X) // 2) / p.sum(), 1e-6, 1.0)
        taken = rng.uniform(size=len(X)) < p
        rest = rng.permutation(np.flatnonzero(~taken))[:POPULATION]
        A, Z = X[taken], X[rest]
        began = time.perf_counter()
        found = mean_matching(A, Z, Gaussian("median"), upper=10.0)
        seconds += time.perf_counter() - began
        worth += found.effective_size / len(A)
        weights = (None, found.weights, logistic_weights(A, Z), (1.0 - p[taken]) / p[taken])
        out[turn] = [error(A, y[taken], Z, y[rest], w, labels) for w in weights]
    return out, seconds / count, worth / count


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS))
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print("| data | no weights | mean matching | logistic | true weights | draws won | worth | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.names or list(TASKS):
        errors, seconds, worth = draws(name, given.draws)
        columns = " | ".join(f"{value:.3f}" for value in errors.mean(axis=0))
        won = int(np.sum(errors[:, 1] < errors[:, 0]))
        print(f"| {name} | {columns} | {won} of {given.draws} | {worth:.2f} | {seconds:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

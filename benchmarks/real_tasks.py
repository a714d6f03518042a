"""Exam scores in 139 schools, a task each: `python -m benchmarks.real_tasks`.

The share of variance explained on held-out pupils in percent, mean and standard deviation over draws in which a share
of the pupils is for training, and the seconds of the processor. Each contender chooses its weights inside: ridge
regression by left-out pupils (one machine for all, and one for each school), the kernel of tasks the share of what
schools have in common and its ridge likewise, the nuclear norm by a fifth of the training pupils set aside, along a
whole path of weights. The folder of the data is named by the environment variable MERCER_DATA.
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

from mercer import MultiTaskRidge, NuclearNormRegressor
from mercer.kernels import Linear

RIDGES = (1.0, 10.0, 100.0, 1000.0)
Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def read() -> Data:
    """Return columns of variance one, scores and schools."""
    with np.load(Path(os.environ["MERCER_DATA"]) / "school.npz") as data:
        X, y, task = data["X"].astype(float), data["y"].astype(float), data["task"].astype(int)
    X = X[:, X.std(axis=0) > 0.0]
    return np.column_stack([X / X.std(axis=0), np.ones(len(y))]), y, task


def explained(y: np.ndarray, f: np.ndarray) -> float:
    """Return the share of variance explained in percent."""
    return 100.0 * (1.0 - np.mean((y - f) ** 2) / y.var())


def with_share(shares: list[float]) -> Callable[[Data, np.ndarray, np.ndarray], np.ndarray]:
    """Return the machine of tasks whose share and ridge are chosen by left-out pupils."""

    def call(train: Data, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        best: tuple[float, Any] = (np.inf, None)
        centre = train[1].mean()
        for alpha in RIDGES:
            model = MultiTaskRidge(Linear(), alpha, rho=shares if len(shares) > 1 else shares[0], leave_one_out=True)
            model.fit(train[0], train[1] - centre, tasks=train[2])
            error = float(np.mean((model.loo_predictions_ - train[1] + centre) ** 2))
            best = min(best, (error, model), key=lambda one: one[0])
        return best[1].predict(X, tasks=task) + centre

    return call


def nuclear(train: Data, X: np.ndarray, task: np.ndarray) -> np.ndarray:
    """Return predictions by the nuclear norm, its weight chosen on pupils set aside."""
    aside = np.random.default_rng(0).random(len(train[1])) < 0.2
    part = [a[~aside] for a in train]
    errors = []
    path = np.geomspace(3000.0, 30.0, 7)
    for alpha in path:
        model = NuclearNormRegressor(Linear(), alpha, tol=1e-3).fit(part[0], part[1], tasks=part[2])
        errors.append(np.mean((model.predict(train[0][aside], tasks=train[2][aside]) - train[1][aside]) ** 2))
    best = path[int(np.argmin(errors))]
    return NuclearNormRegressor(Linear(), best, tol=1e-3).fit(train[0], train[1], tasks=train[2]).predict(X, tasks=task)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.25)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, task = read()
    contenders = {
        "ridge, one for all": with_share([1.0]),
        "ridge, each school alone": with_share([0.0]),
        "shared + own kernel": with_share([0.3, 0.6, 0.9]),
        "nuclear norm, whole path": nuclear,
    }
    for name, call in contenders.items():
        found, seconds = [], []
        for seed in range(options.draws):
            train = np.random.default_rng(seed).random(len(y)) < options.share
            began = time.process_time()
            f = call((X[train], y[train], task[train]), X[~train], task[~train])
            seconds.append(time.process_time() - began)
            found.append(explained(y[~train], f))
        print(f"{name:28s} {np.mean(found):5.1f} +- {np.std(found):3.1f}  ({np.mean(seconds):.1f} s)", flush=True)


if __name__ == "__main__":
    main()

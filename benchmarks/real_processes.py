"""Gaussian processes on real data beside scikit-learn's: `python -m benchmarks.real_processes`.

Error (root mean square, in the unit of y) and mean log density of the test targets. Same kernel, same start, the
evidence climbed by both; of kin40k scikit-learn sees 1 500 samples, mercer's sparse process all. The folder of the data
is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import gaussian_process as gp
from sklearn.gaussian_process import kernels as gpk

from mercer import GaussianProcessRegressor, SparseGaussianProcessRegressor
from mercer.kernels import Gaussian, Kernel, Periodic, RationalQuadratic


class Task(NamedTuple):
    """Training and test rows, the kernel of each library, and the start of the noise variance."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    t: np.ndarray
    ours: Kernel
    theirs: Any
    noise: float = 0.1


def table(name: str) -> np.ndarray:
    return np.genfromtxt(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", delimiter=",", skip_header=1)


def split(X: np.ndarray, y: np.ndarray, share: float = 0.8) -> tuple[np.ndarray, ...]:
    order = np.random.default_rng(0).permutation(len(y))
    cut = int(share * len(y))
    X = (X - X[order[:cut]].mean(axis=0)) / X[order[:cut]].std(axis=0)
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def columns(name: str) -> Task:
    """Every column with a length scale of its own."""
    A = table(name)
    X, y, T, t = split(A[:, :-1], A[:, -1])
    d = X.shape[1]
    return Task(X, y, T, t, 1.0 * Gaussian((1.0,) * d), gpk.ConstantKernel(1.0) * gpk.RBF(np.ones(d)))


def carbon() -> Task:
    """Every fourth week of the first four fifths of the years predicts the rest: trend, season, and irregularities."""
    A = table("mauna_loa_co2_weekly")
    A = A[~np.isnan(A[:, 1])][::4]  # some weeks were not measured
    x, y = A[:, 0] - A[0, 0], A[:, 1]
    late = x > 0.8 * x[-1]
    ours = 4.0 * Gaussian(50.0) + 0.1 * Gaussian(50.0) * Periodic(1.0, 1.0) + 0.01 * RationalQuadratic(1.0, 1.0)
    theirs = (
        gpk.ConstantKernel(4.0) * gpk.RBF(50.0)
        + gpk.ConstantKernel(0.1) * gpk.RBF(50.0) * gpk.ExpSineSquared(1.0, 1.0)
        + gpk.ConstantKernel(0.01) * gpk.RationalQuadratic(length_scale=1.0, alpha=1.0)
    )
    return Task(x[~late, None], y[~late], x[late, None], y[late], ours, theirs, 1e-3)


def motorcycle() -> Task:
    A = table("mcycle")
    X, y, T, t = split(A[:, :1], A[:, 1])
    return Task(X, y, T, t, 1.0 * Gaussian(0.5), gpk.ConstantKernel(1.0) * gpk.RBF(0.5))


def robot() -> Task:
    with np.load(Path(os.environ["MERCER_DATA"]) / "kin40k.npz") as stored:
        X, y, T, t = split(stored["X"].astype(float), stored["y"].astype(float), 0.25)
    theirs = gpk.ConstantKernel(1.0) * gpk.RBF(np.full(8, 2.0))
    return Task(X, y, T, t, 1.0 * Gaussian((2.0,) * 8), theirs)


TASKS: dict[str, Callable[[], Task]] = {
    "co2": carbon,
    "mcycle": motorcycle,
    "concrete": lambda: columns("concrete"),
    "airfoil": lambda: columns("airfoil"),
    "kin40k": robot,
}


def judge(name: str, who: str, task: Task, fit: Callable[[np.ndarray, np.ndarray], Any]) -> None:
    """Fit to standardised targets and print error, log density and seconds."""
    mean, spread = task.y.mean(), task.y.std()
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(task.X, (task.y - mean) / spread)
        taken = time.perf_counter() - began
        f, s = model(task.T)
    f, s = mean + spread * f, spread * s
    error = np.sqrt(np.mean((f - task.t) ** 2))
    density = np.mean(-0.5 * np.log(2 * np.pi * s**2) - 0.5 * ((task.t - f) / s) ** 2)
    print(f"{name:10}{who:>26}{len(task.y):8}{error:10.4f}{density:10.4f}{taken:9.2f} s", flush=True)


def main() -> None:
    """Print a line per data set and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS))
    print(f"{'data':10}{'contender':>26}{'n':>8}{'error':>10}{'density':>10}{'fit':>11}")
    for name in parser.parse_args().names or list(TASKS):
        task = TASKS[name]()
        large = len(task.y) > 3000

        def ours(X: np.ndarray, y: np.ndarray, task: Task = task, large: bool = large) -> Any:
            if large:
                model = SparseGaussianProcessRegressor(task.ours, task.noise, inducing=200, random_state=0).fit(X, y)
            else:
                model = GaussianProcessRegressor(task.ours, task.noise).fit(X, y)
            return lambda T: model.predict(T, return_std=True, include_noise=True)

        def theirs(X: np.ndarray, y: np.ndarray, task: Task = task) -> Any:
            model = gp.GaussianProcessRegressor(task.theirs + gpk.WhiteKernel(task.noise), alpha=1e-10).fit(X, y)
            return lambda T: model.predict(T, return_std=True)

        judge(name, "mercer, sparse, 200" if large else "mercer", task, ours)
        few = task._replace(X=task.X[:1500], y=task.y[:1500]) if large else task
        judge(name, "scikit-learn", few, theirs)


if __name__ == "__main__":
    main()

"""Gaussian processes with defaults, on raw and on standardised columns: `python -m benchmarks.raw_units density`.

Mean log density of test targets in the unit of y, of `GaussianProcessRegressor()` beside scikit-learn's
``ConstantKernel() * RBF() + WhiteKernel()`` with ``normalize_y=True, n_restarts_optimizer=3``, over five splits. And
`python -m benchmarks.raw_units evidence`: the log evidence that both reach from one start, on standardised columns and
targets, with one length scale and with one per column; "made" is a table of 32 columns, four of which count.

A line of JSON is written for each set and split to the file that ``--to`` names; what is in the file already is not
computed again. The table is printed at the end. The folder of the data is named by the environment variable
MERCER_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor as Reference
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import GaussianProcessRegressor
from mercer.kernels import Gaussian

TABLES = {
    **dict.fromkeys(
        ("abalone", "boston_housing", "bodyfat", "concrete", "airfoil", "kin8nm", "wine_quality", "quake", "mcycle"), 1
    ),
    "california_housing": 1,
    "edm": 2,
    "water_quality": 14,
}  # with the number of targets, of which the first is taken
ARRAYS = ("kin40k", "elevators")
SETS = (*TABLES, *ARRAYS)
LARGE = ("kin40k", "elevators", "made")  # on which the evidence of 2 000 rows is climbed as well
SPLITS = 5


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and target of a set."""
    if name == "made":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 32))
        return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * rng.normal(size=3000)
    folder = Path(os.environ["MERCER_DATA"])
    if name in ARRAYS:
        with np.load(folder / f"{name}.npz") as stored:
            return stored["X"].astype(float), stored["y"].astype(float)
    A = np.loadtxt(folder / f"{name}.csv.gz", delimiter=",", skiprows=1)
    return A[:, : -TABLES[name]], A[:, -TABLES[name]]


def split(name: str, seed: int, rows: int) -> tuple[np.ndarray, ...]:
    """Return training and test rows, at most so many to train and 1 000 to test."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(y))
    cut = min(rows, int(0.8 * len(y)))
    train, test = order[:cut], order[cut : cut + 1000]
    return X[train], y[train], X[test], y[test]


def standardised(X: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spread = X.std(axis=0)
    spread[spread == 0.0] = 1.0
    return (X - X.mean(axis=0)) / spread, (T - X.mean(axis=0)) / spread


def judged(predict: Callable[[np.ndarray], Any], T: np.ndarray, t: np.ndarray) -> tuple[float, float]:
    """Mean log density and R^2."""
    f, s = predict(T)
    density = np.mean(-0.5 * np.log(2.0 * np.pi * s**2) - 0.5 * ((t - f) / s) ** 2)
    return float(density), float(1.0 - np.mean((t - f) ** 2) / t.var())


def density(name: str, columns: str, seed: int, rows: int) -> dict[str, Any]:
    """Return what both reach on one split."""
    X, y, T, t = split(name, seed, rows)
    if columns == "standardised":
        X, T = standardised(X, T)
    began = time.perf_counter()
    ours = GaussianProcessRegressor().fit(X, y)
    between = time.perf_counter()
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    theirs = Reference(kernel, normalize_y=True, n_restarts_optimizer=3, random_state=seed).fit(X, y)
    ended = time.perf_counter()
    own = judged(lambda T: ours.predict(T, return_std=True, include_noise=True), T, t)
    other = judged(lambda T: theirs.predict(T, return_std=True), T, t)
    return {
        "n": len(y), "density": own[0], "r2": own[1], "seconds": between - began,
        "reference density": other[0], "reference r2": other[1], "reference seconds": ended - between,
    }  # fmt: skip


def evidence(name: str, widths: str, seed: int, rows: int) -> dict[str, Any]:
    """Return the log evidence that both reach from the same start."""
    X, y, T, _ = split(name, seed, rows)
    X, y = standardised(X, T)[0], (y - y.mean()) / y.std()
    d = X.shape[1]
    length: Any = 1.0 if widths == "one length scale" else np.ones(d)
    began = time.perf_counter()
    start = 1.0 * Gaussian(length if np.isscalar(length) else tuple(length))
    ours = GaussianProcessRegressor(start, noise=0.1, normalize_y=False).fit(X, y)
    between = time.perf_counter()
    theirs = Reference(ConstantKernel(1.0) * RBF(length) + WhiteKernel(0.1), alpha=1e-12).fit(X, y)
    return {
        "n": len(y), "evidence": ours.log_marginal_likelihood_, "steps": ours.n_iter_, "seconds": between - began,
        "reference evidence": float(theirs.log_marginal_likelihood_value_),
        "reference seconds": time.perf_counter() - between,
    }  # fmt: skip


def problems(what: str, names: list[str], rows: int, splits: int) -> Iterator[tuple[str, str, int, int]]:
    if what == "density":
        for seed in range(splits):  # outermost, so that a run that is broken off has as many of each
            for name in names:
                yield from ((name, columns, seed, rows) for columns in ("raw", "standardised"))
        return
    for name in names:
        for widths in ("one length scale", "one per column")[: 1 if name == "mcycle" else 2]:
            yield name, widths, 0, rows
    for name in names:
        if name in LARGE:
            yield name, "one length scale", 0, 2000


def print_densities(found: dict[str, dict[str, Any]], names: list[str]) -> None:
    print("| set | n | raw: mercer | scikit-learn | difference | standardised: mercer | scikit-learn | difference |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        cells, n = [], 0
        for columns in ("raw", "standardised"):
            rows = [row for row in found.values() if (row["set"], row["case"]) == (name, columns)]
            if not rows:
                cells += ["", "", ""]
                continue
            own, other = (np.array([row[key] for row in rows]) for key in ("density", "reference density"))
            error = np.std(own - other, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan
            n = rows[0]["n"]
            cells += [f"{own.mean():.3f}", f"{other.mean():.3f}", f"{(own - other).mean():+.3f} ± {error:.3f}"]
        print(f"| {name} | {n} | {' | '.join(cells)} |")


def print_evidences(found: dict[str, dict[str, Any]]) -> None:
    print("| set | kernel | n | mercer | scikit-learn | difference |")
    print("|---|---|---|---|---|---|")
    for row in found.values():
        own, other = row["evidence"], row["reference evidence"]
        print(f"| {row['set']} | {row['case']} | {row['n']} | {own:.2f} | {other:.2f} | {own - other:+.2f} |")


def main() -> None:
    """Compute what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("density", "evidence"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=400, help="training rows, 400 by default")
    parser.add_argument("--splits", type=int, default=SPLITS, help=f"of the rows, for densities; {SPLITS} by default")
    parser.add_argument("--to", type=Path, required=True, help="file of results, to which lines are added")
    given = parser.parse_args()
    names = given.names or [*SETS, *(["made"] if given.what == "evidence" else [])]
    lines = given.to.read_text().splitlines() if given.to.exists() else []
    found = {row["key"]: row for row in map(json.loads, lines)}
    compute = density if given.what == "density" else evidence
    for name, case, seed, rows in problems(given.what, names, given.rows, given.splits):
        key = f"{given.what} {name} {case} {seed} {rows}"
        if key in found:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = {"key": key, "set": name, "case": case, "split": seed, **compute(name, case, seed, rows)}
        found[key] = row
        with given.to.open("a") as handle:
            handle.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    mine = {key: row for key, row in found.items() if key.startswith(given.what) and row["set"] in names}
    print_densities(mine, names) if given.what == "density" else print_evidences(mine)


if __name__ == "__main__":
    main()

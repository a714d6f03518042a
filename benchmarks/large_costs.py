"""Support vector machines with large C: `python -m benchmarks.large_costs`.

For every table of classes in the folder named by the environment variable MERCER_DATA, at most 5000 rows with
standardised columns: status, violation, dual objective and processor seconds of SVC, and of scikit-learn's SVC, which
is LIBSVM and is given about as many steps as fit into ten times our time, or a minute. Violation and objective are
computed from the coefficients of both, in float64. More than two classes are made two, those in even places against
those in odd ones. The figures are written to benchmarks/results/large_costs.json; `python -m benchmarks.large_costs
--table` prints what is there, and measures nothing.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import make_classification

from benchmarks.measure import commit, machine
from mercer import SVC
from mercer.kernels import Gaussian

RESULTS = Path(__file__).parent / "results" / "large_costs.json"
TABLES = (
    "breast_cancer_wisconsin_original", "banana", "twonorm", "heart", "ionosphere", "sonar", "pima", "vehicle",
    "wine_cultivars", "spambase", "letter", "phoneme", "segment",
)  # fmt: skip
ARRAYS = (
    "optdigits",
    "fashion_mnist_train_a",
    "outlier_mammography",
    "outlier_thyroid",
    "outlier_shuttle",
    "outlier_wilt",
    "covertype_2class",
)
SETS = (*TABLES, *ARRAYS, "adult", "a8a")
COSTS = (1.0, 100.0, 1e4, 1e6)
PATIENCE, LONGEST = 10.0, 60.0  # times our seconds that the other has, and seconds at most


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the classes of a set."""
    folder = Path(os.environ["MERCER_DATA"])
    if name in TABLES:
        table = np.genfromtxt(folder / f"{name}.csv.gz", delimiter=",", skip_header=1)
        table = table[np.isfinite(table).all(axis=1)]
        return table[:, :-1], table[:, -1]
    if name == "adult":
        with gzip.open(folder / "adult.csv.gz", "rt", encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
        columns = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
        return np.array([[float(r[c]) for c in columns] for r in rows]), np.array([int(r["class"]) for r in rows])
    with np.load(folder / f"{name}.npz") as data:
        if name == "a8a":
            shape = len(data["train_y"]), int(data["n_features"][0])
            ones = np.ones(len(data["train_indices"]))
            return sp.csr_matrix((ones, data["train_indices"], data["train_indptr"]), shape).toarray(), data["train_y"]
        return data["X"].astype(float), data["y"]


def table(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most so many rows, columns of mean zero and variance one, and labels of -1 and 1."""
    X, y = read(name)
    chosen = np.random.default_rng(0).permutation(len(y))[:most]
    X, y = X[chosen], np.unique(y, return_inverse=True)[1][chosen]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y % 2 == 0, -1.0, 1.0)


def figures(model: Any, K: np.ndarray, y: np.ndarray, C: float) -> tuple[float, float]:
    """Return the violation and the dual objective of a fitted machine."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    f = K @ beta
    g = f - y
    down, up = beta > np.minimum(C * y, 0.0), beta < np.maximum(C * y, 0.0)
    return max(float(g[down].max() - g[up].min()), 0.0), float(y @ beta - 0.5 * beta @ f)


def seconds(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began


def compared(X: np.ndarray, y: np.ndarray, C: float, gamma: float) -> dict[str, Any]:
    """Fit both machines and return what is known of them."""
    ours = SVC("rbf", C=C, gamma=gamma)
    mine = seconds(ours, X, y)
    options = {"C": C, "gamma": gamma, "cache_size": 1000}
    steps = 20_000
    theirs = svm.SVC(**options, max_iter=steps)
    taken = seconds(theirs, X, y)
    allowed = min(PATIENCE * mine, LONGEST)
    if theirs.fit_status_ != 0 and taken < allowed:  # so many steps as the time allows
        theirs = svm.SVC(**options, max_iter=int(steps * allowed / taken) + steps)
        taken = seconds(theirs, X, y)
    K = Gaussian.from_gamma(gamma)(X)
    found = {"rows": len(y), "columns": X.shape[1], "C": C, "status": ours.solution_.status.name, "seconds": mine}
    found["violation"], found["dual"] = figures(ours, K, y, C)
    found |= {"their status": "CONVERGED" if theirs.fit_status_ == 0 else "MAX_ITER", "their seconds": taken}
    found["their violation"], found["their dual"] = figures(theirs, K, y, C)
    return found


def record(name: str, found: dict[str, Any]) -> None:
    """Put a fit in the place of the one with the same set and C."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["fits"] if RESULTS.exists() else []
    kept = [fit for fit in kept if (fit["set"], fit["C"]) != (name, found["C"])]
    fits = sorted([*kept, {"set": name, **found}], key=lambda fit: (("made", *SETS).index(fit["set"]), fit["C"]))
    RESULTS.write_text(json.dumps({**commit(), "machine": machine(), "fits": fits}, indent=1) + "\n", encoding="utf-8")


def print_table(costs: Sequence[float]) -> None:
    """Print what has been recorded for these costs."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    print("| set | n | C | violation | dual | seconds | LIBSVM: violation | dual less ours | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for fit in (fit for fit in found["fits"] if fit["C"] in costs):
        cells = [fit["set"], f"{fit['rows']}", f"{fit['C']:g}"]
        for whose in ("", "their "):
            ended = "" if fit[whose + "status"] == "CONVERGED" else " (stopped)"
            dual = f"{fit['dual']:.8g}" if not whose else f"{fit['their dual'] - fit['dual']:.2g}"
            cells += [f"{fit[whose + 'violation']:.1e}{ended}", dual, f"{fit[whose + 'seconds']:.2f}"]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000, help="rows of a set at most")
    parser.add_argument("--costs", type=float, nargs="+", default=COSTS)
    parser.add_argument("--sets", nargs="+", default=("made", *SETS), choices=("made", *SETS))
    parser.add_argument("--no-record", action="store_true", help="do not write to benchmarks/results")
    parser.add_argument("--table", action="store_true", help="print what has been recorded, and measure nothing")
    given = parser.parse_args()
    if given.table:
        print_table(given.costs)
        return
    warnings.simplefilter("ignore")
    columns = ("status", "violation", "dual", "seconds")
    print(f"{'set':34}{'rows':>6}{'C':>9}" + "".join(f"{c:>14}" for c in (*columns, *(f"their {c}" for c in columns))))
    for name in given.sets:
        if name == "made":
            X, classes = make_classification(8000, 10, n_informative=5, flip_y=0.1, random_state=0)
            X, y, gamma = (X - X.mean(axis=0)) / X.std(axis=0), 2.0 * classes - 1.0, 0.01
        else:
            X, y = table(name, given.rows)
            gamma = 1.0 / X.shape[1]
        SVC("rbf").fit(X[:600], y[:600])  # compiled code is loaded
        for C in given.costs:
            found = compared(X, y, C, gamma)
            if not given.no_record:
                record(name, found)
            line = f"{name:34}{found['rows']:6}{C:9g}"
            for whose in ("", "their "):
                line += f"{found[whose + 'status']:>14}{found[whose + 'violation']:14.2e}"
                line += f"{found[whose + 'dual']:14.9g}{found[whose + 'seconds']:14.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()

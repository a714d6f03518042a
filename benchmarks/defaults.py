"""Default against default: `python -m benchmarks.defaults --to defaults.jsonl`.

Estimators without a single parameter, on tables as they are and with standardised columns, beside scikit-learn's, which
always get standardised columns. The error is the share of wrong classes (SVC), the log loss in nats (logistic
regression), the mean squared error over the variance of y (SVR, ridge, processes), and one minus the area under the ROC
curve of outliers (one-class machine, trained on samples that are not outliers).

A line of JSON is written for each set, split and pair of estimators; what is in the file already is not computed again.
The table is printed at the end: mean errors, and on how many sets each was better (ties count half). The sets are in
two halves, by their names alone, so that a rule that was chosen on one half can be reported on the other.
The folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets, gaussian_process, kernel_ridge, linear_model, svm
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, GaussianProcessRegressor, KernelLogisticRegression, KernelRidge, OneClassSVM

SPLITS = 5
CLASSES = (
    "breast_cancer_wisconsin_original", "banana", "twonorm", "heart", "ionosphere", "sonar", "pima", "vehicle",
    "wine_cultivars", "spambase", "letter", "phoneme", "segment",
)  # fmt: skip
IMAGES = ("optdigits", "fashion_mnist_train_a")
OUTLIERS = ("outlier_mammography", "outlier_thyroid", "outlier_wilt", "outlier_shuttle")
NUMBERS = {
    **dict.fromkeys(
        ("abalone", "boston_housing", "bodyfat", "concrete", "airfoil", "kin8nm", "wine_quality", "quake", "mcycle"), 1
    ),
    "california_housing": 1,
    "edm": 2,
    "water_quality": 14,
}  # with the number of targets, of which the first is taken
NUMBER_ARRAYS = ("kin40k", "elevators")

Pair = tuple[Callable[[], Any], Callable[[], Any], str, str]
PAIRS: dict[str, Pair] = {
    "SVC": (SVC, svm.SVC, "classes", "wrong"),
    "logistic": (KernelLogisticRegression, linear_model.LogisticRegression, "classes", "log loss"),
    "SVR": (SVR, svm.SVR, "numbers", "squares"),
    "ridge": (KernelRidge, lambda: kernel_ridge.KernelRidge(kernel="rbf"), "numbers", "squares"),
    "process": (GaussianProcessRegressor, gaussian_process.GaussianProcessRegressor, "numbers", "squares"),
    "one class": (OneClassSVM, svm.OneClassSVM, "outliers", "area"),
}
MOST = {"process": 1000}  # training rows, of methods that take minutes with 5 000


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and target of a set; rows with missing values are left out."""
    bundled = {"iris": "iris", "wine": "wine", "wdbc": "breast_cancer", "digits": "digits", "diabetes": "diabetes"}
    if name in bundled:
        X, y = getattr(datasets, f"load_{bundled[name]}")(return_X_y=True)
    elif name in (*IMAGES, *OUTLIERS, *NUMBER_ARRAYS):
        with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as stored:
            X, y = stored["X"].astype(float), stored["y"]
    else:
        A = np.loadtxt(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", delimiter=",", skiprows=1)
        last = NUMBERS.get(name, 1)
        X, y = A[:, :-last], A[:, -last]
    whole = np.isfinite(X).all(axis=1)
    return X[whole], y[whole]


def sets(kind: str) -> tuple[str, ...]:
    """Return the names of the sets of a kind."""
    if kind == "classes":
        return (*CLASSES, *IMAGES, *OUTLIERS[:3], "iris", "wine", "wdbc", "digits")
    return (*OUTLIERS, "wdbc") if kind == "outliers" else (*NUMBERS, *NUMBER_ARRAYS, "diabetes")


def split(X: np.ndarray, y: np.ndarray, seed: int, rows: int) -> tuple[np.ndarray, ...]:
    """Return training and test parts, at most so many rows to train and 2 000 to test."""
    order = np.random.default_rng(seed).permutation(len(y))
    cut = min(rows, int(0.75 * len(y)))
    train, test = order[:cut], order[cut : cut + 2000]
    return X[train], y[train], X[test], y[test]


def error(model: Any, parts: tuple[np.ndarray, ...], measure: str) -> float:
    """Return the error of a model on a split."""
    X, y, new, truth = parts
    if measure == "area":
        model.fit(X[y == 0])
        return 1.0 - float(roc_auc_score(truth, -model.decision_function(new)))
    model.fit(X, y)
    if measure == "wrong":
        return float(np.mean(model.predict(new) != truth))
    if measure == "log loss":
        return float(log_loss(truth, model.predict_proba(new), labels=model.classes_))
    return float(np.mean((model.predict(new) - truth) ** 2) / np.mean((truth - y.mean()) ** 2))


def lines(what: list[str], rows: int, known: set[str]) -> Iterator[dict[str, Any]]:
    """Yield what is not known yet."""
    for name in what:
        own, theirs, kind, measure = PAIRS[name]
        for table in sets(kind):
            X, y = read(table)
            y = (y != 1).astype(int) if table == "wdbc" and kind == "outliers" else y
            for seed in range(SPLITS):
                parts = split(X, y, seed, min(rows, MOST.get(name, rows)))
                key = f"{name} {table} {seed} {rows}"
                if key in known:
                    continue
                scaler = StandardScaler().fit(parts[0])
                scaled = (scaler.transform(parts[0]), parts[1], scaler.transform(parts[2]), parts[3])
                row: dict[str, Any] = {"key": key, "pair": name, "set": table, "split": seed, "n": len(parts[1])}
                for case, model, given in (("raw", own(), parts), ("standardised", own(), scaled)):
                    began = time.perf_counter()
                    row[case] = error(model, given, measure)
                    row[f"{case} seconds"] = time.perf_counter() - began
                began = time.perf_counter()
                row["reference"] = error(make_pipeline(StandardScaler(), theirs()), parts, measure)
                row["reference seconds"] = time.perf_counter() - began
                yield row


def half(table: str) -> int:
    """Return the half that a set belongs to, which depends on its name alone."""
    return zlib.crc32(table.encode()) % 2


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of mean errors, one line for each pair of estimators, half and set."""
    out = ["| estimator | half | set | n | raw | standardised | scikit-learn |", "|---|---|---|---|---|---|---|"]
    ends = ["", "| estimator | half | better than scikit-learn, raw | standardised | sets |", "|---|---|---|---|---|"]
    for name in PAIRS:
        for part in (0, 1):
            own = [row for row in rows if row["pair"] == name and half(row["set"]) == part]
            means = {}
            for one in sorted({row["set"] for row in own}):
                some = [row for row in own if row["set"] == one]
                means[one] = [float(np.mean([row[c] for row in some])) for c in ("raw", "standardised", "reference")]
                figures = " | ".join(f"{value:.4f}" for value in means[one])
                out.append(f"| {name} | {part} | {one} | {some[0]['n']} | {figures} |")
            if means:
                shares = [np.mean([_better(m[i], m[2]) for m in means.values()]) for i in (0, 1)]
                ends.append(f"| {name} | {part} | {shares[0]:.0%} | {shares[1]:.0%} | {len(means)} |")
    return "\n".join(out + ends)


def _better(own: float, other: float) -> float:
    return 0.5 if abs(own - other) < 1e-9 else float(own < other)


def main() -> None:
    """Compute what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", help=f"of {', '.join(PAIRS)}; all if none is named")
    parser.add_argument("--rows", type=int, default=5000, help="training rows at most")
    parser.add_argument("--to", type=Path, required=True, help="file of results, to which lines are added")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [json.loads(line) for line in given.to.read_text().splitlines()] if given.to.exists() else []
    with given.to.open("a") as stream:
        for row in lines(given.what or list(PAIRS), given.rows, {row["key"] for row in rows}):
            rows.append(row)
            print(json.dumps(row), file=stream, flush=True)
    print(table([row for row in rows if row["key"].endswith(f" {given.rows}")]))


if __name__ == "__main__":
    main()

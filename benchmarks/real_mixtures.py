"""Several kernels on real data: `python -m benchmarks.real_mixtures [set ...]`.

The six views of mfeat's digits, string and Fisher kernels of protein families, and the columns of heart and adult: the
best single kernel, chosen by five folds within the training part, the average, and learned weights. A model is trained
on a share of the samples and tested on the rest, for several draws; numbers are accuracies in percent, mean and
standard deviation over the draws. C = 10. The folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import MultipleKernelClassifier, source_kernels
from mercer.kernels import Fisher, Gaussian, Kernel, Mismatch, Spectrum
from mercer.mixtures import Alignment, Average, LpBall, Simplex
from mercer.models import MarkovChain

FOLDER = Path(os.environ.get("MERCER_DATA", "."))
MIXTURES = {
    "average": Average(), "Simplex()": Simplex(), "LpBall(1.33)": LpBall(1.33), "LpBall(2)": LpBall(2.0),
    "Alignment()": Alignment(),
}  # fmt: skip
Set = tuple[dict[str, Any], np.ndarray, dict[str, Kernel], int]


def digits() -> Set:
    with np.load(FOLDER / "mfeat.npz") as found:
        views = {name: np.asarray(found[name], dtype=float) for name in ("fac", "fou", "kar", "mor", "pix", "zer")}
        y = np.asarray(found["y"])
    table, kernels = {}, {}
    for name, X in views.items():
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        columns = [f"{name}{j}" for j in range(X.shape[1])]
        table |= dict(zip(columns, X.T, strict=True))
        kernels[name] = Gaussian(float(np.sqrt(X.shape[1]))).on(columns)
    return table, y, kernels, 200


def proteins() -> Set:
    with gzip.open(FOLDER / "protein_families.csv.gz", "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    table = {"sequence": [row["sequence"] for row in rows]}
    kernels: dict[str, Any] = {f"Spectrum({p})": Spectrum(p) for p in (1, 2, 3)}
    kernels |= {"Mismatch(4, 1)": Mismatch(4, 1, alphabet="protein"), "Fisher(MarkovChain(1))": Fisher(MarkovChain(1))}
    kernels = {name: kernel.normalized().on("sequence") for name, kernel in kernels.items()}
    return table, np.array([row["label"] for row in rows]), kernels, 60


def heart() -> Set:
    with gzip.open(FOLDER / "heart.csv.gz", "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    words = ("sex", "chest_pain", "fasting_sugar", "rest_ecg", "angina", "slope", "thal")
    names = [name for name in rows[0] if name != "class"]
    table = {
        name: [row[name] for row in rows] if name in words else np.array([float(row[name]) for row in rows])
        for name in names
    }
    return table, np.array([row["class"] for row in rows]), source_kernels(table), 150


def adult() -> Set:
    with gzip.open(FOLDER / "adult.csv.gz", "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))[:5000]
    numbers = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
    names = [name for name in rows[0] if name not in ("part", "fnlwgt", "education", "class")]
    table = {
        name: np.array([float(row[name]) for row in rows]) if name in numbers else [row[name] for row in rows]
        for name in names
    }
    return table, np.array([row["class"] for row in rows]), source_kernels(table), 500


SETS = {"digits": digits, "proteins": proteins, "heart": heart, "adult": adult}


def taken(table: dict[str, Any], index: np.ndarray) -> dict[str, Any]:
    return {
        name: column[index] if isinstance(column, np.ndarray) else [column[i] for i in index]
        for name, column in table.items()
    }


def scores(data: Set, draws: int) -> dict[str, list[float]]:
    table, y, kernels, size = data
    found: dict[str, list[float]] = {}
    whole = MultipleKernelClassifier(kernels)._given_kernel()
    S = whole.pack(table)
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(y))
        train, test = order[:size], order[size:]
        A, B = S.take(train), S.take(test)
        singles = {
            name: MultipleKernelClassifier({name: kernel}, 10.0, normalization="trace")
            for name, kernel in kernels.items()
        }
        inner = {name: cross_val_score(model, A, y[train], cv=5).mean() for name, model in singles.items()}
        best = max(inner, key=lambda name: inner[name])
        found.setdefault("best single kernel", []).append(singles[best].fit(A, y[train]).score(B, y[test]))
        for name, mixture in MIXTURES.items():
            model = MultipleKernelClassifier(kernels, 10.0, mixture=mixture, normalization="trace").fit(A, y[train])
            found.setdefault(name, []).append(model.score(B, y[test]))
            if draw == 0 and name == "Simplex()":
                said = dict(zip(model.kernel_names_, model.weights_.round(2).tolist(), strict=True))
                print(f"  weights on the simplex: {said}; best single kernel: {best}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=[])
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.sets or SETS:
        began = time.perf_counter()
        print(name)
        for contender, values in scores(SETS[name](), arguments.draws).items():
            print(f"| {contender} | {100 * np.mean(values):.1f} ± {100 * np.std(values):.1f} |")
        print(f"  {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()

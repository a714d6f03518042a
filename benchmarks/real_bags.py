"""Bags of instances: musk1, musk2 and elephant: `python -m benchmarks.real_bags musk1 --runs 10`.

Accuracy in percent by ten folds, mean and standard error over runs with other folds, and seconds of the processor of a
run. C and the width are chosen inside, by three folds of the training bags; for machines of instances on musk2, which
has 6 598 of them, by one of these folds. Columns have variance one over all bags. The set kernel is a support vector
machine on the matrix of all bags, which is computed once for each width and shared by all folds. Beside the machines of
bags stands scikit-learn's support vector machine on the means of the bags. Published, with other choices: Andrews,
Tsochantaridis and Hofmann (2003) have mi-SVM at 87.4, 83.6, 82.2 and MI-SVM at 77.9, 84.3, 81.4 on musk1, musk2 and
elephant, each for the kernel that was best.

Each run of a contender is a line of benchmarks/results/real_bags.jsonl. Runs that are there are not made again, so that
what was stopped goes on, and more runs can be added; `--runs 0` prints the table of what is there. The folder of the
data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as Reference

from mercer import SVC, MultiInstanceSVC
from mercer.domains import Sets
from mercer.kernels import Gaussian, Linear, MeanMap

RESULTS = Path(__file__).parent / "results" / "real_bags.jsonl"
SETS = ("musk1", "elephant", "musk2")
MEANS = "SVC on means (scikit-learn)"
CONTENDERS = {"set kernel": "set", "mi-SVM": "instances", "MI-SVM": "witnesses", "mi-SVM, linear": "instances",
              "MI-SVM, linear": "witnesses", MEANS: ""}  # fmt: skip
COSTS = (1.0, 10.0, 100.0)
LINEAR_COSTS = (0.01, 0.1, 1.0)  # of the linear kernel, whose values are some hundreds
MANY = 3000  # instances from which machines of instances are chosen by one fold


def read(name: str) -> tuple[Sets, np.ndarray, np.ndarray]:
    """Return bags of columns of variance one, their labels and their means."""
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as data:
        X, bag, y = data["X"].astype(float), data["bag"], data["y"]
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    return Sets.grouped(X, bag), y, np.array([X[bag == i].mean(axis=0) for i in range(len(y))])


def search(who: str, bags: Sets, means: np.ndarray) -> tuple[Any, Any]:
    """Return a search over C and width, and the samples that it takes."""
    width = float(Gaussian("median").learn(bags.members[:1000]).length_scale)
    widths = (0.5 * width, width)
    if method := CONTENDERS[who]:
        kernels = {"kernel": [Gaussian(s) for s in widths], "C": COSTS}
        choices = {"kernel": [Linear()], "C": LINEAR_COSTS} if "linear" in who else kernels
        cv = First(3) if len(bags.members) > MANY else 3
        return GridSearchCV(MultiInstanceSVC(method=method, n_threads=1), choices, cv=cv), bags
    choices = {"gamma": ["scale", *(0.5 / s**2 for s in widths)], "C": COSTS}
    return GridSearchCV(Reference(), choices, cv=3), means


class First(StratifiedKFold):
    """The first of several folds alone."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        yield next(iter(super().split(X, y, groups)))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return 1


def accuracy(model: Any, X: Any, y: np.ndarray, run: int) -> float:
    """Return the accuracy by ten folds, in percent."""
    right = np.zeros(len(y), dtype=bool)
    for train, test in StratifiedKFold(10, shuffle=True, random_state=run).split(np.zeros(len(y)), y):
        right[test] = model.fit(X[train], y[train]).predict(X[test]) == y[test]
    return 100.0 * float(right.mean())


class SetKernel:
    """The machine of ``method="set"``, with matrices of the bags that are computed once."""

    def __init__(self, bags: Sets) -> None:
        width = float(Gaussian("median").learn(bags.members[:1000]).length_scale)
        self.matrices = [MeanMap(Gaussian(s))(bags) for s in (0.5 * width, width)]

    def accuracy(self, y: np.ndarray, run: int) -> float:
        """Return the accuracy by ten folds, in percent."""
        right = np.zeros(len(y), dtype=bool)
        for train, test in StratifiedKFold(10, shuffle=True, random_state=run).split(np.zeros(len(y)), y):
            best = -1.0
            for K in self.matrices:
                found = GridSearchCV(SVC("precomputed", tol=1e-3), {"C": COSTS}, cv=3)
                found.fit(K[np.ix_(train, train)], y[train])
                if found.best_score_ > best:
                    best = found.best_score_
                    right[test] = found.predict(K[np.ix_(test, train)]) == y[test]
        return 100.0 * float(right.mean())


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the lines that are there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(lines: list[dict[str, Any]]) -> None:
    """Print mean and standard error of each contender on each set."""
    for name in SETS:
        for who in CONTENDERS:
            mine = [line for line in lines if (line["set"], line["who"]) == (name, who)]
            if mine:
                found = [line["accuracy"] for line in mine]
                error = np.std(found) / np.sqrt(max(len(found) - 1, 1))
                seconds = np.mean([line["seconds"] for line in mine])
                print(f"{name:9s} {who:28s} {np.mean(found):5.1f} +- {error:3.1f}  {len(found)} runs ({seconds:.0f} s)")


def main() -> None:
    """Make the runs that are not there, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SETS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--who", nargs="*", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--to", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    there = {(line["set"], line["who"], line["run"]) for line in stored(options.to)}
    for name in options.names if options.runs else []:
        bags, y, means = read(name)
        sets = SetKernel(bags) if "set kernel" in options.who else None
        for run in range(options.runs):
            for who in options.who:
                if (name, who, run) in there:
                    continue
                began = time.process_time()
                if sets is not None and who == "set kernel":
                    found = sets.accuracy(y, run)
                else:
                    found = accuracy(*search(who, bags, means), y, run)
                line = {"set": name, "who": who, "run": run, "accuracy": found, "seconds": time.process_time() - began}
                with options.to.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    table(stored(options.to))


if __name__ == "__main__":
    main()

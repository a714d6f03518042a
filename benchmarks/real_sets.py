"""Kernels on sets, on molecules and images as bags: `python -m benchmarks.real_sets`.

A molecule of musk is the bag of its conformations, a picture of elephant the bag of its segments; what is known is the
class of the bag. Accuracy by ten stratified folds over bags, mean and standard deviation over repetitions with other
folds. In each fold the columns are standardised by the members of the training bags, and C (1 to 1000) and the length
scale (1/8 to 1 times the root of twice the number of columns; of polynomials the degree 1, 2 or 3) are chosen by five
folds within. The milliseconds are those of one Gram matrix of all bags.

Baselines: the largest class; scikit-learn's support vector machine on the means of the bags; scikit-learn's on members,
each with the class of its bag, where a bag is told by the mean of its decisions. Ratios of time are to the same matrix
made of scikit-learn's kernel between all members. The folder of the data is named by the environment variable
MERCER_DATA.

With `series`, frames of speech (Japanese vowels, nine speakers) and of motion (four activities) are told apart as sets
and as dynamical systems, on the published split; the baseline is scikit-learn's machine on the means of the channels.
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
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as TheirSVC

from mercer import SVC
from mercer.kernels import Gaussian, Polynomial, Precomputed
from mercer.kernels.series.dynamical import DynamicalSystem
from mercer.kernels.sets.mean_map import MeanMap, MinMax
from mercer.kernels.sets.pyramid_match import PyramidMatch
from mercer.kernels.sets.subspaces import PrincipalAngles

BAGS = ("musk1", "musk2", "elephant")
COSTS = {"C": [1.0, 10.0, 100.0, 1000.0]}
FACTORS = (0.125, 0.25, 0.5, 1.0)

Bags = list[np.ndarray]
Grams = Callable[[Bags], list[np.ndarray]]  # matrices of all bags, one for each choice


def load(name: str) -> tuple[Bags, np.ndarray]:
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as data:
        X, bag, y = data["X"].astype(float), data["bag"], data["y"]
    return [X[bag == i] for i in range(len(y))], y


def standardised(bags: Bags, train: np.ndarray) -> Bags:
    members = np.concatenate([bags[i] for i in train])
    mean, scale = members.mean(axis=0), members.std(axis=0)
    return [(bag - mean) / np.where(scale > 0.0, scale, 1.0) for bag in bags]


def widths(bags: Bags) -> list[float]:
    return [float(factor * np.sqrt(2.0 * bags[0].shape[1])) for factor in FACTORS]


def of_kernel(make: Callable[[float], Any]) -> Grams:
    return lambda bags: [make(width)(bags) for width in widths(bags)]


def of_degrees(make: Callable[[int], Any]) -> Grams:
    return lambda bags: [make(degree).normalized()(bags) for degree in (1, 2, 3)]


def pyramids(bags: Bags) -> list[np.ndarray]:
    found = []
    for levels in (3, 5, 7):
        kernel = PyramidMatch(levels)
        found.append(kernel.learn(kernel.pack(bags)).normalized()(bags))
    return found


def of_means(bags: Bags) -> list[np.ndarray]:
    means = np.array([bag.mean(axis=0) for bag in bags])
    return [rbf_kernel(means, gamma=1.0 / (2.0 * width**2)) for width in widths(bags)]


CONTENDERS: dict[str, tuple[Any, Grams]] = {
    "scikit-learn SVC on means of bags": (TheirSVC(kernel="precomputed"), of_means),
    "MeanMap(Gaussian)": (SVC(Precomputed()), of_kernel(lambda width: MeanMap(Gaussian(width)))),
    "MeanMap(Gaussian), normalised": (
        SVC(Precomputed()),
        of_kernel(lambda width: MeanMap(Gaussian(width)).normalized()),
    ),
    "MinMax(Gaussian)": (SVC(Precomputed()), of_kernel(lambda width: MinMax(Gaussian(width)))),
    "MinMax(Polynomial)": (SVC(Precomputed()), of_degrees(lambda p: MinMax(Polynomial(p, scale=0.01)))),
    "PyramidMatch": (SVC(Precomputed()), pyramids),
    "PrincipalAngles (projection)": (
        SVC(Precomputed()),
        lambda bags: [PrincipalAngles(q, kind="projection").normalized()(bags) for q in (1, 2, 4)],
    ),
}


def accuracy(machine: Any, grams: Grams, bags: Bags, y: np.ndarray, seed: int) -> float:
    """Return the share of bags that are told right when they are left out."""
    right = 0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        best: tuple[float, float, np.ndarray] | None = None
        for K in grams(standardised(bags, train)):
            inner = StratifiedKFold(5, shuffle=True, random_state=seed)
            search = GridSearchCV(TheirSVC(kernel="precomputed"), COSTS, cv=inner).fit(
                K[np.ix_(train, train)], y[train]
            )
            if best is None or search.best_score_ > best[0]:
                best = float(search.best_score_), search.best_params_["C"], K
        assert best is not None
        _, C, K = best
        fitted = clone(machine).set_params(C=C).fit(K[np.ix_(train, train)], y[train])
        right += int(np.sum(fitted.predict(K[np.ix_(test, train)]) == y[test]))
    return right / len(y)


def by_members(bags: Bags, y: np.ndarray, seed: int) -> float:
    """Return the same for a machine on members with the classes of their bags."""
    right = 0
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
        scaled = standardised(bags, train)
        X, labels = np.concatenate([scaled[i] for i in train]), np.repeat(y[train], [len(scaled[i]) for i in train])
        machine = TheirSVC(C=10.0, gamma=1.0 / (4.0 * X.shape[1])).fit(X, labels)
        right += sum(int(np.sign(machine.decision_function(scaled[i]).mean()) == np.sign(y[i])) for i in test)
    return right / len(y)


def timings(bags: Bags) -> tuple[float, float]:
    """Return the seconds of a mean map, and of the same by scikit-learn's kernel between all members."""
    scaled = standardised(bags, np.arange(len(bags)))
    width = widths(bags)[1]
    kernel, X = MeanMap(Gaussian(width)), np.concatenate(scaled)
    starts, sizes = np.cumsum([0, *map(len, scaled[:-1])]), np.array([len(bag) for bag in scaled])
    found = []
    for run in range(3):
        start = time.perf_counter()
        ours = kernel(scaled)
        middle = time.perf_counter()
        values = rbf_kernel(X, gamma=1.0 / (2.0 * width**2))
        theirs = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1) / np.outer(sizes, sizes)
        found.append((middle - start, time.perf_counter() - middle))
        if run == 0:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    return min(a for a, _ in found), min(b for _, b in found)


def bag_table(names: list[str], repetitions: int, only: str) -> None:
    print(f"{'data':10}{'contender':36}{'accuracy':>10}{'+-':>7}{'Gram':>12}")
    for name in names:
        bags, y = load(name)
        share = np.unique(y, return_counts=True)[1].max() / len(y)
        print(f"{name:10}{'the largest class':36}{100 * share:10.1f}", flush=True)
        if not only:
            found = 100.0 * np.array([by_members(bags, y, seed) for seed in range(repetitions)])
            print(f"{name:10}{'scikit-learn SVC on members':36}{found.mean():10.1f}{found.std():7.1f}", flush=True)
        for contender, (machine, grams) in CONTENDERS.items():
            if not contender.startswith(only):
                continue
            scaled = standardised(bags, np.arange(len(y)))
            count = len(grams(scaled))
            start = time.perf_counter()
            grams(scaled)
            seconds = (time.perf_counter() - start) / count
            found = 100.0 * np.array([accuracy(machine, grams, bags, y, seed) for seed in range(repetitions)])
            line = f"{name:10}{contender:36}{found.mean():10.1f}{found.std():7.1f}"
            print(f"{line}{1000 * seconds:9.1f} ms", flush=True)
        ours, theirs = timings(bags)
        print(f"{name:10}mean map {1000 * ours:.1f} ms, by scikit-learn {1000 * theirs:.1f} ms: {theirs / ours:.1f}x")


# ---------------------------------------------------------------------- series as sets and as systems


def load_series(name: str) -> tuple[list[Any], list[Any], Any, Any]:
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as data:
        X, y, n = data["X"].astype(float), data["y"], int(data["n_train"][0])
        series = np.split(X, np.cumsum(data["length"])[:-1]) if "length" in data else list(X.transpose(0, 2, 1))
    return series[:n], series[n:], y[:n], y[n:]


def series_table() -> None:
    print(f"{'data':22}{'contender':58}{'accuracy':>10}")
    for name in ("ts_japanese_vowels", "ts_basic_motions"):
        train, test, y, t = load_series(name)
        every = np.concatenate(train)
        mean, scale = every.mean(axis=0), every.std(axis=0)
        train, test = ([(x - mean) / scale for x in side] for side in (train, test))
        means, others = (np.array([x.mean(axis=0) for x in side]) for side in (train, test))
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        theirs = GridSearchCV(TheirSVC(), COSTS, cv=folds).fit(means, y).score(others, t)
        print(f"{name:22}{'scikit-learn SVC on means of channels':58}{100 * theirs:10.1f}", flush=True)
        d = train[0].shape[1]
        for kernels in (
            [MeanMap(Gaussian(float(f * np.sqrt(2.0 * d)))).normalized() for f in FACTORS],
            [PrincipalAngles(q, kind="projection").normalized() for q in (2, 4)],
            [DynamicalSystem(s, decay=a).normalized() for s in (3, 5) for a in (0.8, 0.95)],
            [DynamicalSystem(s, decay=a, kind="determinant") for s in (2, 3) for a in (0.8, 0.95)],
        ):
            found = []
            for kernel in kernels:
                machine = TheirSVC(kernel="precomputed")
                search = GridSearchCV(machine, COSTS, cv=folds).fit(kernel(train), y)
                found.append((float(search.best_score_), float(search.best_params_["C"])))
            best = int(np.argmax([score for score, _ in found]))
            fitted = SVC(kernels[best], C=found[best][1]).fit(train, y)
            print(f"{name:22}{kernels[best]!r:58}{100 * fitted.score(test, t):10.1f}", flush=True)


def main() -> None:
    """Print a line per data set and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*BAGS, "series"])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", default="", help="contenders whose name begins like this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    bag_table([name for name in options.names if name != "series"], options.repetitions, options.only)
    if "series" in options.names:
        series_table()


if __name__ == "__main__":
    main()

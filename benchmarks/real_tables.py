"""Kernels on tables, places and images beside the usual encodings: `python -m benchmarks.real_tables`.

*adult*: income above 50 000 dollars, 2000 rows of the training part with numbers, categories and missing values, and
4000 of the test part. *heart*: ten folds; *houses*: the median price of 2000 districts of California from longitude and
latitude alone, tested on 4000 others, error over the standard deviation. *digits*: 300 of scikit-learn's 8 x 8 digits
to train, the rest to test, as they are and moved by a pixel; transformations are moves by a pixel in four directions.
*wide*: accuracy of kernels of wide networks on rows of a table. C and widths are chosen by five folds of the training
part; means and standard deviations are over five draws. The folder of the data is named by the environment variable
MERCER_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC as TheirSVC

from mercer import SVC, KernelRidge
from mercer.kernels import DeepArcCosine, Gaussian, Gower, Hamming, Haversine, Invariant, Matern, NeuralTangent
from mercer.selection import VirtualSamples

COSTS = [0.1, 1.0, 10.0, 100.0]
ALPHAS = [1e-3, 1e-2, 1e-1]
Part = tuple[Any, np.ndarray, Any, np.ndarray]


def read(name: str) -> pd.DataFrame:
    """Return a table; "?" marks missing values."""
    with gzip.open(Path(os.environ["MERCER_DATA"]) / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    frame = pd.DataFrame(rows).replace("?", None)
    for column in frame:
        try:
            frame[column] = pd.to_numeric(frame[column])
        except (TypeError, ValueError):
            continue
    return frame


def encoded(numbers: list[str], words: list[str]) -> Any:
    """Return the usual encoding: standardised numbers and indicators of categories."""
    return make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words))


def adult(seed: int) -> Part:
    frame = read("adult")
    y = frame.pop("class").to_numpy()
    part = frame.pop("part")
    frame = frame.drop(columns=["fnlwgt", "education"])
    rng = np.random.default_rng(seed)
    train, test = (rng.permutation(np.flatnonzero(part == name))[:n] for name, n in (("train", 2000), ("test", 4000)))
    return frame.iloc[train], y[train], frame.iloc[test], y[test]


def adult_machines() -> dict[str, Any]:
    numbers = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    words = ["workclass", "marital_status", "occupation", "relationship", "race", "sex", "native_country"]
    return _classifiers(numbers, words)


def heart(seed: int) -> Part:
    frame = read("heart")
    y = frame.pop("class").to_numpy().astype(int)
    order = np.random.default_rng(seed).permutation(len(y))
    return frame.iloc[order[:180]], y[order[:180]], frame.iloc[order[180:]], y[order[180:]]


def heart_machines() -> dict[str, Any]:
    words = ["sex", "chest_pain", "fasting_sugar", "rest_ecg", "angina", "thal"]
    return _classifiers(["age", "rest_bp", "cholesterol", "max_hr", "oldpeak", "slope", "vessels"], words)


def _classifiers(numbers: list[str], words: list[str]) -> dict[str, Any]:
    theirs = make_pipeline(encoded(numbers, words), TheirSVC())
    widths = [0.01, 0.03, 0.1, 0.3]
    return {
        "scikit-learn: one-hot, SVC(rbf)": GridSearchCV(theirs, {"svc__C": COSTS, "svc__gamma": widths}),
        "Gower": GridSearchCV(SVC(Gower(categorical=tuple(words))), {"C": COSTS}),
        "exp(3 Gower)": GridSearchCV(SVC((3.0 * Gower(categorical=tuple(words))).exp()), {"C": COSTS}),
        "Hamming": GridSearchCV(SVC(Hamming()), {"C": COSTS}),
    }


def houses(seed: int) -> Part:
    frame = read("california_housing")
    X, y = frame[["latitude", "longitude"]].to_numpy(float), np.log(frame["median_house_value"].to_numpy(float))
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:2000], order[2000:6000]
    return X[train], (y[train] - y[train].mean()) / y.std(), X[test], (y[test] - y[train].mean()) / y.std()


def house_machines() -> dict[str, Any]:
    def ridge(kernels: list[Any]) -> Any:
        return GridSearchCV(KernelRidge(Gaussian(1.0)), {"kernel": kernels, "alpha": ALPHAS}, cv=3)

    degrees = (0.1, 0.3, 1.0)
    return {
        "Gaussian of degrees": ridge([Gaussian(l) for l in degrees]),
        "Matern(1/2) of degrees": ridge([Matern(0.5, length_scale=l) for l in (0.3, 1.0, 3.0)]),
        "Haversine": ridge([Haversine(l) for l in (30.0, 100.0, 300.0)]),
    }


def moved(rows: int, columns: int) -> Callable[[Any], Any]:
    """Return the function that moves images of 8 x 8 pixels; what leaves is lost, what comes in is blank."""

    def move(X: Any) -> Any:
        images = np.pad(np.asarray(X).reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
        return images[:, 1 - rows : 9 - rows, 1 - columns : 9 - columns].reshape(len(X), -1)

    return move


MOVES = tuple(moved(*step) for step in ((0, 1), (0, -1), (1, 0), (-1, 0)))


def digits(seed: int) -> Part:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order[:300]] / 16.0, y[order[:300]], X[order[300:]] / 16.0, y[order[300:]]


def moved_digits(seed: int) -> Part:
    X, y, Z, t = digits(seed)
    steps = np.random.default_rng(seed).integers(0, len(MOVES), len(t))
    return X, y, np.stack([MOVES[s](z[None])[0] for s, z in zip(steps, Z, strict=True)]), t


def digit_machines() -> dict[str, Any]:
    plain = SVC(Gaussian(1.5), C=10.0)
    return {
        "SVC(Gaussian(1.5))": plain,
        "VirtualSamples": VirtualSamples(plain, MOVES),
        "VirtualSamples, support vectors only": VirtualSamples(plain, MOVES, support_only=True),
        "Invariant(Gaussian(1.5))": SVC(Invariant(Gaussian(1.5), MOVES).normalized(), C=10.0),
    }


def wide_machines() -> dict[str, Any]:
    kernels = {
        "Gaussian('median')": Gaussian("median"),
        "DeepArcCosine(1, depth=2)": DeepArcCosine(1, depth=2).normalized(),
        "DeepArcCosine(0, depth=2)": DeepArcCosine(0, depth=2),
        "NeuralTangent(2, offset=1)": NeuralTangent(2, offset=1.0).normalized(),
    }
    return {
        name: GridSearchCV(make_pipeline(StandardScaler(), SVC(kernel)), {"svc__C": COSTS})
        for name, kernel in kernels.items()
    }


TASKS: dict[str, tuple[Callable[[int], Part], Callable[[], dict[str, Any]]]] = {
    "adult": (adult, adult_machines),
    "heart": (heart, heart_machines),
    "houses": (houses, house_machines),
    "digits": (digits, digit_machines),
    "digits, moved": (moved_digits, digit_machines),
    "wide: digits": (digits, wide_machines),
}


def results(name: str, draws: int) -> Iterator[tuple[str, float, float]]:
    """Yield who, the mean and the standard deviation of accuracies in percent, or of errors, over draws."""
    read_part, machines = TASKS[name]
    for who, machine in machines().items():
        found = []
        for seed in range(draws):
            X, y, Z, t = read_part(seed)
            model = clone(machine).fit(X, y)
            guess = model.predict(Z)
            error = float(np.sqrt(np.mean((guess - t) ** 2)))
            found.append(error if name == "houses" else 100.0 * float(np.mean(guess == t)))
        yield who, float(np.mean(found)), float(np.std(found))


def main() -> None:
    """Print a line per task and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS))
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.names:
        for who, mean, spread in results(name, options.draws):
            print(f"{name:18}{who:40}{mean:10.3f}{spread:10.3f}", flush=True)


if __name__ == "__main__":
    main()

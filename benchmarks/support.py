"""Rows of the support vector machines: fits and predictions beside scikit-learn's and Intel's.

All contenders solve the same problem to the same tolerance with their defaults. What is compared is the dual objective
in float64, by one formula for all, as a logarithm: a difference of 1e-5 is one of 1e-5 of the objective. Real data are
read from the folder that the environment variable MERCER_DATA names; without it their rows are left out.

What limits several classes of few samples: each pair of classes is a problem of its own. At 300 samples a pair it takes
1.1 ms, half of it Python between short loops, where LIBSVM takes 0.9 ms in all on 64 columns and 3.8 on 256; at 1 500
samples and 36 columns 8 ms, of which products of samples take 4, and LIBSVM 8.
"""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import make_classification, make_friedman1
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.row import Memory, Peer, Row, Timing, times_faster, times_the_cost
from mercer import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from mercer.domains import Vectors
from mercer.gram import Tiles
from mercer.kernels import Gaussian

FOLDER = os.environ.get("MERCER_DATA")


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows, and fitted models of the contenders, by name."""

    X: Any
    y: np.ndarray
    T: Any
    t: np.ndarray
    models: dict[str, Any]


@cache
def _read(name: str) -> Any:
    assert FOLDER is not None
    with np.load(Path(FOLDER) / f"{name}.npz") as stored:
        return dict(stored)


@dataclass(frozen=True)
class Clouds:
    """Two classes of three clouds each in 20 columns, 5 % of the labels flipped."""

    n: int

    def make(self) -> Split:
        X, y = make_classification(
            self.n + 5000, 20, n_informative=10, n_redundant=5, n_clusters_per_class=3, flip_y=0.05, random_state=0
        )
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return Split(X[: self.n], y[: self.n], X[self.n :], y[self.n :], {})

    def __str__(self) -> str:
        return f"make_classification, n = {self.n}, d = 20"


@dataclass(frozen=True)
class Classes:
    """Several classes of one cloud each, a quarter of the columns combinations of others."""

    n: int
    d: int
    classes: int

    def make(self) -> Split:
        X, y = make_classification(
            self.n + 1000, self.d, n_informative=max(self.d // 6, 2 * self.classes), n_redundant=self.d // 4,
            n_classes=self.classes, n_clusters_per_class=1, class_sep=2.0, flip_y=0.02, random_state=0
        )  # fmt: skip
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return Split(X[: self.n], y[: self.n], X[self.n :], y[self.n :], {})

    def __str__(self) -> str:
        return f"make_classification, {self.classes} classes, n = {self.n}, d = {self.d}"


@dataclass(frozen=True)
class Census:
    """Adult as a8a: 123 binary columns."""

    n: int

    def make(self) -> Split:
        stored = _read("a8a")
        train, test = (_binary_rows(stored, part) for part in ("train", "test"))
        return Split(train[: self.n], stored["train_y"][: self.n], test, stored["test_y"], {})

    def __str__(self) -> str:
        return f"a8a, n = {self.n}, d = 123"


def _binary_rows(stored: Any, part: str) -> np.ndarray:
    indptr, indices = stored[f"{part}_indptr"], stored[f"{part}_indices"]
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, 123)).toarray()


@dataclass(frozen=True)
class Fashion:
    """Fashion-MNIST, ten classes, or odd against even."""

    n: int
    classes: int = 10

    def make(self) -> Split:
        parts = [_read(f"fashion_mnist_train_{half}") for half in "ab"]
        X = np.vstack([part["X"] for part in parts])[: self.n] / 255.0
        y = np.concatenate([part["y"] for part in parts])[: self.n]
        test = _read("fashion_mnist_test")
        T, t = test["X"] / 255.0, test["y"]
        return Split(X, y % 2, T, t % 2, {}) if self.classes == 2 else Split(X, y, T, t, {})

    def __str__(self) -> str:
        return f"Fashion-MNIST, {self.classes} classes, n = {self.n}, d = 784"


@dataclass(frozen=True)
class Friedman:
    """Friedman's first function of ten columns, with noise."""

    n: int

    def make(self) -> Split:
        X, y = make_friedman1(self.n + 5000, noise=1.0, random_state=0)
        return Split(X[: self.n], y[: self.n], X[self.n :], y[self.n :], {})

    def __str__(self) -> str:
        return f"Friedman 1, n = {self.n}, d = 10"


@dataclass(frozen=True)
class News:
    """Reuters R8 as tf-idf, or as many rows of it."""

    n: int

    def make(self) -> Split:
        assert FOLDER is not None
        with gzip.open(Path(FOLDER) / "reuters_r8.csv.gz", "rt", encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        text, label = list(rows[0])[-1], next(name for name in rows[0] if name in ("class", "label", "topic"))
        X = TfidfVectorizer().fit_transform([row[text] for row in rows])
        y = np.array([row[label] for row in rows])
        chosen = np.random.default_rng(0).permutation(len(y))
        train, test = chosen[: min(self.n, 5500)], chosen[5500:]
        return Split(X[train], y[train], X[test], y[test], {})

    def __str__(self) -> str:
        return f"Reuters R8, tf-idf, n = {self.n}"


# the same figure for all contenders --------------------------------------------------------------------


def objective(model: Any, data: Split) -> np.ndarray:
    """Logarithm of the dual objective of a classifier of two classes; accuracy for more."""
    coef = np.asarray(model.dual_coef_)
    if len(np.unique(data.y)) > 2:
        return np.array([np.mean(model.predict(data.T) == data.t)])
    beta = coef[0]
    width = data.X.shape[1] * data.X.var()
    K = Tiles().build(Gaussian.from_gamma(1.0 / width), Vectors.pack(data.X[model.support_]))
    linear = 0.0 if isinstance(model, (NuSVC, svm.NuSVC)) else np.abs(beta).sum()
    return np.log(np.abs([linear - 0.5 * beta @ (K @ beta)]))


def regression_objective(model: Any, data: Split) -> np.ndarray:
    beta = np.asarray(model.dual_coef_)[0]
    K = Tiles().build(Gaussian.from_gamma(1.0 / (data.X.shape[1] * data.X.var())), Vectors.pack(data.X[model.support_]))
    return np.log([beta @ data.y[model.support_] - 0.1 * np.abs(beta).sum() - 0.5 * beta @ (K @ beta)])


def novelty_objective(model: Any, data: Split) -> np.ndarray:
    beta = np.asarray(model.dual_coef_)[0]
    K = Tiles().build(Gaussian.from_gamma(1.0 / (data.X.shape[1] * data.X.var())), Vectors.pack(data.X[model.support_]))
    return np.log([0.5 * beta @ (K @ beta)])


def risk(model: Any, data: Split) -> np.ndarray:
    """Logarithm of the squared-hinge risk, bias penalised, of a linear classifier, over all problems."""
    total = 0.0
    for w, b, c in zip(model.coef_, model.intercept_, model.classes_, strict=True):
        sign = np.where(data.y == c, 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - sign * (data.X @ w + b))
        total += 0.5 * (w @ w + b * b) + slack @ slack
    return np.log([total])


# contenders ---------------------------------------------------------------------------------------------


def intel(name: str, **options: Any) -> Any:
    def fit(data: Split) -> Any:
        from sklearnex import svm as intel_svm

        return getattr(intel_svm, name)(**options).fit(data.X, data.y)

    return fit


def predicting(fit: Any) -> Any:
    """Predict with a model that is fitted once."""

    def predict(data: Split) -> Any:
        if fit not in data.models:
            data.models[fit] = fit(data)
        return data.models[fit].predict(data.T)

    return predict


def ours(cls: Any, **options: Any) -> Any:
    return lambda data: cls("rbf", **options).fit(data.X, data.y)


def theirs(cls: Any, **options: Any) -> Any:
    return lambda data: cls(**options).fit(data.X, data.y)


def _fit(name: str, size: Any, quick: Any, sklearn: float, intelex: float | None, **options: Any) -> Timing:
    bar = times_faster(intelex) if intelex else None
    peers = (
        Peer("sklearn SVC", theirs(svm.SVC, **options), times_faster(sklearn)),
        Peer("sklearnex SVC", intel("SVC", **options), bar, package="sklearnex"),
    )
    title = f"SVC.fit, Gaussian{''.join(f', {k} = {v:g}' for k, v in options.items())}"
    return Timing(name, title, size, quick, ours(SVC, **options), peers, outcome=objective, fewest=1)


def _predict(name: str, size: Any, quick: Any, sklearn: float) -> Timing:
    mine, other, third = ours(SVC), theirs(svm.SVC), intel("SVC")
    peers = (
        Peer("sklearn SVC", predicting(other), times_faster(sklearn), same=False),
        Peer("sklearnex SVC", predicting(third), times_faster(1.5), same=False, package="sklearnex"),
    )
    return Timing(name, "SVC.predict, Gaussian", size, quick, predicting(mine), peers, fewest=1)


REAL: tuple[Row, ...] = (
    _fit("svc-adult", Census(20_000), Census(2_500), 8.0, 3.0),
    _predict("svc-adult-predict", Census(20_000), Census(2_500), 40.0),
    _fit("svc-fashion", Fashion(20_000, 2), Fashion(2_500, 2), 10.0, 1.6),
    _predict("svc-fashion-predict", Fashion(20_000, 2), Fashion(2_500, 2), 40.0),
    _fit("svc-ten", Fashion(20_000), Fashion(2_500), 6.0, 4.0),
    _predict("svc-ten-predict", Fashion(20_000), Fashion(2_500), 25.0),
    Timing(
        "linear-news",
        "LinearSVC.fit, sparse",
        News(5_500),
        News(1_000),
        ours=lambda data: LinearSVC().fit(data.X, data.y),
        peers=(Peer("sklearn LinearSVC", theirs(svm.LinearSVC), times_faster(1.0)),),
        outcome=risk,
    ),
)

ROWS: tuple[Row, ...] = (
    _fit("svc-clouds", Clouds(20_000), Clouds(2_500), 8.0, 3.0),
    _predict("svc-clouds-predict", Clouds(20_000), Clouds(2_500), 40.0),
    _fit("svc-dear", Clouds(10_000), Clouds(2_500), 3.0, 3.0, C=100.0),
    *(
        Timing(
            f"svc-classes-{size.n}",
            f"SVC.fit, Gaussian, {size.classes} classes",
            size,
            Classes(300, size.d, size.classes),
            ours=ours(SVC),
            peers=(Peer("sklearn SVC", theirs(svm.SVC), times_faster(2.0)),),
            outcome=objective,
        )
        for size in (Classes(1_500, 256, 10), Classes(4_435, 36, 6))
    ),
    Timing(
        "svr",
        "SVR.fit, Gaussian",
        Friedman(10_000),
        Friedman(2_500),
        ours=ours(SVR),
        peers=(
            Peer("sklearn SVR", theirs(svm.SVR), times_faster(5.0)),
            Peer("sklearnex SVR", intel("SVR"), times_faster(2.0), package="sklearnex"),
        ),
        outcome=regression_objective,
        fewest=1,
    ),
    Timing(
        "one-class",
        "OneClassSVM.fit, Gaussian",
        Clouds(20_000),
        Clouds(2_500),
        ours=ours(OneClassSVM),
        peers=(Peer("sklearn OneClassSVM", theirs(svm.OneClassSVM), times_faster(5.0)),),
        outcome=novelty_objective,
        fewest=1,
    ),
    Timing(
        "nu-svc",
        "NuSVC.fit, Gaussian",
        Clouds(20_000),
        Clouds(2_500),
        ours=ours(NuSVC),
        peers=(Peer("sklearn NuSVC", theirs(svm.NuSVC), times_faster(5.0)),),
        outcome=lambda model, data: np.array([np.mean(model.predict(data.T) == data.t)]),
        fewest=1,
    ),
    Timing(
        "linear-dense",
        "LinearSVC.fit, dense",
        Clouds(20_000),
        Clouds(2_500),
        ours=lambda data: LinearSVC().fit(data.X, data.y),
        peers=(Peer("sklearn LinearSVC", theirs(svm.LinearSVC), times_faster(1.0)),),
        outcome=lambda model, data: np.asarray(model.coef_),
    ),
    Memory(
        "svc-memory",
        "SVC.fit, Gaussian, besides the data",
        Clouds(20_000),
        Clouds(2_500),
        ours=ours(SVC),
        unit=lambda data: 2**20,
        unit_name="MiB",
        bar=times_the_cost(64.0),
        besides_result=False,
        peers=(Peer("sklearn SVC", theirs(svm.SVC)),),
    ),
    *(REAL if FOLDER else ()),
)

"""Fisher kernels of generative models on protein families: `python -m benchmarks.real_models`.

Accuracy by ten stratified folds of a support vector machine, C = 10, and seconds of one fit and of predictions for a
fold. Models are learned in each training part, from its sequences without their families. Beside them stand spectrum
kernels, and two baselines: the most frequent family, and the family whose own model gives a sequence the highest
likelihood (with the share of the family as prior), which uses the same models generatively. Kernels are normalised.
"Homology" is the harder task of remote relatives: of each family only the few sequences that are nearest to each other
by 3-spectrum are for training, a fifth, and the rest is to be found. Jaakkola, Diekhans and Haussler (2000) introduced
the Fisher kernel of a profile HMM for that task on another collection (SCOP). The folder of the data is named by the
environment variable MERCER_DATA.
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
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold

from mercer import SVC
from mercer.domains import Strings
from mercer.gram import Features
from mercer.kernels import Spectrum
from mercer.kernels.models.fisher_kernel import Fisher
from mercer.models import HiddenMarkovModel, MarkovChain, Model


class BestModel(ClassifierMixin, BaseEstimator):
    """The class whose model, learned from its own samples, makes a sample likeliest."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> BestModel:
        self.classes_ = np.unique(y)
        S = Strings.pack(X)
        self.models_ = [self.model.learn(S[y == label]) for label in self.classes_]
        self.priors_ = np.log([np.mean(y == label) for label in self.classes_])
        return self

    def predict(self, X: Any) -> np.ndarray:
        S = Strings.pack(X)
        logs = np.stack([model.log_likelihood(S) for model in self.models_], axis=1) + self.priors_
        return self.classes_[np.argmax(logs, axis=1)]


def read() -> tuple[list[str], np.ndarray]:
    """Return the sequences in capitals and their families."""
    path = Path(os.environ["MERCER_DATA"]) / "protein_families.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [row["sequence"].strip().upper() for row in rows], np.array([row["label"] for row in rows])


def contenders() -> dict[str, Any]:
    """Return the machines by name."""
    found: dict[str, Any] = {"most frequent family": DummyClassifier()}
    for order in (0, 1, 2):
        found[f"likeliest MarkovChain({order})"] = BestModel(MarkovChain(order))
    found["likeliest HiddenMarkovModel(10)"] = BestModel(HiddenMarkovModel(10, max_iter=50, tol=1e-4))
    for length in (1, 2, 3):
        found[f"Spectrum({length})"] = SVC(Spectrum(length).normalized(), C=10.0)
    for order in (0, 1, 2):
        for kind in ("practical", "invariant") + (("empirical",) if order < 2 else ()):
            found[f"Fisher(MarkovChain({order}), {kind})"] = SVC(
                Fisher(MarkovChain(order), kind=kind).normalized(), C=10.0
            )
    for states in (5, 10, 20):
        model = HiddenMarkovModel(states, max_iter=50, tol=1e-4)
        for kind in ("practical", "invariant") + (("empirical",) if states == 10 else ()):
            found[f"Fisher(HiddenMarkovModel({states}), {kind})"] = SVC(Fisher(model, kind=kind).normalized(), C=10.0)
    found["the same, linear (Features)"] = SVC(
        Fisher(HiddenMarkovModel(20, max_iter=50, tol=1e-4)).normalized(), C=10.0, gram=Features()
    )
    return found


def homology(X: list[str], y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return one split: for training the fifth of each family around its most central sequence."""
    K = Spectrum(3).normalized()(X)
    train: list[int] = []
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        inner = K[np.ix_(own, own)]
        centre = np.argmax(inner.sum(axis=1))
        train += own[np.argsort(-inner[centre])[: max(2, len(own) // 5)]].tolist()
    return [(np.array(train), np.setdiff1d(np.arange(len(y)), train))]


def main() -> None:
    """Print a line per contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--only", default="", help="contenders whose name has this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = read()
    folds = list(StratifiedKFold(options.folds, shuffle=True, random_state=0).split(X, y))
    remote = homology(X, y)
    columns = f"{'errors of':>10}{len(y):5}{'homology':>12}{'errors of':>10}{len(remote[0][1]):5}{'a fit':>10}"
    print(f"{'contender':44}{'accuracy':>10}{columns}")
    for name, machine in contenders().items():
        if options.only not in name:
            continue
        wrong, took = [], 0.0
        for splits in (folds, remote):
            wrong.append(0)
            for train, test in splits:
                began = time.perf_counter()
                machine.fit([X[i] for i in train], y[train])
                took = time.perf_counter() - began if splits is folds else took
                wrong[-1] += int(np.sum(machine.predict([X[i] for i in test]) != y[test]))
        rates = 1.0 - wrong[0] / len(y), 1.0 - wrong[1] / len(remote[0][1])
        print(f"{name:44}{rates[0]:10.4f}{wrong[0]:15}{rates[1]:12.4f}{wrong[1]:15}{took:8.2f} s", flush=True)


if __name__ == "__main__":
    main()

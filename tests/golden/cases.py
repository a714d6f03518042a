"""Fitted models of every estimator on every domain, the same in every process.

``python -m tests.golden.cases folder`` loads the model files of a folder and writes what they predict.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import mercer.estimators
from mercer.domains import Similarities
from mercer.errors import MercerError
from mercer.gram import Dense, Features, Tiles
from mercer.io.model_file import load
from mercer.kernels import (
    Diffusion,
    Gaussian,
    Linear,
    Match,
    Matern,
    PartialTree,
    Polynomial,
    Precomputed,
    Spectrum,
    SubsetTree,
    Substrings,
    TfIdf,
    WeisfeilerLehman,
)

N, M = 30, 17
rng = np.random.default_rng(20260101)
ALL = rng.normal(size=(N + M, 3))
SPARSE = np.where(rng.random(ALL.shape) < 0.5, ALL, 0.0)
STRINGS = ["".join(rng.choice(list("abcé" if i % 2 else "abd\u2603"), size=6 + i % 5)) for i in range(N + M)]
WORDS = [[int(w) for w in rng.integers(0, 5, size=4)] for _ in range(N + M)]
TABLE = {"age": ALL[:, 0], "income": ALL[:, 1], "city": [s[:1] for s in STRINGS], "sequence": STRINGS}
MIXED = Gaussian((1.0, 2.0)).on(["age", "income"]) + 0.5 * Spectrum(3).normalized().on("sequence") * Match().on("city")
PAIRS = [(tuple(x), s) for x, s in zip(ALL.tolist(), STRINGS, strict=True)]
K = np.exp(-0.5 * ((ALL[:, None] - ALL[None]) ** 2).sum(axis=2))
DOCUMENTS = [" ".join(rng.choice(["the", "cat", "dog", "sat", "ran", "été"], size=3 + i % 4)) for i in range(N + M)]
TREES = [("S", ("NP", f"w{i % 5}"), ("VP", *(f"v{j}" for j in range(1 + i % 3)))) for i in range(N + M)]
GRAPHS = [{"edges": [(j, (j * (1 + i % 3) + 1) % 6) for j in range(6)], "labels": list("CNOCCO")} for i in range(N + M)]
NODES = np.arange(N + M)
RING = np.roll(np.eye(N + M), 1, axis=0) + np.roll(np.eye(N + M), -1, axis=0)

# name: (all samples, kernel, whether it has features); the first N are for training
DOMAINS = {
    "dense": (ALL, None, False),
    "dense linear": (ALL, Linear() + 1.0, True),
    "float32": (ALL.astype(np.float32), Matern(1.5, length_scale=2.0), False),
    "sparse": (sp.csr_array(SPARSE), Gaussian(1.5), False),
    "sparse linear": (sp.csr_array(SPARSE), Polynomial(2), True),
    "sparse float32": (sp.csr_array(SPARSE.astype(np.float32)), Linear(), True),
    "a word": (ALL, "rbf", False),
    "named columns": (pd.DataFrame(ALL, columns=["a", "b", "ü"]), Gaussian(1.0), False),
    "strings": (np.array(STRINGS, dtype=object), Spectrum(2), True),
    "normalized strings": (np.array(STRINGS, dtype=object), Spectrum(3).normalized(), True),
    "lists of integers": (WORDS, Spectrum(2), True),
    "pandas": (pd.DataFrame(TABLE), MIXED, False),
    "polars": (pl.DataFrame(TABLE), MIXED, False),
    "columns": (ALL, Gaussian(1.0).on([0]) * Linear().on([1]) + 1.0, False),
    "pairs": (PAIRS, Gaussian(1.0).tensor(Spectrum(2)), False),
    "direct sums": (PAIRS, Gaussian(1.0).direct_sum(Spectrum(2).normalized()), False),
    "substrings": (np.array(STRINGS, dtype=object), Substrings(decay=0.5), False),
    "texts": (np.array(DOCUMENTS, dtype=object), TfIdf().normalized(), True),
    "trees": (TREES, SubsetTree(0.4).normalized(), False),
    "partial trees": (TREES, 0.5 * PartialTree(), False),
    "graphs": (GRAPHS, WeisfeilerLehman(2), True),
    "nodes": (NODES, Diffusion(RING, 0.5), False),
    "precomputed": (None, Precomputed(), False),
    "normalized precomputed": (None, (2.0 * Precomputed()).normalized(), False),
}
EVERY_DOMAIN = (
    mercer.estimators.KernelRidge,
    mercer.estimators.KernelMeanClassifier,
    mercer.estimators.ParzenDensity,
    mercer.estimators.SVC,
)
ALL_GRAMS = (mercer.estimators.KernelRidge, mercer.estimators.KernelMeanClassifier)
WEIGHT = np.where(np.arange(N) % 4 == 1, 0.0, 1.0 + np.arange(N) % 3)


def rows(name, part):
    """Training samples, or new ones, of a domain."""
    X = DOMAINS[name][0]
    if X is None:  # self-similarities of new samples are needed by some
        return Similarities.pack(K[part, :N], diagonal=np.diag(K)[part]) if part.start else K[part, :N]
    return X.iloc[part] if hasattr(X, "iloc") else X[part]


def targets(model):
    if is_classifier(model):
        several = get_tags(model).classifier_tags.multi_class
        return np.array(["left", "middle", "right"])[np.arange(N) % (3 if several else 2)]
    y = np.sin(ALL[:N, 0])
    return np.exp(y) if get_tags(model).target_tags.positive_only else y


def estimators():
    found = [getattr(mercer.estimators, name) for name in mercer.estimators.__all__]
    return [member for member in found if isinstance(member, type) and issubclass(member, BaseEstimator)]


def cases():
    """Yield (name, unfitted estimator, domain, whether weights are used)."""
    for turn, member in enumerate(estimators()):
        if "kernel" not in member().get_params(deep=False):  # linear in the columns
            for domain in ("dense", "float32", "sparse", "sparse float32", "named columns"):
                yield f"{member.__name__}-{domain}-None", member(), domain, True
            continue
        for place, (domain, (_, kernel, has_features)) in enumerate(DOMAINS.items()):
            if member not in EVERY_DOMAIN and place and (place + turn) % 6:  # the others take turns
                continue
            grams = [None, Tiles(), *([Dense(), Features()] if has_features else [])]
            if member not in ALL_GRAMS:
                grams = grams[::3]
            grams = grams if "gram" in member().get_params() else [None]
            for gram in grams:
                params = {"kernel": kernel} if gram is None else {"kernel": kernel, "gram": gram}
                yield f"{member.__name__}-{domain}-{gram}", member(**params), domain, gram is None


def fitted():
    """Yield (name, fitted estimator, domain); what an estimator does not do is passed over."""
    for name, model, domain, weighted in cases():
        y = targets(model)
        weight = {"sample_weight": WEIGHT} if weighted and has_fit_parameter(model, "sample_weight") else {}
        try:
            model.fit(rows(name=domain, part=slice(0, N)), y, **weight)
        except (MercerError, TypeError):
            continue
        yield name, model, domain


def outputs(model, X):
    """What a model says of new samples, method by method."""
    said = {}
    for method in ("predict", "decision_function", "score_samples", "transform", "predict_proba"):
        if hasattr(model, method):
            values = getattr(model, method)(X)
            said[method] = values.toarray() if sp.issparse(values) else np.asarray(values)
    return said or {"embedding_": model.embedding_}  # of the training samples alone


def main(folder):
    for path in sorted(Path(folder).glob("*.mercer")):
        domain = path.stem.split("-")[1]
        said = outputs(load(path), rows(domain, slice(N, N + M)))
        np.savez(path.with_suffix(".npz"), **said)


if __name__ == "__main__":
    main(sys.argv[1])

"""Write the golden model files of the current schema: ``python -m tests.golden.make``.

They are written once for each schema and then kept, so that files of all past releases can be read for ever.
"""

import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

import mercer
from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.gram import Dense
from mercer.io.interop import from_sklearn
from mercer.io.model_file import SCHEMA, save
from mercer.kernels import Gaussian, Linear, Matern, Precomputed, Spectrum
from mercer.solvers import Cholesky

FOLDER = Path(__file__).resolve().parent


def data():
    """Training samples and new ones, without a random number: these must be the same for ever."""
    t = np.arange(14.0)
    X = np.column_stack([np.round(np.sin(1.7 * t), 3), np.round(np.cos(2.3 * t), 3)])
    strings = [
        "gattaca",
        "tag",
        "cat",
        "attac",
        "gaga",
        "tata",
        "cacat",
        "ggta",
        "acca",
        "tgca",
        "gat",
        "aca",
        "ttag",
        "ca",
    ]
    return X, strings


def models():
    """Models by name with their new samples; each has parts that the others have not."""
    X, strings = data()
    train, new = slice(0, 10), slice(10, 14)
    y, labels = np.round(X[train, 0] * 2.0 + X[train, 1], 3), np.array(["red", "green", "blue", "green", "red"] * 2)
    table = {"x": X[:, 0], "z": X[:, 1], "s": strings}
    first, last = ({name: list(column[part]) for name, column in table.items()} for part in (train, new))
    mixed = Gaussian((1.0, 2.0)).on(["x", "z"]) + 0.5 * Spectrum(2).normalized().on("s")
    K = (X @ X.T + 1.0) ** 2
    pairs = [(tuple(x), s) for x, s in zip(X.tolist(), strings, strict=True)]
    ridge = KernelRidge(Gaussian("median"), alpha=0.1, gram=Dense(), solver=Cholesky(), leave_one_out=True)
    return {
        "ridge": (ridge.fit(X[train], y), X[new]),
        "primal": (KernelRidge(Spectrum(2) + Spectrum(1)).fit(strings[:10], y), strings[10:]),
        "sparse": (KernelRidge(Linear() + 1.0).fit(sp.csr_array(X[train]), y), X[new]),
        "float32": (ParzenDensity(Matern(1.5)).fit(X[train].astype(np.float32)), X[new]),
        "table": (KernelMeanClassifier(mixed).fit(first, labels), last),
        "pairs": (KernelMeanClassifier(Linear().tensor(Spectrum(1))).fit(pairs[:10], labels), pairs[10:]),
        "precomputed": (KernelRidge(Precomputed()).fit(K[train, train], y), K[new, train]),
        "margin": (mercer.SVC(Gaussian(1.0), C=10.0, probability=True).fit(X[train], labels), X[new]),
        "imported": (from_sklearn(SVC(gamma=0.5).fit(X[train], labels)), X[new]),
    }


def numbers(model, X):
    """What a model says of new samples, as numbers."""
    for method in ("decision_function", "score_samples", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=float)
    raise AssertionError


def main():
    made = models()
    said = {name: numbers(model, X).tolist() for name, (model, X) in made.items()}
    for name, (model, _) in made.items():
        save(model, FOLDER / f"schema{SCHEMA}-{name}.mercer", force="--force" in sys.argv)
    (FOLDER / f"schema{SCHEMA}.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

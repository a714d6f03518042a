"""What scikit-learn's checks ask of vectors, asked of every domain: one list of checks for all."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from mercer import KernelMeanClassifier, KernelRidge
from mercer.domains import Samples
from mercer.errors import DomainError
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear, Precomputed, Spectrum

rng = np.random.default_rng(0)
N = 36
NUMBERS = rng.normal(size=(N, 2))
STRINGS = ["".join(rng.choice(list("ab" if i % 2 else "abc"), size=8)) for i in range(N)]
TABLE = pd.DataFrame({"age": NUMBERS[:, 0], "income": NUMBERS[:, 1], "sequence": STRINGS})
MIXED = Gaussian(1.0).on(["age", "income"]) + 0.5 * Spectrum(3).on("sequence")

DATA = {
    "strings": (STRINGS, Spectrum(2)),
    "string arrays": (np.array(STRINGS, dtype=object), Spectrum(2).normalized()),
    "pandas": (TABLE, MIXED),
    "polars": (pl.DataFrame({name: list(TABLE[name]) for name in TABLE}), MIXED),
    "pairs": (
        [(tuple(x), s) for x, s in zip(NUMBERS.tolist(), STRINGS, strict=True)],
        Gaussian(1.0).tensor(Spectrum(2)),
    ),
    "columns of an array": (NUMBERS, Gaussian(1.0).on([0]) * Linear().on([1]) + 1.0),
}
LABELS = np.where(np.arange(N) % 2, "odd", "even")
TARGET = {"KernelRidge": np.sin(NUMBERS[:, 0]), "KernelMeanClassifier": LABELS}
MODELS = [KernelRidge, KernelMeanClassifier]


def values(model, X):
    for method in ("decision_function", "score_samples", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=float)
    raise AssertionError


def rows(X, index):
    if isinstance(X, Samples):
        return X[index]
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
@pytest.mark.parametrize("name", DATA)
class TestEveryDomain:
    def setup_method(self):
        self.index = np.arange(0, N, 3)

    def fitted(self, model, name, **params):
        X, kernel = DATA[name]
        return X, model(kernel, **params).fit(X, TARGET[model.__name__])

    def test_refit_is_idempotent_and_clone_is_unfitted(self, model, name):
        X, fitted = self.fitted(model, name)
        first = values(fitted, X)
        assert np.array_equal(first, values(fitted.fit(X, TARGET[model.__name__]), X))
        with pytest.raises(NotFittedError):
            values(clone(fitted), X)

    def test_a_prediction_does_not_depend_on_the_other_samples(self, model, name):
        X, fitted = self.fitted(model, name)
        assert np.allclose(values(fitted, X)[self.index], values(fitted, rows(X, self.index)), rtol=1e-10)

    def test_order_of_samples_does_not_matter(self, model, name):
        X, fitted = self.fitted(model, name)
        order = np.random.default_rng(1).permutation(N)
        y = TARGET[model.__name__]
        again = model(DATA[name][1]).fit(rows(X, order), None if y is None else y[order])
        assert np.allclose(values(fitted, X), values(again, X), rtol=1e-7, atol=1e-9)

    def test_weight_is_repetition(self, model, name):
        X, kernel = DATA[name]
        y = TARGET[model.__name__]
        weight = np.random.default_rng(2).integers(0, 4, size=N).astype(float)
        repeated = np.repeat(np.arange(N), weight.astype(int))
        a = model(kernel).fit(X, y, sample_weight=weight)
        b = model(kernel).fit(rows(X, repeated), None if y is None else y[repeated])
        assert np.allclose(values(a, X), values(b, X), rtol=1e-6, atol=1e-8)

    def test_pickling_keeps_predictions_to_the_bit(self, model, name):
        X, fitted = self.fitted(model, name)
        assert np.array_equal(values(fitted, X), values(pickle.loads(pickle.dumps(fitted)), X))

    def test_packed_samples_go_through_cross_validation_unpacked(self, model, name, monkeypatch):
        X, kernel = DATA[name]
        S = kernel.pack(X)
        assert kernel.pack(S) is S
        y = TARGET[model.__name__]
        scores = cross_val_score(model(kernel), S, y, cv=3)
        assert np.array_equal(scores, cross_val_score(model(kernel), S, y, cv=3))
        if y is not None:
            raw = cross_val_score(model(kernel), _sliceable(X), y, cv=3)
            assert np.allclose(scores, raw, rtol=1e-6)


def _sliceable(X):
    return np.array([None, *X], dtype=object)[1:] if isinstance(X, list) else X


def test_every_parameter_of_every_term_is_reached_by_a_grid():
    grid = {"kernel__0__kernel__length_scale": [0.5, 2.0], "kernel__1__kernel__kernel__length": [1, 2], "alpha": [0.1]}
    search = GridSearchCV(KernelRidge(MIXED), grid, cv=3).fit(TABLE, TARGET["KernelRidge"])
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.kernel.terms[0].kernel.length_scale in (0.5, 2.0)
    assert MIXED.terms[0].kernel.length_scale == 1.0  # the grid worked on clones


def test_precomputed_equals_the_kernel_itself_fold_by_fold():
    K = Spectrum(2)(STRINGS)
    y = TARGET["KernelRidge"]
    ours = cross_val_predict(KernelRidge(Precomputed()), K, y, cv=4)
    word = cross_val_predict(KernelRidge("precomputed"), K, y, cv=4)
    direct = cross_val_predict(KernelRidge(Spectrum(2), gram=Dense()), np.array(STRINGS, dtype=object), y, cv=4)
    assert np.allclose(ours, direct, rtol=1e-9) and np.array_equal(ours, word)


def test_matrix_free_fit_on_strings():
    y = TARGET["KernelRidge"]
    exact = KernelRidge(Spectrum(2), alpha=0.5, gram=Dense()).fit(STRINGS, y).predict(STRINGS)
    tiles = KernelRidge(Spectrum(2), alpha=0.5, gram=Tiles()).fit(STRINGS, y)
    assert type(tiles.solver_).__name__ == "ConjugateGradient"
    assert np.allclose(tiles.predict(STRINGS), exact, atol=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_the_default_kernel_is_for_numbers_and_says_so(model):
    with pytest.raises(DomainError, match="Spectrum"):
        model().fit(STRINGS, LABELS)

"""Sparse samples whose largest column number is huge, as a mistake in a file makes it: memory grows with the entries.

What needs a number for each column is refused by its name before it is allocated.
"""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.errors import MemoryBudgetError, MercerError
from mercer.kernels import Gaussian, Linear

WIDTH = 50_000_000
FREE = 100_000_000  # bytes that are said to be free; one number for each column takes four times as many
N, STORED = 24, 4


def wide():
    rng = np.random.default_rng(0)
    columns = rng.integers(5, WIDTH, size=(N, STORED))
    columns[:, 0] = np.arange(N) % 5
    columns.sort(axis=1)
    parts = rng.normal(size=N * STORED), columns.ravel(), np.arange(0, N * STORED + 1, STORED)
    return sp.csr_array(parts, shape=(N, WIDTH))


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setattr(mercer.budget, "free_memory", lambda: FREE)


def peak_of(call):
    """The most memory that a call holds, refused or not."""
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except MercerError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def use(model, X, y):
    """Fit a model and look at three samples in each of its ways."""
    model.fit(X, y)
    for name in ("predict", "decision_function", "predict_proba", "transform", "score_samples"):
        if hasattr(model, name):
            getattr(model, name)(X[:3])


def by_itself(estimator):
    try:
        return estimator()
    except TypeError:  # what must be given has no default
        return None


MODELS = [model for _, estimator in mercer.all_estimators() if (model := by_itself(estimator)) is not None]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_memory_does_not_grow_with_the_columns(model):
    X, y = wide(), np.arange(N) % 2
    assert peak_of(lambda: use(model, X, y)) < FREE


def test_the_refusal_names_what_is_too_large_and_what_to_do():
    X, y = wide(), np.arange(N) % 2
    with pytest.raises(MemoryBudgetError, match=r"length scale of each column.*fewer columns.*Gaussian\('median'\)"):
        mercer.SVC().fit(X, y)
    model = mercer.SVC(Gaussian("median")).fit(X, y)  # as advised
    assert model.predict(X).shape == (N,)


@pytest.mark.parametrize("estimator", [mercer.SVC, mercer.SVR, mercer.KernelRidge, mercer.KernelLogisticRegression])
def test_weights_of_the_columns_are_refused_when_they_are_asked_for(estimator):
    model = estimator(Linear()).fit(wide(), np.arange(N) % 2)
    with pytest.raises(MemoryBudgetError, match="weights of the columns"):
        model.coef_  # noqa: B018


@pytest.mark.parametrize("model", [mercer.LaplacianRidge(Gaussian(1.0), n_neighbors=4), mercer.SVR(Gaussian(1.0))])
def test_columns_that_nothing_uses_change_nothing(model):
    X, y = wide(), np.arange(N) % 2
    narrow = X[:, np.unique(X.indices)]
    found = model.fit(X, y).predict(X)
    np.testing.assert_allclose(found, model.fit(narrow, y).predict(narrow), rtol=1e-9, atol=1e-12)

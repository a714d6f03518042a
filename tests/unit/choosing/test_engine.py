"""Scores of candidates on folds, against scikit-learn's own loop."""

import numpy as np
import pytest
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, cross_val_score

from mercer import SVC, KernelLogisticRegression, KernelRidge
from mercer.choosing.engine import Work, scored
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
CLASSES = (X[:, 0] + 0.5 * RNG.normal(size=30) > 0).astype(int)
SPLITS = list(KFold(3).split(X))


def work(model, y, **more):
    return Work(model, X, y, SPLITS, check_scoring(model), **more)


@pytest.mark.parametrize(
    ("model", "y", "candidates"),
    [
        (SVC(tol=1e-6), CLASSES, [{"C": c, "kernel": k} for c in (0.3, 3.0) for k in (Gaussian("median"), Linear())]),
        (KernelRidge(), X[:, 1] ** 2, [{"alpha": a, "kernel": Gaussian(l)} for a in (0.1, 1.0) for l in (0.5, 2.0)]),
        (KernelRidge(), X[:, 1] ** 2, [{}, {"alpha": 0.1}]),  # what chooses for itself is fitted by itself
        (KernelLogisticRegression(), CLASSES, [{}, {"C": 0.1}]),
    ],
)
def test_scores_are_those_of_cross_validation(model, y, candidates):
    found = scored(work(model, y), candidates)
    for i, params in enumerate(candidates):
        wanted = cross_val_score(type(model)(**{**model.get_params(deep=False), **params}), X, y, cv=KFold(3))
        np.testing.assert_allclose([found[i, j]["test_scores"] for j in range(3)], wanted, atol=1e-6)


def test_it_ends_when_it_is_asked_to():
    assert scored(work(SVC(), CLASSES, stop=lambda: True), [{"C": 1.0}, {"C": 2.0}]) == {}


def test_new_scores_are_reported():
    seen = {}
    found = scored(work(SVC(), CLASSES, report=seen.update), [{"C": 1.0}])
    assert seen.keys() == found.keys() == {(0, 0), (0, 1), (0, 2)}


def test_without_memory_for_matrices_each_is_fitted_by_itself():
    plenty, none = (scored(work(SVC(), CLASSES, memory=m), [{"C": 1.0}]) for m in (None, "1kB"))
    assert [plenty[key]["test_scores"] for key in sorted(plenty)] == [none[key]["test_scores"] for key in sorted(none)]

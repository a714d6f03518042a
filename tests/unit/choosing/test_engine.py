"""Scores of candidates on folds, against scikit-learn's own loop."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, cross_val_score

from mercer import LSSVC, SVC, SVR, KernelLogisticRegression, KernelRidge
from mercer.choosing import KernelSearchCV
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


def test_probabilities_that_need_the_diagonal_of_rows_left_out():
    model = LSSVC(Gaussian(1.0), probability=True)
    found = scored(Work(model, X, CLASSES, SPLITS, check_scoring(model, "neg_log_loss")), [{"C": 1.0}])
    wanted = cross_val_score(model, X, CLASSES, cv=KFold(3), scoring="neg_log_loss")
    np.testing.assert_allclose([found[0, j]["test_scores"] for j in range(3)], wanted, rtol=1e-6)


@pytest.mark.parametrize("model", [KernelRidge(Gaussian(1.0)), SVR(Gaussian(1.0), tol=1e-8)])
def test_several_scores_of_machines_that_are_fitted_together(model):
    name, y = ("alpha" if isinstance(model, KernelRidge) else "C"), X[:, 1] ** 2
    search = KernelSearchCV(model, {name: [0.3, 3.0]}, scoring=["r2", "neg_mean_absolute_error"], cv=KFold(3), refit=False)  # fmt: skip  # noqa: E501
    search.fit(X, y)
    for value, row in zip((0.3, 3.0), np.transpose([search.cv_results_[f"mean_test_{of}"] for of in search.scoring]), strict=True):  # fmt: skip  # noqa: E501
        own = clone(model).set_params(**{name: value})
        wanted = [cross_val_score(own, X, y, cv=KFold(3), scoring=of).mean() for of in search.scoring]
        np.testing.assert_allclose(row, wanted, rtol=1e-5)


def test_it_ends_when_it_is_asked_to():
    assert scored(work(SVC(), CLASSES, stop=lambda: True), [{"C": 1.0}, {"C": 2.0}]) == {}


def test_new_scores_are_reported():
    seen = {}
    found = scored(work(SVC(), CLASSES, report=seen.update), [{"C": 1.0}])
    assert seen.keys() == found.keys() == {(0, 0), (0, 1), (0, 2)}


def test_without_memory_for_matrices_each_is_fitted_by_itself():
    plenty, none = (scored(work(SVC(), CLASSES, memory=m), [{"C": 1.0}]) for m in (None, "1kB"))
    assert [plenty[key]["test_scores"] for key in sorted(plenty)] == [none[key]["test_scores"] for key in sorted(none)]

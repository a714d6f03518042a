"""Nothing of what is left out is learned: the left-out samples are made absurd, and no fitted model may notice.

Medians of distances, scales, document frequencies, centres and weights of kernels are all learned from data; a search
that computes one kernel matrix for all folds must learn them in each training part.
"""

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    LSSVR,
    SVC,
    SVR,
    GaussianProcessRegressor,
    KernelFisherDiscriminant,
    KernelMeanClassifier,
    KernelPCA,
    KernelRidge,
    MultipleKernelClassifier,
)
from mercer.choosing import KernelSearchCV, LeaveOneOut, left_out_predictions
from mercer.kernels import Gaussian, Laplacian, LatentSemantic, Linear, TfIdf

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
NUMBERS = np.sin(2.0 * X[:, 0]) + 0.2 * RNG.normal(size=30)
CLASSES = np.where(NUMBERS > 0.0, "up", "down")
TEXTS = np.array([" ".join(RNG.choice(["red", "green", "blue", "sun"], 5)) for _ in range(30)], dtype=object)
LEFT, REST = np.arange(10), np.arange(10, 30)

CASES = [
    (SVC(Gaussian("median")), X, "C"),
    (SVC(None), X, "C"),
    (SVC("rbf"), X, "C"),
    (SVC(Gaussian("columns")), X, "C"),
    (SVC(Gaussian("median").normalized() + Gaussian("columns")), X, "C"),
    (SVC(TfIdf()), TEXTS, "C"),
    (SVC(LatentSemantic(2)), TEXTS, "C"),
    (make_pipeline(StandardScaler(), SVC(Gaussian(1.0))), X, "svc__C"),
    (make_pipeline(PCA(2), SVC(Gaussian("median"))), X, "svc__C"),
    (make_pipeline(KernelPCA(Gaussian("median"), 2), SVC(Linear())), X, "svc__C"),
    (KernelMeanClassifier(Gaussian("median")), X, "kernel"),
    (KernelFisherDiscriminant(Gaussian("median")), X, "alpha"),
    (MultipleKernelClassifier([Gaussian("median"), Gaussian("columns")], normalization="trace"), X, "C"),
    (KernelRidge(Gaussian("median"), alpha=0.1), X, "alpha"),
    (LSSVR(Laplacian("median")), X, "C"),
    (SVR(Gaussian("median")), X, "C"),
    (GaussianProcessRegressor(Gaussian("median"), 0.1, fixed="all"), X, "noise"),
]


@pytest.mark.parametrize(("estimator", "data", "name"), CASES, ids=range(len(CASES)))
def test_a_poisoned_fold_changes_no_model(estimator, data, name):
    poisoned = data.copy()
    poisoned[LEFT] = "poison " * 50 if data is TEXTS else 1e3 * RNG.normal(size=(10, 3))
    y = NUMBERS if is_regressor(estimator) else CLASSES
    grid = {name: [Gaussian("median"), Gaussian("columns")] if name == "kernel" else [0.1, 1.0]}
    found = []
    for given in (data, poisoned):
        search = KernelSearchCV(estimator, grid, cv=[(REST, LEFT)], return_train_score=True, refit=False)
        found.append(search.fit(list(given) if data is TEXTS else given, y).cv_results_["split0_train_score"])
    assert np.isfinite(found[0]).all() and np.array_equal(*found)


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (SVC(Gaussian("median")), X),
        (SVC(TfIdf()), TEXTS),
        (KernelRidge(Gaussian("median"), alpha=0.1), X),
        (LSSVR(Gaussian("columns")), X),
        (KernelMeanClassifier(Gaussian("median")), X),
    ],
    ids=["svc", "texts", "ridge", "lssvr", "mean"],
)
def test_samples_are_left_out_before_a_kernel_learns(estimator, data):
    y = NUMBERS if is_regressor(estimator) else CLASSES
    some = slice(0, 16)
    said = left_out_predictions(estimator, list(data[some]), y[some])
    for i in range(16):
        rest = np.delete(np.arange(16), i)
        alone = estimator.fit([data[j] for j in rest], y[rest]).predict([data[i]])[0]
        assert said[i] == alone if y is CLASSES else said[i] == pytest.approx(alone, rel=1e-9)


def test_a_kernel_that_learns_once_is_asked_for():
    outlier = np.vstack([X[:15], [[100.0, 0.0, 0.0]]])
    y = np.append(NUMBERS[:15], 0.0)
    model = KernelRidge(Gaussian("columns"), alpha=0.1)
    each, once = (left_out_predictions(model, outlier, y, relearn=relearn) for relearn in (True, False))
    assert not np.allclose(each, once)
    assert repr(LeaveOneOut(relearn=False)) == "LeaveOneOut(relearn=False)"

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mercer import SVC, KernelRidge
from mercer.domains import Vectors
from mercer.kernels import Gaussian
from mercer.theory import clopper_pearson, hoeffding_width

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, 1, 0)


def estimates(model, X, y, **options):
    return {one.name: one for one in model.certificate(X, y, prior=None, **options).estimates}


def test_folds_are_those_of_scikit_learn():
    model = SVC(Gaussian(1.0)).fit(X, Y)
    found = estimates(model, X, Y, cv=4, random_state=3)["4-fold"]
    told = cross_val_predict(SVC(Gaussian(1.0)), X, Y, cv=StratifiedKFold(4, shuffle=True, random_state=3))
    errors = int((told != Y).sum())
    assert found.value == errors / 60
    assert (found.low, found.high) == clopper_pearson(errors, 60)
    assert not found.exact


def test_packed_samples_give_the_same_folds():
    model = SVC(Gaussian(1.0)).fit(X, Y)
    assert estimates(model, Vectors.pack(X), Y)["5-fold"] == estimates(model, X, Y)["5-fold"]


def test_similarities_give_the_same_folds():
    K = np.asarray(Gaussian(1.0)(X))
    plain, given = SVC(Gaussian(1.0)).fit(X, Y), SVC("precomputed").fit(K, Y)
    for name in ("leave-one-out", "5-fold"):
        assert estimates(given, K, Y)[name] == estimates(plain, X, Y)[name]


def test_closed_form_of_ridge_is_used():
    z = X[:, 0] + 0.1 * RNG.normal(size=60)
    model = KernelRidge(Gaussian(1.0), alpha=0.1).fit(X, z)
    found = estimates(model, X, z)["leave-one-out"]
    left = KernelRidge(Gaussian(1.0), alpha=0.1, leave_one_out=True).fit(X, z).loo_predictions_
    assert found.value == pytest.approx(np.abs(z - np.clip(left, z.min(), z.max())).mean())
    assert found.high - found.value == pytest.approx(hoeffding_width(60, 0.05, np.ptp(z)))


def test_classes_smaller_than_the_folds_are_told():
    few = np.r_[np.zeros(57, dtype=int), np.ones(3, dtype=int)]
    certificate = SVC(Gaussian(1.0)).fit(X, few).certificate(X, few, prior=None)
    assert any("No cross-validation" in note for note in certificate.notes)

"""Estimators fitted together along one parameter, against each by itself."""

import numpy as np
import pytest

from mercer import LSSVR, SVC, GaussianProcessRegressor, KernelPCA, KernelRidge
from mercer.choosing.families import MarginFamily, RidgeFamily, family_of, takes_matrix
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian
from mercer.selection.held_costs import Held

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
NUMBERS = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=30)
CLASSES = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])
TRAIN, TEST = np.arange(20), np.arange(20, 30)
WEIGHT = RNG.uniform(0.5, 2.0, 30)


@pytest.mark.parametrize(
    ("models", "y"),
    [
        ([KernelRidge(Gaussian(1.0), alpha=a) for a in (0.1, 1.0)], NUMBERS),
        ([KernelRidge(Gaussian(1.0), alpha=a, fit_intercept=True) for a in np.logspace(-2, 1, 9)], NUMBERS),
        ([KernelRidge(alpha=a) for a in (0.1, 1.0)], NUMBERS),  # with an intercept, as the default kernel has
        ([LSSVR(Gaussian(1.0), C=c) for c in (0.5, 5.0)], NUMBERS),
        ([SVC(Gaussian(1.0), C=c, tol=1e-8) for c in (0.5, 5.0)], CLASSES),
    ],
)
def test_together_is_each_by_itself(models, y):
    fitted = [model.fit(X[TRAIN], y[TRAIN], sample_weight=WEIGHT[TRAIN]) for model in models]
    held = Held.of(Dense().build(fitted[0].kernel_, fitted[0].kernel_.pack(X)).to_dense())
    family = family_of(models[0])
    stubs = family.stubs(held, y, WEIGHT, models, TRAIN, TEST, exact=True, stop=lambda: False)
    for stub, model in zip(stubs, fitted, strict=True):
        if isinstance(family, RidgeFamily):
            np.testing.assert_allclose(stub.predict(TEST), model.predict(X[TEST]), atol=1e-7)
        else:
            np.testing.assert_array_equal(stub.predict(TEST), model.predict(X[TEST]))


def test_who_belongs_to_a_family():
    assert isinstance(family_of(SVC()), MarginFamily) and family_of(KernelRidge(alpha=1.0)).parameter == "alpha"
    for other in (SVC(probability=True), SVC(gram=Nystrom(5)), KernelRidge(), KernelRidge(alpha=1.0, max_time=3.0)):
        assert family_of(other) is None
    assert takes_matrix(KernelPCA()) and not takes_matrix(GaussianProcessRegressor()) and not takes_matrix("SVC")

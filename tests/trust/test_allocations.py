"""Some allocations that fail; `python -m tests.trust.allocations` lets many more."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from mercer import SVC, KernelRidge
from tests.trust.allocations import Failing, trial


class _Mean(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        np.zeros(3)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class _Swallows(_Mean):
    def fit(self, X, y):
        try:
            return super().fit(X, y)
        except MemoryError:
            self.mean_ = 0.0
            return self


class _Confused(_Mean):
    def fit(self, X, y):
        try:
            return super().fit(X, y)
        except MemoryError:
            raise KeyError("mean") from None


def test_one_array_cannot_be_had():
    kept, failing = np.zeros, Failing(2)
    with failing():
        np.zeros(2)
        with pytest.raises(MemoryError):
            np.empty(2)
        np.ones(2)
    assert np.zeros is kept and failing.count == 3


@pytest.mark.parametrize(
    ("estimator", "verdict"), [(_Mean, "half a model"), (_Swallows, "other bits"), (_Confused, "another error")]
)
def test_what_is_wrong_is_found(estimator, verdict):
    assert trial(estimator, "fit", 1)[0] == verdict


@pytest.mark.parametrize("step", ["fit", "predict", "save"])
@pytest.mark.parametrize("estimator", [KernelRidge, SVC])
def test_models_bear_it(estimator, step):
    count = trial(estimator, step, 0)[1]
    assert count > 3
    for number in (1, count // 2, count):
        assert trial(estimator, step, number)[0] in ("refused", "answered")

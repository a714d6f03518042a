"""Predictions of samples by models that were fitted without them."""

import numpy as np
import pytest

from mercer import SVC, KernelRidge
from mercer.choosing import left_out_predictions
from mercer.errors import CapabilityError
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X, y = rng.normal(size=(15, 2)), rng.normal(size=15)


@pytest.mark.parametrize(
    ("model", "target"),
    [(KernelRidge(Gaussian(1.0), 0.1), y), (KernelRidge(Gaussian("median"), 0.1), y), (SVC(Gaussian(1.0)), y > 0.0)],
    ids=["ridge", "a width that is learned", "classes"],
)
def test_they_are_those_of_as_many_fits(model, target):
    said = [model.fit(X[i != np.arange(15)], target[i != np.arange(15)]).predict(X[[i]])[0] for i in range(15)]
    found = left_out_predictions(model, X, target)
    assert np.array_equal(found, said) if target.dtype == bool else np.allclose(found, said, rtol=1e-7, atol=1e-9)


def test_a_width_may_be_learned_once_for_all():
    once = left_out_predictions(KernelRidge(Gaussian("median"), 0.1), X, y, relearn=False)
    width = Gaussian("median").learn(X).length_scale
    np.testing.assert_allclose(once, left_out_predictions(KernelRidge(Gaussian(width), 0.1), X, y), rtol=1e-7)


def test_what_is_no_estimator_with_a_kernel_is_refused():
    with pytest.raises(CapabilityError):
        left_out_predictions(np.mean, X, y)

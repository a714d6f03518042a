"""What displays read from estimators."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from mercer import KernelRidge
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Gaussian, Linear
from mercer.plots.sources import fitted_kernel, gram_matrix, samples_of, some_of

X = np.arange(12.0).reshape(6, 2)
y = X[:, 0]


def test_the_fitted_kernel_is_the_learned_one():
    model = KernelRidge(Gaussian("median")).fit(X, y)
    assert fitted_kernel(model) == model.kernel_ != model.kernel


def test_other_estimators_are_refused():
    with pytest.raises(CapabilityError, match="no fitted kernel"):
        fitted_kernel(LinearRegression().fit(X, y))
    with pytest.raises(NotFittedError):
        fitted_kernel(KernelRidge())


def test_samples_are_those_given_or_those_kept():
    model = KernelRidge(Gaussian(1.0)).fit(X, y)
    assert len(samples_of(model, X[:3])) == 3
    assert samples_of(model) is model.expansion_.samples


def test_a_model_without_samples_asks_for_them():
    model = KernelRidge(Linear()).fit(X, y)  # two features, six samples: held by its weights
    with pytest.raises(ParameterError, match="Give X"):
        samples_of(model)


def test_some_of_is_a_repeatable_subset():
    index = some_of(1000, 50)
    assert len(set(index)) == 50
    assert np.array_equal(index, some_of(1000, 50))
    assert np.all(np.diff(index) > 0)
    assert not np.array_equal(index, some_of(1000, 50, random_state=1))
    with pytest.raises(ParameterError, match="at least 2"):
        some_of(10, 1)


def test_gram_matrix_is_float64():
    S = Gaussian(1.0).pack(X.astype(np.float32))
    assert gram_matrix(Gaussian(1.0), S).dtype == np.float64

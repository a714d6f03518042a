"""Closed-form leave-one-out of many models against brute force."""

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge
from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.selection import mean_leave_one_out, ridge_path

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 2))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)
ALPHAS = np.array([1e-3, 0.1, 10.0])


@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_path_is_n_refits_per_ridge(intercept):
    f = ridge_path(Gaussian(1.0)(X), Y, ALPHAS, intercept=intercept)
    assert f.shape == (3, 25, 2)
    for alpha, row in zip(ALPHAS, f, strict=True):
        for i in range(25):
            rest = np.delete(np.arange(25), i)
            model = KernelRidge(Gaussian(1.0), alpha=alpha, fit_intercept=intercept).fit(X[rest], Y[rest])
            assert np.allclose(row[i], model.predict(X[i : i + 1])[0], rtol=1e-6, atol=1e-8)
    single = ridge_path(Gaussian(1.0)(X), Y[:, 0], ALPHAS, intercept=intercept)
    assert np.allclose(single, f[:, :, 0])


def test_a_ridge_of_zero_is_refused():
    with pytest.raises(ParameterError, match="positive"):
        ridge_path(np.eye(2), np.ones(2), np.array([0.0]))


@pytest.mark.parametrize("count", [2, 3])
def test_means_without_the_sample_itself(count):
    codes = rng.integers(0, count, size=25)
    f = mean_leave_one_out(Gaussian(1.0)(X), codes, count)
    for i in range(25):
        rest = np.delete(np.arange(25), i)
        g = KernelMeanClassifier(Gaussian(1.0)).fit(X[rest], codes[rest]).decision_function(X[i : i + 1])[0]
        assert np.allclose(f[i, 1] - f[i, 0] if count == 2 else f[i], g)


def test_an_only_member_has_no_class_without_itself():
    f = mean_leave_one_out(Gaussian(1.0)(X[:3]), np.array([0, 0, 1]), 2)
    assert f[2, 1] == -np.inf and np.all(np.isfinite(f[:2]))

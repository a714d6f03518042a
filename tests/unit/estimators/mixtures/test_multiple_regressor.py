"""Regression with several kernels: against the machine itself, outputs side by side."""

import numpy as np
import pytest

import mercer
from mercer import MultipleKernelRegressor
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(2)
X = rng.normal(size=(60, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
T = rng.normal(size=(8, 2))


@pytest.mark.parametrize(
    ("options", "single"),
    [
        ({}, mercer.SVR(Gaussian(1.0), 3.0)),
        ({"epsilon": 0.0}, mercer.SVR(Gaussian(1.0), 3.0, epsilon=0.0)),
        ({"machine": "huber", "epsilon": 0.5}, mercer.HuberSVR(Gaussian(1.0), 3.0, threshold=0.5)),
        ({"machine": "squared"}, mercer.LSSVR(Gaussian(1.0), C=3.0)),
    ],
    ids=["tube", "absolute", "huber", "squared"],
)
def test_one_kernel_is_the_machine_itself(options, single):
    model = MultipleKernelRegressor([Gaussian(1.0)], 3.0, **options).fit(X, Y)
    assert np.allclose(model.predict(T), single.fit(X, Y).predict(T), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("machine", ["epsilon_insensitive", "squared", "huber"])
def test_lengths_are_equal_on_the_support_and_nowhere_larger(machine):
    model = MultipleKernelRegressor(C=10.0, machine=machine).fit(X, Y)
    s = model.squares_
    assert np.all(s[model.weights_ > 0.0] >= s.max() * (1.0 - 1e-6))
    assert model.score(X, Y) > 0.8


def test_the_column_that_matters_is_found():
    kernels = {"first": Gaussian(1.0).on(0), "second": Gaussian(1.0).on(1)}
    model = MultipleKernelRegressor(kernels, 10.0).fit(X, Y)
    assert model.weights_[0] > 0.8 and model.contributions_[0] > 0.9


def test_several_outputs_share_the_weights():
    both = np.column_stack([Y, X[:, 1]])
    model = MultipleKernelRegressor([Gaussian(1.0), Linear()], normalization="trace").fit(X, both)
    assert model.predict(T).shape == (8, 2) and model.contributions(T).shape == (8, 2, 2)
    assert model.intercept_.shape == (2,) and model.dual_coef_.shape[0] == 2
    one = MultipleKernelRegressor([Gaussian(1.0), Linear()], normalization="trace").fit(X, Y[:, None])
    flat = MultipleKernelRegressor([Gaussian(1.0), Linear()], normalization="trace").fit(X, Y)
    assert one.predict(T).shape == (8, 1) and np.allclose(one.predict(T)[:, 0], flat.predict(T))

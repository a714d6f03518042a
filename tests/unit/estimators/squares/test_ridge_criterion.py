"""Errors of left-out samples and their derivatives against refits and differences."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.estimators.squares.ridge_criterion import RidgeCriterion
from mercer.free_parameters import free_values, with_free
from mercer.kernels import Gaussian, Matern, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)
W = rng.uniform(0.3, 3.0, size=30)
KERNEL = 2.0 * Gaussian((1.0, 2.0)) + 0.3 * Matern(1.5, 1.0)
S = KERNEL.pack(X)
FOLDS = np.array_split(rng.permutation(30), 5)


@pytest.mark.parametrize("cv", ["loo", "gcv", FOLDS], ids=["loo", "gcv", "folds"])
@pytest.mark.parametrize("border", [None, np.ones((30, 1))], ids=["none", "ones"])
def test_derivatives_are_those_of_differences(cv, border):
    criterion = RidgeCriterion(S, Y, W, border, cv)

    def value(theta, alpha):
        return criterion(with_free(KERNEL, theta), {"alpha": np.array(alpha)})[0]

    theta = free_values(KERNEL)
    _, slope, beside = criterion(KERNEL, {"alpha": np.array(0.2)})
    for j in range(len(theta)):
        step = np.zeros(len(theta))
        step[j] = 1e-5 * theta[j]
        numeric = (value(theta + step, 0.2) - value(theta - step, 0.2)) / (2 * step[j])
        assert slope[j] == pytest.approx(numeric, rel=1e-6, abs=1e-8)
    numeric = (value(theta, 0.2 + 1e-6) - value(theta, 0.2 - 1e-6)) / 2e-6
    assert beside["alpha"] == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_value_is_that_of_refits(intercept):
    border = np.ones((30, 1)) if intercept else None
    errors = np.empty_like(Y)
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        model = KernelRidge(KERNEL, alpha=0.2, fit_intercept=intercept).fit(X[rest], Y[rest])
        errors[i] = Y[i] - model.predict(X[i : i + 1])[0]
    criterion = RidgeCriterion(S, Y, np.ones(30), border)
    assert criterion(KERNEL, {"alpha": np.array(0.2)})[0] == pytest.approx(np.log(np.sum(errors**2) / 30), abs=1e-9)
    np.testing.assert_allclose(criterion.left_out(KERNEL, 0.2), errors, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("cv", ["loo", "gcv"])
def test_weights_are_repetitions(cv):
    w = rng.integers(1, 4, size=30)
    again = np.repeat(np.arange(30), w)
    beside = {"alpha": np.array(0.2)}
    few = RidgeCriterion(S, Y, w.astype(float), None, cv)(KERNEL, beside)
    many = RidgeCriterion(S.take(again), Y[again], np.ones(len(again)), None, cv)(KERNEL, beside)
    assert few[0] == pytest.approx(many[0], rel=1e-9)
    np.testing.assert_allclose(few[1], many[1], rtol=1e-6)
    np.testing.assert_allclose(few[2]["alpha"], many[2]["alpha"], rtol=1e-6)


def test_folds_are_left_out_whole():
    errors = np.empty_like(Y)
    for fold in FOLDS:
        rest = np.setdiff1d(np.arange(30), fold)
        errors[fold] = Y[fold] - KernelRidge(KERNEL, alpha=0.2).fit(X[rest], Y[rest], W[rest]).predict(X[fold])
    value = RidgeCriterion(S, Y, W, None, FOLDS)(KERNEL, {"alpha": np.array(0.2)})[0]
    assert value == pytest.approx(np.log(np.sum(W * (errors**2).T) / W.sum()), abs=1e-9)


def test_a_kernel_without_parameters_and_targets_of_zero():
    strings = Spectrum(2)
    T = strings.pack(["abcab", "bcabc", "cabca", "aabbc"])
    value, slope, beside = RidgeCriterion(T, np.array([[1.0], [2.0], [0.0], [1.0]]), np.ones(4))(
        strings, {"alpha": np.array(1.0)}
    )
    assert slope.shape == (0,) and np.isfinite(value) and np.isfinite(beside["alpha"])
    value, slope, _ = RidgeCriterion(S, np.zeros((30, 1)), W)(KERNEL, {"alpha": np.array(1.0)})
    assert np.isfinite(value) and not slope.any()

"""Closed-form leave-one-out of many models against brute force."""

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, NegativeDistance, ThinPlate
from mercer.selection import mean_leave_one_out, ridge_path
from mercer.selection.cross_validation import generalized_cross_validation
from mercer.selection.path import RidgeSpectrum
from mercer.solvers.linear.cholesky_solver import Factored

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


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_border_and_weights_are_those_of_the_linear_system(order):
    """Also where the kernel is positive definite only orthogonally to the border."""
    kernel = [Gaussian(1.0), NegativeDistance(), ThinPlate()][order]
    border = [None, np.ones((25, 1)), np.column_stack([np.ones(25), X])][order]
    w = rng.integers(1, 4, size=25).astype(float)
    K = kernel(X)
    spectrum = RidgeSpectrum.of(K.copy(), w, border)
    a, left = spectrum.solve(Y, ALPHAS)
    for place, alpha in enumerate(ALPHAS):
        system = Factored.of(K.copy(), alpha / w, border)
        coef, _ = system.solve(Y)
        np.testing.assert_allclose(np.sqrt(w)[:, None] * a[place], coef, rtol=1e-6, atol=1e-7 * np.abs(coef).max())
        np.testing.assert_allclose(left[place], alpha / w * system.inverse_diagonal(), rtol=1e-7, atol=1e-10)
        P = Factored.of(K.copy(), alpha / w, border).release_inverse()
        hat = np.eye(25) - (alpha / w)[:, None] * P
        assert spectrum.degrees_of_freedom(np.array([alpha]))[0] == pytest.approx(np.trace(hat))
        residuals = Y - hat @ Y
        gcv = [generalized_cross_validation(r, np.trace(hat), w) for r in residuals.T]
        np.testing.assert_allclose(spectrum.generalized(Y, np.array([alpha]))[0], gcv, rtol=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
def test_copies_are_left_out_one_at_a_time(intercept):
    w = rng.integers(1, 4, size=25)
    again = np.repeat(np.arange(25), w)
    K, border = Gaussian(1.0)(X), np.ones((25, 1)) if intercept else None
    few = RidgeSpectrum.of(K.copy(), w.astype(float), border).left_out_errors(Y, ALPHAS, copies=True)
    many = RidgeSpectrum.of(K[np.ix_(again, again)], None, None if border is None else border[again])
    np.testing.assert_allclose(few[:, again], many.left_out_errors(Y[again], ALPHAS), rtol=1e-7, atol=1e-10)
    dof = RidgeSpectrum.of(K.copy(), w.astype(float), border).degrees_of_freedom(ALPHAS)
    np.testing.assert_allclose(dof, many.degrees_of_freedom(ALPHAS), rtol=1e-9)


def test_a_whole_sample_is_left_out_with_its_weight():
    w = np.linspace(0.2, 3.0, 25)
    f = ridge_path(Gaussian(1.0)(X), Y, ALPHAS, weight=w)
    for i in (0, 11, 24):
        rest = np.delete(np.arange(25), i)
        for alpha, row in zip(ALPHAS, f, strict=True):
            model = KernelRidge(Gaussian(1.0), alpha=alpha).fit(X[rest], Y[rest], sample_weight=w[rest])
            np.testing.assert_allclose(row[i], model.predict(X[i : i + 1])[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_folds_are_refits(intercept):
    w = np.linspace(0.2, 3.0, 25)
    folds = np.array_split(rng.permutation(25), 4)
    spectrum = RidgeSpectrum.of(Gaussian(1.0)(X), w, np.ones((25, 1)) if intercept else None)
    errors = spectrum.folded_errors(Y, ALPHAS, folds)
    for alpha, e in zip(ALPHAS, errors, strict=True):
        for fold in folds:
            rest = np.setdiff1d(np.arange(25), fold)
            model = KernelRidge(Gaussian(1.0), alpha=alpha, fit_intercept=intercept)
            model.fit(X[rest], Y[rest], sample_weight=w[rest])
            np.testing.assert_allclose(Y[fold] - e[fold], model.predict(X[fold]), rtol=1e-7, atol=1e-8)

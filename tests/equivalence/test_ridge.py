"""Limits in which different routes to kernel ridge regression must coincide."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import optimize
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge

from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.domains import Vectors
from mercer.estimators.squares.component_regression import KernelPCR
from mercer.estimators.squares.smoothing_spline import SmoothingSpline
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import ExponentialDot, Gaussian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.solvers import ConjugateGradient

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:200] * 20, (Y[:200] - Y[:200].mean()) / 50
T = X[::7] + 0.1


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Linear() + 1.0, 2.0 * Polynomial(2, offset=0.0)], ids=repr)
def test_primal_is_dual(kernel):
    primal = KernelRidge(kernel, alpha=0.3, gram=Features()).fit(X, Y)
    dual = KernelRidge(kernel, alpha=0.3, gram=Dense()).fit(X, Y)
    assert np.allclose(primal.predict(T), dual.predict(T), rtol=1e-7, atol=1e-8)
    assert np.allclose(primal.dual_coef_, dual.dual_coef_, rtol=1e-5, atol=1e-7)


def test_tiles_are_dense():
    dense = KernelRidge(Gaussian(3.0), alpha=0.1, gram=Dense()).fit(X, Y)
    tiles = KernelRidge(Gaussian(3.0), alpha=0.1, gram=Tiles(), solver=ConjugateGradient(tol=1e-12)).fit(X, Y)
    assert np.allclose(tiles.predict(T), dense.predict(T), rtol=1e-8, atol=1e-9)


def test_the_linear_kernel_is_ridge_regression():
    ours = KernelRidge(Linear(), alpha=0.7).fit(X, Y)
    theirs = Ridge(alpha=0.7, fit_intercept=False).fit(X, Y)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert np.allclose(KernelRidge(Linear(), alpha=0.7, gram=Dense()).fit(X, Y).coef_, theirs.coef_, rtol=1e-6)


def test_ridge_is_the_mean_of_a_gaussian_process():
    ours = KernelRidge(Gaussian(4.0), alpha=0.25).fit(X, Y)
    theirs = GaussianProcessRegressor(RBF(4.0), alpha=0.25, optimizer=None).fit(X, Y)
    assert np.allclose(ours.predict(T), theirs.predict(T), rtol=1e-8, atol=1e-9)


def test_a_constant_in_the_kernel_is_a_penalised_intercept():
    c = 1e6
    bordered = np.block([[Linear()(X) + 0.5 * np.eye(200), np.ones((200, 1))], [np.ones((1, 200)), np.zeros((1, 1))]])
    a = np.linalg.solve(bordered, np.append(Y + 3.0, 0.0))
    ours = KernelRidge(Linear() + c, alpha=0.5, gram=Dense()).fit(X, Y + 3.0)
    assert np.allclose(ours.predict(T), T @ X.T @ a[:-1] + a[-1], atol=1e-4)


@pytest.mark.parametrize("gram", [Dense(), Features()], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_n_refits(gram, weighted):
    rng = np.random.default_rng(0)
    A, y = X[:40], np.stack([Y[:40], Y[:40] ** 2], axis=1)
    w = rng.integers(0, 3, size=40).astype(float) if weighted else None
    model = KernelRidge(Polynomial(2), alpha=0.5, gram=gram, leave_one_out=True).fit(A, y, sample_weight=w)
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        single = KernelRidge(Polynomial(2), alpha=0.5, gram=gram)
        single.fit(A[rest], y[rest], sample_weight=None if w is None else w[rest])
        assert np.allclose(model.loo_predictions_[i], single.predict(A[i : i + 1])[0], rtol=1e-6, atol=1e-7)


def test_sparse_is_dense():
    A = np.where(np.abs(X) > 0.8, X, 0.0)
    for kernel in (Linear(), Gaussian(3.0), Matern(1.5), Polynomial(2), None):
        dense = KernelRidge(kernel, alpha=0.3).fit(A, Y).predict(A)
        assert np.allclose(KernelRidge(kernel, alpha=0.3).fit(sp.csr_array(A), Y).predict(sp.csc_matrix(A)), dense)


def test_gaussian_limits():
    assert np.allclose(ExponentialDot(3.0).normalized()(X), Gaussian(3.0)(X), rtol=1e-10)
    assert np.allclose(RationalQuadratic(1e7, length_scale=3.0)(X), Gaussian(3.0)(X), atol=1e-5)
    assert np.allclose(Matern(400.5, length_scale=3.0)(X[:20]), Gaussian(3.0)(X[:20]), atol=2e-3)
    assert np.allclose(RationalQuadratic(1.0, length_scale=1.0)(X), 1 / (1 + Vectors_distance(X) ** 2 / 2), rtol=1e-10)


def Vectors_distance(A):
    return Linear().distance(Vectors.pack(A))


def test_class_means_with_a_density_are_parzen_windows():
    """With equal class sizes and equal mean norms the sign of the difference of densities decides, [HSS] (7)."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 2))
    B = A @ np.array([[0.0, 1.0], [-1.0, 0.0]])  # the same cloud turned: |mu_A| = |mu_B|
    data, labels = np.vstack([A, B]), np.repeat([0, 1], 30)
    new = rng.normal(size=(50, 2))
    f = KernelMeanClassifier(Gaussian(0.5)).fit(data, labels).decision_function(new)
    p = [ParzenDensity(Gaussian(0.5)).fit(part).score_samples(new) for part in (A, B)]
    constant = np.exp(ParzenDensity(Gaussian(0.5)).fit(A).log_integral_)
    assert np.allclose(f, constant * (np.exp(p[1]) - np.exp(p[0])), atol=1e-12)


@pytest.mark.parametrize("gram", [Dense(), Features(), Tiles()], ids=repr)
def test_the_intercept_is_not_penalised(gram):
    """Adding a constant to y moves the predictions by it; the border is the system of the LS-SVM, [SS] (KKT)."""
    a = KernelRidge(Linear(), alpha=0.5, gram=gram, fit_intercept=True).fit(X, Y)
    b = KernelRidge(Linear(), alpha=0.5, gram=gram, fit_intercept=True).fit(X, Y + 1000.0)
    assert np.allclose(a.predict(T) + 1000.0, b.predict(T), rtol=1e-6)
    bordered = np.block([[Linear()(X) + 0.5 * np.eye(200), np.ones((200, 1))], [np.ones((1, 200)), np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.append(Y, 0.0))
    assert np.isclose(a.intercept_, solved[-1], atol=1e-6)
    assert np.allclose(a.predict(T), T @ X.T @ solved[:-1] + solved[-1], atol=1e-5)
    theirs = Ridge(alpha=0.5).fit(X, Y)
    assert np.allclose(a.predict(T), theirs.predict(T), atol=1e-5)


def test_leave_one_out_with_an_intercept():
    model = KernelRidge(Gaussian(3.0), alpha=0.5, fit_intercept=True, leave_one_out=True).fit(X[:30], Y[:30])
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        single = KernelRidge(Gaussian(3.0), alpha=0.5, fit_intercept=True).fit(X[rest], Y[rest])
        assert np.isclose(model.loo_predictions_[i], single.predict(X[i : i + 1])[0])


def test_universal_kriging_is_a_linear_system_with_a_border():
    """The kriging equations, solved sample by sample for the weights of the data, against one system for all."""
    rng = np.random.default_rng(0)
    S = rng.uniform(size=(40, 2))
    y = 2.0 * S[:, 0] + np.sin(5 * S[:, 1]) + 0.1 * rng.normal(size=40)
    new = rng.uniform(size=(7, 2))
    covariance, nugget = Gaussian(0.4), 0.01

    def trend(A):
        return np.column_stack([np.ones(len(A)), A])

    ours = SmoothingSpline(covariance, alpha=nugget, order=2).fit(S, y).predict(new)
    C, F = covariance(S) + nugget * np.eye(40), trend(S)
    system = np.block([[C, F], [F.T, np.zeros((3, 3))]])
    for place, value in zip(new, ours, strict=True):
        right = np.concatenate([covariance(S, place[None])[:, 0], trend(place[None])[0]])
        weights = np.linalg.solve(system, right)[:40]  # best linear unbiased: F^T weights = trend
        assert np.isclose(weights @ y, value, atol=1e-8)
        assert np.allclose(F.T @ weights, trend(place[None])[0], atol=1e-9)


def test_simple_kriging_is_ridge_regression():
    covariance = 1.7 * Matern(1.5, length_scale=4.0)
    ours = KernelRidge(covariance, alpha=0.3).fit(X, Y).predict(T)
    for place, value in zip(T[:5], ours[:5], strict=True):
        weights = np.linalg.solve(covariance(X) + 0.3 * np.eye(200), covariance(X, place[None])[:, 0])
        assert np.isclose(weights @ Y, value, atol=1e-8)


def test_a_regularisation_network_is_ridge_regression():
    """The stationary point of (1/n) sum (y - f)^2 + lambda |f|^2, by a gradient method, for alpha = n lambda."""
    A, y, penalty = X[:30], Y[:30], 0.05
    K = Gaussian(3.0)(A)
    found = optimize.minimize(
        lambda c: (np.mean((y - K @ c) ** 2) + penalty * c @ K @ c, 2 * K @ (penalty * c - (y - K @ c) / 30)),
        np.zeros(30),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-10, "maxiter": 5000},
    )
    ours = KernelRidge(Gaussian(3.0), alpha=30 * penalty).fit(A, y)
    assert np.allclose(ours.predict(T), Gaussian(3.0)(T, A) @ found.x, atol=1e-5)


def test_least_squares_on_all_components_is_ridge_without_a_ridge():
    centred = KernelPCR(Polynomial(2), 64).fit(X, Y)
    ridge = KernelRidge(Polynomial(2), alpha=1e-8, fit_intercept=True, gram=Features()).fit(X, Y)
    assert len(centred.eigenvalues_) == 64 and np.allclose(centred.predict(X), ridge.predict(X), atol=1e-4)

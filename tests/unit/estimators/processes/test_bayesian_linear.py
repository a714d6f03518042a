"""Bayesian linear regression."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.linear_model import ARDRegression, BayesianRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators.processes.bayesian_linear import BayesianLinearRegression, Moments, _Spectrum
from mercer.kernels import Gaussian, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) + 2.0
W = np.array([1.0, -2.0, 0.0, 0.5])
Y = X @ W + 3.0 + 0.3 * rng.normal(size=60)
T = rng.normal(size=(7, 4))
P = np.array([[2.0, 0.5, 0.0, 0.0], [0.5, 1.0, 0.2, 0.0], [0.0, 0.2, 0.7, 0.1], [0.0, 0.0, 0.1, 3.0]])


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([BayesianLinearRegression(ard=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("prior", [0.7, np.array([1.0, 2.0, 0.5, 3.0]), P], ids=["number", "vector", "matrix"])
def test_the_posterior_of_the_seed_in_weights_and_in_functions(prior):
    model = BayesianLinearRegression(prior=prior, noise=0.2, fit_intercept=False).fit(X, Y)
    S = prior * np.eye(4) if np.ndim(prior) < 2 else prior
    A = X.T @ X / 0.2 + np.linalg.inv(S)
    assert np.allclose(model.coef_, np.linalg.solve(A, X.T @ Y) / 0.2, rtol=1e-9)
    assert np.allclose(model.sigma_, np.linalg.inv(A), rtol=1e-9)
    C = X @ S @ X.T + 0.2 * np.eye(60)  # the Gaussian process with covariance x^T S z
    mean, std, cov = model.predict(T, return_std=True, return_cov=True)
    assert np.allclose(mean, T @ S @ X.T @ np.linalg.solve(C, Y), rtol=1e-8)
    process = T @ S @ T.T - T @ S @ X.T @ np.linalg.solve(C, X @ S @ T.T) + 0.2 * np.eye(7)
    assert np.allclose(cov, process, atol=1e-9) and np.allclose(std, np.sqrt(np.diag(cov)), rtol=1e-12)
    assert np.isclose(model.log_marginal_likelihood_, multivariate_normal(np.zeros(60), C).logpdf(Y), rtol=1e-10)


def test_a_flat_intercept_is_the_limit_of_a_wide_one():
    model = BayesianLinearRegression(prior=0.7, noise=0.2).fit(X, Y)
    wide = 1e6
    Z = np.column_stack([X, np.ones(60)])
    S = np.diag([0.7] * 4 + [wide])
    A = Z.T @ Z / 0.2 + np.linalg.inv(S)
    both = np.linalg.solve(A, Z.T @ Y) / 0.2
    assert np.allclose(np.append(model.coef_, model.intercept_), both, rtol=1e-5)
    new = np.column_stack([T, np.ones(7)])
    std = np.sqrt(0.2 + np.einsum("ij,jk,ik->i", new, np.linalg.inv(A), new))
    assert np.allclose(model.predict(T, return_std=True)[1], std, rtol=1e-5)
    density = multivariate_normal(np.zeros(60), Z @ S @ Z.T + 0.2 * np.eye(60)).logpdf(Y)
    assert np.isclose(model.log_marginal_likelihood_, density + 0.5 * np.log(2 * np.pi * wide), atol=1e-3)


def test_hyper_parameters_maximise_the_evidence():
    model = BayesianLinearRegression(fit_intercept=False).fit(X, Y)

    def loss(x):
        return -multivariate_normal(np.zeros(60), np.exp(x[0]) * X @ X.T + np.exp(x[1]) * np.eye(60)).logpdf(Y)

    best = minimize(loss, np.zeros(2))
    assert np.isclose(-np.log(model.alpha_), best.x[0], atol=1e-4) and np.isclose(
        np.log(model.noise_), best.x[1], atol=1e-4
    )
    assert np.isclose(model.log_marginal_likelihood_, -best.fun, rtol=1e-8)
    half = BayesianLinearRegression(prior=1.0, fit_intercept=False).fit(X, Y)
    line = [
        BayesianLinearRegression(prior=1.0, noise=half.noise_ * f, fit_intercept=False).fit(X, Y) for f in (0.99, 1.01)
    ]
    assert all(one.log_marginal_likelihood_ < half.log_marginal_likelihood_ for one in line)


def test_parity_with_bayesian_ridge():
    theirs = BayesianRidge(alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-12, max_iter=5000, fit_intercept=False, compute_score=True).fit(X, Y)  # fmt: skip  # noqa: E501
    ours = BayesianLinearRegression(fit_intercept=False).fit(X, Y)
    assert np.isclose(ours.alpha_, theirs.lambda_, rtol=1e-4) and np.isclose(1 / ours.noise_, theirs.alpha_, rtol=1e-4)
    assert np.isclose(ours.log_marginal_likelihood_, theirs.scores_[-1], rtol=1e-8)
    fixed = BayesianLinearRegression(prior=1 / theirs.lambda_, noise=1 / theirs.alpha_, fit_intercept=False).fit(X, Y)
    mean, std = theirs.predict(T, return_std=True)
    assert np.allclose(fixed.coef_, theirs.coef_, rtol=1e-5) and np.allclose(fixed.sigma_, theirs.sigma_, rtol=1e-5)
    assert np.allclose(fixed.predict(T, return_std=True), (mean, std), rtol=1e-5)


def test_relevance_as_in_scikit_learn():
    Z = rng.normal(size=(100, 10))
    y = Z[:, 0] - 2.0 * Z[:, 3] + 0.1 * rng.normal(size=100)
    ours, theirs = BayesianLinearRegression(ard=True).fit(Z, y), ARDRegression().fit(Z, y)
    strong = [0, 3]
    assert np.allclose(ours.coef_[strong], theirs.coef_[strong], atol=0.01) and np.isinf(ours.alpha_).sum() >= 3
    assert np.array_equal(np.isinf(ours.alpha_), ours.coef_ == 0.0)
    assert np.isclose(ours.noise_, 1 / theirs.alpha_, rtol=0.1)
    again = BayesianLinearRegression(prior=1 / np.minimum(ours.alpha_, 1e12), noise=ours.noise_).fit(Z, y)
    assert np.allclose(again.coef_, ours.coef_, atol=1e-8) and np.allclose(again.sigma_, ours.sigma_, atol=1e-8)
    assert np.isclose(again.log_marginal_likelihood_, ours.log_marginal_likelihood_, atol=1e-5)


@pytest.mark.parametrize("params", [{"prior": P, "noise": 0.2}, {}, {"ard": True}, {"fit_intercept": False}], ids=str)
def test_in_parts_as_at_once(params):
    batch, parts = BayesianLinearRegression(**params).fit(X, Y), BayesianLinearRegression(**params)
    w = rng.uniform(0.5, 2.0, 60)
    for rows in (slice(0, 7), slice(7, 8), slice(8, 60)):
        parts.partial_fit(X[rows], Y[rows])
    tolerance = 1e-10 if "noise" in params else 1e-6
    assert np.allclose(parts.coef_, batch.coef_, rtol=tolerance) and np.allclose(
        parts.sigma_, batch.sigma_, rtol=tolerance
    )
    assert np.isclose(parts.log_marginal_likelihood_, batch.log_marginal_likelihood_, rtol=tolerance)
    assert np.allclose(parts.predict(T, return_std=True), batch.predict(T, return_std=True), rtol=tolerance)
    whole = BayesianLinearRegression(**params).fit(X, Y, w)
    halves = BayesianLinearRegression(**params).fit(X[::2], Y[::2], w[::2]).partial_fit(X[1::2], Y[1::2], w[1::2])
    assert np.allclose(whole.coef_, halves.coef_, rtol=1e-6)


def test_the_posterior_becomes_the_prior():
    first = BayesianLinearRegression(prior=P, noise=0.2, fit_intercept=False).fit(X[:30], Y[:30])
    rest = Y[30:] - X[30:] @ first.coef_  # a prior with the mean of the first posterior, moved to zero
    second = BayesianLinearRegression(prior=first.sigma_, noise=0.2, fit_intercept=False).fit(X[30:], rest)
    first.partial_fit(X[30:], Y[30:])
    assert np.allclose(first.sigma_, second.sigma_, rtol=1e-9)


@pytest.mark.parametrize("params", [{"prior": 1.0, "noise": 0.1}, {}, {"ard": True}], ids=str)
def test_weights_are_repetitions(params):
    w = rng.integers(0, 4, 60)
    one = BayesianLinearRegression(**params).fit(X, Y, sample_weight=w)
    two = BayesianLinearRegression(**params).fit(X.repeat(w, axis=0), Y.repeat(w))
    assert np.allclose(one.coef_, two.coef_, rtol=1e-6, atol=1e-9)
    assert np.isclose(one.log_marginal_likelihood_, two.log_marginal_likelihood_, rtol=1e-8)


def test_moments_add_up_far_from_the_origin():
    far = X + 1e6
    whole = Moments.of(far, Y, np.ones(60), centred=True)
    parts = Moments.of(far[:20], Y[:20], np.ones(20), True) + Moments.of(far[20:], Y[20:], np.ones(40), True)
    centred = far - far.mean(axis=0)
    for one in (whole, parts):
        assert np.allclose(one.square, centred.T @ centred, rtol=1e-7) and np.isclose(one.energy, 60 * Y.var())


def test_the_polish_ends_flat():
    values, moment = rng.uniform(0.5, 5.0, 6), rng.normal(size=6)
    spectrum = _Spectrum(values, np.eye(6), moment, 9.0, 20.0)
    best = minimize(lambda x: spectrum.criterion(*np.exp(x))[0], np.zeros(2), bounds=[(-5, 3), (-5, 3)])
    precision, noise = spectrum.polished(tuple(np.exp(best.x)), np.arange(2))
    _, a, b = spectrum.criterion(precision, noise)
    step = 1e-5
    up, down = (spectrum.criterion(2.0 * np.exp(s), 0.5) for s in (step, -step))
    assert np.isclose((up[0] - down[0]) / (2 * step), 2.0 * spectrum.criterion(2.0, 0.5)[1], rtol=1e-6)
    assert abs(b * noise) < 1e-8 and (abs(a * precision) < 1e-8 or best.x[0] > 2.99)


def test_features_of_other_kernels():
    curve = BayesianLinearRegression(Polynomial(2), noise=0.01).fit(X[:, :1], X[:, 0] ** 2)
    assert np.allclose(curve.predict([[1.0], [3.0]]), [1.0, 9.0], atol=0.05)
    texts = BayesianLinearRegression(Spectrum(2), noise=0.1).fit(
        ["abab", "xyxy", "abba", "yxyx"], [1.0, -1.0, 1.0, -1.0]
    )
    mean, std = texts.predict(["aba", "xyx"], return_std=True)
    assert mean[0] > 0.0 > mean[1] and np.all(std > 0.0)
    with pytest.raises(CapabilityError, match="feature map"):
        BayesianLinearRegression(Gaussian(1.0)).fit(X, Y)


def test_degenerate_targets():
    for params in ({}, {"ard": True}):
        flat = BayesianLinearRegression(**params).fit(X, np.full(60, 3.0))
        assert np.allclose(flat.predict(T), 3.0) and not flat.coef_.any() and flat.noise_ > 0.0
        exact = BayesianLinearRegression(**params).fit(X, X @ W)
        assert np.allclose(exact.coef_, W, atol=1e-3)
        assert np.isfinite(BayesianLinearRegression(**params).fit(X[:1], Y[:1]).predict(T, return_std=True)).all()
        with pytest.raises(TargetError, match="squares"):
            BayesianLinearRegression(**params).fit(X, 1e200 * Y)


@pytest.mark.parametrize(
    "params",
    [
        {"prior": -1.0}, {"prior": np.ones(3)}, {"prior": np.zeros(4)}, {"prior": ["a"] * 4}, {"noise": 0.0},
        {"prior": np.triu(np.ones((4, 4)))}, {"prior": 1.0, "ard": True}, {"tol": 0.0}, {"max_iter": 0},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        BayesianLinearRegression(**params).fit(X, Y)


def test_plans_name_the_buffers():
    assert "features" in BayesianLinearRegression().memory_plan(100, 5).buffers


@pytest.mark.parametrize("seed", range(3))
def test_rounding_is_not_divided_by_the_noise_where_there_are_more_features_than_samples(seed):
    # 19 of 30 eigenvalues are zero and the noise is 1e-8 of the variance: rounding over noise would be 1e-7
    rng = np.random.default_rng(seed)
    X, y, w = rng.random((15, 30)), rng.integers(0, 3, 15).astype(float), rng.integers(0, 5, 15)
    weighted = BayesianLinearRegression().fit(X, y, sample_weight=w)
    repeated = BayesianLinearRegression().fit(X.repeat(w, axis=0), y.repeat(w))
    turned = BayesianLinearRegression().fit(X[:, ::-1], y, sample_weight=w)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-10)
    np.testing.assert_allclose(weighted.predict(X), turned.predict(X[:, ::-1]), atol=1e-10)

"""Laplace's approximation of two classes, against a naive twin, scikit-learn and finite differences."""

import numpy as np
import pytest
from scipy import optimize, special, stats
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from mercer.estimators.processes.laplace import LINKS, excess, hazard, is_fast, laplace, laplace_weights
from mercer.free_parameters import free_values, with_free
from mercer.kernels import Gaussian, Linear, Matern

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2))
Y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=40) > 0, 1.0, -1.0)
W = RNG.uniform(0.3, 3.0, 40)


def log_likelihood(link, z):
    return special.log_expit(z) if link == "logistic" else stats.norm.logcdf(z)


def naive(K, y, w, link):
    """The mode by a general optimiser, the evidence by determinants of numerical second derivatives."""
    L = np.linalg.cholesky(K)

    def minus(u):
        return 0.5 * u @ u - w @ log_likelihood(link, y * (L @ u))

    u = optimize.minimize(minus, np.zeros(len(y)), method="BFGS", options={"gtol": 1e-9, "maxiter": 2000}).x
    f, h = L @ u, 1e-4
    second = (log_likelihood(link, f + h) - 2 * log_likelihood(link, f) + log_likelihood(link, f - h)) / h**2
    second_other = (log_likelihood(link, h - f) - 2 * log_likelihood(link, -f) + log_likelihood(link, -f - h)) / h**2
    D = -w * np.where(y > 0, second, second_other)
    return f, -minus(u) - 0.5 * np.linalg.slogdet(np.eye(len(y)) + K * D)[1]


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_the_naive_twin_has_the_same_mode_and_evidence(link):
    K = (2.0 * Gaussian(0.5))(X) + 1e-6 * np.eye(40)
    found = laplace(K, Y, W, link)
    f, evidence = naive(K, Y, W, link)
    assert found.converged and np.allclose(found.latent, f, atol=1e-5)
    assert np.isclose(found.evidence, evidence, atol=1e-4)
    assert np.allclose(K @ found.coef, found.latent)


def test_scikit_learn_has_the_same_evidence_and_gradient():
    theirs = GaussianProcessClassifier(3.0 * RBF(0.8), optimizer=None).fit(X, Y)
    value, slope = theirs.base_estimator_.log_marginal_likelihood(np.log([3.0, 0.8]), eval_gradient=True)
    kernel = 3.0 * Gaussian(0.8)
    S, K = kernel.prepare(kernel.pack(X)), kernel(X)
    found = laplace(K, Y, np.ones(40))
    assert np.isclose(found.evidence, value, rtol=1e-8)
    ours = kernel.pullback(S, S, laplace_weights(K, found)) * free_values(kernel)
    assert np.allclose(ours, slope, rtol=1e-6)


@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.7),
        Gaussian((0.7, 1.5)),
        2.0 * Gaussian(0.7) + 0.3 * Linear(),
        (1.5 * Gaussian(0.7)) * Matern(1.5, 2.0),
    ],
    ids=repr,
)
def test_the_gradient_is_the_limit_of_differences(kernel, link):
    S = kernel.prepare(kernel.pack(X))
    K = kernel(X)
    slope = kernel.pullback(S, S, laplace_weights(K, laplace(K, Y, W, link)))
    theta = free_values(kernel)
    for j in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[j]
        high, low = (laplace(with_free(kernel, theta + d)(X), Y, W, link).evidence for d in (step, -step))
        assert np.isclose(slope[j], (high - low) / 2e-5, rtol=1e-5, atol=1e-6)


def test_a_start_changes_the_work_and_not_the_result():
    K = (50.0 * Gaussian(0.8))(X)
    cold = laplace(K, Y, W)
    warm = laplace(1.1 * K, Y, W, start=cold.latent, out=np.empty(K.shape))
    again = laplace(1.1 * K, Y, W)
    assert np.isclose(warm.evidence, again.evidence, rtol=1e-10) and warm.factors < again.factors
    assert np.allclose(warm.latent, again.latent, atol=1e-7)
    bad = laplace(K, Y, W, start=-100.0 * Y)
    assert np.isclose(bad.evidence, cold.evidence, rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-4, 1e4, 1e8])
def test_extreme_scales_converge(scale):
    for link in LINKS:
        assert laplace(scale * Gaussian(1.0)(X), Y, W, link).converged


def test_a_weight_is_a_number_of_copies():
    kernel, copies = 2.0 * Gaussian(0.8), 1 + np.arange(40) % 3
    index = np.repeat(np.arange(40), copies)
    one, many = laplace(kernel(X), Y, copies.astype(float)), laplace(kernel(X[index]), Y[index], np.ones(len(index)))
    assert np.isclose(one.evidence, many.evidence, rtol=1e-9)
    assert np.allclose(one.latent[index], many.latent, atol=1e-7)


def test_derivatives_of_the_links():
    f = np.array([-3.0, -0.4, 0.2, 4.0])
    for link, function in LINKS.items():
        for y in (np.ones(4), -np.ones(4)):
            log, slope, curvature, bend = function(y, f)
            assert np.allclose(log, log_likelihood(link, y * f))
            h = 1e-5
            up, down = function(y, f + h), function(y, f - h)
            assert np.allclose(slope, (up[0] - down[0]) / (2 * h), atol=1e-8)
            assert np.allclose(curvature, -(up[1] - down[1]) / (2 * h), atol=1e-8)
            assert np.allclose(bend * curvature, -(up[2] - down[2]) / (2 * h), atol=1e-8)


def test_tails_of_the_normal_distribution_keep_their_digits():
    z = np.array([-1e6, -150.0, -99.0, 0.0, 5.0, 50.0])
    assert np.all(np.isfinite(hazard(z))) and np.all(excess(z) > 0)
    assert np.allclose(excess(z[:3]) * -z[:3], 1 - 2 / z[:3] ** 2 + 10 / z[:3] ** 4, rtol=1e-9)
    assert np.isclose(hazard(np.array(-2.0)), stats.norm.pdf(-2) / stats.norm.cdf(-2))


def test_a_factor_is_kept_while_steps_shrink_fast():
    assert is_fast(1e-3, 1e-6, 10) and not is_fast(1e-3, 0.9e-3, 10) and not is_fast(1.0, 2.0, 10)
    assert is_fast(1.0, 0.3, 10_000)

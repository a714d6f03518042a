"""Expectation propagation, against exact integrals and a naive twin."""

import itertools

import numpy as np
import pytest
from scipy import stats

from mercer.estimators.processes import expectation_propagation as module
from mercer.estimators.processes.expectation_propagation import expectation_propagation, propagation_weights
from mercer.free_parameters import free_values, with_free
from mercer.kernels import Gaussian, Linear, Matern

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=30) > 0, 1.0, -1.0)


def naive(K, y, sweeps=100):
    """Sites one after the other, everything computed anew by inverses."""
    n = len(y)
    tau, nu = np.zeros(n), np.zeros(n)
    for _, i in itertools.product(range(sweeps), range(n)):
        C = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
        m = C @ nu
        p, h = 1 / C[i, i] - tau[i], m[i] / C[i, i] - nu[i]
        mu, v = h / p, 1 / p
        z = y[i] * mu / np.sqrt(1 + v)
        r = stats.norm.pdf(z) / stats.norm.cdf(z)
        mean, variance = mu + y[i] * v * r / np.sqrt(1 + v), v - v**2 * r * (z + r) / (1 + v)
        tau[i], nu[i] = 1 / variance - p, mean / variance - h
    C = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    return C @ nu, np.diag(C)


def test_the_naive_twin_has_the_same_marginals():
    K = (4.0 * Gaussian(1.0))(X[:8]) + 1e-3 * np.eye(8)
    found = expectation_propagation(K, Y[:8], np.ones(8))
    mean, variance = naive(K, Y[:8])
    assert found.converged and np.allclose(found.mean, mean, atol=1e-6)
    assert np.allclose(found.variance, variance, atol=1e-6) and np.allclose(K @ found.coef, mean, atol=1e-6)


def test_two_samples_are_nearly_as_by_integration():
    K = np.array([[2.0, 1.2], [1.2, 1.5]])
    y = np.array([1.0, -1.0])
    grid = np.linspace(-12, 12, 1201)
    f, g = np.meshgrid(grid, grid, indexing="ij")
    prior = stats.multivariate_normal([0, 0], K).pdf(np.stack([f, g], -1))
    density = prior * stats.norm.cdf(f) * stats.norm.cdf(-g)
    total = density.sum() * (grid[1] - grid[0]) ** 2
    found = expectation_propagation(K, y, np.ones(2))
    assert np.isclose(found.evidence, np.log(total), atol=2e-3)
    mean = np.array([(density * v).sum() / density.sum() for v in (f, g)])
    assert np.allclose(found.mean, mean, atol=5e-3)
    assert np.allclose(
        found.variance,
        [(density * v * v).sum() / density.sum() - m**2 for v, m in zip((f, g), mean, strict=True)],
        atol=2e-2,
    )


def test_the_evidence_of_five_samples_is_that_of_many_draws():
    K = (3.0 * Gaussian(1.0))(X[:5])
    draws = RNG.multivariate_normal(np.zeros(5), K, size=400_000)
    exact = np.log(np.mean(np.prod(stats.norm.cdf(draws * Y[:5]), axis=1)))
    assert np.isclose(expectation_propagation(K, Y[:5], np.ones(5)).evidence, exact, atol=0.01)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian((0.7, 1.5)), 2.0 * Gaussian(0.7) + 0.3 * Linear(), (1.5 * Gaussian(0.7)) * Matern(1.5, 2.0)],
    ids=repr,
)
def test_the_gradient_is_the_limit_of_differences(kernel):
    S, w = kernel.prepare(kernel.pack(X)), RNG.uniform(1.0, 3.0, 30)
    slope = kernel.pullback(S, S, propagation_weights(expectation_propagation(kernel(X), Y, w)))
    theta = free_values(kernel)
    for j in range(len(theta)):
        step = 1e-4 * np.eye(len(theta))[j]
        high, low = (expectation_propagation(with_free(kernel, theta + d)(X), Y, w).evidence for d in (step, -step))
        assert np.isclose(slope[j], (high - low) / 2e-4, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1e2, 1e6])
@pytest.mark.parametrize("length", [0.1, 1.0, 10.0])
def test_it_settles_whatever_the_scale(scale, length):
    found = expectation_propagation(scale * Gaussian(length)(X), Y, np.ones(30))
    assert found.converged and np.isfinite(found.evidence)


def test_many_samples_that_are_nearly_the_same_settle():
    Z = np.repeat([[0.0], [1.0]], 60, axis=0) + 0.05 * RNG.normal(size=(120, 1))
    found = expectation_propagation(1e4 * Gaussian(0.8)(Z), np.repeat([-1.0, 1.0], 60), np.ones(120))
    assert found.converged


def test_a_weight_is_a_number_of_copies():
    kernel, copies = 2.0 * Gaussian(0.8), 1 + np.arange(30) % 3
    index = np.repeat(np.arange(30), copies)
    one = expectation_propagation(kernel(X), Y, copies.astype(float))
    many = expectation_propagation(kernel(X[index]), Y[index], np.ones(len(index)))
    assert np.isclose(one.evidence, many.evidence, rtol=1e-8)
    assert np.allclose(one.mean[index], many.mean, atol=1e-6)


def test_weights_below_one_are_accepted():
    found = expectation_propagation((2.0 * Gaussian(0.8))(X), Y, np.full(30, 0.5))
    whole = expectation_propagation((2.0 * Gaussian(0.8))(X), Y, np.ones(30))
    assert found.converged and found.evidence > whole.evidence


def test_a_start_changes_the_work_and_not_the_result():
    K = (5.0 * Gaussian(0.8))(X)
    cold = expectation_propagation(K, Y, np.ones(30))
    warm = expectation_propagation(K, Y, np.ones(30), start=(cold.precision, cold.shift))
    assert warm.sweeps <= 1 and np.isclose(warm.evidence, cold.evidence, rtol=1e-10)


def test_the_compiled_sweep_says_the_same_in_python(monkeypatch):
    K, w = (5.0 * Gaussian(0.8))(X[:6]), np.array([1.0, 2.0, 1.0, 1.0, 3.0, 0.5])
    results = []
    for renew in (module._renew, module._renew.py_func):
        state = [K.copy(), np.zeros(6), np.zeros(6), np.zeros(6)]
        renew(*state, Y[:6], w, np.array([0, 6]))
        results.append(state)
    for compiled, plain in zip(*results, strict=True):
        assert np.allclose(compiled, plain, atol=1e-12)
    assert np.allclose(results[0][0], np.linalg.inv(np.linalg.inv(K) + np.diag(w * results[0][2])), atol=1e-6)
    for z in (-50.0, -31.0, -29.0, 0.0, 8.0):
        assert np.allclose(module.hazard_tail(z), module.hazard_tail.py_func(z))
        assert np.allclose(module.hazard_tail(z), [module.hazard(np.array(z)), module.excess(np.array(z))], rtol=1e-9)

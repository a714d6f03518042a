"""Laplace's approximation of several classes, against the full (c n, c n) computation."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import logsumexp, softmax

from mercer.estimators.processes.laplace import laplace
from mercer.estimators.processes.softmax_laplace import softmax_laplace, softmax_weights
from mercer.free_parameters import free_values, with_free
from mercer.kernels import Gaussian, Linear, Matern

RNG = np.random.default_rng(7)
X = RNG.normal(size=(30, 2))
CODES = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.1)
W = RNG.uniform(0.3, 3.0, 30)


def naive(K, codes, w, c):
    """Newton's method on all latent values at once."""
    n = len(codes)
    big, target = block_diag(*[K] * c), np.eye(c)[codes].T.ravel()
    weight, f = np.tile(w, c), np.zeros(c * n)
    for _ in range(100):
        P = softmax(f.reshape(c, n), axis=0)
        H = np.diag(weight * P.ravel())
        for i in range(n):
            at = i + n * np.arange(c)
            H[np.ix_(at, at)] -= w[i] * np.outer(P[:, i], P[:, i])
        b = H @ f + weight * (target - P.ravel())
        a = np.linalg.solve(np.eye(c * n) + H @ big, b)
        f = big @ a
    F = f.reshape(c, n)
    value = w @ (F[codes, np.arange(n)] - logsumexp(F, axis=0)) - 0.5 * a @ f
    return F.T, value - 0.5 * np.linalg.slogdet(np.eye(c * n) + big @ H)[1]


def test_the_full_computation_has_the_same_mode_and_evidence():
    K = (3.0 * Gaussian(0.7))(X)
    found = softmax_laplace(K, CODES, W, 3)
    F, evidence = naive(K, CODES, W, 3)
    assert found.converged and np.allclose(found.latent, F, atol=1e-7)
    assert np.isclose(found.evidence, evidence, rtol=1e-9)
    assert np.allclose(K @ found.coef, found.latent, atol=1e-8)
    assert np.allclose(found.coef.sum(axis=1), 0.0, atol=1e-8)


def test_two_classes_are_one_function_of_twice_the_covariance():
    K, y = (3.0 * Gaussian(0.7))(X), np.where(CODES > 0, 1.0, -1.0)
    both, one = softmax_laplace(K, (y > 0).astype(int), W, 2), laplace(2.0 * K, y, W)
    assert np.isclose(both.evidence, one.evidence, rtol=1e-10)
    assert np.allclose(both.latent[:, 1] - both.latent[:, 0], one.latent, atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian((0.7, 1.5)), 2.0 * Gaussian(0.7) + 0.3 * Linear(), (1.5 * Gaussian(0.7)) * Matern(1.5, 2.0)],
    ids=repr,
)
def test_the_gradient_is_the_limit_of_differences(kernel):
    S, K = kernel.prepare(kernel.pack(X)), kernel(X)
    G = softmax_weights(K, softmax_laplace(K, CODES, W, 3))
    assert G is K and np.array_equal(G, G.T)
    slope, theta = kernel.pullback(S, S, G), free_values(kernel)
    for j in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[j]
        high, low = (softmax_laplace(with_free(kernel, theta + d)(X), CODES, W, 3).evidence for d in (step, -step))
        assert np.isclose(slope[j], (high - low) / 2e-5, rtol=1e-5, atol=1e-6)


def test_more_samples_than_a_block_of_rows():
    Z = RNG.normal(size=(150, 2))
    codes = (Z[:, 0] > 0).astype(int) + (Z[:, 1] > 0)
    K, D = (3.0 * Gaussian(0.7))(Z), Gaussian(1.5)(Z)
    high, low = (softmax_laplace(K + d * D, codes, np.ones(150), 3).evidence for d in (1e-4, -1e-4))
    G = softmax_weights(K, softmax_laplace(K, codes, np.ones(150), 3))
    assert np.isclose(np.sum(G * D), (high - low) / 2e-4, rtol=1e-5)


def test_a_start_changes_the_work_and_not_the_result():
    K = (20.0 * Gaussian(0.7))(X)
    cold = softmax_laplace(K, CODES, W, 3)
    warm = softmax_laplace(1.05 * K, CODES, W, 3, start=cold.latent)
    again = softmax_laplace(1.05 * K, CODES, W, 3)
    assert np.isclose(warm.evidence, again.evidence, rtol=1e-10) and warm.factors < again.factors
    bad = softmax_laplace(K, CODES, W, 3, start=-200.0 * np.eye(3)[CODES])
    assert np.isclose(bad.evidence, cold.evidence, rtol=1e-10)


def test_a_weight_is_a_number_of_copies():
    kernel, copies = 2.0 * Gaussian(0.8), 1 + np.arange(30) % 3
    index = np.repeat(np.arange(30), copies)
    one = softmax_laplace(kernel(X), CODES, copies.astype(float), 3)
    many = softmax_laplace(kernel(X[index]), CODES[index], np.ones(len(index)), 3)
    assert np.isclose(one.evidence, many.evidence, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1e4, 1e7])
def test_extreme_scales_converge(scale):
    K = scale * Gaussian(1.0)(X)
    found = softmax_laplace(K, CODES, W, 3)
    assert found.converged and np.isfinite(softmax_weights(K, found)).all()

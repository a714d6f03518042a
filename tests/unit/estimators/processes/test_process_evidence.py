"""The evidence of Gaussian processes: against NumPy, finite differences, repetition and scikit-learn."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor as Reference
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from mercer.domains import Vectors
from mercer.estimators.processes.evidence_forms import FeatureEvidence, IterativeEvidence
from mercer.estimators.processes.process_evidence import DenseEvidence, Observations
from mercer.free_parameters import free_values, with_free
from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
S = Vectors.pack(X)
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(40, 2))
W = rng.integers(1, 4, size=40).astype(float)
B = np.hstack([np.ones((40, 1)), X])
NOISE = np.array(0.2)

KERNELS = [
    1.3 * Gaussian(0.8),
    1.3 * Gaussian((0.8, 1.4)),
    Matern(0.5, 1.2) + 0.3 * Matern(2.5, (0.9, 2.0)),
    RationalQuadratic(1.4, 0.9) * Linear() + 0.5,
    0.7 * Periodic(2.0, 0.8) * Gaussian(2.0),
    0.3 * Polynomial(2, offset=0.7) + Laplacian(1.1),
    (0.4 * Gaussian(1.0)) ** 2 + (0.2 * Linear()).exp(),
    (0.5 * Gaussian(1.0) + Linear()).normalized(),
    1.1 * Gaussian(0.9).on([0]) + 0.4 * Matern(1.5, 1.3).on([1]),
]


def naive(kernel, y, noise):
    G = kernel(X) + np.diag(np.broadcast_to(noise, 40))
    return sum(multivariate_normal(np.zeros(40), G).logpdf(column) for column in y.T)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_value_and_gradient(kernel):
    packed = kernel.pack(X)
    for border in (None, B):
        evidence = DenseEvidence(Observations.of(packed, Y, W, border))
        found, values = evidence(kernel, NOISE), free_values(kernel)
        steps = 1e-5 * np.eye(len(values))
        slopes = [
            (
                evidence(with_free(kernel, values + h), NOISE).value
                - evidence(with_free(kernel, values - h), NOISE).value
            )
            / 2e-5
            for h in steps
        ]
        assert np.allclose(found.kernel, slopes, rtol=1e-5, atol=1e-4)
        noise = (evidence(kernel, NOISE + 1e-5).value - evidence(kernel, NOISE - 1e-5).value) / 2e-5
        assert np.isclose(found.noise.sum(), noise, rtol=1e-5, atol=1e-4)
    plain = DenseEvidence(Observations.of(packed, Y))(kernel, NOISE)
    assert np.isclose(plain.value, naive(kernel, Y, NOISE), rtol=1e-10) and plain.error == 0.0


def test_noise_of_each_sample():
    each = rng.uniform(0.1, 0.5, size=40)
    evidence = DenseEvidence(Observations.of(S, Y, W))
    found, kernel = evidence(1.0 * Gaussian(1.0), each), 1.0 * Gaussian(1.0)
    for i in (0, 7):
        h = 1e-6 * np.eye(40)[i]
        slope = (evidence(kernel, each + h).value - evidence(kernel, each - h).value) / 2e-6
        assert np.isclose(found.noise[i], slope, rtol=1e-5, atol=1e-5)
    assert np.isclose(DenseEvidence(Observations.of(S, Y))(kernel, each).value, naive(kernel, Y, each), rtol=1e-10)


@pytest.mark.parametrize("border", [None, B], ids=["zero mean", "linear mean"])
@pytest.mark.parametrize("way", [DenseEvidence, FeatureEvidence])
def test_weight_is_repetition(way, border):
    again = np.repeat(np.arange(40), W.astype(int))
    kernel = 0.5 * Polynomial(2)
    heavy = way(Observations.of(S, Y, W, border))(kernel, NOISE)
    twice = way(Observations.of(S.take(again), Y[again], None, None if border is None else border[again]))(
        kernel, NOISE
    )
    assert np.isclose(heavy.value, twice.value, rtol=1e-12)
    assert np.allclose(heavy.kernel, twice.kernel, rtol=1e-8)
    assert np.isclose(heavy.noise.sum(), twice.noise.sum(), rtol=1e-8)


def test_mean_functions_are_a_wide_prior():
    """A flat prior is the limit of a normal one of variance v, but for what v adds to the determinant."""
    kernel, v = 1.0 * Gaussian(1.0), 1e7
    G = kernel(X) + NOISE * np.eye(40) + v * B @ B.T
    wide = sum(multivariate_normal(np.zeros(40), G).logpdf(column) for column in Y.T)
    lost = -0.5 * 2 * (3 * np.log(v) + 3 * np.log(2 * np.pi) + np.linalg.slogdet(B.T @ B)[1])
    found = DenseEvidence(Observations.of(S, Y, None, B))(kernel, NOISE)
    assert np.isclose(found.value, wide - lost, atol=1e-3)
    mixed = B @ np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, -2.0]])
    assert np.isclose(DenseEvidence(Observations.of(S, Y, None, mixed))(kernel, NOISE).value, found.value, rtol=1e-9)


@pytest.mark.parametrize("border", [None, B], ids=["zero mean", "linear mean"])
def test_weight_space_is_function_space(border):
    kernel = 0.5 * Polynomial(2, offset=0.8)
    dense, features = (way(Observations.of(S, Y, W, border)) for way in (DenseEvidence, FeatureEvidence))
    one, other = dense(kernel, NOISE), features(kernel, NOISE)
    assert np.isclose(one.value, other.value, rtol=1e-10)
    assert np.allclose(one.kernel, other.kernel, rtol=1e-6) and np.allclose(one.noise, other.noise, atol=1e-8)
    a, b = dense.condition(kernel, NOISE), features.condition(kernel, NOISE)
    assert np.allclose(a.coef, b.coef, atol=1e-9) and np.allclose(a.multipliers, b.multipliers, atol=1e-9)
    assert np.isclose(a.value, one.value, rtol=1e-12) and b.residual < 1e-10
    diagonals = dense.inverse_diagonal(kernel, NOISE, a), features.inverse_diagonal(kernel, NOISE, b)
    assert np.allclose(*diagonals, rtol=1e-7)


def test_parity_with_scikit_learn():
    theirs = Reference(1.7 * RBF(0.9) + WhiteKernel(0.2), alpha=0.0, optimizer=None).fit(X, Y[:, 0])
    value, gradient = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    found = DenseEvidence(Observations.of(S, Y[:, 0]))(1.7 * Gaussian(0.9), NOISE)
    assert np.isclose(found.value, value, rtol=1e-12)
    ours = np.append(found.kernel * [1.7, 0.9], found.noise.sum() * 0.2)
    assert np.allclose(ours, gradient, rtol=1e-9)


def test_products_alone_estimate_the_same():
    kernel = 1.3 * Gaussian(0.8)
    exact = DenseEvidence(Observations.of(S, Y, W, B))(kernel, NOISE)
    runs = [
        IterativeEvidence(Observations.of(S, Y, W, B), rank=8, probes=20, tol=1e-9, seed=seed)(kernel, NOISE)
        for seed in range(40)
    ]
    for estimate, truth in (
        (np.array([[run.value] for run in runs]), exact.value),
        (np.array([run.kernel for run in runs]), exact.kernel),
        (np.array([[run.noise.sum()] for run in runs]), exact.noise.sum()),
    ):
        spread = estimate.std(axis=0, ddof=1) / np.sqrt(40)
        assert np.all(np.abs(estimate.mean(axis=0) - truth) < 3.5 * spread) and np.all(spread > 0.0)
    told, seen = np.mean([run.error for run in runs]), np.std([run.value for run in runs], ddof=1)
    assert 0.6 < told / seen < 1.6  # the standard error that is told is the spread that is seen
    fine = IterativeEvidence(Observations.of(S, Y, W, B), rank=40, probes=2, tol=1e-9)(kernel, NOISE)
    assert np.isclose(fine.value, exact.value, rtol=1e-8) and np.allclose(fine.kernel, exact.kernel, rtol=1e-6)
    assert fine.error < 1e-6


def test_products_alone_give_the_same_process():
    kernel = 1.3 * Gaussian(0.8)
    way = IterativeEvidence(Observations.of(S, Y, W, B), rank=8, probes=4, seed=3)
    exact, found = DenseEvidence(Observations.of(S, Y, W, B)).condition(kernel, NOISE), way.condition(kernel, NOISE)
    assert np.allclose(found.coef, exact.coef, atol=1e-6) and np.allclose(
        found.multipliers, exact.multipliers, atol=1e-6
    )
    assert found.residual < 1e-7 and found.details["log determinant"] == "estimated" and found.error > 0.0
    assert way.condition(kernel, NOISE).value == found.value  # the same probes, the same bits


class Held(Kernel):
    """A kernel that cannot be differentiated in its parameter."""

    domain = Vectors
    constraints = Gaussian.constraints

    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    def block(self, A, B):
        return Gaussian(self.length_scale).block(A, B)


def test_slopes_of_the_kernel_can_be_left_out():
    kernel = Held(0.8)
    found = DenseEvidence(Observations.of(S, Y))(kernel, NOISE, slopes=False)
    assert found.kernel.tolist() == [0.0] and found.noise.shape == (40,)
    with pytest.raises(TypeError, match="derivative"):
        DenseEvidence(Observations.of(S, Y))(kernel, NOISE)


def test_strings_with_a_scale():
    words = ["abab", "abba", "bbbb", "aaaa", "baba"]
    kernel = 0.3 * Spectrum(2)
    observed = Observations.of(kernel.pack(words), [1.0, 2.0, 3.0, 4.0, 5.0])
    found = DenseEvidence(observed)(kernel, NOISE)
    h = 1e-6
    up, down = (DenseEvidence(observed)((0.3 + s) * Spectrum(2), NOISE).value for s in (h, -h))
    assert np.allclose(found.kernel, (up - down) / (2 * h), rtol=1e-5)


def test_one_sample():
    found = DenseEvidence(Observations.of(Vectors.pack([[0.0]]), [2.0]))(1.0 * Gaussian(1.0), NOISE)
    assert np.isclose(found.value, -0.5 * (4.0 / 1.2 + np.log(2 * np.pi * 1.2)))


def test_one_array_is_enough():
    n = 1500
    big = Vectors.pack(rng.normal(size=(n, 3)))
    evidence = DenseEvidence(Observations.of(big, rng.normal(size=n)))
    kernel = 1.0 * Gaussian((1.0, 1.0, 1.0))
    evidence(kernel, NOISE)
    tracemalloc.start()
    evidence(kernel, NOISE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * 8 * n * n + 20e6  # beyond the one array: tiles

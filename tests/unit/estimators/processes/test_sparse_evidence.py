"""Evidence of sparse Gaussian processes."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.estimators.processes.sparse_evidence import (
    METHODS,
    SparseData,
    choose_inducing,
    diagonal_pullback,
    inducing_posterior,
    whiten,
)
from mercer.free_parameters import free_values, with_free
from mercer.kernels import Gaussian, Linear, Matern, Polynomial, Spectrum

rng = np.random.default_rng(0)
N = 40
X = rng.normal(size=(N, 2))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(N, 2))
W = rng.integers(1, 4, N).astype(float)
Z = X[:7] + 0.1
BLOCKS = [slice(0, 10), slice(10, 27), slice(27, 40)]
KERNEL = 1.3 * Gaussian((1.1, 0.8)) + 0.2 * Polynomial(2, offset=1.0)
S = Vectors.pack(X)


def gaussian_log_density(y, C):
    return -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + y @ np.linalg.solve(C, y))


def naive(kernel, points, noise, method, weight):
    """The n x n formulas on copies."""
    copies = np.repeat(np.arange(N), weight.astype(int))
    cross = kernel(X[copies], points)
    Q = cross @ np.linalg.solve(kernel(points), cross.T)
    rest = kernel(X[copies]) - Q
    label = np.concatenate([np.full(b.stop - b.start, i) for i, b in enumerate(BLOCKS)])[copies]
    kept = {"fitc": np.eye(len(copies), dtype=bool), "pitc": label[:, None] == label}.get(method, False)
    C = Q + np.where(kept, rest, 0.0) + noise * np.eye(len(copies))
    value = sum(gaussian_log_density(Y[copies, j], C) for j in range(2))
    return value - (np.trace(rest) / noise if method == "variational" else 0.0)  # 2 outputs / (2 noise)


def posterior(method, theta, points, noise, weight=W):
    data = SparseData(S, Y, weight, method, BLOCKS)
    return inducing_posterior(data, with_free(KERNEL, theta), Vectors.pack(points), noise)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weight", [np.ones(N), W], ids=["ones", "copies"])
def test_the_value_is_the_naive_formula_on_copies(method, weight):
    found = posterior(method, free_values(KERNEL), Z, 0.2, weight)
    assert np.isclose(found.value, naive(KERNEL, Z, 0.2, method, weight), rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_gradients_are_finite_differences(method):
    theta, e = free_values(KERNEL), 1e-5
    parameters, noise, points = posterior(method, theta, Z, 0.2).gradient(inputs=True)

    def slope(step_theta, step_points, step_noise):
        ends = [posterior(method, theta + s * step_theta, Z + s * step_points, 0.2 + s * step_noise) for s in (e, -e)]
        return (ends[0].value - ends[1].value) / (2 * e)

    still = np.zeros_like(Z)
    for i, unit in enumerate(np.eye(len(theta))):
        assert np.isclose(parameters[i], slope(unit, still, 0.0), rtol=1e-5, atol=1e-5)
    assert np.isclose(noise, slope(0.0 * theta, still, 1.0), rtol=1e-6, atol=1e-5)
    for place in [(0, 0), (3, 1), (6, 0)]:
        unit = still.copy()
        unit[place] = 1.0
        assert np.isclose(points[place], slope(0.0 * theta, unit, 0.0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_inducing_points_at_the_data_are_exact(method):
    kernel = Matern(1.5, length_scale=0.7)
    data = SparseData(S, Y, np.ones(N), method, BLOCKS)
    found = inducing_posterior(data, kernel, S, 0.2)
    C = kernel(X) + 0.2 * np.eye(N)
    assert np.isclose(found.value, sum(gaussian_log_density(Y[:, j], C) for j in range(2)), rtol=1e-9)
    assert np.allclose(found.alpha, np.linalg.solve(C, Y), atol=1e-8) and found.left < 1e-12


def test_the_variational_bound_is_below_the_evidence_and_rises_with_inducing_points():
    exact = sum(gaussian_log_density(Y[:, j], KERNEL(X) + 0.2 * np.eye(N)) for j in range(2))
    data = SparseData(S, Y, np.ones(N), "variational")
    values = [inducing_posterior(data, KERNEL, S[:m], 0.2).value for m in (2, 5, 10, 20, 30)]
    assert np.all(np.diff(values) > 0) and values[-1] < exact


def test_what_does_not_depend_on_the_noise_can_be_given():
    data = SparseData(S, Y, W, "fitc")
    known = whiten(data, KERNEL, S[:6])
    again = inducing_posterior(data, KERNEL, S[:6], 0.3, known)
    assert again.value == inducing_posterior(data, KERNEL, S[:6], 0.3).value and again.A is known.A


@pytest.mark.parametrize("kernel", [1.5 * Gaussian(0.7), 0.5 * Polynomial(2, offset=2.0) + Gaussian(1.0)], ids=repr)
def test_the_pullback_of_the_diagonal(kernel):
    weight = rng.normal(size=N)
    assert np.allclose(diagonal_pullback(kernel, S, weight), kernel.pullback(S, S, np.diag(weight)))


def test_chosen_samples_are_the_greedy_ones():
    kernel = Gaussian(0.5)
    chosen = choose_inducing(kernel, S, 8)
    K = kernel(X)
    for step in range(1, 8):
        before = chosen[:step]
        rest = np.diag(K - K[:, before] @ np.linalg.solve(K[np.ix_(before, before)], K[before]))
        assert np.isclose(rest[chosen[step]], rest.max(), rtol=1e-8)


def test_choosing_sees_neither_copies_nor_order():
    kernel, index = Gaussian(0.5), rng.permutation(np.repeat(np.arange(N), W.astype(int)))
    first = choose_inducing(kernel, S, 12)
    again = choose_inducing(kernel, S.take(index), 12)
    assert np.array_equal(index[again], first)
    assert len(choose_inducing(Linear(), S, 12)) == 2  # the rank


def test_choosing_among_strings():
    words = Spectrum(1).pack(["aaaa", "aaaa", "bbb", "ab"])
    assert choose_inducing(Spectrum(1), words, 3).tolist() == [0, 2]

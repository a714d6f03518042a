"""The evidence in the coordinates of factors: value and gradient against the dense one and against differences."""

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.estimators.parameter_gradients import MovingKernel
from mercer.estimators.processes.factor_evidence import FactorData, factor_posterior
from mercer.estimators.processes.latent_low_rank import low_rank_posterior
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Matern

rng = np.random.default_rng(0)
X = rng.normal(size=(14, 2))
Y = rng.normal(size=(14, 3))
HOLES = np.where(rng.uniform(size=Y.shape) < 0.3, np.nan, Y)
W = rng.integers(1, 4, 14).astype(float)
A = rng.normal(size=(3, 2))
NOISE = np.array([0.1, 0.3, 0.2])
KERNELS = (Gaussian(1.0), Matern(2.5, length_scale=1.5))


def parts_of(data, kernels, rank):
    return [MovingKernel(Nystrom(rank), k, data.samples, Resources()).at(k) for k in kernels]


@pytest.mark.parametrize("factors", [1, 2])
@pytest.mark.parametrize("y", [Y, HOLES], ids=["complete", "holes"])
def test_full_rank_is_the_dense_evidence(factors, y):
    data = FactorData(Vectors.pack(X), y, W)
    kernels, mixing = KERNELS[:factors], A[:, :factors]
    dense = factor_posterior(data, kernels, mixing, NOISE)
    found = low_rank_posterior(data, parts_of(data, kernels, 14), mixing, NOISE)
    assert found.value == pytest.approx(dense.value, abs=1e-9)
    means = [part.array @ found.beta[section] for part, section in zip(found.parts, found.sections, strict=True)]
    for mean, kernel, coef in zip(means, kernels, dense.coef.T, strict=True):
        np.testing.assert_allclose(mean, kernel(X) @ coef, atol=1e-9)
    slopes, in_mixing, in_noise = found.slope()
    parts, dense_mixing, dense_noise = dense.slope()
    np.testing.assert_allclose(in_mixing, dense_mixing, atol=1e-8)
    np.testing.assert_allclose(in_noise, dense_noise, atol=1e-8)
    for part, slope, M in zip(found.parts, slopes, parts, strict=True):
        np.testing.assert_allclose(slope, 2.0 * M @ part.array, atol=1e-8)


@pytest.mark.parametrize("y", [Y, HOLES], ids=["complete", "holes"])
def test_the_gradient_of_low_rank_by_differences(y):
    data = FactorData(Vectors.pack(X), y, W)
    parts = parts_of(data, KERNELS, 4)
    slopes, in_mixing, in_noise = low_rank_posterior(data, parts, A, NOISE).slope()
    step = 1e-6
    for place in np.ndindex(A.shape):
        E = np.zeros_like(A)
        E[place] = step
        ends = [low_rank_posterior(data, parts, A + sign * E, NOISE).value for sign in (1, -1)]
        assert in_mixing[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)
    for j in range(3):
        e = step * np.eye(3)[j]
        ends = [low_rank_posterior(data, parts, A, NOISE + sign * e).value for sign in (1, -1)]
        assert in_noise[j] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)
    for place in [(0, 0), (5, 3), (13, 1)]:
        values = []
        for sign in (1, -1):
            moved = parts_of(data, KERNELS, 4)
            moved[1].array = moved[1].array.copy()
            moved[1].array[place] += sign * step
            values.append(low_rank_posterior(data, moved, A, NOISE).value)
        assert slopes[1][place] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-5)


def test_many_samples_are_summed_block_by_block():
    x = np.linspace(0.0, 5.0, 2500)[:, None]
    y = np.sin(x) * np.array([1.0, -1.0])
    data = FactorData(Vectors.pack(x), y, np.ones(2500))
    parts = parts_of(data, KERNELS[:1], 6)
    found = low_rank_posterior(data, parts, np.ones((2, 1)), np.full(2, 0.5))
    F = np.vstack([parts[0].array, parts[0].array])
    v = y.T.ravel()
    inner = np.eye(F.shape[1]) + F.T @ F / 0.5
    square = (v @ v - (F.T @ v) @ np.linalg.solve(inner, F.T @ v) / 0.5) / 0.5
    expected = -0.5 * (np.linalg.slogdet(inner)[1] + 5000 * np.log(2 * np.pi * 0.5) + square)
    assert found.value == pytest.approx(expected, rel=1e-10)

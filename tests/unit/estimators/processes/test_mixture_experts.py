"""Functions of components from whole matrices and from factors: the same at full rank, and gradients by differences."""

import numpy as np
import pytest

from mercer import free_parameters
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.estimators.parameter_gradients import MovingKernel
from mercer.estimators.processes.mean_field import expert
from mercer.estimators.processes.mixture_experts import LowRankExperts, WholeExperts, block_of, low_rank_expert
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Matern, Precomputed

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2))
Y = rng.normal(size=(20, 2))
OMEGA = rng.uniform(size=(20, 2)) * (rng.uniform(size=(20, 2)) > 0.3)
KERNEL = 2.0 * Matern(1.5, length_scale=1.2)
S = Vectors.pack(X)


def low(rank):
    return LowRankExperts(S, Y, 1, Nystrom(rank), KERNEL, Resources())


def test_full_rank_is_the_whole_matrix():
    whole, found = WholeExperts(S, Y, 1), low(20)
    for t in range(2):
        one, other = found.expert(KERNEL, OMEGA[:, t], 0.3), whole.expert(KERNEL, OMEGA[:, t], 0.3)
        assert one.bound == pytest.approx(other.bound, abs=1e-10)
        for a, b in zip(found.moments(KERNEL, one), whole.moments(KERNEL, other), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
    value, raw, slope = found.slope(KERNEL, OMEGA, 0.3)
    expected, whole_raw, whole_slope = whole.slope(KERNEL, OMEGA, 0.3)
    assert value == pytest.approx(expected) and slope == pytest.approx(whole_slope)
    np.testing.assert_allclose(raw, whole_raw, rtol=1e-7)


def test_low_rank_is_the_expert_of_the_matrix_it_stands_for():
    part = MovingKernel(Nystrom(5), KERNEL, S, Resources()).at(KERNEL)
    found = low_rank_expert(part, Y, OMEGA[:, 0], 0.3)
    K = part.array @ part.array.T
    other = expert(K, Y, OMEGA[:, 0], 0.3)
    assert found.bound == pytest.approx(other.bound, abs=1e-10)
    for a, b in zip(found.moments(), other.moments(K[:, other.rows], K.diagonal()), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    M, in_noise = other.slope()
    whole = np.zeros((20, 20))
    whole[np.ix_(other.rows, other.rows)] = M
    slope, own = found.slope(Y)
    np.testing.assert_allclose(slope, 2.0 * whole @ part.array, atol=1e-8)
    assert own == pytest.approx(in_noise)


def test_the_gradient_by_differences():
    functions = low(6)
    _, raw, in_noise = functions.slope(KERNEL, OMEGA, 0.3)
    start = free_parameters.free_values(KERNEL)
    for place, step in enumerate(1e-5 * np.eye(len(start))):
        ends = [functions.slope(free_parameters.with_free(KERNEL, start + s * step), OMEGA, 0.3)[0] for s in (1, -1)]
        assert raw[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6)
    ends = [functions.slope(KERNEL, OMEGA, 0.3 + s * 1e-6)[0] for s in (1, -1)]
    assert in_noise == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_many_samples_are_summed_block_by_block():
    x = np.linspace(0.0, 5.0, 2500)[:, None]
    y, omega = np.sin(x), np.linspace(0.0, 1.0, 2500)
    part = MovingKernel(Nystrom(6), Gaussian(1.0), Vectors.pack(x), Resources()).at(Gaussian(1.0))
    found, F = low_rank_expert(part, y, omega, 0.5), part.array
    B = np.eye(F.shape[1]) + F.T @ (omega[:, None] * F) / 0.5
    beta = np.linalg.solve(B, F.T @ (omega[:, None] * y)) / 0.5
    np.testing.assert_allclose(found.beta, beta, atol=1e-9)
    square = (omega @ y**2)[0] / 0.5 - (beta.T @ B @ beta)[0, 0]
    expected = -0.5 * (np.linalg.slogdet(B)[1] + omega.sum() * np.log(np.pi) + square)
    assert found.bound == pytest.approx(expected, rel=1e-10)


def test_kernels_without_parameters_have_no_slope():
    kernel = Precomputed()
    K = kernel.pack(X @ X.T + np.eye(20))
    value, raw, _ = WholeExperts(K, Y, 1).slope(kernel, OMEGA, 0.3)
    assert len(raw) == 0 and np.isfinite(value)
    np.testing.assert_allclose(block_of(KERNEL, S, S), KERNEL(X))

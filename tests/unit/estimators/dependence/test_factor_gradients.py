"""Factors of moving points against dense matrices and finite differences."""

import numpy as np
import pytest

from mercer.errors import CapabilityError
from mercer.estimators.dependence.factor_gradients import MovingFactor, check_movable
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Spectrum

rng = np.random.default_rng(0)
S = rng.normal(size=(30, 2))
W = rng.uniform(0.5, 2.0, size=30)
M = rng.normal(size=(30, 30))
M = M + M.T


def centred(K, w):
    P = np.eye(len(w)) - np.outer(np.ones(len(w)), w / w.sum())
    root = np.sqrt(w)
    return root[:, None] * (P @ K @ P.T) * root


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(2, offset=1.0)])
def test_the_factor_is_that_of_the_centred_matrix(kernel):
    E = MovingFactor(kernel, S, W, 30, 1e-13).array
    np.testing.assert_allclose(E @ E.T, centred(kernel(S), W), atol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(2, offset=1.0), Linear()])
@pytest.mark.parametrize("rank", [30, 5])
def test_derivatives_are_finite_differences(kernel, rank):
    factor = MovingFactor(kernel, S, W, rank, 1e-9)
    root = np.sqrt(W) / np.sqrt(W.sum())
    projected = M - np.outer(root, root @ M) - np.outer(M @ root, root) + np.outer(root, root) * (root @ M @ root)
    slope = factor.pullback(projected @ factor.array)

    def value(points):  # the same pivots, from the definition
        K = kernel(points)
        C, B = K[:, factor.pivots], K[np.ix_(factor.pivots, factor.pivots)]
        return float(np.vdot(projected, centred(C @ np.linalg.solve(B, C.T), W)))

    for i, j in [(0, 0), (int(factor.pivots[0]), 1), (29, 1)]:
        step = np.zeros_like(S)
        step[i, j] = 1e-5
        assert slope[i, j] == pytest.approx((value(S + step) - value(S - step)) / 2e-5, rel=1e-4, abs=1e-4)


def test_points_that_do_not_vary_have_an_empty_or_zero_factor():
    factor = MovingFactor(Linear(), np.zeros((4, 1)), np.ones(4), 4, 1e-9)
    assert factor.array.shape == (4, 0)
    assert factor.pullback(np.zeros((4, 0))).shape == (4, 1)


@pytest.mark.parametrize("kernel", [Spectrum(2), NegativeDistance()])
def test_kernels_that_cannot_be_moved_are_refused(kernel):
    with pytest.raises(CapabilityError, match="derivative"):
        check_movable(kernel, "KernelICA")

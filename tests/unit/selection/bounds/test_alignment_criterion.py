"""Kernel-target alignment, against its definition and differences."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import TargetError
from mercer.kernels import Gaussian, Linear
from mercer.selection.bounds.alignment_criterion import AlignmentCriterion, target_alignment, target_alignment_slope


def naive(K, y, centred):
    Y = np.asarray(y, dtype=float).reshape(len(K), -1)
    T, H = Y @ Y.T, np.eye(len(K)) - 1.0 / len(K)
    if centred:
        K, T = H @ K @ H, H @ T @ H
    return np.trace(K @ T) / np.sqrt(np.trace(K @ K) * np.trace(T @ T))


def data(k=0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    return X, np.where(X[:, 0] > 0, 1.0, -1.0) if not k else rng.normal(size=(12, k))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("k", [0, 2])
def test_definition(centred, k):
    X, y = data(k)
    K = Gaussian(1.0)(X)
    np.testing.assert_allclose(target_alignment(K, y, centred=centred), naive(K, y, centred), rtol=1e-12)


def test_the_numerator_is_the_squared_norm_of_the_difference_of_sums():
    X, y = data()
    K = Linear()(X)
    w = (y[:, None] * X).sum(axis=0)
    np.testing.assert_allclose(target_alignment(K, y) * 12 * np.linalg.norm(K), w @ w, rtol=1e-12)


def test_a_constant_changes_nothing_when_centred():
    X, y = data()
    K = Gaussian(1.0)(X)
    np.testing.assert_allclose(target_alignment(K + 5.0, y, centred=True), target_alignment(K, y, centred=True))


@pytest.mark.parametrize("centred", [False, True])
def test_slope_in_the_entries(centred):
    X, y = data()
    K, E = Gaussian(1.0)(X), np.random.default_rng(1).normal(size=(12, 12))
    E, h = E + E.T, 1e-6
    _, D = target_alignment_slope(K, y, centred=centred)
    ends = [target_alignment(K + s * h * E, y, centred=centred) for s in (1, -1)]
    np.testing.assert_allclose(np.vdot(D, E), (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("centred", [False, True])
def test_slope_in_parameters(centred):
    X, y = data()
    criterion = AlignmentCriterion(Vectors.pack(X), y, centred)
    h = 1e-5
    ends = [criterion(Gaussian(1.3 + s * h), {})[0] for s in (1, -1)]
    np.testing.assert_allclose(criterion(Gaussian(1.3), {})[1], [(ends[0] - ends[1]) / (2 * h)], rtol=1e-6)


def test_nothing_to_align_with():
    with pytest.raises(TargetError, match="differ"):
        target_alignment(np.eye(3), np.ones(3), centred=True)

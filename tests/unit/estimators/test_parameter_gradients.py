"""Factors of kernels that move: derivatives against differences, and landmarks that stay."""

import numpy as np
import pytest

from mercer import free_parameters
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError
from mercer.estimators.parameter_gradients import MovingKernel, combined, low_rank, rank_of
from mercer.gram import (
    Auto,
    Dense,
    FastGauss,
    Features,
    IncompleteCholesky,
    Nystrom,
    RandomFeatures,
    SparseGreedy,
    Tiles,
)
from mercer.kernels import Gaussian, Linear, Matern, Polynomial

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 2))
S = Vectors.pack(X)
SPECS = [
    Nystrom(6), Nystrom(25), IncompleteCholesky(8, tol=0.0), SparseGreedy(7, tol=0.0), RandomFeatures(20),
    RandomFeatures(20, random_state=None), Nystrom(6, random_state=None),
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize("kernel", [2.0 * Gaussian((0.8, 1.5)), 0.5 * Gaussian(1.0) + Matern(2.5, length_scale=2.0)])
def test_the_derivative_is_that_of_the_matrix(spec, kernel):
    A = rng.normal(size=(25, 25))
    A = A + A.T
    moving = MovingKernel(spec, kernel, S, Resources())
    factor = moving.at(kernel)

    def value(theta):
        F = moving.built(free_parameters.with_free(kernel, theta))
        return np.vdot(F @ F.T, A)

    start = free_parameters.free_values(kernel)
    expected = np.empty(len(start))
    for i, step in enumerate(np.eye(len(start)) * 1e-5):
        expected[i] = (value(start + step) - value(start - step)) / 2e-5
    found = factor.pullback(2.0 * A @ factor.array)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("spec", [*SPECS, Features()], ids=repr)
def test_the_map_gives_the_factor_at_new_samples(spec):
    kernel = Polynomial(2, 1.0) if isinstance(spec, Features) else Gaussian(1.0)
    factor = MovingKernel(spec, kernel, S, Resources()).at(kernel)
    np.testing.assert_allclose(factor.map()(X), factor.array, atol=1e-7)
    weights = rng.normal(size=(factor.array.shape[1], 2))
    for some in (weights, weights[:, 0]):
        np.testing.assert_allclose(combined(factor.map(), some)(X[:4]), factor.array[:4] @ some, atol=1e-6)
    assert -1e-6 <= factor.left <= 1.0


def test_landmarks_stay_where_they_were():
    moving = MovingKernel(Nystrom(5, sampler="greedy"), Gaussian(0.5), S, Resources())
    first, second = moving.at(Gaussian(0.5)), moving.at(Gaussian(3.0), keep=2)
    assert np.array_equal(first.gram.index, second.gram.index)
    assert moving.at(second.kernel) is second
    C, W = Gaussian(3.0)(X, X[second.gram.index]), Gaussian(3.0)(X[second.gram.index])
    np.testing.assert_allclose(second.array @ second.array.T, C @ np.linalg.solve(W, C.T), atol=1e-8)


def test_ranks_before_anything_is_built():
    assert rank_of(Nystrom(50), 30, 2) == 30 and rank_of(RandomFeatures(50), 30, 2) == 50
    assert rank_of(Features(), 30, 2) == 2
    with pytest.raises(MemoryBudgetError, match="features"):
        MovingKernel(Features(), Linear(), Vectors.pack(rng.normal(size=(9, 200))), Resources(memory=30_000))


def test_what_has_no_factor_is_refused():
    assert [low_rank(spec, "It") for spec in (None, Dense(), Auto(), Nystrom(3))] == [False, False, False, True]
    for spec in (Tiles(), FastGauss()):
        with pytest.raises(CapabilityError, match=r"the determinant.*Nystrom"):
            low_rank(spec, "It")

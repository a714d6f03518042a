"""Descents whose vectors are functions: a ridge has its minimum in closed form."""

import numpy as np
import pytest

from mercer.gram.low_rank.features import FeatureGram
from mercer.kernels import Gaussian, Linear
from mercer.problems import Status
from mercer.solvers.smooth.functional_descent import descend

RNG = np.random.default_rng(0)
K = Gaussian(1.0)(RNG.normal(size=(15, 2)))
Y = RNG.normal(size=(15, 2))


def ridge(F, w):
    return 0.5 * ((F + w - Y) ** 2).sum(), F + w - Y, (F + w - Y).sum(axis=0)


@pytest.mark.parametrize("method", ["lbfgs", "conjugate_gradient"])
def test_a_ridge_with_a_penalised_bias(method):
    found = descend(K, ridge, 2, 2, method, 1e-9, 500)
    B = np.linalg.solve(K + 1.0 + np.eye(15), Y)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.function.B, B, atol=1e-7)
    np.testing.assert_allclose(found.function.w, B.sum(axis=0), atol=1e-7)
    np.testing.assert_allclose(found.function.F, K @ found.function.B, atol=1e-10)
    assert found.gap < 1e-14


def test_the_gap_is_a_bound_wherever_it_stops():
    best = descend(K, ridge, 2, 2, "lbfgs", 1e-10, 500).objective
    for most in (1, 3, 5):
        found = descend(K, ridge, 2, 2, "lbfgs", 1e-12, most)
        assert found.status is Status.MAX_ITER
        assert best - 1e-12 <= found.objective <= best + found.gap
    assert descend(K, ridge, 2, 2, "lbfgs", 1e-12, 50, lambda i, r: i == 2).status is Status.STOPPED


@pytest.mark.parametrize("method", ["lbfgs", "conjugate_gradient"])
def test_weights_of_a_factor_are_the_same_function(method):
    X = RNG.normal(size=(15, 4))
    gram = FeatureGram(Linear(), Linear().pack(X), X, None)
    found = descend(gram, ridge, 2, 2, method, 1e-7, 500, weights=True)
    other = descend(X @ X.T, ridge, 2, 2, method, 1e-7, 500)
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(other.objective, rel=1e-10)
    np.testing.assert_allclose(found.function.B, X.T @ other.function.B, atol=1e-5)  # the gradient is 1e-7 of the first
    np.testing.assert_allclose(found.function.F, X @ found.function.B, atol=1e-10)

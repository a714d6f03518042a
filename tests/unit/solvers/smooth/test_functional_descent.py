"""Descents whose vectors are functions: a ridge has its minimum in closed form."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
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

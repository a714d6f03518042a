"""The ridge of a regression that was given none."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.estimators.squares.ridge_choice import _RIDGES, chosen_ridge
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.2 * RNG.normal(size=80)
ONES = np.ones(80)


@pytest.mark.parametrize("intercept", [False, True])
def test_it_is_the_best_of_the_grid_by_brute_force(intercept):
    def error(alpha):
        left = KernelRidge(Gaussian(1.0), alpha=alpha, fit_intercept=intercept, leave_one_out=True).fit(X, Y)
        return np.sum((left.loo_predictions_ - Y) ** 2)

    found = chosen_ridge(Gaussian(1.0), Vectors.pack(X), Y, ONES, intercept, Resources())
    assert found == min(_RIDGES, key=error)


def test_an_eighth_of_many_samples_decides_whatever_their_order():
    A = RNG.normal(size=(2000, 2))
    b = A[:, 0] + RNG.normal(size=2000)
    order = RNG.permutation(2000)
    found = [
        chosen_ridge(Gaussian(1.0), Vectors.pack(A[rows]), b[rows], np.ones(2000), True, Resources())
        for rows in (np.arange(2000), order)
    ]
    assert found[0] == found[1] > 0.1


@pytest.mark.parametrize("n", [40, 80])
def test_weight_is_repetition(n):
    w = RNG.integers(1, 4, n)
    weighted = chosen_ridge(Gaussian(1.0), Vectors.pack(X[:n]), Y[:n], w.astype(float), True, Resources())
    A, b = np.repeat(X[:n], w, axis=0), np.repeat(Y[:n], w)
    assert weighted == chosen_ridge(Gaussian(1.0), Vectors.pack(A), b, np.ones(len(b)), True, Resources())


def test_units_of_the_target_do_not_matter():
    found = [chosen_ridge(Gaussian(1.0), Vectors.pack(X), s * Y, ONES, True, Resources()) for s in (1.0, 1e200, 1e-200)]
    assert len(set(found)) == 1
    constant = chosen_ridge(Gaussian(1.0), Vectors.pack(X), 3.0 * ONES, ONES, True, Resources())
    assert constant == _RIDGES[0]  # all are as good: the largest


def test_only_a_regression_without_a_kernel_chooses():
    assert KernelRidge(Gaussian(1.0)).fit(X, Y).alpha_ == 1.0 and KernelRidge("rbf").fit(X, Y).intercept_ == 0.0
    default = KernelRidge().fit(X * [1.0, 1e6], Y)
    assert default.alpha_ in _RIDGES and default.intercept_ != 0.0
    assert KernelRidge(alpha=0.5, fit_intercept=False).fit(X, Y).alpha_ == 0.5
    np.testing.assert_allclose(default.predict(X * [1.0, 1e6]), KernelRidge().fit(X, Y).predict(X), atol=1e-7)

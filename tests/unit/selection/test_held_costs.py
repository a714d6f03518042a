"""Machines on part of a matrix that is held, along costs, against machines fitted one by one."""

import numpy as np
import pytest
from sklearn import svm

from mercer import SVC
from mercer.errors import NotPositiveDefinite
from mercer.kernels import Gaussian, Precomputed
from mercer.selection.held_costs import Held, decisions_along


def problem(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    sign = np.where(X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, sign


def one_by_one(K, sign, weight, C):
    """The same decision values by fitting each machine on its own samples."""
    part = np.flatnonzero(weight > 0)
    model = SVC(Precomputed(), C=C, tol=1e-9).fit(K[np.ix_(part, part)], sign[part], weight[part])
    return model.decision_function(K[:, part])


@pytest.mark.parametrize("left_out", [12, 30])  # in place, and with a matrix of their own
@pytest.mark.parametrize("scale", [0.3, 1.5, 8.0])
def test_values_along_costs_are_those_of_single_machines(left_out, scale):
    X, sign = problem()
    K = Gaussian(scale)(X)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    weight[:left_out] = 0.0
    costs = [30.0, 0.1, 1.0, 1000.0]
    found = decisions_along(Held.of(K), sign, weight, costs)
    for f, C in zip(found, costs, strict=True):
        # both stop at 1e-6 of the margin; a function moves by the root of that times the largest coefficients
        np.testing.assert_allclose(f, one_by_one(K, sign, weight, C), atol=1e-3)


def test_signs_that_are_wanted_are_exact():
    X, sign = problem(80, seed=3)
    K = Gaussian(1.0)(X)
    weight = np.ones(80)
    weight[:16] = 0.0
    costs = np.logspace(-1, 3, 6)
    quick = decisions_along(Held.of(K), sign, weight, costs, wanted=np.arange(16))
    exact = decisions_along(Held.of(K), sign, weight, costs)
    assert np.array_equal(quick[:, :16] > 0, exact[:, :16] > 0)


def test_the_sum_of_the_coefficients_stays_zero_from_cost_to_cost():
    """A constant added to K changes nothing, which holds only while the coefficients sum to zero."""
    X, sign = problem(50, seed=5)
    K = Gaussian(0.7)(X)
    costs = np.logspace(-1, 2, 7)
    found = decisions_along(Held.of(K), sign, np.ones(50), costs)
    moved = decisions_along(Held.of(K + 1.0), sign, np.ones(50), costs)
    np.testing.assert_allclose(found, moved, atol=1e-3)


def test_a_stop_leaves_the_rest_undone():
    X, sign = problem(30)
    asked = iter([False, True, True])
    found = decisions_along(Held.of(Gaussian(1.0)(X)), sign, np.ones(30), [1.0, 0.1], stop=lambda: next(asked))
    assert np.isfinite(found[1]).all() and np.isnan(found[0]).all()


def test_an_indefinite_matrix_is_refused_or_solved():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    sign = np.where(np.arange(30) % 2, 1.0, -1.0)
    try:
        found = decisions_along(Held.of(A + A.T), sign, np.ones(30), [1.0, 100.0])
    except NotPositiveDefinite as error:
        assert "indefinite" in str(error)
    else:
        assert np.isfinite(found).all()


def test_without_free_samples_the_bias_is_the_middle_of_its_interval():
    """Coefficients that are zero but for rounding are not free: LIBSVM's machine has the same bias."""
    rng = np.random.default_rng(39)
    X = rng.normal(size=(24, 3))
    sign = np.where(rng.normal(size=24) > 0, 1.0, -1.0)
    K = X @ X.T
    for C in (0.001, 0.01):
        values = decisions_along(Held.of(K), sign, np.ones(24), [C], 1e-8)[0]
        theirs = svm.SVC(kernel="precomputed", C=C, tol=1e-10).fit(K, sign)
        assert values == pytest.approx(theirs.decision_function(K), abs=1e-6)

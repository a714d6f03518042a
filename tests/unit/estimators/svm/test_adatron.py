"""The kernel adatron: the machine without a bias."""

import math

import numpy as np
import piqp
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from mercer.errors import DomainError, ParameterError
from mercer.estimators.svm.adatron import KernelAdatron
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.problems import Status
from mercer.solvers import Adatron

X, Y = load_iris(return_X_y=True)


def by_quadratic_programming(K, y, upper):
    """Signed coefficients of the binary machine without a bias."""
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-11)
    solver.setup(K * np.outer(y, y) + 1e-13 * np.eye(len(y)), -np.ones(len(y)), x_l=np.zeros(len(y)), x_u=upper)
    assert solver.solve() == piqp.PIQP_SOLVED
    return y * solver.result.x


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_equals_the_quadratic_program_of_each_class(C):
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=150)
    model = KernelAdatron(Gaussian(1.0), C).fit(X, Y, sample_weight=weight)
    K = Gaussian(1.0)(X)
    expected = [K @ by_quadratic_programming(K, np.where(c == Y, 1.0, -1.0), C * weight) for c in range(3)]
    np.testing.assert_allclose(model.decision_function(X), np.column_stack(expected), atol=1e-6)
    assert np.array_equal(model.predict(X), np.argmax(expected, axis=0))
    assert model.solution_.status is Status.CONVERGED and model.solution_.gap < 1e-6
    assert model.dual_coef_.shape == (150, 3)
    assert np.array_equal(model.support_, np.flatnonzero(model.dual_coef_.any(axis=1))) and model.n_iter_.shape == (3,)


def test_two_classes_have_one_function():
    A, y = X[50:], np.where(Y[50:] == 2, "b", "a")
    model = KernelAdatron(Gaussian(1.0), 3.0).fit(A, y)
    K = Gaussian(1.0)(A)
    expected = K @ by_quadratic_programming(K, np.where(y == "b", 1.0, -1.0), np.full(100, 3.0))
    np.testing.assert_allclose(model.decision_function(A), expected, atol=1e-6)
    assert model.dual_coef_.shape == (100,) and np.array_equal(model.predict(A), np.where(expected > 0, "b", "a"))


@pytest.mark.parity
def test_the_linear_kernel_is_liblinear():
    theirs = LinearSVC(C=0.5, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, Y)
    for gram in (None, Dense(), Tiles(), Features()):
        ours = KernelAdatron(Linear(), 0.5, gram=gram).fit(X, Y)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 4, size=150)
    repeated = np.repeat(np.arange(150), weight)
    once = KernelAdatron(C=5.0).fit(X, Y, sample_weight=weight)
    often = KernelAdatron(C=5.0).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(once.decision_function(X), often.decision_function(X), atol=1e-6)
    assert not np.any(once.dual_coef_[weight == 0])


def test_the_hard_margin():
    A, y = X[:100], Y[:100]
    model = KernelAdatron(Gaussian(1.0), math.inf).fit(A, y)
    margins = model.decision_function(A) * np.where(y, 1.0, -1.0)
    assert np.isclose(margins.min(), 1.0, atol=1e-6)
    with pytest.raises(DomainError, match="C=inf"), pytest.warns(ConvergenceWarning):
        KernelAdatron(Linear(), math.inf).fit([[1.0], [2.0], [3.0]], [0, 1, 0])


def test_solver_and_its_options():
    assert KernelAdatron(solver=Adatron(1e-6)).fit(X, Y).solver_ == Adatron(1e-6)
    assert KernelAdatron(tol=1e-5).fit(X, Y).solver_ == Adatron(1e-5)
    with pytest.raises(ParameterError, match="Write them into the solver"):
        KernelAdatron(solver=Adatron(), tol=1e-5).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="iterations ran out"):
        rng = np.random.default_rng(0)
        KernelAdatron(Gaussian(1.0), 1e4, max_iter=1).fit(rng.normal(size=(3000, 4)), rng.random(3000) < 0.5)
    for params in ({"C": 0.0}, {"C": math.nan}, {"tol": 2.0}, {"max_iter": 0}):
        with pytest.raises(ParameterError, match=next(iter(params))):
            KernelAdatron(**params).fit(X, Y)


def test_strings():
    model = KernelAdatron(Spectrum(1).normalized()).fit(
        ["abc", "cab", "xyz", "zyx"], ["left", "left", "right", "right"]
    )
    assert list(model.predict(["aab", "xxz"])) == ["left", "right"]


def test_scikit_learns_checks():
    check_estimator(KernelAdatron())

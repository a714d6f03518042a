"""Folds in closed form against refits."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, TimeSeriesSplit

from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.errors import NotPositiveDefinite, ParameterError
from mercer.gram import Dense, Features
from mercer.kernels import Gaussian, Polynomial
from mercer.problems import LinearSystem
from mercer.selection.cross_validation import fold_predictions, generalized_cross_validation, partition
from mercer.solvers import Cholesky, Woodbury

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)
W = rng.uniform(0.3, 3.0, size=60)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 7, 60])
def test_all_folds_from_one_factor(intercept, weighted, k):
    w = W if weighted else np.ones(60)
    gram = Dense().build(Gaussian(1.5), Vectors.pack(X))
    border = np.ones((60, 1)) if intercept else None
    solution = Cholesky().solve(LinearSystem(gram, 0.1 / w, Y, border))
    folds = partition(k, 60)
    f = fold_predictions(Y, solution.coef, solution.state.inverse_block, folds)
    for fold in folds:
        rest = np.setdiff1d(np.arange(60), fold)
        model = KernelRidge(Gaussian(1.5), alpha=0.1, fit_intercept=intercept).fit(X[rest], Y[rest], w[rest])
        np.testing.assert_allclose(f[fold], model.predict(X[fold]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_primal_form_has_the_same_folds(intercept):
    gram = Features().build(Polynomial(2), Vectors.pack(X))
    border = np.ones((60, 1)) if intercept else None
    solution = Woodbury().solve(LinearSystem(gram, 0.5 / W, Y[:, 0], border))
    folds = partition(KFold(5, shuffle=True, random_state=0), 60)
    f = fold_predictions(Y[:, 0], solution.coef, solution.state.inverse_block, folds)
    for fold in folds:
        rest = np.setdiff1d(np.arange(60), fold)
        model = KernelRidge(Polynomial(2), alpha=0.5, fit_intercept=intercept).fit(X[rest], Y[rest, 0], W[rest])
        np.testing.assert_allclose(f[fold], model.predict(X[fold]), rtol=1e-7, atol=1e-7)


def test_a_fold_that_leaves_the_border_undetermined():
    border = np.zeros((60, 1))
    border[:5] = 1.0
    solution = Cholesky().solve(LinearSystem(Dense().build(Gaussian(1.5), Vectors.pack(X)), 0.1, Y, border))
    with pytest.raises(NotPositiveDefinite, match="fold 0"):
        fold_predictions(Y, solution.coef, solution.state.inverse_block, [np.arange(8)])


def test_samples_in_no_fold_have_no_prediction():
    f = fold_predictions(np.ones(3), np.ones(3), lambda F: np.eye(len(F)), [np.array([1])])
    assert np.array_equal(np.isnan(f), [True, False, True])


def test_generalised_cross_validation_is_leave_one_out_of_equal_leverages():
    """On a circle all leverages are equal."""
    t = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    K = np.exp(np.cos(t[:, None] - t))
    P = np.linalg.inv(K + 0.3 * np.eye(24))
    y = rng.normal(size=24)
    residuals = 0.3 * P @ y
    dof = 24 - 0.3 * np.trace(P)
    exact = np.mean((P @ y / np.diag(P)) ** 2)
    assert generalized_cross_validation(residuals, dof) == pytest.approx(exact)
    again = np.repeat(np.arange(24), 2)
    twice = generalized_cross_validation(residuals, dof, np.full(24, 2.0))
    assert twice == pytest.approx(generalized_cross_validation(residuals[again], dof))
    with pytest.raises(ParameterError, match="smaller"):
        generalized_cross_validation(residuals, 24.0)


def test_partitions():
    assert [fold.tolist() for fold in partition(3, 7)] == [[0, 1, 2], [3, 4], [5, 6]]
    pairs = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([3, 2]))]
    assert [fold.tolist() for fold in partition(pairs, 4)] == [[0, 1], [3, 2]]
    for bad in (1, 8, TimeSeriesSplit(3), [(np.array([0]), np.array([1]))], pairs[:1], "five", 2.5):
        with pytest.raises(ParameterError, match="cv="):
            partition(bad, 7)

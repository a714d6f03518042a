"""Sparse regression with few targets, against the primal program by interior points."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import KernelRidge, SparseLaplacianRegressor
from mercer.errors import TargetError
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
N = 20
X = np.sort(RNG.uniform(0.0, 4.0, size=(N, 1)), axis=0)
Y = np.where(np.arange(N) % 4 == 0, np.sin(2.0 * X[:, 0]), np.nan)
T = np.linspace(0.0, 4.0, 7)[:, None]
K = Gaussian(0.6)


def edges(k):
    near = np.argsort(np.abs(X - X.T), axis=1)[:, 1 : k + 1]
    A = np.zeros((N, N))
    A[np.arange(N)[:, None], near] = 1.0
    return np.nonzero(np.triu(np.maximum(A, A.T)))


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_against_the_primal(epsilon):
    clarabel = pytest.importorskip("clarabel")
    alpha, m, known = 0.1, 0.3, np.flatnonzero(~np.isnan(Y))
    values, U = np.linalg.eigh(K(X))
    F = U * np.sqrt(np.maximum(values, 0.0))
    i, j = edges(2)
    D = F[i] - F[j]
    e = len(i)
    P = sp.block_diag([F[known].T @ F[known] + alpha * np.eye(N), sp.csc_array((e, e))])
    q = np.concatenate([-F[known].T @ Y[known], np.full(e, m)])
    left = sp.vstack([sp.csc_array(D), sp.csc_array(-D), sp.csc_array((e, N))])
    A = sp.hstack([left, sp.vstack([-sp.eye(e)] * 3)])
    b = np.concatenate([np.full(2 * e, epsilon), np.zeros(e)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(3 * e)]
    found = clarabel.DefaultSolver(sp.csc_matrix(sp.triu(P)), q, sp.csc_matrix(A), b, cones, settings).solve()
    expected = F @ np.array(found.x[:N])
    for spec in (Dense(), Nystrom(N, random_state=0)):
        model = SparseLaplacianRegressor(K, alpha, m, epsilon, n_neighbors=2, tol=1e-7, gram=spec).fit(X, Y)
        assert np.allclose(model.transduction_, expected, atol=1e-4)
    assert model.n_edges_ == e
    assert np.allclose(model.predict(X), model.transduction_, atol=1e-8)


def test_wide_tubes_and_no_graph_are_ridge_regression():
    known = ~np.isnan(Y)
    expected = KernelRidge(K, 0.1).fit(X[known], Y[known]).predict(T)
    for options in ({"manifold": 0.0}, {"epsilon": 100.0}):
        model = SparseLaplacianRegressor(K, 0.1, tol=1e-8, **options).fit(X, Y)
        assert np.allclose(model.predict(T), expected, atol=1e-5) and model.active_ == 0


def test_wider_tubes_are_sparser():
    active = [SparseLaplacianRegressor(K, 0.1, 0.3, eps, n_neighbors=3).fit(X, Y).active_ for eps in (0.01, 0.1, 1.0)]
    assert active[0] > active[1] > active[2]


def test_one_output():
    with pytest.raises(TargetError, match="1d array"):
        SparseLaplacianRegressor().fit(X, np.column_stack([Y, Y]))

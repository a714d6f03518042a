"""Proximal gradients for singular values, against a semi-definite program and closed forms."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.hilbert import ElasticNuclear, Nuclear, Rank, Schatten
from mercer.losses import Logistic, Squared
from mercer.problems import Status
from mercer.solvers.sparse.spectral_proximal import Observations, solve_spectral

RNG = np.random.default_rng(0)
N, R, T = 14, 3, 4
F = RNG.normal(size=(N, R))
ROWS, TASKS = (a.ravel() for a in np.nonzero(RNG.random((N, T)) < 0.6))
Y = RNG.normal(size=len(ROWS))
W = RNG.uniform(0.5, 2.0, size=len(ROWS))
SEEN = Observations(ROWS, TASKS, Y, W, (N, T))


def program(alpha):
    """Minimise 1/2 sum w (y - FB - b)^2 + alpha / 2 (tr P + tr Q) with ((P, B), (B', Q)) >= 0, by interior points."""
    clarabel = pytest.importorskip("clarabel")
    side = R + T
    size = side * (side + 1) // 2
    upper = [(i, j) for j in range(side) for i in range(j + 1)]  # columns of the upper triangle
    place = {pair: k for k, pair in enumerate(upper)}
    count = size + T
    A = np.zeros((len(Y), count))
    for k, (i, t) in enumerate(zip(ROWS, TASKS, strict=True)):
        for r in range(R):
            A[k, place[(r, R + t)]] = F[i, r]
        A[k, size + t] = 1.0
    P, q = (A * W[:, None]).T @ A, -(A * W[:, None]).T @ Y
    for d in range(side):
        q[place[(d, d)]] += 0.5 * alpha
    scale = np.array([1.0 if i == j else np.sqrt(2.0) for i, j in upper])
    cone = sp.hstack([sp.diags_array(-scale), sp.csc_array((size, T))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(cone), np.zeros(size), [clarabel.PSDTriangleConeT(side)], settings
    )
    return solver.solve().obj_val + 0.5 * W @ Y**2


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_the_nuclear_norm_is_that_of_the_semi_definite_program(alpha):
    found = solve_spectral(F, SEEN, Squared(), Nuclear(), alpha, tol=1e-10, max_iter=50_000)
    f = (F @ found.weights)[ROWS, TASKS] + found.intercept[TASKS]
    objective = 0.5 * W @ (Y - f) ** 2 + alpha * np.linalg.svd(found.weights)[1].sum()
    assert found.status is Status.CONVERGED
    assert np.isclose(objective, program(alpha), rtol=1e-7)


@pytest.mark.parametrize("penalty", [Nuclear(), Schatten(1.5), ElasticNuclear(0.5)], ids=repr)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_gap_is_a_bound(loss, penalty, intercept):
    y = np.where(Y > 0.0, 1.0, -1.0) if isinstance(loss, Logistic) else Y
    seen = Observations(ROWS, TASKS, y, W, (N, T))
    options = {"intercept": intercept}

    def objective(found):
        f = (F @ found.weights)[ROWS, TASKS] + found.intercept[TASKS]
        return W @ loss.value(y, f) + 0.5 * penalty.value(np.linalg.svd(found.weights)[1])

    best = solve_spectral(F, seen, loss, penalty, 0.5, tol=1e-9, max_iter=50_000, **options)
    rough = solve_spectral(F, seen, loss, penalty, 0.5, tol=0.05, **options)
    assert best.status is rough.status is Status.CONVERGED
    assert -1e-9 <= objective(rough) - objective(best) <= rough.gap + 1e-7


def test_half_squares_are_ridge_regression():
    found = solve_spectral(F, SEEN, Squared(), Schatten(2.0), 0.7, intercept=False, tol=1e-12, max_iter=50_000)
    for t in range(T):
        own = t == TASKS
        A = F[ROWS[own]]
        w = np.linalg.solve(A.T @ (W[own, None] * A) + 0.7 * np.eye(R), A.T @ (W[own] * Y[own]))
        assert np.allclose(found.weights[:, t], w, atol=1e-5)


def test_rank():
    seen = Observations(*(a.ravel() for a in np.indices((N, T))), (F @ np.ones((R, T))).ravel(), np.ones(N * T), (N, T))
    found = solve_spectral(F, seen, Squared(), Rank(1), 1.0, intercept=False, tol=1e-10, max_iter=20_000)
    assert np.linalg.matrix_rank(found.weights) == 1 and np.isnan(found.gap)
    assert np.allclose(found.weights, 1.0, atol=1e-6)

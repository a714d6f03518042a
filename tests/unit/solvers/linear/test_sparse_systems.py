import numpy as np
import pytest
import scipy.sparse as sp

from mercer.problems import Status
from mercer.solvers.linear import sparse_systems
from mercer.solvers.linear.sparse_systems import solve_sparse


def system(n=60, c=3, seed=0):
    rng = np.random.default_rng(seed)
    T = sp.random_array((n, n), density=0.1, rng=rng, format="csr")
    T = sp.csr_array(0.5 * (T + T.T))
    T.setdiag(0.0)
    T.eliminate_zeros()
    d = 0.1 + np.asarray(abs(T).sum(axis=1)).ravel()
    return d, T, rng.normal(size=(n, c))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("warm", [False, True])
def test_solutions_are_those_of_a_dense_solver(threads, warm, monkeypatch):
    if threads > 1:
        monkeypatch.setattr(sparse_systems, "_WORTH_THREADS", 0)
    d, T, B = system()
    B[:, 1] = 0.0  # a column that needs nothing
    A = np.diag(d) - T.toarray()
    start = np.ones(B.shape) if warm else None
    found = solve_sparse(d, T, B, tol=1e-11, start=start, n_threads=threads)
    assert found.status is Status.CONVERGED and found.residual <= 1e-11
    assert np.allclose(found.X, np.linalg.solve(A, B), atol=1e-8)
    assert np.abs(B - A @ found.X).max() <= 1e-9 * np.linalg.norm(B, axis=0).max()


def test_the_plain_functions(monkeypatch):
    monkeypatch.setattr(sparse_systems, "_product", sparse_systems._product.py_func)
    monkeypatch.setattr(sparse_systems, "_move", sparse_systems._move.py_func)
    d, T, B = system(12, 2)
    assert np.allclose(solve_sparse(d, T, B, tol=1e-12).X, np.linalg.solve(np.diag(d) - T.toarray(), B))


def test_it_ends_when_told():
    d, T, B = system()
    assert solve_sparse(d, T, B, tol=1e-12, max_iter=2).status is Status.MAX_ITER
    stopped = solve_sparse(d, T, B, tol=1e-12, monitor=lambda step, left: Status.TIME if step == 3 else False)
    assert stopped.status is Status.TIME and stopped.iterations == 3
    assert solve_sparse(d, T, np.zeros((60, 1))).iterations == 0


def test_shares_are_measured_row_by_row():
    rng = np.random.default_rng(1)
    T = sp.diags_array([np.ones(39), np.ones(39)], offsets=[-1, 1], format="csr")
    d, B = np.full(40, 2.2), np.zeros((40, 2))
    B[0, 0], B[39, 1] = 1.0, 1e-3 * rng.random()
    A = np.diag(d) - T.toarray()
    found = solve_sparse(d, sp.csr_array(T), B, tol=1e-7, shares=True)
    left, total = np.abs(B - A @ found.X).max(axis=1), found.X.sum(axis=1)
    assert found.status is Status.CONVERGED
    assert (left <= 1e-7 * d * np.maximum(total, 1e-6 * total.max())).all()
    assert total.min() < 1e-3 * total.max()  # rows that lengths of columns would not see


def test_systems_that_single_precision_cannot_solve():
    n = 3000  # a chain held at one end: a condition number of about 4e6
    T = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    d = np.full(n, 2.0)
    d[-1] = 1.0
    B = np.zeros((n, 1))
    B[0] = 1.0
    found = solve_sparse(d, T, B, tol=1e-8, max_iter=20_000)
    assert found.status is Status.CONVERGED
    assert np.allclose(found.X, 1.0, atol=4e6 * 1e-8)  # the length of an error is that of what is left, times 1 / least

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

"""Sweeps against sums of positive terms, which keep the digits of small entries too."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.problems import Status
from mercer.solvers.linear import sparse_sweeps
from mercer.solvers.linear.sparse_sweeps import reach, sweep_sparse


def chain(n=60):
    """A chain whose ends have labels: entries fall by a factor of ten from node to node."""
    T = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr")
    B = np.zeros((n, 3))
    B[0, 0] = B[n // 2, 1] = 1.0
    return np.full(n, 10.0), sp.csr_array(T), B


def network(n=80, seed=0):
    rng = np.random.default_rng(seed)
    T = sp.random_array((n, n), density=0.1, rng=rng, format="csr")
    T = sp.csr_array(T + T.T)
    T.setdiag(0.0)
    T.eliminate_zeros()
    B = np.zeros((n, 2))
    B[:4, 0] = B[4:9, 1] = 1.0
    return 0.5 + 3.0 * np.asarray(T.sum(axis=1)), T, B


def series(d, T, B, terms=400):
    """Return sum_k (D^-1 T)^k D^-1 B."""
    term = B / d[:, None]
    total = term.copy()
    for _ in range(terms):
        term = (T @ term) / d[:, None]
        total += term
    return total


@pytest.mark.parametrize("make", [chain, network])
def test_every_entry_has_its_digits(make):
    d, T, B = make()
    expected = series(d, T, B)
    found = sweep_sparse(d, T, B, tol=1e-6, quick=True)
    assert found.status is Status.CONVERGED and found.residual <= 1e-6
    # a further step would change by tol at most, and leaves a third of an error
    assert (np.abs(found.X - expected).max(axis=1) <= 1e-6 * expected.sum(axis=1)).all()


def test_entries_beyond_single_precision():
    d, T, B = chain(120)
    B[60:] = 0.0
    expected = series(d, T, B)
    assert 0.0 < expected.sum(axis=1).min() < 1e-60  # which single precision has not
    found = sweep_sparse(d, T, B, tol=1e-6, quick=True, max_iter=500)
    assert found.status is Status.CONVERGED
    assert (np.abs(found.X - expected).max(axis=1) <= 1e-6 * expected.sum(axis=1)).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.2, 0.6, 0.9])
def test_a_further_step_changes_no_more_than_was_allowed(seed, alpha):
    rng = np.random.default_rng(seed)
    n, c, tol = 2000, 10, 1e-6
    i, j = rng.integers(0, n, size=(2, 10 * n))
    T = sp.csr_array((np.ones(10 * n), (i, j)), shape=(n, n))
    T = sp.csr_array(T + T.T + sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    T.setdiag(0.0)
    T.eliminate_zeros()
    d = np.asarray(T.sum(axis=1)) / alpha
    B = np.zeros((n, c))
    known = rng.permutation(n)[: n // 20]
    B[known, rng.integers(0, c, size=len(known))] = 1.0
    found = sweep_sparse(d, T, B, tol=tol, reached=np.ones(n, bool), quick=True)
    assert found.status is Status.CONVERGED and found.residual <= tol  # of the values before the last step
    further = (B + T @ found.X) / d[:, None]
    assert (np.abs(further - found.X).max(axis=1) <= tol * further.sum(axis=1)).all()


def test_parts_without_labels_stay_zero():
    d, T, B = chain(20)
    T = sp.csr_array(sp.block_diag([T, T]))
    found = sweep_sparse(np.tile(d, 2), T, np.vstack([B, 0.0 * B]), quick=True)
    assert found.status is Status.CONVERGED
    assert not found.X[20:].any() and (found.X[:20].sum(axis=1) > 0.0).all()


def test_it_ends_when_told_and_where_it_began():
    d, T, B = network()
    assert sweep_sparse(d, T, B, max_iter=1).status is Status.MAX_ITER
    stopped = sweep_sparse(d, T, B, monitor=lambda step, change: Status.TIME if step == 2 else False)
    assert stopped.status is Status.TIME and stopped.iterations == 3  # with the last step
    again = sweep_sparse(d, T, B, start=series(d, T, B))
    assert again.iterations == 2


def test_the_plain_functions(monkeypatch):
    d, T, B = network(30)
    expected = sweep_sparse(d, T, B).X
    for name in ("_sweep", "_step"):
        monkeypatch.setattr(sparse_sweeps, name, getattr(sparse_sweeps, name).py_func)
    assert np.allclose(sweep_sparse(d, T, B).X, expected, rtol=1e-6)


def small_world(n=300, seed=0):
    """A graph whose second eigenvalue is far below the first, in which labels hardly hold: s is 0.01 of d."""
    rng = np.random.default_rng(seed)
    T = sp.csr_array((rng.random((n, n)) < 0.2).astype(float))
    T = sp.csr_array(sp.triu(T, 1))
    T = sp.csr_array(T + T.T)
    degree = np.asarray(T.sum(axis=1))
    B = np.zeros((n, 3))
    B[np.arange(9), np.arange(9) % 3] = rng.random(9) + 0.5
    return 1.01 * degree, T, B


def test_a_level_that_is_right_makes_sweeps_few():
    d, T, B = small_world()
    expected = np.linalg.solve(np.diag(d) - T.toarray(), B)
    found = sweep_sparse(d, T, B, tol=1e-7, reached=np.ones(len(d), bool))
    assert found.status is Status.CONVERGED
    # an error that the level does not have is at most 1 / (1 - 0.5) of a change: the second eigenvalue is below 0.5
    assert np.linalg.eigvalsh(T.toarray() / np.sqrt(np.outer(d, d)))[-2] < 0.5
    assert (np.abs(found.X - expected).max(axis=1) <= 1e-6 * expected.sum(axis=1)).all()
    assert found.iterations <= 20  # 1 000 would be needed to forget a wrong level, at 0.99 each
    assert sweep_sparse(d, T, B, tol=1e-7).iterations <= 20  # the level is kept from the first sweep on


def test_sweeps_that_are_slow_say_so_unless_known_to_be_quick():
    n = 200
    T = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    B = np.eye(n)[:, [n - 1]]
    d = np.full(n, 2.02)
    slow = sweep_sparse(d, T, B, reached=np.ones(n, bool))
    assert slow.status is Status.STALLED and slow.iterations < 20
    assert (slow.X > 0.0).all()  # what conjugate gradients begin with


def test_what_is_reached():
    T = sp.csr_array(sp.block_diag([small_world(50)[1], small_world(40, 1)[1], sp.csr_array((2, 2))]))
    known = np.zeros(92, dtype=bool)
    known[[3, 91]] = True
    found = reach(T, known)
    assert found.tolist() == [True] * 50 + [False] * 41 + [True] and known.sum() == 2
    n = 100
    line = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    assert reach(line, np.arange(n) == n - 1) is None  # against the order of the nodes: one more in each pass
    assert reach(line, np.arange(n) == 0).all()

"""Smooth functions on graphs against dense eigenvectors and closed forms on circles and grids."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mercer.estimators.graph_modes import _advance, flat_modes, largest_positive, smooth_modes

SOLVERS = ["dense", "factor", "filter"]


def circle(n):
    return sp.csr_array(sp.diags_array(np.ones((4, n)), offsets=[1, -1, n - 1, 1 - n], shape=(n, n)))


def path(n):
    return sp.csr_array(sp.diags_array(np.ones((2, n)), offsets=[1, -1], shape=(n, n)))


def random_graph(n, seed=0):
    A = np.random.default_rng(seed).random((n, n))
    A = np.triu(np.where(A < 0.2, A, 0.0), 1) + np.eye(n, k=1)
    return sp.csr_array(A + A.T)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_circle_has_cosines(solver):
    found = smooth_modes(circle(60), 6, solver=solver)
    expected = np.repeat(1.0 - np.cos(2.0 * np.pi * np.arange(1, 4) / 60), 2)
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    np.testing.assert_allclose(2.0 * found.vectors.T @ found.vectors, np.eye(6), atol=1e-7)  # all degrees are 2
    assert found.converged and found.parts == 1 and found.solver == solver


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_torus_grid_has_sums_of_cosines(solver):
    a, b = 16, 9
    W = sp.csr_array(sp.kron(circle(a), sp.eye_array(b)) + sp.kron(sp.eye_array(a), circle(b)))
    waves = 2.0 - np.cos(2 * np.pi * np.arange(a) / a)[:, None] - np.cos(2 * np.pi * np.arange(b) / b)
    np.testing.assert_allclose(smooth_modes(W, 5, solver=solver).values, np.sort(waves.ravel() / 2)[1:6], atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_any_graph_against_the_dense_problem(solver):
    W = random_graph(80)
    D = np.diag(W.sum(axis=1))
    values, vectors = scipy.linalg.eigh(D - W.toarray(), D)
    found = smooth_modes(W, 4, solver=solver)
    np.testing.assert_allclose(found.values, values[1:5], atol=1e-9)
    np.testing.assert_allclose(np.abs(vectors[:, 1:5].T @ D @ found.vectors), np.eye(4), atol=1e-6)
    np.testing.assert_array_equal(largest_positive(found.vectors), 1.0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_parts_are_told_apart_first(solver):
    W = sp.csr_array(sp.block_diag([circle(30), path(20), random_graph(25)]))
    found = smooth_modes(W, 4, solver=solver)
    d = np.asarray(W.sum(axis=1))
    D = np.diag(d)
    assert found.parts == 3
    np.testing.assert_allclose(found.values[:2], 0.0, atol=0.0)
    np.testing.assert_allclose(found.values, scipy.linalg.eigh(D - W.toarray(), D)[0][1:5], atol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ D @ found.vectors, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(d @ found.vectors, 0.0, atol=1e-8)  # nothing of the constant
    for part in (slice(0, 30), slice(30, 50), slice(50, 75)):
        assert np.ptp(found.vectors[part, :2], axis=0).max() < 1e-12
    only = smooth_modes(W, 1, solver=solver)
    assert only.values.tolist() == [0.0] and only.iterations == 0


def test_the_choice_of_the_solver():
    assert smooth_modes(circle(400), 2).solver == "dense"
    far = smooth_modes(circle(30000), 2)  # whose polynomials would need a degree of thousands
    assert far.solver == "factor" and far.converged
    np.testing.assert_allclose(far.values, 1.0 - np.cos(2.0 * np.pi / 30000), rtol=1e-5)
    rng = np.random.default_rng(0)
    near = sp.csr_array(sp.coo_array((np.ones(6000), (np.repeat(np.arange(1000), 6), rng.integers(0, 1000, 6000)))))
    assert smooth_modes(sp.csr_array(near + near.T), 2).solver == "filter"  # an expander


def test_a_monitor_ends_it_and_the_residual_says_so():
    found = smooth_modes(random_graph(80), 2, solver="filter", monitor=lambda turn, residual: turn == 1)
    assert not found.converged and found.residual > 1e-6 and found.vectors.shape == (80, 2)
    assert not smooth_modes(random_graph(80), 2, solver="filter", max_iter=1).converged


def test_the_recurrence_in_python():
    N, rng = random_graph(9), np.random.default_rng(0)
    csr = (N.data, N.indices.astype(np.int64), N.indptr.astype(np.int64))
    now, before = rng.normal(size=(2, 9, 3))
    first = 2.0 * (1.5 * now - 0.5 * (N @ now)) - before
    second = 2.0 * (1.5 * first - 0.5 * (N @ first)) - now
    _advance.py_func(csr, 1.5, 0.5, (3, 5), now, before)  # arrays take turns
    np.testing.assert_allclose(before, first)
    np.testing.assert_allclose(now, second)
    now, before = rng.normal(size=(2, 9, 3))
    begun = 1.5 * now - 0.5 * (N @ now) - before
    _advance.py_func(csr, 1.5, 0.5, (0, 1), now, before)
    np.testing.assert_allclose(before, begun)


@pytest.mark.parametrize("n", [60, 700])
def test_flat_functions_are_those_of_the_dense_form(n):
    L = sp.csr_array(sp.diags_array(np.asarray(path(n).sum(axis=1))) - path(n))
    M = sp.csr_array(L @ L)  # second differences
    values, vectors = np.linalg.eigh(M.toarray())
    found, U, converged = flat_modes(M, 3, values[-1])
    assert converged
    np.testing.assert_allclose(found, (2.0 - 2.0 * np.cos(np.pi * np.arange(1, 4) / n)) ** 2, rtol=1e-4, atol=1e-15)
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(U.sum(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.abs(vectors[:, 1:4].T @ U), np.eye(3), atol=1e-4)

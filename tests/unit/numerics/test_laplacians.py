"""Laplacians and functions of them, beside dense matrices."""

import networkx as nx
import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer.numerics.laplacians import (
    apply_polynomial,
    bound_of,
    chebyshev,
    components,
    laplacian,
    solve_columns,
    stationary,
)


def graph(N=30, seed=0):
    return sp.csr_array(nx.to_scipy_sparse_array(nx.gnp_random_graph(N, 0.15, seed=seed), dtype=float))


def test_laplacians_are_those_of_networkx():
    G = nx.gnp_random_graph(25, 0.2, seed=1)
    G.add_node(99)
    W = sp.csr_array(nx.to_scipy_sparse_array(G, dtype=float))
    np.testing.assert_allclose(laplacian(W, False).toarray(), nx.laplacian_matrix(G).toarray())
    np.testing.assert_allclose(laplacian(W, True).toarray(), nx.normalized_laplacian_matrix(G).toarray(), atol=1e-15)
    assert components(W)[0] == nx.number_connected_components(G)


def test_no_eigenvalue_exceeds_the_bound():
    for seed in range(5):
        for normalized in (False, True):
            L = laplacian(graph(seed=seed), normalized)
            largest = np.linalg.eigvalsh(L.toarray())[-1]
            assert largest <= bound_of(L, normalized) + 1e-12
            assert bound_of(L, normalized) <= 2.1 * largest
    assert bound_of(laplacian(sp.csr_array((3, 3)), False), False) == 0.0


def test_polynomials_are_functions_of_the_matrix():
    L = laplacian(graph(), False)
    bound, nodes, rows = bound_of(L, False), np.arange(0, 30, 2), np.arange(29, -1, -1)
    found = apply_polynomial(L, bound, chebyshev(lambda x: np.exp(-0.7 * x), bound), nodes, rows)
    np.testing.assert_allclose(found, scipy.linalg.expm(-0.7 * L.toarray())[np.ix_(rows, nodes)], atol=1e-13)


def test_a_constant_and_a_graph_without_edges():
    empty = laplacian(sp.csr_array((3, 3)), False)
    coefficients = chebyshev(lambda x: np.exp(-x), 0.0)
    np.testing.assert_allclose(apply_polynomial(empty, 0.0, coefficients, np.arange(3), np.arange(3)), np.eye(3))
    assert chebyshev(lambda x: np.zeros_like(x), 1.0).tolist() == [0.0]


def test_a_function_with_a_corner_is_no_polynomial():
    assert chebyshev(lambda x: np.abs(x - 0.3), 1.0) is None


def test_columns_of_an_inverse():
    matrix = laplacian(graph(), False).toarray() + np.eye(30)
    found = solve_columns(lambda unit: np.linalg.solve(matrix, unit), 30, np.array([3, 5]), np.array([0, 29]))
    np.testing.assert_allclose(found, np.linalg.inv(matrix)[np.ix_([0, 29], [3, 5])], atol=1e-13)


def test_the_stationary_distribution_stays_as_it_is():
    G = nx.gnp_random_graph(20, 0.3, seed=3, directed=True)
    W = sp.csr_array(nx.to_scipy_sparse_array(G, dtype=float))
    assert nx.is_strongly_connected(G)
    pi, P = stationary(W, 0.0)
    np.testing.assert_allclose(pi @ P.toarray(), pi, atol=1e-14)
    np.testing.assert_allclose(pi.sum(), 1.0)
    jumping, Q = stationary(W, 0.15)
    ranks = nx.pagerank(G, alpha=0.85, tol=1e-14)
    np.testing.assert_allclose(jumping, [ranks[i] for i in range(20)], atol=1e-12)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0)
    assert stationary(sp.csr_array((1, 1)), 0.0)[0].tolist() == [1.0]

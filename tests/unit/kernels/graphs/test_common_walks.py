"""Steps of product graphs, bounds on spectral radii, and triangular equations, beside dense matrices."""

import numpy as np
import pytest
import scipy.linalg

from mercer.domains.structures.graphs import Graphs
from mercer.kernels.graphs import common_walks as walks
from tests.naive.graphs import random_graphs


def steps(graphs):
    S = Graphs.pack([{**graph, "nodes": len(graph["labels"])} for graph in graphs])
    ones = np.ones(len(S.labels))
    return S, walks.steps((S.offsets, S.indptr, S.targets), (S.labels, S.edge_labels), S.weights, (ones, 2.0 * ones))


@pytest.mark.parametrize("directed", [False, True])
def test_spectral_radii_are_bounded_closely(directed):
    S, found = steps(random_graphs(0, 12, nodes=8, directed=directed))
    bounds = walks.radii(found)
    for i in range(len(S)):
        if S.sizes[i]:
            radius = np.abs(np.linalg.eigvals(S.adjacency(i).toarray())).max()
            assert radius <= bounds[i] * (1 + 1e-12)
            assert directed or bounds[i] <= 1.05 * radius + 1e-12
        else:
            assert bounds[i] == 0.0


def test_arcs_are_listed_by_source_and_by_label():
    S, found = steps(random_graphs(1, 6, directed=True))
    indptr, targets, weights, kinds = found.arcs
    for i in range(len(S.labels)):
        part = slice(indptr[i], indptr[i + 1])
        assert (np.diff(kinds[part]) >= 0).all()
        assert sorted(targets[part]) == sorted(S.targets[S.indptr[i] : S.indptr[i + 1]])
    starts, labels, begins = found.tables
    for g in range(len(S)):
        mine = S.edge_labels[S.arc_offsets[g] : S.arc_offsets[g + 1]]
        np.testing.assert_array_equal(labels[starts[g] : starts[g + 1]], np.unique(mine))
        sizes = np.diff(begins)[starts[g] : starts[g + 1]]
        np.testing.assert_array_equal(sizes, np.unique(mine, return_counts=True)[1])
    assert begins[-1] == len(weights)


def test_ends_of_walks_multiply():
    """Walks begin with 2 on each side and end with 1, so four times as much as with ones."""
    _, found = steps(random_graphs(2, 4))
    pairs, limits = (np.array([1]), np.array([2])), (np.zeros(4), np.zeros(4))
    for how in (walks.CONJUGATE_GRADIENT, walks.UNEQUAL_ENDS, walks.FIXED_POINT):
        values, bad = walks.solve(found, found, pairs, 1e-9, how, limits)
        matched = np.equal.outer(*(found.nodes[1][found.nodes[0][g] : found.nodes[0][g + 1]] for g in (1, 2))).sum()
        np.testing.assert_allclose(values, 4.0 * matched, rtol=1e-6)
        assert bad[0] == -1


def test_a_sum_without_end_is_told():
    ring = {"edges": [(0, 1), (1, 2), (0, 2)], "labels": [None] * 3, "edge_labels": [None] * 3, "weights": [1.0] * 3}
    _, found = steps([{**ring, "directed": False}])
    pairs = np.array([0]), np.array([0])
    for how in (walks.CONJUGATE_GRADIENT, walks.FIXED_POINT):
        _, bad = walks.solve(found, found, pairs, 0.3, how, (walks.radii(found),) * 2)
        assert bad[0] == 0
        np.testing.assert_allclose(bad[1], 4.0)
    values, bad = walks.solve(found, found, pairs, 0.3, walks.EXPONENTIAL, (walks.radii(found),) * 2)
    assert bad[0] == -1
    np.testing.assert_allclose(values, 4.0 * 9.0 * np.exp(0.3 * 4.0))


def test_triangular_equations():
    rng = np.random.default_rng(0)
    S, T = np.triu(rng.standard_normal((5, 5))) + 0j, np.triu(rng.standard_normal((4, 4))) + 1j * np.eye(4)
    ends = rng.standard_normal(5) + 0j, rng.standard_normal(4) + 0j
    begins = rng.standard_normal(5) + 0j, rng.standard_normal(4) + 0j
    W = np.kron(S, T.T)
    Y = np.linalg.solve(np.eye(20) - 0.1 * W, np.kron(*begins))
    np.testing.assert_allclose(walks.stein(S, T, ends, begins, 0.1), (np.kron(*ends) @ Y).real)


def test_sums_over_eigenvalues():
    rng = np.random.default_rng(1)
    A = rng.random((4, 4))
    A = A + A.T
    values, vectors = np.linalg.eigh(A)
    side = np.array([0, 4]), values, vectors.sum(axis=0) ** 2
    out = np.empty(1)
    W = np.kron(A, A)
    pairs = np.array([0]), np.array([0])
    walks.spectral(side, side, pairs, 0.01, False, out)
    np.testing.assert_allclose(out[0], np.linalg.solve(np.eye(16) - 0.01 * W, np.ones(16)).sum())
    walks.spectral(side, side, pairs, 0.01, True, out)
    np.testing.assert_allclose(out[0], scipy.linalg.expm(0.01 * W).sum())

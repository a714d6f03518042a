"""Pairing up the nodes of two graphs: against assignments and linear programs over all pairs of nodes."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

from mercer.domains import Graphs
from mercer.errors import DomainError
from mercer.kernels import WeisfeilerLehmanAssignment, WeisfeilerLehmanWasserstein
from mercer.kernels.graphs import assignment as module
from mercer.testing import check_kernel
from tests.naive.graphs import random_graphs

GRAPHS = random_graphs(4, count=8)
MEMBERS = {
    "WeisfeilerLehmanAssignment": [WeisfeilerLehmanAssignment(2)],
    "WeisfeilerLehmanWasserstein": [WeisfeilerLehmanWasserstein(2, length_scale=0.7)],
}


def refinements(S, i, h):
    """The labels of the nodes of graph i after 0, ..., h refinements, each written out as what it is made of."""
    A = S.adjacency(i).toarray()
    lists = [[int(v) for v in np.flatnonzero(row)] for row in A]
    levels = [[repr(label) for label in S.node_labels(i)]]
    for _ in range(h):
        last = levels[-1]
        levels.append([f"({last[v]}|{sorted(last[u] for u in lists[v])})" for v in range(len(lists))])
    return levels


def agreements(S, i, j, h):
    """In how many refinements each pair of nodes of two graphs has the same label."""
    a, b = refinements(S, i, h), refinements(S, j, h)
    pairs = [np.equal.outer(np.array(x, object), np.array(y, object)) for x, y in zip(a, b, strict=True)]
    return np.sum(pairs, axis=0).reshape(len(a[0]), len(b[0]))


def plain_graphs(seed, count=7):
    """Graphs without weights, directions or parallel edges, with attributes."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        n = int(rng.integers(2, 7))
        A = np.triu(rng.random((n, n)) < 0.5, 1)
        found.append(
            {
                "edges": [(int(i), int(j)) for i, j in np.argwhere(A)],
                "labels": rng.choice(list("ab"), n).tolist(),
                "attributes": rng.normal(size=(n, 2)).tolist(),
            }
        )
    return found


PLAIN = plain_graphs(0)


@pytest.mark.parametrize("h", [0, 1, 3])
def test_the_assignment_is_the_best_one(h):
    S = Graphs.pack(PLAIN)
    expected = np.zeros((len(S), len(S)))
    for i in range(len(S)):
        for j in range(len(S)):
            M = agreements(S, i, j, h)
            expected[i, j] = M[linear_sum_assignment(M, maximize=True)].sum()
    np.testing.assert_allclose(WeisfeilerLehmanAssignment(h)(PLAIN), expected)
    np.testing.assert_allclose(WeisfeilerLehmanAssignment(h)(PLAIN[:3], PLAIN[3:]), expected[:3, 3:])


def _least(costs):
    n, m = costs.shape
    sums = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    return linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])).fun


@pytest.mark.parametrize("h", [0, 2])
def test_the_transport_is_the_least(h):
    S = Graphs.pack(PLAIN)
    k = WeisfeilerLehmanWasserstein(h, length_scale=0.5)
    expected = [[_least(1.0 - agreements(S, i, j, h) / (h + 1.0)) for j in range(4)] for i in range(len(S))]
    np.testing.assert_allclose(k.distances(PLAIN, PLAIN[:4]), expected, atol=1e-9)
    np.testing.assert_allclose(k(PLAIN, PLAIN[:4]), np.exp(-np.array(expected) / 0.5), atol=1e-8)


def test_attributes_are_averaged_and_moved():
    one, two = PLAIN[0], PLAIN[1]
    levels = []
    for graph in (one, two):
        n, x = len(graph["labels"]), np.array(graph["attributes"])
        A = np.zeros((n, n))
        for i, j in graph["edges"]:
            A[i, j] = A[j, i] = 1.0
        degree = A.sum(axis=1, keepdims=True)
        next_x = 0.5 * (x + np.where(degree > 0, A @ x / np.maximum(degree, 1.0), x))
        levels.append(np.hstack([x, next_x]))
    costs = np.linalg.norm(levels[0][:, None] - levels[1], axis=2)
    k = WeisfeilerLehmanWasserstein(1, length_scale=2.0, attributes=True)
    assert k.distances([one], [two])[0, 0] == pytest.approx(_least(costs), rel=1e-8)
    assert k.order is None and WeisfeilerLehmanWasserstein().order == 0
    check_kernel(k, PLAIN)


@pytest.mark.parametrize("k", [members[0] for members in MEMBERS.values()], ids=repr)
def test_obeys_the_laws_and_is_positive_definite(k):
    check_kernel(k, GRAPHS)
    assert np.linalg.eigvalsh(k(random_graphs(1, count=25)))[0] > -1e-10


def test_graphs_without_nodes_or_attributes():
    empty = {"edges": [], "labels": []}
    assert WeisfeilerLehmanAssignment(1)([empty, PLAIN[0]])[0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(WeisfeilerLehmanWasserstein(1)([empty, PLAIN[0]])[0], [1.0, np.exp(-0.5)])
    with pytest.raises(DomainError, match="no attributes"):
        WeisfeilerLehmanWasserstein(attributes=True)([{"edges": [(0, 1)]}])


def test_loops_run_uncompiled():
    lists = np.array([0, 1], np.int32), np.array([2.0, 3.0]), np.array([0, 2])
    out = np.zeros((1, 1))
    module._add_minima.py_func(lists, (lists[0], np.array([1.0, 5.0]), lists[2]), np.zeros(2), out)
    assert out[0, 0] == 4.0

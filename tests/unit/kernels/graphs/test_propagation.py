"""Propagated labels and attributes against matrix powers."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError
from mercer.kernels.graphs.propagation import Propagation, _direction
from mercer.testing import check_kernel
from tests.naive.graphs import arcs, gram, random_graphs


def transitions(graph):
    n = len(graph["labels"])
    A = np.zeros((n, n))
    for u, v, _, weight in arcs(graph):
        A[u, v] += weight
    total = A.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, A / np.where(total > 0.0, total, 1.0), np.eye(n))


def bins(graph, iterations, width, seed):
    shifts = np.random.default_rng([seed, 1]).random(iterations + 1)
    found = Counter()
    for t in range(iterations + 1):
        start = np.array([_direction(label, seed, iterations + 1)[t] for label in graph["labels"]])
        values = np.linalg.matrix_power(transitions(graph), t) @ start if len(start) else start
        found.update((t, int(b)) for b in np.floor(values / width + shifts[t]))
    return found


@given(seed=st.integers(0, 10**6), iterations=st.integers(0, 3))
def test_bins_are_those_of_the_definition(seed, iterations):
    X, Y = random_graphs(seed, directed=True), random_graphs(seed + 1, words=("O", "N"))
    kernel = Propagation(iterations, width=0.37, random_state=seed)
    np.testing.assert_array_equal(kernel(X), gram(bins, X, X, iterations, 0.37, seed))
    np.testing.assert_array_equal(kernel(X, Y), gram(bins, X, Y, iterations, 0.37, seed))


def test_attributes_spread():
    rng = np.random.default_rng(0)
    X = [graph | {"attributes": rng.normal(size=(len(graph["labels"]), 2))} for graph in random_graphs(1, count=6)]
    kernel = Propagation(2, width=1.0, source="attributes")
    K = kernel(X)
    directions = np.random.default_rng([0, 0]).standard_normal((3, 2))
    shifts = np.random.default_rng([0, 1]).random(3)

    def count(graph):
        found = Counter()
        for t in range(3):
            values = np.linalg.matrix_power(transitions(graph), t) @ graph["attributes"] @ directions[t]
            found.update((t, int(b)) for b in np.floor(values + shifts[t]))
        return found

    np.testing.assert_array_equal(K, gram(count, X, X))
    check_kernel(kernel, X)


def test_the_laws_hold():
    check_kernel(Propagation(2), random_graphs(4, count=8, directed=True))


def test_equal_labels_have_one_direction():
    graphs = [{"edges": [(0, 1)], "labels": [1, 0]}, {"edges": [(0, 1)], "labels": [True, False]}]
    assert np.ptp(Propagation(1)(graphs[:1], graphs)) == 0.0


def test_wide_bins_hold_more():
    X = random_graphs(2, count=6, nodes=12)
    narrow, wide = (Propagation(2, width=width)(X).sum() for width in (1e-6, 1e6))
    assert narrow < wide == 3.0 * sum(Graphs.pack(X).sizes) ** 2


def test_what_cannot_spread_is_refused():
    with pytest.raises(DomainError, match="no attributes"):
        Propagation(1, source="attributes")([{"edges": [(0, 1)]}])
    with pytest.raises(DomainError, match="Sample 0 has an edge of negative weight"):
        Propagation(1)([{"edges": [(0, 1)], "weights": [-1.0]}])
    with pytest.raises(DomainError, match="too large for bins"):
        Propagation(0, source="attributes")([{"edges": [], "nodes": 1, "attributes": [[1e300]]}])

"""Counts of labels of nodes and edges, against counters of Python; what all kernels that count patterns share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError, ModelError
from mercer.kernels.graphs import graph_histograms as module
from mercer.kernels.graphs.graph_histograms import EdgeHistogram, GraphPatterns, VertexHistogram, tabulated
from mercer.testing import check_kernel
from tests.naive.graphs import edges, gram, random_graphs, vertices

SEEDS = st.integers(0, 10**6)


@given(seed=SEEDS)
def test_nodes_are_counted_by_label(seed):
    X, Y = random_graphs(seed), random_graphs(seed + 1, words=("O", "N", None))
    np.testing.assert_array_equal(VertexHistogram()(X), gram(vertices, X, X))
    np.testing.assert_array_equal(VertexHistogram()(X, Y), gram(vertices, X, Y))


@given(seed=SEEDS, ends=st.booleans())
def test_edges_are_counted_by_their_labels_and_ends(seed, ends):
    X, Y = random_graphs(seed, directed=True), random_graphs(seed + 1, words=("O", "C"), directed=True)
    kernel = EdgeHistogram(ends)
    np.testing.assert_array_equal(kernel(X), gram(edges, X, X, None, ends))
    np.testing.assert_array_equal(kernel(X, Y), gram(edges, X, Y, None, ends))


@pytest.mark.parametrize("kernel", [VertexHistogram(), EdgeHistogram(), EdgeHistogram(ends=False)])
def test_the_laws_hold(kernel):
    check_kernel(kernel, random_graphs(3, count=8, directed=True))


def test_a_value_depends_on_the_two_graphs_alone():
    X = random_graphs(5, count=6)
    for kernel in (VertexHistogram(), EdgeHistogram()):
        K = kernel(X)
        for i in range(6):
            for j in range(6):
                assert kernel([X[i]], [X[j]])[0, 0] == K[i, j]


def test_features_have_names():
    graph = {"edges": [(0, 1)], "labels": ["O", "C"], "edge_labels": ["d"]}
    F, keys = EdgeHistogram().features(Graphs.pack([graph]))
    assert F.toarray().tolist() == [[1.0]] and set(keys.symbols(0)[::2]) == {"O", "C"} and keys.symbols(0)[1] == "d"
    F, keys = VertexHistogram().features(Graphs.pack([{"edges": [], "labels": ["C", None]}]))
    assert {keys.symbols(i) for i in range(2)} == {("C",), (None,)} and F.sum() == 2.0


def test_rows_that_do_not_fit_into_one_number_are_counted_all_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    columns, bounds = list(rng.integers(-1, 5, (4, 50))), np.array([0, 20, 50])
    counts, table = tabulated(columns, bounds)
    monkeypatch.setattr(module, "_LIMIT", 40)
    again, same = tabulated(columns, bounds)
    order, other = np.lexsort(table.T), np.lexsort(same.T)
    np.testing.assert_array_equal(table[order], same[other])
    np.testing.assert_array_equal(counts.toarray()[:, order], again.toarray()[:, other])


def test_what_is_no_graph_is_refused_in_three_parts():
    with pytest.raises(DomainError, match=r"Sample 1 is of type int.*A graph is.*Convert"):
        VertexHistogram()([{"edges": []}, 3])


def test_damaged_patterns_are_refused():
    with pytest.raises(ModelError, match="not a table"):
        GraphPatterns(("node",), np.zeros((2, 3), dtype=np.int64), (), ()).check()

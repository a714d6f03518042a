"""Packed graphs: slices, joining, vocabularies, and what a damaged file may hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError, ModelError
from mercer.testing.domains import check_domain
from tests.naive.graphs import arcs, random_graphs


def read_back(S, i):
    """Labels and arcs of a packed graph, as they were given."""
    one = S[i]
    words = [None if c < 0 else one.edge_vocabulary[c] for c in one.edge_labels]
    found = zip(one.sources.tolist(), one.targets.tolist(), words, one.weights.tolist(), strict=True)
    return S.node_labels(i), sorted(found), bool(S.directed[i])


def given_as(graph):
    return tuple(graph["labels"]), sorted(arcs(graph)), graph["directed"]


@given(seed=st.integers(0, 10**6))
def test_what_was_packed_can_be_read_back(seed):
    X = random_graphs(seed, directed=True)
    S = Graphs.pack(X)
    assert [read_back(S, i) for i in range(len(X))] == list(map(given_as, X))
    S.check()
    for i, graph in enumerate(X):
        dense = np.zeros((len(graph["labels"]),) * 2)
        for u, v, _, weight in arcs(graph):
            dense[u, v] += weight
        np.testing.assert_array_equal(S.adjacency(i).toarray(), dense)
        assert len(S.edges(i)) == len(graph["edges"])


@given(seed=st.integers(0, 10**6))
def test_rows_and_joined_collections_are_the_same_graphs(seed):
    X, Y = random_graphs(seed, directed=True), random_graphs(seed + 1, words=("P", "O"))
    S, T = Graphs.pack(X), Graphs.pack(Y)
    order = np.random.default_rng(seed).integers(0, len(X), 7)
    taken = S[order]
    assert [read_back(taken, i) for i in range(7)] == [given_as(X[j]) for j in order]
    assert [read_back(S[1:4], i) for i in range(3)] == list(map(given_as, X[1:4]))
    joined = S.concat(T)
    joined.check()
    assert [read_back(joined, i) for i in range(len(joined))] == list(map(given_as, X + Y))
    left, right = S.align(T)
    assert left.vocabulary == right.vocabulary and left.edge_vocabulary == right.edge_vocabulary
    assert [read_back(right, i) for i in range(len(Y))] == list(map(given_as, Y))
    np.testing.assert_array_equal(left.labels, S.labels)


def test_the_laws_of_domains_hold():
    check_domain(Graphs, random_graphs(3, count=6, directed=True))


def test_slices_share_their_arrays_and_reading_changes_nothing():
    S = Graphs.pack([{"edges": [(0, 1), (0, 1)], "multigraph": True}, {"edges": [(0, 1)]}])
    before = [array.copy() for array in S.arrays]
    assert S.adjacency(0).toarray().tolist() == [[0.0, 2.0], [2.0, 0.0]]
    assert all(map(np.array_equal, before, S.arrays))
    assert S[1:].weights.base is S.weights or S[1:].weights.base is S.weights.base
    assert S.align(S)[0] is S and S.align(S)[1] is S


def test_what_is_told_of_a_collection():
    S = Graphs.pack([{"edges": [(0, 0), (0, 1)], "labels": "CO"}, {"edges": [], "nodes": 1}])
    assert repr(S) == "<Graphs: 2 samples, 1 to 2 nodes, 0 to 2 edges, 2 labels>"
    assert repr(S[:0]) == "<Graphs: 0 samples>"


def test_attributes_of_joined_collections_are_as_many():
    S = Graphs.pack([{"edges": [], "nodes": 1, "attributes": [[1.0, 2.0]]}])
    with pytest.raises(DomainError, match="2 attributes a node cannot be joined with graphs that have 0"):
        S.concat(Graphs.pack([{"edges": [], "nodes": 1}]))
    assert S.concat(Graphs.pack([{"edges": []}])).attributes.tolist() == [[1.0, 2.0]]


def test_an_edge_listed_twice_is_one_edge_or_none():
    assert len(Graphs.pack([{"edges": [(0, 1), (1, 0), (0, 1)]}]).edges(0)) == 1
    assert len(Graphs.pack([{"edges": [(0, 1), (1, 0)], "directed": True}]).edges(0)) == 2
    with pytest.raises(DomainError, match=r"Sample 1 lists the edge between its nodes 1 and 0 twice.*MultiGraph"):
        Graphs.pack([{"edges": []}, {"edges": [(0, 1), (1, 0)], "weights": [1.0, 2.0]}])


@pytest.mark.parametrize(
    "change",
    [
        {"targets": np.array([9, 0], dtype=np.int32)},
        {"labels": np.array([0, 5], dtype=np.int32)},
        {"indptr": np.array([0, 2, 1])},
        {"offsets": np.array([0, 1])},
        {"weights": np.array([1.0, np.nan])},
        {"weights": np.array([1.0])},
        {"attributes": np.empty((3, 0))},
        {"vocabulary": ("C", "C")},
        {"directed": np.array([0.0])},
    ],
)
def test_damaged_collections_are_refused(change):
    S = Graphs.pack([{"edges": [(0, 1)], "labels": "CO"}])
    S.check()
    with pytest.raises(ModelError, match="Save the model again"):
        replace(S, **change).check()

"""The forms in which graphs are given, and what is wrong with those that are refused."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains.structures.graph_forms import gathered
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError

A = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
LABELS = ["C", "C", "O"]


def networkx_graph():
    G = nx.Graph()
    G.add_nodes_from([("x", {"label": "C"}), ("y", {"label": "C"}), ("z", {"label": "O"})])
    G.add_edge("x", "y", weight=2.0)
    G.add_edge("y", "z")
    return G


FORMS = {
    "networkx": networkx_graph(),
    "dense": (A, LABELS),
    "sparse": (sp.csr_array(A), np.array(LABELS)),
    "matrix": [sp.coo_matrix(A), dict(enumerate(LABELS))],
    "dict": {"edges": [(0, 1), (1, 2)], "labels": LABELS, "weights": [2.0, 1.0]},
    "letters": {"edges": [(0, 1), (1, 2)], "labels": "CCO", "weights": {(1, 0): 2.0}},
    "array": {"edges": np.array([[0, 1], [1, 2]]), "labels": np.array(LABELS), "weights": np.array([2.0, 1.0])},
    "weights": {"edges": {("a", "b"): 2.0, ("b", "c"): 1.0}, "labels": {"a": "C", "b": "C", "c": "O"}},
    "neighbours": {"edges": {"a": {"b": 2.0}, "b": {"c": 1.0}}, "labels": {"a": "C", "b": "C", "c": "O"}},
    "both ways": ({(1, 2): 2.0, (2, 1): 2.0, (2, 3): 1.0, (3, 2): 1.0}, {1: "C", 2: "C", 3: "O"}),
    "adjacency in a dict": {"edges": sp.csr_array(A), "labels": LABELS},
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_all_forms_give_the_same_graph(form):
    S = Graphs.pack([FORMS[form]])
    np.testing.assert_array_equal(S.adjacency(0).toarray(), A)
    assert S.node_labels(0) == tuple(LABELS) and not S.directed[0]


def test_forms_may_be_mixed():
    S = Graphs.pack(list(FORMS.values()))
    assert len(S) == len(FORMS) and S.vocabulary == ("C", "O")
    three = Graphs.pack(np.stack([A, A.T, A]))
    assert len(three) == 3 and not three.vocabulary


def test_networkx_labels_attributes_and_parallel_edges():
    G = nx.MultiDiGraph()
    G.add_node(1, attributes=[0.5, 1.0])
    G.add_node(2, attributes=np.array([2.0, 3.0]), label=4)
    G.add_edge(1, 2, label="s")
    G.add_edge(1, 2, label="d", weight=3)
    S = Graphs.pack([G])
    assert S.directed[0] and S.attributes.tolist() == [[0.5, 1.0], [2.0, 3.0]]
    assert S.node_labels(0) == (None, 4) and S.edge_vocabulary == ("s", "d") and S.weights.tolist() == [1.0, 3.0]


def test_directions_of_a_matrix():
    assert Graphs.pack([np.array([[0, 1], [0, 0]])]).directed[0]
    assert not Graphs.pack([np.zeros((0, 0))]).directed[0]
    duplicates = sp.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(2, 2))
    assert Graphs.pack([duplicates]).weights.tolist() == [2.0]


def test_nodes_that_only_edges_name_have_no_label():
    S = Graphs.pack([({("a", "b"): None}, {"a": "C"})])
    assert S.node_labels(0) == ("C", None)
    assert Graphs.pack([{"edges": [(3, 4)], "nodes": 6}]).sizes.tolist() == [6]
    assert Graphs.pack([{"edges": [(3, 4)]}]).sizes.tolist() == [2]
    assert Graphs.pack([([], ["a", "b"], {})]).sizes.tolist() == [2]


def test_labels_of_numpy_are_plain():
    S = Graphs.pack([([(0, 1)], {0: np.int64(3), 1: np.str_("x")})])
    assert [type(word) for word in S.vocabulary] == [int, str]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "0 sample"),
        (A, r"A single graph was given.*wrap it in a list"),
        (networkx_graph(), "A single graph"),
        ({"edges": []}, "dict was given; a list of graphs"),
        ("CCO", "str was given"),
        (iter([A]), "a list of graphs"),
        ([A, None], "Sample 1 is missing"),
        ([A, "CCO"], "Sample 1 is of type str"),
        ([np.ones((2, 3))], r"Sample 0 is an array of shape \(2, 3\)"),
        ([np.array([["a", "b"], ["c", "d"]])], "not of numbers"),
        ([np.ma.masked_array(A, A > 1)], "masked"),
        ([np.array([[0, np.nan], [np.nan, 0]])], "Sample 0 has the weight nan"),
        ([{"nodes": 3}], "without 'edges'"),
        ([{"edges": [], "label": [1]}], r"has the key 'label'.*The keys are"),
        ([{"edges": [(0, 1, 2)]}], r"the edge \(0, 1, 2\)"),
        ([{"edges": 3}], "edges of type int"),
        ([{"edges": [(0, 3)], "labels": "CCO"}], "an edge of the node 3, which it does not have"),
        ([{"edges": [([1], 2)]}], "cannot be hashed"),
        ([{"edges": [(0, 1)], "labels": ["C", 0.5]}], r"the node label 0.5, a real number.*attributes"),
        ([{"edges": [(0, 1)], "labels": ["C", float("nan")]}], "real number or missing"),
        ([{"edges": [(0, 1)], "labels": ["C", [1]]}], "cannot be hashed"),
        ([{"edges": [(0, 1)], "labels": ["C"], "nodes": 2}], "1 labels for 2 nodes"),
        ([{"edges": [(0, 1)], "labels": {5: "C"}, "nodes": 2}], "labels of the node 5"),
        ([{"edges": [(0, 1)], "edge_labels": ["s", "d"]}], "2 edge_labels for 1 edges"),
        ([{"edges": [(0, 1)], "weights": ["heavy"]}], "the weight heavy"),
        ([{"edges": [(0, 1)], "nodes": ["a", "a"]}], "names a node twice"),
        ([{"edges": [], "nodes": -1}], "has -1 nodes"),
        ([{"edges": [], "nodes": 2, "attributes": [[1.0], [1.0, 2.0]]}], "attributes that are not as many"),
        ([{"edges": [], "nodes": 2, "attributes": {0: [1.0]}}], "a node without attributes"),
        ([{"edges": [], "nodes": 1, "attributes": [[1.0]]}, {"edges": [], "nodes": 1}], "Sample 1 has 0 attributes"),
    ],
)
def test_what_is_no_graph_is_refused(X, message):
    with pytest.raises(DomainError, match=message):
        Graphs.pack(X)


def test_networkx_with_some_attributes_is_refused():
    G = nx.Graph([(0, 1)])
    G.nodes[0]["attributes"] = [1.0]
    with pytest.raises(DomainError, match="attributes for 1 of its 2 nodes"):
        Graphs.pack([G])


def test_what_looks_like_networkx_is_taken_for_it():
    twin = SimpleNamespace(
        nodes=lambda data: [(0, {"label": "C"}), (1, {})],
        edges=lambda data: [(0, 1, {})],
        is_directed=lambda: False,
    )
    assert gathered([twin]).labels.tolist() == [0, -1]

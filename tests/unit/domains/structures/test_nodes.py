"""Nodes of a graph, and the forms in which the graph may be given."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer.domains.structures.graphs import Graphs
from mercer.domains.structures.nodes import Network, Nodes
from mercer.errors import DomainError, ModelError
from mercer.testing import check_domain

PATH = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    "graph",
    [
        PATH,
        sp.csr_array(PATH),
        sp.coo_matrix(PATH),
        [(0, 1, 2.0), (1, 2)],
        [(1, 0, 2), [2, 1, 1.0], (1, 2)],
        np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 1.0]]).astype(int),
        nx.Graph([(0, 1, {"weight": 2.0}), (1, 2)]),
        nx.MultiGraph([(0, 1), (0, 1), (1, 2)]),
        Graphs.pack([PATH]),
        Network.of(PATH),
    ],
)
def test_all_forms_give_the_same_graph(graph):
    network = Network.of(graph)
    np.testing.assert_array_equal(network.adjacency.toarray(), PATH)
    assert network == Network.of(PATH)
    assert not network.directed and network.names is None and len(network) == 3


def test_what_was_given_never_changes():
    twice = sp.csr_array((np.array([1.0, 0.0, 2.0, 3.0]), np.array([1, 1, 1, 0]), np.array([0, 3, 4])), shape=(2, 2))
    for shared in (False, True):
        given = twice.copy()
        assert Network.of(given, copy=not shared).adjacency.toarray().tolist() == [[0.0, 3.0], [3.0, 0.0]]
        assert given.data.tolist() == [1.0, 0.0, 2.0, 3.0] and given.indices.tolist() == [1, 1, 1, 0]
    sound = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert not np.shares_memory(Network.of(sound).adjacency.data, sound.data)
    assert np.shares_memory(Network.of(sound, copy=False).adjacency.data, sound.data)


def test_names_are_those_of_the_graph():
    network = Network.of(nx.Graph([("Ann", "Bob"), ("Bob", "Cid")]))
    assert network.names == ("Ann", "Bob", "Cid")
    np.testing.assert_array_equal(network.locate(["Cid", "Ann", "Cid"]).index, [2, 0, 2])
    np.testing.assert_array_equal(network.locate(pd.Series(["Bob"])).index, [1])
    np.testing.assert_array_equal(network.locate(np.array([["Bob"], ["Ann"]])).index, [1, 0])
    numbers = Network.of(nx.Graph([(10, 20), (20, 30)]))
    np.testing.assert_array_equal(numbers.locate(np.array([30, 10])).index, [2, 0])


def test_directions_are_kept():
    network = Network.of(nx.DiGraph([(0, 1), (1, 2)]))
    assert network.directed
    np.testing.assert_array_equal(network.adjacency.toarray(), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert Network.of(np.triu(PATH)).directed
    assert Network.of(network, teleport=0.1).teleport == 0.1
    assert repr(Network.of(network, teleport=0.1)) == "<Network: 3 nodes, 2 arcs, teleport 0.1>"


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ({"a": ["b"]}, "of type dict"),
        ("abc", "of type str"),
        ([(0, 1, 2, 3)], "not a pair"),
        ([(0, [1])], "not a pair"),
        ([(0, 1, -1.0)], "weight -1"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "weight nan"),
        (np.ones((4, 5)), "square"),
        (np.array([["a", "b"], ["b", "a"]], dtype=object), "adjacency of object"),
        ([], "without nodes"),
        (nx.Graph([(0, 1, {"weight": "x"})]), "weight x"),
        (Graphs.pack([PATH, PATH]), "2 graphs"),
    ],
)
def test_what_is_no_graph_is_refused(graph, told):
    with pytest.raises(DomainError, match=told):
        Network.of(graph)


def test_a_teleport_is_a_probability():
    with pytest.raises(DomainError, match="probability"):
        Network.of(PATH, teleport=1.0)


@pytest.mark.parametrize(
    ("X", "told"),
    [
        ([0, -1], "Sample 1 is -1"),
        ([0, 1.5], "Sample 1 is 1.5"),
        ([0, np.nan], "Sample 1 is nan"),
        ([0, 7], "Sample 1 is node 7; the graph has 3 nodes"),
        (["Ann"], "Sample 0 is 'Ann'"),
        ([0, None], "Sample 1 is missing"),
        ([], "0 sample"),
        (np.zeros((2, 2)), "no list of numbers|shape"),
        (3, "a list of nodes is needed"),
        ("abc", "a list of nodes is needed"),
    ],
)
def test_what_is_no_node_is_refused(X, told):
    with pytest.raises(DomainError, match=told):
        Network.of(PATH).locate(X)


def test_an_unknown_name_is_refused():
    with pytest.raises(DomainError, match="Sample 1 is 'Dan', which is not a node"):
        Network.of([("Ann", "Bob")]).locate(["Ann", "Dan"])


def test_whole_numbers_come_in_all_forms():
    for X in ([2, 0], np.array([2.0, 0.0]), np.array([[2], [0]]), pd.Series([2, 0]), (2, 0), np.uint8([2, 0])):
        np.testing.assert_array_equal(Nodes.pack(X).index, [2, 0])


def test_the_laws_of_domains():
    check_domain(Nodes, [4, 0, 3, 3, 1])


def test_copies_are_the_network_itself_and_what_is_computed_is_not_stored():
    network = Network.of(PATH)
    assert network.keep("key", lambda: 1) == network.keep("key", lambda: 2) == 1
    assert copy.deepcopy(network) is copy.copy(network) is clone(network, safe=False) is network
    again = pickle.loads(pickle.dumps(network))
    assert again == network and again.keep("key", lambda: 3) == 3
    assert network != Network.of(np.ones((3, 3))) and network != "network"


def test_a_broken_file_is_refused():
    Network.of(PATH).check()
    for broken in (
        Network(sp.csr_array(np.triu(PATH)), None, False),
        Network(sp.csr_array(-PATH), None, False),
        Network(sp.csr_array(PATH), ("a", "a", "b"), False),
        Network(sp.csr_array(PATH), None, False, 2.0),
    ):
        with pytest.raises(ModelError, match="graph"):
            broken.check()
    with pytest.raises(ModelError, match="nodes"):
        Nodes(np.array([-1])).check()

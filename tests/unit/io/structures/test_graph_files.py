"""GraphML, node-link JSON and lists of edges, whole and broken."""

import json

import networkx as nx
import numpy as np
import pytest

from mercer.domains.structures.graphs import Graphs
from mercer.io.limits import FileError, Limits
from mercer.io.source import Source
from mercer.io.structures.graph_files import read_edge_list, read_graph_json, read_graphml


def source(path, text, limits=None):
    path.write_text(text)
    return Source.open(path, limits or Limits())


def molecule(seed=0):
    G = nx.gnp_random_graph(6, 0.4, seed=seed)
    for node in G:
        G.nodes[node].update(label="CO"[node % 2], charge=float(node))
    for number, (u, v) in enumerate(G.edges):
        G.edges[u, v].update(label=number % 2, weight=1.5)
    return G


def test_graphml_of_networkx_is_read(tmp_path):
    G = molecule()
    G.graph["boiling"] = 80.5
    data = read_graphml(source(tmp_path / "a.graphml", "\n".join(nx.generate_graphml(G))))
    expected = Graphs.pack([G])
    assert data.graphs.node_labels(0) == expected.node_labels(0)
    np.testing.assert_array_equal(data.graphs.adjacency(0).toarray(), expected.adjacency(0).toarray())
    np.testing.assert_array_equal(data.graphs.edge_labels, expected.edge_labels)
    assert data.graphs.attributes[:, 0].tolist() == [float(node) for node in G]
    assert data.targets == ("boiling",) and data.y.tolist() == [80.5]


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d" for="node" attr.name="label" attr.type="string"><default>C</default></key>
<key id="w" for="edge" attr.name="weight" attr.type="double"/>
<graph id="one" edgedefault="directed"><node id="a"/><node id="b"><data key="d">O</data></node>
<edge source="a" target="b"><data key="w">2.5</data></edge></graph>
<graph id="two"><node id="a"/></graph>
</graphml>"""


def test_several_graphs_defaults_and_names(tmp_path):
    data = read_graphml(source(tmp_path / "a.graphml", GRAPHML))
    assert data.ids == ("one", "two") and data.graphs.node_labels(0) == ("C", "O")
    assert data.graphs.directed.tolist() == [True, False] and data.graphs.weights.tolist() == [2.5]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("<graphml", "<!DOCTYPE x [<!ENTITY a 'b'>]><graphml", "document type"),
        ("2.5", "heavy", "not a finite number"),
        ('<node id="a"/>', "<node/>", "A node has no id"),
        ('target="b"', 'target="z"', "an edge of the node z"),
        ('target="b"', "", "no source or no target"),
        ("</graphml>", "", "This is not XML"),
        ("<edge ", "<hyperedge/><edge ", "There is a hyperedge"),
        ('<node id="b">', '<node id="b"><graph/>', "in a node of another"),
    ],
)
def test_broken_graphml_is_refused(tmp_path, before, after, message):
    with pytest.raises(FileError, match=message):
        read_graphml(source(tmp_path / "a.graphml", GRAPHML.replace(before, after, 1)))


def test_deep_graphml_is_refused(tmp_path):
    with pytest.raises(FileError, match="nested more than 100"):
        read_graphml(source(tmp_path / "a.graphml", "<a>" * 200 + "</a>" * 200))
    with pytest.raises(FileError, match="There is no graph"):
        read_graphml(source(tmp_path / "b.graphml", "<graphml/>"))


def linked(G, **more):
    return nx.node_link_data(G, edges="links") | more


def test_json_of_networkx_is_read(tmp_path):
    graphs = [molecule(seed) for seed in range(3)]
    records = [linked(G, y=seed) for seed, G in enumerate(graphs)]
    whole = read_graph_json(source(tmp_path / "a.json", json.dumps(records, indent=1)))
    lines = read_graph_json(source(tmp_path / "b.json", "\n".join(map(json.dumps, records))))
    expected = Graphs.pack(graphs)
    for data in (whole, lines):
        assert all(map(np.array_equal, data.graphs.arrays, expected.arrays))
        assert data.y.tolist() == [0.0, 1.0, 2.0]
    single = read_graph_json(source(tmp_path / "c.json", '{"edges": [[0, 1], [1, 2, 0.5]]}'))
    assert single.graphs.weights.tolist() == [1.0, 1.0, 0.5, 0.5]


def test_json_takes_the_lists_that_python_takes(tmp_path):
    graph = {
        "edges": [[0, 1], [1, 2]], "labels": ["C", 6, "O"], "edge_labels": [1, 2], "weights": [0.5, 2.0],
        "attributes": [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]],
    }  # fmt: skip
    data = read_graph_json(source(tmp_path / "a.json", json.dumps([{**graph, "toxic": 1}])))
    expected = Graphs.pack([graph])
    assert data.X.node_labels(0) == expected.node_labels(0) == ("C", 6, "O")
    for name in ("targets", "edge_labels", "weights", "attributes"):
        np.testing.assert_array_equal(getattr(data.X, name), getattr(expected, name))
    assert data.X.edge_vocabulary == expected.edge_vocabulary and data.targets == ("toxic",)
    named = {"nodes": ["a", "b"], "links": [["a", "b"]], "labels": ["C", "O"]}
    assert read_graph_json(source(tmp_path / "b.json", json.dumps(named))).X.node_labels(0) == ("C", "O")


def test_json_attributes_and_parallel_edges(tmp_path):
    record = {
        "multigraph": True,
        "graph": {"kind": "acid"},
        "nodes": [{"id": 0, "attributes": [1.0]}, {"id": 1, "attributes": [2.0]}],
        "links": [{"source": 0, "target": 1, "label": 1}, {"source": 0, "target": 1, "label": 2.5}],
    }
    data = read_graph_json(source(tmp_path / "a.json", json.dumps(record)))
    assert data.graphs.attributes.tolist() == [[1.0], [2.0]] and data.graphs.edge_vocabulary == (1, "2.5")
    assert len(data.graphs.edges(0)) == 2 and data.y.tolist() == ["acid"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "This is not JSON"),
        ('{"links": []}\n{', "line 2: This is not JSON"),
        ("[" * 200 + "]" * 200, "nested more than 100"),
        ("[]", "There is no graph"),
        ("[3]", "Entry 0 is not a graph"),
        ('{"links": 3}', "not a list"),
        ('{"links": [3]}', "the link '3'"),
        ('{"links": [], "nodes": [{"label": 1}]}', "a node without 'id'"),
        ('{"links": [[0, 1, NaN]]}', "NaN is no JSON number"),
        ('{"links": [[0, 1]], "nodes": [0]}', "an edge of the node 1"),
        ('{"edges": [[0, 1]], "labels": {"0": "C"}}', "labels that are not a list"),
        ('{"edges": [[0, 1]], "edge_labels": [1, 2]}', "2 edge_labels for 1 edges"),
        ('{"edges": [[0, 1]], "labels": [["C"], "O"]}', "label"),
        ('{"edges": [[0, 1]], "attributes": [[1.0], "a"]}', "attributes"),
        ('{"edges": [[0, 1, 2.0]], "weights": [3.0]}', "its nodes or links have some too"),
        ('{"edges": [[0, 1]], "nodes": [{"id": 0, "label": 1}, 1], "labels": [1, 2]}', "have some too"),
    ],
)
def test_broken_json_is_refused(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        read_graph_json(source(tmp_path / "a.json", text))


def test_memory_is_planned(tmp_path):
    for reader, text in (
        (read_edge_list, "a b\n" * 9),
        (read_graph_json, '{"edges": [[0, 1]]}'),
        (read_graphml, GRAPHML),
    ):
        with pytest.raises(FileError, match="Reading its graphs needs"):
            reader(source(tmp_path / "a", text, Limits(memory=20 * len(text))))


def test_lists_of_edges(tmp_path):
    data = read_edge_list(source(tmp_path / "a.edges", "# two graphs\na b\nb c 0.5 # weak\n\n\n1,2\n"))
    assert data.n == 2 and data.graphs.sizes.tolist() == [3, 2] and data.graphs.weights.tolist()[:4] == [1, 1, 0.5, 0.5]
    for text, message in (("a\n", "line 1.*two nodes"), ("a b c\n", "line 1"), ("# none\n", "no edge")):
        with pytest.raises(FileError, match=message):
            read_edge_list(source(tmp_path / "b.edges", text))

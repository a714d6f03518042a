"""Elimination, maximal cliques and trees with running intersection."""

import networkx as nx
import numpy as np
import pytest

from mercer.networks.triangulation import CliqueTree, clique_tree, eliminate, has_running_intersection


def neighbours(graph):
    return [frozenset(graph[v]) for v in range(len(graph))]


@pytest.mark.parametrize("heuristic", ["min_fill", "min_width"])
@pytest.mark.parametrize("seed", range(5))
def test_cliques_cover_the_edges_and_their_tree_has_running_intersection(heuristic, seed):
    graph = nx.gnp_random_graph(12, 0.3, seed=seed)
    cliques = eliminate(neighbours(graph), [2] * 12, heuristic)
    assert all(any({u, v} <= set(c) for c in cliques) for u, v in graph.edges)
    assert not any(set(a) < set(b) for a in cliques for b in cliques)
    chordal = nx.Graph()
    chordal.add_nodes_from(range(12))
    for clique in cliques:
        chordal.add_edges_from((u, v) for u in clique for v in clique if u < v)
    assert nx.is_chordal(chordal)
    assert {frozenset(c) for c in nx.find_cliques(chordal)} == {frozenset(c) for c in cliques}
    tree = clique_tree(cliques)
    assert has_running_intersection(tree)
    assert sorted(tree.order) == list(range(len(cliques)))


def test_known_treewidths():
    for graph, width in [(nx.path_graph(9), 1), (nx.cycle_graph(9), 2), (nx.complete_graph(5), 4)]:
        cliques = eliminate(neighbours(graph), [2] * len(graph), "min_fill")
        assert max(map(len, cliques)) - 1 == width
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 8))
    assert max(map(len, eliminate(neighbours(grid), [2] * 32, "min_fill"))) - 1 == 4


def test_a_tree_without_running_intersection_is_seen():
    cliques = [(0, 1), (1, 2), (0, 3)]
    good = CliqueTree(cliques, [-1, 0, 0], [(), (1,), (0,)], [0, 1, 2])
    bad = CliqueTree(cliques, [-1, 0, 1], [(), (1,), ()], [0, 1, 2])
    assert has_running_intersection(good)
    assert not has_running_intersection(bad)


def test_the_spanning_tree_has_the_largest_separators():
    rng = np.random.default_rng(0)
    graph = nx.gnp_random_graph(14, 0.25, seed=int(rng.integers(100)))
    cliques = eliminate(neighbours(graph), [2] * 14, "min_fill")
    weighted = nx.Graph()
    weighted.add_nodes_from(range(len(cliques)))
    for a in range(len(cliques)):
        for b in range(a):
            weighted.add_edge(a, b, weight=len(set(cliques[a]) & set(cliques[b])))
    best = sum(d["weight"] for _, _, d in nx.maximum_spanning_edges(weighted))
    assert sum(map(len, clique_tree(cliques).separators)) == best

"""The random walk kernel: its series, five ways to the same numbers, and decays that are too large."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg

from mercer import SVC
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError, MemoryBudgetError, ParameterError
from mercer.kernels.graphs.graph_histograms import VertexHistogram
from mercer.kernels.graphs.random_walk import RandomWalk
from mercer.testing import check_kernel
from tests.naive.graphs import THREE, arcs, random_graphs
from tests.naive.walks import normalized_arcs, random_walk

METHODS = ("direct", "sylvester", "conjugate_gradient", "fixed_point", "spectral", "auto")


def naive(X, Y, decay, kind="geometric", labels=True, edge_labels=True, weights=arcs):
    return np.array([[random_walk(g, h, decay, kind, labels, edge_labels, weights) for h in Y] for g in X])


def bare(graphs):
    """The same graphs without labels."""
    return [
        {**graph, "labels": [None] * len(graph["labels"]), "edge_labels": ["s"] * len(graph["edges"])}
        for graph in graphs
    ]


def packed(graphs):
    """As they are given to kernels: isolated nodes are counted, too."""
    return [{**graph, "nodes": len(graph["labels"])} for graph in graphs]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", ["geometric", "exponential"])
@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True), (False, False)])
def test_it_is_the_series(kind, directed, used):
    graphs = random_graphs(1, 5, directed=directed)
    kernel = RandomWalk(0.004, kind, labels=used[0], edge_labels=used[1])
    expected = naive(graphs, graphs, 0.004, kind, *used)
    np.testing.assert_allclose(kernel(packed(graphs)), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(packed(graphs[:2]), packed(graphs[1:])), expected[:2, 1:], rtol=1e-12)
    S = Graphs.pack(packed(graphs))
    np.testing.assert_allclose(kernel.diag(S), np.diag(expected), rtol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
def test_normalised_weights(directed):
    graphs = random_graphs(2, 5, directed=directed)
    K = RandomWalk(0.9, adjacency="normalized")(packed(graphs))
    np.testing.assert_allclose(K, naive(graphs, graphs, 0.9, weights=normalized_arcs), rtol=1e-11)


@pytest.mark.parametrize("adjacency", ["plain", "normalized"])
def test_all_methods_agree(adjacency):
    decay = 0.004 if adjacency == "plain" else 0.7
    for directed, graphs in ((False, random_graphs(3, 6)), (True, random_graphs(4, 6, directed=True))):
        for kind in ("geometric", "exponential"):
            for data, is_bare in ((packed(graphs), False), (bare(packed(graphs)), True)):
                expected = RandomWalk(decay, kind, "direct", adjacency=adjacency)(data)
                tried = set()
                for method in METHODS[1:]:
                    try:
                        K = RandomWalk(decay, kind, method, adjacency=adjacency)(data)
                    except ParameterError:
                        continue
                    tried.add(method)
                    np.testing.assert_allclose(K, expected, rtol=1e-11)
                fits = {"fixed_point", "auto"}
                if not directed:
                    fits |= {"conjugate_gradient"} if kind == "geometric" else set()
                if is_bare:
                    fits |= {"sylvester"} if kind == "geometric" else set()
                    fits |= set() if directed else {"spectral"}
                assert tried == fits


def test_the_matrices_of_grakel():
    plain = [
        [38.0978783186, 45.3860767478, 32.4433083817],
        [45.3860767478, 54.526371406, 38.9751674411],
        [32.4433083817, 38.9751674411, 27.8619293592],
    ]
    exponential = [
        [38.02611183, 45.2243288557, 32.3361155941],
        [45.2243288557, 54.1559923097, 38.7303464308],
        [32.3361155941, 38.7303464308, 27.7000299337],
    ]
    labelled = [
        [36.5398560195, 42.6228074091, 30.2878097142],
        [42.6228074091, 49.99934708, 35.6534749566],
        [30.2878097142, 35.6534749566, 25.5681973612],
    ]
    np.testing.assert_allclose(RandomWalk(0.01, labels=False)(THREE), plain, rtol=1e-9)
    np.testing.assert_allclose(RandomWalk(0.01, "exponential", labels=False)(THREE), exponential, rtol=1e-9)
    # it takes all pairs of nodes for walks of no step, also those whose labels differ
    sizes = np.array([len(graph["labels"]) for graph in THREE])
    differ = np.outer(sizes, sizes) - VertexHistogram()(THREE)
    np.testing.assert_allclose(RandomWalk(0.01)(THREE) + differ, labelled, rtol=1e-9)


def test_methods_that_do_not_fit_are_refused():
    labelled = [{"edges": [(0, 1)], "labels": ["C", "O"]}]
    arrows = [nx.DiGraph([(0, 1)])]
    for method in ("spectral", "sylvester"):
        with pytest.raises(ParameterError, match="different labels"):
            RandomWalk(0.1, method=method)(labelled)
        RandomWalk(0.1, method=method, labels=False)(labelled)
    for method in ("spectral", "conjugate_gradient"):
        with pytest.raises(ParameterError, match="directions"):
            RandomWalk(0.1, method=method)(arrows)
    for method in ("sylvester", "conjugate_gradient"):
        with pytest.raises(ParameterError, match="exponential"):
            RandomWalk(0.1, "exponential", method)(labelled)
    with pytest.raises(ParameterError, match="below 1"):
        RandomWalk(1.0, adjacency="normalized")(labelled)


@pytest.mark.parametrize("method", METHODS)
def test_a_decay_that_is_too_large_is_refused_and_the_largest_told(method):
    """The product of a complete graph of four nodes with itself has a spectral radius of nine."""
    graphs = [nx.complete_graph(4), nx.path_graph(2)]
    for decay in (0.112, 0.2, 5.0):
        with pytest.raises(DomainError, match=r"graphs 0 and 0.*radius of 9, .* below 0\.1111"):
            RandomWalk(decay, method=method)(graphs)
    K = RandomWalk(0.11, method=method)(graphs)
    np.testing.assert_allclose(K[0, 0], 16 / (1 - 0.11 * 9))
    RandomWalk(0.2, method=method)(graphs[:1], graphs[1:])


def test_labels_allow_larger_decays():
    """What counts is the product graph, which labels make smaller."""
    star = {"edges": [(0, 1), (0, 2), (0, 3), (0, 4)], "labels": ["a", "b", "c", "d", "e"]}
    with pytest.raises(DomainError, match=r"below 0\.25"):
        RandomWalk(0.5, labels=False)([star])
    full = {**star, "edge_labels": [None] * 4, "weights": [1.0] * 4, "directed": False}
    np.testing.assert_allclose(RandomWalk(0.45)([star]), naive([full], [full], 0.45))


def test_negative_weights_are_refused():
    for method in METHODS:
        with pytest.raises(DomainError, match="Sample 1 has an edge of weight -1"):
            RandomWalk(0.1, method=method)([nx.path_graph(3), np.array([[0.0, -1.0], [-1.0, 0.0]])])


def test_empty_graphs_have_no_walks_and_nodes_alone_have_one():
    graphs = [{"edges": [], "nodes": 0}, {"edges": [], "nodes": 3}, {"edges": [(0, 1)], "nodes": 2}]
    for method in METHODS:
        K = RandomWalk(0.5, method=method)(graphs)
        np.testing.assert_allclose(K, [[0, 0, 0], [0, 9, 6], [0, 6, 4 / (1 - 0.5)]])


def test_other_graphs_and_vocabularies_change_nothing():
    graphs = packed(random_graphs(5, 6))
    kernel = RandomWalk(0.004)
    together = kernel(graphs[:3], graphs[3:])
    for i in range(3):
        for j in range(3):
            np.testing.assert_allclose(kernel([graphs[i]], [graphs[3 + j]])[0, 0], together[i, j], rtol=1e-13)
    unlabelled = [nx.path_graph(4), nx.cycle_graph(3)]
    alone = RandomWalk(0.1)(unlabelled)
    np.testing.assert_allclose(RandomWalk(0.1)([*unlabelled, graphs[0] | {"weights": None}])[:2, :2], alone)


@pytest.mark.parametrize(
    "kernel", [RandomWalk(0.003), RandomWalk(0.01, "exponential"), RandomWalk(0.5, adjacency="normalized")]
)
def test_the_laws_of_kernels(kernel):
    check_kernel(kernel, packed(random_graphs(6, 8)))
    check_kernel(kernel, packed(random_graphs(7, 6, directed=True)))
    check_kernel(kernel, bare(packed(random_graphs(8, 6))))


def test_rings_are_told_from_chains():
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 12, 40)
    y = np.arange(40) % 2
    graphs = [nx.cycle_graph(int(n)) if ring else nx.path_graph(int(n)) for n, ring in zip(sizes, y, strict=True)]
    model = SVC(RandomWalk(0.2).normalized(), C=1e4).fit(graphs[:30], y[:30])
    assert model.score(graphs[30:], y[30:]) == 1.0


def test_what_does_not_fit_in_memory_or_in_numbers_is_refused():
    large = [nx.path_graph(10_000)]
    with pytest.raises(MemoryBudgetError, match="pairs of nodes"):
        RandomWalk(0.1, method="direct", adjacency="normalized")(large)
    for method in ("fixed_point", "spectral"):
        with pytest.raises(DomainError, match="too large"):
            RandomWalk(100.0, "exponential", method)([nx.complete_graph(6)])


def test_ends_of_labels_that_only_one_side_has():
    """Labels of nodes and of edges that the other side does not know match nothing."""
    one = {"edges": [(0, 1)], "labels": ["C", "N"], "edge_labels": ["single"]}
    two = {"edges": [(0, 1)], "labels": ["N", "Cl"], "edge_labels": ["double"]}
    np.testing.assert_allclose(RandomWalk(0.5)([one], [two]), [[1.0]])
    np.testing.assert_allclose(RandomWalk(0.5)([one], [{**one, "edge_labels": ["double"]}]), [[2.0]])


def test_repeated_eigenvalues_of_symmetric_molecules():
    """Stars and rings have eigenvalues that repeat, whose vectors a general solver does not make orthonormal."""
    star, ring = np.zeros((6, 6)), np.roll(np.eye(6), 1, axis=1)
    star[0, 1:] = star[1:, 0] = 1.0
    ring += ring.T
    branched = np.zeros((10, 10))  # a ring with two pairs of equal ends
    branched[:6, :6] = ring
    for u, v in ((0, 6), (0, 7), (3, 8), (3, 9)):
        branched[u, v] = branched[v, u] = 1.0
    matrices = [star, ring, branched]
    graphs = [{"edges": np.argwhere(np.triu(A)).tolist(), "labels": ["C"] * len(A)} for A in matrices]
    for kind, function in (
        ("exponential", lambda W: scipy.linalg.expm(0.1 * W).sum()),
        ("geometric", lambda W: np.linalg.inv(np.eye(len(W)) - 0.1 * W).sum()),
    ):
        expected = [[function(np.kron(A, B)) for B in matrices] for A in matrices]
        np.testing.assert_allclose(RandomWalk(0.1, kind)(graphs), expected, rtol=1e-12)

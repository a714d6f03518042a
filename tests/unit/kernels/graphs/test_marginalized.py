"""The marginalised kernel beside walks that are listed one by one."""

import networkx as nx
import numpy as np
import pytest

from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError, ParameterError
from mercer.kernels.graphs.marginalized import Marginalized
from mercer.testing import check_kernel
from tests.naive.graphs import random_graphs
from tests.naive.walks import marginalized, product_graph


def packed(graphs):
    return [{**graph, "nodes": len(graph["labels"])} for graph in graphs]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True)])
def test_it_is_the_sum_over_walks(directed, used):
    """A walk of seven steps or more has a probability below 0.1^14 in both graphs together."""
    graphs = random_graphs(1, 5, nodes=4, directed=directed)
    expected = np.array([[marginalized(g, h, 0.9, 6, *used) for h in graphs] for g in graphs])
    K = Marginalized(0.9, *used)(packed(graphs))
    np.testing.assert_allclose(K, expected, rtol=1e-11)
    np.testing.assert_allclose(
        Marginalized(0.9, *used).diag(Graphs.pack(packed(graphs))), np.diag(expected), rtol=1e-11
    )


def test_it_is_a_system_of_linear_equations():
    """Kashima, Tsuda and Inokuchi: R = r1 + T R for pairs of nodes."""
    left, right = (graph for graph in random_graphs(11, 8, nodes=7) if len(graph["labels"]) == 6)
    stop = 0.05
    sums = [np.zeros(len(graph["labels"])) for graph in (left, right)]
    for total, graph in zip(sums, (left, right), strict=True):
        for (u, v), weight in zip(graph["edges"], graph["weights"], strict=True):
            total[u] += weight
            total[v] += weight if u != v else 0.0
    pairs, W = product_graph(left, right)
    i, j = np.array(pairs).T
    quits = [np.where(total > 0, stop, 1.0) for total in sums]
    moves = [np.divide(1 - stop, total, out=np.zeros_like(total), where=total > 0) for total in sums]
    T = (moves[0][i] * moves[1][j])[:, None] * W
    R = np.linalg.solve(np.eye(len(pairs)) - T, quits[0][i] * quits[1][j])
    expected = R.sum() / (len(sums[0]) * len(sums[1]))
    for method in ("conjugate_gradient", "fixed_point"):
        K = Marginalized(stop, method=method)(packed([left]), packed([right]))
        np.testing.assert_allclose(K, [[expected]], rtol=1e-12)


def test_methods_agree_for_long_walks():
    graphs = packed(random_graphs(3, 8))
    one, two = (Marginalized(0.01, method=method)(graphs) for method in ("conjugate_gradient", "fixed_point"))
    np.testing.assert_allclose(one, two, rtol=1e-11)
    with pytest.raises(ParameterError, match="directions"):
        Marginalized(method="conjugate_gradient")([nx.DiGraph([(0, 1)])])


def test_without_labels_walks_differ_by_their_length_only():
    """On graphs without ends of walks both lengths are geometric: k = q^2 / (1 - (1 - q)^2)."""
    K = Marginalized(0.2)([nx.cycle_graph(3), nx.complete_graph(5)])
    np.testing.assert_allclose(K, 0.04 / (1 - 0.64))


def test_empty_graphs_and_nodes_alone():
    K = Marginalized(0.3)([{"edges": [], "nodes": 0}, {"edges": [], "labels": ["a", "b"]}])
    np.testing.assert_allclose(K, [[0.0, 0.0], [0.0, 0.5]])


def test_the_laws_of_kernels():
    check_kernel(Marginalized(0.2), packed(random_graphs(5, 8)))
    check_kernel(Marginalized(0.2), packed(random_graphs(6, 6, directed=True)))


def test_bad_parameters_and_weights_are_refused():
    for stop in (0.0, 1.0, -1.0, "half"):
        with pytest.raises(ParameterError, match="stop"):
            Marginalized(stop)([nx.path_graph(2)])
    with pytest.raises(DomainError, match="negative"):
        Marginalized()([np.array([[0.0, -1.0], [-1.0, 0.0]])])

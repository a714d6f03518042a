"""Labels of networks: searches and sums over all labellings, chains as a special case, and grids."""

import networkx as nx
import numpy as np
import pytest

from mercer import KernelCRF, LabelSequences, NetworkLabels, StructuredSVC, grid_edges
from mercer.errors import ParameterError
from mercer.kernels import Linear
from mercer.testing import check_output_space

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "edges",
    [grid_edges(2, 2), [[0, 1], [2, 1], [2, 0]], [[3, 0, 1], [0, 1, 0], [1, 3, 1]]],
    ids=["grid", "ring", "kinds"],
)
def test_against_all_labellings(edges):
    check_output_space(NetworkLabels(edges, pair_scale=2.0), [["a", "b", "c", "a"], ["b", "b", "a"]])


def test_edges_of_a_grid():
    graph = nx.grid_2d_graph(3, 4)
    wanted = {frozenset((4 * a + b, 4 * c + d)) for (a, b), (c, d) in graph.edges}
    found = grid_edges(3, 4)
    assert {frozenset(row) for row in found[:, :2].tolist()} == wanted
    assert all((b - a == 1) == (kind == 0) for a, b, kind in found)


def test_a_chain_is_a_sequence():
    X = [RNG.normal(size=(n, 2)) for n in (3, 4, 2, 4)]
    y = [(x[:, 0] > 0.0).astype(int) for x in X]
    chain = NetworkLabels([[0, 1], [1, 2], [2, 3]])
    a = KernelCRF(Linear(), outputs=chain).fit(X, y)
    b = KernelCRF(Linear(), outputs=LabelSequences()).fit(X, y)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-8)
    for p, q in zip(a.marginals(X), b.marginals(X), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-5)
    assert StructuredSVC(Linear(), C=10.0, outputs=chain).fit(X, y).score(X, y) >= 0.8


def test_bad_edges():
    for bad in ([[0, 0]], [[0.5, 1.0]], [0, 1], [[0, -1]]):
        with pytest.raises(ParameterError, match="two different sites"):
            NetworkLabels(bad).learn([[0, 1]])

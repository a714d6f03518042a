"""What kernels on nodes share: the graph is made and factored once, whatever it was given as."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer.domains.structures.nodes import Network
from mercer.errors import DomainError, MemoryBudgetError
from mercer.kernels.graphs import node_kernel as module
from mercer.kernels.graphs.laplacian_kernels import Diffusion, RegularizedLaplacian

RING = nx.cycle_graph(40)


def test_copies_share_the_graph_and_its_eigenvectors(monkeypatch):
    calls = []
    monkeypatch.setattr(module, "eigh_in_place", lambda K: calls.append(len(K)) or np.linalg.eigvalsh(K))
    kernel = Diffusion(RING, 1.0).check()
    for copy in (kernel, kernel.replace(time=2.0), clone(kernel), kernel.learn(kernel.pack([0, 1]))):
        copy([0, 1])
    assert calls == [40]


def test_large_graphs_are_not_factored_densely(monkeypatch):
    monkeypatch.setattr(module, "_DENSE", 10)
    monkeypatch.setattr(module, "eigh_in_place", None)
    K = Diffusion(RING, 1.0)([0, 1, 20])
    monkeypatch.undo()
    np.testing.assert_allclose(K, Diffusion(RING, 1.0)([0, 1, 20]), atol=1e-14)


def test_by_columns_a_large_graph_takes_little_memory():
    N = 20_000
    W = sp.diags_array([np.ones(N - 1), np.ones(N - 1)], offsets=[1, -1], format="csr")
    K = Diffusion(W, 3.0)([10_000, 10_001, 5])
    small = Diffusion(nx.path_graph(101), 3.0)([50, 51])
    np.testing.assert_allclose(K[:2, :2], small, atol=1e-13)
    assert abs(K[0, 2]) < 1e-13
    R = RegularizedLaplacian(W, 1.0)([10_000, 10_001])
    np.testing.assert_allclose(R, RegularizedLaplacian(nx.path_graph(101), 1.0)([50, 51]), atol=1e-12)


def test_eigenvectors_of_a_huge_graph_are_refused():
    W = sp.csr_array((10**6, 10**6))
    with pytest.raises(MemoryBudgetError, match="columns"):
        Diffusion(W, method="spectrum")([0])


def test_what_is_printed():
    assert repr(Diffusion([(0, 1)], 2.0)) == "Diffusion([(0, 1)], time=2.0)"
    assert repr(Diffusion(RING, 2.0)) == "Diffusion(<Network: 40 nodes, 40 edges>, time=2.0)"
    assert repr(Diffusion(Network.of(RING))) == "Diffusion(<Network: 40 nodes, 40 edges>)"


def test_a_bad_graph_and_packed_nodes_of_another_graph_are_refused():
    with pytest.raises(DomainError, match="graph"):
        Diffusion("nothing").check()
    nodes = Diffusion(RING).pack([39])
    with pytest.raises(DomainError, match="node 39"):
        Diffusion([(0, 1)])(nodes)


def test_samples_may_come_twice():
    for method in ("spectrum", "columns"):
        K = Diffusion(RING, 1.0, method=method)([3, 3, 4])
        np.testing.assert_allclose(K[0], K[1], rtol=1e-14)

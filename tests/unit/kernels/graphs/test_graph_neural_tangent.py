"""The graph neural tangent kernel: against matrices written out, and against a wide network."""

import numpy as np
import pytest

from mercer.domains import Graphs
from mercer.errors import DomainError
from mercer.kernels import GraphNeuralTangent, NeuralTangent
from mercer.kernels.graphs import graph_neural_tangent as module
from mercer.testing import check_kernel
from tests.naive.graphs import random_graphs
from tests.unit.kernels.graphs.test_assignment import plain_graphs

PLAIN = plain_graphs(1, count=5)
MEMBERS = {"GraphNeuralTangent": [GraphNeuralTangent(2), GraphNeuralTangent(1, layers=2, mean=False)]}


def tangent(G, H, blocks, layers, mean, nodes):
    """All matrices between the nodes of both graphs together, in a few lines of NumPy."""
    sizes = [len(g["labels"]) for g in (G, H)]
    total = sum(sizes)
    A = np.eye(total)
    for g, shift in ((G, 0), (H, sizes[0])):
        for i, j in g["edges"]:
            A[shift + i, shift + j] = A[shift + j, shift + i] = 1.0
    A = A / A.sum(axis=1, keepdims=True) if mean else A
    labels = np.array([*G["labels"], *H["labels"]])
    X = np.array([*G["attributes"], *H["attributes"]])
    S = X @ X.T if nodes == "attributes" else np.equal.outer(labels, labels).astype(float)
    T = S.copy()
    for _ in range(blocks):
        S, T = A @ S @ A.T, A @ T @ A.T
        for _ in range(layers):
            size = np.sqrt(np.outer(np.diag(S), np.diag(S)))
            t = np.arccos(np.clip(S / size, -1.0, 1.0))
            S = size * (np.sin(t) + (np.pi - t) * np.cos(t)) / np.pi
            T = T * (1.0 - t / np.pi) + S
    return T[: sizes[0], sizes[0] :].sum()


@pytest.mark.parametrize("nodes", ["labels", "attributes"])
@pytest.mark.parametrize(("blocks", "layers", "mean"), [(1, 1, True), (2, 1, False), (3, 2, True)])
def test_agrees_with_the_matrices(blocks, layers, mean, nodes):
    k = GraphNeuralTangent(blocks, layers=layers, mean=mean, nodes=nodes)
    expected = [[tangent(G, H, blocks, layers, mean, nodes) for H in PLAIN] for G in PLAIN]
    # the arc cosine of a cosine near one has half of the digits
    np.testing.assert_allclose(k(PLAIN), expected, rtol=1e-6)
    np.testing.assert_allclose(k(PLAIN[:2], PLAIN[2:]), np.array(expected)[:2, 2:], rtol=1e-6)


def test_single_nodes_are_vectors():
    x = np.random.default_rng(0).normal(size=(6, 3))
    graphs = [{"edges": [], "labels": ["a"], "attributes": [row.tolist()]} for row in x]
    k = GraphNeuralTangent(1, layers=2, nodes="attributes")
    np.testing.assert_allclose(k(graphs), NeuralTangent(2)(x), rtol=1e-7)


@pytest.mark.parametrize("k", MEMBERS["GraphNeuralTangent"], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, random_graphs(4, count=6))
    check_kernel(k, [{"edges": [], "labels": []}, *PLAIN])


def test_attributes_must_be_there():
    with pytest.raises(DomainError, match="no attributes"):
        GraphNeuralTangent(nodes="attributes")([{"edges": [(0, 1)], "labels": "ab"}])


def test_loops_run_uncompiled():
    S, T = np.array([[1.0]]), np.array([[2.0]])
    module._pass_layer.py_func(S, T, np.ones(1), np.ones(1))
    assert S[0, 0] == 1.0 and T[0, 0] == 3.0
    assert len(Graphs.pack(PLAIN)) == 5

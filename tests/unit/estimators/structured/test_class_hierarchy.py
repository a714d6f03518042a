"""Classes of a hierarchy: searches over all classes, distances in the tree, and the joint kernel."""

import networkx as nx
import numpy as np
import pytest

from mercer import ClassHierarchy, ClassLabels, StructuredSVC
from mercer.errors import ParameterError, TargetError
from mercer.kernels import Linear
from mercer.testing import check_output_space

TREE = {"cat": "animal", "dog": "animal", "oak": "plant", "animal": "life", "plant": "life"}


def test_against_all_classes():
    check_output_space(ClassHierarchy(TREE), ["cat", "dog", "oak", "plant", "cat"])


def test_losses_are_distances_in_the_tree_and_inner_products_shared_ancestors():
    space = ClassHierarchy(TREE).learn(["cat", "dog", "oak", "plant"])
    graph = nx.Graph(list(TREE.items()))
    psi, _, losses = space.tables()
    for a, one in enumerate(space.classes):
        for b, other in enumerate(space.classes):
            assert losses[a, b] == nx.shortest_path_length(graph, one, other)
            up = nx.DiGraph(list(TREE.items()))
            shared = ({one, *nx.descendants(up, one)} & {other, *nx.descendants(up, other)}) - {"life"}
            assert psi[a] @ psi[b] == len(shared)


def test_a_tree_without_levels_is_classes():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ [[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]], axis=1)]
    flat = StructuredSVC(Linear(), outputs=ClassHierarchy(dict.fromkeys("abc", "top")), tol=1e-6).fit(X, y)
    costs = 2.0 * (1.0 - np.eye(3))
    same = StructuredSVC(Linear(), outputs=ClassLabels(cost=costs), tol=1e-6).fit(X, y)
    assert flat.objective_ == pytest.approx(same.objective_, rel=1e-5)


def test_what_is_no_tree():
    with pytest.raises(ParameterError, match="circle"):
        ClassHierarchy({"a": "b", "b": "a"}).learn(["a", "b"])
    with pytest.raises(TargetError, match="not in the tree"):
        ClassHierarchy(TREE).learn(["cat", "elm"])

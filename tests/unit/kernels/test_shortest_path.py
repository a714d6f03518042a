"""Shortest paths against Floyd's algorithm and counters of Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains.graphs import Graphs
from mercer.errors import DomainError
from mercer.kernels import shortest_path as module
from mercer.kernels.shortest_path import ShortestPath
from mercer.testing import check_kernel
from tests.naive.graphs import THREE, gram, paths, random_graphs


@given(seed=st.integers(0, 10**6), labels=st.booleans(), weights=st.booleans())
def test_paths_are_counted_by_length_and_ends(seed, labels, weights):
    X, Y = random_graphs(seed, directed=True), random_graphs(seed + 1, words=("O", "C"), directed=True)
    kernel = ShortestPath(labels, weights)
    np.testing.assert_array_equal(kernel(X), gram(paths, X, X, None, labels, weights))
    np.testing.assert_array_equal(kernel(X, Y), gram(paths, X, Y, None, labels, weights))


def test_the_matrices_of_grakel():
    labelled = [[98.0, 100.0, 36.0], [100.0, 158.0, 74.0], [36.0, 74.0, 58.0]]
    np.testing.assert_array_equal(ShortestPath()(THREE), labelled)
    plain = [[356.0, 548.0, 272.0], [548.0, 884.0, 432.0], [272.0, 432.0, 272.0]]
    np.testing.assert_array_equal(ShortestPath(labels=False)(THREE), plain)


@pytest.mark.parametrize("kernel", [ShortestPath(), ShortestPath(labels=False), ShortestPath(weights=True)])
def test_the_laws_hold(kernel):
    check_kernel(kernel, random_graphs(4, count=8, directed=True))


def test_pieces_give_what_the_whole_gives(monkeypatch):
    X = random_graphs(7, count=12)
    whole = ShortestPath()(X)
    monkeypatch.setattr(module, "_PAIRS", 30)
    np.testing.assert_array_equal(ShortestPath()(X), whole)


def test_lengths_that_differ_by_rounding_are_the_same():
    weights = [0.1, 0.2, 0.3]
    forth = {"edges": [(0, 1), (1, 2), (2, 3)], "weights": weights, "nodes": 4}
    back = {"edges": [(0, 1), (1, 2), (2, 3)], "weights": weights[::-1], "nodes": 4}
    K = ShortestPath(weights=True)([forth, back])
    # 0.1, 0.2, 0.5, 0.6, and 0.3 twice (as an edge, and as 0.1 + 0.2), each in two directions
    np.testing.assert_array_equal(K, 4.0 * (1 + 1 + 1 + 1 + 4) * np.ones((2, 2)))
    F, keys = ShortestPath(weights=True).features(Graphs.pack([forth]))
    assert sorted(keys.symbols(i)[2] for i in range(F.shape[1])) == [0.1, 0.2, 0.3, 0.5, 0.6]


def test_a_long_path_is_walked_without_recursion():
    n = 400
    line = {"edges": [(i, i + 1) for i in range(n - 1)]}
    expected = sum((2.0 * (n - d)) ** 2 for d in range(1, n))
    assert ShortestPath(labels=False)([line])[0, 0] == expected
    assert ShortestPath(labels=False, weights=True)([line])[0, 0] == expected


def test_negative_weights_are_refused():
    with pytest.raises(DomainError, match=r"Sample 1 has an edge of negative weight.*weights=False"):
        ShortestPath(weights=True)([{"edges": [(0, 1)]}, {"edges": [(0, 1)], "weights": [-1.0]}])
    with pytest.raises(DomainError, match="longer than any number"):
        ShortestPath(weights=True)([{"edges": [(0, 1), (1, 2)], "weights": [1.5e308, 1.5e308]}])

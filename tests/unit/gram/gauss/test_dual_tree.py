"""A tree of sources and one of targets."""

import numpy as np
import pytest

from mercer.gram.gauss.dual_tree import Tree, TreeTransform


def exact(X, Y, V):
    """The definition."""
    return np.exp(-np.sum((X[:, None] - Y) ** 2, axis=2)) @ V


@pytest.mark.parametrize("n", [1, 2, 64, 65, 1000])
def test_a_tree_holds_every_point_once_in_boxes(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    X[: n // 3] = X[0]  # equal points
    tree = Tree.of(X)
    assert sorted(tree.order.tolist()) == list(range(n)) and np.array_equal(tree.points, X[tree.order].T)
    leaves = 2**tree.levels - 1
    for node, (first, last) in enumerate(tree.starts):
        some = X[tree.order[first:last]]
        assert np.array_equal(tree.low[node], some.min(axis=0)) and np.array_equal(tree.high[node], some.max(axis=0))
        if node < leaves:
            (a, b), (c, e) = tree.starts[2 * node + 1 : 2 * node + 3]
            assert (a, b, e) == (first, c, last)
            axis = np.argmax(tree.high[node] - tree.low[node])
            assert tree.high[2 * node + 1, axis] <= tree.low[2 * node + 2, axis]
        else:
            assert 0 < last - first <= 64


@pytest.mark.parametrize("width", [0.01, 0.3, 3.0, 100.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_sums_within_the_bound(d, width):
    rng = np.random.default_rng(d)
    Y, X, V = rng.normal(size=(400, d)) * width, rng.normal(size=(130, d)) * width, rng.random((400, 2))
    for tol in (1e-2, 1e-6):
        transform = TreeTransform(Y, tol)
        whole = transform.product(V, transform.aim(X))
        assert np.all(np.abs(whole - exact(X, Y, V)) <= transform.bound * V.sum(axis=0)), tol
        assert np.array_equal(transform.product(V, transform.aim(X), n_threads=1), whole)
        assert np.all(np.abs(transform.product(V, transform.aim()) - exact(Y, Y, V)) <= transform.bound * V.sum(axis=0))


def test_all_four_ways_are_taken():
    rng = np.random.default_rng(0)
    near = 0.02 * rng.normal(size=(500, 2))
    wide = TreeTransform(near, 1e-6)
    assert len(wide.series) == 1 and wide.series[0] == 0  # one series for all
    assert len(TreeTransform(1000.0 * near, 1e-6).series) == 0  # pairs of leaves alone
    spread = TreeTransform(np.concatenate([near, near + 5.0, rng.uniform(-50, 50, size=(500, 2))]), 1e-6)
    assert 1 < len(spread.series) < 10
    far = TreeTransform(np.zeros((200, 1)), 1e-3)  # all at one point: a constant for targets that differ little
    X = 2.0 + 1e-4 * rng.random((300, 1))
    error = np.abs(far.product(np.ones((200, 1)), far.aim(X)) - exact(X, np.zeros((200, 1)), np.ones((200, 1))))
    assert 0.0 < error.max() <= 1e-3 * 200

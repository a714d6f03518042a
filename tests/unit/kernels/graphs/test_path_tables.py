"""Sums over pairs of paths against loops over all of them, and their derivatives against differences."""

import numpy as np

from mercer.kernels.graphs.path_tables import Paths, compare, differentiate


def some_paths(rng, sizes):
    tables = []
    for n in sizes:
        table = [(rng.integers(1, 4), u, v) for u in range(n) for v in range(n) if u != v and rng.random() < 0.7]
        tables.append(np.array(sorted(table), dtype=np.int64).reshape(-1, 3))
    offsets, starts = (np.concatenate(([0], np.cumsum(x))).astype(np.intp) for x in (sizes, list(map(len, tables))))
    return Paths(offsets, starts, np.concatenate(tables))


def listed(side, i):
    """The paths of graph i, with nodes counted among all."""
    return side.table[side.starts[i] : side.starts[i + 1]] + np.array([0, side.offsets[i], side.offsets[i]])


def summed(left, right, K):
    out = np.zeros((len(left.offsets) - 1, len(right.offsets) - 1))
    for i, j in np.ndindex(out.shape):
        for d, u, v in listed(left, i):
            for e, s, t in listed(right, j):
                out[i, j] += K[u, s] * K[v, t] * (d == e)
    return out


def test_sums_are_those_over_all_pairs_of_paths():
    rng = np.random.default_rng(0)
    left, right = some_paths(rng, [3, 0, 9]), some_paths(rng, [8, 1])
    K = rng.normal(size=(12, 9)) * (rng.random((12, 9)) < 0.7)
    out = np.full((3, 2), np.nan)
    compare(left, right, K, False, out)
    np.testing.assert_allclose(out, summed(left, right, K), rtol=1e-12, atol=1e-12)


def test_half_of_the_sums_gives_the_other():
    rng = np.random.default_rng(1)
    side = some_paths(rng, [3, 8, 2])
    root = rng.normal(size=(13, 13))
    K = root @ root.T
    out = np.full((3, 3), np.nan)
    compare(side, side, K, True, out)
    np.testing.assert_allclose(out, summed(side, side, K), rtol=1e-11)


def test_derivatives_are_those_of_differences():
    rng = np.random.default_rng(2)
    left, right = some_paths(rng, [3, 4]), some_paths(rng, [2, 3])
    K, W = rng.normal(size=(7, 5)), rng.normal(size=(2, 2))
    V = np.zeros_like(K)
    differentiate(left, right, K, W, V)
    expected = np.zeros_like(K)
    for place in np.ndindex(K.shape):
        step = np.zeros_like(K)
        step[place] = 1e-4  # the sums are quadratic in K: central differences are exact
        expected[place] = np.sum(W * (summed(left, right, K + step) - summed(left, right, K - step))) / 2e-4
    np.testing.assert_allclose(V, expected, rtol=1e-8, atol=1e-8)

"""Lengths of shortest paths: SciPy's to the last digit, with edges of one direction, parts and equal lengths."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from mercer.estimators.geometry.shortest_paths import shortest_paths

rng = np.random.default_rng(4)


@pytest.mark.parametrize("n", [1, 2, 7, 150])
@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("directed", [True, False])
def test_lengths_are_those_of_scipy(n, share, directed):
    A = np.where(rng.random((n, n)) < share, rng.uniform(0.1, 3.0, (n, n)), 0.0)
    A = A if directed else np.maximum(A, A.T)
    np.testing.assert_array_equal(shortest_paths(sp.csr_array(A)), shortest_path(sp.csr_array(A), method="D"))


def test_edges_of_equal_length_count_steps():
    n = 70
    circle = sp.csr_array(sp.diags_array(np.ones((4, n)), offsets=[1, -1, n - 1, 1 - n], shape=(n, n)))
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    np.testing.assert_array_equal(shortest_paths(circle), np.minimum(steps, n - steps))


def test_an_edge_of_length_zero_is_an_edge():
    edges = sp.csr_array((np.array([0.0, 2.0, 0.0]), (np.array([0, 1, 1]), np.array([1, 2, 0]))), shape=(3, 3))
    np.testing.assert_array_equal(shortest_paths(edges), [[0.0, 0.0, 2.0], [0.0, 0.0, 2.0], [np.inf, np.inf, 0.0]])


def test_threads_do_not_change_it():
    A = sp.csr_array(np.where(rng.random((150, 150)) < 0.1, rng.random((150, 150)), 0.0))
    np.testing.assert_array_equal(shortest_paths(A, n_threads=1), shortest_paths(A, n_threads=3))

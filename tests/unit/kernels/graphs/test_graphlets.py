"""Shares of graphlets against all sets of nodes in all orders."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.domains.structures.graphs import Graphs
from mercer.kernels.graphs.graphlets import Graphlet, graphlets
from mercer.testing import check_kernel
from tests.naive import graphs as naive
from tests.naive.graphs import gram, random_graphs


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([3, 4, 5]), connected=st.booleans())
def test_shares_are_those_of_the_definition(seed, size, connected):
    X = random_graphs(seed, count=3, nodes=7, directed=True)
    expected = gram(naive.graphlets, X, X, size, connected)
    np.testing.assert_allclose(Graphlet(size, connected)(X), expected, atol=1e-14)


@pytest.mark.parametrize(("size", "all_of_them", "connected"), [(3, 4, 2), (4, 11, 6), (5, 34, 21)])
def test_there_are_as_many_graphlets_as_graphs(size, all_of_them, connected):
    assert len(graphlets(size, False)[1]) == all_of_them and len(graphlets(size, True)[1]) == connected


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("size", [3, 5])
def test_draws_approach_the_shares(size, connected):
    rng = np.random.default_rng(1)
    A = np.triu(rng.random((4, 15, 15)) < 0.3, 1)
    S = Graphs.pack(A + A.transpose(0, 2, 1).astype(float))
    exact, keys = Graphlet(size, connected).features(S)
    errors = []
    for samples in (500, 50_000):
        drawn, same = Graphlet(size, connected, samples=samples).features(S)
        assert same is keys
        errors.append(float(np.abs((drawn - exact).toarray()).max()))
    assert errors[1] < 0.02 and errors[1] < errors[0]


def test_draws_depend_on_the_graph_and_the_seed_alone():
    X = random_graphs(3, count=6, nodes=9)
    kernel = Graphlet(3, samples=5)
    K = kernel(X)
    for i in range(6):
        assert kernel([X[i]])[0, 0] == K[i, i]
    assert not np.array_equal(K, kernel.replace(random_state=1)(X))


@pytest.mark.parametrize(
    "kernel", [Graphlet(3), Graphlet(4, connected=False), Graphlet(3, samples=4), Graphlet(4, False, samples=4)]
)
def test_the_laws_hold(kernel):
    check_kernel(kernel, random_graphs(4, count=8, directed=True))


def test_graphs_without_graphlets_are_zero():
    assert Graphlet(3)([{"edges": []}, {"edges": [(0, 1)]}]).max() == 0.0


def test_labels_and_parallel_edges_play_no_part():
    plain = {"edges": [(0, 1), (1, 2), (2, 3)]}
    rich = {"edges": [(0, 1), (0, 1), (1, 2), (2, 3), (3, 3)], "labels": "abcd", "multigraph": True}
    assert np.ptp(Graphlet(3)([plain, rich])) == 0.0

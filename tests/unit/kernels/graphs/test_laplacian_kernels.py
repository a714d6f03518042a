"""Kernels on nodes beside dense functions of matrices, and the cut of the karate club."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mercer import SVC, GaussianProcessRegressor, KernelRidge
from mercer.domains.structures.nodes import Network
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels.graphs.laplacian_kernels import (
    CommuteTime,
    Diffusion,
    LaplacianFunction,
    PStepWalk,
    RegularizedLaplacian,
    spectral_bisection,
)
from mercer.testing import check_kernel

METHODS = ("spectrum", "columns")


def karate():
    """Zachary's club without the weights that networkx knows, and who stayed with whom."""
    club = nx.karate_club_graph()
    side = np.array([data["club"] != "Mr. Hi" for _, data in club.nodes(data=True)], dtype=int)
    G = nx.empty_graph(34)
    G.add_edges_from(club.edges)
    return G, side


def weighted(N=25, seed=0):
    """A random graph with weights, a part of its own and a node without edges."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((N, N)) * (rng.random((N, N)) < 0.2), 1)
    W[:, -1] = 0.0
    W[: N // 2, N // 2 : -1] = 0.0
    return W + W.T


def matrix(W, kind):
    d = W.sum(axis=1)
    if kind == "plain":
        return np.diag(d) - W
    r = np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    return np.diag((d > 0).astype(float)) - r[:, None] * W * r


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["plain", "normalized"])
def test_kernels_are_functions_of_the_laplacian(kind, method):
    W = weighted()
    L, nodes = matrix(W, kind), np.arange(len(W))
    identity = np.eye(len(W))
    options = {"laplacian": kind, "method": method}
    for kernel, expected in (
        (Diffusion(W, 0.7, **options), scipy.linalg.expm(-0.7 * L)),
        (RegularizedLaplacian(W, 0.3, **options), np.linalg.inv(L + 0.3 * identity)),
        (PStepWalk(W, 3, 20.0, **options), np.linalg.matrix_power(20.0 * identity - L, 3)),
        (LaplacianFunction(W, lambda xi: np.exp(-(xi**2)), **options), scipy.linalg.expm(-L @ L)),
    ):
        np.testing.assert_allclose(kernel(nodes), expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(kernel(nodes[:5], nodes[::-3]), expected[:5][:, ::-3], atol=1e-9)
        np.testing.assert_allclose(kernel.diag(kernel.pack(nodes)), np.diag(expected), rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_commute_time_is_the_pseudoinverse(method):
    W = weighted(seed=3)
    K = CommuteTime(W, method=method)(np.arange(len(W)))
    np.testing.assert_allclose(K, np.linalg.pinv(matrix(W, "plain"), rcond=1e-10), atol=1e-10)


def test_distances_are_the_times_that_a_walk_takes_there_and_back():
    G, _ = karate()
    W = nx.to_numpy_array(G)
    P = W / W.sum(axis=1, keepdims=True)
    mean = np.zeros_like(W)  # of the steps from i to j, by first-step analysis
    for j in range(len(W)):
        rest = np.arange(len(W)) != j
        mean[rest, j] = np.linalg.solve(np.eye(len(W) - 1) - P[np.ix_(rest, rest)], np.ones(len(W) - 1))
    squares = CommuteTime(G).distance(list(G)) ** 2
    np.testing.assert_allclose(squares * W.sum(), mean + mean.T, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_diffusion_is_a_semigroup_and_loses_nothing(method):
    G, _ = karate()
    one, two, three = (Diffusion(G, t, method=method)(list(G)) for t in (0.1, 0.2, 0.3))
    np.testing.assert_allclose(one @ two, three, atol=1e-13)
    np.testing.assert_allclose(three.sum(axis=1), 1.0)
    assert (three > 0.0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", [Diffusion, RegularizedLaplacian])
def test_the_laws_of_kernels(kernel, method):
    G, _ = karate()
    check_kernel(kernel(G, 0.4, method=method), list(range(0, 34, 3)))
    check_kernel(kernel([(0, 1), (1, 2), (2, 3)], 0.4, laplacian="normalized", method=method), [0, 1, 2, 3, 1])


@pytest.mark.parametrize("method", METHODS)
def test_the_laws_of_kernels_without_free_parameters(method):
    G, _ = karate()
    for kernel in (PStepWalk(G, 3, method=method), CommuteTime(G, method=method)):
        check_kernel(kernel, list(range(0, 34, 3)))
    check_kernel(LaplacianFunction(G, lambda xi: 1.0 / (1.0 + xi) ** 2, method=method), [0, 5, 9, 5])


@pytest.mark.parametrize("method", METHODS)
def test_a_shift_below_the_largest_eigenvalue_is_refused(method):
    G, _ = karate()
    largest = np.linalg.eigvalsh(nx.laplacian_matrix(G).toarray())[-1]
    with pytest.raises(ParameterError, match=rf"shift=10.*{largest:.6g}"):
        PStepWalk(G, 2, shift=10.0, laplacian="plain", method=method)([0, 1])
    K = PStepWalk(G, 3, shift=largest, laplacian="plain", method=method)(list(G))
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * K.max()
    big = nx.barabasi_albert_graph(150, 2, seed=0)
    with pytest.raises(ParameterError, match="largest eigenvalue"):
        PStepWalk(big, 1, shift=3.0, laplacian="plain", method=method)([0])


@pytest.mark.parametrize("method", METHODS)
def test_functions_that_increase_or_are_negative_are_refused(method):
    for function in (lambda xi: xi, lambda xi: 1.0 - xi, lambda xi: np.inf / xi, lambda xi: 1.0):
        with pytest.raises(ParameterError, match="decreasing"), np.errstate(all="ignore"):
            LaplacianFunction([(0, 1), (1, 2)], function, method=method)([0, 1, 2])
    with pytest.raises(ParameterError, match="function of an array"):
        LaplacianFunction([(0, 1)], 3.0)([0])


def test_a_corner_is_for_eigenvalues_only():
    def corner(xi):
        return np.maximum(1.0 - xi, 0.0)

    with pytest.raises(CapabilityError, match="spectrum"):
        LaplacianFunction([(0, 1), (1, 2)], corner, method="columns")([0, 1])
    K = LaplacianFunction([(0, 1), (1, 2)], corner)([0, 1, 2])
    np.testing.assert_allclose(K, np.full((3, 3), 1 / 3), atol=1e-12)  # only the constant is left


@pytest.mark.parametrize("method", METHODS)
def test_directed_graphs_after_zhou(method):
    rng = np.random.default_rng(1)
    W = rng.random((8, 8)) * (rng.random((8, 8)) < 0.5)
    W[np.arange(8), (np.arange(8) + 1) % 8] = 1.0  # a ring: every node is reached
    P = W / W.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(P.T)
    pi = np.real(vectors[:, np.argmax(np.real(values))])
    pi /= pi.sum()
    root = np.sqrt(pi)
    theta = 0.5 * (root[:, None] * P / root + (root[:, None] * P / root).T)
    K = Diffusion(W, 0.5, laplacian="normalized", method=method)(np.arange(8))
    np.testing.assert_allclose(K, scipy.linalg.expm(-0.5 * (np.eye(8) - theta)), atol=1e-11)
    flow = 0.5 * 8 * (pi[:, None] * P + (pi[:, None] * P).T)
    K = RegularizedLaplacian(W, 0.5, method=method)(np.arange(8))
    np.testing.assert_allclose(K, np.linalg.inv(np.diag(flow.sum(axis=1)) - flow + 0.5 * np.eye(8)), atol=1e-11)


def test_a_walk_that_does_not_get_everywhere_has_to_jump():
    chain = nx.DiGraph([(0, 1), (1, 2)])
    with pytest.raises(DomainError, match="teleport"):
        Diffusion(chain)([0, 1])
    network = Network.of(chain, teleport=0.1)
    K = Diffusion(network)([0, 1, 2])
    assert np.linalg.eigvalsh(K)[0] > 0.0
    np.testing.assert_allclose(K, Diffusion(network, method="columns")([0, 1, 2]), atol=1e-12)
    np.testing.assert_allclose(K.sum(axis=1), 1.0)


def test_different_graphs_in_one_kernel_are_told_apart():
    """Two graphs that print alike."""
    one, two = sp.csr_array(weighted(seed=1) > 0), sp.csr_array(weighted(seed=1)[::-1, ::-1] > 0)
    k, m = (Diffusion(graph.astype(float)) for graph in (one, two))
    assert repr(k) == repr(m) and k != m
    nodes = np.arange(10)
    np.testing.assert_allclose((k + m)(nodes), k(nodes) + m(nodes))


def test_names_lead_through_learning():
    club, side = karate()
    G = nx.relabel_nodes(club, {i: f"member {i}" for i in club})
    names = list(G)
    model = SVC(Diffusion(G, 0.5)).fit([names[0], names[33], names[1], names[32]], [0, 1, 0, 1])
    assert (model.predict(names) == side).mean() > 0.9
    with pytest.raises(DomainError, match="not a node"):
        model.predict(["nobody"])


def test_a_process_finds_the_time():
    """Values drawn from a diffusion of time 2 on a grid, known at most of the nodes."""
    G = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 12))
    K = Diffusion(G, 2.0)(list(G))
    rng = np.random.default_rng(0)
    y = 10.0 * np.linalg.cholesky(K + 1e-12 * np.eye(144)) @ rng.standard_normal(144)
    model = GaussianProcessRegressor(1.0 * Diffusion(G, 0.3), noise=0.01).fit(np.arange(144), y)
    found = model.kernel_.get_params()
    time = next(value for name, value in found.items() if name.endswith("time"))
    assert 1.0 < time < 4.0


def test_weights_are_copies():
    G, side = karate()
    kernel = RegularizedLaplacian(G, 0.5)
    nodes, weight = np.array([0, 5, 33, 30]), np.array([1, 2, 0, 3])
    one = KernelRidge(kernel, alpha=0.1).fit(nodes, side[nodes], sample_weight=weight)
    two = KernelRidge(kernel, alpha=0.1).fit(np.repeat(nodes, weight), side[np.repeat(nodes, weight)])
    np.testing.assert_allclose(one.predict(list(G)), two.predict(list(G)), atol=1e-8)


# ------------------------------------------------------------------------------------------ bisection


@pytest.mark.parametrize("kind", ["plain", "normalized"])
def test_the_karate_club_is_cut_where_it_broke(kind):
    G, side = karate()
    found = spectral_bisection(G, kind)
    assert found.sides[0] == 0
    assert (found.sides != side).sum() <= 3
    if kind == "plain":
        np.testing.assert_allclose(found.connectivity, nx.algebraic_connectivity(G, tol=1e-10), rtol=1e-6)


def test_large_graphs_are_cut_by_a_sparse_solver():
    G = nx.stochastic_block_model([150, 250], [[0.1, 0.005], [0.005, 0.1]], seed=0)
    G = nx.convert_node_labels_to_integers(nx.Graph(G.edges))
    for kind, dense in (("plain", nx.laplacian_matrix(G)), ("normalized", nx.normalized_laplacian_matrix(G))):
        values, vectors = np.linalg.eigh(dense.toarray().astype(float))
        found = spectral_bisection(G, kind)
        np.testing.assert_allclose(found.connectivity, values[1], rtol=1e-8)
        vector = vectors[:, 1] * (1 if kind == "plain" else nx.to_numpy_array(G).sum(axis=1) ** -0.5)
        assert abs(np.corrcoef(found.vector, vector)[0, 1]) > 1 - 1e-9
        again = spectral_bisection(G, kind)
        np.testing.assert_array_equal(found.vector, again.vector)


def test_a_graph_in_two_parts_is_cut_between_them():
    found = spectral_bisection(nx.disjoint_union(nx.complete_graph(3), nx.path_graph(5)))
    np.testing.assert_array_equal(found.sides, [0, 0, 0, 1, 1, 1, 1, 1])
    assert found.connectivity == 0.0
    assert spectral_bisection(np.zeros((1, 1))).sides.tolist() == [0]
    with pytest.raises(ParameterError, match="laplacian"):
        spectral_bisection([(0, 1)], "none")

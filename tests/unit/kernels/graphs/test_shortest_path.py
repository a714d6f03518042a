"""Shortest paths against Floyd's algorithm and counters of Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge, load, save
from mercer.domains.structures.graphs import Graphs
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.kernels.graphs import shortest_path as module
from mercer.kernels.graphs.shortest_path import ShortestPath
from mercer.testing import check_kernel
from tests.naive.graphs import THREE, attributed_paths, gram, paths, random_graphs, with_attributes


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
    X = [g | {"attributes": [[i - 2.0, i * i % 5.0] for i in range(len(g["labels"]))]} for g in THREE]
    attributed = [[4698.0, 3804.0, 3656.0], [3804.0, 10264.0, 2824.0], [3656.0, 2824.0, 3810.0]]
    np.testing.assert_array_equal(ShortestPath(labels=False, attributes=Linear())(X), attributed)


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


# ---------------------------------------------------------------------------------------- attributes


def gaussian(x, z, scale=1.3):
    return np.exp(-np.sum((x - z) ** 2) / (2.0 * scale**2))


@given(seed=st.integers(0, 10**6), labels=st.booleans(), weights=st.booleans())
def test_attributes_are_compared_at_both_ends(seed, labels, weights):
    X = with_attributes(random_graphs(seed, count=4, nodes=5, directed=True), seed)
    Y = with_attributes(random_graphs(seed + 1, count=3, nodes=5, words=("O", "C"), directed=True), seed + 1)
    kernel = ShortestPath(labels, weights, Gaussian(1.3))
    for left, right, K in ((X, X, kernel(X)), (X, Y, kernel(X, Y))):
        expected = [[attributed_paths(g, h, gaussian, labels, weights) for h in right] for g in left]
        np.testing.assert_allclose(K, expected, rtol=1e-10, atol=1e-12)


def test_attributes_that_are_all_alike_leave_the_counts():
    X = [g | {"attributes": np.ones((len(g["labels"]), 1))} for g in random_graphs(3, count=6, directed=True)]
    np.testing.assert_allclose(ShortestPath(attributes=Linear())(X), ShortestPath()(X), rtol=1e-13)


@pytest.mark.parametrize("base", [Gaussian(0.8), 0.5 * Gaussian(2.0) + Linear().on([0])])
def test_the_laws_hold_with_attributes(base):
    check_kernel(ShortestPath(attributes=base), with_attributes(random_graphs(4, count=8, directed=True), 0))


def test_tiles_and_threads_change_nothing(monkeypatch):
    X = with_attributes(random_graphs(7, count=12), 1)
    kernel = ShortestPath(attributes=Gaussian(1.0))
    whole = kernel(X, n_threads=1)
    monkeypatch.setattr(module, "_WORK", 3000.0)
    np.testing.assert_allclose(kernel(X), whole, rtol=1e-13)


def test_the_derivative_in_the_length_scale():
    X = with_attributes(random_graphs(5, count=5, directed=True), 2)
    Y = with_attributes(random_graphs(6, count=4), 3)
    W = np.random.default_rng(0).normal(size=(5, 4))
    step = 1e-5
    up, down = (np.sum(W * ShortestPath(attributes=Gaussian(1.1 + s))(X, Y)) for s in (step, -step))
    kernel = ShortestPath(attributes=Gaussian(1.1))
    found = kernel.pullback(kernel.pack(X), kernel.pack(Y), W)
    np.testing.assert_allclose(found, [(up - down) / (2.0 * step)], rtol=1e-7)
    assert kernel.capabilities == {"pullback"} and ShortestPath().capabilities == {"features"}


def test_a_scale_is_learned_from_all_nodes():
    X = Graphs.pack(with_attributes(random_graphs(5, count=6), 2))
    learned = ShortestPath(attributes=Gaussian("median")).learn(X)
    assert learned.attributes == Gaussian("median").learn(Gaussian("median").pack(X.attributes))


def test_models_with_attributes_are_stored_and_read(tmp_path):
    X = with_attributes(random_graphs(8, count=10), 4)
    y = np.arange(10.0)
    model = KernelRidge(ShortestPath(attributes=Gaussian(1.0)), alpha=0.1).fit(X[:8], y[:8])
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert again.kernel_ == model.kernel_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_attributes_that_cannot_be_compared_are_refused():
    kernel = ShortestPath(attributes=Gaussian(1.0))
    with pytest.raises(DomainError, match=r"no attributes.*attributes=None"):
        kernel([{"edges": [(0, 1)]}])
    with pytest.raises(ParameterError, match=r"a kernel on Strings.*Gaussian\(1.0\)"):
        ShortestPath(attributes=Spectrum(2))([{"edges": [(0, 1)]}])
    with pytest.raises(DomainError, match="columns"):
        kernel(with_attributes([THREE[0]], 0, 2), with_attributes([THREE[0]], 0, 3))
    with pytest.raises(CapabilityError, match="feature map"):
        kernel.features(Graphs.pack(with_attributes(THREE, 0)))
    assert not kernel([{"edges": [], "nodes": 0}]).any()

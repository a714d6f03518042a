"""Refined labels against nested tuples, which are never numbered."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge, load, save
from mercer.domains import Graphs
from mercer.errors import DomainError, ModelError, ParameterError
from mercer.gram import Features
from mercer.kernels import Gaussian, Match, NegativeDistance
from mercer.kernels.graphs import weisfeiler_lehman as module
from mercer.kernels.graphs.graph_histograms import EdgeHistogram, VertexHistogram
from mercer.kernels.graphs.shortest_path import ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import Colours, WeisfeilerLehman
from mercer.testing import check_kernel
from tests.naive.graphs import THREE, edges, gram, paths, random_graphs, vertices, weisfeiler_lehman
from tests.unit.kernels.graphs.test_assignment import agreements, plain_graphs

BASES = {"nodes": (None, vertices), "edges": (EdgeHistogram(), edges), "paths": (ShortestPath(), paths)}


@given(seed=st.integers(0, 10**6), base=st.sampled_from(sorted(BASES)), iterations=st.integers(0, 3))
def test_refined_labels_are_those_of_the_definition(seed, base, iterations):
    kernel, count = BASES[base]
    X, Y = random_graphs(seed, directed=True), random_graphs(seed + 1, words=("O", "C", "N"), directed=True)
    wl = WeisfeilerLehman(iterations, kernel)
    np.testing.assert_array_equal(wl(X), gram(weisfeiler_lehman, X, X, iterations, count))
    np.testing.assert_array_equal(wl(X, Y), gram(weisfeiler_lehman, X, Y, iterations, count))


def test_the_matrices_of_grakel():
    subtrees = [[34.0, 20.0, 12.0], [20.0, 33.0, 14.0], [12.0, 14.0, 21.0]]
    np.testing.assert_array_equal(WeisfeilerLehman(2)(THREE), subtrees)
    refined_paths = [[140.0, 100.0, 36.0], [100.0, 200.0, 74.0], [36.0, 74.0, 78.0]]
    np.testing.assert_array_equal(WeisfeilerLehman(1, ShortestPath())(THREE), refined_paths)


@pytest.mark.parametrize("base", sorted(BASES))
def test_the_laws_hold(base):
    check_kernel(WeisfeilerLehman(2, BASES[base][0]), random_graphs(4, count=8, directed=True))


def test_no_iteration_is_the_base():
    X = random_graphs(1, count=8)
    np.testing.assert_array_equal(WeisfeilerLehman(0)(X), VertexHistogram()(X))


def test_graphs_that_refinement_cannot_tell_apart():
    """Two triangles and a ring of six are both regular: Weisfeiler and Leman's example."""
    ring = {"edges": [(i, (i + 1) % 6) for i in range(6)]}
    triangles = {"edges": [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]}
    assert np.ptp(WeisfeilerLehman(6)([ring, triangles])) == 0.0
    assert np.ptp(WeisfeilerLehman(1, ShortestPath())([ring, triangles])) > 0.0


def test_the_order_of_nodes_does_not_matter():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((40, 40)) < 0.6, 1).astype(float)  # more neighbours than are sorted by insertion
    A, labels, order = A + A.T, rng.integers(0, 3, 40), rng.permutation(40)
    K = WeisfeilerLehman(3)([(A, labels), (A[np.ix_(order, order)], labels[order])])
    assert np.ptp(K) == 0.0


def test_features_serve_new_graphs():
    X, Y = random_graphs(1, count=9), random_graphs(2, words=("O", "P"))
    kernel = WeisfeilerLehman(2)
    F, keys = kernel.features(kernel.pack(X))
    G, same = kernel.features(kernel.pack(Y), keys)
    assert same is keys and len(keys) == F.shape[1] == kernel.feature_count(kernel.pack(X))
    np.testing.assert_array_equal((G @ F.T).toarray(), kernel(Y, X))
    assert {keys.symbols(i)[0] for i in range(len(keys))} == {0, 1, 2}
    assert {keys.symbols(i)[1] for i in range(len(keys)) if keys.symbols(i)[0] == 0} <= {"C", "O", 7, None}


def test_a_slice_shares_what_was_counted():
    kernel = WeisfeilerLehman(2)
    X = random_graphs(1, count=9)
    S = kernel.prepare(kernel.pack(X))
    assert kernel.prepare(S[3:]) is not S and kernel.key in S[3:].derived
    np.testing.assert_array_equal(kernel(S[3:], S[:3]), kernel(X)[3:, :3])


@pytest.mark.parametrize("options", [{}, {"gram": Features()}])
def test_models_are_stored_and_read(tmp_path, options):
    X, new = random_graphs(1, count=12), random_graphs(2)
    model = KernelRidge(WeisfeilerLehman(2), alpha=0.1, **options).fit(X, np.arange(12.0))
    save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(load(tmp_path / "model.mercer").predict(new), model.predict(new))


def test_damaged_colours_are_refused():
    kernel = WeisfeilerLehman(1)
    keys = kernel.features(kernel.pack(random_graphs(1, count=9)))[1]
    keys.check()
    for table in (keys.tables[1] + 99, keys.tables[1].astype(float), keys.tables[1][:, :0]):
        with pytest.raises(ModelError, match="Save the model again"):
            Colours(keys.kinds, keys.vocabulary, keys.edge_vocabulary, keys.levels, (keys.tables[0], table)).check()


def test_parameters_are_checked():
    with pytest.raises(ParameterError, match="iterations"):
        WeisfeilerLehman(-1).check()
    with pytest.raises(ParameterError, match="base"):
        WeisfeilerLehman(1, WeisfeilerLehman(1)).check()
    with pytest.raises(ParameterError, match="compares attributes"):
        WeisfeilerLehman(1, ShortestPath(attributes=Gaussian(1.0))).check()


# attributes ---------------------------------------------------------------------------------------------


ATTRIBUTED = plain_graphs(2, count=6)


@pytest.mark.parametrize("h", [0, 2])
def test_attributes_count_where_refined_labels_agree(h):
    S = Graphs.pack(ATTRIBUTED)
    k = WeisfeilerLehman(h, attributes=Gaussian(1.3))
    expected = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            alike = Gaussian(1.3)(np.array(ATTRIBUTED[i]["attributes"]), np.array(ATTRIBUTED[j]["attributes"]))
            expected[i, j] = (agreements(S, i, j, h) * alike).sum()
    np.testing.assert_allclose(k(ATTRIBUTED), expected, rtol=1e-12)
    np.testing.assert_allclose(k(ATTRIBUTED[:2], ATTRIBUTED[2:]), expected[:2, 2:], rtol=1e-12)


def test_attributes_obey_the_laws():
    empty = {"edges": [], "labels": [], "attributes": np.empty((0, 2))}
    check_kernel(WeisfeilerLehman(2, attributes=Gaussian(0.8)), [*ATTRIBUTED, empty])
    assert WeisfeilerLehman(2, attributes=NegativeDistance()).order is None


def test_equal_attributes_give_the_kernel_without():
    same = [{**graph, "attributes": np.ones((len(graph["labels"]), 2)).tolist()} for graph in ATTRIBUTED]
    np.testing.assert_allclose(WeisfeilerLehman(2, attributes=Gaussian(1.0))(same), WeisfeilerLehman(2)(same))


def test_attributes_need_a_kernel_on_vectors_and_no_base():
    for wrong in (WeisfeilerLehman(1, EdgeHistogram(), Gaussian(1.0)), WeisfeilerLehman(1, attributes=Match())):
        with pytest.raises(ParameterError, match="attributes"):
            wrong.check()
    with pytest.raises(DomainError, match="no attributes"):
        WeisfeilerLehman(1, attributes=Gaussian(1.0))([{"edges": [(0, 1)], "labels": "ab"}])


@pytest.mark.parametrize("count", [0, 1, 2, 31, 32, 33, 34, 200])
def test_colours_of_neighbours_are_sorted(count):
    rng = np.random.default_rng(count)
    codes = rng.integers(0, 50, count + 6)
    for sort in (module._sort, module._sort.py_func):
        found = codes.copy()
        sort(found, 4, 4 + count)
        np.testing.assert_array_equal(found, np.concatenate([codes[:4], np.sort(codes[4:-2]), codes[-2:]]))

"""Neighbours in feature space against all pairs, and against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import DomainError
from mercer.estimators.neighbours import affinities, find_neighbours, neighbours_of
from mercer.kernels import Exponential, Gaussian, Linear, Matern, Polynomial, Precomputed, RationalQuadratic, Spectrum
from mercer.runtime.tiling import Stopped

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)) + 2.0


def naive(kernel, data, k):
    squares = kernel.distance(data) ** 2
    np.fill_diagonal(squares, np.inf)
    index = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return index, np.sqrt(np.take_along_axis(squares, index, axis=1))


KERNELS = [
    Linear(), Gaussian(1.5), Gaussian((1.0, 3.0, 0.2)), Matern(1.5, 2.0), Exponential(0.5), RationalQuadratic(2.0, 1.0),
    Polynomial(2), 2.0 * Gaussian(0.7), Gaussian(1.0) + Linear(),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_neighbours_are_the_nearest_of_all_pairs(kernel):
    near = find_neighbours(kernel, kernel.pack(X), 5)
    index, distances = naive(kernel, X, 5)
    np.testing.assert_array_equal(near.index, index)
    np.testing.assert_allclose(near.distances, distances, atol=1e-6)
    np.testing.assert_allclose(near.values, np.take_along_axis(kernel(X), index, axis=1), rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS[:3] + KERNELS[6:7], ids=repr)
def test_neighbours_of_others_are_the_nearest_of_all(kernel):
    near = neighbours_of(kernel, kernel.pack(X[50:]), kernel.pack(X[:50]), 5)
    squares = kernel.distance(X)[50:, :50] ** 2
    np.testing.assert_array_equal(near.index, np.argsort(squares, axis=1)[:, :5])
    np.testing.assert_allclose(near.distances, np.sqrt(np.sort(squares, axis=1)[:, :5]), atol=1e-6)
    np.testing.assert_allclose(near.values, np.take_along_axis(kernel(X[50:], X[:50]), near.index, axis=1))
    with pytest.raises(Stopped):
        neighbours_of(kernel, kernel.pack(X[50:]), kernel.pack(X[:50]), 5, Resources(monitor=lambda done: True))


def test_other_domains_and_sparse_samples():
    words = ["abab", "abba", "baba", "zzz", "zzab", "bbbb"]
    near = find_neighbours(Spectrum(2), Spectrum(2).pack(words), 2)
    np.testing.assert_allclose(near.distances, naive(Spectrum(2), words, 2)[1], atol=1e-7)
    K = Gaussian(1.0)(X)
    given = find_neighbours(Precomputed(), Precomputed().pack(K), 4)
    np.testing.assert_array_equal(given.index, find_neighbours(Gaussian(1.0), Vectors.pack(X), 4).index)
    np.testing.assert_array_equal(
        find_neighbours(Linear(), Vectors.pack(sp.csr_array(X)), 4).index, naive(Linear(), X, 4)[0]
    )


def test_copies_are_neighbours_and_a_sample_is_not_its_own():
    twice = np.concatenate([X[:10], X[:10], X[:10]])
    near = find_neighbours(Linear(), Vectors.pack(twice), 2)
    assert np.all(near.distances < 1e-7) and not np.any(near.index == np.arange(30)[:, None])
    assert find_neighbours(Linear(), Vectors.pack(X[:4]), 10).index.shape == (4, 3)  # no more than there are


def test_the_graph_is_tied_both_ways():
    near = find_neighbours(Gaussian(1.0), Vectors.pack(X), 4)
    theirs = NearestNeighbors(n_neighbors=4).fit(X).kneighbors_graph().toarray()
    np.testing.assert_array_equal(affinities(near, "one").toarray(), np.maximum(theirs, theirs.T))
    np.testing.assert_allclose(
        affinities(near, "kernel").toarray(), np.maximum(theirs, theirs.T) * Gaussian(1.0)(X), rtol=1e-9
    )


def test_errors_tell_what_to_do():
    with pytest.raises(DomainError, match="n_samples=1"):
        find_neighbours(Linear(), Vectors.pack(X[:1]), 2)
    with pytest.raises(DomainError, match="negative"):
        affinities(find_neighbours(Linear(), Vectors.pack(X - 2.0), 50), "kernel")
    with pytest.raises(DomainError, match="wider kernel"):
        affinities(find_neighbours(Gaussian(1e-3), Vectors.pack(X), 3), "kernel")
    many, one = rng.normal(size=(3000, 1)), Resources(n_threads=1, monitor=lambda fraction: True)
    for kernel, data in ((Linear(), many), (Polynomial(2), X), (Linear(), np.tile(X, 10))):
        with pytest.raises(Stopped):
            find_neighbours(kernel, Vectors.pack(data), 3, one)


def test_ties_that_both_find_count_twice_as_much():
    C = NearestNeighbors(n_neighbors=4).fit(X).kneighbors_graph()  # without the samples themselves
    A = affinities(find_neighbours(Linear(), Vectors.pack(X), 4), "half")
    np.testing.assert_array_equal(A.toarray(), (0.5 * (C + C.T)).toarray())


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(3), Matern(1.5)])
@pytest.mark.parametrize("form", [np.array, sp.csr_array, np.float32], ids=["dense", "sparse", "float32"])
def test_a_sample_is_at_no_distance_from_itself_in_any_form(kernel, form):
    near = neighbours_of(kernel, Vectors.pack(form(X)), Vectors.pack(X), 2)
    np.testing.assert_array_equal(near.index[:, 0], np.arange(len(X)))
    assert not near.distances[:, 0].any() and near.distances[:, 1].all()

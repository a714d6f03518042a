"""Laplacian eigenmaps and diffusion maps against scikit-learn, dense eigenvectors and random walks."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.manifold import SpectralEmbedding
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError
from mercer.estimators.geometry.manifolds import DiffusionMap, LaplacianEigenmap
from mercer.estimators.neighbours import affinities, find_neighbours
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 3)) * [3.0, 1.0, 0.5]
T = rng.normal(size=(8, 3))
WORDS = ["abab", "abba", "baba", "zzab", "zbab", "bbbb", "aabb", "abzz"]


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([LaplacianEigenmap(n_neighbors=None)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Laplacian eigenmap ------------------------------------------------------------------------------------


def test_the_embedding_is_that_of_scikit_learn():
    model = LaplacianEigenmap(n_neighbors=7).fit(X)
    theirs = SpectralEmbedding(2, affinity="precomputed").fit_transform(model.affinity_.toarray())
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(theirs), atol=1e-8)


@pytest.mark.parametrize("solver", ["dense", "factor", "filter"])
@pytest.mark.parametrize("weights", ["one", "kernel"])
def test_it_solves_the_sparse_problem(solver, weights):
    model = LaplacianEigenmap(Gaussian(2.0), 3, n_neighbors=6, weights=weights, eigen_solver=solver).fit(X)
    A = model.affinity_.toarray()
    D = np.diag(A.sum(axis=1))
    np.testing.assert_allclose(model.eigenvalues_, scipy.linalg.eigh(D - A, D)[0][1:4], atol=1e-9)
    np.testing.assert_allclose((D - A) @ model.embedding_, D @ model.embedding_ * model.eigenvalues_, atol=1e-6)
    np.testing.assert_allclose(model.embedding_.T @ D @ model.embedding_, np.eye(3), atol=1e-8)
    assert model.solver_ == solver and model.residual_ < 1e-8


@pytest.mark.parametrize("gram", [None, Tiles()])
def test_all_pairs_are_the_dense_problem(gram):
    model = LaplacianEigenmap(Gaussian(2.0), 3, n_neighbors=None, gram=gram).fit(X)
    K = Gaussian(2.0)(X)
    D = np.diag(K.sum(axis=1))
    values, vectors = scipy.linalg.eigh(D - K, D)
    np.testing.assert_allclose(model.eigenvalues_, values[1:4], rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(vectors[:, 1:4]), atol=1e-7)


def test_many_samples_by_products_are_the_dense_problem():
    many = rng.normal(size=(560, 2))
    model = LaplacianEigenmap(Gaussian(0.8), 2, n_neighbors=None).fit(many)
    K = Gaussian(0.8)(many)
    values = scipy.linalg.eigh(np.diag(K.sum(axis=1)) - K, np.diag(K.sum(axis=1)), subset_by_index=[1, 2])[0]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    with pytest.warns(UserWarning, match="stopped at residual"):
        LaplacianEigenmap(Gaussian(0.3), 2, n_neighbors=None, max_iter=1).fit(many)


def test_precomputed_similarities_and_strings():
    a = LaplacianEigenmap("precomputed", n_neighbors=5).fit(Gaussian(1.0)(X))
    b = LaplacianEigenmap(Gaussian(1.0), n_neighbors=5).fit(X)
    np.testing.assert_allclose(a.embedding_, b.embedding_, atol=1e-8)
    assert LaplacianEigenmap(Spectrum(2), 1, n_neighbors=3).fit_transform(WORDS).shape == (8, 1)


def test_parts_are_told_of_and_few_samples_refused():
    with pytest.warns(DegenerateWarning, match="2 parts"):
        model = LaplacianEigenmap(n_neighbors=3, n_components=1).fit(np.concatenate([X[:20], X[:20] + 100.0]))
    assert model.eigenvalues_[0] == 0.0 and np.ptp(model.embedding_[:20]) < 1e-12
    with pytest.raises(DomainError, match="n_samples=1"):
        LaplacianEigenmap().fit(X[:1])
    with pytest.raises(ParameterError, match="n_neighbors"):
        LaplacianEigenmap(n_neighbors=0).fit(X)
    assert LaplacianEigenmap().memory_plan(100_000, 3).total < 400e6


# diffusion map -----------------------------------------------------------------------------------------


def chain(K, alpha):
    q = K.sum(axis=1)
    A = K / np.outer(q, q) ** alpha
    return A / A.sum(axis=1, keepdims=True), A.sum(axis=1) / A.sum()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("time", [1, 3])
def test_distances_are_those_of_random_walks(alpha, time):
    model = DiffusionMap(Gaussian(1.5), 69, alpha=alpha, time=time).fit(X)
    P, pi = chain(Gaussian(1.5)(X), alpha)
    walks = np.linalg.matrix_power(P, time)
    np.testing.assert_allclose(model.stationary_, pi, rtol=1e-10)
    for i, j in ((0, 1), (5, 60), (33, 12)):
        expected = np.sum((walks[i] - walks[j]) ** 2 / pi)
        assert np.sum((model.embedding_[i] - model.embedding_[j]) ** 2) == pytest.approx(expected, rel=1e-7)


def test_functions_are_eigenvectors_of_the_chain():
    model = DiffusionMap(Gaussian(1.5), 3, alpha=1.0, time=0).fit(X)
    P, pi = chain(Gaussian(1.5)(X), 1.0)
    np.testing.assert_allclose(P @ model.embedding_, model.embedding_ * model.eigenvalues_, atol=1e-10)
    np.testing.assert_allclose(model.embedding_.T @ (pi[:, None] * model.embedding_), np.eye(3), atol=1e-9)
    half = DiffusionMap(Gaussian(1.5), 3, alpha=1.0, time=0.5).fit(X)
    np.testing.assert_allclose(half.embedding_, model.embedding_ * np.sqrt(model.eigenvalues_), atol=1e-9)


@pytest.mark.parametrize("gram", [None, Tiles(), Nystrom(70)])
def test_new_samples_are_means_of_where_a_step_leads(gram):
    kernel = Gaussian(2.0)
    model = DiffusionMap(kernel, 2, time=2, gram=gram).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-7)
    step = kernel(T, X) / np.sqrt(kernel(X).sum(axis=1))
    step /= step.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(T), step @ model.embedding_ / model.eigenvalues_, atol=1e-6)


def test_weights_are_repetitions():
    w = rng.integers(0, 4, size=70)
    again = np.repeat(np.arange(70), w)
    a = DiffusionMap(Gaussian(2.0), 3).fit(X, sample_weight=w)
    b = DiffusionMap(Gaussian(2.0), 3).fit(X[again])
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(a.transform(T), b.transform(T), atol=1e-8)
    np.testing.assert_allclose(a.embedding_, b.transform(X), atol=1e-8)  # those of weight zero too
    assert np.all(a.stationary_[w == 0] == 0.0)


def test_a_graph_of_neighbours_is_the_same_walk_on_fewer_edges():
    all_of_them = DiffusionMap(Gaussian(2.0), 2, n_neighbors=69).fit(X)
    np.testing.assert_allclose(all_of_them.embedding_, DiffusionMap(Gaussian(2.0), 2).fit(X).embedding_, atol=1e-8)
    few = DiffusionMap(Gaussian(2.0), 2, n_neighbors=5).fit(X)
    assert few.embedding_.shape == (70, 2)
    many = rng.normal(size=(800, 2))
    sparse = DiffusionMap(Gaussian(1.0), 3, n_neighbors=20, alpha=1.0, time=0).fit(many)
    A = affinities(find_neighbours(Gaussian(1.0), Vectors.pack(many), 20), "kernel").toarray() + np.eye(800)
    P, pi = chain(A, 1.0)
    np.testing.assert_allclose(P @ sparse.embedding_, sparse.embedding_ * sparse.eigenvalues_, atol=1e-6)
    np.testing.assert_allclose(sparse.embedding_.T @ (pi[:, None] * sparse.embedding_), np.eye(3), atol=1e-8)
    assert sparse.eigenvalues_ == pytest.approx(np.sort(np.linalg.eigvals(P).real)[::-1][1:4], rel=1e-9)
    with pytest.warns(DegenerateWarning, match="2 parts"):
        DiffusionMap(Gaussian(2.0), n_neighbors=3).fit(np.concatenate([X[:20], X[:20] + 100.0]))
    with pytest.raises(CapabilityError, match="n_neighbors=None"):
        few.transform(T)


def test_samples_of_weight_zero_are_placed_among_their_neighbours():
    w = np.where(np.arange(70) % 9 == 4, 0.0, 1.0)
    rest, kept = np.flatnonzero(w == 0.0), np.flatnonzero(w)
    every = DiffusionMap(Gaussian(2.0), 2, n_neighbors=69).fit(X, sample_weight=w)
    pairs = DiffusionMap(Gaussian(2.0), 2).fit(X, sample_weight=w)
    np.testing.assert_allclose(every.embedding_, pairs.embedding_, atol=1e-8)
    few = DiffusionMap(Gaussian(2.0), 2, n_neighbors=6, time=2).fit(X, sample_weight=w)
    alone = DiffusionMap(Gaussian(2.0), 2, n_neighbors=6, time=2).fit(X[kept])
    np.testing.assert_allclose(few.embedding_[kept], alone.embedding_, atol=1e-8)
    near = np.linalg.norm(X[rest][:, None] - X[kept], axis=2)
    for place, far in zip(rest, near, strict=True):
        low, high = (f(few.embedding_[kept][np.argsort(far)[:6]], axis=0) for f in (np.min, np.max))
        inside = few.embedding_[place] * few.eigenvalues_  # a mean of theirs, over lambda
        assert np.all((low - 1e-9 <= inside) & (inside <= high + 1e-9))
        assert np.any(few.embedding_[place] != 0.0)


def test_negative_affinities_are_refused_and_strings_are_placed():
    with pytest.raises(DomainError, match="negative values"):
        DiffusionMap(Linear()).fit(X)
    assert DiffusionMap(Spectrum(1), 2).fit(WORDS).transform(["ab"]).shape == (1, 2)


def test_sparse_affinities_are_a_graph():
    """Of neighbours they are those that are found here; a walk on them is that on the dense matrix."""
    points = np.random.default_rng(0).normal(size=(120, 2))
    G = kneighbors_graph(points, 10)
    G = sp.csr_array(G.maximum(G.T))
    one, other = LaplacianEigenmap("precomputed").fit(G), LaplacianEigenmap(n_neighbors=10).fit(points)
    np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-9)
    w = np.r_[0.0, 0.0, np.linspace(0.5, 2.0, 118)]
    A = G + sp.eye_array(120)
    one, other = (DiffusionMap("precomputed").fit(M, sample_weight=w) for M in (A, A.toarray()))
    np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-8)
    with pytest.raises(DomainError, match="not symmetric"):
        LaplacianEigenmap("precomputed").fit(sp.csr_array(sp.triu(G)))


@pytest.mark.parametrize("neighbours", [None, 2])
def test_an_empty_text_is_named(neighbours):
    texts = ["abc", "bcd", "", "cda", "dab"]
    with pytest.raises(DomainError, match=r"sample 2 .*empty text.* [Ll]eave"):
        DiffusionMap(Spectrum(1), 2, n_neighbors=neighbours).fit(texts)

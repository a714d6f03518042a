"""Manifold kernels against scikit-learn's maps, and unfolding against its optimality."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import Isomap, LocallyLinearEmbedding
from sklearn.neighbors import NearestNeighbors

import mercer
from mercer.errors import DomainError, ParameterError
from mercer.estimators.geometry.unfolding import hessian_kernel, isomap_kernel, locally_linear_kernel
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian, Polynomial, Spectrum

rng = np.random.default_rng(0)
u, v = rng.uniform(size=(2, 150))
ROLL = np.column_stack([(1 + 3 * u) * np.cos(4 * u), 2 * v, (1 + 3 * u) * np.sin(4 * u)])


def leading(K, q):
    values, vectors = np.linalg.eigh(K)
    return values[::-1][:q], vectors[:, ::-1][:, :q]


def check_centred(K):
    np.testing.assert_array_equal(K, K.T)
    assert np.abs(K.sum(axis=0)).max() < 1e-7 * np.abs(K).max() * len(K)


@pytest.mark.parametrize("k", [6, 15])
def test_isomap_is_that_of_scikit_learn(k):
    K = isomap_kernel(ROLL, k)
    check_centred(K)
    values, vectors = leading(K, 2)
    theirs = Isomap(n_neighbors=k, n_components=2, eigen_solver="dense").fit_transform(ROLL)
    np.testing.assert_allclose(np.abs(vectors * np.sqrt(values)), np.abs(theirs), atol=1e-7)
    scores = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(K)
    np.testing.assert_allclose(np.abs(scores), np.abs(theirs), atol=1e-7)


def test_isomap_through_our_own_components_is_that_of_scikit_learn():
    model = mercer.KernelPCA("precomputed", 2, gram=Dense(indefinite="clip"))
    theirs = Isomap(n_neighbors=8, n_components=2, eigen_solver="dense").fit_transform(ROLL)
    np.testing.assert_allclose(np.abs(model.fit_transform(isomap_kernel(ROLL, 8))), np.abs(theirs), atol=1e-7)


def test_isomap_of_a_chain_is_its_length():
    x = np.cumsum(rng.uniform(0.1, 1.0, size=30))
    K = isomap_kernel(x[:, None], 2)
    np.testing.assert_allclose(K, np.outer(x - x.mean(), x - x.mean()), atol=1e-9)
    copies = isomap_kernel(np.repeat(x, 2)[:, None], 4)  # edges of length zero
    np.testing.assert_allclose(copies[::2, 1::2], K, atol=1e-9)
    with pytest.raises(DomainError, match="2 parts"):
        isomap_kernel(np.concatenate([x, x + 1000.0])[:, None], 3)


@pytest.mark.parametrize("k", [8, 14])
def test_locally_linear_embedding_is_that_of_scikit_learn(k):
    K = locally_linear_kernel(ROLL, k)
    check_centred(K)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.abs(K).max()
    model = LocallyLinearEmbedding(n_neighbors=k, n_components=2, eigen_solver="dense").fit(ROLL)
    assert np.abs(np.abs(leading(K, 2)[1]) - np.abs(model.embedding_)).max() < 1e-5


def test_the_hessian_form_is_the_one_of_its_definition():
    K = hessian_kernel(ROLL, 12)
    check_centred(K)
    near = NearestNeighbors(n_neighbors=13).fit(ROLL).kneighbors(ROLL, return_distance=False)[:, 1:]
    M = np.zeros((150, 150))
    for who in near:
        U = np.linalg.svd(ROLL[who] - ROLL[who].mean(axis=0))[0][:, :2]
        flat = np.column_stack([np.ones(12), U])
        products = np.column_stack([U[:, 0] ** 2, U[:, 0] * U[:, 1], U[:, 1] ** 2])
        products -= flat @ np.linalg.lstsq(flat, products, rcond=None)[0]
        M[np.ix_(who, who)] += products @ np.linalg.pinv(products)
    values, vectors = np.linalg.eigh(M)
    np.testing.assert_allclose(K, values[-1] * (np.eye(150) - 1 / 150) - M, atol=1e-10)
    assert np.linalg.svd(leading(K, 2)[1].T @ vectors[:, 1:3])[1].min() > 1 - 1e-8  # the same plane
    # scikit-learn's form takes in all that is not linear; on a smooth surface the plane is nearly the same
    theirs = LocallyLinearEmbedding(n_neighbors=12, n_components=2, method="hessian", eigen_solver="dense").fit(ROLL)
    assert np.linalg.svd(leading(K, 2)[1].T @ theirs.embedding_)[1].min() > 1 - 1e-4
    with pytest.raises(ParameterError, match="= 5 neighbours"):
        hessian_kernel(ROLL, 5)


def test_where_the_hessian_form_differs_from_that_of_scikit_learn():
    """Theirs is the alignment of local tangent spaces; it is the Hessian's where products fill what is left."""

    def plane(method, k):
        model = LocallyLinearEmbedding(n_neighbors=k, n_components=2, method=method, eigen_solver="dense")
        return np.linalg.qr(model.fit(ROLL).embedding_)[0]

    for k in (8, 12):
        assert np.linalg.svd(plane("hessian", k).T @ plane("ltsa", k))[1].min() > 1 - 1e-8
    ours = leading(hessian_kernel(ROLL, 6), 2)[1]
    assert np.linalg.svd(ours.T @ plane("hessian", 6))[1].min() > 1 - 1e-8


@pytest.mark.parametrize("n", [150, 700])
@pytest.mark.parametrize("function", [locally_linear_kernel, hessian_kernel])
def test_a_factor_is_that_of_the_whole_matrix(function, n):
    r = np.random.default_rng(1)
    along, across = r.uniform(size=(2, n))
    sheet = np.column_stack([(1 + 3 * along) * np.cos(4 * along), 2 * across, (1 + 3 * along) * np.sin(4 * along)])
    for kernel in (None, Gaussian(3.0)):
        K, F = function(sheet, 10, kernel=kernel), function(sheet, 10, kernel=kernel, factor=3)
        values, vectors = leading(K, 3)
        np.testing.assert_allclose(np.sum(F**2, axis=0), values, rtol=1e-7)
        np.testing.assert_allclose(np.abs(vectors.T @ F) / np.sqrt(values), np.eye(3), atol=1e-4)
        np.testing.assert_allclose(F.sum(axis=0), 0.0, atol=1e-7)
    scores = mercer.KernelPCA("precomputed", 3, eigen_solver="dense").fit_transform(K)
    np.testing.assert_allclose(np.abs(scores), np.abs(F), atol=1e-4)


def test_a_factor_spans_the_plane_of_scikit_learn():
    many = rng.uniform(size=(900, 2))
    roll = np.column_stack([(1 + 3 * many[:, 0]) * np.cos(4 * many[:, 0]), 2 * many[:, 1],
                            (1 + 3 * many[:, 0]) * np.sin(4 * many[:, 0])])  # fmt: skip
    for function, method in ((locally_linear_kernel, "standard"), (hessian_kernel, "hessian")):
        theirs = LocallyLinearEmbedding(n_neighbors=12, n_components=2, method=method, eigen_solver="dense").fit(roll)
        ours = np.linalg.qr(function(roll, 12, factor=2))[0]
        assert np.linalg.svd(ours.T @ theirs.embedding_)[1].min() > 1 - 1e-4


def test_what_a_factor_may_be():
    for wrong in (0, 150, 1.5):
        with pytest.raises(ParameterError, match="factor"):
            locally_linear_kernel(ROLL, factor=wrong)
    with pytest.raises(MemoryError, match="fewer n_neighbors"):
        hessian_kernel(ROLL, factor=2, memory="10kB")


def placed(name, X):
    """Coordinates of many samples, by a method that has a graph of neighbours or a factor."""
    return {
        "locally linear": lambda: locally_linear_kernel(X, 8, factor=2),
        "hessian": lambda: hessian_kernel(X, 8, factor=2),
        "diffusion": lambda: mercer.DiffusionMap(Gaussian(1.0), n_neighbors=8, tol=1e-3).fit(X).embedding_,
        "projection": lambda: mercer.LocalityPreservingProjection(n_neighbors=8).fit(X).transform(X),
        "functions": lambda: mercer.KernelLPP(Gaussian(5.0), n_neighbors=8, gram=Nystrom(100)).fit(X).embedding_,
    }[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["locally linear", "hessian", "diffusion", "projection", "functions"])
def test_a_hundred_thousand_samples_need_no_matrix_of_all_pairs(name):
    n = 100_000
    X = make_swiss_roll(n, random_state=0)[0]
    placed(name, X[:1000])
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            Z = placed(name, X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert Z.shape == (n, 2) and np.isfinite(Z).all()
    assert peak < 0.02 * 8 * n * n, f"{peak / 1e9:.2f} GB"


def test_feature_spaces_are_as_good_as_samples():
    features = np.column_stack([ROLL**2, np.sqrt(2) * ROLL[:, [0, 0, 1]] * ROLL[:, [1, 2, 2]]])
    for function in (isomap_kernel, locally_linear_kernel, hessian_kernel):
        a, b = function(ROLL, 9, kernel=Polynomial(2, 0.0)), function(features, 9)
        np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(b).max())
    words = ["abab", "abba", "baba", "zzab", "zbab", "bbbb"]
    assert locally_linear_kernel(words, 3, kernel=Spectrum(2)).shape == (6, 6)


def test_many_samples_take_the_largest_eigenvalue_by_products():
    many = rng.normal(size=(510, 2))
    K = locally_linear_kernel(many, 6)
    values = np.linalg.eigvalsh(K)
    assert values[0] > -1e-6 * values[-1]
    assert np.sort(np.abs(values))[0] < 1e-8 * values[-1]  # constants


def test_parameters_are_checked():
    with pytest.raises(ParameterError, match="n_neighbors"):
        isomap_kernel(ROLL, 0)
    with pytest.raises(ParameterError, match="regularization"):
        locally_linear_kernel(ROLL, regularization=0.0)
    with pytest.raises(MemoryError):
        isomap_kernel(ROLL, memory="10kB")


# maximum variance unfolding ----------------------------------------------------------------------------

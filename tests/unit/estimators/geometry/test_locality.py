"""Locality preserving projections against the printed eigenproblems."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import DegenerateWarning, DomainError
from mercer.estimators.geometry.locality import KernelLPP, LocalityPreservingProjection
from mercer.estimators.geometry.manifolds import LaplacianEigenmap
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) * [3.0, 1.0, 0.5, 2.0] + [1.0, -2.0, 0.0, 5.0]
T = rng.normal(size=(7, 4))


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([LocalityPreservingProjection(n_neighbors=None, centered=False), KernelLPP("linear")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def graph(**options):
    A = LaplacianEigenmap(**options).fit(X).affinity_.toarray()
    return A, np.diag(A.sum(axis=1))


def test_the_printed_problem_of_projections():
    A, D = graph(n_neighbors=6)
    values, vectors = scipy.linalg.eigh(X.T @ (D - A) @ X, X.T @ D @ X)
    model = LocalityPreservingProjection(n_components=4, n_neighbors=6, centered=False).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(vectors.T), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.transform(T), T @ model.components_.T, atol=1e-10)


def test_centred_projections_do_not_depend_on_the_origin():
    A, D = graph(n_neighbors=6)
    mean = np.diag(D) @ X / np.trace(D)
    values, vectors = scipy.linalg.eigh((X - mean).T @ (D - A) @ (X - mean), (X - mean).T @ D @ (X - mean))
    model = LocalityPreservingProjection(n_components=3, n_neighbors=6).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(vectors[:, :3].T), rtol=1e-6, atol=1e-9)
    moved = LocalityPreservingProjection(n_components=3, n_neighbors=6).fit(X + 1e5)
    np.testing.assert_allclose(moved.transform(T + 1e5), model.transform(T), atol=1e-5)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("n_neighbors", [6, None])
def test_sparse_samples_are_projected_alike(centered, n_neighbors):
    options = {"n_neighbors": n_neighbors, "centered": centered, "kernel": Gaussian(3.0)}
    a = LocalityPreservingProjection(**options).fit(X)
    b = LocalityPreservingProjection(**options).fit(sp.csr_array(X))
    np.testing.assert_allclose(b.components_, a.components_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(b.transform(sp.csr_array(T)), a.transform(T), atol=1e-7)


def test_directions_without_variation_are_left_out():
    flat = np.column_stack([X[:, :2], X[:, :1] + X[:, 1:2]])
    with pytest.warns(DegenerateWarning, match="2 directions"):
        model = LocalityPreservingProjection(n_components=3).fit(flat)
    assert model.components_.shape == (2, 3)
    with pytest.raises(DomainError, match="KernelLPP"):
        LocalityPreservingProjection(Spectrum(2)).fit(["abab", "abba", "baba"])


# in feature space --------------------------------------------------------------------------------------


def test_the_printed_problem_of_a_kernel():
    kernel = Polynomial(2, 1.0)  # of rank 15, so that both sides are singular
    model = KernelLPP(kernel, 3, n_neighbors=6, centered=False, regularization=0.0, gram=Dense()).fit(X)
    A = LaplacianEigenmap(kernel, n_neighbors=6).fit(X).affinity_.toarray()
    K, D = kernel(X), np.diag(A.sum(axis=1))
    alpha = model.expansion_.coef
    left, right = K @ (D - A) @ K @ alpha, K @ D @ K @ alpha * model.eigenvalues_
    assert np.abs(left - right).max() < 1e-6 * np.abs(K @ D @ K @ alpha).max()
    np.testing.assert_allclose(K @ alpha, model.embedding_, atol=1e-7)
    np.testing.assert_allclose(model.embedding_.T @ D @ model.embedding_, np.eye(3), atol=1e-8)
    F = np.linalg.svd(K)[0][:, :15]
    values = scipy.linalg.eigh(F.T @ (D - A) @ F, F.T @ D @ F)[0]
    np.testing.assert_allclose(model.eigenvalues_, values[:3], atol=1e-7)


def test_a_kernel_of_full_rank_places_samples_as_the_laplacian_eigenmap():
    kernel = Gaussian(0.7)
    model = KernelLPP(kernel, 3, n_neighbors=6, regularization=0.0).fit(X)
    theirs = LaplacianEigenmap(kernel, 3, n_neighbors=6).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, theirs.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(model.embedding_, theirs.embedding_, atol=1e-7)
    constant = KernelLPP(kernel, 1, n_neighbors=6, regularization=0.0, centered=False).fit(X)
    assert abs(constant.eigenvalues_[0]) < 1e-10 and np.ptp(constant.embedding_) < 1e-6  # which centring drops


def test_the_linear_kernel_is_the_linear_projection():
    a = KernelLPP(Linear(), 3, n_neighbors=6, regularization=0.0).fit(X)
    b = LocalityPreservingProjection(n_components=3, n_neighbors=6).fit(X)
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(np.abs(a.transform(T)), np.abs(b.transform(T)), atol=1e-7)


@pytest.mark.parametrize("gram", [Tiles(), Nystrom(60)])
def test_how_the_gram_is_held_does_not_matter(gram):
    a = KernelLPP(Gaussian(3.0), n_neighbors=6, regularization=1e-4).fit(X)
    b = KernelLPP(Gaussian(3.0), n_neighbors=6, regularization=1e-4, gram=gram).fit(X)
    np.testing.assert_allclose(b.eigenvalues_, a.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(b.transform(T), a.transform(T), atol=1e-6)


def test_the_regularised_problem_and_its_smoothness():
    kernel, rho = Gaussian(2.0), 1e-3
    model = KernelLPP(kernel, 2, n_neighbors=6, regularization=rho, centered=False).fit(X)
    A, D = graph(kernel=kernel, n_neighbors=6)
    K = kernel(X)
    penalty = rho * np.trace(D @ K)
    values = scipy.linalg.eigh(D - A + penalty * np.linalg.inv(K), D)[0]
    np.testing.assert_allclose(model.eigenvalues_, values[:2], rtol=1e-5)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)


def test_precomputed_and_strings():
    a = KernelLPP("precomputed", n_neighbors=6).fit(Gaussian(2.0)(X))
    b = KernelLPP(Gaussian(2.0), n_neighbors=6).fit(X)
    np.testing.assert_allclose(a.transform(Gaussian(2.0)(T, X)), b.transform(T), atol=1e-5)
    words = ["abab", "abba", "baba", "zzab", "zbab", "bbbb"]
    assert KernelLPP(Spectrum(2), 1, n_neighbors=2).fit(words).transform(["ab", "zz"]).shape == (2, 1)

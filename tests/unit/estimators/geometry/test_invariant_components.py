"""Invariant features against the generalised eigenproblem in plain coordinates and against kernel PCA."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh

from mercer.domains import Vectors
from mercer.errors import DegenerateWarning, DomainError, ParameterError
from mercer.estimators.geometry.invariant_components import InvariantComponents
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3)) * [3.0, 2.0, 1.0] + 1.0
V = np.vstack([X + rng.normal(size=X.shape) * [3.0, 0.1, 0.1] for _ in range(2)])
T = rng.normal(size=(7, 3))


@pytest.mark.parametrize("gram", [Dense(), Tiles(), Features()])
def test_the_linear_kernel_solves_the_problem_in_the_columns(gram):
    C = np.cov(X.T, bias=True)
    D = V - np.vstack([X, X])
    B = D.T @ D / 80 + 0.01 * np.mean(np.sum(X**2, axis=1)) * np.eye(3)
    values, U = eigh(C, B)
    model = InvariantComponents(Linear(), 3, gram=gram).fit(X, variants=V)
    assert model.ratios_ == pytest.approx(values[::-1])
    expected = (T - X.mean(axis=0)) @ U[:, ::-1]
    np.testing.assert_allclose(np.abs(model.transform(T)), np.abs(expected), atol=1e-8)


def test_both_covariances_become_diagonal():
    kernel = Gaussian(3.0)
    model = InvariantComponents(kernel, 5, alpha=1e-3).fit(X, variants=V)
    Z, moved = model.transform(X), model.transform(V)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(Z.T @ Z / 40, np.diag(model.ratios_), atol=1e-6 * model.ratios_[0])
    D = moved - np.vstack([Z, Z])
    assert np.all(np.mean(D**2, axis=0) <= 1.0)
    plain = KernelPCA(kernel, 5).fit(X)
    stay = np.mean((plain.transform(V) - np.tile(plain.transform(X), (2, 1))) ** 2, axis=0) / plain.explained_variance_
    assert np.mean(D[:, 0] ** 2) / model.ratios_[0] < 0.5 * stay[0]  # it moves less than what varies most


def test_without_variants_it_is_kernel_pca():
    for gram in (None, Nystrom(40)):
        model, plain = InvariantComponents(Gaussian(3.0), 3, gram=gram).fit(X), KernelPCA(Gaussian(3.0), 3).fit(X)
        scale = np.sqrt(model.ratios_ / plain.explained_variance_)
        np.testing.assert_allclose(model.transform(T) / scale, plain.transform(T), atol=1e-7)


def test_weights_are_repetitions_with_their_variants():
    w = rng.integers(0, 3, size=40)
    again = np.repeat(np.arange(40), w)
    a = InvariantComponents(Gaussian(3.0), 2).fit(X, sample_weight=w, variants=V)
    b = InvariantComponents(Gaussian(3.0), 2).fit(X[again], variants=np.vstack([V[:40][again], V[40:][again]]))
    assert a.ratios_ == pytest.approx(b.ratios_, rel=1e-7)
    np.testing.assert_allclose(a.transform(T), b.transform(T), atol=1e-5)


@pytest.mark.parametrize("copies", [0, 1, 2])
def test_products_alone_give_the_same_directions(copies):
    many = rng.normal(size=(520, 3)) * [3.0, 2.0, 1.0]
    moved = np.vstack([many + rng.normal(size=many.shape) * [2.0, 0.1, 0.1] for _ in range(copies)]) if copies else None
    w = rng.uniform(0.5, 2.0, size=520)
    a, b = (
        InvariantComponents(Gaussian(3.0), 3, gram=gram).fit(many, sample_weight=w, variants=moved)
        for gram in (Dense(), Tiles())
    )
    assert b.ratios_ == pytest.approx(a.ratios_, rel=1e-8)
    np.testing.assert_allclose(b.transform(T), a.transform(T), atol=1e-6)


def test_products_alone_tell_of_nothing_and_of_time():
    with pytest.warns(DegenerateWarning):
        assert InvariantComponents(Gaussian(1.0), gram=Tiles()).fit(np.ones((600, 2))).n_components_ == 0
    two = InvariantComponents(Linear(), 5, gram=Tiles()).fit(rng.normal(size=(600, 2)))
    assert two.n_components_ == 2
    assert InvariantComponents(Gaussian(), gram=Tiles()).memory_plan(50_000, 3).total < 0.02 * 8 * 50_000**2
    assert InvariantComponents(Gaussian(), gram=Dense()).memory_plan(5_000, 3).total >= 4 * 8 * 5_000**2


@pytest.mark.parametrize("storage", [np.asarray, list, sp.csr_array, Vectors.pack])
def test_variants_in_the_place_of_targets_are_refused(storage):
    for moved in (V[:40], V):
        with pytest.raises(DomainError, match=r"not a target of 40 samples; .* Call fit\(X, variants=\.\.\.\)"):
            InvariantComponents(Linear()).fit(X, storage(moved))


def test_other_samples_in_the_place_of_targets_are_refused():
    words = [f"ab{i}" for i in range(12)]
    for y in (words[::-1], [list(word) for word in words], words * 2):
        with pytest.raises(DomainError, match="variants are given by name"):
            InvariantComponents(Spectrum(1)).fit(words, y)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("storage", [list, tuple, np.array])
def test_few_texts_in_the_place_of_targets_are_refused(n, storage):
    texts = ["abc", "bcd", "cde"][:n]
    with pytest.raises(DomainError, match="variants are given by name"):
        InvariantComponents(Spectrum(1)).fit(texts, storage([text + "x" for text in texts]))


def test_classes_of_texts_are_targets():
    assert InvariantComponents(Spectrum(1)).fit(["ab", "bc", "ca"], ["u", "v", "u"]).ratios_.size


@pytest.mark.parametrize("y", [X[:, 0], X[:, :1], X[:, :2], ["a", "b"] * 20, np.arange(40), list(range(40))])
def test_targets_are_ignored(y):
    a, b = (InvariantComponents(Gaussian(3.0)).fit(X, given, variants=V) for given in (y, None))
    np.testing.assert_array_equal(a.ratios_, b.ratios_)


def test_strings_and_errors():
    words, other = ["abab", "aabb", "bbab", "ccab"], ["abac", "aabc", "bbac", "ccac"]
    assert InvariantComponents(Spectrum(2), 2).fit(words, variants=other).transform(words).shape == (4, 2)
    with pytest.raises(DomainError, match="multiple of n"):
        InvariantComponents(Linear()).fit(X, variants=V[:50])
    for params in ({"n_components": 0}, {"alpha": 0.0}):
        with pytest.raises(ParameterError):
            InvariantComponents(**params).fit(X)
    with pytest.warns(DegenerateWarning):
        assert InvariantComponents(Gaussian(1.0)).fit(np.ones((4, 2))).transform(np.ones((3, 2))).shape == (3, 0)

"""The criterion of sets of columns against its definition, from K and from factors."""

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.estimators.dependence.dependence_scores import FactorScores, MatrixScores, dependence_matrix, target_factor
from mercer.gram import Features, Nystrom, Tiles
from mercer.inference.dependence_measures import hsic
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
Y = X[:, :2] ** 2
W = rng.integers(0, 3, size=30)
AGAIN = np.repeat(np.arange(30), W)
ESTIMATES = pytest.mark.parametrize("estimate", ["biased", "unbiased"])


@ESTIMATES
def test_the_matrix_gives_the_criterion(estimate):
    K, L = Gaussian(1.0)(X), Gaussian(0.7)(Y)
    M = dependence_matrix(L, np.ones(30), estimate)
    expected = hsic(X, Y, (Gaussian(1.0), Gaussian(0.7)), estimator=estimate)
    assert np.vdot(K, M) == pytest.approx(expected, rel=1e-9)
    M = dependence_matrix(L, W.astype(float), estimate)
    expected = hsic(X[AGAIN], Y[AGAIN], (Gaussian(1.0), Gaussian(0.7)), estimator=estimate)
    assert np.vdot(K, M) == pytest.approx(expected, rel=1e-9)


@ESTIMATES
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Laplacian(2.0), Matern(1.5), Gaussian(1.0) + Linear()])
def test_rows_at_a_time_add_up(kernel, estimate):
    L = Gaussian(0.7)(Y)
    M = dependence_matrix(L, W.astype(float), estimate)
    tiles = Tiles().build(Gaussian(0.7), Vectors.pack(Y))
    kept = np.array([0, 2])
    for scores in (
        MatrixScores(X, lambda q: kernel, lambda rows: M[rows], height=7),
        MatrixScores.in_tiles(X, lambda q: kernel, tiles, W.astype(float), estimate, memory=9 * 32 * 30),
    ):
        assert scores.of(kept) == pytest.approx(np.vdot(kernel(X[:, kept]), M), rel=1e-9)
        added = [np.vdot(kernel(X[:, [0, 2, j]]), M) for j in (1, 3)]
        np.testing.assert_allclose(scores.changed(kept, np.array([1, 3]), 1.0), added, rtol=1e-9)
        less = [np.vdot(kernel(X[:, [j]]), M) for j in (2, 0)]
        np.testing.assert_allclose(scores.changed(kept, kept, -1.0), less, rtol=1e-9)
        assert scores.of(np.arange(0)) == 0.0
        assert np.array_equal(scores.changed(kept[:1], kept[:1], -1.0), [0.0])


@ESTIMATES
def test_factors_give_the_criterion_of_the_matrices_they_stand_for(estimate):
    """Copies written out, and the definition on F F^T and G G^T."""
    target = Nystrom(5).build(Gaussian(0.7), Vectors.pack(Y))
    scores = FactorScores(X, lambda q: Gaussian(1.0), Nystrom(6), target.factor(), W.astype(float), estimate)
    for columns in ([1], [0, 2, 3]):
        K = Nystrom(6).build(Gaussian(1.0), Vectors.pack(X[:, columns])).to_dense()[np.ix_(AGAIN, AGAIN)]
        L = target.to_dense()[np.ix_(AGAIN, AGAIN)]
        n = len(L)
        if estimate == "biased":
            P = np.eye(n) - 1.0 / n
            expected = np.trace(K @ P @ L @ P) / n**2
        else:
            K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
            both = K.sum(axis=0) @ L.sum(axis=0)
            expected = np.sum(K * L) + K.sum() * L.sum() / ((n - 1) * (n - 2)) - 2.0 * both / (n - 2)
            expected /= n * (n - 3)
        assert scores.of(np.array(columns)) == pytest.approx(expected, rel=1e-9)
    assert scores.of(np.arange(0)) == 0.0


def test_an_unseeded_draw_is_the_same_for_all_sets():
    scores = FactorScores(X, lambda q: Gaussian(1.0), Nystrom(3, random_state=None), Y, np.ones(30), "biased")
    assert scores.of(np.array([0, 1])) == scores.of(np.array([0, 1]))


def test_few_features_of_targets_are_exact():
    labels = np.eye(3)[np.repeat([0, 1, 2], [28, 1, 1])]
    G = target_factor(Nystrom(2), Linear(), Vectors.pack(labels), Resources())
    np.testing.assert_allclose(G @ G.T, labels @ labels.T)
    words = Spectrum(1).pack(["ab", "ba", "bb"])
    G = target_factor(Nystrom(3), Spectrum(1), words, Resources())
    np.testing.assert_allclose(G @ G.T, Spectrum(1)(words), atol=1e-12)
    scores = FactorScores(X, lambda q: Linear(), Features(), Y, np.ones(30), "biased")
    C = (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)) / 30
    assert scores.of(np.arange(4)) == pytest.approx(np.sum(C**2))

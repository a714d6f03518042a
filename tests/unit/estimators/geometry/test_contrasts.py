"""Features of largest contrast against exhaustive search, SciPy, and sources that are known."""

import numpy as np
import pytest
from scipy.stats import kurtosis
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import DegenerateWarning, ParameterError
from mercer.estimators.geometry.contrasts import KernelFeatureAnalysis, KernelProjectionPursuit, contrast
from mercer.estimators.geometry.gram_schmidt import KernelGramSchmidt
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4)) * [3.0, 2.0, 1.0, 0.5]
T = rng.normal(size=(7, 4))
W = rng.integers(0, 4, size=40)
AGAIN = np.repeat(np.arange(40), W)


def test_contrasts_are_moments():
    Z = rng.gamma(2.0, size=(200, 3))
    assert contrast(Z) == pytest.approx(np.var(Z, axis=0))
    assert contrast(Z, "kurtosis") == pytest.approx(np.abs(kurtosis(Z, axis=0)))
    w = rng.integers(0, 3, size=200)
    for kind in ("variance", "kurtosis"):
        assert contrast(Z, kind, w) == pytest.approx(contrast(np.repeat(Z, w, axis=0), kind))
    assert contrast(np.ones(5), "kurtosis") == 0.0


@pytest.mark.parametrize("kind", ["variance", "kurtosis"])
def test_each_feature_is_the_best_corner(kind):
    """By exhaustive search over explicit features: the projections on samples, made orthogonal to those found."""
    model = KernelFeatureAnalysis(Gaussian(2.0), 4, contrast=kind).fit(X)
    K = Gaussian(2.0)(X)
    basis = np.zeros((40, 0))
    for step in range(4):
        left = K - basis @ basis.T
        scores = contrast(left, kind) / (np.diag(K) if kind == "variance" else 1.0)
        scores[model.support_[:step]] = -1.0
        best = int(np.argmax(scores))
        assert model.support_[step] == best and model.contrasts_[step] == pytest.approx(scores[best])
        basis = np.column_stack([basis, left[:, best] / np.sqrt(left[best, best])])
    np.testing.assert_allclose(model.transform(X), basis, atol=1e-7)
    assert len(model.expansion_.samples) == 4


def test_no_combination_beats_the_corner():
    """The variance is convex: over the convex hull it is largest at a corner."""
    model = KernelFeatureAnalysis(Gaussian(2.0), 1).fit(X)
    K = Gaussian(2.0)(X)
    mixtures = rng.dirichlet(np.full(40, 0.2), size=500) * rng.choice([-1.0, 1.0], size=(500, 40))
    assert np.all(contrast(K @ mixtures.T) <= model.contrasts_[0] + 1e-12)


def test_few_candidates_and_all_grams():
    whole = KernelFeatureAnalysis(Gaussian(2.0), 3).fit(X)
    for gram in (Dense(), Tiles(), Nystrom(40)):
        np.testing.assert_allclose(
            KernelFeatureAnalysis(Gaussian(2.0), 3, gram=gram).fit(X).transform(T), whole.transform(T), atol=1e-6
        )
    some = KernelFeatureAnalysis(Gaussian(2.0), 3, n_candidates=10).fit(X)
    assert some.contrasts_[0] <= whole.contrasts_[0]
    again = KernelFeatureAnalysis(Gaussian(2.0), 3, n_candidates=10).fit(X)
    np.testing.assert_array_equal(some.support_, again.support_)
    Z, basis = some.transform(X), KernelGramSchmidt(Gaussian(2.0), 3).fit(X[some.support_]).transform(X)
    np.testing.assert_allclose(Z @ Z.T, basis @ basis.T, atol=1e-7)  # one span
    words = ["abab", "aabb", "bbab", "ccab"]
    assert KernelFeatureAnalysis(Spectrum(2), 2).fit(words).transform(words).shape == (4, 2)


def test_weights_are_repetitions():
    for kind in ("variance", "kurtosis"):
        a = KernelFeatureAnalysis(Gaussian(2.0), 3, contrast=kind).fit(X, sample_weight=W)
        b = KernelFeatureAnalysis(Gaussian(2.0), 3, contrast=kind).fit(X[AGAIN])
        np.testing.assert_array_equal(a.support_, AGAIN[b.support_])
        np.testing.assert_allclose(a.transform(T), b.transform(T), atol=1e-8)
    a = KernelProjectionPursuit(Gaussian(3.0), 2, n_directions=4).fit(X, sample_weight=W)
    b = KernelProjectionPursuit(Gaussian(3.0), 2, n_directions=4).fit(X[AGAIN])
    np.testing.assert_allclose(a.contrasts_, b.contrasts_, rtol=1e-6)
    np.testing.assert_allclose(a.transform(T), b.transform(T), atol=1e-3)


@pytest.mark.parametrize("gram", [Dense(), Features()])
def test_pursuit_finds_what_is_not_normal(gram):
    n = 800
    sources = np.column_stack([rng.uniform(-1, 1, n), rng.laplace(size=n) ** 3, 2.0 * rng.normal(size=n)])
    mixed = sources @ rng.normal(size=(3, 3))
    model = KernelProjectionPursuit(Linear(), 2, gram=gram).fit(mixed)
    Z = model.transform(mixed)
    np.testing.assert_allclose(Z.T @ Z / n, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-6)
    assert model.contrasts_ == pytest.approx(np.abs(kurtosis(Z, axis=0)), rel=1e-6)
    related = np.abs(np.corrcoef(Z.T, sources.T)[:2, 2:])
    assert related[0, 1] > 0.98 and model.contrasts_[0] > model.contrasts_[1]
    assert model.contrasts_[0] >= np.max(contrast(mixed @ rng.normal(size=(3, 300)), "kurtosis")) - 1e-6


def test_pursuit_by_products_is_that_of_the_whole_matrix():
    many = np.column_stack([rng.uniform(-1, 1, 620), rng.laplace(size=620), rng.normal(size=620)])
    w = rng.uniform(0.5, 2.0, 620)
    a, b, c = (
        KernelProjectionPursuit(Gaussian(2.0), 2, n_directions=6, gram=gram).fit(many, sample_weight=w)
        for gram in (Dense(), Tiles(), Nystrom(620))
    )
    for other in (b, c):
        assert other.contrasts_ == pytest.approx(a.contrasts_, rel=1e-5)
        np.testing.assert_allclose(other.transform(many[:50]), a.transform(many[:50]), atol=1e-4)
    assert KernelProjectionPursuit(gram=Tiles()).memory_plan(50_000, 3).total < 0.02 * 8 * 50_000**2


def test_with_the_variance_on_the_ball_it_is_kernel_pca():
    """The contrast family: over functions of length one, the first principal direction has the largest variance."""
    model = KernelPCA(Gaussian(2.0), 1).fit(X)
    K = Gaussian(2.0)(X)
    A = rng.normal(size=(40, 300))
    A /= np.sqrt(np.einsum("ik,ij,jk->k", A, K, A))
    assert np.all(contrast(K @ A) <= model.explained_variance_[0] + 1e-12)
    assert contrast(model.transform(X))[0] == pytest.approx(model.explained_variance_[0])


def test_what_is_refused_and_what_is_nothing():
    for params in ({"n_components": 0}, {"contrast": "entropy"}, {"n_candidates": 0}):
        with pytest.raises(ParameterError):
            KernelFeatureAnalysis(**params).fit(X)
    for params in ({"n_directions": 0}, {"n_restarts": -1}, {"tol": 0.0}):
        with pytest.raises(ParameterError):
            KernelProjectionPursuit(**params).fit(X)
    for cls in (KernelFeatureAnalysis, KernelProjectionPursuit):
        with pytest.warns(DegenerateWarning):
            assert cls(Gaussian(1.0)).fit(np.ones((4, 2))).transform(np.ones((3, 2))).shape == (3, 0)
    assert KernelProjectionPursuit(NegativeDistance(), 1).fit(X).transform(T).shape == (7, 1)
    assert KernelFeatureAnalysis().memory_plan(1000, 2).total > 8 * 1000**2


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([KernelFeatureAnalysis(contrast="kurtosis", n_candidates=20)])
def test_scikit_learn(estimator, check):
    check(estimator)

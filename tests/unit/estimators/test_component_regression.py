"""Principal component regression against least squares and scikit-learn."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from mercer.errors import ParameterError
from mercer.estimators.component_regression import KernelPCR
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4)) * [3.0, 2.0, 1.0, 0.5] + 5.0
Y = np.stack([X @ [1.0, -1.0, 2.0, 0.0], np.sin(X[:, 0])], axis=1) + 0.1 * rng.normal(size=(50, 2))
T = rng.normal(size=(9, 4)) + 5.0


@pytest.mark.parametrize("r", [0, 1, 3, 4])
def test_the_linear_kernel_is_pca_and_least_squares(r):
    ours = KernelPCR(Linear(), r).fit(X, Y)
    theirs = make_pipeline(PCA(r), LinearRegression()).fit(X, Y).predict(T) if r else np.tile(Y.mean(axis=0), (9, 1))
    np.testing.assert_allclose(ours.predict(T), theirs, rtol=1e-8, atol=1e-9)
    assert ours.n_components_ == r and len(ours.eigenvalues_) == 4


def test_all_components_are_least_squares():
    theirs = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(KernelPCR(Linear(), 4).fit(X, Y).predict(T), theirs.predict(T), rtol=1e-8)
    wiggly = KernelPCR(Gaussian(0.3), 49).fit(X, Y)
    np.testing.assert_allclose(wiggly.predict(X), Y, atol=1e-8)


@pytest.mark.parametrize("r", [2, 7])
def test_kernel_components_are_those_of_scikit_learn(r):
    kernel = Gaussian.from_gamma(0.05)
    theirs = make_pipeline(KernelPCA(r, kernel="rbf", gamma=0.05, eigen_solver="dense"), LinearRegression()).fit(X, Y)
    np.testing.assert_allclose(KernelPCR(kernel, r).fit(X, Y).predict(T), theirs.predict(T), rtol=1e-7, atol=1e-8)


def test_the_criteria_are_those_of_refits_on_held_components():
    scores = KernelPCA(5, kernel="rbf", gamma=0.05, eigen_solver="dense").fit_transform(X)
    loo = KernelPCR(Gaussian.from_gamma(0.05)).fit(X, Y)
    gcv = KernelPCR(Gaussian.from_gamma(0.05), criterion="gcv").fit(X, Y)
    for r in (1, 3, 5):
        errors = np.empty_like(Y)
        for i in range(50):
            rest = np.delete(np.arange(50), i)
            model = LinearRegression().fit(scores[rest, :r], Y[rest])
            errors[i] = Y[i] - model.predict(scores[i : i + 1, :r])[0]
        assert loo.cv_values_[r] == pytest.approx(np.mean(errors**2), rel=1e-8)
        residuals = Y - LinearRegression().fit(scores[:, :r], Y).predict(scores[:, :r])
        assert gcv.cv_values_[r] == pytest.approx(np.mean(residuals**2) / (1 - (r + 1) / 50) ** 2, rel=1e-8)
    assert loo.n_components_ == np.argmin(loo.cv_values_) and gcv.n_components_ == np.argmin(gcv.cv_values_)
    assert KernelPCR(Linear()).fit(X, Y[:, 0]).n_components_ >= 3


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("r", [None, 4])
def test_weights_are_repetitions(criterion, r):
    w = rng.integers(0, 4, size=50)
    again = np.repeat(np.arange(50), w)
    a = KernelPCR(Gaussian(3.0), r, criterion=criterion).fit(X, Y, sample_weight=w)
    b = KernelPCR(Gaussian(3.0), r, criterion=criterion).fit(X[again], Y[again])
    np.testing.assert_allclose(a.predict(T), b.predict(T), rtol=1e-6, atol=1e-7)
    count = min(10, len(a.cv_values_))
    np.testing.assert_allclose(a.cv_values_[:count], b.cv_values_[:count], rtol=1e-6)
    assert np.all(a.dual_coef_[w == 0] == 0.0)


def test_the_coefficients_do_not_see_constants():
    model = KernelPCR(NegativeDistance(), 6).fit(X, Y)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-8 * np.abs(model.dual_coef_).max())
    shifted = KernelPCR(NegativeDistance(), 6).fit(X, Y + 100.0)
    np.testing.assert_allclose(shifted.predict(T), model.predict(T) + 100.0, rtol=1e-9)


def test_strings_and_single_outputs():
    texts = ["".join(rng.choice(list("ab"), 6)) for _ in range(30)]
    values = np.array([text.count("ab") for text in texts], dtype=float)
    model = KernelPCR(Spectrum(2)).fit(texts, values)
    assert model.score(texts, values) > 0.99 and model.predict(texts).shape == (30,)


def test_bad_parameters():
    for params in ({"n_components": -1}, {"n_components": 2.5}, {"criterion": "aic"}, {"kernel": "rfb"}):
        with pytest.raises(ParameterError):
            KernelPCR(**params).fit(X, Y)
    with pytest.raises(ParameterError, match="vary in 4 directions"):
        KernelPCR(Linear(), 5).fit(X, Y)

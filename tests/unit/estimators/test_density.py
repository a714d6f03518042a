"""Parzen windows."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.neighbors import KernelDensity

from mercer import ParzenDensity
from mercer.kernels import Cauchy, Exponential, Gaussian, Laplacian, Linear, Matern, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 2))
T = rng.normal(size=(20, 2))


def test_it_is_the_density_of_scikit_learn():
    theirs = KernelDensity(bandwidth=0.4).fit(X).score_samples(T)
    assert np.allclose(ParzenDensity(Gaussian(0.4)).fit(X).score_samples(T), theirs)


def test_weights():
    w = rng.random(50)
    theirs = KernelDensity(bandwidth=0.4).fit(X, sample_weight=w).score_samples(T)
    ours = ParzenDensity(Gaussian(0.4)).fit(X, sample_weight=w)
    assert np.allclose(ours.score_samples(T), theirs)
    assert np.isclose(ours.score(T), theirs.sum())


def test_one_sample_is_the_normal_density():
    model = ParzenDensity(Gaussian((0.5, 2.0))).fit([[1.0, -1.0]])
    expected = stats.norm(1, 0.5).logpdf(T[:, 0]) + stats.norm(-1, 2.0).logpdf(T[:, 1])
    assert np.allclose(model.score_samples(T), expected)


@pytest.mark.parametrize("kernel", [Laplacian(0.7), Exponential(0.7), Matern(1.5, 0.7), Matern(0.8, 0.7)], ids=repr)
def test_densities_integrate_to_one(kernel):
    one = ParzenDensity(kernel).fit([[0.3]])
    assert np.isclose(integrate.quad(lambda x: np.exp(one.score_samples([[x]])[0]), -15, 15, points=[0.3])[0], 1.0)
    two = ParzenDensity(kernel).fit([[0.3, 0.0]])
    axis = np.linspace(-9, 9, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.isclose(np.exp(two.score_samples(grid)).sum() * (axis[1] - axis[0]) ** 2, 1.0, atol=2e-2)


def test_scores_without_a_known_integral_are_mean_similarities():
    model = ParzenDensity(Spectrum(1)).fit(["ab", "b"])
    assert model.log_integral_ is None
    assert np.allclose(model.score_samples(["b"]), np.log([1.0]))
    assert ParzenDensity(Cauchy(1.0)).fit(X).log_integral_ is None  # it is infinite in two dimensions
    assert np.isclose(
        np.exp(ParzenDensity(Cauchy(2.0)).fit([[0.0]]).score_samples([[0.0]]))[0], stats.cauchy(0, 2).pdf(0)
    )


def test_the_default_is_scotts_width():
    model = ParzenDensity().fit(X)
    assert np.isclose(model.kernel_.length_scale, np.sqrt(X.var(axis=0).mean()) * 50 ** (-1 / 6))
    assert ParzenDensity().fit(np.ones((5, 2))).kernel_.length_scale == 1.0


def test_far_away_scores_are_finite():
    model = ParzenDensity(Gaussian(0.1)).fit(X)
    assert np.all(np.isfinite(model.score_samples([[1e6, 0.0], [1e100, 1e100]])))
    assert np.all(np.isfinite(model.score_samples([[1e200, 1e200]])))


def test_a_kernel_with_negative_values_is_no_density():
    with pytest.warns(UserWarning, match="not a density"):
        ParzenDensity(Linear()).fit(X).score_samples(-10 * X)

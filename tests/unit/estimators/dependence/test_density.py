"""Parzen windows."""

import warnings

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.neighbors import KernelDensity

from mercer import ParzenDensity
from mercer.errors import CapabilityError, IndefiniteWarning
from mercer.kernels import (
    Cauchy,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    SpectralMixture,
    Spectrum,
)

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


def test_heavy_tails():
    cauchy = ParzenDensity(Cauchy(2.0)).fit([[0.0]])
    assert np.isclose(np.exp(cauchy.score_samples([[0.0]]))[0], stats.cauchy(0, 2).pdf(0))
    for alpha, width in ((0.9, 1), (2.5, 3)):  # Student's distribution with 2 alpha - d degrees of freedom
        dof, x = 2.0 * alpha - width, np.full(width, 0.3)
        scale = np.sqrt(2.0 * alpha / dof) * 0.7
        expected = stats.multivariate_t(np.zeros(width), scale**2 * np.eye(width), dof).logpdf(x)
        model = ParzenDensity(RationalQuadratic(alpha, 0.7)).fit(np.zeros((1, width)))
        assert np.isclose(model.score_samples(x[None])[0], expected)


def test_sums_of_windows_are_windows():
    model = ParzenDensity(2.0 * Gaussian(0.5) + 3.0 * Gaussian(2.0)).fit([[0.0]])
    masses = 2.0 * 0.5, 3.0 * 2.0
    expected = np.average([stats.norm(0, 0.5).pdf(0.4), stats.norm(0, 2.0).pdf(0.4)], weights=masses)
    assert np.isclose(np.exp(model.score_samples([[0.4]]))[0], expected)


def test_the_default_is_scotts_width():
    model = ParzenDensity().fit(X)
    assert np.isclose(model.kernel_.length_scale, np.sqrt(X.var(axis=0).mean()) * 50 ** (-1 / 6))
    assert ParzenDensity().fit(np.ones((5, 2))).kernel_.length_scale == 1.0


def test_far_away_scores_are_finite():
    model = ParzenDensity(Gaussian(0.1)).fit(X)
    assert np.all(np.isfinite(model.score_samples([[1e6, 0.0], [1e100, 1e100]])))
    assert np.all(np.isfinite(model.score_samples([[1e200, 1e200]])))


@pytest.mark.parametrize(
    ("kernel", "data"),
    [
        (Linear(), X),
        ("linear", X),
        ("poly", X),
        ("sigmoid", X),
        (Cauchy(1.0), X),  # its integral is infinite in two dimensions
        (RationalQuadratic(1.0), X),
        (Gaussian(1.0) + Linear(), X),
        (Gaussian(1.0) * Linear(), X),
        (Periodic(), X),
        (SpectralMixture(1.0, (3.0, 0.0), (1.0, 1.0)), X),  # a wave, negative between its crests
        (Gaussian(1.0).on([0]), X),
        (Spectrum(1), ["ab", "b"]),
        ("precomputed", np.eye(3)),
    ],
    ids=lambda given: str(given) if not isinstance(given, (np.ndarray, list)) else "",
)
def test_what_is_no_window_is_refused(kernel, data):
    model = ParzenDensity(kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteWarning)
        with pytest.raises(CapabilityError, match=r"not a density; .* are accepted: Gaussian, .* Use Gaussian"):
            model.fit(data)
    assert not hasattr(model, "kernel_")

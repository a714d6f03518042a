"""Kernels made from a measure: formulas, derivatives, features, refusals."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.free_parameters import constrained, free_names, free_values, unconstrain, with_free
from mercer.kernels import Gaussian, Matern
from mercer.kernels.vectors.spectral import SpectralDensity, SpectralMixture, SpectralSamples
from mercer.language import parse
from mercer.testing import check_kernel

MIXTURE = SpectralMixture((1.0, 0.5), (0.7, 0.2, 3.0, -1.0), (1.0, 0.3, 0.5, 0.8))
SAMPLES = SpectralSamples(((0.5, 1.0), (2.0, -1.0), (0.0, 0.3)), (1.0, 0.25, 0.5))


def points(seed, n, d=2):
    return np.random.default_rng(seed).normal(size=(n, d)) * 1.5


def normal(w):
    return np.exp(-0.5 * w * w) / np.sqrt(2 * np.pi)


def cauchy(w):
    return 1.0 / (np.pi * (1.0 + w * w))


def band(w):
    return np.where(w < np.pi, 0.5 / np.pi, 0.0)


def negative(w):
    return np.cos(w) * np.exp(-w)


def flat(w):
    return np.ones_like(w)


def naive_mixture(kernel, x, z):
    w = np.asarray(kernel.weights)
    means, scales = (np.reshape(v, (len(w), -1)) for v in (kernel.means, kernel.scales))
    t = x - z
    return sum(
        a * np.exp(-0.5 * sum((s * t) ** 2)) * np.cos(sum(m * t)) for a, m, s in zip(w, means, scales, strict=True)
    )


def test_the_mixture_is_its_formula():
    X, Z = points(0, 6), points(1, 5)
    expected = [[naive_mixture(MIXTURE, x, z) for z in Z] for x in X]
    np.testing.assert_allclose(MIXTURE(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(MIXTURE.diag(Vectors.pack(X)), 1.5)


def test_one_bell_about_zero_is_gaussian():
    X = points(2, 7)
    np.testing.assert_allclose(SpectralMixture((1.0,), (0.0, 0.0), (0.5, 0.25))(X), Gaussian((2.0, 4.0))(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", [MIXTURE, SAMPLES], ids=["mixture", "samples"])
def test_derivatives_by_differences(kernel):
    A, B = Vectors.pack(points(3, 6)), Vectors.pack(points(4, 4))
    W = np.random.default_rng(5).normal(size=(6, 4))
    theta, step = free_values(kernel), 1e-6
    got = kernel.pullback(A, B, W)
    for i in range(len(theta)):
        up, down = (np.vdot(W, with_free(kernel, theta + s * np.eye(len(theta))[i]).block(A, B)) for s in (step, -step))
        assert got[i] == pytest.approx((up - down) / (2 * step), abs=1e-7), free_names(kernel)[i]
    got = kernel.pullback_inputs(A, B, W)
    for j in range(2):
        moved = np.eye(2)[j] * step
        up, down = (kernel.block(Vectors.pack(A.X + s * moved), B) for s in (1.0, -1.0))
        np.testing.assert_allclose(got[:, j], (W * (up - down)).sum(axis=1) / (2 * step), atol=1e-7)


def test_names_of_the_free_parameters():
    assert free_names(SpectralMixture((1.0,), (0.5,), (0.1,))) == ("weights[0]", "means[0]", "scales[0]")
    assert free_names(SpectralSamples(((1.0,),))) == ()
    assert len(SpectralSamples(((1.0,),)).pullback(Vectors.pack([[0.0]]), Vectors.pack([[0.0]]), np.ones((1, 1)))) == 0


def test_samples_are_their_formula_and_their_features():
    X, Z = points(6, 6), points(7, 5)
    omega, w = np.asarray(SAMPLES.omega), np.asarray(SAMPLES.weights)
    expected = np.einsum("q,ijq->ij", w, np.cos((X[:, None] - Z[None]) @ omega.T))
    np.testing.assert_allclose(SAMPLES(X, Z), expected, atol=1e-13)
    F, _ = SAMPLES.features(Vectors.pack(X))
    assert F.shape == (6, 6) and SAMPLES.feature_count(Vectors.pack(X)) == 6
    np.testing.assert_allclose(F @ F.T, SAMPLES(X), atol=1e-13)
    points_, masses = SAMPLES.spectral_atoms(2)
    np.testing.assert_allclose(np.cos((X - Z[0]) @ points_.T) @ masses, SAMPLES(X, Z[:1])[:, 0], atol=1e-13)
    assert np.linalg.matrix_rank(SAMPLES(points(8, 30))) == 6


def test_drawn_frequencies_approach_a_kernel():
    X = points(9, 8)
    kernel = 2.0 * Matern(1.5)
    K = kernel(X)
    errors = [np.abs(SpectralSamples.draw(kernel, n, 2)(X) - K).max() for n in (100, 40_000)]
    assert errors[1] < 0.04 and errors[1] < 0.3 * errors[0]
    assert SpectralSamples.draw(kernel, 5, 2) == SpectralSamples.draw(kernel, 5, 2)


def test_densities_give_the_kernels_of_the_books():
    x = np.linspace(0, 30, 40)[:, None]
    np.testing.assert_allclose(SpectralDensity(normal)(x), np.exp(-0.5 * (x - x.T) ** 2), atol=1e-12)
    np.testing.assert_allclose(SpectralDensity(cauchy)(x), np.exp(-np.abs(x - x.T)), atol=1e-11)
    wide = SpectralDensity(lambda w: normal(w / 100.0) / 100.0, scale=100.0)
    np.testing.assert_allclose(wide(x / 300.0), np.exp(-0.5 * ((x - x.T) / 3.0) ** 2), atol=1e-12)
    np.testing.assert_array_equal(SpectralDensity(normal).spectral_density(np.array([[-1.0]])), [normal(1.0)])


def test_distances_far_beyond_are_zero_or_refused():
    assert SpectralDensity(normal)([[0.0]], [[1e9]])[0, 0] == 0.0
    assert SpectralDensity(cauchy)([[0.0]], [[1e9]])[0, 0] == 0.0
    np.testing.assert_allclose(SpectralDensity(band)([[0.0]], [[100.25]]), np.sinc(100.25), atol=1e-12)
    with pytest.raises(DomainError, match="distances up to"):
        SpectralDensity(band)([[0.0]], [[1e9]])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (SpectralMixture((1.0, 2.0), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0)), "as many as weights times columns"),
        (SpectralMixture((0.0,), (1.0,), (1.0,)), "at least one must be positive"),
        (SpectralMixture((-1.0,), (1.0,), (1.0,)), "weights"),
        (SpectralMixture((1.0,), (1.0,), (0.0,)), "scales"),
        (SpectralSamples((1.0, 2.0)), "matrix"),
        (SpectralSamples(((1.0,), (2.0,)), (1.0,)), "as many are needed"),
        (SpectralSamples(((1.0,),), (0.0,)), "at least one must be positive"),
        (SpectralSamples("abc"), "matrix"),
        (SpectralDensity(3.0), "function"),  # pyright: ignore
        (SpectralDensity(normal, scale=0.0), "scale"),
    ],
)
def test_what_is_refused(kernel, words):
    with pytest.raises(ParameterError, match=words):
        kernel.check()


def test_data_and_densities_that_are_refused():
    with pytest.raises(DomainError, match="columns"):
        MIXTURE(points(0, 3, 3))
    with pytest.raises(DomainError, match="columns"):
        SAMPLES(points(0, 3, 1))
    with pytest.raises(DomainError, match="columns"):
        SpectralDensity(normal)(points(0, 3, 2))
    with pytest.raises(DomainError, match="negative"):
        SpectralDensity(negative)([[0.0]])
    with pytest.raises(DomainError, match="no finite integral"):
        SpectralDensity(flat)([[0.0]])


def test_they_are_specs():
    for kernel in (MIXTURE, SAMPLES, SpectralSamples(((1.0,),))):
        assert parse(repr(kernel)) == kernel and clone(kernel) == kernel
        assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert pickle.loads(pickle.dumps(SpectralDensity(normal))) == SpectralDensity(normal)


@pytest.mark.parametrize("kernel", [MIXTURE, SAMPLES])
def test_laws(kernel):
    check_kernel(kernel, np.round(points(10, 8) * 8) / 8)


def test_huge_differences_do_not_become_nan():
    value = MIXTURE([[0.0, 0.0]], [[1e300, -1e300]])
    assert value[0, 0] == 0.0


@pytest.mark.parametrize(
    "as_rows", [np.array, lambda rows: tuple(map(tuple, rows)), list], ids=["array", "tuple", "list"]
)
def test_means_and_scales_may_be_rows(as_rows):
    X = points(8, 9)
    rows = SpectralMixture((1.0, 0.5), as_rows([[0.7, 0.2], [3.0, -1.0]]), as_rows([[1.0, 0.3], [0.5, 0.8]]))
    np.testing.assert_array_equal(rows.check()(X), MIXTURE(X))
    assert free_names(rows) == free_names(MIXTURE)
    np.testing.assert_array_equal(free_values(rows), free_values(MIXTURE))
    moved = constrained(rows, unconstrain(rows) + 0.1)
    assert np.shape(moved.means) == (2, 2)
    np.testing.assert_allclose(moved(X), constrained(MIXTURE, unconstrain(MIXTURE) + 0.1)(X), rtol=1e-14)


def test_rows_are_components():
    with pytest.raises(ParameterError, match=r"shape \(2, 1\) with 1 weights"):
        SpectralMixture((1.0,), [[1.0], [2.0]], (1.0, 2.0)).check()
    with pytest.raises(ParameterError, match="means"):
        SpectralMixture((1.0, 2.0), [[1.0], [2.0, 3.0]], (1.0, 2.0)).check()

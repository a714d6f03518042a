"""Mercer's expansion against eigenfunctions that are known in closed form, and against the Gram matrix."""

import importlib
import warnings
from itertools import pairwise
from math import factorial

import numpy as np
import pytest
from scipy.special import eval_hermite, ive
from sklearn.exceptions import ConvergenceWarning

from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, NotPositiveDefinite, ParameterError
from mercer.gram import Expansion
from mercer.hilbert.measures import Circle, Normal, Sampled, Uniform
from mercer.hilbert.mercer_expansion import MercerExpansion, mercer_expansion
from mercer.kernels import (
    Brownian,
    Constant,
    Exponential,
    Gaussian,
    Linear,
    Matern,
    NegativeDistance,
    Periodic,
    Polynomial,
    Precomputed,
    Sigmoid,
    Spectrum,
)

module = importlib.import_module("mercer.hilbert.mercer_expansion")  # its function has the same name

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Z = rng.normal(size=(9, 2))
GRID = np.linspace(-2.0, 2.0, 41)[:, None]


def hermite_pairs(count, length, scale):
    """Eigenpairs of the Gaussian kernel under N(0, scale^2): Zhu, Williams, Rohwer and Morciniec (1998)."""
    a, b = 1.0 / (4.0 * scale**2), 1.0 / (2.0 * length**2)
    c = np.sqrt(a * a + 2.0 * a * b)
    A = a + b + c
    values = np.sqrt(2.0 * a / A) * (b / A) ** np.arange(count)

    def function(i, x):
        size = (c / a) ** 0.25 / np.sqrt(2.0**i * factorial(i))
        return size * np.exp(-(c - a) * x * x) * eval_hermite(i, np.sqrt(2.0 * c) * x)

    return values, function


@pytest.mark.parametrize(("length", "scale"), [(1.0, 1.0), (0.5, 1.5), (2.0, 0.7)])
def test_gaussian_under_a_normal_measure_has_hermite_functions(length, scale):
    expansion = mercer_expansion(Gaussian(length), Normal(0.0, scale, count=250), rank=8)
    values, function = hermite_pairs(8, length, scale)
    assert expansion.eigenvalues == pytest.approx(values, rel=1e-10)
    E = expansion.eigenfunctions(GRID)
    for i in range(8):
        exact = function(i, GRID[:, 0])
        sign = np.sign(E[:, i] @ exact)
        assert np.allclose(sign * E[:, i], exact, atol=1e-7)


def test_products_of_measures_give_products_of_eigenfunctions():
    expansion = mercer_expansion(Gaussian(1.0), Normal((0.0, 0.0), (1.0, 0.6), count=40), rank=6)
    one, two = hermite_pairs(6, 1.0, 1.0)[0], hermite_pairs(6, 1.0, 0.6)[0]
    assert expansion.eigenvalues == pytest.approx(np.sort(np.outer(one, two).ravel())[::-1][:6], rel=1e-8)


def test_brownian_motion_has_sines_and_converges_with_the_square_of_the_count():
    i = np.arange(1, 6) - 0.5
    exact = 1.0 / (i * np.pi) ** 2
    errors = []
    for count in (50, 100, 200):
        expansion = mercer_expansion(Brownian(), Uniform(0.0, 1.0, count=count), rank=5)
        errors.append(np.abs(expansion.eigenvalues - exact).max())
    assert errors[-1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)
    x = np.linspace(0.0, 1.0, 21)[:, None]
    E = expansion.eigenfunctions(x)
    sines = np.sqrt(2.0) * np.sin(i * np.pi * x)
    assert np.allclose(E * np.sign(np.sum(E * sines, axis=0)), sines, atol=5e-3)


def test_periodic_kernel_has_the_fourier_basis():
    length, period = 0.8, 3.0
    expansion = mercer_expansion(Periodic(period, length_scale=length), Circle(period, count=64), rank=7)
    t = 1.0 / length**2
    exact = ive(np.arange(4), t)[[0, 1, 1, 2, 2, 3, 3]]
    assert expansion.eigenvalues == pytest.approx(exact, rel=1e-11)
    x = np.linspace(0.0, 2.0 * period, 50)[:, None]
    E = expansion.eigenfunctions(x)
    assert np.allclose(np.abs(E[:, 0]), 1.0)
    # a pair of equal eigenvalues is any rotation of cosine and sine: the sum of squares is that of the waves
    for pair in (slice(1, 3), slice(3, 5), slice(5, 7)):
        assert np.allclose(np.sum(E[:, pair] ** 2, axis=1), 2.0)


@pytest.mark.parametrize(("kernel", "rank"), [(Linear(), 2), (Polynomial(2), 6), (Polynomial(3, offset=0.0), 4)])
def test_finite_kernels_have_as_many_terms_as_features_and_their_map_up_to_a_rotation(kernel, rank):
    expansion = mercer_expansion(kernel, Uniform((-1.0, -1.0), (1.0, 1.0), count=8))
    assert expansion.rank == rank
    assert expansion.tail <= 1e-12 * expansion.trace
    assert np.allclose(expansion.kernel_values(X, Z), kernel(X, Z), rtol=0, atol=1e-10 * np.abs(kernel(X, Z)).max())
    features, _ = kernel.features(Vectors.pack(X))
    rotation = np.linalg.lstsq(features, expansion.map(X), rcond=None)[0]
    assert np.allclose(rotation.T @ rotation, np.eye(rank), atol=1e-9)


@pytest.mark.parametrize("kernel", [Polynomial(2), Linear() + 0.5, Polynomial(3, offset=0.0).normalized()])
def test_features_give_the_eigenfunctions_of_many_points(kernel, monkeypatch):
    weight = rng.integers(0, 3, size=60)
    lean = mercer_expansion(kernel, Sampled(X, weight))
    monkeypatch.setattr(module, "_LEAN", 10**6)
    whole = mercer_expansion(kernel, Sampled(X, weight))
    assert lean.rank == whole.rank
    assert lean.eigenvalues == pytest.approx(whole.eigenvalues, rel=1e-9)
    assert np.allclose(lean.eigenfunctions(Z), whole.eigenfunctions(Z), atol=1e-7)
    assert lean.trace == whole.trace
    assert lean.tail == pytest.approx(whole.tail, abs=1e-12)


def test_a_finite_kernel_needs_no_matrix_of_all_points():
    many = rng.normal(size=(30_000, 2))
    expansion = mercer_expansion(Polynomial(2), Sampled(many), memory="40MB")
    assert expansion.rank == 6
    assert np.allclose(expansion.kernel_values(Z), Polynomial(2)(Z), rtol=1e-9)
    assert expansion.truncated(2).tail == pytest.approx(expansion.trace - expansion.eigenvalues[:2].sum())


def test_the_eigenvalues_sum_to_the_integral_of_the_diagonal():
    expansion = mercer_expansion(Brownian(), Uniform(0.0, 1.0, count=50))
    assert expansion.trace == pytest.approx(0.5, rel=1e-12)
    assert expansion.eigenvalues.sum() + expansion.tail == pytest.approx(0.5, rel=1e-12)
    less = expansion.truncated(5)
    assert less.rank == 5
    assert less.tail == pytest.approx(expansion.eigenvalues[5:].sum() + expansion.tail)
    assert less.share + less.tail / less.trace == pytest.approx(1.0)
    assert repr(less).startswith("<MercerExpansion of Brownian(): 5 terms, 9")


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Matern(1.5), Exponential(1.0)])
def test_partial_sums_converge_uniformly(kernel):
    expansion = mercer_expansion(kernel, Uniform(-2.0, 2.0, count=300))
    ranks = [r for r in (2, 4, 8, 16, 32) if r <= expansion.rank]
    largest = [expansion.truncated(r).remainder(GRID).max() for r in ranks]
    assert len(ranks) >= 4
    assert all(b < a for a, b in pairwise(largest))
    assert largest[-1] < 0.06
    last = expansion.truncated(ranks[-1])
    # |k - k_r|(x, z)^2 <= remainder(x) remainder(z): Cauchy and Schwarz in the complement
    off = np.abs(last.kernel_values(GRID) - kernel(GRID))
    assert off.max() <= largest[-1] + 1e-12


def test_the_mean_of_the_remainder_is_the_tail():
    expansion = mercer_expansion(Exponential(0.5), Sampled(X), rank=7)
    assert expansion.remainder(X).mean() == pytest.approx(expansion.tail, rel=1e-10)


def test_a_sample_has_the_eigenvalues_of_its_gram_matrix():
    K = Gaussian(0.7)(X)
    expansion = mercer_expansion(Gaussian(0.7), Sampled(X))
    values, vectors = np.linalg.eigh(K)
    assert expansion.eigenvalues[:20] == pytest.approx(values[::-1][:20] / 60, rel=1e-9)
    assert np.allclose(np.abs(expansion.eigenfunctions(X)[:, 0]), np.sqrt(60) * np.abs(vectors[:, -1]))
    assert np.allclose(expansion.kernel_values(X), K, atol=1e-10)


def test_a_weight_is_a_number_of_copies():
    weight = np.arange(60) % 4
    one = mercer_expansion(Gaussian(1.0), Sampled(X, weight), rank=9)
    two = mercer_expansion(Gaussian(1.0), Sampled(np.repeat(X, weight, axis=0)), rank=9)
    assert one.eigenvalues == pytest.approx(two.eigenvalues, rel=1e-10)
    assert np.allclose(np.abs(one.eigenfunctions(Z)), np.abs(two.eigenfunctions(Z)), atol=1e-8)
    assert len(one.samples) == np.count_nonzero(weight)


def test_strings():
    words = ["ab", "abba", "bab", "aa", "b"]
    expansion = mercer_expansion(Spectrum(2), Sampled(words))
    assert np.allclose(expansion.kernel_values(words), Spectrum(2)(words), atol=1e-12)
    assert expansion.rank == np.linalg.matrix_rank(Spectrum(2)(words))


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Exponential(1.0)])
def test_many_points_by_products(kernel):
    many = rng.normal(size=(1200, 2))
    weight = rng.integers(1, 4, size=1200)
    by_products = mercer_expansion(kernel, Sampled(many, weight), rank=12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 10**6)
        whole = mercer_expansion(kernel, Sampled(many, weight), rank=12)
    assert by_products.residual < 1e-10
    assert by_products.eigenvalues == pytest.approx(whole.eigenvalues, rel=1e-9)
    assert by_products.tail == pytest.approx(whole.tail, rel=1e-9, abs=1e-12)
    assert np.allclose(by_products.eigenfunctions(Z), whole.eigenfunctions(Z), atol=1e-5)


def test_what_products_do_not_reach_is_told(monkeypatch):
    many = rng.normal(size=(1200, 6))
    short = module.leading_eigenpairs
    monkeypatch.setattr(module, "leading_eigenpairs", lambda *args: short(*args, max_iter=2))
    with pytest.warns(ConvergenceWarning, match="residual of"):
        found = mercer_expansion(Exponential(0.5), Sampled(many), rank=5)
    assert found.residual > 1e-10
    assert found.rank == 5


def test_the_norm_is_that_of_the_space():
    a = rng.normal(size=60)
    K = Matern(1.5)(X)
    f = Expansion(Matern(1.5), Vectors.pack(X), a, np.array(0.0))
    expansion = mercer_expansion(Matern(1.5), Sampled(X), tol=0.0)
    assert expansion.norm(f) == pytest.approx(np.sqrt(a @ K @ a), rel=1e-8)
    assert expansion.norm(K @ a) == pytest.approx(expansion.norm(f))
    both = expansion.norm(np.column_stack([K @ a, 2.0 * (K @ a)]))
    assert both == pytest.approx(np.array([1.0, 2.0]) * expansion.norm(f))


def test_the_norm_grows_to_that_of_the_function_as_terms_are_added():
    points, a = np.array([[-0.5], [0.2], [1.0]]), np.array([1.0, -2.0, 0.5])
    f = Expansion(Gaussian(0.7), Vectors.pack(points), a, np.array(0.0))
    exact = np.sqrt(a @ Gaussian(0.7)(points) @ a)
    expansion = mercer_expansion(Gaussian(0.7), Uniform(-2.0, 2.0, count=200))
    norms = [float(expansion.truncated(r).norm(f)) for r in range(1, expansion.rank + 1)]
    assert np.all(np.diff(norms) >= -1e-12)
    assert norms[-1] == pytest.approx(exact, rel=1e-6)
    assert norms[-1] <= exact * (1.0 + 1e-9)
    # w_i with one root more, as it is printed, would not give the norm
    c = expansion.coefficients(f)
    assert abs(np.sqrt(np.sum(c**2)) - exact) > 0.1 * exact


def test_a_function_outside_of_the_space_has_no_norm():
    expansion = mercer_expansion(Gaussian(0.7), Uniform(-2.0, 2.0, count=200))
    step = np.sign(expansion.samples.X[:, 0])
    norms = [float(expansion.truncated(r).norm(step)) for r in (4, 8, 12, 16)]
    assert all(b > 2.0 * a for a, b in pairwise(norms))


def test_coefficients_and_functions_are_inverse():
    expansion = mercer_expansion(Exponential(1.0), Normal(count=60), rank=10)
    c = rng.normal(size=10)
    f = expansion.function(c)
    assert isinstance(f, Expansion)
    assert expansion.coefficients(f) == pytest.approx(c, rel=1e-9, abs=1e-10)
    assert np.allclose(f(Vectors.pack(GRID)), expansion.eigenfunctions(GRID) @ c)
    pair = rng.normal(size=(10, 2))
    assert np.allclose(expansion.coefficients(expansion.function(pair)), pair)
    square = expansion.coefficients(lambda S: S.X[:, 0] ** 2)
    assert square.shape == (10,)
    with pytest.raises(ParameterError, match="for 60 points"):
        expansion.coefficients(np.zeros(3))


def test_what_a_kernel_learns_it_learns_from_the_points():
    expansion = mercer_expansion(Gaussian("median"), Sampled(X), rank=2)
    assert expansion.kernel == Gaussian("median").learn(Vectors.pack(X))


def test_a_zero_kernel_has_no_terms():
    expansion = mercer_expansion(Linear(), Sampled(np.zeros((3, 1))))
    assert (expansion.rank, expansion.share, expansion.tail) == (0, 1.0, 0.0)
    assert expansion.map([[1.0]]).shape == (1, 0)
    assert mercer_expansion(Constant(2.0), Sampled(X)).eigenvalues == pytest.approx([2.0])


@pytest.mark.parametrize("kernel", [NegativeDistance(), Sigmoid(1.0, offset=-1.0)])
def test_kernels_that_are_not_positive_definite_are_refused(kernel):
    with pytest.raises(CapabilityError, match="positive definite"):
        mercer_expansion(kernel, Sampled(X))


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(NotPositiveDefinite, match=r"eigenvalue -0\.5"):
        mercer_expansion(Precomputed(), Sampled(np.array([[0.0, 1.0], [1.0, 0.0]])))


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((Gaussian(1.0), X), {}),
        (("rbf", Sampled(X)), {}),
        ((Gaussian(1.0), Sampled(X), 0), {}),
        ((Gaussian(1.0), Sampled(X)), {"tol": 1.0}),
        ((Gaussian(-1.0), Sampled(X)), {}),
    ],
)
def test_bad_arguments(arguments, options):
    with pytest.raises(ParameterError):
        mercer_expansion(*arguments, **options)


def test_the_matrix_is_planned_before_it_is_made():
    with pytest.raises(MemoryBudgetError, match="rank="):
        mercer_expansion(Gaussian(1.0), Sampled(np.zeros((3000, 1))), memory="10MB")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = mercer_expansion(Gaussian(1.0), Sampled(rng.normal(size=(3000, 1))), 3, memory="10MB")
    assert isinstance(small, MercerExpansion)


def test_same_numbers_every_time():
    one, two = (mercer_expansion(Gaussian(0.5), Sampled(X), rank=5) for _ in range(2))
    assert np.array_equal(one.coef, two.coef)

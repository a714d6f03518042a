"""Kernels of a subspace and of its complement against formulas, projections and Gaussian processes."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import GaussianProcessRegressor, KernelRidge, parse
from mercer.domains import Similarities, Vectors
from mercer.errors import ParameterError
from mercer.free_parameters import free_names, free_values, with_free
from mercer.gram import Dense, Expansion, Features, Nystrom, Tiles
from mercer.kernels import (
    Complement,
    Gaussian,
    Linear,
    Matern,
    NegativeDistance,
    Polynomial,
    Precomputed,
    Spectrum,
    Subspace,
)
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
Z = rng.normal(size=(7, 2))
POINTS = tuple(map(tuple, Z.tolist()))
KERNELS = [Gaussian(0.8), Matern(1.5), Polynomial(2), Gaussian(0.7) + 0.5 * Linear()]
WORDS = ["ab", "abba", "bab", "aa", "b", "abab"]


def naive(kernel, points, A, B):
    return kernel(A, points) @ np.linalg.pinv(kernel(points), rcond=1e-14, hermitian=True) @ kernel(points, B)


@pytest.mark.parametrize("kernel", KERNELS)
def test_values_follow_the_formula(kernel):
    size = np.abs(kernel(X)).max()
    expected = naive(kernel, Z, X[:20], X[20:])
    assert np.allclose(Subspace(kernel, Z)(X[:20], X[20:]), expected, rtol=0, atol=1e-9 * size)
    rest = kernel(X[:20], X[20:]) - expected
    assert np.allclose(Complement(kernel, Z)(X[:20], X[20:]), rest, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_complement_vanishes_at_the_points_and_with_them(kernel):
    k = Complement(kernel, Z)
    assert not k(Z).any()
    assert not k(Z, X).any()
    assert not k.diag(k.prepare(k.pack(Z))).any()
    size = np.abs(kernel(X, Z)).max()
    assert np.allclose(Subspace(kernel, Z)(X, Z), kernel(X, Z), rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize("step", [1e-1, 1e-3, 1e-5, 1e-7, 1e-9])
def test_no_distance_from_the_subspace_is_negative(step):
    near = Z + step * rng.normal(size=Z.shape)
    k = Complement(Gaussian(0.8), Z)
    values = k.diag(k.prepare(k.pack(near)))
    assert (values >= 0.0).all()
    assert np.array_equal(values > 0.0, np.diagonal(k(near)) > 0.0)
    assert np.linalg.eigvalsh(k(np.vstack([near, X])))[0] > -1e-13


def test_points_that_depend_on_each_other_need_the_pseudo_inverse():
    twice = np.vstack([Z, Z[:3], Z[:1]])
    k = Subspace(Gaussian(0.8), twice)
    assert k.rank == 7
    assert np.allclose(k(X), Subspace(Gaussian(0.8), Z)(X), atol=1e-11)
    line = Subspace(Linear(), rng.normal(size=(9, 2)))
    assert line.rank == 2
    assert np.allclose(line(X), Linear()(X))
    assert not Complement(Linear(), rng.normal(size=(9, 2)))(X).any()


def test_many_smooth_points_stay_sound():
    many = np.linspace(0.0, 1.0, 200)[:, None]  # a matrix that is singular to rounding
    k, rest = Subspace(Gaussian(1.0), many), Complement(Gaussian(1.0), many)
    new = np.linspace(-0.5, 1.5, 81)[:, None]
    inside = (new[:, 0] >= 0.0) & (new[:, 0] <= 1.0)
    assert k.rank < 20
    assert np.abs(k(new[inside]) - Gaussian(1.0)(new[inside])).max() < 1e-7
    d = rest.diag(rest.prepare(rest.pack(new)))
    assert (d >= 0.0).all() and d[inside].max() < 1e-7
    assert not rest.diag(rest.prepare(rest.pack(many))).any()


def test_the_kernel_of_a_subspace_reproduces_its_functions():
    kernel, a = Matern(2.5), rng.normal(size=7)
    f = Expansion(kernel, Vectors.pack(Z), a, np.array(0.0))
    k = Subspace(kernel, Z)
    # k_m(x, .) = sum_j w_j k(z_j, .), so <f, k_m(x, .)> = w' K a
    w = np.linalg.solve(kernel(Z), kernel(Z, X))
    assert np.allclose(w.T @ kernel(Z) @ a, f(Vectors.pack(X)))
    assert np.allclose(k(X, X), w.T @ kernel(Z) @ w)


def test_projections_are_idempotent_and_orthogonal():
    k = Subspace(Gaussian(0.8), Z)
    again = Subspace(k, Z)
    assert np.allclose(again(X), k(X), atol=1e-10)
    assert not np.round(Complement(k, Z)(X), 9).any()
    assert not np.round(Subspace(Complement(Gaussian(0.8), Z), Z)(X), 9).any()
    # step by step: project on one half of the points, then on what the other half adds
    first = Subspace(Gaussian(0.8), Z[:3])
    second = Subspace(Complement(Gaussian(0.8), Z[:3]), Z[3:])
    assert np.allclose((first + second)(X), k(X), atol=1e-10)


def test_the_features_are_the_kernel_pca_map():
    kernel = Gaussian(0.8)
    k = Subspace(kernel, Z)
    F, keys = k.features(Vectors.pack(X))
    values, U = np.linalg.eigh(kernel(Z))
    root = U @ np.diag(values**-0.5) @ U.T
    assert np.allclose(F, kernel(X, Z) @ root, atol=1e-10)
    assert k.feature_count(Vectors.pack(X)) == 7
    own, _ = k.features(Vectors.pack(Z), keys)
    assert np.allclose(own @ own, kernel(Z))  # on the points it is the symmetric root of their matrix
    assert np.allclose(own, own.T)


def test_the_complement_is_the_posterior_covariance_without_noise():
    kernel = Matern(1.5)
    process = GaussianProcessRegressor(kernel, noise=1e-10, fixed="all").fit(Z, Z[:, 0])
    _, covariance = process.predict(X, return_cov=True)
    assert np.allclose(Complement(kernel, Z)(X), covariance, atol=1e-7)
    _, deviation = process.predict(X, return_std=True)
    k = Complement(kernel, Z)
    assert np.allclose(np.sqrt(k.diag(Vectors.pack(X))), deviation, atol=1e-6)


def test_strings():
    k, rest = Subspace(Spectrum(2), WORDS[:2]), Complement(Spectrum(2), WORDS[:2])
    expected = naive(Spectrum(2), WORDS[:2], WORDS, WORDS)
    assert np.allclose(k(WORDS), expected)
    assert np.allclose(rest(WORDS), Spectrum(2)(WORDS) - expected)
    check_kernel(k, WORDS)
    assert parse(repr(k)) == k


def test_tables_and_neighbours():
    table = {"gene": WORDS, "size": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]}
    some = {"gene": WORDS[:2], "size": [0.5, 1.0]}
    inner = Spectrum(1).on("gene") + Gaussian(1.0).on("size")
    assert np.allclose(Subspace(inner, some)(table), naive(inner, some, table, table))
    beside = Subspace(Gaussian(1.0), Z) + Linear().on([0])
    assert np.allclose(beside(X), Subspace(Gaussian(1.0), Z)(X) + np.outer(X[:, 0], X[:, 0]))
    both = Complement(Gaussian(1.0) + Linear(), Z) * Linear().on([0])
    assert np.allclose(both(X), Complement(Gaussian(1.0) + Linear(), Z)(X) * np.outer(X[:, 0], X[:, 0]))


def test_precomputed_similarities():
    K = Gaussian(0.8)(X)
    S = Similarities.pack(K)
    k = Subspace(Precomputed(), S.take(np.arange(5)))
    assert np.allclose(k(K), naive(Gaussian(0.8), X[:5], X, X), atol=1e-9)


def test_derivatives_are_those_of_differences():
    for k in (Subspace(Gaussian(0.8), Z), Complement(Matern(2.5, length_scale=(0.7, 1.2)), Z)):
        assert k.capabilities >= {"pullback", "pullback_inputs"}
        A, B = Vectors.pack(X[:6]), Vectors.pack(X[6:10])
        W = rng.normal(size=(6, 4))
        theta = free_values(k)
        for j, _ in enumerate(free_names(k)):
            h = np.zeros(len(theta))
            h[j] = 1e-5
            up, down = with_free(k, theta + h), with_free(k, theta - h)
            slope = np.sum(W * (up(X[:6], X[6:10]) - down(X[:6], X[6:10]))) / 2e-5
            assert k.pullback(A, B, W)[j] == pytest.approx(slope, rel=1e-6)
        assert k.pullback(A, A, np.eye(6)).shape == theta.shape


@pytest.mark.parametrize("gram", [Dense(), Tiles(), Features()])
def test_estimators_learn_in_the_subspace(gram):
    y = np.sin(X[:, 0])
    model = KernelRidge(Subspace(Gaussian(0.8), Z), alpha=0.1, gram=gram).fit(X, y)
    # with the points as landmarks, Nystrom is the same machine
    K = naive(Gaussian(0.8), Z, X, X)
    expected = naive(Gaussian(0.8), Z, X, X) @ np.linalg.solve(K + 0.1 * np.eye(40), y)
    assert np.allclose(model.predict(X), expected, atol=1e-8)
    if isinstance(gram, Features):
        index = Nystrom(7).build(Gaussian(0.8), Vectors.pack(X)).index
        chosen = KernelRidge(Subspace(Gaussian(0.8), X[index]), alpha=0.1, gram=gram).fit(X, y)
        assert np.allclose(
            chosen.predict(X), KernelRidge(Gaussian(0.8), alpha=0.1, gram=Nystrom(7)).fit(X, y).predict(X)
        )


def test_what_the_kernel_learns_is_learned_inside():
    k = Subspace(Gaussian("median"), Z)
    learned = k.learn(Vectors.pack(X))
    assert isinstance(learned, Subspace)
    assert learned.kernel == Gaussian("median").learn(Vectors.pack(X))


def test_the_root_follows_the_parameters():
    k = Subspace(Gaussian(0.8), Z)
    k(X)
    moved = k.replace(kernel__length_scale=0.3)
    k.set_params(kernel__length_scale=0.3)
    assert np.array_equal(k(X), moved(X))
    k.set_params(points=Z[:2])
    assert k.rank == 2
    k.kernel.set_params(length_scale=2.0)
    assert np.allclose(k(X), Subspace(Gaussian(2.0), Z[:2])(X))


@pytest.mark.parametrize("points", [Z, POINTS, Vectors.pack(Z)])
def test_copies_pickles_and_files(points, tmp_path):
    k = Subspace(Gaussian(0.8), points)
    values = k(X)
    assert np.array_equal(clone(k)(X), values)
    again = pickle.loads(pickle.dumps(k))
    assert "_held" not in vars(again)
    assert np.array_equal(again(X), values)
    model = KernelRidge(k, alpha=0.1).fit(X, X[:, 0])
    mercer.save(model, tmp_path / "model.mercer")
    assert np.array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_text():
    k = Complement(Gaussian(0.8), POINTS)
    assert parse(repr(k)) == k


@pytest.mark.parametrize("cls", [Subspace, Complement])
def test_only_positive_definite_kernels_have_subspaces(cls):
    with pytest.raises(ParameterError, match="positive definite"):
        cls(NegativeDistance(), Z).check()
    with pytest.raises(ParameterError, match="kernel must be a Kernel"):
        cls("rbf", Z).check()


def test_what_is_known():
    k, rest = Subspace(Gaussian(0.8), Z), Complement(Gaussian(0.8), Z)
    for one in (k, rest):
        assert (one.order, one.bounded, one.stationary, one.normalised, one.strict) == (0, True, False, False, False)
    assert k.capabilities == {"features", "pullback", "pullback_inputs"}
    assert rest.capabilities == {"pullback", "pullback_inputs"}
    assert Subspace(Spectrum(1), WORDS).capabilities == {"features", "pullback"}

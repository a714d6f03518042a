"""Kernel dependency estimation: components, left-out errors and pre-images against naive ones."""

import itertools

import numpy as np
import pytest

from mercer import KernelDependencyEstimation
from mercer.errors import TargetError
from mercer.estimators.structured.dependency_estimation import components, ridges
from mercer.kernels import Gaussian, Linear, Spectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1], X[:, 0] * X[:, 1]])


def test_components_of_a_linear_kernel_are_those_of_the_table():
    T, basis, variances = components(Y @ Y.T, 2, centered=True)
    centred = Y - Y.mean(axis=0)
    U, s, V = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(variances, s[:2] ** 2 / 12, rtol=1e-10)
    np.testing.assert_allclose(np.abs(T), np.abs(U[:, :2] * s[:2]), atol=1e-10)
    np.testing.assert_allclose(np.abs(basis.T @ Y), np.abs(V[:2]), atol=1e-10)  # unit directions


@pytest.mark.parametrize("per_component", [True, False])
def test_left_out_errors_are_those_of_leaving_out(per_component):
    K, grid = Gaussian(1.0)(X), np.array([1e-3, 1e-1, 1.0])
    coef, alphas, errors = ridges(K, Y, grid, per_component)
    naive = np.zeros((3, 3))
    for a, alpha in enumerate(grid):
        for i in range(12):
            rest = np.delete(np.arange(12), i)
            c = np.linalg.solve(K[np.ix_(rest, rest)] + alpha * np.eye(11), Y[rest])
            naive[a] += (Y[i] - K[i, rest] @ c) ** 2 / 12
    best = np.argmin(naive, axis=0) if per_component else np.full(3, np.argmin(naive.sum(axis=1)))
    np.testing.assert_array_equal(alphas, grid[best])
    np.testing.assert_allclose(errors, naive[best, range(3)], rtol=1e-8)
    for j in range(3):
        np.testing.assert_allclose(K @ coef[:, j] + alphas[j] * coef[:, j], Y[:, j], atol=1e-9)


def test_input_output_kernel_regression_is_the_uncentred_case_with_one_ridge():
    model = KernelDependencyEstimation(
        Gaussian(1.0), Gaussian(1.0), alphas=[0.1], per_component=False, centered=False
    ).fit(X, Y)
    T = RNG.normal(size=(4, 2))
    wanted = np.linalg.solve(Gaussian(1.0)(X) + 0.1 * np.eye(12), Gaussian(1.0)(X, T)).T
    # coefficients are unique up to the null space of the output kernel; what they predict is
    L = Gaussian(1.0)(Y)
    np.testing.assert_allclose(model.coefficients(T) @ L, wanted @ L, atol=1e-7)


def test_linear_outputs_are_ridge_regression():
    model = KernelDependencyEstimation(Gaussian(1.0), Linear(), alphas=[0.1], preimage="points").fit(X, Y)
    centred = Y - Y.mean(axis=0)
    wanted = Y.mean(axis=0) + Gaussian(1.0)(X) @ np.linalg.solve(Gaussian(1.0)(X) + 0.1 * np.eye(12), centred)
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-8)
    assert model.score(X, Y) == pytest.approx(1.0 - ((Y - wanted) ** 2).sum() / (centred**2).sum())
    one = KernelDependencyEstimation(Gaussian(1.0), Linear(), preimage="points").fit(X, Y[:, 0])
    assert one.predict(X).shape == (12,)


def test_candidates_are_the_nearest_of_all():
    model = KernelDependencyEstimation(Gaussian(1.0), Gaussian(1.0), n_components=3).fit(X, Y)
    C, L = model.coefficients(X), Gaussian(1.0)(Y)
    nearest = [int(np.argmin([1.0 - 2.0 * c @ L[:, j] for j in range(12)])) for c in C]
    np.testing.assert_array_equal(model.predict(X), Y[nearest])
    np.testing.assert_array_equal(model.predict(X[:1], candidates=Y[5:6]), Y[5:6])


def test_strings_by_edits_are_those_of_all_short_strings():
    rng = np.random.default_rng(1)
    given = ["".join(rng.choice(list("ab"), rng.integers(2, 6))) for _ in range(15)]
    model = KernelDependencyEstimation(Spectrum(2), Spectrum(2), preimage="edits", beam=30).fit(given, given)
    every = ["".join(s) for n in range(1, 6) for s in itertools.product("ab", repeat=n)]
    new = ["abab", "bbab"]
    C = model.coefficients(new)
    for text, c in zip(model.predict(new), C, strict=True):
        assert model._costs([text], c[None]).min() <= model._costs(every, c[None]).min() + 1e-9


def test_sets_of_labels_by_flips_are_those_of_all_sets():
    Z = (Y > 0.0).astype(int)
    model = KernelDependencyEstimation(Gaussian(1.0), Gaussian(1.0), preimage="flips").fit(X, Z)
    every = np.array(list(itertools.product((0, 1), repeat=3)), dtype=float)
    T = RNG.normal(size=(6, 2))
    costs = model._costs(every, model.coefficients(T))
    np.testing.assert_array_equal(model.predict(T), every[np.argmin(costs, axis=1)])


def test_bad_outputs():
    with pytest.raises(TargetError, match="inconsistent"):
        KernelDependencyEstimation(Gaussian(1.0), Spectrum(1)).fit(X, ["a"])
    with pytest.raises(TargetError, match="y is None"):
        KernelDependencyEstimation(Gaussian(1.0), Spectrum(1)).fit(X, None)
    with pytest.raises(TargetError, match="zeros and ones"):
        KernelDependencyEstimation(Gaussian(1.0), preimage="flips").fit(X, Y)

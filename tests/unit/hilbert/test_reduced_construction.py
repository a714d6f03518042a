"""The search for points: derivatives by differences, closed forms, and where points may not go."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import DomainError
from mercer.gram import Tiles
from mercer.hilbert.reduced_construction import Function, Projection, Search, construct
from mercer.hilbert.reduced_selection import Selection, Watch
from mercer.kernels import ChiSquared, Gaussian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.problems import Status

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(30, 2)))
KERNELS = [
    Gaussian(0.8),
    Gaussian((0.5, 1.5)),
    Matern(2.5, 1.0),
    RationalQuadratic(2.0),
    Polynomial(3),
    2.0 * Gaussian(0.5) + Linear(),
    ChiSquared(0.7),
]


def function(kernel, X=X, outputs=2, seed=1):
    S = kernel.prepare(kernel.pack(X))
    gram = Tiles().build(kernel, S)
    coef = np.random.default_rng(seed).normal(size=(len(S), outputs))
    return Function(gram, coef, gram @ coef)


@pytest.mark.parametrize("kernel", KERNELS)
def test_derivative_is_that_of_differences(kernel):
    projection = Projection(function(kernel))
    Z = RNG.uniform(0.5, 1.5, size=(3, 2))
    _, gradient = projection(Vectors(Z))
    step = 1e-6
    for place in np.ndindex(*Z.shape):
        ahead, behind = Z.copy(), Z.copy()
        ahead[place] += step
        behind[place] -= step
        slope = (projection(Vectors(ahead))[0] - projection(Vectors(behind))[0]) / (2 * step)
        np.testing.assert_allclose(gradient[place], slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_best_coefficients_and_distance_by_the_formula(kernel):
    f = function(kernel)
    Z = Vectors(RNG.uniform(0.5, 1.5, size=(3, 2)))
    beta, error = Projection(f).best(Z)
    K, Kzx, Kzz = kernel(X), kernel(Z, X), kernel(Z)
    np.testing.assert_allclose(beta, np.linalg.solve(Kzz, Kzx @ f.coef), rtol=1e-4)
    square = np.vdot(f.coef, K @ f.coef) + np.vdot(beta, Kzz @ beta) - 2.0 * np.vdot(f.coef, Kzx.T @ beta)
    np.testing.assert_allclose(error**2, square, rtol=1e-8)
    np.testing.assert_allclose(Projection(f)(Z)[0], square / f.norm2, rtol=1e-6)


def test_basis_is_orthonormal():
    f = function(Gaussian(0.8))
    span, parts = Projection(f).basis(Vectors(X[:4] + 0.1))
    # the projection has the values span^T parts, and its distance is what is left of the norm
    _, error = Projection(f).best(Vectors(X[:4] + 0.1))
    np.testing.assert_allclose(f.norm2 - np.vdot(parts, parts), error**2, rtol=1e-7)
    assert span.shape == (4, 30)


def ended(f, size):
    selection = Selection(f.gram, f.coef, f.values)
    selection.run(size, 0.0, Watch())
    return selection


def test_path_falls_and_selection_is_beaten():
    f = function(Gaussian(0.8), outputs=1)
    first = ended(f, 6)
    built = construct(f, first, 0.0, Watch())
    assert built.sizes[0] == 0
    assert built.sizes[-1] == len(built.points) == len(built.coef) == 6
    assert (np.diff(built.sizes) > 0).all()
    assert (np.diff(built.errors) <= 1e-9).all()
    assert built.errors[-1] < first.errors()[-1]
    assert built.status is Status.CONVERGED


def test_a_stopped_search_is_no_worse_than_the_selection():
    f = function(Gaussian(0.8), outputs=1)
    first = ended(f, 6)
    built = construct(f, first, 0.0, Watch(max_time=1e-9))
    assert built.status is Status.TIME
    np.testing.assert_allclose(built.errors[-1], first.errors()[-1], rtol=1e-6)


def test_points_stay_where_the_kernel_is_defined():
    kernel = ChiSquared(0.7)
    f = function(kernel, outputs=1)
    search = Search(kernel, f.samples, Watch())
    np.testing.assert_array_equal(search.low, X.min(axis=0))
    assert np.isinf(search.high).all()
    built = construct(f, ended(f, 4), 0.0, Watch())
    assert built.points.min() >= 0.0
    free = Search(Gaussian(), f.samples, Watch())
    assert np.isinf(free.low).all()


@pytest.mark.parametrize("seed", [0, 7, 41])  # with the last two points are tried of which only k(z, z) is infinite
def test_values_beyond_the_range_of_numbers_are_left(seed):
    kernel, samples = Polynomial(40), np.abs(np.random.default_rng(seed).normal(size=(30, 2)))
    f = function(kernel, samples, outputs=1, seed=seed + 1)
    search = Search(kernel, f.samples, Watch())
    Z, _ = search.run(Projection(f), samples[:2].copy())
    assert np.isfinite(Z).all()


def test_points_whose_own_values_are_infinite_are_refused():
    kernel = Polynomial(40)
    f = function(kernel, outputs=1)
    far = kernel.prepare(Vectors(np.array([[3e4, 3e4], [1.0, 1.0]])))
    assert np.isfinite(kernel.block(far, f.samples)).all()
    with pytest.raises(DomainError, match="too large for floating-point numbers"):
        Projection(f)(far)


def test_goal_ends_the_search():
    f = function(Gaussian(0.8), outputs=1)
    calls = []

    def objective(Z):
        calls.append(len(Z))
        return Projection(f)(Z)

    search = Search(f.kernel, f.samples, Watch())
    _, status = search.run(objective, X[:3].copy(), goal=0.999)
    assert status is Status.CONVERGED
    assert len(calls) <= 4

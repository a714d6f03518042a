"""Agreement of decisions: least squares in closed form, derivatives by differences, and signs that are kept."""

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.errors import DomainError
from mercer.gram import Expansion, Tiles
from mercer.hilbert.reduced_construction import Function
from mercer.hilbert.reduced_decisions import _SHARE, Agreement
from mercer.hilbert.reduced_selection import Watch
from mercer.kernels import Gaussian, Matern, Polynomial, Spectrum
from mercer.problems import Status

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(30, 2)), RNG.normal(size=(40, 2))


def made(kernel, margin=1.0, outputs=2, diagonal=0.0):
    S = Vectors.pack(X)
    coef = np.random.default_rng(1).normal(size=(30, outputs))
    gram = Tiles().build(kernel, S)
    f = Expansion(kernel, S, coef, np.linspace(-0.3, 0.4, outputs), diagonal)
    return Agreement(f, Function(gram, coef, gram @ coef), Vectors.pack(T), margin, Resources()), f


def start(f, points, count=4):
    Z = Vectors.pack(points[:count])
    return Expansion(f.kernel, Z, np.zeros((count, f.coef.shape[1])), f.intercept, f.diagonal)


def test_nearest_points_of_the_sets():
    agreement, _ = made(Gaussian(1.0), outputs=1)
    agreement.wanted = np.array([[0.5], [-0.5], [2.0], [2.0], [-3.0], [-3.0]])
    values = np.array([[9.0], [9.0], [1.7], [0.2], [-1.1], [4.0]])
    np.testing.assert_array_equal(agreement.nearest(values)[:, 0], [0.5, -0.5, 1.7, 1.0, -1.1, -1.0])


@pytest.mark.parametrize("diagonal", [0.0, -0.7])
def test_coefficients_solve_the_least_squares_problem(diagonal):
    kernel = Polynomial(2)
    agreement, f = made(kernel, margin=np.inf, diagonal=diagonal)
    g, _ = agreement.refit(start(f, X), Watch(), points=False)
    K, Kzx, Kzt, Kzz = kernel(X), kernel(X[:4], X), kernel(X[:4], T), kernel(X[:4])
    v = Kzx.T[:0]
    v = kernel(T, X) @ f.coef + f.intercept  # the multiple of k(x, x) is on both sides
    lam = _SHARE * np.mean(np.diag(kernel(T)))
    H = np.zeros((5, 5))
    A = np.vstack([Kzt, np.ones(40)])
    H[:4, :4] = lam * Kzz
    solution = np.linalg.solve(A @ A.T / 40 + H, A @ v / 40 + np.vstack([lam * Kzx @ f.coef, np.zeros((1, 2))]))
    np.testing.assert_allclose(g.coef, solution[:4], rtol=1e-5)
    np.testing.assert_allclose(g.intercept, solution[4], rtol=1e-5)
    square = np.vdot(f.coef, K @ f.coef) + np.vdot(g.coef, Kzz @ g.coef) - 2 * np.vdot(g.coef, Kzx @ f.coef)
    np.testing.assert_allclose(agreement.distance(g), np.sqrt(square), rtol=1e-9)
    assert g.diagonal == diagonal


def test_points_whose_own_values_are_infinite_are_refused():
    kernel = Polynomial(40)
    agreement, _ = made(kernel)
    Z = kernel.prepare(Vectors(np.array([[3e4, 3e4], [1.0, 1.0]])))
    assert np.isfinite(kernel.block(Z, agreement.T)).all()
    with pytest.raises(DomainError, match="too large for floating-point numbers"):
        agreement.value(Z, agreement.wanted)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern(2.5), Polynomial(2), 2.0 * Gaussian(1.0)])
def test_derivative_is_that_of_differences(kernel):
    agreement, _ = made(kernel)
    Z = RNG.normal(size=(3, 2))
    targets = agreement.nearest(np.zeros_like(agreement.wanted))
    _, gradient = agreement.value(Vectors(Z), targets)
    for place in np.ndindex(*Z.shape):
        ahead, behind = Z.copy(), Z.copy()
        ahead[place] += 1e-6
        behind[place] -= 1e-6
        slope = (agreement.value(Vectors(ahead), targets)[0] - agreement.value(Vectors(behind), targets)[0]) / 2e-6
        np.testing.assert_allclose(gradient[place], slope, rtol=1e-4, atol=1e-8)


def objective(agreement, g):
    """The mean squared distance from the sets and a part of ||f - g||^2, as it is written."""
    values = g(agreement.T)
    data = np.mean(np.sum((values - agreement.nearest(values)) ** 2, axis=1))
    return data + agreement.penalty * agreement.distance(g) ** 2


def test_coefficients_are_a_minimum_and_points_lower_it():
    agreement, f = made(Gaussian(0.8))
    g, status = agreement.refit(start(f, X), Watch(), points=False)
    assert status is Status.CONVERGED
    least = objective(agreement, g)
    for _ in range(20):
        change = RNG.normal(size=g.coef.shape)
        for step in (1e-2, 1e-1, 1.0):
            other = Expansion(g.kernel, g.samples, g.coef + step * change, g.intercept)
            assert objective(agreement, other) >= least * (1 - 1e-3)
    moved, _ = agreement.refit(start(f, X), Watch(), points=True)
    assert objective(agreement, moved) < 0.9 * least


def test_disagreement_counts_signs():
    agreement, f = made(Gaussian(0.8), outputs=1)
    assert agreement.disagreement(f) == 0.0
    opposite = Expansion(f.kernel, f.samples, -f.coef, -f.intercept)
    assert agreement.disagreement(opposite) == 1.0


def test_strings_and_time():
    words = ["abab", "bbba", "aaab", "abba", "baab", "babb"]
    kernel = Spectrum(2)
    S = kernel.prepare(Strings.pack(words))
    gram = Tiles().build(kernel, S)
    coef = np.linspace(-1, 1, 6)[:, None]
    f = Expansion(kernel, S, coef[:, 0], np.array(0.1))
    agreement = Agreement(f, Function(gram, coef, gram @ coef), S, 1.0, Resources())
    g, _ = agreement.refit(Expansion(kernel, S.take([0, 1]), coef[:2, 0], f.intercept), Watch(), points=False)
    assert g.coef.shape == (2,)
    assert np.shape(g.intercept) == ()
    _, status = agreement.refit(g, Watch(max_time=1e-9), points=False)
    assert status is Status.TIME

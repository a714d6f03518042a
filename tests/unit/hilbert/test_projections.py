"""Projections and their spread."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, MemoryBudgetError
from mercer.gram import Dense, Expansion, Tiles
from mercer.hilbert.derivatives import derivative_representer
from mercer.hilbert.elements import mean_element, representer
from mercer.hilbert.projections import Moments, moments, project, projection_moments
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Spectrum

rng = np.random.default_rng(0)
X, T = rng.normal(size=(9, 2)), rng.normal(size=(5, 2))
WORDS, NEW_WORDS = ["abab", "abba", "bab", "c"], ["ab", "baba", "zz"]


def element(kernel, A, seed=0, k=None, b=0.0):
    c = np.random.default_rng(seed).normal(size=len(A) if k is None else (len(A), k))
    return Expansion(kernel, kernel.prepare(kernel.pack(A)), c, np.asarray(b if k is None else np.full(k, b)))


@pytest.mark.parametrize(("kernel", "A"), [(Gaussian(0.8), X), (Polynomial(2), X), (Spectrum(2), WORDS)], ids=repr)
def test_the_printed_formula_and_explicit_projections(kernel, A):
    K, m = kernel(A), len(A)
    a = rng.normal(size=m)
    a /= np.sqrt(a @ K @ a)
    j = np.ones(m)
    found = projection_moments(K, a)
    assert found.mean == pytest.approx(a @ K @ j / m)
    assert found.variance == pytest.approx(a @ K @ K @ a / m - (a @ K @ j) ** 2 / m**2)
    assert found.standard_deviation == pytest.approx(np.sqrt(found.variance))
    if "features" in kernel.capabilities:  # v' Phi(x) in the features themselves
        F = _dense(kernel, A)
        along = F @ (F.T @ a)
        assert np.linalg.norm(F.T @ a) == pytest.approx(1.0)
        assert found.mean == pytest.approx(along.mean())
        assert found.variance == pytest.approx(along.var())
    S = kernel.prepare(kernel.pack(A))
    for spec in (Dense(), Tiles()):
        again = projection_moments(spec.build(kernel, S), np.column_stack([a, 2.0 * a]))
        assert np.allclose(again.mean, [found.mean, 2.0 * found.mean])
        assert np.allclose(again.variance, [found.variance, 4.0 * found.variance])
    f = Expansion(kernel, S, a, np.asarray(0.0))
    over = moments(f, A)
    assert over.mean == pytest.approx(found.mean) and over.variance == pytest.approx(found.variance)


def _dense(kernel, A):
    F = kernel.features(kernel.prepare(kernel.pack(A)))[0]
    return F.toarray() if hasattr(F, "toarray") else F


def test_a_variance_is_not_lost_beside_a_large_mean():
    K = np.outer(1e8 + np.arange(4.0), 1e8 + np.arange(4.0))
    found = projection_moments(K / 1e8, [1.0, 0.0, 0.0, 0.0])
    assert found.variance == pytest.approx(1.25, rel=1e-6)  # the difference of squares has no digit left
    assert projection_moments(np.ones((3, 3)), np.ones(3)).variance == 0.0


def test_weights_are_copies():
    f, w = element(Gaussian(1.0), X), np.array([2.0, 0.0, 1.0, 0.0, 3.0])
    assert vars(moments(f, T, w)) == pytest.approx(vars(moments(f, T[[0, 0, 2, 4, 4, 4]])))
    K, a = Gaussian(1.0)(T), rng.normal(size=5)
    values = (K @ a)[[0, 0, 2, 4, 4, 4]]
    assert vars(projection_moments(K, a, w)) == pytest.approx({"mean": values.mean(), "variance": values.var()})
    mean = mean_element(Gaussian(1.0), T, w)
    assert moments(f, T, w).mean == pytest.approx(f.inner(mean))
    several = moments(element(Gaussian(1.0), X, k=2, b=1.0), T)
    assert isinstance(several, Moments) and several.mean.shape == several.variance.shape == (2,)


@pytest.mark.parametrize(
    ("kernel", "A", "B"),
    [(Gaussian(0.8), X, T), (Polynomial(2), X, T), (Spectrum(2), WORDS, NEW_WORDS), (Linear(), X, T)],
    ids=repr,
)
@pytest.mark.parametrize("k", [None, 2])
def test_projections_on_samples(kernel, A, B, k):
    f = element(kernel, A, 1, k, b=3.0)
    found = project(f, B)
    assert np.allclose(found.element(B), f(B) - 3.0, atol=1e-7)
    for g in (element(kernel, B, 2, k), element(kernel, B, 3, k)):  # what is left is orthogonal to the subspace
        assert np.allclose((f - found.element).inner(g), 0.0, atol=1e-6)
        assert np.all(f.without_intercept().distance(g) >= np.asarray(found.residual) - 1e-6)
    squares = np.asarray(found.element.norm()) ** 2 + np.asarray(found.residual) ** 2
    assert np.allclose(squares, np.asarray(f.norm()) ** 2)  # Pythagoras
    assert found.rank == np.linalg.matrix_rank(kernel(B), tol=1e-9)
    again = project(found.element, B)
    assert np.allclose(again.element(A), found.element(A), atol=1e-6)
    assert np.allclose(again.residual, 0.0, atol=1e-5)


def test_samples_that_span_everything_leave_nothing():
    f = element(Gaussian(1.0), X)
    found = project(f, np.vstack([X, X]))  # twice: a singular matrix
    assert found.residual < 1e-5 * f.norm()
    assert found.rank == 9


def test_projections_on_an_element():
    f, g = element(Gaussian(1.0), X, b=1.0), element(Gaussian(1.0), T, 1, b=2.0)
    found = project(f, g)
    assert abs((f - found.element).inner(g)) < 1e-12
    assert found.element.inner(g) == pytest.approx(f.inner(g))
    assert found.residual**2 + found.element.norm() ** 2 == pytest.approx(f.norm() ** 2)
    assert found.rank == 1 and float(found.element.intercept) == 0.0
    several = project(element(Gaussian(1.0), X, k=3), g)
    assert several.residual.shape == (3,) and several.element.outputs == (3,)
    nothing = project(f, 0.0 * g)
    assert nothing.rank == 0 and nothing.element.norm() == 0.0 and nothing.residual == pytest.approx(f.norm())
    slope = derivative_representer(Gaussian(1.0), T[:1], 0)
    assert abs((f - project(f, slope).element).inner(slope)) < 1e-12
    assert abs((slope - project(slope, f).element).inner(f)) < 1e-12
    steep = project(f, slope + g)
    assert abs((f - steep.element).inner(slope + g)) < 1e-12
    assert project(slope, T).residual < slope.norm()
    p = project(element(Polynomial(2), X).to_features(), T)
    assert np.allclose(p.element(T), element(Polynomial(2), X)(T))


def test_what_is_refused():
    f = element(Gaussian(1.0), X)
    with pytest.raises(DomainError, match="square"):
        projection_moments(np.ones((3, 2)), np.ones(3))
    with pytest.raises(DomainError, match="square"):
        projection_moments(np.ones((3, 3)), np.ones(2))
    with pytest.raises(DomainError, match="outputs of shape"):
        project(f, element(Gaussian(1.0), X, k=2))
    with pytest.raises(CapabilityError, match="positive definite"):
        project(Expansion(NegativeDistance(), Vectors.pack(X), np.zeros(9), np.asarray(0.0)), X)
    with pytest.raises(MemoryBudgetError):
        project(f, np.zeros((2000, 2)), memory="1MB")
    with pytest.raises(CapabilityError, match="one kernel"):
        project(f, representer(Gaussian(2.0), X[:1]))

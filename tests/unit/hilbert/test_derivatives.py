"""Gradients of functions, and derivatives as elements of the space."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVDD, GaussianProcessRegressor, KernelRidge
from mercer import kernels as K
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram import Expansion
from mercer.hilbert.derivatives import DerivativeExpansion, derivative_representer, gradient, sensitivity
from mercer.hilbert.elements import representer

rng = np.random.default_rng(0)
X, T = rng.uniform(0.2, 1.8, size=(8, 2)), rng.uniform(0.2, 1.8, size=(5, 2))
G = K.Gaussian(0.9)
SMOOTH = [G, K.Matern(1.5), K.Polynomial(3), G * K.Polynomial(2) + K.Matern(2.5), K.Anova(2), K.Periodic(1.3)]


def element(kernel, A, seed=0, k=None, b=0.5):
    c = np.random.default_rng(seed).normal(size=len(A) if k is None else (len(A), k))
    return Expansion(kernel, kernel.prepare(kernel.pack(A)), c, np.asarray(b if k is None else np.full(k, b)))


def differences(f, A, h=1e-3):
    """Fourth-order differences of values in each column."""
    out = []
    for step in np.eye(A.shape[1]) * h:
        ends = [f(A + a * step) for a in (1.0, -1.0, 2.0, -2.0)]
        out.append((8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h))
    return np.stack(out, axis=1)


@pytest.mark.parametrize("kernel", [*SMOOTH, K.Laplacian(0.7), K.Brownian(), K.Linear(), K.Exponential(1.0)], ids=repr)
@pytest.mark.parametrize("k", [None, 2])
def test_gradients_are_differences_of_values(kernel, k):
    f = element(kernel, X, 1, k)
    found = gradient(f, T)
    assert found.shape == (5, 2) if k is None else (5, 2, 2)
    assert np.allclose(found, differences(f, T), rtol=1e-6, atol=1e-6 * np.abs(found).max())


def test_gradients_of_functions_in_features():
    for kernel in (K.Linear(), K.Polynomial(3), K.Linear() + 1.0):
        for k in (None, 2):
            f = element(kernel, X, 1, k)
            assert np.allclose(gradient(f.to_features(), T), gradient(f, T), rtol=1e-9, atol=1e-9)


def test_gradients_of_a_multiple_of_the_diagonal():
    for kernel in (K.Polynomial(2), G, K.Anova(2)):
        f = dataclasses.replace(element(kernel, X), diagonal=-1.5)
        assert np.allclose(gradient(f, T), differences(f, T), atol=1e-7)
        g = dataclasses.replace(element(kernel, X, k=2), diagonal=-1.5)
        assert np.allclose(gradient(g, T), differences(g, T), atol=1e-7)


def test_gradients_of_fitted_machines_and_in_blocks(monkeypatch):
    y = np.sin(3.0 * X[:, 0]) + X[:, 1]
    for machine in (KernelRidge(G, alpha=0.1), GaussianProcessRegressor(G, fixed="all"), SVDD(G)):
        machine.fit(X, y)
        value = machine.decision_function if hasattr(machine, "decision_function") else machine.predict
        assert np.allclose(gradient(machine.expansion_, T), differences(value, T), atol=1e-7)
    f = element(G, X, 1, 2)
    whole = gradient(f, T)
    monkeypatch.setattr("mercer.hilbert.derivatives._ENTRIES", 16)
    assert np.allclose(gradient(f, T), whole, rtol=1e-13)


def test_gradients_at_sparse_points():
    f = element(G, X)
    assert np.allclose(gradient(f, sp.csr_array(T)), gradient(f, T), rtol=1e-12)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_the_inner_product_with_the_representer_is_the_derivative(kernel):
    f = element(kernel, X, 1)
    for i, x in enumerate(T[:3]):
        for column in (0, 1, -1):
            slope = derivative_representer(kernel, [x], column)
            assert f.inner(slope) == pytest.approx(gradient(f, T)[i, column], rel=1e-10)
            assert slope.inner(f) == f.inner(slope)
        u = np.array([0.3, -2.0])
        assert derivative_representer(kernel, [x], u).inner(f) == pytest.approx(gradient(f, T)[i] @ u, rel=1e-10)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_inner_products_of_representers_are_mixed_derivatives(kernel):
    u, v = rng.normal(size=(2, 2))
    first, second = derivative_representer(kernel, T[:1], u), derivative_representer(kernel, T[1:2], v)

    def along(s, t):
        return kernel(T[:1] + s * u, T[1:2] + t * v)[0, 0]

    h, stencil = 2e-3, ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))
    mixed = sum(a * b * along(s * h, t * h) for s, a in stencil for t, b in stencil) / (12 * h) ** 2
    assert first.inner(second) == pytest.approx(mixed, rel=1e-6, abs=1e-6)
    assert second.inner(first) == pytest.approx(first.inner(second), rel=1e-8)
    # a derivative is the limit of differences of representers
    near = (representer(kernel, T[:1] + 1e-5 * u) - representer(kernel, T[:1] - 1e-5 * u)) / 2e-5
    assert near.inner(second) == pytest.approx(mixed, rel=1e-5, abs=1e-5)
    assert np.allclose(near(X), first(X), rtol=1e-6, atol=1e-6)
    assert first.distance(first) == pytest.approx(0.0, abs=1e-3 * first.norm())
    assert abs(first.inner(second)) <= first.norm() * second.norm() * (1.0 + 1e-8)


@pytest.mark.parametrize("k", [None, 2])
def test_mixed_elements_add_scale_and_have_gradients(k):
    f = element(G, X, 1, k)
    slope = derivative_representer(G, T[:1], 0)
    slope = slope if k is None else np.array([1.0, -2.0]) * slope
    other = derivative_representer(G, T[1:2], [1.0, 1.0])
    other = other if k is None else np.ones(2) * other
    for g, value in (
        (f + slope, f(X) + slope(X)),
        (slope + f, f(X) + slope(X)),
        (f - 2.0 * slope, f(X) - 2.0 * slope(X)),
        (slope - other / 2.0, slope(X) - other(X) / 2.0),
        ((f + slope) + (f + other), 2.0 * f(X) + slope(X) + other(X)),
        (sum([slope, f]), f(X) + slope(X)),
    ):
        assert isinstance(g, DerivativeExpansion)
        assert np.allclose(g(X), value, atol=1e-12)
        assert np.allclose(gradient(g, T), differences(g, T), atol=1e-7)
        assert np.allclose(np.asarray(g.norm()) ** 2, g.inner(g))
        assert np.shape(g.norm()) == (() if k is None else (2,))
        assert np.allclose(g.inner(f), f.inner(g), rtol=1e-10)
        if k is not None:
            assert np.allclose(g.column(1)(X), value[:, 1])
            assert g.column(1).norm() == pytest.approx(g.norm()[1])
    g = f + slope
    expected = np.asarray(f.norm()) ** 2 + 2.0 * np.asarray(f.inner(slope)) + np.asarray(slope.norm()) ** 2
    assert np.allclose(np.asarray(g.norm()) ** 2, expected)
    assert np.allclose(g.normalized().norm(), 1.0)


def test_one_function_meets_each_of_several_slopes():
    f, slope = element(G, X, 1, 3), derivative_representer(G, T[:1], 0)
    expected = [f.column(j).inner(slope) for j in range(3)]
    assert np.allclose(slope.inner(f), expected)
    several = np.arange(1.0, 4.0) * slope
    assert np.allclose(several.inner(element(G, X, 1)), np.arange(1.0, 4.0) * slope.inner(element(G, X, 1)))
    with pytest.raises(DomainError, match="outputs"):
        several.inner(element(G, X, 1, 2))


def test_slopes_at_functions_in_features():
    kernel = K.Polynomial(2)
    f, slope = element(kernel, X), derivative_representer(kernel, T[:1], 1)
    assert slope.inner(f.to_features()) == pytest.approx(slope.inner(f), rel=1e-9)
    assert f.to_features().inner(slope) == pytest.approx(slope.inner(f), rel=1e-9)
    with pytest.raises(CapabilityError, match="gram=Dense"):
        slope + f.to_features()


def test_the_smallest_function_with_given_values_and_slopes():
    """Hermite interpolation: of all functions that meet the data, the span of representers has the smallest."""
    parts = [representer(G, X[:1]), representer(G, X[1:2]), derivative_representer(G, X[:1], 0)]
    gram = np.array([[f.inner(g) for g in parts] for f in parts])
    c = np.linalg.solve(gram, [1.0, -1.0, 2.0])
    f = sum(a * part for a, part in zip(c, parts, strict=True))
    assert np.allclose(f(X[:2]), [1.0, -1.0])
    assert gradient(f, X[:1])[0, 0] == pytest.approx(2.0)
    other = element(G, X[2:5], b=0.0)  # changed so that it meets the data too
    rest = np.linalg.solve(gram, [1.0 - other(X[:1])[0], -1.0 - other(X[1:2])[0], 2.0 - gradient(other, X[:1])[0, 0]])
    g = other + sum(a * part for a, part in zip(rest, parts, strict=True))
    assert np.allclose(g(X[:2]), [1.0, -1.0])
    assert f.norm() < g.norm()


def test_conditionally_definite_kernels_have_slopes():
    kernel = K.Multiquadric(0.9)
    slope = derivative_representer(kernel, T[:1], 0)
    assert slope.norm() > 0.0
    c = np.random.default_rng(0).normal(size=8)
    f = Expansion(kernel, Vectors.pack(X), c - c.mean(), np.asarray(0.0))
    assert f.inner(slope) == pytest.approx(gradient(f, T)[0, 0])
    with pytest.raises(CapabilityError, match="sum to zero"):
        slope.inner(element(kernel, X))


def test_sensitivity_is_the_mean_square_of_the_gradient():
    f = element(G, X, 1)
    assert np.allclose(sensitivity(f, T), (gradient(f, T) ** 2).mean(axis=0))
    w = np.array([2.0, 0.0, 1.0, 0.0, 0.0])
    assert np.allclose(sensitivity(f, T, w), sensitivity(f, T[[0, 0, 2]]), rtol=1e-13)
    several = element(G, X, 1, 3)
    assert sensitivity(several, T).shape == (2, 3)
    assert np.allclose(sensitivity(several, T)[:, 1], sensitivity(several.column(1), T))
    grid = rng.uniform(-1.0, 1.0, size=(80, 3))
    machine = KernelRidge(K.Gaussian(1.0), alpha=1e-3).fit(grid, np.sin(2.0 * grid[:, 1]))
    relevant = sensitivity(machine.expansion_, grid)
    assert relevant[1] > 100.0 * max(relevant[0], relevant[2])


def test_what_is_refused():
    for kernel in (K.Laplacian(1.0), K.Brownian(), K.Exponential(1.0)):
        with pytest.raises(CapabilityError, match="not a bounded functional"):
            derivative_representer(kernel, T[:1], 0)
    with pytest.raises(CapabilityError, match="only functions of vectors"):
        derivative_representer(K.Spectrum(1), ["ab"], 0)
    with pytest.raises(CapabilityError, match="only functions of vectors"):
        gradient(element(K.Spectrum(1), ["ab", "b"]), ["ab"])
    with pytest.raises(CapabilityError, match="order None"):
        derivative_representer(K.Sigmoid(), T[:1], 0)
    with pytest.raises(DomainError, match="2 samples"):
        derivative_representer(G, T[:2], 0)
    for bad in (2, -3, [1.0], "x", [np.nan, 1.0]):
        with pytest.raises(ParameterError, match="direction="):
            derivative_representer(G, T[:1], bad)
    with pytest.raises(DomainError, match="elements of the space"):
        derivative_representer(G, T[:1], 0).inner(1.0)
    with pytest.raises(CapabilityError, match=r"k\(x, x\)"):
        derivative_representer(G, T[:1], 0).inner(dataclasses.replace(element(G, X), diagonal=1.0))
    with pytest.raises(TypeError):
        derivative_representer(G, T[:1], 0) + "f"

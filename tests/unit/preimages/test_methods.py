"""Pre-images against images of known points, the distances they minimise, and each other."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Exponential, Gaussian, Linear, Matern, Polynomial, RationalQuadratic, Spectrum
from mercer.preimages.methods import (
    DistanceScaling,
    FixedPoint,
    Gradient,
    RidgeMap,
    is_profile,
    preimage,
    preimage_method,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
C = rng.dirichlet(np.full(40, 0.3), size=6).T


def element(kernel, coef=C, points=X):
    S = kernel.prepare(kernel.pack(points))
    return Expansion(kernel, S, np.asarray(coef), np.zeros(np.shape(coef)[1:]))


def distance(kernel, Z, coef=C):
    """Squared distance in feature space, from the definition."""
    square = np.einsum("ip,ij,jp->p", coef, kernel(X), coef)
    own = np.array([kernel(z[None])[0, 0] for z in Z])
    return own - 2.0 * np.einsum("pi,ip->p", kernel(Z, X), coef) + square


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Gaussian((1.0, 2.0, 3.0)), Matern(2.5, 1.5), RationalQuadratic(2.0)])
def test_fixed_point_and_gradient_find_the_same_minimum(kernel):
    start = C.T @ X
    a, b = preimage(element(kernel), FixedPoint(tol=1e-9, max_iter=5000), start), preimage(element(kernel), Gradient())
    assert np.all(distance(kernel, a) <= distance(kernel, start) + 1e-12)
    near = np.linalg.norm(a - b, axis=1) < 1.0  # where both are in one valley they are at one place
    assert near.sum() >= 4
    np.testing.assert_allclose(a[near], b[near], atol=2e-3)
    for step in 1e-2 * rng.normal(size=(20, 3)):
        assert np.all(distance(kernel, a + step) >= distance(kernel, a) - 1e-9)


@pytest.mark.parametrize("method", [FixedPoint(max_iter=2000), Gradient(), DistanceScaling(8)])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.5, 2.0), Exponential(2.0)])
def test_an_image_is_found_again(method, kernel):
    if isinstance(kernel, Exponential) and not isinstance(method, DistanceScaling):
        method = FixedPoint()
    found = preimage(element(kernel, np.eye(40)[:, :5]), method)
    np.testing.assert_allclose(found, X[:5], atol=1e-4)


def test_the_step_turns_where_the_denominator_is_negative():
    kernel, points = Gaussian(1.0), np.array([[0.0], [2.0]])
    f = element(kernel, np.array([1.0, -1.5]), points)
    found = preimage(f, FixedPoint(max_iter=2000), start=[[1.2]])
    values = f(np.linspace(-5, 5, 2001)[:, None])
    assert f(found) == pytest.approx(values.max(), abs=1e-6)


def test_distances_are_inverted():
    """With all distances exact and the point in the span of its neighbours it is found exactly."""
    kernel = Matern(1.5, 2.0)
    coef = np.zeros((40, 1))
    coef[7] = 1.0
    np.testing.assert_allclose(preimage(element(kernel, coef), DistanceScaling(40)), X[[7]], atol=1e-6)


def test_gradient_for_kernels_of_the_dot_product():
    kernel = Polynomial(3)
    found = preimage(element(kernel), Gradient(max_iter=1000))
    for step in 1e-2 * rng.normal(size=(20, 3)):
        assert np.all(distance(kernel, found + step) >= distance(kernel, found) - 1e-6)
    assert np.all(distance(kernel, found) <= distance(kernel, C.T @ X))
    np.testing.assert_allclose(preimage(element(Linear())), C.T @ X)


def test_the_learned_map():
    angle = rng.uniform(0, 6, 200)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    model = KernelPCA(Gaussian(1.0), 6, preimage=RidgeMap(1e-4)).fit(circle)
    np.testing.assert_allclose(model.inverse_transform(model.transform(circle)), circle, atol=0.02)
    off = model.denoise(1.3 * circle)
    assert np.mean(np.abs(np.hypot(*off.T) - 1.0)) < 0.1
    assert preimage(element(Gaussian(1.0)), RidgeMap(kernel=Gaussian(2.0))).shape == (6, 3)


def test_what_is_chosen_and_refused():
    assert isinstance(preimage_method(Gaussian(1.0)), FixedPoint)
    assert isinstance(preimage_method(2.0 * Gaussian(1.0)), Gradient) and not is_profile(Polynomial(2))
    for method in (FixedPoint(), DistanceScaling()):
        with pytest.raises(CapabilityError, match="function of the distance"):
            preimage(element(Polynomial(2)), method)
    words = Spectrum(2).pack(["abc", "bcd"])
    with pytest.raises(DomainError, match="Expansion on vectors"):
        preimage(Expansion(Spectrum(2), words, np.ones(2), np.zeros(())))
    with pytest.raises(DomainError):
        preimage(FeatureExpansion(Linear(), None, np.ones(2), np.zeros(())))
    for method in (FixedPoint(0), FixedPoint(tol=0.0), DistanceScaling(0), Gradient(0), RidgeMap(0.0)):
        with pytest.raises(ParameterError):
            preimage(element(Gaussian(1.0)), method)
    assert isinstance(Vectors.pack(X), Vectors)


def test_specifications_are_values():
    assert FixedPoint(50) == FixedPoint(50) != FixedPoint(60)
    assert repr(RidgeMap(0.5)) == "RidgeMap(0.5)"

"""Conditionally positive definite kernels: formulas, derivatives, and definiteness on their terms."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.free_parameters import free_values, with_free
from mercer.kernels import RationalQuadratic
from mercer.kernels.vectors.conditional import (
    InverseMultiquadric,
    Logarithmic,
    Multiquadric,
    NegativeDistance,
    ThinPlate,
)
from mercer.language import parse
from tests.naive import conditional as naive

NAMES = {k.__name__: k for k in (InverseMultiquadric, Logarithmic, Multiquadric, NegativeDistance, ThinPlate)}
CASES = [
    (NegativeDistance(), lambda x, z: naive.negative_distance(x, z, 1.0)),
    (NegativeDistance(0.5), lambda x, z: naive.negative_distance(x, z, 0.5)),
    (NegativeDistance(2.0), lambda x, z: naive.negative_distance(x, z, 2.0)),
    (Logarithmic(), lambda x, z: naive.logarithmic(x, z, 2.0, 1.0)),
    (Logarithmic(1.3, length_scale=0.6), lambda x, z: naive.logarithmic(x, z, 1.3, 0.6)),
    (Multiquadric(0.7), lambda x, z: naive.multiquadric(x, z, 0.7)),
    (InverseMultiquadric(0.7), lambda x, z: naive.inverse_multiquadric(x, z, 0.7)),
    (ThinPlate(), naive.thin_plate),
]
KERNELS = [kernel for kernel, _ in CASES]
ARD = [Logarithmic(1.5, (0.5, 2.0, 1.0)), Multiquadric((0.5, 2.0, 1.0)), InverseMultiquadric((0.5, 2.0, 1.0))]


def points(seed, n, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(
    ("kernel", "formula"),
    CASES,
    ids=lambda case: "" if callable(case) and not hasattr(case, "order") else repr(case)[:40],
)
@pytest.mark.parametrize("d", [1, 3, 12])
def test_the_formula(kernel, formula, d):
    X, Z = points(0, 6, d), points(1, 5, d)
    Z[0] = X[0]
    np.testing.assert_allclose(kernel(X, Z), [[formula(x, z) for z in Z] for x in X], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(Vectors.pack(X)), [formula(x, x) for x in X], atol=0)
    np.testing.assert_array_equal(np.diag(kernel(X)), kernel.diag(Vectors.pack(X)))


def complement(X, order):
    """A basis of the coefficients that polynomials of degree below `order` do not see."""
    columns = [np.ones((len(X), 1)), X][:order]
    Q = np.linalg.qr(np.hstack(columns), mode="complete")[0]
    return Q[:, sum(c.shape[1] for c in columns) :]


@pytest.mark.parametrize("kernel", KERNELS + ARD, ids=repr)
@pytest.mark.parametrize("n", [25, 60])
def test_definite_on_its_terms(kernel, n):
    X = points(2, n)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    if kernel.order:
        basis = complement(X, kernel.order)
        assert np.linalg.eigvalsh(K).min() < 0  # not definite as such
        K = basis.T @ K @ basis
    lowest = np.linalg.eigvalsh(K).min()
    assert lowest > -1e-10
    if kernel.strict:
        assert lowest > 1e-10


def test_a_lower_order_would_be_a_lie():
    X = points(3, 40)
    basis = complement(X, 1)
    assert np.linalg.eigvalsh(basis.T @ ThinPlate()(X) @ basis).min() < -0.1


def test_declared_properties():
    assert [k.order for k in KERNELS] == [1, 1, 1, 1, 1, 1, 0, 2]
    assert not NegativeDistance(2.0).strict and NegativeDistance(1.9).strict
    assert all(k.stationary for k in KERNELS)
    assert [k.normalised for k in KERNELS] == [k.bounded for k in KERNELS] == [k.order == 0 for k in KERNELS]
    assert [k.universal for k in KERNELS] == [k.order == 0 for k in KERNELS]


@pytest.mark.parametrize("kernel", KERNELS + ARD, ids=repr)
def test_derivative_in_the_parameters(kernel):
    A, B = Vectors.pack(points(4, 6)), Vectors.pack(points(5, 4))
    W = np.random.default_rng(6).normal(size=(6, 4))
    if kernel == NegativeDistance(2.0):
        kernel = NegativeDistance(1.999)  # its neighbour above is not allowed
    if kernel == Logarithmic():
        kernel = Logarithmic(1.999)
    values = free_values(kernel)
    expected = []
    for i in range(len(values)):
        step = 1e-6 * np.eye(len(values))[i]
        high, low = (with_free(kernel, values + s).block(A, B) for s in (step, -step))
        expected.append(np.vdot(W, high - low) / 2e-6)
    np.testing.assert_allclose(kernel.pullback(A, B, W), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS + ARD, ids=repr)
def test_derivative_in_the_inputs(kernel):
    X, Z = points(7, 5), points(8, 4)
    B = Vectors.pack(Z)
    W = np.random.default_rng(9).normal(size=(5, 4))
    expected = np.empty_like(X)
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = 1e-6
        high, low = (kernel.block(Vectors.pack(Y), B)[place[0]] for Y in (X + step, X - step))
        expected[place] = W[place[0]] @ (high - low) / 2e-6
    np.testing.assert_allclose(kernel.pullback_inputs(Vectors.pack(X), B, W), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_derivatives_at_equal_points_are_finite(kernel):
    A = Vectors.pack(points(10, 4))
    assert np.isfinite(kernel.pullback(A, A, np.ones((4, 4)))).all()
    assert np.isfinite(kernel.pullback_inputs(A, A, np.ones((4, 4)))).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_widths_and_sparse_data(kernel):
    X = points(11, 10)
    single = kernel(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(kernel(sp.csr_array(X)), kernel(X), rtol=1e-9, atol=1e-12)


def test_inverse_multiquadric_is_a_rational_quadratic():
    X = points(12, 8)
    np.testing.assert_allclose(InverseMultiquadric(1.7)(X), RationalQuadratic(0.5, 1.7)(X), rtol=1e-12)


@pytest.mark.parametrize("length", [0.8, (0.5, 2.0, 1.0)])
def test_frequencies_give_the_kernel(length):
    kernel = InverseMultiquadric(length)
    draws = kernel.frequencies(np.random.default_rng(13), 20000, 3)
    for x in points(14, 6):
        waves = np.cos(draws @ x)
        error = waves.std() / np.sqrt(len(waves))
        assert abs(waves.mean() - kernel(x[None], np.zeros((1, 3))).item()) < 4 * error


def test_numbers_known_by_heart():
    X = [[0.0, 0.0], [3.0, 4.0]]
    assert NegativeDistance()(X)[0, 1] == -5.0
    assert Multiquadric(5.0)(X)[0, 1] == pytest.approx(-math.sqrt(2.0))
    assert ThinPlate()([[0.0], [math.e]])[0, 1] == pytest.approx(math.e**2)
    assert ThinPlate()([[0.0], [1.0]])[0, 1] == 0.0


def test_distance_in_feature_space_is_the_root_of_the_distance():
    X = points(15, 5)
    Euclidean = -NegativeDistance()(X)
    np.testing.assert_allclose(NegativeDistance().distance(X), np.sqrt(2 * Euclidean), atol=1e-12)


def test_large_data():
    X = points(16, 4) * 1e200
    assert np.isfinite(NegativeDistance(0.5)(X)).all()
    assert np.isfinite(InverseMultiquadric()(X)).all()
    assert np.isfinite(Logarithmic(1.0)(X)).all()
    with pytest.raises(DomainError, match="too large"):
        ThinPlate()(X)


@pytest.mark.parametrize("kernel", KERNELS + ARD, ids=repr)
def test_text(kernel):
    assert parse(repr(kernel), names=NAMES) == kernel


def test_median():
    X = points(17, 20)
    learned = Multiquadric("median").learn(Vectors.pack(X))
    assert learned.length_scale > 0 and NegativeDistance().learn(Vectors.pack(X)) == NegativeDistance()


@pytest.mark.parametrize("exponent", [0.0, 2.1, -1.0, "one", np.nan])
@pytest.mark.parametrize("kind", [NegativeDistance, Logarithmic])
def test_bad_exponents(kind, exponent):
    with pytest.raises(ParameterError, match="exponent"):
        kind(exponent).check()

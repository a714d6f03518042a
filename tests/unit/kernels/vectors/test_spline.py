"""Spline kernels: formulas, exact pieces, derivatives, laws."""

import math

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.free_parameters import free_values, with_free
from mercer.kernels.vectors import spline
from mercer.kernels.vectors.spline import Brownian, BSpline, LinearSpline
from mercer.language import parse
from tests.naive.spline import b_spline, brownian, linear_spline

CASES = [
    (BSpline(1), lambda x, z: b_spline(x, z, 1, 1.0)),
    (BSpline(3, length_scale=0.8), lambda x, z: b_spline(x, z, 3, 0.8)),
    (BSpline(5), lambda x, z: b_spline(x, z, 5, 1.0)),
    (BSpline(11, length_scale=0.5), lambda x, z: b_spline(x, z, 11, 0.5)),
    (LinearSpline(), linear_spline),
    (Brownian(), brownian),
]
KERNELS = [kernel for kernel, _ in CASES]
NAMES = {"BSpline": BSpline, "LinearSpline": LinearSpline, "Brownian": Brownian}


def points(seed, n, d=3):
    return np.random.default_rng(seed).uniform(0.0, 2.0, size=(n, d))


@pytest.mark.parametrize(
    ("kernel", "formula"),
    CASES,
    ids=lambda case: "" if callable(case) and not hasattr(case, "order") else repr(case)[:40],
)
@pytest.mark.parametrize("d", [1, 3, 10])
def test_the_formula(kernel, formula, d):
    X, Z = points(0, 6, d), points(1, 5, d)
    Z[0], X[1, 0], Z[2, 0] = X[0], 0.0, X[3, 0] + 1.0  # equal points, a zero, a knot
    expected = [[formula(x, z) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(Vectors.pack(X)), [formula(x, x) for x in X], rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 3, 7, 21, 51])
def test_pieces_to_the_last_digits(degree):
    c = (degree + 1) // 2
    u = np.concatenate([np.linspace(0.0, c, 57), c - np.geomspace(1e-3, 0.5, 5), [c + 0.5]])
    with mpmath.workdps(120):
        exact = [
            sum(
                (-1) ** k * math.comb(degree + 1, k) * max(mpmath.mpf(float(c)) - k - mpmath.mpf(float(v)), 0) ** degree
                for k in range(degree + 2)
            )
            / mpmath.factorial(degree)
            for v in u
        ]
        exact = np.array([float(value) for value in exact])
    found = BSpline(degree)(u[:, None], [[0.0]])[:, 0]
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=0)


def test_b_splines_are_convolutions():
    """B_3 is the convolution of B_1 with itself: an inner product of shifted functions, [HSS] Eq. (36)."""
    t = np.linspace(-3.0, 3.0, 6001)
    for shift in (0.0, 0.3, 1.0, 1.7):
        left, right = (BSpline(1)(t[:, None], [[at]])[:, 0] for at in (0.0, shift))
        assert BSpline(3)([[0.0]], [[shift]]).item() == pytest.approx(np.trapezoid(left * right, t), abs=1e-6)


def test_numbers_known_by_heart():
    K = BSpline(3)([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(K[0], [2 / 3, 1 / 6, 0.0])
    np.testing.assert_allclose(BSpline(5)([[0.0]], [[0.0], [1.0], [2.0]])[0], [66 / 120, 26 / 120, 1 / 120])
    assert LinearSpline()([[1.0]], [[2.0]]).item() == pytest.approx(1 / 3 + 1 / 2 + 1 + 2)


@pytest.mark.parametrize("kernel", [*KERNELS, BSpline(3, (0.5, 1.0, 3.0))], ids=repr)
def test_laws(kernel):
    X = points(2, 40)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)
    assert kernel.order == 0


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.strict], ids=repr)
def test_strict_ones(kernel):
    assert np.linalg.eigvalsh(kernel(np.linspace(0.0, 3.0, 7)[:, None])).min() > 0


def test_declared_properties():
    assert BSpline(3).stationary and BSpline(3).bounded and not BSpline(3).normalised
    assert not (LinearSpline().stationary or LinearSpline().bounded)
    assert not (Brownian().strict or Brownian().universal)
    np.testing.assert_array_equal(Brownian()([[0.0], [1.0]])[0], 0.0)


@pytest.mark.parametrize("kernel", [*KERNELS, BSpline(3, (0.5, 1.0, 3.0))], ids=repr)
def test_derivative_in_the_parameters(kernel):
    A, B = Vectors.pack(points(3, 6)), Vectors.pack(points(4, 4))
    W = np.random.default_rng(5).normal(size=(6, 4))
    values = free_values(kernel)
    expected = []
    for i in range(len(values)):
        step = 1e-6 * np.eye(len(values))[i]
        high, low = (with_free(kernel, values + s).block(A, B) for s in (step, -step))
        expected.append(np.vdot(W, high - low) / 2e-6)
    np.testing.assert_allclose(kernel.pullback(A, B, W), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kernel", [*KERNELS, BSpline(3, (0.5, 1.0, 3.0))], ids=repr)
def test_derivative_in_the_inputs(kernel):
    X, Z = points(6, 5) + 0.1, points(7, 4) + 0.1
    Z[0] = X[0] if kernel == LinearSpline() or kernel == Brownian() else Z[0]
    B = Vectors.pack(Z)
    W = np.random.default_rng(8).normal(size=(5, 4))
    expected = np.empty_like(X)
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = 1e-6
        high, low = (kernel.block(Vectors.pack(Y), B)[place[0]] for Y in (X + step, X - step))
        expected[place] = W[place[0]] @ (high - low) / 2e-6
    np.testing.assert_allclose(kernel.pullback_inputs(Vectors.pack(X), B, W), expected, rtol=1e-5, atol=1e-7)


def test_derivative_beside_a_zero_factor():
    A, B = Vectors.pack([[0.0, 2.0]]), Vectors.pack([[1.0, 3.0]])
    np.testing.assert_array_equal(Brownian().pullback_inputs(A, B, np.ones((1, 1))), [[2.0, 0.0]])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_widths_and_sparse_data(kernel):
    X = points(9, 10)
    X[X < 0.5] = 0.0
    single = kernel(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel(X), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(kernel(sp.csr_array(X)), kernel(X))


@pytest.mark.parametrize("degree", [2, 4, 50])
def test_even_degrees_are_no_kernels(degree):
    with pytest.raises(ParameterError, match=f"degree={degree}.*odd.*negative.*Use {degree - 1} or {degree + 1}"):
        BSpline(degree)([[0.0]])


def test_why_even_degrees_are_refused():
    """B_2 by its own formula, on a grid fine enough to see where sinc^3 is negative."""
    grid = np.arange(0.0, 8.0, 0.25)
    u = np.abs(np.subtract.outer(grid, grid))
    quadratic = np.where(u < 0.5, 0.75 - u**2, np.where(u < 1.5, 0.5 * (1.5 - u) ** 2, 0.0))
    assert np.linalg.eigvalsh(quadratic).min() < 0


@pytest.mark.parametrize("degree", [0, -1, 53, 2.5, True, "3"])
def test_bad_degrees(degree):
    with pytest.raises(ParameterError, match="degree"):
        BSpline(degree).check()


@pytest.mark.parametrize("kernel", [LinearSpline(), Brownian()], ids=repr)
def test_negative_data(kernel):
    for X in ([[1.0], [-0.5]], sp.csr_array([[1.0], [-0.5]])):
        with pytest.raises(DomainError, match=r"-0\.5.*MinMaxScaler"):
            kernel(X)
        with pytest.raises(DomainError, match=r"-0\.5"):
            kernel.prepare(Vectors.pack(X))


def test_length_scales_per_column():
    with pytest.raises(DomainError, match="2 length scales"):
        BSpline(3, (1.0, 2.0))(points(10, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_both_sides_have_the_same_columns(kernel):
    A, B = Vectors.pack(points(13, 3, 2)), Vectors.pack(points(14, 3, 3))
    for left, right in ((A, B), (B, A)):
        with pytest.raises(DomainError, match="columns"):
            kernel(left, right)
        with pytest.raises(DomainError, match="columns"):
            kernel.pullback_inputs(left, right, np.ones((3, 3)))


@pytest.mark.parametrize("kernel", [BSpline(1), BSpline(3, 0.7), BSpline(5, (0.5,))], ids=repr)
def test_integral(kernel):
    t = np.linspace(-6.0, 6.0, 12001)
    integral = np.trapezoid(kernel(t[:, None], [[0.1]])[:, 0], t)
    assert np.exp(kernel.log_integral(1)) == pytest.approx(integral, rel=1e-6)


def test_overflow_is_an_error():
    with pytest.raises(DomainError, match="too large"):
        LinearSpline()([[1e150, 1e150], [1e150, 1e150]])


@pytest.mark.parametrize("kernel", [*KERNELS, BSpline(3, (0.5, 1.0))], ids=repr)
def test_text(kernel):
    assert parse(repr(kernel), names=NAMES) == kernel


def test_compiled_loops_are_plain_python_too():
    X, Zt = points(11, 3), np.ascontiguousarray(points(12, 4).T)
    for loop, extra in (
        (spline._multiply_pieces, (np.ones(3), spline._pieces(3))),
        (spline._multiply_splines, ()),
        (spline._multiply_minima, ()),
    ):
        fast, slow = np.empty((3, 4)), np.empty((3, 4))
        loop(X, Zt, *extra, fast)
        loop.py_func(X, Zt, *extra, slow)
        np.testing.assert_allclose(fast, slow, rtol=1e-13)

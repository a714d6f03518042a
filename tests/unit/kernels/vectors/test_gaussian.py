"""The Gaussian kernel, and its fused sums: against exact arithmetic, over the whole range of exponents."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer.errors import ParameterError
from mercer.kernels.vectors import gaussian
from mercer.kernels.vectors.gaussian import Gaussian, gaussian_sums, gaussian_tile, is_exact_enough
from mercer.numerics.operands import center_of, distance_operands, dot_operands
from tests.naive import radial

KINDS = [np.float32, np.float64]
ULPS = 2.0


def power(kind):
    return gaussian._power32 if kind is np.float32 else gaussian._power64


def both(function):
    """The compiled function and its source."""
    return [function, function.py_func]


@pytest.mark.parametrize("kind", KINDS)
def test_powers_of_two_are_right_to_two_units_in_the_last_place(kind):
    """Against 40 digits; whole numbers, halves (where the rounding of the exponent changes) and all between."""
    low = -125.0 if kind is np.float32 else -1021.0
    rng = np.random.default_rng(0)
    x = np.concatenate([-rng.uniform(0.0, 3.0, 400), rng.uniform(low, 0.0, 400), -np.arange(0.0, -low, 0.5)])
    x = np.append(x, [np.nextafter(-0.5, 0), np.nextafter(-0.5, -1), -1e-30]).astype(kind)
    two = power(kind)
    worst = 0.0
    with mpmath.workdps(40):
        for value in x:
            exact = mpmath.power(2, mpmath.mpf(float(value)))
            got = two(value)
            unit = float(np.spacing(kind(float(exact))))
            worst = max(worst, abs(float((mpmath.mpf(float(got)) - exact) / unit)))
            if value > -3.0:
                assert two.py_func(value) == pytest.approx(float(exact), rel=4 * float(np.finfo(kind).eps))
    assert worst <= ULPS
    assert two(kind(0.0)) == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_no_exponent_is_too_small(kind):
    """Below the normal numbers something tiny and positive comes out: no NaN, no sign, no wrapped exponent."""
    tiny = np.finfo(kind).tiny
    for value in (-1e3, -1.1e3, -1e6, -1e30, -np.inf):
        got = power(kind)(kind(value))
        if kind is np.float64 and value == -1e3:
            assert got == 2.0**-1000
        else:
            assert 0.0 < got <= 16 * tiny


def naive(X, Z, scale):
    X, Z = (np.asarray(A, dtype=np.longdouble) for A in (X, Z))
    return np.exp(-0.5 * np.longdouble(scale) * ((X[:, None] - Z[None]) ** 2).sum(-1)).astype(float)


def operands(X, Z=None):
    Z = X if Z is None else Z
    return distance_operands(X, Z, center_of(Z))


def parts(m, n):
    return slice(0, m), slice(0, n)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("size", [0.01, 0.5, 1.0])
def test_sums_and_tiles_are_those_of_exact_arithmetic(kind, columns, size):
    rng = np.random.default_rng(1)
    X, Z = (size * rng.normal(size=(n, 4)) for n in (37, 53))
    X, Z = X.astype(kind), Z.astype(kind)
    V = rng.normal(size=(53, columns)).astype(kind)
    left, right = operands(X, Z)
    assert is_exact_enough(left, right, 1.5)
    K = naive(X, Z, 1.5)
    tile = gaussian_tile(left, right, parts(37, 53), np.empty((37, 53), kind), 1.5)
    exponent = 1.5 * (left.largest + right.largest)
    error = 8 * np.finfo(kind).eps * max(1.0, exponent)
    assert tile.dtype == kind
    assert np.abs(tile - K).max() <= error
    sums = gaussian_sums(left, right, parts(37, 53), np.empty((37, 53), kind), V, 1.5)
    assert sums.shape == (37, columns) and sums.dtype == kind
    assert np.all(np.abs(sums - K @ V.astype(float)) <= 2 * error * np.abs(V.astype(float)).sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_some_rows_and_columns(kind):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 2)).astype(kind)
    left, right = operands(X)
    K = naive(X, X, 1.0)
    tile = gaussian_tile(left, right, (slice(4, 9), slice(20, 30)), np.empty((5, 10), kind), 1.0)
    np.testing.assert_allclose(tile, K[4:9, 20:30], atol=100 * np.finfo(kind).eps)
    v = np.ones((10, 1), kind)
    sums = gaussian_sums(left, right, (slice(4, 9), slice(20, 30)), np.empty((5, 10), kind), v, 1.0)
    np.testing.assert_allclose(sums[:, 0], K[4:9, 20:30].sum(axis=1), atol=1000 * np.finfo(kind).eps)


@pytest.mark.parametrize("kind", KINDS)
def test_the_source_runs_as_the_compiled_code_does(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(5, 2)).astype(kind)
    left, right = operands(X)
    a, b, v = left.half_norms, right.half_norms, rng.normal(size=5).astype(kind)
    width = 32 if kind is np.float32 else 64
    fill, add = getattr(gaussian, f"_exponentials{width}"), getattr(gaussian, f"_sums{width}")
    factor = kind(1.4426950408889634)
    tiles, sums = [], []
    for run in both(fill):
        tiles.append(X @ X.T)
        run(tiles[-1], a, b, factor)
    for run in both(add):
        sums.append(np.empty(5, kind))
        run(X @ X.T, a, b, v, factor, sums[-1])
    eps = np.finfo(kind).eps
    np.testing.assert_allclose(tiles[0], tiles[1], rtol=8 * eps)
    np.testing.assert_allclose(sums[0], sums[1], atol=32 * eps)
    np.testing.assert_allclose(getattr(gaussian, f"_row_sum{width}").py_func((X @ X.T)[0], a[0], b, v, factor),
                               sums[0][0], atol=32 * eps)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 2**32 - 1), st.floats(-8.0, 8.0))
def test_never_a_nan_and_never_more_than_one(kind, seed, magnitude):
    """Whatever the size of the points: even where `is_exact_enough` says no, the numbers are in [0, 1]."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(6, 3)) * 10.0**magnitude).astype(kind)
    left, right = operands(X)
    tile = gaussian_tile(left, right, parts(6, 6), np.empty((6, 6), kind), 1.0)
    assert np.isfinite(tile).all() and (tile >= 0).all() and (tile <= 1.0 + 4 * np.finfo(kind).eps).all()
    sums = gaussian_sums(left, right, parts(6, 6), np.empty((6, 6), kind), np.ones((6, 1), kind), 1.0)
    assert np.isfinite(sums).all()


@pytest.mark.parametrize("kind", KINDS)
def test_equal_points_give_one(kind):
    X = np.repeat(np.random.default_rng(4).normal(size=(1, 7)), 4, axis=0).astype(kind)
    left, right = operands(X)
    tile = gaussian_tile(left, right, parts(4, 4), np.empty((4, 4), kind), 3.0)
    np.testing.assert_allclose(tile, 1.0, atol=4 * np.finfo(kind).eps)


@pytest.mark.parametrize(("kind", "stated"), [(np.float32, 1.5e-5), (np.float64, 5e-12)])
def test_at_the_limit_the_stated_error_holds(kind, stated):
    """Two tight clusters as far out as `is_exact_enough` allows: values near one, exponents at their worst."""
    most = 64.0 if kind is np.float32 else 1e4
    rng = np.random.default_rng(5)
    d = 16
    direction = rng.normal(size=d)
    direction *= np.sqrt(0.99 * most) / np.linalg.norm(direction)  # so that s (a + b) is just below
    X = np.vstack([sign * direction + 1e-3 * rng.normal(size=(50, d)) for sign in (1.0, -1.0)]).astype(kind)
    left, right = operands(X)
    assert is_exact_enough(left, right, 1.0)
    tile = gaussian_tile(left, right, parts(100, 100), np.empty((100, 100), kind), 1.0)
    assert np.abs(tile - naive(X, X, 1.0)).max() <= stated
    assert not is_exact_enough(left, right, 1.1)


def test_points_in_a_unit_and_dot_products_are_left_to_others():
    far = 1e300 * np.eye(3)
    assert not is_exact_enough(*distance_operands(far, far), 1.0)
    assert not is_exact_enough(*dot_operands(np.eye(3), np.eye(3)), 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [1, 3])
def test_sparse_points_where_they_are_accepted(kind, columns):
    rng = np.random.default_rng(6)
    X = (rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.3)).astype(kind)
    S = sparse.csr_array(X)
    left, right = distance_operands(S, S)
    if not is_exact_enough(left, right, 0.5):
        return
    K, V = naive(X, X, 0.5), rng.normal(size=(30, columns)).astype(kind)
    close = 200 * np.finfo(kind).eps
    tile = gaussian_tile(left, right, parts(30, 30), np.empty((30, 30), kind), 0.5)
    assert np.abs(tile - K).max() <= close
    sums = gaussian_sums(left, right, parts(30, 30), np.empty((30, 30), kind), V, 0.5)
    assert np.abs(sums - K @ V.astype(float)).max() <= 10 * close


def test_from_gamma_is_scikit_learns_parameter():
    assert Gaussian.from_gamma(0.5) == Gaussian(1.0)
    np.testing.assert_allclose(Gaussian.from_gamma(3.0)([[0.0]], [[0.5]]), np.exp(-0.75), rtol=1e-14)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, np.nan, "scale", True])
def test_from_gamma_refuses_what_is_no_width(gamma):
    with pytest.raises(ParameterError, match="from_gamma"):
        Gaussian.from_gamma(gamma)


@pytest.mark.parametrize("length", [0.4, 3.0, (0.7, 1.3, 2.1)], ids=str)
def test_agrees_with_its_naive_twin(length):
    X, Z = (np.random.default_rng(seed).normal(size=(6, 3)) for seed in (0, 1))
    expected = radial.table(radial.gaussian, X, Z, length)
    np.testing.assert_allclose(Gaussian(length)(X, Z), expected, rtol=1e-12, atol=1e-15)

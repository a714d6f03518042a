"""Tiles of distances and dot products against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import sparse

from mercer.numerics import cancellation, operands
from mercer.numerics.operands import (
    center_of,
    distance_operands,
    dot_operands,
    dot_tile,
    half_distance_tile,
    half_square_tile,
    manhattan_tile,
)

DTYPES = (np.float64, np.float32)
ALL = slice(None)
WIDTHS = (3, 20)  # summed directly; by a matrix product


def exact_half(X, Z, scale=None):
    """Return -|(x - z) / s|^2 / 2 as exact fractions (n, m) in an object array."""
    scale = [Fraction(1)] * X.shape[1] if scale is None else [Fraction(float(s)) for s in scale]
    A = [[Fraction(float(v)) for v in row] for row in X]
    B = [[Fraction(float(v)) for v in row] for row in Z]
    return np.array(
        [[-sum(((a - b) / s) ** 2 for a, b, s in zip(x, z, scale, strict=True)) / 2 for z in B] for x in A],
        dtype=object,
    )


def relative_errors(tile, exact, unit=1.0):
    square = Fraction(unit) ** 2
    errors = [
        float(abs(Fraction(float(t)) * square - e) / -e) if e != 0 else float(t != 0)
        for t, e in zip(tile.ravel(), exact.ravel(), strict=True)
    ]
    return np.array(errors).reshape(tile.shape)


def half_tile(X, Z, center="mean", scale=None, columns=None, reach=None):
    """Return the whole tile and the unit."""
    center = center_of(X) if isinstance(center, str) else center
    left, right = distance_operands(X, Z, center, scale, columns)
    out = np.empty((X.shape[0], Z.shape[0]), left.points.dtype)
    half_distance_tile(left, right, ALL, ALL, out, reach)
    return out, left.unit


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_ordinary_points(width, dtype):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(15, width)).astype(dtype), rng.normal(size=(11, width)).astype(dtype)
    tile, unit = half_tile(X, Z)
    assert unit == 1.0 and tile.dtype == dtype
    assert relative_errors(tile, exact_half(X, Z)).max() < 40 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("centred", [True, False])
def test_near_points_far_from_the_origin(width, offset, centred, dtype):
    """Points a few units in the last place apart are as exact as far ones, centred or not."""
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(12, width)) + offset).astype(dtype)
    Z = X * (1 + np.finfo(dtype).eps * rng.integers(-3, 4, size=X.shape)).astype(dtype)
    Z[0] = X[0]
    tile, _ = half_tile(X, Z, center="mean" if centred else None)
    errors = relative_errors(tile, exact_half(X, Z))
    assert np.diag(errors).max() < 20 * np.finfo(dtype).eps
    assert errors.max() < (1e-10 if dtype is np.float64 else 1e-4)
    assert tile[0, 0] == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_equal_rows_give_exactly_zero_and_the_tile_is_symmetric(make, width, dtype):
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(70, width)) * 1e4 + 1e5).astype(dtype)
    X[33] = X[5]
    X = make(X)
    left, right = distance_operands(X, X, center_of(X))
    assert left is right
    out = np.empty((70, 70), dtype)
    half_distance_tile(left, right, ALL, ALL, out)
    assert (np.diag(out) == 0).all() and out[5, 33] == 0 and out[33, 5] == 0
    assert not np.signbit(np.diag(out)).any()
    assert (out <= 0).all()
    np.testing.assert_array_equal(out, out.T)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        *((np.float64, size) for size in (1e150, 1e-150, 1e308, 1e-300)),
        *((np.float32, size) for size in (1e20, 1e-20, 3e38, 1e-35)),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_data_of_extreme_size(make, dtype, size, width):
    """Neither overflow nor underflow: a power of two is taken out and told."""
    rng = np.random.default_rng(4)
    X = (rng.uniform(-1, 1, size=(9, width)) * size).astype(dtype)
    Z = (rng.uniform(-1, 1, size=(8, width)) * size).astype(dtype)
    Z[0] = X[0]
    tile, unit = half_tile(make(X), make(Z), center=center_of(X))
    assert unit != 1.0 and np.frexp(unit)[0] == 0.5
    assert np.isfinite(tile).all() and tile[0, 0] == 0
    assert relative_errors(tile, exact_half(X, Z), unit).max() < (1e-10 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_opposite_ends_of_the_range_never_give_nan(width, dtype):
    largest = np.finfo(dtype).max
    X = np.full((3, width), largest, dtype)
    X[1] = -largest
    X[2] = 0
    left, right = distance_operands(X, X, center_of(X))
    out = np.empty((3, 3), dtype)
    half_distance_tile(left, right, ALL, ALL, out)
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out[0] / out[0, 1], [0, 1, 0.25], rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_length_scales_of_every_column(make, width, dtype):
    rng = np.random.default_rng(5)
    X, Z = rng.normal(size=(9, width)).astype(dtype), rng.normal(size=(7, width)).astype(dtype)
    Z[0] = np.nextafter(X[0], dtype(np.inf))
    scale = 10.0 ** rng.uniform(-3, 3, width)
    tile, unit = half_tile(make(X), make(Z), center=center_of(X), scale=scale)
    assert unit == 1.0
    assert relative_errors(tile, exact_half(X, Z, scale)).max() < (1e-10 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_length_scales_of_extreme_size(make, width):
    """Data and scales both extreme, their ratio not; and the ratio extreme too."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(6, width))
    sizes = np.where(np.arange(width) % 2, 1e300, 1e-300)
    for extra in (1.0, 1e200):
        scale = sizes / extra if extra > 1 else sizes
        data = X * sizes
        keep = scale > 0
        tile, unit = half_tile(
            make(data[:, keep]), make(data[:, keep]), center=center_of(data[:, keep]), scale=scale[keep]
        )
        assert np.isfinite(tile).all()
        exact = exact_half(data[:, keep], data[:, keep], scale[keep])
        assert relative_errors(tile, exact, unit).max() < 1e-10


def test_ratios_beyond_all_floats_stay_finite():
    X = np.array([[1e308, 0.0], [-1e308, 1.0]])
    for scale in (np.array([1e-308, 1.0]), np.array([1e308, 1e300]) * 1.7):
        tile, unit = half_tile(X, X, scale=scale)
        assert np.isfinite(tile).all() and np.isfinite(unit) and tile[0, 0] == 0 and tile[0, 1] < 0
    tile, unit = half_tile(X * 1e-308 * 1e-300, X * 1e-308 * 1e-300, scale=np.full(2, 1e300))
    assert np.isfinite(tile).all() and 0 < unit < 1e-300


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_columns_are_chosen_before_anything_else(make):
    rng = np.random.default_rng(7)
    X, Z = rng.normal(size=(6, 30)), rng.normal(size=(5, 30))
    columns = np.array([4, 1, 17])
    scale = np.array([1.0, 2.0, 0.5])
    tile, _ = half_tile(make(X), make(Z), center=center_of(X), scale=scale, columns=columns)
    exact = exact_half(X[:, columns], Z[:, columns], scale)
    assert relative_errors(tile, exact).max() < 1e-14


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_reach_keeps_distances_exact_up_to_many_length_scales(make, dtype):
    """Two points at 1e6 (float32: 300) length scales from the center, a few length scales apart."""
    far = 1e6 if dtype is np.float64 else 300.0
    rng = np.random.default_rng(8)
    X = (rng.normal(size=(1, 20)) * far + rng.normal(size=(40, 20)) * 2.0).astype(dtype)
    exact = exact_half(X, X)
    center = np.zeros(20)
    tile, _ = half_tile(make(X), make(X), center=center, reach=1.0)
    absolute = np.abs(tile - exact.astype(float)).max()
    plain, _ = half_tile(make(X), make(X), center=center, reach=1e12)
    assert absolute < 200 * np.finfo(dtype).eps * 2
    assert np.abs(plain - exact.astype(float)).max() >= absolute


def test_reach_is_measured_in_the_unit():
    """Huge data with a huge length scale behave as ordinary ones."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(1, 20)) * 1e6 + rng.normal(size=(10, 20))
    small, _ = half_tile(X, X, center=np.zeros(20), reach=1.0)
    big = 2.0**600
    large, unit = half_tile(X * big, X * big, center=np.zeros(20), reach=big)  # reach / unit**2 is about 2**-640
    assert unit > 1 and np.isfinite(large).all()
    np.testing.assert_allclose(large * (unit / big) ** 2, small, rtol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "chosen", [(slice(3, 9), slice(2, 13)), (np.array([5, 0, 5]), np.array([7, 1])), (slice(0, 9, 3), ALL)]
)
def test_parts_of_the_tile(chosen, make, width, dtype):
    rng = np.random.default_rng(10)
    X, Z = rng.normal(size=(15, width)).astype(dtype), rng.normal(size=(14, width)).astype(dtype)
    left, right = distance_operands(make(X), make(Z), center_of(X))
    whole = np.empty((15, 14), dtype)
    half_distance_tile(left, right, ALL, ALL, whole)
    rows, cols = chosen
    expected = whole[rows][:, cols]
    out = np.empty(expected.shape, dtype)
    half_distance_tile(left, right, rows, cols, out)
    np.testing.assert_allclose(out, expected, rtol=50 * np.finfo(dtype).eps)
    manhattan_tile(make(X), make(Z), rows, cols, out)
    expected = np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2)[rows][:, cols]
    np.testing.assert_allclose(out, expected, rtol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_dot_products(make, dtype):
    rng = np.random.default_rng(11)
    X, Z = rng.normal(size=(9, 12)).astype(dtype), rng.normal(size=(8, 12)).astype(dtype)
    scale = rng.uniform(0.5, 2, 12)
    left, right = dot_operands(make(X), make(Z), scale)
    assert left.half_norms is None and left.unit == 1.0
    out = np.empty((4, 8), dtype)
    dot_tile(left, right, slice(2, 6), ALL, out)
    np.testing.assert_allclose(out, (X / scale)[2:6] @ (Z / scale).T, rtol=0, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_dot_products_of_extreme_size_never_give_nan(make):
    X = np.array([[1e300, -1e300], [1e300, 1e300], [1e-300, 0.0]])
    left, right = dot_operands(make(X), make(X))
    out = np.empty((3, 3))
    dot_tile(left, right, ALL, ALL, out)
    assert np.isfinite(out).all() and abs(out[0, 1]) < 1e-16
    exact = 2 * Fraction(1e300) ** 2 / Fraction(left.unit) ** 2
    assert out[0, 0] == pytest.approx(float(exact), rel=1e-15)


def test_operands_keep_and_widen_dtypes():
    X, Z = np.ones((3, 10), np.float32), np.zeros((2, 10))
    left, right = distance_operands(X, X)
    assert left.points.dtype == np.float32 and left.source is X and len(left) == 3
    left, right = distance_operands(X, Z)
    assert left.points.dtype == right.points.dtype == np.float64 and not left.is_sparse


def test_sparse_and_dense_meet_as_sparse():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(7, 25)) * (rng.random((7, 25)) < 0.3)
    Z = rng.normal(size=(6, 25))
    X[2] = 0
    Z[3] = X[0]
    for A, B in (
        (sparse.csr_array(X), Z),
        (X, sparse.csr_array(Z)),
        (sparse.csr_array(X), sparse.csr_array(Z)),
    ):
        left, right = distance_operands(A, B, np.ones(25))
        assert left.is_sparse and right.is_sparse
        out = np.empty((7, 6))
        half_distance_tile(left, right, ALL, ALL, out)
        assert relative_errors(out, exact_half(X, Z)).max() < 1e-13


def test_unsorted_sparse_rows_are_sorted_first():
    X = sparse.csr_array((np.array([1.0, 2.0, 5.0, 6.0]), np.array([9, 0, 0, 9]), np.array([0, 2, 4])), shape=(2, 10))
    left, right = distance_operands(X, X)
    out = np.empty((2, 2))
    half_distance_tile(left, right, ALL, ALL, out)
    np.testing.assert_array_equal(out, [[0, -17], [-17, 0]])


@pytest.mark.parametrize("width", [0, *WIDTHS])
def test_empty_and_constant_data(width):
    X = np.ones((4, width))
    left, right = distance_operands(X, X, center_of(X))
    out = np.full((4, 4), np.nan)
    half_distance_tile(left, right, ALL, ALL, out, reach=1.0)
    np.testing.assert_array_equal(out, 0)
    left, right = distance_operands(X, X[:0].copy(), center_of(X))
    half_distance_tile(left, right, ALL, ALL, np.empty((4, 0)))


def test_center_of_huge_numbers_is_finite():
    center = center_of(np.array([[1.7e308, 1.0], [1.7e308, 3.0]]))
    np.testing.assert_allclose(center, [1.7e308, 2.0])
    assert center_of(sparse.csr_array(np.eye(2))) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_manhattan_of_huge_numbers_is_infinite_and_never_nan(dtype):
    largest = np.finfo(dtype).max
    X = np.array([[largest, 1.0], [-largest, 1.0]], dtype)
    out = np.empty((2, 2), dtype)
    manhattan_tile(X, X, ALL, ALL, out)
    np.testing.assert_array_equal(out, [[0, np.inf], [np.inf, 0]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reach", [None, 1e-12])
def test_python_twins(reach, weighted, dtype):
    rng = np.random.default_rng(13)
    X = (rng.normal(size=(5, 6)) + 100).astype(dtype)
    Z = np.vstack([X[0], X[1] + dtype(1e-4), rng.normal(size=(1, 6)).astype(dtype)])
    weights = np.full(6, 2.0, dtype) if weighted else np.empty(0, dtype)
    a, b = (np.square(A, dtype=dtype).sum(axis=1) / 2 * (4 if weighted else 1) for A in (X, Z))
    left, right = operands.distance_operands(X, Z, scale=1 / weights if weighted else None)
    norms, limits = (a.astype(dtype), b.astype(dtype)), operands._limits(left, right, reach)
    product = (X @ Z.T * (4 if weighted else 1)).astype(dtype)
    expected = np.empty((5, 3), dtype)
    operands.half_squares(X, Z, weights, expected)
    sides = [operands._parts(sparse.csr_array(A)) for A in (X, Z)]
    for finish, arguments in ((cancellation.finish_dense, (X, Z)), (cancellation.finish_sparse, sides)):
        for function in (finish, finish.py_func):
            out = product.copy()
            function(out, *arguments, weights, norms, limits)
            np.testing.assert_allclose(out, expected, rtol=1e-9 if dtype is np.float64 else 1e-2)
            assert out[0, 0] == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_twins_of_the_parts(dtype):
    row, a, b = -np.array([0.0, 1e-9, 4.0], dtype), dtype(1), np.ones(3, dtype)
    limits = (dtype(1e-2), dtype(1), dtype(1e-3))
    chosen = np.zeros(3, np.intp)
    x, z = np.array([1.0, 2.0], dtype), np.array([3.0, 2.0], dtype)
    where = np.array([0, 4]), np.array([1, 4])
    for pick in (lambda f: f, lambda f: f.py_func):
        assert pick(cancellation._holds_any)(row, a, b, limits)
        assert not pick(cancellation._holds_any)(row[2:], a, b, limits)
        assert pick(cancellation._collect)(row, a, b, limits, chosen) == 2
        for tail, hit in ((slice(0, 3), True), (slice(2, 3), False)):
            assert pick(cancellation._subtract_norms)(row[tail] + 2, a, b, limits[0]) == hit
            assert pick(cancellation._subtract_norms_near)(row[tail] + 2, a, b, limits) == hit
            assert pick(cancellation._scan)(row[tail] + 2, a, b, limits) == hit
        assert pick(cancellation._square_distance)(x, z, np.empty(0, dtype)) == 4
        assert pick(cancellation._square_distance)(x, z, np.array([2, 2], dtype)) == 16
        assert pick(cancellation._merge_square_distance)(x, where[0], z, where[1], np.empty(0, dtype)) == 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_twins_of_direct_sums(dtype):
    rng = np.random.default_rng(14)
    X, Z = rng.normal(size=(3, 5)).astype(dtype), rng.normal(size=(4, 5)).astype(dtype)
    w = rng.uniform(1, 2, 5).astype(dtype)
    compiled, twin = np.empty((3, 4), dtype), np.empty((3, 4), dtype)
    rows, panels = operands._padded(X), operands._panels(Z)
    assert rows.shape == (3, 8) and panels.shape == (8, 4) and not rows[:, 5:].any() and not panels[5:].any()
    for weights in (operands._padded(w[None])[0], w[:0]):
        operands._half_squares(rows, panels, weights, compiled)
        operands._half_squares.py_func(rows, panels, weights, twin)
        np.testing.assert_allclose(twin, compiled, rtol=1e-5)
    for out in (compiled, twin):
        out.fill(0.0)
    operands._add_sizes(rows, panels, compiled)
    operands._add_sizes.py_func(rows, panels, twin)
    np.testing.assert_allclose(twin, compiled, rtol=1e-5)


rng = np.random.default_rng(0)


@pytest.mark.parametrize("d", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_coordinates(d, dtype):
    X, Z = rng.normal(size=(6, d)).astype(dtype), rng.normal(size=(5, d)).astype(dtype)
    w = rng.uniform(0.5, 2.0, size=d).astype(dtype)
    tol = 1e-5 if dtype is np.float32 else 1e-14
    out = np.empty((6, 5), dtype)
    for weights, factor in ((np.empty(0, dtype), np.ones(d)), (w, w)):
        half_square_tile(X, Z, weights, out)
        expected = [[-sum(((a - b) * f) ** 2 for a, b, f in zip(x, z, factor, strict=True)) / 2 for z in Z] for x in X]
        assert np.allclose(out, expected, rtol=tol)
    manhattan_tile(X, Z, slice(1, 4), slice(0, 5), out[:3])
    expected = [[sum(abs(a - b) for a, b in zip(x, z, strict=True)) for z in Z] for x in X[1:4]]
    assert np.allclose(out[:3], expected, rtol=tol)


def test_differences_of_near_points_are_exact():
    X = np.array([[1e8, 1.0]])
    out = np.empty((1, 1))
    half_square_tile(X, X + np.array([[1e-7, 0.0]]), np.empty(0), out)
    gap = (1e8 + 1e-7) - 1e8  # what is left of the gap at this size, in floating point
    assert out[0, 0] == -(gap**2) / 2


def test_sparse_rows_are_made_dense_for_the_tile():
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    dense, sparse = np.empty((6, 6)), np.empty((6, 6))
    manhattan_tile(X, X, slice(0, 6), slice(0, 6), dense)
    manhattan_tile(sp.csr_array(X), sp.csr_array(X), slice(0, 6), slice(0, 6), sparse)
    assert np.array_equal(dense, sparse)

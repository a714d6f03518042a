"""Profiles against 50-digit arithmetic; errors in units of the last place (ulp) of the exact value."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer.kernels.vectors import algebraic, profiles
from mercer.kernels.vectors.profiles import gaussian_sums, gaussian_tile, is_exact_enough
from mercer.numerics.operands import center_of, distance_operands, dot_operands
from mercer.runtime import tiling

DTYPES = (np.float64, np.float32)


@pytest.fixture(autouse=True)
def fifty_digits(digits):
    digits(50)


def ulps(computed, exact, dtype):
    """Return the errors of an array against exact mpmath numbers, in ulps; absolute for subnormals."""
    info = np.finfo(dtype)
    errors = []
    for value, truth in zip(np.ravel(computed), exact, strict=True):
        size = max(abs(truth), mpmath.mpf(float(info.tiny)))
        exponent = mpmath.floor(mpmath.log(size, 2))
        errors.append(float(abs(mpmath.mpf(float(value)) - truth) / mpmath.mpf(2) ** (exponent - info.nmant)))
    return np.array(errors)


def exact_values(function, tile):
    return [function(mpmath.mpf(float(h))) for h in np.ravel(tile)]


def distance(h):
    return mpmath.sqrt(-2 * h)


def matern(order, inv_l):
    """Return the Matern profile as the sum (p! / (2p)!) sum_i (p+i)! / (i! (p-i)!) (2s)^(p-i) exp(-s)."""
    factorial = mpmath.factorial

    def value(h):
        s = mpmath.sqrt(2 * order + 1) * distance(h) * mpmath.mpf(inv_l)
        terms = (
            factorial(order + i) / (factorial(i) * factorial(order - i)) * (2 * s) ** (order - i)
            for i in range(order + 1)
        )
        return factorial(order) / factorial(2 * order) * mpmath.fsum(terms) * mpmath.exp(-s)

    return value


def wendland(inv_l, j, k):
    """Return Wendland's profile, integral_r^1 t (t^2 - r^2)^(k-1) (1 - t)^j dt up to scale, by the binomial theorem."""

    def phi(r):
        if r >= 1:
            return mpmath.mpf(0)
        if k == 0:
            return (1 - r) ** j
        terms = (
            math.comb(k - 1, a)
            * (-r * r) ** (k - 1 - a)
            * math.comb(j, b)
            * (-1) ** b
            * (1 - r ** (2 * a + b + 2))
            / (2 * a + b + 2)
            for a in range(k)
            for b in range(j + 1)
        )
        with mpmath.workdps(100):  # near r = 1 the terms cancel
            return mpmath.fsum(terms)

    at_zero = phi(mpmath.mpf(0))
    return lambda h: phi(distance(h) * mpmath.mpf(inv_l)) / at_zero


L = 0.75  # 1 / length scale; exact in both widths
# name: (arguments, exact function of h)
RADIAL = {
    "exp_scaled": ((L,), lambda h: mpmath.exp(mpmath.mpf(L) * h)),
    "exponential": ((L,), matern(0, L)),
    "matern32": ((L,), matern(1, L)),
    "matern52": ((L,), matern(2, L)),
    "half_integer": ((L, 4), matern(4, L)),
    "rational_quadratic": (
        (L, 1.5),
        lambda h: (1 - h * mpmath.mpf(L) ** 2 / mpmath.mpf(1.5)) ** mpmath.mpf(-1.5),
    ),
    "cauchy": ((L,), lambda h: 1 / (1 - 2 * h * mpmath.mpf(L) ** 2)),
}
COMPACT = {f"wendland-{j}-{k}": ((L, j, k), wendland(L, j, k)) for j, k in ((1, 0), (3, 0), (3, 1), (4, 2), (5, 3))}
COMPACT["epanechnikov"] = ((L,), lambda h: max(mpmath.mpf(0), 1 + 2 * h * mpmath.mpf(L) ** 2))


def sample_tile(dtype, deepest=-60.0):
    tiny = np.finfo(dtype).tiny
    tile = np.concatenate([[0.0, -tiny, -tiny / 8, -1e-12, -1e-3], -np.geomspace(1e-5, -deepest, 60)])
    return tile.astype(dtype).reshape(5, 13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_is_exact_to_about_one_ulp_over_its_whole_range(dtype):
    low, high = (-708.39, 709.78) if dtype is np.float64 else (-87.33, 88.72)
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(low, high, 1500), rng.uniform(-1, 1, 500), 10.0 ** rng.uniform(-18, 0, 200)])
    x = np.concatenate([x, (np.arange(-100, 100) + 0.5) * math.log(2.0)]).astype(dtype)  # where n changes
    tile = x.copy()
    profiles.exp_scaled(tile, 1.0)
    assert ulps(tile, [mpmath.exp(mpmath.mpf(float(v))) for v in x], dtype).max() < 1.1


def test_exp_in_float32_is_exact_to_about_one_ulp_at_a_million_points():
    x = np.linspace(-87.3, 88.7, 1_000_000, dtype=np.float32)
    tile = x.copy()
    profiles.exp_scaled(tile, 1.0)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(tile - exact) / np.spacing(exact.astype(np.float32))) < 1.1


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_of_special_numbers(dtype):
    tiny = np.finfo(dtype).tiny
    x = np.array([0.0, -0.0, tiny / 4, -tiny / 4, -1e30, -np.inf, np.inf, 1e30, np.nan], dtype)
    profiles.exp_scaled(x, 1.0)
    np.testing.assert_array_equal(x, np.array([1, 1, 1, 1, 0, 0, np.inf, np.inf, np.nan], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_flushes_subnormal_results_and_overflows_to_infinity(dtype):
    low, high = math.log(np.finfo(dtype).tiny), math.log(np.finfo(dtype).max)
    x = np.array([low * (1 - 1e-5), low * (1 + 1e-5), high * (1 - 1e-5), high * (1 + 1e-5)], dtype)
    profiles.exp_scaled(x, 1.0)
    assert x[0] > 0 and x[1] == 0
    assert np.isfinite(x[2]) and x[3] == np.inf


def test_nan_with_a_payload_stays_nan():
    x = np.array([0x7FF00000000007A2, 0x7FF8000000000FFF], np.uint64).view(np.float64)
    profiles.exp_scaled(x, 1.0)
    assert np.isnan(x).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RADIAL)
def test_radial_profile(name, dtype):
    arguments, function = RADIAL[name]
    tile = sample_tile(dtype)
    h = tile.ravel().astype(np.float64)
    exact = exact_values(function, tile)
    getattr(profiles, name)(tile, *arguments)
    # A rounding of the argument x of exp costs up to abs(x) ulps of the value; a few lie before exp.
    argument = {"exponential": 1, "matern32": 3**0.5, "matern52": 5**0.5, "half_integer": 3.0}.get(name)
    size = [-float(mpmath.log(value)) for value in exact] if argument is None else argument * L * np.sqrt(-2 * h)
    allowed = 4 + 2.5 * np.asarray(size)
    assert np.all(ulps(tile, exact, dtype) <= allowed)
    assert tile.flat[0] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPACT)
def test_compact_profile(name, dtype):
    arguments, function = COMPACT[name]
    tile = sample_tile(dtype, deepest=-2.0)
    exact = exact_values(function, tile)
    getattr(profiles, name.split("-")[0])(tile, *arguments)
    # Near the end of the support only the absolute error is small.
    np.testing.assert_allclose(tile.ravel(), np.array(exact, float), rtol=0, atol=20 * np.finfo(dtype).eps)
    assert tile.flat[0] == 1 and tile.flat[-1] == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*RADIAL, *COMPACT])
def test_slope_is_the_derivative_in_h(name, dtype):
    arguments, function = (RADIAL | COMPACT)[name]
    tile = -np.array([[0.01, 0.1, 0.3], [0.5, 0.7, 4.0]], dtype)
    before = tile.copy()
    exact = np.array([float(mpmath.diff(function, mpmath.mpf(float(h)))) for h in tile.ravel()]).reshape(2, 3)
    slope = getattr(profiles, name.split("-")[0] + "_slope")
    np.testing.assert_allclose(slope(tile, *arguments), exact, rtol=60 * np.finfo(dtype).eps, atol=0)
    np.testing.assert_array_equal(tile, before)
    out = np.empty_like(tile)
    assert slope(tile, *arguments, out) is out
    np.testing.assert_allclose(out, exact, rtol=60 * np.finfo(dtype).eps)
    assert slope(tile, *arguments, tile) is tile
    np.testing.assert_array_equal(tile, out)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slope_at_distance_zero_is_the_limit_or_zero(dtype):
    zero = np.zeros((1, 1), dtype)
    square = L * L
    limits = {
        "exp_scaled": L,
        "matern32": 3 * square,
        "matern52": 5 / 3 * square,
        "rational_quadratic": square,
        "cauchy": 2 * square,
        "epanechnikov": 2 * square,
        "exponential": 0.0,
    }
    for name, limit in limits.items():
        arguments = (L, 1.5) if name == "rational_quadratic" else (L,)
        assert getattr(profiles, name + "_slope")(zero, *arguments).item() == pytest.approx(limit, rel=1e-6)
    assert profiles.wendland_slope(zero, L, 3, 0).item() == 0.0
    assert profiles.wendland_slope(zero, L, 3, 1).item() == pytest.approx(20 * square, rel=1e-6)
    assert profiles.half_integer_slope(zero, L, 0).item() == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*RADIAL, *COMPACT])
@pytest.mark.parametrize("inv_l", [1e-200, 1e-30, 1.0, 1e30, 1e200])
def test_no_nan_from_finite_tiles_and_any_length_scale(name, inv_l, dtype):
    largest = float(np.finfo(dtype).max)
    tile = -np.array([[0.0, np.finfo(dtype).tiny, 1.0, 0.99 * largest, largest]], dtype)
    arguments = (inv_l, *(RADIAL | COMPACT)[name][0][1:])
    slope = getattr(profiles, name.split("-")[0] + "_slope")(tile, *arguments)
    getattr(profiles, name.split("-")[0])(tile, *arguments)
    assert np.isfinite(tile).all() and tile[0, 0] == 1 and (tile >= 0).all() and (tile <= 1).all()
    assert not np.isnan(slope).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*RADIAL, *COMPACT])
def test_nan_stays_nan(name, dtype):
    tile = np.array([-1.0, np.nan, 0.0], dtype)
    arguments = (RADIAL | COMPACT)[name][0]
    slope = getattr(profiles, name.split("-")[0] + "_slope")(tile, *arguments)
    getattr(profiles, name.split("-")[0])(tile, *arguments)
    assert list(np.isnan(tile)) == list(np.isnan(slope)) == [False, True, False]


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 25])
def test_half_integer_of_any_order(order):
    tile = sample_tile(np.float64)
    exact = exact_values(matern(order, L), tile)
    profiles.half_integer(tile, L, order)
    allowed = np.array([6 + order + 4 * math.sqrt(2 * order + 1) * abs(float(mpmath.log(value))) for value in exact])
    assert np.all(ulps(tile, exact, np.float64) <= allowed)


def test_half_integer_of_large_order_keeps_small_values_in_float32():
    h = np.array([-40.0], np.float32)
    profiles.half_integer(h, 1.0, 60)
    assert h[0] == pytest.approx(float(matern(60, 1.0)(mpmath.mpf(-40))), rel=1e-5)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.0, 30.0, 1e6])
def test_rational_quadratic_for_any_alpha(alpha):
    tile = sample_tile(np.float64)
    exact = exact_values(lambda h: (1 - h * mpmath.mpf(L) ** 2 / mpmath.mpf(alpha)) ** -mpmath.mpf(alpha), tile)
    profiles.rational_quadratic(tile, L, alpha)
    allowed = np.array([4 + 4 * abs(float(mpmath.log(value))) for value in exact])
    assert np.all(ulps(tile, exact, np.float64) <= allowed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rational_quadratic_alpha_is_the_derivative_in_alpha(dtype):
    tile = -np.array([[0.0, 0.1, 3.0]], dtype)

    def value(alpha, h):
        return (1 - h * mpmath.mpf(L) ** 2 / alpha) ** -alpha

    exact = [float(mpmath.diff(lambda a, h=h: value(a, mpmath.mpf(float(h))), mpmath.mpf(1.5))) for h in tile[0]]
    found = profiles.rational_quadratic_alpha(tile, L, 1.5)
    assert found.dtype == dtype
    np.testing.assert_allclose(found[0], exact, rtol=1e-12 if dtype is np.float64 else 1e-4, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 7, 16])
def test_power_of_a_dot_tile(degree, dtype):
    tile = np.linspace(-3, 3, 600, dtype=dtype).reshape(2, 300)  # more than one chunk
    exact = [(mpmath.mpf(0.5) * mpmath.mpf(float(t)) + mpmath.mpf(2)) ** degree for t in tile.ravel()]
    profiles.power(tile, degree, 0.5, 2.0)
    assert ulps(tile, exact, dtype).max() <= 1 + 2 * degree


def test_long_tiles_equal_their_parts():
    """Chunks and lanes leave no seam: an odd length, entry by entry."""
    for name, arguments in (
        ("half_integer", (L, 5)),
        ("wendland", (L, 4, 2)),
        ("matern52", (L,)),
        ("power", (5, L, 1.0)),
    ):
        tile = -np.linspace(0, 1.2, 777)
        parts = [tile[i : i + 1].copy() for i in range(tile.size)]
        function = getattr(profiles, name)
        function(tile, *arguments)
        for part in parts:
            function(part, *arguments)
        np.testing.assert_allclose(tile, np.concatenate(parts), rtol=4e-16, atol=1e-300)


def test_a_tile_with_gaps_is_refused():
    with pytest.raises(ValueError, match="C-contiguous"):
        profiles.exp_scaled(np.zeros((4, 4))[:, :2], 1.0)


# The Python originals: what the compiled loops say, line by line.
TWINS = {
    profiles._scale_exp: (0.5,),
    profiles._damp: (1.0, 1.0, 0.5, 80.0),
    profiles._slope_exponential: (1.0, 0.5, 80.0),
    profiles._damp_long: (1.0, [0.25, 0.5]),
    profiles._decay_rationally: (1.0, 1.5, 1.0),
    algebraic._divide: (1.0, 1.0),
    algebraic._divide_square: (1.0, 1.0),
    algebraic._cut_parabola: (0.5,),
    algebraic._cut_constant: (0.5,),
    algebraic._power: (5, 0.5, 2.0),
    algebraic._cut_power: (0.5, [1.0, 2.0, 3.0, 4.0], 3),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", TWINS, ids=lambda f: f.py_func.__name__)
def test_python_twin(function, dtype):
    wide = {"_damp_long", "_decay_rationally"}  # these take float64 parameters for either width
    cast = np.float64 if function.py_func.__name__ in wide else dtype
    numbers = [
        np.array(v, cast) if isinstance(v, list) else (v if isinstance(v, int) else cast(v)) for v in TWINS[function]
    ]
    tile = -np.array([0.0, 1e-3, 0.5, 1.0, 3.0, 2000.0], dtype)
    twin = tile.copy()
    function(tile, *numbers)
    with np.errstate(all="ignore"):
        function.py_func(twin, *numbers)
    np.testing.assert_allclose(twin, tile, rtol=20 * np.finfo(dtype).eps)


def test_python_twins_of_scalar_functions():
    with np.errstate(over="ignore"):
        for x in (-800.0, -1.0, 0.0, 3.3, 800.0, np.nan):
            np.testing.assert_allclose(profiles._exp64.py_func(np.float64(x)), profiles._exp64(x), rtol=1e-15)
            small = np.float32(x)
            np.testing.assert_allclose(profiles._exp32.py_func(small), profiles._exp32(small), rtol=1e-6)
        for q in (0.0, 1e-20, 0.4, 7.0, 1e200):
            assert profiles._log1p64.py_func(np.float64(q)) == pytest.approx(math.log1p(q), rel=4e-16)
            assert profiles._log1p64(q) == pytest.approx(math.log1p(q), rel=4e-16)
    assert math.isnan(profiles._log1p64(math.nan))


def test_python_twins_of_tile_functions():
    source = np.arange(60.0).reshape(3, 20)
    target = np.empty((20, 3))
    tiling._transpose.py_func(source, target)
    np.testing.assert_array_equal(target, source.T)
    assert tiling._sum_of_zeros.py_func(source.ravel()) == 0
    base, total = np.full(3, 2.0), np.ones(3)
    algebraic._raise.py_func(base, total, 3, 5)
    np.testing.assert_array_equal(total, 32.0)


def test_at_most_one_signature_for_each_width():
    for function in TWINS:
        assert len(function.signatures) <= 2, function.py_func.__name__


# Gaussian tiles and sums in one pass, over the whole range of exponents --------------------------

KINDS = [np.float32, np.float64]
ULPS = 2.0


def power(kind):
    return profiles._power32 if kind is np.float32 else profiles._power64


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
    fill, add = getattr(profiles, f"_exponentials{width}"), getattr(profiles, f"_sums{width}")
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
    np.testing.assert_allclose(getattr(profiles, f"_row_sum{width}").py_func((X @ X.T)[0], a[0], b, v, factor),
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

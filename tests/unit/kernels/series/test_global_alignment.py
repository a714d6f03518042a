"""The global alignment kernel beside the definition: all alignments, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.domains.sequences import Sequences
from mercer.errors import DomainError, ParameterError
from mercer.kernels.comparison import Comparison
from mercer.kernels.series.global_alignment import GlobalAlignmentSeries, side_of_tiles
from mercer.kernels.vectors.pointwise import median_distance
from mercer.language import parse
from mercer.testing import check_kernel, violating_vector

RNG = np.random.default_rng(0)
SHORT = [RNG.normal(size=(length, 2)) for length in (1, 2, 3, 4, 5)]


def local(x, y, length, band=np.inf):
    """The local similarities of all pairs of points, from the definition."""
    g = np.exp(-((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2) / (2.0 * length**2))
    g *= np.maximum(0.0, 1.0 - np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(y)))) / band)
    return g / (2.0 - g)


def alignments(n, m, i=0, j=0):
    """All alignments of n with m points, as lists of pairs."""
    if (i, j) == (n - 1, m - 1):
        yield [(i, j)]
        return
    for a, b in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
        if a < n and b < m:
            for rest in alignments(n, m, a, b):
                yield [(i, j), *rest]


def terms(x, y, length, band=np.inf):
    kappa = local(x, y, length, band)
    return [(pairs, np.prod([kappa[pair] for pair in pairs])) for pairs in alignments(len(x), len(y))]


def slow_log(x, y, length, band=np.inf):
    """Logarithms all the way: nothing overflows or vanishes."""
    q = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2) / (2.0 * length**2)
    with np.errstate(divide="ignore"):
        apart = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(y))))
        log_g = np.log(np.maximum(0.0, 1.0 - apart / band)) - q
    kappa = log_g - np.log(2.0 - np.exp(log_g))
    L = np.full((len(x) + 1, len(y) + 1), -np.inf)
    L[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            L[i + 1, j + 1] = kappa[i, j] + np.logaddexp(np.logaddexp(L[i, j], L[i, j + 1]), L[i + 1, j])
    return L[-1, -1]


@pytest.mark.parametrize("band", [None, 3, 2, 1])
def test_all_alignments(band):
    reach = np.inf if band is None else band
    K = np.array([[sum(value for _, value in terms(x, y, 1.3, reach)) for y in SHORT] for x in SHORT])
    np.testing.assert_allclose(GlobalAlignmentSeries(1.3, band, "sum")(SHORT), K, rtol=1e-13)
    own = np.sqrt(np.diag(K))
    np.testing.assert_allclose(GlobalAlignmentSeries(1.3, band)(SHORT), K / np.outer(own, own), rtol=1e-13)
    np.testing.assert_allclose(GlobalAlignmentSeries(1.3, band, "sum").diag(Sequences.pack(SHORT)), own**2, rtol=1e-13)
    if band is None:
        np.testing.assert_allclose(GlobalAlignmentSeries(1.3, form="log")(SHORT), np.log(K), rtol=1e-12, atol=1e-13)


def test_alignments_of_nothing_but_equal_points_are_counted():
    central = [1, 3, 13, 63, 321, 1683, 8989, 48639]  # Delannoy numbers of squares
    for n, count in enumerate(central, start=1):
        assert GlobalAlignmentSeries(form="sum")([np.zeros(n)])[0, 0] == pytest.approx(count, rel=1e-14)
    assert GlobalAlignmentSeries(form="sum")([np.zeros(3)], [np.zeros(4)])[0, 0] == pytest.approx(25.0, rel=1e-14)


@pytest.mark.parametrize("length", [30.0, 1.0, 0.1, 1e-3, 1e-4])
@pytest.mark.parametrize("band", [None, 12])
def test_nothing_overflows_or_vanishes(length, band):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(70, 2)), 2.0 + rng.normal(size=(61, 2))
    x[3], y[5] = 1e3, -1e3
    expected = slow_log(x, y, length, np.inf if band is None else band)
    assert GlobalAlignmentSeries(length, band, "log")([x], [y])[0, 0] == pytest.approx(expected, rel=1e-13)
    own = [slow_log(z, z, length, np.inf if band is None else band) for z in (x, y)]
    value = GlobalAlignmentSeries(length, band)([x], [y])[0, 0]
    assert value == pytest.approx(np.exp(expected - sum(own) / 2), rel=1e-9)


def test_long_equal_series_have_more_alignments_than_numbers():
    x = np.zeros((2000, 1))
    growth = GlobalAlignmentSeries(form="log")([x])[0, 0]
    exact = 2000 * 2 * np.log(1.0 + np.sqrt(2.0))  # Delannoy numbers grow like (1 + sqrt 2)^(2 n) / sqrt(n)
    assert exact - 8.0 < growth < exact and GlobalAlignmentSeries()([x])[0, 0] == 1.0
    with pytest.raises(DomainError, match="too large for floating-point"):
        GlobalAlignmentSeries(form="sum")([x])


def test_a_wide_band_is_none():
    X = [RNG.normal(size=(length, 3)) for length in (4, 9, 30)]
    free = GlobalAlignmentSeries(2.0, form="log")(X)
    errors = [np.abs(GlobalAlignmentSeries(2.0, band, "log")(X) - free).max() for band in (10**3, 10**6, 10**15)]
    assert errors[0] > 100 * errors[1] and errors[2] < 1e-12
    np.testing.assert_array_equal(GlobalAlignmentSeries(2.0, 2**61, "log")(X), free)


def test_series_outside_of_the_band_have_nothing_in_common():
    K = GlobalAlignmentSeries(1.0, 3)([[0.0], [0.0] * 3, [0.0] * 4])
    assert K[0, 2] == 0.0 and K[0, 1] > 0.0
    for call in (lambda k: k([[0.0], [0.0] * 4]), lambda k: k.alignment([0.0], [0.0] * 4)):
        with pytest.raises(DomainError, match=r"no alignment .* wider band"):
            call(GlobalAlignmentSeries(1.0, 3, "log"))


@pytest.mark.parametrize("band", [None, 2])
def test_the_soft_alignment_is_a_mean_over_alignments(band):
    x, y = SHORT[3], SHORT[4]
    found = terms(x, y, 0.9, np.inf if band is None else band)
    expected = np.zeros((len(x), len(y)))
    for pairs, value in found:
        for pair in pairs:
            expected[pair] += value
    expected /= sum(value for _, value in found)
    got = GlobalAlignmentSeries(0.9, band).alignment(x, y)
    np.testing.assert_allclose(got, expected, atol=1e-13)
    assert got[0, 0] == pytest.approx(1.0) and got[-1, -1] == pytest.approx(1.0)


@pytest.mark.parametrize("band", [None, 3])
@pytest.mark.parametrize("form", ["normalised", "sum", "log"])
def test_laws(form, band):
    X = SHORT if form != "log" or band is None else SHORT[2:]
    check_kernel(GlobalAlignmentSeries(0.8, band, form), X)


@pytest.mark.parametrize("form", ["normalised", "sum", "log"])
def test_derivative_in_the_length_scale(form):
    X, Y = SHORT[1:], [RNG.normal(size=(6, 2)), 40.0 + RNG.normal(size=(3, 2))]
    kernel = GlobalAlignmentSeries(0.8, None, form)
    W, h = RNG.normal(size=(4, 2)), 1e-5
    up, down = (np.vdot(W, kernel.replace(length_scale=0.8 + step)(X, Y)) for step in (h, -h))
    sides = [kernel.prepare(kernel.pack(side)) for side in (X, Y)]
    assert kernel.pullback(*sides, W)[0] == pytest.approx((up - down) / (2 * h), rel=1e-7)


def test_definiteness_is_told():
    assert [GlobalAlignmentSeries(form=form).order for form in ("normalised", "sum", "log")] == [0, 0, None]
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(length, 1)) for length in rng.integers(1, 7, size=40)]
    assert violating_vector(GlobalAlignmentSeries(0.5, 4), X) is None
    assert violating_vector(GlobalAlignmentSeries(0.5, form="log"), X) is not None


def test_values_do_not_depend_on_the_others():
    X = [RNG.normal(size=(length, 2)) for length in RNG.integers(1, 40, size=30)]
    kernel = GlobalAlignmentSeries(2.0)
    K = kernel(X)
    np.testing.assert_array_equal(K, kernel(X, n_threads=1))
    for i, j in ((0, 7), (11, 3), (29, 28)):
        np.testing.assert_allclose(kernel([X[i]], [X[j]])[0, 0], K[i, j], rtol=1e-12)
    np.testing.assert_array_equal(np.diag(K), 1.0)


def test_tiles_are_small_where_series_are_long():
    kernel = GlobalAlignmentSeries()
    sides = [side_of_tiles(Comparison(kernel, *2 * (Sequences.pack(np.zeros((3, T))),)), 1e6) for T in (10, 100, 5000)]
    assert sides == [100, 10, 1]


def test_the_median_is_learned_and_weights_are_copies():
    X = [RNG.normal(size=(length, 2)) for length in (3, 5, 8)]
    places = (np.arange(16) + 0.5) / 16.0
    shapes = [[np.interp(places * len(x) - 0.5, np.arange(len(x)), c) for c in x.T] for x in X]
    pairs = [
        np.sqrt(np.mean(np.sum(np.subtract(shapes[i], shapes[j]) ** 2, axis=0))) for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    kernel = GlobalAlignmentSeries("median")
    learned = kernel.learn(kernel.pack(X))
    assert learned.length_scale == pytest.approx(0.5 * np.median(pairs) * np.sqrt(5.0))
    alone = 0.5 * median_distance(Vectors.pack(X[1])) * np.sqrt(5.0)
    for copies, weight in (([X[1]], None), ([X[1], X[1]], None), (X, np.array([0.0, 2.0, 0.0]))):
        assert kernel.learn(kernel.pack(copies), weight=weight).length_scale == pytest.approx(alone)
    weighted = kernel.learn(kernel.pack(X), weight=np.array([2.0, 0.0, 1.0]))
    assert weighted.length_scale == pytest.approx(kernel.learn(kernel.pack([X[0], X[0], X[2]])).length_scale)
    even = kernel.learn(kernel.pack([X[0], X[1]])).length_scale, kernel.learn(kernel.pack([X[1]])).length_scale
    assert even[0] != even[1]
    with pytest.raises(ParameterError, match="is not fitted"):
        kernel(X)
    model = KernelRidge(kernel, alpha=0.1).fit(X, [1.0, 2.0, 3.0])
    assert model.expansion_.kernel.length_scale == learned.length_scale


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"length_scale": 0.0}, "length_scale"),
        ({"length_scale": "mean"}, "length_scale"),
        ({"band": 0}, "band"),
        ({"band": 1.5}, "band=1.5; band must be an integer >= 1"),
        ({"band": 6.0}, "Write band=6, without"),
        ({"band": "wide"}, "band"),
        ({"form": "normalized"}, "form"),
    ],
)
def test_wrong_parameters_are_refused(wrong, told):
    with pytest.raises(ParameterError, match=told):
        GlobalAlignmentSeries(**wrong)(SHORT)


def test_wrong_series_are_refused():
    with pytest.raises(DomainError, match="2 channels are compared with series of 1"):
        GlobalAlignmentSeries()(SHORT, [[1.0]])
    with pytest.raises(DomainError, match="too large"):
        GlobalAlignmentSeries(1e-300)([[1e200, 0.0]])


# a band that is a share of the lengths --------------------------------------------------------------------


def _sum_over_alignments(x, y, l, b):
    """K by the recursion over pairs of points, with places from 0 to 1."""
    n, m = len(x), len(y)
    M = np.zeros((n + 1, m + 1))
    M[0, 0] = 1.0
    for i in range(n):
        for j in range(m):
            w = max(0.0, 1.0 - abs((i + 0.5) / n - (j + 0.5) / m) / b)
            g = w * np.exp(-((x[i] - y[j]) ** 2).sum() / (2 * l * l))
            M[i + 1, j + 1] = g / (2.0 - g) * (M[i, j] + M[i, j + 1] + M[i + 1, j])
    return M[n, m]


@pytest.mark.parametrize("share", [0.03, 0.1, 0.35, 0.9])
def test_a_share_of_the_lengths(share):
    draws = np.random.default_rng(5)
    series = [draws.normal(size=(n, 2)) for n in (1, 2, 5, 9, 17, 30)]
    k = GlobalAlignmentSeries(1.7, band=share, form="sum")
    expected = [[_sum_over_alignments(x, y, 1.7, share) for y in series] for x in series]
    np.testing.assert_allclose(k(series), expected, rtol=1e-11)
    normal = GlobalAlignmentSeries(1.7, band=share)
    assert normal.order == 0 and np.linalg.eigvalsh(normal(series))[0] > -1e-12
    check_kernel(normal, series)
    assert parse(repr(normal)) == normal


def test_a_share_pairs_series_of_different_speed():
    t = np.linspace(0.0, 1.0, 20)
    slow, fast = np.sin(6 * t), np.sin(6 * t[::4])
    assert GlobalAlignmentSeries(1.0, band=4)([slow], [fast])[0, 0] == 0.0
    assert GlobalAlignmentSeries(1.0, band=0.3)([slow], [fast])[0, 0] > 0.0
    chance = GlobalAlignmentSeries(1.0, band=0.3).alignment(slow, fast)
    assert chance[0, 0] == pytest.approx(1.0) and chance[0, -1] == 0.0


@pytest.mark.parametrize("band", [0, 0.0, 1.5, -0.1])
def test_bands_that_are_neither_are_refused(band):
    with pytest.raises(ParameterError, match="band"):
        GlobalAlignmentSeries(1.0, band=band).check()

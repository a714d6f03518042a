"""Degrees are a set, whatever they are made of; series agree with kernels and with polynomial arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.errors import CapabilityError
from mercer.kernels import ExponentialDot, Gaussian, Linear, Polynomial, PowerSeries
from mercer.kernels.power_series import Degrees, Series

FAR = 80
L = Linear()
DEGREES = st.builds(
    Degrees.of,
    st.lists(st.integers(0, 7), max_size=3),
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), max_size=2),
)


def members(degrees):
    return {n for n in range(FAR) if n in degrees}


@given(DEGREES, DEGREES)
def test_unions_and_sums_are_those_of_sets(A, B):
    a, b = members(A), members(B)
    assert members(A | B) == a | b
    assert members(A + B) == {x + y for x in a for y in b if x + y < FAR}


@given(DEGREES)
def test_sums_of_any_number_are_what_the_set_generates(A):
    found = {0}
    while len(found) < len(more := found | {x + y for x in found for y in members(A) if x + y < FAR}):
        found = more
    assert members(A.sums()) == found


@given(DEGREES)
def test_a_set_is_written_in_one_way(A):
    doubled = {(start + shift, 2 * step) for start, step in A.runs for shift in (0, step)}
    assert Degrees.of(A.single, doubled) == A
    assert A.finite == (not any(A.endless(odd=odd) for odd in (True, False)))
    for odd in (True, False):
        assert A.endless(odd=odd) == any(n % 2 == odd for n in members(A) if n > FAR - 9)


@pytest.mark.parametrize(
    ("degrees", "text"),
    [
        (Degrees(), "none"),
        (Degrees.of([3, 0]), "0, 3"),
        (Degrees.of([], [(1, 2)]), "1, 3, 5, ..."),
        (Degrees.of([0], [(3, 4)]), "0, 3, 7, ..."),
        (Degrees.of([], [(0, 2), (1, 2)]), "0, 1, 2, ..."),
    ],
)
def test_degrees_as_text(degrees, text):
    assert str(degrees) == text


KERNELS = [
    L,
    Polynomial(3, offset=0.5, scale=0.7),
    Polynomial(2, offset=0.0),
    PowerSeries((1.0, 0.0, 0.5)),
    PowerSeries((-1.0, 1.0)),
    ExponentialDot(1.7),
    L**3,
    2.0 * L + 1.0,
    (0.3 * L + 0.2) * ExponentialDot(2.0),
    (0.5 * L**2).exp(),
    (PowerSeries((-1.0, 0.5))).exp(),
    L.polynomial((0.5, 0.0, 2.0)),
    (0.4 * L).exp().polynomial((1.0, 0.0, 0.5)),
    0.0 * L,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_series_of_a_kernel_is_the_kernel(kernel):
    X = np.array([[0.3, -0.5], [0.7, 0.2], [-0.4, 0.6]])
    t = X @ X.T
    series = kernel.series()
    a = series.coefficients(60)
    assert len(a) == 60 and len(series.coefficients(2)) == 2
    np.testing.assert_allclose(np.polynomial.polynomial.polyval(t, a), kernel(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(series(t), kernel(X), rtol=1e-12)
    assert {n for n in range(1, 12) if a[n] > 0} == {n for n in range(1, 12) if n in series.degrees}
    if kernel.order == 0:
        assert (a >= 0).all() and (0 in series.degrees) == (a[0] > 0)


def test_coefficients_in_closed_form():
    np.testing.assert_allclose(
        ExponentialDot(2.0).series().coefficients(8), [1 / (math.factorial(n) * 4.0**n) for n in range(8)]
    )
    np.testing.assert_allclose(
        Polynomial(4, offset=0.5, scale=3.0).series().coefficients(6),
        [math.comb(4, n) * 0.5 ** (4 - n) * 3.0**n if n <= 4 else 0.0 for n in range(6)],
    )
    np.testing.assert_allclose((L**2).exp().series().coefficients(7), [1, 0, 1, 0, 1 / 2, 0, 1 / 6])


def test_a_series_is_evaluated_at_complex_numbers():
    t = np.array([0.3 + 0.4j, -1.0 + 2.0j])
    np.testing.assert_allclose(((L + 1.0) ** 2).series()(t), (t + 1) ** 2)
    np.testing.assert_allclose((ExponentialDot(1.0) + L).series()(t), np.exp(t) + t)


@pytest.mark.parametrize(
    ("kernel", "dense"),
    [
        (ExponentialDot(1.0), True),
        (L.exp(), True),
        ((L**2).exp(), False),
        ((L**2).exp() * (L + 1.0), True),
        ((L**2).exp() + (L**2).exp() * L, True),
        (L * ExponentialDot(1.0), False),
        ((L**3).exp(), True),
        (((L**2).exp() * L).exp(), True),
        (Polynomial(9), False),
    ],
    ids=repr,
)
def test_enough_degrees(kernel, dense):
    assert kernel.series().dense is dense
    assert kernel.strict is dense and kernel.universal is dense


def test_other_kernels_have_no_series():
    for kernel in (Gaussian(1.0), Gaussian(1.0) + L, L.normalized(), L.on([0])):
        assert "series" not in kernel.capabilities
    with pytest.raises(CapabilityError, match="power series"):
        Gaussian(1.0).series()


def test_series_need_no_kernel():
    t = Series.of((0.0, 1.0))
    assert (t * t + Series.of([1.0])).coefficients(4).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert (t**5).degrees == Degrees.of([5])

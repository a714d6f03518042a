"""What every loss of regression obeys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.losses import Absolute, EpsilonInsensitive, Huber, Pinball, Squared

sizes = st.floats(-50.0, 50.0)
positive = st.floats(0.05, 10.0)
losses = st.one_of(
    st.just(Squared()),
    st.just(Absolute()),
    st.builds(Huber, positive),
    st.builds(EpsilonInsensitive, st.one_of(st.just(0.0), positive)),
    st.builds(Pinball, st.floats(0.02, 0.98)),
)


def at(method, y, f):
    return float(method(np.array([y]), np.array([f]))[0])


@given(losses, sizes, sizes)
def test_never_negative_and_zero_without_error(loss, y, f):
    assert at(loss.value, y, f) >= 0.0
    assert at(loss.value, y, y) == 0.0
    assert at(loss.gradient, y, y) == 0.0


@given(losses, sizes, sizes, sizes, st.floats(0.0, 1.0))
def test_convex(loss, y, f, g, t):
    chord = t * at(loss.value, y, f) + (1.0 - t) * at(loss.value, y, g)
    assert at(loss.value, y, t * f + (1.0 - t) * g) <= chord + 1e-9 * (1.0 + abs(chord))


@given(losses, sizes, sizes, sizes)
def test_gradient_supports_from_below(loss, y, f, d):
    below = at(loss.value, y, f) + at(loss.gradient, y, f) * d
    assert at(loss.value, y, f + d) >= below - 1e-9 * (1.0 + abs(below))


@given(losses, sizes, sizes, sizes)
def test_curvature_bounds_from_above(loss, y, f, d):
    above = at(loss.value, y, f) + at(loss.gradient, y, f) * d + 0.5 * at(loss.curvature, y, f) * d**2
    # within 1e-10 of a kink the curvature is capped, and the bound with it
    assert at(loss.value, y, f + d) <= above + 1e-9 * (1.0 + abs(above))


@given(losses, sizes, st.floats(0.1, 40.0), st.booleans())
def test_curvature_is_not_needlessly_large(loss, y, size, side):
    """Somewhere the bound is touched: with 2 % less curvature it would not be one."""
    f = y - size if side else y + size
    g, c, value = at(loss.gradient, y, f), at(loss.curvature, y, f), at(loss.value, y, f)
    if c > 1e6 or value > 1e4:
        return
    d = np.concatenate([np.linspace(-120, 120, 4001), np.linspace(-2.5, 2.5, 4001) * max(1.0 / c, 1e-3)])
    reached = loss.value(np.full_like(d, y), f + d) - value - g * d
    assert np.any(reached >= 0.98 * 0.5 * c * d**2 - 1e-12) and np.any(
        reached[np.abs(d) > 1e-9] > 0.95 * 0.5 * c * d[np.abs(d) > 1e-9] ** 2
    )


@given(losses, sizes, sizes, st.integers(-20, 20))
def test_depends_on_the_residual_alone(loss, y, f, move):
    shifted = at(loss.value, y + move, f + move)
    assert shifted == pytest.approx(at(loss.value, y, f), rel=1e-9, abs=1e-9)


@given(losses, sizes, sizes)
def test_gradient_is_the_derivative_away_from_kinks(loss, y, f):
    h = 1e-6
    kinks = {"EpsilonInsensitive": [getattr(loss, "epsilon", 0.0)], "Huber": []}.get(type(loss).__name__, [0.0])
    if any(abs(abs(y - f) - kink) < 1e-4 for kink in kinks):
        return
    slope = (at(loss.value, y, f + h) - at(loss.value, y, f - h)) / (2 * h)
    assert at(loss.gradient, y, f) == pytest.approx(slope, rel=1e-6, abs=1e-5)


@given(sizes, sizes)
def test_members_of_the_family_meet(y, f):
    assert at(EpsilonInsensitive(0.0).value, y, f) == at(Absolute().value, y, f)
    assert 2.0 * at(Pinball(0.5).value, y, f) == pytest.approx(at(Absolute().value, y, f))
    assert 1e3 * at(Huber(1e3).value, y, f) == pytest.approx(at(Squared().value, y, f), rel=1e-12, abs=1e-300)
    assert at(Huber(1e-9).value, y, f) == pytest.approx(at(Absolute().value, y, f), abs=1e-9)
    assert at(Pinball(0.2).value, y, f) == pytest.approx(at(Pinball(0.8).value, f, y))


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.75])
def test_pinball_estimates_the_quantile(quantile):
    y = np.random.default_rng(0).exponential(size=1001)
    grid = np.linspace(0.0, 4.0, 2001)
    cost = [Pinball(quantile).value(y, np.full_like(y, f)).sum() for f in grid]
    assert grid[int(np.argmin(cost))] == pytest.approx(np.quantile(y, quantile), abs=0.01)


def test_squared_estimates_the_mean_and_absolute_the_median():
    y = np.random.default_rng(0).exponential(size=1001)
    for loss, statistic in [(Squared(), y.mean()), (Absolute(), np.median(y))]:
        slope = loss.gradient(y, np.full_like(y, statistic)).sum()
        assert abs(slope) < 1e-9

import math

import numpy as np
import pytest

from mercer.errors import DomainError
from mercer.theory import massart_gap, noise_exponent, noise_rate, noise_variance_bound


@pytest.mark.parametrize("gamma", [0.5, 1.0, 4.0])
def test_exponent_of_a_power_law_is_covered_as_often_as_stated(gamma):
    """The interval is exact where t is a power law; of 60 draws at delta = 1e-3 at most 4 fail but for 3e-7."""
    rng = np.random.default_rng(0)
    failures = 0
    for _ in range(60):
        t = 0.5 * rng.random(400) ** (1.0 / gamma)  # P(t <= u) = (2 u)^gamma
        found = noise_exponent(0.5 + rng.choice([-1.0, 1.0], 400) * t, delta=1e-3)
        failures += not found.low <= gamma <= found.high
    assert failures <= 4


def test_exponent_by_hand():
    """k = 2 of the distances 0.1, 0.2, 0.4: 2 / (ln 4 + ln 2)."""
    found = noise_exponent([0.6, 0.3, 0.9], tail=2)
    assert found.gamma == pytest.approx(2.0 / (3.0 * math.log(2.0)), rel=1e-12)
    assert found.alpha == pytest.approx(found.gamma / (1.0 + found.gamma), rel=1e-15)
    assert found.beta * 0.4**found.gamma == pytest.approx(2.0 / 3.0, rel=1e-12)
    assert found.low < found.gamma < found.high


def test_constant_of_a_power_law():
    t = 0.5 * np.linspace(1e-4, 1.0, 5000)  # P(t <= u) = 2 u
    found = noise_exponent(0.5 + t)
    assert found.gamma == pytest.approx(1.0, rel=0.2)


def test_extreme_cases():
    assert noise_exponent([0.5, 0.5, 0.9, 0.1]).gamma == 0.0
    assert math.isinf(noise_exponent([0.2, 0.8, 0.2, 0.8]).gamma)
    assert massart_gap([0.2, 0.75, 0.9]) == 0.25
    with pytest.raises(DomainError, match="between 0 and 1"):
        massart_gap([1.5])
    with pytest.raises(DomainError, match="at least 3"):
        noise_exponent([0.5, 0.6])


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
def test_variance_bound_holds_for_all_thresholds(gamma):
    """P(t <= u) = (2 u)^gamma exactly; a classifier that errs where t <= u is the worst of its disagreement."""
    u = np.linspace(1e-3, 0.5, 50)
    disagreement = (2.0 * u) ** gamma
    excess = 2.0 * gamma / (1.0 + gamma) * 2.0**gamma * u ** (1.0 + gamma)  # E 2 t over t <= u
    bound = np.array([noise_variance_bound(float(e), gamma, 2.0**gamma) for e in excess])
    assert (disagreement <= bound + 1e-12).all()
    assert disagreement[5] == pytest.approx(bound[5], rel=0.7)  # the constant is of the right size


def test_variance_bound_of_massart():
    assert noise_variance_bound(0.1, math.inf, gap=0.25) == pytest.approx(0.2)
    assert noise_variance_bound(0.3, 0.0) == 1.0


def test_rates_go_from_a_root_to_one_over_n():
    rates = [noise_rate(10**6, gamma) for gamma in (0.0, 1.0, math.inf)]
    assert rates == pytest.approx([1e-3, 1e-4, 1e-6])

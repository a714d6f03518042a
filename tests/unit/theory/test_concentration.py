import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from mercer.errors import ParameterError
from mercer.theory import clopper_pearson, hoeffding_tail, hoeffding_width, mcdiarmid_tail, mcdiarmid_width


def test_hoeffding_by_hand():
    assert hoeffding_tail(50, 0.2) == pytest.approx(2.0 * math.exp(-4.0), rel=1e-15)
    assert hoeffding_tail(2, 1.0, [1.0, 3.0]) == pytest.approx(2.0 * math.exp(-2.0 * 4.0 / 10.0), rel=1e-15)
    assert hoeffding_tail(10, 0.0) == 1.0


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5])
@pytest.mark.parametrize("n", [5, 40])
def test_hoeffding_covers_the_exact_tail_of_coins(n, p):
    for eps in np.arange(1, n + 1) / n:
        k = np.arange(n + 1)
        exact = binom.pmf(k, n, p)[np.abs(k / n - p) >= eps - 1e-12].sum()
        assert exact <= hoeffding_tail(n, float(eps)) + 1e-12


def test_hoeffding_is_within_a_factor_for_a_fair_coin():
    """A loose constant would show: at the largest deviation the exact tail is 2^(1-n), the bound 2 exp(-n / 2)."""
    assert hoeffding_tail(10, 0.5) == pytest.approx(2.0 * math.exp(-5.0))
    assert 2.0**-9 <= hoeffding_tail(10, 0.5) <= 7.0 * 2.0**-9


@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_widths_invert_tails(delta):
    assert hoeffding_tail(30, hoeffding_width(30, delta, 2.0), 2.0) == pytest.approx(delta, rel=1e-12)
    c = np.array([0.1, 0.2, 0.5])
    assert mcdiarmid_tail(mcdiarmid_width(c, delta), c) == pytest.approx(delta, rel=1e-12)


def test_mcdiarmid_by_hand():
    assert mcdiarmid_tail(1.0, [1.0, 1.0]) == pytest.approx(math.exp(-1.0), rel=1e-15)
    # "if c_i = c / n this reduces to sqrt(c^2 ln(1 / delta) / (2 n))"
    assert mcdiarmid_width(3.0 / 50, 0.1, 50) == pytest.approx(math.sqrt(9.0 / 100.0 * math.log(10.0)), rel=1e-14)


def test_hoeffding_is_twice_mcdiarmid_for_means():
    assert hoeffding_tail(20, 0.3, 2.0) == pytest.approx(2.0 * mcdiarmid_tail(0.3, 2.0 / 20, 20), rel=1e-13)


def test_constants_do_not_stray():
    assert hoeffding_tail(3, 0.1, 0.0) == 0.0
    assert mcdiarmid_tail(0.0, [0.0]) == 1.0


@pytest.mark.parametrize("errors, n", [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (17, 400)])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_interval_is_that_of_scipy(errors, n, delta):
    expected = binomtest(errors, n).proportion_ci(1.0 - delta, method="exact")
    assert clopper_pearson(errors, n, delta) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_interval_covers_exactly_as_often_as_it_says():
    n, delta, k = 12, 0.1, np.arange(13)
    ends = np.array([clopper_pearson(int(i), n, delta) for i in k])
    for p in np.linspace(0.001, 0.999, 200):
        covered = (ends[:, 0] <= p) & (p <= ends[:, 1])
        assert binom.pmf(k, n, p)[covered].sum() >= 1.0 - delta


def test_arguments_are_refused_in_words():
    with pytest.raises(ParameterError, match="n must then be given"):
        mcdiarmid_tail(0.1, 0.5)
    with pytest.raises(ParameterError, match="zero or more"):
        mcdiarmid_tail(0.1, [0.5, -1.0])
    with pytest.raises(ParameterError, match="one for each"):
        hoeffding_tail(3, 0.1, [1.0, 1.0])
    with pytest.raises(ParameterError, match="at most n"):
        clopper_pearson(5, 4)
    with pytest.raises(ParameterError, match="delta"):
        hoeffding_width(10, 1.0)


def test_sizes_whose_squares_overflow():
    assert hoeffding_width(2, 0.05, [3e200, 4e200]) == pytest.approx(5e200 / 2 * math.sqrt(0.5 * math.log(40.0)))
    assert mcdiarmid_width([3e200, 4e200]) == pytest.approx(5e200 * math.sqrt(0.5 * math.log(20.0)))
    assert hoeffding_tail(10, 1e300) == mcdiarmid_tail(1e300, 1.0, 10) == 0.0
    with pytest.raises(ParameterError, match="delta must be"):
        hoeffding_width(10, 1e-320)

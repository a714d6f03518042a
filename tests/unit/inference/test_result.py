"""Null distributions: p-values and quantiles."""

import numpy as np
import pytest
from scipy import stats

from mercer.errors import DomainError
from mercer.inference.result import Null, TestResult, concluded


def test_draws_never_give_zero_and_ties_count():
    null = Null.of_draws("permutation", np.array([1.0, 2.0, 3.0]))
    assert null.p_value(10.0) == 0.25
    assert null.p_value(3.0) == 0.5
    assert null.p_value(3.0 * (1.0 + 1e-13)) == 0.5  # rounding is no evidence
    assert null.p_value(-1.0) == 1.0
    assert null.quantile(0.5) == pytest.approx(2.0, rel=1e-8)


@pytest.mark.parametrize("level", [0.01, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("count", [9, 39, 99, 100, 199])
def test_critical_values_and_p_values_agree(level, count):
    rng = np.random.default_rng(count)
    for draws in (rng.normal(size=count), rng.integers(0, 6, size=count).astype(float)):  # with ties, too
        null = Null.of_draws("permutation", draws)
        critical = null.quantile(1.0 - level)
        observed = (*draws, *(draws + 1e-12), *(draws + 0.01))
        assert [null.p_value(t) <= level for t in observed] == [t > critical for t in observed]


def test_gamma_and_normal_agree_with_scipy():
    gamma = Null.gamma(2.0, 3.0)
    law = stats.gamma(4.0 / 3.0, scale=1.5)
    assert gamma.p_value(3.3) == pytest.approx(law.sf(3.3), rel=1e-12)
    assert gamma.quantile(0.95) == pytest.approx(law.ppf(0.95), rel=1e-12)
    normal = Null("normal", 1.0, 2.0)
    assert normal.p_value(3.0) == pytest.approx(stats.norm(1.0, 2.0).sf(3.0), rel=1e-12)
    assert normal.quantile(0.9) == pytest.approx(stats.norm(1.0, 2.0).ppf(0.9), rel=1e-12)


def test_skew():
    """Studentised means of squares have the level that they should have, and quantiles are those of p-values."""
    values = np.random.default_rng(0).chisquare(1.0, size=(4000, 20)) - 1.0
    stds = values.std(axis=1)
    skews = np.mean(((values - values.mean(axis=1)[:, None]) / stds[:, None]) ** 3, axis=1) / (3.0 * np.sqrt(20.0))
    rates = []
    for corrected in (0.0, 1.0):
        nulls = [Null("normal", 0.0, s / np.sqrt(19.0), skew=corrected * a) for s, a in zip(stds, skews, strict=True)]
        rates.append(
            np.mean([null.p_value(mean) <= 0.05 for null, mean in zip(nulls, values.mean(axis=1), strict=True)])
        )
    assert rates[0] < 0.03 and 0.035 < rates[1] < 0.065
    assert nulls[0].p_value(nulls[0].quantile(0.93)) == pytest.approx(0.07, rel=1e-10)


def test_numbers_beyond_range_are_refused():
    with pytest.raises(DomainError, match="Rescale"):
        concluded(np.nan, Null("normal", 0.0, 1.0), ())
    large = Null.of_draws("permutation", 1e200 * np.array([1.0, 2.0, 3.0]))
    assert large.std == pytest.approx(1e200 * np.sqrt(2.0 / 3.0))


def test_points():
    constant = Null.gamma(1.0, 0.0)
    assert constant.p_value(1.0) == 1.0 and constant.p_value(2.0) == 0.0 and constant.quantile(0.5) == 1.0
    zero = Null.gamma(0.0, 0.0)
    assert zero.p_value(0.0) == 1.0
    assert Null("normal", 0.0, 0.0).p_value(0.0) == 1.0


def test_results_are_named_tuples():
    result = concluded(1.0, Null("normal", 0.0, 1.0), ("kernel",))
    assert isinstance(result, TestResult) and isinstance(result, tuple)
    assert result[:2] == (result.statistic, result.p_value)
    assert "normal" in repr(result.null)

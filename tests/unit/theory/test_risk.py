import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.theory import empirical_minimizer, empirical_risk, expected_risk, uniform_deviation


def test_empirical_risk_is_the_mean_and_not_the_sum():
    assert empirical_risk([1.0, 0.0, 2.0, 1.0]) == 1.0
    assert empirical_risk([1.0, 0.0], [3.0, 1.0]) == 0.75


def test_expected_risk_has_hoeffding_s_interval():
    found = expected_risk(np.r_[np.ones(30), np.zeros(70)], delta=0.1)
    half = np.sqrt(np.log(20.0) / 200.0)
    assert found == pytest.approx((0.3, 0.3 - half, 0.3 + half))


def test_losses_beyond_their_range_are_refused():
    with pytest.raises(ParameterError, match="width=1"):
        expected_risk([0.0, 2.0])


def test_empirical_risk_minimisation_takes_the_first_of_the_best():
    assert empirical_minimizer([[0.5, 0.5], [0.0, 1.0], [0.25, 0.25], [0.25, 0.25]]) == 2


def test_uniform_deviation_goes_to_zero_for_finitely_many_functions():
    """Ten coins; by Hoeffding and a union the deviation exceeds 0.1 with probability 20 exp(-2 n / 100) < 1e-16."""
    rng = np.random.default_rng(0)
    p = np.linspace(0.05, 0.95, 10)
    few, many = (uniform_deviation(rng.random((10, n)) < p[:, None], p) for n in (4, 2000))
    assert many < 0.1
    assert few >= 0.0
    with pytest.raises(ParameterError, match="one of each"):
        uniform_deviation([[1.0]], [0.5, 0.5])

"""Tables of logarithms, where -inf is the logarithm of nothing."""

import numpy as np
import pytest

from mercer.networks.log_tables import aligned, entropy_of, expectation, log_sum, normalised, reduced_axes, summed_to


def test_sums_of_large_small_and_no_numbers():
    table = np.array([[800.0, 800.0], [-np.inf, -np.inf]])
    np.testing.assert_allclose(log_sum(table, (1,)), [800.0 + np.log(2.0), -np.inf])
    assert log_sum(table, ()) is table
    np.testing.assert_allclose(log_sum(table), 800.0 + np.log(2.0))


def test_axes_of_scopes():
    table = np.arange(6.0).reshape(2, 3)
    assert aligned(table, (1, 4), (0, 1, 3, 4)).shape == (1, 2, 1, 3)
    assert reduced_axes((1, 4, 6), (4,)) == (0, 2)
    np.testing.assert_array_equal(summed_to(table, (1, 4), (4,)), table.sum(axis=0))


def test_what_has_no_probability_does_not_count():
    p, scores = np.array([0.0, 1.0]), np.array([-np.inf, 2.0])
    assert expectation(p, scores) == 2.0
    assert entropy_of(p) == 0.0
    np.testing.assert_array_equal(normalised(scores), [0.0, 1.0])


@pytest.mark.filterwarnings("error")
def test_scores_whose_differences_overflow():
    table = np.array([[1.5e308, -1.5e308], [0.0, 0.0]])
    np.testing.assert_array_equal(log_sum(table, (1,)), [1.5e308, np.log(2.0)])

"""Expected improvement, by its integral, and points that it chooses."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from mercer.choosing.model_based import expected_improvement, first_points, next_point
from mercer.errors import DomainError


@pytest.mark.parametrize(("mean", "std", "best"), [(0.0, 1.0, 0.3), (2.0, 0.5, 0.0), (-1.0, 2.0, -1.5)])
def test_it_is_the_integral(mean, std, best):
    integral = quad(lambda v: (best - v) * norm.pdf(v, mean, std), mean - 12 * std, best)[0]
    assert expected_improvement([mean], [std], best)[0] == pytest.approx(integral, abs=1e-9)


def test_points_fill_the_cube():
    U = first_points(64, 3, 0)
    assert U.shape == (64, 3) and np.all((U >= 0.0) & (U <= 1.0))
    counts = np.histogramdd(U, bins=2, range=[(0, 1)] * 3)[0]
    assert counts.min() >= 4  # eight on average
    np.testing.assert_array_equal(U, first_points(64, 3, 0))


def test_the_next_point_is_near_the_bottom_of_a_bowl():
    U = first_points(20, 2, 0)
    v = np.sum((U - 0.3) ** 2, axis=1)
    v[3] = np.inf  # a fit that failed
    found = next_point(U, v, 1)
    assert np.sum((found - 0.3) ** 2) < np.median(v)
    assert np.min(np.max(np.abs(U - found), axis=1)) > 1e-3


def test_means_and_deviations_belong_together():
    with pytest.raises(DomainError, match="std has shape"):
        expected_improvement([0.0, 1.0], [1.0], 0.0)
    with pytest.raises(DomainError, match="zero or more"):
        expected_improvement([0.0], [-1.0], 0.0)
    assert expected_improvement([0.0], [1e-320], 1.0)[0] == 1.0

import math

import numpy as np
import pytest

from mercer.theory import convergence_rate, excess_risk_bound, surrogate_bound

LOSSES = {
    "hinge": lambda t: np.maximum(0.0, 1.0 - t),
    "exponential": lambda t: np.exp(-t),
    "logistic": lambda t: np.log2(1.0 + np.exp(-t)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_surrogate_inequality_holds_at_every_point(loss):
    """One x with P(y = 1) = p and all values f: the excess error is |2p - 1| where the sign is wrong."""
    f = np.linspace(-4.0, 4.0, 81)
    for p in np.linspace(0.0, 1.0, 11):
        risk = p * LOSSES[loss](f) + (1.0 - p) * LOSSES[loss](-f)
        wrong = (f > 0.0) != (p > 0.5)
        error = abs(2.0 * p - 1.0) * wrong * (f != 0.0)
        excess = risk - risk.min()  # at least that over all values, but for the grid
        bounds = np.array([surrogate_bound(float(e), loss) for e in excess])
        assert (error <= bounds + 1e-9).all()


def test_constants_are_those_of_the_seed():
    assert surrogate_bound(0.5, "hinge") == 2.0
    assert surrogate_bound(0.5, "exponential") == pytest.approx(2.0)
    assert surrogate_bound(0.5, "logistic") == pytest.approx(2.0)


def test_rate_by_hand():
    """[HSS] Eq. (94) with R = 2, W = 3, gamma = 0.5, r = 1, n = 900, delta = 0.1."""
    expected = 4.0 * 2.0 * 3.0 * 0.5 / 30.0 * (math.sqrt(2.0 * math.log(10.0)) + 0.5 + math.sqrt(8.0 * math.log(2.0)))
    assert convergence_rate(900, 3.0, 2.0, 1.0, 0.5, 0.1) == pytest.approx(expected, rel=1e-14)


def test_rate_falls_with_the_root_of_n():
    few, many = (convergence_rate(n, 1.0, 1.0, 1.0) for n in (100, 10_000))
    assert few == pytest.approx(10.0 * many)


def test_excess_risk_has_all_terms_of_the_telescope():
    bound = excess_risk_bound(900, 3.0, 2.0, 1.0, 0.5, 0.1, approximation=0.1, bayes=0.05)
    complexity = 4.0 * 2.0 * 0.5 / 30.0 * (3.0 + 6.0 * math.sqrt(2.0 * math.log(2.0)))
    deviations = 8.0 * (1.0 + 6.0) * math.sqrt(math.log(20.0) / 1800.0)
    assert [term.value for term in bound.terms] == pytest.approx([0.05, 0.4, complexity, deviations], rel=1e-13)
    assert bound - 0.45 > convergence_rate(900, 3.0, 2.0, 1.0, 0.5, 0.1)  # what the printed rate leaves out

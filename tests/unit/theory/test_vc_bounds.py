import math

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from mercer import SVC, enclosing_ball
from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.theory import (
    capacity_bound,
    luckiness_bound,
    sauer_bound,
    structural_risk,
    symmetrized_tail,
    symmetrized_width,
    transductive_bound,
    vc_bound,
    vc_criterion,
)


def test_three_bounds_by_hand():
    """[SS] Eqs. (16)-(18) with R_emp = 0.1, N = 400, capacity 9, h = 4, eta = 0.05."""
    assert capacity_bound(0.1, 400, 9.0, printed=True) == pytest.approx(0.1 + math.sqrt((9.0 + math.log(20.0)) / 400.0))
    expected = 0.1 + math.sqrt((4.0 * (math.log(200.0) + 1.0) + math.log(20.0)) / 400.0)
    assert vc_bound(0.1, 400, 4, printed=True) == pytest.approx(expected, rel=1e-14)
    expected = 0.1 + math.sqrt((4.0 * (math.log(200.0) + 1.0) + math.log(80.0)) / 400.0) + 1.0 / 400.0
    assert vc_bound(0.1, 400, 4) == pytest.approx(expected, rel=1e-14)


def test_each_bound_is_looser_than_the_one_before():
    assert capacity_bound(0.1, 400, sauer_bound(800, 4)) < vc_bound(0.1, 400, 4)


def test_structure_pays_for_the_choice():
    found = structural_risk([0.4, 0.1, 0.09], [2, 5, 200], 5000, 0.06)
    assert found.chosen == 1
    assert found.bounds[1] == pytest.approx(float(vc_bound(0.1, 5000, 5, 0.02)))
    printed = structural_risk([0.4, 0.1], [2, 5], 5000, 0.06, printed=True)
    assert printed.bounds[0] == pytest.approx(float(vc_bound(0.4, 5000, 2, 0.06, printed=True)))
    with pytest.raises(ParameterError, match="growing order"):
        structural_risk([0.1, 0.2], [5, 2], 100)


def test_criterion_of_support_vector_machines():
    """Machines along C in nested balls: norms grow, training errors fall, and the criterion is that of Eq. (18)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, 1, -1)
    machines = [SVC(Gaussian(2.0), C=C).fit(X, y) for C in (0.1, 1.0, 1000.0)]
    risks = [1.0 - machine.score(X, y) for machine in machines]
    norms = [machine.expansion_.norm() for machine in machines]
    radius = enclosing_ball(Gaussian(2.0), X).radius
    found = vc_criterion(risks, norms, radius, 80)
    h = [min(math.floor(radius**2 * norm**2), 80) + 1 for norm in norms]
    expected = [
        r + math.sqrt((k * (math.log(160.0 / k) + 1.0) + math.log(20.0)) / 80.0) for r, k in zip(risks, h, strict=True)
    ]
    assert found.bounds == pytest.approx(expected, rel=1e-12)
    assert found.chosen == int(np.argmin(expected))
    assert (np.diff(norms) > 0).all()


def test_symmetrisation_by_hand_and_in_inverse():
    assert symmetrized_tail(100, 1.0, 2.0) == pytest.approx(4.0 * math.exp(2.0 - 12.5), rel=1e-14)
    assert symmetrized_tail(100, 0.1, 0.0) == 1.0  # N eps^2 < 2: the lemma says nothing
    assert symmetrized_tail(800, symmetrized_width(800, 3.0, 0.01), 3.0) == pytest.approx(0.01, rel=1e-12)


def test_symmetrisation_covers_one_coin_exactly():
    for n, p in [(40, 0.3), (200, 0.5)]:
        k = np.arange(n + 1)
        for eps in (0.25, 0.3, 0.5):
            exact = binom.pmf(k, n, p)[np.abs(k / n - p) >= eps].sum()
            assert exact <= symmetrized_tail(n, eps, 0.0)


@pytest.mark.parametrize("n, new", [(12, 8), (20, 20)])
def test_transductive_bound_holds_exactly_for_every_number_of_errors(n, new):
    """Over all ways to draw the training part: the share of errors among the rest exceeds the bound with delta."""
    delta = 0.1
    found = np.array([float(transductive_bound(e, n, new, delta=delta)) for e in range(n + 1)])
    for total in range(n + new + 1):
        e = np.arange(max(0, total - new), min(n, total) + 1)
        fails = (total - e) / new > found[e] + 1e-12
        assert hypergeom.pmf(e, n + new, total, n)[fails].sum() <= delta


def test_transductive_bound_pays_for_labellings():
    plain, chosen = transductive_bound(2, 50, 50), transductive_bound(2, 50, 50, math.log(100.0))
    assert plain < chosen
    assert chosen == transductive_bound(2, 50, 50, delta=0.0005)
    with pytest.raises(ParameterError, match="at most n"):
        transductive_bound(3, 2, 5)


def test_luckiness_by_hand():
    """gamma = R = 1, m = 10^6: k = 577."""
    m = 10**6
    expected = 2.0 / m * (577 * math.log2(8.0 * math.e * m / 577) * math.log2(32.0 * m) + math.log2(8.0 * m / 0.05))
    assert luckiness_bound(m, 1.0, 1.0) == pytest.approx(expected, rel=1e-13)
    assert luckiness_bound(100, 0.0, 1.0).is_vacuous

import itertools
import math

import numpy as np
import pytest
from sklearn.svm import LinearSVC as Reference

from mercer.errors import DomainError, ParameterError
from mercer.theory import (
    ball_covering,
    capacity_chain,
    hyperplane_dimension,
    hyperplane_labellings,
    labellings,
    sauer_bound,
    vc_dimension,
    vc_entropy,
)


def steps(n):
    return np.array([[1 if i >= t else -1 for i in range(n)] for t in range(n + 1)])


def test_growth_is_the_sum_of_binomials():
    for n, h in [(1, 0), (5, 2), (6, 9), (10, 10)]:
        exact = sum(math.comb(n, i) for i in range(min(h, n) + 1))
        assert math.exp(sauer_bound(n, h)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("n, h", [(1, 1), (3, 3), (3, 7), (50, 4), (10**6, 30)])
def test_chain_of_inequalities(n, h):
    chain = capacity_chain(n, h)
    assert chain.growth <= chain.dimension + 1e-9
    assert chain.growth <= n * math.log(2.0) + 1e-9


def test_chain_by_hand():
    assert capacity_chain(20, 2).dimension == pytest.approx(2.0 * (math.log(10.0) + 1.0), rel=1e-15)


def test_steps_reach_the_growth_function():
    """Thresholds on a line have dimension 1 and n + 1 labellings: Sauer's sum exactly."""
    assert labellings(steps(7)) == 8
    assert math.exp(sauer_bound(7, 1)) == pytest.approx(8.0)
    assert vc_entropy([steps(7)]) == pytest.approx(sauer_bound(7, 1))


def test_entropy_is_below_its_annealed_form_and_below_growth():
    samples = [steps(6)[:, [0, 0, 1, 2, 3, 4]], steps(6), steps(6)[:, [2] * 6]]
    plain, annealed = vc_entropy(samples), vc_entropy(samples, annealed=True)
    assert plain == pytest.approx(np.log([6.0, 7.0, 2.0]).mean())
    assert plain < annealed <= sauer_bound(6, 1)
    with pytest.raises(DomainError, match="no samples"):
        vc_entropy([])


def test_hyperplanes_part_points_as_counted():
    """Four points in the plane: every labelling is tried by a linear machine with a large cost."""
    X = np.array([[0.0, 0.0], [1.0, 0.1], [0.2, 1.0], [1.1, 1.2]])
    found = 2  # all on one side
    for signs in itertools.product([-1, 1], repeat=4):
        if len(set(signs)) == 2:
            found += Reference(C=1e6, max_iter=10**6).fit(X, signs).score(X, signs) == 1.0
    assert found == round(math.exp(hyperplane_labellings(4, 2))) == 14
    assert hyperplane_labellings(1, 3) == math.log(2.0)
    assert hyperplane_labellings(30, 2) <= sauer_bound(30, 3)


def test_dimension_by_brute_force():
    both = np.concatenate([steps(6), -steps(6)])
    intervals = np.array([[1 if a <= i < b else -1 for i in range(6)] for a in range(7) for b in range(a, 7)])
    everything = np.array(list(itertools.product([-1, 1], repeat=5)))
    assert [vc_dimension(t) for t in (steps(6), both, intervals, everything, [[1, -1, 1]])] == [1, 2, 2, 5, 0]
    with pytest.raises(DomainError, match="two are accepted"):
        vc_dimension([[1, 2, 3]])
    with pytest.raises(ParameterError, match="at most 25"):
        vc_dimension(np.ones((2, 26)))


def test_margin_hyperplanes_by_hand():
    assert hyperplane_dimension(2.0, 1.5, 100) == 10  # [4 * 2.25] + 1
    assert hyperplane_dimension(1.0, 0.5, 100) == 1
    assert hyperplane_dimension(1e200, 1e200, 7) == 8


def test_covering_of_a_segment_and_between_volumes():
    """One half-axis of length 1: an interval of length 2 is covered by 1 / eps intervals of radius eps."""
    for eps in (0.5, 0.1, 0.01):
        low, high = ball_covering([4.0, 0.0, 0.0, 0.0], eps)
        assert low <= math.log(math.ceil(1.0 / eps)) + 1e-12
        assert math.log(math.ceil(1.0 / eps)) <= high
    assert ball_covering([4.0, 0.0, 0.0, 0.0], 2.0) == (0.0, 0.0)
    assert ball_covering([4.0, 0.0, 0.0, 0.0], 0.5, norm=3.0)[0] == pytest.approx(math.log(6.0))
    with pytest.raises(ParameterError, match="positive"):
        ball_covering([1.0], 0.0)

"""Where a descent starts."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.problems import BoxQP
from mercer.solvers.box.starts import feasible, is_cone
from tests.unit.solvers.machines import require_feasible


def program(n=6, total=0.0, lower=-1.0, upper=1.0):
    linear = np.random.default_rng(0).normal(size=n)
    return BoxQP(np.eye(n), linear, np.full(n, lower), np.full(n, upper), total=np.array([total]))


@pytest.mark.parametrize("total", [0.0, 2.5, -6.0])
@pytest.mark.parametrize("given", [False, True])
def test_a_start_lies_in_the_box_and_has_the_sum(total, given):
    problem = program(total=total)
    require_feasible(problem, feasible(problem, np.full(6, 3.0) if given else None))


def test_a_feasible_point_is_kept():
    start = np.array([0.5, -0.5, 0.25, -0.25, 0.0, 0.0])
    np.testing.assert_array_equal(feasible(program(), start), start)


def test_many_boxes_around_zero_begin_at_their_ends():
    problem = program(n=3000)
    beta = feasible(problem, None)
    require_feasible(problem, beta)
    assert np.count_nonzero(np.abs(beta) < 1.0) <= 1
    assert problem.linear @ beta <= problem.linear @ np.zeros(3000)


def test_a_sum_out_of_reach_is_refused():
    with pytest.raises(ParameterError, match=r"were to sum to 7; their boxes allow sums from -6 to 6"):
        feasible(program(total=7.0), None)


def test_a_cone_has_no_ends_but_zero():
    assert is_cone(program(lower=0.0, upper=np.inf))
    assert not is_cone(program(lower=0.0, upper=1.0))
    assert not is_cone(program(lower=0.0, upper=np.inf, total=1.0))

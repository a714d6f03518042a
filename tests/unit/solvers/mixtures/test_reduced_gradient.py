"""The reduced gradient reaches the optimum of the other solvers."""

import numpy as np
import pytest

from mercer.solvers import MixtureNewton, ReducedGradient
from mercer.solvers.mixtures.reduced_gradient import _direction, _farthest
from tests.unit.solvers.mixtures.cases import problem, require_solved


@pytest.mark.parametrize("loss", ["hinge", "squared", "one class"])
def test_it_reaches_the_same_optimum(loss):
    given = problem(loss, n=30)
    solution, reference = ReducedGradient(1e-5).solve(given), MixtureNewton(1e-6).solve(given)
    require_solved(solution, 1e-5)
    assert abs(solution.state.objective - reference.state.objective) <= solution.gap + reference.gap


def test_the_objective_only_falls():
    trace = ReducedGradient(1e-4).solve(problem(n=30)).trace
    assert np.all(np.diff(trace.objective) <= 1e-6 * trace.objective[0])


def test_the_direction_keeps_the_sum_and_the_boundary():
    d, s = np.array([0.5, 0.5, 0.0, 0.0]), np.array([1.0, 2.0, 3.0, 0.1])
    D = _direction(d, s)
    assert np.isclose(D.sum(), 0.0) and D[2] > 0.0 and D[3] == 0.0
    far, which = _farthest(d, D)
    assert np.isclose(d[which] + far * D[which], 0.0)

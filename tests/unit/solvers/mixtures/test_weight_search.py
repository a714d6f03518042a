"""The duality gap of the whole problem is a bound, whatever the point."""

import numpy as np
import pytest

from mercer.mixtures import LpBall, Simplex
from mercer.solvers import MixtureNewton, MixtureTurns
from mercer.solvers.mixtures.weight_search import Search
from tests.unit.solvers.mixtures.cases import problem


@pytest.mark.parametrize("weights", [Simplex(), LpBall(2.0)], ids=repr)
def test_every_gap_bounds_what_is_left(weights):
    given = problem(weights=weights)
    solver = MixtureNewton(1e-9) if isinstance(weights, Simplex) else MixtureTurns(1e-9, 2000)
    best = solver.solve(given).state.objective
    rng = np.random.default_rng(0)
    for _ in range(5):
        search = Search(given, 1e-3, 10, None)
        search.inner = 0.1  # machines that are far from solved
        search.point = search.evaluate(weights.shared(rng.exponential(size=9)))
        assert search.lower <= best + 1e-9
        assert search.point.value - search.lower >= search.point.value - best - 1e-9


def test_the_trace_ends_with_the_solution():
    solution = MixtureNewton(1e-4).solve(problem())
    assert solution.trace.residual[-1] == solution.residual
    assert solution.trace.objective[-1] == solution.state.objective

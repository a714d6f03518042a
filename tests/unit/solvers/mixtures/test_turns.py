"""Machine and weights in turns: other sets than the simplex."""

import numpy as np
import pytest

from mercer.mixtures import Average, ElasticNet, LpBall
from mercer.problems import Status
from mercer.solvers import MixtureNewton, MixtureTurns
from mercer.solvers.mixtures.machines import machine_of
from mercer.solvers.mixtures.stack import stack_of
from tests.unit.solvers.mixtures.cases import problem


@pytest.mark.parametrize("weights", [LpBall(1.5), LpBall(4.0), ElasticNet(0.3)], ids=repr)
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_no_other_weights_of_the_set_are_better(weights, loss):
    given = problem(loss, n=25, weights=weights)
    solution = MixtureTurns(1e-5).solve(given)
    assert solution.status is Status.CONVERGED and solution.residual <= 1e-5
    machine = machine_of(given, stack_of(given.grams))
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = weights.shared(rng.exponential(size=9) ** 2)
        assert machine.solve(d, None, 1e-9).value >= solution.state.objective - solution.gap - 1e-9


def test_the_objective_only_falls():
    trace = MixtureTurns(1e-6).solve(problem("squared", weights=LpBall(1.2))).trace
    assert np.all(np.diff(trace.objective) <= 1e-9 * trace.objective[0])


def test_the_simplex_agrees_with_newton():
    given = problem("squared")
    turns, newton = MixtureTurns(1e-3).solve(given), MixtureNewton(1e-5).solve(given)
    assert abs(turns.state.objective - newton.state.objective) <= turns.gap + newton.gap


def test_a_large_norm_gives_weight_one():
    solution = MixtureTurns(1e-6).solve(problem(weights=LpBall(1e7)))
    # m^(-1 / p) and the ratios of lengths to the power 2 / (p + 1) differ from one by some 1 / p
    assert np.allclose(solution.state.weights, 1.0, rtol=1e-5)


def test_the_average_has_nothing_to_learn():
    assert MixtureTurns(1e-5).solve(problem(weights=Average())).details["changes of the weights"] == 0

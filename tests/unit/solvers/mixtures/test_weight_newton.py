"""The default solver, against the cone program; degenerate families; what it reports."""

import numpy as np
import pytest

from mercer.errors import CapabilityError
from mercer.mixtures import Average, Given, LpBall
from mercer.problems import Status
from mercer.solvers import ConeProgram, MixtureNewton, MixtureTurns
from tests.unit.solvers.mixtures.cases import DEGENERATE, problem, require_optimal, require_solved, several, together


@pytest.mark.parametrize("loss", ["hinge", "squared hinge", "squared", "tube", "one class"])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_the_optimum_of_the_cone_program(loss, seed):
    pytest.importorskip("clarabel")
    given = problem(loss, seed=seed)
    solution, reference = MixtureNewton(1e-5).solve(given), ConeProgram().solve(given)
    require_optimal(solution, 1e-5)
    # both values are above the minimum by no more than their gaps
    assert abs(solution.state.objective - reference.state.objective) <= solution.gap + reference.gap + 1e-12


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_families(name):
    pytest.importorskip("clarabel")
    given = problem(kernels=DEGENERATE[name], n=30)
    solution, reference = MixtureNewton(1e-5).solve(given), ConeProgram(1e-5).solve(given)
    require_optimal(solution, 1e-5)
    assert abs(solution.state.objective - reference.state.objective) <= solution.gap + reference.gap + 1e-9


def test_several_programs_with_one_set_of_weights():
    pytest.importorskip("clarabel")
    solution, reference = MixtureNewton(1e-5).solve(several()), ConeProgram(1e-5).solve(several())
    require_optimal(solution, 1e-5)
    assert solution.coef.shape == (40, 3)
    assert abs(solution.state.objective - reference.state.objective) <= solution.gap + reference.gap


def test_all_classes_together_agree_with_turns():
    newton, turns = MixtureNewton(1e-3).solve(together()), MixtureTurns(3e-3).solve(together())
    require_solved(newton, 1e-3)
    assert abs(newton.state.objective - turns.state.objective) <= newton.gap + turns.gap


def test_few_machines_are_solved():
    solution = MixtureNewton(1e-6).solve(problem(n=60, C=10.0))
    assert solution.status is Status.CONVERGED
    assert solution.details["machines"] <= 30
    assert solution.details["support kernels"] < 9


def test_small_problems_are_solved_exactly():
    """So that weights of samples and repetitions give the same numbers: N_t agree to rounding on the support."""
    solution = MixtureNewton(1e-2).solve(problem(n=30))
    s = solution.state.squares[solution.state.weights > 0.0]
    assert np.ptp(s) <= 1e-9 * s.max()


@pytest.mark.parametrize("weights", [Average(), Given((0.5,) * 9)], ids=["average", "given"])
def test_given_weights_are_kept(weights):
    solution = MixtureNewton(1e-6).solve(problem(weights=weights))
    assert solution.status is Status.CONVERGED and solution.residual <= 1e-6
    assert np.array_equal(solution.state.weights, weights.start(9))


def test_it_can_be_stopped():
    stopped = MixtureNewton(1e-9).solve(problem(n=60), monitor=lambda iteration, residual: iteration >= 1)
    assert stopped.status is Status.STOPPED and np.isfinite(stopped.coef).all()
    assert MixtureNewton(1e-12, max_iter=1).solve(problem(n=60)).status is Status.MAX_ITER


def test_a_start_near_the_solution_saves_work():
    given = problem(n=60)
    first = MixtureNewton(1e-6).solve(given)
    again = MixtureNewton(1e-6).solve(given, start=first.state)
    assert again.details["machines"] < first.details["machines"]


def test_other_sets_are_refused():
    with pytest.raises(CapabilityError, match="MixtureTurns"):
        MixtureNewton().solve(problem(weights=LpBall(2.0)))

"""The growing linear program reaches the optimum of the other solvers."""

import pytest

from mercer.problems import Status
from mercer.solvers import MixtureNewton, SemiInfinite
from tests.unit.solvers.mixtures.cases import problem, require_solved, together


@pytest.mark.parametrize("loss", ["hinge", "squared", "one class"])
def test_it_reaches_the_same_optimum(loss):
    given = problem(loss, n=30)
    solution, reference = SemiInfinite(1e-5).solve(given), MixtureNewton(1e-6).solve(given)
    assert solution.status is Status.CONVERGED and solution.residual <= 1e-5
    assert abs(solution.state.objective - reference.state.objective) <= solution.gap + reference.gap


def test_any_machine_will_do():
    solution, reference = SemiInfinite(1e-3).solve(together()), MixtureNewton(1e-3).solve(together())
    assert solution.status is Status.CONVERGED
    assert abs(solution.state.objective - reference.state.objective) <= solution.gap + reference.gap


def test_one_kernel_is_done_at_once():
    solution = SemiInfinite().solve(problem(kernels=lambda X, y: [X @ X.T]))
    require_solved(solution, 1e-3)
    assert solution.details["changes of the weights"] == 0

"""check_solver accepts every solver of linear systems and notices wrong solutions."""

from dataclasses import replace

import pytest

from mercer.errors import CapabilityError
from mercer.problems import Status
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury
from mercer.testing import check_solver


@pytest.mark.parametrize("solver", [Cholesky(), Woodbury(), ConjugateGradient(tol=1e-10)], ids=repr)
def test_the_solvers_of_mercer(solver):
    check_solver(solver)


class Off(Cholesky):
    def solve(self, problem, start=None, monitor=None):
        solution = super().solve(problem, start, monitor)
        return replace(solution, coef=solution.coef * 1.001)


class Unfinished(Cholesky):
    def solve(self, problem, start=None, monitor=None):
        return replace(super().solve(problem, start, monitor), status=Status.MAX_ITER)


class Misled(Cholesky):
    def solve(self, problem, start=None, monitor=None):
        solution = super().solve(problem, start, monitor)
        return solution if start is None else replace(solution, coef=solution.coef + start)


@pytest.mark.parametrize(("cls", "told"), [(Off, "coefficients"), (Unfinished, "MAX_ITER"), (Misled, "start")])
def test_what_is_wrong_is_told(cls, told):
    with pytest.raises(AssertionError, match=told):
        check_solver(cls())


def test_solvers_of_other_problems_are_refused():
    class Other(Cholesky):
        solves = int

    with pytest.raises(CapabilityError, match="LinearSystem"):
        check_solver(Other())

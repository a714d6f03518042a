"""check_solver accepts every solver of linear systems and notices wrong solutions."""

from dataclasses import replace

import pytest

from mercer import catalogue
from mercer.errors import CapabilityError
from mercer.gram import HasEigen
from mercer.problems import LinearSystem, Status
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury
from mercer.testing import check_solver
from mercer.testing.members import member

SOLVERS = [row.cls for row in catalogue.solvers() if row.cls.solves is LinearSystem and HasEigen not in row.cls.needs]


@pytest.mark.parametrize("cls", SOLVERS, ids=lambda cls: cls.__name__)
def test_the_solvers_of_mercer(cls):
    solver = member(cls)
    check_solver(solver.replace(tol=1e-10) if hasattr(solver, "tol") else solver)


def test_there_are_several():
    assert {Cholesky, Woodbury, ConjugateGradient} <= set(SOLVERS)


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

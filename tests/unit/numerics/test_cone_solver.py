"""A panic of clarabel is an error that can be caught."""

from types import SimpleNamespace

import pytest

from mercer.errors import DomainError
from mercer.numerics.cone_solver import solve_cones


class PanicException(BaseException):  # as pyo3 has it
    pass


def module(answer):
    def solve():
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return SimpleNamespace(DefaultSolver=lambda *program: SimpleNamespace(solve=solve))


def test_a_panic_is_an_error_of_the_data():
    with pytest.raises(DomainError, match=r"Eigval error.*Scale the data"):
        solve_cones(module(PanicException("Eigval error")), 1, 2)


def test_all_else_passes():
    assert solve_cones(module(3)) == 3
    with pytest.raises(KeyboardInterrupt):
        solve_cones(module(KeyboardInterrupt()))

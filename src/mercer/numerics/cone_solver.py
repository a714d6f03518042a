"""Cone programs by clarabel, whose panics are no errors that anyone could catch by their class."""

from __future__ import annotations

from typing import Any

from mercer.errors import DomainError

__all__ = ["solve_cones"]


def solve_cones(clarabel: Any, *program: Any) -> Any:
    """Solve a cone program; DomainError where clarabel panics, as it does on numbers that are too far apart.

    Parameters
    ----------
    clarabel : module
    *program : object
        The arguments of its DefaultSolver.
    """
    try:
        return clarabel.DefaultSolver(*program).solve()
    except BaseException as panic:
        if type(panic).__name__ != "PanicException":  # of pyo3, which derives it from BaseException
            raise
        raise DomainError(
            f'clarabel gave up, "{panic}": numbers of the data, weights or costs are too far apart for '
            "floating-point arithmetic. Scale the data, and use smaller weights or costs."
        ) from None

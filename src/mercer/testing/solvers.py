"""What every solver of linear systems must find."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.gram import Dense, Features, HasFactor
from mercer.kernels.algebra.maps import RankOne
from mercer.kernels.algebra.sums import Constant
from mercer.kernels.vectors.pointwise import Gaussian
from mercer.problems import LinearSystem, Status
from mercer.solvers import Solver
from mercer.testing.grams import close

__all__ = ["check_solver"]
__public__ = __all__


def check_solver(solver: Solver, *, tol: float = 1e-6) -> None:
    """Check a solver of linear systems: against elimination, from a start, on reordered samples.

    Parameters
    ----------
    solver : Solver
        One that solves `LinearSystem`.
    tol : float, default 1e-6
        Error allowed relative to the largest coefficient.

    Examples
    --------
    >>> from mercer.solvers import Cholesky
    >>> check_solver(Cholesky())
    """
    if not issubclass(LinearSystem, solver.solves):
        raise CapabilityError(
            f"check_solver was given {solver!r}, which solves {solver.solves.__name__}; it checks solvers of "
            "LinearSystem. Check this one against another solver of its problem."
        )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    columns = [RankOne(_Column(j)) for j in range(2)]
    factored = HasFactor in solver.needs
    kernel = columns[0] + columns[1] + Constant(1.0) if factored else Gaussian(1.0)
    gram = (Features() if factored else Dense()).build(kernel, kernel.pack(X))
    K = gram @ np.eye(24)
    for shift in (0.5, rng.random(24) + 0.1):
        for rhs in (rng.normal(size=24), rng.normal(size=(24, 3))):
            for border in (None, np.ones((24, 1))):
                _check_solution(solver, LinearSystem(_Operator.around(gram), shift, rhs, border), K, tol)


class _Column:
    """A function that gives one column; unlike a lambda it can be copied and pickled."""

    def __init__(self, column: int) -> None:
        self.column = column

    def __call__(self, X: Any) -> Floats:
        return np.asarray(X)[:, self.column]


class _Operator:
    """A Gram that may be used again after a solver has overwritten its array."""

    @staticmethod
    def around(gram: Any) -> Any:
        return gram.take(np.arange(gram.shape[0]))


def _check_solution(solver: Solver, problem: LinearSystem, K: Floats, tol: float) -> None:
    n, border = len(K), problem.border
    shift = np.broadcast_to(np.asarray(problem.shift, dtype=float), (n,))
    s = 0 if border is None else border.shape[1]
    whole = np.zeros((n + s, n + s))
    whole[:n, :n] = K + np.diag(shift)
    if border is not None:
        whole[:n, n:], whole[n:, :n] = border, border.T
    rhs = np.concatenate([problem.rhs, np.zeros((s, *problem.rhs.shape[1:]))])
    expected = np.linalg.solve(whole, rhs)
    order = np.random.default_rng(1).permutation(n)
    again, reordered = _Operator.around(problem.gram), problem.gram.take(order)
    try:
        solution = solver.solve(problem)
    except CapabilityError:
        assert border is not None, f"{solver!r} refuses a system without a border"
        return
    assert solution.status is Status.CONVERGED, f"{solver!r} ended with {solution.status}"
    assert solution.residual <= tol, f"{solver!r} left a residual of {solution.residual:.3g}"
    close(solution.coef, expected[:n], tol, f"{solver!r}: coefficients")
    if s:
        close(
            np.reshape(solution.multipliers, expected[n:].shape),
            expected[n:],
            tol,
            f"{solver!r}: multipliers",
        )
    warm = solver.solve(LinearSystem(again, problem.shift, problem.rhs, border), start=solution.coef)
    close(warm.coef, expected[:n], tol, f"{solver!r}: coefficients from a start")
    assert len(warm.trace) <= max(len(solution.trace), 2), f"{solver!r} takes longer from the solution itself"
    turned = LinearSystem(reordered, shift[order], problem.rhs[order], None if border is None else border[order])
    close(solver.solve(turned).coef, expected[:n][order], tol, f"{solver!r}: coefficients of reordered samples")

r"""What searches for weights share: points, the duality gap of the whole problem, and the end.

Symbols: J(d) the risk at weights d, an upper bound of its minimum over D; gain - max_{d in D} d^T s / 2 at any dual
point, a lower bound. The relative gap is their difference over the size of the minimum.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.errors import CapabilityError
from mercer.mixtures.weights import Simplex
from mercer.problems import Solution, Status, Trace
from mercer.runtime.tiling import serial_blas
from mercer.solvers.mixtures.factor_squares import FactorSquares
from mercer.solvers.mixtures.machines import Point, machine_of
from mercer.solvers.mixtures.mixture_problem import MixtureProblem
from mercer.solvers.mixtures.stack import stack_of
from mercer.solvers.solver import Monitor, Solver

__all__ = ["MixtureSolver", "Mixed", "Search"]
__saved__ = ["Mixed"]

_ROUNDING = 1e-13  # of the terms of the objective: less than this of a gap is not seen


@dataclass(frozen=True, eq=False)
class Mixed:
    """What a search for weights found besides the coefficients.

    Attributes
    ----------
    weights : (m,) array
        d.
    squares : (m,) array
        s_t = beta^T K_t beta.
    variables : array
        z, of the machine's program.
    product : array
        K_d beta.
    objective : float
        J(d).
    """

    weights: Floats
    squares: Floats
    variables: Floats
    product: Floats
    objective: float


class MixtureSolver(Solver):
    """Base of the searches for weights: a subclass writes how it goes from one point to the next.

    Parameters
    ----------
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    max_iter : int, default 500
        The most changes of the weights.
    """

    solves = MixtureProblem
    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "max_iter": Integer(1)}
    tol: float
    max_iter: int

    def _solve(self, problem: Any, start: Any = None, monitor: Monitor | None = None) -> Solution:
        search = Search(problem, self.tol, self.max_iter, monitor)
        self._check_set(problem)
        with serial_blas():  # blocks are small, and the bits do not depend on the number of threads
            search.begin(start)
            self._run(search)
            return search.solution()

    def _check_set(self, problem: Any) -> None:
        """Raise unless this solver knows what to do with the set of weights and the machine."""

    def _run(self, search: Search) -> None:
        raise NotImplementedError


def require_simplex(solver: Any, problem: Any, kinds: tuple[type, ...]) -> None:
    """Raise CapabilityError unless weights sum to one and the problem is of one of these kinds."""
    if not (isinstance(problem.weights, Simplex) or problem.weights.single):
        raise CapabilityError(
            f"{type(solver).__name__} was given mixture={problem.weights!r}; it solves problems with mixture=Simplex()."
            " Use solver=MixtureTurns(), which takes any set of weights."
        )
    if not isinstance(problem, kinds):
        raise CapabilityError(
            f"{type(solver).__name__} was given a {type(problem).__name__}; it solves "
            f"{' and '.join(kind.__name__ for kind in kinds)}. Use solver=MixtureTurns()."
        )


class Search:
    """One search for weights.

    Parameters
    ----------
    problem : MixtureProblem
    tol : float
    max_iter : int
    monitor : callable, optional
    """

    def __init__(self, problem: MixtureProblem, tol: float, max_iter: int, monitor: Monitor | None) -> None:
        self.problem, self.tol, self.limit, self.monitor = problem, tol, max_iter, monitor
        self.stack = stack_of(problem.grams)
        of: Any = FactorSquares if FactorSquares.suits(problem, self.stack) else machine_of
        self.machine: Any = of(problem, self.stack)
        self.weights = problem.weights
        self.began = time.monotonic()
        self.lower = -np.inf  # best lower bound of the minimum so far
        self.iterations = self.machines = 0
        self.status: Status | None = None
        self.rows: list[tuple[float, float, float]] = []
        self.gap = 1.0
        self.point: Point
        self.inner = 1e-2
        self.solves = True  # whether points are solutions of the machine

    def begin(self, start: Any = None) -> None:
        """Solve the machine at the first weights."""
        d = self.weights.start(len(self.stack)) if start is None else np.asarray(start.weights, dtype=float)
        z = None if start is None else start.variables
        self.point = self.evaluate(d, z)
        self.move(self.point)

    def evaluate(self, d: Floats, z: Floats | None = None, inner: float | None = None) -> Point:
        """Solve the machine at weights d, and look at the lower bound that its solution gives."""
        start = z if z is not None else (self.point.z if hasattr(self, "point") else None)
        point = self.machine.solve(d, start, self.inner if inner is None else inner, self._watch())
        self.machines += 1
        self.lower = max(self.lower, point.gain - 0.5 * self.weights.bound(point.s))
        if point.status in (Status.TIME, Status.STOPPED):
            self.status = point.status
        return point

    def relative_gap(self, point: Point) -> float:
        """Return the relative gap between the value of a point and the best lower bound."""
        size = max(abs(point.value), abs(self.lower), np.finfo(float).tiny)
        gap = point.value - self.lower
        noise = _ROUNDING * (abs(point.gain) + float(point.d @ point.s))
        return max(gap, 0.0) / size if gap > noise else 0.0

    def move(self, point: Point) -> None:
        """Go on from a point."""
        self.point, self.gap = point, self.relative_gap(point)
        self.rows.append((point.value, self.gap, time.monotonic() - self.began))
        self.inner = float(np.clip(0.1 * self.gap, 0.02 * self.tol, self.inner))

    def done(self) -> bool:
        """Return whether the search is at its end; a machine that is not solved well enough is solved better first."""
        if self.status is not None:
            return True
        while self.solves and self.gap > self.tol and self._is_blurred():
            self.inner = max(0.1 * self.inner, 1e-12)
            self.move(self.evaluate(self.point.d))
            if self.status is not None:
                return True
        if self.gap <= self.tol:
            self.status = Status.CONVERGED
        elif self.iterations >= self.limit:
            self.status = Status.MAX_ITER
        elif self.monitor is not None and (answer := self.monitor(self.iterations, self.gap)):
            self.status = answer if isinstance(answer, Status) else Status.STOPPED
        self.iterations += 1
        return self.status is not None

    def _is_blurred(self) -> bool:
        """Return whether most of the gap is what the machine itself was left with."""
        left = self.point.value - self.lower
        return self.point.slack > 0.3 * left and self.inner > 1e-12 and self.point.slack > 0.0

    def finish(self) -> None:
        """Solve the machine at the weights that there are as well as the tolerance asks, where weights are given."""
        self.limit = 0
        self.done()
        if self.status is Status.MAX_ITER:
            self.stall()

    def stall(self) -> None:
        """End the search: no step makes the objective smaller."""
        self.status = Status.STALLED

    def _watch(self) -> Monitor | None:
        if self.monitor is None:
            return None
        outer = self.monitor

        def watch(iteration: int, residual: float) -> bool | Status:
            return outer(self.iterations, self.gap)

        return watch

    def solution(self) -> Solution:
        """Return the solution at the last point."""
        point = self.point
        details = {
            "machines": self.machines, "changes of the weights": max(self.iterations - 1, 0),
            "support kernels": int(np.count_nonzero(point.d)),
        }  # fmt: skip
        assert self.status is not None
        return Solution(
            coef=point.beta, status=self.status, residual=self.gap, gap=max(point.value - self.lower, 0.0),
            multipliers=point.multipliers, trace=Trace.of(self.rows), details=details,
            state=Mixed(point.d, point.s, point.z, point.product, point.value),
        )  # fmt: skip

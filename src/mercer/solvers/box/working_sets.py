"""Descent from working set to working set, which machines of one bound per variable and of one per sample share."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.problems import Status
from mercer.solvers.solver import Monitor, largest_order

__all__ = ["POLISHED", "PROXIMAL", "WORK", "WorkingSets"]

_LARGEST_SET = 2048  # variables whose block of K is descended on at a time, in cache or nearly
_CALLS = 20  # of the compiled loop at most for one working set
_EASED = 0.1  # a working set is solved to this part of the violation it started with
_ROUNDS = 60  # of polishing at most
_EXACT = 1e-13  # of the largest gradient: a smaller violation cannot be distinguished from rounding
_NARROW = 1e-5  # of the largest |Phi(x)|: with a smaller margin samples count as not separable
POLISHED = 2000  # free coefficients up to which they are solved for by a factorisation
PROXIMAL = 1e-10  # of the largest curvature, so that a singular K can be factored; the step only gets shorter
WORK = 50_000_000  # numbers touched by one call of the compiled loop: some 50 ms


class WorkingSets(ABC):
    """State of one run: violations of all variables, and its progress; a subclass has coefficients and gradient.

    Parameters
    ----------
    gram : Gram
    monitor : callable or None
    unbounded : bool
        Whether some coefficients have no bound.

    Attributes
    ----------
    v : (n,) array
        Violations.
    free : (n,) array of bool
        What can move both ways.
    """

    v: Floats
    free: Any

    def __init__(self, gram: Any, monitor: Monitor | None, unbounded: bool) -> None:
        self.began = time.perf_counter()
        self.gram = gram
        self.fine: Any = gram.refined() if hasattr(gram, "refined") else gram  # in float64
        self.order = largest_order(gram, _LARGEST_SET)
        self.rows: list[tuple[float, float, float]] = []
        self.monitor = monitor
        self.answer: bool | Status = False
        self.unbounded = unbounded
        self.largest = float(np.max(gram.diag(), initial=0.0)) if unbounded else 0.0

    # what a subclass gives --------------------------------------------------------------------------------

    @abstractmethod
    def refresh(self) -> None:
        """Recompute the gradient and the violations."""

    @abstractmethod
    def objective(self) -> float:
        """Return what is minimised, from the gradient."""

    @abstractmethod
    def steepest(self) -> float:
        """Return the largest entry of the gradient by size."""

    @abstractmethod
    def evidence(self) -> tuple[float, float]:
        """Return a gain g and |f|^2 of the function f so far; any function of margin 1 has g <= <f, that function>."""

    @abstractmethod
    def step(self, index: Indices, tol: float) -> bool:
        """Solve a working set on its own block, and bring its changes to the gradient of all; whether there are any."""

    @abstractmethod
    def newton(self) -> bool:
        """Go to the minimum over what is free, or as far as bounds allow; False if there is too much of it."""

    # the descent ------------------------------------------------------------------------------------------

    def violation(self) -> float:
        """Return the largest violation, not negative."""
        return max(float(np.max(self.v, initial=0.0)), 0.0)

    def record(self) -> float:
        """Record the progress of the run; return the largest violation."""
        worst = self.violation()
        self.rows.append((self.objective(), worst, time.perf_counter() - self.began))
        return worst

    def ask(self) -> bool | Status:
        """Ask the monitor whether to stop."""
        if self.monitor is not None:
            self.answer = self.monitor(max(len(self.rows) - 1, 1), self.violation())
        return self.answer

    def run(self, tol: float, limit: int) -> Status:
        """Go from working set to working set until the violation is small; how it ended."""
        worst = self.record()
        refreshed, believed = True, math.inf
        for _ in range(limit):
            if worst <= tol and not refreshed:
                self.refresh()
                refreshed, worst = True, self.violation()
                if worst > 0.5 * believed:  # no nearer than when last recomputed
                    if self.gram is self.fine:
                        return Status.STALLED
                    self.gram = self.fine  # float32 is not exact enough for this tolerance
                believed = worst if worst > tol else math.inf
            if worst <= tol:
                return Status.CONVERGED
            moved = self.step(self.choose(), tol)
            refreshed = False
            worst = self.record()
            if not moved or (self.unbounded and self.infeasible()):
                self.refresh()
                return Status.STALLED
            if self.answer or self.ask():
                self.refresh()
                return self.answer if isinstance(self.answer, Status) else Status.STOPPED
        self.refresh()
        return Status.CONVERGED if self.violation() <= tol else Status.MAX_ITER

    def infeasible(self) -> bool:
        """Return whether unbounded coefficients say that no function has a margin to speak of.

        Any f with margin 1 has gain <= <f_now, f> <= |f_now| |f|, so that the margin of the unit ball is at most
        |f_now| / gain.
        """
        gain, squared = self.evidence()
        return max(squared, 0.0) <= (_NARROW * gain) ** 2 * self.largest

    def choose(self) -> Indices:
        """Return the working set: the most violating variables, then the free ones, each by violation."""
        size = min(self.order, len(self.v))
        order = np.argsort(-self.v, kind="stable")
        top = order[: max(1, size // 2)]
        top = top[self.v[top] > 0.0]
        rest = order[len(top) :]
        rest = rest[self.free[rest]][: size - len(top)]
        return np.sort(np.concatenate([top, rest]))

    def descend(self, index: Indices, tol: float, some: Callable[[float], int]) -> None:
        """Call a compiled loop, which is given the violation to reach, until it is done or the monitor stops it.

        Between two calls Python looks for Ctrl-C, and the monitor at the clock.
        """
        enough = max(_EASED * float(self.v[index].max()), 0.5 * tol)
        for _ in range(1 if self.unbounded else _CALLS):
            if some(enough) > 0 or self.ask():
                break

    def polish(self) -> None:
        """Newton steps on what is free, and descent for what becomes free, down to rounding."""
        self.gram = self.fine
        best, since = math.inf, 0
        for _ in range(_ROUNDS):
            enough = _EXACT * max(1.0, self.steepest())
            if self.violation() <= enough or since >= 4 or not self.newton():
                break
            if self.violation() > enough:
                self.step(self.choose(), enough)
            since = 0 if self.violation() < 0.5 * best else since + 1
            best = min(best, self.violation())
            if self.answer or self.ask():
                break
        self.refresh()
        self.record()

"""How an optimum is reached: base class of solvers, and what those of linear systems share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Resources
from mercer.errors import CapabilityError
from mercer.problems import Solution, Status
from mercer.runtime.tiling import raising_interrupts
from mercer.spec import Spec

__all__ = ["Columns", "Monitor", "Solver", "Watch", "largest_order", "largest_ratio", "lengths", "resources_of"]
__public__ = ["Solver"]

_CAPABILITIES = ("rows", "factor", "eigh", "to_dense")  # what a Gram may offer besides products


class Monitor(Protocol):
    """Called between iterations: the place for progress, time limits and Ctrl-C."""

    def __call__(self, iteration: int, residual: float) -> bool | Status:
        """Whether to stop; a Status, such as Status.TIME, stops too and becomes that of the solution."""
        ...


class Watch:
    """The end of each iteration: it is recorded, the monitor is called, and the end of the run is decided.

    Parameters
    ----------
    tol : float
        A residual that is small enough.
    monitor : Monitor, optional

    Attributes
    ----------
    status : Status
        Why it ended; that of too many iterations until it has.
    rows : list
        Value, residual and zero, iteration by iteration.
    """

    def __init__(self, tol: float, monitor: Callable[[int, float], Any] | None = None) -> None:
        self.tol, self.monitor = tol, monitor
        self.status, self.rows = Status.MAX_ITER, []

    def ends(self, iteration: int, value: float, residual: float) -> bool:
        """Record an iteration and tell the monitor, whose true answer ends what has not converged."""
        self.rows.append((value, residual, 0.0))
        stop = self.monitor(iteration, residual) if self.monitor is not None else False
        if residual <= self.tol:
            self.status = Status.CONVERGED
        elif stop:
            self.status = stop if isinstance(stop, Status) else Status.STOPPED
        return self.status is not Status.MAX_ITER


class Solver(Spec, ABC):
    """Options in the constructor, one method, no state.

    A subclass declares which problem it solves, which capabilities of a Gram it calls (as protocols that can
    be tested by ``isinstance``), and what to use instead where they are missing.

    Attributes
    ----------
    solves : type
        Class of problems, such as LinearSystem.
    needs : tuple of protocols
        Capabilities of ``problem.gram``.
    remedy : str
        A sentence: what to use where a capability is missing.
    """

    solves: ClassVar[type]
    needs: ClassVar[tuple[type, ...]] = ()
    remedy: ClassVar[str] = ""

    def solve(self, problem: Any, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        """Solution of a problem.

        Parameters
        ----------
        problem : object
            A problem of the class ``solves``.
        start : (n,) or (n, k) array, optional
            Coefficients near the solution; a direct solver does not look at them.
        monitor : callable, optional
            Called as ``monitor(iteration, residual)`` after each iteration; a true answer ends the run with
            the best solution so far. A direct solver has no iterations and never calls it.

        Returns
        -------
        solution : Solution
            With a status: that a tolerance was not reached is reported there, not raised.
        """
        self.check_capabilities(problem)
        # where numbers leave their range, the solution says so; no Ctrl-C is lost
        with raising_interrupts(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._solve(problem, start, monitor)

    @abstractmethod
    def _solve(self, problem: Any, start: Floats | None, monitor: Monitor | None) -> Solution:
        """Solve a problem that this solver is known to accept: what a subclass writes."""

    def check_capabilities(self, problem: Any) -> None:
        """Raise unless the options are acceptable and this solver works on the problem and its Gram."""
        self.check()
        name = type(self).__name__
        if not isinstance(problem, self.solves):
            raise CapabilityError(
                f"{name} was given a {type(problem).__name__}; it solves problems of the class "
                f"{self.solves.__name__}. Leave out solver=, which chooses one for a {type(problem).__name__}."
            )
        gram = problem.gram
        for need in self.needs:
            if not isinstance(gram, need):
                protocol = getattr(need, "_is_protocol", False)  # of a class only what all Grams offer is named
                called = [call for call in (vars(need) if protocol else _CAPABILITIES) if call in dir(need)]
                called = [call for call in called if not call.startswith("_")]
                offered = [call for call in _CAPABILITIES if hasattr(gram, call)]
                raise CapabilityError(
                    f"{name} needs {' and '.join(f'Gram.{call}' for call in called) or need.__name__}; "
                    f"{type(gram).__name__} offers "
                    f"{', '.join(['products', *offered]) if offered else 'only products'}. {self.remedy}"
                )


@dataclass(frozen=True, eq=False)
class Columns:
    """Right-hand sides as columns of moderate size.

    Lengths of vectors are sums of squares, which overflow or vanish long before the numbers do. Each column
    is divided by the power of two at its largest entry, which changes no digit, and solutions are multiplied
    by it again.

    Attributes
    ----------
    values : (n, k) array, float64
        The largest entry of each column is between 1 and 2, or the column is zero.
    scale : (k,) array
        Powers of two.
    flat : bool
        Whether one right-hand side was given as a vector.

    Examples
    --------
    >>> columns = Columns.of(np.array([6e200, 1e200]))
    >>> columns.values.max() < 2.0
    np.True_
    >>> columns.restore(columns.values)
    array([6.e+200, 1.e+200])
    """

    values: Floats
    scale: Floats
    flat: bool

    @classmethod
    def of(cls, rhs: Floats) -> Columns:
        """Columns of an array (n,) or (n, k)."""
        rhs = np.asarray(rhs, dtype=np.float64)
        table = rhs[:, None] if rhs.ndim == 1 else rhs
        largest = np.abs(table).max(axis=0, initial=0.0)
        scale = np.where(largest > 0.0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)
        return cls(table / scale, scale, rhs.ndim == 1)

    def like(self, X: Floats) -> Floats:
        """Columns (n, k) of X, given in the shape and size of the right-hand sides."""
        return np.asarray(X, dtype=np.float64).reshape(len(X), -1) / self.scale

    def restore(self, X: Floats) -> Floats:
        """X (any, k) in the shape and size of the right-hand sides."""
        X = X * self.scale
        return X[:, 0] if self.flat else X

    def residual(self, left: Floats) -> float:
        """Largest ratio over the columns of what is left, (n, k), to the right-hand sides, by length."""
        return largest_ratio(left, self.values)

    def objective(self, coef: Floats, left: Floats) -> float:
        """Value 1/2 a^T G a - y^T a at columns a of which y - G a is left, summed over the columns."""
        each = -0.5 * np.einsum("ij,ij->j", coef, self.values + left)
        with np.errstate(over="ignore"):  # of numbers near the largest there are, the squares are infinite
            return float(np.sum(each * self.scale * self.scale))


def lengths(columns: Floats) -> Floats:
    """Euclidean lengths of columns (n, k), (k,); 1 for a column of zeros, so that one may divide by them."""
    found = _norms(columns)
    return np.where(found > 0.0, found, 1.0)


def _norms(columns: Floats) -> Floats:
    return np.sqrt(np.add.reduce(columns * columns, axis=0))  # what np.linalg.norm does, in a third of the time


def largest_ratio(left: Floats, rhs: Floats) -> float:
    """Largest ratio of the lengths of the columns of two arrays (n, k)."""
    return float((_norms(left) / lengths(rhs)).max(initial=0.0))


def largest_order(gram: Any, most: int) -> int:
    """Return how large a block of K a solver may work on, at most `most`: by the budget and by what the Gram allows.

    Examples
    --------
    >>> from mercer.gram import Tiles
    >>> from mercer.kernels import Gaussian
    >>> largest_order(Tiles(memory="8MB").build(Gaussian(1.0), [[0.0], [1.0]]), 3000)
    1000
    """
    order, below = resources_of(gram).largest_order(most), gram
    while below is not None:  # what is above a Gram has its blocks from there
        if isinstance(allowed := getattr(below, "memory", None), int):
            order = min(order, max(2, math.isqrt(allowed // 8)))
        below = getattr(below, "gram", None)
    return order


def resources_of(gram: Any) -> Resources:
    """Return what a Gram may use; arrays and the like know of no budget."""
    return getattr(gram, "resources", UNLIMITED)

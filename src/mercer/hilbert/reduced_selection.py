"""Reduced sets by selection: some of the kernels of a function span an approximation of it.

Symbols: f = sum_i alpha_i k(x_i, .) the function, alpha (n, L) for L outputs; e_1, ..., e_m an orthonormal basis of the
span of the kernels chosen, with values ``rows`` (m, n) at the x_i; g the projection of f on it; R = f - g at the x_i.

A kernel's part that is orthogonal to those chosen has the squared norm ``rest``, and its inner product with f is the
value of R there. So the decrease of ||f - g||^2 by each candidate is R^2 / rest, without an n x n matrix: a step costs
one row of kernel values and O(n m) more, that of a Cholesky factor that grows by a row.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats, Indices
from mercer.budget import Clock, Plan
from mercer.gram import HasRows
from mercer.problems import Status
from mercer.runtime.tiling import Monitor

__all__ = ["Selection", "Watch"]

_DEPENDENT = 1e-12  # of k(x, x): a kernel of which less is outside the span is in it, but for rounding
_ROUNDING = 4.0 * float(np.finfo(float).eps)  # of sums of products
_FIRST = 64  # rows of the basis at first, where their number is not known


class Watch:
    """Time and progress of a reduction.

    Parameters
    ----------
    max_time : float or None
        In seconds.
    monitor : callable or None
        Called with the fraction done; a true answer stops.
    """

    def __init__(self, max_time: float | None = None, monitor: Monitor | None = None) -> None:
        self.clock = Clock.start(max_time)
        self.monitor = monitor
        self.done = 0.0

    def __call__(self, fraction: float) -> Status | None:
        """Return why to stop now, or None."""
        self.done = max(self.done, min(fraction, 1.0))  # what is done stays done
        if self.clock.expired:
            return Status.TIME
        return Status.STOPPED if self.monitor is not None and self.monitor(self.done) else None

    def interrupts(self, fraction: float) -> bool:
        """Return whether to abandon a product with a kernel matrix: time is up."""
        return self.clock.expired


class Selection:
    """The greedy choice of kernels, one at a time, each the one that brings g nearest to f.

    Parameters
    ----------
    gram : Gram with rows
        Of the x_i.
    coef : (n, L) array
        alpha.
    values : (n, L) array
        f at the x_i, K alpha.
    given : pair of arrays (q, n) and (q, L), optional
        Values at the x_i of an existing orthonormal basis, and the coefficients of f in it.
    memory : int, str or None
        Budget.
    """

    def __init__(
        self,
        gram: HasRows,
        coef: Floats,
        values: Floats,
        given: tuple[Floats, Floats] | None = None,
        memory: int | float | str | None = None,
    ) -> None:
        self.gram, self.coef, self.memory = gram, coef, memory
        self.diag = np.asarray(gram.diag(), dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
        self.sizes = np.einsum("ij,ij->i", np.abs(coef), np.abs(values))  # of the terms of <f, f>
        self.R, self.rest = np.array(values, dtype=float), self.diag.copy()
        self.rows = np.empty((0, len(coef)))
        self.given = self.count = 0
        self.parts: list[Floats] = []
        self.pivots: list[int] = []
        if given is not None:
            span, parts = given
            self.rows, self.given, self.count = span, len(span), len(span)
            self.parts = list(parts)
            self.R -= span.T @ parts
            self.rest = np.maximum(self.rest - np.einsum("ij,ij->j", span, span), 0.0)

    @property
    def left(self) -> float:
        """||f - g||^2 = <f, f - g>; not less than its rounding, and exactly 0 where nothing is left at any sample."""
        rounding = _ROUNDING * float(np.linalg.norm(self.sizes[self.rest > 0.0]))
        return max(float(np.vdot(self.coef, self.R)), rounding)

    def reserve(self, count: int) -> None:
        """Make room for this many rows of the basis, if the memory budget allows it."""
        n = len(self.coef)
        if count <= len(self.rows):
            return
        Plan(
            f"a reduced set of {count} of {n} kernels",
            {"orthonormal basis": 8 * count * n, "values": 24 * self.coef.size},
            ("a smaller size", "a larger tol"),
        ).require(self.memory)
        rows = np.empty((count, n))
        rows[: self.count] = self.rows[: self.count]
        self.rows = rows

    def step(self) -> bool:
        """Choose one more kernel; false if all that remain are in the span of those chosen, to working precision."""
        open_to_choice = self.rest > _DEPENDENT * self.diag
        gain = np.einsum("ij,ij->i", self.R, self.R)
        score = np.divide(gain, self.rest, out=np.full(len(gain), -1.0), where=open_to_choice)
        p = int(np.argmax(score))
        if not score[p] > 0.0:
            return False
        if self.count == len(self.rows):
            self.reserve(min(len(self.coef) + self.given, max(_FIRST, 2 * self.count)))
        m, length = self.count, float(np.sqrt(self.rest[p]))
        new = np.asarray(self.gram.rows(np.array([p]))[0], dtype=float) - self.rows[:m, p] @ self.rows[:m]
        new /= length
        new[self.pivots] = 0.0  # exactly: those kernels are in the span
        part = self.R[p] / length
        self.R -= new[:, None] * part
        self.rest -= new * new
        np.maximum(self.rest, 0.0, out=self.rest)
        self.rows[m] = new
        self.R[p] = self.rest[p] = 0.0
        self.parts.append(part)
        self.pivots.append(p)
        self.count += 1
        return True

    def run(self, size: int, tol: float, watch: Watch) -> Status:
        """Choose kernels until there are `size`, or until ||f - g|| is at most tol ||f||."""
        norm = np.sqrt(self.left + sum(float(part @ part) for part in self.parts))
        while True:
            error = np.sqrt(self.left)
            if error <= tol * norm or self.count >= size:
                return Status.CONVERGED
            if (reason := watch(self.count / size)) is not None:
                return reason
            if not self.step():
                return Status.STALLED

    def errors(self) -> Floats:
        """||f - g|| by the number of kernels, from none: sums of squares that only ever fall."""
        squares = [float(part @ part) for part in self.parts]
        return np.sqrt(self.left + np.append(np.cumsum(squares[::-1])[::-1], 0.0))

    def solution(self) -> tuple[Indices, Floats]:
        """Places of the kernels chosen and the coefficients of g in them, (m, L), [HSS] Eq. (55)."""
        pivots = np.array(self.pivots, dtype=np.intp)
        upper = self.rows[: self.count, pivots]
        return pivots, solve_triangular(upper, np.reshape(self.parts, (self.count, self.coef.shape[1])), lower=False)

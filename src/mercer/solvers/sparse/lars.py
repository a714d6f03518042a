"""The whole path of the lasso, exactly: least angle regression with drops.

Symbols: A the design, z the target, S the active columns with signs s, b(alpha) the coefficients, c = A^T (z - A b).
Between two knots b_S(alpha) = G_SS^-1 (A_S^T z - alpha s) is linear in alpha.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Bools, Floats, Indices
from mercer.constraints import Integer, Optional
from mercer.problems import Solution, Status, Trace
from mercer.solvers.solver import Monitor, Solver
from mercer.solvers.sparse.design import PenalisedLeastSquares

__all__ = ["LeastAngle", "Knots"]
__public__ = ["LeastAngle"]

_DEPENDENT = 1e-10  # length outside the span of the active columns, over the whole: below it is rounding
_SAME = 1e-12  # relative difference of two alphas that are the same


@dataclass(frozen=True, eq=False)
class Knots:
    """A piecewise linear path: coefficients at the alphas where a column joins or leaves.

    Attributes
    ----------
    alphas : (t,) array
        From the largest, at which the first column joins, down to the last that was asked for.
    coefs : (t, D) array
        Coefficients at the knots; linear in between.
    steps : tuple of (int, str, int)
        What happened, in order: the number of the knot, "join" or "leave", and the column.

    Examples
    --------
    >>> path = Knots(np.array([2.0, 0.0]), np.array([[0.0], [2.0]]), ((0, "join", 0),))
    >>> path.at(0.5)
    array([1.5])
    """

    alphas: Floats
    coefs: Floats
    steps: tuple[tuple[int, str, int], ...]

    def at(self, alpha: float) -> Floats:
        """Coefficients at an alpha: zero above the first knot, those of the last below it."""
        if alpha >= self.alphas[0]:
            return np.zeros(self.coefs.shape[1])
        place = int(np.searchsorted(-self.alphas, -alpha, side="left"))
        if place >= len(self.alphas):
            return self.coefs[-1].copy()
        high, low = self.alphas[place - 1], self.alphas[place]
        share = (high - alpha) / (high - low) if high > low else 1.0
        return (1.0 - share) * self.coefs[place - 1] + share * self.coefs[place]


class LeastAngle(Solver):
    r"""Least angle regression: the lasso for all alphas, from knot to knot.

    .. math:: b_S(\alpha) = (A_S^\top A_S)^{-1} (A_S^\top z - \alpha s), \qquad |c_j(\alpha)| \le \alpha

    Seed: [KIKS] Section 4.1.3 (the path is piecewise linear in lambda).

    Parameters
    ----------
    max_iter : int, optional
        Most knots; None allows eight for each of the most columns that can be active, at least 500.

    Notes
    -----
    Solves PenalisedLeastSquares from its largest alpha down to its own; ``state`` of the solution is the path as
    `Knots`. Correlations and coefficients are recomputed at each knot, so that errors do not add up along the path.
    A column that depends linearly on the active ones stays out until one of them leaves. Cost of a knot O(nD) and
    O(na) for a active columns, O(na^2) where one leaves.

    Examples
    --------
    >>> from mercer.solvers.sparse.design import design_of
    >>> A = design_of(np.eye(2), np.ones(2), False)
    >>> solution = LeastAngle().solve(PenalisedLeastSquares(A, np.array([3.0, 1.0]), alpha=0.0))
    >>> solution.coef, solution.state.alphas
    (array([3., 1.]), array([3., 1., 0.]))
    """

    constraints = {"max_iter": Optional(Integer(1))}
    solves = PenalisedLeastSquares

    def __init__(self, max_iter: int | None = None) -> None:
        self.max_iter = max_iter

    def _solve(
        self, problem: PenalisedLeastSquares, start: Floats | None = None, monitor: Monitor | None = None
    ) -> Solution:
        walk = _Walk(problem)
        n, D = problem.design.shape
        status = walk.go(max(8 * min(n, D), 500) if self.max_iter is None else self.max_iter, monitor)
        b = walk.coefs[-1]
        r = problem.left(b)
        unit = 0.5 * float(problem.target @ problem.target) or 1.0
        c = problem.design.correlations(r)
        gap = problem.gap(b, r, c)
        path = Knots(np.array(walk.alphas), np.array(walk.coefs), tuple(walk.steps))
        # at alpha = 0 no multiple of r but zero is a point of the dual: the gap says nothing, the gradient all
        residual = gap / unit if problem.alpha > 0.0 else problem.violation(b, c) / (walk.alphas[0] or 1.0)
        return Solution(b.copy(), status, residual, gap=gap, trace=Trace.of(walk.rows), state=path)


class _Walk:
    """The active set, its factors Q and R, and the path so far."""

    def __init__(self, problem: PenalisedLeastSquares) -> None:
        self.problem, self.design = problem, problem.design
        self.start = self.design.correlations(problem.target)  # A^T z
        D = len(self.start)
        self.lengths = self.design.squares()
        self.active: list[int] = []
        self.Q, self.R = np.zeros((len(problem.target), 0)), np.zeros((0, 0))
        self.signs = np.zeros(D)
        self.barred = self.lengths <= 0.0  # columns that cannot join
        self.alpha = float(np.max(np.abs(self.start), initial=0.0))
        self.alphas: list[float] = [self.alpha]
        self.coefs: list[Floats] = [np.zeros(D)]
        self.steps: list[tuple[int, str, int]] = []
        self.rows: list[tuple[float, float, float]] = []
        self.began = time.perf_counter()

    def go(self, limit: int, monitor: Monitor | None) -> Status:
        """Walk from knot to knot down to the alpha of the problem; how it ended."""
        goal = self.problem.alpha
        if self.alpha <= goal or self.alpha == 0.0:
            return Status.CONVERGED
        b, c = self.coefs[-1], self.start
        top, just_left = self.alpha, -1
        for iteration in range(limit):
            if not self._join(c, just_left):
                return self._end(goal)
            direction = self._direction()
            a = self.design.correlations(self.design.product(direction))
            alpha, leaving = self._next(b, c, a, direction, goal, just_left)
            if leaving is not None:
                self._leave(leaving)  # first: what rounding leaves of its coefficient would be felt by its neighbours
            just_left = -1 if leaving is None else leaving
            b, c = self._place(alpha)
            self.alpha = alpha
            r_size = 0.5 * float(self.problem.target @ self.problem.target - b @ (self.start + c))
            self.rows.append((r_size + alpha * float(np.abs(b).sum()), alpha / top, time.perf_counter() - self.began))
            self.alphas.append(alpha)
            self.coefs.append(b)
            if alpha <= goal:
                return Status.CONVERGED
            if monitor is not None and (answer := monitor(iteration, (alpha - goal) / top)):
                return answer if isinstance(answer, Status) else Status.STOPPED
        return Status.MAX_ITER

    def _end(self, goal: float) -> Status:
        """Go to the end where no column is active, as when all of them are barred."""
        self.alphas.append(goal)
        self.coefs.append(np.zeros_like(self.coefs[-1]))
        return Status.CONVERGED

    def _join(self, c: Floats, just_left: int) -> bool:
        """Let the columns at the present alpha join; whether any column is active."""
        reached = np.abs(c) >= self.alpha * (1.0 - _SAME)
        reached[self.active] = False
        reached &= ~self.barred
        if just_left >= 0:
            reached[just_left] = False
        order = np.flatnonzero(reached)
        for j in order[np.argsort(-np.abs(c[order]), kind="stable")]:
            if self._append(int(j)):
                self.signs[j] = np.sign(c[j])
                self.steps.append((len(self.alphas) - 1, "join", int(j)))
        return bool(self.active)

    def _append(self, j: int) -> bool:
        """Add a column to the factor A_S = Q R by Gram and Schmidt, twice, unless it depends on the active ones."""
        unit = np.zeros(len(self.signs))
        unit[j] = 1.0
        rest = self.design.product(unit)
        size, length = len(self.active), np.sqrt(self.lengths[j])
        Q = self.Q[:, :size]
        h = Q.T @ rest
        rest -= Q @ h
        again = Q.T @ rest
        rest -= Q @ again
        left = float(np.linalg.norm(rest))
        if left <= _DEPENDENT * length:
            self.barred[j] = True
            return False
        if size == self.Q.shape[1]:
            self.Q = np.hstack([self.Q, np.empty((len(rest), max(8, size)))])
            self.R = np.pad(self.R, (0, self.Q.shape[1] - size))
        self.Q[:, size] = rest / left
        self.R[:size, size], self.R[size, size] = h + again, left
        self.active.append(j)
        return True

    def _leave(self, j: int) -> None:
        """Take a column out; those that depended on it may join again."""
        place = self.active.index(j)
        later = self.active[place + 1 :]
        self.active = self.active[:place]
        self.signs[j] = 0.0
        self.barred = self.lengths <= 0.0
        self.steps.append((len(self.alphas), "leave", j))
        for other in later:
            if not self._append(other):
                self.signs[other] = 0.0
        self.barred[self.active] = False

    def _solved(self, rhs: Floats) -> Floats:
        """Solution x of R^T R x = rhs, which is G_SS x = rhs."""
        R = self.R[: len(self.active), : len(self.active)]
        return solve_triangular(R, solve_triangular(R, rhs, trans=1))

    def _direction(self) -> Floats:
        """How the coefficients grow while alpha falls, shape (D,)."""
        found = np.zeros_like(self.signs)
        found[self.active] = self._solved(self.signs[self.active])
        return found

    def _next(
        self, b: Floats, c: Floats, a: Floats, direction: Floats, goal: float, just_left: int
    ) -> tuple[float, int | None]:
        """Return the next alpha at which a column joins or leaves, and the one that leaves."""
        outside = ~self.barred
        outside[self.active] = False
        alpha = max(goal, self._first_join(np.where(outside, c, 0.0), a, just_left))
        S = np.array(self.active, dtype=np.intp)
        shrinking = S[direction[S] * self.signs[S] < 0.0]
        if len(shrinking):
            zeros = self.alpha + b[shrinking] / direction[shrinking]
            place = int(np.argmax(zeros))
            if zeros[place] > alpha:
                return min(float(zeros[place]), self.alpha), int(shrinking[place])
        return alpha, None

    def _first_join(self, c: Floats, a: Floats, just_left: int) -> float:
        """Largest alpha below the present one at which abs(c_j) = alpha; c falls by a for each unit of alpha."""
        base = c - self.alpha * a  # c_j(alpha') = base_j + alpha' a_j
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.stack([base / (1.0 - a), -base / (1.0 + a)])
        if just_left >= 0:  # it is at this bound now, and cannot come back to it on a straight line
            found[0 if c[just_left] > 0.0 else 1, just_left] = np.nan
        found = found[:, c != 0.0]
        found = found[np.isfinite(found) & (found < self.alpha * (1.0 - _SAME))]
        return float(np.max(found, initial=0.0))

    def _place(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients and correlations at an alpha on the present piece, with one step of refinement."""
        S: Indices = np.array(self.active, dtype=np.intp)
        b = np.zeros_like(self.signs)
        if not len(S):
            return b, self.start
        b[S] = self._solved(self.start[S] - alpha * self.signs[S])
        c = self.design.correlations(self.problem.left(b))
        b[S] += self._solved(c[S] - alpha * self.signs[S])
        wrong: Bools = b[S] * self.signs[S] < 0.0  # a zero crossing, up to rounding
        b[S[wrong]] = 0.0
        return b, self.design.correlations(self.problem.left(b))

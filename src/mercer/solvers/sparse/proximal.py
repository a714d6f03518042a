"""Penalties on groups of coefficients, nested or disjoint: proximal map, dual norm, and a solver with a duality gap.

Symbols: b the coefficients, g groups of them with weights omega_g, alpha the penalty, c = A^T (z - A b).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Interval
from mercer.errors import ParameterError
from mercer.problems import Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.solvers.solver import Monitor, Solver
from mercer.solvers.sparse.design import Design

__all__ = ["GroupedLeastSquares", "Groups", "ProximalGradient"]
__public__ = ["ProximalGradient"]

_LOOK = 20  # iterations between two looks at the gap
_MOST_ENTRIES = 2000  # columns up to which A^T A is formed
_NEWTON = 30  # steps of Newton's method between two looks


@dataclass(frozen=True, eq=False)
class Groups:
    r"""Groups of coefficients of which any two are disjoint or nested, children before parents.

    .. math:: \Omega(b) = \sum_g \omega_g \|b_g\|_2

    Disjoint groups are the group lasso; groups and their single members the sparse group lasso; a tree of groups the
    hierarchical penalty, with which a child is not zero only where its parent is not.

    Seed: [SS] Section 2.5.1, references [155], [62].

    Parameters
    ----------
    members : (total,) array of int
        Columns of all groups, one group after the other.
    offsets : (count + 1,) array of int
        Where each group begins.
    weights : (count,) array
        omega, not negative.
    D : int
        Number of columns.

    Examples
    --------
    >>> groups = Groups.of([[0, 1], [1]], [1.0, 1.0], 2)
    >>> groups.value(np.array([3.0, 4.0]))
    9.0
    >>> groups.shrunk(np.array([3.0, 0.5]), 1.0)  # the child is zero, then the parent is shrunk
    array([2., 0.])
    """

    members: Indices
    offsets: Indices
    weights: Floats
    D: int

    @classmethod
    def of(cls, groups: Sequence[Any], weights: Sequence[float] | Floats, D: int) -> Groups:
        """Sort groups, children before parents, and check that any two are disjoint or nested."""
        order = sorted(range(len(groups)), key=lambda g: len(groups[g]))
        owner = np.full(D, -1)  # the largest group so far that holds a column
        sizes: list[int] = []
        for place, g in enumerate(order):
            inside = np.asarray(groups[g], dtype=np.intp)
            for other in np.unique(owner[inside]):
                if other >= 0 and np.count_nonzero(owner[inside] == other) != np.count_nonzero(owner == other):
                    raise ParameterError(
                        f"The groups {sorted(np.asarray(groups[order[other]]).tolist())} and {sorted(inside.tolist())} "
                        "share some columns; any two groups must be disjoint or one inside the other. Split them, or "
                        "join them into one."
                    )
            owner[inside] = place
            sizes.append(len(inside))
        members = np.concatenate([np.asarray(groups[g], dtype=np.intp) for g in order])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        return cls(members, offsets, np.asarray(weights, dtype=np.float64)[order], D)

    def norms(self, b: Floats) -> Floats:
        """Length of b on each group."""
        return np.sqrt(np.add.reduceat(b[self.members] ** 2, self.offsets[:-1]))

    def value(self, b: Floats) -> float:
        """Omega(b)."""
        return float(self.weights @ self.norms(b))

    def shrunk(self, v: Floats, scale: float) -> Floats:
        r"""Proximal map: the minimum over b of :math:`\tfrac12 \|b - v\|^2 + s\,\Omega(b)`, exactly.

        Each group is shrunk in length by s omega_g, children before their parents.
        """
        out = np.array(v, dtype=np.float64)
        _shrink(out, self.members, self.offsets, scale * self.weights)
        return out

    def dual_norm(self, c: Floats) -> float:
        """Largest of <c, b> over Omega(b) <= 1: the smallest scale at which c is shrunk to zero."""
        low, high = 0.0, 1.0
        size = float(np.max(np.abs(c), initial=0.0))
        if size == 0.0:
            return 0.0
        c = c / size
        while self.shrunk(c, high).any():
            low, high = high, 2.0 * high
            if high > 1e300:
                return np.inf
        while high - low > 1e-15 * high:
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if self.shrunk(c, middle).any() else (low, middle)
        return size * high


@dataclass(frozen=True, eq=False)
class GroupedLeastSquares:
    r"""Least squares with a penalty on groups of coefficients, the intercept eliminated.

    .. math:: \min_b \; \tfrac12 \|z - A b\|^2 + \alpha\, \Omega(b)

    Seed: [SS] Section 2.5.1.

    Parameters
    ----------
    design : Design
        A.
    target : (n,) array
        z.
    alpha : float
    groups : Groups
    """

    design: Design
    target: Floats
    alpha: float
    groups: Groups

    @property
    def gram(self) -> Design:
        """The design, which is all that solvers multiply by."""
        return self.design

    def left(self, b: Floats) -> Floats:
        """The residual z - A b, shape (n,)."""
        return self.target - self.design.product(b)

    def objective(self, b: Floats, r: Floats) -> float:
        """The value of what is minimised."""
        return 0.5 * float(r @ r) + self.alpha * self.groups.value(b)

    def gap(self, b: Floats, r: Floats, c: Floats) -> float:
        """Duality gap at coefficients b that leave r, with c = A^T r."""
        length = float(r @ r)
        if length == 0.0:
            return self.alpha * self.groups.value(b)
        largest = self.groups.dual_norm(c)
        scale = float(self.target @ r) / length
        if largest > 0.0:
            scale = min(max(scale, -self.alpha / largest), self.alpha / largest)
        slack = self.alpha * self.groups.value(b) - scale * float(b @ c)
        return 0.5 * (1.0 - scale) ** 2 * length + max(slack, 0.0)


class ProximalGradient(Solver):
    r"""Accelerated proximal gradient with restarts, finished by Newton's method on what is not zero.

    .. math:: b \leftarrow \mathrm{prox}_{\alpha \Omega / L}\big(v + A^\top (z - A v) / L\big)

    Seed: no seed gives an algorithm; [SS] Section 2.5.1 names the penalties.

    Parameters
    ----------
    tol : float, default 1e-10
        Duality gap over the value of the objective at zero.
    max_iter : int, default 10000
        Proximal steps.

    Notes
    -----
    Solves GroupedLeastSquares. The momentum is dropped whenever it points uphill. Where the groups that are not zero
    are found, the objective is smooth in them, and Newton's method brings it to rounding. Cost of a step O(nD), or
    O(D^2) with A^T A, which is formed for up to 2000 columns and fewer columns than samples.

    Examples
    --------
    >>> from mercer.solvers.sparse.design import design_of
    >>> A, groups = design_of(np.eye(2), np.ones(2), False), Groups.of([[0, 1]], [1.0], 2)
    >>> ProximalGradient().solve(GroupedLeastSquares(A, np.array([3.0, 4.0]), 1.0, groups)).coef.round(6)
    array([2.4, 3.2])
    """

    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "max_iter": Integer(1)}
    solves = GroupedLeastSquares

    def __init__(self, tol: float = 1e-10, max_iter: int = 10_000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(
        self, problem: GroupedLeastSquares, start: Floats | None = None, monitor: Monitor | None = None
    ) -> Solution:
        began, rows = time.perf_counter(), []
        n, D = problem.design.shape
        unit = 0.5 * float(problem.target @ problem.target) or 1.0
        slope = _Slope(problem, min(n, _MOST_ENTRIES) >= D)
        b = np.zeros(D) if start is None else np.array(start, dtype=np.float64)
        best, status, done = (np.inf, b), Status.MAX_ITER, 0
        state = b.copy(), 1.0
        while True:
            r = problem.left(b)
            gap = problem.gap(b, r, problem.design.correlations(r))
            if gap > self.tol * unit and done:
                polished = _newton(problem, slope, b)
                left = problem.left(polished)
                better = problem.gap(polished, left, problem.design.correlations(left))
                if better < gap:
                    b, r, gap, state = polished, left, better, (polished.copy(), 1.0)
            best = min(best, (gap, b), key=lambda pair: pair[0])
            rows.append((problem.objective(b, r), gap / unit, time.perf_counter() - began))
            if gap <= self.tol * unit:
                status = Status.CONVERGED
                break
            if monitor is not None and (answer := monitor(done, gap / unit)):
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
            if done >= self.max_iter:
                break
            steps = min(_LOOK, self.max_iter - done)
            b, state = _accelerated(problem, slope, b, state, steps)
            done += steps
        return Solution(best[1], status, best[0] / unit, gap=best[0], trace=Trace.of(rows), state=done)


class _Slope:
    """A^T (z - A v), through A^T A where that is smaller, and a bound on its change."""

    def __init__(self, problem: GroupedLeastSquares, formed: bool) -> None:
        self.problem, D = problem, problem.design.shape[1]
        every = np.arange(D)
        self.G = problem.design.normal(every, every) if formed else None
        self.moment = problem.design.correlations(problem.target)
        v = np.cos(np.arange(D) * 1.7) + 1.1  # any vector that is not an eigenvector
        size = 0.0
        for _ in range(30):
            size = float(np.linalg.norm(v))
            if size == 0.0:
                break
            v = self.product(v / size)
        self.bound = 1.02 * size or 1.0

    def product(self, v: Floats) -> Floats:
        design = self.problem.design
        return self.G @ v if self.G is not None else design.correlations(design.product(v))

    def __call__(self, v: Floats) -> Floats:
        return self.moment - self.product(v)


def _accelerated(
    problem: GroupedLeastSquares, slope: _Slope, b: Floats, state: tuple[Floats, float], steps: int
) -> tuple[Floats, tuple[Floats, float]]:
    """Make proximal steps with momentum; the extrapolated point and its weight go on to the next call."""
    v, t = state
    for _ in range(steps):
        down = slope(v)
        while True:
            new = problem.groups.shrunk(v + down / slope.bound, problem.alpha / slope.bound)
            move = new - v
            if float(move @ slope.product(move)) <= slope.bound * float(move @ move) * (1.0 + 1e-9):
                break
            slope.bound *= 1.5  # the power method has not found the largest eigenvalue
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        if float((v - new) @ (new - b)) > 0.0:  # uphill: restart from here
            v, t = new, 1.0
        else:
            v, t = new + (t - 1.0) / following * (new - b), following
        b = new
    return b, (v, t)


def _newton(problem: GroupedLeastSquares, slope: _Slope, b: Floats) -> Floats:
    """Return b after Newton's method on the coefficients that are not zero, where the objective is smooth."""
    used = np.flatnonzero(b)
    if not len(used) or len(used) > _MOST_ENTRIES:
        return b
    groups, design, alpha = problem.groups, problem.design, problem.alpha
    inner = slope.G[np.ix_(used, used)] if slope.G is not None else design.normal(used, used)
    place = np.full(groups.D, -1)
    place[used] = np.arange(len(used))
    parts = [place[groups.members[a:e]] for a, e in zip(groups.offsets[:-1], groups.offsets[1:], strict=True)]
    live = [(part[part >= 0], alpha * w) for part, w in zip(parts, groups.weights, strict=True) if (part >= 0).any()]
    x = b[used].copy()
    for _ in range(_NEWTON):
        full = np.zeros_like(b)
        full[used] = x
        gradient, H = -slope(full)[used], inner.copy()
        for part, weight in live:
            length = float(np.linalg.norm(x[part]))
            if length == 0.0:
                return b
            unit = x[part] / length
            gradient[part] += weight * unit
            H[np.ix_(part, part)] += weight / length * (np.eye(len(part)) - np.outer(unit, unit))
        try:
            step = np.linalg.solve(H, -gradient)
        except np.linalg.LinAlgError:
            return full
        if not np.isfinite(step).all():
            return full
        x = x + min(1.0, 0.9 / max(float(np.max(np.abs(step / x))), 1e-300)) * step  # no sign is crossed
        if np.linalg.norm(step) <= 1e-14 * np.linalg.norm(x):
            break
    full = np.zeros_like(b)
    full[used] = x
    return full


@compiled
def _shrink(v, members, offsets, thresholds):
    """Shorten v on each group by its threshold, in the order of the groups."""
    for g in range(len(thresholds)):
        total = 0.0
        for k in range(offsets[g], offsets[g + 1]):
            total += v[members[k]] * v[members[k]]
        length = np.sqrt(total)
        factor = 1.0 - thresholds[g] / length if length > thresholds[g] else 0.0
        for k in range(offsets[g], offsets[g + 1]):
            v[members[k]] = v[members[k]] * factor if factor > 0.0 else 0.0

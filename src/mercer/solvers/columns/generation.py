r"""Column generation: a linear program over all weak learners, of which only the ones that matter are ever made.

Symbols: h the weak learners, H their values at the samples, closed under negation; a >= 0 their weights; xi the slacks;
w_i the sample weights, W their sum; u the dual variables, r_i the signed weights of samples for which the best weak
learner, the one of the largest edge sum_i r_i h(x_i), is looked for.

With D = 1 / (nu W) and m_i = y_i sum_h a_h h(x_i), the programs and their duals are

    margin   max rho - D sum w_i xi_i, m_i >= rho - xi_i, sum a = 1   min beta, edges <= beta, sum u = 1, 0 <= u <= D w
    penalty  min sum a + C sum w_i xi_i, m_i >= 1 - xi_i              max sum u, edges <= 1, 0 <= u <= C w
    tube     min sum a + C sum w_i (|y_i - f(x_i)| - eps)_+           max y'r - eps |r|_1, edges <= 1, |r| <= C w

Every weight vector a gives a value of the first, and every u one of the second that bounds it: their difference is what
further columns can gain at most.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Status, Trace
from mercer.runtime.tiling import in_background
from mercer.solvers.columns.boxed_program import BoxedProgram, follow_path
from mercer.solvers.columns.vertices import Vertices
from mercer.solvers.solver import Monitor

__all__ = ["Candidates", "Form", "Generated", "Margin", "Penalty", "Tube", "generate"]

_SHARE = 0.2  # of the gap: accuracy of the restricted programs
_FINEST = 1e-13
_NEW = 1e-12  # of the level: an edge above it by less is one that is there


class Candidates(NamedTuple):
    """Weak learners of large edges.

    Attributes
    ----------
    edges : (k,) array
        The largest first; the first is the largest of all weak learners.
    values : (k, n) array
        At the samples.
    marks : sequence
        What each of them is, for whoever looks for them.
    """

    edges: Floats
    values: Floats
    marks: Any


class Form(ABC):
    """A program, written for minimisation."""

    @abstractmethod
    def start(self) -> Floats:
        """Return the dual variables to begin with, (N,)."""

    @abstractmethod
    def signed(self, u: Floats) -> Floats:
        """Return the signed weights r of the samples, (n,)."""

    @abstractmethod
    def row(self, H: Floats) -> Floats:
        """Return the rows (k, N) of weak learners with values (k, n)."""

    @abstractmethod
    def program(self, rows: Floats) -> BoxedProgram:
        """Return the dual, restricted to some weak learners."""

    @abstractmethod
    def primal(self, a: Floats, H: Floats, multipliers: Floats) -> tuple[float, Floats]:
        """Return the objective of weights a, and the bias and tube that go with them."""

    @abstractmethod
    def dual(self, u: Floats, edge: float) -> float:
        """Return the bound that u gives where no edge is larger."""

    def feasible(self, u: Floats, edge: float) -> Floats:
        """Return u scaled so that it obeys all weak learners, the largest edge being this."""
        return u / max(1.0, edge)

    @abstractmethod
    def level(self, free: Floats) -> float:
        """Return the edge above which a weak learner is worth adding."""

    def normal(self, a: Floats) -> Floats:
        """Return weights that obey the constraint on their sum."""
        return a

    def extra(self) -> int:
        """Return how many rows of the program belong to no weak learner; they come first."""
        return 0

    def unit(self, objective: float) -> float:
        """Return what the tolerance is relative to."""
        return abs(objective)


class Margin(Form):
    """Two classes, y = -1 and 1: the largest soft margin of weights that sum to one.

    Parameters
    ----------
    y, w : (n,) arrays
    nu : float
        Share of the weight that may violate the margin.
    reach : float
        The largest value of a weak learner: the unit of margins.
    """

    def __init__(self, y: Floats, w: Floats, nu: float, reach: float = 1.0) -> None:
        self.y, self.w, self.reach = y, w, reach
        self.upper = w / (nu * w.sum())

    def start(self) -> Floats:
        return self.w / self.w.sum()

    def signed(self, u: Floats) -> Floats:
        return self.y * (u / u.sum())

    def row(self, H: Floats) -> Floats:
        return H * self.y

    def program(self, rows: Floats) -> BoxedProgram:
        J, n = rows.shape
        zeros = np.zeros(n)
        return BoxedProgram(
            zeros, self.upper, rows, np.zeros(J), -np.ones((J, 1)), np.ones(1), np.ones((1, n)), np.ones(1)
        )

    def normal(self, a: Floats) -> Floats:
        return a / a.sum()

    def primal(self, a: Floats, H: Floats, multipliers: Floats) -> tuple[float, Floats]:
        """Return minus the mean of the margins in the worst share nu, and the quantile rho at its end."""
        margins = self.y * (a @ H)
        order = np.argsort(margins, kind="stable")
        mass = np.cumsum(self.upper[order])
        last = min(int(np.searchsorted(mass, 1.0 - 1e-12)), len(order) - 1)
        rho = float(margins[order[last]])
        worst = order[:last]
        return -(rho - float(self.upper[worst] @ (rho - margins[worst]))), np.array([rho])

    def dual(self, u: Floats, edge: float) -> float:
        return -edge

    def feasible(self, u: Floats, edge: float) -> Floats:
        return u / u.sum()

    def level(self, free: Floats) -> float:
        return float(free[0])

    def unit(self, objective: float) -> float:
        return self.reach


class Penalty(Form):
    """Two classes, y = -1 and 1: the sum of the weights and C times that of the slacks of margin 1."""

    def __init__(self, y: Floats, w: Floats, C: float) -> None:
        self.y, self.upper = y, C * w

    def start(self) -> Floats:
        return self.upper.copy()

    def signed(self, u: Floats) -> Floats:
        return self.y * u

    def row(self, H: Floats) -> Floats:
        return H * self.y

    def program(self, rows: Floats) -> BoxedProgram:
        J, n = rows.shape
        free, equal = np.zeros((J, 0)), np.zeros((0, n))
        return BoxedProgram(-np.ones(n), self.upper, rows, np.ones(J), free, np.zeros(0), equal, np.zeros(0))

    def primal(self, a: Floats, H: Floats, multipliers: Floats) -> tuple[float, Floats]:
        margins = self.y * (a @ H)
        return float(a.sum() + self.upper @ np.maximum(1.0 - margins, 0.0)), np.ones(1)

    def dual(self, u: Floats, edge: float) -> float:
        return float(u.sum()) / max(1.0, edge)

    def level(self, free: Floats) -> float:
        return 1.0


class Tube(Form):
    """Numbers: the sum of the weights and C times that of the errors outside a tube, whose width may be found too.

    The variables are doubled, u = (p, q) with r = p - q. With nu the objective has C nu W eps, and eps is the
    multiplier of sum (p + q) <= C nu W.

    Parameters
    ----------
    y, w : (n,) arrays
    C : float
    epsilon, nu : float, optional
        The tube, or the share of the weight outside it; one of the two.
    """

    def __init__(self, y: Floats, w: Floats, C: float, epsilon: float | None, nu: float | None) -> None:
        self.y, self.epsilon = y, epsilon
        self.upper = np.tile(C * w, 2)
        self.limit = None if nu is None else C * nu * float(w.sum())

    def start(self) -> Floats:
        """Return what moves every sample to the median: feasible, and not zero where the targets differ."""
        n = len(self.y)
        half = self.upper[:n]
        order = np.argsort(self.y, kind="stable")
        mass = np.cumsum(half[order])
        r = np.empty(n)
        r[order] = np.clip(2.0 * mass - half[order] - mass[-1], -half[order], half[order])
        r -= (r.sum() / half.sum()) * half
        shrink = 0.5 if self.limit is None else min(0.5, self.limit / max(float(np.abs(r).sum()), 1e-300))
        return shrink * np.concatenate([np.maximum(r, 0.0), np.maximum(-r, 0.0)])

    def signed(self, u: Floats) -> Floats:
        n = len(self.y)
        return u[:n] - u[n:]

    def row(self, H: Floats) -> Floats:
        return np.hstack([H, -H])

    def extra(self) -> int:
        return 0 if self.limit is None else 1

    def program(self, rows: Floats) -> BoxedProgram:
        n, eps = len(self.y), self.epsilon or 0.0
        right = np.ones(len(rows))
        if self.limit is not None:
            rows, right = np.vstack([np.ones((1, 2 * n)), rows]), np.append(self.limit, right)
        cost = np.concatenate([eps - self.y, eps + self.y])
        equal = np.concatenate([np.ones(n), -np.ones(n)])[None, :]
        return BoxedProgram(
            cost, self.upper, rows, right, np.zeros((len(rows), 0)), np.zeros(0), equal, np.zeros(1)
        )  # fmt: skip

    def primal(self, a: Floats, H: Floats, multipliers: Floats) -> tuple[float, Floats]:
        bias, eps = float(multipliers[0]), float(multipliers[1]) if self.epsilon is None else self.epsilon
        errors = np.abs(self.y - a @ H - bias)
        n = len(self.y)
        outside = float(self.upper[:n] @ np.maximum(errors - eps, 0.0))
        return float(a.sum()) + outside + (self.limit or 0.0) * eps, np.array([bias, eps])

    def dual(self, u: Floats, edge: float) -> float:
        value = float(self.y @ self.signed(u)) - (self.epsilon or 0.0) * float(u.sum())
        return max(value, 0.0) / max(1.0, edge)

    def level(self, free: Floats) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class Generated:
    """What column generation found.

    Attributes
    ----------
    weights : (k,) array
        a, of the weak learners that were made.
    values : (k, n) array
        Their values at the samples.
    marks : list
        What they are.
    multipliers : array
        rho of the margin form, 1 of the penalty; bias and width of the tube.
    objective, gap : float
        Of the program as it was stated; all further columns can improve it by no more than the gap.
    dual : (N,) array
        u of the bound.
    status : Status
    trace : Trace
        The gap, round by round.
    stages : list of (j,) arrays
        a after each round.
    """

    weights: Floats
    values: Floats
    marks: list[Any]
    multipliers: Floats
    objective: float
    gap: float
    dual: Floats
    status: Status
    trace: Trace
    stages: list[tuple[Floats, Floats]]


def generate(
    form: Form,
    search: Callable[[Floats], Candidates],
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    solver: str = "interior",
    inward: float = 0.0,
    monitor: Monitor | None = None,
) -> Generated:
    r"""Solve a program over all weak learners.

    Seed: [ST] "Column generation", with beta = 0 at the start in place of infinity, at which step 3 would exit at
    once.

    Parameters
    ----------
    form : Form
    search : callable
        From r to the weak learners of the largest edges.
    tol : float, default 1e-3
        Gap at which to stop, relative to the objective, or to the largest value of a weak learner for margins.
    max_iter : int, default 1000
        Rounds.
    solver : {"interior", "simplex"}, default "interior"
        Of the restricted programs.
    inward : float, default 0.0
        Where weak learners are looked for: this part of the way from the dual point of the restricted program to that
        of the best bound. Below 1; a family of infinitely many needs far fewer rounds with 0.9, a finite one none.
    monitor : callable, optional
        ``monitor(round, gap)``; a true answer ends it: what there is by then is a solution.

    Returns
    -------
    Generated
    """
    master = _Interior(form) if solver == "interior" else Vertices(form)
    u, multipliers = form.start(), np.zeros(0)
    outer = u
    n = len(form.signed(u))
    H, marks, a = np.zeros((0, n)), [], np.zeros(0)
    best = Generated(a, H, marks, multipliers, np.inf, np.inf, u, Status.MAX_ITER, Trace.of([]), [])
    bound, level, accuracy, lines, stages = -np.inf, 0.0, np.inf, [], []
    status, began = Status.MAX_ITER, time.perf_counter()
    for turn in range(max_iter + 1):
        found = search(form.signed(u))
        reached = form.dual(u, float(found.edges[0]))
        if reached > bound:
            bound, best = reached, _with(best, dual=form.feasible(u, float(found.edges[0])))
        gap = max(best.objective - bound, 0.0)
        unit = form.unit(best.objective)
        if len(H):
            lines.append((best.objective, gap, time.perf_counter() - began))
        stop = monitor(turn, gap / unit if np.isfinite(gap) and unit > 0.0 else 1.0) if monitor is not None else False
        if gap <= tol * unit and len(H):
            status = Status.CONVERGED
            break
        if stop and len(H):
            status = stop if isinstance(stop, Status) else Status.STOPPED
            break
        if turn == max_iter and len(H):
            break
        new = found.edges > level + _NEW * max(abs(level), form.unit(1.0))
        if new.any() or not len(H):
            new[0] = True
            H = np.vstack([H, found.values[new]])
            marks = marks + [mark for mark, chosen in zip(found.marks, new, strict=True) if chosen]
        elif u is not outer:  # what was looked at between the two points is no news: look at the outer one
            u = outer
            continue
        elif accuracy <= _FINEST * max(unit, 1e-300):
            status = Status.CONVERGED if gap <= 1e-6 * unit else Status.STALLED
            break
        accuracy = min(_SHARE * gap, 0.1 * accuracy if not new.any() else np.inf)
        accuracy = max(min(accuracy, unit) if np.isfinite(accuracy) else 0.1 * form.unit(1.0), _FINEST * unit)
        outer, a, multipliers, level = master.solve(H, accuracy)
        u = (1.0 - inward) * outer + inward * best.dual if inward > 0.0 and stages else outer
        a = form.normal(a)
        objective, beside = form.primal(a, H, multipliers)
        if objective < best.objective:
            best = _with(best, weights=a, multipliers=beside, objective=objective)
        stages.append((a, beside))
    weights = np.append(best.weights, np.zeros(len(H) - len(best.weights)))
    best = _thinned(form, _with(best, weights=weights, values=H, marks=marks), tol)
    gap = max(best.objective - bound, 0.0)
    return _with(best, gap=gap, status=status, trace=Trace.of(lines), stages=stages)


def _thinned(form: Form, found: Generated, tol: float) -> Generated:
    """Return a solution without the smallest weights, which an interior point never has at zero.

    Together they are as large as the tolerance allows the objective to grow by, a hundredth of it.
    """
    a = found.weights
    order = np.argsort(a, kind="stable")
    small = order[np.cumsum(a[order]) <= 0.01 * tol * a.sum()]
    if not len(small):
        return found
    a = a.copy()
    a[small] = 0.0
    a = form.normal(a)
    objective, beside = form.primal(a, found.values, found.multipliers)
    grown = objective - found.objective
    if grown > 0.1 * tol * form.unit(objective):
        return found
    return _with(found, weights=a, objective=objective, multipliers=beside)


def _with(found: Generated, **changed: Any) -> Generated:
    return Generated(**{**vars(found), **changed})


class _Interior:
    """Restricted programs by the interior point method."""

    def __init__(self, form: Form) -> None:
        self.form = form

    def solve(self, H: Floats, accuracy: float) -> tuple[Floats, Floats, Floats, float]:
        form, skip = self.form, self.form.extra()
        program = form.program(form.row(H))
        work = 20.0 * len(program.upper) * len(program.right) ** 2
        point = in_background(follow_path, program, accuracy, work=work)
        multipliers = np.concatenate([point.rho, point.a[:skip]])
        return point.u, point.a[skip:], multipliers, form.level(point.v)

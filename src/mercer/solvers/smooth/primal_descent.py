r"""A point that moves to the minimum of a risk on a Gram of low rank, by passes over the data.

Symbols: K = F F^T with F (n, r); P = (F, B) with B the border; x = (v, m) the weights of F and of the border; f = P x
the values; w sample weights; lambda the penalty; g = P^T (w psi'(f)) + lambda v the gradient; W the weighted second
derivatives, H = P^T W P + lambda I the Hessian, M the same with a few of the samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import NotPositiveDefinite
from mercer.numerics.cholesky import CholeskyFactor
from mercer.problems import ConvexRisk, Solution, Status, Trace
from mercer.runtime.tiling import kept_by
from mercer.solvers.smooth.newton import Minimum
from mercer.solvers.smooth.primal_terms import (
    SPARSE,
    Terms,
    conjugate,
    curved_product,
    decomposed,
    drawn,
    lowest,
    rows_of,
    settled,
    some,
    summed,
    to_come,
    unkept,
)
from mercer.solvers.smooth.proximal_point import sizes
from mercer.solvers.solver import Monitor

__all__ = ["Descent", "Point"]

_NUMBERS = ("passes", "inner", "steps", "residual", "gap", "solves", "first", "best", "idle", "taken", "height")
_ENOUGH = 1e-4  # Armijo: share of the decrease that the slope promises
_ROUNDING = 1e-13  # of the objective: a smaller increase is none
_HALVINGS = 40
_PATIENCE = 4  # steps that gain nothing
_GROWTH = 4.0  # of the strength of envelopes
_STRAIGHT = 1e-2  # of the strength: the least curvature that the first envelopes are taken to have
_MOST = 8  # passes after which another preconditioner is tried
_ROUGH = 0.3  # how far the equations of a step are solved where samples leave the curved part of their loss
_SURPRISE = 10.0  # times what a Newton step promises that there may be to gain
_NEAR, _LEAST = 2, 8  # samples of a smaller risk for each that is curved, and for each column of F
_FEW = 0.5  # share of the samples up to which a smaller risk is worth it
_FINER, _FURTHER = 0.3, 0.1  # of the tolerance, and of the residual: how far a smaller risk is minimised
_WITHIN = 50  # Newton steps on a smaller risk
_READ = 20.0  # operations that an entry of F costs when it is read and multiplied, over those of a product


class Point(NamedTuple):
    """Weights x, (r + s, k), their values (n, k), the gradient, and the objective."""

    x: Floats
    f: Floats
    g: Floats
    objective: float


class Descent:
    """A point moving to the minimum."""

    point: Point
    factor: CholeskyFactor
    origin: Floats  # coefficients of the best function of the border, (s, k)

    def __init__(self, problem: ConvexRisk, solver: Any, monitor: Monitor | None, start: Floats | None = None) -> None:
        self.problem, self.solver, self.monitor = problem, solver, monitor
        self.gram: Any = problem.gram
        self.terms = Terms(problem)
        self.penalty = float(problem.penalty)
        n, self.r = len(self.terms), problem.gram.rank
        self.border = np.zeros((n, 0)) if problem.border is None else np.asarray(problem.border, dtype=np.float64)
        self.rows: list[tuple[float, float, float]] = []
        self.passes = self.inner = self.steps = 0
        self.residual, self.gap = np.inf, np.nan
        self.anchored: tuple[Indices, Floats] | None = None  # samples of M, and their weights
        self.solves = 0  # passes of the last direction
        self.base: Floats | None = None  # P^T P of a few samples, which envelopes that are straight are given a bit of
        self.first = 0.0  # strength of the first envelopes
        self.height = np.nan  # objective of the best function of the border
        self.tilt: tuple[Floats, float] | None = None  # slope and height of samples that are left out, if any are
        self.answer: bool | Status = False  # of the monitor
        self.best, self.idle, self.taken = np.inf, 0, 0  # of the Newton steps on one loss or envelope
        self.outer: dict[str, Any] | None = None  # of the envelopes
        fields = {"options": repr(solver), "penalty": self.penalty, "y": self.terms.y, "weight": problem.weight}
        self.kept = kept_by(monitor, "PrimalNewton", **fields, start=start)
        self.began = time.perf_counter() - self.kept.seconds
        self.resuming = self.kept.state is not None
        if self.kept.state is not None:
            self._restore(self.kept.state)

    def state(self) -> dict[str, Any]:
        """All that later steps depend on."""
        assert self.anchored is not None
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        arrays = {"x": self.point.x, "f": self.point.f, "g": self.point.g, "origin": self.origin}
        terms = {"strength": self.terms.strength, "center": self.terms.center, "objective": self.point.objective}
        drawn = {"index": self.anchored[0], "weight": self.anchored[1], "rows": np.array(self.rows)}
        return {**numbers, **arrays, **terms, **drawn, "outer": self.outer}

    def _restore(self, state: dict[str, Any]) -> None:
        for name in (*_NUMBERS, "origin", "outer"):
            setattr(self, name, state[name])
        self.point = Point(state["x"], state["f"], state["g"], state["objective"])
        self.terms.strength, self.terms.center = state["strength"], state["center"]
        self.anchored = state["index"], state["weight"]
        self.rows = [(float(a), float(b), float(c)) for a, b, c in state["rows"]]

    # points -------------------------------------------------------------------------------------------

    def ridge(self, x: Floats) -> Floats:
        out = self.penalty * x
        out[self.r :] = 0.0
        return out

    def at(self, x: Floats) -> Point:
        """The point of some weights: values, gradient and objective in one pass."""
        terms, border = self.terms, self.border
        last = x[self.r :]

        def respond(rows: slice, values: Floats) -> Floats:
            if len(last):
                values += border[rows] @ last
            return terms.slope(rows, values)

        f, moment = self.gram.sweep(x[: self.r], respond)
        self.passes += 1
        return self._pointed(x, f, moment)

    def _pointed(self, x: Floats, f: Floats, moment: Floats) -> Point:
        total, sums = self.terms.along(self.border, f)
        g, objective = np.vstack([moment, sums]) + self.ridge(x), total + 0.5 * self.energy(x)
        if self.tilt is not None:
            g, objective = g + self.tilt[0], objective + float(np.vdot(self.tilt[0], x)) + self.tilt[1]
        return Point(x, f, g, objective)

    def placed(self, x: Floats, f: Floats) -> Point:
        """The point of some weights whose values are known: a pass over the samples whose loss is not flat."""
        slope = self.terms.pull(f)
        steep = np.flatnonzero(slope.any(axis=1))
        part = slope[steep]
        moment = self.gram.take(steep).sweep(np.zeros((self.r, 1)), lambda rows, V: part[rows])[1]
        self.passes += len(steep) / len(f)
        return self._pointed(x, f, moment)

    def energy(self, x: Floats) -> float:
        """Squared length of the function, times lambda."""
        return self.penalty * float(np.vdot(x[: self.r], x[: self.r]))

    # beginnings ---------------------------------------------------------------------------------------

    def begin(self, start: Floats | None) -> None:
        """Begin at the best function of the border, or at given coefficients, (n, k)."""
        n, k = len(self.terms), self.terms.k
        self._soften()
        f = np.zeros((n, k))
        m = settled(self.terms, self.border, f)
        x = np.vstack([np.zeros((self.r, k)), m])
        f += self.border @ m
        self.point = self._pointed(x, f, self.gram.moment(self.terms.pull(f)))
        self.passes += 1
        self.origin = m
        if start is not None:
            v = self.gram.moment(start)
            f = self.gram.times(v)
            m = settled(self.terms, self.border, f)
            near = self.at(np.vstack([v, m]))
            self.point = near if near.objective < self.point.objective else self.point

    def begin_near(self, small: Descent) -> None:
        """Begin at the minimum of the risk of a few samples, whose weights stand for all."""
        self.origin, self.answer, self.first = small.origin, small.answer, small.first
        if not self.terms.is_smooth:
            self._soften(small.terms.strength)
        self.point = self.at(small.point.x)
        if not self.terms.is_smooth:
            self._soften(small.terms.strength, self.terms.slopes(self.point.f))
            self.point = self.at(self.point.x)

    def _soften(self, strength: float | None = None, center: Floats | None = None) -> None:
        """Take the envelopes of a loss with kinks."""
        terms = self.terms
        if terms.is_smooth:
            return
        if strength is None:
            spread, steep = sizes(terms.loss, terms.y, terms.weight)
            strength = self.first = 0.5 * steep / spread
        terms.strength, terms.center = strength, center

    # steps --------------------------------------------------------------------------------------------

    def minimised(self, tol: float) -> Status:
        """Go to the minimum; how it ended."""
        if not self.terms.is_smooth:
            return self.kinked(tol)
        status = self.smooth(tol, self.solver.max_iter)
        self.kept.close(self.state)
        return status

    def smooth(self, tol: float, limit: int, allowed: float = np.inf) -> Status:
        """Newton steps until the tolerance is reached, and the gradient's part of the gap is allowed; how it ended."""
        if not self.resuming:
            self.best, self.idle, self.taken = np.inf, 0, 0
            if self.tilt is None:
                self.height = self.terms.total(self.border @ self.origin)
        while True:
            self.look()
            if self.residual <= tol and self.rest() <= allowed:
                return Status.CONVERGED
            if self.answer:
                return self.answer if isinstance(self.answer, Status) else Status.STOPPED
            if self.taken >= limit:
                return Status.MAX_ITER
            self.kept.offer(self.state)
            near = self.nearby()
            if near is None:
                worth = _ROUGH if self.terms.is_bent else 0.1
                step = self.direction(min(worth, max(0.3 * tol / self.residual, np.sqrt(self.residual))))
            else:
                step = self.among(near, max(_FINER * tol, _FURTHER * self.residual))
            moved = self.moved(step)
            gained = 0.0 if moved is None else self.point.objective - moved.objective
            if moved is None or (self.idle >= _PATIENCE and gained <= 10.0 * _ROUNDING * abs(moved.objective)):
                return Status.STALLED
            self.point = moved
            self.taken += 1
            self.steps += 1

    def look(self) -> None:
        """Look where the point is: M, the residual, the trace; where a former run has done so, M is made again."""
        if self.resuming:
            assert self.anchored is not None
            self.resuming = False
            self._bend = self.terms.bend(self.point.f)
            self.factor = self._factored(*self.anchored)
            return
        self.prepare()
        left = self.left()
        whole = left + max(self.height - self.point.objective, 0.0) + _ROUNDING * abs(self.height)
        self.residual = float(np.sqrt(left / (whole or 1.0)))
        self.rows.append((self.point.objective, self.residual, time.perf_counter() - self.began))
        if not np.isfinite(self.residual):
            raise NotPositiveDefinite(
                "The factor of the Gram matrix, or a derivative of the loss, is not finite; finite numbers are "
                "needed. Rescale the samples so that the kernel does not overflow, or raise the penalty."
            )
        self.idle = 0 if self.residual < 0.9 * self.best else self.idle + 1
        self.best = min(self.best, self.residual)

    def left(self) -> float:
        """About how far the objective is above its minimum: what a Newton step promises, or more of a bent loss.

        While samples leave the curved part of their loss, steps gain more than they promise, in a series that goes on.
        """
        left = 0.5 * self.length(self.point.g) ** 2
        if not self.terms.is_bent:
            return left
        former = [objective for objective, _, _ in self.rows[-2:]]
        return float(np.clip(to_come([*former, self.point.objective]), left, _SURPRISE * left))

    def rest(self) -> float:
        """What the gradient adds to the duality gap."""
        g = self.point.g[: self.r]
        return 0.5 * float(np.vdot(g, g)) / self.penalty

    def kinked(self, tol: float) -> Status:
        """Minimise envelopes of a loss with kinks, each nearer to the loss, until the duality gap is small."""
        if self.outer is None:
            self.outer = {"best": np.inf, "idle": 0, "inner": 1e-2, "allowed": np.inf, "rows": [], "point": None}
        outer, status = self.outer, Status.MAX_ITER
        while len(outer["rows"]) < self.solver.max_iter:
            ended = self.smooth(outer["inner"], 40, outer["allowed"])
            objective, gap = self.judged()
            residual = float(np.sqrt(gap / objective)) if objective > 0.0 else 0.0
            outer["rows"].append([objective, residual, time.perf_counter() - self.began])
            outer["idle"] = 0 if residual < 0.95 * outer["best"] else outer["idle"] + 1
            if residual < outer["best"]:
                outer["best"], outer["point"] = residual, [*self.point, gap]
            if residual <= tol or ended in (Status.TIME, Status.STOPPED):
                status = Status.CONVERGED if residual <= tol else ended
                break
            if outer["idle"] >= _PATIENCE:
                status = Status.STALLED
                break
            grown = self.terms.strength * (_GROWTH if ended.converged else 1.0 / _GROWTH)
            self._soften(grown, self.terms.slopes(self.point.f))
            self.point = self.at(self.point.x)
            outer["inner"] = float(np.clip(0.3 * outer["best"], 1e-10, outer["inner"]))
            outer["allowed"] = max(0.03 * gap, 0.1 * tol * tol * objective)
        if outer["point"] is not None:
            *point, self.gap = outer["point"]
            self.point, self.residual = Point(*point), outer["best"]
        self.rows = [(a, b, c) for a, b, c in outer["rows"]]
        return status

    def judged(self) -> tuple[float, float]:
        """Objective of the risk itself, and its duality gap."""
        risk, apart = self.terms.judged(self.point.f)
        g, r = self.point.g, self.r
        gap = apart + self.rest()
        if self.border.shape[1]:
            share = np.linalg.lstsq(self.border.T @ self.border, self.border.T @ self.point.f, rcond=None)[0]
            gap += float(np.sum(np.abs(share) * np.abs(g[r:])))
        return risk + 0.5 * self.energy(self.point.x), gap

    def length(self, g: Floats) -> float:
        """Length in the norm of M^-1."""
        return float(np.linalg.norm(self.factor.half_solve(g)))

    def moved(self, step: Floats) -> Point | None:
        """The point after a step, which is shortened until the objective falls enough; None if it cannot."""
        point, terms = self.point, self.terms
        slope = float(np.vdot(point.g, step))
        if not slope < 0.0:
            return None
        if terms.is_bent and np.count_nonzero(terms.slopes(point.f)) <= SPARSE * len(terms):
            return self._lowest(step)
        size = 1.0
        trial = self.at(point.x + step)
        change = trial.f - point.f
        while not trial.objective <= point.objective + _ENOUGH * size * slope + _ROUNDING * abs(point.objective):
            size = min(lowest(self._line(step, change)), 0.5) if size == 1.0 else 0.5 * size
            if size < 2.0**-_HALVINGS:
                return None
            trial = self.at(point.x + size * step)
        return trial

    def _lowest(self, step: Floats) -> Point | None:
        """The lowest point along a step: a pass for the values along it, and one over the samples with a slope there.

        A step is lengthened as well: the fewer samples are curved, the further the minimum.
        """
        point, r = self.point, self.r
        change = self.gram.sweep(step[:r], lambda rows, V: V[:, :0])[0] + self.border @ step[r:]
        self.passes += 1
        size = lowest(self._line(step, change))
        found = self.placed(point.x + size * step, point.f + size * change)
        return found if found.objective <= point.objective + _ROUNDING * abs(point.objective) else None

    def _line(self, step: Floats, change: Floats) -> Callable[[float], tuple[float, float]]:
        """Slope of the objective along a step that changes the values, and its derivative."""
        point, r = self.point, self.r
        first = self.penalty * float(np.vdot(point.x[:r], step[:r]))
        first += 0.0 if self.tilt is None else float(np.vdot(self.tilt[0], step))
        second = self.penalty * float(np.vdot(step[:r], step[:r]))

        def slope(size: float) -> tuple[float, float]:
            risk, bend = self.terms.turning(point.f, change, size)
            return risk + first + size * second, bend + second

        return slope

    def nearby(self) -> Indices | None:
        """Samples whose loss is curved, or next to where it is; None if they are most, or the loss is not bent."""
        if not self.terms.is_bent or self.tilt is not None:
            return None
        curved = int(np.count_nonzero(self._bend))
        count = max(_NEAR * curved, _LEAST * self.r)
        if count > _FEW * len(self.terms):
            return None
        return self.terms.nearest(self.point.f, count)

    def among(self, near: Indices, tol: float) -> Floats:
        """Step to the minimum of a risk in which all samples but some have the straight losses that they have here.

        It is never above the risk, and is the same as long as no other sample comes to where its loss is curved.
        """
        point, few = self.point, len(near)
        small = Descent(rows_of(self.problem, near), self.solver, unkept(self.monitor))
        here = small.placed(point.x, point.f[near])
        tilt = point.g - here.g
        small.tilt = tilt, point.objective - here.objective - float(np.vdot(tilt, point.x))
        small.point = point._replace(f=here.f)
        small.height, small.inner, small.origin = self.height, self.inner, self.origin
        small.anchored, small.factor = self.anchored, self.factor
        small.smooth(tol, _WITHIN)
        self.inner, self.answer = small.inner, small.answer
        self.passes += small.passes * few / len(self.terms)
        if small.anchored is not None and small.anchored is not self.anchored:
            self.anchored, self.factor = (near[small.anchored[0]], small.anchored[1]), small.factor
        return small.point.x - point.x

    def direction(self, forcing: float) -> Floats:
        """Step that solves the Newton equations, by conjugate gradients as far as it pays."""
        weighed, share = curved_product(self.gram, self.terms, self.border, self.point.f, self._bend)
        floor = self._floor()

        def product(p: Floats) -> Floats:
            self.passes += share
            straight = self.ridge(p) if self.base is None else self.ridge(p) + floor * (self.base @ p)
            return weighed(p) + straight

        def ended() -> bool:
            self.inner += 1
            if self.monitor is not None:
                self.answer = self.monitor(self.inner, self.residual)
            return bool(self.answer)

        step, self.solves = conjugate(product, self.factor.solve, -self.point.g, forcing, ended)
        return step

    # the preconditioner -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Look at the second derivatives; rebuild M where the last one took many passes."""
        terms = self.terms
        self._bend = terms.bend(self.point.f)
        r = self.r
        curved = int(np.count_nonzero(self._bend.any(axis=1)))
        count = self.solver.samples * r
        cost = (2.0 * min(curved, count) + 8.0 * r) * r * r
        spent = self.solves * _READ * curved * r
        if self.anchored is not None and self.solves <= _MOST and spent <= cost and terms.is_smooth:
            return
        self.anchored = drawn(terms.single(self._bend), count)
        self.factor = self._factored(*self.anchored)

    def _floor(self) -> float:
        """Curvature that straight envelopes are taken to have: a step on them would be endless otherwise."""
        if self.terms.is_smooth:
            return 0.0
        strength = self.terms.strength
        return strength * max(_STRAIGHT * (self.first / strength) ** 2, 1e-10)

    def _factored(self, index: Indices, weight: Floats) -> CholeskyFactor:
        M = summed(self.gram, self.border, index, weight)
        if not self.terms.is_smooth:
            if self.base is None:
                n = len(self.terms)
                few = some(n, min(n, self.solver.samples * self.r))
                own = self.terms.weight
                self.base = summed(self.gram, self.border, few, own[few] * (own.sum() / own[few].sum()))
            M += self._floor() * self.base
        return decomposed(M, self.penalty)

    # the end ------------------------------------------------------------------------------------------

    def solution(self, status: Status) -> Solution:
        """The point as the answer of a solver."""
        x, f, r = self.point.x, self.point.f, self.r
        if self.terms.is_smooth:
            self.gap = self.judged()[1] if not self.terms.joined else self.rest()
        coef = self.terms.pull(f)
        coef /= -self.penalty
        shaped = (lambda table: table[:, 0]) if self.terms.y.ndim == 1 else np.asarray

        return Solution(
            coef=shaped(coef),
            weights=shaped(x[:r]),
            multipliers=shaped(x[r:]),
            status=status,
            residual=self.residual,
            gap=self.gap,
            trace=Trace.of(self.rows),
            state=Minimum(self.terms.loss, shaped(f)),
            details={
                "passes": round(float(self.passes), 1),
                "inner iterations": self.inner,
                "samples of the preconditioner": 0 if self.anchored is None else len(self.anchored[0]),
            },
        )

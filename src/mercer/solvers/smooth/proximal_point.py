r"""Risks of any convex loss, kinks or not: a sequence of smooth risks whose minima go to the minimum.

Symbols as in `mercer.solvers.smooth.fenchel`: u the slopes of the loss, which are the dual variables, s the strength.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.problems import ConvexRisk, Solution, Status, Trace
from mercer.solvers.smooth.fenchel import Envelope, fenchel_gap
from mercer.solvers.smooth.hessian import Move
from mercer.solvers.smooth.newton import Descent, HasProducts, Minimum, require_penalty
from mercer.solvers.solver import Monitor, Solver

__all__ = ["ProximalPoint", "sizes"]
__public__ = ["ProximalPoint"]

_GROWTH = 4.0  # of the strength, from one smooth risk to the next
_INNER = 40  # Newton steps of one smooth risk
_LOOSEST, _TIGHTEST = 1e-3, 1e-13  # gradients to which smooth risks are solved
_STRAIGHT = 1e-2  # of the strength: the least curvature that the first smooth risk reports
_PATIENCE = 6  # smooth risks without a smaller gap
_NOTHING = 1e-15  # of the loss of the zero function: an objective below it is zero


class ProximalPoint(Solver):
    r"""Proximal point method on the dual: each step is a smooth risk, minimised by Newton's method.

    .. math:: f \leftarrow \arg\min_f \sum_i w_i \, e_i(f_i) + \tfrac{\lambda}{2} \|f\|^2, \qquad
              u_i \leftarrow e_i'(f_i), \qquad
              e_i(f) = \min_z \psi(y_i, z) + u_i (f - z) + \tfrac{s}{2} (f - z)^2

    Seed: [HSS] Theorem 11, which asks nothing of the loss but that a minimiser exists; the method is that of
    Rockafellar (1976), the augmented Lagrangian with semismooth Newton steps.

    Parameters
    ----------
    tol : float, default 1e-8
        Duality gap over the objective. The error of the function is about its square root.
    max_iter : int, default 100
        Smooth risks.

    Notes
    -----
    Solves ConvexRisk for any convex loss, with or without a border, for one or several outputs. A loss is asked for
    its value, its gradient and its conjugate alone; of those with a box dual the envelopes have formulas, of others
    they are found by halving. One factorisation of an n x n matrix serves several Newton steps; see `Newton` for what
    each costs and for the Grams that are accepted. The strength s grows by the factor 4, so that the last steps gain
    several digits each. ``state`` of the solution is a `Minimum`; ``residual`` is the relative gap.

    Examples
    --------
    >>> from mercer.losses import Absolute
    >>> class Matrix:
    ...     def __matmul__(self, V):
    ...         return np.array([[2.0, 1.0], [1.0, 2.0]]) @ V
    >>> problem = ConvexRisk(Matrix(), Absolute(), np.array([1.0, -9.0]), weight=np.ones(2), penalty=1.0)
    >>> solution = ProximalPoint().solve(problem)
    >>> solution.coef.round(3), solution.status.name
    (array([ 1., -1.]), 'CONVERGED')
    """

    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "max_iter": Integer(1)}
    solves = ConvexRisk
    needs = (HasProducts,)
    remedy = "Use gram=Dense(), gram=Tiles() or gram=Features()."

    def __init__(self, tol: float = 1e-8, max_iter: int = 100) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, problem: ConvexRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        require_penalty(self, problem.penalty)
        path = ProximalPath(problem, start, monitor)
        return path.at(problem.penalty, self.tol, self.max_iter)


class _Best(NamedTuple):
    """The point of least gap."""

    residual: float = np.inf
    gap: float = np.inf
    point: Move | None = None


class ProximalPath:
    """The minimum for one penalty after the other; slopes and factor are kept.

    Parameters
    ----------
    problem : ConvexRisk
    start : (n,) or (n, k) array, optional
        Coefficients near the solution.
    monitor : callable, optional
        As in `Solver.solve`.
    """

    def __init__(self, problem: ConvexRisk, start: Floats | None, monitor: Monitor | None) -> None:
        self.began, self.monitor = time.perf_counter(), monitor
        self.loss: Any = problem.loss
        self.y = np.asarray(problem.y, dtype=np.float64)
        self.weight = np.asarray(problem.weight, dtype=np.float64)
        self.w = self.weight if self.y.ndim == 1 else self.weight[:, None]
        spread, steep = sizes(self.loss, self.y, self.weight)
        self.zero = float(np.sum(self.w * self.loss.value(self.y, np.zeros_like(self.y))))
        self.first = 0.5 * steep / spread
        self.residual = 1.0
        self.solved = 0
        envelope = Envelope(self.loss, self.y, self.first, np.zeros_like(self.y), _STRAIGHT)
        smooth = ConvexRisk(problem.gram, envelope, self.y, self.weight, problem.penalty, problem.border)
        self.descent = Descent(smooth, self._watch)
        self.descent.begin(start)
        self.descent.scale = float(np.linalg.norm(np.broadcast_to(self.w, self.y.shape))) * steep

    def _watch(self, iteration: int, residual: float) -> bool | Status:
        return self.monitor(self.solved, self.residual) if self.monitor is not None else False

    @property
    def envelope(self) -> Envelope:
        """The current smooth loss."""
        return self.descent.risk.given

    def at(self, penalty: float, tol: float, limit: int) -> Solution:
        """Minimise with a penalty."""
        descent = self.descent
        if penalty != descent.penalty:
            descent.turn_to(penalty)
        # slopes of a neighbouring penalty are nearly right: from there a larger strength is well answered
        self._strengthen(self.envelope.slope, self.first if not self.solved else self.envelope.strength / _GROWTH**3)
        rows: list[tuple[float, float, float]] = []
        best, idle, inner = _Best(), 0, _LOOSEST
        for _ in range(limit):
            descent.rows = []
            ended = descent.iterate(inner, _INNER)
            self.solved += 1
            slope = self.envelope.gradient(self.y, descent.shaped(descent.point.values))
            objective, gap = self._judge(slope)
            self.residual = gap / objective if objective > _NOTHING * self.zero else 0.0
            rows.append((objective, self.residual, time.perf_counter() - self.began))
            idle = 0 if self.residual < 0.9 * best.residual else idle + 1
            if self.residual < best.residual:
                best = _Best(self.residual, gap, descent.point)
            if self.residual <= tol:
                return self._solution(Status.CONVERGED, rows, best)
            if ended in (Status.TIME, Status.STOPPED):
                return self._solution(ended, rows, best)
            if idle >= _PATIENCE:
                return self._solution(Status.STALLED, rows, best)
            # a risk that Newton's method could not finish is too stiff: the next one is softer
            self._strengthen(slope, self.envelope.strength * (_GROWTH if ended.converged else 1.0 / _GROWTH))
            inner = float(np.clip(0.01 * best.residual, _TIGHTEST, inner))
        return self._solution(Status.MAX_ITER, rows, best)

    def _strengthen(self, slope: Floats, strength: float) -> None:
        strength = max(strength, self.first)
        least = max(_STRAIGHT * (self.first / strength) ** 2, _TIGHTEST)
        self.descent.risk.given = Envelope(self.loss, self.y, strength, slope, least)

    def _judge(self, slope: Floats) -> tuple[float, float]:
        """Objective of the risk itself at the point, and its duality gap by slopes of the loss."""
        descent = self.descent
        values = descent.shaped(descent.point.values)
        rest = slack_of(descent, self.w * slope)
        risk, gap = fenchel_gap(self.loss, self.y, self.weight, values, slope, rest)
        energy = max(descent.system.energy(descent.point), 0.0)
        return risk + 0.5 * descent.penalty * energy, gap

    def _solution(self, status: Status, rows: list[tuple[float, float, float]], best: _Best) -> Solution:
        """The best point so far; with objectives that are not numbers there is none, and the last is taken."""
        if best.point is not None:
            self.descent.point, self.residual = best.point, best.residual
        found = self.descent.solution(status)
        return Solution(
            coef=found.coef,
            weights=found.weights,
            multipliers=found.multipliers,
            status=status,
            residual=self.residual,
            gap=best.gap,
            jitter=found.jitter,
            trace=Trace.of(rows),
            state=Minimum(self.loss, found.state.values),
            details={**found.details, "smooth risks": len(rows)},
        )


def slack_of(descent: Descent, slopes: Floats) -> float:
    """By how much a gap is larger because coefficients are not those of some weighted slopes, (n,) or (n, k)."""
    point, system = descent.point, descent.system
    off = -slopes.reshape(point.coef.shape) / descent.penalty - point.coef
    along = np.abs(system.basis.T @ off) * np.abs(system.basis.T @ point.values)
    return 0.5 * descent.penalty * descent.energy(off) + descent.penalty * float(np.sum(along))


def sizes(loss: Any, y: Floats, weight: Floats) -> tuple[float, float]:
    """How far the values of y are spread, and how steep the loss is at such distances; copies count as weights."""
    w = np.broadcast_to(weight if y.ndim == 1 else weight[:, None], y.shape)
    middle, spread = float(np.average(y, weights=w)), spread_of(y, weight)
    slopes = [np.abs(loss.gradient(y, np.full_like(y, middle + side * spread))) for side in (-1.0, 1.0)]
    steep = max(float(np.average(slope, weights=w)) for slope in slopes)
    return spread, steep if 0.0 < steep < np.inf else 1.0


def spread_of(y: Floats, weight: Floats) -> float:
    """Standard deviation of targets, (n,) or (n, k), or their size where they are all the same; never zero."""
    w = np.broadcast_to(weight if y.ndim == 1 else weight[:, None], y.shape)
    middle = float(np.average(y, weights=w))
    found = float(np.sqrt(np.average((y - middle) ** 2, weights=w)))
    return found if found > 1e-12 * abs(middle) else abs(middle) or 1.0

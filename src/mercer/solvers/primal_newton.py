r"""Risks on a Gram of low rank by Newton's method in the coordinates of its factor: the data are read in passes.

Symbols: K = F F^T with F (n, r); P = (F, B) with B the border; x = (v, m) the weights of F and of the border; f = P x
the values; w sample weights; lambda the penalty; g = P^T (w psi'(f)) + lambda v the gradient; W the weighted second
derivatives, H = P^T W P + lambda I the Hessian, M the same with a few of the samples.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Interval
from mercer.errors import CapabilityError, NotPositiveDefinite
from mercer.gram.factor import FactorGram
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.numerics.resuming import kept_by
from mercer.numerics.tiling import spans
from mercer.problems import ConvexRisk, Solution, Status, Trace
from mercer.solvers.newton import Minimum, require_penalty
from mercer.solvers.primal_terms import (
    CHUNK,
    Terms,
    at_once,
    handles,
    is_bent,
    part_of,
    settled,
    side_by_side,
    some,
)
from mercer.solvers.proximal_point import sizes
from mercer.solvers.solver import Monitor, Solver

__all__ = ["PrimalNewton", "suits"]

_NUMBERS = ("passes", "inner", "steps", "residual", "gap", "solves", "first", "best", "idle", "taken")  # of a state
_ENOUGH = 1e-4  # Armijo: share of the decrease that the slope promises
_ROUNDING = 1e-13  # of the objective: a smaller increase is none
_HALVINGS = 40
_INNER = 200  # conjugate gradients of one step
_LOOSE = 1e-2  # how far the minimum on a few samples is sought
_PATIENCE = 4  # steps that gain nothing
_GROWTH = 4.0  # of the strength of envelopes
_STRAIGHT = 1e-2  # of the strength: the least curvature that the first envelopes are taken to have
_MOST = 8  # passes after which another preconditioner is tried
_SPARSE = 0.7  # share of the samples that are curved, up to which the others are left out of products
_LONG = 2e9  # operations of the normal equations from which on passes are faster than factors
_SHORT = 1e8  # the same, where the alternative is the dual
_READ = 20.0  # operations that an entry of F costs when it is read and multiplied, over those of a product


class PrimalNewton(Solver):
    r"""Newton's method in the coordinates of a factor, by conjugate gradients that a few samples precondition.

    .. math:: \min_{v, m} \; \sum_i w_i \, \psi(y_i, f_i) + \tfrac{\lambda}{2} \|v\|^2, \qquad f = F v + B m, \qquad
              (P^\top W P + \lambda I)\, d = -g

    F is never held: a product with the Hessian is one pass over the samples, as is a gradient, and the objective comes
    with it. Steps begin at the minimum of the risk of a few samples. A loss that is only once differentiable, as the
    squared hinge, has a generalised second derivative, which is zero for most samples: they are left out of the
    products. One with kinks, as the hinge, is replaced by its envelopes, as in `ProximalPoint`.

    Seed: [HSS] Section 3.2.3 and Eq. (104) in the primal form of [KIKS] Eq. (4); [KIKS] Section 3.3 for the conjugate
    gradients. Ledger: C-KLR, C-SVC-ERM, A-CG, A-FIXEDSIZE, A-NOGRAM.

    Parameters
    ----------
    tol : float, default 1e-6
        Length of the gradient in the norm of M^-1 over that at the best function of the border alone, which is about
        the relative error of the function in the norm of the Hessian. For losses with kinks the root of the duality
        gap over the objective.
    samples : int, default 8
        How many samples the preconditioner has for each column of F. They are drawn by their second derivatives.
    max_iter : int, default 100
        Newton steps; of losses with kinks, smooth risks.

    Notes
    -----
    Solves ConvexRisk for smooth losses without parameters of their own and for all with a box dual, with or without a
    border. Outputs that a loss joins, as the softmax does, are solved together, others one after the other. Needs a
    Gram of low rank that is read in passes, as `Nystrom`, `RandomFeatures`, `IncompleteCholesky`. ``gap`` is a bound
    of what the objective is above its minimum, :math:`\|g\|^2 / (2 \lambda)` for smooth losses. Cost n r kernel values
    for each pass, some ten to thirty; memory O(r^2) and a few numbers for each sample, none of them n r. Samples are
    drawn without chance: the result is repeatable. ``state`` of the solution is a `Minimum`.

    References
    ----------
    S. S. Keerthi, D. DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs (2005);
    U. Marteau-Ferey, F. Bach, A. Rudi, Globally convergent Newton methods for ill-conditioned generalized
    self-concordant losses (2019), for logistic loss on landmarks.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Nystrom
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Logistic
    >>> x = np.linspace(0.0, 6.0, 4000)
    >>> K = Nystrom(20).build(Gaussian(1.0), Vectors.pack(x[:, None]))
    >>> found = PrimalNewton().solve(ConvexRisk(K, Logistic(), np.sign(np.sin(2.0 * x)), np.ones(4000), 1.0))
    >>> found.status.name, found.residual < 1e-6
    ('CONVERGED', True)
    """

    solves = ConvexRisk
    needs = (FactorGram,)
    remedy = "Use a Gram of low rank, as gram=Nystrom(500), or solver=Newton()."
    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "samples": Integer(1), "max_iter": Integer(1)}

    def __init__(self, tol: float = 1e-6, samples: int = 8, max_iter: int = 100) -> None:
        self.tol = tol
        self.samples = samples
        self.max_iter = max_iter

    def check_capabilities(self, problem: Any) -> None:
        super().check_capabilities(problem)
        loss = problem.loss
        if not handles(loss):
            raise CapabilityError(
                f"PrimalNewton was given a risk with loss={loss!r}; smooth losses without parameters of their own are "
                "accepted, and those with a box dual, as Hinge(). Use solver=Newton() or solver=ProximalPoint()."
            )

    def solve(self, problem: ConvexRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        self.check_capabilities(problem)
        require_penalty(self, problem.penalty)
        if np.ndim(problem.y) == 1 or np.shape(problem.y)[1] == 1 or hasattr(problem.loss, "hessian_product"):
            return self._solved(problem, start, monitor)
        parts = []
        for place, column in enumerate(np.asarray(problem.y, dtype=np.float64).T):
            own = None if start is None else np.ascontiguousarray(np.asarray(start)[:, place])
            parts.append(self._solved(dataclasses.replace(problem, y=np.ascontiguousarray(column)), own, monitor))
            if parts[-1].status in (Status.TIME, Status.STOPPED):
                monitor = at_once(parts[-1].status)
        return side_by_side(parts)

    def _solved(self, problem: ConvexRisk, start: Floats | None, monitor: Monitor | None) -> Solution:
        run = _Run(problem, self, monitor, start)
        runs, few = [run], self.samples * max(problem.gram.rank, 1)
        while start is None and len(runs[-1].terms) >= 4 * few:  # an eighth of the samples, an eighth of these, ...
            problem = part_of(problem, max(few, len(problem.y) // 8))
            runs.append(_Run(problem, self, monitor))
        status = Status.CONVERGED
        for place in range(len(runs) - 1, -1, -1):
            if any(nearer.resuming for nearer in runs[:place]):
                continue  # a former run has come further
            if not runs[place].resuming:
                if place + 1 < len(runs):
                    runs[place].begin_near(runs[place + 1])
                else:
                    runs[place].begin(None if start is None else np.reshape(start, (len(problem.y), -1)).astype(float))
            status = runs[place].minimised(_LOOSE if place else self.tol)
        return run.solution(status)


def suits(gram: Any, loss: Any) -> bool:
    """Whether a risk is best minimised by passes: the factor is large, and the loss is without kinks."""
    if not isinstance(gram, FactorGram) or not handles(loss):
        return False
    n, r = len(gram.samples), gram.rank
    least = 0.0 if gram.samples.is_streamed else _LONG if loss.smooth else _SHORT
    return n >= 2 * r and float(n) * r * r >= least and (loss.smooth or is_bent(loss))


class _Point(NamedTuple):
    """Weights x, (r + s, k), their values (n, k), the gradient, and the objective."""

    x: Floats
    f: Floats
    g: Floats
    objective: float


class _Run:
    """A point on its way to the minimum."""

    point: _Point
    factor: CholeskyFactor
    zero: Floats  # gradient at the best function of the border

    def __init__(
        self, problem: ConvexRisk, solver: PrimalNewton, monitor: Monitor | None, start: Floats | None = None
    ) -> None:
        self.solver, self.monitor = solver, monitor
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
        arrays = {"x": self.point.x, "f": self.point.f, "g": self.point.g, "zero": self.zero}
        terms = {"strength": self.terms.strength, "center": self.terms.center, "objective": self.point.objective}
        drawn = {"index": self.anchored[0], "weight": self.anchored[1], "rows": np.array(self.rows)}
        return {**numbers, **arrays, **terms, **drawn, "outer": self.outer}

    def _restore(self, state: dict[str, Any]) -> None:
        for name in (*_NUMBERS, "zero", "outer"):
            setattr(self, name, state[name])
        self.point = _Point(state["x"], state["f"], state["g"], state["objective"])
        self.terms.strength, self.terms.center = state["strength"], state["center"]
        self.anchored = state["index"], state["weight"]
        self.rows = [(float(a), float(b), float(c)) for a, b, c in state["rows"]]

    # points -------------------------------------------------------------------------------------------

    def ridge(self, x: Floats) -> Floats:
        out = self.penalty * x
        out[self.r :] = 0.0
        return out

    def at(self, x: Floats) -> _Point:
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

    def _pointed(self, x: Floats, f: Floats, moment: Floats) -> _Point:
        total, sums = self.terms.along(self.border, f)
        return _Point(x, f, np.vstack([moment, sums]) + self.ridge(x), total + 0.5 * self.energy(x))

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
        slope = np.vstack([self.terms.slope(rows, f[rows]) for rows in spans(n, CHUNK)])
        self.point = self._pointed(x, f, self.gram.moment(slope))
        self.passes += 1
        self.zero = self.point.g
        if start is not None:
            v = self.gram.moment(start)
            f = self.gram.times(v)
            m = settled(self.terms, self.border, f)
            near = self.at(np.vstack([v, m]))
            self.point = near if near.objective < self.point.objective else self.point

    def begin_near(self, small: _Run) -> None:
        """Begin at the minimum of the risk of a few samples, whose weights stand for all."""
        self.zero, self.answer, self.first = small.zero, small.answer, small.first
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
        while True:
            self.look()
            if self.residual <= tol and self.rest() <= allowed:
                return Status.CONVERGED
            if self.answer:
                return self.answer if isinstance(self.answer, Status) else Status.STOPPED
            if self.taken >= limit:
                return Status.MAX_ITER
            self.kept.offer(self.state)
            forcing = min(0.1, max(0.3 * tol / self.residual, np.sqrt(self.residual)))
            moved = self.moved(self.direction(forcing))
            if moved is None or (self.idle >= _PATIENCE and self._stands(moved)):
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
        self.residual = self.length(self.point.g) / (self.length(self.zero) or 1.0)
        self.rows.append((self.point.objective, self.residual, time.perf_counter() - self.began))
        if not np.isfinite(self.residual):
            raise NotPositiveDefinite(
                "The factor of the Gram matrix, or a derivative of the loss, is not finite; finite numbers are "
                "needed. Rescale the samples so that the kernel does not overflow, or raise the penalty."
            )
        self.idle = 0 if self.residual < 0.9 * self.best else self.idle + 1
        self.best = min(self.best, self.residual)

    def rest(self) -> float:
        """What the gradient adds to the duality gap."""
        g = self.point.g[: self.r]
        return 0.5 * float(np.vdot(g, g)) / self.penalty

    def _stands(self, moved: _Point) -> bool:
        return self.point.objective - moved.objective <= 10.0 * _ROUNDING * abs(moved.objective)

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
            self.point, self.residual = _Point(*point), outer["best"]
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

    def moved(self, step: Floats) -> _Point | None:
        """The point after a step, which is shortened until the objective falls enough; None if it cannot."""
        point = self.point
        slope = float(np.vdot(point.g, step))
        if not slope < 0.0:
            return None
        size = 1.0
        trial = self.at(point.x + step)
        change = trial.f - point.f
        while not trial.objective <= point.objective + _ENOUGH * size * slope + _ROUNDING * abs(point.objective):
            size = self._shorter(step, change, size)
            if size < 2.0**-_HALVINGS:
                return None
            trial = self.at(point.x + size * step)
        return trial

    def _shorter(self, step: Floats, change: Floats, size: float) -> float:
        """A length below `size` at which the slope along the step is about zero; the values are known along it."""
        point, r = self.point, self.r
        low, high = 0.0, size
        inside = self.penalty * float(np.vdot(point.x[:r], step[:r])), self.penalty * float(np.vdot(step[:r], step[:r]))
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            slope = self.terms.across(point.f, change, middle) + inside[0] + middle * inside[1]
            low, high = (middle, high) if slope < 0.0 else (low, middle)
            if low > 0.0 and high - low <= 0.1 * high:
                break
        return low if low > 0.0 else 0.5 * high

    def direction(self, forcing: float) -> Floats:
        """Step that solves the Newton equations, by conjugate gradients as far as it pays."""
        product = self._hessian()
        left = -self.point.g
        z = self.factor.solve(left)
        step, p = np.zeros_like(left), z
        rho = first = float(np.vdot(left, z))
        self.solves = 0
        for _ in range(_INNER):
            if not rho > forcing * forcing * first:
                break
            Hp = product(p)
            bend = float(np.vdot(p, Hp))
            if not bend > 0.0:
                break
            alpha = rho / bend
            step, left = step + alpha * p, left - alpha * Hp
            z = self.factor.solve(left)
            rho, before = float(np.vdot(left, z)), rho
            p = z + (rho / before) * p
            self.solves += 1
            self.inner += 1
            if self.monitor is not None and (answer := self.monitor(self.inner, self.residual)):
                self.answer = answer
                break
        return step if self.solves else z

    def _hessian(self) -> Any:
        """The product with the Hessian at the point, one pass over the samples that are curved."""
        terms, f, r = self.terms, self.point.f, self.r
        bend = self._bend
        curved = None if terms.joined else np.flatnonzero(bend.any(axis=1))
        if curved is None or len(curved) > _SPARSE * len(terms):
            gram, border, chosen = self.gram, self.border, slice(None)
        else:
            gram, border, chosen = self.gram.take(curved), self.border[curved], curved
        bend, values = bend[chosen], f[chosen] if terms.joined else f[:0]
        floor, base = self._floor(), self.base

        def weigh(rows: slice, V: Floats) -> Floats:
            if terms.joined:
                return terms.bent(rows, values[rows], V)
            return bend[rows] * V

        def straight(p: Floats) -> Floats:
            return self.ridge(p) if base is None else self.ridge(p) + floor * (base @ p)

        def product(p: Floats) -> Floats:
            last = p[r:]

            def respond(rows: slice, V: Floats) -> Floats:
                if len(last):
                    V += border[rows] @ last
                return weigh(rows, V)

            if not len(bend):
                return straight(p)
            V, moment = gram.sweep(p[:r], respond)
            self.passes += len(bend) / len(terms)
            sums = np.zeros((len(last), terms.k))
            if len(last):
                for rows in spans(len(bend), CHUNK):
                    sums += border[rows].T @ weigh(rows, V[rows])
            return np.vstack([moment, sums]) + straight(p)

        return product

    # the preconditioner -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Look at the second derivatives; make M anew where the last one took many passes."""
        terms = self.terms
        self._bend = terms.bend(self.point.f)
        r = self.r
        curved = int(np.count_nonzero(self._bend.any(axis=1)))
        count = self.solver.samples * r
        cost = (2.0 * min(curved, count) + 8.0 * r) * r * r
        spent = self.solves * _READ * curved * r
        if self.anchored is not None and self.solves <= _MOST and spent <= cost and terms.is_smooth:
            return
        self.anchored = self._drawn(count)
        self.factor = self._factored(*self.anchored)

    def _single(self) -> Floats:
        """One number for each sample that stands for W, (n,)."""
        k = self.terms.k
        total = self._bend.sum(axis=1) / (k - 1 if self.terms.joined else k)
        return np.where(np.isfinite(total) & (total > 0.0), total, 0.0)

    def _drawn(self, count: int) -> tuple[Indices, Floats]:
        """Samples for M, drawn in proportion to W at equal distances, and the weights with which they stand for all."""
        single = self._single()
        curved = np.flatnonzero(single)
        if len(curved) <= count:
            return curved, single[curved]
        share = np.minimum(1.0, single * (count / single.sum()))
        for _ in range(8):  # of samples that are certain the others take the rest
            certain = share >= 1.0
            rest = float(single[~certain].sum())
            if rest > 0.0:
                share = np.where(certain, 1.0, np.minimum(1.0, single * (max(count - certain.sum(), 1) / rest)))
        steps = np.floor(np.cumsum(share) + 0.5)
        index = np.flatnonzero(np.diff(steps, prepend=0.0) > 0.0)
        return index, single[index] / share[index]

    def _floor(self) -> float:
        """Curvature that straight envelopes are taken to have: a step on them would be endless otherwise."""
        if self.terms.is_smooth:
            return 0.0
        strength = self.terms.strength
        return strength * max(_STRAIGHT * (self.first / strength) ** 2, 1e-10)

    def _sum(self, index: Indices, weight: Floats) -> Floats:
        """P^T W P over some samples."""
        r, s = self.r, self.border.shape[1]
        M = np.zeros((r + s, r + s))
        if len(index):
            some = self.border[index]
            inner, right = self.gram.take(index).normal(weight, some)
            M[:r, :r] = inner
            M[:r, r:], M[r:, :r] = right, right.T
            M[r:, r:] = (some.T * weight) @ some
        return M

    def _factored(self, index: Indices, weight: Floats) -> CholeskyFactor:
        M = self._sum(index, weight)
        if not self.terms.is_smooth:
            if self.base is None:
                n = len(self.terms)
                drawn = some(n, min(n, self.solver.samples * self.r))
                own = self.terms.weight
                self.base = self._sum(drawn, own[drawn] * (own.sum() / own[drawn].sum()))
            M += self._floor() * self.base
        np.einsum("ii->i", M)[:] += self.penalty
        # sums in float32 may hide a small penalty: what is added to M costs iterations and no digit
        for share in (0.0, *10.0 ** np.arange(-7.0, 1.0)):
            A = M.copy()
            np.einsum("ii->i", A)[:] += share * np.diagonal(M)
            try:
                return safe_cholesky(A)
            except NotPositiveDefinite:
                continue
        return safe_cholesky(np.diag(np.maximum(np.diagonal(M), self.penalty)))

    # the end ------------------------------------------------------------------------------------------

    def solution(self, status: Status) -> Solution:
        """The point as the answer of a solver."""
        x, f, r = self.point.x, self.point.f, self.r
        if self.terms.is_smooth:
            self.gap = self.judged()[1] if not self.terms.joined else self.rest()
        coef = np.empty((len(self.terms), self.terms.k))
        for rows in spans(len(self.terms), CHUNK):
            coef[rows] = self.terms.slope(rows, f[rows]) / -self.penalty
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

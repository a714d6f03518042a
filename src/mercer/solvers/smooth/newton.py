"""Smooth risks by Newton's method: few steps, each a linear system solved by conjugate gradients as far as it pays.

Symbols as in `mercer.solvers.smooth.hessian`: a coefficients, f values, theta parameters of the loss; r and t what is
left.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.errors import NotPositiveDefinite, ParameterError
from mercer.gram.gram import Capability
from mercer.losses import HasMean, Loss
from mercer.problems import ConvexRisk, SmoothRisk, Solution, Status, Trace
from mercer.runtime.tiling import Kept, kept_by
from mercer.solvers.smooth.hessian import Curvature, Move, solve_small, system_of
from mercer.solvers.solver import Monitor, Solver

__all__ = ["Descent", "Minimum", "Newton"]
__public__ = ["Newton"]

_MOST_INNER = 500  # conjugate gradients of one step
_HALVINGS = 60
_ENOUGH = 1e-4  # Armijo: share of the decrease that the slope promises
_ROUNDING = 1e-14  # of the objective: a smaller increase is none
_LEAST = 1e-8  # of f: slopes that change it by less are rounding
_PATIENCE = 3  # steps that gain nothing
_INSIDE = ("first", "decrease", "rho_before", "r", "t", "inner")  # of conjugate gradients, as they are kept


@runtime_checkable
class HasProducts(Protocol, metaclass=Capability):
    """Anything that multiplies vectors, as every Gram does."""

    def __matmul__(self, V: Floats) -> Floats:
        """K @ V, (n,) or (n, k)."""
        ...


@dataclass(frozen=True, eq=False)
class Minimum:
    """Further results at the minimum of a risk.

    Attributes
    ----------
    loss : Loss
        With its parameters, as thresholds, at their best.
    values : (n,) or (n, k) array
        f.
    """

    loss: Loss
    values: Floats


class Newton(Solver):
    r"""Damped Newton steps, by conjugate gradients that one factorisation preconditions.

    .. math:: (\lambda I + W K)\, d = -(\lambda a + w \odot \psi'(f)), \qquad a \leftarrow a + s\, d,
              \qquad W = \mathrm{diag}(w \odot \psi''(f))

    Seed: [HSS] Section 3.2.3, the minimiser of a regularised likelihood; the step is that of iteratively reweighted
    least squares, [HSS] Eq. (104).

    Parameters
    ----------
    tol : float, default 1e-8
        Length of lambda a + w psi'(f), the gradient in the space of functions, over that of w psi' at a rough guess;
        for classifiers about the error of the probabilities.
    max_iter : int, default 100
        Newton steps.

    Notes
    -----
    Solves SmoothRisk, with or without a border, for one or several outputs; with a border K need be positive definite
    only conditionally. Each step is shortened until the objective falls by a share of what its slope promises, so
    that the objective never rises: not on separable data, not with a tiny penalty. The systems are solved loosely
    first and to the precision that quadratic convergence can use later; each inner iteration is a solve with the
    factor of K + lambda / W at the start, no product with K. Where many are needed the factor is rebuilt. A Gram
    that holds its matrix is asked for it by ``release()`` and cannot be used afterwards: K stays in one triangle, the
    factor is in the other. With ``Gram.factor`` all is done in its coordinates; by products alone, as on tiles, there
    is no preconditioner. Cost n^3 / 3 operations once and 2 n^2 k per inner iteration; memory the one n x n array and
    O(n k). The monitor is called after every inner iteration. ``state`` of the solution is a `Minimum`.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> class Matrix:
    ...     def __matmul__(self, V):
    ...         return np.array([[2.0, -2.0], [-2.0, 2.0]]) @ V
    >>> problem = SmoothRisk(Matrix(), Logistic(), np.array([1.0, -1.0]), weight=np.ones(2), penalty=1.0)
    >>> solution = Newton().solve(problem)
    >>> solution.coef.round(4), solution.status.name
    (array([ 0.2606, -0.2606]), 'CONVERGED')
    """

    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "max_iter": Integer(1)}
    solves = SmoothRisk
    needs = (HasProducts,)
    remedy = "Use gram=Dense(), gram=Tiles() or gram=Features()."

    def __init__(self, tol: float = 1e-8, max_iter: int = 100) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, problem: SmoothRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        require_penalty(self, problem.penalty)
        kept = kept_by(
            monitor, "Newton", options=repr(self), gram=repr(problem.gram), loss=problem.loss, targets=problem.y,
            weight=problem.weight, penalty=problem.penalty, border=problem.border, start=start
        )  # fmt: skip
        run = Descent(problem, monitor, kept)
        if kept.state is None:
            run.begin(start)
        else:
            run.take_up(kept.state)
        status = run.iterate(self.tol, self.max_iter)
        kept.close(run.state)
        return run.solution(status)


def require_penalty(solver: Any, penalty: float) -> None:
    """Raise ParameterError unless the penalty of a risk is positive and finite."""
    if not (np.isfinite(penalty) and penalty > 0.0):
        raise ParameterError(
            f"{type(solver).__name__} was given a risk with penalty={penalty}; it must be positive and finite. "
            "Give a positive alpha, or a finite C."
        )


class _Progress(NamedTuple):
    """How far Newton's steps have come: what `Descent.iterate` counts and remembers."""

    solves: int = 0  # of the last step
    idle: int = 0  # steps that gained nothing
    steps: int = 0
    best: float = np.inf  # residual
    verified: bool = False  # whether the values are recomputed
    recorded: int = 0  # rows of the trace


class _Risk:
    """The weighted loss as a function of f, (n, k), and theta."""

    def __init__(self, problem: ConvexRisk) -> None:
        self.given: Any = problem.loss
        self.y = np.asarray(problem.y, dtype=np.float64)
        self.n, self.k = len(self.y), 1 if self.y.ndim == 1 else self.y.shape[1]
        self.weight = np.asarray(problem.weight, dtype=np.float64)
        self.theta: Floats = np.array(getattr(self.given, "parameters", ()), dtype=np.float64)

    def loss(self, theta: Floats) -> Any:
        """The loss with these parameters."""
        return self.given.with_parameters(theta) if len(theta) else self.given

    def shaped(self, f: Floats) -> Floats:
        """Values as the loss wants them."""
        return f.reshape(self.y.shape)

    def weighted(self, values: Floats) -> Floats:
        return values.reshape(self.n, self.k) * self.weight[:, None]

    def total(self, f: Floats, theta: Floats) -> float:
        """Sum of the weighted losses; infinite where it is not a number."""
        found = float(np.sum(self.weighted(self.loss(theta).value(self.y, self.shaped(f)))))
        return found if np.isfinite(found) else np.inf

    def slopes(self, f: Floats, theta: Floats) -> tuple[Floats, Floats]:
        """Derivatives in f, (n, k), and in theta, (q,)."""
        loss, f = self.loss(theta), self.shaped(f)
        first = self.weighted(loss.gradient(self.y, f))
        return first, loss.parameter_terms(self.y, f, self.weight)[0] if len(theta) else np.zeros(0)

    def curvature(self, f: Floats, theta: Floats) -> Curvature:
        loss, f = self.loss(theta), self.shaped(f)
        mixed, second = np.zeros((self.n, 0)), np.zeros((0, 0))
        if len(theta):
            _, mixed, second = loss.parameter_terms(self.y, f, self.weight)
        joined: Any = None
        if hasattr(loss, "hessian_product"):
            joined = functools.partial(self.joined, loss, f)
        diagonal = self.weighted(loss.curvature(self.y, f))
        return Curvature(diagonal, self.weighted(loss.gradient(self.y, f)), mixed, second, joined)

    def joined(self, loss: Any, f: Floats, V: Floats) -> Floats:
        """W V of a loss that joins the outputs of a sample."""
        return self.weighted(loss.hessian_product(self.y, f, V))


class Descent:
    """A point moving to the minimum, and on from there where the penalty or the loss changes a little.

    Parameters
    ----------
    problem : ConvexRisk
        Its loss has a second derivative, or a generalised one.
    monitor : callable, optional
        As in `Solver.solve`.
    kept : Kept, optional
        The place of the state.
    """

    point: Move

    def __init__(self, problem: ConvexRisk, monitor: Monitor | None, kept: Kept | None = None) -> None:
        self.kept = Kept() if kept is None else kept
        self.began, self.monitor = time.perf_counter() - self.kept.seconds, monitor
        self.at = _Progress()
        self.inside: dict[str, Any] | None = None  # a former run's conjugate gradients
        self.risk, self.system = _Risk(problem), system_of(problem)
        self.penalty = self.system.penalty
        self.rows: list[tuple[float, float, float]] = []
        self.inner = 0
        self.residual = np.inf
        self.answer: bool | Status = False  # of the monitor
        self.adopted = (np.zeros((0, 0)), np.zeros(0))  # values and theta at which the system was prepared
        self.top = (*self.adopted, 0, 0, self.at)

    def state(self) -> dict[str, Any]:
        """All that the next steps depend on, as it was when the step under way began."""
        values, theta, factorisations, inner, at = self.top
        return {
            **self.at_top._asdict(), **at._asdict(), "rows": np.array(self.rows[: at.recorded]).reshape(-1, 3),
            "inner": inner, "scale": self.scale, "adopted": [values, theta], "factorisations": factorisations,
            "jitter": self.system.jitter
        }  # fmt: skip

    def take_up(self, state: dict[str, Any]) -> None:
        """Continue where another run stopped."""
        self.point = self.at_top = Move(*(state[name] for name in Move._fields))
        self.at = _Progress(*(state[name] for name in _Progress._fields))
        self.rows = [tuple(row) for row in state["rows"].tolist()]
        self.inner, self.scale, self.inside = state["inner"], state["scale"], state.get("inside")
        values, theta = state["adopted"]
        if len(values):
            self.adopted = values, theta
            self.system.adopt_again(self.risk.curvature(values, theta), state["factorisations"])
        self.system.jitter = state["jitter"]

    def solution(self, status: Status) -> Solution:
        """The point as the answer of a solver."""
        point, system = self.point, self.system
        weights, multipliers = system.weights(point), system.multipliers(point)
        return Solution(
            coef=self.shaped(point.coef),
            weights=None if weights is None else self.shaped(weights),
            multipliers=self.shaped(multipliers),
            status=status,
            residual=self.residual,
            jitter=system.jitter,
            trace=Trace.of(self.rows),
            state=Minimum(self.risk.loss(point.theta), self.shaped(point.values)),
            details={"inner iterations": self.inner, "factorisations": system.factorisations},
        )

    def shaped(self, table: Floats) -> Floats:
        """A table with a column for each output in the shape of y."""
        return table[:, 0] if self.risk.y.ndim == 1 else table

    def turn_to(self, penalty: float) -> None:
        """Continue with another penalty; a factor that is far from the new system is rebuilt."""
        ratio = penalty / self.penalty
        self.penalty = self.system.penalty = penalty
        self.rows = []
        if not 0.5 <= ratio <= 2.0:
            curvature = self.risk.curvature(self.point.values, self.point.theta)
            self.adopt(self.point.values, curvature, _MOST_INNER * len(self.risk.y))

    def adopt(self, values: Floats, curvature: Curvature, solves: int) -> None:
        """Prepare the system for steps at values; remembers whether that was done."""
        before = self.system.factorisations
        self.system.adopt(curvature, solves)
        if self.system.factorisations != before:
            self.adopted = values, self.point.theta

    def energy(self, coef: Floats) -> float:
        """Squared length of the function with coefficients (n, k), those of the border's functions aside."""
        return max(self.system.energy(self.system.place(coef, self.point.theta)), 0.0)

    def objective(self, point: Move) -> float:
        return self.risk.total(point.values, point.theta) + 0.5 * self.penalty * self.system.energy(point)

    def begin(self, start: Floats | None) -> None:
        """Choose the first point and factor: the given coefficients, or a step from a guess made of y alone."""
        risk, system = self.risk, self.system
        shape = risk.n, risk.k
        coef = np.zeros(shape) if start is None else np.array(start, dtype=np.float64).reshape(shape)
        self.point = self.settled(system.place(coef, risk.theta))
        guessed = isinstance(risk.given, HasMean)
        f = risk.given.guess(risk.y).reshape(shape) if guessed else self.point.values
        curvature = risk.curvature(f, self.point.theta)
        scale = max(float(np.linalg.norm(curvature.slope)), _LEAST * float(np.linalg.norm(curvature.diagonal * f)))
        if not (0.0 < scale < np.inf):
            scale = float(np.linalg.norm(np.sqrt(curvature.diagonal)))
        self.scale = scale if 0.0 < scale < np.inf else 1.0
        self.adopt(f, curvature, 0)
        if start is None and guessed and system.factorisations:
            self.jump(f, curvature)

    def jump(self, f: Floats, curvature: Curvature) -> None:
        """Take the Newton step from values f, which need not be those of any function, if it is better than none."""
        first, slope = self.risk.slopes(f, self.point.theta)
        bent, turn = curvature(f, np.zeros_like(slope))
        step = self.system.without_slack(self.system.precondition(bent - first, turn - slope))
        reached = step._replace(theta=self.point.theta + step.theta)
        if self.objective(reached) < self.objective(self.point):
            self.point = reached

    def settled(self, point: Move) -> Move:
        """The point with the best border and parameters of the loss for its coefficients, by small Newton steps."""
        basis, k = self.system.basis, self.risk.k
        size = basis.shape[1] * k
        if not size + len(point.theta):
            return point
        before = self.risk.total(point.values, point.theta)
        for _ in range(20):
            first, slope = self.risk.slopes(point.values, point.theta)
            left = -np.concatenate([(basis.T @ first).T.ravel(), slope])
            step = solve_small(self.risk.curvature(point.values, point.theta).small(basis), left)
            for _ in range(_HALVINGS):
                trial = self.system.with_border(point, step[:size].reshape(k, -1).T)
                trial = trial._replace(theta=point.theta + step[size:])
                after = self.risk.total(trial.values, trial.theta)
                if after <= before - _ENOUGH * float(step @ left):
                    break
                step = 0.5 * step
            else:
                return point
            gained, before, point = before - after, after, trial
            if gained <= 1e-10 * abs(before):
                return point
        return point

    def left(self) -> tuple[Floats, Floats]:
        """What is left of the conditions at the point, r and t; keeps the residual."""
        first, slope = self.risk.slopes(self.point.values, self.point.theta)
        r = -(self.penalty * self.point.coef + first)
        self.residual = float(np.hypot(np.linalg.norm(r), np.linalg.norm(slope))) / self.scale
        return r, -slope

    def iterate(self, tol: float, limit: int) -> Status:
        """Newton steps until the tolerance is reached; how it ended."""
        solves, idle, steps, best, verified, _ = self.at
        self.at = _Progress()
        while True:
            self.at_top = self.point
            now_at = _Progress(solves, idle, steps, best, verified, len(self.rows))
            self.top = (*self.adopted, self.system.factorisations, self.inner, now_at)
            if self.inside is None:
                self.kept.offer(self.state)
            r, t = self.left()
            now = self.objective(self.point)
            if self.residual <= tol and not verified:  # the values were added up: recompute before trusting them
                self.point, verified = self.system.refresh(self.point), True
                continue
            self.rows.append((now, self.residual, time.perf_counter() - self.began))
            if not np.isfinite(self.residual):
                raise NotPositiveDefinite(
                    "A product with the Gram matrix, or a derivative of the loss, is not finite; finite numbers are "
                    "needed. Rescale the samples so that the kernel does not overflow, or raise the penalty."
                )
            idle = 0 if self.residual < 0.9 * best else idle + 1
            best = min(best, self.residual)
            status = Status.CONVERGED if self.residual <= tol else self.ended(steps >= limit, idle)
            if status is not None:
                return status if verified else self.verify(status, tol)
            curvature = self.risk.curvature(self.point.values, self.point.theta)
            self.adopt(self.point.values, curvature, solves if not idle else _MOST_INNER * len(self.risk.y))
            step, solves = self.direction(curvature, r, t, 0.1 * tol * self.scale)
            step = self.system.without_slack(step)
            size = self.search(step, now, r, t)
            if size == 0.0:
                if verified:
                    return Status.STALLED
                self.point, verified = self.system.refresh(self.point), True
                continue
            self.point, verified = self.point.plus(size, step), False
            steps += 1

    def ended(self, exhausted: bool, idle: int) -> Status | None:
        """Why to end before the tolerance is reached, if so."""
        if self.answer:
            return self.answer if isinstance(self.answer, Status) else Status.STOPPED
        if exhausted:
            return Status.MAX_ITER
        falls = len(self.rows) <= _PATIENCE or (
            self.rows[-1 - _PATIENCE][0] - self.rows[-1][0] > 10.0 * _ROUNDING * abs(self.rows[-1][0])
        )
        return Status.STALLED if idle >= _PATIENCE and not falls else None

    def verify(self, status: Status, tol: float) -> Status:
        """Status at values recomputed."""
        self.point = self.system.refresh(self.point)
        self.left()
        return Status.CONVERGED if self.residual <= tol else status

    def direction(self, curvature: Curvature, r: Floats, t: Floats, enough: float) -> tuple[Move, int]:
        """Step that removes r and t, as far as the distance from the minimum makes it worth, and its solves."""
        system = self.system
        forcing = min(0.3, np.sqrt(self.residual)) ** 2
        if self.inside is None:
            first, decrease, rho_before = 0, 0.0, 1.0
            step = Move(*(np.zeros_like(part) for part in self.point))
            opening = system.open(r, t)
            if opening is not None:
                step = step.plus(1.0, opening)
                decrease = float(np.vdot(r, opening.values) + np.vdot(t, opening.theta))
                r, t = self.reduced(r, t, curvature, opening)
            p = step
        else:
            first, decrease, rho_before, r, t, self.inner = (self.inside[name] for name in _INSIDE)
            step, p = Move(*self.inside["step"]), Move(*self.inside["p"])
            self.inside = None
        for inner in range(first, _MOST_INNER):
            z = system.precondition(r, t)
            rho = float(np.vdot(r, z.values) + np.vdot(t, z.theta))
            if not rho > 0.0 or (inner and rho <= forcing * decrease):
                # What is left hardly changes the function, as where K is singular; z itself removes that from a.
                after = np.linalg.norm(self.reduced(r, t, curvature, z)[0])
                return (step.plus(1.0, z) if after < np.linalg.norm(r) else step), inner + 1
            p = z if inner == 0 else z.plus(rho / rho_before, p)
            bent, turn = curvature(p.values, p.theta)
            bend = float(np.vdot(p.values, self.penalty * p.coef + bent) + np.vdot(p.theta, turn))
            if not bend > 0.0:
                return (step if inner else p), inner + 1
            alpha, rho_before = rho / bend, rho
            step, decrease = step.plus(alpha, p), decrease + alpha * rho
            r, t = r - alpha * (self.penalty * p.coef + bent), t - alpha * turn
            self.inner += 1
            if self.monitor is not None and (answer := self.monitor(self.inner, self.residual)):
                self.answer = answer
                return step, inner + 1
            if np.hypot(np.linalg.norm(r), np.linalg.norm(t)) <= enough:
                return step, inner + 1
            here = dict(zip(_INSIDE, (inner + 1, decrease, rho_before, r, t, self.inner), strict=True))
            here |= {"step": step, "p": p}
            self.kept.offer(lambda here=here: {**self.state(), "inside": here})
        return step, _MOST_INNER

    def reduced(self, r: Floats, t: Floats, curvature: Curvature, step: Move) -> tuple[Floats, Floats]:
        """What is left of r and t after a step."""
        bent, turn = curvature(step.values, step.theta)
        return r - self.penalty * step.coef - bent, t - turn

    def search(self, step: Move, now: float, r: Floats, t: Floats) -> float:
        """Length of the step: one, halved until the objective falls enough; 0 if it cannot."""
        slope = float(np.vdot(r, step.values) + np.vdot(t, step.theta))
        if not slope > 0.0:
            return 0.0
        size = 1.0
        for _ in range(_HALVINGS):
            after = self.objective(self.point.plus(size, step))
            if after <= now - _ENOUGH * size * slope + _ROUNDING * abs(now):
                return size
            size *= 0.5
        return 0.0

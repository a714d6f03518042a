r"""The reference for BoxQP: a general quadratic program by an interior point method.

Symbols: P = K + diag(r), A the (g, n) matrix that sums over groups, z the variables in units in which they are
of size one. Variables whose box is a point are not variables.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer.arrays import Bools, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import Integer, Positive
from mercer.errors import CapabilityError, ParameterError
from mercer.problems import BoxQP, Solution, Status, Trace
from mercer.runtime.tiling import in_background
from mercer.solvers.box.optimality import duality_gap, multipliers, project, violation
from mercer.solvers.linear.cholesky_solver import HasDense
from mercer.solvers.solver import Monitor, Solver

__all__ = ["InteriorPoint"]
__public__ = __all__

_MATRICES = 4  # of n x n numbers: K, P, the copy that piqp keeps, and its factor
_ROUNDS = 30  # of the polish; it usually takes one or two
_NEAR = 1e-11  # of the diagonal of K: weight of staying near where many points are as good
_FLAT = 1e-4  # of the fall along a direction: what is left of the curve on the way to infinity
_ROUNDING = 1e-14  # of the largest sum of terms of the gradient: what rounding may leave of a violation


class InteriorPoint(Solver):
    r"""Interior point method for the BoxQP, on all of K at once: slow, exact, and independent of SMO.

    .. math:: \min_\beta \; \tfrac12 \beta^\top (K + \mathrm{diag}(r)) \beta + p^\top \beta \quad
              \text{s.t.} \quad \ell \le \beta \le u, \quad \sum_{i \in g} \beta_i = t_g

    The program is given to piqp (Schwan, Jiang, Kuhn and Jones, 2023). Its answer has half the digits where a
    variable is at an end without being pressed against it, so an active set is read off it and the linear system of
    the free variables solved, until the optimality conditions hold.

    Seed: [SS] Section 3.3, where decomposition is the alternative to such a solver.

    Parameters
    ----------
    tol : float, default 1e-9
        Largest violation of the optimality conditions, in units of the largest entry of p, or of 1 where that is
        smaller. Positive.
    max_iter : int, default 250
        Iterations of the interior point method. At least 1.

    Notes
    -----
    Solves BoxQP; needs a Gram that can be written out. K must be positive semi-definite on differences of feasible
    points. Cost O(n^3) per iteration, some 20 of them; memory four n x n arrays, within the Gram's budget. Ctrl-C is
    answered at once; a monitor is not called, so time limits do not stop it. ``state`` of the solution is the number
    of iterations. Needs the optional package piqp: ``pip install 'mercer[qp]'``.

    Examples
    --------
    >>> class Matrix:
    ...     def to_dense(self):
    ...         return np.eye(2)
    >>> problem = BoxQP(Matrix(), np.array([-1.0, 1.0]), np.array([0.0, -9.0]), np.array([9.0, 0.0]))
    >>> solution = InteriorPoint().solve(problem)
    >>> solution.coef.round(6), solution.status.name
    (array([ 1., -1.]), 'CONVERGED')
    """

    solves = BoxQP
    needs = (HasDense,)
    remedy = "Use gram=Dense(), or leave out solver=."
    constraints = {"tol": Positive(), "max_iter": Integer(1)}

    def __init__(self, tol: float = 1e-9, max_iter: int = 250) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, problem: BoxQP, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        began = time.perf_counter()
        n = len(problem.linear)
        memory = getattr(getattr(problem.gram, "resources", None), "memory", None)
        Plan(
            f"InteriorPoint on {n} variables",
            {"quadratic program": 8 * _MATRICES * n * n},
            ("solver=SMO() (a few rows at a time)",),
        ).require(memory)
        K = np.asarray(problem.gram.to_dense(), dtype=np.float64)
        ridge = np.broadcast_to(np.asarray(problem.ridge, dtype=np.float64), (n,))
        part = _reduced(problem, K, ridge)
        beta, pressed, ended, iterations = self._interior(problem, part)
        beta, residual = _polish(problem, K, ridge, beta, pressed)
        product = K @ beta
        gradient = product + ridge * beta + problem.linear
        rho = multipliers(problem, beta, gradient)
        terms = np.max(np.abs(K) @ np.abs(beta) + np.abs(problem.linear), initial=0.0)
        if residual <= self.tol * np.max(np.abs(problem.linear), initial=1.0) + _ROUNDING * terms:
            status = Status.CONVERGED
        elif _falls_forever(problem, beta, float(beta @ (gradient - problem.linear))):
            status = Status.UNBOUNDED
        else:
            status = ended if ended is not Status.CONVERGED else Status.STALLED
        objective = 0.5 * beta @ (gradient + problem.linear)
        return Solution(
            coef=beta,
            status=status,
            residual=residual,
            multipliers=rho,
            gap=duality_gap(problem, beta, product, rho),
            trace=Trace.of([(float(objective), residual, time.perf_counter() - began)]),
            state=iterations,
        )

    def _interior(self, problem: BoxQP, part: _Reduced) -> tuple[Floats, Bools, Status, int]:
        """Point near the optimum, which variables are pressed against an end, how and when the iterations ended."""
        beta, pressed = np.where(part.free, 0.0, problem.lower), ~part.free
        if not part.free.any():
            return beta, pressed, Status.CONVERGED, 0
        result, ended = _run(part, self.tol, self.max_iter)
        if not np.isfinite(result.x).all():
            return project(problem, beta), pressed, ended, int(result.info.iter)
        # an end is reached where the pressure on it is larger than the distance from it
        down = np.isfinite(part.lower) & (result.z_bl > result.x - part.lower)
        up = np.isfinite(part.upper) & (result.z_bu > part.upper - result.x) & ~down
        inside = np.clip(part.unit * result.x, problem.lower[part.free], problem.upper[part.free])
        inside = np.where(down, problem.lower[part.free], np.where(up, problem.upper[part.free], inside))
        beta[part.free], pressed[part.free] = inside, down | up
        return beta, pressed, ended, int(result.info.iter)


class _Reduced(NamedTuple):
    """A quadratic program in variables z = beta / unit of those that can move."""

    free: Bools
    unit: float
    P: Floats
    linear: Floats
    lower: Floats
    upper: Floats
    A: Floats
    total: Floats


def _reduced(problem: BoxQP, K: Floats, ridge: Floats) -> _Reduced:
    free = problem.upper > problem.lower
    fixed = np.where(free, 0.0, problem.lower)
    count, group = len(problem.total), _groups(problem)
    A = (np.arange(count)[:, None] == group[free]).astype(np.float64)
    total = problem.total - np.bincount(group, weights=fixed, minlength=count)[:count]
    used = A.any(axis=1)
    linear = (problem.linear + K @ fixed)[free]
    P = K[np.ix_(free, free)]
    np.einsum("ii->i", P)[:] += ridge[free]
    unit = _unit(problem, P, linear, total)
    return _Reduced(
        free=free,
        unit=unit,
        P=np.asfortranarray(P * unit),
        linear=linear,
        lower=problem.lower[free] / unit,
        upper=problem.upper[free] / unit,
        A=np.asfortranarray(A[used]),
        total=total[used] / unit,
    )


def _unit(problem: BoxQP, P: Floats, linear: Floats, total: Floats) -> float:
    """Size that the variables will have: that of their boxes, or what balances p and K if that is smaller."""
    width = (problem.upper - problem.lower)[np.isfinite(problem.upper - problem.lower)]
    steep, bend = np.max(np.abs(linear), initial=0.0), np.max(np.diagonal(P), initial=0.0)
    sizes = [float(np.max(width, initial=0.0)), steep / bend if bend > 0.0 else 0.0]
    sizes = [size for size in sizes if 0.0 < size < np.inf]
    unit = min(sizes) if sizes else float(np.max(np.abs(total), initial=0.0))
    return max(unit, float(np.max(np.abs(total), initial=0.0)) / max(len(linear), 1)) or 1.0


def _run(part: _Reduced, tol: float, max_iter: int) -> tuple[Any, Status]:
    """Result of piqp, and how it ended."""
    try:
        import piqp
    except ImportError as error:
        raise CapabilityError(
            "InteriorPoint needs the package piqp, which is not installed; SMO solves the same problem without it. "
            "Run: pip install 'mercer[qp]', or use solver=SMO()."
        ) from error
    solver: Any = piqp.DenseSolver()
    settings = solver.settings
    settings.eps_abs = settings.eps_rel = settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = 1e-3 * tol
    settings.max_iter = max_iter
    sums = (part.A, part.total) if len(part.total) else (None, None)
    solver.setup(part.P, part.linear, *sums, x_l=part.lower, x_u=part.upper)
    status = in_background(solver.solve, work=float(len(part.linear)) ** 3)
    ended = {piqp.Status.PIQP_SOLVED: Status.CONVERGED, piqp.Status.PIQP_MAX_ITER_REACHED: Status.MAX_ITER}
    return solver.result, ended.get(status, Status.STALLED)


def _falls_forever(problem: BoxQP, beta: Floats, curve: float) -> bool:
    """Whether beta, where the iterations gave up, points down a valley: p falls along it and K hardly bends."""
    if np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all():
        return False
    fall = -float(problem.linear @ beta)  # at a minimum of a cone it is as large as the curve
    return fall > 0.0 and curve <= _FLAT * fall


def _polish(problem: BoxQP, K: Floats, ridge: Floats, beta: Floats, pressed: Bools) -> tuple[Floats, float]:
    """Best feasible point found by active sets from a point near the optimum, and its violation."""
    group, count = _groups(problem), len(problem.total)
    best = _within(problem, beta, pressed)
    least = violation(problem, best, K @ best + ridge * best + problem.linear)
    for _ in range(_ROUNDS):
        beta, rho = _minimum(problem, K, ridge, beta, np.flatnonzero(~pressed))
        inside = np.clip(beta, problem.lower, problem.upper)
        point = _within(problem, inside, pressed)
        gradient = K @ point + ridge * point + problem.linear
        reached = violation(problem, point, gradient)
        if reached < least:
            best, least = point, reached
        # Next the variables that left the box are held at its ends, and those pressed the wrong way let go.
        gradient = K @ inside + ridge * inside + problem.linear
        slope = gradient - (rho[group] if count else 0.0)
        wrong = np.where(inside <= problem.lower, slope < 0.0, slope > 0.0) & (problem.lower < problem.upper)
        following = np.where(pressed, ~wrong, inside != beta)
        if np.array_equal(following, pressed):
            break
        beta, pressed = inside, following
    return best, least


def _within(problem: BoxQP, beta: Floats, pressed: Bools) -> Floats:
    """Feasible point near beta; what is pressed stays where it is if the sums can be met without it."""
    held = dataclasses.replace(
        problem,
        lower=np.where(pressed, beta, problem.lower),
        upper=np.where(pressed, beta, problem.upper),
    )
    try:
        return project(held, beta)
    except ParameterError:
        return project(problem, beta)


def _minimum(problem: BoxQP, K: Floats, ridge: Floats, beta: Floats, index: Indices) -> tuple[Floats, Floats]:
    """Point with the least objective if only some variables move, without a box, and the multipliers there."""
    group, count = _groups(problem), len(problem.total)
    gradient = K @ beta + ridge * beta + problem.linear
    rho = multipliers(problem, beta, gradient)
    used = np.unique(group[index]) if count else np.zeros(0, dtype=np.intp)
    m, s = len(index), len(used)
    if m == 0:
        return beta, rho
    system = np.zeros((m + s, m + s))
    system[:m, :m] = K[np.ix_(index, index)]
    diagonal = np.einsum("ii->i", system)[:m]
    diagonal += ridge[index]
    size = np.max(np.abs(diagonal), initial=0.0) or 1.0
    diagonal += _NEAR * size  # of many minima one near beta
    sums = (used[:, None] == group[index]).astype(np.float64)
    system[m:, :m], system[:m, m:] = size * sums, size * sums.T
    off = problem.total - np.bincount(group, weights=beta, minlength=count)[:count] if count else np.zeros(0)
    rhs = np.concatenate([(rho[group[index]] if count else 0.0) - gradient[index], size * off[used]])
    step = scipy.linalg.solve(system, rhs, assume_a="sym", check_finite=False)
    moved = beta.copy()
    moved[index] += step[:m]
    rho = rho.copy()
    rho[used] -= size * step[m:]
    return moved, rho


def _groups(problem: BoxQP) -> Indices:
    return np.zeros(len(problem.linear), dtype=np.intp) if problem.group is None else problem.group

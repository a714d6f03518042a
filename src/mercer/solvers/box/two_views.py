r"""The quadratic program of two support vector machines that must agree, by interior points.

Symbols: x = (alpha_A, alpha_B, beta+, beta-) in a box [0, u]; g = J x the coefficients of both functions,

    J = ((Y, 0, -I, I), (0, Y, I, -I)),     min 1/2 g' K g - p' x   subject to the sums of g_A and of g_B being zero,

K = diag(K_A, K_B) = F F'. The Newton step needs (J' K J + D)^-1 with D diagonal, which is by Woodbury a matrix of the
order of the rank: I + F' E F with E = J D^-1 J', four diagonals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer.arrays import Floats
from mercer.problems import Status

__all__ = ["TwoViews", "solve_two_views"]

_INWARD = 0.995  # of the way to the end of the box
_DAMPING = 1e-9  # of the mean diagonal of K, added in the Newton matrix, so that its factor keeps some digits
_WORSE = 5  # steps without progress after which rounding is all that is left


@dataclass(frozen=True, eq=False)
class TwoViews:
    """Weights of both functions in their factors, intercepts, coefficients (n, 2), and how the solver ended."""

    weights: tuple[Floats, Floats]
    intercepts: Floats
    coef: Floats
    gap: float
    iterations: int
    status: Status


class _Program:
    """Products with J, F and the Newton matrix."""

    def __init__(self, F: tuple[Floats, Floats], sign: Floats) -> None:
        self.F, self.sign, self.n = F, sign, len(sign)
        self.ranks = F[0].shape[1], F[1].shape[1]
        self.damping = _DAMPING * max(sum(float(np.sum(part * part)) for part in F) / (2 * len(sign)), 1e-300)

    def J(self, x: Floats) -> tuple[Floats, Floats]:
        a, b, plus, minus = np.split(x, 4)
        return self.sign * a - plus + minus, self.sign * b + plus - minus

    def Jt(self, gA: Floats, gB: Floats) -> Floats:
        return np.concatenate([self.sign * gA, self.sign * gB, gB - gA, gA - gB])

    def lengths(self, x: Floats) -> tuple[Floats, Floats]:
        """Return F' J x, both weights."""
        gA, gB = self.J(x)
        return self.F[0].T @ gA, self.F[1].T @ gB

    def factored(self, d: Floats) -> Any:
        """Return the solution operator of (J' K J + diag(d)) and what the sums need."""
        inverse = 1.0 / (d + self.damping)
        a, b, plus, minus = np.split(inverse, 4)
        AA, BB, AB = a + plus + minus, b + plus + minus, -(plus + minus)
        FA, FB = self.F
        r = self.ranks[0]
        M = np.eye(sum(self.ranks))
        M[:r, :r] += FA.T @ (AA[:, None] * FA)
        M[r:, r:] += FB.T @ (BB[:, None] * FB)
        M[:r, r:] = FA.T @ (AB[:, None] * FB)
        M[r:, :r] = M[:r, r:].T
        chol = scipy.linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

        def solve(v: Floats) -> Floats:
            wA, wB = self.lengths(inverse * v)
            found = scipy.linalg.cho_solve(chol, np.concatenate([wA, wB]), check_finite=False)
            return inverse * (v - self.Jt(FA @ found[:r], FB @ found[r:]))

        return solve


def solve_two_views(
    F: tuple[Floats, Floats],
    sign: Floats,
    upper: tuple[Floats, Floats, Floats],
    epsilon: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    monitor: Any = None,
) -> TwoViews:
    """Solve the program.

    Parameters
    ----------
    F : two arrays (n, r_A), (n, r_B)
        Factors of the matrices of both views.
    sign : (n,) array
        Classes, 1 and -1.
    upper : three arrays (n,)
        Costs of an error in either view, and of disagreement.
    epsilon : float
        Disagreement that costs nothing.
    tol : float, default 1e-6
        Duality gap over one plus the objective, and violation of the sums.
    max_iter : int, default 100
    monitor : callable, optional
        Called as ``monitor(iteration, residual)``; true ends the run.
    """
    program, n = _Program(F, sign), len(sign)
    p = np.concatenate([np.ones(2 * n), np.full(2 * n, -epsilon)])
    u = np.concatenate([upper[0], upper[1], upper[2], upper[2]])
    active = u > 0.0
    width = np.where(active, u, 1.0)  # those without room stay where they are, at zero
    sums = [program.Jt(np.ones(n), np.zeros(n)) * active, program.Jt(np.zeros(n), np.ones(n)) * active]
    A = np.array(sums)
    x = np.where(active, 0.5 * width, 0.0)
    lower_dual, upper_dual = np.ones(4 * n), np.ones(4 * n)
    b = np.zeros(2)
    status, residual, iteration, worse = Status.MAX_ITER, np.inf, 0, 0
    best = (np.inf, x, b)
    for iteration in range(max_iter):
        s = width - x
        wA, wB = program.lengths(x)
        slope = program.Jt(F[0] @ wA, F[1] @ wB) - p
        dual = np.where(active, slope + A.T @ b - lower_dual + upper_dual, 0.0)
        primal = A @ x
        gap = float(x[active] @ lower_dual[active] + s[active] @ upper_dual[active])
        objective = 0.5 * float(wA @ wA + wB @ wB) - float(p @ x)
        unit = 1.0 + abs(objective)
        residual = max(gap / unit, float(np.abs(dual).max()), float(np.abs(primal).max()) / (1.0 + width.max()))
        worse = 0 if residual < best[0] else worse + 1
        if residual < best[0]:
            best = (residual, x, b)
        stop = monitor(iteration, residual) if monitor is not None else False
        if residual <= tol or stop or worse >= _WORSE:
            ended = stop if isinstance(stop, Status) else Status.STOPPED if stop else Status.STALLED
            status = Status.CONVERGED if residual <= tol else ended
            break
        try:
            state = _step(program, A, (x, s, b, lower_dual, upper_dual), (dual, primal), active)
        except np.linalg.LinAlgError:  # the boxes of the free variables have become too narrow for floating point
            status = Status.STALLED
            break
        x, b, lower_dual, upper_dual = state
    residual, x, b = best
    gA, gB = program.J(x)
    weights = program.lengths(x)
    return TwoViews(weights, b.copy(), np.column_stack([gA, gB]), float(residual), iteration, status)


def _step(program: _Program, A: Floats, state: tuple[Any, ...], left: tuple[Any, ...], active: Any) -> tuple[Any, ...]:
    """Take one step of Mehrotra's predictor and corrector."""
    x, s, b, z, v = state
    dual, primal = left
    free = np.where(active, x, 1.0)
    d = np.where(active, z / free + v / s, 1e300)
    solve = program.factored(d)
    across = np.column_stack([solve(row) for row in A])
    small = A @ across

    def direction(zx: Floats, vs: Floats) -> tuple[Floats, ...]:
        """Move so that z x becomes zx and v s becomes vs, to first order."""
        rhs = np.where(active, -dual + (zx - z * free) / free - (vs - v * s) / s, 0.0)
        found = solve(rhs)
        db = np.linalg.lstsq(small, A @ found + primal, rcond=None)[0]
        dx = np.where(active, found - across @ db, 0.0)
        dz = (zx - z * free - z * dx) / free
        dv = (vs - v * s + v * dx) / s
        return dx, db, np.where(active, dz, 0.0), np.where(active, dv, 0.0)

    count = 2 * int(active.sum())
    mu = float(x[active] @ z[active] + s[active] @ v[active]) / count
    dx, _, dz, dv = direction(np.zeros_like(x), np.zeros_like(x))
    long = _longest((x, dx), (s, -dx), (z, dz), (v, dv), active=active)
    after = float((x + long * dx)[active] @ (z + long * dz)[active] + (s - long * dx)[active] @ (v + long * dv)[active])
    center = mu * (after / count / mu) ** 3 if mu > 0.0 else 0.0  # which tiny weights reach by underflow
    dx, db, dz, dv = direction(center - dx * dz, center + dx * dv)
    long = _INWARD * _longest((x, dx), (s, -dx), (z, dz), (v, dv), active=active)
    return x + long * dx, b + long * db, z + long * dz, v + long * dv


def _longest(*pairs: tuple[Floats, Floats], active: Any) -> float:
    """Return the longest step up to 1 with which nothing becomes negative."""
    long = 1.0
    for value, move in pairs:
        down = active & (move < 0.0)
        if down.any():
            long = min(long, float(np.min(-value[down] / move[down])))
    return long

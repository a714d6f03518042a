r"""Smooth risks in a Hilbert space: L-BFGS and conjugate gradients whose vectors are functions.

Symbols: f = (B, w), D functions f_d = sum_s B_sd k(x_s, .) with values F = K B at N sites, and weights w; J(f) =
|f|^2 / 2 + R(F, w), whose gradient is the function f + (R_F, R_w): its coefficients are B + dR/dF, whatever K is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Status

__all__ = ["Descent", "Function", "descend"]

_MEMORY = 20  # pairs of L-BFGS
_SEARCHES = 40  # values along a line

Risk = Callable[[Floats, Floats], tuple[float, Floats, Floats]]  # F, w -> R, dR/dF, dR/dw


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the space with its values at the sites."""

    B: Floats
    F: Floats
    w: Floats

    def dot(self, other: Function) -> float:
        """Return the inner product in the space."""
        return float(np.vdot(self.B, other.F) + self.w @ other.w)

    def plus(self, t: float, other: Function) -> Function:
        """Return f + t h."""
        return Function(self.B + t * other.B, self.F + t * other.F, self.w + t * other.w)

    def times(self, t: float) -> Function:
        """Return t f."""
        return Function(t * self.B, t * self.F, t * self.w)


@dataclass(frozen=True, eq=False)
class Descent:
    """What a descent has reached.

    Attributes
    ----------
    function : Function
    objective : float
    gap : float
        The objective is above its minimum by no more than this: half the squared length of the gradient, since J has
        at least the curvature of its penalty.
    status : Status
    rows : list
        Objective and length of the gradient, iteration by iteration.
    """

    function: Function
    objective: float
    gap: float
    status: Status
    rows: list[tuple[float, float, float]]


def descend(
    gram: Any,
    risk: Risk,
    width: int,
    extras: int,
    method: str,
    tol: float,
    max_iter: int,
    monitor: Callable[[int, float], Any] | None = None,
) -> Descent:
    """Minimise |f|^2 / 2 + R(f).

    Parameters
    ----------
    gram : Gram
        Only multiplied, once in each iteration.
    risk : callable
        Convex and smooth.
    width, extras : int
        D, and the number of weights.
    method : {"lbfgs", "conjugate_gradient"}
        In the inner product of the space, which is what preconditioning by K gives.
    tol : float
        It ends when the gradient's length is at most this, times what it was at zero.
    max_iter : int
    monitor : callable, optional
        Called as ``monitor(iteration, residual)``; a true answer ends the descent.
    """
    zero = np.zeros((gram.shape[0], width))
    f = Function(zero, zero.copy(), np.zeros(extras))
    J, slope = _evaluated(gram, risk, f)
    first = length = math.sqrt(max(slope.dot(slope), 0.0))
    status, rows, pairs, direction = Status.MAX_ITER, [], [], slope.times(-1.0)
    least = (J, length, f)
    for iteration in range(max_iter + 1):
        relative = length / first if first > 0.0 else 0.0
        rows.append((J, relative, 0.0))
        stop = monitor(iteration, relative) if monitor is not None else False
        if relative <= tol:
            status = Status.CONVERGED
            break
        if stop:
            status = stop if isinstance(stop, Status) else Status.STOPPED
            break
        downhill = direction.dot(slope)
        if downhill >= 0.0:
            pairs, direction, downhill = [], slope.times(-1.0), -(length**2)
        step = _line_search(risk, f, direction, J, downhill)
        if step == 0.0:  # rounding: no lower value can be seen
            status = Status.CONVERGED if relative <= math.sqrt(np.finfo(float).eps) * 10.0 else Status.STALLED
            break
        new = f.plus(step, direction)
        J, turned = _evaluated(gram, risk, new)
        change = turned.plus(-1.0, slope)
        if method == "lbfgs":
            pairs = [*pairs[1 - _MEMORY :], (direction.times(step), change)]
            direction = _quasi_newton(turned, pairs)
        else:
            beta = max(0.0, turned.dot(change) / length**2)
            direction = turned.times(-1.0).plus(beta, direction)
        f, slope = new, turned
        length = math.sqrt(max(slope.dot(slope), 0.0))
        if length < least[1]:
            least = (J, length, f)
    J, length, f = least
    return Descent(f, J, 0.5 * length**2, status, rows)


def _evaluated(gram: Any, risk: Risk, f: Function) -> tuple[float, Function]:
    """Return J and its gradient, a function."""
    value, by_values, by_weights = risk(f.F, f.w)
    coefficients = f.B + by_values
    return value + 0.5 * f.dot(f), Function(coefficients, f.F + gram @ by_values, f.w + by_weights)


def _line_search(risk: Risk, f: Function, p: Function, J: float, downhill: float) -> float:
    """Return a step that satisfies the conditions of Wolfe, by bisection; along a line no product with K is needed."""
    square, cross, own = p.dot(p), f.dot(p), f.dot(f)
    low, high, t, best = 0.0, math.inf, 1.0, 0.0
    for _ in range(_SEARCHES):
        value, by_values, by_weights = risk(f.F + t * p.F, f.w + t * p.w)
        value += 0.5 * (own + 2.0 * t * cross + t * t * square)
        slope = cross + t * square + float(np.vdot(by_values, p.F) + by_weights @ p.w)
        # near the minimum values differ by rounding alone: there the slope decides
        lower = value <= J + 1e-4 * t * downhill or (abs(value - J) <= 1e-13 * abs(J) and slope <= 0.9 * abs(downhill))
        if not lower:
            high = t
            t = 0.5 * (low + high)
            continue
        if slope < 0.9 * downhill:
            low = best = t
            t = 2.0 * t if high == math.inf else 0.5 * (low + high)
            continue
        return t
    return best


def _quasi_newton(slope: Function, pairs: list[tuple[Function, Function]]) -> Function:
    """Return the direction of L-BFGS: two loops over the last pairs of steps and changes of the gradient."""
    q, factors = slope, []
    for s, y in reversed(pairs):
        rho = 1.0 / max(y.dot(s), np.finfo(float).tiny)
        a = rho * s.dot(q)
        q = q.plus(-a, y)
        factors.append((rho, a))
    s, y = pairs[-1]
    q = q.times(s.dot(y) / max(y.dot(y), np.finfo(float).tiny))
    for (s, y), (rho, a) in zip(pairs, reversed(factors), strict=True):
        q = q.plus(a - rho * y.dot(q), s)
    return q.times(-1.0)

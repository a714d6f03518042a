r"""Smooth risks in a Hilbert space: L-BFGS and conjugate gradients whose vectors are functions.

Symbols: f = (B, w), D functions f_d = sum_s B_sd k(x_s, .) with values F = K B at N sites, and weights w; J(f) =
|f|^2 / 2 + R(F, w), whose gradient is the function f + (R_F, R_w): its coefficients are B + dR/dF, whatever K is. With
a factor, K = Phi Phi^T, functions are F = Phi V with weights V, and the gradient has the weights V + Phi^T dR/dF.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Status
from mercer.solvers.solver import Watch

__all__ = ["Descent", "Function", "descend"]

_MEMORY = 20  # pairs of L-BFGS
_SEARCHES = 40  # values along a line

Risk = Callable[[Floats, Floats], tuple[float, Floats, Floats]]  # F, w -> R, dR/dF, dR/dw


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the space with its values at the sites; those of gradients on a factor are not there."""

    B: Floats
    F: Floats
    w: Floats

    def plus(self, t: float, other: Function) -> Function:
        """Return f + t h."""
        return Function(self.B + t * other.B, self.F + t * other.F, self.w + t * other.w)

    def times(self, t: float) -> Function:
        """Return t f."""
        return Function(t * self.B, t * self.F, t * self.w)


class _ByCoefficients:
    """Functions as coefficients of sites: products with K alone."""

    def __init__(self, gram: Any, width: int, extras: int) -> None:
        self.gram = gram
        zero = np.zeros((gram.shape[0], width))
        self.zero = Function(zero, zero.copy(), np.zeros(extras))

    def dot(self, f: Function, g: Function) -> float:
        """Return the inner product in the space."""
        return float(np.vdot(f.B, g.F) + f.w @ g.w)

    def gradient(self, f: Function, by_values: Floats, by_weights: Floats) -> Function:
        """Return the gradient of J."""
        return Function(f.B + by_values, f.F + self.gram @ by_values, f.w + by_weights)

    def with_values(self, p: Function) -> Function:
        """Return a direction with its values at the sites."""
        return p

    def without_values(self, p: Function) -> Function:
        """Return what L-BFGS has to remember of a step."""
        return p


class _ByWeights(_ByCoefficients):
    """Functions as weights of the columns of a factor: nothing that is remembered is as long as there are sites."""

    def __init__(self, gram: Any, width: int, extras: int) -> None:
        n = gram.shape[0]
        self.gram, self.none = gram, np.zeros((0, width))
        V = np.zeros((len(gram.moment(np.zeros((n, 1)))), width))
        self.zero = Function(V, np.zeros((n, width)), np.zeros(extras))

    def dot(self, f: Function, g: Function) -> float:
        return float(np.vdot(f.B, g.B) + f.w @ g.w)

    def gradient(self, f: Function, by_values: Floats, by_weights: Floats) -> Function:
        return Function(f.B + self.gram.moment(by_values), self.none, f.w + by_weights)

    def with_values(self, p: Function) -> Function:
        return Function(p.B, self.gram.times(p.B), p.w)

    def without_values(self, p: Function) -> Function:
        return Function(p.B, self.none, p.w)


@dataclass(frozen=True, eq=False)
class Descent:
    """What a descent has reached.

    Attributes
    ----------
    function : Function
        With coefficients, or weights if they were asked for and the Gram has a factor.
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
    *,
    weights: bool = False,
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
    weights : bool, default False
        Whether the function is found as weights of a factor, ``moment`` and ``times`` of the Gram.
    """
    space = (_ByWeights if weights else _ByCoefficients)(gram, width, extras)
    f = space.zero
    J, slope = _evaluated(space, risk, f)
    first = length = math.sqrt(max(space.dot(slope, slope), 0.0))
    watch, pairs, direction = Watch(tol, monitor), [], slope.times(-1.0)
    least = (J, length, f)
    for iteration in range(max_iter + 1):
        relative = length / first if first > 0.0 else 0.0
        if watch.ends(iteration, J, relative):
            break
        downhill = space.dot(direction, slope)
        if downhill >= 0.0:
            pairs, direction, downhill = [], slope.times(-1.0), -(length**2)
        direction = space.with_values(direction)
        start = min(1.0, 1.0 / length) if iteration == 0 else 1.0  # the curvature is not known yet
        found = _line_search(space, risk, f, direction, J, downhill, start)
        if found is None:  # rounding: no lower value can be seen
            watch.status = Status.CONVERGED if relative <= math.sqrt(np.finfo(float).eps) * 10.0 else Status.STALLED
            break
        step, J, by_values, by_weights = found
        new = f.plus(step, direction)
        turned = space.gradient(new, by_values, by_weights)
        change = turned.plus(-1.0, slope)
        if method == "lbfgs":
            pairs = [*pairs[1 - _MEMORY :], (space.without_values(direction).times(step), change)]
            direction = _quasi_newton(space, turned, pairs)
        else:
            beta = max(0.0, space.dot(turned, change) / length**2)
            direction = turned.times(-1.0).plus(beta, space.without_values(direction))
        f, slope = new, turned
        length = math.sqrt(max(space.dot(slope, slope), 0.0))
        if length < least[1]:
            least = (J, length, f)
    J, length, f = least
    return Descent(f, J, 0.5 * length**2, watch.status, watch.rows)


def _evaluated(space: _ByCoefficients, risk: Risk, f: Function) -> tuple[float, Function]:
    """Return J and its gradient, a function."""
    value, by_values, by_weights = risk(f.F, f.w)
    return value + 0.5 * space.dot(f, f), space.gradient(f, by_values, by_weights)


def _line_search(
    space: _ByCoefficients, risk: Risk, f: Function, p: Function, J: float, downhill: float, t: float
) -> tuple[float, float, Floats, Floats] | None:
    """Return a step that satisfies the conditions of Wolfe, J there, and the derivatives of R; None if there is none.

    The step is found by bisection; along a line no product with K is needed.
    """
    square, cross, own = space.dot(p, p), space.dot(f, p), space.dot(f, f)
    low, high, best = 0.0, math.inf, None
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
            low, best = t, (t, value, by_values, by_weights)
            t = 2.0 * t if high == math.inf else 0.5 * (low + high)
            continue
        return t, value, by_values, by_weights
    return best


def _quasi_newton(space: _ByCoefficients, slope: Function, pairs: list[tuple[Function, Function]]) -> Function:
    """Return the direction of L-BFGS: two loops over the last pairs of steps and changes of the gradient."""
    q, factors = slope, []
    for s, y in reversed(pairs):
        rho = 1.0 / max(space.dot(y, s), np.finfo(float).tiny)
        a = rho * space.dot(s, q)
        q = q.plus(-a, y)
        factors.append((rho, a))
    s, y = pairs[-1]
    q = q.times(space.dot(s, y) / max(space.dot(y, y), np.finfo(float).tiny))
    for (s, y), (rho, a) in zip(pairs, reversed(factors), strict=True):
        q = q.plus(a - rho * space.dot(y, q), s)
    return q.times(-1.0)

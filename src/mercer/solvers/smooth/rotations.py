r"""Minima over orthonormal frames: functions of the rows of a rotation, or of a part of them.

Symbols: V a frame, (m, d), V V^T = I; G the derivative of the function in V, (m, d); Omega a skew matrix, (d, d).

Frames are moved by rotations of the whole space, V <- V exp(Omega). Along Omega the function changes by <V^T G, Omega>,
so that its gradient among skew matrices is A = V^T G - G^T V. Skew matrices at different frames are compared as they
are, which makes the quasi-Newton recursion of limited memory work on them as it does on vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import expm

from mercer.arrays import Floats
from mercer.errors import DomainError
from mercer.problems import Status

__all__ = ["FrameMinimum", "minimize_frame", "projected", "random_frame", "require_squares"]

_MEMORY = 12  # pairs of steps and changes of the gradient that are kept
_LONGEST = 0.6  # radians, roughly: the longest first step
_ARMIJO = 1e-4
_HALVINGS = 25
_ZERO = 1e-9  # a value below is rounding, as for the dependence of independent data: gradients are over this then


@dataclass(frozen=True, eq=False)
class FrameMinimum:
    """A local minimum over frames.

    Attributes
    ----------
    frame : (m, d) array
    value : float
    residual : float
        Length of the gradient, per radian, over the absolute value of the function, or over 1e-9 if that is larger.
    iterations : int
    status : Status
    """

    frame: Floats
    value: float
    residual: float
    iterations: int
    status: Status


def random_frame(rng: np.random.RandomState, m: int, d: int) -> Floats:
    """Draw m orthonormal rows in d dimensions, uniformly.

    Examples
    --------
    >>> V = random_frame(np.random.RandomState(0), 2, 3)
    >>> (V @ V.T).round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    Q, R = np.linalg.qr(rng.normal(size=(d, m)))
    return np.ascontiguousarray((Q * np.sign(np.diag(R))).T)


def minimize_frame(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    tol: float = 1e-5,
    max_iter: int = 200,
    monitor: Callable[[int, float], bool | Status] | None = None,
) -> FrameMinimum:
    """Minimise a smooth function of an orthonormal frame from a start, by a quasi-Newton method.

    Parameters
    ----------
    function : callable
        V -> value and derivative (m, d), as if the entries of V were free.
    start : (m, d) array
        Orthonormal rows.
    tol : float, default 1e-5
        Tolerance of the gradient relative to the value; see `FrameMinimum`.
    max_iter : int, default 200
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends the search with what it has.

    Returns
    -------
    FrameMinimum

    Notes
    -----
    The value never rises. STALLED means that no shorter step lowered the value, by rounding as a rule. Cost per step
    one evaluation, mostly, and O(d^3).

    Examples
    --------
    >>> C = np.diag([3.0, 2.0, 1.0])
    >>> found = minimize_frame(lambda V: (np.trace(V @ C @ V.T), 2 * V @ C), np.array([[0.6, 0.0, 0.8]]))
    >>> found.frame.round(4) + 0.0, round(found.value, 8)
    (array([[0., 0., 1.]]), 1.0)
    """
    # arrays of the loop are not followed by the type checker, which would take half a minute
    V: Any = np.array(start, dtype=float)
    value, A = _evaluate(function, V)
    A: Any
    steps: list[Any] = []
    changes: list[Any] = []
    answer: bool | Status = False
    residual: float = np.inf
    for iteration in range(max_iter + 1):
        residual = _relative(A, value)
        if monitor is not None:
            answer = monitor(iteration, residual)
        if residual <= tol:
            return FrameMinimum(V, value, residual, iteration, Status.CONVERGED)
        if answer:
            status = answer if isinstance(answer, Status) else Status.STOPPED
            return FrameMinimum(V, value, residual, iteration, status)
        if iteration == max_iter:
            break
        direction: Any = _direction(A, steps, changes)
        slope = float(np.vdot(A, direction))
        if not slope < 0.0:
            steps, changes = [], []
            direction = _direction(A, steps, changes)
            slope = float(np.vdot(A, direction))
        moved: Any = _search(function, V, value, direction, slope)
        if moved is None and steps:  # what is remembered has misled
            steps, changes = [], []
            direction = _direction(A, steps, changes)
            moved = _search(function, V, value, direction, float(np.vdot(A, direction)))
        if moved is None:
            return FrameMinimum(V, value, residual, iteration, Status.STALLED)
        step, V, value, after = moved
        change: Any = after - A
        if float(np.vdot(step, change)) > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            steps, changes = [*steps, step][-_MEMORY:], [*changes, change][-_MEMORY:]
        A = after
    return FrameMinimum(V, value, residual, max_iter, Status.MAX_ITER)


def _evaluate(function: Callable[[Floats], tuple[float, Floats]], V: Floats) -> tuple[float, Floats]:
    """Return the value and the gradient among skew matrices."""
    value, G = function(V)
    product = V.T @ G
    return float(value), product - product.T


def _relative(A: Floats, value: float) -> float:
    """Return the length of the gradient in radians, over the value."""
    length = float(np.linalg.norm(A)) / np.sqrt(2.0)
    return length / max(abs(value), _ZERO)


def _direction(A: Floats, steps: list[Floats], changes: list[Floats]) -> Floats:
    """Return minus the quasi-Newton matrix times the gradient."""
    if not steps:
        length = float(np.linalg.norm(A))
        return -A * (_LONGEST / max(length, np.finfo(float).tiny))
    q: Any = A.copy()
    factors: list[tuple[float, float]] = []
    for s, y in zip(reversed(steps), reversed(changes), strict=True):
        rho = 1.0 / float(np.vdot(s, y))
        a = rho * float(np.vdot(s, q))
        q -= a * y
        factors.append((rho, a))
    q *= float(np.vdot(steps[-1], changes[-1])) / float(np.vdot(changes[-1], changes[-1]))
    for (rho, a), s, y in zip(reversed(factors), steps, changes, strict=True):
        q += s * (a - rho * float(np.vdot(y, q)))
    length = float(np.linalg.norm(q))
    return -q * min(1.0, 2.0 * _LONGEST / max(length, np.finfo(float).tiny))


def _search(
    function: Callable[[Floats], tuple[float, Floats]], V: Floats, value: float, direction: Floats, slope: float
) -> tuple[Floats, Floats, float, Floats] | None:
    """Shorten a step until the value falls enough; (step, frame, value, gradient) or None."""
    length: float = 1.0
    for _ in range(_HALVINGS):
        step: Any = length * direction
        moved: Any = _orthonormal(V @ expm(step))
        after, A = _evaluate(function, moved)
        if np.isfinite(after) and after <= value + _ARMIJO * length * slope * 0.5:
            return step, moved, after, A
        fall: float = length * slope * 0.5
        bend: float = after - value - fall
        shorter: float = -0.5 * fall / bend if np.isfinite(bend) and bend > 0.0 else 0.5
        length *= min(max(shorter, 0.1), 0.5)
    return None


def _orthonormal(V: Floats) -> Floats:
    """Take back what rounding has done to a frame: one step of Newton's iteration for the nearest one."""
    return 1.5 * V - 0.5 * (V @ V.T) @ V


def projected(X: Floats, mean: Floats, components: Floats) -> Floats:
    """Return scores of samples, (m, q), along directions in rows; refuse what overflows.

    Examples
    --------
    >>> projected(np.array([[3.0, 1.0]]), np.array([1.0, 1.0]), np.array([[0.5, 0.0]]))
    array([[1.]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores = (X - mean) @ components.T
    if not np.isfinite(scores).all():
        first = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise DomainError(
            f"Sample {first} has entries of up to {np.abs(X[first]).max():.3g}, whose scores overflow; samples must be "
            "of the size of those of fit. Leave it out, or correct its units."
        )
    return scores


def require_squares(*tables: Floats) -> None:
    """Raise DomainError if sums of squares of samples, or of what is made of them, overflow.

    Examples
    --------
    >>> require_squares(np.ones((2, 2)))
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if all(np.isfinite(np.sum(table**2)) for table in tables):
            return
    raise DomainError(
        "Samples were given whose squares overflow; sums of squares must be finite. Scale the columns, for example by "
        "sklearn.preprocessing.StandardScaler."
    )

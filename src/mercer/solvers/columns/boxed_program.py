r"""Linear programs of few rows and many boxed variables, by an interior point method or by the simplex method.

.. math:: \min_{u, v} \; c^\top u + f^\top v \quad \text{s.t.} \quad A u + B v \le b, \;\; E u = g, \;\; 0 \le u \le U

Symbols: u the N boxed variables, v the few free ones; s = b - A u - B v and t = U - u the slacks; a >= 0 the
multipliers of the rows, rho those of the sums, z >= 0 and x >= 0 those of the two ends of the box; mu the mean of the
products a s, z u, x t, which vanish at the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from mercer.arrays import Floats

__all__ = ["BoxedProgram", "Point", "follow_path"]

_MOST_STEPS = 80
_SHARE = 0.9  # of the way to the boundary that a step goes at least
_FEASIBLE = 1e-9  # violation of rows and sums, in the unit of the right-hand sides
_LOOSE = 1e-3  # of the accuracy: what they may be off where it is low


@dataclass(frozen=True, eq=False)
class BoxedProgram:
    """A linear program whose variables have boxes.

    Attributes
    ----------
    cost : (N,) array
        c.
    upper : (N,) array
        U, positive.
    rows, right : (J, N) array, (J,) array
        A and b.
    free, free_cost : (J, k) array, (k,) array
        B and f.
    equal, sums : (e, N) array, (e,) array
        E and g.
    """

    cost: Floats
    upper: Floats
    rows: Floats
    right: Floats
    free: Floats
    free_cost: Floats
    equal: Floats
    sums: Floats


class Point(NamedTuple):
    """A point inside, or nearly so: variables, slacks and multipliers."""

    u: Floats
    t: Floats
    v: Floats
    s: Floats
    a: Floats
    rho: Floats
    z: Floats
    x: Floats


def follow_path(program: BoxedProgram, accuracy: float) -> Point:
    """Follow the central path until the duality gap is small.

    Parameters
    ----------
    program : BoxedProgram
        With at least one row.
    accuracy : float
        Gap at which to stop.

    Returns
    -------
    Point
        In the unit of the program; its multipliers a and variables u are strictly inside.

    Notes
    -----
    Mehrotra's predictor and corrector. A step costs N J^2 operations for the normal equations; everything else is
    linear in N. Starts from the solution of a program of fewer rows took more steps. A point near the middle of the
    optimal face, which this method ends at, gives better columns than a vertex does: fewer rounds of column generation
    are needed.

    Examples
    --------
    >>> one = BoxedProgram(
    ...     np.array([-1.0, -2.0]),
    ...     np.ones(2),
    ...     np.ones((1, 2)),
    ...     np.ones(1),
    ...     np.zeros((1, 0)),
    ...     np.zeros(0),
    ...     np.zeros((0, 2)),
    ...     np.zeros(0),
    ... )
    >>> follow_path(one, 1e-9).u.round(6)
    array([0., 1.])
    """
    unit = float(program.upper.mean())
    scaled = BoxedProgram(
        program.cost,
        program.upper / unit,
        program.rows,
        program.right / unit,
        program.free,
        program.free_cost,
        program.equal,
        program.sums / unit,
    )
    return _times(_path(scaled, accuracy / unit), unit)


def _times(point: Point, unit: float) -> Point:
    """Return a point whose variables and slacks are in another unit; multipliers have none."""
    return point._replace(u=point.u * unit, t=point.t * unit, v=point.v * unit, s=point.s * unit)


def _path(P: BoxedProgram, accuracy: float) -> Point:
    point = _start(P)
    size = 1.0 + max(np.abs(P.right).max(initial=0.0), np.abs(P.sums).max(initial=0.0))
    count = 2 * len(P.upper) + len(P.right)
    best, least = point, np.inf
    for _ in range(_MOST_STEPS):
        left = _left(P, point)
        mu = _products(point) / count
        off = max(np.abs(left.p).max(initial=0.0), np.abs(left.e).max(initial=0.0), np.abs(left.t).max()) / size
        dual = max(float(np.abs(left.u).sum()), float(np.abs(left.v).sum()))
        total = mu * count + size * (off + dual)
        if total < least:
            best, least = point, total
        if (
            mu * count <= accuracy
            and off <= max(_FEASIBLE, _LOOSE * accuracy / size)
            and dual <= max(_FEASIBLE, accuracy)
        ) or not np.isfinite(mu):
            break
        if total > 1e8 * least:  # rounding has taken over
            break
        try:
            point = _advance(P, point, left, mu, count)
        except (np.linalg.LinAlgError, sl.LinAlgError):
            break
    return best


def _products(q: Point) -> float:
    return float(q.z @ q.u + q.x @ q.t + q.a @ q.s)


class _Left(NamedTuple):
    """What is left of each equation at a point."""

    u: Floats
    v: Floats
    p: Floats
    e: Floats
    t: Floats


def _left(P: BoxedProgram, q: Point) -> _Left:
    return _Left(
        -(P.cost + q.a @ P.rows + q.rho @ P.equal - q.z + q.x),
        -(P.free_cost + q.a @ P.free),
        P.right - P.rows @ q.u - P.free @ q.v - q.s,
        P.sums - P.equal @ q.u,
        P.upper - q.u - q.t,
    )


def _advance(P: BoxedProgram, q: Point, left: _Left, mu: float, count: int) -> Point:
    """Take one step: where the equations alone would lead tells how far to aim, and what to correct."""
    system = _Normal(P, q)
    aim = system.direction(left, -q.z * q.u, -q.x * q.t, -q.a * q.s)
    near, far = _reach(q, aim)
    after = _products(_moved(q, aim, near, far)) / count
    centre = mu * (max(after, 0.0) / mu) ** 3
    step = system.direction(
        left,
        centre - q.z * q.u - aim.z * aim.u,
        centre - q.x * q.t - aim.x * aim.t,
        centre - q.a * q.s - aim.a * aim.s,
    )
    near, far = _reach(q, step)
    return _moved(q, step, _cut(near), _cut(far))


def _cut(reach: float) -> float:
    """Return a step that stays inside."""
    return 1.0 if reach > 1.0 else reach * (1.0 - min(1.0 - _SHARE, 0.01))


def _reach(q: Point, step: Point) -> tuple[float, float]:
    """Return how far variables, and multipliers, can go until one of them is zero; at most a little above 1."""
    ahead = min(_limit(q.u, step.u), _limit(q.t, step.t), _limit(q.s, step.s))
    return ahead, min(_limit(q.a, step.a), _limit(q.z, step.z), _limit(q.x, step.x))


def _limit(values: Floats, step: Floats) -> float:
    ratio = np.max(-step / values, initial=0.0)
    return 1.0 / ratio if ratio > 0.99 else 1.0 / 0.99


def _moved(q: Point, step: Point, near: float, far: float) -> Point:
    return Point(
        q.u + near * step.u,
        q.t + near * step.t,
        q.v + near * step.v,
        q.s + near * step.s,
        q.a + far * step.a,
        q.rho + far * step.rho,
        q.z + far * step.z,
        q.x + far * step.x,
    )


class _Normal:
    """The equations of a step, reduced to the rows: (A T A' + diag(s / a)) da = ..., T = 1 / (z / u + x / t)."""

    def __init__(self, P: BoxedProgram, q: Point) -> None:
        self.P, self.q = P, q
        self.T = 1.0 / (q.z / q.u + q.x / q.t)
        M = (P.rows * self.T) @ P.rows.T
        ridge = q.s / q.a
        M[np.diag_indices(len(M))] += ridge + 1e-14 * (np.trace(M) / len(M))
        self.factor = sl.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        self.border = np.hstack([P.rows @ (self.T[:, None] * P.equal.T), -P.free])
        self.solved = self._solve(self.border)
        self.small = self.border.T @ self.solved
        e = len(P.sums)
        self.small[:e, :e] -= P.equal @ (self.T[:, None] * P.equal.T)

    def _solve(self, right: Floats) -> Floats:
        return sl.cho_solve(self.factor, right, check_finite=False)

    def direction(self, left: _Left, cu: Floats, ct: Floats, cs: Floats) -> Point:
        """Return the step for which z du + u dz = cu, x dt + t dx = ct, a ds + s da = cs, and nothing is left."""
        P, q, T = self.P, self.q, self.T
        R = left.u + cu / q.u - ct / q.t + q.x / q.t * left.t
        first = self._solve(P.rows @ (T * R) - (left.p - cs / q.a))
        beside = np.zeros(0)
        if self.border.shape[1]:
            right = np.concatenate([P.equal @ (T * R) - left.e, -left.v])
            beside = np.linalg.solve(self.small, self.border.T @ first - right)
        da = first - self.solved @ beside
        e = len(P.sums)
        drho, dv = beside[:e], beside[e:]
        du = T * (R - da @ P.rows - drho @ P.equal)
        dt = left.t - du
        return Point(du, dt, dv, (cs - q.s * da) / q.a, da, drho, (cu - q.z * du) / q.u, (ct - q.x * dt) / q.t)


def _start(P: BoxedProgram) -> Point:
    """Return a point with all products alike: the middle of the box, moved so that a sum of one sign is met."""
    J = len(P.right)
    share = 0.5
    if len(P.sums) == 1 and P.sums[0] > 0.0:
        share = float(np.clip(P.sums[0] / (P.equal[0] @ P.upper), 0.05, 0.95))
    u = share * P.upper
    v, found = np.zeros(len(P.free_cost)), P.rows @ u
    if len(v):  # the one free variable bounds all rows
        v[0] = float(found.max()) + 0.1 * float(np.abs(found).max(initial=1.0))
    s = P.right - found - P.free @ v
    s = np.maximum(s, 0.1 * max(1.0, float(np.abs(s).max())))
    a = np.full(J, (np.abs(P.free_cost).sum() or 1.0) / J)
    z = np.full(len(u), max(float(np.abs(P.cost).mean()), float(a.sum()) * 0.1))
    return Point(u, P.upper - u, v, s, a, np.zeros(len(P.sums)), z, z.copy())

r"""The weighted losses of many samples at the values of a function, chunk by chunk, and what a Newton step is made of.

Symbols: psi the loss, f the values (n, k), w sample weights, W second derivatives, B the border, P = (F, B), M about
the Hessian H; psi of a loss with kinks is its envelope.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import NotPositiveDefinite
from mercer.losses import HasBoxDual
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.problems import ConvexRisk, Solution, Status
from mercer.runtime.tiling import spans
from mercer.solvers.smooth.fenchel import Envelope
from mercer.solvers.smooth.hessian import solve_small
from mercer.solvers.smooth.newton import Minimum
from mercer.solvers.solver import Monitor

__all__ = [
    "CHUNK",
    "SPARSE",
    "Terms",
    "at_once",
    "conjugate",
    "curved_product",
    "decomposed",
    "drawn",
    "handles",
    "is_bent",
    "lowest",
    "part_of",
    "rows_of",
    "settled",
    "side_by_side",
    "some",
    "summed",
    "to_come",
    "unkept",
]

CHUNK = 2**16  # samples whose losses are looked at together
SPARSE = 0.7  # share of the samples that are curved, up to which the others are left out of products
_INNER = 200  # conjugate gradients of one step
_LEVEL = 1e-9  # of the first slope along a line: a smaller one is none
_TRIALS = 60  # lengths that are tried along a line


def handles(loss: Any) -> bool:
    """Whether a loss is smooth without parameters of its own, or has a box dual, and so envelopes."""
    if len(getattr(loss, "parameters", ())):
        return False
    return bool(getattr(loss, "smooth", False)) or isinstance(loss, HasBoxDual)


def is_bent(loss: Any) -> bool:
    """Whether a loss with a box dual is once differentiable: its dual has a ridge."""
    return bool(np.all(np.asarray(loss.box_dual(np.ones(1), np.ones(1)).ridge) > 0.0))


class Terms:
    """The weighted loss of some samples at their values, in chunks: the loss itself, or its envelope."""

    def __init__(self, problem: ConvexRisk) -> None:
        self.loss: Any = problem.loss
        self.y = np.asarray(problem.y, dtype=np.float64)
        self.weight = np.broadcast_to(np.asarray(problem.weight, dtype=np.float64), (len(self.y),))
        self.k = 1 if self.y.ndim == 1 else self.y.shape[1]
        self.joined = hasattr(self.loss, "hessian_product") and self.k > 1
        self.strength = np.inf
        self.center: Floats | None = None  # slopes that are known beforehand, of the shape of y
        self.is_plain = bool(getattr(self.loss, "smooth", False))
        self.is_smooth = self.is_plain or is_bent(self.loss)
        self.is_bent = self.is_smooth and not self.is_plain  # straight pieces and parabolas

    def __len__(self) -> int:
        return len(self.y)

    def _of(self, rows: Any) -> Any:
        """The loss of some samples, or its envelope."""
        return self.loss if self.is_smooth else self._envelope(rows)

    def _envelope(self, rows: Any) -> Any:
        if self.is_plain:
            return self.loss
        y = self.y[rows]
        return Envelope(self.loss, y, self.strength, np.zeros_like(y) if self.center is None else self.center[rows])

    def _weighted(self, rows: Any, numbers: Floats) -> Floats:
        return np.asarray(numbers).reshape(-1, self.k) * self.weight[rows, None]

    def value(self, rows: slice, f: Floats) -> float:
        y = self.y[rows]
        return float(self._weighted(rows, self._of(rows).value(y, f.reshape(y.shape))).sum())

    def slope(self, rows: slice, f: Floats) -> Floats:
        y = self.y[rows]
        return self._weighted(rows, self._of(rows).gradient(y, f.reshape(y.shape)))

    def pull(self, f: Floats) -> Floats:
        """Slopes with weights of each sample and output, (n, k)."""
        out = np.empty((len(self), self.k))
        for rows in spans(len(self), CHUNK):
            out[rows] = self.slope(rows, f[rows])
        return out

    def bend(self, f: Floats) -> Floats:
        """Second derivatives of each sample and output, (n, k)."""
        out = np.empty((len(self), self.k))
        for rows in spans(len(self), CHUNK):
            out[rows] = self._bends(rows, f[rows])
        return out

    def _bends(self, rows: slice, f: Floats) -> Floats:
        y = self.y[rows]
        return self._weighted(rows, self._envelope(rows).curvature(y, f.reshape(y.shape)))

    def single(self, bend: Floats) -> Floats:
        """One number for each sample that stands for its second derivatives, (n,)."""
        total = bend.sum(axis=1) / (self.k - 1 if self.joined else self.k)
        return np.where(np.isfinite(total) & (total > 0.0), total, 0.0)

    def distance(self, f: Floats) -> Floats:
        """How far each value is from where a bent loss is curved, (n,); zero where it is."""
        out = np.empty(len(self))
        for rows in spans(len(self), CHUNK):
            y, values = self.y[rows].ravel(), f[rows].ravel()
            dual = self.loss.box_dual(y, np.ones(len(y)))
            # the slope is a variable of the dual, beta = -(f + p) / ridge, that is held in its box
            free = -((values if dual.index is None else values[dual.index]) + dual.linear)
            lacking = np.maximum(np.maximum(dual.ridge * dual.lower - free, free - dual.ridge * dual.upper), 0.0)
            if dual.index is None:
                out[rows] = lacking
            else:
                least = np.full(len(y), np.inf)
                np.minimum.at(least, dual.index, lacking)
                out[rows] = least
        return out

    def nearest(self, f: Floats, count: int) -> Indices:
        """Places of the samples, at least this many, that are nearest to where a bent loss is curved."""
        distance = self.distance(f)
        return np.flatnonzero(distance <= np.partition(distance, count - 1)[count - 1])

    def bent(self, rows: Any, f: Floats, V: Floats) -> Floats:
        """W V of a loss that joins the outputs."""
        return self._weighted(rows, self.loss.hessian_product(self.y[rows], f, V))

    def total(self, f: Floats) -> float:
        found = sum(self.value(rows, f[rows]) for rows in spans(len(self), CHUNK))
        return found if np.isfinite(found) else np.inf

    def turning(self, f: Floats, change: Floats, size: float) -> tuple[float, float]:
        """Slope of the sum of the losses along a change of the values, at a distance, and its derivative."""
        slope = bend = 0.0
        for rows in spans(len(self), CHUNK):
            here, by = f[rows] + size * change[rows], change[rows]
            slope += float(np.vdot(self.slope(rows, here), by))
            bend += float(np.sum(self._bends(rows, here) * by * by))
        return slope, bend

    def along(self, border: Floats, f: Floats) -> tuple[float, Floats]:
        """Sum of the losses, and the slopes summed by the columns of the border, (s, k)."""
        total, sums = 0.0, np.zeros((border.shape[1], self.k))
        for rows in spans(len(self), CHUNK):
            total += self.value(rows, f[rows])
            if len(sums):
                sums += border[rows].T @ self.slope(rows, f[rows])
        return (total if np.isfinite(total) else np.inf), sums

    def judged(self, f: Floats) -> tuple[float, float]:
        """Sum of the losses themselves at values, and that of the differences of Fenchel and Young at the slopes."""
        risk = apart = 0.0
        for rows in spans(len(self), CHUNK):
            y, w = self.y[rows], self.weight[rows, None]
            values = f[rows].reshape(y.shape)
            u = self._of(rows).gradient(y, values)
            cost = self.loss.value(y, values)
            risk += float(np.sum(w * np.reshape(cost, (len(y), -1))))
            apart += float(np.sum(w * np.reshape(cost + self.loss.conjugate(y, u) - u * values, (len(y), -1))))
        return risk, max(apart, 0.0)

    def slopes(self, f: Floats) -> Floats:
        """Slopes without weights, of the shape of y."""
        out = np.empty_like(self.y)
        for rows in spans(len(self), CHUNK):
            y = self.y[rows]
            out[rows] = self._of(rows).gradient(y, f[rows].reshape(y.shape))
        return out


def settled(terms: Terms, border: Floats, f: Floats) -> Floats:
    """Best coefficients of the border, (s, k), beside values f, by small Newton steps."""
    s, k = border.shape[1], terms.k
    found = np.zeros((s, k))
    if not s:
        return found
    before = terms.total(f)
    for _ in range(20):
        here = f + border @ found
        left = -terms.along(border, here)[1]
        step = solve_small(_small(terms, border, here), left.T.ravel()).reshape(k, s).T
        size = 1.0
        for _ in range(40):
            after = terms.total(f + border @ (found + size * step))
            if after <= before - 1e-4 * size * float(np.vdot(step, left)):
                break
            size *= 0.5
        else:
            break
        gained, before, found = before - after, after, found + size * step
        if gained <= 1e-10 * abs(before):
            break
    return found


def _small(terms: Terms, border: Floats, f: Floats) -> Floats:
    """Second derivatives in the coefficients of the border, output by output, (s k, s k)."""
    s, k = border.shape[1], terms.k
    bend = terms.bend(f)
    if not terms.joined and not bend.any():  # straight everywhere, as an envelope can be far from its minimum
        bend = np.broadcast_to(terms.weight[:, None], bend.shape)
    out = np.zeros((s * k, s * k))
    for place in range(s * k):
        V = np.zeros_like(f)
        V[:, place // s] = border[:, place % s]
        first = terms.bent(slice(None), f, V) if terms.joined else bend * V
        out[:, place] = (border.T @ first).T.ravel()
    return out


def lowest(slope: Callable[[float], tuple[float, float]]) -> float:
    """Return the length along a line at which a convex function is least.

    Newton's method between bounds that close in: of straight pieces and parabolas it finds the minimum itself.

    Parameters
    ----------
    slope : callable
        ``slope(t)`` returns the first and the second derivative at t; the first is negative at 0.

    Examples
    --------
    >>> lowest(lambda t: (max(t - 3.0, 0.0) + 0.5 * (t - 1.5), float(t > 3.0) + 0.5))
    1.5
    """
    enough = _LEVEL * abs(slope(0.0)[0])
    low, high, t = 0.0, np.inf, 1.0
    for trial in range(_TRIALS):
        here, bend = slope(t)
        if abs(here) <= enough or high - low <= _LEVEL * t:
            break
        low, high = (t, high) if here < 0.0 else (low, t)
        newton = t - here / bend if bend > 0.0 else np.inf
        if high == np.inf:
            t = min(newton, 4.0 * t)
        else:
            t = newton if low < newton < high and trial < _TRIALS // 2 else 0.5 * (low + high)
    return t


def conjugate(
    product: Callable[[Floats], Floats],
    solve: Callable[[Floats], Floats],
    left: Floats,
    forcing: float,
    ended: Callable[[], bool],
) -> tuple[Floats, int]:
    """Return about H^-1 left by conjugate gradients, and how many products that took.

    Parameters
    ----------
    product, solve : callables
        Products with H and with the inverse of what is like it, M.
    left : array
    forcing : float
        Share of the length of `left`, in the norm of M^-1, that may remain.
    ended : callable
        Called after each product; whether to end.
    """
    z = solve(left)
    step, p = np.zeros_like(left), z
    rho = first = float(np.vdot(left, z))
    for count in range(_INNER):
        Hp = product(p) if rho > forcing * forcing * first else None
        bend = 0.0 if Hp is None else float(np.vdot(p, Hp))
        if Hp is None or not bend > 0.0:
            return (step if count else z), count
        alpha = rho / bend
        step, left = step + alpha * p, left - alpha * Hp
        z = solve(left)
        rho, before = float(np.vdot(left, z)), rho
        p = z + (rho / before) * p
        if ended():
            return step, count + 1
    return step, _INNER


def curved_product(
    gram: Any, terms: Terms, border: Floats, f: Floats, bend: Floats
) -> tuple[Callable[[Floats], Floats], float]:
    """Return the product with P^T W P at values f, and the share of the samples that it reads: the curved ones."""
    n, r = len(terms), gram.rank
    curved = None if terms.joined else np.flatnonzero(bend.any(axis=1))
    if curved is not None and len(curved) <= SPARSE * n:
        gram, border, bend = gram.take(curved), border[curved], bend[curved]

    def weigh(rows: slice, V: Floats) -> Floats:
        return terms.bent(rows, f[rows], V) if terms.joined else bend[rows] * V

    def product(p: Floats) -> Floats:
        last = p[r:]

        def respond(rows: slice, V: Floats) -> Floats:
            if len(last):
                V += border[rows] @ last
            return weigh(rows, V)

        if not len(bend):
            return np.zeros_like(p)
        V, moment = gram.sweep(p[:r], respond)
        sums = np.zeros((len(last), terms.k))
        if len(last):
            for rows in spans(len(bend), CHUNK):
                sums += border[rows].T @ weigh(rows, V[rows])
        return np.vstack([moment, sums])

    return product, len(bend) / n


def summed(gram: Any, border: Floats, index: Indices, weight: Floats) -> Floats:
    """P^T W P over the samples at some places."""
    r, s = gram.rank, border.shape[1]
    M = np.zeros((r + s, r + s))
    if len(index):
        few = border[index]
        inner, right = gram.take(index).normal(weight, few)
        M[:r, :r] = inner
        M[:r, r:], M[r:, :r] = right, right.T
        M[r:, r:] = (few.T * weight) @ few
    return M


def decomposed(M: Floats, penalty: float) -> CholeskyFactor:
    """The factor of M + penalty I, or of more where rounding has made that indefinite."""
    np.einsum("ii->i", M)[:] += penalty
    # sums in float32 may hide a small penalty: what is added to M costs iterations and no digit
    for share in (0.0, *10.0 ** np.arange(-7.0, 1.0)):
        A = M.copy()
        np.einsum("ii->i", A)[:] += share * np.diagonal(M)
        try:
            return safe_cholesky(A)
        except NotPositiveDefinite:
            continue
    return safe_cholesky(np.diag(np.maximum(np.diagonal(M), penalty)))


def drawn(single: Floats, count: int) -> tuple[Indices, Floats]:
    """Samples drawn in proportion to numbers, (n,), at equal distances, and weights with which they stand for all."""
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


def some(n: int, few: int) -> Indices:
    """Places of a few of n samples, always the same."""
    return np.sort(np.random.default_rng(0).choice(n, few, replace=False))


def part_of(problem: ConvexRisk, few: int) -> ConvexRisk:
    """The risk of a few samples, whose weights stand for all."""
    n = len(problem.y)
    part = rows_of(problem, some(n, few))
    weight = np.broadcast_to(np.asarray(problem.weight, dtype=np.float64), (n,))
    scale = float(weight.sum()) / float(np.asarray(part.weight).sum())
    return dataclasses.replace(part, weight=scale * np.asarray(part.weight))


def rows_of(problem: ConvexRisk, index: Indices) -> ConvexRisk:
    """The risk of the samples at some places."""
    weight = np.broadcast_to(np.asarray(problem.weight, dtype=np.float64), (len(problem.y),))
    return dataclasses.replace(
        problem,
        gram=problem.gram.take(index),
        y=np.asarray(problem.y)[index],
        weight=weight[index],
        border=None if problem.border is None else np.asarray(problem.border)[index],
    )


def to_come(objectives: list[float]) -> float:
    """Return the sum of the geometric series that the gains of two steps begin, without them; zero of fewer steps.

    Examples
    --------
    >>> to_come([7.0, 3.0, 1.0]), to_come([3.0, 1.0])
    (2.0, 0.0)
    """
    if len(objectives) < 3:
        return 0.0
    before, last = objectives[-3] - objectives[-2], objectives[-2] - objectives[-1]
    share = min(max(last / before, 0.0), 0.95) if before > 0.0 else 0.0
    return last * share / (1.0 - share)


def unkept(monitor: Monitor | None) -> Monitor | None:
    """A monitor that gets the same calls, and keeps no states: those of a step are made again."""
    if monitor is None:
        return None

    def passed_on(iteration: int, residual: float) -> bool | Status:
        return monitor(iteration, residual)

    return passed_on


def at_once(status: Status) -> Monitor:
    """A monitor that ends a run before it begins."""

    def monitor(iteration: int, residual: float) -> bool | Status:
        return status

    return monitor


def side_by_side(parts: list[Solution]) -> Solution:
    """Solutions of single outputs as one."""
    worst = max(parts, key=lambda part: (part.status is not Status.CONVERGED, part.residual))
    values = np.column_stack([part.state.values for part in parts])
    weights = [part.weights for part in parts]
    return dataclasses.replace(
        worst,
        coef=np.column_stack([part.coef for part in parts]),
        weights=np.column_stack([w for w in weights if w is not None]),
        multipliers=np.column_stack([part.multipliers for part in parts]),
        gap=float(sum(part.gap for part in parts)),
        jitter=max(part.jitter for part in parts),
        state=Minimum(worst.state.loss, values),
        details={**worst.details, "passes": float(sum(part.details["passes"] for part in parts))},
    )

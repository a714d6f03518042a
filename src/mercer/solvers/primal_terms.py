r"""The weighted losses of many samples at the values of a function, chunk by chunk.

Symbols: psi the loss, f the values (n, k), w sample weights, W second derivatives, B the border; psi of a loss with
kinks is its envelope.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.losses import HasBoxDual
from mercer.numerics.tiling import spans
from mercer.problems import ConvexRisk, Solution, Status
from mercer.solvers.fenchel import Envelope
from mercer.solvers.hessian import solve_small
from mercer.solvers.newton import Minimum
from mercer.solvers.solver import Monitor

__all__ = ["CHUNK", "Terms", "at_once", "handles", "is_bent", "part_of", "settled", "side_by_side", "some"]

CHUNK = 2**16  # samples whose losses are looked at together


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

    def bend(self, f: Floats) -> Floats:
        """Second derivatives of each sample and output, (n, k)."""
        out = np.empty((len(self), self.k))
        for rows in spans(len(self), CHUNK):
            y = self.y[rows]
            out[rows] = self._weighted(rows, self._envelope(rows).curvature(y, f[rows].reshape(y.shape)))
        return out

    def bent(self, rows: Any, f: Floats, V: Floats) -> Floats:
        """W V of a loss that joins the outputs."""
        return self._weighted(rows, self.loss.hessian_product(self.y[rows], f, V))

    def total(self, f: Floats) -> float:
        found = sum(self.value(rows, f[rows]) for rows in spans(len(self), CHUNK))
        return found if np.isfinite(found) else np.inf

    def across(self, f: Floats, change: Floats, size: float) -> float:
        """Slope of the sum of the losses along a change of the values, at a distance."""
        parts = spans(len(self), CHUNK)
        return sum(float(np.vdot(self.slope(rows, f[rows] + size * change[rows]), change[rows])) for rows in parts)

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


def some(n: int, few: int) -> Indices:
    """Places of a few of n samples, always the same."""
    return np.sort(np.random.default_rng(0).choice(n, few, replace=False))


def part_of(problem: ConvexRisk, few: int) -> ConvexRisk:
    """The risk of a few samples, whose weights stand for all."""
    n = len(problem.y)
    index = some(n, few)
    weight = np.broadcast_to(np.asarray(problem.weight, dtype=np.float64), (n,))
    scale = float(weight.sum()) / float(weight[index].sum())
    return dataclasses.replace(
        problem,
        gram=problem.gram.take(index),
        y=np.asarray(problem.y)[index],
        weight=scale * weight[index],
        border=None if problem.border is None else problem.border[index],
    )


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

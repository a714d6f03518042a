r"""Convex losses from both sides: their Moreau envelopes, which are smooth, and the duality gap of a risk.

Symbols: psi the loss, psi* its conjugate, u a slope of it, s the strength of an envelope, t its argument, z the point
nearest to t that is worth its loss, a the coefficients, f = K a + B m the values, lambda the penalty, w weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats
from mercer.losses import HasBoxDual, Loss

__all__ = ["Envelope", "Gap", "fenchel_gap"]

_HALVINGS = 70
_STEP = 1e-3  # of the longest way from t to z: over which the slope of z is taken
_ROUNDING = 1e-11  # of t: never over less
_BESIDE = 1e-7  # how near to z slopes are looked at


class Envelope:
    r"""A convex loss made smooth: the least of the loss and a parabola, with a slope that is known beforehand.

    .. math:: e(f) = \min_z \; \psi(y, z) + u (f - z) + \tfrac{s}{2} (f - z)^2

    It is never above the loss. Where u is the slope of the loss at the solution, the envelope has the same minimum as
    the loss has, whatever s is: the augmented Lagrangian.

    Parameters
    ----------
    loss : Loss
    y : (n,) or (n, k) array
        What was observed.
    strength : float
        s. Positive; the curvature of the envelope is at most this.
    slope : array of the shape of y
        u.
    least : float, default 0.0
        Share of s below which a curvature is not reported: far from the minimum an envelope can be straight everywhere,
        and a step on it endless.

    Examples
    --------
    >>> from mercer.losses import Absolute
    >>> e = Envelope(Absolute(), np.zeros(3), 1.0, np.zeros(3))
    >>> f = np.array([0.5, 1.0, 3.0])
    >>> e.value(np.zeros(3), f)  # Huber's loss
    array([0.125, 0.5  , 2.5  ])
    """

    def __init__(self, loss: Loss, y: Floats, strength: float, slope: Floats, least: float = 0.0) -> None:
        self.loss, self.y, self.strength, self.slope, self.least = loss, y, strength, slope, least
        self.dual = loss.box_dual(y.ravel(), np.ones(y.size)) if isinstance(loss, HasBoxDual) else None
        self._last: tuple[Floats, Floats] | None = None

    def _argument(self, f: Floats) -> Floats:
        return f + self.slope / self.strength

    def value(self, y: Floats, f: Floats) -> Floats:
        """Value at f, of the shape of y."""
        t, rest = self._argument(f), 0.5 * self.slope**2 / self.strength
        if self.dual is not None:
            beta, flat = self._variables(t)
            terms = -beta * (flat + self.dual.linear) - 0.5 * self._bend() * beta * beta
            return self._summed(terms) - rest
        z = self.nearest(t)
        return self.loss.value(y, z) + 0.5 * self.strength * (t - z) ** 2 - rest

    def gradient(self, y: Floats, f: Floats) -> Floats:
        """Slope of the envelope at f, which is one of the loss at z."""
        t = self._argument(f)
        if self.dual is not None:
            return -self._summed(self._variables(t)[0])
        z = self.nearest(t)
        beside = _BESIDE * (1.0 + np.abs(z))
        # a slope of the loss, where rounding could leave the slopes that it has
        return np.clip(self.strength * (t - z), self.loss.gradient(y, z - beside), self.loss.gradient(y, z + beside))

    def curvature(self, y: Floats, f: Floats) -> Floats:
        """Second derivative at f, one of two where there are two."""
        t = self._argument(f)
        if self.dual is not None:
            beta, _ = self._variables(t)
            inside = (beta > self.dual.lower) & (beta < self.dual.upper)
            found = self._summed(inside / self._bend())
            return np.maximum(found, self.least * self.strength) if self.least else found
        # a small part of the stretch on which the envelope of a kink is bent
        longest = float(np.max(np.abs(t - self.nearest(t)), initial=0.0))
        step = np.maximum(_STEP * longest, _ROUNDING * (1.0 + np.abs(t)))
        moved = (self._solved(t + step) - self._solved(t - step)) / (2.0 * step)
        return self.strength * np.clip(1.0 - moved, self.least, 1.0)

    # losses with a box dual have formulas ---------------------------------------------------------------

    def _bend(self) -> Floats | float:
        assert self.dual is not None
        return self.dual.ridge + 1.0 / self.strength

    def _variables(self, t: Floats) -> tuple[Floats, Floats]:
        """Maximising variables of the dual, and t of the sample of each."""
        assert self.dual is not None
        flat = t.ravel() if self.dual.index is None else t.ravel()[self.dual.index]
        return np.clip(-(flat + self.dual.linear) / self._bend(), self.dual.lower, self.dual.upper), flat

    def _summed(self, values: Floats) -> Floats:
        assert self.dual is not None
        if self.dual.index is not None:
            values = np.bincount(self.dual.index, weights=values, minlength=self.y.size).astype(np.float64)
        return values.reshape(self.y.shape)

    # others are searched --------------------------------------------------------------------------------

    def nearest(self, t: Floats) -> Floats:
        """Return z, kept for the next question about the same t."""
        if self._last is None or not np.array_equal(self._last[0], t):
            self._last = t.copy(), self._solved(t)
        return self._last[1]

    def _solved(self, t: Floats) -> Floats:
        """Root of psi'(z) + s (z - t), which rises, between t and t - psi'(t) / s."""
        with np.errstate(over="ignore", invalid="ignore"):
            far = t - np.clip(self.loss.gradient(self.y, t), -1e300, 1e300) / self.strength
            low, high = np.minimum(t, far), np.maximum(t, far)
            for _ in range(_HALVINGS):
                middle = 0.5 * low + 0.5 * high
                above = self.loss.gradient(self.y, middle) + self.strength * (middle - t) > 0.0
                low, high = np.where(above, low, middle), np.where(above, middle, high)
        return 0.5 * low + 0.5 * high


class Gap(NamedTuple):
    """How far a risk is from its minimum.

    Attributes
    ----------
    risk : float
        Sum of the weighted losses.
    gap : float
        Objective minus that of the dual: the minimum is not further below than this.
    """

    risk: float
    gap: float


def fenchel_gap(loss: Any, y: Floats, weight: Floats, values: Floats, slope: Floats, rest: float = 0.0) -> Gap:
    r"""Duality gap of a regularised risk, as a sum over the samples of which each term is at least zero.

    .. math:: \sum_i w_i \bigl( \psi(y_i, f_i) + \psi^*(y_i, u_i) - u_i f_i \bigr) + \text{rest}

    Parameters
    ----------
    loss : Loss
    y, values, slope : (n,) or (n, k) arrays
        What was observed, f, and slopes u = -lambda a' / w of coefficients a' that are feasible in the dual.
    weight : (n,) array
    rest : float, default 0.0
        By how much the gap is larger because the coefficients of f are not a' but a: lambda / 2 times the squared
        length of their difference, and what a' changes along functions that are not penalised.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> y = np.array([1.0, 2.0])
    >>> fenchel_gap(Squared(), y, np.ones(2), values=np.zeros(2), slope=-y)  # slopes of the loss at f = 0
    Gap(risk=2.5, gap=0.0)
    """
    w = weight if y.ndim == 1 else weight[:, None]
    cost = np.asarray(loss.value(y, values))
    terms = w * (cost + loss.conjugate(y, slope) - slope * values)
    return Gap(float(np.sum(w * cost)), max(float(np.sum(terms)), 0.0) + rest)

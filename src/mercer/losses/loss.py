"""What an error costs: base class of losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Bools, Floats, Indices
from mercer.spec import Spec

__all__ = ["BoxDual", "HasBoxDual", "Loss", "entropy", "within"]
__public__ = ["BoxDual", "HasBoxDual", "Loss"]

_DOUBLINGS = 64  # of the distance at which a slope is searched
_HALVINGS = 120
_SMALL = 1e-3  # below it a series has more digits than a difference


class BoxDual(NamedTuple):
    r"""The dual of a loss with a bias: what a BoxQP says besides K, in signed variables.

    Attributes
    ----------
    linear, lower, upper : (N,) arrays
        The linear term and the box, N variables.
    index : (N,) array of int or None
        Which sample each variable belongs to; None: variable i belongs to sample i. The coefficient of a sample
        is the sum over its variables.
    ridge : float or (N,) array
        Added to the diagonal.
    """

    linear: Floats
    lower: Floats
    upper: Floats
    index: Indices | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    ridge: float | Floats = 0.0


@runtime_checkable
class HasBoxDual(Protocol):
    """A loss whose regularised risk has a BoxQP as its dual."""

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Dual of :math:`\sum_i c_i \psi(y_i, f(x_i)) + \frac12 \|f\|^2`, where ``weight`` is c = C w."""
        ...


class Loss(Spec, ABC):
    """Formulas on arrays: no kernel, no Gram, no state.

    ``y`` is what was observed and ``f`` what is predicted, of the same shape, (n,) or (n, k); everything is
    elementwise and in float64. Losses are summed over the samples by the caller, never averaged.

    Attributes
    ----------
    smooth : bool
        Whether the loss has a second derivative everywhere and ``curvature`` is it, so that Newton's method may be
        used; a class attribute, false unless a class says so.
    """

    smooth: ClassVar[bool] = False

    @abstractmethod
    def value(self, y: Floats, f: Floats) -> Floats:
        """Cost of predicting f where y was observed."""

    @abstractmethod
    def gradient(self, y: Floats, f: Floats) -> Floats:
        """Derivative of the value in f; at a kink the element of the subdifferential nearest to zero."""

    @abstractmethod
    def curvature(self, y: Floats, f: Floats) -> Floats:
        """Number c such that value + gradient d + c d^2 / 2 at f is never below the value at f + d.

        For a smooth loss it may instead be the second derivative, where the loss says so. At a kink no such
        number exists; near one it is capped at 1e10.
        """

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Fenchel conjugate in f, infinite where the supremum is.

        .. math:: \psi^*(y, u) = \sup_f \bigl( u f - \psi(y, f) \bigr)

        The slopes u that a loss can have are where it is finite. Together with the loss it obeys the inequality of
        Fenchel and Young, :math:`\psi(y, f) + \psi^*(y, u) \ge u f`, with equality where u is a slope at f: the
        duality gap of every regularised risk is a sum of such differences.

        Seed: [SS] Section 2.5.1 (other dualities).

        Notes
        -----
        Computed here by bisection, for any convex loss; mercer's losses have closed forms. An error of relative size
        1e-16 in f, at most 2^64, enters squared.
        """
        y, u = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(u, dtype=np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            return _supremum(self, y.ravel(), u.ravel()).reshape(u.shape)


def _supremum(loss: Loss, y: Floats, u: Floats) -> Floats:
    """Largest u f - psi(y, f) over f, (n,): the slope u - psi'(f) decreases, and its zero is bracketed and bisected."""

    def rises(f: Floats, which: Bools) -> Bools:
        return u[which] - loss.gradient(y[which], f[which]) > 0.0

    def falls(f: Floats, which: Bools) -> Bools:
        return u[which] - loss.gradient(y[which], f[which]) < 0.0

    low, high = -np.ones_like(u), np.ones_like(u)
    for end, wrong in ((low, falls), (high, rises)):
        left = np.ones(len(u), dtype=bool)
        for _ in range(_DOUBLINGS):
            left[left] = wrong(end, left)
            if not left.any():
                break
            end[left] *= 2.0
        end[left] = np.inf * np.sign(end[left])
    inside = np.isfinite(low) & np.isfinite(high)
    out = np.full(u.shape, np.inf)
    for _ in range(_HALVINGS):
        middle = 0.5 * low + 0.5 * high
        up = np.zeros(len(u), dtype=bool)
        up[inside] = rises(middle, inside)
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    best = 0.5 * low[inside] + 0.5 * high[inside]
    out[inside] = u[inside] * best - loss.value(y[inside], best)
    return out


def within(u: Floats, lower: Floats | float, upper: Floats | float, value: Floats) -> Floats:
    """Values where u is between the ends, infinite elsewhere: a conjugate on its domain."""
    return np.where((u >= lower) & (u <= upper), value, np.inf)


def entropy(d: Floats) -> Floats:
    """Return (1 + d) log(1 + d) - d for d >= -1, which is at least 0; by its series where digits would be lost."""
    d = np.asarray(d, dtype=np.float64)
    near = np.where(np.abs(d) < _SMALL, d, 0.0)
    series = near * near * (0.5 - near * (1.0 / 6.0 - near * (1.0 / 12.0 - near * (0.05 - near / 30.0))))
    far = np.where(d > -1.0, np.maximum(d, -1.0), 0.0)
    with np.errstate(invalid="ignore"):
        value = np.where(d > -1.0, (1.0 + far) * np.log1p(far) - far, 1.0)
    return np.where(np.abs(d) < _SMALL, series, value)

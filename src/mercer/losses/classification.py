r"""Losses of classification into two classes, all functions of the margin.

Symbols: ``y`` the class, -1 or +1; ``f`` the decision value; ``y f`` the margin; ``c`` the weight of a sample, C
times its sample weight; ``beta`` = y alpha the signed variable of the dual.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.losses.loss import BoxDual, Loss, within
from mercer.losses.regression import inverse_distance, ridge_of

__all__ = ["Hinge", "SquaredHinge"]
__public__ = __all__


def _shortfall(y: Floats, f: Floats) -> Floats:
    """By how much the margin is below one."""
    return 1.0 - np.asarray(y, dtype=np.float64) * np.asarray(f, dtype=np.float64)


def _signed_box(y: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Ends of the box of y alpha, where alpha is between 0 and an end that may be infinite."""
    return np.where(y > 0.0, 0.0, -end), np.where(y > 0.0, end, 0.0)


class Hinge(Loss):
    r"""Hinge loss: a margin below one costs what it lacks.

    .. math:: \psi(y, f) = \max(0, 1 - y f), \qquad y \in \{-1, 1\}

    Its conjugate, with a weight c, is linear on a segment; it gives the dual of the support vector machine:

    .. math:: \sup_f \bigl( -\beta f - c\, \psi(y, f) \bigr) = -y \beta \quad \text{for } 0 \le y \beta \le c,
              \qquad \infty \text{ elsewhere}

    Seed: [SS] Eq. (46), with C = c = 1 / (2 lambda); [HSS] Eq. (79) is the dual.

    Notes
    -----
    Convex, kink where the margin is one; the curvature 1 / (2 abs(1 - y f)) majorises. Box dual, one variable
    per sample; an infinite weight is a hard margin. Bounds the number of errors from above.

    Examples
    --------
    >>> Hinge().value([1.0, 1.0, -1.0], [2.0, 0.5, 0.5])
    array([0. , 0.5, 1.5])
    """

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.maximum(_shortfall(y, f), 0.0)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return np.where(_shortfall(y, f) > 0.0, -np.asarray(y, dtype=np.float64), 0.0)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return 0.5 * inverse_distance(_shortfall(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`y u` for :math:`-1 \le y u \le 0`, infinite elsewhere."""
        slope = np.asarray(y, dtype=np.float64) * np.asarray(u, dtype=np.float64)
        return within(slope, -1.0, 0.0, slope)

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = -y and the box [0, c] y."""
        y = np.asarray(y, dtype=np.float64)
        lower, upper = _signed_box(y, weight)
        return BoxDual(-y, lower, upper)


class SquaredHinge(Loss):
    r"""Squared hinge loss: a margin below one costs half the square of what it lacks.

    .. math:: \psi(y, f) = \tfrac12 \max(0, 1 - y f)^2, \qquad y \in \{-1, 1\}

    Its conjugate, with a weight c, grows with the square, which is a ridge in the dual:

    .. math:: \sup_f \bigl( -\beta f - c\, \psi(y, f) \bigr) = -y \beta + \frac{\beta^2}{2 c}
              \quad \text{for } y \beta \ge 0, \qquad \infty \text{ elsewhere}

    Seed: none of the five gives it; the 2-norm soft margin of Cortes and Vapnik (1995), with the 1/2 that all
    squared losses have here.

    Notes
    -----
    Convex, once differentiable; the curvature 1 majorises. Box dual, one variable per sample. scikit-learn's
    ``LinearSVC`` has no 1/2: its C is half of the C here.

    Examples
    --------
    >>> SquaredHinge().value([1.0, 1.0, -1.0], [2.0, 0.5, 1.0])
    array([0.   , 0.125, 2.   ])
    """

    def value(self, y: Floats, f: Floats) -> Floats:
        return 0.5 * np.maximum(_shortfall(y, f), 0.0) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -np.asarray(y, dtype=np.float64) * np.maximum(_shortfall(y, f), 0.0)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.ones_like(_shortfall(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`y u + u^2 / 2` for :math:`y u \le 0`, infinite elsewhere."""
        slope = np.asarray(y, dtype=np.float64) * np.asarray(u, dtype=np.float64)
        return within(slope, -np.inf, 0.0, slope + 0.5 * slope * slope)

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = -y, the box [0, inf) y and the ridge 1 / c."""
        y = np.asarray(y, dtype=np.float64)
        lower, upper = _signed_box(y, np.where(np.asarray(weight) > 0.0, np.inf, 0.0))
        return BoxDual(-y, lower, upper, ridge=ridge_of(weight))

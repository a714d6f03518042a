r"""A tube with soft walls: the squared variant of the epsilon-insensitive loss.

Symbols: ``xi`` = y - f the residual, ``eps`` the half-width of the tube, ``c`` the weight of a sample, C times its
sample weight, ``beta`` its variable in the dual.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Interval
from mercer.losses.loss import BoxDual, Loss
from mercer.losses.regression import ridge_of

__all__ = ["SquaredEpsilonInsensitive"]
__public__ = __all__


class SquaredEpsilonInsensitive(Loss):
    r"""Squared epsilon-insensitive loss: errors outside a tube cost half the square of their distance from it.

    .. math:: \psi(\xi) = \tfrac12 \max(0, |\xi| - \epsilon)^2, \qquad \xi = y - f

    Conjugate: :math:`-y \beta + \epsilon |\beta| + \beta^2 / (2 c)` for every beta.

    Seed: none of the five gives it; [HSS] Eq. (86) with the square of Section 3.1.3, and its 1/2.

    Parameters
    ----------
    epsilon : float, default 0.1
        Half-width of the tube, in the unit of y. Not negative; 0 gives the squared loss.

    Notes
    -----
    Convex, once differentiable; the curvature 1 majorises. Box dual, two variables per sample: first all that pull f
    up, then all that pull it down. scikit-learn's ``LinearSVR`` has no 1/2: its C is half of the C here.

    Examples
    --------
    >>> SquaredEpsilonInsensitive(0.5).value([0.25, 2.5], [0.0, 0.0])
    array([0., 2.])
    """

    constraints = {"epsilon": Interval(0.0, np.inf, closed="left")}

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def _outside(self, y: Floats, f: Floats) -> Floats:
        """Signed distance from the tube."""
        xi = np.asarray(y, dtype=np.float64) - np.asarray(f, dtype=np.float64)
        return np.sign(xi) * np.maximum(np.abs(xi) - self.epsilon, 0.0)

    def value(self, y: Floats, f: Floats) -> Floats:
        return 0.5 * self._outside(y, f) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -self._outside(y, f)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.ones_like(self._outside(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`u y + \epsilon |u| + u^2 / 2`, for every u."""
        y, u = np.asarray(y, dtype=np.float64), np.asarray(u, dtype=np.float64)
        return u * y + self.epsilon * np.abs(u) + 0.5 * u * u

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = (eps - y, -eps - y), the boxes [0, inf) and (-inf, 0], and the ridge 1 / c."""
        y, weight = np.asarray(y, dtype=np.float64), np.asarray(weight, dtype=np.float64)
        end = np.where(weight > 0.0, np.inf, 0.0)
        zero, index = np.zeros_like(end), np.arange(len(y))
        return BoxDual(
            linear=np.concatenate([self.epsilon - y, -self.epsilon - y]),
            lower=np.concatenate([zero, -end]),
            upper=np.concatenate([end, zero]),
            index=np.concatenate([index, index]),
            ridge=np.tile(ridge_of(weight), 2),
        )

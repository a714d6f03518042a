r"""Losses of regression, all functions of the residual.

Symbols: ``xi`` = y - f the residual, ``eps`` the half-width of the tube, ``tau`` the quantile, ``sigma``
Huber's threshold. Gradients are in f, hence minus the derivatives in xi.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Interval, Positive
from mercer.losses.loss import Loss

__all__ = ["Squared", "Absolute", "Huber", "EpsilonInsensitive", "Pinball"]

_NEAREST = 1e-10  # a kink is never taken to be nearer than this, so that curvatures stay finite


def _residual(y: Floats, f: Floats) -> Floats:
    return np.asarray(y, dtype=np.float64) - np.asarray(f, dtype=np.float64)


def _inverse(distance: Floats) -> Floats:
    """1 / distance to a kink, finite."""
    return 1.0 / np.maximum(distance, _NEAREST)


class Squared(Loss):
    r"""Squared loss: errors cost half their square.

    .. math:: \psi(\xi) = \tfrac{1}{2} \xi^2, \qquad \xi = y - f

    Seed: [HSS] Section 3.1.3 (LMS), with its 1/2, so that ridge regression solves (K + alpha I) a = y.

    Notes
    -----
    Convex, smooth; the curvature is the second derivative, 1. Estimates the conditional mean.

    Examples
    --------
    >>> Squared().value([3.0], [1.0])
    array([2.])
    """

    def value(self, y: Floats, f: Floats) -> Floats:
        return 0.5 * _residual(y, f) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -_residual(y, f)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.ones_like(_residual(y, f))


class Absolute(Loss):
    r"""Absolute loss: errors cost their size.

    .. math:: \psi(\xi) = |\xi|, \qquad \xi = y - f

    Seed: [HSS] Section 3.1.3 (LAD).

    Notes
    -----
    Convex, kink at 0; the curvature 1 / abs(xi) majorises. Estimates the conditional median.

    Examples
    --------
    >>> Absolute().value([3.0], [1.0])
    array([2.])
    """

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.abs(_residual(y, f))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -np.sign(_residual(y, f))

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return _inverse(np.abs(_residual(y, f)))


class Huber(Loss):
    r"""Huber's robust loss: squared for small errors, absolute for large ones.

    .. math:: \psi(\xi) = \begin{cases} \xi^2 / (2 \sigma) & |\xi| \le \sigma \\
              |\xi| - \sigma / 2 & |\xi| > \sigma \end{cases}, \qquad \xi = y - f

    Seed: [HSS] Section 3.1.3, with ``threshold`` = sigma; the term that it adds to the diagonal of the dual
    is sigma / C, where the seed prints 1 / sigma.

    Parameters
    ----------
    threshold : float, default 1.0
        Size of an error, in the unit of y, from which the cost grows linearly, with slope one. Positive.

    Notes
    -----
    Convex, once differentiable; the curvature 1 / max(sigma, abs(xi)) majorises.

    Examples
    --------
    >>> Huber(2.0).value([1.0, 5.0], [0.0, 0.0])
    array([0.25, 4.  ])
    """

    constraints = {"threshold": Positive()}

    def __init__(self, threshold: float = 1.0) -> None:
        self.threshold = threshold

    def value(self, y: Floats, f: Floats) -> Floats:
        size = np.abs(_residual(y, f))
        inner = np.minimum(size, self.threshold)
        return 0.5 * inner * (inner / self.threshold) + (size - inner)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -np.clip(_residual(y, f) / self.threshold, -1.0, 1.0)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return 1.0 / np.maximum(np.abs(_residual(y, f)), self.threshold)


class EpsilonInsensitive(Loss):
    r"""Epsilon-insensitive loss: errors inside a tube cost nothing, outside it their distance from it.

    .. math:: \psi(\xi) = \max(0, |\xi| - \epsilon), \qquad \xi = y - f

    Seed: [HSS] Eq. (86).

    Parameters
    ----------
    epsilon : float, default 0.1
        Half-width of the tube, in the unit of y. Not negative; 0 gives the absolute loss.

    Notes
    -----
    Convex, kinks at both walls of the tube. The curvature majorises: 1 / (2 distance to the nearer wall), and
    outside the tube not less than 1 / abs(xi).

    Examples
    --------
    >>> EpsilonInsensitive(0.5).value([0.25, 2.0], [0.0, 0.0])
    array([0. , 1.5])
    """

    constraints = {"epsilon": Interval(0.0, np.inf, closed="left")}

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.maximum(np.abs(_residual(y, f)) - self.epsilon, 0.0)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        xi = _residual(y, f)
        return -np.sign(xi) * (np.abs(xi) > self.epsilon)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        size = np.abs(_residual(y, f))
        wall = 0.5 * _inverse(np.abs(size - self.epsilon))
        return np.where(size > self.epsilon, np.maximum(wall, _inverse(size)), wall)


class Pinball(Loss):
    r"""Pinball loss: errors above and below cost differently, so that a quantile is estimated.

    .. math:: \psi(\xi) = \begin{cases} \tau \xi & \xi > 0 \\ (\tau - 1) \xi & \xi \le 0 \end{cases},
              \qquad \xi = y - f

    Seed: [HSS] Section 3.1.3, where the second case is printed with 1 - tau, a negative cost.

    Parameters
    ----------
    quantile : float, default 0.5
        tau: the share of observations that lie below the estimate. Between 0 and 1, both excluded.

    Notes
    -----
    Convex, kink at 0; the curvature 1 / (2 abs(xi)) majorises. At 0.5 it is half the absolute loss.

    Examples
    --------
    >>> Pinball(0.75).value([1.0, -1.0], [0.0, 0.0])
    array([0.75, 0.25])
    """

    constraints = {"quantile": Interval(0.0, 1.0, closed="neither")}

    def __init__(self, quantile: float = 0.5) -> None:
        self.quantile = quantile

    def value(self, y: Floats, f: Floats) -> Floats:
        xi = _residual(y, f)
        return np.where(xi > 0.0, self.quantile * xi, (self.quantile - 1.0) * xi)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        xi = _residual(y, f)
        return np.where(xi > 0.0, -self.quantile, np.where(xi < 0.0, 1.0 - self.quantile, 0.0))

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return 0.5 * _inverse(np.abs(_residual(y, f)))

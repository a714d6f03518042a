r"""Losses of regression, all functions of the residual.

Symbols: ``xi`` = y - f the residual, ``eps`` the half-width of the tube, ``tau`` the quantile, ``sigma``
Huber's threshold; ``c`` the weight of a sample, C times its sample weight, and ``beta`` its variable in the dual.
Gradients are in f, hence minus the derivatives in xi. Conjugates are those of c psi at -beta, as functions of f.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Interval, Positive
from mercer.losses.loss import BoxDual, Loss, within

__all__ = ["Squared", "Absolute", "Huber", "EpsilonInsensitive", "Pinball"]
__public__ = __all__

_NEAREST = 1e-10  # a kink is never taken to be nearer than this, so that curvatures stay finite


def _residual(y: Floats, f: Floats) -> Floats:
    return np.asarray(y, dtype=np.float64) - np.asarray(f, dtype=np.float64)


def inverse_distance(distance: Floats) -> Floats:
    """1 / abs(distance to a kink), finite."""
    return 1.0 / np.maximum(np.abs(distance), _NEAREST)


def ridge_of(weight: Floats, curve: float = 1.0) -> Floats:
    """Ratio curve / weight; zero for a weight of zero, whose variable is held at zero by its box."""
    weight = np.asarray(weight, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.minimum(curve / np.where(weight > 0.0, weight, np.inf), np.finfo(float).max)


def _slopes(y: Floats, u: Floats) -> tuple[Floats, Floats]:
    return np.asarray(y, dtype=np.float64), np.asarray(u, dtype=np.float64)


def _one_per_sample(y: Floats, lower: Floats, upper: Floats, ridge: float | Floats = 0.0) -> BoxDual:
    """Dual of a loss whose conjugate is -y beta + ridge beta^2 / 2 on a segment."""
    return BoxDual(-np.asarray(y, dtype=np.float64), lower, upper, ridge=ridge)


class Squared(Loss):
    r"""Squared loss: errors cost half their square.

    .. math:: \psi(\xi) = \tfrac{1}{2} \xi^2, \qquad \xi = y - f

    Conjugate: :math:`-y \beta + \beta^2 / (2 c)` for every beta.

    Seed: [HSS] Section 3.1.3 (LMS), with its 1/2, so that ridge regression solves (K + alpha I) a = y.

    Notes
    -----
    Convex, smooth; the curvature is the second derivative, 1. Estimates the conditional mean. Box dual without a
    box, one variable per sample; as a LinearSystem it is solved faster.

    Examples
    --------
    >>> Squared().value([3.0], [1.0])
    array([2.])
    """

    synonyms = ("L2 loss",)
    smooth = True

    def value(self, y: Floats, f: Floats) -> Floats:
        return 0.5 * _residual(y, f) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -_residual(y, f)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.ones_like(_residual(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`u y + u^2 / 2`, for every u."""
        y, u = _slopes(y, u)
        return u * y + 0.5 * u * u

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = -y, no box except for weights of zero, and the ridge 1 / c."""
        end = np.where(np.asarray(weight) > 0.0, np.inf, 0.0)
        return _one_per_sample(y, -end, end, ridge_of(weight))


class Absolute(Loss):
    r"""Absolute loss: errors cost their size.

    .. math:: \psi(\xi) = |\xi|, \qquad \xi = y - f

    Conjugate: :math:`-y \beta` for :math:`|\beta| \le c`, infinite elsewhere.

    Seed: [HSS] Section 3.1.3 (LAD).

    Notes
    -----
    Convex, kink at 0; the curvature 1 / abs(xi) majorises. Estimates the conditional median. Box dual, one
    variable per sample, where the tube of width zero would need two.

    Examples
    --------
    >>> Absolute().value([3.0], [1.0])
    array([2.])
    """

    synonyms = ("L1 loss",)

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.abs(_residual(y, f))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -np.sign(_residual(y, f))

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return inverse_distance(_residual(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`u y` for :math:`|u| \le 1`, infinite elsewhere."""
        y, u = _slopes(y, u)
        return within(u, -1.0, 1.0, u * y)

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = -y and the box [-c, c]."""
        end = np.asarray(weight, dtype=np.float64)
        return _one_per_sample(y, -end, end)


class Huber(Loss):
    r"""Huber's robust loss: squared for small errors, absolute for large ones.

    .. math:: \psi(\xi) = \begin{cases} \xi^2 / (2 \sigma) & |\xi| \le \sigma \\
              |\xi| - \sigma / 2 & |\xi| > \sigma \end{cases}, \qquad \xi = y - f

    Conjugate: :math:`-y \beta + \sigma \beta^2 / (2 c)` for :math:`|\beta| \le c`, infinite elsewhere.

    Seed: [HSS] Section 3.1.3, with ``threshold`` = sigma; the term that it adds to the diagonal of the dual
    is sigma / C, where the seed prints 1 / sigma.

    Parameters
    ----------
    threshold : float, default 1.0
        Size of an error, in the unit of y, from which the cost grows linearly, with slope one. Positive.

    Notes
    -----
    Convex, once differentiable; the curvature 1 / max(sigma, abs(xi)) majorises. Box dual, one variable per
    sample.

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

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`u y + \sigma u^2 / 2` for :math:`|u| \le 1`, infinite elsewhere."""
        y, u = _slopes(y, u)
        return within(u, -1.0, 1.0, u * y + 0.5 * self.threshold * u * u)

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = -y, the box [-c, c] and the ridge sigma / c."""
        end = np.asarray(weight, dtype=np.float64)
        return _one_per_sample(y, -end, end, ridge_of(weight, self.threshold))


class EpsilonInsensitive(Loss):
    r"""Epsilon-insensitive loss: errors inside a tube cost nothing, outside it their distance from it.

    .. math:: \psi(\xi) = \max(0, |\xi| - \epsilon), \qquad \xi = y - f

    Conjugate: :math:`-y \beta + \epsilon |\beta|` for :math:`|\beta| \le c`, infinite elsewhere; its two slopes
    take two variables, :math:`\beta = \beta^+ + \beta^-` with :math:`\beta^+ \ge 0 \ge \beta^-`.

    Seed: [HSS] Eq. (86); Eq. (87) is the dual.

    Parameters
    ----------
    epsilon : float, default 0.1
        Half-width of the tube, in the unit of y. Not negative; 0 gives the absolute loss.

    Notes
    -----
    Convex, kinks at both walls of the tube. The curvature majorises: 1 / (2 distance to the nearer wall), and
    outside the tube not less than 1 / abs(xi). Box dual, two variables per sample: first all that pull f up,
    then all that pull it down.

    Examples
    --------
    >>> EpsilonInsensitive(0.5).value([0.25, 2.0], [0.0, 0.0])
    array([0. , 1.5])
    """

    synonyms = ("Vapnik's loss",)
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
        wall = 0.5 * inverse_distance(size - self.epsilon)
        return np.where(size > self.epsilon, np.maximum(wall, inverse_distance(size)), wall)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`u y + \epsilon |u|` for :math:`|u| \le 1`, infinite elsewhere."""
        y, u = _slopes(y, u)
        return within(u, -1.0, 1.0, u * y + self.epsilon * np.abs(u))

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = (eps - y, -eps - y), the boxes [0, c] and [-c, 0], and the index of the samples twice."""
        y, end = np.asarray(y, dtype=np.float64), np.asarray(weight, dtype=np.float64)
        zero, index = np.zeros_like(end), np.arange(len(y))
        return BoxDual(
            linear=np.concatenate([self.epsilon - y, -self.epsilon - y]),
            lower=np.concatenate([zero, -end]),
            upper=np.concatenate([end, zero]),
            index=np.concatenate([index, index]),
        )


class Pinball(Loss):
    r"""Pinball loss: errors above and below cost differently, so that a quantile is estimated.

    .. math:: \psi(\xi) = \begin{cases} \tau \xi & \xi > 0 \\ (\tau - 1) \xi & \xi \le 0 \end{cases},
              \qquad \xi = y - f

    Conjugate: :math:`-y \beta` for :math:`c (\tau - 1) \le \beta \le c \tau`, infinite elsewhere.

    Seed: [HSS] Section 3.1.3, where the second case is printed with 1 - tau, a negative cost.

    Parameters
    ----------
    quantile : float, default 0.5
        tau: the share of observations below the estimate. Between 0 and 1, both excluded.

    Notes
    -----
    Convex, kink at 0; the curvature 1 / (2 abs(xi)) majorises. At 0.5 it is half the absolute loss. Box dual, one
    variable per sample.

    Examples
    --------
    >>> Pinball(0.75).value([1.0, -1.0], [0.0, 0.0])
    array([0.75, 0.25])
    """

    synonyms = ("check loss", "quantile loss")
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
        return 0.5 * inverse_distance(_residual(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`u y` for :math:`-\tau \le u \le 1 - \tau`, infinite elsewhere."""
        y, u = _slopes(y, u)
        return within(u, -self.quantile, 1.0 - self.quantile, u * y)

    def box_dual(self, y: Floats, weight: Floats) -> BoxDual:
        r"""Return p = -y and the box [c (tau - 1), c tau]."""
        end = np.asarray(weight, dtype=np.float64)
        return _one_per_sample(y, end * (self.quantile - 1.0), end * self.quantile)

r"""Sets of weights: what the weights of several kernels may be.

Symbols: d_t >= 0 the weight of kernel t, m kernels, D the set of weights, s_t = beta^T K_t beta the squared length that
a dual point has in the feature space of kernel t, n_t = |f_t| the length of that kernel's part of the function.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from mercer.arrays import Floats
from mercer.constraints import Each, Interval
from mercer.errors import ParameterError
from mercer.mixtures.mixing import Mixture

__all__ = ["Average", "ElasticNet", "Given", "LpBall", "Simplex", "WeightSet"]
__public__ = __all__


class WeightSet(Mixture):
    r"""A convex set D of weights, over which a machine is trained together with them.

    .. math:: \min_{d \in D} \min_f \; C \sum_i w_i \, \psi(y_i, \textstyle\sum_t f_t(x_i) + b)
              + \tfrac12 \sum_t \|f_t\|^2 / d_t

    In the dual only the largest value of a linear function over D is needed, and in turns with the machine the best
    weights for given parts of the function: a set is these three formulas.

    Examples
    --------
    >>> Simplex().bound(np.array([1.0, 4.0]))
    4.0
    """

    single: ClassVar[bool] = False  # whether the set is one point: nothing to learn

    @abstractmethod
    def bound(self, s: Floats) -> float:
        """Return the largest d^T s over the set, for s >= 0."""

    @abstractmethod
    def best(self, s: Floats) -> Floats:
        """Return weights at which d^T s is largest, (m,)."""

    @abstractmethod
    def shared(self, lengths: Floats) -> Floats:
        """Return the weights with the least sum of n_t^2 / d_t, (m,), for the lengths n of the parts of a function."""

    def start(self, count: int) -> Floats:
        """Return weights to begin with, (m,): all equal."""
        return self.shared(np.ones(count))


class Average(WeightSet):
    r"""Equal weights: the average of the kernels, and nothing to learn.

    .. math:: d_t = 1 / m

    Seed: [KIKS] Section 6.2, where it is the baseline.

    Examples
    --------
    >>> Average().start(4)
    array([0.25, 0.25, 0.25, 0.25])
    """

    single = True

    def bound(self, s: Floats) -> float:
        return float(np.mean(s))

    def best(self, s: Floats) -> Floats:
        return np.full(len(s), 1.0 / len(s))

    def shared(self, lengths: Floats) -> Floats:
        return np.full(len(lengths), 1.0 / len(lengths))


class Given(WeightSet):
    r"""Weights that are known: nothing to learn.

    Parameters
    ----------
    weights : tuple of float
        d, one for each kernel. Not negative.

    Examples
    --------
    >>> Given((0.5, 2.0)).bound(np.array([1.0, 1.0]))
    2.5
    """

    single = True
    constraints = {"weights": Each(Interval(0.0, np.inf, closed="left"))}
    example = ((0.5, 0.5),)

    def __init__(self, weights: tuple[float, ...]) -> None:
        self.weights = weights

    def bound(self, s: Floats) -> float:
        return float(self.start(len(s)) @ s)

    def best(self, s: Floats) -> Floats:
        return self.start(len(s))

    def shared(self, lengths: Floats) -> Floats:
        return self.start(len(lengths))

    def start(self, count: int) -> Floats:
        """Return the weights; there must be one for each kernel."""
        d = np.asarray(self.weights, dtype=float)
        if d.shape != (count,) or not d.any():
            raise ParameterError(
                f"weights={self.weights!r} were given for {count} kernels; one number for each, not all zero, is "
                f"accepted. Give {count} weights."
            )
        return d


class Simplex(WeightSet):
    r"""Weights that sum to one: few kernels remain, the support kernels.

    .. math:: d_t \ge 0, \qquad \sum_t d_t = 1

    The penalty of the function becomes half the square of the sum of the lengths of its parts, a group lasso over
    kernels.

    Seed: [STS] Section 7, Eq. (89); [KIKS] Section 6.2, Problems 2 and 3.

    Examples
    --------
    >>> Simplex().shared(np.array([3.0, 1.0, 0.0]))
    array([0.75, 0.25, 0.  ])
    """

    def bound(self, s: Floats) -> float:
        return float(np.max(s))

    def best(self, s: Floats) -> Floats:
        d = np.zeros(len(s))
        d[int(np.argmax(s))] = 1.0
        return d

    def shared(self, lengths: Floats) -> Floats:
        total = float(np.sum(lengths))
        return lengths / total if total > 0.0 else np.full(len(lengths), 1.0 / len(lengths))


class LpBall(WeightSet):
    r"""Weights in the ball of a p-norm: the larger p, the less sparse.

    .. math:: d_t \ge 0, \qquad \sum_t d_t^p \le 1

    At p = 1 it is `Simplex`; for p to infinity every kernel has weight one, the sum of the kernels.

    Seed: [STS] Section 7 and [KIKS] Section 6.2 have p = 1; the other norms, and the weights in closed form, are due to
    Kloft, Brefeld, Sonnenburg and Zien (2011).

    Parameters
    ----------
    p : float, default 2.0
        At least 1.

    Examples
    --------
    >>> LpBall(2.0).best(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    constraints = {"p": Interval(1.0, np.inf, closed="left")}

    def __init__(self, p: float = 2.0) -> None:
        self.p = p

    def bound(self, s: Floats) -> float:
        largest = float(np.max(s))
        if self.p == 1.0 or largest == 0.0:
            return largest
        q = self.p / (self.p - 1.0)
        return largest * float(np.sum((s / largest) ** q) ** (1.0 / q))

    def best(self, s: Floats) -> Floats:
        if self.p == 1.0:
            return Simplex().best(s)
        return self._scaled(_relative(s) ** (1.0 / (self.p - 1.0)))

    def shared(self, lengths: Floats) -> Floats:
        return self._scaled(_relative(lengths) ** (2.0 / (self.p + 1.0)))

    def _scaled(self, d: Floats) -> Floats:
        return d / float(np.sum(d**self.p) ** (1.0 / self.p))  # the largest is one


class ElasticNet(WeightSet):
    r"""Weights between the simplex and the ball: sparse, but kernels that are alike share their weight.

    .. math:: d_t \ge 0, \qquad \theta \sum_t d_t + (1 - \theta) \sum_t d_t^2 \le 1

    Seed: [STS] Section 7 has theta = 1; the set is due to Yang, Xu, Ye, King and Lyu (2011).

    Parameters
    ----------
    theta : float, default 0.5
        Share of the 1-norm, in [0, 1]: 1 is `Simplex`, 0 is ``LpBall(2)``.

    Examples
    --------
    >>> ElasticNet(1.0).bound(np.array([3.0, 4.0])), ElasticNet(0.0).bound(np.array([3.0, 4.0]))
    (4.0, 5.0)
    """

    constraints = {"theta": Interval(0.0, 1.0)}

    def __init__(self, theta: float = 0.5) -> None:
        self.theta = theta

    def bound(self, s: Floats) -> float:
        return float(self.best(s) @ s)

    def best(self, s: Floats) -> Floats:
        if self.theta == 1.0:
            return Simplex().best(s)
        v, s = self.theta, _relative(s)

        def weights(multiplier: float) -> Floats:  # of the Lagrangian: s = multiplier (v + 2 (1 - v) d)
            return np.maximum(0.0, s / multiplier - v) / (2.0 * (1.0 - v))

        # at the multiplier 1 / (v + 2 (1 - v)) the largest weight alone is one
        return self._solved(weights, 1.0 / (2.0 - v) / len(s), float(np.sum(s)) + 1.0)

    def shared(self, lengths: Floats) -> Floats:
        if self.theta == 1.0:
            return Simplex().shared(lengths)
        v, squares = self.theta, _relative(lengths) ** 2

        def weights(multiplier: float) -> Floats:  # n^2 / d^2 = multiplier (v + 2 (1 - v) d): a cubic in d
            return _cubic(v, 2.0 * (1.0 - v), squares / multiplier)

        most = 1.0
        while self._size(weights(most)) > 1.0:
            most *= 4.0
        least = most
        while self._size(weights(least)) < 1.0:
            least *= 0.25
        return self._solved(weights, least, most)

    def _size(self, d: Floats) -> float:
        return float(self.theta * d.sum() + (1.0 - self.theta) * (d @ d))

    def _solved(self, weights: Callable[[float], Floats], least: float, most: float) -> Floats:
        """Return the weights at the multiplier for which they are at the boundary of the set."""
        while self._size(weights(least)) < 1.0:
            least *= 0.5
        while self._size(weights(most)) > 1.0:
            most *= 2.0
        ends = np.log(least), np.log(most)
        root: Any = brentq(lambda log: self._size(weights(float(np.exp(log)))) - 1.0, *ends, xtol=1e-15)
        return weights(float(np.exp(root)))


def _relative(values: Floats) -> Floats:
    """Return values over the largest; ones if all are zero."""
    largest = float(np.max(values))
    return values / largest if largest > 0.0 else np.ones(len(values))


def _cubic(a: float, b: float, c: Floats) -> Floats:
    """Return the root d >= 0 of a d^2 + b d^3 = c for each c >= 0, by Newton's method from above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.minimum(np.sqrt(c / a) if a else np.inf, np.cbrt(c / b))
        for _ in range(60):  # convex and increasing: it falls towards the root
            step = (a * d**2 + b * d**3 - c) / (2.0 * a * d + 3.0 * b * d**2)
            step = np.where(d > 0.0, step, 0.0)
            d = d - step
            if np.all(np.abs(step) <= 1e-15 * d):
                break
    return np.maximum(d, 0.0)

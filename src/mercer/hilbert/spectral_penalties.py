"""What the singular values of a matrix of functions cost: few of them mean that many tasks share few functions.

Symbols: s >= 0 the singular values, alpha the weight of the penalty, Omega(s) a sum over them, z those of a slope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.spec import Spec

__all__ = ["ElasticNuclear", "Nuclear", "Rank", "Schatten", "SpectralPenalty"]
__public__ = __all__
__saved__ = __all__

_HALVINGS = 80


class SpectralPenalty(Spec, ABC):
    r"""A cost of the singular values of a matrix.

    .. math:: \Omega(W) = \sum_j \omega(s_j(W))

    Seed: [SS] Section 2.5.2, spectral penalties.

    Attributes
    ----------
    convex : bool
        Whether a minimum that is found is the minimum.
    """

    convex: bool = True

    @abstractmethod
    def value(self, s: Floats) -> float:
        """Omega of singular values."""

    @abstractmethod
    def proximal(self, s: Floats, step: float) -> Floats:
        """Return what minimises step Omega(u) + |u - s|^2 / 2."""

    def conjugate(self, z: Floats, alpha: float) -> float:
        """Return the conjugate of alpha Omega at singular values, infinite where it is; NaN where it is not convex."""
        return float("nan")

    def allowed(self, largest: float, alpha: float) -> float:
        """Return the factor up to 1 by which a slope is shrunk so that its conjugate is finite."""
        return 1.0


class Nuclear(SpectralPenalty):
    r"""The nuclear norm: the sum of the singular values.

    .. math:: \Omega(W) = \sum_j s_j

    Seed: [SS] Eqs. (29)-(30).

    Examples
    --------
    >>> Nuclear().proximal(np.array([3.0, 1.0]), 2.0)
    array([1., 0.])
    """

    def __init__(self) -> None:
        pass

    def value(self, s: Floats) -> float:
        return float(np.sum(s))

    def proximal(self, s: Floats, step: float) -> Floats:
        return np.maximum(s - step, 0.0)

    def conjugate(self, z: Floats, alpha: float) -> float:
        return 0.0 if np.max(z, initial=0.0) <= alpha * (1.0 + 1e-12) else float("inf")

    def allowed(self, largest: float, alpha: float) -> float:
        return 1.0 if largest <= alpha else alpha / largest


class Schatten(SpectralPenalty):
    r"""A power of the Schatten norm: the sum of powers of the singular values.

    .. math:: \Omega(W) = \tfrac1p \sum_j s_j^p

    Seed: [SS] Section 2.5.2; p = 1 is the nuclear norm, p = 2 half the sum of the squares of all entries.

    Parameters
    ----------
    p : float, default 1.5
        At least 1.

    Examples
    --------
    >>> Schatten(2.0).proximal(np.array([3.0]), 2.0)
    array([1.])
    """

    constraints = {"p": Interval(1.0, np.inf, closed="left")}

    def __init__(self, p: float = 1.5) -> None:
        self.p = p

    def value(self, s: Floats) -> float:
        return float(np.sum(np.power(s, self.p))) / self.p

    def proximal(self, s: Floats, step: float) -> Floats:
        """Solve u + step u^(p-1) = s, which increases in u."""
        if self.p == 1.0:
            return np.maximum(s - step, 0.0)
        if self.p == 2.0:
            return s / (1.0 + step)
        low, high = np.zeros_like(s), s.copy()
        for _ in range(_HALVINGS):
            u = 0.5 * (low + high)
            above = u + step * np.power(u, self.p - 1.0) > s
            low, high = np.where(above, low, u), np.where(above, u, high)
        return 0.5 * (low + high)

    def conjugate(self, z: Floats, alpha: float) -> float:
        if self.p == 1.0:
            return Nuclear().conjugate(z, alpha)
        q = self.p / (self.p - 1.0)
        return alpha * float(np.sum(np.power(z / alpha, q))) / q

    def allowed(self, largest: float, alpha: float) -> float:
        return Nuclear().allowed(largest, alpha) if self.p == 1.0 else 1.0


class ElasticNuclear(SpectralPenalty):
    r"""The nuclear norm and half the sum of squares: singular values that are kept shrink too.

    .. math:: \Omega(W) = \sum_j \bigl( r s_j + \tfrac{1 - r}{2} s_j^2 \bigr)

    Seed: [SS] Section 2.5.2, spectral penalties.

    Parameters
    ----------
    ratio : float, default 0.5
        r, the share of the nuclear norm, in [0, 1].

    Examples
    --------
    >>> ElasticNuclear(0.5).proximal(np.array([4.0, 0.5]), 2.0)
    array([1.5, 0. ])
    """

    constraints = {"ratio": Interval(0.0, 1.0)}

    def __init__(self, ratio: float = 0.5) -> None:
        self.ratio = ratio

    def value(self, s: Floats) -> float:
        return float(np.sum(self.ratio * s + 0.5 * (1.0 - self.ratio) * s * s))

    def proximal(self, s: Floats, step: float) -> Floats:
        return np.maximum(s - step * self.ratio, 0.0) / (1.0 + step * (1.0 - self.ratio))

    def conjugate(self, z: Floats, alpha: float) -> float:
        if self.ratio == 1.0:
            return Nuclear().conjugate(z, alpha)
        beyond = np.maximum(z - alpha * self.ratio, 0.0)
        return float(np.sum(beyond * beyond)) / (2.0 * alpha * (1.0 - self.ratio))

    def allowed(self, largest: float, alpha: float) -> float:
        return Nuclear().allowed(largest, alpha) if self.ratio == 1.0 else 1.0


class Rank(SpectralPenalty):
    r"""At most a given number of singular values: matrices of low rank, by a hard threshold.

    .. math:: \Omega(W) = 0 \text{ if } \mathrm{rank}(W) \le r, \quad \infty \text{ otherwise}

    Seed: [SS] Section 2.5.2, spectral penalties.

    Parameters
    ----------
    rank : int, default 1
        r. Positive.

    Notes
    -----
    Not convex: what is found need not be the best, there is no duality gap, and the weight of the penalty has no
    meaning.

    Examples
    --------
    >>> Rank(1).proximal(np.array([4.0, 2.0]), 2.0)
    array([4., 0.])
    """

    constraints = {"rank": Integer(1)}
    convex = False

    def __init__(self, rank: int = 1) -> None:
        self.rank = rank

    def value(self, s: Floats) -> float:
        return 0.0 if np.count_nonzero(s) <= self.rank else float("inf")

    def proximal(self, s: Floats, step: float) -> Floats:
        return np.where(np.arange(len(s)) < self.rank, s, 0.0)  # largest first

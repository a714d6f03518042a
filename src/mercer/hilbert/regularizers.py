"""What the length of a function costs.

Symbols: s = |f|^2 the squared length in the space of the kernel, r its root, Omega the cost as a function of s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mercer.constraints import Positive
from mercer.spec import Spec, derived

__all__ = ["NormPower", "Radius", "Regularizer"]
__public__ = __all__
__saved__ = __all__


class Regularizer(Spec, ABC):
    r"""A cost that grows with the length of a function: all that the representer theorem requires.

    .. math:: \min_f \; \sum_i w_i \, \psi(y_i, f(x_i)) + \alpha \, \Omega(\|f\|^2)

    Seed: [HSS] Theorem 11, Eq. (49), where Omega is any strictly increasing function.

    Attributes
    ----------
    convex : bool
        Whether the cost is convex as a function of the length r. Then the problem has one minimum, and it is found;
        else the best of those on a grid of penalties is. A class attribute or a property, true unless a class says
        otherwise.

    Notes
    -----
    A regulariser of your own has ``value`` and ``derivative``. Lengths in which the space is not a Hilbert space, such
    as the sum of the sizes of the coefficients, have another representer theorem and are other estimators:
    `LinearProgrammingMachine` and `KernelLasso`.

    Examples
    --------
    >>> class Barrier(Regularizer):
    ...     def value(self, s):
    ...         return -np.log1p(-s) if s < 1.0 else np.inf
    ...
    ...     def derivative(self, s):
    ...         return 1.0 / (1.0 - s) if s < 1.0 else np.inf
    >>> Barrier().derivative(0.5)
    2.0
    """

    convex: bool = True

    @abstractmethod
    def value(self, s: float) -> float:
        """Omega at a squared length, which is not negative."""

    @abstractmethod
    def derivative(self, s: float) -> float:
        """Derivative of Omega in the squared length; infinite where there is no function so long."""


class NormPower(Regularizer):
    r"""A power of the length; the square is the usual penalty.

    .. math:: \Omega(\|f\|^2) = \|f\|^q / q

    Seed: [HSS] Theorem 11, Eq. (49); q = 2 is [SS] Eq. (24).

    Parameters
    ----------
    exponent : float, default 2.0
        q. Positive; from 1 on the cost is convex.

    Notes
    -----
    With q = 1 the function is exactly zero where the data are not worth more than alpha.

    Examples
    --------
    >>> NormPower(2.0).value(9.0), NormPower(1.0).value(9.0)
    (4.5, 3.0)
    """

    constraints = {"exponent": Positive()}

    def __init__(self, exponent: float = 2.0) -> None:
        self.exponent = exponent

    @derived
    def convex(self) -> bool:
        """Whether q >= 1."""
        return self.exponent >= 1.0

    def value(self, s: float) -> float:
        """Return r^q / q."""
        return float(np.power(s, 0.5 * self.exponent)) / self.exponent

    def derivative(self, s: float) -> float:
        """Return r^(q - 2) / 2."""
        with np.errstate(divide="ignore", over="ignore"):
            return 0.5 * float(np.power(np.float64(s), 0.5 * self.exponent - 1.0))


class Radius(Regularizer):
    r"""A ball: functions up to some length cost nothing, longer ones are not allowed.

    .. math:: \Omega(\|f\|^2) = 0 \text{ for } \|f\| \le a, \quad \infty \text{ beyond}

    Seed: [SS] Eqs. (22), (23): the least risk in a ball, Ivanov's form.

    Parameters
    ----------
    radius : float, default 1.0
        a. Positive.

    Examples
    --------
    >>> Radius(2.0).value(4.0), Radius(2.0).value(4.1)
    (0.0, inf)
    """

    constraints = {"radius": Positive()}

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = radius

    def value(self, s: float) -> float:
        """Return 0 or infinity."""
        return 0.0 if s <= self.radius**2 else float("inf")

    def derivative(self, s: float) -> float:
        """Return 0 or infinity."""
        return self.value(s)

"""Losses that cost more on one side.

Symbols: ``xi`` = y - f the residual, ``a`` the asymmetry.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Interval
from mercer.errors import ParameterError
from mercer.losses.loss import Loss, entropy, within

__all__ = ["Linex"]
__public__ = __all__

_LARGEST = 700.0  # exp of it is a number


class Linex(Loss):
    r"""Linear-exponential loss: errors on one side cost exponentially, on the other linearly.

    .. math:: \psi(\xi) = e^{a \xi} - a \xi - 1, \qquad \xi = y - f

    Seed: [SS] Section 4.3 (asymmetric losses of Bayesian decision theory, after its Eq. (90)).

    Parameters
    ----------
    asymmetry : float, default 1.0
        a, in the inverse unit of y; not zero. Positive: predictions that are too small are the costly ones.

    Notes
    -----
    Convex, smooth; the curvature is the second derivative, a^2 exp(a xi). For small a near the squared loss times a^2.
    Under a normal distribution of y the best prediction is mean + a variance / 2. No box dual.

    Examples
    --------
    >>> Linex(1.0).value([1.0, -1.0], [0.0, 0.0]).round(3)
    array([0.718, 0.368])
    """

    smooth = True
    constraints = {"asymmetry": Interval(-np.inf, np.inf)}

    def __init__(self, asymmetry: float = 1.0) -> None:
        self.asymmetry = asymmetry

    def check(self) -> Linex:
        """Raise ParameterError unless the asymmetry is a finite number other than zero."""
        super().check()
        if self.asymmetry == 0:
            raise ParameterError(
                "Linex was given asymmetry=0, with which every error costs nothing; a number other than zero is "
                "accepted. Use Squared() for errors that cost the same on both sides."
            )
        return self

    def _scaled(self, y: Floats, f: Floats) -> Floats:
        xi = np.asarray(y, dtype=np.float64) - np.asarray(f, dtype=np.float64)
        return np.minimum(self.asymmetry * xi, _LARGEST)

    def value(self, y: Floats, f: Floats) -> Floats:
        scaled = self._scaled(y, f)
        return np.expm1(scaled) - scaled

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -self.asymmetry * np.expm1(self._scaled(y, f))

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return self.asymmetry**2 * np.exp(self._scaled(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`u y + (1 + d) \log(1 + d) - d` with :math:`d = -u / a \ge -1`, infinite elsewhere."""
        y, u = np.asarray(y, dtype=np.float64), np.asarray(u, dtype=np.float64)
        d = -u / self.asymmetry
        return within(d, -1.0, np.inf, u * y + entropy(d))

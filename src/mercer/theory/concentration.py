r"""Concentration: how far a function of independent variables strays from its mean.

Symbols: m variables X_i in [a_i, b_i], S their mean, c_i the most that variable i can change a function of all,
eps a distance, delta a probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaincinv

from mercer.arguments import checked, real_array
from mercer.arrays import Floats
from mercer.constraints import Integer
from mercer.errors import ParameterError
from mercer.theory.bound import COUNT, DELTA, SIZE

__all__ = [
    "clopper_pearson",
    "hoeffding_tail",
    "hoeffding_width",
    "mcdiarmid_tail",
    "mcdiarmid_width",
]
__public__ = __all__


def _length(values: Any, n: int | None, name: str) -> float:
    """Return the root of the sum of squares of ranges or differences, one by one or as one number for all n."""
    given = real_array(values, name, (0, 1))
    if (given < 0.0).any():
        raise ParameterError(
            f"{name} has the entry {given.min():g}; they are sizes, zero or more. Give absolute differences."
        )
    if given.ndim == 0:
        if n is None:
            raise ParameterError(
                f"{name}={values!r} was given as one number; n must then be given as well. Give n=100."
            )
        return math.sqrt(n) * float(given)
    if n is not None and len(given) != n:
        raise ParameterError(f"{len(given)} {name} were given for n={n}; there must be one for each. Leave n out.")
    largest = float(given.max())
    return largest * float(np.linalg.norm(given / largest)) if largest > 0.0 else 0.0


@checked(n=COUNT, eps=SIZE)
def hoeffding_tail(n: int, eps: float, ranges: Any = 1.0) -> float:
    r"""Bound the probability that the mean of n bounded variables is eps or more from its expectation.

    .. math:: P\{ |S_m - E S_m| \ge \epsilon \} \le 2 \exp\left( - \frac{2 m^2 \epsilon^2}{\sum_i (b_i - a_i)^2} \right)

    Seed: [ST] "Concentration inequalities cont.".

    Parameters
    ----------
    n : int
        m.
    eps : float
        Not negative.
    ranges : float or (n,) array, default 1.0
        b_i - a_i.

    Returns
    -------
    probability : float
        At most 1.

    Examples
    --------
    >>> round(hoeffding_tail(100, 0.1), 4)  # 2 exp(-2)
    0.2707
    """
    length = _length(ranges, n, "ranges")
    if length == 0.0:
        return float(eps == 0.0)
    ratio = n * (eps / length)
    return min(1.0, 2.0 * math.exp(-2.0 * ratio * ratio))


@checked(n=COUNT, delta=DELTA)
def hoeffding_width(n: int, delta: float = 0.05, ranges: Any = 1.0) -> float:
    r"""Return how far a mean of n bounded variables is from its expectation, with probability 1 - delta.

    .. math:: |S_m - E S_m| < \frac1m \sqrt{\frac{\sum_i (b_i - a_i)^2}{2} \ln \frac2\delta}

    Seed: [ST] "Concentration inequalities cont.", solved for the distance.

    Parameters
    ----------
    n : int
    delta : float, default 0.05
    ranges : float or (n,) array, default 1.0
        b_i - a_i.

    Examples
    --------
    >>> round(hoeffding_tail(100, hoeffding_width(100, 0.05)), 12)
    0.05
    """
    return _length(ranges, n, "ranges") / n * math.sqrt(0.5 * math.log(2.0 / delta))


@checked(eps=SIZE, n=COUNT)
def mcdiarmid_tail(eps: float, differences: Any, n: int | None = None) -> float:
    r"""Bound the probability that a function of independent variables exceeds its mean by eps or more.

    .. math:: P\{ f - E f \ge \epsilon \} \le \exp\left( - \frac{2 \epsilon^2}{\sum_i c_i^2} \right)

    Seed: [ST] Theorem 1, "McDiarmid's inequality"; [HSS] Eq. (90), where all c_i are one c.

    Parameters
    ----------
    eps : float
        Not negative.
    differences : (n,) array or float
        c_i, the most that a change of variable i alone can change f; one number is that of all.
    n : int, optional
        Number of variables, where one difference is given for all.

    Notes
    -----
    One-sided. For the mean of variables in [a_i, b_i], with c_i = (b_i - a_i) / n, it is half of Hoeffding's.

    Examples
    --------
    >>> round(mcdiarmid_tail(0.1, 1 / 100, 100), 4)  # exp(-2)
    0.1353
    """
    length = _length(differences, n, "differences")
    if length == 0.0:
        return float(eps == 0.0)
    ratio = eps / length
    return math.exp(-2.0 * ratio * ratio)


@checked(delta=DELTA, n=COUNT)
def mcdiarmid_width(differences: Any, delta: float = 0.05, n: int | None = None) -> float:
    r"""Return by how much a function of independent variables exceeds its mean, with probability 1 - delta.

    .. math:: f < E f + \sqrt{\frac{\sum_i c_i^2}{2} \ln \frac1\delta}

    Seed: [ST] "Using McDiarmid"; the last term of [HSS] Eq. (91) is that of c_i = B / n.

    Parameters
    ----------
    differences : (n,) array or float
        c_i.
    delta : float, default 0.05
    n : int, optional
        Number of variables, where one difference is given for all.

    Examples
    --------
    >>> round(mcdiarmid_tail(mcdiarmid_width(0.01, 0.05, 100), 0.01, 100), 12)
    0.05
    """
    return _length(differences, n, "differences") * math.sqrt(0.5 * math.log(1.0 / delta))


@checked(errors=Integer(0), n=COUNT, delta=DELTA)
def clopper_pearson(errors: int, n: int, delta: float = 0.05) -> tuple[float, float]:
    r"""Return an interval for a probability of which `errors` in n independent trials are known.

    .. math:: P\{ \mathrm{Bin}(n, p_{\text{high}}) \le k \} = \delta/2 = P\{ \mathrm{Bin}(n, p_{\text{low}}) \ge k \}

    Seed: none of the five; Clopper and Pearson (1934).

    Parameters
    ----------
    errors : int
        k, at most n.
    n : int
    delta : float, default 0.05
        Each end fails with at most half of it, so that with 2 delta each end alone holds with probability 1 - delta.

    Returns
    -------
    low, high : float

    Notes
    -----
    Exact: it covers the probability at least as often as it says, whatever n is. That holds for errors on samples that
    the model has not seen; left-out errors depend on each other, and for them the interval is a rough guide.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10)
    >>> low, round(high, 4)  # 1 - 0.025 ** (1 / 10)
    (0.0, 0.3085)
    """
    if errors > n:
        raise ParameterError(f"errors={errors} of n={n} were given; there are at most n. Give the number of mistakes.")
    low = float(betaincinv(errors, n - errors + 1, delta / 2.0)) if errors else 0.0
    high = float(betaincinv(errors + 1, n - errors, 1.0 - delta / 2.0)) if errors < n else 1.0
    return low, high


def _sizes(values: Any, name: str) -> Floats:
    """Return numbers that are not negative."""
    found = real_array(values, name, 1)
    if (found < 0.0).any():
        raise ParameterError(f"{name} has the entry {found.min():g}; they are zero or more. Check what was given.")
    return found

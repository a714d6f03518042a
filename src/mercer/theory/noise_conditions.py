r"""Noise conditions: how often the more probable class is hardly more probable, and what rates follow.

Symbols: eta(x) = P(y = 1 | x), t = |eta(x) - 1/2|, gamma and beta the exponent and constant of Tsybakov's condition,
alpha = gamma / (1 + gamma), s the gap of Massart's condition.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincinv

from mercer.arguments import checked, real_array
from mercer.arrays import Floats
from mercer.constraints import AnyOf, Integer, Interval, OneOf, Optional
from mercer.errors import DomainError
from mercer.theory.bound import COUNT, DELTA, SHARE, WIDTH

__all__ = ["NoiseExponent", "massart_gap", "noise_exponent", "noise_rate", "noise_variance_bound"]
__public__ = __all__

_EXPONENT = AnyOf(Interval(0.0, math.inf, closed="left"), OneOf(math.inf))


class NoiseExponent(NamedTuple):
    """Tsybakov's condition, as estimated from probabilities.

    Attributes
    ----------
    gamma : float
        The exponent.
    low, high : float
        An interval for it.
    beta : float
        The constant: P(t <= u) is about beta u^gamma for small u.
    alpha : float
        gamma / (1 + gamma).
    tail : int
        The number of samples nearest to 1/2 that it was estimated from.

    Examples
    --------
    >>> NoiseExponent(1.0, 0.8, 1.2, 2.0, 0.5, 100).alpha
    0.5
    """

    gamma: float
    low: float
    high: float
    beta: float
    alpha: float
    tail: int


def _gaps(probabilities: Any) -> Floats:
    found = real_array(probabilities, "probabilities", 1)
    if ((found < 0.0) | (found > 1.0)).any():
        raise DomainError(
            f"probabilities from {found.min():g} to {found.max():g} were given; they lie between 0 and 1. Give "
            "P(y = 1 | x), for example a column of predict_proba."
        )
    return np.abs(found - 0.5)


@checked(tail=Optional(Integer(2)), delta=DELTA)
def noise_exponent(probabilities: Any, tail: int | None = None, *, delta: float = 0.05) -> NoiseExponent:
    r"""Estimate the exponent of Tsybakov's noise condition from the samples that are nearest to the boundary.

    .. math:: P\{ |\eta(x) - \tfrac12| \le t \} \le \beta t^\gamma, \qquad
        \hat\gamma = \frac{k}{\sum_{i \le k} \ln(t_{(k+1)} / t_{(i)})}

    Seed: [HSS] Eq. (95). The estimator is Hill's, for the lower tail of t = \|eta - 1/2\|.

    Parameters
    ----------
    probabilities : (n,) array
        P(y = 1 | x) at n samples of x.
    tail : int, optional
        k, how many of the smallest t are used; None is n^(2/3).
    delta : float, default 0.05
        The interval misses gamma with this probability.

    Notes
    -----
    If t follows the power law exactly below t_(k+1), the sum is a gamma variable and the interval is exact. It ignores
    errors in the probabilities themselves: those of a fitted model show the noise that the model assumes.

    Examples
    --------
    >>> t = 0.5 * np.random.default_rng(0).random(4000) ** (1 / 2)  # P(t <= u) = 4 u^2
    >>> found = noise_exponent(0.5 + t)
    >>> found.low < 2.0 < found.high
    True
    """
    t = np.sort(_gaps(probabilities))
    n = len(t)
    k = min(max(2, round(n ** (2.0 / 3.0))) if tail is None else tail, n - 1)
    if k < 2:
        raise DomainError(f"{n} probabilities were given; at least 3 are needed. Give more samples.")
    edge = float(t[k])
    if t[0] == 0.0 or edge == 0.0:  # a share of samples is exactly at 1/2: no power of t is small enough
        return NoiseExponent(0.0, 0.0, 0.0, float(np.mean(t == 0.0)), 0.0, k)
    total = float(np.log(edge / t[:k]).sum())
    if total <= 1e-12 * k:  # all at one distance up to rounding, as in Massart's condition
        return NoiseExponent(math.inf, math.inf, math.inf, math.inf, 1.0, k)
    gamma = k / total
    low, high = (float(gammaincinv(k, level)) / total for level in (delta / 2.0, 1.0 - delta / 2.0))
    return NoiseExponent(gamma, low, high, k / n / edge**gamma, gamma / (1.0 + gamma), k)


def massart_gap(probabilities: Any) -> float:
    r"""Return the smallest distance of P(y = 1 | x) from 1/2 on a sample: s of Massart's noise condition.

    .. math:: |P\{y = 1 | x\} - \tfrac12| \ge s > 0

    Seed: [HSS] Section 3.2.5, after Eq. (95): the case gamma = infinity.

    Parameters
    ----------
    probabilities : (n,) array

    Examples
    --------
    >>> massart_gap([0.25, 0.875, 1.0])
    0.25
    """
    return float(_gaps(probabilities).min())


@checked(excess=SHARE, gamma=_EXPONENT, beta=WIDTH, gap=Optional(WIDTH))
def noise_variance_bound(excess: float, gamma: float, beta: float = 1.0, *, gap: float | None = None) -> float:
    r"""Bound how often a classifier differs from the best one by its excess risk, under a noise condition.

    .. math:: E[(\{g \ne y\} - \{g^* \ne y\})^2] \le c \, (E[\{g \ne y\} - \{g^* \ne y\}])^\alpha, \qquad
        c = \Bigl( \frac{1 + \gamma}{2 \gamma} \Bigr)^{\alpha} (\beta (1 + \gamma))^{1 - \alpha}

    Seed: [HSS] Eq. (96), where c is not given; it follows from (95) by the best threshold t.

    Parameters
    ----------
    excess : float
        Risk minus that of the best classifier.
    gamma : float
        Exponent; may be infinite, with `gap`.
    beta : float, default 1.0
        Constant of the condition.
    gap : float, optional
        s of Massart's condition, for gamma = inf: c = 1 / (2 s).

    Examples
    --------
    >>> noise_variance_bound(0.1, np.inf, gap=0.25), noise_variance_bound(0.04, 1.0, beta=2.0)
    (0.2, 0.4)
    """
    if gamma == 0.0:
        return 1.0
    if math.isinf(gamma):
        return min(1.0, excess / (2.0 * (0.5 if gap is None else gap)))
    alpha = gamma / (1.0 + gamma)
    c = ((1.0 + gamma) / (2.0 * gamma)) ** alpha * (beta * (1.0 + gamma)) ** (1.0 - alpha)
    return min(1.0, c * excess**alpha)


@checked(n=COUNT, gamma=_EXPONENT)
def noise_rate(n: int, gamma: float) -> float:
    r"""Return the rate of the excess risk of finitely many classifiers under Tsybakov's condition.

    .. math:: n^{-1 / (2 - \alpha)} = n^{-(1 + \gamma) / (2 + \gamma)}

    From n^-1/2 without any condition to 1/n where eta stays away from 1/2 (Massart).

    Seed: [HSS] Section 3.2.5.

    Parameters
    ----------
    n : int
    gamma : float
        May be infinite.

    Examples
    --------
    >>> noise_rate(10_000, 0.0), noise_rate(10_000, np.inf)
    (0.01, 0.0001)
    """
    alpha = 1.0 if math.isinf(gamma) else gamma / (1.0 + gamma)
    return float(n ** (-1.0 / (2.0 - alpha)))

r"""From surrogate losses to errors, and how fast the best function of a ball is found.

Symbols: chi the loss that counts errors, psi a convex loss above it, W the largest norm, R and r the largest and the
root mean square of |x|, gamma the slope of the soft-margin loss max(0, 1 - gamma y f).
"""

from __future__ import annotations

import math

from mercer.arguments import checked
from mercer.constraints import OneOf
from mercer.theory.bound import COUNT, DELTA, SHARE, SIZE, WIDTH, Bound, Term
from mercer.theory.rademacher import linear_rademacher

__all__ = ["convergence_rate", "excess_risk_bound", "surrogate_bound"]
__public__ = __all__

_SURROGATES = {"hinge": (4.0, 1.0), "exponential": (math.sqrt(8.0), 0.5), "logistic": (math.sqrt(8.0), 0.5)}


@checked(excess=SIZE, loss=OneOf(*_SURROGATES))
def surrogate_bound(excess: float, loss: str = "hinge") -> float:
    r"""Bound the excess error of a function by its excess of a convex loss.

    .. math:: E[\chi(y f)] - E[\chi(y f_\chi^*)] \le c \, (E[\psi(y f)] - E[\psi(y f_\psi^*)])^s

    Seed: [HSS] Eq. (93): c = 4, s = 1 for the soft-margin loss, c = sqrt(8), s = 1/2 for exp(-t) and log2(1 + exp(-t)).

    Parameters
    ----------
    excess : float
        Expected loss minus the smallest possible.
    loss : {"hinge", "exponential", "logistic"}, default "hinge"
        The logistic loss has logarithms to base 2.

    Notes
    -----
    The constants are as printed; 1, sqrt(2) and sqrt(2 ln 2) suffice (Bartlett, Jordan and McAuliffe, 2006).

    Examples
    --------
    >>> surrogate_bound(0.05), round(surrogate_bound(0.02, "logistic"), 12)
    (0.2, 0.4)
    """
    c, s = _SURROGATES[loss]
    return c * excess**s


@checked(n=COUNT, norm=SIZE, radius=WIDTH, mean_radius=SIZE, slope=WIDTH, delta=DELTA)
def convergence_rate(
    n: int, norm: float, radius: float, mean_radius: float, slope: float = 1.0, delta: float = 0.05
) -> float:
    r"""Return how fast the error of the best function of a ball is approached: radius over margin, over a root.

    .. math:: 4 \, \frac{R W \gamma}{\sqrt n} \left[ \sqrt{-2 \ln \delta} + \frac{r}{R} + \sqrt{8 \ln 2} \right]

    Seed: [HSS] Eq. (94), the last term, as printed.

    Parameters
    ----------
    n : int
    norm : float
        W.
    radius : float
        R, at least \|x\| for all x.
    mean_radius : float
        r, at most R.
    slope : float, default 1.0
        gamma.
    delta : float, default 0.05

    Notes
    -----
    An expression of the right order, not a bound: twice the Rademacher average would be 2 r / R, the two deviations
    are counted only once, and the 1 in the range of the loss is left out. `excess_risk_bound` includes all of them.

    Examples
    --------
    >>> round(convergence_rate(10_000, 1.0, 1.0, 1.0), 4)  # 0.04 (2.4477 + 1 + 2.3548)
    0.2321
    """
    inside = radius * (math.sqrt(-2.0 * math.log(delta)) + math.sqrt(8.0 * math.log(2.0))) + mean_radius
    return 4.0 * norm * slope / math.sqrt(n) * inside


@checked(n=COUNT, norm=SIZE, radius=WIDTH, mean_radius=SIZE, slope=WIDTH, delta=DELTA, approximation=SIZE, bayes=SHARE)
def excess_risk_bound(
    n: int,
    norm: float,
    radius: float,
    mean_radius: float,
    slope: float = 1.0,
    delta: float = 0.05,
    *,
    approximation: float = 0.0,
    bayes: float = 0.0,
) -> Bound:
    r"""Bound the error of the function of a ball with the smallest empirical soft-margin loss.

    .. math:: E[\chi(y f_n)] \le E[\chi(y f_\chi^*)] + 4 \left( \delta(F, \psi) + 2 R_n + 2 M
        \sqrt{\frac{\ln(2/\delta)}{2n}} \right), \qquad M = 1 + 2 R W \gamma

    Seed: [HSS] Eq. (94), with the factor 4 of (93) on the approximation error as well, both deviations, and the range
    of the loss; the bias is at most R W.

    Parameters
    ----------
    n, norm, radius, mean_radius, slope, delta
        As in `convergence_rate`.
    approximation : float, default 0.0
        delta(F, psi), the smallest expected loss in the ball minus the smallest over all functions.
    bayes : float, default 0.0
        The Bayes error: that of the best classifier.

    Examples
    --------
    >>> bound = excess_risk_bound(10**6, 1.0, 1.0, 1.0, bayes=0.1)
    >>> float(round(bound, 4))
    0.15
    """
    complexity = linear_rademacher(n, norm, mean_radius, offset=radius * norm, lipschitz=slope)
    width = 1.0 + 2.0 * radius * norm * slope
    deviation = 2.0 * width * math.sqrt(math.log(2.0 / delta) / (2.0 * n))
    terms = [
        Term("best classifier", "E chi(y f*)", float(bayes)),
        Term("approximation", "4 delta(F, psi)", 4.0 * approximation),
        Term("complexity", "8 gamma (W r + R W sqrt(2 ln 2)) / sqrt(n)", 4.0 * complexity),
        Term("deviations", "8 (1 + 2 R W gamma) sqrt(ln(2 / delta) / (2 n))", 4.0 * deviation),
    ]
    unpaid = ("the ball and the kernel",)
    return Bound.of_terms("excess risk", "P(error)", terms, delta, unpaid=unpaid)

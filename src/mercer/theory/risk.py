r"""Risks: what a function costs on average, on the sample and beyond it.

Symbols: L(y, f(x)) the loss, R its expectation, R_emp its mean over N samples, theta the functions to choose from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.arguments import checked, real_array
from mercer.errors import ParameterError
from mercer.targets.target import sample_weights
from mercer.theory.bound import DELTA, WIDTH
from mercer.theory.concentration import hoeffding_width

__all__ = ["RiskEstimate", "empirical_minimizer", "empirical_risk", "expected_risk", "uniform_deviation"]
__public__ = __all__


class RiskEstimate(NamedTuple):
    """An expected risk, estimated on samples that the function has not seen.

    Attributes
    ----------
    value : float
    low, high : float
        An interval that covers the risk with probability 1 - delta.

    Examples
    --------
    >>> RiskEstimate(0.2, 0.1, 0.3).high
    0.3
    """

    value: float
    low: float
    high: float


def empirical_risk(losses: Any, sample_weight: Any = None) -> float:
    r"""Return the mean loss over a sample.

    .. math:: R_{\text{emp}}^N(\theta) = \frac1N \sum_{n=1}^N L(y_n, f(x_n; \theta))

    Seed: [SS] Eq. (12), which is printed as a sum; the bounds (16)-(18) need the mean.

    Parameters
    ----------
    losses : (n,) array
        The loss of each sample.
    sample_weight : (n,) array, optional

    Examples
    --------
    >>> empirical_risk([0.0, 1.0, 0.0, 0.0])
    0.25
    """
    values = real_array(losses, "losses", 1)
    w = sample_weights(sample_weight, len(values))
    return float(np.average(values, weights=w))


@checked(delta=DELTA, width=WIDTH)
def expected_risk(losses: Any, *, width: float = 1.0, delta: float = 0.05) -> RiskEstimate:
    r"""Estimate the expected risk of a function from samples that had no part in its choice.

    .. math:: R(\theta) = \int L(y, f(x; \theta)) \, p(x, y) \, dx \, dy

    Seed: [SS] Eq. (11); [ST] "Generalisation of a learner". The interval is Hoeffding's.

    Parameters
    ----------
    losses : (n,) array
        The loss of each new sample.
    width : float, default 1.0
        Losses lie in an interval of this length.
    delta : float, default 0.05

    Examples
    --------
    >>> estimate = expected_risk([0.0, 1.0, 0.0, 0.0] * 50)
    >>> estimate.value, round(estimate.high - estimate.value, 3)
    (0.25, 0.096)
    """
    values = real_array(losses, "losses", 1)
    if float(np.ptp(values)) > width * (1.0 + 1e-12):
        raise ParameterError(
            f"losses over a range of {np.ptp(values):g} were given with width={width:g}; they must lie in an interval "
            "of that length. Give the length of the range that losses can have."
        )
    mean, half = float(values.mean()), hoeffding_width(len(values), delta, width)
    return RiskEstimate(mean, mean - half, mean + half)


def empirical_minimizer(losses: Any) -> int:
    r"""Return which of several functions has the smallest empirical risk; among equals the first.

    .. math:: \hat\theta_N = \arg\min_\theta R_{\text{emp}}^N(\theta)

    Seed: [SS] Eq. (13).

    Parameters
    ----------
    losses : (k, n) array
        Losses of k functions on n samples.

    Examples
    --------
    >>> empirical_minimizer([[0, 1, 1], [0, 0, 1], [1, 1, 1]])
    1
    """
    return int(np.argmin(real_array(losses, "losses", 2).mean(axis=1)))


def uniform_deviation(losses: Any, risks: Any) -> float:
    r"""Return the largest difference between expected and empirical risk of several functions.

    .. math:: \sup_\theta | R(\theta) - R_{\text{emp}}^N(\theta) |

    Empirical risk minimisation is consistent if and only if this goes to zero in probability.

    Seed: [SS] Eq. (14).

    Parameters
    ----------
    losses : (k, n) array
        Losses of k functions on n samples.
    risks : (k,) array
        Their expected risks.

    Examples
    --------
    >>> uniform_deviation([[0, 1], [1, 1]], [0.25, 0.875])
    0.25
    """
    empirical = real_array(losses, "losses", 2).mean(axis=1)
    expected = real_array(risks, "risks", 1)
    if len(expected) != len(empirical):
        raise ParameterError(
            f"{len(expected)} risks were given for {len(empirical)} functions; one of each is needed. Give one per row."
        )
    return float(np.abs(expected - empirical).max())

"""The result of a test: the statistic, its p-value, and the distribution it was compared with.

Symbols: t the statistic, B draws t_1, ..., t_B from the null distribution, b of them at least as large as t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaincinv, ndtr, ndtri

from mercer.arrays import Floats
from mercer.errors import DomainError
from mercer.notebooks import array, table

__all__ = ["Null", "TestResult", "found_by"]
__public__ = ["Null", "TestResult"]

_TIE = 1e-9  # relative: draws nearer than this to the statistic are taken to be equal to it


@dataclass(frozen=True, eq=False)
class Null:
    r"""The distribution of a statistic if the hypothesis holds.

    Parameters
    ----------
    method : str
        How it was found: "permutation", "gamma", "spectral", "wild bootstrap", "normal", ...
    mean, std : float
        Its mean and standard deviation.
    draws : (B,) array, optional
        Statistics drawn from it.
    shape : float, optional
        Of the gamma distribution with that mean, where there are no draws; without either it is the normal one.
    skew : float, default 0.0
        Of the mean that is studentised, where the distribution is the normal one: gamma / (3 sqrt(c)) for c values of
        skewness gamma.

    Notes
    -----
    With draws the p-value is (1 + b) / (1 + B), which is never zero and, where draws and statistic are exchangeable
    (permutations), is below any level with at most that probability, whatever n and B are. Draws that equal the
    statistic up to rounding count as larger. A mean of few skewed values, divided by the deviation found from them, has
    a skewed law of its own, which Hall's cubic transformation t + a t^2 + a^2 t^3 / 3 + a / 2 makes normal.

    Examples
    --------
    >>> null = Null.of_draws("permutation", np.array([0.1, 0.2, 0.3, 0.4]))
    >>> null.p_value(0.35), null.p_value(1.0)
    (0.4, 0.2)
    """

    method: str
    mean: float
    std: float
    draws: Floats | None = None
    shape: float | None = None
    skew: float = 0.0

    @classmethod
    def of_draws(cls, method: str, draws: Floats) -> Null:
        """Return the null that was drawn from."""
        scale = float(np.max(np.abs(draws))) or 1.0  # squares neither overflow nor vanish
        return cls(method, float(np.mean(draws)), scale * float(np.std(draws / scale)), draws)

    @classmethod
    def gamma(cls, mean: float, variance: float) -> Null:
        """Return the gamma distribution of a mean and a variance; a positive mean with variance 0 is a point."""
        std = math.sqrt(max(variance, 0.0))
        return cls("gamma", mean, std, shape=(mean / std) ** 2 if std > 0.0 and mean > 0.0 else math.inf)

    def p_value(self, statistic: float) -> float:
        """Return how probable a value at least as large as the statistic is."""
        if self.draws is not None:
            tie = _TIE * max(abs(statistic), self.std)
            return (1.0 + int(np.sum(self.draws >= statistic - tie))) / (1.0 + len(self.draws))
        if self.shape is not None:
            if math.isinf(self.shape):
                return float(statistic <= self.mean * (1.0 + _TIE))
            return float(gammaincc(self.shape, max(statistic, 0.0) * self.shape / self.mean))
        if self.std == 0.0:
            return float(statistic <= self.mean)
        t, a = (statistic - self.mean) / self.std, self.skew
        return float(ndtr(-(t + a * t**2 + a**2 * t**3 / 3.0 + a / 2.0)))

    def quantile(self, level: float) -> float:
        """Return the value beyond which p-values are at most 1 - level: the critical one, for level 0.95.

        Infinite if there are too few draws for any p-value to be so small.
        """
        if self.draws is not None:
            place = min(math.floor((1.0 - level) * (1.0 + len(self.draws)) + _TIE), len(self.draws))
            if place < 1:
                return math.inf
            value = float(np.partition(self.draws, -place)[-place])  # one that ties with it is not beyond it
            return value + _TIE * max(abs(value), self.std)
        if self.shape is not None:
            if math.isinf(self.shape):
                return self.mean
            return float(gammaincinv(self.shape, level) * self.mean / self.shape)
        z, a = float(ndtri(level)), self.skew
        if a != 0.0:  # the cubic of p_value is a cube, but for a shift
            z = (math.cbrt(1.0 + 3.0 * a * (z - a / 2.0)) - 1.0) / a
        return self.mean + self.std * z

    def __repr__(self) -> str:
        count = "" if self.draws is None else f", {len(self.draws)} draws"
        return f"<Null by {self.method}: mean {self.mean:.3g}, std {self.std:.3g}{count}>"


class TestResult(NamedTuple):
    """What a test found.

    Attributes
    ----------
    statistic : float
    p_value : float
        Probability of a statistic at least as large, if the hypothesis holds.
    null : Null
        The distribution that the statistic was compared with: mean, std, quantiles, draws.
    kernels : tuple of Kernel
        Those that were used, with what they learned from the data.

    Examples
    --------
    >>> result = TestResult(0.5, 0.01, Null.gamma(0.1, 0.01), ())
    >>> statistic, p_value, *rest = result
    >>> result.p_value < 0.05
    True
    """

    statistic: float
    p_value: float
    null: Null
    kernels: tuple[Any, ...]
    __test__ = False  # not a class of tests, for pytest

    def _repr_html_(self) -> str:
        return table("Test", found_by(self))

    def _repr_latex_(self) -> str:
        return array("Test", found_by(self))


def found_by(result: Any) -> list[tuple[str, Any]]:
    """Return what a test found as lines of a table for notebooks."""
    found = [("statistic", float(result.statistic)), ("p-value", float(result.p_value))]
    compared = [("mean under the hypothesis", float(result.null.mean)), ("its deviation", float(result.null.std))]
    kernels = [(f"kernel {place}", repr(kernel)) for place, kernel in enumerate(result.kernels, 1)]
    return [*found, *compared, *kernels]


def finite(value: float) -> float:
    """Return a value that is finite, or raise DomainError.

    Examples
    --------
    >>> finite(1.0)
    1.0
    """
    if not math.isfinite(value):
        raise DomainError(
            f"The samples are so large or so small that the statistic is {value}, beyond floating-point numbers. "
            "Rescale the samples, for example to standard deviation one."
        )
    return float(value)


def concluded(statistic: float, null: Null, kernels: tuple[Any, ...]) -> TestResult:
    """Return the result of comparing a statistic with its null distribution."""
    finite(null.mean)
    finite(null.std)
    return TestResult(finite(statistic), null.p_value(float(statistic)), null, kernels)

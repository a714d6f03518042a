r"""Probability measures for integrals over the domain of a kernel, as points and weights.

Symbols: nu the measure, x_j its points, w_j > 0 their weights with sum 1, so that an integral is
sum_j w_j f(x_j): exact for a sample, by a quadrature rule for a density.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import roots_hermitenorm

from mercer.arrays import Floats, real_numbers
from mercer.budget import Plan
from mercer.constraints import Array, Data, Fixed, Integer, Interval, Positive, Satisfies
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Kernel, Linear
from mercer.spec import Spec

__all__ = ["Circle", "Measure", "Normal", "ProductMeasure", "Sampled", "Uniform"]
__public__ = __all__

_ANY = Fixed(Interval(-math.inf, math.inf, vector=True))
_MOST = 5000  # points on a line: the rules are computed in some count^2 operations


class Measure(Spec, ABC):
    """A probability measure given by points and weights.

    Notes
    -----
    Measures on columns are multiplied: ``Uniform(0.0, 1.0) * Normal()`` is the measure of two independent columns. All
    of them have total mass one; eigenvalues under the length of an interval rather than the uniform distribution on it
    are those given here times that length.
    """

    @abstractmethod
    def rule(self) -> tuple[Any, Floats | None]:
        """Return raw points and their weights, which are not negative and sum to one; None is the same for all."""

    def nodes(self, kernel: Kernel) -> tuple[Samples, Floats]:
        """Return points of positive weight, packed and prepared for a kernel, and their weights."""
        X, weights = self.check().rule()
        S = kernel.pack(X).owned()
        if weights is None:
            return kernel.prepare(S), np.full(len(S), 1.0 / len(S))
        if len(S) != len(weights):
            raise DomainError(
                f"{self!r} has {len(weights)} weights for {len(S)} points; each point must have one. Give as many "
                "weights as samples."
            )
        used = np.flatnonzero(weights > 0.0)
        return kernel.prepare(S.take(used) if len(used) < len(S) else S), weights[used]

    def __mul__(self, other: Any) -> ProductMeasure:
        if not isinstance(other, Measure):
            return NotImplemented
        ours = self.measures if isinstance(self, ProductMeasure) else (self,)
        theirs = other.measures if isinstance(other, ProductMeasure) else (other,)
        return ProductMeasure((*ours, *theirs))


class Sampled(Measure):
    r"""The empirical measure: every sample has the same share, or that of its weight.

    .. math:: \nu = \sum_j w_j \, \delta_{x_j} \Big/ \sum_j w_j

    Seed: [SS] Eq. (103), whose integral is then the mean over the sample; [KIKS] Eq. (12) is its eigenvectors.

    Parameters
    ----------
    X : raw data or packed samples
        Of any domain.
    weight : (n,) array, optional
        Not negative; a sample of weight 2 counts as two samples, one of weight 0 is left out. None is 1 for all.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> S, w = Sampled(["ab", "ba", "b"], weight=(1.0, 2.0, 1.0)).nodes(Spectrum(1))
    >>> len(S), w
    (3, array([0.25, 0.5 , 0.25]))
    """

    constraints = {
        "X": Data(),
        "weight": Satisfies(
            "None, or finite numbers, one per sample, that are not negative and not all zero",
            lambda value: value is None or (Array(1, low=0.0).accepts(value) and bool(np.any(value))),
        ),
    }

    def __init__(self, X: Any, weight: Any = None) -> None:
        self.X = X
        self.weight = weight

    def rule(self) -> tuple[Any, Floats | None]:
        """Return the samples and their shares."""
        if self.weight is None:
            return self.X, None
        weight = real_numbers(self.check().weight, "weight")
        weight = weight / weight.max()  # the sum of large weights may overflow
        return self.X, weight / weight.sum()


class Uniform(Measure):
    r"""The uniform distribution on an interval or a box, by the rule of Gauss and Legendre.

    .. math:: \int f \, d\nu = \prod_c \frac{1}{b_c - a_c} \int_a^b f(x) \, dx

    Seed: [SS] Eqs. (103)-(104), for this measure.

    Parameters
    ----------
    low, high : float or tuple of floats, default 0.0 and 1.0
        a < b, the ends; tuples are a box with as many columns.
    count : int, default 100
        Points per column, exact for polynomials of degree 2 count - 1. A box has count to the power of its columns.

    Notes
    -----
    Integrals of smooth functions converge faster than any power of the count; where a kernel has a kink, as
    `Brownian` at x = x', errors fall with its square.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> S, w = Uniform(0.0, 3.0, count=2).nodes(Linear())
    >>> round(float(w @ S.X[:, 0] ** 3), 12)  # (1/3) of the integral of x^3
    6.75
    """

    constraints = {"low": _ANY, "high": _ANY, "count": Integer(1, _MOST)}

    def __init__(self, low: Any = 0.0, high: Any = 1.0, count: int = 100) -> None:
        self.low = low
        self.high = high
        self.count = count

    def check(self) -> Any:
        """Raise ParameterError unless every low end is below its high end."""
        super().check()
        low, high = np.atleast_1d(self.low).astype(float), np.atleast_1d(self.high).astype(float)
        if 1 not in (len(low), len(high)) and len(low) != len(high):
            raise ParameterError(
                f"Uniform was given {len(low)} low and {len(high)} high ends; each column has one of both. Give tuples "
                "of the same length."
            )
        if not (low < high).all():
            raise ParameterError(
                f"Uniform was given low={self.low!r} and high={self.high!r}; low < high is needed. Exchange them."
            )
        return self

    def rule(self) -> tuple[Any, Floats]:
        """Return the grid of Gauss points."""
        low, high = np.broadcast_arrays(np.atleast_1d(self.low).astype(float), np.atleast_1d(self.high).astype(float))
        t, w = leggauss(int(self.count))
        # from the middle, so that ends of any size neither overflow nor lose the points' distance
        columns = [(0.5 * a + 0.5 * b + (0.5 * b - 0.5 * a) * t)[:, None] for a, b in zip(low, high, strict=True)]
        return _grid([(x, 0.5 * w) for x in columns], self)


class Normal(Measure):
    r"""The normal distribution with independent columns, by the rule of Gauss and Hermite.

    .. math:: \int f \, d\nu = \int f(x) \, N(x; m, \operatorname{diag}(s^2)) \, dx

    Seed: [SS] Eqs. (103)-(104), for this measure.

    Parameters
    ----------
    mean : float or tuple of floats, default 0.0
        m; a tuple has an entry per column.
    scale : float or tuple of floats, default 1.0
        s > 0, the standard deviation.
    count : int, default 100
        Points per column, exact for polynomials of degree 2 count - 1. Points whose weight is below the smallest
        number are left out.

    Notes
    -----
    Points near the mean are about 2.2 s / sqrt(count) apart: a kernel that is much narrower than s needs many of them.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> S, w = Normal(1.0, 2.0, count=3).nodes(Linear())
    >>> round(float(w @ S.X[:, 0] ** 2), 12)  # the mean square, 1 + 4
    5.0
    """

    constraints = {"mean": _ANY, "scale": Fixed(Positive(vector=True)), "count": Integer(1, _MOST)}

    def __init__(self, mean: Any = 0.0, scale: Any = 1.0, count: int = 100) -> None:
        self.mean = mean
        self.scale = scale
        self.count = count

    def check(self) -> Any:
        """Raise ParameterError unless mean and scale have the same columns."""
        super().check()
        if 1 not in (np.size(self.mean), np.size(self.scale)) and np.size(self.mean) != np.size(self.scale):
            raise ParameterError(
                f"Normal was given {np.size(self.mean)} means and {np.size(self.scale)} scales; each column has one of "
                "both. Give tuples of the same length, or one number for all columns."
            )
        return self

    def rule(self) -> tuple[Any, Floats]:
        """Return the grid of Gauss points."""
        mean, scale = np.broadcast_arrays(
            np.atleast_1d(self.mean).astype(float), np.atleast_1d(self.scale).astype(float)
        )
        t, w = roots_hermitenorm(int(self.count))
        w = w / w.sum()
        t, w = t[w > 0.0], w[w > 0.0]
        return _grid([((m + s * t)[:, None], w) for m, s in zip(mean, scale, strict=True)], self)


class Circle(Measure):
    r"""The uniform distribution on one period, by equally spaced points.

    .. math:: \int f \, d\nu = \frac{1}{p} \int_0^p f(x) \, dx

    Seed: [SS] Eqs. (103)-(104), for this measure.

    Parameters
    ----------
    period : float, default 1.0
        p, as that of the kernel.
    count : int, default 100
        Points; exact for waves of fewer than `count` turns.

    Notes
    -----
    The eigenfunctions of any kernel of the phase difference, such as `Periodic`, are the waves 1, sqrt(2) cos(2 pi j x
    / p), sqrt(2) sin(2 pi j x / p), and the eigenvalues its Fourier coefficients.

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> S, w = Circle(period=2.0, count=4).nodes(Periodic(2.0))
    >>> S.X.ravel(), w
    (array([0. , 0.5, 1. , 1.5]), array([0.25, 0.25, 0.25, 0.25]))
    """

    constraints = {"period": Fixed(Positive()), "count": Integer(1, 10**6)}

    def __init__(self, period: float = 1.0, count: int = 100) -> None:
        self.period = period
        self.count = count

    def rule(self) -> tuple[Any, Floats]:
        """Return equally spaced points."""
        n = int(self.count)
        return (float(self.period) * (np.arange(n) / n))[:, None], np.full(n, 1.0 / n)


class ProductMeasure(Measure):
    r"""The measure of independent groups of columns.

    .. math:: \nu = \nu_1 \otimes \dots \otimes \nu_P

    Seed: [SS] Eqs. (103)-(104), for this measure.

    Parameters
    ----------
    measures : tuple of Measure
        Each on some columns; written ``first * second``. The points are all combinations of theirs.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> measure = Uniform(0.0, 1.0, count=3) * Normal(count=2)
    >>> S, w = measure.nodes(Gaussian(1.0))
    >>> S.X.shape, round(float(w.sum()), 12)
    ((6, 2), 1.0)
    """

    constraints = {
        "measures": Satisfies(
            "a tuple of measures that is not empty",
            lambda value: (
                isinstance(value, (tuple, list)) and bool(value) and all(isinstance(m, Measure) for m in value)
            ),
            "(Uniform(), Normal())",
        )
    }

    def __init__(self, measures: tuple[Measure, ...]) -> None:
        self.measures = measures

    def rule(self) -> tuple[Any, Floats]:
        """Return all combinations of the points."""
        return _grid([_table(measure) for measure in self.measures], self)

    def __repr__(self) -> str:
        several = isinstance(self.measures, tuple) and len(self.measures) > 1
        plain = several and not any(isinstance(measure, ProductMeasure) for measure in self.measures)
        return " * ".join(map(repr, self.measures)) if plain else f"ProductMeasure({self.measures!r})"


def _table(measure: Measure) -> tuple[Floats, Floats]:
    """Return the points of one factor as a dense table, and their weights."""
    S, weights = measure.nodes(Linear())
    assert isinstance(S, Vectors)
    return S.dense(), weights


def _grid(factors: list[tuple[Floats, Floats]], measure: Measure) -> tuple[Floats, Floats]:
    """Return all combinations of points of several factors, the last one running fastest, and products of weights."""
    count = math.prod(len(w) for _, w in factors)
    width = sum(X.shape[1] for X, _ in factors)
    smaller = ("a smaller count", "Sampled(X), which does not grow with the number of columns")
    Plan(f"the grid of {measure!r}", {"points": 8 * count * (width + 1)}, smaller).require(None)
    places = np.indices([len(w) for _, w in factors]).reshape(len(factors), -1)
    points = np.hstack([X[place] for (X, _), place in zip(factors, places, strict=True)])
    weights = np.ones(count)
    for (_, w), place in zip(factors, places, strict=True):
        weights *= w[place]
    return points, weights

r"""How noisy are the targets: estimates of the variance of y given x, before and after a fit.

Symbols: sigma^2 the variance of the noise, d_ij the distance of two samples, D_ij = (y_i - y_j)^2 / 2, whose mean at
d = 0 is sigma^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree

from mercer.arrays import Floats, Indices, real_numbers
from mercer.domains import Samples, Vectors
from mercer.errors import ParameterError, TargetError
from mercer.kernels import Kernel, Linear

__all__ = ["noise_variance", "residual_variance"]
__public__ = __all__

_PAIRS = 10  # neighbours of each sample that the differogram looks at
_ROWS = 512  # of distances at a time


def noise_variance(
    X: Any, y: Any, kernel: Kernel | None = None, *, method: str = "differogram", neighbours: int | None = None
) -> Floats:
    r"""Variance of the noise in targets, from the differences of near samples alone; no model is fitted.

    .. math:: \mathrm{E}\!\left[\tfrac12 (y_i - y_j)^2 \mid d_{ij} = d\right] \approx \sigma^2 + a\, d^2
        \quad (d \to 0)

    The differogram method fits this line to pairs of neighbours, by least squares with weights that fall with the
    variance of each difference, which is known once the line is: its value at d = 0 is the estimate. The method "pairs"
    is the mean of D over nearest pairs, a U-statistic that forgets the slope: simple, and too large by the mean of
    a d^2.

    Seed: [SS] Section 5 (its reference [92], the differogram).

    Parameters
    ----------
    X : raw data or packed samples
    y : (n,) or (n, k) array
        Real targets.
    kernel : Kernel, optional
        Its feature space gives the distances; None takes those of the columns as they are.
    method : {"differogram", "pairs"}, default "differogram"
    neighbours : int, optional
        How many of each sample are looked at; None is 10 for the differogram, 1 for pairs.

    Returns
    -------
    variance : float or (k,) array
        Non-negative.

    Notes
    -----
    The standard error is about sigma^2 times the square root of 3 / n; what f varies between neighbours beyond a plane
    adds to it. Distances to a sample itself do not count, to an equal one do. Cost O(n log n) for vectors without a
    kernel, else O(n^2) with a few rows of K at a time.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 1))
    >>> y = np.sin(6 * X[:, 0]) + 0.3 * rng.normal(size=2000)
    >>> bool(abs(noise_variance(X, y) - 0.09) < 0.01)
    True
    """
    if method not in ("differogram", "pairs"):
        raise ParameterError(f"method={method!r} was given; 'differogram' and 'pairs' are accepted. Use one of these.")
    S = kernel.pack(X) if kernel is not None else X if isinstance(X, Samples) else Vectors.pack(X)
    values = real_numbers(y, "y", TargetError)
    if len(values) != len(S) or len(S) < 2:
        raise TargetError(
            f"{len(S)} samples and {len(values)} targets were given; as many of each, two at least, are needed. Give "
            "one target per sample."
        )
    count = neighbours if neighbours is not None else _PAIRS if method == "differogram" else 1
    if count < 1:
        raise ParameterError(f"neighbours={neighbours} was given; at least 1 is needed. Leave it out for the default.")
    i, j, squares = _near_pairs(S, kernel, min(count, len(S) - 1))
    halves = 0.5 * np.square(values[i] - values[j]).reshape(len(i), -1)
    if method == "pairs":
        found = halves.mean(axis=0)
    else:
        found = np.array([_intercept(squares, column) for column in halves.T])
    return found[0] if values.ndim == 1 else found


def residual_variance(residuals: Any, dof: float, weight: Any = None) -> Floats:
    r"""Variance of the noise from the residuals of a linear smoother.

    .. math:: \hat\sigma^2 = \frac{\sum_i w_i (y_i - f(x_i))^2}{N - \mathrm{dof}}

    Without bias where f is in the span of what the smoother leaves alone, too large elsewhere by the squared bias.

    Seed: [SS] Section 5.2 (the effective number of parameters).

    Parameters
    ----------
    residuals : (n,) or (n, k) array
        y - f at the samples.
    dof : float
        Trace of the matrix that maps y to the fitted values, as ``RidgeSpectrum.degrees_of_freedom``.
    weight : (n,) array, optional
        A sample of weight w counts as w copies.

    Returns
    -------
    variance : float or (k,) array

    Examples
    --------
    >>> residual_variance([1.0, -1.0, 1.0, -1.0], dof=2.0)
    np.float64(2.0)
    """
    residuals = real_numbers(residuals, "residuals")
    w = np.ones(len(residuals)) if weight is None else real_numbers(weight, "weight")
    if not dof < w.sum():
        raise ParameterError(
            f"dof={dof} was given for samples of total weight {w.sum()}; it must be smaller. Regularise more strongly."
        )
    return (w @ np.square(residuals)) / (w.sum() - dof)


def _near_pairs(S: Samples, kernel: Kernel | None, count: int) -> tuple[Indices, Indices, Floats]:
    """Samples, `count` nearest others of each, and the squares of their distances; a pair found twice counts twice."""
    n = len(S)
    dense = isinstance(S, Vectors) and isinstance(S.X, np.ndarray)
    if kernel is None and dense:
        X = np.asarray(S.X, dtype=np.float64)  # pyright: ignore[reportAttributeAccessIssue]
        found: Any = KDTree(X).query(X, k=count + 1)
        distances, other = found
        own = other == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True  # among many equal samples the sample itself may be missing: drop the farthest
        keep = ~own
        return np.repeat(np.arange(n), count), other[keep], np.square(distances[keep])
    kernel = Linear() if kernel is None else kernel
    prepared = kernel.prepare(S)
    diagonal = kernel.diag(prepared)
    first, second, squares = [], [], []
    for start in range(0, n, _ROWS):
        rows = np.arange(start, min(start + _ROWS, n))
        block = np.asarray(kernel.block(prepared.take(rows), prepared), dtype=np.float64)
        gaps = np.maximum(diagonal[rows, None] + diagonal - 2.0 * block, 0.0)
        gaps[np.arange(len(rows)), rows] = np.inf
        near = np.argpartition(gaps, count - 1, axis=1)[:, :count]
        first.append(np.repeat(rows, count))
        second.append(near.ravel())
        squares.append(np.take_along_axis(gaps, near, axis=1).ravel())
    return np.concatenate(first), np.concatenate(second), np.concatenate(squares)


def _intercept(squares: Floats, halves: Floats, rounds: int = 20) -> float:
    """Value at zero of the line through (d^2, D), both not negative; D scatters in proportion to its mean."""
    scale = float(squares.mean())
    if scale == 0.0 or not halves.any():
        return float(halves.mean())
    t = squares / scale
    level = np.full(len(t), float(halves.mean()))
    intercept = slope = 0.0
    for _ in range(rounds):
        weight = 1.0 / np.square(np.maximum(level, 1e-6 * float(halves.mean())))
        weight /= weight.sum()
        mean_t, mean_d = float(weight @ t), float(weight @ halves)
        spread = float(weight @ np.square(t - mean_t))
        slope = max(float(weight @ ((t - mean_t) * (halves - mean_d))) / spread, 0.0) if spread > 0.0 else 0.0
        before, intercept = intercept, mean_d - slope * mean_t
        if intercept < 0.0:  # a line through the origin
            intercept, slope = 0.0, float(weight @ (t * halves)) / float(weight @ np.square(t))
        if abs(intercept - before) <= 1e-10 * float(halves.mean()):
            break
        level = intercept + slope * t
    return intercept

"""Tables of logarithms: sums, maxima and expectations along axes, where -inf is the logarithm of nothing.

A table has an axis for each variable of its scope, in the order of the network's variables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.arrays import Floats

__all__ = ["aligned", "entropy_of", "expectation", "log_sum", "normalised", "reduced_axes", "summed_to"]

Scope = Sequence[int]


def log_sum(table: Floats, axes: tuple[int, ...] | None = None) -> Floats:
    """Return log sum exp along axes (all by default), which are dropped.

    Examples
    --------
    >>> float(log_sum(np.log([[1.0, 2.0], [3.0, 4.0]])).round(12)) == round(float(np.log(10.0)), 12)
    True
    """
    if axes == ():
        return table
    top = np.max(table, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):  # what is that far below the largest is zero
        return np.log(np.sum(np.exp(table - top), axis=axes)) + np.squeeze(top, axis=axes)


def aligned(table: Floats, scope: Scope, onto: Scope) -> Floats:
    """Return a table with axes of length one for the variables of a larger scope that it does not have."""
    own = set(scope)
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if v in own else 1 for v in onto])


def reduced_axes(scope: Scope, kept: Scope) -> tuple[int, ...]:
    """Return the axes of the variables of a scope that are not kept."""
    return tuple(axis for axis, v in enumerate(scope) if v not in kept)


def summed_to(table: Floats, scope: Scope, kept: Scope) -> Floats:
    """Return plain sums of a table over all variables but some."""
    axes = reduced_axes(scope, kept)
    return table.sum(axis=axes) if axes else table


def normalised(logs: Floats) -> Floats:
    """Return the distribution that is proportional to the exponential of a table."""
    with np.errstate(over="ignore"):
        p = np.exp(logs - logs.max())
    return p / p.sum()


def expectation(p: Floats, scores: Floats) -> float:
    """Return sum p theta, where what has probability zero does not count even if its score is -inf."""
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.where(p > 0.0, p * scores, 0.0)))


def entropy_of(p: Floats) -> float:
    """Return -sum p log p."""
    return -float(np.sum(p * np.log(np.where(p > 0.0, p, 1.0))))

r"""Improved iterative scaling: all weights of non-negative features are moved at once, each by its own equation.

Symbols: J(v) = |v|^2 / 2 + R(v) with R a weighted sum of log-partition functions minus scores; e_j the expected and s_j
the observed sum of feature j, both with the weights of the samples, so that dR/dv_j = e_j - s_j; M the largest sum of
all features of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import wrightomega

from mercer.arrays import Floats
from mercer.solvers.smooth.functional_descent import Descent, Function, Risk
from mercer.solvers.solver import Watch

__all__ = ["scale_iteratively"]


def scale_iteratively(
    gram: Any,
    risk: Risk,
    seen: tuple[Floats, Floats],
    largest: float,
    tol: float,
    max_iter: int,
    monitor: Callable[[int, float], Any] | None = None,
) -> Descent:
    r"""Minimise |v|^2 / 2 + R(v) by improved iterative scaling.

    .. math:: e_j \, e^{M \delta_j} + v_j + \delta_j = s_j, \qquad v \leftarrow v + \delta

    The objective falls in every step: each equation minimises an upper bound of J in which no weight depends on
    another, and has its solution in closed form. Steps are the shorter the more features a sample has.

    Seed: [HSS] Section 4.1.4 (conditional exponential models, improved iterative scaling).

    Parameters
    ----------
    gram : Gram
        With a factor of non-negative features, ``moment`` and ``times``.
    risk : callable
        R as a function of values at the sites and of the weights of the output's own features.
    seen : pair of arrays
        s: of the factor's columns, (r, D), and of the output's own features.
    largest : float
        M.
    tol, max_iter, monitor
        As for `descend`.

    Returns
    -------
    Descent
    """
    V, w = np.zeros_like(seen[0]), np.zeros_like(seen[1])
    F, J, length = gram.times(V), np.inf, np.inf
    first, watch = None, Watch(tol, monitor)
    for iteration in range(max_iter + 1):
        F = gram.times(V)
        value, by_values, by_weights = risk(F, w)
        up, beside = gram.moment(by_values), by_weights  # e - s
        J = value + 0.5 * float(np.vdot(V, V) + w @ w)
        length = math.sqrt(float(np.sum(np.square(V + up)) + np.sum(np.square(w + beside))))
        first = length if first is None else first
        relative = length / first if first > 0.0 else 0.0
        if watch.ends(iteration, J, relative):
            break
        if iteration < max_iter:
            V, w = V + _step(up, seen[0], V, largest), w + _step(beside, seen[1], w, largest)
    return Descent(Function(V, F, w), J, 0.5 * length**2, watch.status, watch.rows)


def _step(slope: Floats, seen: Floats, weights: Floats, largest: float) -> Floats:
    """Return the solutions of the equations: with s' = s - v and Lambert's W, delta = s' - W(M e exp(M s')) / M."""
    left, expected = seen - weights, np.maximum(slope + seen, 0.0)
    with np.errstate(divide="ignore"):
        return left - np.real(wrightomega(np.log(largest * expected) + largest * left)) / largest

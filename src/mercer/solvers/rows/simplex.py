"""Small quadratic programs over a simplex, solved exactly by an active set.

Symbols: alpha the weights, not negative and of sum one; P the set of those that are positive, nu the multiplier of
the sum.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats

__all__ = ["minimize_on_simplex"]

_ROUNDING = 1e-13  # relative; smaller slopes are zero


def minimize_on_simplex(G: Floats, c: Floats, start: Floats) -> tuple[Floats, float]:
    r"""Minimise a convex quadratic function of weights that sum to one.

    .. math:: \min_\alpha \; \tfrac12 \alpha^\top G \alpha - c^\top \alpha \quad \text{s.t.} \quad
              \alpha \ge 0, \; \sum_t \alpha_t = 1

    Parameters
    ----------
    G : (t, t) array
        Positive semi-definite.
    c : (t,) array
    start : (t,) array
        Feasible weights; those near the solution save steps.

    Returns
    -------
    alpha : (t,) array
    value : float

    Notes
    -----
    The steps are those of Lawson and Hanson's algorithm for non-negative least squares: solve on P, step back to the
    boundary and drop what reached it, admit the weight of steepest descent, until none descends. Cost O(|P|^3) each.

    Examples
    --------
    >>> alpha, value = minimize_on_simplex(np.eye(2), np.array([0.0, 0.5]), np.array([1.0, 0.0]))
    >>> alpha, round(value, 6)
    (array([0.25, 0.75]), -0.0625)
    """
    alpha = np.array(start, dtype=np.float64)
    alpha /= alpha.sum()
    used = alpha > 0.0
    tiny = _ROUNDING * (float(np.max(np.diag(G), initial=0.0)) + 1e-300)
    last = np.inf
    best, kept = _value(G, c, alpha), alpha
    for _ in range(10 * len(c) + 20):
        alpha, used, nu = _solve_on(G, c, alpha, used, tiny)
        slope = G @ alpha - c + nu
        slope[used] = 0.0
        candidate = int(np.argmin(slope))
        value = _value(G, c, alpha)
        if value < best:
            best, kept = value, alpha
        size = float(np.max(np.abs(G @ alpha), initial=0.0) + np.max(np.abs(c), initial=0.0))
        if slope[candidate] >= -_ROUNDING * size or not value < last:
            break
        last = value
        used = used.copy()
        used[candidate] = True
    return kept, best


def _value(G: Floats, c: Floats, alpha: Floats) -> float:
    return 0.5 * float(alpha @ (G @ alpha)) - float(c @ alpha)


def _solve_on(G: Floats, c: Floats, alpha: Floats, used: np.ndarray, tiny: float) -> tuple[Floats, np.ndarray, float]:
    """Minimise over the weights in use, leaving out those that would be negative; weights, set and multiplier."""
    while True:
        index = np.flatnonzero(used)
        m = len(index)
        system = np.ones((m + 1, m + 1))
        system[:m, :m] = G[np.ix_(index, index)]
        system[np.arange(m), np.arange(m)] += tiny
        system[m, m] = 0.0
        found = np.linalg.solve(system, np.append(c[index], 1.0))
        new = np.zeros_like(alpha)
        new[index] = found[:m]
        low = index[found[:m] <= 0.0]
        if not len(low) or m == 1:
            return new, used, float(found[m])
        steps = alpha[low] / np.maximum(alpha[low] - new[low], 1e-300)
        place = int(np.argmin(steps))
        alpha = alpha + float(steps[place]) * (new - alpha)
        used = used.copy()
        used[low[place]] = False
        used[alpha < 0.0] = False
        alpha[~used] = 0.0
        alpha /= alpha.sum()

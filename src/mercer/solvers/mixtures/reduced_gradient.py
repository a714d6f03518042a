"""Weights by the reduced gradient on the simplex, with an exact line search."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.solvers.mixtures.machines import Point
from mercer.solvers.mixtures.mixture_problem import MixtureMulticlass, MixtureQP
from mercer.solvers.mixtures.weight_search import MixtureSolver, Search, require_simplex

__all__ = ["ReducedGradient"]
__public__ = __all__

_FLAT = 0.01  # of the slope at the beginning of a line: less is its minimum
_LINE = 30  # machines on a line


class ReducedGradient(MixtureSolver):
    r"""Descent along the reduced gradient: what one kernel loses of its weight the largest one gains.

    .. math:: D_t = g_\mu - g_t \;\; (d_t > 0 \text{ or } g_t < g_\mu), \qquad D_\mu = -\sum_{t \ne \mu} D_t, \qquad
              g_t = -\tfrac12 \beta^\top K_t \beta, \quad \mu = \arg\max_t d_t

    The step goes to the next face of the simplex as long as the objective still falls there, and then to the minimum
    on the line, where the slope of the machine's risk vanishes.

    Seed: [KIKS] Section 6.2 and [STS] Section 7, SimpleMKL (Rakotomamonjy, Bach, Canu and Grandvalet, 2008), whose line
    search by golden sections does without the slopes.

    Parameters
    ----------
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    max_iter : int, default 500
        The most directions.

    Notes
    -----
    Solves problems with ``mixture=Simplex()``. A machine for each step on a line; small gaps take many lines.

    Examples
    --------
    >>> from mercer.solvers import ReducedGradient
    >>> ReducedGradient(1e-2).tol
    0.01
    """

    def __init__(self, tol: float = 1e-3, max_iter: int = 500) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _check_set(self, problem: MixtureQP | MixtureMulticlass) -> None:
        require_simplex(self, problem, (MixtureQP, MixtureMulticlass))

    def _run(self, search: Search) -> None:
        while not search.done():
            before = search.point
            D = _direction(before.d, before.s)
            if not D.any():
                search.stall()
                return
            search.inner = min(search.inner, 0.01 * search.gap)
            point = _along(search, before, D)
            if search.status is None and not point.value < before.value:
                if search.inner <= 1e-11:
                    search.stall()
                    return
                search.inner *= 0.01
                point = search.evaluate(before.d, before.z)
            search.move(point)


def _direction(d: Floats, s: Floats) -> Floats:
    """Return the reduced gradient's descent direction; it sums to zero, and weights of zero do not fall."""
    g, mu = -0.5 * s, int(np.argmax(d))
    D = g[mu] - g
    D[(d <= 0.0) & (D < 0.0)] = 0.0
    D[mu] = 0.0
    D[mu] = -D.sum()
    return D


def _farthest(d: Floats, D: Floats) -> tuple[float, int]:
    """Return how far one can go along D until a weight is zero, and which one it is."""
    falling = np.flatnonzero(D < 0.0)
    ratios = -d[falling] / D[falling]
    place = int(np.argmin(ratios))
    return float(ratios[place]), int(falling[place])


def _along(search: Search, point: Point, D: Floats) -> Point:
    """Go from face to face while the objective falls, and then to the minimum on the line."""
    while True:
        far, which = _farthest(point.d, D)
        d = np.maximum(point.d + far * D, 0.0)
        d[which] = 0.0
        end = search.evaluate(d / d.sum())
        if search.status is not None:
            return point
        if end.value >= point.value or -0.5 * float(end.s @ D) > 0.0:
            break
        point = end
        # the direction on the smaller face: the largest weight makes up for what is left out
        mu = int(np.argmax(point.d))
        D = D.copy()
        D[which] = 0.0
        D[mu] = 0.0
        D[mu] = -D.sum()
        if not D.any() or -0.5 * float(point.s @ D) >= 0.0:
            return point
    return _line(search, point, D, far, end)


def _line(search: Search, point: Point, D: Floats, far: float, end: Point) -> Point:
    """Return the point between two at which the slope along D is next to nothing; it changes its sign between them."""
    low, high, best = 0.0, far, point
    left, right = -0.5 * float(point.s @ D), -0.5 * float(end.s @ D)
    first = abs(left)
    for step in range(_LINE):
        share = left / (left - right) if step % 3 < 2 and right > left else 0.5
        middle = low + min(max(share, 0.02), 0.98) * (high - low)
        trial = search.evaluate(np.maximum(point.d + middle * D, 0.0))
        if search.status is not None:
            break
        slope = -0.5 * float(trial.s @ D)
        best = trial if trial.value < best.value else best
        if abs(slope) <= _FLAT * first:
            break
        if slope < 0.0:
            low, left = middle, slope
        else:
            high, right = middle, slope
    return best

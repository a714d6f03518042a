"""Weights by a linear program that grows by one constraint for each machine that is solved.

Symbols: J(d) the machine's risk, above each of its tangents gain_k - d^T s_k / 2; theta the largest of them.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from mercer.arrays import Floats
from mercer.solvers.mixtures.machines import Point
from mercer.solvers.mixtures.mixture_problem import MixtureMulticlass, MixtureQP
from mercer.solvers.mixtures.weight_search import MixtureSolver, Search, require_simplex

__all__ = ["SemiInfinite"]
__public__ = __all__


class SemiInfinite(MixtureSolver):
    r"""Semi-infinite linear program: a constraint for each solution of the machine, which may be any.

    .. math:: \min_{d \in \Delta, \theta} \; \theta \quad \text{s.t.} \quad
              \theta \ge -p^\top z - \tfrac12 \sum_j r_j z_j^2 - \tfrac12 \sum_t d_t \, \beta^\top K_t \beta
              \quad \text{for all } z

    The constraints are added where they are most violated, which is at the solution of the machine at the weights of
    the last linear program.

    Seed: [KIKS] Section 6.2, Problem 3; [STS] Section 7.

    Parameters
    ----------
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    max_iter : int, default 500
        The most machines.

    Notes
    -----
    Solves problems with ``mixture=Simplex()``, of two classes, numbers, one class or many classes. The linear programs
    are solved by SciPy's HiGHS. Weights jump between corners until the tangents are dense around the optimum, so that
    it takes many machines to small gaps.

    Examples
    --------
    >>> from mercer.solvers import SemiInfinite
    >>> SemiInfinite().max_iter
    500
    """

    def __init__(self, tol: float = 1e-3, max_iter: int = 500) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _check_set(self, problem: MixtureQP | MixtureMulticlass) -> None:
        require_simplex(self, problem, (MixtureQP, MixtureMulticlass))

    def _run(self, search: Search) -> None:
        points = [search.point]
        while not search.done():
            d, theta = _program(points)
            search.lower = max(search.lower, theta)
            points.append(search.evaluate(d))
            best = points[-1] if points[-1].value < search.point.value else search.point
            search.move(best)


def _program(points: list[Point]) -> tuple[Floats, float]:
    """Return the weights at which the largest tangent is least, and its value there."""
    m = len(points[0].d)
    unit = max(float(np.max(np.abs(points[0].s))), np.finfo(float).tiny)
    tangents = np.array([np.append(-0.5 * point.s / unit, -1.0) for point in points])
    sides = np.array([-point.gain / unit for point in points])
    sums = np.append(np.ones(m), 0.0)[None, :]
    found = linprog(
        np.append(np.zeros(m), 1.0), tangents, sides, sums, np.ones(1),
        bounds=[(0.0, 1.0)] * m + [(None, None)], method="highs",
    )  # fmt: skip
    if found.x is None:  # numbers that HiGHS does not take: weights in closed form
        d = points[-1].d * np.sqrt(points[-1].s)
        return d / d.sum(), -np.inf
    d = np.maximum(found.x[:m], 0.0)
    d /= d.sum()
    # what HiGHS says is exact to its own tolerance: the value is computed again, and lowered by that
    theta = max(float(point.gain - 0.5 * d @ point.s) for point in points)
    return d, theta - 1e-7 * unit * (1.0 + abs(theta) / unit)

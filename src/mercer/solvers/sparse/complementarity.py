"""Lasso in doubled variables: the simplex method on a linear program with complementarity.

Symbols: b = u - v with u, v >= 0; G = A^T A, s = A^T z; basic variables of the tableau are written in terms of the
others.
"""

from __future__ import annotations

import time

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Optional
from mercer.problems import Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.solvers.solver import Monitor, Solver
from mercer.solvers.sparse.coordinate_descent import polish
from mercer.solvers.sparse.design import PenalisedLeastSquares

__all__ = ["ComplementaryPivoting"]
__public__ = __all__

_WORK = 2e7  # entries of the tableau changed between two looks at the monitor


class ComplementaryPivoting(Solver):
    r"""Lemke's simplex method for the lasso with twice as many variables, none of them negative.

    .. math:: \begin{pmatrix} \mu_u \\ \mu_v \end{pmatrix} = \begin{pmatrix} G & -G \\ -G & G \end{pmatrix}
        \begin{pmatrix} u \\ v \end{pmatrix} + \begin{pmatrix} \alpha - s \\ \alpha + s \end{pmatrix}
        + t \, 1 \ge 0, \qquad u, v \ge 0, \quad u^\top \mu_u = v^\top \mu_v = 0

    Seed: [KIKS] Section 4.1.3 says that doubling the parameters makes the lasso a linear program. With the squared loss
    of Eq. (13) the objective stays quadratic: what becomes linear are the optimality conditions, to which one rule is
    added, that of two complementary variables at most one enters the basis. That is what is solved here, by the pivots
    of the simplex method.

    Parameters
    ----------
    max_iter : int, optional
        Most pivots; None allows twenty for each variable, at least 1000.

    Notes
    -----
    Solves PenalisedLeastSquares. The artificial variable t starts where all coefficients are zero and falls to zero;
    alpha + t in place of alpha solves the same conditions, so the pivots are the knots of the path. A pivot costs
    O(D^2), the tableau 16 D^2 bytes and more: for hundreds of columns, not for thousands. The coefficients that are
    not zero are recomputed from the columns at the end.

    Examples
    --------
    >>> from mercer.solvers.sparse.design import design_of
    >>> A = design_of(np.array([[1.0, 0.0], [0.0, 2.0]]), np.ones(2), False)
    >>> ComplementaryPivoting().solve(PenalisedLeastSquares(A, np.array([3.0, 1.0]), alpha=1.0)).coef
    array([2.  , 0.25])
    """

    constraints = {"max_iter": Optional(Integer(1))}
    solves = PenalisedLeastSquares

    def __init__(self, max_iter: int | None = None) -> None:
        self.max_iter = max_iter

    def _solve(
        self, problem: PenalisedLeastSquares, start: Floats | None = None, monitor: Monitor | None = None
    ) -> Solution:
        began = time.perf_counter()
        D = problem.design.shape[1]
        every = np.arange(D)
        G, s = problem.design.normal(every, every), problem.design.correlations(problem.target)
        limit = max(40 * D, 1000) if self.max_iter is None else self.max_iter
        b, status, pivots = _pivoted(G, s, problem.alpha, limit, monitor)
        b, r, c = _exact(problem, G, b)
        unit = 0.5 * float(problem.target @ problem.target) or 1.0
        gap = problem.gap(b, r, c)
        rows = [(problem.objective(b, r), gap / unit, time.perf_counter() - began)]
        return Solution(b, status, gap / unit, gap=gap, trace=Trace.of(rows), state=pivots)


def _exact(problem: PenalisedLeastSquares, G: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Coefficients of the basis recomputed, what they leave, and its correlations."""
    r = problem.left(b)
    c = problem.design.correlations(r)
    for _ in range(2):
        better, q = b.copy(), c.copy()
        polish(G, q, better, problem.alpha)
        left = problem.left(better)
        if not problem.objective(better, left) <= problem.objective(b, r):
            break
        b, r = better, left
        c = problem.design.correlations(r)
    return b, r, c


def _pivoted(G: Floats, s: Floats, alpha: float, limit: int, monitor: Monitor | None) -> tuple[Floats, Status, int]:
    """Pivot until the artificial variable leaves the basis: coefficients, status, number of pivots."""
    D = len(s)
    top = float(np.max(np.abs(s), initial=0.0)) - alpha
    if top <= 0.0:
        return np.zeros(D), Status.CONVERGED, 0
    # Rows: basic variables. Columns: variables u, v (2D), artificial, their complements mu (2D), constant.
    M = np.block([[G, -G], [-G, G]])
    T = np.hstack([-M, -np.ones((2 * D, 1)), np.eye(2 * D), np.concatenate([alpha - s, alpha + s])[:, None]])
    basis: Indices = np.arange(2 * D + 1, 4 * D + 1)
    row = int(np.argmin(T[:, -1]))
    entering, pivots, status = 2 * D, 0, Status.MAX_ITER
    share = max(1, int(_WORK / T.size))
    while pivots < limit:
        count, entering, row = _pivot(T, basis, entering, row, min(share, limit - pivots), D)
        pivots += count
        if entering < 0:
            status = Status.CONVERGED if row >= 0 else Status.STALLED
            break
        place = np.flatnonzero(basis == 2 * D)
        left = float(T[place[0], -1]) / top if len(place) else 0.0
        if monitor is not None and (answer := monitor(pivots, left)):
            status = answer if isinstance(answer, Status) else Status.STOPPED
            break
    values = np.zeros(4 * D + 2)
    values[basis] = T[:, -1]
    return np.maximum(values[:D], 0.0) - np.maximum(values[D : 2 * D], 0.0), status, pivots


@compiled
def _pivot(T, basis, entering, row, share, D):
    """Make pivots: how many, the next variable to enter (-1 at the end), and its row (-1 on a ray)."""
    rows, columns = T.shape
    count = 0
    while count < share:
        scale = 1.0 / T[row, entering]
        for j in range(columns):
            T[row, j] *= scale
        for i in range(rows):
            if i != row and T[i, entering] != 0.0:
                factor = T[i, entering]
                for j in range(columns):
                    T[i, j] -= factor * T[row, j]
                T[i, entering] = 0.0
        leaving = basis[row]
        basis[row] = entering
        count += 1
        if leaving == 2 * D:  # the artificial variable is zero: solved
            return count, -1, 0
        entering = leaving - 2 * D - 1 if leaving > 2 * D else leaving + 2 * D + 1
        row, best = -1, np.inf
        for i in range(rows):
            pivot = T[i, entering]
            if pivot > 1e-11:
                ratio = max(T[i, columns - 1], 0.0) / pivot
                # of equal ratios the artificial variable leaves, else the largest pivot: it loses the fewest digits
                better = ratio < best * (1.0 - 1e-12)
                if not better and ratio <= best * (1.0 + 1e-12):
                    better = basis[i] == 2 * D or (basis[row] != 2 * D and pivot > T[row, entering])
                if better:
                    row, best = i, min(ratio, best)
        if row < 0:
            return count, -1, -1
    return count, entering, row

"""Lasso by coordinate descent on growing sets of columns, finished by an active-set method.

Symbols: A the design, z the target, b the coefficients, r = z - A b, c = A^T r, G = A^T A on the working set, q the
part of c that belongs to it, s the signs of b.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.linalg import cho_solve

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Interval
from mercer.problems import Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import in_background
from mercer.solvers.solver import Monitor, Solver
from mercer.solvers.sparse.design import PenalisedLeastSquares

__all__ = ["CoordinateDescent", "polish"]
__public__ = ["CoordinateDescent"]

_WORK = 5e7  # multiplications of one call of compiled code: some 50 ms
_FIRST = 32  # columns of the first working set
_PASSES = 60  # over the working set between two attempts of the active-set method
_EXACT = 1e-13  # relative violation that only rounding leaves
_STEPS = 10  # of the active-set method before coordinate descent has its turn again
_SMALL = 500  # columns of a working set whose coefficients may all leave within one attempt
_PATIENCE = 8  # rounds that do not lower the objective: what is left is rounding
_ROUNDS = 8  # of descent and active-set method on one working set


class CoordinateDescent(Solver):
    r"""Coordinate descent for the lasso: one coefficient at a time, each step exact.

    .. math:: b_i \leftarrow \mathrm{sign}(A_i) \max(|A_i| - \alpha, 0) / G_{ii}, \qquad
        A_i = s_i - \sum_{m \ne i} G_{im} b_m, \quad G = A^\top A, \; s = A^\top z

    Seed: [KIKS] Eqs. (13)-(15).

    Parameters
    ----------
    tol : float, default 1e-10
        Duality gap over the value of the objective at zero, :math:`\|z\|^2 / 2`.
    max_iter : int, default 1000
        Rounds: each takes the columns with the largest correlations beside those in use, solves the problem on them,
        and looks at all columns again.

    Notes
    -----
    Solves PenalisedLeastSquares. The descent finds which coefficients are zero; then an active-set method (Newton's
    method on the coefficients that are not, with drops and additions) makes them exact, where the columns are linearly
    independent. Residuals are recomputed in each round, so that errors do not add up. Cost of a round O(nD) and
    O(n w) for each new column of a working set of size w; memory w^2.

    Examples
    --------
    >>> from mercer.solvers.sparse.design import design_of
    >>> A = design_of(np.array([[1.0, 0.0], [0.0, 2.0]]), np.ones(2), False)
    >>> solution = CoordinateDescent().solve(PenalisedLeastSquares(A, np.array([3.0, 1.0]), alpha=1.0))
    >>> solution.coef, solution.status.name
    (array([2.  , 0.25]), 'CONVERGED')
    """

    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "max_iter": Integer(1)}
    solves = PenalisedLeastSquares

    def __init__(self, tol: float = 1e-10, max_iter: int = 1000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(
        self, problem: PenalisedLeastSquares, start: Floats | None = None, monitor: Monitor | None = None
    ) -> Solution:
        return _Descent(self, start, problem.design.shape[1]).run(problem, monitor)

    def path(
        self, problem: PenalisedLeastSquares, alphas: Sequence[float], monitor: Monitor | None = None
    ) -> Iterator[Solution]:
        """Yield the solution for each of many alphas, each from the one before.

        Parameters
        ----------
        problem : PenalisedLeastSquares
            Its own alpha is not looked at.
        alphas : sequence of float
            Quickest from the largest to the smallest.
        monitor : callable, optional

        Examples
        --------
        >>> from mercer.solvers.sparse.design import design_of
        >>> problem = PenalisedLeastSquares(design_of(np.eye(2), np.ones(2), False), np.array([3.0, 1.0]), 0.0)
        >>> [solution.coef.tolist() for solution in CoordinateDescent().path(problem, [2.0, 0.5])]
        [[1.0, 0.0], [2.5, 0.5]]
        """
        descent = _Descent(self, None, problem.design.shape[1])
        for alpha in alphas:
            yield descent.run(PenalisedLeastSquares(problem.design, problem.target, float(alpha)), monitor)


class _Descent:
    """Coefficients and the working set, kept from one alpha to the next."""

    def __init__(self, options: CoordinateDescent, start: Floats | None, D: int) -> None:
        self.options = options
        self.b = np.zeros(D) if start is None else np.array(start, dtype=np.float64)
        self.chosen = np.zeros(0, dtype=np.intp)  # the working set, ascending
        self.G = np.zeros((0, 0))

    def run(self, problem: PenalisedLeastSquares, monitor: Monitor | None) -> Solution:
        """Solve a problem from the present coefficients."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._run(problem, monitor)

    def _run(self, problem: PenalisedLeastSquares, monitor: Monitor | None) -> Solution:
        began, rows = time.perf_counter(), []
        unit = 0.5 * float(problem.target @ problem.target) or 1.0
        status, count, before, idle = Status.MAX_ITER, _FIRST, np.inf, 0
        best: tuple[float, Floats] = np.inf, self.b.copy()
        for iteration in range(self.options.max_iter + 1):
            r = problem.left(self.b)
            c = problem.design.correlations(r)
            gap, objective = problem.gap(self.b, r, c), problem.objective(self.b, r)
            rows.append((objective, gap / unit, time.perf_counter() - began))
            if gap < best[0] or not np.isfinite(best[0]):
                best = gap, self.b.copy()
            if gap <= self.options.tol * unit and (
                problem.violation(self.b, c) <= 1e3 * _EXACT * problem.alpha or iteration > 2
            ):
                status = Status.CONVERGED
                break
            now = iteration, gap / unit
            if monitor is not None and (answer := monitor(*now)):
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
            if iteration == self.options.max_iter:
                break
            idle = idle + 1 if objective >= before else 0
            if idle >= _PATIENCE:
                status = Status.STALLED
                break
            before = min(before, objective)
            count = self._choose(problem, c, count)
            if answer := self._improve(problem, c, unit, lambda: monitor is not None and monitor(*now)):  # noqa: B023
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
        gap, self.b = best[0], best[1]
        return Solution(
            coef=self.b.copy(),
            status=Status.CONVERGED if gap <= self.options.tol * unit else status,
            residual=gap / unit,
            gap=gap,
            trace=Trace.of(rows),
            state=len(rows) - 1,
        )

    def _choose(self, problem: PenalisedLeastSquares, c: Floats, count: int) -> int:
        """Take the columns in use and those with the largest correlations; how many more the next time."""
        room = max(2 * problem.design.rank, _FIRST)
        inside = np.zeros(len(self.b), dtype=bool)
        if len(self.chosen) <= room:  # else only what is in use: more never is at the optimum
            inside[self.chosen] = True
        inside |= self.b != 0.0
        size = np.where(inside, -1.0, np.abs(c))
        extra = min(max(count, np.count_nonzero(self.b)), int(np.count_nonzero(size > 0.8 * problem.alpha)), room)
        if extra:
            inside[np.argpartition(-size, extra - 1)[:extra]] = True
        used = np.flatnonzero(inside)
        if not np.array_equal(used, self.chosen):
            self.G = _grown(problem, self.chosen, self.G, used)
            self.chosen = used
        return 2 * count

    def _improve(
        self, problem: PenalisedLeastSquares, c: Floats, unit: float, ask: Callable[[], bool | Status]
    ) -> bool | Status:
        """Solve the problem on the working set; the answer of the monitor if it wants to stop."""
        b, q, alpha = self.b[self.chosen], c[self.chosen], problem.alpha
        goal, size = 1e-13 * np.sqrt(unit), len(b)
        passes = max(1, min(_PASSES, int(_WORK / max(size * size, 1))))
        for _ in range(_ROUNDS):
            done, worst = 0, np.inf
            while done < _PASSES and worst > goal:
                worst = _descend(self.G, q, b, alpha, goal, passes)
                done += passes
                if answer := ask():
                    self.b[self.chosen] = b
                    return answer
            if worst <= goal:  # well conditioned columns: the descent alone is exact
                break
            steps = _STEPS + (int(np.count_nonzero(b)) if size <= _SMALL else 0)
            if polish(self.G, q, b, alpha, steps) <= 1e2 * _EXACT * alpha:
                break
        self.b[self.chosen] = b
        return False


def _grown(problem: PenalisedLeastSquares, old: Indices, G: Floats, new: Indices) -> Floats:
    """Return A^T A on a new working set; entries of the old one are kept."""
    known, fresh = np.isin(new, old), np.setdiff1d(new, old)
    grown = np.empty((len(new), len(new)))
    places = np.searchsorted(old, new[known])
    grown[np.ix_(known, known)] = G[np.ix_(places, places)]
    if len(fresh):
        work = 2.0 * problem.design.shape[0] * len(fresh) * len(new)
        block = in_background(problem.design.normal, fresh, new, work=work)
        grown[~known] = block
        grown[:, ~known] = block.T
    return grown


def polish(G: Floats, q: Floats, b: Floats, alpha: float, steps: int = _STEPS) -> float:
    r"""Make coefficients exact by an active-set method; b and q are changed in place.

    .. math:: G_{SS}\, d_S = q_S - \alpha s_S

    Parameters
    ----------
    G : (w, w) array
        A^T A.
    q : (w,) array
        A^T (z - A b).
    b : (w,) array
        Coefficients.
    alpha : float
    steps : int, default 10
        Most linear systems solved.

    Returns
    -------
    violation : float
        Largest violation of the optimality conditions that is left.

    Notes
    -----
    A step goes to the minimum of the quadratic that the objective is while no sign changes, or to the first change of
    sign, where that coefficient becomes zero. Columns that depend on one another have no such minimum: the step goes
    along a null vector, which leaves the fit as it is, until a coefficient is zero. At the minimum the column that
    violates its condition most is added. No step raises the objective.

    Examples
    --------
    >>> G, q, b = np.eye(2), np.array([3.0, 1.5]), np.zeros(2)
    >>> polish(G, q, b, 1.0), b
    (0.0, array([2. , 0.5]))
    """
    signs = np.sign(b)
    for _ in range(steps):
        used = np.flatnonzero(signs)
        if len(used):
            d, most = _newton(G[np.ix_(used, used)], q[used] - alpha * signs[used])
            if not np.isfinite(d).all():
                break
            step, blocked = _longest(b[used], d, signs[used], most)
            b[used] += step * d
            q -= step * (d @ G[used])
            if blocked is not None:
                b[used[blocked]] = signs[used[blocked]] = 0.0
                continue
        over = np.where(signs == 0.0, np.abs(q) - alpha, 0.0)
        worst = int(np.argmax(over)) if len(over) else 0
        if not len(over) or over[worst] <= _EXACT * max(alpha, 1e-300):
            break
        if G[worst, worst] <= 0.0:
            break
        signs[worst] = np.sign(q[worst])
    each = np.where(b != 0.0, np.abs(q - alpha * np.sign(b)), np.abs(q) - alpha)
    return float(np.max(each, initial=0.0))


def _newton(G: Floats, slope: Floats) -> tuple[Floats, float]:
    """Return the step to the minimum of the quadratic and 1; without a minimum, a direction of endless descent."""
    work = float(len(slope)) ** 3
    try:
        L = in_background(np.linalg.cholesky, G, work=work)
        if np.min(np.diag(L)) > 1e-6 * np.max(np.diag(L)):
            return cho_solve((L, True), slope, check_finite=False), 1.0  # the caller looks at it
    except np.linalg.LinAlgError:
        pass
    # Columns that depend on one another: along a null vector the fit stays and the penalty falls.
    values, V = in_background(np.linalg.eigh, G, work=10.0 * work)
    parts = V.T @ slope
    null = values <= 1e-14 * len(slope) * max(values[-1], 0.0)
    if np.linalg.norm(parts[null]) > 1e-9 * np.linalg.norm(parts):
        return V[:, null] @ parts[null], np.inf
    return V[:, ~null] @ (parts[~null] / values[~null]), 1.0


def _longest(b: Floats, d: Floats, signs: Floats, most: float) -> tuple[float, int | None]:
    """Return how much of the step d keeps the signs, and which coefficient ends it."""
    shrinking = np.flatnonzero(d * signs < 0.0)
    ratios = -b[shrinking] / d[shrinking]
    first = int(np.argmin(ratios)) if len(ratios) else -1
    if first < 0 or ratios[first] > most or not np.isfinite(ratios[first]):
        return (most, None) if np.isfinite(most) else (0.0, None)
    return max(float(ratios[first]), 0.0), int(shrinking[first])


@compiled
def _descend(G, q, b, alpha, tol, passes):
    """Pass over the coefficients until no step is longer than tol; the longest step of the last pass."""
    size, worst = len(b), 0.0
    for _ in range(passes):
        worst = 0.0
        for i in range(size):
            curve = G[i, i]
            if curve <= 0.0:
                continue
            aim = q[i] + curve * b[i]  # A_i of Eq. (15)
            if aim > alpha:
                new = (aim - alpha) / curve
            elif aim < -alpha:
                new = (aim + alpha) / curve
            else:
                new = 0.0
            change = new - b[i]
            if change != 0.0:
                b[i] = new
                for m in range(size):
                    q[m] -= change * G[i, m]
                worst = max(worst, abs(change) * np.sqrt(curve))
        if worst <= tol:
            break
    return worst

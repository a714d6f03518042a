r"""Linear machines by cutting planes: the risk is replaced by the largest of some tangents, and these grow in number.

Symbols: R(w) = sum_i c_i psi(y_i, <w, x_i>) the risk, J(w) = R(w) + |w|^2 / 2; beta_t = -c psi' at the t-th point,
g_t = sum_i beta_ti x_i minus the gradient of R there, b_t = R + <g_t, w> so that R(w) >= b_t - <g_t, w>;
alpha the weights of the tangents in the dual of the master problem.
"""

from __future__ import annotations

import time

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.problems import LinearRisk, Solution, Status, Trace
from mercer.runtime.tiling import serial_blas
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.rows.tangents import Tangents
from mercer.solvers.rows.terms import Terms
from mercer.solvers.solver import Monitor, Solver

__all__ = ["BundleMethod", "CuttingPlane"]
__public__ = __all__

_TOWARDS = 0.1  # [KIKS] leaves open where between the two points of an iteration OCAS takes its tangent


class BundleMethod(Solver):
    r"""Bundle method for regularised risks (BMRM): minimise a piecewise linear model, add a tangent where it ends.

    .. math:: w_{t+1} = \arg\min_w \; \tfrac12 \|w\|^2 + \max_{s \le t} \bigl( b_s - \langle g_s, w \rangle \bigr)

    Seed: [KIKS] Section 4.2.1, Eqs. (18), (19) and the listing; here R carries C, and is a sum, not a mean.

    Parameters
    ----------
    tol : float, default 1e-4
        The objective of the result is above its minimum by no more than this part of itself.
    max_iter : int, default 1000
        Tangents.

    Notes
    -----
    Solves LinearRisk, for any convex loss. The model is below the risk, so that its minimum bounds that of J: the
    difference is the gap. The small quadratic program over the tangents is solved exactly. An iteration costs two
    passes over the numbers of the samples. `Solution.coef` is the combination of the beta_t that gives `weights`, w
    with that of the constant column last; `residual` is the gap over the objective. Memory (n + d) numbers for each
    tangent in use; those without weight for 60 iterations are forgotten.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> X = np.array([[2.0], [1.0], [-1.0]])
    >>> problem = LinearRisk(X, np.array([1.0, 1.0, -1.0]), Hinge(), weight=np.full(3, 10.0))
    >>> BundleMethod(tol=1e-8).solve(problem).weights[:-1].round(6)
    array([1.])
    """

    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "max_iter": Integer(1)}
    solves = LinearRisk

    def __init__(self, tol: float = 1e-4, max_iter: int = 1000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, problem: LinearRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        with serial_blas():
            return _Bundle(problem, None, start).run(self.tol, self.max_iter, monitor)


class CuttingPlane(Solver):
    r"""Optimised cutting plane algorithm (OCAS): the bundle method with an exact line search on the risk itself.

    .. math:: w_t^b = (1 - k) \, w_{t-1}^b + k \, w_t, \quad k = \arg\min_{k \ge 0} J, \qquad
              \text{tangent at } (1 - \mu) \, w_t^b + \mu \, w_t

    Seed: [KIKS] Section 4.2.1, the two modifications after the listing, with mu = 0.1.

    Parameters
    ----------
    tol : float, default 1e-4
        The objective of the result is above its minimum by no more than this part of itself.
    max_iter : int, default 1000
        Tangents.

    Notes
    -----
    Solves LinearRisk, for losses with a box dual (hinge, squared hinge, tubes, Huber, pinball). The line search is
    exact: the slope along a line is piecewise linear, with at most four breaks for each sample, which are sorted, in
    O(n log n). The objective falls at every iteration, unlike that of the bundle method. Cost and memory of an
    iteration otherwise as there.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> X = np.array([[2.0], [1.0], [-1.0]])
    >>> problem = LinearRisk(X, np.array([1.0, 1.0, -1.0]), Hinge(), weight=np.full(3, 10.0))
    >>> CuttingPlane(tol=1e-8).solve(problem).weights[:-1].round(6)
    array([1.])
    """

    constraints = {"tol": Interval(0.0, 1.0, closed="neither"), "max_iter": Integer(1)}
    solves = LinearRisk

    def __init__(self, tol: float = 1e-4, max_iter: int = 1000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, problem: LinearRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        terms = Terms.of(problem.loss, problem.y, problem.weight, np.zeros(len(problem.y)))
        with serial_blas():
            return _Bundle(problem, terms, start).run(self.tol, self.max_iter, monitor)


class _Point:
    """Coefficients beta of samples, weights w = sum_i beta_i x_i and values f, which combine alike."""

    def __init__(self, beta: Floats, w: Floats, f: Floats) -> None:
        self.beta, self.w, self.f = beta, w, f

    def towards(self, other: _Point, share: float) -> _Point:
        keep = 1.0 - share
        return _Point(
            keep * self.beta + share * other.beta, keep * self.w + share * other.w, keep * self.f + share * other.f
        )


class _Bundle:
    """The tangents so far, the master problem over them, and the best point."""

    def __init__(self, problem: LinearRisk, terms: Terms | None, start: Floats | None) -> None:
        self.problem, self.terms = problem, terms
        self.rows = rows = Rows.of(problem.X, problem.constant)
        self.y, self.weight = np.asarray(problem.y, dtype=np.float64), np.asarray(problem.weight, dtype=np.float64)
        self.tangents = Tangents(rows.width + 1, beside=len(rows))
        beta = np.zeros(len(rows)) if start is None else np.array(start, dtype=np.float64)
        w = rows.combine(beta)
        self.best = _Point(beta, w, rows.scores(w))
        self.value = self.objective(self.best)

    def risk(self, f: Floats) -> float:
        if self.terms is not None:
            return self.terms.risk(f)
        return float(self.weight @ self.problem.loss.value(self.y, f))

    def objective(self, point: _Point) -> float:
        return self.risk(point.f) + 0.5 * float(point.w @ point.w)

    def run(self, tol: float, limit: int, monitor: Monitor | None) -> Solution:
        """Add tangents until the gap is closed; the solution."""
        began, rows = time.perf_counter(), []
        status = Status.MAX_ITER
        self.cut(self.best)
        for iteration in range(1, limit + 1):
            newest = self.master()
            if self.terms is None:
                self.cut_here(newest)
            else:
                self.cut_between(newest, self.terms)
            gap = self.value - self.tangents.lower
            share = gap / abs(self.value) if self.value else 0.0
            rows.append((self.value, share, time.perf_counter() - began))
            if share <= tol:
                status = Status.CONVERGED
                break
            if monitor is not None and (answer := monitor(iteration, share)):
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
        best = self.best
        return Solution(
            coef=best.beta,
            weights=best.w,
            status=status,
            residual=rows[-1][1],
            gap=max(0.0, self.value - self.tangents.lower),
            trace=Trace.of(rows),
            state=len(rows),
        )

    def cut_here(self, newest: _Point) -> None:
        """BMRM, step 5 of the listing: a tangent at the minimum of the model."""
        value = self.objective(newest)
        if value < self.value:
            self.best, self.value = newest, value
        self.cut(newest)

    def cut_between(self, newest: _Point, terms: Terms) -> None:
        """OCAS: the best point on the line through the last best and the newest, and a tangent near it."""
        way = newest.w - self.best.w
        slope, bend = float(self.best.w @ way), float(way @ way)
        k = terms.line(self.best.f, newest.f - self.best.f, slope, bend)
        tried = self.best.towards(newest, k)
        value = self.objective(tried)
        if value <= self.value:
            self.best, self.value = tried, value
        self.cut(self.best.towards(newest, _TOWARDS))

    def cut(self, point: _Point) -> None:
        """Add the tangent of the risk at a point."""
        if self.terms is not None:
            beta = self.terms.best(point.f)
        else:
            beta = -self.weight * self.problem.loss.gradient(self.y, point.f)
        self.tangents.add(self.rows.combine(beta), self.risk(point.f) + float(beta @ point.f), beta)

    def master(self) -> _Point:
        """Minimum of the model, [KIKS] step 6; raises the lower bound and forgets idle tangents."""
        w, beta = self.tangents.minimum()
        return _Point(beta, w, self.rows.scores(w))

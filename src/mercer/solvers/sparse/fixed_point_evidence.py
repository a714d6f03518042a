r"""The evidence climbed: Newton's method on the precisions of weights, and the plain updates of all of them at once.

Symbols as in `mercer.solvers.sparse.sparse_bayes`.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np

from mercer.arrays import Bools, Floats
from mercer.constraints import Integer, Positive
from mercer.problems import Solution, Status, Trace
from mercer.runtime.tiling import serial_blas
from mercer.solvers.solver import Monitor, Solver
from mercer.solvers.sparse.sparse_bayes import (
    LaplaceModel,
    Point,
    RegressionModel,
    SparseClassification,
    SparseEvidence,
    SparseRegression,
)

__all__ = ["FixedPointEvidence", "ascend", "finish", "model_of", "solution_of"]
__public__ = ["FixedPointEvidence"]

_SMALL = 1000  # basis functions whose products gain nothing by threads
_ROUNDING = 1e-13  # of the evidence
_EXACT = 1e-9  # slope at which an optimum is left as it is
_STEP = 4.0  # largest change of a logarithm in one step
_UNDECIDED = 1e-9  # gamma of a weight about which the data say nothing: it is zero


def model_of(problem: SparseEvidence) -> Any:
    """The model of a problem."""
    if isinstance(problem, SparseClassification):
        return LaplaceModel(problem)
    assert isinstance(problem, SparseRegression)
    return RegressionModel(problem)


def ascend(model: Any, point: Point, tol: float, limit: int) -> Point:
    """Newton's method on the logarithms of the precisions; the evidence never falls.

    Where a model knows its second derivatives only roughly, they are corrected by the slopes seen (BFGS).
    """
    bend: Floats | None = None  # minus the second derivatives
    for _ in range(limit):
        g = _free_gradient(model, point)
        if not np.max(np.abs(g), initial=0.0) > tol:
            break
        if bend is None or model.exact:
            bend = _positive(-model.hessian(point))
        step = np.linalg.solve(bend, g)
        step *= min(1.0, _STEP / float(np.max(np.abs(step))))
        found = line_search(model, point, step)
        if found is None or found.evidence - point.evidence <= _ROUNDING * (1.0 + abs(point.evidence)):
            # so close to the top that the slope alone shows what is better
            found = _moved(model, point, step)
            if found.evidence < point.evidence - _ROUNDING * (1.0 + abs(point.evidence)):
                break
            if not np.max(np.abs(_free_gradient(model, found))) < np.max(np.abs(g)):
                break
        if not model.exact:
            bend = _corrected(bend, found.x - point.x, g - _free_gradient(model, found))
        point = found
    return point


def _positive(A: Floats) -> Floats:
    """A where it is positive definite; elsewhere with the absolute values of its eigenvalues."""
    try:
        np.linalg.cholesky(A)
        return A
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(A)
    floor = 1e-8 * max(float(np.max(np.abs(values))), 1e-8)
    return (vectors * np.maximum(np.abs(values), floor)) @ vectors.T


def _corrected(bend: Floats, step: Floats, fall: Floats) -> Floats:
    """The matrix of second derivatives that explains how the slope fell along a step, and is else as it was."""
    along = float(step @ fall)
    if along <= 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(fall)):
        return bend
    side = bend @ step
    return bend - np.outer(side, side) / float(step @ side) + np.outer(fall, fall) / along


def line_search(model: Any, point: Point, step: Floats) -> Point | None:
    """A point along a step where the evidence is larger, or None."""
    rate = 1.0
    while rate > 1e-6:
        found = _moved(model, point, rate * step)
        if found.evidence > point.evidence:
            return found
        rate *= 0.25
    return None


def _moved(model: Any, point: Point, step: Floats) -> Point:
    """The point a step away; the noise does not fall below its least."""
    x = point.x + step
    if model.learns:
        x[-1] = min(x[-1], model.highest)
    return model.evaluate(point.active, x, point, point.inverse is not None)


def _free_gradient(model: Any, point: Point) -> Floats:
    """The gradient, without the noise where it is at its least and would be smaller."""
    g = point.gradient.copy()
    if model.learns and point.x[-1] >= model.highest:
        g[-1] = min(g[-1], 0.0)
    return g


# the plain updates -------------------------------------------------------------------------------------


class FixedPointEvidence(Solver):
    r"""The plain updates of sparse Bayesian learning: all precisions at once, until they no longer change.

    .. math:: \Sigma = (A + \beta \Phi^\top W \Phi)^{-1}, \quad \mu = \beta \Sigma \Phi^\top W y, \quad
              \gamma_j = 1 - \alpha_j \Sigma_{jj}, \quad \alpha_j \leftarrow \gamma_j / \mu_j^2, \quad
              \sigma^2 \leftarrow \frac{\|y - \Phi \mu\|^2}{n - \sum_j \gamma_j}

    Seed: [KIKS] Section 4.1.5. Departs from it where such a step would lower the evidence: a step of expectation and
    maximisation, :math:`\alpha_j \leftarrow 1 / (\mu_j^2 + \Sigma_{jj})`, is taken instead.

    Parameters
    ----------
    tol : float, default 1e-3
        Largest change of the logarithm of a precision, times the gamma of its weight.
    max_iter : int, default 1000
        Updates.

    Notes
    -----
    Solves SparseRegression and SparseClassification. A weight about which the data say nothing (gamma below 1e-9) is
    dropped. At the end the weights whose precision has no finite optimum are dropped and Newton's method finds that of
    the others. The objective of the trace is minus the evidence. Cost O(M^3) an update with M basis functions left.

    Examples
    --------
    >>> from mercer.solvers.sparse.sparse_bayes import NormalMatrix
    >>> Phi, y = np.eye(4)[:, :3], np.array([3.0, 0.05, -0.05, 0.1])
    >>> problem = SparseRegression(NormalMatrix(Phi.T @ Phi), Phi.T @ y, square=y @ y, count=4.0, noise=0.01)
    >>> FixedPointEvidence().solve(problem).state.alpha.round(3)  # 1 / (3^2 - 0.01)
    array([0.111])
    """

    constraints = {"tol": Positive(), "max_iter": Integer(1)}
    solves = SparseEvidence

    def __init__(self, tol: float = 1e-3, max_iter: int = 1000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, problem: SparseEvidence, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        model = model_of(problem)
        small = np.count_nonzero(model.lengths) < _SMALL
        with serial_blas() if small else nullcontext():
            return self._search(model, monitor)

    def _search(self, model: Any, monitor: Monitor | None) -> Solution:
        began = time.perf_counter()
        model.extend(np.flatnonzero(model.lengths > 0.0))
        count = len(model.work)
        point = model.evaluate(np.arange(count), np.concatenate([np.zeros(count), model.tail(None)]), whole=False)
        trace: list[tuple[float, float, float]] = []
        status = Status.MAX_ITER
        for iteration in range(self.max_iter):
            decided = point.gamma > _UNDECIDED
            if not decided.all():
                point = restricted(model, point, decided, whole=False)
            found, change = _update(model, point)
            trace.append((-point.evidence, change, time.perf_counter() - began))
            point = found
            if change <= self.tol:
                status = Status.CONVERGED
                break
            if monitor is not None and (answer := monitor(iteration + 1, change)):
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
        point = finish(model, point, self.tol if status is Status.CONVERGED else np.inf)
        change = float(np.max(np.abs(_free_gradient(model, point)), initial=0.0))
        trace.append((-point.evidence, change, time.perf_counter() - began))
        return solution_of(model, point, status, trace)


def _update(model: Any, point: Point) -> tuple[Point, float]:
    """One update of all precisions, and the largest change of their logarithms, that of a weight times its gamma."""
    k, tiny = len(point.active), np.finfo(float).tiny
    z = np.maximum(point.gamma - 2.0 * point.gradient[:k], tiny)  # alpha mu^2, for Laplace's method with what it lacks
    quick, sure = np.log(np.maximum(point.gamma, tiny) / z), -np.log(1.0 - point.gamma + z)
    if model.learns:
        beta, left = point.fit
        n, decided = model.problem.count, float(point.gamma.sum())
        quick = np.append(quick, np.log(max(n - decided, tiny) / max(beta * left, tiny)))
        sure = np.append(sure, np.log(n / max(beta * left + decided, tiny)))
    importance = np.concatenate([point.gamma, np.ones(int(model.learns))])
    for step in (np.clip(quick, -_STEP, 8.0 * _STEP), sure):
        found = _moved(model, point, step)
        if found.evidence >= point.evidence:
            return found, float(np.max(importance * np.abs(found.x - point.x), initial=0.0))
    found = line_search(model, point, sure)
    return (point, 0.0) if found is None else (found, float(np.max(importance * np.abs(found.x - point.x))))


def restricted(model: Any, point: Point, kept: Bools, whole: bool = True) -> Point:
    """The point without some of its weights."""
    x = np.concatenate([point.x[: len(kept)][kept], model.tail(point)])
    return model.evaluate(point.active[kept], x, point, whole)


def finish(model: Any, point: Point, tol: float) -> Point:
    """Drop weights whose precision has no finite optimum, and find that of the others."""
    while True:
        point = model.evaluate(point.active, point.x, point)
        if np.isfinite(tol):
            point = ascend(model, point, min(1e-3 * tol, _EXACT), 100)
        if (kept := point.gamma > _UNDECIDED).sum() < len(kept):
            point = restricted(model, point, kept)
            continue
        squared = (point.mean / point.scale) ** 2
        doubt = squared / np.maximum(point.gamma * (1.0 - point.gamma), 1e-300)  # q^2 / s: above 1 for a finite optimum
        worst = int(np.argmin(doubt)) if len(doubt) else 0
        if not len(doubt) or doubt[worst] > 1.0:
            return point
        kept = np.arange(len(point.active)) != worst
        smaller = restricted(model, point, kept)
        if smaller.evidence < point.evidence - 1e-9 * abs(point.evidence):
            return point
        point = smaller


def solution_of(model: Any, point: Point, status: Status, trace: list[Any]) -> Solution:
    """What a solver answers."""
    posterior = model.posterior(point)
    coef = np.zeros(len(model.unit))
    coef[posterior.index] = posterior.mean
    shift = posterior.evidence - point.evidence  # the trace in the units of the problem too
    rows = [(objective - shift, residual, seconds) for objective, residual, seconds in trace]
    return Solution(
        coef, status, rows[-1][1], trace=Trace.of(rows), state=posterior, jitter=point.factor.jitter,
        details={"basis functions": len(coef), "relevant": len(posterior.index)},
    )  # fmt: skip

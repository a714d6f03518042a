"""Newton's method for the weights of several kernels, with the machine solved exactly at each of them.

Symbols: J(d) the machine's risk at weights d, g = -s / 2 its slopes, H its curvature; T the working set of kernels.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.problems import BoxQP, Solution, Status
from mercer.solvers.box.smo import SMO
from mercer.solvers.mixtures.factor_squares import FactorSquares
from mercer.solvers.mixtures.machines import Point
from mercer.solvers.mixtures.mixture_problem import MixtureMulticlass, MixtureQP
from mercer.solvers.mixtures.stack import Matrix, stack_of
from mercer.solvers.mixtures.weight_search import Mixed, MixtureSolver, Search, require_simplex
from mercer.solvers.solver import Monitor

__all__ = ["MixtureNewton"]
__public__ = __all__

_FREE = 4000  # free variables up to which the curvature is computed
_KERNELS = 100  # without a weight, that enter the working set at once
_DESCENT = 1e-4  # share of the slope that a step must gain
_SHORTEST = 1e-10  # steps
_MANY = 4000  # samples from which weights are first found for some of them
_COARSER = 5  # times as few
_ROUGH = 1e-2  # gap of these
_SMALL = 1000  # variables up to which the minimum is found as exactly as rounding allows
_SHARPER = 12  # steps to it
_EXACT = 1e-13  # change of a weight that is none


class MixtureNewton(MixtureSolver):
    r"""Newton's method on the simplex: the fast way to the weights of many kernels.

    .. math:: \min_{d \in \Delta} \; J(d_0) + g^\top (d - d_0) + \tfrac12 (d - d_0)^\top H (d - d_0), \qquad
              g_t = -\tfrac12 \beta^\top K_t \beta

    J is the machine's risk at given weights. As long as the same variables of the machine are free, its solution is
    linear in the weights, which gives H from one factorisation of their block. A line search with the machine itself
    follows.

    Seed: [KIKS] Section 6.2, Problem 3, and [STS] Section 7, which solve the same problem by first derivatives; the
    second ones are of Chapelle and Rakotomamonjy (2008).

    Parameters
    ----------
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    max_iter : int, default 500
        The most changes of the weights.

    Notes
    -----
    Solves problems with ``mixture=Simplex()``. The machine starts from its last solution and is solved as well as the
    gap asks for; up to 1000 variables the minimum is found as exactly as rounding allows, whatever the tolerance. With
    more than 4000 free variables steps are those of `MixtureTurns`; for all classes together the curvature is learned
    from the slopes. Weights that are zero are so exactly.

    Examples
    --------
    >>> from mercer.solvers import MixtureNewton
    >>> MixtureNewton(tol=1e-6).max_iter
    500
    """

    _sharp: ClassVar[int] = _SMALL

    def __init__(self, tol: float = 1e-3, max_iter: int = 500) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _check_set(self, problem: MixtureQP | MixtureMulticlass) -> None:
        require_simplex(self, problem, (MixtureQP, MixtureMulticlass))

    def _solve(self, problem: Any, start: Any = None, monitor: Monitor | None = None) -> Solution:
        start = self._coarse(problem, monitor) if start is None else start
        return super()._solve(problem, start, monitor)

    def _coarse(self, problem: Any, monitor: Monitor | None) -> Mixed | None:
        """Return weights for some of many samples, which have most of the kernels that all will have."""
        n = problem.gram.shape[0]
        if n < _MANY or problem.weights.single or not isinstance(problem, MixtureQP):
            return None
        stack = stack_of(problem.grams)
        if FactorSquares.suits(problem, stack):
            return None
        chosen = np.sort(np.random.default_rng(0).permutation(n)[: n // _COARSER])
        programs = tuple(program.take(chosen, n) for program in problem.programs)
        if not all(program.is_feasible() for program in programs):
            return None
        grams = [gram.take(chosen) for gram in stack.parts()]
        found = _Coarse(max(self.tol, _ROUGH)).solve(
            MixtureQP(grams, problem.weights, programs), monitor=monitor
        ).state  # fmt: skip
        return dataclasses.replace(found, variables=None)

    def _run(self, search: Search) -> None:
        if search.weights.single:
            search.finish()
            return
        secant = None if hasattr(search.machine, "curvature") else _Secant(len(search.stack))
        while not search.done():
            before = search.point
            step = _step(search, secant)
            moved = _turn(search) if step is None else _searched(search, step)
            if not moved:
                search.stall()
                return
            if secant is not None:
                secant.learn(search.point.d - before.d, -0.5 * (search.point.s - before.s))
        if search.status is Status.CONVERGED and secant is None and len(search.point.z) <= self._sharp:
            _sharpen(search)


class _Coarse(MixtureNewton):
    """The same where the weights are only a start."""

    _sharp = 0


def _sharpen(search: Search) -> None:
    """Go on to the minimum of a small problem, as exactly as rounding allows: the steps shrink with their squares."""
    last, search.inner = np.inf, 1e-12
    for _ in range(_SHARPER):
        step = _step(search, None)
        if step is None:
            return
        size = float(np.max(np.abs(step)))
        if not size < 0.5 * last or size <= _EXACT:
            return
        trial = search.evaluate(np.maximum(search.point.d + step, 0.0), search.point.z)
        if search.status is not Status.CONVERGED or not search.relative_gap(trial) <= search.tol:
            search.status = Status.CONVERGED
            return
        search.move(trial)
        last = size


class _Secant:
    """The curvature of a machine that does not know it, from differences of its slopes (BFGS)."""

    def __init__(self, count: int) -> None:
        self.H = np.zeros((count, count))
        self.known = False

    def learn(self, step: Floats, change: Floats) -> None:
        """Take up how the slopes changed along a step."""
        along = float(step @ change)
        if along <= 1e-12 * float(np.linalg.norm(step)) * float(np.linalg.norm(change)):
            return
        if not self.known:
            self.H[np.diag_indices_from(self.H)] = float(change @ change) / along
            self.known = True
        moved = self.H @ step
        self.H += np.outer(change, change) / along - np.outer(moved, moved) / float(step @ moved)


def _step(search: Search, secant: _Secant | None) -> Floats | None:
    """Return the change of the weights to the minimum of the quadratic model; None without a model."""
    point = search.point
    T = _working_set(point)
    if secant is not None:
        H = secant.H[np.ix_(T, T)] if secant.known else None
    else:
        H = search.machine.curvature(point, T, _FREE)
    if H is None:
        return None
    g = -0.5 * point.s[T]
    size = max(float(np.max(np.abs(g))), np.finfo(float).tiny)
    H = H / size
    H[np.diag_indices_from(H)] += 1e-9 + 1e-11 * float(np.trace(H))  # kernels that are alike share their weight
    count = len(T)
    program = BoxQP(
        Matrix(H), g / size - H @ point.d[T], np.zeros(count), np.ones(count), total=np.ones(1)
    )  # fmt: skip
    found = SMO(tol=min(1e-6, 1e-2 * search.gap + 1e-13)).solve(program, start=point.d[T]).coef
    found = np.where(found < 1e-12, 0.0, found)
    step = -point.d
    step[T] += found / found.sum()
    return step


def _working_set(point: Point) -> Indices:
    """Return the kernels that have a weight, and of the others those that would gain most by one."""
    mean = float(point.d @ point.s)
    others = np.flatnonzero((point.d == 0.0) & (point.s > mean))
    if len(others) > _KERNELS:
        others = others[np.argpartition(-point.s[others], _KERNELS)[:_KERNELS]]
    return np.sort(np.concatenate([np.flatnonzero(point.d), others]))


def _searched(search: Search, step: Floats) -> bool:
    """Go along a step as far as the objective falls enough; return whether it does."""
    point = search.point
    slope = -0.5 * float(point.s @ step)
    if not slope < 0.0:
        return _turn(search)
    length = 1.0
    while length > _SHORTEST:
        trial = search.evaluate(np.maximum(point.d + length * step, 0.0))
        if search.status is not None:
            return True
        fall = trial.value - point.value
        if fall <= _DESCENT * length * slope or search.relative_gap(trial) <= search.tol:
            search.move(trial)
            return True
        if trial.slack > 0.1 * abs(fall) or point.slack > 0.1 * abs(fall):  # what is compared is not known well enough
            if search.inner <= 1e-11:
                return False
            search.inner *= 0.01
            point = search.evaluate(point.d, point.z)
            search.move(point)
            continue
        length *= _shorter(fall, length * slope, -0.5 * length * float(trial.s @ step))
    return False


def _turn(search: Search) -> bool:
    """Make the step of closed form, which never makes the objective larger."""
    point = search.point
    trial = search.evaluate(search.weights.shared(point.d * np.sqrt(point.s)))
    better = trial.value < point.value
    if better:
        search.move(trial)
    return better


def _shorter(fall: float, slope: float, end: float) -> float:
    """Return where the cubic with these slopes at 0 and 1, and this difference, is least; within [0.05, 0.7]."""
    a, b = slope + end - 2.0 * fall, 3.0 * fall - 2.0 * slope - end
    root = b * b - 3.0 * a * slope
    found = 0.5
    if root >= 0.0:
        denominator = b + math.sqrt(root)
        found = -slope / denominator if denominator > 0.0 else 0.5
    return min(max(found, 0.05), 0.7)

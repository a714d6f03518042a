"""From a near optimum of a BoxQP to the exact one: active-set steps in float64.

Symbols: W the variables looked at, the free ones and those near to becoming free; F the free among them; B (F, groups)
which group each belongs to; rho the multipliers. With the others where they are, the optimum over F moves by d with
K_FF d + B c = -g_F and B^T d = 0, where c = -rho.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import BoxQP
from mercer.solvers.face import Face
from mercer.solvers.optimality import multipliers, violation

__all__ = ["polish"]

_BAND = 4.0  # how near to the multiplier a gradient has to be, in violations, for its variable to be looked at
_WORK = 1e10  # floating-point operations that all factorisations together may take, about
_EXACT = 1e-11  # of the largest gradient: less is rounding


def polish(problem: BoxQP, beta: Floats, g: Floats, most: int, halted: Callable[[], bool] = lambda: False) -> bool:
    """Move the variables near the margin to the exact optimum, in place; tell whether that was an improvement.

    Parameters
    ----------
    problem : BoxQP
    beta, g : (n,) arrays
        A feasible point near the optimum and the gradient there; changed only if less violates afterwards.
    most : int
        Variables near the margin up to which it is tried.
    halted : callable, optional
        Asked between factorisations; a true answer ends the work, with what has been reached.
    """
    gram: Any = problem.gram.refined()
    before = violation(problem, beta, g)
    group = np.zeros(len(beta), np.intp) if problem.group is None else problem.group
    distance = np.abs(g - multipliers(problem, beta, g)[group])
    free = (beta > problem.lower) & (beta < problem.upper)
    W = np.flatnonzero(free | (distance <= _BAND * before))
    if not np.isfinite(before) or before <= _EXACT * np.abs(g).max(initial=0.0):
        return False
    if len(W) > 3 * most // 4:  # two matrices of this order are held
        W = np.flatnonzero(free)
    if len(W) > most:
        return False
    K = np.asarray(gram.rows(W, W), dtype=np.float64)  # rows are always copies
    K[np.diag_indices_from(K)] += np.broadcast_to(np.asarray(problem.ridge, dtype=np.float64), beta.shape)[W]
    near = Face(K, beta[W], g[W], (problem.lower[W], problem.upper[W]), group[W])
    _settle(near, halted)
    change = near.beta - beta[W]
    moved = np.flatnonzero(change)
    if not len(moved):
        return False
    trial, gradient = beta.copy(), g.copy()
    trial[W] = near.beta
    # far from the margin rounding to float32 does not matter
    near_rows = np.flatnonzero(distance <= 10.0 * _BAND * before) if gram is not problem.gram else np.zeros(0, np.intp)
    part = np.zeros(len(beta))
    problem.gram.update(W[moved], change[moved], part)
    if len(near_rows):
        exact = np.zeros(len(near_rows))
        gram.update(W[moved], change[moved], exact, rows=near_rows)
        part[near_rows] = exact
    gradient += part
    ridge = np.broadcast_to(np.asarray(problem.ridge, dtype=np.float64), beta.shape)
    gradient[W[moved]] += ridge[W[moved]] * change[moved]
    if not violation(problem, trial, gradient) < before:
        return False
    beta[:], g[:] = trial, gradient
    return True


def _settle(face: Face, halted: Callable[[], bool]) -> None:
    """Step until no variable wants to move, or the work is too much."""
    scale = _EXACT * max(1.0, float(np.abs(face.g).max(initial=0.0)))
    rounds = max(4, min(200, int(_WORK / (len(face.g) ** 3 / 3.0 + 1e5))))
    gained = False
    for _ in range(rounds):
        if halted() or (not face.free.any() and not _free_a_pair(face, scale)):
            return
        moved, blocked = face.step(halted)
        gained = gained or moved
        if blocked:
            continue
        level = face.multipliers()[face.group]
        low, high = face.beta <= face.lower, face.beta >= face.upper
        want = np.where(low & ~high, level - face.g, np.where(high & ~low, face.g - level, 0.0))
        enter = (want > scale) & ~face.free
        if not enter.any():
            return
        # those that are let in together may all stay where they are; the one that wants most alone does not
        face.free |= enter if gained else np.arange(len(want)) == np.argmax(np.where(enter, want, 0.0))
        gained = False


def _free_a_pair(face: Face, scale: float) -> bool:
    """Free the two variables of a group that gain most by moving against each other; tell whether there are any."""
    best, pair = scale, None
    for s in range(face.groups):
        up = np.flatnonzero((face.group == s) & (face.beta < face.upper))
        down = np.flatnonzero((face.group == s) & (face.beta > face.lower))
        if len(up) and len(down):
            i, j = up[np.argmin(face.g[up])], down[np.argmax(face.g[down])]
            if face.g[j] - face.g[i] > best:
                best, pair = float(face.g[j] - face.g[i]), (i, j)
    if pair is not None:
        face.free[list(pair)] = True
    return pair is not None

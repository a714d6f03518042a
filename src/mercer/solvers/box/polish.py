"""From a near optimum of a BoxQP to the exact one: active-set steps in float64.

Symbols: W the variables looked at, the free ones and those near to becoming free; F the free among them; B (F, groups)
which group each belongs to; rho the multipliers. With the others where they are, the optimum over F moves by d with
K_FF d + B c = -g_F and B^T d = 0, where c = -rho.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

from mercer.arrays import Bools, Floats, Indices
from mercer.problems import BoxQP
from mercer.runtime.tiling import in_background
from mercer.solvers.box.face import centred
from mercer.solvers.box.optimality import multipliers, violation

__all__ = ["polish"]

_BAND = 4.0  # how near to the multiplier a gradient has to be, in violations, for its variable to be looked at
_WORK = 1e10  # floating-point operations that all factorisations together may take, about
_EXACT = 1e-11  # of the largest gradient: less is rounding
_LEFT = 1e-9  # of the gradient, that a direct solution may leave
_JITTER = (0.0, 1e-13, 1e-11, 1e-9)  # tried in turn on a singular block; the direction is judged by what it gains


def polish(problem: BoxQP, beta: Floats, g: Floats, most: int, halted: Callable[[], bool] = lambda: False) -> bool:
    """Move the variables near the margin to the exact optimum, in place; return whether that was an improvement.

    Parameters
    ----------
    problem : BoxQP
    beta, g : (n,) arrays
        A feasible point near the optimum and the gradient there; changed only if less violates afterwards.
    most : int
        Variables near the margin up to which it is tried.
    halted : callable, optional
        Called between factorisations; a true answer ends the work, with what has been reached.
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
    if not len(W) or len(W) > most:  # of too many none may be free
        return False
    K = np.asarray(gram.rows(W, W), dtype=np.float64)  # rows are always copies
    ridge = np.asarray(problem.ridge, dtype=np.float64)
    ridge = ridge if ridge.ndim else np.full(len(beta), ridge)
    np.einsum("ii->i", K)[:] += ridge[W]
    near = _Near(K, beta[W], g[W], (problem.lower[W], problem.upper[W]), group[W])
    near.solve(halted)
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
    gradient[W[moved]] += ridge[W[moved]] * change[moved]
    if not violation(problem, trial, gradient) < before:
        return False
    beta[:], g[:] = trial, gradient
    return True


class _Near:
    """The variables near the margin with their block of K, on which the active-set method runs."""

    def __init__(self, K: Floats, beta: Floats, g: Floats, box: tuple[Floats, Floats], group: Indices) -> None:
        self.K, self.beta, self.g = K, beta.copy(), g.copy()
        self.lower, self.upper = box
        one = len(group) and group[0] == group[-1] and (group == group[0]).all()
        if one:  # as of every machine with one bias
            self.member, self.group = np.ones((len(group), 1)), np.zeros(len(group), np.intp)
        else:
            self.member = (group[:, None] == np.unique(group)).astype(np.float64)
            self.group = np.argmax(self.member, axis=1)
        self.free: Bools = (beta > self.lower) & (beta < self.upper)
        self.definite, self.level = True, 0  # what the blocks so far could be factored with

    def solve(self, halted: Callable[[], bool]) -> None:
        """Step until no variable wants to move, or the work is too much."""
        scale = _EXACT * max(1.0, float(np.abs(self.g).max(initial=0.0)))
        rounds = max(4, min(200, int(_WORK / (len(self.g) ** 3 / 3.0 + 1e5))))
        for _ in range(rounds):
            if halted() or (not self.free.any() and not self._free_a_pair(scale)):
                return
            F = np.flatnonzero(self.free)
            found = self._direction(F)
            if found is None:
                return
            d, rho = found
            if self._advance(F, d):  # some variable reached an end of its box
                continue
            level = rho[self.group]
            low, high = self.beta <= self.lower, self.beta >= self.upper
            enter = (low & ~high & (self.g < level - scale)) | (high & ~low & (self.g > level + scale))
            if not enter.any():
                return
            self.free |= enter

    def _free_a_pair(self, scale: float) -> bool:
        """Free the two variables of a group that gain most by moving against each other; return whether any exist."""
        best, pair = scale, None
        for s in range(self.member.shape[1]):
            up = np.flatnonzero((self.group == s) & (self.beta < self.upper))
            down = np.flatnonzero((self.group == s) & (self.beta > self.lower))
            if len(up) and len(down):
                i, j = up[np.argmin(self.g[up])], down[np.argmax(self.g[down])]
                if self.g[j] - self.g[i] > best:
                    best, pair = float(self.g[j] - self.g[i]), (i, j)
        if pair is not None:
            self.free[list(pair)] = True
        return pair is not None

    def _direction(self, F: Indices) -> tuple[Floats, Floats] | None:
        """Step to the optimum over F and the multipliers there; None if no factorisation works."""
        B = self.member[F]
        used = B.any(axis=0)
        B = B[:, used]
        d = self._bordered(F, B) if self.definite else None
        if d is None:
            self.definite = False
            d = self._by_centring(F, B)
        if d is None:
            return None
        rho = np.zeros(self.member.shape[1])
        rho[used] = (B / B.sum(axis=0)).T @ (self.g + self._product(F, d))[F]
        return d, rho

    def _product(self, F: Indices, d: Floats) -> Floats:
        """K_WF d, without a copy of a part of K."""
        wide = np.zeros(len(self.K))
        wide[F] = d
        return self.K @ wide

    def _bordered(self, F: Indices, B: Floats) -> Floats | None:
        """Solve with K_FF itself, where it is definite; None if it is not."""
        A = self.K.copy() if len(F) == len(self.K) else self.K[np.ix_(F, F)]
        try:
            factor, failed = in_background(dpotrf, A.T, 0, 0, 1, work=len(A) ** 3 / 3.0)
            if failed:
                return None
            right = np.empty((len(F), 1 + B.shape[1]), order="F")
            right[:, 0], right[:, 1:] = -self.g[F], B
            solved = dpotrs(factor, right, 0, 1)[0]
            c = np.linalg.solve(B.T @ solved[:, 1:], B.T @ solved[:, 0])
        except LinAlgError:
            return None
        d = solved[:, 0] - solved[:, 1:] @ c
        d -= B @ ((B / B.sum(axis=0)).T @ d)
        del A, factor
        left = self.g[F] + self._product(F, d)[F]
        left -= B @ ((B / B.sum(axis=0)).T @ left)
        # a block that is singular but for rounding has a factor, which means nothing
        return d if np.abs(left).max() <= _LEFT * np.abs(self.g[F]).max() else None

    def _by_centring(self, F: Indices, B: Floats) -> Floats | None:
        """Solve with K_FF centred in each group, and with as little jitter as a factorisation needs."""
        mean = B / B.sum(axis=0)
        right = self.g[F] - B @ (mean.T @ self.g[F])
        for jitter in _JITTER[self.level :]:
            self.level = _JITTER.index(jitter)  # what was too little once will be again
            A, size = centred(self.K[np.ix_(F, F)], B, mean)
            A[np.diag_indices_from(A)] += jitter * size
            try:  # the matrix is rebuilt for every attempt, so that there is never a copy of it
                factor = in_background(cho_factor, A.T, False, True, work=len(A) ** 3 / 3.0)
                d = cho_solve(factor, -right)
            except LinAlgError:
                continue
            d -= B @ (mean.T @ d)
            if np.isfinite(d).all():
                return d
        return None

    def _advance(self, F: Indices, d: Floats) -> bool:
        """Go as far along d as the box allows; return whether an end was reached on the way."""
        lower, upper, beta = self.lower[F], self.upper[F], self.beta[F]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(d > 0, (upper - beta) / d, np.where(d < 0, (lower - beta) / d, np.inf))
        share = min(1.0, float(room.min()))
        moved = beta + share * d
        blocked = room <= share if share < 1.0 else np.zeros(len(F), dtype=bool)
        moved = np.where(blocked, np.where(d > 0, upper, lower), np.clip(moved, lower, upper))
        self.g += self._product(F, moved - beta)
        self.beta[F] = moved
        self.free[F] = ~blocked
        return bool(blocked.any())

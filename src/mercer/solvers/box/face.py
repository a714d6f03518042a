"""Steps over all free variables of a working set at once: Newton's direction, bent where a box ends.

Symbols: W the working set; F the free variables in it, which are inside their boxes; B (F, groups) which group each
belongs to; rho the multipliers. With the others where they are, the optimum over F moves by d with
K_FF d + B c = -g_F and B^T d = 0, where c = -rho.

Pairs find out which variables end at an end of their box, and are slow among those that do not: where coefficients
may be large the free block is nearly singular. A step on the face of the free variables does the opposite.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.arrays import Bools, Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import in_background

__all__ = ["Face", "centred"]

_LEFT = 1e-9  # of the gradient, that a direct solution may leave
_JITTER = (0.0, 1e-13, 1e-11, 1e-9)  # tried in turn on a singular block; the direction is judged by what it gains
_NOISE = 1e-12  # of the longest part of a direction: less is what rounding left when others were taken away
_SHARE = 0.25  # of the free variables that may reach an end until the block is factored again
_TURNS, _TURNED = 8, 40  # of the direction, until the block is refactored: this many, or one for this many variables
_UNHEARD = 1e8  # operations between two looks at whether the end is requested
_FEW = 4  # groups up to which the sums of their columns are held


class Face:
    """A working set with its block of K, in float64, whose free variables are moved together.

    Parameters
    ----------
    K : (q, q) array
        C-contiguous, symmetric, ridge included.
    beta, g : (q,) arrays
        Variables and their gradient, changed in place.
    box : two (q,) arrays
        Lower and upper ends, which may be infinite.
    group : (q,) array of int
        Which sum each variable belongs to.

    Examples
    --------
    >>> beta, g = np.array([0.5, -0.5]), np.array([-0.5, 0.5])
    >>> face = Face(np.eye(2), beta, g, (np.array([0.0, -2.0]), np.array([2.0, 0.0])), np.zeros(2, np.intp))
    >>> face.step(), beta
    ((True, 0), array([ 1., -1.]))
    """

    def __init__(self, K: Floats, beta: Floats, g: Floats, box: tuple[Floats, Floats], group: Indices) -> None:
        self.K, self.beta, self.g = K, beta, g
        self.lower, self.upper = box
        _, self.group = np.unique(group, return_inverse=True)
        self.groups = int(self.group.max(initial=-1)) + 1
        self.work, self.halted = 0, False  # since the caller was last asked whether to go on, and the answer
        self.definite, self.level = True, 0  # what the blocks so far could be factored with
        self.free: Bools
        self.look()

    def look(self) -> None:
        """Find out which variables are free."""
        self.free = (self.beta > self.lower) & (self.beta < self.upper)

    def step(self, halted: Callable[[], bool] = lambda: False) -> tuple[bool, int]:
        """Move the free variables towards their optimum.

        Parameters
        ----------
        halted : callable, optional
            Called now and then; a true answer ends the work, with what has been reached, and is kept in `halted`.

        Returns
        -------
        moved : bool
            False if there is nothing to gain on this face, or no factorisation works.
        blocked : int
            Number of variables that reached an end of their box on the way and are no longer free.
        """
        F = np.flatnonzero(self.free)
        if not len(F):
            return False, 0
        B = (self.group[F][:, None] == np.unique(self.group[F])).astype(np.float64)
        solve = self._factored(F, B)
        if solve is None:
            return False, 0
        self.work += len(F) ** 3 // 3
        went, ended, S = False, np.zeros(0, np.intp), solve(B)
        sums = self._sums()
        for _ in range(max(_TURNS, len(F) // _TURNED)):
            if self._is_halted(halted, len(F)):
                break
            d = _bordered(B, ended, S, solve(-self._levelled(F)))
            moved, blocked = self._follow(F, d, sums) if d is not None else (False, 0)
            went = went or moved
            new = np.setdiff1d(np.flatnonzero(~self.free[F]), ended)
            if not blocked or len(ended) + len(new) > _SHARE * len(F):
                ended = np.concatenate([ended, new])
                break
            # those that stay at an end are one more condition each: the factor serves again
            E = np.zeros((len(F), len(new)), order="F")
            E[new, np.arange(len(new))] = 1.0
            ended, S = np.concatenate([ended, new]), np.hstack([S, solve(E)])
        return went, len(ended)

    def _is_halted(self, halted: Callable[[], bool], free: int) -> bool:
        """Ask for the end, but not more often than some operations apart."""
        self.work += 10 * (free**2 + len(self.K) ** 2)  # bound by memory, where a factorisation is not
        if self.work >= _UNHEARD:
            self.work, self.halted = 0, halted()
        return self.halted

    def _sums(self) -> Floats:
        """Sums of the columns of the free variables of each group; none where there are many groups."""
        sums = np.zeros((self.groups if self.groups <= _FEW else 0, len(self.K)))
        for s in range(len(sums)):
            sums[s] = self.K @ (self.free & (self.group == s)).astype(np.float64)
        return sums

    def _levelled(self, F: Indices) -> Floats:
        """Gradient of the free variables of F less the mean of each group: its level only matters for rounding."""
        return (self.g - self.multipliers()[self.group])[F]

    def _follow(self, F: Indices, d: Floats, sums: Floats) -> tuple[bool, int]:
        """Go along a direction, bent where a box ends."""
        wide = np.zeros(len(self.K))
        wide[F] = d
        wide[~self.free] = 0.0
        number = np.bincount(self.group[self.free], minlength=self.groups)
        wide -= self.free * (np.bincount(self.group, weights=wide) / np.maximum(number, 1))[self.group]
        v = self.K @ wide
        box, level = (self.lower, self.upper), self.multipliers()
        return _bend(self.K, self.g, self.beta, box, self.free, (self.group, level), (wide, v, sums))

    def multipliers(self) -> Floats:
        """Mean gradient of the free variables of each group; 0 where none is free."""
        number = np.bincount(self.group[self.free], minlength=self.groups)
        total = np.bincount(self.group[self.free], weights=self.g[self.free], minlength=self.groups)
        return total / np.maximum(number, 1)

    def _factored(self, F: Indices, B: Floats) -> Callable[[Floats], Floats] | None:
        """Return what solves with K_FF, or with a matrix that is the same where the sums are zero; None if none does.

        A block that is not definite is centred in each group, and gets as little jitter as a factorisation needs.
        """
        if self.definite:
            solve = _solver_of(self.K.copy() if len(F) == len(self.K) else self.K[np.ix_(F, F)])
            if solve is not None and self._is_solved(F, B, solve):
                return solve
            self.definite = False
        for level in range(self.level, len(_JITTER)):  # what was too little once will be again
            self.level = level
            A, size = centred(self.K[np.ix_(F, F)], B, B / B.sum(axis=0))
            A[np.diag_indices_from(A)] += _JITTER[level] * size
            solve = _solver_of(A)
            if solve is not None:
                return solve
        return None

    def _is_solved(self, F: Indices, B: Floats, solve: Callable[[Floats], Floats]) -> bool:
        """Return whether a factor is valid: a block that is singular but for rounding has one that means nothing."""
        right = self._levelled(F)
        d = _bordered(B, np.zeros(0, np.intp), solve(B), solve(-right))
        if d is None:
            return False
        wide = np.zeros(len(self.K))
        wide[F] = d
        left = right + (self.K @ wide)[F]
        left -= B @ ((B / B.sum(axis=0)).T @ left)
        return bool(np.abs(left).max() <= _LEFT * np.abs(self.g[F]).max())


def centred(A: Floats, B: Floats, mean: Floats) -> tuple[Floats, float]:
    """Centre a block of K in each group, in place, and return it with its size.

    On vectors whose sums are zero that changes nothing, and it makes conditionally definite blocks definite; what
    is added along the sums decides nothing either.
    """
    means = A @ mean
    if B.shape[1] == 1:  # the same without matrices of products
        down, across = means[:, 0], means[:, 0] - float(mean[:, 0] @ means[:, 0])
        size = float(np.abs(np.diagonal(A) - down - across).max()) or 1.0
        A -= down[:, None]
        A -= across - size / len(A)
        return A, size
    A -= means @ B.T
    A -= B @ (means - B @ (mean.T @ means)).T
    size = float(np.abs(np.diagonal(A)).max()) or 1.0
    A += (size * B) @ mean.T
    return A, size


def _solver_of(A: Floats) -> Callable[[Floats], Floats] | None:
    """Factor a matrix in place and return what solves with it; None if it is not definite."""
    try:
        factor = in_background(cho_factor, A.T, False, True, work=len(A) ** 3 / 3.0)
    except LinAlgError:
        return None
    return lambda V: cho_solve(factor, V, check_finite=False)


def _bordered(B: Floats, ended: Indices, S: Floats, solved: Floats) -> Floats | None:
    """Return d with A d + N c = r and N^T d = 0, where N is B and the unit vectors of the variables that ended.

    S is A^-1 N, solved A^-1 r. None if the conditions repeat each other.
    """
    try:
        c = np.linalg.solve(np.vstack([B.T @ S, S[ended]]), np.concatenate([B.T @ solved, solved[ended]]))
    except LinAlgError:
        return None
    d = solved - S @ c
    return d if np.isfinite(d).all() else None


@compiled
def _bend(K, g, beta, box, free, groups, path):
    """Go along d to the minimum; where a variable reaches an end of its box, go on without it.

    The path is (d, v, sums): v = K d is kept up to date, and so are the sums of the columns of the free variables of
    each group, by which the others make up for the one that stays; without sums their columns are summed again.
    Where there is no end of what can be gained nothing is done.
    """
    d, v, sums = path
    group, level = groups
    q, blocked, went = g.size, 0, False
    members = np.zeros(level.size, np.int64)
    for k in range(q):
        members[group[k]] += free[k]
    floor = _NOISE * np.abs(d).max()
    while True:
        slope, bend, room, first, longest = 0.0, 0.0, np.inf, -1, 0.0
        for k in range(q):
            if free[k] and d[k] != 0.0:
                slope += (g[k] - level[group[k]]) * d[k]  # d sums to zero, so a level only matters for rounding
                bend += v[k] * d[k]
                longest = max(longest, abs(d[k]))
                here = ((box[1][k] if d[k] > 0.0 else box[0][k]) - beta[k]) / d[k]
                if here < room:
                    room, first = here, k
        best = -slope / bend if bend > 0.0 else np.inf
        if not slope < 0.0 or longest <= floor or not np.isfinite(min(best, room)):
            return went, blocked
        t = max(min(best, room), 0.0)
        went = went or t > 0.0
        for k in range(q):
            g[k] += t * v[k]
            if free[k]:
                beta[k] = min(max(beta[k] + t * d[k], box[0][k]), box[1][k])
        if best <= room:
            return went, blocked
        s, gone = group[first], d[first]
        beta[first] = box[1][first] if gone > 0.0 else box[0][first]
        free[first], d[first] = False, 0.0
        blocked += 1
        members[s] -= 1
        _add(v, K[first], -gone)
        if sums.size:
            _add(sums[s], K[first], -1.0)
        if members[s] > 0:
            share = gone / members[s]
            for k in range(q):
                if free[k] and group[k] == s:
                    d[k] = d[k] + share if members[s] > 1 else 0.0  # one alone cannot move
                    if not sums.size:
                        _add(v, K[k], share)
            if sums.size:
                _add(v, sums[s], share)


@compiled
def _add(total, row, times):
    for k in range(total.size):
        total[k] += times * row[k]

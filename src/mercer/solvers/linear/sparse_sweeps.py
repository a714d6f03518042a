r"""Gauss-Seidel sweeps over the nodes of a graph for nonnegative values: D X = B + T X, one node after the other.

Symbols: D = diag(d), T >= 0 symmetric and B >= 0, both sparse, X (n, c); s = d - T 1 the sums of the rows of D - T. A
sweep sets each row to (B_i + sum_j T_ij X_j) / d_i, with the new values of the rows before. Nothing is subtracted, so
every entry has a small relative error, however small it is, in single precision too; conjugate gradients, whose errors
are of one size everywhere, would need more digits for shares of small rows. The last steps are taken in double
precision, and measure the remaining change.

The slowest mode of sweeps is a constant. Where no s is negative they begin with the right constant and keep it right:
s'X is the sum of B, by the symmetry of T. On a graph where few steps lead from any node to any other, few sweeps then
suffice, however small s is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Bools, Floats
from mercer.numerics.prefetching import fetch_row
from mercer.problems import Status
from mercer.runtime.compiled import compiled
from mercer.solvers.linear.sparse_systems import SparseSolution, cache_rows, csr_parts, row_sums, stopped
from mercer.solvers.solver import Monitor

__all__ = ["reach", "sweep_sparse"]

_SINGLE = 4e-7  # relative change of a row that single precision still resolves
_TINY = 1e-30  # sum of a row below which single precision need not be accurate
_SURE = 0.25  # of tol: a change that is expected below will be below tol
_EVEN, _BESIDE = 1e-6, 0.01  # relative error up to which a known sum counts as right, alone and over the change
_SLOW, _LATELY = 0.25, 3  # if changes fall by less than this factor in this many sweeps, another method takes over
_PASSES = 8  # passes that reach all of a graph unless it is a long thread
_AHEAD = 64  # entries: how far ahead rows are prefetched
_FLOAT32 = np.dtype(np.float32)
_STEPS = 3  # most steps in double precision


def sweep_sparse(
    diagonal: Floats,
    ties: Any,
    B: Floats,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Floats | None = None,
    reached: Bools | None = None,
    sums: Floats | None = None,
    quick: bool = False,
    monitor: Monitor | None = None,
) -> SparseSolution:
    """Solve (diag(d) - T) X = B, where T is symmetric, no entry of T or B is negative, and sweeps contract quickly.

    Parameters
    ----------
    diagonal : (n,) array
        d, positive.
    ties : (n, n) csr_array
        T, which has no diagonal.
    B : (n, c) array
    tol : float, default 1e-6
        The largest change of an entry by a further step, over the sum of its row.
    max_iter : int, default 100
    start : (n, c) array, optional
        Not negative.
    reached : (n,) array of bool, optional
        Rows that are not zero, if they are known; see `reach`.
    sums : (n,) array, optional
        s, if it is known.
    quick : bool, default False
        Whether every sweep is known to leave at most about half of an error. If not, sweeps that turn out to be slow
        end it as ``Status.STALLED``, with the values so far.
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends it.

    Returns
    -------
    SparseSolution
        Its residual is the change.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> T = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> sweep_sparse(np.full(2, 4.0), T, np.array([[15.0], [0.0]])).X.ravel().round(6)
    array([4., 1.])
    """
    sweeps = _Sweeps(diagonal, ties, B, reached, sums, max_iter, monitor)
    X = sweeps.begin(start)
    status = sweeps.run(X, tol, start is None or not quick)
    if status is Status.STALLED and quick:  # no row is near all others: what is far is small, and grows
        sweeps.sums = None
        X = sweeps.begin(None)
        status = sweeps.run(X, tol, False)
    if status is Status.CONVERGED and row_sums(X).min(initial=1.0) < _TINY:
        X = sweeps.begin(X[:, : B.shape[1]], np.dtype(np.float64))
        status = sweeps.run(X, tol, False)
    return sweeps.end(X, tol, status)


@dataclass(eq=False)
class _Sweeps:
    """The system, and sweeps over it in one precision after the other; `sums` are s if they are of use."""

    diagonal: Floats
    ties: Any
    B: Floats
    reached: Bools | None
    sums: Floats | None
    max_iter: int
    monitor: Monitor | None

    def __post_init__(self) -> None:
        self.known, self.iterations, self.csr = row_sums(self.B) > 0.0, 0, csr_parts(self.ties)
        sums = self.diagonal - self.ties @ np.ones(len(self.B)) if self.sums is None else self.sums
        self.totals = np.ones(len(self.B)) @ self.B
        reached = np.ones(len(self.B), dtype=bool) if self.reached is None else self.reached
        self.sums = sums if sums.min(initial=0.0) >= 0.0 and (reached @ sums) > 0.0 else None

    def begin(self, start: Floats | None, kind: Any = _FLOAT32) -> Floats:
        """Return rows to begin with, and remember how they are multiplied."""
        n, c = self.B.shape
        X = cache_rows(n, c, kind)
        self.over = (1.0 / self.diagonal).astype(kind)
        self.values = self.csr[0].astype(kind)
        if start is not None:
            X[:, :c] = start
            return X
        if self.sums is not None and self.reached is not None:
            own = (self.sums / self.diagonal)[self.known] @ self.B[self.known]
            X[self.reached, :c] = np.maximum(self.totals - own, 0.0) / (self.reached @ self.sums)
        X[self.known, :c] += self.B[self.known] / self.diagonal[self.known, None]
        return X

    def run(self, X: Floats, tol: float, may_be_slow: bool) -> Status:
        """Sweep until rows change by no more than is allowed or their precision resolves, or one more step surely will.

        The steps in double precision that follow measure what they change: here a good guess is enough.
        """
        c, changes = self.B.shape[1], []
        enough = max(tol, _SINGLE if X.dtype == np.float32 else 0.0)
        sums = np.zeros(len(X), X.dtype) if self.sums is None else self.sums.astype(X.dtype)
        while self.iterations < self.max_iter:
            total, factor = np.zeros(c), np.ones(X.shape[1])
            change = float(_sweep(self.values, *self.csr[1:], self.over, self.known, self.B, X, sums, total))
            self.iterations += 1
            changes.append(change)
            stop = self.monitor(self.iterations, change) if self.monitor is not None else False
            expected = change * (change / changes[-2]) if len(changes) > 1 else np.inf
            if change <= enough or expected <= _SURE * enough:
                return Status.CONVERGED
            if stop:
                return stopped(stop)
            if may_be_slow and len(changes) > _LATELY and change > _SLOW * changes[-1 - _LATELY]:
                return Status.STALLED
            np.divide(self.totals, total, out=factor[:c], where=total > 0.0)
            if np.abs(factor - 1.0).max(initial=0.0) > max(_EVEN, _BESIDE * change):
                X *= factor.astype(X.dtype)
        return Status.MAX_ITER

    def end(self, X: Floats, tol: float, status: Status) -> SparseSolution:
        """Return the rows after steps in double precision."""
        out, change, steps = X, np.inf, 0
        while steps == 0 or (status is Status.CONVERGED and not change <= tol and steps < _STEPS):
            before, out = out, np.empty(self.B.shape)
            change = float(_step(*self.csr, self.diagonal, self.known, self.B, before, out))
            steps += 1
        if status is Status.CONVERGED and not change <= tol:
            status = Status.STALLED
        return SparseSolution(out, change, self.iterations + steps, status)


def reach(ties: Any, known: Bools) -> Bools | None:
    """Return which rows are connected to a known one by any path, or None where that is quicker to find otherwise.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> T = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> reach(T, np.array([True, False, False]))
    array([ True,  True, False])
    """
    _, indices, indptr = csr_parts(ties)
    found = known.copy()
    for _ in range(_PASSES):
        if not _mark(indices, indptr, found):
            return found
    return None


@compiled
def _mark(indices, indptr, found):
    """Mark rows that are tied to a marked one; return how many are new."""
    new = 0
    for i in range(len(found)):
        if not found[i]:
            for p in range(indptr[i], indptr[i + 1]):
                if found[np.uint32(indices[p])]:
                    found[i] = True
                    new += 1
                    break
    return new


@compiled(fastmath={"reassoc"}, inline=True)  # terms that are not negative may be added in any order
def _gather(values, indices, start, stop, X, row):
    """Set a row to the sum of rows of X, weighted by values; four entries in one go."""
    row[:] = 0.0
    for ahead in range(min(start + _AHEAD, len(indices)), min(stop + _AHEAD, len(indices))):
        fetch_row(X, np.uint32(indices[ahead]))
    p = start
    while p + 4 <= stop:
        v0, v1, v2, v3 = values[p], values[p + 1], values[p + 2], values[p + 3]
        j0, j1 = np.uint32(indices[p]), np.uint32(indices[p + 1])  # indices that cannot be negative
        j2, j3 = np.uint32(indices[p + 2]), np.uint32(indices[p + 3])
        for col in range(len(row)):
            row[col] += (v0 * X[j0, col] + v1 * X[j1, col]) + (v2 * X[j2, col] + v3 * X[j3, col])
        p += 4
    for place in range(p, stop):
        value, j = values[place], np.uint32(indices[place])
        for col in range(len(row)):
            row[col] += value * X[j, col]


@compiled(fastmath={"reassoc"})  # terms that are not negative may be added in any order
def _sweep(values, indices, indptr, over, known, B, X, sums, total):
    """Set each row in turn and add up the sums of the columns; return the largest change over the sum of its row."""
    n, width, c = X.shape[0], X.shape[1], B.shape[1]
    row, part, worst, zero = np.zeros(width, X.dtype), np.zeros(width, X.dtype), np.zeros(width, X.dtype), X[0, 0] * 0
    for i in range(n):
        _gather(values, indices, indptr[i], indptr[i + 1], X, row)
        if known[i]:
            for col in range(c):
                row[col] += B[i, col]
        mass = zero
        for col in range(width):
            row[col] *= over[i]
            mass += row[col]
        if mass > 0.0:
            for col in range(width):
                change = abs(row[col] - X[i, col]) / mass
                worst[col] = change if change > worst[col] else worst[col]  # quicker than a scalar
                part[col] += sums[i] * row[col]
        X[i, :] = row
        if i % 64 == 63 or i == n - 1:  # few terms are added in single precision
            for col in range(c):
                total[col] += part[col]
            part[:] = 0.0
    return worst.max()


@compiled
def _step(data, indices, indptr, diagonal, known, B, X, out):
    """Make a step in double precision; return the largest change of an entry over the sum of its row."""
    n, width, c = X.shape[0], X.shape[1], B.shape[1]
    total, worst = np.zeros(width), 0.0
    for i in range(n):
        _gather(data, indices, indptr[i], indptr[i + 1], X, total)
        moved, mass = 0.0, 0.0
        for col in range(c):
            new = (total[col] + (B[i, col] if known[i] else 0.0)) / diagonal[i]
            moved = max(moved, abs(new - X[i, col]))
            mass += new
            out[i, col] = new
        if moved > worst * mass:
            worst = moved / mass
    return worst

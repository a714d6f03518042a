r"""Sweeps over the nodes of a graph for values that are none negative: D X = B + T X, one node after the other.

Symbols: D = diag(d), T >= 0 and B >= 0 sparse, X (n, c). A sweep sets each row to (B_i + sum_j T_ij X_j) / d_i, with
what was found for the rows before (Gauss and Seidel). Nothing is subtracted, so that every entry is right to digits of
its own, however small it is, in single precision too; conjugate gradients, whose errors are of one size everywhere,
would need more digits for shares of small rows. The last step is done in double precision, and measures what is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Status
from mercer.runtime.compiled import compiled
from mercer.solvers.linear.sparse_systems import SparseSolution, cache_rows, csr_parts, stopped
from mercer.solvers.solver import Monitor

__all__ = ["sweep_sparse"]

_SINGLE = 2e-7  # relative change of a row that single precision can still tell
_TINY = 1e-30  # sum of a row that single precision need not know


def sweep_sparse(
    diagonal: Floats,
    ties: Any,
    B: Floats,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Floats | None = None,
    rate: float = 0.5,
    monitor: Monitor | None = None,
) -> SparseSolution:
    """Solve (diag(d) - T) X = B, where no entry of T or B is negative and sweeps contract quickly.

    Parameters
    ----------
    diagonal : (n,) array
        d, positive.
    ties : (n, n) csr_array
        T, which has no diagonal; at most about half of d in each row, for few sweeps.
    B : (n, c) array
    tol : float, default 1e-6
        The largest change of an entry by a further step, over the sum of its row.
    max_iter : int, default 100
    start : (n, c) array, optional
        Not negative.
    rate : float, default 0.5
        A bound on how much of an error a sweep leaves.
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
    n, c = B.shape
    known = B.any(axis=1)
    base = B / diagonal[:, None]
    data, indices, indptr = csr_parts(ties)
    X: Any = B if start is None else start
    status, iterations, enough = None, 0, tol * (1.0 - rate) / rate
    for kind, least in ((np.dtype(np.float32), _SINGLE), (np.dtype(np.float64), 0.0)):
        if status is not None and not (status is Status.CONVERGED and (X.sum(axis=1) < _TINY).any()):
            break
        values, rows = np.empty(len(data), dtype=kind), cache_rows(n, c, kind)
        _divide(data, indptr, diagonal, values)
        rows[:, :c] = X[:, :c]
        X, status = rows, Status.MAX_ITER
        while iterations < max_iter and status is Status.MAX_ITER:
            change = float(_sweep(values, indices, indptr, known, base, X)[0])
            iterations += 1
            stop = monitor(iterations, change) if monitor is not None else False
            if change <= max(enough, least):
                status = Status.CONVERGED
            elif stop:
                status = stopped(stop)
    out = np.empty((n, c))
    change = float(_last(data, indices, indptr, diagonal, known, base, X, out)[0])
    if status is Status.CONVERGED and not change <= tol:
        status = Status.STALLED
    return SparseSolution(out, change, iterations + 1, status or Status.CONVERGED)


@compiled
def _divide(data, indptr, diagonal, out):
    """Divide the entries of each row by d."""
    for i in range(len(diagonal)):
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = data[p] / diagonal[i]


@compiled
def _sweep(values, indices, indptr, known, base, X):
    """Set each row in turn; return the largest change of an entry over the sum of its row."""
    n, width, c = X.shape[0], X.shape[1], base.shape[1]
    total, touched, worst = np.zeros(width, dtype=X.dtype), X[0, 0], 0.0
    for first in range(0, n, 64):
        last = min(first + 64, n)
        for place in range(indptr[first], indptr[last]):  # so that many rows are fetched at once
            touched = max(touched, X[np.uint32(indices[place]), 0])
        for i in range(first, last):
            total[:] = 0.0
            p, end = indptr[i], indptr[i + 1]
            while p + 4 <= end:
                v0, v1, v2, v3 = values[p], values[p + 1], values[p + 2], values[p + 3]
                j0, j1 = np.uint32(indices[p]), np.uint32(indices[p + 1])  # indices that cannot be negative
                j2, j3 = np.uint32(indices[p + 2]), np.uint32(indices[p + 3])
                for col in range(width):
                    total[col] += (v0 * X[j0, col] + v1 * X[j1, col]) + (v2 * X[j2, col] + v3 * X[j3, col])
                p += 4
            for place in range(p, end):
                value, j = values[place], np.uint32(indices[place])
                for col in range(width):
                    total[col] += value * X[j, col]
            if known[i]:
                for col in range(c):
                    total[col] += base[i, col]
            moved = mass = X[i, 0] * 0
            for col in range(width):
                moved = max(moved, abs(total[col] - X[i, col]))
                mass += total[col]
                X[i, col] = total[col]
            if moved > worst * mass:
                worst = moved / mass
    return worst, touched


@compiled
def _last(data, indices, indptr, diagonal, known, base, X, out):
    """Make a step in double precision; return the largest change of an entry over the sum of its row."""
    n, width, c = X.shape[0], X.shape[1], base.shape[1]
    total, touched, worst = np.zeros(width), X[0, 0], 0.0
    for first in range(0, n, 64):
        last = min(first + 64, n)
        for place in range(indptr[first], indptr[last]):
            touched = max(touched, X[np.uint32(indices[place]), 0])
        for i in range(first, last):
            total[:] = 0.0
            for place in range(indptr[i], indptr[i + 1]):
                value, j = data[place], np.uint32(indices[place])
                for col in range(width):
                    total[col] += value * X[j, col]
            moved, mass = 0.0, 0.0
            for col in range(c):
                new = total[col] / diagonal[i] + (base[i, col] if known[i] else 0.0)
                moved = max(moved, abs(new - X[i, col]))
                mass += new
                out[i, col] = new
            if moved > worst * mass:
                worst = moved / mass
    return worst, touched

r"""Sparse definite systems with several right-hand sides, A X = B, by conjugate gradients, all columns at once.

Symbols: A = diag(d) - T the (n, n) matrix, r what is left of a column, p its direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Status
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks, spans, thread_count
from mercer.solvers.solver import Monitor

__all__ = ["SparseSolution", "solve_sparse"]

_WORTH_THREADS = 1 << 21  # multiplications in a product


@dataclass(frozen=True, eq=False)
class SparseSolution:
    """Columns X with A X = B, about.

    Attributes
    ----------
    X : (n, c) array
    residual : float
        The largest length of what is left of a column, over the largest of B.
    iterations : int
    status : Status
    """

    X: Floats
    residual: float
    iterations: int
    status: Status


def solve_sparse(
    diagonal: Floats,
    ties: Any,
    B: Floats,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    start: Floats | None = None,
    n_threads: int | None = None,
    monitor: Monitor | None = None,
) -> SparseSolution:
    """Solve (diag(d) - T) X = B for a sparse T, where the difference is symmetric and positive definite.

    Parameters
    ----------
    diagonal : (n,) array
        d, positive.
    ties : (n, n) csr_array
        T, which has no diagonal.
    B : (n, c) array
    tol : float, default 1e-8
        Length of what is left of each column, over the largest length of a column of B.
    max_iter : int, default 1000
    start : (n, c) array, optional
    n_threads : int, optional
        Threads share the rows.
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends it.

    Notes
    -----
    Cost O(c) per entry of A and iteration; every column has steps of its own.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> T = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> solve_sparse(np.full(2, 2.0), T, np.array([[1.0], [0.0]])).X.ravel().round(6)
    array([0.666667, 0.333333])
    """
    held = _Columns(diagonal, ties, B, start, n_threads)
    scale = float(np.sqrt(np.einsum("ij,ij->j", B, B).max(initial=0.0)))
    status, iterations = Status.MAX_ITER, 0
    while True:
        residual = held.length / scale if scale > 0.0 else 0.0
        stop = monitor(iterations, residual) if monitor is not None else False
        if residual <= tol or not np.isfinite(residual):
            status = Status.CONVERGED if residual <= tol else Status.STALLED
            break
        if stop:
            status = stop if isinstance(stop, Status) else Status.STOPPED
            break
        if iterations >= max_iter:
            break
        held.step(tol * scale)
        iterations += 1
    return SparseSolution(held.X, residual, iterations, status)


class _Columns:
    """Columns and where their iteration is; a step is a pass over the rows and a product (Chronopoulos and Gear)."""

    def __init__(self, diagonal: Floats, ties: Any, B: Floats, start: Floats | None, n_threads: int | None) -> None:
        self.csr = (ties.data, ties.indices.astype(np.int32), ties.indptr.astype(np.int64), diagonal)
        self.inverse = 1.0 / diagonal
        n, c = B.shape
        many = (len(ties.data) + n) * c > _WORTH_THREADS
        self.parts = spans(n, -(-n // thread_count(n_threads))) if many else [slice(0, n)]
        self.n_threads = n_threads
        self.X = np.zeros((n, c)) if start is None else np.array(start, dtype=float, order="C")
        self.R = np.array(B, dtype=float, order="C")
        self.P, self.S, self.Q = np.zeros((n, c)), np.zeros((n, c)), np.zeros((n, c))
        self.Z = self.X.copy()
        if start is not None:
            self._each(_product)
            self.R -= self.Q
        self.Z = self.R * self.inverse[:, None]
        self.gamma, self.alpha = np.zeros(c), np.zeros(c)
        self.now, self.bent = self._each(_product)
        self.lengths = np.einsum("ij,ij->j", self.R, self.R)

    @property
    def length(self) -> float:
        """The largest length of what is left."""
        return float(np.sqrt(self.lengths.max(initial=0.0)))

    def step(self, enough: float) -> None:
        """Take a step; columns that are short enough, or have no direction, stay as they are."""
        moving = (self.lengths > enough * enough) & (self.now > 0.0)
        beta = np.divide(self.now, self.gamma, out=np.zeros_like(self.now), where=moving & (self.gamma > 0.0))
        back = np.divide(beta * self.now, self.alpha, out=np.zeros_like(beta), where=self.alpha > 0.0)
        curve = self.bent - back
        self.alpha = np.divide(self.now, curve, out=np.zeros_like(curve), where=moving & (curve > 0.0))
        self.gamma = np.where(moving, self.now, self.gamma)
        self.lengths = self._each(_move, self.alpha, beta)[0]
        self.now, self.bent = self._each(_product)

    def _each(self, function: Any, *numbers: Floats) -> Floats:
        """Call a compiled function on spans of rows, in threads, and add what each of them sums up, (2, c)."""
        sums = np.zeros((len(self.parts), 2, self.R.shape[1]))

        def work(k: int) -> None:
            span = (self.parts[k].start, self.parts[k].stop)
            if numbers:
                arrays = (self.X, self.R, self.P, self.S, self.Z, self.Q)
                function(span, self.inverse, arrays, *numbers, sums[k])
            else:
                function(span, *self.csr, self.Z, self.R, self.Q, sums[k])

        if len(self.parts) == 1:
            work(0)
        else:
            run_tasks(range(len(self.parts)), work, n_threads=self.n_threads)
        return sums.sum(axis=0)


@compiled
def _product(span, data, indices, indptr, diagonal, Z, R, Q, sums):
    """Q = (diag(d) - T) Z, and the inner products of Z with R and with Q."""
    c = Z.shape[1]
    start, stop = span
    for i in range(start, stop):
        for col in range(c):
            Q[i, col] = diagonal[i] * Z[i, col]
        for place in range(indptr[i], indptr[i + 1]):
            value, j = data[place], np.uint32(indices[place])  # an index that cannot be negative
            for col in range(c):
                Q[i, col] -= value * Z[j, col]
    for i in range(start, stop):
        for col in range(c):
            sums[0, col] += Z[i, col] * R[i, col]
            sums[1, col] += Z[i, col] * Q[i, col]


@compiled
def _move(span, inverse, arrays, alpha, beta, sums):
    """Move the columns along their directions, and the squared lengths of what is then left."""
    X, R, P, S, Z, Q = arrays
    c = X.shape[1]
    for i in range(*span):
        for col in range(c):
            P[i, col] = Z[i, col] + beta[col] * P[i, col]
            S[i, col] = Q[i, col] + beta[col] * S[i, col]
            X[i, col] += alpha[col] * P[i, col]
            left = R[i, col] - alpha[col] * S[i, col]
            R[i, col] = left
            Z[i, col] = inverse[i] * left
            sums[0, col] += left * left

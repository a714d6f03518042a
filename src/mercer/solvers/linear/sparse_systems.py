r"""Sparse definite systems with several right-hand sides, A X = B, by conjugate gradients, all columns at once.

Symbols: A = diag(d) - T the (n, n) matrix, V = d^-1/2 T d^-1/2; of a run of conjugate gradients for what is left of B,
divided by d^1/2: R what is left of the columns, P their directions, X what is found.

A run is done in single precision, a row of up to 16 columns in one line of the cache, which takes a quarter of the time
of a double one, and gains five digits; what is left is then computed in double precision. Systems that need many steps
lose their directions in such rounding: a run that gains too little is the last one in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.numerics.prefetching import fetch_row
from mercer.problems import Status
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks, spans, thread_count
from mercer.solvers.solver import Monitor

__all__ = ["SparseSolution", "cache_rows", "csr_parts", "row_sums", "solve_sparse", "stopped"]

_WORTH_THREADS = 1 << 21  # multiplications in a product
_DIGITS = 1e-5  # of lengths: what a run in single precision gains at most
_STEPS = 60  # of a run in single precision
_GAIN = 0.1  # what a run must gain to be worth another one
_AHEAD = 64  # entries: how far ahead rows are prefetched
_LINE = 64  # bytes of a line of the cache
_SOON = 1e-4  # residual at which a run in single precision loses nothing
_FAR = 1e-6  # of the largest sum of a row: rows below have few digits in a solution that is right as a whole


@dataclass(frozen=True, eq=False)
class SparseSolution:
    """Columns X with A X = B, about.

    Attributes
    ----------
    X : (n, c) array
    residual : float
        The largest length of what is left of a column, over the largest of B.
    iterations : int
        Products with A.
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
    shares: bool = False,
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
        Length of what is left of each column, over the largest length of a column of B; for shares the largest of what
        is left of an entry, over d and the sum of its row in X.
    max_iter : int, default 1000
    start : (n, c) array, optional
    shares : bool, default False
        Whether X is not negative and its rows will be divided by their sums; one below a millionth of the
        largest counts as if it had that sum.
    n_threads : int, optional
        Threads share the rows.
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends it.

    Notes
    -----
    Cost O(c) per entry of A and iteration; every column has steps of its own. The residual is that of the solution in
    double precision, but after runs in single precision that cannot have spoiled it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> T = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> solve_sparse(np.full(2, 2.0), T, np.array([[1.0], [0.0]])).X.ravel().round(6)
    array([0.666667, 0.333333])
    """
    system = _System(diagonal, ties, B, shares, n_threads)
    X = np.zeros(B.shape) if start is None else np.array(start, dtype=float, order="C")
    left = system.left(X, B)
    watch = _Watch(monitor, tol, max_iter)
    kind, residual = np.dtype(np.float32), system.residual(left, X)
    while not watch.ends(residual):
        run = system.run(left, X, watch, kind)
        X += run.correction()
        if run.residual <= tol and residual <= _SOON:  # no need to look: rounding is a millionth of what was left
            residual = run.residual
            continue
        run.subtract(left)
        residual = system.residual(left, X)
        if not _longest(left) <= _GAIN * run.unit:  # NaN too
            if kind == np.float64 and residual > tol:
                enough = run.residual <= tol  # but for rounding
                watch.status = watch.status or (Status.CONVERGED if enough else Status.STALLED)
            kind = np.dtype(np.float64)
    return SparseSolution(X, residual, watch.iterations, watch.status or Status.CONVERGED)


class _Watch:
    """Counts products, and knows why to end."""

    def __init__(self, monitor: Monitor | None, tol: float, max_iter: int) -> None:
        self.monitor, self.tol, self.max_iter = monitor, tol, max_iter
        self.iterations, self.status = 0, None

    def ends(self, residual: float) -> bool:
        """Return whether to end, after a look at the residual, at the clock and at the count."""
        stop = self.monitor(self.iterations, residual) if self.monitor is not None else False
        if self.status is None and residual <= self.tol:
            self.status = Status.CONVERGED
        if self.status is None and not np.isfinite(residual):
            self.status = Status.STALLED
        if self.status is None and stop:
            self.status = stopped(stop)
        if self.status is None and self.iterations >= self.max_iter:
            self.status = Status.MAX_ITER
        return self.status is not None


class _System:
    """The matrix, in double precision and, divided by its diagonal, in any."""

    def __init__(self, diagonal: Floats, ties: Any, B: Floats, shares: bool, n_threads: int | None) -> None:
        n, c = B.shape
        self.diagonal, self.shape, self.shares = diagonal, (n, c), shares
        self.scale = _longest(B) or 1.0
        self.roots = 1.0 / np.sqrt(diagonal)
        self.csr = csr_parts(ties)
        many = (len(ties.data) + n) * c > _WORTH_THREADS
        self.parts = spans(n, -(-n // thread_count(n_threads))) if many else [slice(0, n)]
        self.n_threads = n_threads
        self.scaled: dict[Any, Floats] = {}

    def masses(self, X: Floats) -> Floats:
        """Return d times the sums of the rows of X, and of small rows what they count as."""
        total = X.sum(axis=1)
        return self.diagonal * np.maximum(total, _FAR * float(total.max(initial=0.0)))

    def residual(self, left: Floats, X: Floats) -> float:
        """Return what is left, as the tolerance measures it."""
        if self.shares and X.any():
            return float((np.abs(left).max(axis=1) / self.masses(X)).max(initial=0.0))
        return _longest(left) / self.scale

    def in_blocks(self, function: Any, *arrays: Any, width: int = 0) -> Floats:
        """Call a compiled function on spans of rows, in threads, and add what each of them sums up, (2, width)."""
        sums = np.zeros((len(self.parts), 2, width))

        def work(k: int) -> None:
            function((self.parts[k].start, self.parts[k].stop), *arrays, sums[k])

        if len(self.parts) == 1:
            work(0)
        else:
            run_tasks(range(len(self.parts)), work, n_threads=self.n_threads)
        return sums.sum(axis=0)

    def left(self, X: Floats, B: Floats) -> Floats:
        """Return B - A X."""
        out = np.array(B, dtype=float, order="C")
        used = X.any(axis=1)  # labels are few: most rows of a first X are zero
        if used.any():
            self.in_blocks(_left, *self.csr, self.diagonal, used, X, out)
        return out

    def values(self, kind: Any) -> Floats:
        """Return the entries of V, all below one."""
        if kind not in self.scaled:
            out = np.empty(len(self.csr[0]), dtype=kind)
            self.in_blocks(_scaled, *self.csr, self.roots, out)
            self.scaled[kind] = out
        return self.scaled[kind]

    def run(self, left: Floats, X: Floats, watch: _Watch, kind: Any) -> _Run:
        """Make a run in one precision for what is left after X."""
        low = kind == np.float32
        run = _Run(self, left, X, kind)
        for step in range(_STEPS if low else watch.max_iter):
            watch.iterations += 1
            run.step()
            if run.residual <= 0.5 * watch.tol or (low and run.length <= _DIGITS):
                break
            if step + 1 < _STEPS and watch.ends(run.residual):
                break
        return run


def csr_parts(ties: Any) -> tuple[Floats, Any, Any]:
    """Return entries, columns and starts of rows of a csr_array, of the types that the loops are compiled for."""
    return ties.data, ties.indices.astype(np.int32, copy=False), ties.indptr.astype(np.int64, copy=False)


def row_sums(X: Floats) -> Floats:
    """Return the sums of rows, by a product: it is quicker for short ones.

    Examples
    --------
    >>> row_sums(np.array([[1.0, 2.0], [0.0, 4.0]]))
    array([3., 4.])
    """
    return X @ np.ones(X.shape[1], X.dtype)


def stopped(answer: bool | Status) -> Status:
    """Return why a monitor that answered true ends it."""
    return answer if isinstance(answer, Status) else Status.STOPPED


def _longest(columns: Floats) -> float:
    """Return the largest length of a column."""
    return float(np.sqrt(np.einsum("ij,ij->j", columns, columns).max(initial=0.0)))


class _Run:
    """Conjugate gradients for all columns; a step is a product and a pass over the rows (Chronopoulos and Gear).

    Attributes
    ----------
    unit : float
        The largest length of what was left before.
    length : float
        That of what is left now, over the unit.
    residual : float
        What is left, as the tolerance measures it.
    """

    def __init__(self, system: _System, left: Floats, X: Floats, kind: Any) -> None:
        self.system, self.unit, self.kind = system, _longest(left) or 1.0, kind
        self.csr = system.values(kind), *system.csr[1:]
        n, c = system.shape
        self.R, self.X, self.P, self.S, self.Q = (cache_rows(n, c, kind) for _ in range(5))
        np.multiply(left, (system.roots / self.unit)[:, None], out=self.R[:, :c], casting="same_kind")
        self.width = self.R.shape[1]
        self.weights = system.diagonal.astype(kind, copy=False)
        self.measure = np.zeros(0, dtype=kind)
        if system.shares and X.any():
            self.measure = (self.unit / (system.roots * system.masses(X))).astype(kind)
        self.gamma, self.alpha = np.zeros(self.width), np.zeros(self.width)
        self.residual = self.length = np.inf

    def step(self) -> None:
        """Take a step; columns that have no direction stay as they are."""
        now, bent = self.system.in_blocks(_product, *self.csr, self.R, self.Q, width=self.width)
        moving = now > 0.0
        beta = np.divide(now, self.gamma, out=np.zeros_like(now), where=moving & (self.gamma > 0.0))
        back = np.divide(beta * now, self.alpha, out=np.zeros_like(beta), where=self.alpha > 0.0)
        curve = bent - back
        self.alpha = np.divide(now, curve, out=np.zeros_like(curve), where=moving & (curve > 0.0))
        self.gamma = np.where(moving, now, self.gamma)
        numbers = self.alpha.astype(self.kind), beta.astype(self.kind)
        arrays = self.X, self.R, self.P, self.S, self.Q
        squares, largest = self.system.in_blocks(_move, self.weights, self.measure, arrays, *numbers, width=self.width)
        self.length = float(np.sqrt(squares.max(initial=0.0)))
        of_columns = self.length * self.unit / self.system.scale
        self.residual = float(largest.max(initial=0.0)) if len(self.measure) else of_columns

    def correction(self) -> Floats:
        """Return what was found, as columns of the system."""
        return self.X[:, : self.system.shape[1]] * (self.system.roots * self.unit)[:, None]

    def subtract(self, left: Floats) -> None:
        """Subtract A times what was found, in double precision."""
        system = self.system
        system.in_blocks(_subtract, *system.csr, system.roots, self.unit, self.X, left)


def cache_rows(n: int, c: int, kind: Any) -> Floats:
    """Return zeros, (n, width) with width >= c, no row of which crosses a line of the cache without need."""
    many = _LINE // kind.itemsize
    width = 1 << (c - 1).bit_length() if c < many else -(-c // many) * many
    raw = np.zeros(n * width * kind.itemsize + _LINE, dtype=np.uint8)
    first = -raw.ctypes.data % _LINE
    return raw[first : first + n * width * kind.itemsize].view(kind).reshape(n, width)


@compiled
def _left(span, data, indices, indptr, diagonal, used, X, out, sums):
    """Subtract (diag(d) - T) X, for X most of whose rows may be zero."""
    c = X.shape[1]
    for i in range(*span):
        for col in range(c):
            out[i, col] -= diagonal[i] * X[i, col]
        for place in range(indptr[i], indptr[i + 1]):
            j = np.uint32(indices[place])  # an index that cannot be negative
            if used[j]:
                value = data[place]
                for col in range(c):
                    out[i, col] += value * X[j, col]


@compiled
def _scaled(span, data, indices, indptr, roots, out, sums):
    """Entries of T times the roots of their row and column."""
    for i in range(*span):
        for place in range(indptr[i], indptr[i + 1]):
            out[place] = data[place] * roots[i] * roots[np.uint32(indices[place])]


@compiled
def _subtract(span, data, indices, indptr, roots, unit, X, left, sums):
    """Subtract (diag(d) - T) diag(roots) X, times a unit."""
    c, width, entries = left.shape[1], X.shape[1], len(indices)
    total = np.empty(width)
    for i in range(*span):
        for ahead in range(min(indptr[i] + _AHEAD, entries), min(indptr[i + 1] + _AHEAD, entries)):
            fetch_row(X, np.uint32(indices[ahead]))
        for col in range(width):
            total[col] = X[i, col] / roots[i]
        for place in range(indptr[i], indptr[i + 1]):
            j = np.uint32(indices[place])  # an index that cannot be negative
            value = data[place] * roots[j]
            for col in range(width):
                total[col] -= value * X[j, col]
        for col in range(c):
            left[i, col] -= unit * total[col]


@compiled
def _product(span, values, indices, indptr, R, Q, sums):
    """Q = (1 - V) R, and the inner products of R with itself and with Q; four entries in one go."""
    c, entries = R.shape[1], len(indices)
    for i in range(*span):
        for col in range(c):
            Q[i, col] = R[i, col]
        p, end = indptr[i], indptr[i + 1]
        for ahead in range(min(p + _AHEAD, entries), min(end + _AHEAD, entries)):
            fetch_row(R, np.uint32(indices[ahead]))
        while p + 4 <= end:
            v0, v1, v2, v3 = values[p], values[p + 1], values[p + 2], values[p + 3]
            j0, j1 = np.uint32(indices[p]), np.uint32(indices[p + 1])
            j2, j3 = np.uint32(indices[p + 2]), np.uint32(indices[p + 3])
            for col in range(c):
                Q[i, col] -= (v0 * R[j0, col] + v1 * R[j1, col]) + (v2 * R[j2, col] + v3 * R[j3, col])
            p += 4
        for place in range(p, end):
            value, j = values[place], np.uint32(indices[place])
            for col in range(c):
                Q[i, col] -= value * R[j, col]
        for col in range(c):
            r = np.float64(R[i, col])
            sums[0, col] += r * r
            sums[1, col] += r * Q[i, col]


@compiled
def _move(span, weights, measure, arrays, alpha, beta, sums):
    """Move the columns along their directions; the squared lengths of what is then left, and the largest, measured."""
    X, R, P, S, Q = arrays
    c = X.shape[1]
    for i in range(*span):
        weight = np.float64(weights[i])
        for col in range(c):
            P[i, col] = R[i, col] + beta[col] * P[i, col]
            S[i, col] = Q[i, col] + beta[col] * S[i, col]
            X[i, col] += alpha[col] * P[i, col]
            R[i, col] -= alpha[col] * S[i, col]
            sums[0, col] += weight * np.float64(R[i, col]) * R[i, col]
        if len(measure):
            for col in range(c):
                sums[1, col] = max(sums[1, col], abs(R[i, col]) * measure[i])

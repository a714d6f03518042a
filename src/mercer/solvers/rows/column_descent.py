"""Linear machines with few columns: a squared hinge and the sum of the weights' sizes, one column at a time.

Symbols: x_ij entries of F, the samples with their constant column; z_ij = y_i x_ij; w the weights, b_i = 1 - sum_j
z_ij w_j what is missing to the margin, c_i the costs; g_j the derivative of the losses in w_j, h_j their curvature.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Interval, Optional
from mercer.problems import Solution, SparseRisk, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import serial_blas
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.solver import Monitor, Solver

__all__ = ["ColumnDescent"]
__public__ = __all__

_WORK = 2**24  # entries that one call of compiled code visits: some 50 ms
_INNER = 10  # passes over the columns in use between two looks at all of them
_WORK_OF_A_STEP = 2e9  # multiplications up to which the linear system of the weights in use is solved
_STEPS = 20  # of Newton's method between two passes
_EXACT = 1e-9  # slope of the weights in use, in the unit of the penalty, that is taken for none
_RIDGE = 1e-13  # of the mean curvature


class ColumnDescent(Solver):
    r"""Coordinate descent over columns: each weight in turn takes a step of Newton's method, or becomes zero.

    .. math:: \min_w \; \|w\|_1 + \sum_i c_i \max(0, 1 - y_i \langle w, x_i \rangle)^2, \qquad
        w_j \leftarrow \mathrm{sign}(u_j) \max(|u_j| - 1 / h_j, 0), \quad u_j = w_j - g_j / h_j

    Seed: none of the five gives it; the algorithm is that of Yuan, Chang, Hsieh and Lin (2010) in LIBLINEAR, where it
    is solver 5, with the soft threshold of [KIKS] Eq. (15).

    Parameters
    ----------
    tol : float, default 1e-4
        Largest violation of the optimality conditions, in the unit of the penalty's slope, which is 1.
    max_iter : int, default 1000
        Passes over all columns.
    random_state : int, optional
        Seed of the order in which columns are visited; None is 0.

    Notes
    -----
    Solves SparseRisk. A step is halved until the objective falls enough. Between two passes the weights in use take
    steps of Newton's method together, each up to where the first of them becomes zero: so the result is exact. Cost of
    a pass O(number of entries); memory that of a copy of the samples by columns.

    Examples
    --------
    >>> problem = SparseRisk(np.array([[1.0, 0.1], [-1.0, 0.0]]), np.array([1.0, -1.0]), weight=np.full(2, 10.0))
    >>> ColumnDescent().solve(problem).weights.round(3)
    array([0.975, 0.   , 0.   ])
    """

    constraints = {
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
        "random_state": Optional(Integer(0)),
    }
    solves = SparseRisk

    def __init__(self, tol: float = 1e-4, max_iter: int = 1000, random_state: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(self, problem: SparseRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        columns = _Columns.of(Rows.of(problem.X, problem.constant), np.asarray(problem.y, dtype=np.float64))
        with serial_blas():
            return _Run(self, columns, np.asarray(problem.weight, dtype=np.float64), start).run(problem, monitor)


@dataclass(frozen=True, eq=False)
class _Columns:
    """z by columns, the constant one last."""

    data: Floats
    index: Indices  # of rows; empty if all entries are there
    offsets: Indices
    n: int

    @classmethod
    def of(cls, rows: Rows, y: Floats) -> _Columns:
        n, d = len(rows), rows.width
        last = rows.constant * y
        if not rows.is_sparse:
            Z = np.empty((d + 1, n))
            np.multiply(rows.data.reshape(n, d).T, y, out=Z[:d])
            Z[d] = last
            return cls(Z.reshape(-1), np.empty(0, dtype=np.int64), np.arange(d + 2, dtype=np.int64) * n, n)
        X: Any = sp.csr_array((rows.data, rows.indices.astype(np.int64), rows.offsets), shape=(n, d)).tocsc()
        index = X.indices.astype(np.int64)
        data = np.concatenate([np.asarray(X.data, dtype=np.float64) * y[index], last])
        every = np.arange(n, dtype=np.int64)
        offsets = np.append(X.indptr.astype(np.int64), X.indptr[-1] + n)
        return cls(data, np.concatenate([index, every]), offsets, n)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def matrix(self) -> Any:
        """z, (n, d + 1), for products."""
        if not len(self.index):
            return self.data.reshape(len(self), self.n).T
        return sp.csc_array((self.data, self.index, self.offsets), shape=(self.n, len(self)))


class _Run:
    """Weights, what is missing to the margin, and the order of the columns."""

    def __init__(self, options: ColumnDescent, columns: _Columns, c: Floats, start: Floats | None) -> None:
        self.options, self.columns, self.c = options, columns, c
        self.Z = columns.matrix()
        self.w = np.zeros(len(columns)) if start is None else np.array(start, dtype=np.float64)
        self.b = 1.0 - self.Z @ self.w
        self.rng = np.random.default_rng(options.random_state or 0)
        self.rows: list[tuple[float, float, float]] = []

    def run(self, problem: SparseRisk, monitor: Monitor | None) -> Solution:
        began, status = time.perf_counter(), Status.MAX_ITER
        g, violation = self.slope(self.b), np.inf
        for iteration in range(self.options.max_iter + 1):
            self.b = 1.0 - self.Z @ self.w  # recomputed: errors of the updates do not add up
            if iteration:
                self.solve_support()
            g = self.slope(self.b)
            violation = float(_violations(self.w, g).max())
            self.rows.append((self.objective(self.w, self.b), violation, time.perf_counter() - began))
            if violation <= self.options.tol:
                status = Status.CONVERGED
                break
            if monitor is not None and (answer := monitor(iteration, violation)):
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
            if iteration == self.options.max_iter:
                break
            self.sweep(np.arange(len(self.w)))
            used = np.flatnonzero((self.w != 0.0) | (_violations(self.w, self.slope(self.b)) > 0.0))
            for _ in range(_INNER):
                if self.sweep(used) <= 0.1 * violation:
                    break
        a = 2.0 * self.c * np.maximum(self.b, 0.0)
        return Solution(
            coef=a * problem.y,
            weights=self.w,
            status=status,
            residual=violation,
            gap=self.gap(a, g),
            trace=Trace.of(self.rows),
            state=len(self.rows) - 1,
        )

    def sweep(self, columns: Indices) -> float:
        """Visit columns once, in random order, in calls of some milliseconds; the largest violation met."""
        order = self.rng.permutation(columns)
        sizes = np.cumsum(np.diff(self.columns.offsets)[order])
        worst, begin = 0.0, 0
        while begin < len(order):
            before = sizes[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(sizes, before + _WORK, "right")))
            held = self.columns
            found = _descend(held.data, held.index, held.offsets, self.c, self.w, self.b, order[begin:end])
            worst, begin = max(worst, found), end
        return worst

    def slope(self, b: Floats) -> Floats:
        """g, (d + 1,)."""
        return -2.0 * (self.Z.T @ (self.c * np.maximum(b, 0.0)))

    def objective(self, w: Floats, b: Floats) -> float:
        return float(np.abs(w).sum() + self.c @ np.square(np.maximum(b, 0.0)))

    def gap(self, a: Floats, g: Floats) -> float:
        """Distance to the dual, max sum a - sum a^2 / (4 c) with |sum_i a_i z_ij| <= 1, at a scaled to be feasible."""
        share = 1.0 / max(1.0, float(np.abs(g).max(initial=0.0)))
        costs = np.where(self.c > 0.0, self.c, 1.0)
        dual = share * float(a.sum()) - 0.25 * share**2 * float(np.sum(a * a / costs))
        return max(0.0, self.objective(self.w, self.b) - dual)

    def solve_support(self) -> None:
        """Newton's method on the weights in use: whole steps, each up to where the first weight becomes zero."""
        value = self.objective(self.w, self.b)
        for _ in range(_STEPS):
            J, near = np.flatnonzero(self.w), np.flatnonzero(self.b > 0.0)
            if not len(J) or float(len(J)) ** 2 * max(len(J), len(near)) > _WORK_OF_A_STEP:
                return
            left = self.slope(self.b)[J] + np.sign(self.w[J])
            if np.abs(left).max() <= _EXACT:
                return
            Z: Any = self.Z[:, J]
            Z = Z.toarray()[near] if sp.issparse(Z) else Z[near]
            root = np.sqrt(2.0 * self.c[near])[:, None] * Z
            H = root.T @ root
            # columns that depend on each other have an endless way down, on which a weight becomes zero
            H[np.diag_indices_from(H)] += _RIDGE * max(float(np.trace(H)), 1e-300) / len(J)
            step = -np.linalg.solve(H, left)
            ends = np.full(len(J), np.inf)
            np.divide(-self.w[J], step, out=ends, where=step * self.w[J] < 0.0)
            t, first = min(1.0, float(ends.min())), int(np.argmin(ends))
            for _ in range(30):
                w = self.w.copy()
                w[J] += t * step
                if t == ends[first]:
                    w[J[first]] = 0.0
                b = 1.0 - self.Z @ w
                found = self.objective(w, b)
                if found < value or (t == ends[first] and found <= value):
                    break
                t *= 0.5
            else:
                return
            self.w, self.b, value = w, b, found


def _violations(w: Floats, g: Floats) -> Floats:
    """How far 0 is from g + the subdifferential of |w|, (d + 1,)."""
    return np.where(w == 0.0, np.maximum(np.abs(g) - 1.0, 0.0), np.abs(g + np.sign(w)))


@compiled
def _descend(data, index, offsets, c, w, b, order):
    worst = 0.0
    n = len(b)
    sparse = len(index) > 0
    for j in order:
        g, h = 0.0, 0.0
        first = offsets[j]
        size = offsets[j + 1] - first if sparse else n
        for k in range(size):
            i = index[first + k] if sparse else k
            if b[i] > 0.0:
                z = data[first + k]
                g -= 2.0 * c[i] * z * b[i]
                h += 2.0 * c[i] * z * z
        if w[j] == 0.0:
            violation = max(abs(g) - 1.0, 0.0)
        else:
            violation = abs(g + np.sign(w[j]))
        worst = max(worst, violation)
        if violation == 0.0:
            continue
        h = max(h, 1e-12)
        target = w[j] - g / h
        target = np.sign(target) * max(abs(target) - 1.0 / h, 0.0)
        step = target - w[j]
        hope = g * step + abs(target) - abs(w[j])  # what the tangent promises, which is negative
        for _ in range(60):
            gain = abs(w[j] + step) - abs(w[j])
            for k in range(size):
                i = index[first + k] if sparse else k
                z = data[first + k]
                if z != 0.0:
                    old, new = max(b[i], 0.0), max(b[i] - step * z, 0.0)
                    gain += c[i] * (new * new - old * old)
            if gain <= 0.01 * hope:
                for k in range(size):
                    i = index[first + k] if sparse else k
                    b[i] -= step * data[first + k]
                w[j] += step
                break
            step *= 0.5
            hope *= 0.5
    return worst

r"""All classes at once: block descent on the dual of Crammer and Singer's machine.

Symbols: B (n, c) the coefficients, y_i the class of sample i, u_i = C w_i its bound,
G = K B - 1[c = y_i] the gradient, v_i = max_c G_ic - min_{c: B_ic below its bound} G_ic the violation of sample i.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, Integer, Interval, Optional
from mercer.gram.gram import HasRows
from mercer.problems import MulticlassQP, Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import serial_blas
from mercer.solvers.box.working_sets import POLISHED, PROXIMAL, WORK, WorkingSets
from mercer.solvers.solver import Monitor, Solver

__all__ = ["SequentialDual"]
__public__ = __all__

_MOST_ITERATIONS = 20_000


class SequentialDual(Solver):
    r"""Sequential dual descent: the coefficients of one sample at a time, for all classes together.

    .. math:: \min_{B} \; \tfrac12 \sum_c B_{\cdot c}^\top K B_{\cdot c} - \sum_i B_{i y_i}
              \quad \text{s.t.} \quad \sum_c B_{ic} = 0, \quad
              B_{ic} \le u_i [c = y_i]

    The problem in the c coefficients of one sample is a projection on a simplex, solved exactly by sorting.
    A working set of the most violating samples, with those that moved last, is solved in a compiled loop on its
    own block of K; then the gradient of all samples is updated by one product.

    Seed: [HSS] Sections 3.1.4, 4.1.5, Eqs. (88), (111) with :math:`k((x, y), (x', y')) = \delta_{yy'} k(x, x')`.

    Parameters
    ----------
    tol : float, default 1e-3
        Largest violation of the optimality conditions that ends the run, in the unit of f.
    max_iter : int, optional
        Working sets at most; None allows 20 000.
    polish : bool, default True
        Whether a problem with few free coefficients is solved to rounding at the end, by Newton steps on them:
        then a sample of weight 2 and a sample given twice make the same function to all digits that matter.

    Notes
    -----
    Solves MulticlassQP. Needs rows. Cost of a step q c with q samples in the working set, of an iteration one
    product of n q c; memory 3 n c + q^2 numbers.
    A violation that the updates say is small is recomputed in float64 before it is trusted.

    References
    ----------
    Crammer and Singer (2001), On the algorithmic implementation of multiclass kernel-based vector machines.
    Keerthi, Sundararajan, Chang, Hsieh and Lin (2008), A sequential dual method for large scale multi-class linear
    SVMs.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> K = Dense().build(Linear(), Vectors.pack([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
    >>> problem = MulticlassQP(K, np.array([0, 1, 2]), np.full(3, 10.0), 3)
    >>> solution = SequentialDual().solve(problem)
    >>> (K @ solution.coef).round(3) + 0.0  # the right class is ahead by one
    array([[ 0.667, -0.333, -0.333],
           [-0.333,  0.667, -0.333],
           [-0.333, -0.333,  0.667]])
    """

    constraints = {
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Optional(Integer(1)),
        "polish": Boolean(),
    }
    solves = MulticlassQP
    needs = (HasRows,)
    remedy = "Use gram=Tiles() or gram=Dense()."

    def __init__(self, tol: float = 1e-3, max_iter: int | None = None, polish: bool = True) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.polish = polish

    def _solve(self, problem: Any, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        """Solution of a MulticlassQP; ``coef`` has shape (n, c).

        Parameters
        ----------
        problem : MulticlassQP
        start : (n, c) array, optional
            Coefficients near the solution; made feasible first.
        monitor : callable, optional
            Called as ``monitor(iteration, violation)`` after each working set; a true answer ends the run.
        """
        with serial_blas():  # one order of summation, whatever the number of threads
            descent = _Descent(problem, start, monitor)
            status = descent.run(self.tol, self.max_iter or _MOST_ITERATIONS)
            if self.polish and status is Status.CONVERGED:
                descent.polish()
        residual = descent.violation()
        return Solution(
            descent.B,
            status,
            residual,
            trace=Trace.of(descent.rows),
            gap=_gap(problem, descent.B, descent.G),
        )


class _Descent(WorkingSets):
    """State of one run: coefficients, gradient and violations of all samples."""

    def __init__(self, problem: MulticlassQP, start: Floats | None, monitor: Monitor | None = None) -> None:
        self.codes = np.ascontiguousarray(problem.codes, dtype=np.intp)
        self.upper = np.ascontiguousarray(problem.upper, dtype=np.float64)
        shape = len(self.codes), int(problem.n_classes)
        self.B = np.zeros(shape) if start is None else _feasible(start, self.codes, self.upper)
        self.G = np.empty(shape)
        self.v, self.free = np.empty(len(self.codes)), np.empty(len(self.codes), dtype=np.bool_)
        super().__init__(problem.gram, monitor, bool(np.isinf(self.upper).any()))
        self.refresh()

    def refresh(self) -> None:
        """Recompute the gradient and the violations."""
        self.G[...] = self.fine @ self.B if self.B.any() else 0.0
        self.G[np.arange(len(self.codes)), self.codes] -= 1.0
        self.look()

    def look(self) -> None:
        """Recompute the violations, and which samples have coefficients that can move both ways."""
        _violations(self.G, self.B, self.codes, self.upper, self.v, self.free)

    def objective(self) -> float:
        """Return what is minimised, from the gradient: 1/2 <B, G> - 1/2 sum_i B_iy."""
        right = self.B[np.arange(len(self.codes)), self.codes]
        return 0.5 * float(np.einsum("ic,ic->", self.B, self.G) - right.sum())

    def steepest(self) -> float:
        """Return the largest entry of the gradient by size."""
        return float(np.max(np.abs(self.G), initial=0.0))

    def evidence(self) -> tuple[float, float]:
        """Return sum_i B_iy and |f|^2."""
        right = float(self.B[np.arange(len(self.codes)), self.codes].sum())
        return right, 2.0 * self.objective() + 2.0 * right

    def step(self, index: Indices, tol: float) -> bool:
        """Solve a working set on its own block, bring its changes to the gradient of all; whether there are any."""
        K = np.ascontiguousarray(self.gram.rows(index, index), dtype=np.float64)
        before, G = self.B[index], np.ascontiguousarray(self.G[index].T)
        B = np.array(before.T, order="C")  # a copy: a single row is contiguous either way
        codes, upper = self.codes[index], self.upper[index]
        self.descend(index, tol, lambda enough: _descend(K, G, B, codes, upper, enough, WORK))
        B = np.ascontiguousarray(B.T)
        moved = np.flatnonzero(np.any(before != B, axis=1))
        self.B[index] = B
        self.gram.update(index[moved], (B - before)[moved], self.G)
        self.look()
        return len(moved) > 0

    def newton(self) -> bool:
        """Go to the minimum over the free coefficients, or as far as their bounds allow; False if there are too many.

        The variables are transfers z_ic from a reference class r_i of the sample to its other free classes, so that
        sums stay zero; their Hessian is K_ij (1[c = d] - 1[c = r_j] - 1[r_i = d] + 1[r_i = r_j]).
        """
        index = np.flatnonzero(self.free)
        bound = np.zeros((len(index), self.B.shape[1]))
        bound[np.arange(len(index)), self.codes[index]] = self.upper[index]
        B, G = self.B[index], self.G[index]
        below = bound > B
        if below.sum() - len(index) > min(POLISHED, self.order) or not 0 < len(index) <= self.order:
            return False
        K = self.gram.rows(index, index)
        if K.dtype != np.float64:
            return False
        reference = np.argmax(below, axis=1)
        below[np.arange(len(index)), reference] = False
        i, c = np.nonzero(below)
        r = reference[i]
        same = c[:, None] == c
        same = same.astype(float) - (c[:, None] == r) - (r[:, None] == c) + (r[:, None] == r)
        H = K[np.ix_(i, i)] * same
        H[np.diag_indices_from(H)] += PROXIMAL * max(float(np.max(np.diagonal(H))), np.finfo(float).tiny)
        try:
            z = cho_solve(cho_factor(H, overwrite_a=True), G[i, r] - G[i, c])
        except np.linalg.LinAlgError:  # of an indefinite kernel
            return False
        step = np.zeros_like(B)
        step[i, c] = z
        np.subtract.at(step, (i, r), z)
        with np.errstate(invalid="ignore", divide="ignore"):
            room = np.where(step > 0.0, (bound - B) / step, np.inf)
        length = min(1.0, float(room.min()))
        new = np.where(room <= length * (1.0 + 1e-12), bound, np.minimum(B + length * step, bound))
        self.B[index] = new
        self.gram.update(index, new - B, self.G)
        self.look()
        return True


def _feasible(start: Floats, codes: Indices, upper: Floats) -> Floats:
    """Return a feasible point near some coefficients (n, c)."""
    B = np.minimum(np.asarray(start, dtype=np.float64), 0.0)
    rows = np.arange(len(codes))
    B[rows, codes] = 0.0
    total = -B.sum(axis=1)
    over = total > upper
    B[over] *= (upper[over] / total[over])[:, None]
    # a sum of rounded numbers is at the bound if it is there up to rounding
    B[rows, codes] = np.where(total >= upper * (1.0 - 1e-12), upper, total)
    return B


def _gap(problem: MulticlassQP, B: Floats, G: Floats) -> float:
    """Duality gap at coefficients with gradient G: the slack of sample i is max_c G_ic - G_iy.

    Where coefficients are not bounded no slack is allowed: the function is then stretched until there is none.
    """
    rows = np.arange(len(B))
    ahead = G.max(axis=1) - G[rows, problem.codes]
    hard = np.isinf(problem.upper)
    right = B[rows, problem.codes]
    if not hard.any():
        return max(float((np.einsum("ic,ic->i", B, G) + problem.upper * ahead).sum()), 0.0)
    f = G.copy()
    f[rows, problem.codes] += 1.0
    squared = float(np.einsum("ic,ic->", B, f))
    own = f[rows, problem.codes]
    f[rows, problem.codes] = -np.inf
    margins = own - f.max(axis=1)
    least = float(margins[hard].min())
    if least <= 0.0:
        return math.inf
    stretch = max(1.0, 1.0 / least)
    slack = np.maximum(1.0 - stretch * margins, 0.0)[~hard]
    primal = 0.5 * stretch * stretch * squared + float(problem.upper[~hard] @ slack)
    return max(primal - float(right.sum()) + 0.5 * squared, 0.0)


@compiled
def _violation(g, b, y, u):  # type: ignore[no-untyped-def]
    """Return max_c g_c - min_{c below its bound} g_c, and how many are below."""
    largest = g[0]
    smallest = np.inf
    below = 0
    for c in range(len(g)):
        if g[c] > largest:
            largest = g[c]
        if b[c] < (u if c == y else 0.0):
            below += 1
            if g[c] < smallest:
                smallest = g[c]
    return max(largest - smallest, 0.0), below


@compiled
def _violations(G, B, codes, upper, v, free):  # type: ignore[no-untyped-def]
    """Fill the violation of every sample, and whether it has two coefficients below their bounds."""
    for i in range(len(codes)):
        v[i], below = _violation(G[i], B[i], codes[i], upper[i])
        free[i] = below > 1


@compiled
def _solve_sample(a, d, y, u, b, order):  # type: ignore[no-untyped-def]
    """Minimise a/2 |b|^2 + <d, b> over sum b = 0, b_y <= u, b_c <= 0; writes b.

    b_c = min(bound, (t - d_c) / a) with the level t at which the sum is zero: the classes with the largest d take
    part, so that t is found while going through them in descending order.
    """
    count = len(d)
    for c in range(count):  # insertion sort: c is small, and nearly sorted from the last time
        k = order[c]
        j = c
        while j > 0 and d[order[j - 1]] < d[k]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k
    total, members = d[y], 1  # y inside its box
    level = d[y]
    for c in order:
        if c == y:
            continue
        if d[c] <= level:
            break
        total += d[c]
        members += 1
        level = total / members
    # y at its bound; what rounding keeps from it is there too, since it would count as a violation
    if level - d[y] >= a * u - 1e-15 * (abs(level) + abs(d[y])):
        total, members = -a * u, 0
        level = -np.inf
        for c in order:
            if c == y:
                continue
            if d[c] <= level:
                break
            total += d[c]
            members += 1
            level = total / members
        b[y] = u
    else:
        b[y] = (level - d[y]) / a
    for c in range(count):
        if c != y:
            b[c] = min((level - d[c]) / a, 0.0)


@compiled
def _give_up(g, y, u, b):  # type: ignore[no-untyped-def]
    """Minimise <g, b> over sum b = 0, b_y <= u, b_c <= 0; writes b."""
    best = 1 if y == 0 else 0
    for c in range(len(g)):
        b[c] = 0.0
        if c != y and g[c] > g[best]:
            best = c
    if g[best] > g[y]:
        b[y], b[best] = u, -u


@compiled
def _descend(K, G, B, codes, upper, tol, work):  # type: ignore[no-untyped-def]
    """Descend on a working set, G and B as (c, q), until no sample violates by more than tol or the work is done.

    Sweeps visit the samples in turn and move those whose violation is at least half the largest of the sweep
    before: nearly the most violating first, at the price of one violation per visit and not of all.
    """
    count, q = B.shape
    order = np.empty((q, count), dtype=np.int64)
    for i in range(q):
        for c in range(count):
            order[i, c] = c
    g, d, b, new = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    threshold = np.inf
    while work > 0:
        worst, moved = 0.0, 0
        for i in range(q):
            y, a = codes[i], K[i, i]
            for c in range(count):
                g[c], b[c] = G[c, i], B[c, i]
            v = _violation(g, b, y, upper[i])[0]
            worst = max(worst, v)
            if v <= threshold:
                continue
            if a > 0.0:
                for c in range(count):
                    d[c] = g[c] - a * b[c]
                _solve_sample(a, d, y, upper[i], new, order[i])
            elif upper[i] < np.inf:  # its image is the origin: all it can do is to count as an error
                _give_up(g, y, upper[i], new)
            else:
                continue
            moved += 1
            for c in range(count):
                change = new[c] - b[c]
                if change != 0.0:
                    B[c, i] = new[c]
                    work -= q + 20
                    for j in range(q):
                        G[c, j] += change * K[i, j]
        work -= q * (count + 20)
        if moved == 0 and (threshold <= tol or threshold < worst):  # the latter: what violates cannot move
            break
        threshold = max(0.5 * worst, tol)
    return work

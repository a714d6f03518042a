r"""Newton's method on piecewise quadratic risks: from a good start to the last digit in a few steps.

Symbols: F the rows with weights w and values f = F w, beta(f) the maximising duals of the losses (see Terms),
g = w - F^T beta(f) the gradient of |w|^2 / 2 + risk(F w), S the samples whose loss is curved at f, D = diag(1 / r_S).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.numerics.cholesky import safe_cholesky
from mercer.runtime.compiled import compiled
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.rows.terms import EPS, LOW, RIDGE, UP, Terms, Y

__all__ = ["Point", "is_factored", "newton_work", "refine", "settle"]

_SMALL = 1000  # weights or curved samples up to which the system is factored
_FORCED = 1e-4  # part of the gradient that an iterative solution of the system may leave
_INNER = 400  # most conjugate gradient iterations of one step
_STEPS = 40  # Newton steps of one smooth problem
_PROXIMAL = 12  # proximal steps where the losses have kinks
_STRIDE = 0.2  # from the ridge of one proximal step to that of the next
_DIRECT = 300  # variables inside their boxes up to which their system is diagonalised
_SINGULAR = 1e-12  # of the largest eigenvalue: smaller ones are zero
_LOST = 0.01  # of the largest trace: below it what was taken away leaves too much rounding, and sums begin anew
_EXACT = 1e-13  # of the size of w: below it a gradient is rounding


class Point(NamedTuple):
    """Duals, the weights F^T beta that they give, and the values of those."""

    beta: Floats
    w: Floats
    f: Floats

    @classmethod
    def of(cls, rows: Rows, beta: Floats) -> Point:
        """The point of some duals."""
        w = rows.combine(beta)
        return cls(beta, w, rows.scores(w))

    def dual(self, terms: Terms) -> float:
        """Dual objective, to be minimised."""
        return 0.5 * float(self.w @ self.w) + terms.dual(self.beta)

    def primal(self, terms: Terms) -> float:
        """Regularised risk."""
        return 0.5 * float(self.w @ self.w) + terms.risk(self.f)


def is_factored(rows: Rows) -> bool:
    """Whether the systems of Newton's method are small enough to be factored."""
    n, p = len(rows), rows.width + 1
    return min(n, p) <= _SMALL and (not rows.is_sparse or p <= _SMALL)


def newton_work(rows: Rows) -> float:
    """Products of numbers that a few Newton steps cost, in the unit of descent's (matrix products are faster)."""
    n, p = len(rows), rows.width + 1
    if is_factored(rows):
        return 4.0 * (min(rows.normal_work, n * n * p / 16.0) + 4.0 * len(rows.data))
    return 40.0 * len(rows.data)


def settle(rows: Rows, terms: Terms, point: Point) -> Point:
    """Minimise the dual over the variables inside their boxes, the others held; clipped to the boxes.

    If the right ones are inside, which descent finds out early, this is the solution.
    """
    beta, table = point.beta, terms.table
    chosen = np.flatnonzero((beta > table[:, LOW]) & (beta < table[:, UP]) & ((beta != 0.0) | (table[:, EPS] == 0.0)))
    if not len(chosen):
        return point
    part, own = rows.take(chosen), beta[chosen]
    gradient = point.f[chosen] + table[chosen, RIDGE] * own - table[chosen, Y] + table[chosen, EPS] * np.sign(own)
    move = _solve_dual(part, table[chosen, RIDGE], -gradient)
    tube = table[chosen, EPS] > 0.0  # where zero is an end, too
    low = np.where(tube & (own > 0.0), 0.0, table[chosen, LOW])
    up = np.where(tube & (own < 0.0), 0.0, table[chosen, UP])
    room = np.where(move > 0.0, up - own, own - low) / np.maximum(np.abs(move), 1e-300)
    for share in (1.0, min(1.0, float(np.min(room)))):
        new = beta.copy()
        new[chosen] = np.clip(own + share * move, low, up)
        moved = Point.of(rows, new)
        if (better := _better(terms, point, moved)) is moved:
            return better
    return point


def refine(rows: Rows, terms: Terms, point: Point, target: float, ask: Callable[[], bool]) -> Point:
    r"""Minimise the risk from a start; the duals of the result violate optimality by `target` or as few as possible.

    A risk with kinks is smoothed by proximal steps on the dual, each a smooth problem:

    .. math:: \beta \leftarrow \arg\min_{b} \; \tfrac12 \|F^\top b\|^2 + \psi^*(b) + \tfrac\sigma2 \|b - \beta\|^2

    Parameters
    ----------
    rows, terms
        The problem.
    point : Point
        The start; the dual objective of what is returned is not above its own.
    target : float
        Violation of optimality, in the unit of f.
    ask : callable
        Whether to stop; called between steps.

    Returns
    -------
    point : Point

    Notes
    -----
    Proximal steps with semismooth Newton inside are those of Li, Sun and Toh (2018) for the lasso. The steps grow
    (sigma falls) as fast as they are answered.
    """
    if terms.smooth:
        f = _newton(rows, terms, point.w, point.f, target, ask)
        return _better(terms, point, Point.of(rows, terms.best(f)))
    size = float(np.mean(rows.squares)) or 1.0
    spread = np.median(terms.table[:, 3] - terms.table[:, 2])
    sigma = min(1e-2 * size, 0.1 * terms.scale / spread if spread > 0 else size)
    for _ in range(_PROXIMAL):
        near = terms.shifted(point.beta, sigma)
        f = _newton(rows, near, point.w, point.f, 0.1 * target, ask)
        moved = _better(terms, point, Point.of(rows, near.best(f)))
        if moved is point or ask():
            break
        point = settle(rows, terms, moved)
        if terms.violation(point.f, point.beta) <= target:
            break
        sigma *= _STRIDE
    return point


def _solve_dual(rows: Rows, ridge: Floats, right: Floats) -> Floats:
    """Solution of (F F^T + diag(ridge)) x = right; of the shortest length where there are many."""
    if len(rows) > _DIRECT or (rows.is_sparse and rows.width >= _SMALL):
        move = np.zeros(len(rows))
        _solve_by_products(*rows.arrays, rows.constant, ridge, right.copy(), move, np.zeros(rows.width + 1))
        return move
    F = rows.dense()
    values, vectors = np.linalg.eigh(F @ F.T + np.diag(ridge))
    large = values > _SINGULAR * values[-1]
    return vectors[:, large] @ ((vectors[:, large].T @ right) / values[large])


def _better(terms: Terms, old: Point, new: Point) -> Point:
    """The point of lower dual objective; where rounding hides which one it is, that of smaller violation."""
    a, b = old.dual(terms), new.dual(terms)
    if b < a - 1e-12 * abs(a):
        return new
    if b > a + 1e-12 * abs(a):
        return old
    return new if terms.violation(new.f, new.beta) < terms.violation(old.f, old.beta) else old


def _newton(rows: Rows, terms: Terms, w: Floats, f: Floats, target: float, ask: Callable[[], bool]) -> Floats:
    """Minimise a smooth regularised risk from w; the values at the minimum."""
    longest = np.sqrt(np.max(rows.squares, initial=0.0)) or 1.0
    value = 0.5 * float(w @ w) + terms.risk(f)
    before = np.zeros(0, dtype=np.intp)
    exact, k = is_factored(rows), 0.0
    system = _Normal(rows, terms)
    for _ in range(_STEPS):
        gradient = w - rows.combine(terms.best(f))
        length = float(np.linalg.norm(gradient))
        if length * longest <= 0.1 * target or length <= _EXACT * float(np.linalg.norm(w)) or ask():
            break
        curved = np.flatnonzero(terms.inner(f))
        if exact and k == 1.0 and np.array_equal(curved, before):
            break  # the last step was to the minimum of this piece: what is left is rounding
        before = curved
        move = -_solve(system, curved, gradient)
        change = rows.scores(move)
        slope, bend = float(w @ move), float(move @ move)
        ahead = slope + bend - float(terms.best(f + change) @ change)
        k = 1.0 if abs(ahead) <= 0.1 * abs(float(gradient @ move)) else terms.line(f, change, slope, bend)
        tried, values = w + k * move, f + k * change
        now = 0.5 * float(tried @ tried) + terms.risk(values)
        if not now <= value + 1e-13 * abs(value):
            k = terms.line(f, change, slope, bend)
            tried, values = w + k * move, f + k * change
            now = 0.5 * float(tried @ tried) + terms.risk(values)
        if k == 0.0 or not now <= value + 1e-13 * abs(value):
            break  # rounding: no descent is possible any more
        w, f, value = tried, values, now
    return f


class _Normal:
    """F_S^T D F_S from step to step: only rows that come or go are added or taken away."""

    def __init__(self, rows: Rows, terms: Terms) -> None:
        self.rows, self.ridge = rows, terms.table[:, RIDGE]
        self.held = np.zeros(len(rows), dtype=bool)
        self.matrix, self.largest = np.zeros((rows.width + 1, rows.width + 1)), 0.0

    def of(self, chosen: Indices) -> Floats:
        """The matrix of the chosen samples."""
        now = np.zeros(len(self.held), dtype=bool)
        now[chosen] = True
        came, left = np.flatnonzero(now & ~self.held), np.flatnonzero(self.held & ~now)
        with np.errstate(divide="ignore"):  # samples without curvature are never chosen
            weight = 1.0 / self.ridge
        if len(came) + len(left) < len(chosen):
            self.matrix += self.rows.normal(came, weight)
            self.matrix -= self.rows.normal(left, weight)
        if len(came) + len(left) >= len(chosen) or np.trace(self.matrix) <= _LOST * self.largest:
            self.matrix, self.largest = self.rows.normal(chosen, weight), 0.0
        self.held, self.largest = now, max(self.largest, float(np.trace(self.matrix)))
        return self.matrix


def _solve(system: _Normal, chosen: Indices, gradient: Floats) -> Floats:
    """Solution of (I + F_S^T D F_S) x = gradient, S the chosen samples."""
    if not len(chosen):
        return gradient
    rows = system.rows
    m, p = len(chosen), rows.width + 1
    if p <= min(m, _SMALL):
        return safe_cholesky(system.of(chosen), 1.0, overwrite=False).solve(gradient)
    curved, ridge = rows.take(chosen), system.ridge[chosen]
    if m <= _SMALL and (p <= _SMALL or not rows.is_sparse):
        F = curved.dense()
        factor = safe_cholesky(F @ F.T, ridge)
        return gradient - F.T @ factor.solve(F @ gradient)
    u = np.zeros(m)
    _solve_by_products(*curved.arrays, curved.constant, ridge, curved.scores(gradient), u, np.zeros(p))
    return gradient - curved.combine(u)


@compiled(fastmath={"contract", "reassoc"})  # sums of products, whose error does not depend on their order
def _solve_by_products(data, indices, offsets, constant, ridge, left, u, w):
    """Solve (F F^T + diag(ridge)) u = left by conjugate gradients, preconditioned by the diagonal; `left` is lost."""
    m, d = len(left), len(w) - 1
    sparse = len(indices) > 0
    inverse, way, product = np.empty(m), np.empty(m), np.empty(m)
    rho = 0.0
    first = 0.0
    for i in range(m):
        total = ridge[i] + constant * constant
        for k in range(offsets[i], offsets[i + 1]):
            total += np.float64(data[k]) * data[k]
        inverse[i] = 1.0 / total
        way[i] = inverse[i] * left[i]
        rho += left[i] * way[i]
    first = rho
    for _ in range(_INNER):
        if rho <= _FORCED * _FORCED * first or rho == 0.0:
            break
        w[:] = 0.0
        for i in range(m):
            start = offsets[i]
            if sparse:
                for k in range(np.uint64(start), np.uint64(offsets[i + 1])):
                    w[indices[k]] += way[i] * data[k]
            elif offsets[i + 1] > start:
                for k in range(d):
                    w[k] += way[i] * data[start + k]
            w[d] += way[i] * constant
        bend = 0.0
        for i in range(m):
            start = offsets[i]
            total = ridge[i] * way[i] + constant * w[d]
            if sparse:
                for k in range(np.uint64(start), np.uint64(offsets[i + 1])):
                    total += data[k] * w[indices[k]]
            elif offsets[i + 1] > start:
                for k in range(d):
                    total += data[start + k] * w[k]
            product[i] = total
            bend += total * way[i]
        if not bend > 0.0:
            break
        alpha = rho / bend
        fresh = 0.0
        for i in range(m):
            u[i] += alpha * way[i]
            left[i] -= alpha * product[i]
            fresh += left[i] * left[i] * inverse[i]
        beta = fresh / rho
        rho = fresh
        for i in range(m):
            way[i] = inverse[i] * left[i] + beta * way[i]

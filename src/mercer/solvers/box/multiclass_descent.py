r"""All classes at once: block descent on the dual of Crammer and Singer's machine.

Symbols: B (n, c) the coefficients, y_i the class of sample i, u_i = C w_i its bound,
G = K B - 1[c = y_i] the gradient, v_i = max_c G_ic - min_{c: B_ic below its bound} G_ic the violation of sample i.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, Integer, Interval, Optional
from mercer.gram.gram import HasRows
from mercer.problems import MulticlassQP, Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import serial_blas
from mercer.solvers.solver import Monitor, Solver, largest_order

__all__ = ["SequentialDual"]
__public__ = __all__

_MOST_ITERATIONS = 20_000
_LARGEST_SET = 2048  # samples whose block of K stays in cache, or nearly
_WORK = 50_000_000  # numbers touched by one call of the compiled loop: some 50 ms
_CALLS = 20  # of that loop at most for one working set
_EASED = 0.1  # a working set is solved to this part of the violation it started with
_POLISHED = 2000  # free coefficients up to which they are solved for by a factorisation
_ROUNDS = 60  # of polishing at most
_EXACT = 1e-13  # of the largest gradient: a smaller violation cannot be told from rounding
_PROXIMAL = 1e-10  # of the largest curvature, so that a singular K can be factored; the step only gets shorter
_NARROW = 1e-5  # of the largest |Phi(x)|: with a smaller margin samples count as not separable


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
    A violation that the updates say is small is computed anew, in float64, before it is believed.

    References
    ----------
    Crammer and Singer (2001), On the algorithmic implementation of multiclass kernel-based vector machines.
    Keerthi, Sundararajan, Chang, Hsieh and Lin (2008), A sequential dual method for large scale multi-class linear
    SVMs. Ledger: S-MC.

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

    def solve(self, problem: Any, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        """Solution of a MulticlassQP; ``coef`` has shape (n, c).

        Parameters
        ----------
        problem : MulticlassQP
        start : (n, c) array, optional
            Coefficients near the solution; made feasible first.
        monitor : callable, optional
            Called as ``monitor(iteration, violation)`` after each working set; a true answer ends the run.
        """
        self.check_capabilities(problem)
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


class _Descent:
    """State of one run: coefficients, gradient and violations of all samples."""

    def __init__(self, problem: MulticlassQP, start: Floats | None, monitor: Monitor | None = None) -> None:
        self.began = time.perf_counter()
        self.gram = problem.gram
        self.order = largest_order(problem.gram, _LARGEST_SET)
        self.fine: Any = problem.gram.refined() if hasattr(problem.gram, "refined") else problem.gram  # in float64
        self.codes = np.ascontiguousarray(problem.codes, dtype=np.intp)
        self.upper = np.ascontiguousarray(problem.upper, dtype=np.float64)
        shape = len(self.codes), int(problem.n_classes)
        self.B = np.zeros(shape) if start is None else _feasible(start, self.codes, self.upper)
        self.G = np.empty(shape)
        self.v, self.free = np.empty(len(self.codes)), np.empty(len(self.codes), dtype=np.bool_)
        self.unbounded = bool(np.isinf(self.upper).any())
        self.largest = float(np.max(self.gram.diag(), initial=0.0)) if self.unbounded else 0.0
        self.rows: list[tuple[float, float, float]] = []
        self.monitor = monitor
        self.answer: bool | Status = False
        self.refresh()
        self.look()

    def refresh(self) -> None:
        """Compute the gradient anew."""
        self.G[...] = self.fine @ self.B if self.B.any() else 0.0
        self.G[np.arange(len(self.codes)), self.codes] -= 1.0

    def look(self) -> None:
        """Compute the violations anew, and which samples have coefficients that can move both ways."""
        _violations(self.G, self.B, self.codes, self.upper, self.v, self.free)

    def violation(self) -> float:
        """Return the largest violation."""
        return float(np.max(self.v, initial=0.0))

    def objective(self) -> float:
        """Return what is minimised, from the gradient: 1/2 <B, G> - 1/2 sum_i B_iy."""
        right = self.B[np.arange(len(self.codes)), self.codes]
        return 0.5 * float(np.einsum("ic,ic->", self.B, self.G) - right.sum())

    def record(self) -> float:
        worst = self.violation()
        self.rows.append((self.objective(), worst, time.perf_counter() - self.began))
        return worst

    def ask(self) -> bool | Status:
        """Ask the monitor whether to stop."""
        if self.monitor is not None:
            self.answer = self.monitor(max(len(self.rows) - 1, 1), self.violation())
        return self.answer

    def run(self, tol: float, limit: int) -> Status:
        """Go from working set to working set until the violation is small; how it ended."""
        worst = self.record()
        refreshed, believed = True, math.inf
        for _ in range(limit):
            if worst <= tol and not refreshed:
                self.refresh()
                self.look()
                refreshed, worst = True, self.violation()
                if worst > 0.5 * believed:  # no nearer than when last computed anew
                    if self.gram is self.fine:
                        return Status.STALLED
                    self.gram = self.fine  # float32 is not exact enough for this tolerance
                believed = worst if worst > tol else math.inf
            if worst <= tol:
                return Status.CONVERGED
            moved = self.step(self.choose(), tol)
            refreshed = False
            worst = self.record()
            if not moved or (self.unbounded and self.inseparable()):
                self.refresh()
                self.look()
                return Status.STALLED
            if self.answer or self.ask():
                self.refresh()
                self.look()
                return self.answer if isinstance(self.answer, Status) else Status.STOPPED
        self.refresh()
        self.look()
        return Status.CONVERGED if self.violation() <= tol else Status.MAX_ITER

    def choose(self) -> Indices:
        """Return the working set: the most violating samples, then the free ones, each by violation."""
        size = min(self.order, len(self.v))
        order = np.argsort(-self.v, kind="stable")
        top = order[: max(1, size // 2)]
        top = top[self.v[top] > 0.0]
        rest = order[len(top) :]
        rest = rest[self.free[rest]][: size - len(top)]
        return np.sort(np.concatenate([top, rest]))

    def step(self, index: Indices, tol: float) -> bool:
        """Solve a working set on its own block, bring its changes to the gradient of all; whether there are any."""
        K = np.ascontiguousarray(self.gram.rows(index, index), dtype=np.float64)
        before, G = self.B[index], np.ascontiguousarray(self.G[index].T)
        B = np.array(before.T, order="C")  # a copy: a single row is contiguous either way
        enough = max(_EASED * float(self.v[index].max()), 0.5 * tol)
        codes, upper = self.codes[index], self.upper[index]
        for _ in range(
            1 if self.unbounded else _CALLS
        ):  # between two calls Python looks for Ctrl-C, and the monitor at the clock
            if _descend(K, G, B, codes, upper, enough, _WORK) > 0 or self.ask():
                break
        B = np.ascontiguousarray(B.T)
        moved = np.flatnonzero(np.any(before != B, axis=1))
        self.B[index] = B
        self.gram.update(index[moved], (B - before)[moved], self.G)
        self.look()
        return len(moved) > 0

    def inseparable(self) -> bool:
        """Tell whether no function has a margin to speak of, where coefficients are not bounded.

        Any f with margin 1 has sum_i B_iy <= <f_B, f> <= |f_B| |f|, so that the margin of the unit ball is at most
        |f_B| / sum_i B_iy.
        """
        right = float(self.B[np.arange(len(self.codes)), self.codes].sum())
        squared = 2.0 * self.objective() + 2.0 * right
        return max(squared, 0.0) <= (_NARROW * right) ** 2 * self.largest

    def polish(self) -> None:
        """Newton steps on the free coefficients, and descent for those that become free, down to rounding."""
        self.gram = self.fine
        best, since = math.inf, 0
        for _ in range(_ROUNDS):
            enough = _EXACT * max(1.0, float(np.max(np.abs(self.G), initial=0.0)))
            if self.violation() <= enough or since >= 4 or not self.newton():
                break
            if self.violation() > enough:
                self.step(self.choose(), enough)
            since = 0 if self.violation() < 0.5 * best else since + 1
            best = min(best, self.violation())
            if self.answer or self.ask():
                break
        self.refresh()
        self.look()
        self.record()

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
        if below.sum() - len(index) > min(_POLISHED, self.order) or not 0 < len(index) <= self.order:
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
        H[np.diag_indices_from(H)] += _PROXIMAL * max(float(np.max(np.diagonal(H))), np.finfo(float).tiny)
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

r"""All classes at once for linear functions: descent on the dual of Crammer and Singer's machine, sample by sample.

Symbols: B (n, c) the coefficients, u_i the bound of sample i, y_i its class, W = sum_i x_i B_i the (d + 1, c) weights,
G_im = <W_m, x_i> + 1[m != y_i] the slope in B_im, v_i = max_m G_im - min of G_im over those that may grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mercer.arrays import Bools, Floats
from mercer.constraints import Boolean, Integer, Interval, Optional
from mercer.errors import CapabilityError
from mercer.problems import MulticlassQP, Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.solver import Monitor, Solver

__all__ = ["BlockDescent"]
__public__ = __all__

_WORK = 30_000_000  # products of numbers in one call of the compiled loop: some 50 ms
_EXACT = 1e-5  # of the tolerance, which is what polishing tries to reach
_PASSES = 10.0  # of descent before polishing is tried, half as many more each time
_ROUNDS = 4  # of polishing where the tolerance is reached already; of a large problem only one
_SMALL = 1_000_000  # products of numbers in a pass
_HELD = 20  # coefficients that one polishing may stop at
_LEAST = 10  # iterations with which polishing is worth a try
_INNER, _FORCED = 300, 1e-6  # iterations, and the part of the slope that they may leave

# places in the state of the compiled loop
_CONSTANT, _ACTIVE, _PLACE, _BOUND, _WORST, _EPOCHS, _RANDOM, _LAST, _BEGAN = range(9)
_TOL, _LIMIT, _SHRINKING, _SHARE = range(9, 13)  # what a call is asked to do


class BlockDescent(Solver):
    r"""Sequential dual method: each sample in turn is given its best coefficients, for all classes together.

    .. math:: B_{i \cdot} \leftarrow \arg\min_b \; \tfrac12 \|x_i\|^2 \|b - B_{i \cdot}\|^2
              + \langle G_i, b - B_{i \cdot} \rangle \quad \text{s.t.} \quad
              \sum_m b_m = 0, \quad b_{y_i} \le u_i, \quad b_m \le 0 \;\, (m \ne y_i)

    Seed: [HSS] Sections 3.1.4 and 4.1.5, the dual; the method is that of Keerthi, Sundararajan, Chang, Hsieh and Lin
    (2008), the one of LIBLINEAR.

    Parameters
    ----------
    tol : float, default 1e-4
        Largest violation of the optimality conditions, max_i v_i.
    max_iter : int, default 1000
        Passes over the samples.
    shrinking : bool, default True
        Whether samples that are right by a wide margin are left out for a while.
    polish : bool, default True
        Whether conjugate gradients on the coefficients inside their bounds help descent along.
    random_state : int, optional
        Seed of the order of the samples; None is 0, so that every run gives the same bits.

    Notes
    -----
    Solves MulticlassQP on a Gram that is given by `Rows`. A step costs c times the numbers in one row, and c log c.
    `Solution.coef` is B, `weights` is W, `gap` the duality gap.

    Examples
    --------
    >>> rows = Rows.of(np.array([[1.0], [-1.0]]))
    >>> problem = MulticlassQP(rows, np.array([0, 1]), np.full(2, 10.0), n_classes=2)
    >>> BlockDescent().solve(problem).weights[:-1].round(3)
    array([[ 0.5, -0.5]])
    """

    constraints = {
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
        "shrinking": Boolean(),
        "polish": Boolean(),
        "random_state": Optional(Integer(0)),
    }
    solves = MulticlassQP

    def __init__(
        self,
        tol: float = 1e-4,
        max_iter: int = 1000,
        shrinking: bool = True,
        polish: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.polish = polish
        self.random_state = random_state

    def _solve(self, problem: MulticlassQP, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        if not isinstance(problem.gram, Rows):
            raise CapabilityError(
                f"BlockDescent was given a Gram of type {type(problem.gram).__name__}; it works in the weights of a "
                "linear function and needs Rows. Use solver=SequentialDual() for other Grams."
            )
        return _Run(self, problem, problem.gram, start).solution(monitor)


class _Run:
    """One run: descent in chunks, and its bookkeeping."""

    def __init__(self, options: BlockDescent, problem: MulticlassQP, rows: Rows, start: Floats | None) -> None:
        self.options, self.rows = options, rows
        self.began = time.perf_counter()
        n, c = len(rows), problem.n_classes
        self.codes = np.asarray(problem.codes, dtype=np.intp)
        self.upper = np.asarray(problem.upper, dtype=np.float64)
        self.table = np.column_stack([self.codes.astype(np.float64), self.upper, rows.squares])
        self.B = np.zeros((n, c)) if start is None else np.array(start, dtype=np.float64)
        self.order = np.arange(n)
        self.state = np.zeros(13)
        self.state[[_CONSTANT, _ACTIVE, _BEGAN, _BOUND]] = rows.constant, n, n, np.inf
        self.state[[_LIMIT, _SHRINKING]] = options.max_iter, options.shrinking
        # a multiplicative scramble: neighbouring seeds give orders that have nothing in common
        self.state[_RANDOM] = (((options.random_state or 0) * 2654435761 + 88172645463) % 4294967291) + 1
        self.trace: list[tuple[float, float, float]] = []
        self.measure()

    def measure(self) -> float:
        """Recompute weights and slopes from the coefficients; the largest violation."""
        B, rows, n = self.B, self.rows, np.arange(len(self.codes))
        self.W = _by_column(rows.combine, B)
        self.G = G = _by_column(rows.scores, self.W) + 1.0
        G[n, self.codes] -= 1.0
        lowest = np.min(np.where(self.room(), G, np.inf), axis=1)
        violation = float(np.max(np.where(np.isfinite(lowest), G.max(axis=1) - lowest, 0.0), initial=0.0))
        half = 0.5 * float(np.sum(self.W * self.W))
        primal = half + float(self.upper @ (G.max(axis=1) - G[n, self.codes]))
        self.gap = primal + half - float(B[n, self.codes].sum())
        self.trace.append((primal, violation, time.perf_counter() - self.began))
        return violation

    def room(self) -> Bools:
        """Which coefficients may grow, (n, c)."""
        n = np.arange(len(self.codes))
        room = self.B < 0.0
        room[n, self.codes] = self.B[n, self.codes] < self.upper
        return room

    def settle(self, passes: float) -> float:
        """Minimise over the coefficients below their bounds, the others held; the violation then.

        A step that would leave the bounds ends at the first, which is held from then on. The work is no more than
        that of some passes of descent.
        """
        work = max(0.1 * passes * len(self.rows.data) * self.B.shape[1], _WORK / 10)
        for _ in range(_HELD):
            free = self.room()
            chosen = np.flatnonzero(free.sum(axis=1) > 1)
            if not len(chosen):
                break
            free, own, rows = free[chosen], self.B[chosen], self.rows.take(chosen)
            each = max(1.0, len(rows.data) * self.B.shape[1])
            if work < _LEAST * each:
                break
            move, count = _conjugate(rows, free, self.G[chosen], min(_INNER, int(work / each)))
            work -= count * each
            bound = np.zeros_like(own)
            bound[np.arange(len(chosen)), self.codes[chosen]] = self.upper[chosen]
            up = move > 0.0
            steps = (bound[up] - own[up]) / move[up]
            share = min(1.0, float(np.min(steps, initial=1.0)))
            moved = own + share * move
            if share < 1.0:
                moved[up] = np.where(steps <= share, bound[up], moved[up])
                moved[~free] = own[~free]
            self.B[chosen] = np.minimum(moved, bound)
            self.measure()
            if share == 1.0:
                break
        self.state[[_ACTIVE, _PLACE, _BOUND, _WORST, _BEGAN]] = len(self.codes), 0, np.inf, 0.0, len(self.codes)
        return self.trace[-1][1]

    def solution(self, monitor: Monitor | None) -> Solution:
        """Descend until the tolerance is reached or something stops the run."""
        status = self.run(monitor)
        return Solution(
            coef=self.B,
            weights=self.W,
            status=status,
            residual=self.trace[-1][1],
            gap=max(0.0, self.gap),
            trace=Trace.of(self.trace),
            state=int(self.state[_EPOCHS]),
        )

    def run(self, monitor: Monitor | None) -> Status:
        goal, inner = self.options.tol, self.options.tol
        exact = goal * _EXACT if self.options.polish else goal
        passes, stuck = _PASSES, 0
        violation = self.trace[-1][1]
        rounds = _ROUNDS if len(self.rows.data) * self.B.shape[1] <= _SMALL else 1
        while violation > exact and stuck < rounds:
            code, answer = self.descend(inner, passes if self.options.polish else np.inf, monitor)
            violation = self.measure()
            if answer:
                return answer if isinstance(answer, Status) else Status.STOPPED
            if self.options.polish and violation > exact:
                violation = self.settle(passes)
            passes *= 1.5
            if violation <= goal:
                stuck += 1
                inner = min(inner, 0.1 * violation)
            elif code == 1:
                inner *= 0.5  # steps of a pass are small before the violations of all samples are
            if self.state[_EPOCHS] >= self.options.max_iter:
                break
            if inner < 1e-15:
                return Status.CONVERGED if violation <= goal else Status.STALLED
        return Status.CONVERGED if violation <= goal else Status.MAX_ITER

    def descend(self, tol: float, passes: float, monitor: Monitor | None) -> tuple[int, bool | Status]:
        """Descend for some passes, or until one does nothing."""
        rows, c = self.rows, self.B.shape[1]
        each = max(1.0, len(rows.data) / len(rows)) * c + 8.0 * c
        self.state[[_TOL, _SHARE]] = tol, max(1, int(_WORK / each))
        self.state[_LIMIT] = min(self.options.max_iter, self.state[_EPOCHS] + max(1.0, np.floor(passes)))
        while True:
            code = _descend(*rows.arrays, self.table, self.B, self.W, self.order, self.state)
            if code:
                return code, False
            if monitor is not None and (answer := monitor(int(self.state[_EPOCHS]), float(self.state[_LAST]))):
                return 0, answer


def _by_column(function: Callable[[Floats], Floats], A: Floats) -> Floats:
    """Apply a function of vectors to each column."""
    return np.ascontiguousarray(np.column_stack([function(np.ascontiguousarray(column)) for column in A.T]))


def _conjugate(rows: Rows, free: Bools, slope: Floats, limit: int) -> tuple[Floats, int]:
    """Step (m, c) towards the minimum of the dual over the free coefficients, whose sums stay, and the iterations.

    By conjugate gradients, so that each iteration is a step down.
    """
    share = 1.0 / free.sum(axis=1, keepdims=True)

    def project(Z: Floats) -> Floats:
        Z = np.where(free, Z, 0.0)
        return np.where(free, Z - share * Z.sum(axis=1, keepdims=True), 0.0)

    left = project(-slope)
    way, move = left.copy(), np.zeros_like(left)
    rho = first = float(np.sum(left * left))
    count = 0
    while count < limit:
        count += 1
        if rho <= _FORCED**2 * first or rho == 0.0:
            break
        product = project(_by_column(rows.scores, _by_column(rows.combine, way)))
        bend = float(np.sum(way * product))
        if not bend > 1e-14 * float(np.sum(way * way)):
            break
        move += (rho / bend) * way
        left -= (rho / bend) * product
        rho, before = float(np.sum(left * left)), rho
        way = left + (rho / before) * way
    return move, count


# Sums may be reordered and fused ("reassoc", "contract"): products of a row and the weights have an error that does
# not depend on the order, and a step that is a little wrong is corrected by the next ones.
@compiled(fastmath={"contract", "reassoc"})
def _descend(data, indices, offsets, table, B, W, order, state):
    """Visit samples until the call's share is done (0), a whole pass found nothing to do (1), or passes ran out (2)."""
    n, c = B.shape
    d = len(W) - 1
    constant, active, place = state[0], int(state[1]), int(state[2])
    bound, worst, random = state[3], state[4], int(state[6])
    tol, shrinking = state[9], state[11] > 0.0
    sparse = len(indices) > 0
    G, new = np.empty(c), np.empty(c)
    code = 0
    for _ in range(int(state[12])):
        random ^= (random << 13) & 0xFFFFFFFF
        random ^= random >> 17
        random ^= (random << 5) & 0xFFFFFFFF
        other = place + (random * (active - place)) // 4294967296
        i = order[other]
        order[other] = order[place]
        order[place] = i
        y, upper, square = int(table[i, 0]), table[i, 1], table[i, 2]
        start, stop = offsets[i], offsets[i + 1]
        for m in range(c):
            G[m] = 1.0 + constant * W[d, m]
        G[y] -= 1.0
        for k in range(start, stop):
            j = indices[k] if sparse else np.uint32(k - start)
            for m in range(c):
                G[m] += data[k] * W[j, m]
        high, low, rival, empty = -np.inf, np.inf, -np.inf, True
        for m in range(c):
            high = max(high, G[m])
            if m != y:
                rival = max(rival, G[m])
            if B[i, m] < (upper if m == y else 0.0):
                low = min(low, G[m])
            if B[i, m] != 0.0:
                empty = False
        if shrinking and empty and rival < G[y] - bound:
            active -= 1
            order[place] = order[active]
            order[active] = i
        else:
            place += 1
            if high - low > 1e-14 and low < np.inf:
                worst = max(worst, high - low)
                _best_block(B[i], G, y, upper, square, new)
                for m in range(c):
                    G[m] = new[m] - B[i, m]
                    B[i, m] = new[m]
                    W[d, m] += G[m] * constant
                for k in range(start, stop):
                    j = indices[k] if sparse else np.uint32(k - start)
                    for m in range(c):
                        W[j, m] += data[k] * G[m]
        if place >= active:
            state[5] += 1.0
            state[7] = worst
            whole = state[8] == n
            place = 0
            if worst <= tol:
                code = 1 if whole else 0
                active = n
                bound = np.inf
            else:
                bound = worst
            worst = 0.0
            state[8] = active
            if code == 0 and state[5] >= state[10]:
                code = 2
            if code:
                break
    state[1], state[2], state[3], state[4], state[6] = active, place, bound, worst, random
    return code


@compiled
def _best_block(b, G, y, upper, square, new):
    """Minimise the dual over the coefficients of one sample.

    new_m = min(u_m, (level - P_m) / square) with P = G - square b, u_y = upper and u_m = 0 elsewhere; the level makes
    their sum zero. A coefficient is below its bound where D_m = P_m + square u_m is above the level, and then
    level = (sum of those D - square upper) / their number: the largest D are taken in turn.
    """
    c = len(b)
    if square <= 0.0:  # a sample of zeros moves no weight; all coefficients that pay best are equally good
        new[:] = 0.0
        new[y] = upper
        new[0 if y != 0 else 1] = -upper
        return
    for m in range(c):
        new[m] = G[m] - square * b[m]
    new[y] += square * upper
    falling = np.sort(new)
    total = falling[c - 1] - square * upper
    count = 1
    while count < c and total < count * falling[c - 1 - count]:
        total += falling[c - 1 - count]
        count += 1
    level = total / count
    for m in range(c):
        bound = upper if m == y else 0.0
        P = new[m] - square * bound
        new[m] = min(bound, (level - P) / square)

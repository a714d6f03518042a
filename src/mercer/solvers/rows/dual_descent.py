r"""Linear machines by descent on their duals, one sample at a time.

Symbols: x_i the samples with the constant s at their end, w = sum_i beta_i x_i the weights, f_i = <w, x_i>,
y_i, eps_i, r_i and the box [lo_i, up_i] the loss of sample i (see Terms), G_i = f_i + r_i beta_i - y_i.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Boolean, Integer, Interval, Optional
from mercer.problems import LinearRisk, Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import Kept, kept_by, serial_blas
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.rows.semismooth import Point, is_factored, newton_work, refine, settle
from mercer.solvers.rows.terms import LOW, UP, Terms
from mercer.solvers.solver import Monitor, Solver

__all__ = ["DualDescent"]
__public__ = __all__

_WORK = 30_000_000  # numbers read by one call of the compiled loop: some 50 ms
_EXACT = 1e-5  # of the tolerance, which is what polishing tries to reach
_ITERATED = 1e-3  # the same where systems are too large to be factored
_NARROW = 100  # columns up to which Newton's method on a smooth loss needs no better start than zero
_CHEAP = 50.0  # products of numbers, per number of the samples, that a Newton step may cost to begin with it
_EARLY = 20.0  # violation, in tolerances, at which it is tried
_ROUNDS = 3  # of descent to a tenth of the tolerance, where polishing does not reach that

# places in the state of the compiled loop
_CONSTANT, _ACTIVE, _PLACE, _BOUND, _WORST, _EPOCHS, _RANDOM, _LAST, _BEGAN = range(9)
_TOL, _LIMIT, _SHRINKING, _SHARE = range(9, 13)  # what a call is asked to do

_ARRAYS = "beta", "w", "order", "state"  # of a run, as it is kept, with its trace and where it was last measured
_NUMBERS = "worth", "spent", "inner", "rounds", "before", "left", "ended"


class DualDescent(Solver):
    r"""Dual coordinate descent: each sample in turn is given its best coefficient.

    .. math:: \beta_i \leftarrow \arg\min_{\ell_i \le b \le u_i} \; \tfrac12 (\|x_i\|^2 + r_i)(b - \beta_i)^2
              + G_i (b - \beta_i) + \epsilon_i |b|, \qquad w \leftarrow w + (\beta_i^{new} - \beta_i) x_i

    Seed: [KIKS] Section 4.2.2, Problem 1; here with signed variables, with weights C w_i in place of C / l, for
    every loss whose dual is a box, and with a bias where the problem has a constant column. Samples are visited in a
    random order, and those that stay at an end of their box are left out for a while (Hsieh et al. 2008).

    Parameters
    ----------
    tol : float, default 1e-4
        Largest violation of the optimality conditions, in units of the largest target (1 for two classes).
    max_iter : int, default 1000
        Passes over the samples.
    shrinking : bool, default True
        Whether samples at an end of their box are left out for a while.
    polish : bool, default True
        Whether Newton's method finishes what descent began, or, where a step costs no more than a few passes, does
        everything. Descent gets near quickly and converges slowly; a few Newton steps on the samples whose loss is
        curved give all digits.
    random_state : int, optional
        Seed of the order of the samples; None is 0, so that every run gives the same bits.

    Notes
    -----
    Solves LinearRisk, for losses with a box dual: hinge, squared hinge, tubes, Huber, pinball, squared. A step costs
    the numbers in one row. `Solution.coef` is beta, `weights` is w with that of the constant last, `gap` the duality
    gap of both, `residual` the largest violation. Memory 13 n + d numbers above the samples; polishing a dense
    problem takes the rows with a curved loss, or d^2, where d is at most 1000.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> X = np.array([[2.0], [1.0], [-1.0]])
    >>> problem = LinearRisk(X, np.array([1.0, 1.0, -1.0]), Hinge(), weight=np.full(3, 10.0))
    >>> solution = DualDescent().solve(problem)
    >>> solution.weights[:-1].round(6), solution.status.name
    (array([1.]), 'CONVERGED')
    """

    constraints = {
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
        "shrinking": Boolean(),
        "polish": Boolean(),
        "random_state": Optional(Integer(0)),
    }
    solves = LinearRisk

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

    def _solve(self, problem: LinearRisk, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        rows = Rows.of(problem.X, problem.constant)
        terms = Terms.of(problem.loss, problem.y, problem.weight, rows.squares)
        kept = kept_by(
            monitor, "DualDescent", options=repr(self), loss=repr(problem.loss), y=problem.y, weight=problem.weight,
            constant=problem.constant, width=rows.width, start=start
        )  # fmt: skip
        with serial_blas():
            return _Run(self, rows, terms, start, monitor, kept).solution()


class _Run:
    """One run: descent in chunks, polishing when it pays, and the bookkeeping of both."""

    def __init__(
        self, options: DualDescent, rows: Rows, terms: Terms, start: Floats | None, monitor: Monitor | None, kept: Kept
    ) -> None:
        self.options, self.rows, self.terms, self.monitor, self.kept = options, rows, terms, monitor, kept
        self.began = time.perf_counter() - kept.seconds
        n = len(rows)
        beta = np.zeros(n) if start is None else np.array(start, dtype=np.float64)
        self.beta = np.clip(beta, terms.table[:, LOW], terms.table[:, UP])
        # from nothing, all weights and values are zero; otherwise they are computed
        self.point = (
            Point(self.beta, np.zeros(rows.width + 1), np.zeros(n)) if start is None else Point.of(rows, self.beta)
        )
        self.w = self.point.w.copy()
        self.order = np.arange(n)
        self.state = np.zeros(13)
        self.state[[_CONSTANT, _ACTIVE, _BEGAN, _BOUND]] = rows.constant, n, n, np.inf
        self.state[[_LIMIT, _SHRINKING]] = options.max_iter, options.shrinking
        # a multiplicative scramble: neighbouring seeds give orders that have nothing in common
        self.state[_RANDOM] = (((options.random_state or 0) * 2654435761 + 88172645463) % 4294967291) + 1
        self.goal = options.tol * terms.scale
        self.factored = is_factored(rows)
        self.exact = self.goal * (_EXACT if self.factored else _ITERATED)
        self.answer: bool | Status = False
        self.trace: list[tuple[float, float, float]] = []
        self.worth = newton_work(rows) if options.polish else math.inf  # work after which polishing pays
        self.spent = 0.0
        # where Newton's method takes over the descent need not come all the way
        self.early = self.goal * (_EARLY if options.polish else 1.0)
        self.inner, self.rounds = self.early, 0
        self.ended = ""  # how, by the name of the status
        self.before, self.left = 0.0, 0.0  # passes when the descent began, and samples that it may still visit
        if kept.state is not None:
            self.take_up(kept.state)

    def take_up(self, state: dict[str, Any]) -> None:
        """Continue where another run stopped."""
        self.beta[:], self.w[:], self.order[:], self.state[:] = (state[name] for name in _ARRAYS)
        for name in _NUMBERS:
            setattr(self, name, state[name])
        self.point = Point(*(np.asarray(part) for part in state["point"]))
        self.trace = [tuple(row) for row in state["trace"].tolist()]

    def snapshot(self) -> dict[str, Any]:
        """The state of a run within a descent."""
        names = (*_ARRAYS, *_NUMBERS)
        point = [self.point.beta, self.point.w, self.point.f]
        return {**{name: getattr(self, name) for name in names}, "trace": np.array(self.trace), "point": point}

    def solution(self) -> Solution:
        status = Status[self.ended] if self.ended else self.run()
        self.ended = status.name
        self.kept.close(self.snapshot)
        point, terms = self.point, self.terms
        return Solution(
            coef=point.beta,
            weights=point.w,
            status=status,
            residual=terms.violation(point.f, point.beta),
            gap=max(0.0, point.primal(terms) + point.dual(terms)),
            trace=Trace.of(self.trace),
            state=int(self.state[_EPOCHS]),
        )

    def run(self) -> Status:
        """Descend and polish until the tolerance is reached or something stops the run."""
        resumed = self.kept.state is not None
        if not resumed:
            if self.record() <= (self.exact if self.options.polish else self.goal):
                return Status.CONVERGED  # as from the solution itself
            if self.is_newtons and self.polish() <= self.goal * _ITERATED:  # below which the rest is rounding
                return Status.CONVERGED
        while not self.answer:
            if not resumed:
                self.before = float(self.state[_EPOCHS])
                self.left = min((self.worth - self.spent) / (3.0 * self.per_sample), 1e18)
            resumed = False
            done = self.descend()
            self.spent += 3.0 * len(self.rows.data) * max(self.state[_EPOCHS] - self.before, 1.0)
            violation = self.measure()
            if self.answer:
                break
            if self.options.polish and (violation <= self.early or self.spent >= self.worth):
                violation = self.polish()
                self.worth, self.spent = 2.0 * self.worth, 0.0
                if violation <= self.exact:
                    return Status.CONVERGED
            if violation <= self.goal and (not self.options.polish or self.rounds >= _ROUNDS):
                return Status.CONVERGED
            if done:
                self.rounds, self.inner = self.rounds + 1, 0.1 * self.inner
            if self.state[_EPOCHS] >= self.options.max_iter:
                return Status.CONVERGED if violation <= self.goal else Status.MAX_ITER
            if self.inner < 1e-15 * self.terms.scale:
                return Status.CONVERGED if violation <= self.goal else Status.STALLED
        return self.answer if isinstance(self.answer, Status) else Status.STOPPED

    @property
    def is_newtons(self) -> bool:
        """Whether Newton's method begins: where the loss is smooth and a step costs no more than a few passes."""
        rows = self.rows
        tall = len(rows) >= 4 * rows.width and rows.normal_work <= _CHEAP * len(rows.data)
        return self.options.polish and self.terms.smooth and self.factored and (rows.width < _NARROW or tall)

    @property
    def per_sample(self) -> float:
        """Numbers in a row."""
        return max(1.0, len(self.rows.data) / len(self.rows))

    def descend(self) -> bool:
        """Descend until each step of a pass was short (then true), enough samples were visited, or passes ran out."""
        limit = max(1, int(_WORK / (self.per_sample + 16.0)))  # samples of one call
        self.state[_TOL] = self.inner
        while True:
            self.state[_SHARE] = share = max(1.0, min(limit, self.left))
            code = _descend(*self.rows.arrays, self.terms.table, self.beta, self.w, self.order, self.state)
            self.left -= share
            if code or self.left <= 0:
                return code == 1
            self.kept.offer(self.snapshot)
            if self.monitor is not None and (answer := self.monitor(int(self.state[_EPOCHS]), self.state[_LAST])):
                self.answer = answer
                return False

    def measure(self) -> float:
        """Recompute weights and values from the duals; their violation, which goes into the trace."""
        self.point = Point.of(self.rows, self.beta)
        self.w[:] = self.point.w
        return self.record()

    def record(self) -> float:
        violation = self.terms.violation(self.point.f, self.point.beta)
        self.trace.append((self.point.primal(self.terms), violation, time.perf_counter() - self.began))
        if not self.answer and self.monitor is not None:
            self.answer = self.monitor(int(self.state[_EPOCHS]), violation / self.terms.scale)
        return violation

    def polish(self) -> float:
        """Let Newton's method continue from here; return the violation it reaches."""
        if self.factored:
            self.point = refine(self.rows, self.terms, self.point, self.exact, self.ask)
        else:
            self.point = settle(self.rows, self.terms, self.point)
        self.beta[:], self.w[:] = self.point.beta, self.point.w
        self.state[[_ACTIVE, _PLACE, _BOUND, _WORST, _BEGAN]] = len(self.rows), 0, np.inf, 0.0, len(self.rows)
        return self.record()

    @property
    def ask(self) -> Callable[[], bool]:
        """Whether the monitor wants to stop, as Newton's method asks between its steps."""

        def ask() -> bool:
            if self.monitor is not None and not self.answer:
                self.answer = self.monitor(int(self.state[_EPOCHS]), self.trace[-1][1] / self.terms.scale)
            return bool(self.answer)

        return ask


# Sums may be reordered and fused ("reassoc", "contract"): the products of a row and the weights are sums whose error
# does not depend on the order; a step that is a little wrong is corrected by the next ones.
@compiled(fastmath={"contract", "reassoc"})
def _descend(data, indices, offsets, table, beta, w, order, state):
    """Visit samples until the call's share is done (0), a whole pass found nothing to do (1), or passes ran out (2)."""
    d, n = len(w) - 1, len(order)
    constant, active, place = state[0], int(state[1]), int(state[2])
    bound, worst, random = state[3], state[4], int(state[6])
    tol, shrinking = state[9], state[11] > 0.0
    sparse = len(indices) > 0
    code = 0
    for _ in range(int(state[12])):
        random ^= (random << 13) & 0xFFFFFFFF
        random ^= random >> 17
        random ^= (random << 5) & 0xFFFFFFFF
        other = place + (random * (active - place)) // 4294967296
        i = order[other]
        order[other] = order[place]
        order[place] = i
        y, eps, low, up, ridge, square = table[i]
        b = beta[i]
        start = offsets[i]
        f = constant * w[d]
        if sparse:
            for k in range(np.uint64(start), np.uint64(offsets[i + 1])):  # unsigned: no look for negative places
                f += data[k] * w[indices[k]]
        elif offsets[i + 1] > start:
            for k in range(d):
                f += data[start + k] * w[k]
        gradient = f + ridge * b - y
        right = gradient + (eps if b >= 0.0 else -eps)
        left = gradient + (eps if b > 0.0 else -eps)
        if shrinking and (b == up or right > bound) and (b == low or left < -bound):
            active -= 1
            order[place] = order[active]
            order[active] = i
        else:
            place += 1
            violation = 0.0
            if b < up and right < 0.0:
                violation = -right
            elif b > low and left > 0.0:
                violation = left
            if violation > 1e-14:
                worst = max(worst, violation)
                curve = square + ridge
                if curve > 0.0:
                    aim = b - gradient / curve
                    slack = eps / curve
                    new = aim - slack if aim > slack else (aim + slack if aim < -slack else 0.0)
                    new = min(max(new, low), up)
                else:
                    new = up if right < 0.0 else low
                change = new - b
                if change != 0.0:
                    beta[i] = new
                    if sparse:
                        for k in range(np.uint64(start), np.uint64(offsets[i + 1])):
                            w[indices[k]] += change * data[k]
                    elif offsets[i + 1] > start:
                        for k in range(d):
                            w[k] += change * data[start + k]
                    w[d] += change * constant
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

r"""The kernel adatron: coordinate descent on the dual of a machine without a bias.

Symbols: beta the signed coefficients, g = K beta + r beta + p the gradient, a_i = K_ii + r_i its slope along one
coefficient, v_i how far g_i points out of the optimum.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, Integer, Interval, Optional
from mercer.errors import CapabilityError
from mercer.gram.gram import HasRows
from mercer.problems import BoxQP, Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import serial_blas
from mercer.solvers.box.optimality import duality_gap
from mercer.solvers.solver import Monitor, Solver, largest_order

__all__ = ["Adatron"]
__public__ = __all__

_LEAST_LIMIT = 60  # working sets, unless the caller says so; one in 50 variables if that is more
_LARGEST_SET = 2048  # variables whose block of K is descended on at a time
_WORK = 50_000_000  # numbers touched by one call of the compiled loop: some 50 ms
_CALLS = 20  # of that loop at most for one working set
_EASED = 0.1  # a working set is solved to this part of the violation it started with
_POLISHED = 2000  # free variables up to which they are solved for by a factorisation
_ROUNDS = 60  # of polishing at most
_EXACT = 1e-13  # of the largest gradient: a smaller violation cannot be told from rounding
_PROXIMAL = 1e-10  # of the largest curvature, so that a singular K can be factored; the step only gets shorter
_NARROW = 1e-5  # of the largest |Phi(x)|: a function that meets the conditions and is longer than its inverse is none


class Adatron(Solver):
    r"""Kernel adatron: one coefficient at a time, by exact steps, where no sum ties the coefficients together.

    .. math:: \beta_i \leftarrow \min(\max(\beta_i - g_i / a_i, \ell_i), u_i), \qquad
              g = K \beta + r \beta + p, \quad a_i = K_{ii} + r_i

    Seed: [ST] "Alternative form of the SVM problem" (b = 0, so that each coefficient moves alone). The slides take
    gradient steps; here the step is the exact minimum along the coefficient. Ledger: C-ADATRON.

    Parameters
    ----------
    tol : float, default 1e-3
        Largest violation of the optimality conditions that ends the run, in the unit of f.
    max_iter : int, optional
        Working sets at most; None allows 60, or one for every 50 samples if that is more.
    polish : bool, default True
        Whether a problem with few free variables is solved to rounding at the end, by Newton steps on them.

    Notes
    -----
    Solves BoxQP with an empty ``total``. Needs rows. Working sets hold the most violating and the free variables;
    a compiled loop sweeps over them on their block of K, then one product updates the gradient of all.
    Cost of a step q, of an iteration n q with q variables in the set; memory 4 n + q^2 numbers.
    A violation that the updates say is small is computed anew, in float64, before it is believed.

    References
    ----------
    Friess, Cristianini and Campbell (1998), The kernel-adatron algorithm: a fast and simple learning procedure for
    support vector machines.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> K = Dense().build(Linear(), Vectors.pack([[1.0], [-2.0]]))
    >>> y = np.array([1.0, -1.0])
    >>> problem = BoxQP(K, -y, np.minimum(5.0 * y, 0.0), np.maximum(5.0 * y, 0.0), total=np.zeros(0))
    >>> Adatron().solve(problem).coef + 0.0
    array([1., 0.])
    """

    constraints = {
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Optional(Integer(1)),
        "polish": Boolean(),
    }
    solves = BoxQP
    needs = (HasRows,)
    remedy = "Use gram=Tiles() or gram=Dense()."

    def __init__(self, tol: float = 1e-3, max_iter: int | None = None, polish: bool = True) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.polish = polish

    def check_capabilities(self, problem: Any) -> None:
        """Raise unless the options are acceptable and the problem is one without sums."""
        super().check_capabilities(problem)
        if len(problem.total):
            raise CapabilityError(
                f"Adatron was given a BoxQP with {len(problem.total)} sum(s) to keep; it moves one coefficient at a "
                "time, which keeps none. Leave the bias out (total=np.zeros(0)), or use solver=SMO()."
            )

    def solve(self, problem: Any, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        """Solution of a BoxQP without sums.

        Parameters
        ----------
        problem : BoxQP
            With an empty ``total``.
        start : (n,) array, optional
            Coefficients near the solution; clipped to the box.
        monitor : callable, optional
            Called as ``monitor(iteration, violation)`` after each working set; a true answer ends the run.
        """
        self.check_capabilities(problem)
        with serial_blas():  # one order of summation, whatever the number of threads
            descent = _Descent(problem, start, monitor)
            status = descent.run(self.tol, self.max_iter or max(_LEAST_LIMIT, len(problem.linear) // 50))
            if self.polish and status is Status.CONVERGED:
                descent.polish()
        product = descent.g - problem.linear - descent.ridge * descent.beta
        return Solution(
            descent.beta,
            status,
            descent.violation(),
            trace=Trace.of(descent.rows),
            gap=duality_gap(problem, descent.beta, product),
        )


class _Descent:
    """State of one run: coefficients, gradient and violations of all variables."""

    def __init__(self, problem: BoxQP, start: Floats | None, monitor: Monitor | None = None) -> None:
        self.began = time.perf_counter()
        self.gram = problem.gram
        self.fine: Any = problem.gram.refined() if hasattr(problem.gram, "refined") else problem.gram  # in float64
        n = len(problem.linear)
        self.order = largest_order(problem.gram, _LARGEST_SET)
        self.linear = np.ascontiguousarray(problem.linear, dtype=np.float64)
        self.lower = np.ascontiguousarray(problem.lower, dtype=np.float64)
        self.upper = np.ascontiguousarray(problem.upper, dtype=np.float64)
        self.ridge = np.array(np.broadcast_to(np.asarray(problem.ridge, dtype=np.float64), (n,)))
        start = np.zeros(n) if start is None else np.asarray(start, dtype=np.float64)
        self.beta = np.clip(start, self.lower, self.upper)
        self.rows: list[tuple[float, float, float]] = []
        self.monitor = monitor
        self.answer: bool | Status = False
        self.unbounded = bool(np.isinf(self.lower).any() or np.isinf(self.upper).any())
        self.largest = float(np.max(self.gram.diag(), initial=0.0)) if self.unbounded else 0.0
        self.refresh()

    def refresh(self) -> None:
        """Compute the gradient and the violations anew."""
        product = self.fine @ self.beta if self.beta.any() else 0.0
        self.g = self.linear + self.ridge * self.beta + product
        self.look()

    def look(self) -> None:
        """Compute the violations: the gradient where it can still be followed downhill."""
        down, up = self.beta > self.lower, self.beta < self.upper
        self.v = np.maximum(np.where(down, self.g, 0.0), np.where(up, -self.g, 0.0))
        self.free = down & up

    def violation(self) -> float:
        """Return the largest violation, not negative."""
        return max(float(np.max(self.v, initial=0.0)), 0.0)

    def record(self) -> float:
        worst = self.violation()
        objective = 0.5 * float(self.beta @ (self.g + self.linear))
        self.rows.append((objective, worst, time.perf_counter() - self.began))
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
            if not moved or (self.unbounded and self.infeasible()):
                self.refresh()
                return Status.STALLED
            if self.answer or self.ask():
                self.refresh()
                return self.answer if isinstance(self.answer, Status) else Status.STOPPED
        self.refresh()
        return Status.CONVERGED if self.violation() <= tol else Status.MAX_ITER

    def infeasible(self) -> bool:
        """Tell whether unbounded coefficients say that no function meets the conditions.

        For p = -y and beta of the signs of y any f with margin 1 has -p'beta <= <f_beta, f> <= |f_beta| |f|.
        """
        gain = -float(self.linear @ self.beta)
        squared = float(self.beta @ (self.g - self.linear))
        return max(squared, 0.0) <= (_NARROW * gain) ** 2 * self.largest

    def choose(self) -> Indices:
        """Return the working set: the most violating variables, then the free ones, each by violation."""
        size = min(self.order, len(self.v))
        order = np.argsort(-self.v, kind="stable")
        top = order[: max(1, size // 2)]
        top = top[self.v[top] > 0.0]
        rest = order[len(top) :]
        rest = rest[self.free[rest]][: size - len(top)]
        return np.sort(np.concatenate([top, rest]))

    def step(self, index: Indices, tol: float) -> bool:
        """Solve a working set on its own block; whether anything could be moved."""
        H = np.ascontiguousarray(self.gram.rows(index, index), dtype=np.float64)
        H[np.diag_indices_from(H)] += self.ridge[index]
        before, beta, g = self.beta[index], self.beta[index], self.g[index]
        enough = max(_EASED * float(self.v[index].max()), 0.5 * tol)
        lower, upper = self.lower[index], self.upper[index]
        for _ in range(
            1 if self.unbounded else _CALLS
        ):  # between two calls Python looks for Ctrl-C, and the monitor at the clock
            if _descend(H, g, beta, lower, upper, enough, _WORK) > 0 or self.ask():
                break
        return self.move(index, before, beta)

    def move(self, index: Indices, before: Floats, beta: Floats) -> bool:
        """Take new values of some variables, and bring their changes to the gradient of all."""
        moved = np.flatnonzero(before != beta)
        self.beta[index] = beta
        change = (beta - before)[moved]
        self.gram.update(index[moved], change, self.g)
        self.g[index[moved]] += self.ridge[index[moved]] * change
        self.look()
        return len(moved) > 0

    def polish(self) -> None:
        """Newton steps on the free variables, and descent for those that become free, down to rounding."""
        self.gram = self.fine
        best, since = math.inf, 0
        for _ in range(_ROUNDS):
            enough = _EXACT * max(1.0, float(np.max(np.abs(self.g), initial=0.0)))
            if self.violation() <= enough or since >= 4 or not self.newton():
                break
            if self.violation() > enough:
                self.step(self.choose(), enough)
            since = 0 if self.violation() < 0.5 * best else since + 1
            best = min(best, self.violation())
            if self.answer or self.ask():
                break
        self.refresh()
        self.record()

    def newton(self) -> bool:
        """Go to the minimum over the free variables, or as far as their bounds allow; False if there are too many."""
        index = np.flatnonzero(self.free)
        if not 0 < len(index) <= min(self.order, _POLISHED):
            return False
        H = self.gram.rows(index, index)
        if H.dtype != np.float64:
            return False
        beta, lower, upper = self.beta[index], self.lower[index], self.upper[index]
        slope = np.diagonal(H) + self.ridge[index]
        H[np.diag_indices_from(H)] = slope + _PROXIMAL * max(float(np.max(slope)), np.finfo(float).tiny)
        try:
            step = -cho_solve(cho_factor(H, overwrite_a=True), self.g[index])
        except np.linalg.LinAlgError:  # of an indefinite kernel
            return False
        end = np.where(step > 0.0, upper, lower)
        with np.errstate(invalid="ignore", divide="ignore"):
            room = np.where(step != 0.0, (end - beta) / step, np.inf)
        length = min(1.0, float(room.min()))
        moved = np.clip(beta + length * step, lower, upper)
        self.move(index, beta, np.where(room <= length * (1.0 + 1e-12), end, moved))
        return True


@compiled
def _descend(H, g, beta, lower, upper, tol, work):  # type: ignore[no-untyped-def]
    """Descend on a working set until no variable violates by more than tol or the work is done.

    Sweeps visit the variables in turn and move those whose violation is at least half the largest of the sweep
    before: nearly the most violating first, at the price of one look per visit and not of a search.
    """
    q = len(beta)
    threshold = np.inf
    while work > 0:
        worst, moved = 0.0, 0
        for i in range(q):
            v = 0.0
            if beta[i] > lower[i] and g[i] > 0.0:
                v = g[i]
            elif beta[i] < upper[i] and g[i] < 0.0:
                v = -g[i]
            worst = max(worst, v)
            if v <= threshold:
                continue
            a = H[i, i]
            if a > 0.0:
                new = min(max(beta[i] - g[i] / a, lower[i]), upper[i])
            else:  # a straight line: to its end, if it has one
                new = lower[i] if g[i] > 0.0 else upper[i]
            if not np.isfinite(new):
                continue
            change = new - beta[i]
            beta[i] = new
            moved += 1
            work -= q + 20
            for j in range(q):
                g[j] += change * H[i, j]
        work -= 20 * q
        if moved == 0 and (threshold <= tol or threshold < worst):  # the latter: what violates cannot move
            break
        threshold = max(0.5 * worst, tol)
    return work

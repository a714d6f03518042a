r"""The kernel adatron: coordinate descent on the dual of a machine without a bias.

Symbols: beta the signed coefficients, g = K beta + r beta + p the gradient, a_i = K_ii + r_i its slope along one
coefficient, v_i how far g_i points out of the optimum.
"""

from __future__ import annotations

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
from mercer.solvers.box.working_sets import POLISHED, PROXIMAL, WORK, WorkingSets
from mercer.solvers.solver import Monitor, Solver

__all__ = ["Adatron"]
__public__ = __all__

_LEAST_LIMIT = 60  # working sets, unless the caller says so; one in 50 variables if that is more


class Adatron(Solver):
    r"""Kernel adatron: one coefficient at a time, by exact steps, where no sum ties the coefficients together.

    .. math:: \beta_i \leftarrow \min(\max(\beta_i - g_i / a_i, \ell_i), u_i), \qquad
              g = K \beta + r \beta + p, \quad a_i = K_{ii} + r_i

    Seed: [ST] "Alternative form of the SVM problem" (b = 0, so that each coefficient moves alone). The slides take
    gradient steps; here the step is the exact minimum along the coefficient.

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
    A violation that the updates say is small is recomputed in float64 before it is trusted.

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

    def _solve(self, problem: Any, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
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


class _Descent(WorkingSets):
    """State of one run: coefficients, gradient and violations of all variables."""

    def __init__(self, problem: BoxQP, start: Floats | None, monitor: Monitor | None = None) -> None:
        n = len(problem.linear)
        self.linear = np.ascontiguousarray(problem.linear, dtype=np.float64)
        self.lower = np.ascontiguousarray(problem.lower, dtype=np.float64)
        self.upper = np.ascontiguousarray(problem.upper, dtype=np.float64)
        self.ridge = np.array(np.broadcast_to(np.asarray(problem.ridge, dtype=np.float64), (n,)))
        start = np.zeros(n) if start is None else np.asarray(start, dtype=np.float64)
        self.beta = np.clip(start, self.lower, self.upper)
        super().__init__(problem.gram, monitor, bool(np.isinf(self.lower).any() or np.isinf(self.upper).any()))
        self.refresh()

    def refresh(self) -> None:
        """Recompute the gradient and the violations."""
        product = self.fine @ self.beta if self.beta.any() else 0.0
        self.g = self.linear + self.ridge * self.beta + product
        self.look()

    def look(self) -> None:
        """Compute the violations: the gradient where it can still be followed downhill."""
        down, up = self.beta > self.lower, self.beta < self.upper
        self.v = np.maximum(np.where(down, self.g, 0.0), np.where(up, -self.g, 0.0))
        self.free = down & up

    def objective(self) -> float:
        """Return what is minimised, from the gradient: 1/2 beta' (g + p)."""
        return 0.5 * float(self.beta @ (self.g + self.linear))

    def steepest(self) -> float:
        """Return the largest entry of the gradient by size."""
        return float(np.max(np.abs(self.g), initial=0.0))

    def evidence(self) -> tuple[float, float]:
        """Return -p' beta, for p = -y and beta of the signs of y, and |f|^2."""
        return -float(self.linear @ self.beta), float(self.beta @ (self.g - self.linear))

    def step(self, index: Indices, tol: float) -> bool:
        """Solve a working set on its own block; whether anything could be moved."""
        H = np.ascontiguousarray(self.gram.rows(index, index), dtype=np.float64)
        H[np.diag_indices_from(H)] += self.ridge[index]
        before, beta, g = self.beta[index], self.beta[index], self.g[index]
        lower, upper = self.lower[index], self.upper[index]
        self.descend(index, tol, lambda enough: _descend(H, g, beta, lower, upper, enough, WORK))
        return self.move(index, before, beta)

    def move(self, index: Indices, before: Floats, beta: Floats) -> bool:
        """Take new values of some variables, and update the gradient of all."""
        moved = np.flatnonzero(before != beta)
        self.beta[index] = beta
        change = (beta - before)[moved]
        self.gram.update(index[moved], change, self.g)
        self.g[index[moved]] += self.ridge[index[moved]] * change
        self.look()
        return len(moved) > 0

    def newton(self) -> bool:
        """Go to the minimum over the free variables, or as far as their bounds allow; False if there are too many."""
        index = np.flatnonzero(self.free)
        if not 0 < len(index) <= min(self.order, POLISHED):
            return False
        H = self.gram.rows(index, index)
        if H.dtype != np.float64:
            return False
        beta, lower, upper = self.beta[index], self.lower[index], self.upper[index]
        slope = np.diagonal(H) + self.ridge[index]
        H[np.diag_indices_from(H)] = slope + PROXIMAL * max(float(np.max(slope)), np.finfo(float).tiny)
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

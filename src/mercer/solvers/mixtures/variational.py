r"""The posterior of weights and function by independent factors.

Symbols: tau_t = 1 / d_t, with Gamma posteriors of shapes A_t and rates B_t, so that d_t = B_t / A_t stands for them;
v_i the noise variances, C = K_d + beta_0 1 1^T + diag(v), alpha = C^-1 u, r_t the rank of K_t, u the targets or, of
classes, the means of what is behind them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import digamma, gammaln, log_ndtr

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.mixtures.hierarchical_bayes import HierarchicalBayes
from mercer.problems import Solution, Status, Trace
from mercer.runtime.tiling import serial_blas
from mercer.solvers.mixtures.stack import stack_of
from mercer.solvers.mixtures.weight_search import Mixed
from mercer.solvers.solver import Monitor

__all__ = ["MixturePosterior", "mixture_posterior"]

_WIDE = 1e3  # variance of the bias, in the unit of the targets' variance
_NOTHING = 1e-6  # of the largest share of the variance: a kernel that explains nothing


@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """A posterior.

    Attributes
    ----------
    solution : Solution
        Coefficients of the mean function; ``state`` is a `Mixed`, the residual the last change of the weights.
    deviations : (m,) array
        Standard deviations of the weights.
    noise : float
        Variance of the noise; one for classes.
    intercept : float
    bounds : (t,) array
        Lower bound on the logarithm of the evidence after each change; for classes NaN.
    """

    solution: Solution
    deviations: Floats
    noise: float
    intercept: float
    bounds: Floats


def mixture_posterior(
    grams: Any, y: Floats, w: Floats, options: HierarchicalBayes, *, classes: bool, monitor: Monitor | None = None
) -> MixturePosterior:
    """Return the posterior of the weights of several kernels and of the function.

    Parameters
    ----------
    grams : sequence of Gram
    y : (n,) array
        Numbers, or +1 and -1.
    w : (n,) array
        Sample weights: a sample of weight w counts as w observations.
    options : HierarchicalBayes
    classes : bool
        Whether y are classes.
    monitor : callable, optional
    """
    with serial_blas():
        return _Posterior(grams, y, w, options, classes).found(monitor)


class _Posterior:
    """One search for a posterior."""

    def __init__(self, grams: Any, y: Floats, w: Floats, options: HierarchicalBayes, classes: bool) -> None:
        self.stack, self.y, self.w, self.options, self.classes = stack_of(grams), y, w, options, classes
        n, m = self.stack.n, len(self.stack)
        Plan(f"the posterior of {m} kernels on {n} samples", {"matrices": 24 * n * n}).require(
            self.stack.resources.memory
        )
        every = np.eye(n)
        self.ranks, self.traces = np.zeros(m), np.zeros(m)
        for t in range(m):
            values = np.linalg.eigvalsh(self.stack.products(every, which=np.array([t]))[0])
            self.ranks[t] = np.count_nonzero(values > 1e-10 * max(values[-1], np.finfo(float).tiny))
            self.traces[t] = max(float(values.sum()), 0.0) / n
        mean = float(w @ y / w.sum())
        self.size = 1.0 if classes else max(float(w @ (y - mean) ** 2 / w.sum()), np.finfo(float).tiny)
        known = np.where(self.traces > 0.0, self.traces, 1.0)
        self.shape = options.shape + 0.5 * self.ranks
        self.d = np.where(self.ranks > 0.0, self.size / (m * known), 0.0)
        self.noise = 1.0 if classes else 0.1 * self.size
        self.count = float(w.sum())

    def found(self, monitor: Monitor | None) -> MixturePosterior:
        """Change function, weights and noise in turns until the weights stay."""
        options, began, u = self.options, time.monotonic(), np.array(self.y, dtype=float)
        rows, bounds, status, change = [], [], Status.MAX_ITER, np.inf
        for iteration in range(options.max_iter):
            alpha, inverse, logdet = self._function(u)
            bounds.append(np.nan if self.classes else self._bound(u, alpha, logdet))
            rows.append((-bounds[-1], change if np.isfinite(change) else 1.0, time.monotonic() - began))
            answer = monitor(iteration, rows[-1][1]) if monitor is not None else False
            if change <= options.tol or answer:
                status = Status.CONVERGED if change <= options.tol else Status.STOPPED
                status = answer if isinstance(answer, Status) and change > options.tol else status
                break
            u, change = self._changed(u, alpha, inverse)
        else:
            alpha = self._function(u)[0]
        d = np.where(self.d * self.traces > _NOTHING * float(np.max(self.d * self.traces)), self.d, 0.0)
        rate = self.d * self.shape
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(self.shape > 2.0, rate / ((self.shape - 1.0) * np.sqrt(self.shape - 2.0)), np.inf)
        product = self.stack.combined(d) @ alpha
        state = Mixed(d, self.stack.squares(alpha), alpha, product, rows[-1][0])
        details = {"machines": len(rows), "changes of the weights": len(rows) - 1}
        solution = Solution(alpha, status, rows[-1][1], trace=Trace.of(rows), state=state, details=details)
        intercept = _WIDE * self.size * float(alpha.sum())
        return MixturePosterior(solution, np.where(d > 0.0, spread, 0.0), self.noise, intercept, np.array(bounds))

    def _function(self, u: Floats) -> tuple[Floats, Floats, float]:
        """Return alpha, C^-1 and log det C at the present weights and noise."""
        C = np.array(self.stack.combined(self.d).rows(np.arange(self.stack.n)), dtype=np.float64)
        C += _WIDE * self.size
        C[np.diag_indices_from(C)] += self.noise / self.w
        factor = cho_factor(C, lower=True)
        inverse = cho_solve(factor, np.eye(len(C)))
        return inverse @ u, inverse, 2.0 * float(np.log(np.diagonal(factor[0])).sum())

    def _changed(self, u: Floats, alpha: Floats, inverse: Floats) -> tuple[Floats, float]:
        """Change weights and noise; return the next targets and the largest relative change of a weight that counts."""
        before, d = self.d, self.d
        traces = np.array([np.sum(inverse * self._matrix(t)) for t in range(len(d))])
        lengths = d**2 * self.stack.squares(alpha) + d * self.ranks - d**2 * traces  # E f_t^T K_t^-1 f_t
        v = self.noise / self.w
        means = u - v * alpha  # of f + b
        variances = np.maximum(v - v * np.diagonal(inverse) * v, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.d = np.where(self.ranks > 0.0, (self.options.rate + 0.5 * np.maximum(lengths, 0.0)) / self.shape, 0.0)
        if self.classes:
            u = means + self.y * np.exp(-0.5 * means**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(self.y * means))
        else:
            squares = float(self.w @ ((u - means) ** 2 + variances))
            self.noise = (self._noise_rate() + 0.5 * squares) / self._noise_shape()
        shares = before * self.traces
        counts = shares > _NOTHING * float(shares.max())
        return u, float(np.max(np.abs(self.d - before)[counts] / before[counts]))

    def _matrix(self, t: int) -> Floats:
        return self.stack.products(np.eye(self.stack.n), which=np.array([t]))[0]

    def _noise_shape(self) -> float:
        return self.options.shape + 0.5 * self.count

    def _noise_rate(self) -> float:
        return self.options.rate * self.size  # in the unit of the targets

    def _bound(self, u: Floats, alpha: Floats, logdet: float) -> float:
        """Return the lower bound on log p(y): that of a process at these weights, less what is not known of them."""
        evidence = -0.5 * float(u @ alpha) - 0.5 * logdet - 0.5 * len(u) * np.log(2.0 * np.pi)
        for shape, rate, prior, half in [
            *zip(self.shape, self.d * self.shape, [self.options.rate] * len(self.d), 0.5 * self.ranks, strict=True),
            (self._noise_shape(), self.noise * self._noise_shape(), self._noise_rate(), 0.5 * self.count),
        ]:
            if rate > 0.0:
                evidence += half * (digamma(shape) - np.log(shape)) - _divergence(
                    shape, rate, self.options.shape, prior
                )
        return float(evidence)


def _divergence(A: float, B: float, a: float, r: float) -> float:
    """Return the divergence of Gamma(A, B) from Gamma(a, r), shapes and rates."""
    return (A - a) * digamma(A) - gammaln(A) + gammaln(a) + a * (np.log(B) - np.log(r)) + A * (r - B) / B

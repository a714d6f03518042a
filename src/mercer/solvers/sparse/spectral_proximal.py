r"""Proximal gradients for a matrix of weights whose singular values are penalised.

Symbols: F (n, r) features, B (r, T) weights, a column for each task; observations k = (i_k, t_k, y_k, w_k); b_t the
intercepts; psi the loss; P(B) = min_b sum_k w_k psi(y_k, (F B)_(i_k t_k) + b_(t_k)) + alpha Omega(B).

Accelerated steps that start anew when the objective rises. The dual at u_k = w_k psi'(y_k, f_k), which sums to zero in
each task since the intercepts are optimal, bounds the minimum from below:

    P >= -sum_k w_k psi*(y_k, c u_k / w_k) - (alpha Omega)*(-c A'u),   A'u = F' U with U the table of the u,

for every c in [0, 1]; c is the largest with which the last term is finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.problems import Status, Trace

__all__ = ["Observations", "SpectralSolution", "solve_spectral"]

_GATHERED = 2e7  # numbers of features, one row for each observation, that may be held
_EIGEN = 2e10  # operations for the largest eigenvalue of each task
_LOOK = 10  # iterations between two looks at the gap
_STEPS = 60  # of Newton's method for intercepts
_FAR = 50.0  # an intercept of a task with one class


@dataclass(frozen=True, eq=False)
class Observations:
    """What was observed: the row, the task, the target and the weight of each observation."""

    rows: Indices
    tasks: Indices
    y: Floats
    weight: Floats
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class SpectralSolution:
    """Weights (r, T), intercepts (T,), singular values, and how well the problem was solved."""

    weights: Floats
    intercept: Floats
    values: Floats
    status: Status
    gap: float
    trace: Trace


class _Smooth:
    """The smooth part of the objective, minimised over the intercepts."""

    def __init__(self, F: Floats, seen: Observations, loss: Any, intercept: bool) -> None:
        self.F, self.seen, self.loss, self.intercept = F, seen, loss, intercept
        n, T = seen.shape
        self.mass = np.maximum(np.bincount(seen.tasks, weights=seen.weight, minlength=T), np.finfo(float).tiny)
        self.table = sp.csr_array((np.ones(len(seen.y)), (seen.rows, seen.tasks)), shape=(n, T))
        self.order = np.lexsort((seen.tasks, seen.rows))  # entries of the table are sorted, observations need not be
        self.gathered = F[seen.rows] if len(seen.y) * F.shape[1] <= _GATHERED else None
        self.bias = np.zeros(T)
        self.steep = float(np.max(loss.curvature(seen.y, np.zeros(len(seen.y))), initial=0.0)) * self._largest()

    def _largest(self) -> float:
        """Return the largest eigenvalue of F_t' W_t F_t over the tasks, or a bound on it."""
        seen, F = self.seen, self.F
        T, r = seen.shape[1], F.shape[1]
        if not r:  # K is zero
            return 0.0
        if T * min(r, len(seen.y) / T) ** 2 * r <= _EIGEN:
            found = 0.0
            order = np.argsort(seen.tasks, kind="stable")
            for part in np.split(order, np.cumsum(np.bincount(seen.tasks, minlength=T))[:-1]):
                if len(part):
                    rows = F[seen.rows[part]] * np.sqrt(seen.weight[part])[:, None]
                    small = rows.T @ rows if r <= len(part) else rows @ rows.T
                    found = max(found, float(np.linalg.eigvalsh(small)[-1]))
            return found
        heavy = np.zeros(seen.shape[0])
        np.maximum.at(heavy, seen.rows, seen.weight)
        return float(np.linalg.eigvalsh((F * heavy[:, None]).T @ F)[-1])

    def predicted(self, B: Floats) -> Floats:
        seen = self.seen
        if self.gathered is not None:
            return np.einsum("kr,kr->k", self.gathered, B.T[seen.tasks])
        return (self.F @ B)[seen.rows, seen.tasks]

    def __call__(self, B: Floats) -> tuple[float, Floats, Floats]:
        """Return the value, the slopes u at the observations, and the gradient in B."""
        seen, f = self.seen, self.predicted(B)
        if self.intercept:
            self._settle(f)
            f = f + self.bias[seen.tasks]
        u = seen.weight * self.loss.gradient(seen.y, f)
        return float(seen.weight @ self.loss.value(seen.y, f)), u, self.adjoint(u)

    def adjoint(self, u: Floats) -> Floats:
        """Return F' U."""
        self.table.data[:] = u[self.order]
        return np.asarray((self.table.T @ self.F).T)

    def _settle(self, f: Floats) -> None:
        """Minimise over the intercepts, task by task, by Newton's method with halved steps."""
        seen, b, T = self.seen, self.bias, len(self.bias)
        for _ in range(_STEPS):
            at = f + b[seen.tasks]
            slope = np.bincount(seen.tasks, weights=seen.weight * self.loss.gradient(seen.y, at), minlength=T)
            if np.all(np.abs(slope) <= 1e-12 * self.mass):
                break
            curve = np.bincount(seen.tasks, weights=seen.weight * self.loss.curvature(seen.y, at), minlength=T)
            b = np.clip(b - np.clip(slope / np.maximum(curve, 1e-12 * self.mass), -1e300, 1e300), *self._range(f))
        self.bias = b

    def _range(self, f: Floats) -> tuple[float, float]:
        size = _FAR + float(np.abs(f).max(initial=0.0)) + 2.0 * float(np.abs(self.seen.y).max(initial=0.0))
        return -size, size


def solve_spectral(
    F: Floats,
    seen: Observations,
    loss: Any,
    penalty: Any,
    alpha: float,
    *,
    intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 5000,
    monitor: Any = None,
) -> SpectralSolution:
    """Minimise a smooth loss and a cost of singular values over a matrix of weights.

    Parameters
    ----------
    F : (n, r) array
    seen : Observations
    loss : Loss
        Smooth; its second derivative must be largest where nothing is predicted, as those of Squared and Logistic.
    penalty : object
        With ``value``, ``proximal``, ``conjugate``, ``allowed`` and ``convex``.
    alpha : float
        Weight of the penalty.
    intercept : bool, default True
        Whether each task has an intercept, which is not penalised.
    tol : float, default 1e-4
        The gap to be reached, over the objective without weights; of a penalty that is not convex, the change.
    max_iter : int, default 5000
    monitor : callable, optional
        Called as ``monitor(iteration, residual)``; true ends the run.
    """
    smooth = _Smooth(F, seen, loss, intercept)
    B = np.zeros((F.shape[1], seen.shape[1]))
    step = 1.0 / max(smooth.steep, np.finfo(float).tiny)
    unit = max(smooth(np.zeros_like(B))[0], np.finfo(float).tiny)
    ahead, momentum, best, s = B, 1.0, np.inf, np.zeros(min(B.shape))
    residual, rows, status = np.inf, [], Status.MAX_ITER
    for iteration in range(max_iter):
        _, _, slope = smooth(ahead)
        new, s = _shrunk(ahead - step * slope, penalty, step * alpha)
        value, u, gradient = smooth(new)
        objective = value + (alpha * penalty.value(s) if penalty.convex else 0.0)
        if objective > best and momentum > 1.0:  # the steps have gained too much speed
            ahead, momentum = B, 1.0
            continue
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        moved = new - B
        ahead = new + (momentum - 1.0) / faster * moved if penalty.convex else new
        B, momentum, best = new, faster if penalty.convex else 1.0, min(best, objective)
        if iteration % _LOOK and iteration < max_iter - 1:
            continue
        if penalty.convex:
            residual = (objective - _dual(smooth, u, gradient, penalty, alpha)) / unit
        else:
            residual = float(np.linalg.norm(moved) / max(np.linalg.norm(B), np.finfo(float).tiny))
        rows.append((objective, residual, 0.0))
        stop = monitor(iteration, residual) if monitor is not None else False
        if residual <= tol or stop:
            status = Status.CONVERGED if residual <= tol else stop if isinstance(stop, Status) else Status.STOPPED
            break
    smooth(B)
    gap = residual * unit if penalty.convex else np.nan
    return SpectralSolution(B, smooth.bias, s, status, float(gap), Trace.of(rows))


def _shrunk(B: Floats, penalty: Any, step: float) -> tuple[Floats, Floats]:
    """Return the matrix whose singular values are what the penalty leaves of them, and these."""
    U, s, V = scipy.linalg.svd(B, full_matrices=False, check_finite=False)
    s = penalty.proximal(s, step)
    kept = s > 0.0
    return (U[:, kept] * s[kept]) @ V[kept], s


def _dual(smooth: _Smooth, u: Floats, gradient: Floats, penalty: Any, alpha: float) -> float:
    """Return a lower bound on the minimum, at slopes that are shrunk until they are allowed."""
    seen = smooth.seen
    z = np.linalg.svd(gradient, compute_uv=False)
    c = penalty.allowed(float(z.max(initial=0.0)), alpha)
    cost = seen.weight @ smooth.loss.conjugate(seen.y, c * u / seen.weight)
    return -float(cost) - penalty.conjugate(c * z, alpha)

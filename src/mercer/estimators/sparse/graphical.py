"""Sparse graphs from a covariance matrix: one lasso for each variable, and the graphical lasso.

Symbols: S the covariance matrix, Theta its sparse inverse, W the inverse of Theta, B coefficients of each variable in
the others, one column each, alpha the penalty.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Solution, Status, Trace
from mercer.runtime.compiled import compiled
from mercer.solvers.solver import Monitor
from mercer.solvers.sparse.coordinate_descent import polish

__all__ = ["graphical_lasso", "neighbourhood"]

_WORK = 5e7  # multiplications of one call of compiled code: some 50 ms


def neighbourhood(S: Floats, j: int, alpha: float, start: Floats | None = None, max_iter: int = 1000) -> Floats:
    r"""Lasso of one variable on all others, from the covariance matrix alone.

    .. math:: \min_b \; \tfrac12 b^\top S b - b^\top S_{\cdot j} + \alpha \|b\|_1, \qquad b_j = 0

    Seed: [KIKS] Section 4.1.3, Eqs. (14), (15), reference [35].

    Parameters
    ----------
    S : (d, d) array
    j : int
        The variable.
    alpha : float
    start : (d,) array, optional
        Coefficients near the solution.
    max_iter : int, default 1000
        Passes over the variables.

    Returns
    -------
    b : (d,) array

    Examples
    --------
    >>> neighbourhood(np.array([[1.0, 0.5], [0.5, 1.0]]), 0, 0.1)
    array([0. , 0.4])
    """
    b = np.zeros(len(S)) if start is None else np.array(start, dtype=np.float64)
    b[j] = 0.0
    q = S[j] - S @ b
    size = float(np.sqrt(S[j, j]))
    share = max(1, int(_WORK / max(S.size, 1)))
    done, worst = 0, np.inf
    while done < max_iter and worst > 1e-9 * size:
        worst = _descend_but(S, q, b, j, alpha, 1e-9 * size, min(share, max_iter - done))
        done += share
    near = np.flatnonzero((b != 0.0) | (np.abs(q) > 0.999 * alpha))
    near = near[near != j]
    exact, rest = b[near].copy(), (S[j] - S @ b)[near]
    if len(near) and polish(S[np.ix_(near, near)], rest, exact, alpha, 2 * len(near)) <= 1e-10 * alpha:
        better = np.zeros_like(b)
        better[near] = exact
        over = np.abs(S[j] - S @ better)
        over[near], over[j] = 0.0, 0.0
        if not (over > alpha * (1.0 + 1e-9)).any():
            return better
    return b


def graphical_lasso(
    S: Floats,
    alpha: float,
    start: Floats | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
    monitor: Monitor | None = None,
) -> Solution:
    r"""Sparse inverse covariance by block coordinate descent, a lasso for each variable in turn.

    .. math:: \min_{\Theta \succ 0} \; -\log\det\Theta + \mathrm{tr}(S \Theta) + \alpha \sum_{i \ne j} |\Theta_{ij}|

    Seed: [KIKS] Section 4.1.3, reference [36].

    Parameters
    ----------
    S : (d, d) array
        Its diagonal is positive.
    alpha : float
        Positive.
    start : (d, d) array, optional
        Coefficients B near the solution.
    tol : float, default 1e-10
        Duality gap.
    max_iter : int, default 1000
        Sweeps over the variables.
    monitor : callable, optional

    Returns
    -------
    solution : Solution
        ``coef`` is Theta, ``state`` the pair (W, B).

    Examples
    --------
    >>> graphical_lasso(np.array([[1.0, 0.5], [0.5, 1.0]]), 0.5).coef
    array([[1., 0.],
           [0., 1.]])
    """
    began, rows, d = time.perf_counter(), [], len(S)
    W = np.where(np.eye(d, dtype=bool), S, 0.95 * S)  # better conditioned than S
    B = np.zeros((d, d)) if start is None else np.array(start, dtype=np.float64)
    best: tuple[float, Any] = (np.inf, None)
    status = Status.MAX_ITER
    answer: bool | Status = False
    for iteration in range(max_iter):
        for j in range(d):
            _update_column(W, S, B, j, alpha)
            if monitor is not None and (answer := monitor(iteration, best[0] if best[1] is not None else float(d))):
                break
        Theta = _inverse(W, B)
        objective = _objective(S, Theta, alpha)
        gap = objective - _dual(W, S, alpha)
        if gap < best[0] or best[1] is None:
            best = gap, (Theta, W.copy(), B.copy())
        rows.append((objective, gap, time.perf_counter() - began))
        if gap <= tol:
            status = Status.CONVERGED
            break
        if answer:
            status = answer if isinstance(answer, Status) else Status.STOPPED
            break
        if np.isnan(gap):
            status = Status.STALLED
            break
    Theta, W, B = best[1]
    return Solution(Theta, status, best[0], gap=best[0], trace=Trace.of(rows), state=(W, B))


def _update_column(W: Floats, S: Floats, B: Floats, j: int, alpha: float) -> None:
    """Solve the lasso of one variable in the metric W, and write its row and column of W."""
    b = np.ascontiguousarray(B[:, j])
    b[j] = 0.0
    q = S[j] - W @ b
    own = W[j, j]
    _descend_but(W, q, b, j, alpha, 1e-10 * np.sqrt(own), 1000)
    row = W @ b
    row[j] = own
    W[j], W[:, j], B[:, j] = row, row, b


def _inverse(W: Floats, B: Floats) -> Floats:
    """Theta from W and the coefficients, exactly symmetric and with exact zeros."""
    diagonal = 1.0 / (np.diag(W) - np.einsum("ij,ij->j", W, B))
    Theta = -B * diagonal
    Theta = np.where((Theta != 0.0) & (Theta.T != 0.0), 0.5 * (Theta + Theta.T), 0.0)
    Theta[np.diag_indices_from(Theta)] = diagonal
    return Theta


def _dual(W: Floats, S: Floats, alpha: float) -> float:
    """Value of the dual at W, brought within alpha of S: a bound from below on the minimum."""
    inside = np.clip(W, S - alpha, S + alpha)
    inside[np.diag_indices_from(inside)] = np.diag(S)
    sign, logdet = np.linalg.slogdet(inside)
    return float(logdet) + len(S) if sign > 0 else -np.inf


def _objective(S: Floats, Theta: Floats, alpha: float) -> float:
    sign, logdet = np.linalg.slogdet(Theta)
    penalty = float(np.abs(Theta).sum() - np.abs(np.diag(Theta)).sum())
    return float(-logdet + np.sum(S * Theta) + alpha * penalty) if sign > 0 else np.inf


@compiled
def _descend_but(S, q, b, j, alpha, tol, passes):
    """Pass over all coefficients but one until no step is longer than tol; the longest step of the last pass."""
    size, worst = len(b), 0.0
    for _ in range(passes):
        worst = 0.0
        for i in range(size):
            curve = S[i, i]
            if i == j or curve <= 0.0:
                continue
            aim = q[i] + curve * b[i]
            if aim > alpha:
                new = (aim - alpha) / curve
            elif aim < -alpha:
                new = (aim + alpha) / curve
            else:
                new = 0.0
            change = new - b[i]
            if change != 0.0:
                b[i] = new
                for m in range(size):
                    q[m] -= change * S[i, m]
                worst = max(worst, abs(change) * np.sqrt(curve))
        if worst <= tol:
            break
    return worst

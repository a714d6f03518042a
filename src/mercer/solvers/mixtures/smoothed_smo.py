r"""Pairs of variables on the dual of the whole problem, smoothed around a centre that moves to the solution.

Symbols: N_t = sqrt(beta^T K_t beta), G_t = K_t beta, a > 0 the smoothing, c its centre, n_t = |f_t| = max(0, N_t + a
c_t - S) / a with S the sum of the n_t.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.errors import CapabilityError
from mercer.problems import Status
from mercer.runtime.compiled import compiled
from mercer.solvers.box.optimality import feasible
from mercer.solvers.mixtures.mixture_problem import MixtureQP
from mercer.solvers.mixtures.weight_search import MixtureSolver, Search, require_simplex

__all__ = ["SmoothedSMO"]
__public__ = __all__

_CHUNK = 2000  # pairs between two looks at the clock
_PAIRS = 200_000  # at one smoothing
_EXACT = 1e-3  # of the violation of a pair: what may be left of its slope
_GOAL = 0.1  # violation at the end of a stage, over the smoothing
_LESS = 0.25  # smoothing from stage to stage, until it is
_LEAST = 0.02


class SmoothedSMO(MixtureSolver):
    r"""Sequential minimal optimisation of the smoothed dual of the whole problem: no machine is solved on the way.

    .. math:: \min_z \; h_a(N) + p^\top z + \tfrac12 \sum_j r_j z_j^2, \qquad
              h_a(N) = \max_{n \ge 0} \; N^\top n - \tfrac12 \Bigl(\sum_t n_t\Bigr)^2
              - \tfrac{a}{2} \sum_t (n_t - c_t)^2

    Without smoothing, a = 0, it is half the square of the largest N_t, which has kinks where pairs of variables get
    stuck. With it, the Moreau-Yosida form, it is smooth, and pairs go to its minimum. At first a falls, with c = 0 as
    Bach, Lanckriet and Jordan have it; then the centre c moves to the lengths n that were found, so that what the
    smoothing changes goes to zero without a problem as stiff as a small a would make it. The duality gap is that of the
    problem without smoothing.

    Seed: [STS] Section 7 and [KIKS] Section 6.2 (Bach, Lanckriet and Jordan, 2004).

    Parameters
    ----------
    tol : float, default 1e-3
        Duality gap of the whole problem without smoothing, relative to its minimum.
    max_iter : int, default 100
        The most values of the smoothing and its centre.

    Notes
    -----
    Solves problems with ``mixture=Simplex()`` and one variable for each sample: classes, one class, and losses of
    numbers other than the epsilon-insensitive one. A pair costs O(m n); memory 8 m n^2 bytes. Meant for medium sizes.

    Examples
    --------
    >>> from mercer.solvers import SmoothedSMO
    >>> SmoothedSMO().max_iter
    100
    """

    def __init__(self, tol: float = 1e-3, max_iter: int = 100) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _check_set(self, problem: MixtureQP) -> None:
        require_simplex(self, problem, (MixtureQP,))
        first = problem.programs[0]
        if len(problem.programs) > 1 or first.index is not None or len(first.total) != 1:
            raise CapabilityError(
                "SmoothedSMO was given several programs, two variables for a sample, or other than one sum; it moves "
                "pairs of variables of one program, one for each sample, whose sum is fixed. Use "
                "solver=MixtureNewton()."
            )

    def _run(self, search: Search) -> None:
        if search.weights.single or len(search.stack) == 1:
            search.finish()
            return
        n, m, p = search.stack.n, len(search.stack), search.machine.programs[0]
        Plan(f"{m} kernels on {n} samples", {"Gram matrices": 8 * m * n * n}).require(search.stack.resources.memory)
        K = np.ascontiguousarray(search.stack.products(np.eye(n)))
        machine = search.machine
        z = feasible(p.at(search.stack.combined(search.point.d)), None)
        G = K @ z
        smoothing, centre, search.solves = 1.0, np.zeros(m), False
        box = p.linear, p.lower, p.upper, machine.parts[0].ridge
        while not search.done():
            goal = _GOAL * min(smoothing, search.gap) * machine.unit
            left = _PAIRS
            while left > 0:
                taken = _descend(K, G, z, box, (smoothing, centre), goal, min(left, _CHUNK))
                left -= taken
                if taken < _CHUNK:
                    break
                answer = search.monitor(search.iterations, search.gap) if search.monitor is not None else False
                if answer:
                    search.status = answer if isinstance(answer, Status) else Status.STOPPED
                    return
            G = K @ z
            lengths = _lengths(np.sqrt(np.maximum(G @ z, 0.0)) + smoothing * centre, smoothing)
            d = lengths / lengths.sum() if lengths.sum() > 0.0 else search.point.d
            trial = machine.look(d, z.copy())
            search.lower = max(search.lower, trial.gain - 0.5 * search.weights.bound(trial.s))
            search.move(trial if search.relative_gap(trial) < search.gap or smoothing == 1.0 else search.point)
            if smoothing > _LEAST:
                smoothing *= _LESS
            else:
                centre = lengths


@compiled
def _lengths(v: Floats, a: float) -> Floats:
    """Return n_t = max(0, v_t - S) / a with S their sum."""
    order = np.argsort(-v)
    total, S = 0.0, 0.0
    for k in range(len(v)):
        total += v[order[k]]
        S = total / (a + k + 1.0)
        if k + 1 == len(v) or v[order[k + 1]] <= S:
            break
    return np.maximum(0.0, v - S) / a


@compiled
def _slope(tau: float, s: Floats, linear: Floats, square: Floats, smooth: tuple[float, Floats]) -> float:
    """Return the derivative of h_a along a line on which the squares are s + 2 tau linear + tau^2 square."""
    a, centre = smooth
    N = np.sqrt(np.maximum(0.0, s + 2.0 * tau * linear + tau * tau * square))
    n = _lengths(N + a * centre, a)
    total = 0.0
    for t in range(len(N)):
        if n[t] > 0.0 and N[t] > 0.0:
            total += n[t] / N[t] * (linear[t] + tau * square[t])
    return total


@compiled
def _descend(K, G, z, box, smooth, goal, most):
    """Move pairs of variables until the violation is at most `goal`; return how many were moved."""
    linear, lower, upper, ridge = box
    a, centre = smooth
    m, n = G.shape
    s = np.zeros(m)
    for t in range(m):
        s[t] = max(0.0, np.dot(G[t], z))
    for step in range(most):
        N = np.sqrt(s)
        lengths = _lengths(N + a * centre, a)
        best_up, best_down = np.inf, -np.inf
        i = j = -1
        for q in range(n):
            g = linear[q] + ridge[q] * z[q]
            for t in range(m):
                if lengths[t] > 0.0 and N[t] > 0.0:
                    g += lengths[t] / N[t] * G[t, q]
            if z[q] < upper[q] and g < best_up:
                best_up, i = g, q
            if z[q] > lower[q] and g > best_down:
                best_down, j = g, q
        if i < 0 or j < 0 or best_down - best_up <= goal:
            return step
        square, along = np.zeros(m), np.zeros(m)
        for t in range(m):
            square[t] = max(0.0, K[t, i, i] + K[t, j, j] - 2.0 * K[t, i, j])
            along[t] = G[t, i] - G[t, j]
        far = min(upper[i] - z[i], z[j] - lower[j])
        constant = linear[i] - linear[j] + ridge[i] * z[i] - ridge[j] * z[j]
        bend = ridge[i] + ridge[j]
        low, high = 0.0, far
        if not np.isfinite(high):
            high = 1.0
            while _slope(high, s, along, square, smooth) + constant + bend * high < 0.0 and high < 1e30:
                high *= 2.0
        tau, left = high, constant + _slope(0.0, s, along, square, smooth)
        right = _slope(high, s, along, square, smooth) + constant + bend * high
        if right > 0.0:
            for _ in range(40):  # false position, with the value of an end that stays halved
                tau = (low * right - high * left) / (right - left)
                slope = _slope(tau, s, along, square, smooth) + constant + bend * tau
                if abs(slope) <= _EXACT * (best_down - best_up):
                    break
                if slope > 0.0:
                    high, right, left = tau, slope, 0.5 * left
                else:
                    low, left, right = tau, slope, 0.5 * right
        z[i] = upper[i] if tau == far and tau == upper[i] - z[i] else min(z[i] + tau, upper[i])
        z[j] = lower[j] if tau == far and tau == z[j] - lower[j] else max(z[j] - tau, lower[j])
        for t in range(m):
            s[t] = max(0.0, s[t] + 2.0 * tau * along[t] + tau * tau * square[t])
            for q in range(n):
                G[t, q] += tau * (K[t, i, q] - K[t, j, q])
    return most

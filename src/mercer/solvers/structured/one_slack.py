r"""Structured machines by joint cuts: one slack for all samples, and cuts that are sums over samples.

Symbols: K = Phi Phi^T with a factor Phi (N, r), functions F = Phi V with weights V (r, D), w (G,) the weights of the
output's own features; R(V, w) = sum_b C_b xi_b the risk, whose slacks are those that the function needs. A joint cut
is a tangent of R: the most violated constraints of all samples, added up with the costs of their slacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.problems import Solution, Status
from mercer.solvers.columns.block_ascent import Ascent
from mercer.solvers.rows.tangents import Tangents
from mercer.solvers.solver import Watch

__all__ = ["Weights", "bound_of_joint_cuts", "cut_jointly"]

Search = Callable[[Floats, Floats], Any]  # values at all sites, weights -> slacks, psi, g and loss of a joint cut


@dataclass(frozen=True, eq=False)
class Weights:
    """Functions as weights V of a factor's columns, and the weights w of the output's own features."""

    V: Floats
    w: Floats

    def squared_norm(self) -> float:
        """Return |V|^2 + |w|^2."""
        return float(np.vdot(self.V, self.V) + self.w @ self.w)

    def solution(self) -> Solution:
        """Return the functions as the Gram expands them."""
        return Solution(self.V, Status.CONVERGED, 0.0, weights=self.V)


def cut_jointly(
    gram: Any,
    search: Search,
    width: int,
    extras: int,
    cost: Floats,
    tol: float,
    max_iter: int,
    monitor: Callable[[int, float], Any] | None = None,
) -> Ascent:
    """Add joint cuts, and minimise half a squared norm plus the largest of them, until the gap is closed.

    Parameters
    ----------
    gram : Gram
        With a factor: ``times`` and ``moment``, each once for a cut.
    search : callable
    width, extras : int
        D, and the number of weights.
    cost : (b,) array
        Of each slack.
    tol : float
        It ends when the gap is at most this for each unit of the costs: no joint cut is violated by more.
    max_iter : int
        Cuts at most.
    monitor : callable, optional
        Called as ``monitor(iteration, gap)``; a true answer ends it.
    """
    total = float(np.sum(cost)) or 1.0
    rank = len(gram.moment(np.zeros((gram.shape[0], 1))))
    tangents = Tangents(rank * width + extras)
    tangents.add(np.zeros(rank * width + extras), 0.0)  # the true outputs: no slack is negative
    watch, iteration, radius, largest = Watch(tol, monitor), 0, 0.0, 0.0
    primal, best, slacks = np.inf, Weights(np.zeros((rank, width)), np.zeros(extras)), np.zeros(len(cost))
    for iteration in range(1, max_iter + 1):
        flat, _ = tangents.minimum()
        here = Weights(flat[: rank * width].reshape(rank, width), flat[rank * width :])
        cut = search(gram.times(here.V), here.w)
        value = 0.5 * here.squared_norm() + float(cost @ cut.slacks)
        if value < primal:
            primal, best, slacks = value, here, cut.slacks
        plane = np.concatenate([gram.moment(cut.psi).ravel(), cut.g])
        tangents.add(plane, float(cut.loss))
        radius, largest = max(radius, float(plane @ plane) / total**2), max(largest, cut.loss / total)
        gap = max(primal - tangents.lower, 0.0) / total
        if watch.ends(iteration, -tangents.lower, gap):
            break
    status, rows = watch.status, watch.rows
    gap = rows[-1][1]
    return Ascent(best, primal, tangents.lower, slacks, gap, iteration, iteration, radius, largest, status, rows)


def bound_of_joint_cuts(found: Ascent, cost: Floats, tol: float) -> float:
    r"""Return how many joint cuts may be needed at most.

    .. math:: \Bigl\lceil \log_2 \frac{\bar\Delta}{4 \bar C \bar R} \Bigr\rceil_+ +
        \Bigl\lceil \frac{16\, \bar C \bar R}{\epsilon} \Bigr\rceil, \qquad \bar C = \sum_b C_b

    with R the largest squared length and Delta the largest loss of a joint cut, both divided by the sum of the costs
    (Joachims, Finley and Yu, 2009, Theorem 5, where epsilon is at most 4 C R). It does not grow with the number of
    samples.
    """
    size = 4.0 * float(np.sum(cost)) * found.radius
    if not (size > 0.0 and found.largest_loss > 0.0):
        return 1.0  # nothing is violated
    first = max(0.0, math.ceil(math.log2(found.largest_loss) - math.log2(size)))
    with np.errstate(over="ignore"):
        return first + float(np.ceil(np.float64(4.0 * size) / min(tol, size)))

r"""The dual of structured machines: one sample after the other, with constraints that are generated as needed.

Symbols: B (N, D) coefficients of D functions at N sites, F = K B their values, w (G,) weights; a block is a slack: its
sites, its cost C, and constraints <psi, F> + <g, w> >= loss - xi, each with a multiplier alpha >= 0, sum alpha <= C.
The dual is sum alpha loss - |f|^2 / 2 with B = sum alpha psi, w = sum alpha g, |f|^2 = tr(B' K B) + |w|^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.gram.gram import HasFactor
from mercer.problems import Solution, Status
from mercer.runtime.compiled import compiled
from mercer.solvers.solver import Watch

__all__ = ["Ascent", "Block", "Values", "ascend", "certified", "values_of", "wolfe"]

_INNER = 10  # passes over the known constraints for each pass that looks for new ones
_KEPT = 20  # passes after which a constraint that is not active is forgotten

Oracle = Callable[[Floats, Floats, Any], Any]  # values at the sites, weights, truth -> the most violated constraint


class Values:
    """The values of all functions at all sites, for a Gram whose rows are known."""

    def __init__(self, gram: Any, width: int, extras: int) -> None:
        self.gram = gram
        self.B = np.zeros((gram.shape[0], width))
        self.F = np.zeros((gram.shape[0], width))
        self.w = np.zeros(extras)

    def at(self, sites: Indices) -> Floats:
        """Return F at some sites."""
        return self.F[sites]

    def kernel(self, sites: Indices) -> Floats:
        """Return K among some sites."""
        return np.asarray(self.gram.rows(sites, sites), dtype=float)

    def move(self, sites: Indices, change: Floats, g: Floats) -> None:
        """Add to the coefficients at some sites, and to the weights."""
        self.B[sites] += change
        self.w += g
        self.gram.update(sites, change, self.F)

    def refresh(self) -> None:
        """Compute F anew: what was added to it has left rounding errors."""
        self.F[...] = self.gram @ self.B

    def squared_norm(self) -> float:
        """Return tr(B' K B) + |w|^2."""
        return float(np.vdot(self.B, self.F) + self.w @ self.w)

    def solution(self) -> Solution:
        """Return the functions as the Gram expands them."""
        return Solution(self.B, Status.CONVERGED, 0.0)


class FactorValues(Values):
    """The same for K = Z Z': only V = Z' B is kept, and values are computed where they are asked for."""

    def __init__(self, gram: Any, width: int, extras: int) -> None:
        self.Z = np.ascontiguousarray(gram.factor(), dtype=float)
        self.B = np.zeros((len(self.Z), width))
        self.V = np.zeros((self.Z.shape[1], width))
        self.w = np.zeros(extras)

    def at(self, sites: Indices) -> Floats:
        return self.Z[sites] @ self.V

    def kernel(self, sites: Indices) -> Floats:
        return self.Z[sites] @ self.Z[sites].T

    def move(self, sites: Indices, change: Floats, g: Floats) -> None:
        self.B[sites] += change
        self.w += g
        self.V += self.Z[sites].T @ change

    def refresh(self) -> None:
        self.V[...] = self.Z.T @ self.B

    def squared_norm(self) -> float:
        return float(np.vdot(self.V, self.V) + self.w @ self.w)


def values_of(gram: Any, width: int, extras: int) -> Values:
    """Return functions that are zero, in the form that suits the Gram."""
    return FactorValues(gram, width, extras) if isinstance(gram, HasFactor) else Values(gram, width, extras)


@dataclass(eq=False)
class Block:
    """One slack with the constraints that are known of it."""

    sites: Indices
    truth: Any
    cost: float
    keys: dict[Any, int] = field(default_factory=dict)
    psi: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # a row for each constraint, flat
    g: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    loss: Floats = field(default_factory=lambda: np.zeros(0))
    alpha: Floats = field(default_factory=lambda: np.zeros(0))
    H: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    idle: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # passes since a constraint was active

    def add(self, found: Any, values: Values) -> None:
        """Add a constraint, with its products with those that are known."""
        k = len(self.loss) + 1
        self.keys[found.key] = k - 1
        self.psi = np.append(self.psi.reshape(k - 1, found.psi.size), found.psi.reshape(1, -1), axis=0)
        self.g = np.append(self.g.reshape(k - 1, found.g.size), found.g.reshape(1, -1), axis=0)
        self.loss, self.idle = np.append(self.loss, found.loss), np.append(self.idle, 0)
        image = values.kernel(self.sites) @ found.psi
        row = self.psi @ image.ravel() + self.g @ found.g
        H = np.empty((k, k))
        H[:-1, :-1], H[-1], H[:, -1] = self.H, row, row
        self.H, self.alpha = H, np.append(self.alpha, 0.0)

    def margins(self, values: Values, F: Floats) -> Floats:
        """Return loss - <psi, F> - <g, w> of the known constraints."""
        return self.loss - self.psi @ F.ravel() - self.g @ values.w

    def slack(self, values: Values, F: Floats) -> float:
        """Return the slack that the known constraints need."""
        return float(self.margins(values, F).max(initial=0.0)) if len(self.loss) else 0.0

    def solve(self, values: Values, tol: float) -> float:
        """Maximise the dual over this block's multipliers; return by how much it violated optimality before."""
        F = values.at(self.sites)
        before, gradient = self.alpha.copy(), -self.margins(values, F)
        violation = _solve_block(self.H, gradient, self.alpha, self.cost, 0.1 * tol)
        if violation > 0.1 * tol:
            step = self.alpha - before
            values.move(self.sites, (step @ self.psi).reshape(F.shape), step @ self.g)
        return violation

    def forget(self) -> None:
        """Forget constraints that have not been active for long."""
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        kept = np.flatnonzero(self.idle < _KEPT)
        if len(kept) == len(self.loss):
            return
        names = {place: key for key, place in self.keys.items()}
        self.keys = {names[int(k)]: new for new, k in enumerate(kept)}
        self.psi, self.g, self.loss, self.idle = self.psi[kept], self.g[kept], self.loss[kept], self.idle[kept]
        self.alpha, self.H = self.alpha[kept], np.ascontiguousarray(self.H[np.ix_(kept, kept)])


@dataclass(frozen=True, eq=False)
class Ascent:
    """What an ascent has reached.

    Attributes
    ----------
    values : Values or Weights
        The functions: ``w``, ``solution`` and ``squared_norm``.
    primal, dual : float
        The objective with the slacks that f needs, and a lower bound on all objectives.
    slacks : (b,) array
        One per block.
    violation : float
        The largest violation of a constraint beyond the slack of the known ones.
    n_iter : int
        Passes over all blocks.
    n_constraints : int
        How many constraints were ever added.
    radius : float
        Largest squared length of a constraint that was seen.
    largest_loss : float
    status : Status
    rows : list
        Dual objective and violation, pass by pass.
    """

    values: Any
    primal: float
    dual: float
    slacks: Floats
    violation: float
    n_iter: int
    n_constraints: int
    radius: float
    largest_loss: float
    status: Status
    rows: list[tuple[float, float, float]]


def ascend(
    blocks: Sequence[Block],
    values: Values,
    oracle: Oracle,
    tol: float,
    max_iter: int,
    monitor: Callable[[int, float], Any] | None = None,
) -> Ascent:
    """Add the most violated constraint of each block in turn, and maximise the dual over what is known of it.

    Parameters
    ----------
    blocks : sequence of Block
    values : Values
        Zero, or those of the blocks' multipliers.
    oracle : callable
        Finds the most violated constraint of a block.
    tol : float
        It ends when no constraint is violated by more than its slack and this: epsilon.
    max_iter : int
        Passes at most.
    monitor : callable, optional
        Called as ``monitor(iteration, violation)``; a true answer ends the ascent.
    """
    watch, iteration, added, radius, largest = Watch(tol, monitor), 0, 0, 0.0, 0.0
    slacks, violation, ended = np.zeros(len(blocks)), 0.0, False
    for iteration in range(1, max_iter + 1):
        worst = 0.0
        for block in blocks:
            F = values.at(block.sites)
            found = oracle(F, values.w, block.truth)
            largest = max(largest, found.loss)
            margin = found.loss - float(np.vdot(found.psi, F)) - float(found.g @ values.w)
            beyond = margin - block.slack(values, F)
            worst = max(worst, beyond)
            if beyond > tol and found.key not in block.keys:
                block.add(found, values)
                added += 1
                radius = max(radius, float(block.H[-1, -1]))
            if len(block.loss):
                worst = max(worst, block.solve(values, tol))
        active = [block for block in blocks if len(block.loss)]
        for _ in range(_INNER):  # constraints that are known need no search
            active = [block for block in active if block.solve(values, tol) > 0.5 * tol]
            if not active:
                break
        for block in blocks:
            block.forget()
        values.refresh()
        ended = worst <= tol
        if ended:  # f has moved since the blocks were looked at
            slacks, violation = _slacks(blocks, values, oracle)
            worst = max(worst, violation)
        if watch.ends(iteration, -_dual(blocks, values), worst):
            break
    dual = _dual(blocks, values)
    if not ended:
        slacks, violation = _slacks(blocks, values, oracle)
    primal = _primal(blocks, values, slacks)
    return Ascent(values, primal, dual, slacks, violation, iteration, added, radius, largest, watch.status, watch.rows)


def wolfe(
    blocks: Sequence[Block],
    values: Values,
    oracle: Oracle,
    tol: float,
    max_iter: int,
    monitor: Callable[[int, float], Any] | None = None,
    rng: np.random.Generator | None = None,
) -> Ascent:
    """Go from each block's point towards its most violated constraint, as far as is best (Frank and Wolfe, by blocks).

    Nothing is kept of constraints but their sum, so that a step costs one search and one product. It ends when the
    duality gap is at most `tol` times the sum of the costs.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    total = float(sum(block.cost for block in blocks))
    psi = [np.zeros((len(block.sites), values.B.shape[1])) for block in blocks]
    g = [np.zeros(len(values.w)) for _ in blocks]
    gained = np.zeros(len(blocks))
    watch, iteration, steps, radius, largest = Watch(tol, monitor), 0, 0, 0.0, 0.0
    for iteration in range(1, max_iter + 1):
        gap = 0.0
        for b in rng.permutation(len(blocks)):
            block = blocks[b]
            F = values.at(block.sites)
            found = oracle(F, values.w, block.truth)
            largest = max(largest, found.loss)
            change, turn = block.cost * found.psi - psi[b], block.cost * found.g - g[b]
            rise = block.cost * found.loss - gained[b] - float(np.vdot(change, F)) - float(turn @ values.w)
            gap += max(rise, 0.0)
            length = float(np.vdot(change, values.kernel(block.sites) @ change) + turn @ turn)
            step = min(1.0, rise / length) if length > 0.0 else float(rise > 0.0)
            if step > 0.0:
                steps += 1
                radius = max(radius, length)
                values.move(block.sites, step * change, step * turn)
                psi[b] += step * change
                g[b] += step * turn
                gained[b] += step * (block.cost * found.loss - gained[b])
        values.refresh()
        dual = float(gained.sum()) - 0.5 * values.squared_norm()
        if watch.ends(iteration, -dual, gap / total):
            break
    dual = float(gained.sum()) - 0.5 * values.squared_norm()
    slacks = _needed(blocks, values, oracle)
    primal = 0.5 * values.squared_norm() + float(np.dot([b.cost for b in blocks], slacks))
    left = (primal - dual) / total
    return Ascent(values, primal, dual, slacks, left, iteration, steps, radius, largest, watch.status, watch.rows)


def certified(found: Ascent, cost: Floats, tol: float) -> float:
    r"""Return how many constraints greedy generation may need at most.

    .. math:: \max\Bigl\{\frac{2 n \bar\Delta}{\epsilon},\; \frac{8\, \bar C\, \bar\Delta \bar R}{\epsilon^2}\Bigr\},
        \qquad \bar R = \max_{i, y} \|\delta\Psi_{iy}\|^2, \quad \bar C = \sum_i C_i

    Seed: [HSS] Theorem 17; the printed bound squares R, which is a squared length already, and divides by n what the
    objective divided by lambda has not.
    """
    first = 2.0 * len(cost) * found.largest_loss / tol
    return max(first, 8.0 * float(np.sum(cost)) * found.largest_loss * found.radius / tol / tol)


def _primal(blocks: Sequence[Block], values: Values, slacks: Floats) -> float:
    """Return the objective; where no slack is allowed, that of f stretched until the known constraints need none."""
    total, stretch = 0.0, 1.0
    for block, slack in zip(blocks, slacks, strict=True):
        if np.isfinite(block.cost):
            total += block.cost * float(slack)
        elif len(block.loss):
            margins = block.loss - block.margins(values, values.at(block.sites))
            least = float(np.min(margins / block.loss))
            stretch = max(stretch, 1.0 / least) if least > 0.0 else np.inf
    return 0.5 * stretch**2 * values.squared_norm() + total


def _dual(blocks: Sequence[Block], values: Values) -> float:
    return sum(float(b.alpha @ b.loss) for b in blocks) - 0.5 * values.squared_norm()


def _slacks(blocks: Sequence[Block], values: Values, oracle: Oracle) -> tuple[Floats, float]:
    """Return the slacks that f needs, and by how much they exceed those of the known constraints."""
    needed = _needed(blocks, values, oracle)
    known = np.array([block.slack(values, values.at(block.sites)) for block in blocks])
    return np.maximum(needed, known), float(np.max(needed - known, initial=0.0))


def _needed(blocks: Sequence[Block], values: Values, oracle: Oracle) -> Floats:
    out = np.zeros(len(blocks))
    for b, block in enumerate(blocks):
        F = values.at(block.sites)
        found = oracle(F, values.w, block.truth)
        out[b] = max(0.0, found.loss - float(np.vdot(found.psi, F)) - float(found.g @ values.w))
    return out


@compiled
def _solve_block(H, gradient, alpha, cost, tol):
    """Minimise a quadratic over alpha >= 0, sum alpha <= cost, by pairs; return the violation at the beginning.

    What is missing to the cost is one more variable, of gradient zero. `gradient` is that at alpha, and is kept.
    """
    k = alpha.size
    rest = cost - alpha.sum()  # without end, where no slack is allowed
    first = -1.0
    for _ in range(1000 * (k + 1)):
        low, high = -1, -1  # -1: the rest
        smallest, largest = 0.0, -np.inf
        if rest > 1e-15 * cost or rest == np.inf:
            largest = 0.0
        for i in range(k):
            if gradient[i] < smallest:
                smallest, low = gradient[i], i
            if alpha[i] > 0.0 and gradient[i] > largest:
                largest, high = gradient[i], i
        violation = largest - smallest
        if first < 0.0:
            first = max(violation, 0.0)
        if violation <= tol or low == high:
            break
        curvature = 0.0
        if low >= 0:
            curvature += H[low, low]
        if high >= 0:
            curvature += H[high, high]
        if low >= 0 and high >= 0:
            curvature -= 2.0 * H[low, high]
        room = alpha[high] if high >= 0 else rest
        step = min(room, violation / curvature) if curvature > 0.0 else room
        if step == np.inf:  # a constraint that nothing can satisfy
            break
        if low >= 0:
            alpha[low] += step
            for i in range(k):
                gradient[i] += step * H[i, low]
        else:
            rest += step
        if high >= 0:
            alpha[high] = 0.0 if step == room else alpha[high] - step
            for i in range(k):
                gradient[i] -= step * H[i, high]
        else:
            rest = 0.0 if step == room else rest - step
    return first

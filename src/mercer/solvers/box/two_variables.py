r"""Two-variable descent inside a working set: the compiled core of SMO.

Legend: K (q, q) the block of the working set, ridge included; g the gradient; beta the variables; a *group* is
a run of variables whose sum is fixed; i the variable that goes up, j the one that goes down, by the same step t.

The first variable has the smallest gradient among those that can go up; the second gains most by a parabola,
(g_j - g_i)^2 / (K_ii + K_jj - 2 K_ij), among those that can go down. Such searches run in lanes only on integers:
a float is mapped to an integer of the same order, whose lowest bits are replaced by the place. So one maximum
finds value and place, at the price of some last bits in the comparison, which is only a choice among good pairs.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.numerics.bits import from_bits, to_bits
from mercer.runtime.compiled import compiled

__all__ = ["descend", "find_ends"]

_FLOOR = 1e-12  # of the curvature of a pair; rounding may make it negative


def descend(
    K: Floats, g: Floats, beta: Floats, box: tuple[Floats, Floats], starts: Indices, tol: float, steps: int
) -> tuple[int, float]:
    """Improve the variables of a working set pair by pair, in place; return the steps taken and the violation left.

    Parameters
    ----------
    K : (q, q) array, float32 or float64
        C-contiguous, symmetric.
    g : (q,) array of the same dtype
        Gradient, kept up to date.
    beta : (q,) array, float64
    box : two (q,) arrays, float64
        Lower and upper ends, which may be infinite.
    starts : (groups + 1,) array of int
        Where each group begins; the last entry is q.
    tol : float
        Violation at which to stop.
    steps : int
        The most pairs to move.

    Examples
    --------
    >>> beta = np.zeros(2)
    >>> g, box = np.array([-1.0, 1.0]), (np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    >>> descend(np.eye(2), g, beta, box, np.array([0, 2]), 1e-9, 10)
    (1, 0.0)
    >>> beta
    array([ 1., -1.])
    """
    single = K.dtype == np.float32
    work = _descend32 if single else _descend64
    kind = np.float32 if single else np.float64
    diagonal = np.ascontiguousarray(np.diagonal(K))
    taken, left = work(K, diagonal, g, beta, box, np.asarray(starts, np.int64), (kind(tol), steps))
    return int(taken), float(left)


# The searches run over a span (first, last) of the arrays, whose places are unsigned: a signed one might count from the
# end, so that a loop would not run in lanes, and a slice takes Numba half a second to compile. They return a place in
# the span. "contract" only leaves out roundings.
@compiled(fastmath={"contract"}, inline=True)
def _lowest32(g, lift, span, center, mask):
    """Place of the smallest g + lift; near `center` differences are resolved to the last few bits."""
    best = np.int32(-2147483648)
    for k in range(span[1] - span[0]):
        i = span[0] + k
        bits = to_bits(center - g[i] - lift[i])
        bits = bits ^ ((bits >> np.int32(31)) & np.int32(2147483647))
        best = max(best, (bits & ~mask) | np.int32(k))
    return best & mask


@compiled(fastmath={"contract"}, inline=True)
def _partner32(g, drop, K, diagonal, own, span, mask):
    """Place of the largest gain with the variable `own`, and the largest violation."""
    lowest, curve = g[own], diagonal[own]
    zero, two, floor = np.float32(0.0), np.float32(2.0), np.float32(_FLOOR)
    best, worst = np.int32(-1), np.int32(0)
    for k in range(span[1] - span[0]):
        i = span[0] + k
        rise = g[i] - lowest + drop[i]
        rise = rise if rise > zero else zero
        bend = curve + diagonal[i] - two * K[own, i]
        bend = bend if bend > floor else floor
        worst = max(worst, to_bits(rise))
        best = max(best, (to_bits(rise * rise / bend) & ~mask) | np.int32(k))
    return best & mask, from_bits(worst)


@compiled(fastmath={"contract"}, inline=True)
def _lowest64(g, lift, span, center, mask):
    best = np.int64(-9223372036854775808)
    for k in range(span[1] - span[0]):
        i = span[0] + k
        bits = to_bits(center - g[i] - lift[i])
        bits = bits ^ ((bits >> np.int64(63)) & np.int64(9223372036854775807))
        best = max(best, (bits & ~mask) | np.int64(k))
    return best & mask


@compiled(fastmath={"contract"}, inline=True)
def _partner64(g, drop, K, diagonal, own, span, mask):
    lowest, curve = g[own], diagonal[own]
    best, worst = np.int64(-1), np.int64(0)
    for k in range(span[1] - span[0]):
        i = span[0] + k
        rise = g[i] - lowest + drop[i]
        rise = rise if rise > 0.0 else 0.0
        bend = curve + diagonal[i] - 2.0 * K[own, i]
        bend = bend if bend > _FLOOR else _FLOOR
        worst = max(worst, to_bits(rise))
        best = max(best, (to_bits(rise * rise / bend) & ~mask) | np.int64(k))
    return best & mask, from_bits(worst)


@compiled(fastmath={"contract"}, inline=True)
def _follow(g, K, up, down, t):
    for k in range(g.size):
        g[k] += t * (K[up, k] - K[down, k])


@compiled(inline=True)
def _mark(k, beta, box, lift, drop):
    """Note whether a variable can go up (lift 0, else infinity) and down (drop 0, else minus infinity)."""
    lift[k] = 0.0 if beta[k] < box[1][k] else np.inf
    drop[k] = 0.0 if beta[k] > box[0][k] else -np.inf


@compiled(inline=True)
def _move(i, j, t, beta, box):
    """Move i up and j down by t or as far as both boxes allow; ends are reached exactly. Return the step."""
    room_up, room_down = box[1][i] - beta[i], beta[j] - box[0][j]
    room = min(room_up, room_down)
    if not t < room:
        t = room
    beta[i] = box[1][i] if t == room_up else beta[i] + t
    beta[j] = box[0][j] if t == room_down else beta[j] - t
    return t


@compiled(inline=True)
def _mask_of(starts):
    """Bits that hold the place of a variable in the longest group, all set."""
    longest = 1
    for s in range(starts.size - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    bits = 1
    while (1 << bits) < longest:
        bits += 1
    return (1 << bits) - 1


@compiled(inline=True)
def _curvature(K, diagonal, i, j):
    bend = np.float64(diagonal[i]) + np.float64(diagonal[j]) - 2.0 * np.float64(K[i, j])
    return max(bend, _FLOOR)


@compiled(fastmath={"contract"})
def _descend32(K, diagonal, g, beta, box, starts, limits):
    q, groups = g.size, starts.size - 1
    lift, drop = np.empty(q, np.float32), np.empty(q, np.float32)
    for k in range(q):
        _mark(k, beta, box, lift, drop)
    mask = np.int32(_mask_of(starts))
    centers = np.empty(groups, np.float32)
    for s in range(groups):  # near the center differences keep their digits
        centers[s] = 0.0
        for k in range(starts[s], starts[s + 1]):
            if lift[k] == 0 and (centers[s] == 0 or g[k] < centers[s]):
                centers[s] = g[k]
    tol, most = limits
    left = limits[0]
    for step in range(most):
        # places that are typed as such: for constants Numba would compile what they are given to once more
        gain, left, i, j = -1.0, np.float32(0.0), starts[0], starts[0]
        for s in range(groups):
            span = np.uint64(starts[s]), np.uint64(starts[s + 1])
            a = starts[s] + _lowest32(g, lift, span, centers[s], mask)
            if starts[s + 1] == starts[s] or lift[a] > 0:
                continue
            centers[s] = g[a]
            b, worst = _partner32(g, drop, K, diagonal, a, span, mask)
            b += starts[s]
            left = max(left, worst)
            if worst > 0:
                here = (np.float64(g[b]) - np.float64(g[a])) ** 2 / _curvature(K, diagonal, a, b)
                if here > gain:
                    gain, i, j = here, a, b
        if not left > tol:
            return step, left
        t = _move(i, j, (np.float64(g[j]) - np.float64(g[i])) / _curvature(K, diagonal, i, j), beta, box)
        for k in (i, j):
            _mark(k, beta, box, lift, drop)
        if not np.isfinite(t):
            return step, left
        _follow(g, K, i, j, np.float32(t))
    return most, left


@compiled(fastmath={"contract"})
def _descend64(K, diagonal, g, beta, box, starts, limits):
    q, groups = g.size, starts.size - 1
    lift, drop = np.empty(q), np.empty(q)
    for k in range(q):
        _mark(k, beta, box, lift, drop)
    mask = np.int64(_mask_of(starts))
    centers = np.empty(groups)
    for s in range(groups):  # near the center differences keep their digits
        centers[s] = 0.0
        for k in range(starts[s], starts[s + 1]):
            if lift[k] == 0 and (centers[s] == 0 or g[k] < centers[s]):
                centers[s] = g[k]
    tol, most = limits
    left = limits[0]
    for step in range(most):
        gain, left, i, j = -1.0, 0.0, starts[0], starts[0]
        for s in range(groups):
            span = np.uint64(starts[s]), np.uint64(starts[s + 1])
            a = starts[s] + _lowest64(g, lift, span, centers[s], mask)
            if starts[s + 1] == starts[s] or lift[a] > 0:
                continue
            centers[s] = g[a]
            b, worst = _partner64(g, drop, K, diagonal, a, span, mask)
            b += starts[s]
            left = max(left, worst)
            if worst > 0:
                here = (g[b] - g[a]) ** 2 / _curvature(K, diagonal, a, b)
                if here > gain:
                    gain, i, j = here, a, b
        if not left > tol:
            return step, left
        t = _move(i, j, (g[j] - g[i]) / _curvature(K, diagonal, i, j), beta, box)
        for k in (i, j):
            _mark(k, beta, box, lift, drop)
        if not np.isfinite(t):
            return step, left
        _follow(g, K, i, j, t)
    return most, left


def find_ends(
    g: Floats, beta: Floats, box: tuple[Floats, Floats], group: Indices, every: Indices, groups: int
) -> tuple[Floats, Floats]:
    """Return m and M of each group, over the variables `every`, or all if there are none."""
    m, M = np.full(groups, np.inf), np.full(groups, -np.inf)
    _find_ends(g, beta, box, group, every, m, M)
    return m, M


@compiled
def _find_ends(g, beta, box, group, every, m, M):
    for k in range(every.size if every.size else g.size):
        i = every[k] if every.size else k
        if beta[i] < box[1][i] and g[i] < m[group[i]]:
            m[group[i]] = g[i]
        if beta[i] > box[0][i] and g[i] > M[group[i]]:
            M[group[i]] = g[i]

"""The least cost of moving one set of points to another, each point with the same share of a mass of one.

Symbols: n and m points, c_ij the distance of point i of one set and point j of the other. With g the greatest common
divisor of n and m, every point on the left has m / g units and every point on the right room for n / g.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["transport_costs"]


def transport_costs(left: tuple[Floats, Indices], right: tuple[Floats, Indices], symmetric: bool = False) -> Floats:
    """Return the Wasserstein distances of order one between all pairs of sets of points.

    Parameters
    ----------
    left, right : tuple of (total, d) array and (sets + 1,) array
        The points of all sets, and where those of each set begin; no set is empty.
    symmetric : bool
        Whether both sides are the same: one half is computed.

    Examples
    --------
    >>> points, offsets = np.array([[0.0], [1.0], [4.0]]), np.array([0, 2, 3])
    >>> transport_costs((points, offsets), (points, offsets))
    array([[0. , 3.5],
           [3.5, 0. ]])
    """
    out = np.zeros((len(left[1]) - 1, len(right[1]) - 1))
    sides: Any = [(np.ascontiguousarray(points), offsets.astype(np.intp)) for points, offsets in (left, right)]
    _transport_all(*sides, symmetric, out)
    return np.maximum(out, out.T) if symmetric else out


@compiled
def _transport_all(left, right, symmetric, out):
    points, offsets = left
    others, places = right
    for i in range(offsets.size - 1):
        x = points[offsets[i] : offsets[i + 1]]
        for j in range(i + 1 if symmetric else 0, places.size - 1):
            z = others[places[j] : places[j + 1]]
            costs = np.empty((x.shape[0], z.shape[0]))
            for a in range(x.shape[0]):
                for b in range(z.shape[0]):
                    total = 0.0
                    for c in range(x.shape[1]):
                        total += (x[a, c] - z[b, c]) ** 2
                    costs[a, b] = np.sqrt(total)
            out[i, j] = _transport(costs)


@compiled
def _transport(costs):
    """Return the least cost, by shortest paths from each point on the left to one on the right that has room.

    `low` and `high` are dual variables: costs - low - high is nowhere negative, and zero where mass moves.
    """
    n, m = costs.shape
    a, b = n, m
    while b:
        a, b = b, a % b
    supply, room = m // a, np.full(m, n // a)
    flow = np.zeros((n, m), np.int64)
    low, high = np.zeros(n), np.zeros(m)
    distance, before = np.empty(m), np.empty(m, np.int64)
    settled = np.empty(m, np.bool_)
    inside = np.empty(n, np.bool_)  # points on the left that are reached, how far they are, by which on the right
    reached, entry = np.empty(n), np.empty(n, np.int64)
    for start in range(n):
        left = supply
        while left > 0:
            distance[:] = np.inf
            settled[:] = False
            inside[:] = False
            inside[start] = True
            reached[start] = 0.0
            for j in range(m):
                distance[j] = costs[start, j] - low[start] - high[j]
                before[j] = start
            end = -1
            while end < 0:
                nearest = -1
                for j in range(m):
                    if not settled[j] and (nearest < 0 or distance[j] < distance[nearest]):
                        nearest = j
                settled[nearest] = True
                if room[nearest] > 0:
                    end = nearest
                    break
                for i in range(n):  # mass that comes from i may be sent elsewhere
                    if flow[i, nearest] > 0 and not inside[i]:
                        inside[i] = True
                        reached[i] = distance[nearest]
                        entry[i] = nearest
                        for j in range(m):
                            if not settled[j]:
                                step = reached[i] + costs[i, j] - low[i] - high[j]
                                if step < distance[j]:
                                    distance[j] = step
                                    before[j] = i
            last = distance[end]
            for i in range(n):
                if inside[i]:
                    low[i] += last - reached[i]
            for j in range(m):
                if settled[j]:
                    high[j] -= last - distance[j]
            moved = min(left, room[end])
            j = end
            while before[j] != start:
                i = before[j]
                j = entry[i]
                moved = min(moved, flow[i, j])
            j = end
            while True:
                i = before[j]
                flow[i, j] += moved
                if i == start:
                    break
                j = entry[i]
                flow[i, j] -= moved
            room[end] -= moved
            left -= moved
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += flow[i, j] * costs[i, j]
    return total / (n * supply)

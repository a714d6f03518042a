"""Sums over the common walks of two graphs, without their product graph.

Symbols: A and B the weights of two graphs of n and m nodes, V an (n, m) table over pairs of nodes. A step of the
product graph takes V to sum_e A_e V B_e' over labels e of edges, with zeros at pairs of nodes whose labels differ: it
costs n M_B + m M_A, for M arcs, where the product graph has up to M_A M_B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["Steps", "radii", "solve", "spectral", "stein", "steps"]

CONJUGATE_GRADIENT, FIXED_POINT, EXPONENTIAL, UNEQUAL_ENDS = 0, 1, 2, 3
_ROUNDS = 60  # of the bound on the spectral radius of a graph
_PATIENCE = 400  # and of the product of two


@dataclass(frozen=True, eq=False)
class Steps:
    """Graphs as steps of walks: arcs by where they begin, the same by their label, and two numbers of each node.

    Attributes
    ----------
    nodes : (offsets (n + 1,), labels (N,), left (N,), right (N,))
        Walks of two graphs begin at pairs of nodes with the product of the numbers on the right, and end with that of
        those on the left.
    arcs : (indptr (N + 1,), targets, weights, labels), each (M,) but the first
        Arcs by source and label.
    lists : (sources, targets, weights), each (M,)
        Arcs by graph and label.
    tables : (starts (n + 1,), labels (T,), begins (T + 1,))
        The labels of the arcs of each graph, and where their lists begin.
    """

    nodes: tuple[NDArray[Any], ...]
    arcs: tuple[NDArray[Any], ...]
    lists: tuple[NDArray[Any], ...]
    tables: tuple[NDArray[Any], ...]

    @property
    def sizes(self) -> Indices:
        """Numbers of nodes."""
        return np.diff(self.nodes[0])


def steps(
    shape: tuple[Indices, Indices, Any],
    labels: tuple[Any, Any],
    weights: Floats,
    ends: tuple[Floats, Floats],
) -> Steps:
    """Return the steps of graphs.

    Parameters
    ----------
    shape : (offsets, indptr, targets)
        Of all graphs; targets are counted from the first node of their graph.
    labels : (N,) and (M,) integer arrays
        Codes of nodes and of arcs.
    weights : (M,) array
    ends : two (N,) arrays
        What walks end and begin with, left and right.
    """
    offsets, indptr, targets = shape
    codes, kinds = (np.ascontiguousarray(side, dtype=np.int64) for side in labels)
    count = len(offsets) - 1
    sources = np.repeat(np.arange(len(codes)), np.diff(indptr))
    owners = np.repeat(np.arange(count), np.diff(indptr[offsets]))
    by_source = np.lexsort((kinds, sources))
    by_label = np.lexsort((sources, kinds, owners))
    local = sources - offsets[owners]
    new = np.ones(len(kinds), dtype=bool)
    new[1:] = (np.diff(kinds[by_label]) != 0) | (np.diff(owners[by_label]) != 0)
    begins = np.flatnonzero(new)
    per_graph = np.bincount(owners[by_label][begins], minlength=count)
    tables = (
        np.concatenate(([0], np.cumsum(per_graph))).astype(np.int64),
        kinds[by_label][begins],
        np.append(begins, len(kinds)).astype(np.int64),
    )
    heads, weights = np.ascontiguousarray(targets, dtype=np.int64), np.ascontiguousarray(weights, dtype=np.float64)
    return Steps(
        (offsets.astype(np.int64), codes, *(np.ascontiguousarray(end, dtype=np.float64) for end in ends)),
        (indptr.astype(np.int64), heads[by_source], weights[by_source], kinds[by_source]),
        (local[by_label].astype(np.int64), heads[by_label], weights[by_label]),
        tables,
    )


def radii(S: Steps) -> Floats:
    """Return a bound on the spectral radius of each graph, usually not far above it."""
    out = np.empty(len(S.sizes))
    longest = int(S.sizes.max(initial=0))
    _radii(S.nodes[0], S.arcs, np.empty(longest), np.empty(longest), out)
    return out


def solve(
    A: Steps, B: Steps, pairs: tuple[Indices, Indices], decay: float, how: int, limits: tuple[Floats, Floats]
) -> tuple[Floats, tuple[int, float]]:
    """Return the sums over common walks of pairs of graphs, (p,), and the first pair whose sum may not converge.

    Parameters
    ----------
    A, B : Steps
        With the same codes of labels.
    pairs : two (p,) arrays
        Graphs of A and of B.
    decay : float
        Weight of each step.
    how : int
        CONJUGATE_GRADIENT (for symmetric weights), UNEQUAL_ENDS (the same where walks end with other numbers than they
        begin with), FIXED_POINT, or EXPONENTIAL, whose weights of t steps are divided by t!.
    limits : two arrays
        Bounds on the spectral radii of all graphs, on both sides.

    Returns
    -------
    values : (p,) array
    bad : (int, float)
        A place in `pairs`, -1 if there is none, and a bound on the spectral radius of that product graph.
    """
    out = np.zeros(len(pairs[0]))
    room = int(A.sizes.max(initial=0)) * int(B.sizes.max(initial=0))
    work = np.empty((4, room)), np.empty(int(B.sizes.max(initial=0)))
    left, right = (A.nodes, A.arcs), (B.nodes, B.lists, B.tables)
    bad, radius = _solve(left, right, pairs, decay, how, limits, work, out)
    return out, (int(bad), float(radius))


@compiled
def _radii(offsets, arcs, x, y, out):
    """Bound spectral radii from above by the largest (|A| x)_i / x_i for positive x (Collatz and Wielandt)."""
    indptr, targets, weights, _ = arcs
    for g in range(out.size):
        base, size = offsets[g], offsets[g + 1] - offsets[g]
        x[:size] = 1.0
        best = np.inf if size else 0.0
        for _ in range(_ROUNDS):
            worst, largest = 0.0, 0.0
            for i in range(size):
                total = 0.0
                for arc in range(indptr[base + i], indptr[base + i + 1]):
                    total += abs(weights[arc]) * x[targets[arc]]
                worst = max(worst, total / x[i])
                y[i] = total + x[i]
                largest = max(largest, y[i])
            if worst < best:
                best = worst
            if size == 0 or best == 0.0 or not largest < np.inf:
                break
            for i in range(size):
                x[i] = max(y[i] / largest, 1e-200)
        out[g] = best


@compiled
def _step(left, right, place, V, u, out):
    """Write a step of the product graph: out = sum_e A_e V B_e', zero where labels of nodes differ."""
    (offsets, codes, _, _), (indptr, targets, weights, kinds) = left
    (offsets_b, codes_b, _, _), (sources, heads, weights_b), (starts, labels, begins) = right
    g, h = place
    base, n = offsets[g], offsets[g + 1] - offsets[g]
    base_b, m = offsets_b[h], offsets_b[h + 1] - offsets_b[h]
    for i in range(n):
        row = i * m
        for j in range(m):
            out[row + j] = 0.0
        arc, stop = indptr[base + i], indptr[base + i + 1]
        while arc < stop:
            kind = kinds[arc]
            entry = starts[h]
            while entry < starts[h + 1] and labels[entry] != kind:
                entry += 1
            if entry == starts[h + 1]:
                while arc < stop and kinds[arc] == kind:
                    arc += 1
                continue
            for j in range(m):
                u[j] = 0.0
            while arc < stop and kinds[arc] == kind:
                weight, other = weights[arc], targets[arc] * m
                for j in range(m):
                    u[j] += weight * V[other + j]
                arc += 1
            for k in range(begins[entry], begins[entry + 1]):
                out[row + sources[k]] += weights_b[k] * u[heads[k]]
        code = codes[base + i]
        for j in range(m):
            if codes_b[base_b + j] != code:
                out[row + j] = 0.0


@compiled
def _product_radius(left, right, place, decay, work, u):
    """Bound the spectral radius of a product graph, until it is known to be below 1 / decay or patience ends."""
    x, y = work[0], work[1]
    (offsets, codes, _, _), _ = left
    (offsets_b, codes_b, _, _), _, _ = right
    g, h = place
    base, n = offsets[g], offsets[g + 1] - offsets[g]
    base_b, m = offsets_b[h], offsets_b[h + 1] - offsets_b[h]
    for i in range(n):
        for j in range(m):
            x[i * m + j] = 1.0 if codes[base + i] == codes_b[base_b + j] else 0.0
    best = np.inf
    for _ in range(_PATIENCE):
        _step(left, right, place, x, u, y)
        worst, largest = 0.0, 0.0
        for p in range(n * m):
            if x[p] > 0.0:
                worst = max(worst, y[p] / x[p])
                y[p] += x[p]
                largest = max(largest, y[p])
        best = min(best, worst)
        if decay * best < 1.0 or largest == 0.0:
            break
        for p in range(n * m):
            if x[p] > 0.0:
                x[p] = max(y[p] / largest, 1e-200)
    return best


@compiled
def _solve(left, right, pairs, decay, how, limits, work, out):
    tables, u = work
    (offsets, codes, ends, begins), _ = left
    (offsets_b, codes_b, ends_b, begins_b), _, _ = right
    x = tables[0]
    for p in range(out.size):
        g, h = pairs[0][p], pairs[1][p]
        base, n = offsets[g], offsets[g + 1] - offsets[g]
        base_b, m = offsets_b[h], offsets_b[h + 1] - offsets_b[h]
        if how != EXPONENTIAL and not decay * limits[0][g] * limits[1][h] < 1.0:
            radius = _product_radius(left, right, (g, h), decay, tables, u)
            if not decay * radius < 1.0:
                return p, radius
        total = 0.0
        for i in range(n):
            for j in range(m):
                same = codes[base + i] == codes_b[base_b + j]
                x[i * m + j] = begins[base + i] * begins_b[base_b + j] if same else 0.0
                total += x[i * m + j] * x[i * m + j]
        if total == 0.0:
            continue
        if how in (CONJUGATE_GRADIENT, UNEQUAL_ENDS):
            # the error of b' x is the square of the residual, that of l' x the residual itself
            least = (1e-17 if how == CONJUGATE_GRADIENT else 1e-29) * total
            converged = _conjugate(left, right, (g, h), decay, tables, u, (total, least))
        else:
            converged = _series(left, right, (g, h), decay, how, tables, u)
        if not converged:
            return p, 1.0 / decay
        value = 0.0
        for i in range(n):
            row = 0.0
            for j in range(m):
                row += ends_b[base_b + j] * x[i * m + j]
            value += ends[base + i] * row
        out[p] = value
    return -1, 0.0


@compiled(fastmath=("contract", "reassoc"))  # the order of sums changes the last digits of steps that are corrected
def _conjugate(left, right, place, decay, work, u, norms):
    """Solve (1 - decay W) x = b, b in the first table, by conjugate gradients; return whether it converged."""
    x, r, p, q = work[0], work[1], work[2], work[3]
    size = (left[0][0][place[0] + 1] - left[0][0][place[0]]) * (right[0][0][place[1] + 1] - right[0][0][place[1]])
    for a in range(size):
        r[a] = x[a]
        p[a] = x[a]
        x[a] = 0.0
    total, least = norms
    now = total
    for _ in range(20 * size + 100):
        _step(left, right, place, p, u, q)
        curvature = 0.0
        for a in range(size):
            q[a] = p[a] - decay * q[a]
            curvature += p[a] * q[a]
        if not curvature > 0.0:
            return False
        length = now / curvature
        following = 0.0
        for a in range(size):
            x[a] += length * p[a]
            r[a] -= length * q[a]
            following += r[a] * r[a]
        if following <= least:
            return True
        ratio = following / now
        now = following
        for a in range(size):
            p[a] = r[a] + ratio * p[a]
    return now <= 1e-20 * total


@compiled
def _series(left, right, place, decay, how, work, u):
    """Add the powers of decay W (divided by factorials) times b, b in the first table; return whether it converged."""
    x, term, following = work[0], work[1], work[2]
    size = (left[0][0][place[0] + 1] - left[0][0][place[0]]) * (right[0][0][place[1] + 1] - right[0][0][place[1]])
    for a in range(size):
        term[a] = x[a]
    for t in range(1, 1_000_000):
        _step(left, right, place, term, u, following)
        factor = decay / t if how == EXPONENTIAL else decay
        added, whole = 0.0, 0.0
        for a in range(size):
            term[a] = factor * following[a]
            x[a] += term[a]
            added = max(added, abs(term[a]))
            whole = max(whole, abs(x[a]))
        if not whole < np.inf:
            return True  # too large for a number: refused by the caller, who sees it
        if added <= 1e-17 * whole:
            return True
    return False


# ------------------------------------------------------------------------- graphs whose labels are all the same


@compiled
def spectral(left, right, pairs, decay, exponential, out):
    """Add over pairs of eigenvalues: for each graph offsets, eigenvalues and squared sums of eigenvectors."""
    offsets, values, squares = left
    offsets_b, values_b, squares_b = right
    for p in range(out.size):
        g, h = pairs[0][p], pairs[1][p]
        total = 0.0
        for i in range(offsets[g], offsets[g + 1]):
            scale, part = decay * values[i], 0.0
            for j in range(offsets_b[h], offsets_b[h + 1]):
                if exponential:
                    part += squares_b[j] * np.exp(scale * values_b[j])
                else:
                    part += squares_b[j] / (1.0 - scale * values_b[j])
            total += squares[i] * part
        out[p] = total


@compiled
def stein(S, T, ends, begins, decay):
    """Return l' Y m for the solution of Y = decay S Y T + r s', with S and T upper triangular and (l, m), (r, s)."""
    n, m = S.shape[0], T.shape[0]
    Y = np.zeros((m, n), np.complex128)  # its rows are the columns of Y
    total = np.zeros(n, np.complex128)
    value = 0j
    for j in range(m):
        for i in range(n):
            total[i] = 0.0
        for k in range(j):
            for i in range(n):
                total[i] += T[k, j] * Y[k, i]
        for i in range(n - 1, -1, -1):
            entry = begins[0][i] * begins[1][j]
            for k in range(i, n):
                entry += decay * S[i, k] * total[k]
            for k in range(i + 1, n):
                entry += decay * T[j, j] * S[i, k] * Y[j, k]
            Y[j, i] = entry / (1.0 - decay * T[j, j] * S[i, i])
            value += ends[0][i] * Y[j, i] * ends[1][j]
    return value.real

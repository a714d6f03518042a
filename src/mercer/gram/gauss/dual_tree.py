r"""The dual-tree fast Gauss transform: pairs of nodes are left out, taken as constant, expanded, or summed.

Legend: y sources, x targets, both in the unit in which the kernel is exp(-|x - y|^2); S and T nodes of the trees of
sources and targets; d_min and d_max the least and the largest distance between their bounding boxes.

For every pair of nodes one of these, in this order:

1. Left out, if exp(-d_min^2) <= tol.
2. Finite difference: all values are between exp(-d_max^2) and exp(-d_min^2); if their difference is at most 2 tol,
   the middle replaces all of them, with an error of at most tol.
3. Series: the sources of a node of radius r about its centre are expanded in a Taylor series of total degree, with the
   remainder of `mercer.gram.gauss.taylor`, at most tol at any target, if the series is cheaper than the
   sources one by one, and than the series of its children.
4. Two leaves: all pairs, exactly.
5. Otherwise the nodes are divided.

So every pair of a source and a target is accounted for once, with an error of at most tol, and the sum over the
sources of a target is off by no more than tol times the sum of abs(v).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.gram.gauss.taylor import graded_factors, graded_size, largest_radii
from mercer.numerics.bits import from_bits, to_bits
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks

__all__ = ["Tree", "TreeTransform"]

_LEAF = 64
_TASK = 256  # targets of a task
_DEGREES = 24
_TERM, _PAIR = 1.0, 2.5  # nanoseconds: of a term of a series, and of a pair of points


@dataclass(frozen=True, eq=False)
class Tree:
    """A balanced binary tree of points, divided at the median of the widest axis.

    The nodes of level l are 2^l - 1, 2^l, ...; node i has the children 2 i + 1 and 2 i + 2.

    Attributes
    ----------
    order : (n,) array
        The points in the order of the leaves.
    starts : (nodes, 2) array
        Where the points of a node begin and end in `order`.
    low, high : (nodes, d) arrays
        Bounding boxes.
    points : (d, n) array
        By columns, in the order of the leaves.

    Examples
    --------
    >>> tree = Tree.of(np.arange(100.0)[:, None])
    >>> tree.levels, tree.starts[0].tolist(), tree.high[0].tolist()
    (1, [0, 100], [99.0])
    """

    order: Indices
    starts: Array
    low: Floats
    high: Floats
    points: Floats
    levels: int

    @classmethod
    def of(cls, X: Floats, n_threads: int | None = None) -> Tree:
        """Divide points until leaves have at most 64 of them."""
        n, d = X.shape
        levels = max(0, math.ceil(math.log2(n / _LEAF)))
        nodes = 2 ** (levels + 1) - 1
        order, starts = np.arange(n), np.zeros((nodes, 2), np.int64)
        low, high = np.empty((nodes, d)), np.empty((nodes, d))
        starts[0] = 0, n
        for level in range(levels + 1):
            first = 2**level - 1
            step = max(1, 2**level // 64)
            groups = [(i, min(i + step, 2 * first + 1)) for i in range(first, 2 * first + 1, step)]
            last = level == levels

            def work(group: tuple[int, int], last: bool = last) -> None:
                _divide(X, order, starts, low, high, group, last)

            run_tasks(groups, work, n_threads=n_threads)
        return cls(order, starts, low, high, np.ascontiguousarray(X[order].T), levels)


class TreeTransform:
    r"""Sums of Gaussians by a tree of sources and a tree of targets.

    .. math:: G(x) = \sum_j v_j \, e^{-|x - y_j|^2}, \qquad |\tilde G(x) - G(x)| \le \mathrm{bound} \sum_j |v_j|

    Seed: [KIKS] Section 3.5, [21].

    Parameters
    ----------
    Y : (n, d) array
        Sources.
    tol : float
        The bound asked for.

    Attributes
    ----------
    bound : float
        Error over the sum of the absolute weights; at most tol.
    series : (q,) array
        Nodes that have a series.

    Notes
    -----
    For narrow kernels in any dimension, and for points that fill little of the space. Values at a target depend
    on the targets beside it, within the bound. Memory O(n d) and, of nodes with series, fewer numbers than points.

    Examples
    --------
    >>> Y = np.array([[0.0], [1.0]])
    >>> transform = TreeTransform(Y, 1e-6)
    >>> transform.product(np.ones((2, 1)), transform.aim(Y)).round(5).ravel()
    array([1.36788, 1.36788])
    """

    def __init__(self, Y: Floats, tol: float, n_threads: int | None = None) -> None:
        self.width, self.bound, self.tol = Y.shape[1], tol, 0.9 * tol
        self.tree = tree = Tree.of(Y, n_threads)
        self.centres = 0.5 * (tree.low + tree.high)
        radii = 0.5 * np.sqrt(np.sum((tree.high - tree.low) ** 2, axis=1)) * (1.0 + 1e-12)
        degrees = np.searchsorted(largest_radii(self.tol, _DEGREES), radii) + 1
        sizes = np.array([0.0] + [float(graded_size(p, self.width)) for p in range(1, _DEGREES + 2)])
        worth = tree.starts[:, 1] - tree.starts[:, 0]
        dear = np.where(degrees <= _DEGREES, _TERM * sizes[degrees], np.inf)
        self.place = np.full(len(radii), -1, np.int64)  # of a node among those with series
        self.series = _worthwhile(dear, _PAIR * worth, tree.levels)
        self.place[self.series] = np.arange(len(self.series))
        self.degrees = degrees[self.series]
        top = int(self.degrees.max(initial=1))
        self.factors = graded_factors(top, self.width)

    @property
    def held(self) -> int:
        """Numbers that one right-hand side takes."""
        return len(self.tree.starts) + len(self.series) * len(self.factors)

    def aim(self, X: Floats | None = None) -> Tree:
        """Return the tree of the targets; None are the sources."""
        return self.tree if X is None else Tree.of(X)

    def moments(self, V: Floats, n_threads: int | None = None) -> tuple[Floats, Floats, Floats]:
        """Return the weights in the order of the tree, (k, n), their sums over nodes, (nodes, k), and the series."""
        tree = self.tree
        weights = np.ascontiguousarray(V[tree.order].T)
        sums = np.empty((len(tree.starts), len(weights)))
        _sum_up(weights, tree.starts, 2**tree.levels - 1, sums)
        series = np.zeros((len(self.series), len(weights), len(self.factors)))

        def work(place: int) -> None:
            node = self.series[place]
            first, last = tree.starts[node]
            points, some = tree.points[:, first:last], weights[:, first:last]
            _moments(points, some, self.centres[node], self.degrees[place], self.factors, series[place])

        run_tasks(range(len(self.series)), work, n_threads=n_threads)
        return weights, sums, series

    def product(self, V: Floats, aim: Tree, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets, (m, k), for weights V (n, k)."""
        return self.values(self.moments(V, n_threads), aim, n_threads)

    def values(self, moments: tuple[Floats, Floats, Floats], aim: Tree, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets, (m, k), from what `moments` gave."""
        tree, k = self.tree, len(moments[0])
        found = np.zeros((len(aim.order), k))
        level = min(aim.levels, max(0, math.ceil(math.log2(max(1, len(aim.order) / _TASK)))))
        ours = tree.starts, tree.low, tree.high, tree.points, 2**tree.levels - 1
        theirs = aim.starts, aim.low, aim.high, aim.points, 2**aim.levels - 1
        expanded = self.place, self.centres, self.degrees

        def work(node: int) -> None:
            _visit(node, theirs, ours, expanded, moments, self.tol, found)

        run_tasks(range(2**level - 1, 2 ** (level + 1) - 1), work, n_threads=n_threads)
        out = np.empty_like(found)
        out[aim.order] = found
        return out


def _worthwhile(dear: Floats, plain: Floats, levels: int) -> Indices:
    """Return the nodes whose series is cheaper than pairs of points and than the series below, none below another."""
    cost = plain.astype(float)
    for level in range(levels - 1, -1, -1):
        some = np.arange(2**level - 1, 2 ** (level + 1) - 1)
        below = 2 * some + 1
        cost[some] = np.minimum(dear[below], cost[below]) + np.minimum(dear[below + 1], cost[below + 1])
    chosen = dear < cost
    covered = np.zeros(len(cost), bool)
    for level in range(1, levels + 1):
        some = np.arange(2**level - 1, 2 ** (level + 1) - 1)
        above = (some - 1) // 2
        covered[some] = covered[above] | chosen[above]
    return np.flatnonzero(chosen & ~covered)


@compiled
def _select(x, order, first, last, middle):
    """Rearrange a range of `order` so that what is left of the middle is not larger than what is right of it."""
    low, high = first, last - 1
    while low < high:
        a, b, c = x[order[low]], x[order[(low + high) // 2]], x[order[high]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while x[order[i]] < pivot:
                i += 1
            while x[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@compiled
def _divide(X, order, starts, low, high, group, last):
    d = X.shape[1]
    for node in range(group[0], group[1]):
        first, end = starts[node]
        for j in range(d):
            least, most = np.inf, -np.inf
            for i in range(first, end):
                x = X[order[i], j]
                least, most = min(least, x), max(most, x)
            low[node, j], high[node, j] = least, most
        if last:
            continue
        axis = 0
        for j in range(1, d):
            if high[node, j] - low[node, j] > high[node, axis] - low[node, axis]:
                axis = j
        middle = (first + end) // 2
        _select(X[:, axis], order, first, end, middle)
        starts[2 * node + 1] = first, middle
        starts[2 * node + 2] = middle, end


@compiled
def _sum_up(weights, starts, leaves, sums):
    for node in range(len(starts) - 1, -1, -1):
        for c in range(len(weights)):
            total = 0.0
            if node >= leaves:
                for i in range(starts[node, 0], starts[node, 1]):
                    total += weights[c, i]
            else:
                total = sums[2 * node + 1, c] + sums[2 * node + 2, c]
            sums[node, c] = total


# minimax polynomial of 2^r - 1 - r log 2 over r^2, on [-1/2, 1/2]
_A2, _A3, _A4, _A5 = 0.24022650695910075, 0.05550410866482158, 0.009618129107618665, 0.0013333558146423213
_A6, _A7, _A8 = 0.00015403530424776529, 1.5252733820795803e-05, 1.3215451633221434e-06
_A9, _A10, _A11 = 1.0178067267449427e-07, 7.070977866508138e-09, 4.45410341058704e-10
_LN2, _LOG2E = 0.6931471805599453, 1.4426950408889634
_ROUND, _LOWEST = 6755399441055744.0, -1021.0


# "contract" forms fused multiply-adds, which only leave out roundings; x + c - c may not be reordered.
@compiled(fastmath={"contract"})
def _power(x):
    """2^x within 2 units in the last place, as in `mercer.kernels.vectors.profiles`."""
    x = x if x > _LOWEST else _LOWEST
    shifted = x + _ROUND
    r = x - (shifted - _ROUND)
    r2 = r * r
    low = (_A2 + _A3 * r) + (_A4 + _A5 * r) * r2
    high = ((_A6 + _A7 * r) + (_A8 + _A9 * r) * r2) + (_A10 + _A11 * r) * (r2 * r2)
    y = 1.0 + (r * _LN2 + r2 * (low + high * (r2 * r2)))
    return from_bits(to_bits(y) + (to_bits(shifted) << 52))


# "reassoc" lets the sum run in lanes: any order of a sum is equally exact.
@compiled(fastmath={"contract", "reassoc"})
def _dot(a, b, count):
    total = 0.0
    for t in range(count):
        total += a[t] * b[t]
    return total


# Ranges are cut out of rows, which the compiler knows to be contiguous.
@compiled(fastmath={"contract"})
def _all_pairs(targets, some, sources, others, weights, out):
    first, last = others
    values = np.empty(last - first)
    for i in range(some[0], some[1]):
        x, row = targets[0, i], sources[0, first:last]
        for t in range(values.size):
            values[t] = (x - row[t]) * (x - row[t])
        for j in range(1, len(targets)):
            x, row = targets[j, i], sources[j, first:last]
            for t in range(values.size):
                values[t] += (x - row[t]) * (x - row[t])
        for t in range(values.size):
            values[t] = _power(-_LOG2E * values[t])
        for c in range(len(weights)):
            out[i, c] += _dot(values, weights[c, first:last], values.size)


@compiled(fastmath={"contract"})
def _monomials(x, value, p, heads, out):
    """Write all monomials of degree below p, times a value, in graded order; return their number."""
    out[0] = value
    heads[:] = 0
    begin, end = 0, 1
    for _ in range(1, p):
        at = end
        for j in range(x.size):
            first = begin + heads[j]
            heads[j] = at - end
            xj = x[j]
            for t in range(first, end):
                out[at + t - first] = xj * out[t]
            at += end - first
        begin, end = end, at
    return end


@compiled(fastmath={"contract"})
def _moments(points, weights, centre, p, factors, out):
    d, n = points.shape
    terms, x, heads = np.empty(factors.size), np.empty(d), np.zeros(d, np.int64)
    for i in range(n):
        square = 0.0
        for j in range(d):
            x[j] = points[j, i] - centre[j]
            square += x[j] * x[j]
        count = _monomials(x, math.exp(-square), p, heads, terms)
        for c in range(len(weights)):
            v = weights[c, i]
            for t in range(count):
                out[c, t] += v * terms[t]
    for c in range(len(weights)):
        out[c] *= factors


@compiled(fastmath={"contract"})
def _expand(points, centre, p, series, out):
    d, m = points.shape
    terms, x, heads = np.empty(series.shape[1]), np.empty(d), np.zeros(d, np.int64)
    for i in range(m):
        square = 0.0
        for j in range(d):
            x[j] = points[j, i] - centre[j]
            square += x[j] * x[j]
        count = _monomials(x, math.exp(-square), p, heads, terms)
        for c in range(len(series)):
            out[i, c] += _dot(terms, series[c], count)


@compiled
def _distances(low, high, other_low, other_high):
    """Squares of the least and of the largest distance between two boxes."""
    least, most = 0.0, 0.0
    for j in range(low.size):
        gap = max(0.0, other_low[j] - high[j], low[j] - other_high[j])
        span = max(other_high[j] - low[j], high[j] - other_low[j])
        least += gap * gap
        most += span * span
    return least, most


@compiled
def _visit(root, targets, sources, expanded, moments, tol, out):
    t_starts, t_low, t_high, t_points, t_leaves = targets
    s_starts, s_low, s_high, s_points, s_leaves = sources
    place, centres, degrees = expanded
    weights, sums, series = moments
    far = -math.log(tol)
    stack = [(root, 0)]
    while len(stack) > 0:
        t, s = stack.pop()
        least, most = _distances(t_low[t], t_high[t], s_low[s], s_high[s])
        if least >= far:
            continue
        first, last = t_starts[t]
        near, apart = math.exp(-least), math.exp(-most)
        if near - apart <= 2.0 * tol:
            middle = 0.5 * (near + apart)
            for i in range(first, last):
                for c in range(len(weights)):
                    out[i, c] += middle * sums[s, c]
            continue
        t_leaf, s_leaf = t >= t_leaves, s >= s_leaves
        if t_leaf and place[s] >= 0:
            q = place[s]
            _expand(t_points[:, first:last], centres[s], degrees[q], series[q], out[first:last])
        elif t_leaf and s_leaf:
            _all_pairs(t_points, (first, last), s_points, (s_starts[s, 0], s_starts[s, 1]), weights, out)
        elif t_leaf:
            stack.append((t, 2 * s + 2))
            stack.append((t, 2 * s + 1))
        elif s_leaf or place[s] >= 0:
            stack.append((2 * t + 2, s))
            stack.append((2 * t + 1, s))
        else:
            for a in range(2, 0, -1):
                for b in range(2, 0, -1):
                    stack.append((2 * t + a, 2 * s + b))

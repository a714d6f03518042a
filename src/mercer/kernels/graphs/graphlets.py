"""The graphlet kernel: the shares of the small graphs that occur in a graph.

Symbols: k nodes of a graphlet, V nodes of a graph. A graphlet is a graph on k nodes up to isomorphism; it occurs in G
wherever k nodes of G have just its edges between them.
"""

from __future__ import annotations

import functools
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.constraints import Boolean, Integer, Optional
from mercer.domains.structures.graphs import Graphs
from mercer.kernels.graphs.graph_histograms import GraphCounts, GraphPatterns, PatternCount
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["Graphlet"]
__public__ = __all__

_AT_ONCE = 16  # graphs of a task


class Graphlet(PatternCount):
    r"""Graphlet kernel: how similar two graphs are in the shares of the small graphs within them.

    .. math:: k(G, G') = \langle f(G), f(G') \rangle, \quad f_j(G) = \frac{\#_j(G)}{\sum_i \#_i(G)}

    where #_j(G) counts the sets of k nodes that have just the edges of graphlet j between them.

    Seed: [KIKS] Section 6.1.2, kernels between graphs.

    Parameters
    ----------
    size : {3, 4, 5}, default 3
        The number k of nodes of a graphlet.
    connected : bool, default False
        Whether graphlets that are not connected are left out. Listing only connected ones is faster in large graphs,
        but does not show how sparse a graph is.
    samples : int, optional
        How many sets of nodes are drawn for each graph. None counts all of them.
    random_state : int, default 0
        The seed of the draws. What is drawn for a graph depends on it and on the graph alone.

    Notes
    -----
    Domain Graphs; labels, weights, directions, loops and parallel edges play no part. Features the shares; no free
    parameter. A graph without any graphlet has k(G, G) = 0. Positive definite of order 0 by its features; neither
    strict nor universal; bounded by 1. Cost: all connected graphlets take time proportional to the number of such sets
    of nodes, at most V d^(k - 1) for degrees up to d; with those that are not connected, V choose k. Draws take
    O(samples k d) for a graph: sets of k nodes have equal chances; connected ones are found by random descents of the
    tree in which all of them are listed, weighted by the number of choices, so that the expectation of every count is
    the count.

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2), (2, 3)]}
    >>> paw = {"edges": [(0, 1), (1, 2), (2, 0), (2, 3)]}
    >>> Graphlet(3)([path, paw]).round(3)
    array([[0.5  , 0.375],
           [0.375, 0.375]])
    """

    synonyms = ("graphlet kernel",)
    formula = r"\langle f(G), f(G') \rangle"
    cost = "O(V d^(k - 1)) a graph, then O(1) a pair"
    constraints = {
        "size": Integer(3, 5),
        "connected": Boolean(),
        "samples": Optional(Integer(1)),
        "random_state": Integer(0),
    }
    bounded = True

    def __init__(
        self, size: int = 3, connected: bool = False, samples: int | None = None, random_state: int = 0
    ) -> None:
        self.size = size
        self.connected = connected
        self.samples = samples
        self.random_state = random_state

    def counted(self, A: Graphs) -> GraphCounts:
        """Count the graphlets of every graph, or draw some."""
        k = int(self.size)
        kinds, keys = graphlets(k, bool(self.connected))
        counts = np.zeros((len(A), len(keys)))
        indptr, targets = _simple(A)
        seed = int(self.random_state) % 2**62

        def work(graphs: slice) -> None:
            part = _Part(A.offsets, indptr, targets, graphs.start, graphs.stop)
            if self.samples is None:
                (_list_connected if self.connected else _list_all)(part, k, kinds, counts)
            else:
                draws = int(self.samples), seed
                (_draw_connected if self.connected else _draw_any)(part, k, kinds, draws, counts)

        run_tasks(spans(len(A), _AT_ONCE), work)
        totals = counts.sum(axis=1, keepdims=True)
        np.divide(counts, totals, out=counts, where=totals > 0.0)
        return GraphCounts(sp.csr_array(counts), keys)


@functools.cache
def graphlets(size: int, connected: bool) -> tuple[NDArray[np.int64], GraphPatterns]:
    """Return which graphlet each set of edges on `size` nodes is (-1: left out), and the graphlets, each by a number.

    A set of edges is a number: bit (i, j), i < j, in the order (0, 1), (0, 2), (1, 2), (0, 3), ... says whether i and j
    are joined. A graphlet's number is the least of the sets of edges that are like it.
    """
    pairs = [(i, j) for j in range(size) for i in range(j)]
    place = {pair: bit for bit, pair in enumerate(pairs)}
    masks = np.arange(1 << len(pairs))
    least = masks.copy()
    for order in permutations(range(size)):
        moved = np.zeros_like(masks)
        for bit, (i, j) in enumerate(pairs):
            a, b = sorted((order[i], order[j]))
            moved |= ((masks >> bit) & 1) << place[a, b]
        np.minimum(least, moved, out=least)
    distinct = np.unique(least)
    if connected:
        distinct = distinct[[_is_connected(int(mask), size, pairs) for mask in distinct]]
    found = np.searchsorted(distinct, least)
    kinds = np.where(np.append(distinct, -1)[found] == least, found, -1).astype(np.int64)
    return kinds, GraphPatterns(("number",), distinct[:, None].astype(np.int64), (), ())


def _is_connected(mask: int, size: int, pairs: list[tuple[int, int]]) -> bool:
    reached = {0}
    for _ in range(size):
        for bit, pair in enumerate(pairs):
            if mask >> bit & 1 and reached & set(pair):
                reached |= set(pair)
    return len(reached) == size


class _Part(NamedTuple):
    """Some graphs of a collection, with the neighbours of all nodes."""

    offsets: Indices
    indptr: Indices
    targets: NDArray[Any]
    start: int
    stop: int


def _simple(A: Graphs) -> tuple[Indices, NDArray[Any]]:
    """Return the neighbours of all nodes, without directions, loops and parallel edges."""
    shift = np.repeat(A.offsets[:-1], np.diff(A.arc_offsets))
    u, v = A.sources + shift, A.targets + shift
    u, v = np.concatenate((u, v)), np.concatenate((v, u))
    total = len(A.labels)
    keys = np.unique((u * np.int64(total + 1) + v)[u != v])
    sources, targets = np.divmod(keys, np.int64(total + 1))
    indptr = np.zeros(total + 1, np.intp)
    np.cumsum(np.bincount(sources, minlength=total), out=indptr[1:])
    return indptr, targets


# ---------------------------------------------------------------------------------------- sets of nodes


@compiled
def _joined(indptr, targets, u, v):
    """Return whether two nodes are neighbours; lists are in ascending order."""
    start, stop = indptr[u], indptr[u + 1]
    while start < stop:
        middle = (start + stop) // 2
        if targets[middle] < v:
            start = middle + 1
        else:
            stop = middle
    return start < indptr[u + 1] and targets[start] == v


@compiled
def _edges_of(indptr, targets, nodes, k):
    mask, bit = 0, 0
    for j in range(k):
        for i in range(j):
            if _joined(indptr, targets, nodes[i], nodes[j]):
                mask |= 1 << bit
            bit += 1
    return mask


@compiled
def _grow(indptr, targets, root, w, depth, mark, ext, kept):
    """Make the list of candidates after `w` joins a set of `depth` nodes: those kept, and new neighbours of w.

    A node is marked with the size of the set from which on it is in the set or next to it. Only nodes after the root
    are candidates, and each only once, so that every set is found from one root and in one order.
    """
    count = kept
    if depth:
        for t in range(kept):
            ext[depth + 1, t] = ext[depth, t]
    for place in range(indptr[w], indptr[w + 1]):
        u = targets[place]
        if mark[u] == 0:
            mark[u] = depth + 1
            if u > root:
                ext[depth + 1, count] = u
                count += 1
    return count


@compiled
def _shrink(indptr, targets, w, depth, mark):
    """Take the marks back that were made when `w` joined as the node number `depth`."""
    for place in range(indptr[w], indptr[w + 1]):
        if mark[targets[place]] == depth:
            mark[targets[place]] = 0


@compiled
def _list_connected(part, k, kinds, counts):
    offsets, indptr, targets, start, stop = part
    first, last = offsets[start], offsets[stop]
    most = 1
    for g in range(start, stop):
        most = max(most, offsets[g + 1] - offsets[g])
    mark = np.zeros(indptr.size - 1, np.int8)
    ext = np.empty((k + 1, most), np.int64)
    left, nodes = np.zeros(k + 1, np.int64), np.empty(k, np.int64)
    g = start
    for root in range(first, last):
        while root >= offsets[g + 1]:
            g += 1
        nodes[0] = root
        mark[root] = 1
        left[1] = _grow(indptr, targets, root, root, 0, mark, ext, 0)
        depth = 1
        while depth:
            if left[depth] == 0:
                _shrink(indptr, targets, nodes[depth - 1], depth, mark)
                depth -= 1
                continue
            left[depth] -= 1
            w = ext[depth, left[depth]]
            nodes[depth] = w
            if depth == k - 1:
                kind = kinds[_edges_of(indptr, targets, nodes, k)]
                if kind >= 0:
                    counts[g, kind] += 1.0
                continue
            left[depth + 1] = _grow(indptr, targets, root, w, depth, mark, ext, left[depth])
            depth += 1
        mark[root] = 0


@compiled
def _list_all(part, k, kinds, counts):
    offsets, indptr, targets, start, stop = part
    nodes = np.empty(k, np.int64)
    for g in range(start, stop):
        base, size = offsets[g], offsets[g + 1] - offsets[g]
        if size < k:
            continue
        for i in range(k):
            nodes[i] = base + i
        while True:
            kind = kinds[_edges_of(indptr, targets, nodes, k)]
            if kind >= 0:
                counts[g, kind] += 1.0
            i = k - 1
            while i >= 0 and nodes[i] == base + size - k + i:
                i -= 1
            if i < 0:
                break
            nodes[i] += 1
            for j in range(i + 1, k):
                nodes[j] = nodes[j - 1] + 1


@compiled
def _seeded(offsets, indptr, targets, g, seed):
    """Return the state of a generator that depends on the seed and on the graph, not on its position."""
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(offsets[g + 1] - offsets[g])
    for u in range(offsets[g], offsets[g + 1]):
        state = (state ^ np.uint64(indptr[u + 1] - indptr[u])) * np.uint64(0xBF58476D1CE4E5B9)
        for place in range(indptr[u], indptr[u + 1]):
            state = (state ^ np.uint64(targets[place] - offsets[g])) * np.uint64(0xBF58476D1CE4E5B9)
            state ^= state >> np.uint64(29)
    return state


@compiled
def _next(state, below):
    """Return the next state (splitmix64) and a number below a bound."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return state, np.int64(np.float64(z >> np.uint64(11)) * (below / 9007199254740992.0))


@compiled
def _draw_any(part, k, kinds, draws, counts):
    offsets, indptr, targets, start, stop = part
    times, seed = draws
    nodes = np.empty(k, np.int64)
    for g in range(start, stop):
        base, size = offsets[g], offsets[g + 1] - offsets[g]
        if size < k:
            continue
        state = _seeded(offsets, indptr, targets, g, seed)
        for _ in range(times):
            count = 0
            while count < k:
                state, node = _next(state, size)
                fresh = True
                for i in range(count):
                    if nodes[i] == base + node:
                        fresh = False
                if fresh:
                    nodes[count] = base + node
                    count += 1
            kind = kinds[_edges_of(indptr, targets, nodes, k)]
            if kind >= 0:
                counts[g, kind] += 1.0


@compiled
def _draw_connected(part, k, kinds, draws, counts):
    offsets, indptr, targets, start, stop = part
    times, seed = draws
    most = 1
    for g in range(start, stop):
        most = max(most, offsets[g + 1] - offsets[g])
    mark = np.zeros(indptr.size - 1, np.int8)
    ext = np.empty((k + 1, most), np.int64)
    nodes = np.empty(k, np.int64)
    for g in range(start, stop):
        base, size = offsets[g], offsets[g + 1] - offsets[g]
        if size < k:
            continue
        state = _seeded(offsets, indptr, targets, g, seed)
        for _ in range(times):
            state, node = _next(state, size)
            root = base + node
            weight = 1.0
            nodes[0] = root
            mark[root] = 1
            left = _grow(indptr, targets, root, root, 0, mark, ext, 0)
            depth = 1
            while depth < k and left:
                state, choice = _next(state, left)
                weight *= left
                w = ext[depth, choice]
                nodes[depth] = w
                depth += 1
                if depth < k:
                    left = _grow(indptr, targets, root, w, depth - 1, mark, ext, choice)
            if depth == k:
                counts[g, kinds[_edges_of(indptr, targets, nodes, k)]] += weight
            for i in range(depth):
                for place in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
                    mark[targets[place]] = 0
            mark[root] = 0

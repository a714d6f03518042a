"""The kernel that compares the shortest paths of two graphs by their lengths and the labels of their ends.

Symbols: V nodes and M arcs of a graph, d(u, v) the length of a shortest path from u to v.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import budget
from mercer.constraints import Boolean
from mercer.domains.graphs import Graphs
from mercer.errors import DomainError
from mercer.kernels.graph_histograms import GraphCounts, GraphPatterns, PatternCount, tabulated, tallied
from mercer.numerics.compiled import compiled
from mercer.numerics.tiling import run_tasks

__all__ = ["ShortestPath"]

_PAIRS = 2_000_000  # of nodes in a task, unless one graph has more
_DIGITS = 10  # lengths that agree in so many are the same: sums of weights depend on their order


class ShortestPath(PatternCount):
    r"""Shortest-path kernel: pairs of nodes that are equally far apart and have equal labels.

    .. math:: k(G, G') = \sum_{u \ne v} \sum_{u' \ne v'} [d(u, v) = d(u', v')]\, [\ell(u) = \ell(u')]\,
        [\ell(v) = \ell(v')]

    over ordered pairs of nodes that are connected by a path.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs for chemical compounds. Ledger: K-GR-RW, X-CHEM.

    Parameters
    ----------
    labels : bool, default True
        Whether the labels of the two nodes have to be equal.
    weights : bool, default False
        Whether the length of a path is the sum of the weights of its edges, which must not be negative, rather than
        their number. Lengths that agree in ten digits are the same.

    Notes
    -----
    Domain Graphs; paths follow the direction of arcs. Nodes without a label are alike, and a pair of nodes counts in
    both orders, as each node may be the one where the path begins. Features the counts of (label, label, length); no
    free parameter. Positive definite of order 0 by its features; neither strict nor universal; not bounded. A graph
    without edges has k(G, G) = 0. Cost O(V (V + M)) for a graph, with weights O(V M log V).

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2)], "labels": ["C", "C", "O"]}
    >>> ring = {"edges": [(0, 1), (1, 2), (2, 0)], "labels": ["C", "C", "O"]}
    >>> ShortestPath()([path, ring])
    array([[ 8.,  8.],
           [ 8., 12.]])
    >>> ShortestPath(labels=False)([path, ring])
    array([[20., 24.],
           [24., 36.]])
    """

    formula = r"\sum_{u \ne v} \sum_{u' \ne v'} [d(u, v) = d(u', v')] [\ell(u) = \ell(u')] [\ell(v) = \ell(v')]"
    cost = "O(V (V + M)) a graph, then O(common patterns) a pair"
    constraints = {"labels": Boolean(), "weights": Boolean()}

    def __init__(self, labels: bool = True, weights: bool = False) -> None:
        self.labels = labels
        self.weights = weights

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the columns of the patterns are."""
        return ("node", "node", "length" if self.weights else "number")

    def counted(self, A: Graphs) -> GraphCounts:
        """Count the pairs of nodes by their labels and distance."""
        largest = int(A.sizes.max(initial=0))
        budget.Plan(f"{self!r} on a graph of {largest} nodes", {"pairs of nodes": 16 * largest**2}).require(None)
        codes = A.labels.astype(np.int64) if self.labels else np.full(len(A.labels), -1)
        matrix, table = (self._weighted if self.weights else self._plain)(A, codes)
        return GraphCounts(matrix, GraphPatterns(self.kinds, table, A.vocabulary, A.edge_vocabulary))

    def _plain(self, A: Graphs, codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """Paths are counted by breadth-first search; a pattern is one number while it is counted."""
        words, lengths = int(codes.max(initial=-1)) + 2, int(A.sizes.max(initial=0)) + 1
        if float(words) ** 2 * lengths >= 2.0**62:
            raise DomainError(
                f"The graphs have {words} labels and up to {lengths} nodes; {self!r} accepts fewer kinds of paths than "
                "2^62. Use fewer labels, or labels=False."
            )

        def work(graphs: slice) -> tuple[Any, ...]:
            return _found(A, graphs, lambda part, out: _search(*part, codes, words, lengths, *out), np.int64, float)

        numbers, counts, per_graph = _in_pieces(A, work)
        matrix, distinct = tallied(numbers, counts, per_graph)
        pairs, far = np.divmod(distinct, lengths)
        return matrix, np.column_stack((*(side - 1 for side in np.divmod(pairs, words)), far))

    def _weighted(self, A: Graphs, codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        if (A.weights < 0.0).any():
            graph = int(np.searchsorted(A.arc_offsets, np.flatnonzero(A.weights < 0.0)[0], side="right")) - 1
            raise DomainError(
                f"Sample {graph} has an edge of negative weight; {self!r} adds weights to lengths, which must not be "
                "negative. Use weights=False, or other weights."
            )
        with np.errstate(over="ignore"):
            longest = A.weights.max(initial=0.0) * A.sizes.max(initial=0)
        if not np.isfinite(longest):
            raise DomainError(
                f"Paths of the graphs may be longer than any number; {self!r} adds weights, to less than 1.7e308. "
                "Divide them by a common factor."
            )

        def work(graphs: slice) -> tuple[Any, ...]:
            return _found(A, graphs, lambda part, out: _measure(*part, A.weights, *out), np.float64, np.int64)

        far, pairs, per_graph = _in_pieces(A, work)
        lengths, rank = np.unique(_rounded(far), return_inverse=True)
        bounds = np.concatenate(([0], np.cumsum(per_graph))).astype(np.intp)
        first, second = np.divmod(pairs, np.int64(len(codes) + 1))
        matrix, table = tabulated([codes[first], codes[second], rank], bounds)
        table[:, 2] = lengths[table[:, 2]].view(np.int64)
        return matrix, table


def _rounded(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths to so many digits; zero is positive zero."""
    with np.errstate(divide="ignore"):
        places = np.floor(np.log10(lengths, where=lengths > 0.0, out=np.zeros_like(lengths)))
    scale = 10.0 ** np.clip(_DIGITS - 1 - places, -300, 300)
    return np.rint(lengths * scale) / scale + 0.0


def _in_pieces(A: Graphs, work: Callable[[slice], tuple[Any, ...]]) -> list[NDArray[Any]]:
    """Do the work for pieces of the collection that are not too large, in threads; return the results joined."""
    pieces = _pieces(A)
    results: list[Any] = [None] * len(pieces)

    def run(place: int) -> None:
        results[place] = work(pieces[place])

    run_tasks(range(len(pieces)), run)
    return [np.concatenate(column) for column in zip(*results, strict=True)]


def _pieces(A: Graphs) -> list[slice]:
    ends = np.cumsum(A.sizes.astype(float) ** 2)
    pieces, start = [], 0
    while start < len(A):
        before = ends[start - 1] if start else 0.0
        stop = max(int(np.searchsorted(ends, before + _PAIRS, side="right")), start + 1)
        pieces.append(slice(start, stop))
        start = stop
    return pieces


def _found(A: Graphs, graphs: slice, search: Callable[..., int], *kinds: Any) -> tuple[Any, ...]:
    """Give a search room for the pairs of nodes of some graphs, and return what it has written there."""
    sizes = A.sizes[graphs]
    room, largest = int((sizes.astype(np.int64) ** 2).sum()), int(sizes.max(initial=0))
    first, second = (np.empty(room, kind) for kind in kinds)
    per_graph = np.zeros(len(sizes), np.intp)
    part = (A.offsets, A.indptr, A.targets, graphs.start, graphs.stop, largest)
    filled = search(part, (first, second, per_graph))
    return first[:filled].copy(), second[:filled].copy(), per_graph


@compiled
def _search(offsets, indptr, targets, start, stop, largest, codes, words, lengths, numbers, counts, per_graph):
    """Write the distinct patterns of each graph, as numbers in ascending order, and how often they occur."""
    queue = np.empty(largest, np.int64)
    far = np.full(largest, -1, np.int64)
    found = np.empty(largest * largest, np.int64)
    filled = 0
    for g in range(start, stop):
        base, size = offsets[g], offsets[g + 1] - offsets[g]
        total = 0
        for source in range(size):
            queue[0] = source
            far[source] = 0
            head, tail = 0, 1
            own = (codes[base + source] + 1) * words
            while head < tail:
                u = queue[head]
                head += 1
                for arc in range(indptr[base + u], indptr[base + u + 1]):
                    v = targets[arc]
                    if far[v] < 0:
                        far[v] = far[u] + 1
                        queue[tail] = v
                        tail += 1
                        found[total] = (own + codes[base + v] + 1) * lengths + far[v]
                        total += 1
            for place in range(tail):
                far[queue[place]] = -1
        values = np.sort(found[:total])
        before = filled
        for t in range(total):
            if t and values[t] == values[t - 1]:
                counts[filled - 1] += 1.0
            else:
                numbers[filled] = values[t]
                counts[filled] = 1.0
                filled += 1
        per_graph[g - start] = filled - before
    return filled


@compiled
def _measure(offsets, indptr, targets, start, stop, largest, weights, far, pairs, per_graph):
    """Write the length of the shortest path of every pair of nodes, and which pair it is, as one number.

    Dijkstra's algorithm with a heap, in which a node may stand more than once; the first time it is taken counts.
    """
    most = 1
    for g in range(start, stop):
        most = max(most, indptr[offsets[g + 1]] - indptr[offsets[g]] + 1)
    heap, member = np.empty(most), np.empty(most, np.int64)
    best, done = np.full(largest, np.inf), np.zeros(largest, np.bool_)
    filled, total = 0, offsets[-1] + 1
    for g in range(start, stop):
        base, size = offsets[g], offsets[g + 1] - offsets[g]
        before = filled
        for source in range(size):
            best[:size] = np.inf
            done[:size] = False
            best[source] = 0.0
            heap[0], member[0] = 0.0, source
            count = 1
            while count:
                d, u = heap[0], member[0]
                count -= 1
                _sink(heap, member, count)
                if done[u]:
                    continue
                done[u] = True
                if u != source:
                    far[filled] = d
                    pairs[filled] = (base + source) * total + base + u
                    filled += 1
                for arc in range(indptr[base + u], indptr[base + u + 1]):
                    v = targets[arc]
                    if d + weights[arc] < best[v]:
                        best[v] = d + weights[arc]
                        _rise(heap, member, count, best[v], v)
                        count += 1
        per_graph[g - start] = filled - before
    return filled


@compiled
def _rise(heap, member, place, value, node):
    """Put an entry into a heap that has `place` entries."""
    while place:
        parent = (place - 1) // 2
        if heap[parent] <= value:
            break
        heap[place], member[place] = heap[parent], member[parent]
        place = parent
    heap[place], member[place] = value, node


@compiled
def _sink(heap, member, count):
    """Remove the first entry of a heap by putting the last, which is behind the `count` that remain, in its place."""
    value, node = heap[count], member[count]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if value <= heap[child]:
            break
        heap[place], member[place] = heap[child], member[child]
        place = child
    heap[place], member[place] = value, node

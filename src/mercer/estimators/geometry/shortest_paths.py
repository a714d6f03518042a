"""Lengths of shortest paths between all nodes of a sparse graph, by Dijkstra's algorithm.

Of a graph with few edges the search from one node takes a heap that fits into the nearest cache; a node has four
children in it, which lie side by side in memory, and keeps its place, so that each node is in the heap once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import Monitor, run_tasks, spans

__all__ = ["shortest_paths"]

_SOURCES = 64  # nodes that one task begins at
_CHILDREN = 4


def shortest_paths(graph: Any, n_threads: int | None = None, monitor: Monitor | None = None) -> Floats:
    """Return the lengths of the shortest paths between all pairs of nodes, (n, n); infinite where there is none.

    Parameters
    ----------
    graph : (n, n) sparse array
        Lengths of edges, not negative; an edge leads from its row to its column.
    n_threads : int, optional
        None is all cores.
    monitor : callable, optional
        Monitor of `run_tasks`.

    Notes
    -----
    Cost O(n (m + n log n)) for m edges.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> shortest_paths(sp.csr_array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]]))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    n = graph.shape[0]
    edges = graph.tocsr()
    csr = np.asarray(edges.data, dtype=float), edges.indices.astype(np.int32), edges.indptr.astype(np.int64)
    lengths = np.empty((n, n))

    def work(sources: slice) -> None:
        heap, place = np.empty(n + 1, np.int32), np.empty(n, np.int32)
        _search(csr, sources.start, sources.stop, lengths, heap, place)

    run_tasks(spans(n, _SOURCES), work, n_threads=n_threads, monitor=monitor)
    return lengths


@compiled
def _search(csr, start, stop, lengths, heap, place):
    """Write the lengths of the paths from some nodes; `place` is that of a node in the heap, -1 before it enters."""
    data, indices, indptr = csr
    n = len(indptr) - 1
    for source in range(start, stop):
        far = lengths[source]
        for i in range(n):
            far[i] = np.inf
            place[i] = -1
        far[source], place[source], heap[0], size = 0.0, 0, source, 1
        while size:
            node = heap[0]
            size -= 1
            last = heap[size]
            i = 0
            while True:  # the last one goes down from the top
                child = _CHILDREN * i + 1
                if child >= size:
                    break
                least = child
                for other in range(child + 1, min(child + _CHILDREN, size)):
                    if far[heap[other]] < far[heap[least]]:
                        least = other
                if far[heap[least]] >= far[last]:
                    break
                heap[i] = heap[least]
                place[heap[i]] = i
                i = least
            heap[i] = last
            place[last] = i
            for edge in range(indptr[node], indptr[node + 1]):
                to, reach = indices[edge], far[node] + data[edge]
                if reach < far[to]:
                    far[to] = reach
                    i = place[to]
                    if i < 0:
                        i = size
                        size += 1
                    while i > 0 and far[heap[(i - 1) // _CHILDREN]] > reach:  # the nearer one goes up
                        heap[i] = heap[(i - 1) // _CHILDREN]
                        place[heap[i]] = i
                        i = (i - 1) // _CHILDREN
                    heap[i] = to
                    place[to] = i

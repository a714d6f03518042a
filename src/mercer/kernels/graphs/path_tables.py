"""Shortest paths within graphs, and sums over pairs of them in two graphs.

Symbols: K the similarities of the n nodes of one graph and the m of another, (n, m); a path is (length, source, end).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Codes, Indices
from mercer.runtime.compiled import compiled

__all__ = ["Ends", "Part", "Paths", "compare", "differentiate", "measure", "search"]


class Part(NamedTuple):
    """Some graphs of a collection, and the nodes of the largest of them."""

    offsets: Indices
    indptr: Indices
    targets: Codes
    start: int
    stop: int
    largest: int


class Ends(NamedTuple):
    """What describes a path: codes of the labels of nodes, and how many codes and lengths there may be."""

    codes: NDArray[np.int64]
    words: int
    lengths: int


class Paths(NamedTuple):
    """The shortest paths of some graphs, those of each by length and then by source."""

    offsets: Indices  # of the nodes of each graph among all
    starts: Indices  # of its paths among all
    table: NDArray[np.int64]  # (P, 3): length, source, end; lengths as numbers or as bits, nodes counted in their graph


@compiled
def search(part, ends, numbers, counts, per_graph):
    """Write the distinct patterns of each graph, as numbers in ascending order, and how often they occur."""
    offsets, indptr, targets, start, stop, largest = part
    codes, words, lengths = ends
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
def measure(part, weights, far, pairs, per_graph):
    """Write the length of the shortest path of every pair of nodes, and which pair it is, as one number.

    Dijkstra's algorithm with a heap, which may hold a node more than once; the first time it is taken counts.
    """
    offsets, indptr, targets, start, stop, largest = part
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


# ---------------------------------------------------------------------------------------- pairs of paths


# Sums of products may be taken in any order: they differ by rounding, and this is several times faster.
_ANY_ORDER = ("reassoc", "contract")


@compiled
def compare(left, right, K, symmetric, out):
    """Write for each pair of graphs the sum of K(u, u') K(v, v') over paths u to v and u' to v' of equal length.

    K has a row for each node on the left and a column for each on the right. If both sides are the same, half of the
    sums is left out.
    """
    rooms = np.empty((4, _most(left) * _most(right)))
    for i in range(out.shape[0]):
        a = left.table[left.starts[i] : left.starts[i + 1]]
        for j in range(i if symmetric else 0, out.shape[1]):
            b = right.table[right.starts[j] : right.starts[j + 1]]
            block = K[left.offsets[i] : left.offsets[i + 1], right.offsets[j] : right.offsets[j + 1]]
            out[i, j] = _common(block, a, b, rooms)
            if symmetric:
                out[j, i] = out[i, j]


@compiled
def differentiate(left, right, K, W, V):
    """Add to V the derivatives in K of the sums of `compare`, each times its weight in W."""
    rooms = np.empty((6, _most(left) * _most(right)))
    for i in range(W.shape[0]):
        a = left.table[left.starts[i] : left.starts[i + 1]]
        for j in range(W.shape[1]):
            if W[i, j] != 0.0:
                b = right.table[right.starts[j] : right.starts[j + 1]]
                part = slice(left.offsets[i], left.offsets[i + 1]), slice(right.offsets[j], right.offsets[j + 1])
                _slopes((K[part], W[i, j]), a, b, rooms, V[part])


@compiled
def _most(side):
    most = 0
    for i in range(len(side.offsets) - 1):
        most = max(most, side.offsets[i + 1] - side.offsets[i])
    return most


@compiled
def _group(table, start):
    """Return where the paths end that are as long as the one at `start`."""
    stop = start
    while stop < len(table) and table[stop, 0] == table[start, 0]:
        stop += 1
    return stop


@compiled(fastmath=_ANY_ORDER)
def _common(block, a, b, rooms):
    """Add over paths of equal length; with many of them, rows of K are added by ends, then multiplied by beginnings."""
    n, m = block.shape
    K, KT = rooms[0, : n * m].reshape(n, m), rooms[1, : n * m].reshape(m, n)
    P, PT = rooms[2, : n * m].reshape(n, m), rooms[3, : n * m].reshape(m, n)
    K[:] = block
    _transpose(K, KT)
    total = 0.0
    p, q = 0, 0
    while p < len(a) and q < len(b):
        if a[p, 0] < b[q, 0]:
            p += 1
        elif a[p, 0] > b[q, 0]:
            q += 1
        else:
            end, stop = _group(a, p), _group(b, q)
            if (end - p) * (stop - q) <= n * m:
                for s in range(p, end):
                    for t in range(q, stop):
                        total += K[a[s, 1], b[t, 1]] * K[a[s, 2], b[t, 2]]
            else:
                _add_rows(K, a[p:end, 1], a[p:end, 2], P)
                _transpose(P, PT)
                for t in range(q, stop):
                    x, z, found = KT[b[t, 1]], PT[b[t, 2]], 0.0
                    for u in range(n):
                        found += x[u] * z[u]
                    total += found
            p, q = end, stop
    return total


@compiled
def _slopes(weighted, a, b, rooms, V):
    """Add the weight times A K B' + A' K B over lengths, where A and B say which nodes have that distance."""
    block, weight = weighted
    n, m = block.shape
    K, KT = rooms[0, : n * m].reshape(n, m), rooms[1, : n * m].reshape(m, n)
    P, PT = rooms[2, : n * m].reshape(n, m), rooms[3, : n * m].reshape(m, n)
    Q, QT = rooms[4, : n * m].reshape(n, m), rooms[5, : n * m].reshape(m, n)
    K[:] = block
    _transpose(K, KT)
    p, q = 0, 0
    while p < len(a) and q < len(b):
        if a[p, 0] < b[q, 0]:
            p += 1
        elif a[p, 0] > b[q, 0]:
            q += 1
        else:
            end, stop = _group(a, p), _group(b, q)
            _add_rows(K, a[p:end, 1], a[p:end, 2], P)
            _transpose(P, PT)
            _add_rows(PT, b[q:stop, 1], b[q:stop, 2], QT)
            _transpose(QT, Q)
            V += weight * Q
            _add_rows(KT, b[q:stop, 2], b[q:stop, 1], PT)
            _transpose(PT, P)
            _add_rows(P, a[p:end, 2], a[p:end, 1], Q)
            V += weight * Q
            p, q = end, stop


@compiled
def _add_rows(K, to, which, out):
    """Set row u of `out` to the sum of the rows of K that are listed beside u."""
    out[:] = 0.0
    for t in range(len(to)):
        x, y = K[which[t]], out[to[t]]
        for s in range(len(x)):
            y[s] += x[s]


@compiled
def _transpose(X, out):
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[j, i] = X[i, j]

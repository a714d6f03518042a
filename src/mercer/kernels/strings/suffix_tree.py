"""The tree of all substrings of a collection of strings, in linear time and memory.

Symbols: N the symbols of a collection, m the length of a match.

The intervals of the suffix array with a common prefix are the inner nodes of a tree whose leaves are the suffixes. A
node represents the string on the way to it; of the substrings of the collection, those that end on the same edge occur
at the same places. Suffix links lead from the node of a string to that of the string without its first symbol, so that
a new string is matched in time linear in its length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Indices
from mercer.kernels.strings.suffix_arrays import Whole, common_prefixes, suffix_array
from mercer.runtime.compiled import compiled

__all__ = ["SuffixTree"]


@dataclass(frozen=True, eq=False)
class SuffixTree:
    """The tree of the suffixes of a collection of strings, in arrays.

    Nodes 0 to inner - 1 are the inner ones, children before parents, the root last; the others are leaves, one for
    each suffix.

    Attributes
    ----------
    text : (N + n,) array
        Codes plus one, a zero behind every string.
    offsets : (n + 1,) array
        Where the strings begin among the codes.
    depth, parent, start : (nodes,) arrays
        Length of a node's string; the node above (of the root: itself); a place in the text where the string occurs.
    leaves : (N,) array
        Of each suffix, in the order of the codes, the node at which it ends.
    """

    text: Whole
    offsets: Indices
    depth: Whole
    parent: Whole
    start: Whole
    leaves: Whole
    inner: int

    @classmethod
    def of(cls, codes: Whole, offsets: Indices, longest: int | None = None) -> SuffixTree:
        """Build the tree of the strings ``codes[offsets[i]:offsets[i + 1]]``.

        Parameters
        ----------
        codes : (N,) array of int
        offsets : (n + 1,) array
        longest : int, optional
            Strings are followed no further than this many symbols.

        Examples
        --------
        >>> tree = SuffixTree.of(np.array([0, 1, 0, 1]), np.array([0, 2, 4]))  # "ab" twice
        >>> tree.depth[: tree.inner]  # "ab", "b" and the empty string
        array([2, 1, 0], dtype=int32)
        """
        n, total = len(offsets) - 1, len(codes)
        kind = np.int32 if 2 * (total + n) < 2**31 - 1 else np.int64
        text = np.zeros(total + n, kind)
        owners = np.repeat(np.arange(n, dtype=kind), np.diff(offsets))
        places = np.arange(total, dtype=kind) + owners
        text[places] = codes
        text[places] += 1
        order = suffix_array(text, int(codes.max(initial=-1)) + 2).astype(kind, copy=False)
        prefixes = common_prefixes(text, order)[n:]
        order = order[n:]  # before them are those that begin with the zero behind a string
        limit = total if longest is None else min(int(longest), total)
        prefixes = np.minimum(prefixes, kind(limit))
        if total:
            prefixes[0] = 0
        depth, parent, start = (np.empty(2 * total + 1, kind) for _ in range(3))
        work = np.empty((4, total + 1), kind)
        leaf_parents = np.empty(total, kind)
        inner = _link_intervals(prefixes, order, work, leaf_parents, depth, parent, start)
        size = inner + total
        # leaves, by the order of their suffixes
        rest = np.minimum((np.repeat(offsets[1:], np.diff(offsets)) - np.arange(total)).astype(kind), kind(limit))
        leaves = np.empty(total, kind)
        suffixes = order - np.repeat(np.arange(n, dtype=kind), np.diff(offsets) + 1)[order]
        depth[inner:size] = rest[suffixes]
        parent[inner:size] = leaf_parents
        start[inner:size] = order
        empty = depth[inner:size] == depth[leaf_parents]  # a suffix that is the beginning of another ends at a node
        leaves[suffixes] = np.where(empty, leaf_parents, np.arange(inner, size, dtype=kind))
        return cls(text, np.asarray(offsets, np.intp), depth[:size], parent[:size], start[:size], leaves, inner)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(a.nbytes for a in (self.text, self.depth, self.parent, self.start, self.leaves))

    @cached_property
    def children(self) -> tuple[Whole, Whole, Whole]:
        """Where the children of each inner node begin, the children by first symbol, and these symbols."""
        kind = self.depth.dtype
        nodes = np.flatnonzero(self.depth > self.depth[self.parent]).astype(kind)  # neither the root nor an empty edge
        above = self.parent[nodes]
        symbols = self.text[self.start[nodes] + self.depth[above]]
        order, _ = _order_by(symbols, int(symbols.max(initial=0)) + 1)
        again, begins = _order_by(above[order], self.inner)
        order = order[again]
        return begins, nodes[order], symbols[order]

    @cached_property
    def links(self) -> Whole:
        """Of each inner node with a string a v, the highest node whose string begins with v."""
        out = np.empty(self.inner, self.depth.dtype)
        _find_links(self.text, self.depth, self.parent, self.start, self.children, out)
        return out

    @cached_property
    def _table(self) -> Whole:
        """Of each node: depth, start, children from and to, where to go on from it and from the edge above.

        What a match reads of a node is stored together, since most of its time is spent waiting for memory.
        """
        begins, _, _ = self.children
        out = np.zeros((len(self.depth), 6), self.depth.dtype)
        out[:, 0], out[:, 1] = self.depth, self.start
        out[: self.inner, 2], out[: self.inner, 3] = begins[:-1], begins[1:]
        out[:, 5] = self.links[self.parent]
        out[:, 4] = out[:, 5]
        out[: self.inner, 4] = self.links
        return out

    def match(self, codes: Whole, offsets: Indices) -> tuple[Whole, Whole]:
        """Find for each suffix of new strings its longest beginning that is a substring of the collection.

        Parameters
        ----------
        codes : (M,) array of int
            In the codes of the collection, -1 for a symbol that it does not have.
        offsets : (n + 1,) array

        Returns
        -------
        nodes, lengths : (M,) arrays
            The match ends on the edge to the node, or at it: ``depth[parent] < length <= depth``. Without a match, the
            root and 0.

        Notes
        -----
        O(M) for a fixed number of symbols.

        Examples
        --------
        >>> tree = SuffixTree.of(np.array([0, 1, 2]), np.array([0, 3]))  # abc
        >>> tree.match(np.array([1, 2, 0, 0]), np.array([0, 4]))[1]  # bcaa
        array([2, 1, 1, 1], dtype=int32)
        """
        nodes = np.empty(len(codes), self.depth.dtype)
        lengths = np.empty(len(codes), self.depth.dtype)
        codes = codes.astype(self.depth.dtype) + 1
        codes[codes == 0] = -1  # unlike any, even what follows a string
        limit = int(self.depth.max(initial=0))
        _, children, symbols = self.children
        strings = codes, np.asarray(offsets, np.intp)
        _match((self.text, self._table, children, symbols), self.inner - 1, strings, limit, nodes, lengths)
        return nodes, lengths

    def counts(
        self,
        nodes: Whole,
        offsets: Indices,
        lengths: Whole | None = None,
        weights: Any = None,
        allow: Callable[[int], object] | None = None,
    ) -> tuple[Whole, Any, Indices]:
        """Count for each string the matches that pass each node, or add up their weights.

        Parameters
        ----------
        nodes : (M,) array
        offsets : (n + 1,) array
        lengths, weights : (M,) and (longest + 1,) arrays, optional
            Lengths as `match` returns them, and W(m), not decreasing: a match that passes a node counts W(depth) -
            W(depth of parent), and one that ends on its edge W(m) - W(depth of parent). Without them matches end at
            nodes, and each counts one.
        allow : callable, optional
            Called with the bytes that are about to be allocated; it raises if they are too many.

        Returns
        -------
        (indices, data, indptr) of CSR, (n, number of nodes)

        Notes
        -----
        The list of a node is made of those of its children, from below: linear in the nodes and in the counts.
        """
        n, size = len(offsets) - 1, len(self.depth)
        order, begins = _order_by(nodes, size)
        owners = np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets))[order]
        plain = weights is None
        ends = np.zeros(0, self.depth.dtype) if lengths is None else lengths[order]
        table = np.zeros(1) if weights is None else np.asarray(weights, dtype=float)
        tree = self.depth, self.parent, self.children[0], self.children[1]
        first, last, acc = np.zeros(size, np.intp), np.zeros(size, np.intp), np.zeros((3, n))
        lists = [np.empty(0, np.int32), np.empty(0), np.empty(0)]
        done, filled, room = 0, 0, 4 * len(nodes) + n
        while done < size:  # how much room is needed is not known before
            if allow is not None:
                allow(room * (24 if plain else 32))  # lists by nodes, and then by strings
            lists = [np.resize(part, room) for part in lists[: 2 if plain else 3]]
            reach, value = lists[1], lists[-1]
            lists_of = lists[0], reach, value, first, last
            done, filled = _gather(tree, (begins, owners, ends), table, acc, lists_of, (done, filled), (self.inner, n))
            room = 2 * room + n
        out = np.empty(filled, np.int32), np.empty(filled), np.zeros(n + 1, np.intp)
        _scatter(lists[0], lists[-1], first, last, *out)
        return out


def _order_by(keys: Whole, size: int) -> tuple[Whole, Whole]:
    """Return the order of keys below `size`, stable for equal ones, and where each key begins in it."""
    begins, order = np.zeros(size + 1, keys.dtype), np.empty(len(keys), keys.dtype)
    np.cumsum(np.bincount(keys, minlength=size), out=begins[1:])
    _place_by(keys, begins[:-1].copy(), order)
    return order, begins


@compiled
def _place_by(keys, begins, order):
    for i in range(keys.size):
        order[begins[keys[i]]] = i
        begins[keys[i]] += 1


@compiled
def _link_intervals(prefixes, order, work, leaf_parents, depth, parent, start):
    """Make the inner nodes, children before parents; return how many there are."""
    stack, lows, above, renamed = work[0], work[1], work[2], work[3]
    # nodes get a number when they are opened; `renamed` is their place among the closed ones
    depths, firsts = parent, start  # room that is not needed yet
    n = order.size
    opened, closed, top = 1, 0, 0
    stack[0], lows[0], depths[0] = 0, 0, 0
    for i in range(1, n + 1):
        here = prefixes[i] if i < n else 0
        if here > depths[stack[top]]:
            depths[opened], top = here, top + 1
            stack[top], lows[top] = opened, i - 1
            opened += 1
            leaf_parents[i - 1] = stack[top]
            continue
        leaf_parents[i - 1] = stack[top]
        while depths[stack[top]] > here:
            node, low = stack[top], lows[top]
            firsts[node] = low
            renamed[node] = closed
            closed += 1
            top -= 1
            if depths[stack[top]] < here:
                depths[opened], top = here, top + 1
                stack[top], lows[top] = opened, low
                opened += 1
            above[node] = stack[top]
    renamed[0], above[0], firsts[0] = closed, 0, 0
    closed += 1
    for i in range(n):
        leaf_parents[i] = renamed[leaf_parents[i]]
    for node in range(closed):
        depth[renamed[node]] = depths[node]
    # lows and above are read before the room of depths and firsts is used
    for node in range(closed):
        stack[renamed[node]] = order[firsts[node]] if n else 0
        lows[renamed[node]] = renamed[above[node]]
    for node in range(closed):
        start[node] = stack[node]
        parent[node] = lows[node]
    return closed


@compiled
def _child(children, node, symbol):
    """Return the child of an inner node whose edge begins with a symbol, or -1."""
    begins, nodes, symbols = children
    if node >= begins.size - 1:
        return -1
    low, high = begins[node], begins[node + 1]
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    if low < begins[node + 1] and symbols[low] == symbol:
        return np.int64(nodes[low])
    return -1


@compiled
def _find_links(text, depth, parent, start, children, out):
    root = out.size - 1
    out[root] = root
    for node in range(root - 1, -1, -1):
        begin, goal = start[node] + 1, depth[node] - 1
        at = np.int64(out[parent[node]])
        while depth[at] < goal:  # the string is in the tree: first symbols of edges show the way
            at = _child(children, at, text[begin + depth[at]])
        out[node] = at


@compiled
def _find(children, symbols, low, high, symbol):
    """Return the child whose edge begins with a symbol, or -1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return np.int64(children[low]) if low < end and symbols[low] == symbol else np.int64(-1)


@compiled
def _match(tree, root, strings, limit, nodes, lengths):
    text, table, children, symbols = tree
    codes, offsets = strings
    for s in range(offsets.size - 1):
        stop = offsets[s + 1]
        at, m = np.int64(root), 0
        for i in range(offsets[s], stop):
            if m > 1:  # what is known of the suffix before, without its first symbol
                at = np.int64(table[at, 4] if table[at, 0] == m else table[at, 5])
                m -= 1
                while table[at, 0] < m:
                    at = _find(children, symbols, table[at, 2], table[at, 3], codes[i + table[at, 0]])
            else:
                at, m = np.int64(root), 0
            while m < limit and i + m < stop:
                if m < table[at, 0]:
                    if text[table[at, 1] + m] != codes[i + m]:
                        break
                else:
                    child = _find(children, symbols, table[at, 2], table[at, 3], codes[i + m])
                    if child < 0:
                        break
                    at = child
                m += 1
            nodes[i], lengths[i] = at, m


@compiled
def _gather(tree, matches, weights, acc, lists, state, sizes):
    """Make the lists of (string, matches that reach the edge, value) of all nodes: leaves first, then from below.

    It stops where room might not suffice, and goes on from there; `state` is the nodes done and the entries filled.
    """
    depth, parent, begins, children = tree
    starts, owners, ends = matches
    rows, reach, value, first, last = lists
    done, filled = state
    inner, n = sizes
    leaves = depth.size - inner
    seen = np.full(n, -1, np.int64)
    full, part, ending = acc[0], acc[1], acc[2]
    weighted = weights.size > 1
    while done < depth.size and filled + n <= rows.size:
        node = inner + done if done < leaves else done - leaves
        done += 1
        low = filled
        first[node] = low
        last[node] = low
        if node == inner - 1:  # the root has no list
            continue
        if node < inner:
            for c in range(begins[node], begins[node + 1]):
                for place in range(first[children[c]], last[children[c]]):
                    s = rows[place]
                    if seen[s] != node:
                        seen[s] = node
                        rows[filled] = s
                        filled += 1
                    full[s] += reach[place]
        whole, above = depth[node], depth[parent[node]]
        for i in range(starts[node], starts[node + 1]):
            s = owners[i]
            if seen[s] != node:
                seen[s] = node
                rows[filled] = s
                filled += 1
            if weighted and ends[i] < whole:
                part[s] += weights[ends[i]] - weights[above]
                ending[s] += 1.0
            else:
                full[s] += 1.0
        last[node] = filled
        edge = weights[whole] - weights[above] if weighted else 1.0
        for place in range(low, filled):
            s = rows[place]
            reach[place] = full[s] + ending[s]
            if weighted:
                value[place] = full[s] * edge + part[s]
            full[s], part[s], ending[s] = 0.0, 0.0, 0.0
    return done, filled


@compiled
def _scatter(rows, value, first, last, indices, data, indptr):
    """Turn lists by nodes into lists by strings, nodes in order."""
    for node in range(first.size):
        for place in range(first[node], last[node]):
            indptr[rows[place] + 1] += 1
    for s in range(1, indptr.size):
        indptr[s] += indptr[s - 1]
    for node in range(first.size):
        for place in range(first[node], last[node]):
            to = indptr[rows[place]]
            indptr[rows[place]] = to + 1
            indices[to] = node
            data[to] = value[place]
    for s in range(indptr.size - 1, 0, -1):
        indptr[s] = indptr[s - 1]
    indptr[0] = 0

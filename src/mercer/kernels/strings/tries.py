"""Common substrings of two collections by a trie that is walked, never stored.

A node of the trie is a string v and the list of places on either side at which v occurs. Its children split both lists
by the symbol that follows. A branch that is empty on one side is left at once, so that the walk visits only what both
sides have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Codes, Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["common_substrings"]

_Side = tuple[Codes, Indices]  # symbols of all strings, and where each string begins


def common_substrings(left: _Side, right: _Side, length: int, symbols: int) -> Floats:
    """Return for all pairs of strings the number of pairs of places with the same substring of a length.

    Parameters
    ----------
    left, right : (codes, offsets)
        Codes below `symbols`; the same symbol has the same code on both sides.
    length : int
        At least 1.
    symbols : int

    Returns
    -------
    (n, m) array

    Notes
    -----
    Every level of the trie moves each place at most once: O(length * (symbols of left + symbols of right)) time, and
    memory for the lists alone.

    Examples
    --------
    >>> ab = np.array([0, 1, 0, 1], np.int32), np.array([0, 4])
    >>> common_substrings(ab, ab, 2, 2)  # "ab" twice and "ba" once
    array([[5.]])
    """
    out = np.zeros((len(left[1]) - 1, len(right[1]) - 1))
    sides = [_places(*side, length) for side in (left, right)]
    (places, owners), (others, theirs) = sides
    if len(places) and len(others):
        stack = np.empty((min(len(places), len(others)) + 1, 5), np.int64)
        table = np.zeros((2, symbols), np.int64), np.full((2, symbols), -1, np.int64), np.empty(symbols, np.int64)
        spare = np.empty((2, max(len(places), len(others))), np.int64)
        runs = np.empty((2, len(others)), np.int64)
        _walk((left[0], places, owners), (right[0], others, theirs), length, stack, table, spare, runs, out)
    return out


def _places(codes: Codes, offsets: Indices, length: int) -> tuple[Any, Any]:
    """Return the places at which substrings of the length begin, and the strings they are in."""
    per_string = np.maximum(np.diff(offsets) - length + 1, 0)
    bounds = np.cumsum(per_string) - per_string
    owners = np.repeat(np.arange(len(per_string), dtype=np.int64), per_string)
    places = np.arange(len(owners), dtype=np.int64) + np.repeat(offsets[:-1] - bounds, per_string)
    return places, owners


@compiled
def _part(side, low, high, depth, slots, spare):
    """Order the places of a list by the symbol that follows, those with a slot only; equals keep their order."""
    codes, places, owners = side
    kept = 0
    for i in range(low, high):
        symbol = codes[places[i] + depth]
        to = slots[symbol]
        if to >= 0:
            spare[0, to] = places[i]
            spare[1, to] = owners[i]
            slots[symbol] = to + 1
            kept += 1
    for i in range(kept):
        places[low + i] = spare[0, i]
        owners[low + i] = spare[1, i]


@compiled
def _add_leaf(mine, theirs, node, runs, out):
    """Add |list of s| |list of t| for all strings s and t; the places of a string are adjacent."""
    count = 0
    for j in range(node[3], node[4]):
        if count and runs[0, count - 1] == theirs[j]:
            runs[1, count - 1] += 1
        else:
            runs[0, count] = theirs[j]
            runs[1, count] = 1
            count += 1
    i = node[1]
    while i < node[2]:
        stop = i + 1
        while stop < node[2] and mine[stop] == mine[i]:
            stop += 1
        row = out[mine[i]]
        for r in range(count):
            row[runs[0, r]] += float(stop - i) * float(runs[1, r])
        i = stop


@compiled
def _walk(left, right, length, stack, table, spare, runs, out):
    """Visit the nodes that both sides have. A node: depth, the list of the left from and to, that of the right."""
    counts, slots, seen = table
    stack[0] = np.array([0, 0, left[1].size, 0, right[1].size])
    node = np.empty(5, np.int64)
    top = 1
    while top:
        top -= 1
        for k in range(5):
            node[k] = stack[top, k]
        depth = node[0]
        if depth == length:
            _add_leaf(left[2], right[2], node, runs, out)
            continue
        distinct = 0
        for side in range(2):
            codes, places = (left[0], left[1]) if side == 0 else (right[0], right[1])
            for i in range(node[1 + 2 * side], node[2 + 2 * side]):
                symbol = codes[places[i] + depth]
                if counts[0, symbol] + counts[1, symbol] == 0:
                    seen[distinct] = symbol
                    distinct += 1
                counts[side, symbol] += 1
        a, b = 0, 0
        for s in range(distinct):
            mine, theirs = counts[0, seen[s]], counts[1, seen[s]]
            if mine and theirs:
                slots[0, seen[s]], slots[1, seen[s]] = a, b
                stack[top, 0] = depth + 1
                stack[top, 1], stack[top, 2] = node[1] + a, node[1] + a + mine
                stack[top, 3], stack[top, 4] = node[3] + b, node[3] + b + theirs
                a, b, top = a + mine, b + theirs, top + 1
        _part(left, node[1], node[2], depth, slots[0], spare)
        _part(right, node[3], node[4], depth, slots[1], spare)
        for s in range(distinct):
            counts[0, seen[s]], counts[1, seen[s]] = 0, 0
            slots[0, seen[s]], slots[1, seen[s]] = -1, -1

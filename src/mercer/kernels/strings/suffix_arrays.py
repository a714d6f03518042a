"""The suffixes of all strings of a collection, sorted in linear time and memory, and their common prefixes.

Suffixes are sorted by induced sorting, and the lengths of the common prefixes of neighbours found by the method of
Kasai and others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.runtime.compiled import compiled

__all__ = ["Whole", "common_prefixes", "suffix_array"]

Whole = NDArray[Any]  # int32, or int64 where positions need it


def suffix_array(text: Whole, symbols: int) -> Whole:
    """Return the places at which the suffixes of a text begin, in the order of the suffixes.

    Parameters
    ----------
    text : (N,) array of int
        At least 0 and below `symbols`.
    symbols : int

    Notes
    -----
    Induced sorting (Nong, Zhang and Chan): O(N + symbols). A suffix that is the beginning of another comes first.

    Examples
    --------
    >>> suffix_array(np.array([1, 0, 2, 0, 2, 0]), 3)  # banana
    array([5, 3, 1, 0, 4, 2], dtype=int32)
    """
    kind = np.int32 if len(text) < 2**31 - 1 else np.int64
    return _suffix_array(np.ascontiguousarray(text, dtype=kind), int(symbols))


def _suffix_array(text: Whole, symbols: int) -> Whole:
    n, kind = len(text), text.dtype
    order = np.full(n, -1, kind)
    if n < 2:
        return np.zeros(n, kind)
    rising = np.zeros(n, np.bool_)
    large, small = np.zeros(symbols + 1, kind), np.zeros(symbols + 1, kind)
    number = np.full(n + 1, -1, kind)
    count = _classify(text, rising, large, small, number)
    turns = np.flatnonzero(number[:n] >= 0).astype(kind)
    spare = np.empty_like(large)
    _induce(text, rising, large, small, turns, spare, order)
    if count:
        names, sorted_turns = np.empty(count, kind), np.empty(count, kind)
        distinct = _name(text, order, number, turns, sorted_turns, names)
        if distinct < count:
            inner = _suffix_array(names, distinct)
        else:
            inner = np.empty(count, kind)
            inner[names] = np.arange(count, dtype=kind)
        order.fill(-1)
        _induce(text, rising, large, small, turns[inner], spare, order)
    return order


@compiled
def _classify(text, rising, large, small, number):
    """Find which suffixes are smaller than the next, where the buckets of both kinds begin, and number the turns.

    A turn is a suffix smaller than the next that follows a larger one.
    """
    n = text.size
    for i in range(n - 2, -1, -1):
        rising[i] = rising[i + 1] if text[i] == text[i + 1] else text[i] < text[i + 1]
    for i in range(n):
        if rising[i]:
            large[text[i] + 1] += 1
        else:
            small[text[i]] += 1
    for c in range(large.size):
        small[c] += large[c]
        if c + 1 < large.size:
            large[c + 1] += small[c]
    count = 0
    for i in range(1, n):
        if rising[i] and not rising[i - 1]:
            number[i] = count
            count += 1
    return count


@compiled
def _induce(text, rising, large, small, turns, spare, order):
    """Sort all suffixes, given the order of the turns."""
    n = text.size
    for c in range(spare.size):
        spare[c] = small[c]
    for t in range(turns.size):
        c = text[turns[t]]
        order[spare[c]] = turns[t]
        spare[c] += 1
    for c in range(spare.size):
        spare[c] = large[c]
    order[spare[text[n - 1]]] = n - 1
    spare[text[n - 1]] += 1
    for i in range(n):
        v = order[i]
        if v >= 1 and not rising[v - 1]:
            c = text[v - 1]
            order[spare[c]] = v - 1
            spare[c] += 1
    for c in range(spare.size):
        spare[c] = large[c]
    for i in range(n - 1, -1, -1):
        v = order[i]
        if v >= 1 and rising[v - 1]:
            c = text[v - 1] + 1
            spare[c] -= 1
            order[spare[c]] = v - 1


@compiled
def _name(text, order, number, turns, sorted_turns, names):
    """Name the stretches between turns by their rank; return how many are distinct."""
    n, count = text.size, turns.size
    filled = 0
    for i in range(n):
        if number[order[i]] >= 0:
            sorted_turns[filled] = order[i]
            filled += 1
    names[number[sorted_turns[0]]] = 0
    distinct = 1
    for t in range(1, count):
        a, b = sorted_turns[t - 1], sorted_turns[t]
        end = turns[number[a] + 1] if number[a] + 1 < count else n
        other = turns[number[b] + 1] if number[b] + 1 < count else n
        same = end - a == other - b
        while same and a < end:
            same = text[a] == text[b]
            a += 1
            b += 1
        if not same or a == n or b == n or text[a] != text[b]:
            distinct += 1
        names[number[sorted_turns[t]]] = distinct - 1
    return distinct


def common_prefixes(text: Whole, order: Whole) -> Whole:
    """Return how many symbols each suffix of the suffix array has in common with the one before, up to a zero.

    Examples
    --------
    >>> text = np.array([2, 1, 3, 1, 3, 1])
    >>> common_prefixes(text, suffix_array(text, 4))
    array([0, 1, 3, 0, 0, 2], dtype=int32)
    """
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    out = np.zeros_like(order)
    _kasai(np.ascontiguousarray(text, dtype=order.dtype), order, rank, out)
    return out


@compiled
def _kasai(text, order, rank, out):
    n = text.size
    same = 0
    for i in range(n):
        if rank[i] == 0 or text[i] == 0:
            same = 0
            continue
        j = order[rank[i] - 1]
        while i + same < n and j + same < n and text[i + same] == text[j + same] and text[i + same] != 0:
            same += 1
        out[rank[i]] = same
        if same:
            same -= 1

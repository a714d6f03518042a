"""Numbers for sequences of integers: equal sequences get the same number, and only those.

A table with open addressing holds the sequences seen; a hash says where to look, the sequences themselves are compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.runtime.compiled import compiled

__all__ = ["find_rows", "find_sequences", "intern_sequences"]


def intern_sequences(codes: NDArray[np.int64], offsets: Indices) -> tuple[NDArray[np.int64], Indices]:
    """Number the distinct sequences in the order in which they are first seen.

    Parameters
    ----------
    codes : (total,) array of int64
        The members of all sequences, one after another.
    offsets : (n + 1,) array of intp
        Sequence i is ``codes[offsets[i]:offsets[i + 1]]``.

    Returns
    -------
    ids : (n,) array of int64
        The number of each sequence.
    first : (D,) array of intp
        Where each distinct sequence is found first.

    Examples
    --------
    >>> ids, first = intern_sequences(np.array([1, 2, 3, 1, 2]), np.array([0, 2, 3, 5]))
    >>> ids.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    n = len(offsets) - 1
    ids, first = np.empty(n, np.int64), np.empty(n, np.intp)
    total = _intern(codes, offsets, _slots(n), ids, first)
    return ids, first[:total].copy()


def find_sequences(
    codes: NDArray[np.int64], offsets: Indices, others: NDArray[np.int64], other_offsets: Indices
) -> Indices:
    """Return for each of the other sequences its place among distinct sequences, or -1.

    Examples
    --------
    >>> ours, theirs = np.array([1, 2, 3]), np.array([3, 2, 1, 2])
    >>> find_sequences(ours, np.array([0, 2, 3]), theirs, np.array([0, 1, 2, 4])).tolist()
    [1, -1, 0]
    """
    places = np.empty(len(other_offsets) - 1, np.intp)
    n = len(offsets) - 1
    _find(codes, offsets, _slots(n), np.empty(n, np.int64), np.empty(n, np.intp), others, other_offsets, places)
    return places


def find_rows(table: NDArray[np.int64], others: NDArray[np.int64]) -> Indices:
    """Return for each row of a second table its place among the distinct rows of the first, or -1.

    Examples
    --------
    >>> find_rows(np.array([[1, 2], [3, 4]]), np.array([[3, 4], [4, 3], [1, 2]])).tolist()
    [1, -1, 0]
    """
    width = table.shape[1]
    ours, theirs = (np.ascontiguousarray(rows, dtype=np.int64).ravel() for rows in (table, others))
    return find_sequences(ours, _steps(len(table), width), theirs, _steps(len(others), width))


def _steps(count: int, width: int) -> Indices:
    return np.arange(count + 1, dtype=np.intp) * width


def _slots(count: int) -> NDArray[np.int64]:
    return np.full(1 << max(int(2 * count).bit_length(), 4), -1, np.int64)


@compiled
def _spread(codes, start, stop, size):
    """Return the slot at which to begin to look for a sequence."""
    value = np.uint64(stop - start)
    for t in range(start, stop):
        value = (value ^ np.uint64(codes[t])) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    return np.int64((value ^ (value >> np.uint64(32))) & np.uint64(size - 1))


@compiled(inline=True)
def _same(codes, start, stop, others, begin, end):
    if stop - start != end - begin:
        return False
    t = 0
    while start + t < stop and codes[start + t] == others[begin + t]:
        t += 1
    return start + t == stop


@compiled
def _intern(codes, offsets, slots, ids, first):
    count = 0
    for i in range(offsets.size - 1):
        start, stop = offsets[i], offsets[i + 1]
        slot = _spread(codes, start, stop, slots.size)
        while slots[slot] >= 0:
            other = first[slots[slot]]
            if _same(codes, start, stop, codes, offsets[other], offsets[other + 1]):
                break
            slot = (slot + 1) & (slots.size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            first[count] = i
            count += 1
        ids[i] = slots[slot]
    return count


@compiled
def _find(codes, offsets, slots, ids, first, others, other_offsets, places):
    _intern(codes, offsets, slots, ids, first)
    for i in range(other_offsets.size - 1):
        start, stop = other_offsets[i], other_offsets[i + 1]
        slot = _spread(others, start, stop, slots.size)
        places[i] = -1
        while slots[slot] >= 0:
            place = first[slots[slot]]
            if _same(others, start, stop, codes, offsets[place], offsets[place + 1]):
                places[i] = place
                break
            slot = (slot + 1) & (slots.size - 1)

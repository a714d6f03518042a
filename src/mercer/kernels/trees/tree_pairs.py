"""Sums over pairs of nodes of two trees, in which a pair needs what its pairs of children gave.

A collection of trees is ``(nodes, offsets)``: nodes (N, 2) in post-order, of each a number (-1 matches nothing) and the
size of its subtree. Only pairs with equal numbers are considered: the nodes of the tree in a column are put in buckets
by number, and those of the trees in the rows look there. What a row of pairs (v, .) gave is on a stack, at its place in
the bucket, until the parent of v has read it: the stack is as high as needed for the pairs along a path.

All take ``left, right`` collections with numbers of one table, ``slices`` of rows and columns (two pairs of int),
``shape`` (what of the tile is computed, and the length of the table), factors, for some ``room``, the entries that the
stack may have, and ``out``, the values and their slopes (an empty array if they are not wanted). They return 0, or the
entries that the stack would have needed.
"""

from __future__ import annotations

import numpy as np

from mercer.runtime.compiled import compiled

__all__ = ["DIAGONAL", "PLAIN", "SYMMETRIC", "corooted_tile", "partial_tile", "subset_tile"]

PLAIN, SYMMETRIC, DIAGONAL = 0, 1, 2  # what of a tile is computed


@compiled
def _bucket(nodes, start, stop, count, begin, slots):
    """Arrange the nodes of a tree by their numbers: `slots` has nodes and, for each, its place among equals."""
    for v in range(start, stop):
        number = nodes[v, 0]
        if number >= 0:
            slots[1, v - start] = count[number]
            count[number] += 1
    place = 0
    for v in range(start, stop):
        number = nodes[v, 0]
        if number >= 0:
            if slots[1, v - start] == 0:
                begin[number] = place
                place += count[number]
            slots[0, begin[number] + slots[1, v - start]] = v


@compiled
def _unbucket(nodes, start, stop, count):
    for v in range(start, stop):
        if nodes[v, 0] >= 0:
            count[nodes[v, 0]] = 0


@compiled
def _largest(offsets, bounds):
    most = 0
    for i in range(bounds[0], bounds[1]):
        most = max(most, offsets[i + 1] - offsets[i])
    return most


@compiled
def _partners(rows, j, mode):
    """Return which rows are computed for column j: all, those up to it of a symmetric tile, or itself."""
    if mode == DIAGONAL:
        return j, j + 1
    return rows[0], min(rows[1], j + 1) if mode == SYMMETRIC else rows[1]


@compiled
def _put(out, i, j, mode, value):
    if mode == DIAGONAL:
        out[i, 0] = value
        return
    out[i, j] = value
    if mode == SYMMETRIC:
        out[j, i] = value


@compiled
def subset_tile(left, right, slices, shape, decay, room, out):
    """Write the subset tree kernel of a tile; return the entries that were needed if there was no room for them."""
    nodes, offsets = left
    others, starts = right
    rows, columns = slices
    values, slopes = out
    deep = slopes.size > 0
    count, begin = np.zeros(shape[1], np.int32), np.zeros(shape[1], np.int32)
    slots = np.empty((2, _largest(starts, columns)), np.int64)
    base, opened = np.empty(_largest(offsets, rows), np.int64), np.empty(_largest(offsets, rows), np.int64)
    memo = np.empty(4096)
    slope = np.empty(4096 if deep else 0)
    for j in range(columns[0], columns[1]):
        low = starts[j]
        _bucket(others, low, starts[j + 1], count, begin, slots)
        first, last = _partners(rows, j, shape[0])
        for i in range(first, last):
            root = offsets[i]
            total, derived = 0.0, 0.0
            top = 0
            for v in range(root, offsets[i + 1]):
                number, size = nodes[v, 0], nodes[v, 1]
                if size == 1:
                    opened[v - root] = top
                    if number >= 0:
                        total += decay * count[number]
                        derived += count[number]
                    continue
                bottom = opened[v - root - size + 1]
                alike = count[number]
                if top + alike > memo.size:
                    if top + alike > room:
                        return top + alike
                    memo = np.append(memo, np.empty(top + alike))
                    if deep:
                        slope = np.append(slope, np.empty(top + alike))
                for t in range(alike):
                    child, other = v - 1, slots[0, begin[number] + t] - 1
                    product, relative = 1.0, 0.0
                    while child > v - size:
                        if nodes[child, 1] > 1 and nodes[child, 0] == others[other, 0]:
                            place = base[child - root] + slots[1, other - low]
                            factor = 1.0 + memo[place]
                            product *= factor
                            if deep:
                                relative += slope[place] / factor
                        child -= nodes[child, 1]
                        other -= others[other, 1]
                    memo[top + t] = decay * product
                    total += decay * product
                    if deep:
                        slope[top + t] = product + decay * product * relative
                        derived += slope[top + t]
                if bottom < top:  # what the children gave is no longer needed
                    for t in range(alike):
                        memo[bottom + t] = memo[top + t]
                    if deep:
                        for t in range(alike):
                            slope[bottom + t] = slope[top + t]
                base[v - root] = bottom
                top = bottom + alike
            _put(values, i - rows[0], j - columns[0], shape[0], total)
            if deep:
                _put(slopes[0], i - rows[0], j - columns[0], shape[0], derived)
        _unbucket(others, low, starts[j + 1], count)
    return 0


@compiled
def corooted_tile(left, right, slices, shape, decay, out):
    """Write the co-rooted subtree kernel of a tile: pairs of nodes are listed from the roots down."""
    nodes, offsets = left
    others, starts = right
    rows, columns = slices
    values, slopes = out
    most = _largest(offsets, rows)
    listed = np.empty((3, most), np.int64)  # node, other node, and where the pair of their parents is
    product, relative = np.empty(most), np.empty(most)
    for j in range(columns[0], columns[1]):
        first, last = _partners(rows, j, shape[0])
        for i in range(first, last):
            found = 0
            v, other = offsets[i + 1] - 1, starts[j + 1] - 1
            if v >= offsets[i] and other >= starts[j] and nodes[v, 0] >= 0 and nodes[v, 0] == others[other, 0]:
                listed[0, 0], listed[1, 0], listed[2, 0] = v, other, -1
                found = 1
            place = 0
            while place < found:
                product[place], relative[place] = 1.0, 0.0
                v = listed[0, place]
                child, other = v - 1, listed[1, place] - 1
                while child > v - nodes[v, 1]:
                    if nodes[child, 0] >= 0 and nodes[child, 0] == others[other, 0]:
                        listed[0, found], listed[1, found], listed[2, found] = child, other, place
                        found += 1
                    child -= nodes[child, 1]
                    other -= others[other, 1]
                place += 1
            value, slope = 0.0, 0.0
            for place in range(found - 1, -1, -1):
                value = decay * product[place]
                slope = product[place] + value * relative[place]
                above = listed[2, place]
                if above >= 0:
                    product[above] *= 1.0 + value
                    relative[above] += slope / (1.0 + value)
            _put(values, i - rows[0], j - columns[0], shape[0], value)
            if slopes.size > 0:
                _put(slopes[0], i - rows[0], j - columns[0], shape[0], slope)
    return 0


@compiled
def partial_tile(left, right, slices, shape, factors, room, out):
    """Write the partial tree kernel of a tile; return the entries that were needed if there was no room for them."""
    nodes, offsets = left
    others, starts = right
    rows, columns = slices
    decay, mu = factors
    values, slopes = out
    depth = 3 if slopes.size > 0 else 1  # the value, then the derivatives in decay and mu
    count, begin = np.zeros(shape[1], np.int32), np.zeros(shape[1], np.int32)
    slots = np.empty((2, _largest(starts, columns)), np.int64)
    base, opened = np.empty(_largest(offsets, rows), np.int64), np.empty(_largest(offsets, rows), np.int64)
    memo = np.empty((2048, depth))
    total, unit = np.zeros(3), np.array([mu * decay * decay, 2.0 * mu * decay, decay * decay])
    work = np.empty((_largest(starts, columns), depth))
    for j in range(columns[0], columns[1]):
        low = starts[j]
        _bucket(others, low, starts[j + 1], count, begin, slots)
        first, last = _partners(rows, j, shape[0])
        for i in range(first, last):
            root = offsets[i]
            total[:] = 0.0
            top = 0
            for v in range(root, offsets[i + 1]):
                number, size = nodes[v, 0], nodes[v, 1]
                alike = count[number]
                if size == 1:
                    opened[v - root] = top
                    for k in range(depth):
                        total[k] += alike * unit[k]
                    continue
                bottom = opened[v - root - size + 1]
                if top + alike > memo.shape[0]:
                    if top + alike > room:
                        return top + alike
                    larger = np.empty((2 * (top + alike), depth))
                    larger[:top] = memo[:top]
                    memo = larger
                base[v - root] = bottom
                for t in range(alike):
                    other = slots[0, begin[number] + t]
                    pair = memo[top + t]
                    if others[other, 1] == 1:
                        pair[:] = unit[:depth]
                    elif depth == 1:
                        known = (memo, base, slots[1], unit, work)
                        pair[0] = mu * (decay * decay + _children(nodes, others, (v, other), (root, low), known, decay))
                    else:
                        known = (memo, base, slots[1], unit, work)
                        a, b, c = _children_slopes(nodes, others, (v, other), (root, low), known, decay)
                        pair[0] = mu * (decay * decay + a)
                        pair[1] = mu * (2.0 * decay + b)
                        pair[2] = decay * decay + a + mu * c
                    for k in range(depth):
                        total[k] += pair[k]
                if bottom < top:  # what the children gave is no longer needed
                    for t in range(alike):
                        memo[bottom + t] = memo[top + t]
                top = bottom + alike
            _put(values, i - rows[0], j - columns[0], shape[0], total[0])
            if depth > 1:
                _put(slopes[0], i - rows[0], j - columns[0], shape[0], total[1])
                _put(slopes[1], i - rows[0], j - columns[0], shape[0], total[2])
        _unbucket(others, low, starts[j + 1], count)
    return 0


@compiled
def _children(nodes, others, pair, begins, known, decay):
    """Add over all common subsequences of the children of two nodes.

    Symbols: F(k, l) what ends at children k and l, G(k, l) = sum of decay^(k - i + l - j) F(i, j) over i <= k, j <= l.
    Then F(k, l) = C(k, l) (1 + G(k - 1, l - 1)), and G is a sum along rows, then along columns; `work` holds a row of
    G. Children are taken from right to left, which changes nothing.
    """
    memo, base, rank, unit, work = known
    v, w = pair
    total = 0.0
    child = v - 1
    fresh = True
    while child > v - nodes[v, 1]:
        other, place = w - 1, 0
        along, corner = 0.0, 0.0
        while other > w - others[w, 1]:
            above = 0.0 if fresh else work[place, 0]
            along *= decay
            if nodes[child, 0] == others[other, 0]:
                if nodes[child, 1] == 1 or others[other, 1] == 1:
                    value = unit[0]
                else:
                    value = memo[base[child - begins[0]] + rank[other - begins[1]], 0]
                value *= 1.0 + corner
                total += value
                along += value
            work[place, 0] = along + decay * above
            corner = above
            place += 1
            other -= others[other, 1]
        fresh = False
        child -= nodes[child, 1]
    return total


@compiled
def _children_slopes(nodes, others, pair, begins, known, decay):
    """Return what `_children` adds and its derivatives in decay and mu, given those of the children."""
    memo, base, rank, unit, work = known
    v, w = pair
    total = np.zeros(3)
    value, along, corner, above = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    child = v - 1
    work[: others[w, 1]] = 0.0
    while child > v - nodes[v, 1]:
        other, place = w - 1, 0
        along[:] = 0.0
        corner[:] = 0.0
        while other > w - others[w, 1]:
            above[:] = work[place]
            along[1] = decay * along[1] + along[0]
            along[0] *= decay
            along[2] *= decay
            if nodes[child, 0] == others[other, 0]:
                if nodes[child, 1] == 1 or others[other, 1] == 1:
                    value[:] = unit
                else:
                    value[:] = memo[base[child - begins[0]] + rank[other - begins[1]]]
                for k in range(2, 0, -1):
                    value[k] = value[k] * (1.0 + corner[0]) + value[0] * corner[k]
                value[0] *= 1.0 + corner[0]
                for k in range(3):
                    total[k] += value[k]
                    along[k] += value[k]
            for k in range(3):
                work[place, k] = along[k] + decay * above[k]
            work[place, 1] += above[0]
            corner[:] = above
            place += 1
            other -= others[other, 1]
        child -= nodes[child, 1]
    return total[0], total[1], total[2]

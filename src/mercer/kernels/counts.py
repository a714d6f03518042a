"""Counts of many things in many objects: how often each occurs, and the products of the counts of pairs of objects.

Symbols: n objects, D distinct things, N occurrences in all. Counts are sparse, (n, D) in CSR.

Things that one object alone has enter its own product only. Of the others, those that most objects have are multiplied
as dense matrices (in float32 where every sum is a whole number below 2^24, which is exact), and the rest by lists of
the objects that have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["Overlap", "arrays_of", "as_csr", "count", "overlap", "renumbered", "transposed"]

_BITS = 11  # of a digit of the sort: as many lists as fit into the nearest cache
_FEW = 4096  # columns of a dense product at most
_FILLED = 0.03  # share of all pairs that have a thing in common from which a dense product is quicker than lists
_WORTH = 256  # pairs, from which on a dense product is worth its call
_EXACT = 2.0**24  # whole numbers up to here are exact in float32
_SMALL = 2**15  # entries up to which passes of NumPy take the place of loops that would have to be compiled first
_PRODUCTS = 2**17  # the same for products
_PAIRS = 2**20  # the same for pairs of objects


# ---------------------------------------------------------------------------------------- counting


def count(values: NDArray[np.int64], bounds: Indices, span: int) -> tuple[sp.csr_array, Indices]:
    """Count the values of every object.

    Parameters
    ----------
    values : (N,) array of int64
        What occurs, object after object; each at least 0 and below `span`.
    bounds : (n + 1,) array of intp
        Where the objects begin among the values.
    span : int

    Returns
    -------
    counts : (n, D) CSR of float64
        A column for each distinct value, in ascending order.
    first : (D,) array
        Where each distinct value is found first.

    Examples
    --------
    >>> counts, first = count(np.array([7, 3, 7, 3]), np.array([0, 3, 4]), 8)
    >>> counts.toarray(), first
    (array([[1., 2.],
           [1., 0.]]), array([1, 0]))
    """
    n, total = len(bounds) - 1, len(values)
    if total <= _SMALL:
        return _count_few(values, bounds)
    if span * max(n, 1) <= 8 * total + 4096:
        place = np.full(span, -1, np.intp)
        first = np.empty(min(span, total), np.intp)
        width = _rank_by_table(values, place, first)
        room = min(total, n * width)
        indptr, indices, data = np.empty(n + 1, np.intp), np.empty(room, np.int32), np.empty(room)
        filled = _count_by_table(values, bounds, place, np.zeros(width), indptr, indices, data)
    else:
        keys, order = _sorted(values, span)
        rows, data = np.empty(total, np.int32), np.empty(total)
        begins, first = np.empty(total + 1, np.intp), np.empty(total, np.intp)
        owners = np.repeat(np.arange(n, dtype=np.int32), np.diff(bounds))
        width, filled = _group(keys, order, owners, rows, data, begins, first)
        lists = rows[:filled], data[:filled], begins[: width + 1]
        indices, data, indptr = transposed(lists, n)
    # copies let go of what was not needed of the room
    return as_csr((indices[:filled].copy(), data[:filled].copy(), indptr), width), first[:width].copy()


def _count_few(values: NDArray[np.int64], bounds: Indices) -> tuple[sp.csr_array, Indices]:
    distinct, first, columns = np.unique(values, return_index=True, return_inverse=True)
    width = max(len(distinct), 1)
    keys, data = np.unique(_rows_of(bounds) * width + columns, return_counts=True)
    indptr = _ends_of(keys // width, len(bounds) - 1)
    return as_csr(((keys % width).astype(np.int32), data.astype(float), indptr), len(distinct)), first


def _rows_of(indptr: Indices) -> Indices:
    """Return the row of every entry."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _ends_of(rows: Indices, n: int) -> Indices:
    """Return where each of n rows begins among entries in the order of their rows, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.intp)


def as_csr(lists: tuple[Any, Any, Any], width: int) -> sp.csr_array:
    """Return CSR of ``(indices, data, indptr)`` in order, with narrow indices as long as they suffice."""
    indices, data, indptr = lists
    if len(data) < 2**31 - 1:  # SciPy would widen the indices to the type of these
        indptr = indptr.astype(np.int32)
    matrix = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


@compiled
def _rank_by_table(values, place, first):
    """Give each distinct value its rank in `place`, and where it is found first in `first`; return how many."""
    for i in range(values.size):
        if place[values[i]] < 0:
            place[values[i]] = i
    width = 0
    for value in range(place.size):
        if place[value] >= 0:
            first[width] = place[value]
            place[value] = width
            width += 1
    return width


@compiled
def _count_by_table(values, bounds, place, table, indptr, indices, data):
    filled = 0
    indptr[0] = 0
    for i in range(bounds.size - 1):
        for j in range(bounds[i], bounds[i + 1]):
            table[place[values[j]]] += 1.0
        if bounds[i + 1] > bounds[i]:
            for column in range(table.size):
                if table[column] > 0.0:
                    indices[filled] = column
                    data[filled] = table[column]
                    table[column] = 0.0
                    filled += 1
        indptr[i + 1] = filled
    return filled


def _sorted(values: NDArray[np.int64], span: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return values in ascending order and their positions; equal ones keep their order."""
    small = np.uint32 if span <= 2**32 else np.uint64
    keys = values.astype(small)
    order = np.arange(len(values), dtype=np.int32 if len(values) < 2**31 else np.int64)
    spare_keys, spare_order = np.empty_like(keys), np.empty_like(order)
    for shift in range(0, max(int(span - 1).bit_length(), 1), _BITS):
        _sort_by_digit(keys, order, spare_keys, spare_order, shift, np.zeros((1 << _BITS) + 1, np.int64))
        keys, spare_keys, order, spare_order = spare_keys, keys, spare_order, order
    return keys, order


@compiled
def _sort_by_digit(keys, order, keys_out, order_out, shift, begins):
    mask = np.uint64(begins.size - 2)
    shift = np.uint64(shift)
    for i in range(keys.size):
        begins[np.int64((np.uint64(keys[i]) >> shift) & mask) + 1] += 1
    for digit in range(1, begins.size):
        begins[digit] += begins[digit - 1]
    for i in range(keys.size):
        digit = np.int64((np.uint64(keys[i]) >> shift) & mask)
        place = begins[digit]
        begins[digit] = place + 1
        keys_out[place] = keys[i]
        order_out[place] = order[i]


@compiled
def _group(keys, order, owners, rows, data, begins, first):
    """Make a list of (object, count) for each distinct key; return how many keys and how many entries."""
    width, filled = 0, 0
    last = -1
    for i in range(keys.size):
        owner = owners[order[i]]
        if i == 0 or keys[i] != keys[i - 1]:
            begins[width] = filled
            first[width] = order[i]
            width += 1
            last = -1
        if owner == last:
            data[filled - 1] += 1.0
        else:
            rows[filled] = owner
            data[filled] = 1.0
            filled += 1
            last = owner
    begins[width] = filled
    return width, filled


def transposed(lists: tuple[Any, Any, Any], width: int) -> tuple[Any, Any, Any]:
    """Return ``(indices, data, indptr)`` of the transpose of a matrix given so, which has `width` columns."""
    indices, data, indptr = lists
    if len(indices) <= _SMALL and indptr[0] == 0 and indptr[-1] == len(indices):
        order = np.argsort(indices, kind="stable")
        return _rows_of(indptr)[order].astype(np.int32), data[order], _ends_of(indices, width)
    out = np.empty(len(indices), np.int32), np.empty(len(data)), np.zeros(width + 1, np.intp)
    _transpose(*lists, *out)
    return out


@compiled
def _transpose(indices, data, indptr, out_indices, out_data, out_indptr):
    for place in range(indptr[0], indptr[-1]):
        out_indptr[indices[place] + 1] += 1
    for column in range(1, out_indptr.size):
        out_indptr[column] += out_indptr[column - 1]
    for row in range(indptr.size - 1):
        for place in range(indptr[row], indptr[row + 1]):
            to = out_indptr[indices[place]]
            out_indptr[indices[place]] = to + 1
            out_indices[to] = row
            out_data[to] = data[place]
    for column in range(out_indptr.size - 1, 0, -1):
        out_indptr[column] = out_indptr[column - 1]
    out_indptr[0] = 0


def renumbered(matrix: sp.csr_array, places: Indices, width: int) -> sp.csr_array:
    """Return the matrix with column j moved to places[j], or left out if that is -1."""
    columns = places[matrix.indices]
    known = columns >= 0
    kept = np.concatenate([[0], np.cumsum(known)])[matrix.indptr]
    moved = sp.csr_array((matrix.data[known], columns[known], kept), shape=(len(matrix.indptr) - 1, width))
    moved.sort_indices()
    return moved


# ---------------------------------------------------------------------------------------- products


@dataclass(frozen=True, eq=False)
class Overlap:
    """What two collections have in common, arranged for products: things of one side only are left out."""

    left: tuple[Any, Any, Any]  # of each thing that few have: objects, numbers; where a thing begins
    right: tuple[Any, Any, Any]
    factors: Floats  # of these things
    own: Floats  # what each object shares with itself alone, if the collections are one
    dense: tuple[Any, Any, Floats] | None  # of things that many have: lists by objects of both sides, and factors
    dtype: Any  # of the dense part
    symmetric: bool
    products: float  # of all the things that few have

    def tile(self, rows: slice, columns: slice, out: Floats) -> None:
        """Write the products of the objects of two slices."""
        (r0, r1), (c0, c1) = (rows.start, rows.stop), (columns.start, columns.stop)
        if self.dense is None:
            out.fill(0.0)
        else:
            left, right, factors = self.dense
            A, B = (np.zeros((stop - start, len(factors)), self.dtype) for start, stop in ((r0, r1), (c0, c1)))
            for lists, weights, start, out_ in ((left, factors, r0, A), (right, np.ones_like(factors), c0, B)):
                fill: Any = _fill_few if len(lists[0]) <= _SMALL else _fill
                fill(*lists, weights, start, out_)
            if self.dtype == out.dtype:
                np.matmul(A, B.T, out=out)
            else:
                np.copyto(out, A @ B.T)
        few = self.products <= _PRODUCTS and out.dtype == np.float64  # narrower sums are rounded one by one
        add = _add_few_products if few else _add_products
        add(self.left, self.right, self.factors, (r0, r1), (c0, c1), out)
        if self.symmetric:
            both = np.arange(max(r0, c0), max(min(r1, c1), max(r0, c0)))
            out[both - r0, both - c0] += self.own[both]


def overlap(left: sp.csr_array, right: sp.csr_array | None = None, factors: Floats | None = None) -> Overlap:
    """Return what is needed for the matrix ``left diag(factors) right^T`` of numbers that are not negative.

    Parameters
    ----------
    left : (n, D) CSR
    right : (m, D) CSR, optional
        None is `left`.
    factors : (D,) array, optional
        None is ones.

    Examples
    --------
    >>> A = sp.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]))
    >>> out = np.empty((2, 2))
    >>> overlap(A).tile(slice(0, 2), slice(0, 2), out)
    >>> out
    array([[ 5.,  2.],
           [ 2., 10.]])
    """
    ours = arrays_of(left)
    theirs = ours if right is None else arrays_of(right)
    n, m, width = len(ours[2]) - 1, len(theirs[2]) - 1, int(left.shape[1])  # pyright: ignore[reportOptionalSubscript]
    weights = np.ones(width) if factors is None else np.asarray(factors, dtype=float)
    mine = np.bincount(ours[0], minlength=width)
    yours = mine if right is None else np.bincount(theirs[0], minlength=width)
    shared = (mine > 1) if right is None else (mine > 0) & (yours > 0)
    pairs = mine.astype(float) * yours
    often = np.flatnonzero(shared & (pairs > _FILLED * n * m) & (n * m >= _WORTH))
    if len(often) > _FEW:
        often = np.sort(often[np.argsort(-pairs[often], kind="stable")[:_FEW]])
    places = np.full(width, -1, np.int32)
    places[often] = -2 - np.arange(len(often), dtype=np.int32)
    rare = np.flatnonzero(shared & (places == -1))
    places[rare] = np.arange(len(rare), dtype=np.int32)
    own = np.zeros(n if right is None else 0)
    few, many = _split(ours, places, weights, own)
    few_right, many_right = (few, many) if right is None else _split(theirs, places, weights, np.zeros(0))
    by_thing = transposed(few, len(rare))
    by_thing_right = by_thing if right is None else transposed(few_right, len(rare))
    dense = (many, many_right, weights[often]) if len(often) else None
    dtype = np.float32 if dense is not None and _is_small(*dense) else np.float64
    products = float(pairs[rare].sum()) if n * m <= _PAIRS else np.inf
    return Overlap(by_thing, by_thing_right, weights[rare], own, dense, np.dtype(dtype), right is None, products)


def arrays_of(matrix: Any) -> tuple[Any, Any, Any]:
    """Return ``(indices, data, indptr)`` of CSR or CSC as compiled code reads them."""
    indices = matrix.indices.astype(np.int32, copy=False)
    return indices, matrix.data.astype(float, copy=False), matrix.indptr.astype(np.intp, copy=False)


def _split(lists: tuple[Any, Any, Any], places: Any, weights: Floats, own: Floats) -> tuple[Any, Any]:
    """Return the entries of the rare things and those of the frequent ones, and add to `own` what has no place."""
    indices, data, indptr = lists
    kept = places[indices]
    if len(indices) <= _SMALL:
        return _split_few(lists, kept, weights, own)
    sizes = int(np.count_nonzero(kept >= 0)), int(np.count_nonzero(kept < -1))
    few, many = ((np.empty(k, np.int32), np.empty(k), np.empty(len(indptr), np.intp)) for k in sizes)
    _split_entries(indices, data, indptr, kept, weights, few, many, own)
    return few, many


def _split_few(lists: tuple[Any, Any, Any], kept: Any, weights: Floats, own: Floats) -> tuple[Any, Any]:
    indices, data, indptr = lists
    rows = _rows_of(indptr)
    parts = []
    for chosen, places in ((kept >= 0, kept), (kept < -1, -2 - kept)):
        parts.append((places[chosen].astype(np.int32), data[chosen], _ends_of(rows[chosen], len(indptr) - 1)))
    if own.size:
        alone = kept == -1
        np.add.at(own, rows[alone], weights[indices[alone]] * data[alone] * data[alone])
    return parts[0], parts[1]


@compiled
def _split_entries(indices, data, indptr, kept, weights, few, many, own):
    a, b = 0, 0
    few[2][0] = 0
    many[2][0] = 0
    for row in range(indptr.size - 1):
        for place in range(indptr[row], indptr[row + 1]):
            to = kept[place]
            if to >= 0:
                few[0][a] = to
                few[1][a] = data[place]
                a += 1
            elif to < -1:
                many[0][b] = -2 - to
                many[1][b] = data[place]
                b += 1
            elif own.size:
                own[row] += weights[indices[place]] * data[place] * data[place]
        few[2][row + 1] = a
        many[2][row + 1] = b


def _is_small(left: tuple[Any, Any, Any], right: tuple[Any, Any, Any], factors: Floats) -> bool:
    """Return whether all products are sums of whole numbers that float32 holds."""
    if not all(np.array_equal(numbers, np.rint(numbers)) for numbers in (left[1], right[1], factors)):
        return False
    squares = [
        (_largest_few if len(lists[0]) <= _SMALL else _largest_square)(*lists, weights)
        for lists, weights in ((left, factors), (right, np.ones_like(factors)))
    ]
    return bool(np.sqrt(squares[0]) * np.sqrt(squares[1]) < _EXACT)


def _largest_few(indices: Any, data: Floats, indptr: Indices, factors: Floats) -> float:
    return float(np.bincount(_rows_of(indptr), (factors[indices] * data) ** 2).max(initial=0.0))


@compiled
def _largest_square(indices, data, indptr, factors):
    largest = 0.0
    for row in range(indptr.size - 1):
        square = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            square += (factors[indices[place]] * data[place]) ** 2
        largest = max(largest, square)
    return largest


def _fill_few(indices: Any, data: Floats, indptr: Indices, factors: Floats, start: int, out: Floats) -> None:
    own = slice(indptr[start], indptr[start + len(out)])
    out[_rows_of(indptr[start : start + len(out) + 1]), indices[own]] = factors[indices[own]] * data[own]


@compiled
def _fill(indices, data, indptr, factors, start, out):
    for row in range(out.shape[0]):
        for place in range(indptr[start + row], indptr[start + row + 1]):
            out[row, indices[place]] = factors[indices[place]] * data[place]


@compiled
def _first(objects, start, stop, low):
    """Return where the objects of a list begin that are not before `low`."""
    while start < stop:
        middle = (start + stop) // 2
        if objects[middle] < low:
            start = middle + 1
        else:
            stop = middle
    return start


def _add_few_products(left: Any, right: Any, factors: Floats, rows: Any, columns: Any, out: Floats) -> None:
    objects, numbers, begins = left
    others, theirs, lists = right
    things = _rows_of(begins)
    counts = np.diff(lists)[things]  # for each entry on the left, how many there are on the right
    entry = np.repeat(np.arange(len(objects)), counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    other = np.repeat(lists[:-1][things], counts) + np.arange(len(entry)) - before
    i, j = objects[entry], others[other]
    inside = (i >= rows[0]) & (i < rows[1]) & (j >= columns[0]) & (j < columns[1])
    products = (factors[things] * numbers)[entry] * theirs[other]
    np.add.at(out, (i[inside] - rows[0], j[inside] - columns[0]), products[inside])


@compiled
def _add_products(left, right, factors, rows, columns, out):
    """Add sum_u f(u) a(s, u) b(t, u) for objects s of rows and t of columns, by the lists of objects that have u.

    Lists are read one after another, and what is written stays in cache.
    """
    objects, numbers, begins = left
    others, theirs, lists = right
    low, high = columns
    for u in range(factors.size):
        start = _first(objects, begins[u], begins[u + 1], rows[0])
        if start == begins[u + 1] or objects[start] >= rows[1]:
            continue
        begin = _first(others, lists[u], lists[u + 1], low)
        end = _first(others, begin, lists[u + 1], high)
        if begin == end:
            continue
        while start < begins[u + 1] and objects[start] < rows[1]:
            number = factors[u] * numbers[start]
            row = out[objects[start] - rows[0]]
            for place in range(begin, end):
                row[others[place] - low] += number * theirs[place]
            start += 1

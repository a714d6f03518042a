"""The best threshold of every column, for signed weights of the samples: one pass over columns sorted beforehand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["Cuts", "SortedColumns", "best_cuts", "sort_columns"]


class SortedColumns(NamedTuple):
    """Columns in ascending order.

    Attributes
    ----------
    order : (d, n) array of int32
        Samples in the order of each column.
    values : (d, n) array
        The columns themselves, in that order.
    """

    order: Array
    values: Floats


class Cuts(NamedTuple):
    """The best cut of each column.

    Attributes
    ----------
    edges : (d,) array
        sum_i r_i h(x_i) of the better sign, never negative.
    places : (d,) array of int
        How many samples lie below the cut; 0 is the constant function.
    signs : (d,) array
        Value of h above the cut; below it has the other sign.
    """

    edges: Floats
    places: Indices
    signs: Floats


def sort_columns(X: Floats) -> SortedColumns:
    """Sort the columns of (n, d) numbers, each on its own.

    Examples
    --------
    >>> sort_columns(np.array([[3.0], [1.0]])).order
    array([[1, 0]], dtype=int32)
    """
    columns = np.ascontiguousarray(X.T)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    return SortedColumns(order, np.take_along_axis(columns, order, axis=1))


def best_cuts(columns: SortedColumns, r: Floats) -> Cuts:
    """Find the function h = sign above a cut, -sign below it, of the largest sum of r_i h(x_i), for each column.

    Parameters
    ----------
    columns : SortedColumns
    r : (n,) array
        Signed weights: of two classes u_i y_i.

    Notes
    -----
    Cuts lie between different values only. Of equal ones the first is taken, and the constant function before all.
    Cost O(n d).

    Examples
    --------
    >>> best_cuts(sort_columns(np.array([[0.0], [1.0], [2.0]])), np.array([-1.0, -1.0, 1.0]))
    Cuts(edges=array([3.]), places=array([2]), signs=array([1.]))
    """
    d = len(columns.order)
    found = Cuts(np.empty(d), np.empty(d, dtype=np.intp), np.empty(d))
    _pass(columns.order, columns.values, r, float(r.sum()), found.edges, found.places, found.signs)
    return found


@compiled
def _pass(order, values, r, total, edges, places, signs):
    """Go up each column: the edge of a cut is the sum of all weights less twice that of those below."""
    d, n = order.shape
    for j in range(d):
        below, best, place, sign = 0.0, abs(total), 0, 1.0 if total >= 0.0 else -1.0
        for i in range(n - 1):
            below += r[order[j, i]]
            if values[j, i] < values[j, i + 1]:
                edge = total - 2.0 * below
                if abs(edge) > best:
                    best, place, sign = abs(edge), i + 1, 1.0 if edge >= 0.0 else -1.0
        edges[j], places[j], signs[j] = best, place, sign

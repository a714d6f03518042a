"""Trees whose nodes are in post-order, children before their parent: what follows from the numbers of children.

The nodes below node v are those just before it, so with the size m of the subtree at v, it begins at v - m + 1; the
last child of v is v - 1, and the child before c is c - m(c).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Codes, Indices
from mercer.runtime.compiled import compiled

__all__ = ["node_parents", "subtree_sizes"]


def subtree_sizes(degrees: Codes) -> NDArray[np.int32]:
    """Return how many nodes the subtree at each node has, itself included.

    Parameters
    ----------
    degrees : (N,) array
        Numbers of children; trees may follow one another.

    Examples
    --------
    >>> subtree_sizes(np.array([0, 0, 1, 2], dtype=np.int32))
    array([1, 1, 2, 4], dtype=int32)
    """
    sizes = np.empty(len(degrees), np.int32)
    _fill_sizes(degrees, sizes)
    return sizes


def node_parents(sizes: Codes, degrees: Codes) -> Indices:
    """Return the place of the parent of each node, -1 for a root.

    Examples
    --------
    >>> node_parents(np.array([1, 1, 2, 4]), np.array([0, 0, 1, 2]))
    array([ 3,  2,  3, -1])
    """
    parents = np.full(len(sizes), -1, np.intp)
    _fill_parents(sizes, degrees, parents)
    return parents


@compiled
def _fill_sizes(degrees, sizes):
    for v in range(degrees.size):
        child = v - 1
        for _ in range(degrees[v]):
            child -= sizes[child]
        sizes[v] = v - child


@compiled
def _fill_parents(sizes, degrees, parents):
    for v in range(degrees.size):
        child = v - 1
        for _ in range(degrees[v]):
            parents[child] = v
            child -= sizes[child]

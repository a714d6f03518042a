"""Products with a stored symmetric matrix that read half of it.

A matrix of some thousand rows does not fit into a cache, so its product with few columns takes the time of reading it
from memory. Here each square tile above the diagonal is read once and used for its own rows and for those of its mirror
image, from threads that own their tiles.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.tiling import Monitor, run_tasks, spans

__all__ = ["symmetric_product"]

_SIDE = 500  # of a tile: 2 MB, of which little more than a megabyte is in use at a time
_PARTS = 8  # sums that are made apart, and added in their order: results do not depend on the number of threads


def symmetric_product(K: Floats, V: Floats, n_threads: int | None = None, monitor: Monitor | None = None) -> Floats:
    """Return K @ V for a symmetric matrix, of which no tile below the diagonal is read.

    Parameters
    ----------
    K : (n, n) array
        Symmetric, float64.
    V : (n, k) array
    n_threads : int, optional
        None is all cores.
    monitor : callable, optional
        Monitor of `run_tasks`.

    Returns
    -------
    product : (n, k) array

    Notes
    -----
    The same bits whatever the number of threads. It reads half of K, which counts where memory is what limits.

    Examples
    --------
    >>> symmetric_product(np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones((2, 1))).ravel()
    array([3., 4.])
    """
    n = len(K)
    places = spans(n, _SIDE)
    tiles = [(r, c) for r in places for c in places if c.start >= r.start]
    parts = [tiles[part] for part in spans(len(tiles), max(1, -(-len(tiles) // _PARTS)))]
    sums = np.zeros((len(parts), n, V.shape[1]))

    def work(part: int) -> None:
        total = sums[part]
        for rows, columns in parts[part]:
            tile = K[rows, columns]
            total[rows] += tile @ V[columns]
            if rows != columns:
                total[columns] += tile.T @ V[rows]

    run_tasks(range(len(parts)), work, n_threads=n_threads, monitor=monitor)
    return sums.sum(axis=0)

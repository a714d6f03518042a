"""Products with a kernel matrix that is never stored."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, overflow_error
from mercer.numerics.algebraic import all_finite
from mercer.numerics.tiling import run_tasks, spans, tile_side

_NOTHING = Resources()


def product(kernel: Kernel, comparison: Comparison, V: Floats, resources: Resources = _NOTHING) -> Floats:
    """Return the kernel matrix of a comparison times V, tile by tile; nothing n x n is stored.

    Tiles have the comparison's precision, sums are in float64. Each task owns some rows and goes through
    its tiles in order, so the result does not depend on the number of threads.
    """
    V = np.asarray(V)
    columns = V[:, None] if V.ndim == 1 else V  # there may be no rows
    m, n = len(comparison.A), len(comparison.B)
    if len(columns) != n:
        raise ValueError(f"a matrix with {n} columns cannot be multiplied with an array of {len(columns)} rows")
    side = 3 * tile_side(comparison.dtype.itemsize) // 2  # consumed at once, so fewer and larger tiles pay
    right = np.ascontiguousarray(columns, dtype=comparison.dtype)
    # a float32 copy of V loses digits that float64 coefficients have; split V in two to keep them
    low = None
    if comparison.dtype == np.float32 and columns.dtype != np.float32:
        rest = columns - right.astype(columns.dtype)
        low = rest.astype(np.float32) if rest.any() else None
    out = np.zeros((m, columns.shape[1]))
    pieces = spans(n, side)
    guard = not kernel.bounded

    def work(rows: slice) -> None:
        total = np.zeros((rows.stop - rows.start, columns.shape[1]))
        for piece in pieces:
            tile = comparison.at(rows, piece).value(kernel)
            if guard and not all_finite(tile):
                raise overflow_error(kernel)
            total += tile @ right[piece]
            if low is not None:
                total += tile @ low[piece]
        out[rows] = total

    run_tasks(spans(m, side), work, n_threads=resources.n_threads, monitor=resources.monitor)
    return out.reshape(m, *V.shape[1:])

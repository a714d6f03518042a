"""Products with a kernel matrix that is never stored."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill, overflow_error
from mercer.kernels.protocols import grain_of, quick_tiles
from mercer.numerics.algebraic import all_finite
from mercer.runtime.tiling import run_tasks, spans, tile_side

SMALL = 2**17  # entries below which a second thread costs more than it saves


def product(kernel: Kernel, comparison: Comparison, V: Floats, resources: Resources = UNLIMITED) -> Floats:
    """Return the kernel matrix of a comparison times V, tile by tile; nothing n x n is stored.

    Tiles have the comparison's precision, sums are in float64. Each task owns some rows and goes through
    its tiles in order, so the result does not depend on the number of threads.
    """
    V = np.asarray(V)
    columns = V[:, None] if V.ndim == 1 else V  # there may be no rows
    m, n = comparison.lengths
    if len(columns) != n:
        raise ValueError(f"a matrix with {n} columns cannot be multiplied with an array of {len(columns)} rows")
    right = np.ascontiguousarray(columns, dtype=comparison.dtype)
    out = np.zeros((m, columns.shape[1]))
    # consumed at once, so fewer and larger tiles pay; the grid depends on the shape alone, as sums must
    grain = grain_of(kernel, comparison) if m and n else None
    side = 3 * tile_side(comparison.dtype.itemsize) // 2 if grain is None else grain
    pieces = spans(n, side)
    height = side if n >= side or grain is not None else min(side * side // max(n, 1), 1024)
    guard = not kernel.bounded
    low = None
    # a float32 copy of V loses digits that float64 coefficients have; split V in two to keep them
    if comparison.dtype == np.float32 and columns.dtype != np.float32:
        rest = columns - right.astype(columns.dtype)
        low = rest.astype(np.float32) if rest.any() else None

    quick = quick_tiles(kernel, comparison) if m and n else None

    def work(rows: slice) -> None:
        total = np.zeros((rows.stop - rows.start, columns.shape[1]))
        for piece in pieces:
            if quick is not None:
                total += quick(rows, piece, right[piece])
                continue
            tile = comparison.at(rows, piece).value(kernel)
            if guard and not all_finite(tile):
                raise overflow_error(kernel)
            total += tile @ right[piece]
            if low is not None:
                total += tile @ low[piece]
        out[rows] = total

    threads = 1 if m * n < SMALL and grain is None else resources.n_threads
    run_tasks(spans(m, height), work, n_threads=threads, monitor=resources.monitor)
    return out.reshape(m, *V.shape[1:])


def quick_fill(kernel: Kernel, comparison: Comparison, out: Floats, resources: Resources = UNLIMITED) -> None:
    """Fill a matrix as `fill` does, by the kernel's quick tiles where it has them: for blocks of float32."""
    m, n = comparison.lengths
    quick = quick_tiles(kernel, comparison) if m and n else None
    if quick is None:
        fill(kernel, comparison, out, n_threads=resources.n_threads)
        return

    def work(task: tuple[slice, slice]) -> None:
        out[task] = quick(*task)

    grid = [(rows, columns) for rows in spans(m, 256) for columns in spans(n, 2048)]
    run_tasks(grid, work, n_threads=1 if out.size < 4 * SMALL else resources.n_threads)


def fits_single(samples: Samples) -> bool:
    """Return whether float32 holds the numbers of vectors, and their squares; true for all other samples."""
    X = getattr(samples, "X", None)
    if X is None:
        return True
    values = X if isinstance(X, np.ndarray) else X.data
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return largest == 0.0 or 1e-15 < largest < 1e15

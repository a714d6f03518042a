"""Rows of a tall factor: how many are held or computed at a time, and sums over them, some of them in float32.

Symbols: C (m, c) some rows; U (c, q) orthonormal directions in which rows are large; T a small matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla

from mercer.arrays import Floats
from mercer.budget import Memory, Plan, budget
from mercer.domains import Vectors
from mercer.gram.gram import tile_bytes
from mercer.kernels.kernel import Kernel
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import spans, thread_count

__all__ = [
    "add_triangle",
    "backward",
    "divided",
    "forward",
    "large_directions",
    "mirror_lower",
    "sandwiched",
    "CHEAP",
    "DEEP",
    "ROWS",
    "SHARE",
    "factor_plan",
    "held_bytes",
    "row_ranges",
    "working",
]

ROWS = 1024  # rows of the factor that a thread computes at once
DEEP = 4096  # rows whose squares are added in the precision of the rows, and then in float64
CHEAP = 4e10  # operations that take about a second: the whole factor, or a statement about the error
SHARE = 0.25  # of the memory budget that the whole factor may take
_WORK = 0.5  # of it that may be needed besides, for a factor to be held
_SUMS = 2**23  # numbers in the partial sums over rows of the factor
_QUICKLY = 2**28  # bytes of kernel values of vectors that are kept

MOST = 64  # directions in which rows are large


def large_directions(C: Floats) -> Floats:
    """Return orthonormal directions (c, q), at most 64, in which rows of C (s, c) are large.

    Those with over 1/50 of the largest length; where more of them leave much less, those with over 1/10 000.

    Examples
    --------
    >>> large_directions(np.array([[3.0, 4.0], [-3.0, -4.0]])).round(3).ravel()
    array([0.6, 0.8])
    """
    wide = C.shape[1] >= len(C)
    square = C @ C.T if wide else C.T @ C
    n = len(square)
    values, V = sla.eigh(square, subset_by_index=(max(0, n - MOST), n - 1), check_finite=False)
    values, V = np.maximum(values[::-1], 0.0), V[:, ::-1]
    few, more = (int(np.sum(values > share * values[0])) for share in (4e-4, 1e-8))
    left_by_few, left_by_more = (np.trace(square) - values[:count].sum() for count in (few, more))
    count = more if left_by_more < 0.1 * left_by_few else few
    U = np.linalg.qr(C.T @ V[:, : min(count, C.shape[1])])[0] if wide else V[:, :count]
    return np.ascontiguousarray(U * np.where(U.sum(axis=0) < 0.0, -1.0, 1.0))


def divided(C: Floats, split: Floats | None, scale: Floats, out: Floats) -> None:
    """Write the rows of C, or of (C U, C - C U U^T), times a scale each."""
    scale = scale.astype(C.dtype)[:, None]
    if split is None:
        np.multiply(C, scale, out=out)
        return
    q = split.shape[1]
    inside = C @ split
    np.multiply(inside, scale, out=out[:, :q])
    C = C - inside @ split.T
    np.multiply(C, scale, out=out[:, q:])


def sandwiched(S: Floats, T: Floats) -> Floats:
    """Return T^T S T, symmetric to the bit."""
    found = T.T @ (S @ T)
    return 0.5 * (found + found.T)


# "reassoc" lets the sums run in lanes: any order of a sum is equally exact.
@compiled(fastmath={"contract", "reassoc"})
def forward(C, coef, out):
    """Write C coef^T for C in float32, in float64."""
    for k in range(coef.shape[0]):
        v = coef[k]
        for i in range(C.shape[0]):
            row, s = C[i], 0.0
            for j in range(row.size):
                s += row[j] * v[j]
            out[i, k] = s


@compiled(fastmath={"contract"})
def backward(C, U, total):
    """Add U^T C for C in float32, in float64; four rows at a time, so that the sums are read and written less often."""
    m = C.shape[0] - C.shape[0] % 4
    for k in range(U.shape[1]):
        t = total[k]
        for i in range(0, m, 4):
            a, b, c, d = U[i, k], U[i + 1, k], U[i + 2, k], U[i + 3, k]
            x, y, z, w = C[i], C[i + 1], C[i + 2], C[i + 3]
            for j in range(t.size):
                t[j] += (a * x[j] + b * y[j]) + (c * z[j] + d * w[j])
        for i in range(m, C.shape[0]):
            a, x = U[i, k], C[i]
            for j in range(t.size):
                t[j] += a * x[j]


@compiled
def add_triangle(total, part):
    """Add the lower half of a matrix to that of another."""
    for i in range(total.shape[0]):
        for j in range(i + 1):
            total[i, j] += part[i, j]


@compiled
def mirror_lower(square):
    """Copy the lower half of a matrix to its upper half."""
    for i in range(square.shape[0]):
        for j in range(i):
            square[j, i] = square[i, j]


def row_ranges(n: int, size: int) -> list[slice]:
    """Return spans of rows whose sums, of this many numbers each, are made separately; they depend on the sizes alone.

    Examples
    --------
    >>> row_ranges(3000, 10)
    [slice(0, 1024, None), slice(1024, 2048, None), slice(2048, 3000, None)]
    """
    return spans(n, max(ROWS, -(-n // min(max(_SUMS // max(size, 1), 2), 64)))) or [slice(0, 0)]


def held_bytes(
    kernel: Kernel, n: int, rank: int, across: int | None, itemsize: int, memory: Memory, quick: bool
) -> tuple[int, int]:
    """Return the bytes of F that are held, and of C if not; `across` columns of C, None if F is no product."""
    total = budget(memory)
    if sum(working(kernel, n, rank).values()) > _WORK * total:
        return 0, 0
    held, kept = (itemsize if across is None else 8) * n * rank, itemsize * n * (across or 0)
    if held <= SHARE * total and (across is None or 2.0 * n * across * rank <= CHEAP):
        return held, 0
    return 0, kept if kept <= min(SHARE * total, _QUICKLY if quick else np.inf) else 0


def working(
    kernel: Kernel, n: int, rank: int, *, held: bool = True, product: bool = True, itemsize: int = 8
) -> dict[str, int]:
    """Return the buffers while a factor is filled, or while F^T W F is summed, whichever are more.

    If the factor is not held, rows are filled while they are summed, and those of C have a few more columns.
    """
    width = rank if held or not product else rank + min(rank, MOST)
    threads, ranges = thread_count(None), row_ranges(n, width * width)
    sums = 8 * width * width * (len(ranges) + threads)
    rows = threads * itemsize * width * min(DEEP, ranges[0].stop - ranges[0].start)
    fill = threads * (2 if held and product else 1) * itemsize * rank * min(ROWS, n)
    if product:
        fill += tile_bytes(kernel, columns=rank)
    if not held:
        return {"sums over rows": sums, "rows of the factor": rows + fill}
    return {"sums over rows": sums, "rows of the factor": rows} if sums + rows >= fill else {"rows of the factor": fill}


def factor_plan(
    spec: Any,
    kernel: Kernel,
    n: int,
    rank: int,
    memory: Memory,
    *,
    base: dict[str, int],
    build: dict[str, int] | None = None,
    product: bool = True,
    itemsize: int = 8,
) -> Plan:
    """Return what a Gram of low rank takes within a budget: on the way to the factor, or with it, whichever is more.

    Parameters
    ----------
    spec : GramSpec
    kernel : Kernel
    n, rank : int
    memory : int, str or None
    base : dict
        Buffers that exist throughout.
    build : dict, optional
        Buffers that are freed once the factor exists.
    product : bool, default True
        Whether F is a product C R.
    itemsize : int, default 8
        Bytes of a number in the rows of C, or in F where that is no product.
    """
    quick = kernel.domain is Vectors
    F, C = held_bytes(kernel, n, rank, rank if product else None, itemsize, memory, quick)
    work = {"factor": F} if F else {"columns of the factor": C} if C else {}
    width = 8 if F and product else itemsize
    work |= working(kernel, n, rank, held=F > 0, product=product, itemsize=width)
    if build is not None and sum(build.values()) > sum(work.values()):
        work = build
    return Plan(f"{spec!r} of {kernel!r} on {n} samples", {**base, **work}, ("a smaller rank",))

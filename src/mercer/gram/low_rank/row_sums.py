"""Sums over the rows of a tall matrix that is read tile by tile, some of them in float32.

Symbols: C (m, c) some rows; U (c, q) orthonormal directions in which rows are large; T a small matrix.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled

__all__ = ["add_triangle", "backward", "divided", "forward", "large_directions", "mirror_lower", "sandwiched"]

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
    values, V = np.linalg.eigh(C @ C.T if wide else C.T @ C)
    values, V = np.maximum(values[::-1], 0.0), V[:, ::-1]
    few, more = (int(np.sum(values[:MOST] > share * values[:1].sum())) for share in (4e-4, 1e-8))
    count = more if values[more:].sum() < 0.1 * values[few:].sum() else few
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

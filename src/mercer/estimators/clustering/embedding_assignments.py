r"""Clusters of a spectral embedding without k-means: rotations of its vectors, and columns chosen by pivots.

Symbols: V (n, k) the leading eigenvectors of a graph, the constant one among them; R a rotation, (k, k).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from mercer.arrays import Floats, Indices

__all__ = ["discretized", "pivoted"]

_ROUNDS = 100
_SETTLED = 1e-12  # of the sum of singular values


def pivoted(V: Floats) -> Indices:
    r"""Return clusters by pivoted QR: the k samples farthest apart, and a rotation that takes them to the axes.

    Seed: [KIKS] Section 5.2, in place of its k-means; the method of Damle, Minden and Ying.

    Parameters
    ----------
    V : (n, k) array

    Notes
    -----
    No start and no parameter. Cost O(n k^2).

    Examples
    --------
    >>> a, b, c = pivoted(np.array([[0.7, 0.7], [0.7, 0.6], [0.7, -0.7]]))
    >>> bool(a == b != c)
    True
    """
    pivots = qr(V.T, mode="r", pivoting=True)[-1]
    left, _, right = np.linalg.svd(V[pivots[: V.shape[1]]].T)
    return np.argmax(np.abs(V @ (left @ right)), axis=1)


def discretized(V: Floats, rng: np.random.RandomState, n_init: int = 10) -> Indices:
    r"""Return clusters by the rotation that brings the rows of V, made of length one, nearest to indicators.

    .. math:: \min_{R, H} \| H - V R \|, \qquad R^\top R = I, \quad H \text{ one 1 in each row}

    Seed: [KIKS] Section 5.2, in place of its k-means; the method of Yu and Shi.

    Parameters
    ----------
    V : (n, k) array
    rng : RandomState
        Draws the first sample of each start.
    n_init : int, default 10
        Starts; the one that comes nearest is kept.

    Examples
    --------
    >>> discretized(np.array([[0.7, 0.7], [0.7, 0.6], [0.7, -0.7]]), np.random.RandomState(0)).tolist() in (
    ...     [0, 0, 1],
    ...     [1, 1, 0],
    ... )
    True
    """
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    V = V / np.where(lengths > 0.0, lengths, 1.0)
    n, k = V.shape
    best, labels = -np.inf, np.zeros(n, dtype=np.intp)
    for _ in range(n_init):
        R = np.zeros((k, k))  # columns: samples farthest from those before
        R[:, 0] = V[rng.randint(n)]
        near = np.zeros(n)
        for j in range(1, k):
            near += np.abs(V @ R[:, j - 1])
            R[:, j] = V[np.argmin(near)]
        last = value = -np.inf
        found = labels
        for _ in range(_ROUNDS):
            found = np.argmax(V @ R, axis=1)
            H = (found[:, None] == np.arange(k)).astype(float)
            left, sizes, right = np.linalg.svd(H.T @ V)
            value = float(sizes.sum())
            R = (left @ right).T
            if value - last <= _SETTLED * abs(value):
                break
            last = value
        if value > best:
            best, labels = value, found
    return labels

"""Dot products of the rows of two arrays, by a routine that the problem decides and not the memory.

NumPy looks at addresses: where both operands of ``A @ B.T`` begin at the same place it calls the symmetric routine
(SYRK), elsewhere the general one (GEMM), and on some processors these round differently. Then a model that is asked for
its own training samples would answer in other bits than its copy from a file.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array

__all__ = ["row_products"]


def row_products(A: Array, B: Array, *, same: bool, out: Array | None = None) -> Array:
    """Return A @ B.T, (len A, len B).

    Parameters
    ----------
    A, B : (n, d) and (m, d) arrays
    same : bool
        Whether both are the same rows of one collection, whose matrix is symmetric to the bit. Two collections that
        happen to share memory are not the same.
    out : (n, m) array, optional

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> row_products(X, X[:1], same=False)
    array([[ 5.],
           [11.]])
    """
    if not same and A.shape == B.shape and _address(A) == _address(B):
        B = B.copy()
    return np.matmul(A, B.T, out=out)


def _address(X: Array) -> int:
    return X.__array_interface__["data"][0]

r"""The matrix B = I + S K S of Gaussian processes whose likelihood is not Gaussian, in the memory of one n x n array.

Symbols: K the prior covariance, (n, n); S = diag(s) with s_i^2 the precision that sample i adds; B its balanced
form, whose eigenvalues are at least one. The posterior covariance is (K^-1 + S^2)^-1 = K - K R K, R = S B^-1 S.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.numerics.cholesky import CholeskyFactor, lapack, safe_cholesky
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import blas_for, in_background, run_tasks, spans

__all__ = ["balanced_cholesky", "balanced_inverse", "sandwich", "solved", "times_inverse", "weigh"]

_ROWS = 64  # of a block that is written together with its mirror image


def balanced_cholesky(K: Floats, root: Floats, out: Floats | None = None) -> CholeskyFactor:
    """Factor B = I + S K S.

    Parameters
    ----------
    K : (n, n) array
        Symmetric; it is only read.
    root : (n,) array
        s, not negative.
    out : (n, n) array, optional
        Memory for the factor; None takes new memory.

    Returns
    -------
    CholeskyFactor

    Examples
    --------
    >>> bool(np.isclose(balanced_cholesky(np.array([[2.0]]), np.array([3.0])).logdet(), np.log(19.0)))
    True
    """
    B = np.empty(K.shape) if out is None else out
    run_tasks(spans(len(K), 4 * _ROWS), lambda rows: _balance(K, root, B, rows.start, rows.stop))
    with blas_for(len(K)):
        return safe_cholesky(B, 1.0)


def balanced_inverse(factor: CholeskyFactor) -> Floats:
    """Turn the factor of B into B^-1, in the same memory and in the upper triangle only; the factor is gone.

    Examples
    --------
    >>> np.triu(balanced_inverse(balanced_cholesky(np.ones((2, 2)), np.ones(2)))).round(3)
    array([[ 0.667, -0.333],
           [ 0.   ,  0.667]])
    """
    A, n = factor.array, len(factor.array)
    with blas_for(n):
        in_background(lapack("dpotri"), "L", n, A, n, np.zeros(1, np.intc), work=2 * n**3 / 3)
    return A


def solved(factor: CholeskyFactor, v: Floats) -> Floats:
    """Return B^-1 v for v of shape (n,), by the routines for one vector, which read the factor once each."""
    x, n = np.array(v, dtype=np.float64), len(v)
    lapack("dtrsv")("L", "N", "N", n, factor.array, n, x, 1)
    lapack("dtrsv")("L", "T", "N", n, factor.array, n, x, 1)
    return x


def times_inverse(A: Floats, v: Floats) -> Floats:
    """Return A v for a symmetric matrix of which the upper triangle is given, v of shape (n,)."""
    n, out = len(A), np.zeros(len(A))
    with blas_for(n):
        lapack("dsymv")("L", n, 1.0, A, n, np.ascontiguousarray(v), 1, 0.0, out, 1)
    return out


def weigh(A: Floats, root: Floats, plus: Floats, minus: Floats) -> Floats:
    r"""Overwrite the upper triangle of B^-1 by the derivative of a log evidence in the entries of K.

    .. math:: G = \tfrac12 \left(p p^\top - q q^\top - S B^{-1} S\right)

    Parameters
    ----------
    A : (n, n) array
        From `balanced_inverse`; on return G, both triangles.
    root : (n,) array
        s.
    plus, minus : (n,) array
        p and q.
    """
    run_tasks(spans(len(A), _ROWS), lambda rows: _weigh(A, root, plus, minus, -0.5, rows.start, rows.stop))
    return A


def sandwich(A: Floats, root: Floats) -> Floats:
    """Overwrite the upper triangle of B^-1 by R = S B^-1 S, both triangles."""
    nothing = np.zeros(len(A))
    run_tasks(spans(len(A), _ROWS), lambda rows: _weigh(A, root, nothing, nothing, 1.0, rows.start, rows.stop))
    return A


@compiled
def _balance(K, root, B, start, stop):
    for i in range(start, stop):
        s = root[i]
        for j in range(K.shape[1]):
            B[i, j] = s * root[j] * K[i, j]


@compiled
def _weigh(A, root, plus, minus, scale, start, stop):
    """Rows start to stop from the diagonal on, and their mirror image: no two calls touch the same entries."""
    n = len(A)
    for first in range(start, n, _ROWS):
        last = min(first + _ROWS, n)
        for i in range(start, stop):
            for j in range(max(i, first), last):
                inverse = scale * root[i] * root[j] * A[i, j]
                A[i, j] = inverse + 0.5 * (plus[i] * plus[j] - minus[i] * minus[j])
        for j in range(first, last):
            for i in range(start, min(stop, j)):
                A[j, i] = A[i, j]

"""Eigenvalues and eigenvectors in place, so that Ctrl-C is answered."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.errors import NotPositiveDefinite, ParameterError
from mercer.numerics.cholesky import lapack, leading, require_finite, writeable_rows
from mercer.runtime.tiling import in_background

__all__ = ["eigh_in_place"]


def eigh_in_place(K: Floats) -> Floats:
    """Eigenvalues of a symmetric matrix, whose rows become its eigenvectors.

    Parameters
    ----------
    K : (n, n) array, float64
        Symmetric, its rows contiguous and writeable; a square view into a larger array will do. Afterwards row j is
        the eigenvector of eigenvalue j, of length one.

    Returns
    -------
    values : (n,) array
        Ascending.

    Raises
    ------
    NotPositiveDefinite
        If an entry is not finite, or the iteration does not converge.

    Notes
    -----
    LAPACK's divide and conquer: some 5 n^3 operations, and 2 n^2 numbers of work space.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> eigh_in_place(K)
    array([1., 3.])
    >>> abs(K[1]).round(3)
    array([0.707, 0.707])
    """
    n = len(K)
    if n > 1 and K.strides[1] != K.itemsize:
        raise ParameterError(
            f"eigh_in_place was given an array of shape {K.shape} whose rows are not contiguous; it overwrites rows. "
            "Give its transpose, which is the same matrix."
        )
    A = writeable_rows(K)
    require_finite(A)
    values, info = np.empty(n), np.zeros(1, np.intc)
    if n == 0:
        return values
    size, whole = np.empty(1), np.empty(1, np.intc)
    routine = lapack("dsyevd")
    routine("V", "L", n, A, leading(A), values, size, -1, whole, -1, info)
    work, integers = np.empty(int(size[0])), np.empty(int(whole[0]), np.intc)
    in_background(
        routine, "V", "L", n, A, leading(A), values, work, len(work), integers, len(integers), info, work=5.0 * n**3
    )
    if info[0] != 0 or not np.all(np.isfinite(values)):
        raise NotPositiveDefinite(
            f"The eigenvalues of a matrix of order {n} were not found; finite entries are needed. Rescale the samples "
            "so that the kernel does not overflow, or correct the matrix if it was computed elsewhere."
        )
    return values

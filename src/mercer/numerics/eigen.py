r"""Eigenvalues and eigenvectors of a matrix in memory, in its place, so that Ctrl-C is answered.

Symbols: ``G`` symmetric, (n, n); ``sigma`` a shift above its largest eigenvalue; ``A`` = sigma I - G, which is then
positive definite.

All come from LAPACK. Some that lie close together at the upper end of a wide spectrum, as those of maps of manifolds
do, are far apart among 1 / (sigma - lambda) if sigma is near to them. A Cholesky factor of A takes n^3 / 3 operations,
a quarter of those that make G tridiagonal, and at the speed of matrix products; that it exists proves sigma to be above
all eigenvalues.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import NotPositiveDefinite, ParameterError
from mercer.numerics.block_krylov import Eigenpairs, leading_eigenpairs
from mercer.numerics.cholesky import (
    CholeskyFactor,
    lapack,
    leading,
    require_finite,
    restore_symmetry,
    writeable_rows,
)
from mercer.runtime.tiling import in_background

__all__ = ["eigh_in_place", "inverse_eigenpairs"]

_TRIES = 12  # shifts that are tried
_LEAST = 1e-9  # the error, relative to the eigenvalue: with a shift too near one eigenvalue all others are small
_SOUND = 1e-9  # residuals of the matrix itself, relative to it
_NEAR, _FURTHER = 0.125, 4.0  # the first of them, in units of the error, and the ratio of two


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


def inverse_eigenpairs(
    G: Floats,
    count: int,
    near: float,
    error: float,
    *,
    tol: float = 1e-10,
    max_iter: int = 300,
    seed: int = 0,
    monitor: Any = None,
    deadline: float | None = None,
) -> Eigenpairs | None:
    """Find the largest eigenvalues of a symmetric matrix by a block Krylov process of a shifted inverse.

    Parameters
    ----------
    G : (n, n) array, float64
        Symmetric, both triangles filled, its rows contiguous and writeable. It is overwritten.
    count : int
        How many eigenpairs are wanted.
    near : float
        The largest eigenvalue, about, and not above it.
    error : float
        How far off it may be; a bad guess costs time alone.
    tol : float, default 1e-10
        Tolerance of the residuals of the inverse, relative to its largest eigenvalue.
    max_iter : int, default 300
        Products with the inverse, at most.
    seed : int, default 0
        Seed of the start.
    monitor : callable, optional
        Monitor of `leading_eigenpairs`.
    deadline : float, optional
        Moment of the monotonic clock, for the factorisation.

    Returns
    -------
    Eigenpairs or None
        With residuals of G itself. None if no shift made the matrix positive definite.

    Notes
    -----
    Cost n^3 / 3 operations, and some ten products with the inverse; memory that of G.

    Examples
    --------
    >>> found = inverse_eigenpairs(np.diag(1.0 - 1e-9 * np.arange(100.0)), 2, 1.0, 1e-6)
    >>> found.values - 1.0 > [-1e-12, -1.1e-9], found.converged
    (array([ True,  True]), True)
    """
    n, A = len(G), writeable_rows(G)
    if not (np.isfinite(near) and np.isfinite(error)):
        return None
    np.negative(A, out=A)
    inside, info = np.einsum("ii->i", A), np.zeros(1, np.intc)
    given = inside.copy()
    slack = _NEAR * max(error, _LEAST * abs(near), np.finfo(float).tiny)
    for _ in range(_TRIES):
        inside[:] = given + (near + slack)
        diagonal = inside.copy()
        in_background(lapack("dpotrf"), "L", n, A, leading(A), info, work=n**3 / 3, deadline=deadline)
        if info[0] == 0 and np.isfinite(inside.sum()):
            break
        restore_symmetry(A)
        slack *= _FURTHER
    else:
        return None
    factor = CholeskyFactor(A, diagonal, 0.0)
    pairs = leading_eigenpairs(
        factor.solve, n, count, tol=tol, max_iter=max_iter, random_state=seed, monitor=monitor
    )  # fmt: skip
    U = pairs.vectors
    image = (near + slack) * U - factor.product(U)
    T = U.T @ image
    values, s = np.linalg.eigh(0.5 * (T + T.T))
    values, s = values[::-1].copy(), s[:, ::-1]
    U, image = U @ s, image @ s
    residuals = np.linalg.norm(image - U * values, axis=0)
    sound = bool(np.all(residuals <= _SOUND * abs(near + slack)))
    return Eigenpairs(values, U, residuals, pairs.iterations, pairs.converged and sound)

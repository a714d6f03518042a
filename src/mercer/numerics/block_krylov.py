r"""The largest eigenvalues of a matrix that is known by its products alone.

Symbols: ``G`` symmetric, (n, n); ``r`` eigenpairs wanted, ``b`` columns per product; ``Q`` an orthonormal basis of the
block Krylov space span(V, G V, G^2 V, ...); ``T`` = Q^T G Q with eigenvectors ``s`` and eigenvalues ``theta``.

A tile of a kernel matrix costs more than its product with some columns, so a product takes many columns at once. After
a few products the basis is replaced by its best b vectors, which bounds the memory, and the process goes on from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats

__all__ = ["Eigenpairs", "leading_eigenpairs"]

_DEPTH = 4  # products before the basis is compressed
_SPARE = 8  # columns beyond those wanted, at least: convergence follows the first eigenvalue left out


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Some eigenvalues and eigenvectors, as far as they came.

    Attributes
    ----------
    values : (r,) array
        Descending.
    vectors : (n, r) array
        Orthonormal columns.
    residuals : (r,) array
        Lengths of G u - theta u; each theta has an eigenvalue of G within that distance.
    iterations : int
        Products that were taken.
    converged : bool
        Whether all residuals reached the tolerance.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    iterations: int
    converged: bool


def leading_eigenpairs(
    product: Callable[[Floats], Floats],
    n: int,
    rank: int,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    random_state: int | None = 0,
    monitor: Callable[[int, float], object] | None = None,
) -> Eigenpairs:
    """Find the largest eigenvalues of a symmetric matrix by block Krylov spaces that start at random.

    Parameters
    ----------
    product : callable
        V -> G V, for V (n, b).
    n, rank : int
        Order of the matrix, and how many eigenpairs are wanted, at most n.
    tol : float, default 1e-10
        Of the residuals, relative to the largest eigenvalue.
    max_iter : int, default 100
        Products at most.
    random_state : int or None, default 0
        Of the start.
    monitor : callable, optional
        ``monitor(iteration, residual)``, the largest residual over the largest eigenvalue; a true answer ends it.

    Returns
    -------
    Eigenpairs

    Notes
    -----
    Largest means largest, not largest in size: what is wanted of a kernel matrix. Memory 8 b n numbers with b about
    5/4 rank + 8; every product is followed by O(n b^2) operations for orthogonality.

    References
    ----------
    Ledger: F-MERCER.

    Examples
    --------
    >>> G = np.diag(np.arange(100.0))
    >>> found = leading_eigenpairs(lambda V: G @ V, 100, 3)
    >>> found.values.round(6), found.converged
    (array([99., 98., 97.]), True)
    """
    b = min(n, rank + max(_SPARE, rank // 4))
    start = np.random.default_rng(random_state).normal(size=(n, b))
    Q, _ = np.linalg.qr(start)
    basis, images = [Q], [np.asarray(product(Q), dtype=float)]
    iterations = 1
    while True:
        values, vectors, rest = _ritz(np.hstack(basis), np.hstack(images), b)
        residuals = np.linalg.norm(rest - vectors * values, axis=0)[:rank]
        top = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
        worst = float(residuals.max(initial=0.0)) / top
        stopped = monitor is not None and bool(monitor(iterations, worst))
        converged = worst <= tol
        fresh = None if converged else _orthogonal(images[-1], basis)
        # without a new direction the space is invariant: what is left of the residuals is rounding
        if converged or stopped or iterations >= max_iter or fresh is None:
            return Eigenpairs(
                values[:rank], vectors[:, :rank].copy(), residuals, iterations, converged or (fresh is None)
            )
        if len(basis) >= _DEPTH:
            basis, images = [vectors], [rest]
            fresh = _orthogonal(rest - vectors * values, basis)
            if fresh is None:
                return Eigenpairs(values[:rank], vectors[:, :rank].copy(), residuals, iterations, True)
        basis.append(fresh)
        images.append(np.asarray(product(fresh), dtype=float))
        iterations += 1


def _ritz(Q: Floats, GQ: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """Return the largest eigenvalues in a space, their vectors, and the images of these under G."""
    T = Q.T @ GQ
    values, s = np.linalg.eigh(0.5 * (T + T.T))
    s = s[:, ::-1][:, :count]
    return values[::-1][:count], Q @ s, GQ @ s


def _orthogonal(Y: Floats, basis: list[Floats]) -> Floats | None:
    """Return an orthonormal basis of what Y has beyond a space, or None if that is rounding alone."""
    sizes = np.linalg.norm(Y, axis=0)
    kept = sizes > 0.0
    Y = Y[:, kept] / sizes[kept]
    for _ in range(2):  # twice is enough
        for Q in basis:
            Y = Y - Q @ (Q.T @ Y)
    U, singular, _ = np.linalg.svd(Y, full_matrices=False)
    kept = singular > 1e-11
    if not kept.any():
        return None
    U = U[:, kept]
    for Q in basis:
        U = U - Q @ (Q.T @ U)
    return np.linalg.qr(U)[0]

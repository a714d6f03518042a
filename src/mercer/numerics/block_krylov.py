r"""The largest eigenvalues of a matrix that is known by its products alone.

Symbols: ``G`` symmetric, (n, n); ``r`` eigenpairs wanted, ``b`` columns per product; ``Q`` an orthonormal basis of the
block Krylov space span(V, G V, G^2 V, ...); ``T`` = Q^T G Q with eigenvectors ``s`` and eigenvalues ``theta``.

A tile of a kernel matrix costs more than its product with some columns, and a stored one is read once for all of them,
so a product takes many columns at once. With G Q = Q T + R E^T, where E picks the last block, the residual of a
Ritz vector Q s is R E^T s: no image of the basis has to be kept. When the basis is full it is replaced by its best
vectors, which bounds the memory; the process continues from them and from R, as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.tiling import kept_by

__all__ = ["Eigenpairs", "leading_eigenpairs"]
__public__ = __all__

_DEPTH = 10  # blocks in a basis that is full
_KEPT = 3  # and after it was replaced by its best vectors
_SPARE = 4  # columns beyond those wanted, at least: convergence follows the first eigenvalue left out
_WIDTH = 8  # blocks are multiples of what the cores multiply at a time
_SQUARED = 1e-8  # the least ratio of squared sizes with which columns are made orthonormal by their products
_ALMOST = 1e-3  # how far their products may be from those of orthonormal columns after the first time
_ROUNDING = 16.0 * float(np.finfo(float).eps)  # of a product, relative to the largest eigenvalue


def times(product: Any) -> Callable[[Floats], Floats]:
    """Return V -> G V of a callable or of whatever has ``@``: an array, a sparse matrix, a Gram.

    Examples
    --------
    >>> times(np.diag([1.0, 2.0]))(np.ones(2))
    array([1., 2.])
    """
    apply: Any = product if callable(product) else lambda V: product @ V
    return apply


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Some eigenvalues and eigenvectors, as far as they were found.

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
    product: Any,
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
    product : callable or Gram
        V -> G V, for V (n, b), or what has ``@``.
    n, rank : int
        Order of the matrix, and how many eigenpairs are wanted, at most n.
    tol : float, default 1e-10
        Tolerance of the residuals, relative to the largest eigenvalue.
    max_iter : int, default 100
        Products at most.
    random_state : int or None, default 0
        Seed of the start.
    monitor : callable, optional
        ``monitor(iteration, residual)``, the largest residual over the largest eigenvalue; a true answer ends it. The
        basis is kept by it, if it keeps states (`mercer.runtime.checkpoints`), and a later call continues from there.

    Returns
    -------
    Eigenpairs

    Notes
    -----
    Largest means largest, not largest in size: what is wanted of a kernel matrix. Blocks are wider than the number of
    pairs wanted, so that no multiple eigenvalue hides another one. Memory 12 b n numbers with b about 5/4 rank + 8; a
    product is followed by at most 60 n b^2 operations for orthogonality.

    Examples
    --------
    >>> found = leading_eigenpairs(np.diag(np.arange(100.0)), 100, 3)
    >>> found.values.round(6), found.converged
    (array([99., 98., 97.]), True)
    """
    product = times(product)
    b = min(n, -(-(rank + max(_SPARE, rank // 4)) // _WIDTH) * _WIDTH)
    most = min(n, _DEPTH * b)
    Q, T = np.empty((n, most), order="F"), np.zeros((most, most))  # some columns of Q are one piece of memory
    kept = kept_by(monitor, "leading_eigenpairs", n=n, rank=rank, tol=tol, max_iter=max_iter, seed=random_state)
    if kept.state is None:
        held = iterations = 0
        fresh = np.linalg.qr(np.random.default_rng(random_state).normal(size=(n, b)))[0]
    else:
        held, iterations, fresh = (kept.state[name] for name in ("held", "iterations", "fresh"))
        Q[:, :held], T[:held, :held] = kept.state["basis"].T, kept.state["projected"]
    while True:
        fresh = np.ascontiguousarray(fresh)  # a state that was read again is, and products may differ with the order
        if iterations:
            now = {"held": held, "iterations": iterations, "fresh": fresh}
            now |= {"basis": Q[:, :held].T, "projected": T[:held, :held]}
            kept.offer(lambda now=now: now)
        new, held = held, held + fresh.shape[1]
        Q[:, new:held] = fresh
        R = np.asarray(product(fresh), dtype=float)
        iterations += 1
        T[:held, new:held] = Q[:, :held].T @ R
        T[new:held, :held] = T[:held, new:held].T
        R = R - Q[:, :held] @ T[:held, new:held]
        theta, s = np.linalg.eigh(T[:held, :held])
        theta, s = theta[::-1], s[:, ::-1]
        residuals = np.linalg.norm(R @ s[new:, :rank], axis=0)
        top = max(float(np.abs(theta).max(initial=0.0)), np.finfo(float).tiny)
        worst = float(residuals.max(initial=0.0)) / top
        stopped = monitor is not None and bool(monitor(iterations, worst))
        done = worst <= tol
        if not (done or stopped or iterations >= max_iter):
            if held + R.shape[1] > most < n:
                best = min(_KEPT * b, held)
                Q[:, :best], T[:best, :best] = Q[:, :held] @ s[:, :best], np.diag(theta[:best])
                held, theta, s = best, theta[:best], np.eye(best)
            fresh = _orthonormal(R, Q[:, :held], _ROUNDING * top)
            done = not fresh.shape[1]  # the space is invariant: what is left of the residuals is rounding
            if not done:
                continue
        return Eigenpairs(theta[:rank].copy(), Q[:, :held] @ s[:, :rank], residuals, iterations, done)


def _orthonormal(R: Floats, Q: Floats, noise: float) -> Floats:
    """Return an orthonormal basis of what R has beyond the space of Q, which was taken from it once."""
    room = len(Q) - Q.shape[1]
    squares, turn = np.linalg.eigh(R.T @ R)
    if R.shape[1] <= room and np.isfinite(squares).all() and squares[0] > max(_SQUARED * squares[-1], 4.0 * noise**2):
        U = R @ (turn / np.sqrt(squares))  # all columns count, and squares lose none of them
        U -= Q @ (Q.T @ U)
        inner = U.T @ U
        if np.abs(inner - np.eye(len(inner))).max() < _ALMOST:  # otherwise what was left of R is rounding
            return U @ np.linalg.inv(np.linalg.cholesky(inner)).T
    U, triangle = np.linalg.qr(R)
    turn, sizes, _ = np.linalg.svd(triangle)
    count = min(int(np.sum(sizes > noise)), room)
    U = U @ turn[:, :count]
    return np.linalg.qr(U - Q @ (Q.T @ U))[0]  # a small part of R has errors along Q that are no longer small in U

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
from mercer.numerics.cholesky import CholeskyFactor, lapack, leading, restore_symmetry, writeable_rows
from mercer.runtime.tiling import in_background, kept_by

__all__ = ["Eigenpairs", "inverse_eigenpairs", "leading_eigenpairs"]
__public__ = ["Eigenpairs", "leading_eigenpairs"]

_DEPTH = 10  # blocks in a basis that is full
_KEPT = 3  # and after it was replaced by its best vectors
_SPARE = 4  # columns beyond those wanted, at least: convergence follows the first eigenvalue left out
_WIDTH = 8  # blocks are multiples of what the cores multiply at a time
_SQUARED = 1e-8  # the least ratio of squared sizes with which columns are made orthonormal by their products
_ALMOST = 1e-3  # how far their products may be from those of orthonormal columns after the first time
_TRIES = 12  # shifts that are tried
_LEAST = 1e-9  # the error, relative to the eigenvalue: with a shift too near one eigenvalue all others are small
_SOUND = 1e-9  # residuals of the matrix itself, relative to it
_NEAR, _FURTHER = 0.125, 4.0  # the first of them, in units of the error, and the ratio of two
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
    Eigenvalues that lie close together at the upper end of a wide spectrum, as those of maps of manifolds do, are far
    apart among 1 / (sigma - lambda) if sigma is near to them. A Cholesky factor of A = sigma I - G takes a quarter of
    the operations that make G tridiagonal, and at the speed of matrix products; that it exists proves sigma to be above
    all eigenvalues. Cost n^3 / 3 operations, and some ten products with the inverse; memory that of G.

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

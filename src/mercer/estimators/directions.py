r"""Eigenvectors of weighted, centred Gram matrices: all by LAPACK, some by products, or from a factor of low rank.

Symbols: K the Gram matrix, w_i sample weights, P = I - 1 w^T / N the centring, lambda and v the eigenvalues and unit
eigenvectors of G = W^(1/2) P K P^T W^(1/2), F the factor of a Gram of low rank, K = F F^T, m the mean of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.gram import Gram, HasFactor
from mercer.gram.gram import has_array
from mercer.numerics.block_krylov import Eigenpairs, inverse_eigenpairs, leading_eigenpairs
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.stored_lanczos import stored_eigenpairs
from mercer.numerics.symmetric import symmetric_product
from mercer.runtime.tiling import blas_for, in_background, serial_blas
from mercer.solvers.linear.krylov_pls import Centring

__all__ = [
    "FEW",
    "MOST",
    "Directions",
    "all_directions",
    "decomposed",
    "factor_directions",
    "factor_rank",
    "inverse_directions",
    "is_whole",
    "krylov_bytes",
    "leading_directions",
    "principal_directions",
    "stored_directions",
    "work_bytes",
]

FEW = 500  # samples up to which all eigenvectors together cost less than some of them by products
MOST = 300  # products of the Lanczos process
_SHARE = 24  # of a K in memory all eigenvectors are found if more than this part of them is wanted
_ROWS = 4096  # of a factor at a time
_CACHED = 100, 2000  # samples whose K is multiplied by one vector at a time: half of it fits into a cache
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Directions:
    """Eigenvalues and eigenvectors of a weighted, centred Gram matrix, as far as they were found.

    Attributes
    ----------
    values : (q,) array
        Descending.
    vectors : (n, q) array
        Orthonormal; of W^(1/2) P K P^T W^(1/2).
    means : (n,) array
        Weighted means of the rows of K.
    trace : float
        Trace of the centred matrix.
    floor : float
        What is not above it is rounding.
    weights, origin : (r, q) and (r,) arrays, optional
        The directions and the mean in the coordinates of the Gram's factor.
    iterations, residual, converged
        Of an iterative solver.
    """

    values: Floats
    vectors: Floats
    means: Floats
    trace: float
    floor: float
    weights: Floats | None = None
    origin: Any = 0.0
    iterations: int = 1
    residual: float = 0.0
    converged: bool = True

    def first(self, count: int, root: Floats) -> Directions:
        """Return the first directions; of each, the score of largest size over the samples is positive."""
        sign = _signs(self.vectors[:, :count] / root[:, None])
        weights = None if self.weights is None else self.weights[:, :count] * sign
        vectors = self.vectors[:, :count]
        vectors *= sign
        return replace(self, values=self.values[:count].copy(), vectors=vectors, weights=weights)


def principal_directions(
    gram: Any,
    weight: Floats,
    count: int,
    *,
    centered: bool = True,
    tol: float = 1e-8,
    max_iter: int = MOST,
    seed: int = 0,
    monitor: Any = None,
) -> Directions:
    r"""Find leading eigenvectors of a weighted, centred Gram matrix from its products: a block Lanczos process.

    .. math:: T = Q^\top G Q, \quad T s = \theta s, \quad v \approx Q s, \qquad G = W^{1/2} P K P^\top W^{1/2}

    Seed: [KIKS] Section 3.3 (eigenvectors of K from those of T).

    Parameters
    ----------
    gram : Gram or (n, n) array
    weight : (n,) array
        Positive.
    count : int
    centered : bool, default True
    tol, max_iter : float, int
        Tolerance of residuals relative to the largest eigenvalue, and products at most.
    seed : int
        Seed of the start.
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends it.

    Returns
    -------
    Directions

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    >>> principal_directions(X @ X.T, np.ones(4), 2).values.round(6)
    array([2. , 0.5])
    """
    n, root = len(weight), np.sqrt(weight)
    K = _Stored(gram.array, gram.resources.n_threads) if has_array(gram) else gram
    operator = Centring(K, weight)

    def product(V: Floats) -> Floats:
        return operator @ V if centered else root[:, None] * np.asarray(K @ (root[:, None] * V))

    with serial_blas():  # products have threads of their own, from which those of BLAS would take the cores
        found = leading_eigenpairs(product, n, count, tol=tol, max_iter=max_iter, random_state=seed, monitor=monitor)
    return _found(gram, weight, centered, found)


def stored_directions(
    gram: Any,
    weight: Floats,
    count: int,
    *,
    centered: bool = True,
    tol: float = 1e-12,
    seed: int = 0,
    monitor: Any = None,
) -> Directions | None:
    """Find few leading eigenvectors of a Gram matrix in memory that fits into a cache: a Lanczos process.

    Parameters
    ----------
    gram : Gram
    weight : (n,) array
        Positive.
    count : int
    centered : bool, default True
    tol : float, default 1e-12
        Tolerance of residuals relative to the largest eigenvalue.
    seed : int
        Seed of the start.
    monitor : callable, optional
        As of `principal_directions`.

    Returns
    -------
    Directions or None
        None if there are too many or too few samples, too many directions are wanted, eigenvalues are multiple or too
        close together, or the monitor has ended it.
    """
    n = len(weight)
    if not (
        has_array(gram) and gram.array.dtype == np.float64 and _CACHED[0] <= n <= _CACHED[1] and _SHARE * count <= n
    ):
        return None
    share = weight / weight.sum() if centered else np.zeros(n)
    found = stored_eigenpairs(gram.array, np.sqrt(weight), share, count, tol=tol, seed=seed, monitor=monitor)
    return None if found is None else _found(gram, weight, centered, found)


def _found(gram: Any, weight: Floats, centered: bool, found: Eigenpairs) -> Directions:
    """Return eigenpairs as directions, with the means and the trace of the matrix."""
    n = len(weight)
    means = np.asarray(gram @ (weight / weight.sum())) if centered else np.zeros(n)
    diagonal = gram.diag() if isinstance(gram, Gram) else np.diagonal(gram)
    trace = float(weight @ (diagonal - 2.0 * means) + weight.sum() * (weight @ means / weight.sum()))
    top = max(float(found.values[0]), 0.0) if len(found.values) else 0.0
    worst = float(found.residuals.max(initial=0.0)) / (top or 1.0)
    noise = np.sqrt(n) * gram.entry_error * float(np.abs(diagonal).max(initial=0.0)) if _is_single(gram) else 0.0
    known = found.values > found.residuals if found.converged else found.values > 0.0  # beyond, all is rounding
    values = np.where(known, found.values, 0.0)
    return Directions(
        values, found.vectors, means, max(trace, float(values.sum())), max(n * _EPS * top, noise),
        iterations=found.iterations, residual=worst, converged=found.converged,
    )  # fmt: skip


class _Stored:
    """A stored matrix as an operator that reads half of it."""

    def __init__(self, array: Floats, n_threads: int | None) -> None:
        self.array, self.n_threads = array, n_threads

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n, k)."""
        return symmetric_product(self.array, V, self.n_threads)


def _is_single(gram: Any) -> bool:
    return isinstance(gram, Gram) and gram.dtype == np.float32


def factor_rank(gram: Gram) -> int | None:
    """Return how many columns the factor of a Gram has; None if there is no factor."""
    if not isinstance(gram, HasFactor):
        return None
    return int(gram.factor(slice(0, 1)).shape[1])


def factor_directions(gram: Any, w: Floats, centered: bool, deadline: float | None) -> Directions:
    """Return all directions of a Gram of low rank from F^T W F, primal from dual ([STS] Eqs. (34)-(35))."""
    n, total = len(w), float(w.sum())
    square, sums = gram.normal(w, np.ones(n))
    origin = sums / total if centered else np.zeros(len(sums))
    if centered:
        square = _centred_normal(gram, w, origin)
    values, U = in_background(np.linalg.eigh, square, work=9.0 * len(square) ** 3, deadline=deadline)
    values, U = values[::-1], np.ascontiguousarray(U[:, ::-1])
    top = max(float(values[0]), 0.0) if len(values) else 0.0
    floor = n * _EPS * top
    kept = values > floor
    values, U = values[kept], U[:, kept]
    vectors, means = np.empty((n, len(values))), np.zeros(n)
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        F = gram.factor(rows)
        means[rows] = F @ origin
        vectors[rows] = (F - origin) @ (U / np.sqrt(values))
    vectors *= np.sqrt(w)[:, None]
    return Directions(values, vectors, means, float(values.sum()), floor, U, origin)


def _centred_normal(gram: Any, w: Floats, origin: Floats) -> Floats:
    """Return sum_i w_i (F_i - m) (F_i - m)^T: centred before it is squared, which keeps the digits."""
    square = np.zeros((len(origin), len(origin)))
    for start in range(0, len(w), _ROWS):
        F = gram.factor(slice(start, start + _ROWS)) - origin
        F *= np.sqrt(w[start : start + _ROWS])[:, None]
        square += F.T @ F
    return square


def all_directions(gram: Gram, w: Floats, centered: bool, deadline: float | None) -> Directions:
    """Return all directions by LAPACK, in the memory of K where it has one."""
    n, (K, means) = len(w), _centred(gram, w, centered)
    with blas_for(n):
        values = in_background(eigh_in_place, K, deadline=deadline)[::-1]
    size = float(np.abs(values).max(initial=0.0))
    positive = np.maximum(values, 0.0)
    return Directions(positive, K[::-1].T, means, float(positive.sum()), n * _EPS * size)


def inverse_directions(
    gram: Gram,
    w: Floats,
    centered: bool,
    rough: Directions,
    *,
    seed: int = 0,
    monitor: Any = None,
    deadline: Any = None,
) -> Directions:
    """Return leading directions that products alone have not settled, by an inverse, in the memory of K.

    Parameters
    ----------
    gram : Gram
        Its array is given away.
    w : (n,) array
        Positive.
    centered : bool
    rough : Directions
        What `principal_directions` had found; returned if there is nothing better.
    seed, monitor, deadline : optional
        Seed of the start, monitor of the iteration, deadline of the factorisation.
    """
    top = float(rough.values[0])
    K, _ = _centred(gram, w, centered)
    with blas_for(len(w)):
        found = inverse_eigenpairs(
            K, len(rough.values), top, rough.residual * top, seed=seed, monitor=monitor, deadline=deadline
        )
    if found is None:
        return rough
    values = np.maximum(found.values, 0.0)
    return replace(
        rough, values=values, vectors=found.vectors, trace=max(rough.trace, float(values.sum())),
        iterations=rough.iterations + found.iterations, converged=found.converged,
        residual=float(found.residuals.max(initial=0.0)) / (top or 1.0),
    )  # fmt: skip


def _centred(gram: Gram, w: Floats, centered: bool) -> tuple[Floats, Floats]:
    """Return W^(1/2) P K P^T W^(1/2), in the memory of K where it has one, and the means of the rows of K."""
    K = gram.release() if has_array(gram) else gram.to_dense()
    share, root, means = w / w.sum(), np.sqrt(w), np.zeros(len(w))
    if centered:
        means = K @ share
        K -= means
        K -= (means - float(share @ means))[:, None]
    if not np.all(w == 1.0):
        K *= root
        K *= root[:, None]
    return K, means


def decomposed(gram: Gram, w: Floats, centered: bool = True, deadline: float | None = None) -> Directions:
    """Return all directions, from the factor of a Gram that has a small one."""
    rank = factor_rank(gram)
    if rank is not None and rank <= gram.shape[0]:
        return factor_directions(gram, w, centered, deadline)
    return all_directions(gram, w, centered, deadline)


def leading_directions(
    gram: Gram,
    w: Floats,
    count: int,
    *,
    centered: bool = True,
    tol: float = 1e-10,
    monitor: Any = None,
    deadline: float | None = None,
) -> Directions:
    """Return at least some leading directions, if there are as many; a Gram that stores nothing is multiplied only.

    Parameters
    ----------
    gram : Gram
    w : (n,) array
        Positive.
    count : int
    centered : bool, default True
    tol : float, default 1e-10
        Tolerance of residuals relative to the largest eigenvalue, by products.
    monitor, deadline : optional
        Monitor of the iteration, deadline of LAPACK.
    """
    n = gram.shape[0]
    if is_whole(gram) and (n <= FEW or not has_array(gram) or _SHARE * count > n):
        return decomposed(gram, w, centered, deadline)
    return principal_directions(
        gram, w, min(count, n), centered=centered, tol=max(tol, 10.0 * gram.entry_error), monitor=monitor
    )


def is_whole(gram: Gram) -> bool:
    """Return whether all directions may be found at once: K is in memory, has a small factor, or is small itself."""
    rank, n = factor_rank(gram), gram.shape[0]
    return n <= FEW or has_array(gram) or (rank is not None and rank <= n)


def krylov_bytes(n: int, count: int) -> int:
    """Return the memory of `principal_directions`: a full basis, the one that follows it, and products.

    Examples
    --------
    >>> krylov_bytes(100_000, 10) / (8 * 100_000**2)  # beside a Gram matrix
    0.004
    """
    return 160 * n * (5 * count // 4 + 8)


def work_bytes(n: int, count: int, stored: bool = True) -> int:
    """Return the memory of `leading_directions` beside a Gram that is stored, or is not."""
    return 24 * n * n if n <= FEW or (stored and _SHARE * count > n) else krylov_bytes(n, count)


def _signs(V: Floats) -> Floats:
    """Return the signs of the first of the largest entries of each column."""
    size = np.abs(V)
    place = np.argmax(size > (1.0 - 1e-6) * size.max(axis=0, initial=0.0), axis=0)
    return np.where(V[place, np.arange(V.shape[1])] < 0.0, -1.0, 1.0)

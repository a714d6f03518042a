r"""The Lanczos process: a symmetric matrix, known by its products, seen through a tridiagonal one.

Symbols: ``G`` symmetric, (n, n); ``V`` the orthonormal vectors of the process, one per row, (m, n); ``T`` = V G V^T,
tridiagonal with ``alpha`` on and ``beta`` beside the diagonal; ``theta`` and ``s`` its eigenvalues and eigenvectors.

In exact arithmetic a new vector need be orthogonalised against the last two alone. With rounding the others come back
as soon as an eigenvalue has been found, and found again, so here every vector is orthogonalised against all, twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.numerics.block_krylov import Eigenpairs, times

__all__ = ["Tridiagonal", "extremal_eigenpairs", "lanczos"]
__public__ = __all__

Product = Callable[[Floats], Floats]
Monitor = Callable[[int, float], object]

_EPS = float(np.finfo(np.float64).eps)
_LEAST = 20  # vectors of a basis between two restarts, at least
_ENDS = ("largest", "smallest", "both")


@dataclass(frozen=True, eq=False)
class Tridiagonal:
    """The result of m steps of the Lanczos process.

    Attributes
    ----------
    alpha : (m,) array
        Diagonal of T.
    beta : (m,) array
        Beside the diagonal; the last number is the length of what the next vector would be made of: 0 if the space is
        invariant.
    basis : (m, n) array
        V, orthonormal rows.

    Examples
    --------
    >>> found = lanczos(lambda V: np.diag([1.0, 2.0, 4.0]) @ V, np.ones(3), 3)
    >>> found.values().round(6)
    array([1., 2., 4.])
    """

    alpha: Floats
    beta: Floats
    basis: Floats

    def __len__(self) -> int:
        return len(self.alpha)

    def values(self) -> Floats:
        """Eigenvalues of T, ascending: the outer ones are the first to be near those of G."""
        return np.asarray(eigh_tridiagonal(self.alpha, self.beta[:-1], eigvals_only=True))

    def eigenpairs(self, count: int, which: str = "largest") -> Eigenpairs:
        """Eigenvalues of T at its upper or lower end, the outermost first, their vectors in the large space.

        The residuals are those of the process, beta_m times the last component of s: no product is needed.
        """
        theta, s = eigh_tridiagonal(self.alpha, self.beta[:-1])
        chosen = _outermost(theta, count, which)
        residuals = self.beta[-1] * np.abs(s[-1, chosen])
        vectors = np.ascontiguousarray((s[:, chosen].T @ self.basis).T)
        return Eigenpairs(theta[chosen], vectors, residuals, len(self), bool(self.beta[-1] == 0.0))

    def quadrature(self, function: Callable[[Floats], Floats]) -> float:
        r"""Gauss quadrature of v^T f(G) v for the first vector v, of length one.

        .. math:: v^\top f(G) v \approx \sum_i \tau_i^2 f(\theta_i), \qquad \tau_i = s_{1i}

        Exact for polynomials of degree 2 m - 1.
        """
        theta, s = eigh_tridiagonal(self.alpha, self.beta[:-1])
        return float(s[0] ** 2 @ function(theta))


def lanczos(
    product: Any,
    start: Floats,
    steps: int,
    *,
    against: Floats | None = None,
    monitor: Callable[[int, float], object] | None = None,
) -> Tridiagonal:
    r"""Make a symmetric matrix tridiagonal by its products with single vectors.

    .. math:: \beta_j v_{j+1} = G v_j - \alpha_j v_j - \beta_{j-1} v_{j-1}, \qquad V G V^\top = T

    Seed: [KIKS] Section 3.3.

    Parameters
    ----------
    product : callable or Gram
        V -> G V, for V (n, 1), or what has ``@``.
    start : (n,) array
        The first vector, of any length but zero.
    steps : int
        m at most; fewer if the space is invariant before, n at the most.
    against : (n, s) array, optional
        Orthonormal columns: the process is that of P G P, P the projection away from them.
    monitor : callable, optional
        ``monitor(step, beta)``; a true answer ends the process.

    Returns
    -------
    Tridiagonal

    Notes
    -----
    Vectors are orthogonal up to rounding however many steps there are. Cost a product and O(n j) operations in step j;
    memory m n numbers.

    Examples
    --------
    >>> found = lanczos(lambda V: np.diag([1.0, 2.0]) @ V, np.ones(2), 5)
    >>> found.alpha, found.beta.round(12)
    (array([1.5, 1.5]), array([0.5, 0. ]))
    """
    basis = _Basis(times(product), len(start), min(steps, len(start)), against)
    alpha: list[float] = []
    beta: list[float] = []
    v = _projected(np.array(start, dtype=np.float64), against)
    length = float(np.linalg.norm(v))
    if not (np.isfinite(length) and length > 0.0):
        raise ParameterError(
            f"lanczos was given a first vector of length {length:.3g}; a finite one that is not zero, beyond what is "
            "projected away, is needed. Draw it at random."
        )
    v /= length
    while len(alpha) < basis.most:
        h, w, size = basis.step(v)
        alpha.append(float(h[-1]))
        beta.append(size)
        if size == 0.0 or (monitor is not None and monitor(len(alpha), size)):
            break
        v = w
    return Tridiagonal(np.array(alpha), np.array(beta), basis.V[: len(alpha)].copy())


class _Basis:
    """Orthonormal vectors of a process, and the norm of G as far as it was seen."""

    def __init__(self, product: Product, n: int, most: int, against: Floats | None) -> None:
        self.product, self.against, self.most = product, against, most
        self.V = np.empty((most, n))
        self.size, self.norm = 0, 0.0

    def step(self, v: Floats) -> tuple[Floats, Floats, float]:
        """Add v; V G v, the next vector, and the length of what it was made of (0: rounding alone)."""
        self.V[self.size] = v
        self.size += 1
        V = self.V[: self.size]
        w = _projected(np.asarray(self.product(v[:, None]), dtype=np.float64)[:, 0].copy(), self.against)
        self.norm = max(self.norm, float(np.linalg.norm(w)))
        h = V @ w
        w -= h @ V
        again = V @ w  # once more: what the first time left is rounding of the size of w, not of what remains
        w -= again @ V
        h += again
        w = _projected(w, self.against)
        length = float(np.linalg.norm(w))
        if length <= 8.0 * np.sqrt(len(v)) * _EPS * self.norm:
            return h, w, 0.0
        w /= length
        w -= (V @ w) @ V
        return h, w / np.linalg.norm(w), length


def _projected(v: Floats, against: Floats | None) -> Floats:
    if against is None or not against.shape[1]:
        return v
    for _ in range(2):
        v = v - against @ (against.T @ v)
    return v


def _outermost(theta: Floats, count: int, which: str) -> Any:
    """Places of the eigenvalues at an end of an ascending list, the outermost first; of both ends: lower ones last."""
    count = min(count, len(theta))
    if which == "largest":
        return np.arange(len(theta))[::-1][:count]
    if which == "smallest":
        return np.arange(count)
    upper = np.arange(len(theta))[::-1][:count]
    lower = np.arange(min(count, len(theta) - len(upper)))
    return np.concatenate([upper, lower[::-1]])


def extremal_eigenpairs(
    product: Any,
    n: int,
    count: int,
    which: str = "largest",
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
    random_state: int | None = 0,
    monitor: Monitor | None = None,
) -> Eigenpairs:
    """Find eigenvalues at the ends of the spectrum of a symmetric matrix by the Lanczos process, restarted.

    Seed: [KIKS] Section 3.3 (extremal eigenvalues by the Lanczos process).

    Parameters
    ----------
    product : callable or Gram
        V -> G V, for V (n, b), or what has ``@``.
    n, count : int
        Order of the matrix, and how many eigenpairs are wanted, of each end.
    which : {"largest", "smallest", "both"}, default "largest"
        The end of the spectrum; by value, not by size.
    tol : float, default 1e-10
        Tolerance of the residuals, relative to the largest eigenvalue in size.
    max_iter : int, default 1000
        Products at most.
    random_state : int or None, default 0
        Seed of the first vector.
    monitor : callable, optional
        ``monitor(iteration, residual)`` at every restart; a true answer ends it.

    Returns
    -------
    Eigenpairs
        Descending; of "both" the largest, then the smallest. The residuals are those of a product of their own.

    Notes
    -----
    For matrices whose product with one vector is cheap; where many columns at once cost little more than one, as those
    of kernels in tiles do, `leading_eigenpairs` needs fewer products. After 2 count + 20 vectors the best ones are kept
    and the process continues from them (a thick restart), which bounds the memory to as many vectors. A process from
    one vector sees one eigenvector of each eigenvalue until its space is invariant; then it continues from a random
    vector. To separate multiple eigenvalues, use `leading_eigenpairs`.

    Examples
    --------
    >>> found = extremal_eigenpairs(lambda V: np.arange(100.0)[:, None] * V, 100, 2, "both")
    >>> found.values.round(6), found.converged
    (array([99., 98.,  1.,  0.]), True)

    The condition of a Gram matrix that is never stored:

    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Shifted, Tiles
    >>> from mercer.kernels import Gaussian
    >>> K = Shifted(Tiles().build(Gaussian(1.0), Vectors.pack(np.arange(50.0)[:, None])), 0.1)
    >>> largest, smallest = extremal_eigenpairs(K, 50, 1, "both").values
    >>> round(float(largest / smallest), 1)
    19.0
    """
    if which not in _ENDS:
        raise ParameterError(
            f"extremal_eigenpairs was given which={which!r}; {', '.join(map(repr, _ENDS))} are accepted. Use 'largest'."
        )
    product = times(product)
    rng = np.random.default_rng(random_state)
    ends = 2 if which == "both" else 1
    most = min(n, ends * (2 * count + _LEAST))
    basis = _Basis(product, n, most, None)
    T = np.zeros((most, most))
    v = rng.normal(size=n)
    v /= np.linalg.norm(v)
    iterations, length = 0, 1.0
    while True:
        while basis.size < most and iterations < max_iter:
            h, v, length = basis.step(v)
            T[basis.size - 1, : basis.size] = T[: basis.size, basis.size - 1] = h
            iterations += 1
            if length == 0.0 and basis.size < n:  # an invariant space, but not yet all of it
                v = _fresh(rng, basis)
        size = basis.size
        theta, s = np.linalg.eigh(T[:size, :size])
        wanted = _outermost(theta, count, which)
        top = max(float(np.abs(theta).max(initial=0.0)), np.finfo(float).tiny)
        worst = float((length * np.abs(s[-1, wanted])).max(initial=0.0)) / top
        stopped = monitor is not None and bool(monitor(iterations, worst))
        if worst <= tol or size == n or stopped or iterations >= max_iter:
            break
        kept = _outermost(theta, count + _LEAST // 4, which)
        basis.V[: len(kept)] = s[:, kept].T @ basis.V[:size]
        basis.size = len(kept)
        T[...] = 0.0
        np.einsum("ii->i", T)[: len(kept)] = theta[kept]
    return _checked(product, theta[wanted], (s[:, wanted].T @ basis.V[:size]).T, iterations, tol)


def _fresh(rng: np.random.Generator, basis: _Basis) -> Floats:
    """A random vector orthogonal to those of a basis."""
    V = basis.V[: basis.size]
    v = rng.normal(size=V.shape[1])
    for _ in range(3):
        v -= (V @ v) @ V
        v /= np.linalg.norm(v)
    return v


def _checked(product: Product, values: Floats, vectors: Floats, iterations: int, tol: float) -> Eigenpairs:
    """Eigenpairs with the residuals that a product shows, and whether they reach the tolerance, or rounding."""
    vectors = np.ascontiguousarray(vectors)
    image = np.asarray(product(vectors), dtype=np.float64)
    residuals = np.linalg.norm(image - vectors * values, axis=0)
    top = float(np.abs(values).max(initial=0.0))
    least = max(tol, 64.0 * np.sqrt(len(vectors)) * _EPS) * top
    return Eigenpairs(values, vectors, residuals, iterations + 1, bool(np.all(residuals <= least)))

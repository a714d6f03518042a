r"""Cholesky factors in float32, and solutions that float64 products make as good as those of float64.

Symbols: ``G`` the symmetric matrix, (n, n), shift included; ``L`` its lower factor in float32, L L^T = G (I + E)
with E about 1e-7 times the condition of G.

A factor in float32 takes half the time. Conjugate gradients on G, preconditioned by it, have the residual of a
factor in float64 after a few steps, or show by it that they have not. One n x n array of float64 is enough: below
its diagonal are the entries of G, and the other half, row by row, holds the triangle of float32 numbers ::

    row i    g g g g . . . . | l l l l       g: 8 bytes, columns 0 to i - 1
                               l: 4 bytes, the last n - i places of the row
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Array, Floats
from mercer.numerics.cholesky import (
    lapack,
    leading,
    require_finite,
    restore_symmetry,
    symmetric_product,
    writeable_rows,
)
from mercer.runtime.tiling import in_background

__all__ = ["MixedFactor", "Refined", "mixed_cholesky"]

_EPS = float(np.finfo(np.float64).eps)
_GOOD = 0.1  # a residual of this many roundings of G X ends the refinement: a factor in float64 leaves as much
_FAIR = 2.0  # more than this many are not accepted
_EARLY = 4  # steps after which the residual shows whether the rest would take too long
_NOTHING = 1e-20  # entries so small against the largest are zero: numbers below 1e-38 would slow the factorisation


class Refined(NamedTuple):
    """Solutions of a linear system, and how good they are.

    Attributes
    ----------
    solution : (n, k) array
    left : (n, k) array
        What is left of the right-hand sides, computed in float64.
    steps : int
        Steps of conjugate gradients, the first included.
    safe : bool
        Whether no more is left than rounding in float64 explains.
    """

    solution: Floats
    left: Floats
    steps: int
    safe: bool


@dataclass(frozen=True, eq=False)
class MixedFactor:
    """Factor of a symmetric positive definite matrix in float32, in the memory of the matrix in float64.

    Attributes
    ----------
    array : (n, n) array, float64
        Below its diagonal the entries of G; elsewhere the memory of the factor.
    diagonal : (n,) array
        Diagonal of G.
    single : (n, n) array, float32
        Its upper triangle, diagonal included, is L^T; it is in the memory of `array`.

    Examples
    --------
    >>> factor = mixed_cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> factor.refined(np.array([[2.0], [5.0]])).solution.round(12)
    array([[0.],
           [1.]])
    """

    array: Floats
    diagonal: Floats
    single: Array

    def solve(self, rhs: Floats) -> Floats:
        """Solution X of G X = rhs, (n, k), to the precision of the factor."""
        n, k = rhs.shape
        largest = np.max(np.abs(rhs), axis=0, initial=0.0)
        largest = np.where(largest > 0.0, largest, 1.0)  # float32 has a short range
        X = np.array((rhs / largest).T, dtype=np.float32, order="C")
        if X.size:
            call = (n, k, self.single, leading(self.single), X, n, np.zeros(1, np.intc))
            in_background(lapack("spotrs"), "L", *call, work=2.0 * n * max(X.size, 8 * n))
        return np.ascontiguousarray(X.T.astype(np.float64) * largest)

    def product(self, X: Floats) -> Floats:
        """G X for X (n, k), in float64."""
        return symmetric_product(self.array, self.diagonal, X)

    def refined(self, rhs: Floats) -> Refined:
        """Solutions of G X = rhs, (n, k), by conjugate gradients with the factor as preconditioner."""
        X: Any = np.zeros_like(rhs)  # types are not followed through the loop: that takes the checker long
        R: Any = rhs.copy()
        P: Any = np.zeros_like(rhs)
        rho: Any = np.ones(rhs.shape[1])
        steps, fresh = 0, True
        given = _lengths(rhs)
        size = _largest(_lengths(self.product(np.ones((len(rhs), 1)))) / max(len(rhs), 1) ** 0.5)  # of G, from below
        limit = min(max(len(rhs) // 500, _EARLY), 12)  # this many steps cost about what the factor has saved
        while steps < limit:
            Z: Any = self.solve(R)
            now: Any = np.einsum("ij,ij->j", R, Z)
            P = Z if fresh else Z + now / rho * P
            Q: Any = self.product(P)
            bend: Any = np.einsum("ij,ij->j", P, Q)
            moves = _lengths(R) > 0.0
            if not np.all((bend > 0.0) & (now > 0.0) & np.isfinite(bend) | ~moves):
                break
            rho, alpha = np.where(moves, now, 1.0), np.where(moves, now / np.where(moves, bend, 1.0), 0.0)
            X, R = X + alpha * P, R - alpha * Q
            size = max(size, _largest(_lengths(Q)[moves] / _lengths(P)[moves]))
            steps, fresh = steps + 1, False
            unit = _EPS * (size * _lengths(X) + given)  # a rounding of G X and of rhs
            if np.all(_lengths(R) <= _GOOD * unit):
                R, fresh = rhs - self.product(X), True  # what is really left, and a new start if it is more
                if np.all(_lengths(R) <= _FAIR * unit):
                    return Refined(X, R, steps, True)
            if steps == _EARLY and np.any(_lengths(R) > 10.0 ** (-36.0 / limit) * given):
                break
        return Refined(X, rhs - self.product(X), steps, False)

    def release(self) -> Floats:
        """Write G, both triangles, over the factor, which is lost, and return the array."""
        np.einsum("ii->i", self.array)[:] = self.diagonal
        restore_symmetry(self.array)
        np.einsum("ii->i", self.array)[:] = self.diagonal
        return self.array


def mixed_cholesky(K: Floats, shift: float | Floats = 0.0) -> MixedFactor | None:
    """Cholesky factor of K + diag(shift) in float32, in the memory of K.

    Parameters
    ----------
    K : (n, n) array, float64
        As for `mercer.numerics.cholesky.safe_cholesky`.
    shift : float or (n,) array, default 0.0
        Added to the diagonal of K.

    Returns
    -------
    factor : MixedFactor or None
        It owns the memory of K from now on. None if the matrix is not positive definite in float32; K is then as
        it was before.

    Notes
    -----
    Cost n^3 / 3 operations of float32, n^2 / 2 conversions; additional memory O(n). A matrix whose eigenvalues fall
    fast fails after few columns, at little cost.

    Examples
    --------
    >>> mixed_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    True
    """
    A = writeable_rows(K)
    require_finite(A, shift)
    n, inside = len(A), np.einsum("ii->i", A)
    given = inside.copy()
    diagonal = given + shift
    single = A.view(np.float32)[:, n:]
    zero = _NOTHING * float(np.max(np.abs(diagonal), initial=0.0))
    with np.errstate(over="ignore", under="ignore"):
        for i in range(n):
            row = A[i, i:].astype(np.float32)
            row[np.abs(row) < zero] = 0.0
            row[0] = diagonal[i]
            single[i, i:] = row
    info = np.zeros(1, np.intc)
    if n:
        in_background(lapack("spotrf"), "L", n, single, leading(single), info, work=n**3 / 6)
    factor = MixedFactor(A, diagonal, single)
    if info[0] == 0 and np.all(np.isfinite(single.diagonal())):
        return factor
    factor.release()
    inside[:] = given
    return None


def _largest(values: Floats) -> float:
    return float(np.max(values, initial=0.0))


def _lengths(X: Floats) -> Floats:
    """Euclidean lengths of columns, (k,)."""
    return np.sqrt(np.einsum("ij,ij->j", X, X))

"""Pivoted Cholesky factors of low rank, and the preconditioner made of one.

Symbols: ``K`` a symmetric positive semi-definite matrix, (n, n), known by its diagonal and by rows; ``L`` its partial
factor, (n, r), K ~ L L^T; ``s`` a positive diagonal; ``P`` = L L^T + diag(s).

The rows of largest remaining diagonal are taken first, so that the trace of what is left falls as fast as a choice of
rows without looking ahead allows. Where K is smooth a few rows carry nearly all of it, and P is so near to K + diag(s)
that conjugate gradients need a handful of iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import ParameterError
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky

__all__ = ["PartialFactor", "Preconditioner", "pivoted_cholesky"]


@dataclass(frozen=True, eq=False)
class PartialFactor:
    """A factor of low rank, K ~ L L^T.

    Attributes
    ----------
    array : (n, r) array
        L.
    pivots : (r,) array of int
        The rows that were taken, in their order.
    left : float
        Trace of K - L L^T, which is positive semi-definite: a bound on its largest eigenvalue.
    """

    array: Floats
    pivots: Indices
    left: float


def pivoted_cholesky(diagonal: Floats, row: Callable[[int], Floats], rank: int, tol: float = 1e-12) -> PartialFactor:
    """Cholesky factor of a few rows, those of largest remaining diagonal first.

    Parameters
    ----------
    diagonal : (n,) array
        Of K.
    row : callable
        ``row(i)`` returns K[i], (n,).
    rank : int
        Rows to take at most.
    tol : float, default 1e-12
        The factor ends when no remaining diagonal entry is larger than tol times the largest of K.

    Returns
    -------
    factor : PartialFactor

    Notes
    -----
    Cost r rows of K and O(n r^2); memory O(n r).

    References
    ----------
    Ledger: B-GPR-CG.

    Examples
    --------
    >>> K = np.array([[4.0, 2.0], [2.0, 1.0]])
    >>> factor = pivoted_cholesky(np.diag(K), lambda i: K[i], rank=2)
    >>> factor.array.T, factor.left
    (array([[2., 1.]]), 0.0)
    """
    rest = np.array(diagonal, dtype=np.float64)
    n = len(rest)
    least = tol * float(np.max(rest, initial=0.0))
    rows = np.empty((min(rank, n), n))  # of L^T: each step writes one, and the products below read them in order
    pivots: list[int] = []
    while len(pivots) < len(rows):
        i = int(np.argmax(rest))
        if not rest[i] > least:
            break
        done = len(pivots)
        new = np.asarray(row(i), dtype=np.float64) - rows[:done, i] @ rows[:done]
        new /= np.sqrt(rest[i])
        new[pivots] = 0.0  # exactly: those rows are reproduced already
        rows[done] = new
        rest -= new * new
        np.maximum(rest, 0.0, out=rest)
        pivots.append(i)
        rest[pivots] = 0.0
    array = np.ascontiguousarray(rows[: len(pivots)].T)
    return PartialFactor(array, np.array(pivots, dtype=np.intp), float(rest.sum()))


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """P = L L^T + diag(s), which is solved by, drawn from and whose determinant is known at the price of O(n r).

    Attributes
    ----------
    array : (n, r) array
        L.
    shift : (n,) array
        s, positive.
    inner : CholeskyFactor
        Of I + L^T diag(s)^-1 L, (r, r).

    Examples
    --------
    >>> P = Preconditioner.of(np.array([[1.0], [1.0]]), np.ones(2))
    >>> P.solve(np.array([[3.0], [3.0]])).ravel()
    array([1., 1.])
    """

    array: Floats
    shift: Floats
    inner: CholeskyFactor

    @classmethod
    def of(cls, array: Floats, shift: float | Floats) -> Preconditioner:
        """P of a factor (n, r) and a positive shift, one number or (n,)."""
        full = np.array(np.broadcast_to(np.asarray(shift, dtype=np.float64), (len(array),)))
        if not (np.all(full > 0.0) and np.all(np.isfinite(full))):
            raise ParameterError(
                "The preconditioner of a pivoted factor divides by the shift (alpha, noise), which was given with "
                f"the value {full.min():.3g}; it must be positive and finite. Use preconditioner=None."
            )
        scaled = array / full[:, None]
        return cls(array, full, safe_cholesky(array.T @ scaled, 1.0))

    def solve(self, R: Floats) -> Floats:
        """P^-1 R for R (n, k)."""
        Z = R / self.shift[:, None]
        return Z - (self.array @ self.inner.solve(self.array.T @ Z)) / self.shift[:, None]

    def inverse_root(self) -> Floats:
        """E, (n, r), with P^-1 = diag(s)^-1 - E E^T."""
        return self.inner.half_solve(self.array.T).T / self.shift[:, None]

    def logdet(self) -> float:
        """Logarithm of the determinant of P."""
        return float(np.sum(np.log(self.shift))) + self.inner.logdet()

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw `count` vectors from the normal distribution of covariance P, (n, count)."""
        n, r = self.array.shape
        own, shared = rng.normal(size=(n, count)), rng.normal(size=(r, count))
        return np.sqrt(self.shift)[:, None] * own + self.array @ shared

r"""Whether a factor of low rank pays as a preconditioner of conjugate gradients, and of which rank.

Symbols: ``K`` the Gram matrix, (n, n); ``L`` its pivoted Cholesky factor of rank r, (n, r), which grows block by block;
``s`` the shift, (n,); R = diag(s)^-1/2 (K - L L^T) diag(s)^-1/2 what is left, with eigenvalues rho_i >= 0.

With P = L L^T + diag(s) the condition number of P^-1 (K + diag(s)) is at most 1 + max rho_i. The largest eigenvalue is
between the mean of all, weighted by themselves, sum rho_i^2 / sum rho_i = |R|_F^2 / tr R, and |R|_F. The mean is used:
the trace is known, and the sum of squares is that of the diagonal and of a sample of all other entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import budget
from mercer.numerics.pivoting import block_pivoted_cholesky

__all__ = ["expected_iterations", "paying_factor"]

_SMALL = 1e8  # operations of a product, below which iterations take milliseconds and nothing is worth the trouble
_STORED = 16.0  # operations in the time that an entry takes from memory to the processor
_DEAR = 1e4  # operations of an entry at most: of a kernel that does not know them
_SAMPLE = 512  # rows and columns of the matrix whose entries stand for all
_SHARE = 4  # of the memory: what the factor and its scaled copy may take
_VAIN = 0.1  # of the least total: what the factor has cost by now before it ends for want of a gain
_DIGITS = 1e-3  # relative error of a solve with P that does no harm


def expected_iterations(largest: float, tol: float) -> float:
    """Return the iterations to a relative residual `tol` where eigenvalues are between 1 and 1 + `largest`."""
    root = np.sqrt(1.0 + largest)
    rate = np.log((root + 1.0) / (root - 1.0)) if root > 1.0 else np.inf
    return max(float(np.log(2.0 / tol) / rate), 1.0)


def paying_factor(gram: Any, shift: Floats, outputs: int, tol: float) -> Floats | None:
    """Return L of the rank that makes the solve cheapest, or None if conjugate gradients are cheaper without.

    Parameters
    ----------
    gram : Gram
        Only one whose products pass over all pairs gets a factor; such a one has rows.
    shift : (n,) array
    outputs : int
        Right-hand sides.
    tol : float
        Relative residual that is asked for.

    Notes
    -----
    All is counted in operations: n^2 (e + 2 k) of a product, n r e + 3 n r^2 of factor and inner matrix, 4 n r k of a
    solve with P, where e are those of an entry and k the outputs. The choice depends on the problem and the memory
    alone, not on clocks or the number of threads.
    """
    n = len(shift)
    if not getattr(gram, "pairwise", False):
        return None
    entry = max(min(gram.entry_cost, _DEAR), _STORED)
    if float(n) * n * (entry + 2.0 * outputs) < _SMALL:
        return None
    diagonal = np.asarray(gram.diag(), dtype=np.float64)
    if not shift.min() * _DIGITS > np.finfo(np.float64).eps * max(float(diagonal.sum()), 0.0) > 0.0:
        return None  # P would be solved too roughly
    room = min(budget(gram.resources.memory), getattr(gram, "memory", np.inf)) / _SHARE
    most = int(min(n // 2, room // (8 * n)))
    if most < 1:
        return None
    fine: Any = gram.refined()
    judge = _Judge(fine, diagonal, shift, outputs, tol, entry)

    def between(rows: Any, index: Indices) -> Floats:
        return fine.rows(index, np.arange(n)[rows]).T

    factor = block_pivoted_cholesky(
        diagonal, between, most,
        rng=np.random.default_rng(0),  # drawn: the largest first are often outliers, which carry little of K
        n_threads=gram.resources.n_threads, enough=judge.enough,
    )  # fmt: skip
    return np.ascontiguousarray(factor.array[:, : judge.best]) if judge.best else None


class _Judge:
    """Estimates of the whole solve with the factor as it grows.

    Attributes
    ----------
    best : int
        Rank of the cheapest so far.
    """

    def __init__(self, gram: Any, diagonal: Floats, shift: Floats, outputs: int, tol: float, entry: float) -> None:
        n = len(shift)
        self.shift, self.outputs, self.tol, self.entry = shift, outputs, tol, entry
        self.sample = np.random.default_rng(0).choice(n, min(n, _SAMPLE), replace=False)
        self.among = np.asarray(gram.rows(self.sample, self.sample), dtype=np.float64)
        self.best = 0
        self.least = self.operations(np.zeros((n, 0)), diagonal)

    def largest(self, L: Floats, rest: Floats) -> float:
        """Return about the largest eigenvalue of what is left; `rest` is the diagonal of K - L L^T."""
        own, n, m = L[self.sample], len(rest), len(self.sample)
        root = np.sqrt(self.shift[self.sample])
        R = (self.among - own @ own.T) / np.outer(root, root)
        np.fill_diagonal(R, 0.0)
        scaled = rest / self.shift
        trace, pairs = float(scaled.sum()), n * (n - 1.0) / (m * (m - 1.0))
        return (float(scaled @ scaled) + pairs * float(np.vdot(R, R))) / trace if trace > 0.0 else 0.0

    def operations(self, L: Floats, rest: Floats) -> float:
        """Return those of the whole solve."""
        n, r = L.shape
        product = n * (n * (self.entry + 2.0 * self.outputs) + 4.0 * r * self.outputs)
        return self.spent(L) + expected_iterations(self.largest(L, rest), self.tol) * product

    def spent(self, L: Floats) -> float:
        """Return those of the factor."""
        n, r = L.shape
        return n * r * (self.entry + 3.0 * r)

    def enough(self, L: Floats, rest: Floats) -> bool:
        """Return whether a larger factor would not pay: there is no gain, though the factor is no longer cheap."""
        operations = self.operations(L, rest)
        if operations < self.least:
            self.best, self.least = L.shape[1], operations
            return False
        return self.spent(L) > _VAIN * self.least

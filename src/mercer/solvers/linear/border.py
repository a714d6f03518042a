"""The border of a linear system: coordinates in which it disappears.

Symbols: ``B`` the border, (n, s), of which B[:, order] / lengths = Q R; ``Q`` = I - V T V^T orthogonal, (n,
n), its first s columns Q1 spanning those of B; ``R`` upper triangular, (s, s).

Coefficients with B^T a = 0 are a = Q (0, z) with z free. In these coordinates the bordered system is an
ordinary one for z, in the lower right block of Q^T G Q, which is positive definite wherever the kernel is
positive definite *conditionally*, that is for such coefficients. A Schur complement would ask G itself to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from mercer.arrays import Floats, Indices
from mercer.errors import ParameterError
from mercer.runtime.tiling import spans

__all__ = ["Border"]

_TILE = 2**15  # numbers: a quarter of a megabyte is all the memory that turning a matrix takes


@dataclass(frozen=True, eq=False)
class Border:
    """Orthogonal coordinates of a border, as a product of reflections Q = I - V T V^T.

    Examples
    --------
    >>> border = Border.of(np.ones((4, 1)))
    >>> abs(border.thin().T @ np.array([1.0, -1.0, 2.0, -2.0])).max() < 1e-15
    np.True_
    """

    V: Floats
    T: Floats
    R: Floats
    order: Indices
    lengths: Floats

    @classmethod
    def of(cls, border: Floats) -> Border:
        """Coordinates of a border (n, s); raises ParameterError if its columns are linearly dependent."""
        B = np.asarray(border, dtype=np.float64)
        largest = np.max(np.abs(B), axis=0, initial=0.0)
        largest = np.where(largest > 0.0, largest, 1.0)
        lengths = largest * np.linalg.norm(B / largest, axis=0)
        lengths = np.where(lengths > 0.0, lengths, 1.0)
        n, s = B.shape
        factors: Any = qr(B / lengths, mode="raw", pivoting=True)
        (packed, tau), R, order = factors
        sizes = np.abs(np.diagonal(R))
        rank = int(np.sum(sizes > max(n, s) * np.finfo(np.float64).eps * np.max(sizes, initial=0.0)))
        if rank < s:
            raise ParameterError(
                f"A border of {s} functions at {n} samples has rank {rank}; functions that are linearly "
                "independent at the samples are needed. Leave out the redundant ones, or give more samples."
            )
        V = np.tril(packed[:, :s], -1)
        V[np.arange(s), np.arange(s)] = 1.0
        return cls(V, _triangular(V, tau), R[:s], np.asarray(order, dtype=np.intp), lengths)

    @property
    def count(self) -> int:
        """Number of functions, s."""
        return self.V.shape[1]

    def into(self, X: Floats) -> Floats:
        """Q^T X for X (n, k)."""
        return X - self.V @ (self.T.T @ (self.V.T @ X))

    def back(self, X: Floats) -> Floats:
        """Q X for X (n, k)."""
        return X - self.V @ (self.T @ (self.V.T @ X))

    def thin(self) -> Floats:
        """Q1, (n, s): an orthonormal basis of the functions at the samples."""
        return self.back(np.eye(*self.V.shape))

    def multipliers(self, X: Floats) -> Floats:
        """Coefficients m, (s, k), with which B m = Q1 X."""
        out = np.empty_like(X)
        out[self.order] = solve_triangular(self.R, X)
        return out / self.lengths[:, None]

    def turn(self, G: Floats) -> None:
        """Replace a symmetric G, (n, n), by Q^T G Q, in its place."""
        X = G @ (self.V @ self.T)
        Y = X - 0.5 * self.V @ (self.T.T @ (self.V.T @ X))
        left, right = np.hstack([self.V, Y]), np.hstack([Y, self.V])
        for rows in spans(len(G), max(_TILE // len(G), 16)):
            G[rows] -= left[rows] @ right.T


def _triangular(V: Floats, tau: Floats) -> Floats:
    """T, (s, s) upper triangular, with H_1 ... H_s = I - V T V^T for H_i = I - tau_i v_i v_i^T."""
    T = np.zeros((len(tau), len(tau)))
    for i, size in enumerate(tau):
        T[:i, i] = -size * (T[:i, :i] @ (V[:, :i].T @ V[:, i]))
        T[i, i] = size
    return T

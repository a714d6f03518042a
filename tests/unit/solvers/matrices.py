"""The smallest Grams that solvers can work on, around arrays."""

from __future__ import annotations

import numpy as np


class Products:
    """Products and the diagonal, nothing else; counts the columns it was multiplied with."""

    def __init__(self, K):
        self.K = K
        self.shape = K.shape
        self.widths = []

    def __matmul__(self, V):
        self.widths.append(1 if V.ndim == 1 else V.shape[1])
        return self.K @ V

    def diag(self):
        return np.diagonal(self.K).copy()


class Matrix(Products):
    """Can also be written out, always into a fresh array."""

    def to_dense(self):
        return self.K.copy()


class Releasing(Matrix):
    """Hands over its own array and is of no use afterwards."""

    def release(self):
        K, self.K = self.K, None
        return K

    def to_dense(self):
        raise AssertionError("a Gram that can hand over its array was asked for a copy")


class LowRank(Products):
    """K = F F^T."""

    def __init__(self, F):
        super().__init__(F @ F.T)
        self.F = F
        self.reads = 0

    def to_dense(self):
        return self.K.copy()

    def factor(self, rows=slice(None)):
        self.reads += len(self.F[rows])
        return self.F[rows]

    def normal(self, weight, rhs):
        return (self.F.T * weight) @ self.F, (self.F.T * weight) @ rhs


def gaussian(X, length_scale=1.0):
    """Gaussian Gram matrix of rows."""
    X = np.asarray(X, dtype=float).reshape(len(X), -1)
    squares = ((X[:, None] - X[None]) ** 2).sum(-1)
    return np.exp(-squares / (2 * length_scale**2))


def saddle(K, shift, border=None):
    """The whole matrix of a linear system, border included."""
    n = len(K)
    G = K + np.diag(np.broadcast_to(np.asarray(shift, dtype=float), (n,)))
    if border is None:
        return G
    s = border.shape[1]
    return np.block([[G, border], [border.T, np.zeros((s, s))]])


def reference(K, shift, rhs, border=None):
    """Coefficients and multipliers by Gaussian elimination on the whole matrix."""
    s = 0 if border is None else border.shape[1]
    full = np.concatenate([rhs, np.zeros((s, *rhs.shape[1:]))])
    solution = np.linalg.solve(saddle(K, shift, border), full)
    return solution[: len(K)], solution[len(K) :]

r"""Several Gram matrices over the same samples: products with each, and their weighted sum.

Symbols: K_t the matrices, t = 1..m, d_t >= 0 their weights, beta coefficients (n,) or (n, k), s_t = beta^T K_t beta.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.gram import HasFactor
from mercer.gram.algebra import Weighted
from mercer.gram.gram import has_array

__all__ = ["Matrix", "Stack", "stack_of"]

_ROWS = 256  # of a matrix that are converted at once


class Matrix:
    """A symmetric array as a Gram: what solvers call, and no more.

    Examples
    --------
    >>> Matrix(np.eye(2)) @ np.ones(2)
    array([1., 1.])
    """

    stored = True
    kernel = None
    entry_cost = 0.0
    entry_error = 1e-15

    def __init__(self, array: Floats, resources: Resources = UNLIMITED) -> None:
        self.array, self.resources, self.shape, self.dtype = array, resources, array.shape, array.dtype
        self.samples = range(len(array))  # what Grams over Grams look at: how many there are

    def __matmul__(self, V: Floats) -> Floats:
        return self.array @ V

    def diag(self) -> Floats:
        """Return the diagonal."""
        return np.diagonal(self.array).copy()

    def rows(self, index: Indices, columns: Any = slice(None), out: Floats | None = None) -> Floats:
        """Return rows of the array."""
        found = self.array[index][:, columns] if isinstance(columns, slice) else self.array[np.ix_(index, columns)]
        if out is None:
            return found
        out[...] = found
        return out

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add columns times V."""
        out += self.array[index].T @ V if rows is None else self.array[np.ix_(rows, index)] @ V

    def refined(self) -> Matrix:
        """Return the same: it is in float64."""
        return self

    def take(self, index: Any) -> Matrix:
        """Return the part of some samples."""
        return Matrix(self.array[index][:, index], self.resources)

    def to_dense(self) -> Floats:
        """Return a copy of the array."""
        return self.array.copy()


class Factor:
    """F F^T as a Gram.

    Examples
    --------
    >>> Factor(np.ones((2, 1))) @ np.ones(2)
    array([2., 2.])
    """

    stored = False
    kernel = None
    entry_error = 1e-15
    dtype = np.dtype(np.float64)

    def __init__(self, F: Floats, resources: Resources = UNLIMITED) -> None:
        self.F, self.resources, self.shape = F, resources, (len(F), len(F))
        self.samples = range(len(F))
        self.entry_cost = 2.0 * F.shape[1]

    def __matmul__(self, V: Floats) -> Floats:
        return self.F @ (self.F.T @ V)

    def diag(self) -> Floats:
        """Return the diagonal."""
        return np.einsum("ij,ij->i", self.F, self.F)

    def rows(self, index: Indices, columns: Any = slice(None), out: Floats | None = None) -> Floats:
        """Return rows of the product."""
        found = self.F[index] @ self.F[columns].T
        if out is None:
            return found
        out[...] = found
        return out

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add columns times V."""
        moved = self.F[index].T @ V
        out += self.F @ moved if rows is None else self.F[rows] @ moved

    def refined(self) -> Factor:
        """Return the same: it is in float64."""
        return self

    def factor(self, rows: slice = slice(None)) -> Floats:
        """Return rows of F."""
        return self.F[rows]

    def normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        """Return F^T W F and F^T W rhs."""
        weighted = self.F.T * weight
        return weighted @ self.F, weighted @ rhs

    def take(self, index: Any) -> Factor:
        """Return the part of some samples."""
        return Factor(self.F[index], self.resources)


class Stack:
    """Several Grams, of which nothing is known but that they multiply.

    Parameters
    ----------
    grams : sequence of Gram
    """

    def __init__(self, grams: Sequence[Any]) -> None:
        self.grams = tuple(grams)
        self.n = self.grams[0].shape[0]
        self.resources = getattr(self.grams[0], "resources", UNLIMITED)

    def __len__(self) -> int:
        return len(self.grams)

    def parts(self) -> list[Any]:
        """Return the Grams in the form in which they are worked with."""
        return list(self.grams)

    def combined(self, d: Floats) -> Any:
        """Return the Gram of the weighted sum."""
        used = np.flatnonzero(d)
        if not len(used):
            used = np.array([0])
        return Weighted([self.grams[t] for t in used], d[used])

    def products(self, beta: Floats, rows: Indices | None = None, which: Indices | None = None) -> Floats:
        """Return K_t beta for all or some t, (m, n); of some rows only, if they are given."""
        chosen = range(len(self)) if which is None else which
        found = np.array([self._product(int(t), beta, rows) for t in chosen])
        return found.reshape(len(found), *(beta.shape if rows is None else (len(rows), *beta.shape[1:])))

    def squares(self, beta: Floats) -> Floats:
        """Return s_t = beta^T K_t beta, (m,), summed over the columns of beta; never negative."""
        used = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        found = [float(np.sum(beta[used] * self._product(t, beta, used))) for t in range(len(self))]
        return np.maximum(found, 0.0)

    def traces(self) -> Floats:
        """Return the mean of each diagonal, (m,)."""
        return np.array([float(np.mean(gram.diag())) for gram in self.grams])

    def _product(self, t: int, beta: Floats, rows: Indices | None) -> Floats:
        found = self.grams[t] @ beta
        return found if rows is None else found[rows]


class _DenseStack(Stack):
    """Matrices in memory, in float64 or float32; sums are in float64."""

    def __init__(self, grams: Sequence[Any]) -> None:
        super().__init__(grams)
        self.arrays = [gram.array for gram in self.grams]
        self._sum: Floats | None = None

    def parts(self) -> list[Any]:
        return [Matrix(array, self.resources) for array in self.arrays]

    def combined(self, d: Floats) -> Matrix:
        """Return the weighted sum as one array; the next call writes over it."""
        if self._sum is None:
            self._sum = np.empty((self.n, self.n))
        out, used = self._sum, np.flatnonzero(d)
        part = np.empty((min(_ROWS, self.n), self.n))
        for begin in range(0, self.n, _ROWS):  # a few rows of all of them at once stay in the cache
            rows = slice(begin, min(begin + _ROWS, self.n))
            total = out[rows]
            total[...] = 0.0
            for t in used:
                piece = part[: len(total)]
                np.multiply(self.arrays[t][rows], d[t], out=piece)
                total += piece
        return Matrix(out, self.resources)

    def _product(self, t: int, beta: Floats, rows: Indices | None) -> Floats:
        K = self.arrays[t]
        used = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        if K.dtype == np.float64 and rows is None:
            return K[used].T @ beta[used] if 2 * len(used) < self.n else K @ beta
        index = np.arange(self.n) if rows is None else rows
        out = np.empty((len(index), *beta.shape[1:]))
        for begin in range(0, len(index), _ROWS):
            piece = index[begin : begin + _ROWS]
            block = K[piece] if 2 * len(used) > self.n else K[np.ix_(piece, used)]
            values = beta if block.shape[1] == self.n else beta[used]
            out[begin : begin + len(piece)] = block.astype(np.float64, copy=False) @ values
        return out


class _FactorStack(Stack):
    """Matrices of low rank, held by their factors."""

    def __init__(self, grams: Sequence[Any]) -> None:
        super().__init__(grams)
        self.factors = [np.asarray(gram.factor(), dtype=np.float64) for gram in self.grams]

    def parts(self) -> list[Any]:
        return [Factor(F, self.resources) for F in self.factors]

    def combined(self, d: Floats) -> Factor:
        """Return the weighted sum by the factors side by side."""
        used = np.flatnonzero(d)
        parts = [np.sqrt(d[t]) * self.factors[t] for t in used] or [np.zeros((self.n, 1))]
        return Factor(np.hstack(parts), self.resources)

    def squares(self, beta: Floats) -> Floats:
        used = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        return np.array([float(np.sum((F[used].T @ beta[used]) ** 2)) for F in self.factors])

    def _product(self, t: int, beta: Floats, rows: Indices | None) -> Floats:
        F = self.factors[t]
        return (F if rows is None else F[rows]) @ (F.T @ beta)


def stack_of(grams: Sequence[Any]) -> Stack:
    """Return several Grams as one object, by what all of them offer.

    Examples
    --------
    >>> stack_of([Matrix(np.eye(2)), Matrix(np.ones((2, 2)))]).squares(np.array([1.0, 1.0]))
    array([2., 4.])
    """
    if all(has_array(gram) for gram in grams):
        return _DenseStack(grams)
    if all(isinstance(gram, HasFactor) for gram in grams):
        return _FactorStack(grams)
    return Stack(grams)

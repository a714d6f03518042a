"""Columns of a penalised least-squares problem: weighted, centred, and asked only for products.

Symbols: X the columns (n, D), w the sample weights with sum W, m = X^T w / W their means (zero without an intercept),
A = diag(w)^(1/2) (X - 1 m^T), z = diag(w)^(1/2) (y - mean), so that the intercept is eliminated exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Indices
from mercer.gram.gram import is_low_rank
from mercer.gram.low_rank.factor import FactorGram
from mercer.runtime.tiling import spans

__all__ = ["Design", "PenalisedLeastSquares", "design_of", "power_of_two"]

_ROWS = 4096  # rows of a factor that are in memory at once


class Design(ABC):
    """A as an operator: products with A and its transpose, and entries of the matrix A^T A."""

    root: Floats  # (n,) square roots of the weights
    means: Floats  # (D,) weighted means of the columns of X, zero without an intercept
    centred: bool

    @property
    def shape(self) -> tuple[int, int]:
        """(n, D)."""
        return len(self.root), len(self.means)

    @property
    def rank(self) -> int:
        """A number of columns that no independent set of columns of A exceeds."""
        return min(self.shape)

    @abstractmethod
    def correlations(self, r: Floats) -> Floats:
        """A^T r, shape (D,)."""

    @abstractmethod
    def product(self, b: Floats) -> Floats:
        """A b, shape (n,); columns with coefficient zero are not looked at."""

    @abstractmethod
    def normal(self, rows: Indices, columns: Indices) -> Floats:
        """Entries of A^T A, shape (len rows, len columns)."""

    @abstractmethod
    def squares(self) -> Floats:
        """Squared lengths of the columns of A, shape (D,)."""

    def target(self, y: Floats) -> tuple[Floats, float]:
        """Weighted, centred targets z, and the mean that was subtracted."""
        mean = float(self.root @ (self.root * y) / (self.root @ self.root)) if self.centred else 0.0
        return self.root * (y - mean), mean

    def intercept(self, mean: float, b: Floats) -> float:
        """The intercept that belongs to coefficients."""
        used = np.flatnonzero(b)
        return mean - float(self.means[used] @ b[used])


class _Dense(Design):
    """Columns held as rows of A^T."""

    def __init__(self, X: Floats, weight: Floats, centred: bool) -> None:
        self.root, self.centred = np.sqrt(weight), centred
        self.means = weight @ X / weight.sum() if centred else np.zeros(X.shape[1])
        self.transposed = np.array(X.T, dtype=np.float64, order="C")
        self.transposed -= self.means[:, None]
        self.transposed *= self.root

    def correlations(self, r: Floats) -> Floats:
        return self.transposed @ r

    def product(self, b: Floats) -> Floats:
        used = np.flatnonzero(b)
        if 2 * len(used) > len(b):
            return b @ self.transposed
        return b[used] @ self.transposed[used]

    def normal(self, rows: Indices, columns: Indices) -> Floats:
        return self.transposed[rows] @ self.transposed[columns].T

    def squares(self) -> Floats:
        return np.einsum("ij,ij->i", self.transposed, self.transposed)


class _Sparse(Design):
    """Sparse columns, centred without making them dense: A = S - root m^T with S = diag(root) X."""

    def __init__(self, X: Any, weight: Floats, centred: bool) -> None:
        self.root, self.centred = np.sqrt(weight), centred
        self.columns = sp.csc_array(sp.diags_array(self.root) @ X.astype(np.float64))
        total = float(weight.sum())
        self.means = (self.columns.T @ self.root) / total if centred else np.zeros(X.shape[1])
        self.total = total

    def correlations(self, r: Floats) -> Floats:
        found = self.columns.T @ r
        return found - self.means * float(self.root @ r) if self.centred else found

    def product(self, b: Floats) -> Floats:
        used = np.flatnonzero(b)
        found = self.columns[:, used] @ b[used]
        return found - self.root * float(self.means[used] @ b[used]) if self.centred else found

    def normal(self, rows: Indices, columns: Indices) -> Floats:
        found = (self.columns[:, rows].T @ self.columns[:, columns]).toarray()
        return found - self.total * np.multiply.outer(self.means[rows], self.means[columns])

    def squares(self) -> Floats:
        raw = np.asarray(self.columns.multiply(self.columns).sum(axis=0)).ravel()
        return np.maximum(raw - self.total * self.means**2, 0.0)


class _Kernel(Design):
    """Columns of a Gram matrix, which is symmetric: rows are computed for the entries that are asked for."""

    def __init__(self, gram: Any, weight: Floats, centred: bool) -> None:
        self.gram, self.root, self.centred = gram, np.sqrt(weight), centred
        self.means = np.asarray(gram @ weight) / weight.sum() if centred else np.zeros(len(weight))
        self._kept = np.zeros(0, dtype=np.intp)
        self._rows = np.zeros((0, len(weight)))

    def correlations(self, r: Floats) -> Floats:
        return np.asarray(self.gram @ (self.root * r)) - self.means * float(self.root @ r)

    def product(self, b: Floats) -> Floats:
        return self.root * (np.asarray(self.gram @ b) - float(self.means @ b))

    def normal(self, rows: Indices, columns: Indices) -> Floats:
        known = self._columns(np.union1d(rows, columns))
        places = [np.searchsorted(self._kept, wanted) for wanted in (rows, columns)]
        return known[places[0]] @ known[places[1]].T

    def _columns(self, index: Indices) -> Floats:
        """Columns of A as rows of an array, in the order of ``_kept``, of which they are a part."""
        if not np.isin(index, self._kept).all():
            held = np.isin(self._kept, index)
            fresh = np.setdiff1d(index, self._kept)
            new = np.asarray(self.gram.rows(fresh), dtype=np.float64) - self.means[fresh][:, None]
            new *= self.root
            kept = np.concatenate([self._kept[held], fresh])
            order = np.argsort(kept)
            self._kept, self._rows = kept[order], np.concatenate([self._rows[held], new])[order]
        return self._rows

    def squares(self) -> Floats:
        n = len(self.root)
        found = np.empty(n)
        step = max(1, (1 << 22) // n)
        for start in range(0, n, step):
            index = np.arange(start, min(start + step, n))
            block = (np.asarray(self.gram.rows(index), dtype=np.float64) - self.means[index][:, None]) * self.root
            found[index] = np.einsum("ij,ij->i", block, block)
        return found


class _Factor(Design):
    """Columns of a Gram matrix F F^T of low rank: A = diag(root) (F - 1 c^T) F^T with c the mean of the rows of F.

    A^T A = F M F^T with M = (F - 1 c^T)^T diag(w) (F - 1 c^T), so that its entries need no column of A.
    """

    def __init__(self, gram: FactorGram, weight: Floats, centred: bool) -> None:
        self.gram, self.root, self.centred = gram, np.sqrt(weight), centred
        self.origin = gram.moment(weight) / weight.sum() if centred else np.zeros(gram.rank)
        self.means = gram.times(self.origin)
        self.M = np.zeros((gram.rank, gram.rank))
        for rows in spans(len(weight), _ROWS):
            F = self.root[rows, None] * (gram.factor(rows) - self.origin)
            self.M += F.T @ F

    @property
    def rank(self) -> int:
        return min(self.gram.rank, *self.shape)

    def correlations(self, r: Floats) -> Floats:
        v = self.root * r
        return self.gram.times(self.gram.moment(v) - self.origin * float(v.sum()))

    def product(self, b: Floats) -> Floats:
        used = np.flatnonzero(b)
        u = self._at(used).T @ b[used]
        return self.root * (self.gram.times(u) - float(self.origin @ u))

    def normal(self, rows: Indices, columns: Indices) -> Floats:
        return self._at(rows) @ self.M @ self._at(columns).T

    def squares(self) -> Floats:
        found = np.empty(len(self.root))
        for rows in spans(len(self.root), _ROWS):
            F = self.gram.factor(rows)
            found[rows] = np.einsum("ij,ij->i", F @ self.M, F)
        return found

    def _at(self, index: Indices) -> Floats:
        """Some rows of F."""
        return self.gram.take(index).factor()


def design_of(X: Any, weight: Floats, fit_intercept: bool = True) -> Design:
    """Return the design of columns: a dense or sparse (n, D) matrix, or a Gram with rows.

    Parameters
    ----------
    X : (n, D) array, sparse matrix, or Gram
    weight : (n,) array
        Positive sample weights.
    fit_intercept : bool, default True
        Whether an intercept that is not penalised is eliminated by centring.

    Examples
    --------
    >>> A = design_of(np.array([[1.0], [3.0]]), np.ones(2))
    >>> A.means, A.product(np.array([1.0]))
    (array([2.]), array([-1.,  1.]))
    """
    if sp.issparse(X):
        return _Sparse(X, weight, fit_intercept)
    if isinstance(X, np.ndarray):
        return _Dense(X, weight, fit_intercept)
    return (_Factor if is_low_rank(X) else _Kernel)(X, weight, fit_intercept)


@dataclass(frozen=True, eq=False)
class PenalisedLeastSquares:
    r"""Least squares with a penalty on the absolute values, the intercept eliminated.

    .. math:: \min_b \; \tfrac12 \|z - A b\|^2 + \alpha \|b\|_1

    Seed: [KIKS] Eq. (13).

    Parameters
    ----------
    design : Design
        A.
    target : (n,) array
        z.
    alpha : float
        Non-negative.

    Examples
    --------
    >>> problem = PenalisedLeastSquares(design_of(np.eye(2), np.ones(2), False), np.array([3.0, 1.0]), alpha=1.0)
    >>> float(problem.largest_alpha)  # from here on all coefficients are zero
    3.0
    """

    design: Design
    target: Floats
    alpha: float

    @property
    def gram(self) -> Design:
        """The design, which is all that solvers multiply by."""
        return self.design

    @property
    def largest_alpha(self) -> float:
        """The smallest alpha at which all coefficients are zero."""
        return float(np.max(np.abs(self.design.correlations(self.target)), initial=0.0))

    def left(self, b: Floats) -> Floats:
        """The residual z - A b, shape (n,)."""
        return self.target - self.design.product(b) if np.any(b) else self.target.copy()

    def gap(self, b: Floats, r: Floats, c: Floats) -> float:
        """Duality gap at coefficients b that leave r, with c = A^T r.

        The dual point is a multiple of r; the gap is a sum of terms that are not negative, so nothing cancels.
        """
        largest, length = float(np.max(np.abs(c), initial=0.0)), float(r @ r)
        if length == 0.0:
            return self.alpha * float(np.abs(b).sum())
        scale = float(self.target @ r) / length
        if largest > 0.0:
            scale = min(max(scale, -self.alpha / largest), self.alpha / largest)
        used = np.flatnonzero(b)
        slack = self.alpha * np.abs(b[used]) - scale * b[used] * c[used]
        return 0.5 * (1.0 - scale) ** 2 * length + float(np.maximum(slack, 0.0).sum())

    def violation(self, b: Floats, c: Floats) -> float:
        """Largest violation of the optimality conditions, in the unit of alpha."""
        each = np.where(b != 0.0, np.abs(c - self.alpha * np.sign(b)), np.abs(c) - self.alpha)
        return float(np.max(each, initial=0.0))

    def objective(self, b: Floats, r: Floats) -> float:
        """The value of what is minimised."""
        return 0.5 * float(r @ r) + self.alpha * float(np.abs(b).sum())


def power_of_two(values: Array) -> float:
    """Power of two at the largest absolute value; 1 for zeros: dividing by it changes no digit.

    Examples
    --------
    >>> power_of_two(np.array([3.0, -5.0]))
    4.0
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0

"""Pyramid match: sets of vectors compared by how many members fall into common cells of finer and coarser grids.

Symbols: L levels, i = 0, ..., L - 1 a level, h 2^i the side of its cells, H_i(X) the numbers of members of X in them.

A cell is a whole number for each column; a cell of the next level is found by halving these, rounded down. The minimum
of two counts is the number of ranks r = 1, 2, ... that both reach, so that cells with ranks are features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.constraints import Fixed, Integer, Interval, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.sets import Sets
from mercer.errors import DomainError, ModelError, ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import arrays_of, count, overlap, renumbered
from mercer.kernels.interning import find_rows, intern_sequences
from mercer.kernels.kernel import Tiled
from mercer.kernels.sets.mean_map import require_vectors

__all__ = ["PyramidMatch"]
__public__ = __all__

_FARTHEST = 2.0**62


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that the members of a collection fall into, each with as many ranks as members that one set has there.

    Attributes
    ----------
    places : (D, 1 + d) int64 array
        Of each cell the level, then its number in each column.
    ranks : (D,) intp array
        The largest number of members that a set has in a cell: a feature for each.
    """

    places: NDArray[np.int64]
    ranks: Indices

    def __len__(self) -> int:
        return int(self.ranks.sum())

    @cached_property
    def starts(self) -> Indices:
        """``(D,)`` first feature of each cell."""
        return np.cumsum(self.ranks) - self.ranks

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """Level of each feature."""
        return np.repeat(self.places[:, 0], self.ranks)

    def find(self, other: Cells) -> Indices:
        """Return for each feature of `other` its place here, or -1."""
        if other is self:
            return np.arange(len(self), dtype=np.intp)
        if self.places.shape[1] != other.places.shape[1]:
            raise DomainError(
                f"Sets of vectors with {self.places.shape[1] - 1} and with {other.places.shape[1] - 1} columns were "
                "compared; all vectors must have the same columns. Give new sets the columns of the training sets."
            )
        cell = np.repeat(find_rows(self.places, other.places), other.ranks)
        rank = np.arange(len(other), dtype=np.intp) - np.repeat(other.starts, other.ranks)
        if not len(self.ranks):
            return np.full(len(rank), -1, dtype=np.intp)
        return np.where((cell >= 0) & (rank < self.ranks[cell]), self.starts[cell] + rank, -1)

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        good = self.places.ndim == 2 and self.places.dtype == np.int64 and self.ranks.dtype == np.intp
        if not good or self.ranks.shape != self.places.shape[:1] or bool((self.ranks < 1).any()):
            raise ModelError("The model has cells whose parts do not fit together. Save the model again.")


@dataclass(frozen=True, eq=False)
class _Pyramids:
    """Which cells and ranks each set has; slices of a collection share the cells."""

    matrix: sp.csr_array  # (n, D) ones
    cells: Cells

    def __len__(self) -> int:
        return len(self.matrix.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix and of the cells."""
        return sum(a.nbytes for a in arrays_of(self.matrix)) + self.cells.places.nbytes + self.cells.ranks.nbytes

    def take(self, index: slice | Indices) -> _Pyramids:
        """Return those of some of the sets."""
        return _Pyramids(self.matrix[index], self.cells)


class PyramidMatch(Tiled, Featured):
    r"""Pyramid match: how many members of two sets can be paired up, each pair counted by how close it is.

    .. math:: k(X, X') = \sum_{i=0}^{L-1} 2^{-i} (I_i - I_{i-1}), \qquad
        I_i = \sum_c \min(H_i(X)_c, H_i(X')_c), \quad I_{-1} = 0

    where H_i(X)_c is the number of members of X in cell c of a grid with cells of side h 2^i. A pair that falls into
    one cell at level i, and at no finer one, counts 2^-i.

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces": sets of instances.

    Parameters
    ----------
    levels : int, default 6
        The number L of grids. At least 1.
    width : float, optional
        The side h of the finest cells, in the unit of the columns. By default it is learned from training sets, in
        `fit`, so that the coarsest cells are as wide as the range of the widest column.
    origin : float or (d,) array, optional
        A corner of a cell, common to all grids. By default 0 or, if the width is learned, the least value of each
        column.

    Notes
    -----
    Domain Sets of vectors; members count once each, so that sets with weights are refused. The empty set has k = 0 with
    every set. Features one for each cell and rank that occurs, sparse; nothing to differentiate. Positive definite of
    order 0, since k = sum_i c_i I_i with c_i = 2^-(i + 1) and 2^-(L - 1) for the last, and a sum of minima of counts is
    one of products of features. Not strict: sets with as many members in all cells are alike. Not bounded, as it grows
    with the sets (``.normalized()`` removes that). Unlike a mean map it looks for the best partner of each member
    rather than for the average. In many columns only coarse cells are shared. Cost O(L d) a member to find the cells,
    then one addition for each pair of sets and each cell with rank that both have.

    Examples
    --------
    >>> k = PyramidMatch(3, width=1.0)
    >>> k([[[0.2], [5.5]], [[0.7], [4.1]]])  # one pair in a cell of side 1, one in a cell of side 2
    array([[2. , 1.5],
           [1.5, 2. ]])
    """

    domain = Sets
    formula = r"\sum_i 2^{-i} (I_i - I_{i-1})"
    cost = "O(Ld) a member to find the cells, then O(common cells) a pair"
    constraints = {
        "levels": Integer(1, 50),
        "width": Optional(Fixed(Positive())),
        "origin": Optional(Fixed(Interval(-np.inf, np.inf, vector=True))),
    }

    def __init__(self, levels: int = 6, width: float | None = None, origin: Any = None) -> None:
        self.levels = levels
        self.width = width
        self.origin = origin

    def pack(self, X: Any) -> Samples:
        """Turn arrays of vectors into Sets without weights."""
        S = Sets.pack(X)
        require_vectors(self, S)
        if bool((S.weights != 1.0).any()):
            i = int(S.owners[np.flatnonzero(S.weights != 1.0)[0]])
            raise DomainError(
                f"Set {i} has weights other than 1, and PyramidMatch counts members; sets without weights are "
                "accepted. Repeat members instead, or use MeanMap."
            )
        return S

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> PyramidMatch:
        """Choose the width and the origin so that the coarsest cells hold all members."""
        if self.width is not None:
            return self
        X = _dense(S if weight is None else S.take(np.asarray(weight) > 0.0))
        low = X.min(axis=0)
        span = float((X.max(axis=0) - low).max())
        coarsest = span * (1.0 + 1e-9) if span > 0.0 else 1.0  # so that the largest value is inside
        origin = low if self.origin is None else self.origin
        return self.replace(width=coarsest / 2.0 ** (int(self.levels) - 1), origin=origin)

    @property
    def _key(self) -> str:
        return f"pyramid:{self!r}"

    def _prepare(self, A: Samples) -> Samples:
        """Find the cells of the members, once per collection."""
        return A if self._key in A.derived else A.with_derived(self._key, self._pyramids(A))

    def _places(self, A: Samples) -> NDArray[np.int64]:
        """Return the finest cells of all members, (total, d)."""
        if self.width is None:
            raise ParameterError(
                f"{self!r} is not fitted: the width of the cells is learned from training sets. Use it in an "
                "estimator, call learn(samples), or give a width."
            )
        X = _dense(A)
        origin = np.asarray(0.0 if self.origin is None else self.origin, dtype=float)
        if origin.ndim and len(origin) != X.shape[1]:
            raise DomainError(
                f"The origin has {len(origin)} entries for vectors with {X.shape[1]} columns; one number, or one per "
                "column, is accepted. Give a single number or as many as there are columns."
            )
        with np.errstate(over="ignore"):
            cells = np.floor((X - origin) / self.width)
        if not bool((np.abs(cells) < _FARTHEST).all()):
            raise DomainError(
                f"Values up to {np.abs(X).max():.3g} are too many cells of width {self.width:.3g} away from the "
                "origin; fewer than 2^62 are accepted. Scale the columns, or give wider cells."
            )
        return cells.astype(np.int64)

    def _pyramids(self, A: Samples) -> _Pyramids:
        assert isinstance(A, Sets)
        finest = self._places(A)
        total, d = finest.shape
        rows = np.arange(total + 1, dtype=np.intp) * d
        ids, places, known = np.empty((total, int(self.levels)), np.int64), [], 0
        for level in range(int(self.levels)):
            cells = finest >> level
            found, first = intern_sequences(cells.ravel(), rows)
            ids[:, level] = found + known
            known += len(first)
            places.append(np.column_stack((np.full(len(first), level, dtype=np.int64), cells[first])))
        counts, _ = count(ids.ravel(), A.offsets * int(self.levels), max(known, 1))
        indices, data, indptr = arrays_of(counts)
        ranks = np.zeros(known, np.intp)
        np.maximum.at(ranks, indices, data.astype(np.intp))
        cells = Cells(np.concatenate(places), ranks)
        times = data.astype(np.intp)
        begins = np.concatenate(([0], np.cumsum(times)))
        columns = np.arange(begins[-1]) - np.repeat(begins[:-1] - cells.starts[indices], times)
        matrix = sp.csr_array((np.ones(len(columns)), columns, begins[indptr]), shape=(len(A), len(cells)))
        return _Pyramids(matrix, cells)

    def _factors(self, cells: Cells) -> Floats:
        """Return the weights c_i of the features."""
        last = int(self.levels) - 1
        return np.where(cells.levels == last, 2.0**-last, 0.5 ** (cells.levels + 1.0))

    def _prepared(self, A: Samples) -> _Pyramids:
        return self.prepare(A).derived[self._key]

    def _compared(self, A: Samples, B: Samples) -> Any:
        left = self._prepared(A)
        right = None if B is A else self._prepared(B)
        if right is not None:
            matrix = renumbered(right.matrix, left.cells.find(right.cells), len(left.cells))
            return overlap(left.matrix, matrix, self._factors(left.cells))
        return overlap(left.matrix, None, self._factors(left.cells))

    def tile(self, view: View) -> Floats:
        """Add the weights of the cells and ranks that two sets have in common."""
        A, B = view.collections
        common = view.comparison.keep(("pyramids", id(self), view.path), lambda: self._compared(A, B))
        out = view.empty()
        common.tile(view.rows, view.columns, out)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the numbers of members: each is its own partner at the finest level."""
        assert isinstance(A, Sets)
        return A.sizes.astype(float)

    def _features(self, A: Samples, keys: Cells | None = None) -> tuple[sp.csr_array, Cells]:
        """Return the roots of the weights at the cells and ranks of each set, and the cells of the columns."""
        found = self._prepared(A)
        cells = found.cells if keys is None else keys
        matrix = found.matrix if keys is None else renumbered(found.matrix, keys.find(found.cells), len(keys))
        roots = np.sqrt(self._factors(cells))
        return sp.csr_array((roots[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape), cells

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of cells with their ranks, once the width is known."""
        return None if self.width is None else len(self._prepared(A).cells)


def _dense(S: Samples) -> Floats:
    assert isinstance(S, Sets) and isinstance(S.members, Vectors)
    X: Any = S.members.X
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)

"""Rows of different lengths in two arrays: all codes one after another, and where each row begins.

Symbols: n rows, row i is ``codes[offsets[i]:offsets[i + 1]]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Indices

__all__ = ["Ragged"]
__saved__ = __all__


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths, stored one after another.

    Parameters
    ----------
    codes : (total,) or (total, k) array
        The entries of all rows.
    offsets : (n + 1,) intp array
        Row i is ``codes[offsets[i]:offsets[i + 1]]``. The first offset need not be 0.

    Notes
    -----
    A slice shares the codes; taking rows by positions copies them. Both give offsets that begin at 0.

    Examples
    --------
    >>> rows = Ragged.from_rows([np.array([1, 2]), np.array([3]), np.array([4, 5, 6])])
    >>> rows.lengths
    array([2, 1, 3])
    >>> rows.take(np.array([2, 0])).codes
    array([4, 5, 6, 1, 2])
    """

    codes: NDArray[Any]
    offsets: Indices

    @classmethod
    def from_lengths(cls, codes: NDArray[Any], lengths: Sequence[int] | NDArray[Any]) -> Self:
        """Rows of the given lengths, cut from ``codes`` from its beginning."""
        return cls(codes, _offsets(np.asarray(lengths, dtype=np.intp)))

    @classmethod
    def from_rows(cls, rows: Sequence[NDArray[Any]]) -> Self:
        """Rows given one by one (at least one, of one dtype)."""
        return cls.from_lengths(np.concatenate(rows), [len(row) for row in rows])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self.row(i) for i in range(len(self)))

    def row(self, i: int) -> NDArray[Any]:
        """Entries of row i, a view."""
        return self.codes[self.offsets[i] : self.offsets[i + 1]]

    @property
    def lengths(self) -> Indices:
        """``(n,)`` numbers of entries."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Indices:
        """``(total,)`` row to which each entry belongs."""
        return np.repeat(np.arange(len(self), dtype=np.intp), self.lengths)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes of these rows and of their offsets."""
        return self.codes[self.offsets[0] : self.offsets[-1]].nbytes + self.offsets.nbytes

    def take(self, index: slice | Indices) -> Self:
        """Rows at a slice of step one (codes shared) or at positions (codes copied)."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            offsets = self.offsets[start : max(start, stop) + 1]
            return type(self)(self.codes[offsets[0] : offsets[-1]], offsets - offsets[0])
        offsets = _offsets(self.lengths[index])
        # Entry e of the result is as far behind the start of its new row as behind that of its old one.
        shift = np.repeat(self.offsets[:-1][index] - offsets[:-1], np.diff(offsets))
        return type(self)(self.codes[np.arange(offsets[-1], dtype=np.intp) + shift], offsets)

    def concat(self, other: Self) -> Self:
        """Rows of self, then those of other."""
        left, right = self.take(slice(None)), other.take(slice(None))
        offsets = np.concatenate((left.offsets, right.offsets[1:] + left.offsets[-1]))
        return type(self)(np.concatenate((left.codes, right.codes)), offsets)


def _offsets(lengths: Indices) -> Indices:
    offsets = np.zeros(len(lengths) + 1, dtype=np.intp)
    np.cumsum(lengths, out=offsets[1:])
    return offsets

"""Rows of K kept for a second use, within a number of bytes, the longest unused ones replaced first."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["RowCache"]

_AT_ONCE = 256  # rows computed by one call
_COLUMNS = 4096  # entries of the sum that a thread keeps in its cache


class RowCache:
    """Rows of a Gram that are computed once, as long as they fit.

    Parameters
    ----------
    gram : Gram
        Has rows.
    size : int
        Bytes; room for at least two rows is made.

    Attributes
    ----------
    hits, misses : int
        Rows found and rows computed.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Tiles
    >>> from mercer.kernels import Linear
    >>> cache = RowCache(Tiles().build(Linear(), Vectors.pack([[1.0], [2.0], [3.0]])), 2**20)
    >>> total = np.zeros(3)
    >>> cache.update(np.array([1]), np.array([10.0]), total)
    >>> cache.update(np.array([1, 2]), np.array([1.0, 1.0]), total)
    >>> total, cache.hits, cache.misses
    (array([25., 50., 75.]), 1, 2)
    """

    def __init__(self, gram: Any, size: int) -> None:
        n = gram.shape[0]
        slots = min(n, max(2, size // (n * gram.dtype.itemsize)))
        self.gram = gram
        self.hits = self.misses = 0
        # fresh memory is not touched before it is used
        self._table = np.empty((slots, n), gram.dtype)
        self._slot = np.full(n, -1, np.intp)  # of each row, or -1
        self._owner = np.full(slots, -1, np.intp)  # the row in each slot, or -1
        self._used = np.zeros(slots, np.int64)  # when each slot was used last
        self._time = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the rows held now."""
        return int(np.count_nonzero(self._owner >= 0)) * self._table.shape[1] * self._table.itemsize

    @property
    def hit_rate(self) -> float:
        """Share of the rows asked for that were found."""
        return self.hits / max(1, self.hits + self.misses)

    def held(self, index: Indices) -> Any:
        """Return which of some rows are held, without counting as a use."""
        return self._slot[index] >= 0

    def entries(self, index: Indices, columns: Indices) -> Floats:
        """Return entries of rows that are held."""
        return self._table[self._slot[index][:, None], columns]

    def state(self) -> dict[str, Any]:
        """The rows held, and when they were used: what `take_up` needs in another run."""
        slots = np.flatnonzero(self._owner >= 0)
        kept = {"slots": slots, "rows": self._table[slots], "owner": self._owner[slots], "used": self._used}
        return {**kept, "time": self._time, "hits": self.hits, "misses": self.misses}

    def take_up(self, state: dict[str, Any]) -> None:
        """Hold the rows of another run."""
        slots = state["slots"]
        self._table[slots], self._owner[slots] = state["rows"], state["owner"]
        self._slot[state["owner"]] = slots
        self._used[:] = state["used"]
        self._time, self.hits, self.misses = state["time"], state["hits"], state["misses"]

    def update(self, index: Indices, V: Floats, out: Floats) -> None:
        """Add K[:, index] @ V to `out`, (n,); rows that are not held are computed and kept."""
        known = self.held(index)
        self.hits += int(np.count_nonzero(known))
        self._add(index[known], V[known], out)
        rest, values = index[~known], V[~known]
        for part in spans(len(rest), min(_AT_ONCE, len(self._owner))):
            self._load(rest[part])
            self._add(rest[part], values[part], out)

    def _load(self, index: Indices) -> None:
        self.misses += len(index)
        self._time += 1
        free = np.argpartition(self._used, len(index) - 1)[: len(index)]
        free.sort()
        self._slot[self._owner[free][self._owner[free] >= 0]] = -1
        if free[-1] - free[0] == len(free) - 1:
            self.gram.rows(index, out=self._table[free[0] : free[-1] + 1])
        else:
            self._table[free] = self.gram.rows(index)
        self._owner[free], self._slot[index] = index, free
        self._used[free] = self._time

    def _add(self, index: Indices, V: Floats, out: Floats) -> None:
        if not len(index):
            return
        slots = self._slot[index]
        self._time += 1
        self._used[slots] = self._time
        V = np.ascontiguousarray(V, dtype=np.float64)

        def work(columns: slice) -> None:
            _accumulate(self._table[:, columns], slots, V, out[columns])

        run_tasks(spans(len(out), _COLUMNS), work, n_threads=self.gram.resources.n_threads)


@compiled
def _accumulate(table, slots, V, out):
    for k in range(slots.size):
        row, v = table[slots[k]], V[k]
        for j in range(out.size):
            out[j] += v * row[j]

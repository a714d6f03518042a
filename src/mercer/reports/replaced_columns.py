"""The columns of a data set as a report changes them: one replaced, the others as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from mercer.arrays import Array, Indices
from mercer.reports.subject import NotApplicable, Subject, rows_of
from mercer.reports.wording import number, shown

__all__ = ["Columns", "columns_of", "excerpts"]

EXCERPT = 4  # columns of a sample that is shown


@dataclass(frozen=True, eq=False)
class Columns:
    """A table, a dict of columns or a matrix, of which one column can be replaced.

    Attributes
    ----------
    data : data frame, dict or (n, d) array
    keys : tuple
        What selects each column in the data.
    names : tuple of str
        What a page calls it.
    """

    data: Any
    keys: tuple[Any, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.values(0))

    def values(self, place: int) -> Array:
        """Return one column."""
        if isinstance(self.data, np.ndarray):
            return self.data[:, place]
        if isinstance(self.data, Mapping):
            return np.asarray(self.data[self.keys[place]])
        return nw.from_native(self.data, eager_only=True)[self.keys[place]].to_numpy()

    def numbers(self, place: int) -> Array | None:
        """Return one column as floats, or None if it holds anything else."""
        values = self.values(place)
        return values.astype(float) if values.dtype.kind in "fiub" else None

    def take(self, index: Indices) -> Columns:
        """Return some rows, which may repeat."""
        return Columns(rows_of(self.data, index), self.keys, self.names)

    def replaced(self, place: int, values: Array) -> Any:
        """Return the data with another column in place of one; a frame keeps everything else."""
        key = self.keys[place]
        if isinstance(self.data, np.ndarray):
            copy = self.data.copy()
            copy[:, place] = values
            return copy
        if isinstance(self.data, Mapping):
            old = self.data[key]
            return {**self.data, key: values if isinstance(old, np.ndarray) else list(values)}
        frame = nw.from_native(self.data, eager_only=True)
        kind = frame[key].dtype
        series = nw.new_series(key, list(values), backend=frame.implementation).cast(kind)
        return frame.with_columns(series).to_native()


def columns_of(subject: Subject, rows: Indices) -> Columns:
    """Return some rows of the data of a report with their columns, those that the model reads.

    Raises
    ------
    NotApplicable
        The data have no columns: texts, graphs, similarities, a sparse matrix.
    """
    X = subject.X
    names = getattr(subject.estimator, "feature_names_in_", None)
    if isinstance(X, Mapping):
        keys = tuple(X)
    elif nw.dependencies.is_into_dataframe(X):
        keys = tuple(nw.from_native(X, eager_only=True).columns)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub" and not subject.has_similarities:
        keys = tuple(range(X.shape[1]))
    else:
        raise NotApplicable("the samples have no columns")
    named = keys if names is None or len(names) != len(keys) else tuple(names)
    titles = tuple(f"column {name}" if isinstance(name, int) else shown(name, 40) for name in named)
    return Columns(rows_of(X, rows), keys, titles)


def excerpts(subject: Subject, numbers: Sequence[int], first: Sequence[str] = ()) -> dict[int, str]:
    """Return what some samples look like: a few of their columns, or the beginning of a text.

    Parameters
    ----------
    subject : Subject
    numbers : sequence of int
        Which samples, counted from 0.
    first : sequence of str
        Names of columns to show before others.
    """
    rows = np.asarray(numbers, dtype=np.intp)
    if subject.X is None or not len(rows):
        return {}
    if isinstance(subject.X, Sequence) and all(isinstance(subject.X[i], str) for i in rows):
        return {int(i): shown(subject.X[i], 160) for i in rows}
    try:
        columns = columns_of(subject, rows)
    except NotApplicable:
        return {}
    places = [columns.names.index(name) for name in first if name in columns.names] or range(len(columns))
    kept = list(places)[:EXCERPT]
    values = {j: columns.values(j) for j in kept}
    more = ", …" if len(columns) > len(kept) else ""
    if len(kept) == 1:
        return {int(i): shown(values[kept[0]][k], 160) + more for k, i in enumerate(rows)}
    lines = (", ".join(f"{columns.names[j]} {number(values[j][k])}" for j in kept) for k in range(len(rows)))
    return {int(i): line + more for i, line in zip(rows, lines, strict=True)}

"""A table read from a file: named columns, each with a kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Index
from mercer.io.columns import Column, Values
from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import FileError, shown

__all__ = ["Table"]
__public__ = __all__


@dataclass(frozen=True, eq=False, repr=False)
class Table(Dataset):
    """Named columns of numbers, truth values, categories and texts.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    parts : dict of str to Column
        The columns by name, in the order of the file.
    length : int
        Number of rows.
    lines : (n,) array of int, optional
        The line of the file on which each row begins; none where the format has no lines.

    Notes
    -----
    ``columns``, also called ``X``, is a dict of arrays and lists: what kernels with ``.on(name)`` take.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mercer.io.columns import number_column, text_column
    >>> parts = {"age": number_column(np.array([3.0, 5.0])), "gene": text_column("gene", ["GAT", "TA"])}
    >>> table = Table(Path("data.csv"), "csv", parts, 2)
    >>> table
    <Table of data.csv: 2 samples, 1 number, 1 text>
    >>> rest, y = table.split_target("age")
    >>> rest.names, y
    (('gene',), array([3., 5.]))
    """

    kind: ClassVar[str] = "table"
    parts: dict[str, Column]
    length: int
    lines: NDArray[np.int64] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.length

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the file."""
        return tuple(self.parts)

    @property
    def targets(self) -> tuple[str, ...]:
        """Any column may be the target."""
        return self.names

    @property
    def columns(self) -> dict[str, Values]:
        """Values by name: float64 arrays (NaN where missing), or lists of texts (None where missing)."""
        return {name: column.values for name, column in self.parts.items()}

    @property
    def X(self) -> dict[str, Values]:
        """The columns."""
        return self.columns

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds by name; given to ``read`` they make it read another file in the same way."""
        return {name: column.kind for name, column in self.parts.items()}

    @property
    def missing(self) -> dict[str, int]:
        """Numbers of missing values by name."""
        return {name: column.missing for name, column in self.parts.items()}

    @property
    def ids(self) -> tuple[str, ...] | None:
        """The values of the first identifier column."""
        for column in self.parts.values():
            if column.kind == "identifier":
                return tuple(str(value) for value in column.values)
        return None

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        """Names of the columns of some kinds."""
        return tuple(name for name, column in self.parts.items() if column.kind in kinds)

    def where(self, row: int) -> dict[str, int]:
        """Return the place of a row, counted from 0, as FileError takes it."""
        return {"row": row + 1} if self.lines is None else {"line": int(self.lines[row])}

    def error(self, row: int, name: str, problem: str, fix: str) -> FileError:
        """Return an error about one value."""
        column = self.names.index(name) + 1
        return FileError(self.path, problem, fix, column=column, name=name, **self.where(row))

    def complete(self, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """Return which rows have a value in each of the columns."""
        whole = np.ones(self.n, dtype=bool)
        for name in self.names if names is None else names:
            column = self._column(name)
            if column.missing:
                whole &= ~_absent(column.values)
        return whole

    def select(self, names: Sequence[str]) -> Table:
        """Return some of the columns, in the order named; a column that is not there is refused."""
        return replace(self, parts={name: self._column(name) for name in names})

    def drop(self, *names: str) -> Table:
        """Return the other columns."""
        return replace(self, parts={name: column for name, column in self.parts.items() if name not in names})

    def take(self, index: Index) -> Self:
        """Return some rows; the kinds of the columns stay."""
        rows = rows_of(index, self.n)
        parts = {name: _taken(column, rows) for name, column in self.parts.items()}
        lines = None if self.lines is None else self.lines[rows]
        return replace(self, parts=parts, length=len(rows), lines=lines)

    def split_target(self, name: str | None = None, unknown: bool = False) -> tuple[Table, NDArray[Any]]:
        """Return the other columns, and one as the target: numbers, or labels as the file spells them.

        Parameters
        ----------
        name : str
        unknown : bool, default False
            Whether values may be missing: NaN among numbers, None among labels.

        Raises
        ------
        FileError
            There is no such column, or it misses a value.
        """
        if name is None:
            raise self._no_target(None)
        column = self._column(name)
        if column.missing and unknown:
            known = np.flatnonzero(~_absent(column.values))
            found = labels(_taken(column, known))
            y = np.full(self.n, np.nan) if found.dtype.kind == "f" else np.full(self.n, None, dtype=object)
            y[known] = found
            return self.drop(name), y
        if column.missing:
            row = int(np.flatnonzero(_absent(column.values))[0])
            more = f" ({column.missing} in all)" if column.missing > 1 else ""
            raise self.error(
                row,
                name,
                f"The value to be predicted is missing{more}; each row needs one.",
                "Fill it in, or leave such rows out.",
            )
        return self.drop(name), labels(column)

    def labels_for(self, dataset: Dataset, name: str) -> NDArray[Any]:
        """Return a column of this table as the target of samples in another file, such as a Gram matrix.

        Rows belong to samples by name, if the samples have names and a column here holds all of them;
        otherwise by their order, if there are as many rows as samples.
        """
        ids = dataset.ids
        for column in self.parts.values():
            if ids is None or not isinstance(column.values, list):
                continue
            position = {value: row for row, value in enumerate(column.values)}
            if len(position) == self.n and position.keys() >= set(ids):
                return self.take(np.array([position[i] for i in ids], dtype=np.intp)).split_target(name)[1]
        if self.n != dataset.n:
            raise FileError(
                self.path,
                f"There are {self.n} rows for the {dataset.n} samples of {dataset.path.name}, and no column that "
                "names them all.",
                "Give one row per sample, in the same order or with a column of their names.",
                row=min(self.n, dataset.n) + 1,
            )
        return self.split_target(name)[1]

    def describe(self) -> dict[str, Any]:
        """Return what is known about the table and each of its columns."""
        columns = [{"name": name, **_described(column)} for name, column in self.parts.items()]
        return {**super().describe(), "columns": columns}

    def _summary(self) -> str:
        counts = Counter(column.kind for column in self.parts.values())
        return "".join(f", {count} {kind}{'s' * (count > 1)}" for kind, count in counts.items()).replace(
            "categorys", "categories"
        )

    def _column(self, name: str) -> Column:
        if name in self.parts:
            return self.parts[name]
        near = get_close_matches(str(name), self.names, n=1)
        listed = ", ".join(map(shown, self.names[:20])) + (", ..." if len(self.names) > 20 else "")
        raise FileError(
            self.path,
            f"There is no column {shown(name)}; the {len(self.names)} columns are {listed}.",
            f"Did you mean {shown(near[0])}?" if near else "Name one of them.",
            line=1,
        )


def labels(column: Column) -> NDArray[Any]:
    """Return a column as a target: an array of floats, or of str objects."""
    if column.words is not None:
        words = np.array(column.words, dtype=object)
        return words[np.asarray(column.values, dtype=np.intp)]
    if isinstance(column.values, np.ndarray):
        return column.values
    return np.array(column.values, dtype=object)


def _absent(values: Values) -> NDArray[np.bool_]:
    if isinstance(values, np.ndarray):
        return np.isnan(values)
    return np.fromiter((value is None for value in values), dtype=bool, count=len(values))


def _taken(column: Column, rows: NDArray[np.intp]) -> Column:
    if isinstance(column.values, np.ndarray):
        values: Values = column.values[rows]
    else:
        values = [column.values[row] for row in rows]
    return replace(column, values=values, missing=int(_absent(values).sum()) if column.missing else 0)


def _described(column: Column) -> dict[str, Any]:
    known: dict[str, Any] = {"kind": column.kind, "missing": column.missing}
    if isinstance(column.values, np.ndarray):
        present = column.values[~np.isnan(column.values)]
        known["distinct"] = len(np.unique(present))
        if column.words is None and len(present):
            with np.errstate(over="ignore", invalid="ignore"):
                figures = {"min": present.min(), "max": present.max(), "mean": present.mean(), "std": present.std()}
            known |= {name: float(x) if np.isfinite(x) else None for name, x in figures.items()}
        return known
    texts = [value for value in column.values if value is not None]
    counts = Counter(texts)
    lengths = [len(text) for text in counts]
    known |= {"distinct": len(counts), "shortest": min(lengths, default=0), "longest": max(lengths, default=0)}
    if column.kind == "category":
        known["most"] = [[value, count] for value, count in counts.most_common(10)]
    return known

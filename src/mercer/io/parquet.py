"""Parquet, through pyarrow (the extra ``data``): its size in memory is known before anything is read.

Columns of numbers, truth values and texts (plain or dictionaries) are read as such, dates and times as
texts in ISO form. Lists, records and raw bytes are refused, by the name of the column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.budget import format_bytes
from mercer.io.columns import (
    Column,
    Kinds,
    boolean_column,
    not_boolean,
    number_column,
    numbers_identify,
    parse_numbers,
    text_column,
)
from mercer.io.limits import FileBudgetError, FileError, shown
from mercer.io.source import PARQUET, Source
from mercer.io.tables import Table

__all__ = ["read_parquet"]

_BATCH = 2**16  # rows converted at a time
_HARMLESS = 64 * 10**6  # bytes in memory that any file may take
# bytes at the peak of reading, for each value, and for each byte that is stored of texts
_NUMBER, _TEXT, _DATE, _LETTER = 40, 72, 120, 32
_TEXTS = ("category", "text", "identifier")


def read_parquet(source: Source, kinds: Kinds) -> Table:
    """Read a table from a Parquet file."""
    _check_ends(source)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise source.error(
            "Reading Parquet needs pyarrow, which is not installed.", "Run: pip install 'mercer[data]'.", byte=0
        ) from None
    # pyarrow reports damage by its own errors, and now and then by Python's.
    damage = (pa.ArrowException, OSError, ValueError, TypeError, LookupError, OverflowError, NotImplementedError)
    try:
        return _Reading(source, kinds, pa, pq).table()
    except FileError:
        raise
    except damage as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise source.error(
            f"The Parquet data are damaged: {reason}.", "Write or copy the file again.", byte=len(PARQUET)
        ) from error


def _check_ends(source: Source) -> None:
    if source.compressed:
        raise source.error("A Parquet file is compressed once more.", "Unpack it first (gunzip).", byte=0)
    with source.path.open("rb") as stream:
        stream.seek(max(0, source.size - 8))
        tail = stream.read(8)
    if tail[4:] == b"PARE" or source.head.startswith(b"PARE"):
        raise source.error("The Parquet file is encrypted.", "Write it without encryption.", byte=0)
    length = int.from_bytes(tail[:4], "little")
    if not source.head.startswith(PARQUET) or tail[4:] != PARQUET or not 0 < length <= source.size - 12:
        at = 0 if not source.head.startswith(PARQUET) else max(0, source.size - 8)
        raise source.error(
            "The file does not begin and end as Parquet: it is cut off, damaged or of another format.",
            "Write or copy the file again.",
            byte=at,
        )


@dataclass
class _Reading:
    """One file: first what it claims, then its columns."""

    source: Source
    kinds: Kinds
    pa: Any
    pq: Any

    def table(self) -> Table:
        """Return the table."""
        path = str(self.source.path)
        with self.pq.ParquetFile(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
            texts = self._check(metadata, schema)
        with self.pq.ParquetFile(path, read_dictionary=texts) as file:
            pieces: list[list[Any]] = [[] for _ in schema]
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                batch.validate(full=True)  # texts are UTF-8, codes lie in their dictionaries
                for j, column in enumerate(batch.columns):
                    pieces[j].append(self._converted(j, schema[j], column))
                self.source.check_time()
        n = sum(map(len, pieces[0]))
        if n != metadata.num_rows or any(sum(map(len, piece)) != n for piece in pieces):
            raise self.source.error(
                f"The file announces {metadata.num_rows} rows and holds {n}.", "Write it again.", row=n + 1
            )
        columns = {}
        for j, item in enumerate(schema):
            columns[item.name] = self._column(j, item, pieces[j])
            pieces[j] = []
        return Table(self.source.path, "parquet", columns, n)

    def _check(self, metadata: Any, schema: Any) -> list[str]:
        """Refuse what cannot be read or would not fit; return the names of the columns of texts."""
        limits, types = self.source.limits, self.pa.types
        rows = metadata.num_rows
        if len(schema) == 0 or rows == 0:
            what = "row" if len(schema) else "column"
            raise self.source.error(f"There is no {what}.", f"Add at least one {what}.", row=1)
        if rows < 0 or rows > limits.rows:
            raise self.source.error(
                f"The file announces {rows:,} rows; up to {limits.rows:,} are accepted.",
                "Split the file, or allow more with Limits(rows=...).",
                row=int(limits.rows) + 1,
            )
        if len(schema) > limits.columns:
            raise self.source.error(
                f"There are {len(schema):,} columns; up to {limits.columns:,} are accepted.",
                "If each column is a sample, transpose the table; or allow more with Limits(columns=...).",
                column=int(limits.columns) + 1,
            )
        self._check_names(schema.names)
        for j, item in enumerate(schema):
            if _reader(types, item.type) is None:
                raise self._error(
                    j,
                    item.name,
                    f"The column holds {shown(item.type)}; numbers, truth values, texts and dates are accepted.",
                    "Leave the column out, or write its parts as columns of their own.",
                )
        needed = self._needed(metadata, schema)
        if needed > max(_HARMLESS, limits.ratio * self.source.size):
            raise FileBudgetError(
                self.source.path,
                f"The table needs about {format_bytes(needed)} of memory, more than {limits.ratio:g} times the size of "
                f"the file, {format_bytes(self.source.size)}: the limit. A decompression bomb?",
                "Keep fewer rows or columns, or allow more with Limits(ratio=...).",
                row=1,
            )
        limits.require(self.source.path, "The table", needed, row=1)
        plain = (types.is_string, types.is_large_string)
        return [item.name for item in schema if any(is_kind(item.type) for is_kind in plain)]

    def _needed(self, metadata: Any, schema: Any) -> int:
        """Return about how many bytes reading takes at its peak, from what the file says of itself.

        A number, a truth value and a date take this many bytes each; a text a reference, and its letters, hash and
        place in a table once for each time they are stored: many rows of few words are stored once.
        """
        rows, types = metadata.num_rows, self.pa.types
        stored: dict[str, int] = {}
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            for j in range(group.num_columns):
                column = group.column(j)
                size = max(column.total_uncompressed_size, 0)
                stored[column.path_in_schema] = stored.get(column.path_in_schema, 0) + size
        total = 0
        for item in schema:
            if types.is_integer(item.type) or types.is_floating(item.type) or types.is_decimal(item.type):
                total += _NUMBER * rows
            elif _reader(types, item.type) is _dates:
                total += _DATE * rows
            else:
                total += _TEXT * rows + _LETTER * stored.get(item.name, 0)
        return total

    def _check_names(self, names: list[str]) -> None:
        seen: dict[str, int] = {}
        for j, name in enumerate(names):
            if not name.strip():
                raise self._error(j, None, "The column has no name.", "Name it.")
            if name in seen:
                raise self._error(j, name, f"The name is that of column {seen[name] + 1}, too.", "Rename one.")
            seen[name] = j

    def _converted(self, j: int, item: Any, column: Any) -> Any:
        """A batch of a column: an array of numbers, or a list of truth values or texts."""
        convert = _reader(self.pa.types, item.type)
        assert convert is not None
        try:
            return convert(self.pa, column)
        except (self.pa.ArrowException, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise self._error(
                j, item.name, f"The values cannot be read: {reason}.", "Write the column as numbers or texts."
            ) from error

    def _column(self, j: int, item: Any, pieces: list[Any]) -> Column:
        name, kind = item.name, self.kinds.get(item.name)
        kind = None if kind == "constant" else kind
        if isinstance(pieces[0], np.ndarray):
            return self._numbers(j, name, np.concatenate(pieces), kind)
        values = [value for piece in pieces for value in piece]
        if self.pa.types.is_boolean(item.type):
            if kind in (None, "boolean"):
                column = boolean_column(values)
                return replace(column, kind=kind or column.kind)
            values = [None if value is None else str(value).lower() for value in values]
        if kind == "number":
            return self._spelled_numbers(j, name, values)
        if kind == "boolean" and (row := not_boolean(values)) is not None:
            problem = f"{shown(values[row])} is not a truth value like the others of its column."
            raise self._error(j, name, problem, "Write true or false throughout.", row)
        return text_column(name, values, kind)

    def _numbers(self, j: int, name: str, values: Any, kind: str | None) -> Column:
        numbers = values.astype(np.float64)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            row = int(infinite[0])
            problem = f"The value is {numbers[row]}; finite numbers are accepted."
            raise self._error(j, name, problem, "Write a finite number, or null if it is missing.", row)
        if kind is None and numbers_identify(name, numbers):
            kind = "identifier"
        if kind in _TEXTS or kind == "boolean":
            texts = [None if value != value else _spelled(value) for value in values.tolist()]
            if kind == "boolean":
                problem = "The column holds numbers, where truth values are expected."
                raise self._error(j, name, problem, "Write true or false.", 0)
            return text_column(name, texts, kind)
        column = number_column(numbers)
        return replace(column, kind=kind or column.kind)

    def _spelled_numbers(self, j: int, name: str, values: list[str | None]) -> Column:
        numbers = parse_numbers([value or "" for value in values])
        if numbers is None or np.isinf(numbers).any():
            problem = "The column holds texts, where numbers are expected."
            raise self._error(j, name, problem, "Write it as a column of numbers.", 0)
        return replace(number_column(numbers), kind="number")

    def _error(self, j: int, name: str | None, problem: str, fix: str, row: int | None = None) -> FileError:
        at = None if row is None else row + 1
        return self.source.error(problem, fix, row=at, column=j + 1, name=name)


def _spelled(number: float | int) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 2**63 else repr(number)


def _reader(types: Any, kind: Any) -> Callable[[Any, Any], Any] | None:
    """The function that converts columns of a type; None if there is none."""
    if types.is_dictionary(kind):
        return _texts if types.is_string(kind.value_type) or types.is_large_string(kind.value_type) else None
    if types.is_string(kind) or types.is_large_string(kind):
        return _texts
    if types.is_boolean(kind) or types.is_null(kind):
        return _objects
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return _floats
    if types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind):
        return _dates
    return None


def _floats(pa: Any, column: Any) -> Any:
    if pa.types.is_integer(column.type) and column.null_count == 0:
        return column.to_numpy(zero_copy_only=False)
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _objects(pa: Any, column: Any) -> list[Any]:
    return column.to_pylist()


def _texts(pa: Any, column: Any) -> list[str | None]:
    """Texts of which equal ones are one object, whatever their number."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    words = [*column.dictionary.to_pylist(), None]
    codes = column.indices.fill_null(len(words) - 1) if column.null_count else column.indices
    return [words[code] for code in codes.to_pylist()]


def _dates(pa: Any, column: Any) -> list[str | None]:
    return column.cast(pa.string()).to_pylist()

"""CSV and TSV: header, delimiter and kinds of columns found by documented rules, errors by line and column.

The delimiter is the one of tab, semicolon and comma that splits the first rows into equally many fields, more
than one. The first row is a header unless one of its fields is a number; it still is one if a word in
it is above numbers. Blank lines are skipped, blanks around a field dropped (except in texts). Every row
has as many fields as the first.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from mercer.arrays import Floats
from mercer.io.columns import (
    MISSING,
    NUMBER,
    Column,
    Kinds,
    not_boolean,
    number_column,
    numbers_identify,
    parse_numbers,
    text_column,
)
from mercer.io.limits import FileError, shown
from mercer.io.source import Source
from mercer.io.tables import Table

__all__ = ["read_delimited", "sniff_delimiter"]

DELIMITERS = {"\t": "a tab", ";": "a semicolon", ",": "a comma"}  # in the order in which they are preferred
_HEAD = 2**16  # bytes and
_SAMPLE = 50  # rows looked at for the delimiter
_CHUNK = 2**17  # fields converted at a time,
_HEIGHT = 2**13  # in this many rows at most
_SHARED = 2**14  # distinct texts before it is asked whether sharing equal ones pays
_TEXTS = ("category", "text", "identifier")  # kinds that keep the spelling, whatever it is

_INFINITE = re.compile(r"(?i)[+-]?inf(?:inity)?")
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d+\.\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[,'\u00a0\u2009\u202f ]\d{3})+(?:\.\d+)?")


def read_delimited(source: Source, kinds: Kinds, delimiter: str | None = None) -> Table:
    """Read a table of fields between delimiters.

    Parameters
    ----------
    source : Source
        The file.
    kinds : dict of str to str
        Kinds of columns to use instead of those that the rules find.
    delimiter : str, optional
        What separates fields; found if not given.
    """
    reading = _Reading(source, delimiter or sniff_delimiter(source), kinds)
    reading.scan()
    return reading.table()


def sniff_delimiter(source: Source) -> str:
    """Return the delimiter of a file, from its first rows."""
    marks = [mark for mark in DELIMITERS if mark != source.decimal]
    lines = list(io.StringIO(source.head[:_HEAD].decode("utf-8-sig", "replace"), newline=""))
    if len(source.head) > _HEAD and len(lines) > 1:
        lines.pop()  # perhaps cut in the middle
    counts = {delimiter: _widths(lines, delimiter) for delimiter in marks}
    for delimiter, widths in counts.items():
        if len(set(widths)) == 1 and widths[0] > 1:
            return delimiter
    first = {delimiter: widths[0] if widths else 1 for delimiter, widths in counts.items()}
    widest = max(first, key=lambda delimiter: (first[delimiter], delimiter == ","))
    if first[widest] == 1:
        _check_other_delimiters(source, lines)
        return marks[-1]
    return widest


def _is_header(first: Sequence[str], sample: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: no field is a number, or one is the word above numbers."""
    if not any(map(NUMBER.fullmatch, first)):
        return True
    for j, text in enumerate(first):
        below = [row[j] for row in sample if j < len(row) and row[j].strip() not in MISSING]
        if text.strip() not in MISSING and not NUMBER.fullmatch(text) and below and all(map(NUMBER.fullmatch, below)):
            return True
    return False


def _widths(lines: list[str], delimiter: str) -> list[int]:
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    widths = []
    try:
        for row in islice(rows, _SAMPLE):
            if row:
                widths.append(len(row))
    except csv.Error:
        pass
    return widths


def _check_other_delimiters(source: Source, lines: list[str]) -> None:
    """Refuse a file that has fields, but between bars or blanks, rather than read it as one column."""
    sample = [line.strip() for line in lines[:_SAMPLE] if line.strip()]
    bars = {line.count("|") for line in sample}
    blanks = {len(line.split()) for line in sample}
    what = ""
    if len(bars) == 1 and bars != {0}:
        what = "bars"
    elif len(blanks) == 1 and blanks != {1} and all(map(NUMBER.fullmatch, sample[-1].split())):
        what = "blanks"
    if what:
        raise source.error(
            f"The fields seem to be separated by {what}; commas, tabs and semicolons are accepted.",
            "Replace the separators by commas.",
            line=1,
        )


@dataclass
class _Reading:
    """The state of reading one file: first numbers wherever possible, then the columns that are texts."""

    source: Source
    delimiter: str
    kinds: Kinds
    names: list[str] = field(default_factory=list)
    has_header: bool = True
    width: int = 0  # fields of the first row
    blank: int = 0
    lines: array[int] = field(default_factory=lambda: array("q"))
    numbers: dict[int, list[Floats]] = field(default_factory=dict)
    overflows: dict[int, tuple[int, str]] = field(default_factory=dict)

    # ------------------------------------------------------------------ rows

    def scan(self) -> None:
        """Read every row once; what is left in ``numbers`` are the columns of numbers."""
        rows = self._rows()
        line, first = next(rows, (1, []))
        if not first:
            raise self.source.error("There are only blank lines.", "Give a header and at least one row.", line=1)
        sample = list(islice(rows, _SAMPLE))
        self.has_header = _is_header(self._pointed(first), [self._pointed(row) for _, row in sample])
        rows = chain(sample, rows)
        if self.has_header:
            self.names = self._checked_names(line, first)
        else:
            self.names = [f"column{j + 1}" for j in range(len(first))]
            rows = chain([(line, first)], rows)
        self.numbers = {j: [] for j, name in enumerate(self.names) if self.kinds.get(name) not in _TEXTS}
        for chunk in self._chunks(rows):
            for j, values in enumerate(zip(*chunk, strict=True)):
                self._convert(j, values)
        if not self.lines:
            raise self.source.error("There is a header and no row.", "Add at least one row.", line=line)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not blank, each with the line on which it begins."""
        # The limit is one for the whole process: it is only ever raised, so that readers do not disturb
        # each other; the limit of this file is checked in _chunks.
        csv.field_size_limit(max(csv.field_size_limit(), int(self.source.limits.field)))
        reader = csv.reader(self._guarded(), delimiter=self.delimiter, strict=True, skipinitialspace=True)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self._malformed(line, str(error)) from error
            if not row or (len(row) == 1 and self.width != 1 and not row[0].strip()):
                self.blank += 1
            else:
                self.width = self.width or len(row)
                yield line, row

    def _guarded(self) -> Iterator[str]:
        """Lines, none with more delimiters than columns are allowed."""
        most = int(self.source.limits.columns)
        for number, line in enumerate(self.source.lines(), 1):
            if len(line) > most and line.count(self.delimiter) >= most:
                raise self.source.error(
                    f"There are more than {most:,} columns, the limit.",
                    "If each column is a sample, transpose the table; or allow more with Limits(columns=...).",
                    line=number,
                )
            yield line

    def _chunks(self, rows: Iterator[tuple[int, list[str]]]) -> Iterator[list[list[str]]]:
        """Rows in chunks, checked for the number and the length of their fields."""
        width, limits = self.width, self.source.limits
        height = min(max(1, _CHUNK // width), _HEIGHT)
        while chunk := list(islice(rows, height)):
            for line, row in chunk:
                if len(row) != width:
                    raise self._ragged(line, row)
                self.lines.append(line)
            if max(map(len, chain.from_iterable(row for _, row in chunk))) > limits.field:
                raise self._long_field(chunk)
            if len(self.lines) > limits.rows:
                raise self.source.error(
                    f"There are more than {limits.rows:,} rows, the limit.",
                    "Split the file, or allow more with Limits(rows=...).",
                    line=chunk[-1][0],
                )
            self.source.check_time(chunk[-1][0])
            yield [row for _, row in chunk]

    # ------------------------------------------------------------------ columns

    def _convert(self, j: int, fields: tuple[str, ...]) -> None:
        """Add numbers to a column, or strike it off the columns of numbers."""
        if j not in self.numbers:
            return
        numbers = parse_numbers(self._pointed(fields))
        if numbers is None:
            del self.numbers[j]
            return
        infinite = np.isinf(numbers)
        if j not in self.overflows and infinite.any():
            at = int(infinite.argmax())
            self.overflows[j] = (len(self.lines) - len(fields) + at, fields[at])
        self.numbers[j].append(numbers)

    def _pointed(self, fields: Sequence[str]) -> Sequence[str]:
        """Return fields in which numbers have decimal points; what has a point already is no number with a comma."""
        if self.source.decimal == ".":
            return fields
        return [text.replace(".", "_").replace(",", ".") for text in fields]

    def _is_number(self, text: str) -> bool:
        return NUMBER.fullmatch(self._pointed([text])[0]) is not None

    def table(self) -> Table:
        """Return the table, after a second look at the columns that are not numbers."""
        columns: dict[int, Column] = {}
        for j, pieces in self.numbers.items():
            if j in self.overflows:
                row, text = self.overflows[j]
                raise self._infinite(row, j, text)
            values = np.concatenate(pieces)
            kind = self.kinds.get(self.names[j])
            if kind == "number" or (kind != "boolean" and not numbers_identify(self.names[j], values)):
                columns[j] = number_column(values)
            pieces.clear()
        rest = [j for j in range(len(self.names)) if j not in columns]
        for j, fields in zip(rest, self._texts(rest), strict=True):
            columns[j] = self._column(j, fields)
        for j, name in enumerate(self.names):
            kind = self.kinds.get(name)
            if kind == "number":
                columns[j] = replace(columns[j], kind=kind)
        parts = {name: columns[j] for j, name in enumerate(self.names)}
        lines = np.array(self.lines, dtype=np.int64)
        format = "tsv" if self.delimiter == "\t" else "csv"
        return Table(self.source.path, format, parts, len(lines), lines, notes=self._notes())

    def _texts(self, wanted: list[int]) -> list[list[str]]:
        """The fields of some columns, equal ones shared."""
        columns: list[list[str]] = [[] for _ in wanted]
        if wanted:
            seen: dict[str, str] | None = {}
            skip = 1 if self.has_header else 0
            for _, row in islice(self._rows(), skip, None):
                for column, j in zip(columns, wanted, strict=True):
                    column.append(row[j] if seen is None else seen.setdefault(row[j], row[j]))
                if seen is not None and len(seen) > max(_SHARED, len(wanted) * len(columns[0]) // 2):
                    seen = None  # nearly all differ
            self.blank //= 2  # the blank lines were met twice
        return columns

    def _column(self, j: int, fields: list[str]) -> Column:
        name, kind = self.names[j], self.kinds.get(self.names[j])
        kind = None if kind == "constant" else kind
        if j in self.numbers and kind is None:
            kind = "identifier"
        if kind in (None, "number"):
            self._check_spoiled(j, fields, kind == "number")
        if kind == "boolean" and (row := not_boolean(fields)) is not None:
            raise self._error(
                row,
                j,
                f"{shown(fields[row])} is not a truth value like the others of its column.",
                "Write yes or no, or true or false, throughout.",
            )
        return text_column(name, fields, kind)

    def _check_spoiled(self, j: int, fields: list[str], forced: bool) -> None:
        """Refuse a column of numbers with a few fields that are not, rather than call it a category."""
        distinct = set(fields)
        words = {text for text in distinct if not self._is_number(text) and text.strip() not in MISSING}
        numbers = {text for text in distinct - words if text.strip() not in MISSING}
        bad = [row for row, text in enumerate(fields) if text in words]
        row, text = bad[0], fields[bad[0]]
        for pattern, refuse in (
            (_INFINITE, self._infinite),
            (_COMMA if self.source.decimal == "." else _POINT, self._other_decimal),
            (_THOUSANDS, self._thousands),
        ):
            if all(pattern.fullmatch(word.strip()) for word in words):
                raise refuse(row, j, text)
        good = sum(text in numbers for text in fields)
        measured = len(numbers) > 20 or any(set(number) & {self.source.decimal, "e", "E"} for number in numbers)
        if forced or (good >= 3 and measured and len(bad) <= max(1, (good + len(bad)) // 10)):
            self._refuse_word(row, j, text, good)

    def _refuse_word(self, row: int, j: int, text: str, good: int) -> None:
        header = "" if self.has_header or row else " If the first line is a header, no name in it may be a number."
        raise self._error(
            row,
            j,
            f"{shown(text)} is not a number, as {good} other values of the column are.",
            "Write a number, or leave the field empty if it is missing; a column of categories is declared "
            f"one by kinds={{{shown(self.names[j])}: 'category'}}.{header}",
        )

    # ------------------------------------------------------------------ names, notes, errors

    def _checked_names(self, line: int, first: list[str]) -> list[str]:
        names = [name.strip() for name in first]
        seen: dict[str, int] = {}
        for j, name in enumerate(names):
            if not name:
                raise self.source.error(
                    "The column has no name.",
                    "Name it in the first line, or remove it (a pandas index: to_csv(index=False)).",
                    line=line,
                    column=j + 1,
                )
            if len(name) > self.source.limits.field:
                raise self._long_field([(line, first)])
            if name in seen:
                raise self.source.error(
                    f"The name is that of column {seen[name] + 1}, too; names must differ.",
                    "Rename one of them.",
                    line=line,
                    column=j + 1,
                    name=name,
                )
            seen[name] = j
        return names

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.has_header and any(map(NUMBER.fullmatch, self.names)):
            notes.append("The first line is taken for a header, though some names in it are numbers.")
        if not self.has_header:
            notes.append("The first line holds numbers, so there is no header: columns are named column1, ...")
        if self.blank:
            notes.append(f"{self.blank} blank lines were skipped.")
        return tuple(notes)

    def _error(self, row: int, j: int, problem: str, fix: str) -> FileError:
        return self.source.error(problem, fix, line=self.lines[row], column=j + 1, name=self.names[j])

    def _infinite(self, row: int, j: int, text: str) -> FileError:
        return self._error(
            row,
            j,
            f"{shown(text.strip())} is too large for a number; finite numbers up to 1.8e308 are accepted.",
            "Write a finite number, or leave the field empty if it is missing.",
        )

    def _other_decimal(self, row: int, j: int, text: str) -> FileError:
        text = text.strip()
        if self.source.decimal == ".":
            problem = f"{shown(text)} has a decimal comma; decimal points are expected."
            fix = f"Read the file with decimal=',' (in a shell: --decimal ,), or write {text.replace(',', '.')}."
        else:
            problem = f"{shown(text)} has a decimal point; decimal commas are expected, as decimal=',' says."
            fix = f"Leave decimal=',' (in a shell: --decimal ,) out, or write {text.replace('.', ',')}."
        return self._error(row, j, problem, fix)

    def _thousands(self, row: int, j: int, text: str) -> FileError:
        return self._error(
            row,
            j,
            f"{shown(text.strip())} has separators of thousands; plain numbers are accepted.",
            f"Write {re.sub(r'[^0-9.+-]', '', text)}.",
        )

    def _ragged(self, line: int, row: list[str]) -> FileError:
        width, found = self.width, len(row)
        mark = DELIMITERS.get(self.delimiter, shown(self.delimiter))
        if row[0].lstrip().startswith("#"):
            fix = "Remove comment lines."
        elif found > width:
            fix = f'Put quotes (") around a field that holds {mark}, or remove the surplus.'
        else:
            fix = "Add the missing fields (an empty one for a missing value)."
        return self.source.error(
            f"The row has {found} fields, the first has {width}; {mark} separates them.",
            fix,
            line=line,
            column=min(found, width) + 1,
        )

    def _long_field(self, chunk: list[tuple[int, list[str]]]) -> FileError:
        most = self.source.limits.field
        line, j = next((line, j) for line, row in chunk for j, text in enumerate(row) if len(text) > most)
        return self.source.error(
            f"The field has more than {most:,} characters, the limit.",
            "Shorten it, close a quote, or allow more with Limits(field=...).",
            line=line,
            column=j + 1,
        )

    def _malformed(self, line: int, message: str) -> FileError:
        if "unexpected end" in message:
            problem, fix = 'A quote (") opened in this row is never closed.', "Close it, or remove it."
        elif "field limit" in message:
            problem = f"A field has more than {csv.field_size_limit():,} characters, the limit: a quote not closed?"
            fix = "Close the quote, or allow more with Limits(field=...)."
        elif "expected after" in message:
            problem = 'Text follows the quote (") that ends a field.'
            fix = 'Write a quote inside a quoted field twice ("").'
        else:
            problem, fix = f"The row cannot be split into fields: {message}.", "Write it as the other rows."
        return self.source.error(problem, fix, line=line)

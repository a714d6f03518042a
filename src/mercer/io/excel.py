"""Workbooks of Excel (.xlsx): the first sheet that is not empty, as a table with a header."""

from __future__ import annotations

import csv
import datetime
import importlib
import io
import zipfile
from dataclasses import replace
from typing import Any

from mercer.budget import format_bytes
from mercer.io.columns import Kinds
from mercer.io.delimited import read_delimited
from mercer.io.limits import FileError, shown
from mercer.io.source import Source
from mercer.io.tables import Table

__all__ = ["read_excel"]

_HARMLESS = 10**6  # bytes: what is smaller than this after decompression is not a bomb
_CELL = 200  # bytes of memory for a cell while it is read: 85 were measured on numbers, texts take more


def read_excel(source: Source, kinds: Kinds) -> Table:
    """Read a sheet as its values are shown; formulas count by the values that were saved with them.

    Dates become texts such as 2024-03-01. Rows of a sheet are the lines of messages.

    Parameters
    ----------
    source : Source
    kinds : dict of str to str
        Kinds of columns to use instead of those that the rules find.
    """
    try:
        openpyxl: Any = importlib.import_module("openpyxl")
    except ImportError:
        raise source.error(
            "Excel files are read by openpyxl, which is not installed.",
            "Run: pip install 'mercer[excel]'; or save the sheet as 'CSV UTF-8'.",
        ) from None
    _refuse_bombs(source)
    try:  # from bytes: of a file that it cannot read, openpyxl leaves the descriptor open
        book = openpyxl.load_workbook(io.BytesIO(source.path.read_bytes()), read_only=True, data_only=True)
        name, rows, others = _first_sheet(source, book)
    except FileError:
        raise
    except Exception as error:  # whatever XML it stumbles over
        raise source.error(
            f"The workbook cannot be read: {str(error)[:200] or type(error).__name__}.",
            "Open it and save it again, or save the sheet as 'CSV UTF-8'.",
            byte=0,
        ) from None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        if row:
            writer.writerow(row)
        else:
            text.write("\n")
    data = text.getvalue().encode()
    sheet = replace(source, head=data[: 2**20], compressed=False, encoding="utf-8", decimal=".", _data=data)
    table = read_delimited(sheet, kinds, ",")
    notes = (f"The sheet {shown(name)} was read; there are others: {', '.join(map(shown, others))}.",) if others else ()
    return replace(table, format="excel", notes=(*notes, *table.notes))


def _refuse_bombs(source: Source) -> None:
    try:
        with zipfile.ZipFile(source.path) as archive:
            total = sum(item.file_size for item in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise source.error(
            f"The file is no workbook of Excel: {error}.", "Save it again as .xlsx, or as 'CSV UTF-8'.", byte=0
        ) from None
    if total > source.limits.bytes:
        raise source.too_large(total)
    source.limits.require(source.path, "Reading it", 2 * total)
    if total > max(_HARMLESS, source.limits.ratio * source.size):
        raise source.error(
            f"The workbook expands more than {source.limits.ratio:g} times, to {format_bytes(total)}: a decompression "
            "bomb?",
            "If you trust the file, save the sheet as 'CSV UTF-8'.",
            byte=0,
        )


def _first_sheet(source: Source, book: Any) -> tuple[str, list[list[str]], list[str]]:
    """Return the name and the rows of the first sheet that is not empty, and the names of the other sheets."""
    for sheet in book.worksheets:
        rows: list[list[str]] = []
        cells = 0
        for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
            row = [_field(value) for value in values]
            while row and not row[-1]:
                row.pop()
            rows.append(row)
            cells += len(row)
            if number % 1000 == 0:
                source.check_time(number)
                source.limits.require(source.path, "Reading it", cells * _CELL)
            if number > source.limits.rows or len(row) > source.limits.columns:
                raise source.error(
                    f"The sheet {shown(sheet.title)} has more than {source.limits.rows:,} rows or "
                    f"{source.limits.columns:,} columns, the limits.",
                    "Split it, or allow more with Limits(...).",
                    line=number,
                )
        width = max(map(len, rows), default=0)
        if width:
            padded = [row + [""] * (width - len(row)) if row else row for row in rows]
            return sheet.title, padded, [other.title for other in book.worksheets if other is not sheet]
    raise source.error("The workbook has no sheet with values.", "Give one with a header and at least one row.", line=1)


def _field(value: Any) -> str:
    """Return a cell as a field of text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)

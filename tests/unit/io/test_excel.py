"""Workbooks of Excel, against the same tables as CSV."""

import datetime
import io
import sys
import zipfile

import numpy as np
import pytest

from mercer.io import FileError, Limits, read

openpyxl = pytest.importorskip("openpyxl")

ROWS = [
    ["age", "city", "smoker", "seen"],
    [31, "Oslo", True, datetime.date(2024, 3, 1)],
    [42.5, "Rome, old town", False, datetime.datetime(2024, 3, 2, 10, 30)],
    [None, "Lima", True, None],
]


def written(path, rows=ROWS, empty_first=False):
    book = openpyxl.Workbook()
    if empty_first:
        book.create_sheet("data")
    sheet = book.worksheets[-1]
    for row in rows:
        sheet.append(row)
    book.save(path)
    return path


def test_the_same_as_the_table_in_csv(tmp_path):
    table = read(written(tmp_path / "t.xlsx"))
    (tmp_path / "t.csv").write_text(
        'age,city,smoker,seen\n31,Oslo,true,2024-03-01\n42.5,"Rome, old town",false,2024-03-02T10:30:00\n,Lima,true,\n'
    )
    other = read(tmp_path / "t.csv")
    assert table.format == "excel" and table.kinds == other.kinds and table.names == other.names
    np.testing.assert_array_equal(table.columns["age"], other.columns["age"])
    assert [table.columns[name] for name in ("city", "seen")] == [other.columns[name] for name in ("city", "seen")]
    np.testing.assert_array_equal(table.columns["smoker"], other.columns["smoker"])


def test_the_first_sheet_with_values_and_blank_rows(tmp_path):
    table = read(written(tmp_path / "t.xlsx", [ROWS[0], ROWS[1], [], ROWS[2], [None] * 9], empty_first=True))
    assert table.n == 2 and any("'data' was read" in note for note in table.notes)
    assert list(table.lines) == [2, 4]  # the rows of the sheet


@pytest.mark.parametrize("name", ["t.xlsx", "t.dat"])
def test_found_by_content(tmp_path, name):
    assert read(written(tmp_path / name)).format == "excel"


def test_what_is_wrong_is_named_by_row_and_column(tmp_path):
    rows = [["a", "b"], *([i + 0.5, i] for i in range(30)), ["oops", 1]]
    with pytest.raises(FileError, match=r"line 32, column 1 \('a'\): 'oops'"):
        read(written(tmp_path / "t.xlsx", rows))
    with pytest.raises(FileError, match="no sheet with values"):
        read(written(tmp_path / "t.xlsx", []))
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 nothing more")
    with pytest.raises(FileError, match="no workbook"):
        read(tmp_path / "t.xlsx", "excel")
    with pytest.raises(FileError, match="limits"):
        read(written(tmp_path / "t.xlsx"), limits=Limits(columns=3))


def test_bombs_and_damaged_books_are_refused(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<a>" + b" " * 5_000_000)
    (tmp_path / "t.xlsx").write_bytes(stream.getvalue())
    with pytest.raises(FileError, match="bomb"):
        read(tmp_path / "t.xlsx")
    with pytest.raises(FileError, match="limit"):
        read(written(tmp_path / "u.xlsx"), limits=Limits(bytes=100))
    with zipfile.ZipFile(tmp_path / "v.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(FileError, match="save it again"):
        read(tmp_path / "v.xlsx")


def test_without_openpyxl_the_command_is_named(tmp_path, monkeypatch):
    path = written(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(FileError, match=r"pip install 'mercer\[excel\]'"):
        read(path)

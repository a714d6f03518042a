import datetime
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer.io.limits import FileBudgetError, FileError, FileTimeError, Limits
from mercer.io.parquet import _texts, read_parquet
from mercer.io.readers import read
from mercer.io.source import Source


@pytest.fixture
def table(tmp_path):
    def make(data, kinds=None, limits=None, **options):
        path = tmp_path / "data.parquet"
        pq.write_table(pa.table(data), path, **options)
        return read_parquet(Source.open(path, limits or Limits()), kinds or {})

    return make


def test_types_make_kinds(table):
    found = table(
        {
            "a": [1, None, 3],
            "b": ["x", "y", "x"],
            "c": [True, None, False],
            "d": [1.5, np.nan, None],
            "id": [7, 8, 2**60 + 1],
            "t": [datetime.datetime(2020, 1, i, 12) for i in (1, 2, 3)],
            "e": pa.array([1.5, 2.5, 3.5], pa.float16()),
            "f": [True] * 3,
        }
    )
    kinds = ["number", "category", "boolean", "constant", "identifier", "text", "number", "constant"]
    assert list(found.kinds.values()) == kinds and found.ids == ("7", "8", str(2**60 + 1))
    assert np.array_equal(found.X["a"], [1, np.nan, 3], equal_nan=True) and found.missing["d"] == 2
    assert found.X["t"][0].startswith("2020-01-01 12:00") and found.lines is None
    assert found.split_target("f")[1].tolist() == ["true"] * 3


def test_texts_are_shared_between_row_groups(table):
    found = table({"a": ["long text " * 20, None, "b"] * 50}, row_group_size=7)
    assert found.X["a"][0] == "long text " * 20 and found.missing["a"] == 50 and found.n == 150


def test_texts_of_any_layout():
    plain = pa.array(["x", None, "y", "x"])
    assert _texts(pa, plain) == _texts(pa, plain.dictionary_encode()) == ["x", None, "y", "x"]


def test_kinds_asked_for(table):
    data = {"a": [1, 2], "b": [True, False], "c": ["yes", "no"], "d": ["1", "2.5"], "e": [1.5, 2.0], "f": pa.nulls(2)}
    kinds = dict(a="category", b="text", c="boolean", d="number", e="category", f="number")
    found = table(data, kinds)
    assert found.kinds == kinds and found.X["a"] == ["1", "2"] and found.X["b"] == ["true", "false"]
    assert found.X["d"].tolist() == [1, 2.5] and found.X["e"] == ["1.5", "2"] and found.missing["f"] == 2
    assert table(data, dict(a="constant", b="boolean", e="number")).kinds["a"] == "number"
    assert table({"a": [1.5, None]}, {"a": "text"}).X["a"] == ["1.5", None]


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        (["x", "y"], "number", "holds texts, where numbers are expected"),
        (["1e999", "2"], "number", "holds texts, where numbers are expected"),
        ([1, 2], "boolean", "holds numbers, where truth values are expected"),
        (["yes", "maybe"], "boolean", r"row 2, column 1 \('a'\): 'maybe' is not a truth value"),
    ],
)
def test_kinds_asked_for_but_not_found(table, column, kind, message):
    with pytest.raises(FileError, match=message):
        table({"a": column}, {"a": kind})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(rows=2), "announces 3 rows; up to 2"),
        (Limits(columns=1), "There are 2 columns; up to 1"),
        (Limits(memory=100), "The table needs about"),
        (Limits(seconds=1e-9), "longer than"),
    ],
)
def test_limits(table, limits, message):
    with pytest.raises(FileError, match=message):
        table({"a": [1, 2, 3], "b": [4, 5, 6]}, limits=limits)


def test_size_in_memory_is_known_before_reading(table, tmp_path):
    with pytest.raises(FileBudgetError, match="needs about"):
        table({"a": np.zeros(10**6), "b": ["x"] * 10**6}, limits=Limits(memory="10MB"))
    assert (tmp_path / "data.parquet").stat().st_size < 100_000
    with pytest.raises(FileTimeError):
        table({"a": [1]}, limits=Limits(seconds=1e-9))


def test_texts_that_are_not_utf8(table):
    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    with pytest.raises(FileError, match=r"damaged|cannot be read"):
        table({"a": bad})


def test_a_column_that_cannot_be_converted(table, monkeypatch):
    def fail(pa_, column):
        raise pa.ArrowInvalid("bad luck\nsecond line")

    monkeypatch.setattr("mercer.io.parquet._floats", fail)
    with pytest.raises(FileError, match=r"column 1 \('a'\): The values cannot be read: bad luck\. Write"):
        table({"a": [1.0]})


def test_fewer_rows_than_announced(table, monkeypatch):
    monkeypatch.setattr("mercer.io.parquet._floats", lambda pa_, column: np.zeros(len(column) - 1))
    with pytest.raises(FileError, match="announces 3 rows and holds 2"):
        table({"a": [1.0, 2.0, 3.0]})


def test_without_pyarrow_the_message_says_what_to_install(table, monkeypatch):
    table({"a": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match=r"needs pyarrow, which is not installed\. Run: pip install 'mercer\[data\]'"):
        table({"a": [1]})


REPEATED = {
    "texts": lambda n: pa.array(["abc"]).dictionary_encode().take(pa.array(np.zeros(n, np.int32))).cast(pa.string()),
    "truth values": lambda n: pa.array(np.zeros(n, bool)),
    "numbers": lambda n: pa.array(np.zeros(n)),
    "dates": lambda n: pa.array(np.zeros(n, "M8[s]")),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_many_rows_in_few_bytes_are_refused_before_they_are_read(tmp_path, kind, monkeypatch):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": REPEATED[kind](4_000_000), "b": REPEATED[kind](4_000_000)}), path)
    assert path.stat().st_size < 500_000
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(FileBudgetError, match=r"more than 200 times the size of the file.* Limits\(ratio=\.\.\.\)"):
        read(path)


@pytest.mark.parametrize("kind", [*REPEATED, "different texts"])
def test_the_memory_announced_is_enough(tmp_path, kind):
    n = 100_000
    make = REPEATED.get(kind) or (lambda n: pa.array([f"name of {i}" for i in range(n)]))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": make(n)}), path)
    read(path)  # what is imported at first is not counted
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    read(path)
    peak = tracemalloc.get_traced_memory()[1] + max(pa.total_allocated_bytes() - before, 0)
    tracemalloc.stop()
    with pytest.raises(FileBudgetError, match="needs about"):
        read(path, limits=Limits(memory=int(0.8 * peak)))

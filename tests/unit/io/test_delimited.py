import csv

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.io.delimited import read_delimited, sniff_delimiter
from mercer.io.limits import FileError, FileTimeError, Limits
from mercer.io.readers import read
from mercer.io.source import Source


@pytest.fixture
def table(tmp_path):
    def make(text, kinds=None, limits=None, delimiter=None):
        path = tmp_path / "data.csv"
        path.write_text(text, encoding="utf-8", newline="")
        return read_delimited(Source.open(path, limits or Limits()), kinds or {}, delimiter)

    return make


@pytest.fixture
def sniffed(tmp_path):
    def sniff(text):
        path = tmp_path / "data.csv"
        path.write_text(text, encoding="utf-8", newline="")
        return sniff_delimiter(Source.open(path, Limits()))

    return sniff


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a\tb\n1\t2\n", "\t"),
        ("a;b\n1;2\n", ";"),
        ("a;b\n1,5;2,5\n", ";"),
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ('a,b\n1,"x;y;z"\n', ","),
        ("a;b\n1;x, y\n", ";"),
        ("a\tb\n1\tx, y; z\n", "\t"),
        ("a\n1\n2\n", ","),
        ("a,b,c\n1,2\n1;2;3;4\n", ","),
        ("a;b;c\n1;2\n", ";"),
        ("a,b", ","),
    ],
)
def test_delimiters(sniffed, text, delimiter):
    assert sniffed(text) == delimiter


@pytest.mark.parametrize("text", ["a|b\n1|2\n", "1 2 3\n4 5 6\n", "x y\n1.5  2.5\n"])
def test_other_delimiters_are_refused(sniffed, text):
    with pytest.raises(FileError, match="seem to be separated by"):
        sniffed(text)


def test_a_field_beyond_the_limit_of_the_process_is_sniffed_all_the_same(sniffed):
    before = csv.field_size_limit(10)
    try:
        assert sniffed("a;b\n1;2\n" + "x" * 20 + ";3\n") == ";"
    finally:
        csv.field_size_limit(before)


def test_odd_separators_of_lines_are_no_lines(sniffed):
    assert sniffed("a;b\n1;x\u2028y\n2;z, w\x0b\n") == ";"


def test_texts_with_blanks_are_one_column(table):
    assert table("title\nto be\nnot to\n").X == {"title": ["to be", "not to"]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n", ("a", "b")),
        ("1,2\n3,4\n", ("column1", "column2")),
        ("M,0.5\nF,0.7\nM,0.9\n", ("column1", "column2")),
        ("a,b\nx,y\nz,w\n", ("a", "b")),
        ("temp,2019\n1,2\n3,4\n", ("temp", "2019")),
        ('" a ",b\n1,2\n', ("a", "b")),
    ],
)
def test_headers(table, text, names):
    found = table(text)
    assert found.names == names
    assert bool(found.notes) == (names != ("a", "b"))


def test_lines_of_rows(table):
    found = table('\na,b\n\n1,"x\ny"\n\n2,z\n3,w')
    assert found.lines.tolist() == [4, 7, 8] and found.notes == ("3 blank lines were skipped.",)
    assert found.X["b"] == ["x\ny", "z", "w"]


def test_a_column_that_turns_into_text_late_keeps_its_spelling(table):
    rows = [f"0{i}" for i in range(20_000)] + [f"x{i}" for i in range(20_000)]
    found = table("a,b\n" + "".join(f"{row},1\n" for row in rows))
    assert found.X["a"] == rows and found.kinds == {"a": "text", "b": "constant"}


def test_many_chunks_are_one_column(table):
    values = np.random.default_rng(0).normal(size=20_000)
    found = table("x,c\n" + "".join(f"{v!r},{'ab'[i % 2]}\n" for i, v in enumerate(values.tolist())))
    assert np.array_equal(found.X["x"], values) and found.X["c"] == ["a", "b"] * 10_000


def test_values_agree_with_the_standard_library(table, tmp_path):
    rows = [["n", 'q"q', "x,y"], ["1", "", "a\nb"], ["2.5", " c", "ü"], ["-3e-5", "d", "a\nb"]]
    path = tmp_path / "written.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)
    found = table(path.read_text(encoding="utf-8"))
    assert found.names == tuple(rows[0]) and found.X["n"].tolist() == [1, 2.5, -3e-5]
    assert found.X["x,y"] == ["a\nb", "ü", "a\nb"]


def test_kinds_asked_for(table):
    text = "id,zip,flag,note,x\n1,01,yes,5,1\n2,02,no,6,1\n"
    kinds = {"id": "number", "zip": "category", "flag": "category", "note": "text", "x": "number", "other": "text"}
    found = table(text, kinds)
    assert found.kinds == {name: kinds[name] for name in found.names}
    assert found.X["zip"] == ["01", "02"] and found.X["note"] == ["5", "6"] and found.X["id"].tolist() == [1, 2]
    assert table(text).kinds == dict(id="identifier", zip="number", flag="boolean", note="number", x="constant")
    assert table("a\n7\n8\n", {"a": "identifier"}).ids == ("7", "8")
    assert table("a\n7\n8\n", {"a": "constant"}).kinds == {"a": "number"}
    assert table("a,b\nyes,1\nyes,2\n", {"a": "boolean"}).X["a"].tolist() == [1, 1]
    assert table("a,b\n,1\n,2\n", {"a": "boolean"}).missing["a"] == 2


@pytest.mark.parametrize(
    ("text", "kinds", "message"),
    [
        ("a,b\n1,x\nz,y\n", {"a": "number"}, r"line 3, column 1 \('a'\): 'z' is not a number"),
        ("a,b\n1,x\n2,y\n", {"b": "number"}, r"line 2, column 2 \('b'\): 'x' is not a number"),
        ("a,b\nyes,x\nmaybe,y\n", {"a": "boolean"}, r"line 3, column 1 \('a'\): 'maybe' is not a truth value"),
        ("a,b\n7,x\n8,y\n", {"a": "boolean"}, r"line 2, column 1 \('a'\): '7' is not a truth value"),
        ("a,b\n1,2\n1e999,3\n", {"a": "number"}, r"line 3, column 1 \('a'\): '1e999' is too large"),
    ],
)
def test_kinds_asked_for_but_not_found(table, text, kinds, message):
    with pytest.raises(FileError, match=message):
        table(text, kinds)


def test_a_few_words_among_numbers_are_errors_but_categories_are_not(table):
    numbers = [f"{i}.5" for i in range(30)]
    assert table("a\n" + "\n".join(numbers)).kinds == {"a": "number"}
    with pytest.raises(FileError, match=r"line 32, column 1 \('a'\): 'oops' is not a number, as 30 other"):
        table("a\n" + "\n".join([*numbers, "oops"]))
    with pytest.raises(FileError, match="30 other"):
        table("a\n" + "\n".join([*numbers, "oops", "ouch", "oops"]))
    assert table("a\n" + "\n".join([*numbers, *["oops"] * 4])).kinds == {"a": "text"}
    assert table("a\n" + "\n".join(["1", "2", "3"] * 10 + ["A"])).kinds == {"a": "category"}
    with pytest.raises(FileError, match="is not a number"):
        table("a\n" + "\n".join([*map(str, range(30)), "A"]))
    assert table("a\n" + "\n".join([*numbers, "oops"]), {"a": "category"}).kinds == {"a": "category"}


def test_a_header_after_which_numbers_start_too_late(table):
    numbers = "".join(f"{i}.5,3\n" for i in range(60))
    assert table("x,2\n,3\n" + numbers).names == ("x", "2")
    with pytest.raises(FileError, match=r"line 62, column 1 .'x'.: 'y' is not a number"):
        table("x,2\n" + numbers + "y,5\n", {"2": "number"}, delimiter=",")
    with pytest.raises(FileError, match=r"line 1, column 1 .*If the first line is a header"):
        table("x,2\nz,3\n" + numbers)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(rows=3), "more than 3 rows"),
        (Limits(columns=1), "more than 1 columns"),
        (Limits(field=4), r"line 3, column 2: The field has more than 4"),
        (Limits(seconds=1e-9), "longer than"),
    ],
)
def test_limits(table, limits, message):
    with pytest.raises(FileError, match=message):
        table("a,b\n1,x\n2,abcde\n3,z\n4,w\n", limits=limits)


def test_limit_on_names_and_time(table):
    with pytest.raises(FileError, match="line 1, column 1: The field has more than 4"):
        table("abcdef,b\n1,x\n", limits=Limits(field=4))
    with pytest.raises(FileTimeError):
        table("a\n1\n", limits=Limits(seconds=1e-9))


def test_malformed_rows_of_any_kind_are_refused(table, monkeypatch):
    def broken(*args, **kwargs):
        class Reader:
            line_num = 4

            def __next__(self):
                raise csv.Error("strange")

        return Reader()

    monkeypatch.setattr("mercer.io.delimited.csv.reader", broken)
    with pytest.raises(FileError, match="line 5: The row cannot be split into fields: strange"):
        table("a,b\n1,2\n", delimiter=",")


def test_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n1,5;x, y;3\n-2,25e1;z;4\n;w;5,5\n", encoding="utf-8")
    table = read(path, decimal=",")
    np.testing.assert_array_equal(table.columns["a"], [1.5, -22.5, np.nan])
    np.testing.assert_array_equal(table.columns["c"], [3.0, 4.0, 5.5])
    assert table.columns["b"] == ["x, y", "z", "w"]
    with pytest.raises(FileError, match=r"decimal comma.*decimal=','"):
        read(path)
    path.write_text("a\tb\n1,5\t2.5\n2,5\t3.5\n")
    with pytest.raises(FileError, match=r"column 2.*decimal point"):
        read(path, decimal=",")
    path.write_text("a;b\n" + "1,5;1\n" * 30 + "1.5;2\n")
    with pytest.raises(FileError, match="line 32, column 1"):
        read(path, decimal=",")
    with pytest.raises(ParameterError, match="decimal"):
        read(path, decimal=";")
    path.write_text("a;b\n1,5;2\n2;3\n")
    assert list(read(path, decimal=",").columns["a"]) == [1.5, 2.0] and read(path, decimal=",").names == ("a", "b")

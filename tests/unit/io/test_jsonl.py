import json

import numpy as np
import pytest

from mercer.io.jsonl import read_jsonl
from mercer.io.limits import FileError, FileTimeError, Limits
from mercer.io.source import Source


@pytest.fixture
def table(tmp_path):
    def make(text, kinds=None, limits=None):
        path = tmp_path / "data.jsonl"
        path.write_text(text, encoding="utf-8")
        return read_jsonl(Source.open(path, limits or Limits()), kinds or {})

    return make


def rows(**columns):
    values = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in values)


def test_types_make_kinds(table):
    text = rows(
        a=[1, 2.5, None],
        b=["x", "y", "x"],
        c=[True, False, None],
        d=["1", "2", "3"],
        e=[None] * 3,
        f=[5, 5, 5],
        id=[7, 8, 9],
        g=[True] * 3,
    )
    found = table(text)
    kinds = ["number", "category", "boolean", "text", "constant", "constant", "identifier", "constant"]
    assert list(found.kinds.values()) == kinds
    assert np.array_equal(found.X["a"], [1, 2.5, np.nan], equal_nan=True) and found.ids == ("7", "8", "9")
    assert found.X["d"] == ["1", "2", "3"] and found.missing["e"] == 3 and found.lines.tolist() == [1, 2, 3]
    assert found.split_target("g")[1].tolist() == ["true"] * 3


def test_kinds_asked_for(table):
    text = rows(a=[1, 2], b=[True, False], c=["yes", "no"], d=[None, None], e=["x", "y"])
    kinds = dict(a="category", b="category", c="boolean", d="number", e="category")
    found = table(text, kinds)
    assert found.kinds == kinds and found.X["a"] == ["1", "2"] and found.X["b"] == ["true", "false"]
    assert table(text, dict(a="number", b="boolean", d="category", c="text")).X["c"] == ["yes", "no"]
    assert table(text, dict(a="constant", d="boolean")).kinds["a"] == "number"


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        ([None, "x"], "number", r"line 2, column 1 \('a'\): 'x' is not a number"),
        ([True, False], "number", "'true' is not a number"),
        (["yes", "maybe"], "boolean", r"line 2.*'maybe' is not a boolean"),
        ([0, 1], "boolean", r"line 1.*'0' is not a boolean"),
    ],
)
def test_kinds_asked_for_but_not_found(table, column, kind, message):
    with pytest.raises(FileError, match=message):
        table(rows(a=column), {"a": kind})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(rows=1), "line 2: There are more than 1 rows"),
        (Limits(columns=1), "more than 1 keys"),
        (Limits(line=5), "more than 5 characters"),
        (Limits(depth=1), r"nested more than 1 deep"),
    ],
)
def test_limits(table, limits, message):
    with pytest.raises(FileError, match=message):
        table('{"a": 1, "b": 2}\n{"a": 1, "b": 2}\n{"a": [1], "b": 2}\n', limits=limits)


def test_time_is_over(table):
    with pytest.raises(FileTimeError):
        table('{"a": 1}\n' * 5000, limits=Limits(seconds=1e-9))


def test_brackets_in_texts_are_not_nesting(table):
    text = '{"a": "' + '[{\\"' * 300 + '"}\n'
    assert table(text + text).X["a"] == ['[{"' * 300] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}\n", "The object is empty"),
        ("[1]\n", "The line holds a list; one object"),
        ("3\n", "The line holds a number"),
        ("null\n", "The line holds null"),
        ('"a"\n', "The line holds a text"),
        ("{\n", "line 1.*This is not JSON"),
        ('{"a": NaN}\n', "NaN is no JSON number"),
        ('{"a": 1, "a": 2}\n', "The key 'a' appears twice"),
        ('{" ": 1}\n', "The key is empty"),
        ('{"\\ud800": 1}\n', "The key is not text"),
        ('{"a": 1}\n{"b": 1}\n', "line 2.*The key 'a' of line 1 is absent"),
        ('{"a": 1}\n{"a": 1, "b": 1}\n', "line 2.*The key 'b' is not one of line 1"),
        ('{"a": {"b": 1}}\n', "The value is an object"),
        ('{"a": [1]}\n', "The value is a list"),
        ('{"a": "\\ud800"}\n', "half of a surrogate pair"),
        ('{"a": 1}\n\n{"a": "x"}\n', "line 3.*is a text, the one in line 1 is a number"),
        ('{"a": true}\n{"a": 1}\n', "line 2.*is a number, the one in line 1 is true or false"),
        ('{"a": 1e400}\n{"a": 1}\n', "line 1.*too large for a number"),
        ("\n \n", "only blank lines|empty"),
    ],
)
def test_what_is_refused_and_where(table, text, message):
    with pytest.raises(FileError, match=message):
        table(text)


def test_identifiers_are_kept_as_they_are_written(table):
    found = table(rows(id=[1001, 1002, 1003, 1004, 1005], x=[1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found.kinds["id"] == "identifier" and found.columns["id"][0] == "1001"

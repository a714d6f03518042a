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

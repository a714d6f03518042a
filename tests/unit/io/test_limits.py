import pickle

import pytest

from mercer.errors import MemoryBudgetError, MercerError, ParameterError, TimeBudgetError
from mercer.io.limits import FileBudgetError, FileError, FileTimeError, Limits, printable, shown


def test_message_names_file_place_problem_and_fix():
    error = FileError("data.csv", "'x' is no number.", "Write one.", line=17, column=3, name="age")
    assert str(error) == "data.csv, line 17, column 3 ('age'): 'x' is no number. Write one."
    assert isinstance(error, MercerError) and isinstance(error, ValueError)
    assert (error.path.name, error.line, error.column, error.name, error.fix) == (
        "data.csv",
        17,
        3,
        "age",
        "Write one.",
    )
    assert error.row is None and error.byte is None and error.character is None


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({}, "f"),
        ({"byte": 0}, "f, byte 0"),
        ({"row": 2, "column": 3}, "f, row 2, column 3"),
        ({"line": 1, "character": 5}, "f, line 1, character 5"),
        ({"row": 1, "name": "a"}, "f, row 1, column 'a'"),
    ],
)
def test_places(place, expected):
    assert FileError("f", "Problem.", "Fix.", **place).place == expected


def test_messages_are_safe_on_a_terminal():
    error = FileError("a\x1b[31m\n.csv", "Value \x07 here.", "Fix \udcff.", line=1, column=1, name="\x1b]")
    assert str(error).isprintable() and "\\x1b[31m\\n.csv" in str(error)
    assert printable("é\t\ud800") == "é\\t\\ud800"
    assert shown("\n") == "'\\n'" and len(shown("x" * 10**6)) < 60


@pytest.mark.parametrize("kind", [FileError, FileBudgetError, FileTimeError])
def test_errors_survive_pickling(kind):
    error = pickle.loads(pickle.dumps(kind("f.csv", "P.", "F.", line=3, name="a")))
    assert type(error) is kind and str(error) == str(kind("f.csv", "P.", "F.", line=3, name="a")) and error.line == 3


def test_budget_errors_are_what_callers_catch():
    assert issubclass(FileBudgetError, (MemoryBudgetError, MemoryError)) and issubclass(FileBudgetError, FileError)
    assert issubclass(FileTimeError, (TimeBudgetError, TimeoutError)) and issubclass(FileTimeError, FileError)


def test_require_compares_with_the_budget():
    Limits(memory=100).require("f", "It", 100)
    with pytest.raises(FileBudgetError, match=r"f, row 1: It needs about 101 B of memory, the budget is 100 B\. Split"):
        Limits(memory=100).require("f", "It", 101, row=1)


def test_defaults_are_those_promised():
    limits = Limits()
    assert (limits.columns, limits.field, limits.depth, limits.ratio) == (100_000, 1_000_000, 100, 200)
    assert limits.line == 16 * 2**20 and limits.sequence == 100_000_000


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"ratio": -1}, {"depth": True}, {"field": "9"}, {"bytes": None}])
def test_limits_are_positive_numbers(wrong):
    with pytest.raises(ParameterError, match="is not a limit"):
        Limits(**wrong)
    assert Limits(seconds=None).clock().expired is False

"""From errors to exit codes, and what is said."""

import errno
from pathlib import Path

import pytest

from mercer.cli.failures import NotConverged, UsageFault, explain
from mercer.errors import (
    CapabilityError,
    DomainError,
    MemoryBudgetError,
    ModelError,
    NotPositiveDefinite,
    ParameterError,
    TargetError,
    TimeBudgetError,
)
from mercer.io.atomic import OverwriteError
from mercer.io.limits import FileBudgetError, FileError, FileTimeError

DATA = Path("data.csv")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ZeroDivisionError("x"), 1),
        (TypeError("x"), 1),
        (ParameterError("x"), 2),
        (CapabilityError("x"), 2),
        (UsageFault("x"), 2),
        (OverwriteError("x"), 2),
        (FileError("data.csv", "a", "b"), 3),
        (DomainError("x"), 3),
        (TargetError("x"), 3),
        (ModelError("x"), 3),
        (NotPositiveDefinite("x"), 3),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.mercer"), 3),
        (PermissionError(errno.EACCES, "Permission denied", "a.mercer"), 3),
        (FileBudgetError("data.csv", "a", "b"), 4),
        (FileTimeError("data.csv", "a", "b"), 4),
        (MemoryBudgetError("x"), 4),
        (TimeBudgetError("x"), 4),
        (MemoryError(), 4),
        (OSError(errno.ENOSPC, "No space left on device", "a.npy"), 4),
        (NotConverged("x"), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_codes(error, code):
    failure = explain(error, DATA)
    assert failure.code == code and failure.message
    assert failure.data["error"]["code"] == code
    if code in (3, 4):
        assert failure.place["file"]


def test_the_place_is_told_to_programs():
    error = FileError("a.csv", "'x' is no number.", "Write one.", line=7, column=2, name="age")
    assert explain(error, DATA).place == {"file": "a.csv", "line": 7, "column": 2, "name": "age"}


def test_the_file_is_named_once():
    assert explain(DomainError("all rows are equal."), DATA).message == "data.csv: all rows are equal."
    assert explain(DomainError("data.csv: no."), DATA).message == "data.csv: no."
    assert explain(ParameterError("alpha is wrong."), DATA).message == "alpha is wrong."


def test_a_mistake_of_ours_asks_for_a_report():
    message = explain(RuntimeError("boom")).message
    assert "boom" in message and "report" in message and "--debug" in message


def test_a_full_disk_names_the_remedy():
    failure = explain(OSError(errno.ENOSPC, "No space left on device", "a.npy"))
    assert "a.npy" in failure.message and "room" in failure.message

"""The scorecard counts what programs find, whatever lines they print besides."""

import pytest

from tests.trust import scorecard

FINDING = "src/mercer/spec.py:1:1: F401 `os` imported but unused"
CLEAN = "\n0 errors, 0 warnings, 0 notes\n"


@pytest.mark.parametrize(
    ("ruff", "types", "met", "figure"),
    [
        ("\n", CLEAN, True, "ruff 0, types of all of src 0, eval, exec or pickle 0"),
        (f"\n{FINDING}\n{FINDING}\n", CLEAN, False, "ruff 2, types of all of src 0, eval, exec or pickle 0"),
        ("\n", "\n17 errors, 0 warnings\n", False, "ruff 0, types of all of src 17, eval, exec or pickle 0"),
        ("\n", "\nnothing was counted\n", False, "ruff 0, types of all of src -1, eval, exec or pickle 0"),
    ],
    ids=["clean", "linter", "types", "checker that broke"],
)
def test_static_checks_are_counted(ruff, types, met, figure, monkeypatch):
    printed = {"ruff": ruff, "basedpyright": types}
    monkeypatch.setattr(scorecard, "command", lambda *words: (0, printed[words[0].rpartition("/")[2]]))
    assert scorecard.static() == (met, figure)

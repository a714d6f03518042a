"""Where commands speak: results and messages apart, nothing that steers a terminal."""

import json
import sys

import numpy as np
import pytest

from mercer.cli.terminal import Terminal, clean, pairs, plain


def test_control_characters_are_shown_not_obeyed():
    assert clean("a\x1b[31m\rb\x00\u202e") == "a\\x1b[31m\\rb\\x00\\u202e"
    assert clean("two\nlines\tand é") == "two\nlines\tand é"


def test_pairs_stand_in_columns():
    assert pairs([("a", "1"), ("long", "2\n3")]) == "a     1\nlong  2\n      3"
    assert pairs([]) == ""


def test_messages_and_results_go_different_ways(capsys):
    terminal = Terminal()
    terminal.say("working")
    terminal.warn("careful")
    terminal.result({"a": 1}, "done")
    terminal.raw("x,y\n")
    captured = capsys.readouterr()
    assert captured.out == "done\nx,y\n" and captured.err == "working\nWarning: careful\n"


def test_quiet_leaves_out_messages_only(capsys):
    terminal = Terminal(quiet=True)
    terminal.say("working")
    terminal.warn("careful")
    terminal.result({}, lambda: "done")
    captured = capsys.readouterr()
    assert captured.out == "done\n" and captured.err == "Warning: careful\n"


def test_json_is_one_document(capsys):
    Terminal(as_json=True).result({"a": np.float64(1.5), "b": float("nan"), "c": {"d": np.arange(2)}}, "text")
    assert json.loads(capsys.readouterr().out) == {"a": 1.5, "b": None, "c": {"d": [0, 1]}}


def test_plain_values():
    assert plain({"s": {1}, "t": (None, True, "x"), "p": object}) == {
        "s": [1],
        "t": [None, True, "x"],
        "p": str(object),
    }


def test_tables_for_programs_have_tabs():
    assert Terminal().table(["a", "b"], [["1", "x\ty\n"]]) == "a\tb\n1\tx y "


def test_tables_for_people_are_drawn(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    text = Terminal().table(["a", "b"], [["1", "[red]two[/red]\x1b"]])
    assert "[red]two[/red]\\x1b" in text and "\x1b" not in text.replace("\x1b[", "")


@pytest.mark.parametrize("tty", [False, True])
def test_progress_is_told_and_never_fails(monkeypatch, capsys, tty):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: tty, raising=False)
    with Terminal().progress("work") as tell:
        for fraction in (0.0, 0.5, 2.0, -1.0):
            tell(fraction)
    assert capsys.readouterr().out == ""


def test_data_cannot_steer_a_terminal_and_stay_as_they_are_elsewhere(monkeypatch, capsys):
    text = "row,prediction\n1,re\x1b[31md\x07\x9b\n"
    Terminal().raw(text)
    assert capsys.readouterr().out == text
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    Terminal().raw(text)
    assert capsys.readouterr().out == "row,prediction\n1,re\\x1b[31md\\x07\\x9b\n"

"""The group of commands: its list, its errors, its exit codes."""

import json
import os
import subprocess
import sys

import click
import pytest

import mercer
from mercer.cli import application as module
from mercer.cli.application import application
from mercer.cli.commands import COMMANDS
from mercer.errors import DomainError
from tests.unit.cli.commandline import run


def test_every_command_is_listed_with_what_it_does():
    text = " ".join(run("--help").stdout.split())
    for name, command in COMMANDS.items():
        assert name in text and command.short_help in text
    assert mercer.__version__ in run("--version").stdout


def test_no_command_is_wrong_usage():
    result = run(code=2)
    assert "Commands:" in result.output


def test_a_misspelt_command_is_answered_with_the_right_one():
    assert "Did you mean 'fit'?" in run("fti", code=2).stderr
    assert "No such command" in run("qqqqqq", code=2).stderr


def broken(monkeypatch, error):
    def fail(terminal, **options):
        raise error

    work = type("Work", (), {"run": staticmethod(fail)})
    real = module.importlib.import_module
    monkeypatch.setattr(
        module.importlib, "import_module", lambda name: work if name == "mercer.cli.doctor" else real(name)
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [(ValueError("a bug"), 1), (DomainError("odd data"), 3), (MemoryError(), 4), (KeyboardInterrupt(), 130)],
)
def test_errors_become_exit_codes(monkeypatch, error, code):
    broken(monkeypatch, error)
    result = run("doctor", code=code)
    assert result.stderr.count("\n") == 1 and not result.stdout
    told = json.loads(run("doctor", "--json", code=code).stdout)["error"]
    assert told["code"] == code and told["kind"] == type(error).__name__


def test_debug_shows_where(monkeypatch):
    broken(monkeypatch, ValueError("a bug"))
    result = click.testing.CliRunner().invoke(application, ["doctor", "--debug"])
    assert result.exit_code == 1 and "Traceback" in result.stderr and "report it" in result.stderr


def test_usage_errors_of_click_pass(monkeypatch):
    broken(monkeypatch, click.UsageError("no such thing"))
    assert "no such thing" in run("doctor", code=2).stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes of Unix")
def test_a_reader_that_leaves_does_no_harm():
    code = "from mercer.cli.application import main; main(['kernels'])"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_interrupted_before_a_command_runs(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.application, "main", interrupted)
    with pytest.raises(SystemExit) as left:
        module.main([])
    assert left.value.code == 130

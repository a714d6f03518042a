"""Every command's help: what it is for, all options, an example at the end."""

import shlex

import click
import pytest

from mercer.cli import commands
from mercer.cli.commands import COMMANDS
from mercer.io.readers import FORMATS
from tests.unit.cli.commandline import run

NAMES = list(COMMANDS)


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_an_example(name):
    text = run(name, "--help").stdout
    assert COMMANDS[name].short_help.split(":")[0] in " ".join(text.split())
    assert shlex.split(text.rstrip().splitlines()[-1])[:2] == ["mercer", name]


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_explained(name):
    command = getattr(commands, name)
    assert isinstance(command, click.Command)
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert {"as_json", "quiet", "debug"} <= {option.name for option in options}
    assert not [option.name for option in options if not option.help and option.name != "dtype"]


def test_all_formats_but_one_can_be_named():
    assert set(commands.FORMATS) == set(FORMATS) - {"gram-rows"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "a.csv", "--missing", "guess"],
        ["fit", "a.csv", "--threads", "0"],
        ["fit", "a.csv", "--max-time", "0"],
        ["fit", "a.csv", "--folds", "-1"],
        ["predict", "a.mercer"],
        ["gram", "a.csv", "-o", "a.npy"],
        ["gram", "a.csv", "--kernel", "Linear()"],
        ["convert", "a.csv"],
        ["check", "a.csv", "--what"],
        ["test", "a.csv"],
        ["test", "a.csv", "b.csv", "--stat", "t"],
        ["test", "a.csv", "b.csv", "--level", "1"],
    ],
)
def test_wrong_options_are_told_at_once(arguments):
    assert "Error" in run(*arguments, code=2).stderr

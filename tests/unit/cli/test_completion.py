"""Scripts for shells, and what they ask for."""

import pytest
from click.testing import CliRunner

from mercer.cli.application import application
from tests.unit.cli.commandline import run, run_json


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell):
    script = run("completion", shell).stdout
    assert "_MERCER_COMPLETE" in script and "mercer" in script
    assert run_json("completion", shell)["script"] == script


def test_commands_and_options_are_completed():
    def completed(words, position):
        environment = {"_MERCER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(position)}
        return CliRunner().invoke(application, [], prog_name="mercer", env=environment).stdout

    assert "plain,kernels" in completed("mercer ker", 1)
    assert "plain,--decimal" in completed("mercer fit --dec", 2)

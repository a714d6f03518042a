"""The command: what it refuses, and what it hands on."""

from pathlib import Path

import pytest

from mercer.cli.failures import UsageFault
from mercer.cli.terminal import Terminal
from mercer.studio import studio_command
from tests.unit.cli.commandline import run


def test_it_starts_with_the_file_and_its_folder(monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(studio_command, "run_studio", lambda say, *given, **options: started.append((given, options)))
    data = tmp_path / "a.csv"
    data.write_text("a\n1\n")
    studio_command.run(Terminal(), data=data, folder=None, port=0, no_browser=True)
    studio_command.run(Terminal(), data=None, folder=tmp_path, port=7, no_browser=False)
    assert started[0] == ((data, tmp_path.resolve()), {"port": 0, "browse": False})
    assert started[1] == ((None, tmp_path.resolve()), {"port": 7, "browse": True})


@pytest.mark.parametrize(("data", "folder"), [(Path("nothing.csv"), None), (None, Path("nowhere"))])
def test_what_is_not_there_is_said(data, folder):
    with pytest.raises(UsageFault):
        studio_command.run(Terminal(), data=data, folder=folder, port=0, no_browser=True)


def test_help():
    assert "--folder" in run("studio", "--help").stdout

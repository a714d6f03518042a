"""``mercer completion``: the script with which a shell completes commands and options."""

from __future__ import annotations

import importlib

from mercer.cli.application import application
from mercer.cli.terminal import Terminal

__all__ = ["run"]


def run(terminal: Terminal, *, shell: str) -> None:
    """Print the script for a shell."""
    kind = importlib.import_module("click.shell_completion").get_completion_class(shell)
    script = kind(application, {}, "mercer", "_MERCER_COMPLETE").source()
    if terminal.as_json:
        terminal.result({"shell": shell, "script": script}, "")
    else:
        terminal.raw(script)

"""``mercer studio``: the page on this machine where kernels are tried out."""

from __future__ import annotations

from pathlib import Path

from mercer.cli.failures import UsageFault
from mercer.cli.terminal import Terminal
from mercer.studio.serving import run_studio

__all__ = ["run"]


def run(terminal: Terminal, *, data: Path | None, folder: Path | None, port: int, no_browser: bool) -> None:
    """Serve the studio until it is interrupted."""
    if data is not None and not data.exists():
        raise UsageFault(f"{data} does not exist. Name a data file, or leave it out and drop one into the page.")
    place = folder or (Path() if data is None else data.parent)
    if not place.is_dir():
        raise UsageFault(f"--folder {place} is not a folder. Make it first, or name another.")
    run_studio(terminal.say, data, place.resolve(), port=port, browse=not no_browser)

"""Where results go: names next to the data, nothing overwritten unasked, files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import mercer.io  # names are imported on use
from mercer.cli.failures import UsageFault
from mercer.io.atomic import require_replaceable

__all__ = ["beside", "require_writable", "naming_the_state", "naming_files"]

_PACKED = (".gz", ".gzip")


def beside(path: Path, ending: str) -> Path:
    """Return the name of a file next to another, with another ending.

    Examples
    --------
    >>> beside(Path("data/patients.csv.gz"), ".mercer").name
    'patients.mercer'
    """
    if path.is_dir():  # whose name has no ending, and may be "."
        path = path.resolve() if path.name in ("", "..") else path
        return path.parent / f"{path.name or 'data'}{ending}"
    stem = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return stem.with_suffix(ending) if stem.suffix != ending else stem.with_name(stem.name + ending)


def require_writable(path: Path, force: bool) -> None:
    """Refuse an output file before the work begins: one that exists, or whose folder does not."""
    if path.is_dir():
        raise UsageFault(f"{path} is a folder; the name of a file is needed. Write {path / 'result'}.")
    require_replaceable(path, force=force)
    folder = path.resolve().parent
    if not folder.is_dir():
        raise UsageFault(f"{path}: there is no folder {folder}. Make it first, or choose another.")
    if not os.access(folder, os.W_OK):
        raise UsageFault(f"{path}: the folder {folder} is not writable. Choose another with -o.")


@contextmanager
def naming_the_state(path: Path | None) -> Iterator[None]:
    """Say where the state of an interrupted fit is."""
    try:
        yield
    except KeyboardInterrupt:
        if path is None or not mercer.io.Checkpoint(path).found:
            raise
        raise KeyboardInterrupt(
            f"Interrupted; the state of the fit is in {path}. Give the same command again to resume from there."
        ) from None


@contextmanager
def naming_files(files: Sequence[Path]) -> Iterator[None]:
    """Say of an interrupted command which files were written by then; those are whole, and there are no others."""
    try:
        yield
    except KeyboardInterrupt as error:
        if not files:
            raise
        said = str(error) or "Interrupted; the work was not finished."
        raise KeyboardInterrupt(f"{said} Written before: {', '.join(map(str, files))}.") from None

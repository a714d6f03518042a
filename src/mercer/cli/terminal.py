"""What a command says: results on stdout, messages and progress on stderr.

This module is imported before anything else, so it imports nothing heavy; rich is loaded where it is used.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["Terminal", "clean", "pairs"]

_KEPT = "\n\t"


def clean(text: str) -> str:
    r"""Return text without control characters: a name in a file must not control a terminal.

    Examples
    --------
    >>> clean("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else c.encode("unicode_escape").decode() for c in text)


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Return names and values in two columns; further lines of a value are indented.

    Examples
    --------
    >>> print(pairs([("rows", "3"), ("kernel", "Linear()")]))
    rows    3
    kernel  Linear()
    """
    width = max((len(name) for name, _ in rows), default=0) + 2
    return "\n".join(f"{name:<{width}}{value}".replace("\n", "\n" + " " * width) for name, value in rows)


class Terminal:
    """Where a command writes.

    Parameters
    ----------
    as_json : bool
        Whether results are one JSON document instead of text.
    quiet : bool
        Whether messages and progress are left out; warnings and errors are not.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet

    def say(self, text: str) -> None:
        """Print a message."""
        if not self.quiet:
            click.echo(clean(text), err=True)

    def warn(self, text: str) -> None:
        """Print a warning."""
        click.echo(clean(f"Warning: {text}"), err=True)

    def tried(self, candidate: Any) -> None:
        """Take note of a scored candidate; a terminal shows all of them at the end."""

    def result(self, data: Mapping[str, Any], text: str | Callable[[], str]) -> None:
        """Print the result: the data as JSON, or the text."""
        if self.as_json:
            click.echo(json.dumps(plain(data), indent=2, allow_nan=False))
        else:
            click.echo(clean(text if isinstance(text, str) else text()))

    def raw(self, text: str) -> None:
        """Print data for programs, unchanged; on a terminal, without control characters."""
        click.echo(clean(text) if sys.stdout.isatty() else text, nl=False, color=True)  # else parts would be left out

    def table(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Return a table: drawn for a person, values between tabs for a program."""
        if not sys.stdout.isatty():
            return "\n".join("\t".join(map(_one_line, row)) for row in [names, *rows])
        drawing = importlib.import_module("rich.table")
        console = importlib.import_module("rich.console").Console()
        markup = importlib.import_module("rich.markup")
        table = drawing.Table(*names, box=importlib.import_module("rich.box").SIMPLE_HEAD)
        for row in rows:
            table.add_row(*(markup.escape(clean(value)) for value in row))
        with console.capture() as capture:
            console.print(table)
        return capture.get().rstrip("\n")

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[float], None]]:
        """Show a bar on stderr while the block runs; it is given the fraction done."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda fraction: None
            return
        bars = importlib.import_module("rich.progress")
        console = importlib.import_module("rich.console").Console(stderr=True)
        with bars.Progress(console=console, transient=True) as bar:
            task = bar.add_task(label, total=1.0)
            yield lambda fraction: bar.update(task, completed=min(max(fraction, 0.0), 1.0))


def _one_line(value: str) -> str:
    return clean(value.replace("\t", " ").replace("\n", " "))


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: NumPy numbers and arrays, paths and numbers that are not finite too.

    Examples
    --------
    >>> plain({"a": float("inf"), "b": (1, 2)})
    {'a': None, 'b': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(held) for held in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)

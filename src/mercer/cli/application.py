"""The command ``mercer``: finds the command, runs it, and turns whatever happens into an exit code."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import click

import mercer
from mercer.cli.terminal import Terminal, clean

__all__ = ["Application", "main", "work"]


def _commands() -> dict[str, click.Command]:
    """The commands by name, sorted; they import nothing heavy before they run."""
    return dict(sorted(importlib.import_module("mercer.cli.commands").COMMANDS.items()))


class Application(click.Group):
    """The group of all commands; a command's module is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name."""
        return _commands().get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.short_help or "") for name, command in _commands().items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the named command; `fti` is answered by asking whether `fit` was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = importlib.import_module("difflib").get_close_matches(args[0], _commands(), n=1)
            if not near or "Did you mean" in error.message:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what it raises becomes an exit code and a paragraph on stderr."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            _close_stdout()
            raise click.exceptions.Exit(0) from None
        except BaseException as error:
            raise click.exceptions.Exit(fail(error, ctx.meta)) from None
        return result


def fail(error: BaseException, meta: dict[str, Any]) -> int:
    """Say what went wrong, and return the exit code."""
    if meta.get("mercer.debug"):
        importlib.import_module("traceback").print_exception(error, file=sys.stderr)
    failure = importlib.import_module("mercer.cli.failures").explain(error, meta.get("mercer.subject"))
    message = meta.get("mercer.interrupted", failure.message) if failure.code == 130 else failure.message
    terminal = Terminal(as_json=True) if meta.get("mercer.json") else None
    with contextlib.suppress(OSError):
        click.echo(clean(f"Error: {message}" if failure.code != 130 else message), err=True)
        if terminal is not None:
            terminal.result(failure.data, "")
    return failure.code


def work(name: str, options: dict[str, Any]) -> None:
    """Run a command's module: its heavy imports happen here, after help and errors in options are printed."""
    ctx = click.get_current_context()
    meta = ctx.meta
    meta["mercer.debug"], meta["mercer.json"] = options.pop("debug", False), options.get("as_json", False)
    terminal = Terminal(as_json=options.pop("as_json", False), quiet=options.pop("quiet", False))
    for subject in ("data", "model"):
        if isinstance(options.get(subject), Path):
            meta["mercer.subject"] = options[subject]
            break
    importlib.import_module(name if "." in name else f"mercer.cli.{name}").run(terminal, **options)


def _close_stdout() -> None:
    """The reader is gone: discard what is still buffered, without a complaint at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


EPILOG = "\b\nExample:\n  mercer fit patients.csv --target progression --report patients.html"

application = Application(
    "mercer",
    help="Kernel methods on data files: tables, texts, sequences, sparse vectors, Gram matrices.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            help="Print the version.",
            callback=lambda ctx, param, value: _version(ctx) if value else None,
        )
    ],
)


def _version(ctx: click.Context) -> None:
    click.echo(f"mercer {mercer.__version__}")
    ctx.exit()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; never returns."""
    try:
        application.main(arguments, prog_name="mercer")
    except KeyboardInterrupt:  # before a command was running
        sys.exit(130)

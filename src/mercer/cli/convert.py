"""``mercer convert``: data in another format, or a LIBSVM model as a mercer model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Reading, open_data
from mercer.cli.outputs import require_writable
from mercer.cli.terminal import Terminal, pairs
from mercer.cli.writers import format_of, pieces
from mercer.io.atomic import write_atomically
from mercer.io.interop import from_libsvm
from mercer.io.model_file import save
from mercer.spec import written

__all__ = ["run"]


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The arguments and options of the command."""

    data: Path
    output: Path
    to: str | None
    target: str | None
    spreadsheet: bool
    force: bool


def run(terminal: Terminal, **options: Any) -> None:
    """Read a file and write it in another format."""
    request = Request(**options)
    wanted = request.to or format_of(request.output)
    if wanted is None:
        raise UsageFault(
            f"The ending of {request.output} is not a format; csv, tsv, jsonl, svmlight, parquet and mercer are. "
            "Say which with --to."
        )
    require_writable(request.output, request.force)
    if wanted == "mercer":
        model = from_libsvm(request.data)
        save(model, request.output, force=request.force)
        facts = {"from": "libsvm model", "to": "mercer", "model": written(model)}
        rows = [("model", written(model))]
    else:
        data = open_data(request.data, request)
        for note in data.notes:
            terminal.say(f"{request.data}: {note}")
        write_atomically(request.output, pieces(data, wanted, request.target, request.spreadsheet), force=request.force)
        facts = {"from": data.format, "to": wanted, "samples": data.n}
        rows = [("samples", str(data.n)), ("from", data.format), ("to", wanted)]
    terminal.result({**facts, "file": request.output}, pairs([("file", str(request.output)), *rows]))

"""The process that computes: ``python -m mercer.studio.child_work live`` (or ``file``).

It reads one JSON object a line from standard input, {"id", "do", "with"}, and answers in lines: {"id", "told"} while it
works, then {"id", "done"} or {"id", "error"}. It ends when its input does.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

from mercer.cli.failures import explain
from mercer.cli.terminal import plain

__all__ = ["WORK", "main", "serve_lines"]

Tell = Callable[[dict[str, Any]], None]

# the requests of each kind of child: module and function, and whether it reports progress
WORK: dict[str, dict[str, tuple[str, str]]] = {
    "live": {
        "play": ("playground", "play"),
        "details": ("playground", "details"),
        "parameters": ("playground", "parameters"),
        "process": ("process_view", "observe"),
        "evidence": ("process_view", "evidence"),
        "compare": ("two_samples", "compare"),
        "gram": ("gram_view", "look"),
        "shared": ("gram_view", "shared"),
        "warm": ("warming", "warm"),
    },
    "file": {
        "open": ("file_jobs", "open_file"),
        "fit": ("file_jobs", "fit"),
        "surface": ("score_surface", "surface"),
        "predict": ("typed_samples", "predict"),
        "save": ("file_jobs", "save_model"),
        "gram": ("file_grams", "look"),
        "shared": ("file_grams", "shared"),
        "compare": ("file_tests", "compare"),
    },
}
TELLING = {"fit", "surface"}
GIB = 2**30
MEMORY = {"live": 6 * GIB, "file": 24 * GIB}  # of address space, of which libraries reserve more than they use
SECONDS = {"live": 60, "file": 3600}  # of processor time, for one request


def _limit(kind: str) -> Callable[[], None]:
    """Set the limit of memory, and return a function that sets that of processor time anew for a request."""
    if importlib.util.find_spec("resource") is None:  # not a Unix
        return lambda: None
    resource = importlib.import_module("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY[kind] if hard == resource.RLIM_INFINITY else min(MEMORY[kind], hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))

    def renew() -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, last = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(used.ru_utime + used.ru_stime) + SECONDS[kind]
        resource.setrlimit(resource.RLIMIT_CPU, (soft if last == resource.RLIM_INFINITY else min(soft, last), last))

    return renew


def answer(kind: str, line: bytes, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Do what a line asks for; whatever is raised becomes words for the user."""
    asked = json.loads(line)
    try:
        module, name = WORK[kind][asked["do"]]
        work = getattr(importlib.import_module(f"mercer.studio.{module}"), name)
        more = (tell,) if asked["do"] in TELLING else ()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the terminal is not where the user looks
            return {"id": asked["id"], "done": plain(work(asked["with"], *more))}
    except Exception as error:
        found = explain(error)
        return {"id": asked["id"], "error": {"kind": found.kind, "code": found.code, "message": found.message}}


def serve_lines(kind: str, source: BinaryIO, sink: BinaryIO, renew: Callable[[], None] = lambda: None) -> None:
    """Answer lines until there are no more."""

    def put(message: dict[str, Any]) -> None:
        sink.write(json.dumps(message, allow_nan=False).encode() + b"\n")
        sink.flush()

    for line in source:
        renew()
        identity = json.loads(line)["id"]
        put(answer(kind, line, lambda message, of=identity: put({"id": of, "told": plain(message)})))


def main(kind: str) -> None:
    """Serve standard input; what libraries print goes nowhere, since lines of standard output are answers."""
    sink = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    serve_lines(kind, sys.stdin.buffer, sink, _limit(kind))


if __name__ == "__main__":
    main(sys.argv[1])

"""What ``mercer fit`` has done, for a person and for a program."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mercer.arrays import Array
from mercer.budget import Clock, format_bytes
from mercer.cli.inputs import Problem, kernel_read
from mercer.cli.score_lines import words
from mercer.cli.terminal import pairs
from mercer.gram.auto import choice_in_words
from mercer.spec import written

__all__ = ["Outcome", "peak_memory", "summary"]

_ALWAYS = ("C", "alpha", "nu")  # shown even if they have their defaults


@dataclass
class Outcome:
    """What was done, for a person and for a program."""

    model: Any
    X: Any
    y: Array | None
    task: str | None
    found: dict[str, float]
    method: str
    steps: list[str]
    held: Any = None
    tested: dict[str, float] = field(default_factory=dict)


def summary(
    problem: Problem,
    outcome: Outcome,
    files: dict[str, Path | None],
    clock: Clock,
    notes: list[str],
) -> tuple[dict[str, Any], str]:
    """Return what was done for a program, and for a person."""
    seconds, peak = clock.seconds, peak_memory()
    data = problem.data
    result = {
        "data": {"file": data.path, "format": data.format, "samples": data.n, "dropped": problem.dropped},
        "target": problem.target,
        "task": outcome.task,
        "estimator": repr(outcome.model),
        "kernel": _kernel_text(outcome.model),
        "gram": _gram_text(outcome.model),
        "scores": outcome.found,
        "validation": outcome.method,
        "verdict": getattr(outcome.model, "verdict_", None),
        "leaderboard": [vars(row) for row in getattr(outcome.model, "leaderboard_", ())],
        "test": outcome.tested,
        "steps": outcome.steps,
        "seconds": round(seconds, 3),
        "peak_memory": peak,
        "warnings": notes,
        "files": files,
    }
    rows = [
        ("data", repr(data).strip("<>")),
        ("target", f"{problem.target}" if problem.target else "none"),
        ("done", "\n".join(outcome.steps) or "as asked"),
        ("kernel", _cut(_kernel_text(outcome.model))),
        ("estimator", _short(outcome.model)),
        *((("gram", _cut(_gram_text(outcome.model) or "")),) if _is_remarkable(outcome.model) else ()),
        *((("verdict", outcome.model.verdict_),) if hasattr(outcome.model, "verdict_") else ()),
        ("score", f"{words(outcome.found)}\n({outcome.method})" if outcome.found else outcome.method),
        *((("test", words(outcome.tested)),) if outcome.tested else ()),
        ("time", f"{seconds:.2f} s" + (f", peak memory {format_bytes(peak)}" if peak else "")),
        *((name, str(path)) for name, path in files.items() if path is not None),
    ]
    return result, pairs(rows)


def _kernel_text(model: Any) -> str:
    """The fitted kernel; as it was given, if what it has learned (the words of a corpus) cannot be written down."""
    text = repr(getattr(model, "kernel_", model.kernel))
    return repr(kernel_read(model)) if "=<" in text else text


def _gram_text(model: Any) -> str | None:
    """How K was held, why, with what error, and the alternatives."""
    choice = getattr(model, "gram_choice_", None)
    if choice is not None:
        return choice_in_words(choice)
    spec = getattr(model, "gram_", None)
    return None if spec is None else repr(spec)


def _is_remarkable(model: Any) -> bool:
    """Whether K was approximated, or might have been."""
    choice = getattr(model, "gram_choice_", None)
    return hasattr(model, "gram_error_") or (choice is not None and choice["tol"] is not None)


def _cut(text: str, most: int = 800) -> str:
    """A text that fits on a screen; the whole of it is in the model file and in the result of --json."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text)} characters)"


def _short(model: Any) -> str:
    """The estimator without its kernel, which has a line of its own, and without default values."""
    return written(model, always=("kernel", "kernels", *_ALWAYS), shown={"kernel": "kernel", "kernels": "kernels"})


def peak_memory() -> int | None:
    """Return the largest number of bytes that this process has held in memory; None where it is not known."""
    if importlib.util.find_spec("resource") is None:  # not a Unix
        return None
    resource = importlib.import_module("resource")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024

"""``mercer show``: what a saved model is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.budget import format_bytes
from mercer.cli.terminal import Terminal, pairs
from mercer.errors import printable
from mercer.io.model_file import load

__all__ = ["run"]


def run(terminal: Terminal, *, model: Path) -> None:
    """Load a model and describe it."""
    fitted = load(model)
    data: dict[str, Any] = getattr(fitted, "data_", None) or {}
    kernel = getattr(fitted, "kernel_", getattr(fitted, "kernel", None))
    size = model.stat().st_size
    facts: dict[str, Any] = {"file": model, "bytes": size, "estimator": type(fitted).__name__}
    facts |= {"kernel": None if kernel is None else repr(kernel), "parameters": _parameters(fitted)}
    facts |= {"task": data.get("task"), "target": data.get("target"), "columns": data.get("columns")}
    facts |= {"samples": _samples(fitted), "classes": _classes(fitted), "story": getattr(fitted, "story_", None)}
    facts |= {"verdict": getattr(fitted, "verdict_", None), "score": getattr(fitted, "score_", None)}
    solution = getattr(fitted, "solution_", None)
    facts["solver"] = None if solution is None else solution.status.value
    terminal.result(facts, lambda: pairs(_rows(facts)))


def _parameters(fitted: Any) -> dict[str, str]:
    """Return the parameters that are not at their defaults; the kernel is shown by itself."""
    defaults = type(fitted)().get_params(deep=False) if _has_defaults(type(fitted)) else {}
    given = {name: repr(value) for name, value in fitted.get_params(deep=False).items() if name != "kernel"}
    return {name: text for name, text in given.items() if text != repr(defaults.get(name, "no default"))}


def _has_defaults(cls: type) -> bool:
    try:
        cls()
    except TypeError:  # a parameter without a default
        return False
    return True


def _samples(fitted: Any) -> int | None:
    """Return how many samples the model keeps to predict with."""
    expansion = getattr(fitted, "expansion_", None)
    samples = getattr(expansion, "samples", None)
    return None if samples is None else len(samples)


def _classes(fitted: Any) -> list[str] | None:
    classes = getattr(fitted, "classes_", None)
    return None if classes is None or isinstance(classes, list) else [str(name) for name in classes]


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("file", f"{facts['file']}, {format_bytes(facts['bytes'])}"), ("estimator", facts["estimator"])]
    if facts["kernel"]:
        rows.append(("kernel", facts["kernel"]))
    rows += [(f"  {name}", text) for name, text in facts["parameters"].items()]
    for name in ("task", "target", "verdict"):
        if facts[name]:
            rows.append((name, printable(str(facts[name]))))
    for name in ("columns", "classes"):
        if facts[name]:
            more = f", ... ({len(facts[name])})" if len(facts[name]) > 20 else ""
            rows.append((name, printable(", ".join(map(str, facts[name][:20]))) + more))
    if facts["samples"] is not None:
        rows.append(("kept samples", str(facts["samples"])))
    if facts["solver"]:
        rows.append(("solver", facts["solver"]))
    rows += [("chosen" if i == 0 else "", sentence) for i, sentence in enumerate(facts["story"] or ())]
    return rows

"""Your file: check it, find a model, save it.

The server adds to what the browser sends where the file is (`path`), where a job may write (`room`) and where models
are saved (`folder`); the browser knows names only. A model is found as ``mercer fit`` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.check import findings
from mercer.cli.fit import Request, fitted
from mercer.cli.terminal import Terminal, plain
from mercer.errors import ParameterError
from mercer.io.datasets import Dataset
from mercer.io.model_file import load, save
from mercer.io.tables import Table
from mercer.studio.form_fields import Form
from mercer.studio.snippets import command
from mercer.studio.typed_samples import example_of, inputs_of
from mercer.studio.user_files import dataset, labels_of

__all__ = ["fit", "open_file", "save_model"]

Tell = Callable[[dict[str, Any]], None]

FOLDS = 5
WORST = 12
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def open_file(fields: Any) -> dict[str, Any]:
    """Read a file and say what it holds and what is odd."""
    data = dataset(fields)
    target = fields.get("target") or None
    table = labels_of(fields)
    targets = data.targets if table is None else [name for name in table.names if table.kinds[name] != "identifier"]
    if target is not None and target not in targets:
        raise ParameterError(f"{str(target)[:60]!r} is not a target of this file. Choose one from the list.")
    described = plain(data.describe())
    return {
        "name": fields["name"],
        "holds": repr(data).strip("<>").partition(": ")[2],
        "kind": data.kind,
        "format": data.format,
        "samples": data.n,
        "columns": described.get("columns", [])[:200],
        "targets": list(targets)[:200],
        "has_target": data.y is not None,
        "needs_labels": not data.targets and data.y is None,
        "labels": fields.get("labels_name", "") if table is not None else "",
        "notes": list(data.notes),
        "findings": findings(data, target if table is None else None),
        "first": _first_rows(data),
    }


def _first_rows(data: Dataset, count: int = 5) -> list[dict[str, str]]:
    if not isinstance(data, Table):
        return []
    names = data.names[:12]
    return [{name: str(data.columns[name][i])[:40] for name in names} for i in range(min(count, data.n))]


class _Page(Terminal):
    """A terminal whose words go to the page."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(quiet=True)
        self.tell = tell

    def say(self, text: str) -> None:
        self.tell({"say": text})

    def warn(self, text: str) -> None:
        self.tell({"say": text})

    def tried(self, candidate: Any) -> None:
        self.tell({"tried": {name: getattr(candidate, name) for name in ("name", "score", "standard_error", "size")}})

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[float], None]]:
        shown = [-1.0]

        def move(share: float) -> None:
            if share - shown[0] >= 0.01 or share >= 1.0:
                shown[0] = share
                self.tell({"doing": label, "share": min(max(share, 0.0), 1.0)})

        yield move


def fit(fields: Any, tell: Tell) -> dict[str, Any]:
    """Find a model for a target, with a report; candidates are reported as they are scored."""
    form, room = Form(fields), Path(fields["room"])
    data = dataset(fields)
    target = form.text("target") or None
    seconds = form.number("seconds", 2.0, 3000.0)
    model, page = room / "model.mercer", room / "report.html"
    request = Request(
        data=Path(fields["path"]),
        target=target,
        labels=Path(fields["labels"]) if fields.get("labels") else None,
        estimator=None,
        mix=False,
        search=False,
        tries=100,
        task=None,
        missing=None,
        folds=FOLDS,
        output=model,
        report=page,
        no_report=False,
        allow_partial=True,
        dask=None,
        checkpoint=None,
        checkpoint_every="60s",
        force=True,
        max_time=seconds,
        threads=None,
    )
    result, _ = fitted(_Page(tell), request, [])
    found = load(model)
    shown = ("target", "task", "estimator", "kernel", "scores", "validation", "verdict", "leaderboard", "steps")
    return {
        **{name: result[name] for name in shown},
        "seconds": result["seconds"],
        "warnings": result["warnings"],
        "worst": _worst(found, data),
        "inputs": inputs_of(found, data),
        "example": example_of(data),
        "classes": [str(label) for label in getattr(found, "classes_", ())],
        "numbers": [getattr(found, "score_", None)],
        "python": _python(fields, data, target, seconds),
        "command": _commands(fields, target, seconds),
    }


def _worst(model: Any, data: Dataset) -> list[dict[str, Any]]:
    """Return the rows held out whose prediction was worst, with what is known of them."""
    held = getattr(model, "held_", None)
    if held is None or not len(held.rows):
        return []
    if held.targets.dtype.kind == "f" and held.probabilities is None:
        loss = np.abs(held.targets - held.predictions.astype(float))
    elif held.probabilities is not None:
        columns = np.searchsorted(model.classes_, held.targets)
        loss = 1.0 - held.probabilities[np.arange(len(columns)), columns]
    else:
        loss = (held.targets != held.predictions).astype(float)
    rows = np.argsort(-loss, kind="stable")[:WORST]
    out = []
    for place in rows:
        row = int(held.rows[place])
        known = {name: str(data.columns[name][row])[:60] for name in data.names[:8]} if isinstance(data, Table) else {}
        name = data.ids[row] if data.ids is not None else str(row + 1)
        out.append(
            {
                "row": name,
                "true": plain(held.targets[place]),
                "predicted": plain(held.predictions[place]),
                "loss": float(loss[place]),
                "known": known,
            }
        )
    return out


def save_model(fields: Any) -> dict[str, Any]:
    """Save the model under a plain name in the folder of the studio; nothing is overwritten."""
    name = Form(fields).text("save_as", 60)
    if not name or not set(name) <= NAME:
        raise ParameterError(
            f"The name {name[:60]!r} was given; letters, digits, - and _ are accepted. Write another: no folder, no "
            "ending."
        )
    path = Path(fields["folder"]) / f"{name}.mercer"
    save(load(Path(fields["room"]) / "model.mercer"), path, force=False)
    return {"saved": path.name}


# copies -----------------------------------------------------------------------------------------------------


def _python(fields: Any, data: Dataset, target: str | None, seconds: float) -> str:
    name, labels = fields["name"], fields.get("labels")
    split = f"rest, y = data.split_target({target!r})"
    if labels:
        split = f"rest, y = data, read({fields['labels_name']!r}).labels_for(data, {target!r})"
    lines = [
        "import mercer",
        "from mercer.io import read",
        "",
        f"data = read({name!r})",
        split,
        f"model = mercer.automatic(rest.X, y, max_time={seconds!r})",
        "print(model.verdict_)",
        "print([model.score_])",
    ]
    return "\n".join(lines) + "\n"


def _commands(fields: Any, target: str | None, seconds: float) -> str:
    words = ["mercer", "fit", fields["name"], *(("--target", target) if target else ()), "--max-time", f"{seconds:g}"]
    words += ["--labels", fields["labels_name"]] if fields.get("labels") else []
    return command(*words, "-o", "model.mercer", "--force", "--json") + "\n"

"""Your file: check it, find a model, look at the score over cost and width, predict, save.

The server adds to what the browser sends where the file is (`path`), where a job may write (`room`) and where models
are saved (`folder`); the browser knows names only. A model is found as ``mercer fit`` finds it.
"""

from __future__ import annotations

import csv
import functools
import io
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.choosing import KernelSearchCV
from mercer.cli.check import findings
from mercer.cli.fit import Request, fitted
from mercer.cli.inputs import Reading, open_data, pose
from mercer.cli.predict import new_samples, opened
from mercer.cli.terminal import Terminal, plain
from mercer.errors import ParameterError
from mercer.estimators import SVC, KernelRidge
from mercer.io.datasets import Dataset
from mercer.io.model_file import load, save
from mercer.io.tables import Table
from mercer.kernels import Gaussian
from mercer.selection.automatic import find_task, some_rows
from mercer.studio.form_fields import Form
from mercer.studio.pixels import packed_floats
from mercer.studio.snippets import command

__all__ = ["dataset", "fit", "open_file", "predict", "save_model", "surface"]

Tell = Callable[[dict[str, Any]], None]

ROWS = 500  # that decide about the surface
FOLDS = 5
WIDTHS = tuple(float(f"{2.0**p:.4g}") for p in np.arange(-3, 4))
COSTS = tuple(float(f"{10.0**p:.4g}") for p in np.arange(-2, 4))
WORST = 12
CHOICES = 50  # values of a column that are listed to be chosen from
SEED = 0
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


@functools.lru_cache(maxsize=2)
def _read(path: str, changed: float) -> Dataset:
    return open_data(Path(path))


def dataset(fields: Any, which: str = "path") -> Dataset:
    """Return the file; it is read once as long as it does not change."""
    path = Path(fields[which])
    return _read(str(path), path.stat().st_mtime)


def open_file(fields: Any) -> dict[str, Any]:
    """Read a file and say what it holds and what is odd."""
    data = dataset(fields)
    target = fields.get("target") or None
    if target is not None and target not in data.targets:
        raise ParameterError(f"{str(target)[:60]!r} is no target of this file. Choose one of the list.")
    told = plain(data.describe())
    return {
        "name": fields["name"],
        "holds": repr(data).strip("<>").partition(": ")[2],
        "kind": data.kind,
        "format": data.format,
        "samples": data.n,
        "columns": told.get("columns", [])[:200],
        "targets": list(data.targets)[:200],
        "has_target": data.y is not None,
        "notes": list(data.notes),
        "findings": findings(data, target),
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
    """Find a model for a target, with a report; candidates are told as they are scored."""
    form, room = Form(fields), Path(fields["room"])
    data = dataset(fields)
    target = form.text("target") or None
    seconds = form.number("seconds", 2.0, 3000.0)
    model, page = room / "model.mercer", room / "report.html"
    request = Request(
        data=Path(fields["path"]),
        target=target,
        labels=None,
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
        "inputs": _inputs(found, data),
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


def _inputs(model: Any, data: Dataset) -> list[dict[str, Any]]:
    """Return the fields to type a sample into, with a usual value each."""
    if not isinstance(data, Table):
        return []
    columns = model.data_["columns"] or [name for name in data.names if name != model.data_["target"]]
    out = []
    for name in columns:
        column, kind = data.parts[name], data.kinds[name]
        if kind == "number":
            out.append(
                {
                    "name": name,
                    "kind": kind,
                    "usual": f"{np.nanmedian(np.asarray(column.values, dtype=float)):.4g}",
                    "choices": [],
                }
            )
            continue
        words = column.words  # of truth values, as the file spells them
        present = [value for value in column.values if value is not None and value == value]
        known = [str(value) if words is None else words[int(value)] for value in present]
        written = Counter(known)
        choices = sorted(written) if kind != "text" and len(written) <= CHOICES else []
        usual = written.most_common(1)[0][0] if choices else known[0]
        out.append({"name": name, "kind": kind, "usual": usual, "choices": choices})
    return out


@dataclass(frozen=True, kw_only=True)
class _Typed(Reading):
    """A request of ``mercer predict`` with the sample that was typed."""

    data: Path


def predict(fields: Any) -> dict[str, Any]:
    """Predict one sample that was typed: the fields of a table, or a text in the format of the file."""
    form, room = Form(fields), Path(fields["room"])
    model, data = load(room / "model.mercer"), dataset(fields)
    if isinstance(data, Table):
        given = fields.get("sample")
        names = model.data_["columns"]
        if not isinstance(given, dict) or any(not isinstance(given.get(name), str) for name in names):
            raise ParameterError(f"A text for each of {', '.join(names)[:300]} is needed. Fill in all fields.")
        written = io.StringIO()
        csv.writer(written).writerows([names, [given[name][:10_000] for name in names]])
        text, format = written.getvalue(), "csv"
    else:
        text, format = form.text("typed", 100_000), data.format
    path = room / "typed-sample"
    path.write_text(text, encoding="utf-8")
    request = _Typed(data=path, format=format)
    X = new_samples(opened(request, model, model.data_), model, model.data_)
    out: dict[str, Any] = {"prediction": plain(np.asarray(model.predict(X)))[0]}
    if hasattr(model, "predict_proba"):
        P = np.asarray(model.predict_proba(X))[0]
        out["probabilities"] = {str(label): float(p) for label, p in zip(model.classes_, P, strict=True)}
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


# the surface ------------------------------------------------------------------------------------------------


def surface(fields: Any, tell: Tell) -> dict[str, Any]:
    """Return the score in folds over cost and width: a Gaussian kernel on the columns of numbers, each scaled."""
    data, target = dataset(fields), Form(fields).text("target")
    if not isinstance(data, Table):
        raise ParameterError(f"This file holds {data.kind}; a width is that of columns of numbers. Choose a table.")
    problem = pose(data, target, None, None, drop=True)
    assert problem.y is not None and isinstance(problem.data, Table)
    names = problem.data.of_kind("number", "boolean")
    if not names:
        raise ParameterError("No column holds numbers, so there is no width. Look at the leaderboard instead.")
    rows = some_rows(problem.n, ROWS)
    X = np.column_stack([np.asarray(problem.data.columns[name], dtype=float) for name in names])[rows]
    spread = X.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    X = (X - X.mean(axis=0)) / spread
    y, task = problem.y[rows], find_task(problem.y)
    model: Any = SVC(Gaussian(1.0)) if task == "classification" else KernelRidge(Gaussian(1.0))
    unit = float(np.sqrt(len(names)))
    widths = [float(f"{unit * w:.4g}") for w in WIDTHS]
    cost = "C" if task == "classification" else "alpha"
    values = COSTS if cost == "C" else tuple(1.0 / (2.0 * c) for c in COSTS)
    folds = _folds(y, task)
    scores = []
    for done, width in enumerate(widths):
        grid = {cost: list(values), "kernel__length_scale": [width]}
        search = KernelSearchCV(model, grid, cv=folds, refit=False).fit(X, y)
        order = {params[cost]: place for place, params in enumerate(search.cv_results_["params"])}
        means = search.cv_results_["mean_test_score"]
        scores.append([float(means[order[value]]) for value in values])
        tell({"doing": "surface", "share": (done + 1) / len(widths)})
    table = np.array(scores).T[::-1]  # costs upwards, widths to the right
    best = np.unravel_index(np.argmax(table), table.shape)
    width, value = widths[int(best[1])], list(values)[::-1][int(best[0])]
    asked = _Surface(fields["name"], target, tuple(names), problem.n, y.dtype.kind in "iu", cost, values, tuple(widths),
                     type(folds).__name__)  # fmt: skip
    return {
        "numbers": table.ravel().tolist(),
        "python": asked.python(),
        "command": asked.commands(width, value, spread),
        "surface": packed_floats(table),
        "widths": widths,
        "costs": list(values),
        "cost_name": cost,
        "task": task,
        "rows": len(rows),
        "best": [width, value, float(table.max())],
        "words": (
            f"Mean score of {FOLDS} folds on {len(rows)} rows over {cost} and the width of a Gaussian kernel on "
            f"{len(names)} columns of numbers: best {table.max():.3f}, worst {table.min():.3f}."
        ),
    }


def _folds(y: Any, task: str) -> Any:
    """Return the folds of ``mercer fit``."""
    few = task != "classification" or np.unique(y, return_counts=True)[1].min() < FOLDS
    return (KFold if few else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)


# copies -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Surface:
    """What was scored: a file, its target and columns, and the values of cost and width."""

    file: str
    target: str
    names: tuple[str, ...]
    n: int
    whole: bool
    cost: str
    costs: tuple[float, ...]
    widths: tuple[float, ...]
    folds: str

    @property
    def machine(self) -> str:
        return "SVC" if self.cost == "C" else "KernelRidge"

    def python(self) -> str:
        """Return a program that prints the scores row by row, the largest cost first."""
        drawn = f"rows = np.sort(np.random.default_rng(0).choice(len(y), size={ROWS}, replace=False))"
        lines = [
            "import numpy as np",
            f"from mercer import {self.machine}",
            "from mercer.choosing import KernelSearchCV",
            "from mercer.io import read",
            "from mercer.kernels import Gaussian",
            f"from sklearn.model_selection import {self.folds}",
            "",
            f"data = read({self.file!r})",
            'used = [*data.of_kind("number", "boolean", "category", "text"), ' + f"{self.target!r}]",
            f"rest, y = data.take(data.complete(used)).split_target({self.target!r})",
            *(["y = y.astype(int)"] if self.whole else []),
            f"X = np.column_stack([rest.columns[name] for name in {list(self.names)!r}])",
            *([drawn, "X, y = X[rows], y[rows]"] if self.n > ROWS else []),
            "spread = X.std(axis=0)",
            "X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)",
            f"folds = {self.folds}({FOLDS}, shuffle=True, random_state=0)",
            f"costs, columns = {list(self.costs)!r}, []",
            f"for width in {list(self.widths)!r}:",
            f'    grid = {{"{self.cost}": costs, "kernel__length_scale": [width]}}',
            f"    search = KernelSearchCV({self.machine}(Gaussian(1.0)), grid, cv=folds, refit=False).fit(X, y)",
            '    scores = search.cv_results_["mean_test_score"]',
            f'    order = [params["{self.cost}"] for params in search.cv_results_["params"]]',
            "    columns.append([float(scores[order.index(cost)]) for cost in costs])",
            "print(np.array(columns).T[::-1].ravel().tolist())",
        ]
        return "\n".join(lines) + "\n"

    def commands(self, width: float, cost: float, spread: Any) -> str:
        """Return the command that scores the best place in folds: a width for each column instead of scaled ones."""
        kernel = Gaussian([float(width * s) for s in spread])
        words = ["mercer", "fit", self.file, "--target", self.target, "--features", ",".join(self.names)]
        words += ["--estimator", f"{self.machine}({kernel!r}, {self.cost}={cost!r})", "--folds", str(FOLDS)]
        words += ["--metric", "accuracy" if self.cost == "C" else "r2"]  # the mean over folds
        words += ["--missing", "drop", "--no-report", "-o", "best.mercer", "--force", "--json"]
        note = [f"# The picture is of {ROWS} rows drawn from {self.n}; this is of all."] if self.n > ROWS else []
        return "\n".join([*note, command(*words)]) + "\n"


def _python(fields: Any, data: Dataset, target: str | None, seconds: float) -> str:
    name = fields["name"]
    split = f"rest, y = data.split_target({target!r})"
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
    return command(*words, "-o", "model.mercer", "--force", "--json") + "\n"

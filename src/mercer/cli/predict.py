"""``mercer predict``: a saved model on new samples."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np
from threadpoolctl import threadpool_limits

from mercer.arrays import Array
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import (
    Reading,
    as_target,
    column_kinds,
    encoded_columns,
    open_data,
    reading,
    samples,
    selected_columns,
)
from mercer.cli.outputs import require_writable
from mercer.cli.score_lines import scores, words
from mercer.cli.tables.bags import Bags
from mercer.cli.tables.links import Links, pair_columns, values_of_pairs
from mercer.cli.tagging import word_columns
from mercer.cli.terminal import Terminal
from mercer.cli.writers import guarded
from mercer.io.atomic import write_atomically
from mercer.io.datasets import Dataset
from mercer.io.limits import FileError, shown
from mercer.io.model_file import load
from mercer.io.structures.conll import Sentences
from mercer.io.svmlight import Sparse
from mercer.io.tables import Table

__all__ = ["budgeted", "guessed", "known_target", "new_samples", "opened", "run"]


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The arguments and options of the command."""

    model: Path
    data: Path
    output: Path | None
    scores: bool
    proba: bool
    spreadsheet: bool
    force: bool
    max_time: float | None
    threads: int | None


def run(terminal: Terminal, **options: Any) -> None:
    """Predict new samples and write the predictions."""
    request = Request(**options)
    if request.output is not None:
        require_writable(request.output, request.force)
    click.get_current_context().meta["mercer.subject"] = request.model
    model = load(request.model)
    click.get_current_context().meta["mercer.subject"] = request.data
    known = getattr(model, "data_", None) or guessed(model)
    data = opened(request, model, known)
    X = new_samples(data, model, known)
    with threadpool_limits(request.threads, user_api="blas"):
        if isinstance(data, Links):
            columns = {"prediction": values_of_pairs(model, data)}
        elif isinstance(data, Sentences):
            columns = word_columns(budgeted(model, request), X, proba=request.proba)
        else:
            columns = _predicted(budgeted(model, request), X, request)
    names = {} if isinstance(data, Sentences) else _named(data)
    rows = len(next(iter(columns.values())))
    judged = _judged(data, known, columns)
    if judged:
        terminal.say(f"{request.data} also has {known['target']!r} itself: {words(judged)}.")
    text = _csv({**names, **columns}, rows, guarded if request.spreadsheet else lambda value: value)
    if request.output is not None:
        write_atomically(request.output, [text.encode()], force=request.force)
        terminal.say(f"{rows} predictions were written to {request.output}.")
    if terminal.as_json:
        facts: dict[str, Any] = {"samples": rows, "file": request.output, "scores": judged}
        if request.output is None:
            facts |= {"columns": {name: list(values) for name, values in {**names, **columns}.items()}}
        terminal.result(facts, "")
    elif request.output is None:
        terminal.raw(text)


def guessed(model: Any) -> dict[str, Any]:
    """What is known of the training data of a model that was not made by `mercer fit`."""
    kernel = getattr(model, "kernel_", getattr(model, "kernel", None))
    names = [name for name in selected_columns(kernel) if isinstance(name, str)]
    if not names:
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    return {"columns": names or None, "kinds": column_kinds(kernel), "width": getattr(model, "n_features_in_", None)}


def opened(request: Any, model: Any, known: dict[str, Any]) -> Dataset:
    """The file of a request, of the kind that the model was fitted to."""
    kind, bags = known.get("kind"), known.get("bags")
    format = "gram-rows" if kind == "gram" and request.format in (None, "gram") else request.format
    data = open_data(request.data, replace(request, format=format), known.get("kinds"))
    data = Bags.of(data, bags) if bags is not None and isinstance(data, Table) else data
    if known.get("links") is not None and isinstance(data, Table):
        sides = known["rows"], known["others"]
        data = Links.of(data, known["links"], *sides, within=sides[0] == sides[1])
    if kind is not None and data.kind != kind:
        raise FileError(
            request.data,
            f"This is a {data.format} file, that is {data.kind}; the model was fitted to a {known['format']} file, "
            f"that is {kind}.",
            "Give samples of the kind that the model was fitted to, or convert the file (mercer convert).",
        )
    if isinstance(data, Sparse) and known.get("width"):
        data = data.aligned(int(known["width"]), known.get("zero_based"))
    return data


def new_samples(data: Dataset, model: Any, known: dict[str, Any]) -> Any:
    """The samples as the model takes them; rows that miss a value are named."""
    if isinstance(data, Links):
        return data.X
    if isinstance(data, Sentences):
        return data.selected(known.get("columns") or data.columns).X
    kernel = reading(model, fitted=True)
    X, used = samples(data, kernel, known.get("columns"))
    table = data.table if isinstance(data, Bags) else data
    if isinstance(table, Table):
        filled = encoded_columns(kernel)
        used = tuple(name for name in used if name not in filled)  # the model fills in the others
        whole = table.complete(used)
        if not whole.all():
            lost = np.flatnonzero(~whole)
            counts = ", ".join(f"{shown(name)} {table.missing[name]}" for name in used if table.missing[name])
            places = ", ".join(str(next(iter(table.where(int(row)).values()))) for row in lost[:20])
            place: Any = table.where(int(lost[0]))
            word = "rows" if table.lines is None else "lines"
            raise FileError(
                table.path,
                f"{len(lost)} of {table.n} rows miss a value (by column: {counts}); the {word} are {places}"
                f"{', ...' if len(lost) > 20 else ''}.",
                "Fill them in, or remove these rows: a model predicts complete rows only.",
                **place,
            )
        width = known.get("width")
        if not known.get("columns") and width is not None and np.ndim(X) == 2 and X.shape[1] != width:
            raise FileError(
                table.path,
                f"There are {X.shape[1]} columns of numbers; the model was fitted to {width}, and knows no names.",
                f"Give a file with these {width} columns in the order of training.",
                line=1,
            )
    return X


def budgeted(model: Any, request: Any) -> Any:
    """The model with the budgets of a request."""
    wanted = {"memory": request.memory, "max_time": request.max_time, "n_threads": request.threads}
    known = model.get_params(deep=False)
    return model.set_params(**{name: value for name, value in wanted.items() if value is not None and name in known})


def _predicted(model: Any, X: Any, request: Request) -> dict[str, Array]:
    """Predictions by column; densities give the logarithm of the density, transformers their components."""
    if request.proba and not hasattr(model, "predict_proba"):
        raise UsageFault(
            f"--proba was given, and this {type(model).__name__} has no probabilities. Leave it out, or fit a model "
            "that has them: --estimator 'SVC(kernel, probability=True)'."
        )
    if hasattr(model, "predict"):
        columns = _spread("prediction", np.asarray(model.predict(X)))
    elif hasattr(model, "score_samples"):
        columns = {"log_density": np.asarray(model.score_samples(X))}
    elif hasattr(model, "transform"):
        columns = _spread("component", np.asarray(model.transform(X)))
    else:
        raise UsageFault(f"A {type(model).__name__} predicts nothing. Give a model that does.")
    if request.proba:
        columns |= dict(
            zip((f"probability_{label}" for label in model.classes_), model.predict_proba(X).T, strict=True)
        )
    if request.scores and hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
        columns |= dict(zip(_score_names(model, values), values.reshape(len(values), -1).T, strict=True))
    return columns


def _score_names(model: Any, values: Array) -> list[str]:
    """Names of the columns of decision values: of the second of two classes, of classes, or of pairs of classes."""
    labels = list(getattr(model, "classes_", ()))
    if values.ndim == 1:
        return [f"score_{labels[1]}" if labels else "score"]
    if values.shape[1] == len(labels) and getattr(model, "decision_function_shape", "ovr") != "ovo":
        return [f"score_{label}" for label in labels]
    return [f"score_{a}_{b}" for a, b in combinations(labels, 2)]


def _spread(name: str, values: Array) -> dict[str, Array]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}{j + 1}": column for j, column in enumerate(values.T)}


def _named(data: Dataset) -> dict[str, Sequence[Any]]:
    """The names of the samples, or their numbers."""
    if isinstance(data, Table):
        for name in data.of_kind("identifier"):
            return {name: list(map(_plain, data.columns[name]))}
    if isinstance(data, Links):
        return pair_columns(data)
    if isinstance(data, Bags):
        return {data.column: list(data.ids)}
    if data.ids is not None:
        return {"id": list(data.ids)}
    return {"row": range(1, data.n + 1)}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _judged(data: Dataset, known: dict[str, Any], columns: dict[str, Array]) -> dict[str, float]:
    """Scores, if the new file happens to hold the target as well."""
    target = known.get("target")
    if known.get("task") is None or isinstance(data, Sparse) or target not in data.targets:
        return {}
    table = data.table if isinstance(data, Bags | Links) else data
    if isinstance(table, Table) and table.missing[target]:
        return {}
    y = data.split_target(target)[1]
    y = np.concatenate(list(y)) if isinstance(data, Sentences) else as_target(y)
    predictions = columns.get("prediction")
    if predictions is None or (y.dtype.kind in "fiu") != (predictions.dtype.kind in "fiu"):
        return {}
    return scores(known["task"], y, predictions)


def known_target(data: Dataset, known: dict[str, Any]) -> Array:
    """Return the targets of new samples, which must be there: as numbers for a model of numbers."""
    target = known["target"]
    table = data.table if isinstance(data, Bags) else data
    if isinstance(table, Table) and table.missing.get(target):
        raise FileError(
            table.path, f"{table.missing[target]} targets {shown(target)} are missing.", "Fill them in.", line=1
        )
    y = as_target(data.split_target(target)[1])
    if known.get("task") == "regression" and y.dtype.kind not in "fiu":
        raise FileError(data.path, f"The target {shown(target)} holds texts.", "Give numbers.", line=1)
    return y


def _csv(columns: dict[str, Any], rows: int, cell: Callable[[Any], Any]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(cell, columns))
    lists = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
    for i in range(rows):
        writer.writerow([cell(values[i]) for values in lists])
    return stream.getvalue()

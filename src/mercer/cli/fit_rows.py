"""Columns that say something about the rows rather than of the samples: their weights, groups and times."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.arrays import Array, Indices
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Problem, Rows, usable_columns
from mercer.first_model.given_rows import folds, given_rows
from mercer.io.datasets import Dataset
from mercer.io.tables import Table

__all__ = ["OPTIONS", "named_columns", "said", "set_aside", "splits"]

OPTIONS = ("weights", "groups", "time")


@dataclass(frozen=True)
class _Asked:
    """An option that names a column."""

    option: str
    name: str


def named_columns(request: Any, data: Dataset) -> list[str]:
    """Return the columns that --weights, --groups and --time name; they must be there, and not be the target."""
    asked = [_Asked(f"--{option}", getattr(request, option)) for option in OPTIONS if getattr(request, option)]
    if not asked:
        return []
    if not isinstance(data, Table):
        raise UsageFault(
            f"{asked[0].option} names a column, and {request.data} is a {data.format} file. Leave it out, or write a "
            "table with a column of what the samples are."
        )
    usable_columns(data, [one.name for one in asked])  # which names those that the file lacks
    for one in asked:
        if one.name == request.target:
            raise UsageFault(f"{one.option} names {one.name!r}, which is the target. Name another column.")
    return [one.name for one in asked]


def set_aside(request: Any, problem: Problem, unread: Collection[str]) -> Problem:
    """Return the problem with weights, groups and times of its rows, without the columns that are not to be read."""
    data = problem.data
    if not named_columns(request, data):
        return problem
    assert isinstance(data, Table)
    values = {option: getattr(request, option) for option in OPTIONS}
    columns = {option: np.asarray(data.columns[name]) for option, name in values.items() if name is not None}
    if "weights" in columns:
        _require_weights(columns["weights"], values["weights"])
    for option in ("groups", "time"):
        if option in columns and data.missing[values[option]]:
            raise UsageFault(
                f"--{option} names {values[option]!r}, of which {data.missing[values[option]]} values are missing; "
                "each row needs one. Fill them in, or give --missing drop."
            )
    rest = data.drop(*(name for name in data.names if name in unread))
    return replace(problem, data=rest, rows=Rows(**{name: _plain(column) for name, column in columns.items()}))


def _plain(column: Array) -> Array:
    return column if column.dtype.kind in "fiub" else column.astype(str)


def _require_weights(values: Array, name: str) -> None:
    good = values.dtype.kind in "fiub" and bool(np.all(np.isfinite(values))) and values.min() >= 0 and values.max() > 0
    if not good:
        raise UsageFault(
            f"--weights names {name!r}, which must hold numbers that are not negative, some of them positive, and none "
            "missing. Name another column, or correct it."
        )


# folds ----------------------------------------------------------------------------------------------------


def splits(estimator: Any, y: Array | None, n: int, count: int, rows: Rows) -> list[tuple[Indices, Indices]]:
    """Return the rows to learn from and those to predict of each fold, which respects groups and time."""
    classes = is_classifier(estimator)
    if rows.groups is not None or rows.time is not None:
        task = "classification" if classes else "regression"
        values = np.arange(float(n)) if y is None else y
        pairs = folds(values, task, given_rows(n, "r2", None, rows.groups, rows.time), count)
        if not pairs:
            raise UsageFault("No fold has something to learn from: there are too few groups or times. Give --folds 0.")
        return pairs
    sizes = np.unique(y, return_counts=True)[1] if y is not None and classes and y.dtype.kind not in "f" else None
    splitter = KFold(count, shuffle=True, random_state=0)
    if sizes is not None and sizes.min() >= count:
        splitter = StratifiedKFold(count, shuffle=True, random_state=0)
    return list(splitter.split(np.zeros(n), y))


def said(count: int, pairs: Sequence[Any], rows: Rows) -> str:
    """Say how the rows were split."""
    if rows.time is not None:
        return f"{len(pairs)} stretches of time, each predicted from what is before it"
    groups = ", no group split" if rows.groups is not None else ""
    return f"{len(pairs)}-fold cross-validation{groups}"

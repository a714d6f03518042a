"""The first model of a table: missing values are filled in, every column gets a length, the score is of rows held out.

The whole choice is made once on a part of the rows, for a score of rows that took no part in it, and once on all of
them for the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.arrays import Array, Indices
from mercer.kernels import Kernel
from mercer.selection.automatic import some_rows, text_kernel
from mercer.selection.tables.table_choice import (
    AVERAGED,
    FOLDS,
    Candidate,
    codes_of,
    compare_lengths,
    encoded_kernel,
    fold_numbers,
)
from mercer.selection.tables.table_encoder import TableEncoder

__all__ = ["AVERAGED", "FEWEST", "Held", "held_out", "is_encoded", "learned_kernels", "rows_of_columns"]

FEWEST = 20  # rows; of fewer no lengths can be learned
SMALL = 400  # rows that learn the lengths of a table of some rows
LARGE = 600  # and of one of many
MANY = 2000
FOLDED = 300  # rows up to which all are held out in turn; of more, a quarter
PARTS = 4
TEXT_SHARES = (0.3, 1.0, 3.0)  # of texts beside the other columns
ENCODED = ("number", "category", "date")


def is_encoded(kinds: Mapping[Any, str], n: int) -> bool:
    """Return whether a table has columns whose lengths can be learned from so many rows."""
    return n >= FEWEST and any(kind in ENCODED for kind in kinds.values())


def rows_of_columns(columns: Mapping[Any, Any], rows: Indices) -> dict[Any, Any]:
    """Return some rows of a dict of columns."""
    return {
        name: values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]
        for name, values in columns.items()
    }


def learned_kernels(
    columns: Mapping[Any, Any], kinds: Mapping[Any, str], y: Array, task: str, watch: Callable[[float], Any]
) -> tuple[tuple[Kernel, ...], list[Candidate]]:
    """Return kernels for the rows of a table, and what was compared to find them, the best first.

    Parameters
    ----------
    columns, kinds : dicts
        Columns that vary, by name: of numbers and categories with missing values (NaN, None), or of texts.
    y : (n,) array
    task : "classification" or "regression"
    watch : callable
        Told the share that is done.
    """
    names = [name for name, kind in kinds.items() if kind in ENCODED]
    texts = [name for name, kind in kinds.items() if kind == "text"]
    table = {name: columns[name] for name in names}
    encoders = {numbers: TableEncoder(numbers).fit(table) for numbers in ("standard", "scores")}
    rows = some_rows(len(y), SMALL if len(y) <= MANY else LARGE)
    some = rows_of_columns(table, rows)
    tables = {numbers: (encoder.transform(some), encoder.groups_) for numbers, encoder in encoders.items()}
    Y = codes_of(y[rows], task)
    found = compare_lengths(tables, Y, fold_numbers(y[rows], task, FOLDS), watch)
    kernel = encoded_kernel(found, encoders)
    others = [text_kernel(columns[name]).on(name) for name in texts]
    if not others:
        return (kernel,), found
    kernels = []
    for share in TEXT_SHARES:
        total = kernel
        for other in others:
            total = total + share * other
        kernels.append(total)
    return tuple(kernels), found


class Held(NamedTuple):
    """Predictions of rows by models that were chosen and fitted without them."""

    predictions: Array
    rows: Indices
    method: str


def held_out(
    columns: Mapping[Any, Any], y: Array, task: str, chosen: Callable[..., Any], watch: Callable[[float], Any]
) -> Held:
    """Return predictions of rows held out: of a quarter of them, or of small tables of each quarter in turn.

    Parameters
    ----------
    columns : dict of columns
    y : (n,) array
    task : "classification" or "regression"
    chosen : callable
        Makes the whole choice for some rows, and returns a model that is not fitted: takes columns, targets, and a
        function that is told the share that is done.
    watch : callable
        Told the share that is done of all.
    """
    rows = some_rows(len(y))
    fold = fold_numbers(y[rows], task, PARTS)
    parts = range(PARTS) if len(rows) <= FOLDED else range(1)
    guesses, places = [], []
    for part in parts:
        out, kept = rows[fold == part], rows[fold != part]
        if len(np.unique(y[kept])) < 2:
            continue
        some = rows_of_columns(columns, kept)
        model: Any = clone(chosen(some, y[kept], lambda share, part=part: watch((part + share) / len(parts))))
        if "probability" in model.get_params():
            model.set_params(probability=False)  # which would change no prediction
        guesses.append(np.asarray(model.fit(some, y[kept]).predict(rows_of_columns(columns, out))))
        places.append(out)
    if not guesses:
        return Held(y[:0], rows[:0], "not validated")
    count = sum(map(len, places))
    folded = f"{count} rows in {PARTS} folds, the whole choice made in each"
    method = folded if len(parts) > 1 else f"{count} rows held out, the whole choice made without them"
    return Held(np.concatenate(guesses), np.concatenate(places), method)

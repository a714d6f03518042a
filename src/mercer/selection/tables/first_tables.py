"""Kernels for the rows of a table: every column gets a length, and texts stand beside the other columns."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

import mercer.kernels  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices
from mercer.domains.missing_values import is_missing
from mercer.kernels import Kernel
from mercer.runtime.tiling import serial_blas
from mercer.selection.automatic import text_kernel
from mercer.selection.tables.column_lengths import Rows
from mercer.selection.tables.table_choice import AVERAGED, FOLDS, Candidate, codes_of, compare_lengths, encoded_kernel
from mercer.selection.tables.table_encoder import TableEncoder

__all__ = [
    "AVERAGED",
    "FEWEST",
    "FOLDS",
    "Learned",
    "is_encoded",
    "learn_lengths",
    "rows_for_lengths",
    "rows_of_columns",
]

FEWEST = 20  # rows; of fewer no lengths can be learned
SMALL = 400  # rows that learn the lengths of a table of some rows
LARGE = 600  # and of one of many
MANY = 2000
TEXT_SHARES = (0.3, 1.0, 3.0)  # of texts beside the other columns
ENCODED = ("number", "category", "date")
SCALES = ("standard", "scores")


def is_encoded(kinds: Mapping[Any, str], n: int) -> bool:
    """Return whether a table has columns whose lengths can be learned from this many rows."""
    return n >= FEWEST and any(kind in ENCODED for kind in kinds.values())


def rows_for_lengths(n: int) -> int:
    """Return how many of n rows learn lengths."""
    return SMALL if n <= MANY else LARGE


def rows_of_columns(columns: Mapping[Any, Any], rows: Indices) -> dict[Any, Any]:
    """Return some rows of a dict of columns."""
    return {
        name: values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]
        for name, values in columns.items()
    }


@dataclass(frozen=True)
class Learned:
    """Lengths of the columns of a table: what was compared, the best first, names of the coordinates, the task."""

    tried: list[Candidate]
    names: dict[str, list[str]]
    task: str

    def described(self) -> str:
        """Say what was found."""
        count = min(len(self.tried), AVERAGED)
        best = f"the mean of the best {count}" if count > 1 else "it"
        others = "a Laplacian kernel and the linear one" if self.task == "classification" else "a Laplacian kernel"
        return (
            f"lengths of the columns by least squares: {self.tried[0].described()} is best of {len(self.tried)} "
            f"kernels; {best} is taken, with {others} beside it"
        )

    def kernels(self, columns: Mapping[Any, Any], kinds: Mapping[Any, str]) -> dict[str, Kernel]:
        """Return kernels for the rows of a table by what they are, with scales and categories learned from these rows.

        The first is the usual one. Its parts are unlike, so that what one of them misses another may have: the mean of
        the best, a Laplacian kernel on normal scores and, for classes, the linear kernel. For classes there are two
        others, of the learned lengths alone, since least squares are not what classifiers minimise.
        """
        table, texts = _parts(columns, kinds)
        encoders = {numbers: TableEncoder(numbers).fit(table) for numbers in SCALES}
        tried = [_renamed(one, self.names[one.numbers], encoders[one.numbers].names_) for one in self.tried]
        best = encoded_kernel(tried[:AVERAGED], encoders)
        others = [_text_kernel(name, values) for name, values in texts.items()]
        if others:
            return {
                f"texts times {share:g}": reduce(operator.add, (share * other for other in others), best)
                for share in TEXT_SHARES
            }
        unlike = [_laplacian(encoders["scores"])]
        if self.task == "regression":
            return {"mean of two kinds": encoded_kernel(tried[:AVERAGED], encoders, others=unlike)}
        unlike.append(_linear(encoders["standard"], table))
        return {
            "mean of three kinds": encoded_kernel(tried[:AVERAGED], encoders, others=unlike),
            "mean of the best": best,
            "mean of more": encoded_kernel(tried[: 2 * AVERAGED], encoders, equal=True),
        }


def _laplacian(encoder: TableEncoder) -> tuple[float, Kernel]:
    """Return a Laplacian kernel, whose length is the number of columns, and its mean on the diagonal."""
    return 1.0, mercer.kernels.Laplacian(float(len(encoder.names_))).of(encoder)


def _linear(encoder: TableEncoder, table: Mapping[Any, Any]) -> tuple[float, Kernel]:
    """Return the linear kernel, and its mean on the diagonal."""
    X = encoder.transform(table)
    return float(np.einsum("ij,ij->", X, X)) / len(X) or 1.0, mercer.kernels.Linear().of(encoder)


def learn_lengths(
    columns: Mapping[Any, Any],
    kinds: Mapping[Any, str],
    y: Array,
    task: str,
    rows: Indices,
    pairs: Sequence[tuple[Indices, Indices]],
    weight: Floats | None,
    watch: Callable[[float], Any],
) -> Learned:
    """Learn the lengths of the columns of a table from some of its rows.

    Parameters
    ----------
    columns, kinds : dicts
        Columns that vary, by name: of numbers and categories with missing values (NaN, None), or of texts.
    y : (n,) array
    task : "classification" or "regression"
    rows : (m,) array of int
        Which rows learn.
    pairs : sequence of pairs of index arrays
        Which of them predict which others.
    weight : (m,) array or None
        Of these rows; positive.
    watch : callable
        Told the share that is done.
    """
    table, _ = _parts(columns, kinds)
    encoders = {numbers: TableEncoder(numbers).fit(table) for numbers in SCALES}
    some, Y = rows_of_columns(table, rows), codes_of(y[rows], task)
    w = np.ones(len(rows)) if weight is None else weight / float(weight.mean())
    Y = Y - np.average(Y, axis=0, weights=w)
    tables = {numbers: Rows(encoder.transform(some), Y, encoder.groups_, w) for numbers, encoder in encoders.items()}
    names = {numbers: encoder.names_ for numbers, encoder in encoders.items()}
    with serial_blas():  # matrices of a few hundred rows, whose threads would wait for each other on a busy machine
        return Learned(compare_lengths(tables, pairs, watch), names, task)


def _text_kernel(name: Any, values: Sequence[Any]) -> Kernel:
    """Return a kernel for a column of texts, some of which may be missing."""
    held = [str(text) for text in values if not is_missing(text)]
    kernel = text_kernel(held)
    if len(held) == len(values):
        return kernel.on(name)
    filled = importlib.import_module("mercer.selection.tables.text_column").TextColumn(name)
    return kernel.of(filled.fit({name: values}))


def _parts(columns: Mapping[Any, Any], kinds: Mapping[Any, str]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the columns that have lengths, and those that hold texts."""
    encoded = {name: columns[name] for name, kind in kinds.items() if kind in ENCODED}
    return encoded, {name: columns[name] for name, kind in kinds.items() if kind == "text"}


def _renamed(candidate: Candidate, before: Sequence[str], names: Sequence[str]) -> Candidate:
    """Return a candidate with a length for each of some names; those that are new get the mean of the others."""
    known = dict(zip(before, candidate.lengths.log_lengths, strict=True))
    mean = float(np.mean(candidate.lengths.log_lengths))
    lengths = np.array([known.get(name, mean) for name in names])
    return candidate._replace(lengths=candidate.lengths._replace(log_lengths=lengths))

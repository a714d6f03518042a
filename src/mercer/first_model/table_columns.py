"""The columns of a table as Python has them: what they hold, and what is done where values are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from mercer.domains import Vectors
from mercer.domains.frames import columns_of
from mercer.domains.missing_values import is_missing
from mercer.errors import DomainError
from mercer.io.columns import Column, number_column, numbers_identify, text_column
from mercer.selection.tables import first_tables
from mercer.selection.tables.table_encoder import with_dates

__all__ = ["columns_by_kind", "filled_said", "kind_of", "left_out_said", "missing_said", "varying_columns"]


def columns_by_kind(X: Any) -> dict[Any, Column] | None:
    """Return the columns of a table or of an array with their kinds; None if X is neither."""
    if isinstance(X, Mapping):
        found = {name: _column(str(name), np.asarray(values)) for name, values in X.items()}
        lengths = sorted({len(column.values) for column in found.values()})
        if len(lengths) > 1:
            raise DomainError(
                f"Columns of different lengths were given: {lengths}; a table has a value of each column in each row. "
                "Give columns of one length."
            )
        return found
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return {name: _column(name, frame[name].to_numpy()) for name in frame.columns}
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUS" and X.ndim == 1:  # an array of texts, trees or graphs
        return None
    if isinstance(X, np.ndarray) or _is_matrix(X) or not isinstance(X, Sequence):
        absent = _absent(X)
        given = X if absent is None else np.where(absent, 0.0, np.asarray(X))
        array = np.asarray(Vectors.pack(given).X, dtype=float)  # says what is wrong, if it is no table of numbers
        array = array if absent is None else np.where(absent, np.nan, array)
        return {j: number_column(array[:, j]) for j in range(array.shape[1])}
    return None


def _absent(X: Any) -> Any:
    """Return where values of a matrix are missing; None if none is, or if it is no matrix of numbers."""
    matrix = X if isinstance(X, np.ndarray) else np.asarray(X) if _is_matrix(X) else None
    if matrix is None or isinstance(matrix, np.ma.MaskedArray) or matrix.dtype.kind != "f" or matrix.ndim != 2:
        return None
    absent = np.isnan(matrix)
    return absent if absent.any() else None


def _is_matrix(X: Any) -> bool:
    """Return whether X is a list of rows of numbers."""
    rows = X if isinstance(X, (list, tuple)) else ()
    if not rows or not all(isinstance(row, (list, tuple, np.ndarray)) and len(row) for row in rows):
        return False
    return all(isinstance(value, (int, float, np.number)) for value in rows[0]) and len({len(row) for row in rows}) == 1


def _column(name: str, values: Any) -> Column:
    """Return one column; numbers must be finite, texts are texts."""
    values = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if values.ndim == 1 and values.dtype.kind == "M":
        return Column(values, "constant" if len(np.unique(values)) < 2 else "date", int(np.isnat(values).sum()))
    if values.ndim != 1 or isinstance(values, np.ma.MaskedArray) or values.dtype.kind not in "fiubOU":
        raise DomainError(
            f"Column {name!r} is of type {values.dtype} and shape {values.shape}; columns of numbers, truth values or "
            "texts are taken, and dates. Fill in what is masked."
        )
    if values.dtype.kind in "fiub":
        numbers = values.astype(float)
        if np.isinf(numbers).any():
            raise DomainError(f"Column {name!r} holds infinity; numbers must be finite. Replace or drop these rows.")
        column = number_column(numbers)
        return Column(column.values, "identifier", 0) if numbers_identify(name, numbers) else column
    odd = next((v for v in values if not (isinstance(v, (str, bool, int)) or is_missing(v))), None)
    if odd is not None:
        raise DomainError(
            f"Column {name!r} holds {str(odd)[:40]!r} of type {type(odd).__name__}; columns of numbers, truth values "
            "or texts are taken. Turn it into one of them, or leave the column out."
        )
    return text_column(name, [None if is_missing(value) else str(value) for value in values])


def varying_columns(X: Any, columns: Mapping[Any, Column], n: int) -> tuple[dict[Any, Any], dict[Any, str]] | None:
    """Return the columns that vary as they are given, and their kinds; None if their lengths cannot be learned."""
    kinds = {name: kind_of(column) for name, column in columns.items() if column.kind not in ("constant", "identifier")}
    kinds = with_dates({name: columns[name].values for name in kinds}, kinds)
    if not first_tables.is_encoded(kinds, n):
        return None
    raw = columns_of(X)
    return {name: _plain(raw[name]) for name in kinds}, kinds


def _plain(column: Any) -> Any:
    """Return a column as an array of numbers or a list, whatever library it is of."""
    if nw.dependencies.is_into_series(column):
        series = nw.from_native(column, series_only=True)
        return series.to_numpy() if series.dtype.is_float() or series.dtype.is_temporal() else series.to_list()
    return column if isinstance(column, np.ndarray) and column.dtype.kind in "fiuM" else list(column)


def kind_of(column: Column) -> str:
    """Return what a column holds; truth values are numbers."""
    return "number" if column.kind == "boolean" else column.kind


def left_out_said(columns: Mapping[Any, Column]) -> list[str]:
    """Say which columns are left out, if any."""
    left = [name for name, column in columns.items() if column.kind in ("constant", "identifier")]
    return [f"left out, being constant or naming the rows: {', '.join(map(str, left))}"] if left else []


def filled_said(columns: Mapping[Any, Column]) -> list[str]:
    """Say in which columns values are filled in, if any."""
    filled = [str(name) for name, column in columns.items() if column.missing and column.kind != "constant"]
    return [missing_said(filled)] if filled else []


def missing_said(names: Sequence[str]) -> str:
    """Say what becomes of missing values."""
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return (
        f"missing in {listed}: numbers take the median of the column, categories one of their own, texts the word "
        '"missing", and the kernel sees that they are missing'
    )

"""Samples that are rows of a table with columns of several kinds: numbers, categories, ordered categories."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.domains.frames import columns_of
from mercer.domains.missing_values import is_missing
from mercer.domains.samples import Samples, is_hashable
from mercer.errors import DomainError, ModelError

__all__ = ["CATEGORY", "NUMBER", "ORDERED", "Tables"]
__public__ = ["Tables"]

NUMBER, CATEGORY, ORDERED = "number", "category", "ordered"
_ACCEPTED = (
    "Tables are a data frame, a dict of columns, a two-dimensional array or a list of rows, of numbers and categories; "
    "values may be missing (None, NaN)."
)


@dataclass(frozen=True, eq=False, repr=False)
class Tables(Samples):
    r"""Rows of a table with columns of several kinds, in which values may be missing.

    .. math:: x = (x_1, \dots, x_d), \qquad x_j \in \mathbb{R} \cup \{?\} \text{ or } x_j \in \Sigma_j \cup \{?\}

    Seed: [HSS] section 2.2.5, "Convolutions and Structures": objects composed of parts.

    Parameters
    ----------
    values : (n, d) float64 array
        Numbers, or positions among the levels of a column; NaN where a value is missing.
    names : tuple
        Of the columns: those of a data frame or dict, else their positions.
    kinds : tuple of {"number", "category", "ordered"}
    levels : tuple of tuples
        The categories of each column, in the order first seen or, of ordered ones, in their own; () for numbers.

    Notes
    -----
    A column of numbers is one of numbers, unless it is named in ``categorical``; a column of an ordered type (pandas'
    ordered categories, the enumerations of polars) is ordered; texts, truth values and other hashable objects are
    categories.

    Examples
    --------
    >>> S = Tables.pack({"age": [31, None, 40], "pet": ["cat", "dog", None]})
    >>> S
    <Tables: 3 samples, 1 number, 1 category, 2 missing>
    >>> S.values
    array([[31.,  0.],
           [nan,  1.],
           [40., nan]])
    """

    values: Floats
    names: tuple[Hashable, ...]
    kinds: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...]

    @classmethod
    def pack(cls, X: Any, categorical: Sequence[Hashable] | str = ()) -> Self:
        """Turn a table into Tables.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), dict of columns, two-dimensional array, or list of rows
        categorical : sequence of names or positions, or "all"
            Columns that are categories though they hold numbers.

        Raises
        ------
        DomainError
            No row, no column, columns of different lengths, infinite numbers, values that are neither numbers nor
            hashable, or a name in ``categorical`` that is no column.
        """
        if cls._is_packed(X):
            return X
        columns = columns_of(X)
        chosen = set(columns) if isinstance(categorical, str) else set(categorical)
        unknown = [name for name in chosen if name not in columns]
        if unknown:
            raise DomainError(
                f"There is no column {unknown[0]!r}; the columns are {', '.join(map(repr, list(columns)[:20]))}. Name "
                "existing columns as categorical."
            )
        coded = [_coded(column, name, name in chosen) for name, column in columns.items()]
        lengths = {len(values) for values, _, _ in coded}
        if not lengths or lengths == {0}:
            raise DomainError(
                f"Found array with 0 sample(s) or column(s) while a minimum of 1 is required. {_ACCEPTED} Give one."
            )
        if len(lengths) > 1:
            raise DomainError(
                f"Columns of different lengths were given: {sorted(lengths)}. {_ACCEPTED} Give each sample a value in "
                "each column."
            )
        values = np.ascontiguousarray(np.column_stack([values for values, _, _ in coded]))
        return cls(values, tuple(columns), tuple(kind for _, kind, _ in coded), tuple(words for _, _, words in coded))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.values.shape[1]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(values,)``."""
        return (self.values,)

    def align(self, other: Tables) -> Floats:
        """Return the values of other with the columns and codes of self; categories that self does not have follow."""
        if other.names != self.names and set(other.names) == set(self.names):
            places = [other.names.index(name) for name in self.names]
            kinds, levels = tuple(other.kinds[i] for i in places), tuple(other.levels[i] for i in places)
            return self.align(type(self)(np.ascontiguousarray(other.values[:, places]), self.names, kinds, levels))
        if other.kinds != self.kinds:
            raise DomainError(
                f"Tables with columns {self._described()} and {other._described()} were compared; both must have the "
                "same kinds of columns in the same order. Give new samples the columns of the training samples."
            )
        values = other.values
        for j, kind in enumerate(self.kinds):
            if kind == NUMBER or other.levels[j] == self.levels[j]:
                continue
            if kind == ORDERED:
                raise DomainError(
                    f"Column {self.names[j]!r} has the ordered categories {self.levels[j]!r} in one table and "
                    f"{other.levels[j]!r} in another; the order must be the same. Give both tables one type."
                )
            place = {word: code for code, word in enumerate(self.levels[j])}
            codes = np.array([place.setdefault(word, len(place)) for word in other.levels[j]], dtype=float)
            values = values.copy() if values is other.values else values
            known = ~np.isnan(values[:, j])
            values[known, j] = codes[values[known, j].astype(np.intp)]
        return values

    def _described(self) -> str:
        return ", ".join(f"{name!r} ({kind})" for name, kind in zip(self.names, self.kinds, strict=True))

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.values[index], self.names, self.kinds, self.levels)

    def _joined(self, other: Any) -> Self:
        values = self.align(other)
        known = dict(zip(other.names, other.levels, strict=True)) if set(other.names) == set(self.names) else {}
        theirs = [known.get(name, other.levels[j]) for j, name in enumerate(self.names)]
        levels = tuple(tuple(dict.fromkeys((*a, *b))) for a, b in zip(self.levels, theirs, strict=True))
        return type(self)(np.concatenate((self.values, values)), self.names, self.kinds, levels)

    def check(self) -> None:
        """Raise ModelError unless the parts fit together; those of a model file did not come through `pack`."""
        V = self.values
        good = isinstance(V, np.ndarray) and V.dtype == np.float64 and V.ndim == 2
        parts = (self.names, self.kinds, self.levels)
        good = good and all(isinstance(part, tuple) and len(part) == V.shape[1] for part in parts)
        good = good and set(self.kinds) <= {NUMBER, CATEGORY, ORDERED} and not np.isinf(V).any()
        if good:
            for j, kind in enumerate(self.kinds):
                codes = V[~np.isnan(V[:, j]), j]
                inside = (codes >= 0) & (codes < len(self.levels[j])) & (codes == np.floor(codes))
                good = good and (kind == NUMBER or bool(inside.all()))
        if not good:
            raise ModelError("The model has tables whose parts do not fit together. Save the model again.")

    def _summary(self) -> str:
        plural = {NUMBER: "numbers", CATEGORY: "categories", ORDERED: "ordered"}
        counts = [(self.kinds.count(kind), kind) for kind in (NUMBER, CATEGORY, ORDERED)]
        found = [f"{count} {kind if count == 1 else plural[kind]}" for count, kind in counts if count]
        missing = int(np.isnan(self.values).sum())
        return ", " + ", ".join([*found, *([f"{missing} missing"] if missing else [])])


# ---------------------------------------------------------------------- the door


def _coded(column: Any, name: Hashable, categorical: bool) -> tuple[Floats, str, tuple[Hashable, ...]]:
    """Return the values of a raw column, its kind and its levels."""
    levels: tuple[Hashable, ...] | None = None
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiu" and not categorical:
        return _finite(column.astype(np.float64), name), NUMBER, ()
    if nw.dependencies.is_into_series(column):
        series = nw.from_native(column, series_only=True)
        if isinstance(series.dtype, nw.Enum):
            levels = tuple(series.dtype.categories)
        raw = series.to_list()
    else:
        raw = np.asarray(column).tolist() if isinstance(column, np.ndarray) else list(column)
    empty = [is_missing(value) for value in raw]
    held = [value for value, missing in zip(raw, empty, strict=True) if not missing]
    if levels is None and not categorical and all(_is_number(value) for value in held):
        values = np.array([np.nan if missing else value for value, missing in zip(raw, empty, strict=True)], float)
        return _finite(values, name), NUMBER, ()
    bad = next((i for i, value in enumerate(raw) if not empty[i] and not is_hashable(value)), None)
    if bad is not None or any(isinstance(value, complex) for value in held):
        given = "a complex number" if bad is None else f"of type {type(raw[bad]).__name__}"
        raise DomainError(f"Column {name!r} has a value that is {given}. {_ACCEPTED} Leave out the column.")
    words = tuple(dict.fromkeys(held)) if levels is None else levels
    place = {word: float(code) for code, word in enumerate(words)}
    values = np.array([np.nan if missing else place[value] for value, missing in zip(raw, empty, strict=True)], float)
    return values, CATEGORY if levels is None or categorical else ORDERED, words


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _finite(values: Floats, name: Hashable) -> Floats:
    if np.isinf(values).any():
        raise DomainError(
            f"Column {name!r} has an infinite value in row {int(np.flatnonzero(np.isinf(values))[0])}. {_ACCEPTED} "
            "Clip it, or mark it as missing."
        )
    return values

"""Rows of a table as vectors: numbers, categories, dates, and values that are missing.

Symbols: x_j the value of column j, m_j and s_j mean and standard deviation of its training values, F_j their
distribution function, Phi the standard normal distribution function.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.domains.frames import columns_of
from mercer.domains.missing_values import is_missing
from mercer.domains.mixed_tables import CATEGORY, ORDERED, Tables
from mercer.errors import DomainError, ParameterError

__all__ = ["ColumnCode", "TableEncoder", "with_dates"]
__public__ = ["TableEncoder"]
__saved__ = ["ColumnCode"]

DATE = "date"
_ISO = re.compile(r"\s*\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?\s*")
_DAY = 86_400.0  # seconds
_YEAR = 365.2425  # days
_SCORES = 1000  # points of a distribution function that are kept
_HUGE = 1e307  # beyond which a difference may overflow


@dataclass(frozen=True)
class ColumnCode:
    """How one column becomes coordinates, learned from its training values.

    Attributes
    ----------
    name : hashable
    kind : {"number", "category", "ordered", "date"}
    missing : bool
        Whether training values are missing; then a coordinate says so.
    levels : tuple
        The categories, of which each has a coordinate, or the ordered ones.
    points, images : (q,) arrays
        A piecewise linear map of numbers, continued by its end values ("scores") or lines ("standard").
    fill : float
        The image of a number that is missing: that of the median.
    cycles : tuple of float
        Periods in days on which dates have a place, too.
    """

    name: Hashable
    kind: str
    missing: bool
    levels: tuple[Hashable, ...]
    points: Floats
    images: Floats
    fill: float
    cycles: tuple[float, ...] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """What the coordinates stand for, and how many each has."""
        if self.kind == CATEGORY:
            return [(str(self.name), len(self.levels))]
        named = [(str(self.name), 1), *((f"{self.name}: {_CYCLES[period]}", 2) for period in self.cycles)]
        return [*named, *([(f"{self.name} is missing", 1)] if self.missing else [])]


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""Turn the rows of a table into vectors, so that any kernel on vectors can compare them.

    .. math::
        x_j \mapsto (x_j - m_j) / s_j \quad\text{or}\quad \Phi^{-1}(F_j(x_j)) \quad\text{for numbers}, \qquad
        x_j \mapsto e_{x_j} / \sqrt 2 \quad\text{for categories}

    Seed: [STS] Theorem 7, the map phi of k(phi(x), phi(z)).

    Parameters
    ----------
    numbers : {"standard", "scores"}
        Standardised, or as normal scores: the place of a value among the training values, as a normal quantile. Scores
        do not depend on the unit or on any increasing transformation, and tame outliers.

    Attributes
    ----------
    codes_ : list of ColumnCode
    columns_ : tuple
        Names of the columns, or their positions; other columns of a table are not read.
    groups_ : (p,) array of int
        Which of ``names_`` each coordinate belongs to.
    names_ : list of str
    key_ : str
        The same for maps that are the same, so that kernels know images that they share, in a saved model, too.

    Notes
    -----
    Two categories that differ are at distance one. A category that was not seen is at the same distance from all. A
    number that is missing is replaced by the median of the training values, and where some are missing in training, a
    coordinate says so; a missing category is one more category. Dates (datetimes, or texts such as 2024-05-31 or
    2024-05-31 18:30) have a trend and, where the data span them, a place in the year, in the week and in the day.
    A sample of weight w counts as w copies.

    Examples
    --------
    >>> table = {"age": [20.0, 40.0, None], "city": ["Oslo", "Rome", "Oslo"]}
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table).round(3)
    array([[-1.   ,  0.   ,  0.707,  0.   ],
           [ 1.   ,  0.   ,  0.   ,  0.707],
           [ 0.   ,  1.   ,  0.707,  0.   ]])
    >>> encoder.names_, encoder.groups_.tolist()
    (['age', 'age is missing', 'city'], [0, 1, 2, 2])
    """

    def __init__(self, numbers: str = "standard") -> None:
        self.numbers = numbers

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn what the columns hold.

        Parameters
        ----------
        X : data frame, dict of columns, two-dimensional array or list of rows
            Values may be missing (None, NaN).
        y : ignored
        sample_weight : (n,) array, optional
        """
        if self.numbers not in ("standard", "scores"):
            raise ParameterError(
                f"numbers={self.numbers!r} was given; 'standard' and 'scores' are accepted. Choose one of them."
            )
        S, dates = _packed(X)
        w = np.ones(len(S)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if w.shape != (len(S),) or not np.all(np.isfinite(w)) or np.any(w < 0.0) or not np.any(w > 0.0):
            raise DomainError(
                f"sample_weight must be {len(S)} numbers that are not negative, some of them positive. Give one for "
                "each row."
            )
        self.codes_ = [self._code(S, j, dates, w) for j in range(S.width)]
        self.columns_ = tuple(code.name for code in self.codes_)
        named = [group for code in self.codes_ for group in code.groups]
        self.names_ = [name for name, _ in named]
        self.groups_ = np.repeat(np.arange(len(named)), [count for _, count in named])
        self.key_ = _digest(self.codes_)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the vectors, (n, p).

        Parameters
        ----------
        X : table with the columns of the training table
        """
        check_is_fitted(self)
        columns: dict[Any, Any] = dict(columns_of(X))
        absent = [name for name in self.columns_ if name not in columns]
        if absent:
            raise DomainError(
                f"The table has no column {absent[0]!r}; its columns are {', '.join(map(repr, list(columns)[:20]))}. "
                "Give the columns of the training table."
            )
        S, dates = _packed(
            {name: columns[name] for name in self.columns_}, [code.name for code in self.codes_ if code.kind == DATE]
        )
        parts = [_coordinates(code, S, j, dates) for j, code in enumerate(self.codes_)]
        return np.ascontiguousarray(np.column_stack(parts))

    def _code(self, S: Tables, j: int, dates: dict[Hashable, Floats], w: Floats) -> ColumnCode:
        """Learn one column."""
        name, kind = S.names[j], DATE if S.names[j] in dates else S.kinds[j]
        values = dates[name] if kind == DATE else S.values[:, j]
        known = ~np.isnan(values) & (w > 0.0)
        missing = bool(np.any(np.isnan(values) & (w > 0.0)))
        levels: tuple[Hashable, ...] = S.levels[j] if kind in (CATEGORY, ORDERED) else ()
        if kind == CATEGORY:
            seen = {int(code) for code in values[known]}
            kept = tuple(level for code, level in enumerate(levels) if code in seen)
            return ColumnCode(name, kind, missing, (*kept, *((None,) if missing else ())), _EMPTY, _EMPTY, 0.0)
        if not known.any():
            return ColumnCode(name, kind, False, levels, np.zeros(1), np.zeros(1), 0.0)
        points, images, median = _line(values[known], w[known], self.numbers if kind != DATE else "standard")
        cycles = _cycles(values[known]) if kind == DATE else ()
        return ColumnCode(name, kind, missing, levels, points, images, float(_image(median, points, images)), cycles)


def _digest(codes: Sequence[ColumnCode]) -> str:
    digest = hashlib.sha256()
    for code in codes:
        digest.update(repr((code.name, code.kind, code.missing, code.levels, code.fill, code.cycles)).encode())
        digest.update(code.points.tobytes() + code.images.tobytes())
    return digest.hexdigest()[:32]


_EMPTY = np.zeros(0)
_CYCLES = {_YEAR: "year", 7.0: "week", 1.0: "day"}


def _line(x: Floats, w: Floats, numbers: str) -> tuple[Floats, Floats, float]:
    """Return points and images of the map of a column of numbers, and the median."""
    values, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place, weights=w)
    share = counts / counts.sum()
    middle = np.cumsum(share) - 0.5 * share  # the distribution function between left and right limit
    total = np.cumsum(counts)
    left, right = (int(np.argmax(total >= bound * total[-1])) for bound in (0.5, 0.5 + 1e-12))
    median = float(0.5 * values[left] + 0.5 * values[right])
    images = values if numbers == "standard" else ndtri(middle)
    largest = float(np.abs(images).max()) or 1.0  # so that squares neither overflow nor vanish
    scaled = images / largest
    mean = float(share @ scaled)
    spread = float(np.sqrt(share @ (scaled - mean) ** 2))
    images = (scaled - mean) / (spread if spread > 1e-14 else 1.0)
    if len(values) == 1 or numbers == "standard":
        ends = [0, -1] if len(values) > 1 else [0]
        return values[ends], images[ends], median
    if len(values) == 2:  # a point between them keeps the map from going on beyond
        points = np.array([values[0], median, values[1]])
        return points, np.interp(points, values, images), median
    kept = np.unique(np.linspace(0, len(values) - 1, _SCORES).round().astype(int))
    return values[kept], images[kept], median


def _image(x: Any, points: Floats, images: Floats) -> Any:
    """Return the images of numbers; a map of two points goes on beyond them, one of many ends there."""
    if len(points) == 2:
        unit = 1.0 if np.abs(points).max() < _HUGE else 0.5  # halves, whose difference does not overflow
        slope = (images[1] - images[0]) / (unit * points[1] - unit * points[0])
        return images[0] + slope * (unit * np.asarray(x, dtype=float) - unit * points[0])
    return np.interp(x, points, images)


def _cycles(days: Floats) -> tuple[float, ...]:
    """Return the periods that dates span at least twice, or the day if they have different times."""
    span = float(np.ptp(days))
    found = [period for period in (_YEAR, 7.0) if span >= 2.0 * period]
    return (*found, *([1.0] if len(np.unique(np.round(days % 1.0, 6))) > 1 else []))


def _coordinates(code: ColumnCode, S: Tables, j: int, dates: dict[Hashable, Floats]) -> Floats:
    """Return the coordinates of one column, (n, number of them)."""
    if code.kind == CATEGORY:
        words = S.levels[j] if S.kinds[j] in (CATEGORY, ORDERED) else None
        place = {level: i for i, level in enumerate(code.levels)}
        out = np.zeros((len(S), len(code.levels)))
        for row, value in enumerate(S.values[:, j]):
            level = None if np.isnan(value) else words[int(value)] if words is not None else _plain(value)
            if level in place:
                out[row, place[level]] = np.sqrt(0.5)
        return out
    if code.kind != DATE and S.kinds[j] not in ("number", ORDERED):
        raise DomainError(
            f"Column {code.name!r} held numbers in the training table and holds {S.levels[j][0]!r} now. Give numbers."
        )
    values = _ranked(code, S, j) if code.kind == ORDERED else dates[code.name] if code.kind == DATE else S.values[:, j]
    absent = np.isnan(values)
    parts = [np.where(absent, code.fill, _image(np.where(absent, 0.0, values), code.points, code.images))]
    for period in code.cycles:
        angle = 2.0 * np.pi * np.where(absent, 0.0, values) / period
        parts += [np.where(absent, 0.0, np.cos(angle)), np.where(absent, 0.0, np.sin(angle))]
    return np.column_stack([*parts, *([absent.astype(float)] if code.missing else [])])


def _plain(value: float) -> Hashable:
    return int(value) if value == np.floor(value) else float(value)


def _ranked(code: ColumnCode, S: Tables, j: int) -> Floats:
    """Return the places of ordered categories among those of training; a category that is new counts as missing."""
    place = {level: float(i) for i, level in enumerate(code.levels)}
    words = S.levels[j]
    return np.array([np.nan if np.isnan(v) else place.get(words[int(v)], np.nan) for v in S.values[:, j]])


# dates ----------------------------------------------------------------------------------------------------------


def _packed(X: Any, known: Sequence[Hashable] | None = None) -> tuple[Tables, dict[Hashable, Floats]]:
    """Return a table in which dates count as missing numbers, and the dates in days since 1970.

    Parameters
    ----------
    X : table
    known : names, optional
        Of the columns that hold dates; None to find them.
    """
    columns = columns_of(X)
    found: dict[Hashable, Floats] = {}
    for name, column in columns.items():
        days = _days(column, known is not None) if known is None or name in known else None
        if days is not None:
            found[name] = days
        elif known is not None and name in known:
            raise DomainError(
                f"Column {name!r} held dates in the training table and holds something else now. Give dates."
            )
    plain = {name: np.full(len(found[name]), np.nan) if name in found else column for name, column in columns.items()}
    return Tables.pack(plain if found else X), found


def _days(column: Any, may_be_empty: bool = False) -> Floats | None:
    """Return dates as days since 1970, NaN where missing; None if a value is no date, or if there is none at all."""
    if nw.dependencies.is_into_series(column):
        column = nw.from_native(column, series_only=True).to_numpy()
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return _since_1970(column)
    if isinstance(column, np.ndarray) and column.dtype.kind not in "OU":
        return None
    values = [None if is_missing(value) else value for value in list(column)]
    held = [value for value in values if value is not None]
    if not held and may_be_empty:
        return np.full(len(values), np.nan)
    if not held or not all(isinstance(value, str) and _ISO.fullmatch(value) for value in held):
        return None
    try:
        stamps = [np.datetime64("NaT") if value is None else np.datetime64(value.strip()) for value in values]
    except ValueError:  # as 2024-13-45
        return None
    return _since_1970(np.array(stamps, dtype="datetime64[us]"))


def with_dates(columns: Mapping[Any, Any], kinds: Mapping[Any, str]) -> dict[Any, str]:
    """Return the kinds of columns, with "date" for texts and categories that are dates.

    Examples
    --------
    >>> with_dates({"on": ["2024-05-31", None], "at": ["Oslo", "Rome"]}, {"on": "text", "at": "text"})
    {'on': 'date', 'at': 'text'}
    """
    texts = ("text", CATEGORY)
    return {name: DATE if kind in texts and _days(columns[name]) is not None else kind for name, kind in kinds.items()}


def _since_1970(stamps: NDArray[Any]) -> Floats:
    seconds = stamps.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(stamps), np.nan, seconds / _DAY)

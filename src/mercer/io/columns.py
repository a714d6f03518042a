"""What a column of a table holds: the rules that distinguish numbers, categories, texts and identifiers.

The rules, in this order, on the values that are not missing:

constant
    at most one distinct value (a column with no value at all, too).
number
    every value is a decimal number: ``12``, ``-0.5``, ``.5``, ``1e-3``. Hexadecimal, ``1_000``, ``1,5`` and
    ``inf`` are not.
boolean
    both words of one pair, in any case: no/yes, false/true, n/y, f/t. (0 and 1 are numbers.)
identifier
    every row has a value, no two the same, and either the name says so (``id``, ``sample_id``, ``index``,
    ...; numbers must be integers), or there are at least ten values that are UUIDs or one prefix followed
    by a number (``P001``, ``P002``, ...).
category
    texts of which some repeat: none longer than 100 characters, and no more distinct ones than 20 or a
    tenth of the rows.
text
    any other texts.

A missing value is an empty field; in columns other than text also one of ``MISSING``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.errors import ParameterError

__all__ = ["KINDS", "MISSING", "Column", "Kinds"]

KINDS = ("number", "category", "text", "boolean", "constant", "identifier")
MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "<NA>", "#N/A", "?"})

NUMBER = re.compile(r"[ \t]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
_LIKE_NUMBERS = re.compile(r"[0-9+\-.eE\n ]*")
_PAIRS = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"))
_SIDES = {word: (pair, side) for pair in _PAIRS for side, word in enumerate(pair)}
_ID_NAME = re.compile(
    r"(?i:ids?|idx|index|key|uuid|guid|rows?|row[ _]?(?:names?|ids?|numbers?)|unnamed: 0|.*[_ .-]ids?)|.*[a-z]I[dD]s?"
)
_COUNTED = re.compile(r"([^\d\s]{0,20})\d+")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_FEW = 20  # distinct values that make a category of any table
_SHARE = 10  # rows per distinct value that make one of a long table
_LONG = 100  # characters
_MANY = 10  # rows before a pattern of the values, not the name, makes an identifier

Values = NDArray[Any] | list[str | None]
Kinds = dict[str, str]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: float64 with NaN for what is missing, or texts with None.

    Attributes
    ----------
    values : (n,) float64 array, or list of str and None
        Numbers and booleans (0 and 1) are arrays.
    kind : str
        One of ``KINDS``.
    missing : int
        Number of missing values.
    words : pair of str, optional
        How the file spells the 0 and the 1 of a boolean.
    """

    values: Values
    kind: str
    missing: int
    words: tuple[str, str] | None = None


def checked_kinds(kinds: Any) -> Kinds:
    """Return the kinds a caller asked for, by the name of the column."""
    kinds = dict(kinds or {})
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ParameterError(
                f"kinds={{{name!r}: {kind!r}}} is not a kind of column; {', '.join(KINDS)} are. Choose one of them."
            )
    return kinds


def parse_numbers(fields: Sequence[str]) -> Floats | None:
    """Return the numbers that fields spell, NaN where missing; None if one spells something else.

    Infinite numbers stand for those too large.
    """
    if _LIKE_NUMBERS.fullmatch("\n".join(fields)):  # then float() accepts decimal numbers only
        try:
            return np.fromiter(map(float, fields), dtype=np.float64, count=len(fields))
        except ValueError:
            pass
    numbers = np.empty(len(fields))
    for i, text in enumerate(fields):
        if NUMBER.fullmatch(text):
            numbers[i] = float(text)
        elif text.strip() in MISSING:
            numbers[i] = np.nan
        else:
            return None
    return numbers


def names_identifiers(name: str) -> bool:
    """Whether the name of a column says that it identifies rows.

    Examples
    --------
    >>> names_identifiers("sample_id"), names_identifiers("width")
    (True, False)
    """
    return _ID_NAME.fullmatch(name.strip()) is not None


def numbers_identify(name: str, values: Floats) -> bool:
    """Whether numbers identify the rows: so named, integers, no two the same, none missing."""
    if len(values) < 2 or not names_identifiers(name) or not np.isfinite(values).all():
        return False
    return bool((values == np.floor(values)).all()) and len(np.unique(values)) == len(values)


def number_column(values: Floats) -> Column:
    """Return a column of numbers, which may be constant."""
    if len(values) < _FEW:  # tables may have very many short columns
        listed = values.tolist()
        present = [value for value in listed if value == value]
        missing, constant = len(listed) - len(present), len(set(present)) <= 1
    else:
        absent = np.isnan(values)
        missing = int(absent.sum())
        rest = values[~absent] if missing else values
        constant = len(rest) == 0 or bool((rest == rest[0]).all())
    return Column(values, "constant" if constant else "number", missing)


def boolean_column(values: Sequence[bool | None], words: tuple[str, str] = ("false", "true")) -> Column:
    """Return a column of truth values, which may be constant."""
    numbers = np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    column = number_column(numbers)
    kind = "boolean" if column.kind == "number" else "constant"
    return Column(numbers, kind, column.missing, words)


def text_column(name: str, values: Sequence[str | None], kind: str | None = None) -> Column:
    """Return a column of texts, of the kind asked for or of the kind that the rules find."""
    stripped = [None if value is None or value.strip() in MISSING else value.strip() for value in values]
    distinct = {value for value in stripped if value is not None}
    if kind is None and _spelling(distinct):
        kind = "boolean"
    if kind == "boolean":
        return _spelled_column(stripped, distinct)
    kind = kind or _kind_of_texts(name, stripped, distinct)
    if kind == "text":
        texts = [value or None for value in values]
        return Column(texts, kind, sum(value is None for value in texts))
    return Column(stripped, kind, sum(value is None for value in stripped))


def _kind_of_texts(name: str, values: list[str | None], distinct: set[str]) -> str:
    n = len(values)
    if len(distinct) <= 1:
        return "constant"
    if len(distinct) == n and (names_identifiers(name) or (n >= _MANY and _follow_a_pattern(distinct))):
        return "identifier"
    repeat = len(distinct) < n - values.count(None)
    few = repeat and len(distinct) <= max(_FEW, n // _SHARE)
    return "category" if few and max(map(len, distinct)) <= _LONG else "text"


def _follow_a_pattern(distinct: set[str]) -> bool:
    if all(map(_UUID.fullmatch, distinct)):
        return True
    matches = [_COUNTED.fullmatch(value) for value in distinct]
    return all(matches) and len({match[1] for match in matches if match}) == 1


def not_boolean(values: Sequence[str | None]) -> int | None:
    """Return the first row whose value is neither missing nor one of the two words of the first value."""
    pair = None
    for row, value in enumerate(values):
        if value is None or value.strip() in MISSING:
            continue
        word = _SIDES.get(value.strip().lower())
        if word is None or (pair is not None and word[0] != pair):
            return row
        pair = word[0]
    return None


def _spelling(distinct: set[str]) -> bool:
    if not 2 <= len(distinct) <= 8:  # two words, in up to four spellings each
        return False
    return {value.lower() for value in distinct} in map(set, _PAIRS)


def _spelled_column(values: list[str | None], distinct: set[str]) -> Column:
    sides = {value: bool(_SIDES[value.lower()][1]) for value in distinct}
    pair = next((_SIDES[value.lower()][0] for value in distinct), ("false", "true"))
    words = list(pair)
    for value in reversed(values):  # the first spelling in the file stays
        if value is not None:
            words[sides[value]] = value
    column = boolean_column([None if v is None else sides[v] for v in values], (words[0], words[1]))
    return Column(column.values, "boolean", column.missing, column.words)

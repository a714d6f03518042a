"""JSON lines: one flat object per line, all with the same keys."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from mercer.io.columns import (
    Column,
    Kinds,
    boolean_column,
    not_boolean,
    number_column,
    numbers_identify,
    text_column,
)
from mercer.io.limits import shown
from mercer.io.source import Source
from mercer.io.tables import Table

__all__ = ["read_jsonl"]

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_EVERY = 4096  # lines between two looks at the clock
_WORDS = {"number": "a number", "text": "a text", "truth value": "true or false"}


class _Number(str):
    """A number as the file spells it."""

    __slots__ = ()


def read_jsonl(source: Source, kinds: Kinds) -> Table:
    """Read a table in which each row is an object on its own line.

    Numbers, texts, ``true``, ``false`` and ``null`` (missing) are accepted as values. A text stays one even
    if it spells a number.
    """
    reading = _Reading(source, kinds)
    for number, line in enumerate(source.lines(), 1):
        if number % _EVERY == 0:
            source.check_time(number)
        if line.strip():
            reading.add(number, line)
    return reading.table()


@dataclass
class _Reading:
    """The columns of a file as they grow."""

    source: Source
    kinds: Kinds
    values: dict[str, list[Any]] = field(default_factory=dict)
    first: dict[str, tuple[str, int]] = field(default_factory=dict)  # what was found first, and in which line
    lines: array[int] = field(default_factory=lambda: array("q"))
    seen: dict[str, str] = field(default_factory=dict)

    def add(self, line: int, text: str) -> None:
        """Add the row on a line."""
        record = self._parsed(line, text)
        if not self.lines:
            self._start(line, record)
        if record.keys() != self.values.keys():
            self._refuse_keys(line, record)
        for name, value in record.items():
            self.values[name].append(self._checked(line, name, value))
        self.lines.append(line)
        if len(self.lines) > self.source.limits.rows:
            raise self.source.error(
                f"There are more than {self.source.limits.rows:,} rows, the limit.",
                "Split the file, or allow more with Limits(rows=...).",
                line=line,
            )

    def _parsed(self, line: int, text: str) -> dict[str, Any]:
        limits = self.source.limits
        if len(text) > limits.line:
            raise self.source.error(
                f"The line has more than {limits.line:,} characters, the limit.",
                "Write one object per line, or allow more with Limits(line=...).",
                line=line,
            )
        self._check_depth(line, text)
        try:
            record = json.loads(
                text,
                object_pairs_hook=lambda pairs: self._object(line, pairs),
                parse_int=_Number,
                parse_float=_Number,
                parse_constant=lambda word: self._refuse_constant(line, word),
            )
        except json.JSONDecodeError as error:
            raise self.source.error(
                f"This is not JSON: {error.msg}.",
                'Write one complete object per line, as {"name": 1.5, "text": "GATTACA"}.',
                line=line,
                character=error.pos + 1,
            ) from error
        if not isinstance(record, dict):
            raise self.source.error(
                f"The line holds {_named(record)}; one object with named values is accepted.",
                'Write it as {"name": value}, one object per line.',
                line=line,
            )
        return record

    def _check_depth(self, line: int, text: str) -> None:
        """Refuse deep nesting before the parser, which recurses, meets it."""
        most = self.source.limits.depth
        if text.count("[") + text.count("{") <= most:
            return
        depth = 0
        for match in _TOKENS.finditer(text):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            if depth > most:
                raise self.source.error(
                    f"Objects and lists are nested more than {most} deep, the limit.",
                    "Write one flat object per line.",
                    line=line,
                    character=match.start() + 1,
                )

    def _object(self, line: int, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            name = counts.most_common(1)[0][0]
            raise self.source.error(
                f"The key {shown(name)} appears twice in one object.", "Keep one of them.", line=line
            )
        return record

    def _refuse_constant(self, line: int, word: str) -> NoReturn:
        raise self.source.error(
            f"{word} is no JSON number; finite numbers and null are accepted.",
            "Write null for a missing number.",
            line=line,
        )

    def _start(self, line: int, record: dict[str, Any]) -> None:
        if not record:
            raise self.source.error("The object is empty.", "Give it at least one named value.", line=line)
        if len(record) > self.source.limits.columns:
            raise self.source.error(
                f"There are more than {self.source.limits.columns:,} keys, the limit.",
                "If each key is a sample, write one object per sample; or allow more with Limits(columns=...).",
                line=line,
            )
        for position, name in enumerate(record, 1):
            if not name.strip() or _SURROGATE.search(name):
                raise self.source.error(
                    "The key is empty." if not name.strip() else "The key is not text.",
                    "Name every value.",
                    line=line,
                    column=position,
                )
        self.values = {name: [] for name in record}

    def _refuse_keys(self, line: int, record: dict[str, Any]) -> NoReturn:
        absent = [name for name in self.values if name not in record]
        if absent:
            problem, fix = f"The key {shown(absent[0])} of line {self.lines[0]} is absent.", "Write it, with null."
        else:
            name = next(name for name in record if name not in self.values)
            problem = f"The key {shown(name)} is not one of line {self.lines[0]}."
            fix = "Give every object the same keys, with null where a value is missing."
        raise self.source.error(problem, fix, line=line)

    def _checked(self, line: int, name: str, value: Any) -> Any:
        """Return a value of the same type as the others in its column."""
        if value is None:
            return None
        found = _type_of(value)
        if found is None:
            raise self._error(
                line,
                name,
                f"The value is {_named(value)}; numbers, texts, true, false and null are accepted.",
                "Write the parts as values of their own, or as one text.",
            )
        if isinstance(value, str):
            if found == "text" and _SURROGATE.search(value):
                raise self._error(
                    line, name, "The text holds half of a surrogate pair.", "Write the character itself, in UTF-8."
                )
            value = self.seen.setdefault(value, value) if found == "text" else value
        before, where = self.first.setdefault(name, (found, line))
        if before != found:
            raise self._error(
                line,
                name,
                f"The value is {_WORDS[found]}, the one in line {where} is {_WORDS[before]}.",
                "Give all values of a key the same type, or null.",
            )
        return value

    def _error(self, line: int, name: str, problem: str, fix: str) -> Exception:
        position = list(self.values).index(name) + 1
        return self.source.error(problem, fix, line=line, column=position, name=name)

    # ------------------------------------------------------------------ columns

    def table(self) -> Table:
        """Return the table of all rows."""
        if not self.lines:
            raise self.source.error("There are only blank lines.", "Give at least one object.", line=1)
        parts = {name: self._column(name, values) for name, values in self.values.items()}
        lines = np.array(self.lines, dtype=np.int64)
        return Table(self.source.path, "jsonl", parts, len(lines), lines)

    def _column(self, name: str, values: list[Any]) -> Column:
        found = self.first.get(name, ("", 0))[0]
        kind = self.kinds.get(name)
        kind = None if kind == "constant" else kind
        if found == "number" and kind not in ("category", "text", "identifier", "boolean"):
            return self._numbers(name, values, kind)
        if found == "truth value" and kind in (None, "boolean"):
            column = boolean_column(values)
            return Column(column.values, kind or column.kind, column.missing, column.words)
        if not found and kind in ("number", "boolean", None):
            column = number_column(np.full(len(values), np.nan))
            return Column(column.values, kind or column.kind, column.missing)
        texts = [_spelled(value) for value in values]
        row = next((i for i, value in enumerate(values) if value is not None), 0) if kind == "number" else None
        row = not_boolean(texts) if kind == "boolean" else row
        if row is not None:
            raise self._error(
                self.lines[row],
                name,
                f"{shown(texts[row])} is not a {kind}, which the column is expected to hold.",
                "Write true or false." if kind == "boolean" else "Write a number, without quotes.",
            )
        return text_column(name, texts, kind)

    def _numbers(self, name: str, values: list[Any], kind: str | None) -> Column:
        numbers = np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
        infinite = np.isinf(numbers)
        if infinite.any():
            row = int(infinite.argmax())
            raise self._error(
                self.lines[row],
                name,
                f"{shown(values[row])} is too large for a number; numbers up to 1.8e308 are accepted.",
                "Write a finite number, or null.",
            )
        if kind is None and numbers_identify(name, numbers):
            return text_column(name, [_spelled(value) for value in values], "identifier")
        column = number_column(numbers)
        return Column(numbers, kind or column.kind, column.missing)


def _type_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, _Number):
        return "number"
    return "text" if isinstance(value, str) else None


def _named(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else _WORDS[_type_of(value) or "text"]


def _spelled(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)

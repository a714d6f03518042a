"""CoNLL columns: a line for each word, its fields in columns, and an empty line between sentences.

Columns are separated by blanks, or by tabs if the first line has one. They have no names in the file; here they are
column1, column2, and so on. Any of them can be what is predicted, usually the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Index
from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import FileError, shown
from mercer.io.source import Source

__all__ = ["Sentences", "read_conll"]

_EVERY = 4096  # lines between two looks at the clock
_LAST = "last"

Row = tuple[str, ...]  # the fields of a word


@dataclass(frozen=True, eq=False, repr=False)
class Sentences(Dataset):
    """Sentences, or other sequences, whose words have several fields.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    rows : list of list of tuple of str
        The fields of each word of each sentence.
    columns : tuple of str
        Their names.
    """

    kind: ClassVar[str] = "sentences"
    rows: list[list[Row]]
    columns: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of sentences."""
        return len(self.rows)

    @property
    def X(self) -> list[list[Row]]:
        """The fields of each word as symbols "column=field", which a kernel of symbols, as Spectrum(1), compares."""
        return [
            [tuple(f"{name}={field}" for name, field in zip(self.columns, word, strict=True)) for word in sentence]
            for sentence in self.rows
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.columns

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns, and "last"."""
        return (*self.columns, _LAST)

    def named(self, target: str | None) -> str | None:
        """Return the name of a column, the last one included."""
        return self.columns[-1] if target == _LAST else target

    def take(self, index: Index) -> Self:
        """Return some of the sentences."""
        return replace(self, rows=[self.rows[row] for row in rows_of(index, self.n)])

    def selected(self, columns: Sequence[str]) -> Self:
        """Return some of the columns."""
        lost = [name for name in columns if name not in self.columns]
        if lost:
            raise FileError(
                self.path,
                f"The file has {len(self.columns)} columns, and no {', '.join(lost)}; columns are told apart by their "
                "places.",
                f"Give the columns {', '.join(columns)}, counted from column1.",
                line=1,
            )
        places = [self.columns.index(name) for name in columns]
        rows = [[tuple(word[place] for place in places) for word in sentence] for sentence in self.rows]
        return replace(self, rows=rows, columns=tuple(columns))

    def split_target(self, name: str | None = None) -> tuple[Self, NDArray[Any]]:
        """Return the other columns, and one column: an array of arrays of labels, one for each sentence."""
        name = self.named(name)
        if name is None or name not in self.columns:
            raise self._no_target(name)
        if len(self.columns) == 1:
            raise FileError(
                self.path,
                "There is one column, so that nothing is left to predict it from.",
                "Give two columns or more: words, and a label for each.",
                line=1,
            )
        place = self.columns.index(name)
        labels = np.empty(self.n, dtype=object)
        for i, sentence in enumerate(self.rows):
            labels[i] = np.array([word[place] for word in sentence], dtype=np.str_)
        return self.selected([other for other in self.columns if other != name]), labels

    def describe(self) -> dict[str, Any]:
        """Return what is known about the sentences."""
        lengths = [len(sentence) for sentence in self.rows]
        different = {
            name: len({word[place] for sentence in self.rows for word in sentence})
            for place, name in enumerate(self.columns)
        }
        known = {"words": sum(lengths), "shortest": min(lengths), "longest": max(lengths), "different": different}
        return {**super().describe(), **known}

    def _summary(self) -> str:
        words = sum(map(len, self.rows))
        return f", {words} words, {len(self.columns)} column{'' if len(self.columns) == 1 else 's'}"


def read_conll(source: Source) -> Sentences:
    """Read columns: words on lines, sentences between empty lines."""
    sentences: list[list[Row]] = []
    current: list[Row] = []
    separator, width, words = None, 0, 0
    for number, line in enumerate(source.lines(), 1):
        if number % _EVERY == 0:
            source.check_time(number)
        text = line.rstrip("\r\n")
        if not text.strip():
            if current:
                sentences.append(current)
            current = []
            continue
        if not width:
            separator = "\t" if "\t" in text else None
        row = tuple(field.strip() for field in text.split(separator))
        width = width or len(row)
        words += 1
        _check(source, row, width, words, number)
        current.append(row)
    if current:
        sentences.append(current)
    if not sentences:
        raise source.error("There is no word.", "Write each word and its label on a line of its own.", line=1)
    return Sentences(source.path, "conll", sentences, tuple(f"column{place + 1}" for place in range(width)))


def _check(source: Source, row: Row, width: int, words: int, number: int) -> None:
    if len(row) != width:
        raise source.error(
            f"The line has {len(row)} column{'' if len(row) == 1 else 's'}, and the first line has {width}.",
            "Give every word all columns, write - where there is nothing, and remove lines of comments.",
            line=number,
        )
    if not all(row):
        raise source.error(
            f"Column {row.index('') + 1} is empty.", "Write - where there is nothing.", line=number, name=shown(row[0])
        )
    if words > source.limits.rows:
        raise source.error(f"There are more than {source.limits.rows:,} words, the limit.", "Split it.", line=number)

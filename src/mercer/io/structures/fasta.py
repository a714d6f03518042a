"""FASTA and FASTQ: sequences with names, plain or compressed by gzip.

A header is ``>name description``. Words ``key=value`` of the description, with or without brackets, are
fields that can be predicted, and so is the description itself. Letters, ``*`` and ``-`` are accepted, and
kept as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Index
from mercer.io.columns import parse_numbers
from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import shown
from mercer.io.source import Source

__all__ = ["Sequences", "read_fasta", "read_fastq"]

_LETTERS = re.compile(r"[A-Za-z*-]+")
_QUALITIES = re.compile(r"[!-~]+")
_FIELD = re.compile(r"\[?([A-Za-z_][\w.-]*)=([^\]\s]+)\]?")
_EVERY = 4096  # lines between two looks at the clock


@dataclass(frozen=True, eq=False, repr=False)
class Sequences(Dataset):
    """Strings of letters with their names.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    sequences : list of str
        The letters.
    labels : tuple of str
        The name of each, no two the same.
    descriptions : tuple of str
        What follows the names.
    """

    kind: ClassVar[str] = "sequences"
    sequences: list[str]
    labels: tuple[str, ...]
    descriptions: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of sequences."""
        return len(self.sequences)

    @property
    def X(self) -> list[str]:
        """The sequences."""
        return self.sequences

    @property
    def y(self) -> NDArray[Any] | None:
        """The field of the descriptions, if all have the same single one."""
        name = self._only_field
        return None if name is None else self.split_target(name)[1]

    @property
    def ids(self) -> tuple[str, ...]:
        """The names."""
        return self.labels

    @property
    def targets(self) -> tuple[str, ...]:
        """Fields that every description has, and the description."""
        common: dict[str, None] | None = None
        for description in self.descriptions:
            found = dict(_FIELD.findall(description))
            common = dict.fromkeys(found if common is None else (name for name in common if name in found))
            if not common:
                break
        whole = ("description",) if all(self.descriptions) else ()
        return (*(common or ()), *whole)

    @property
    def _only_field(self) -> str | None:
        fields = [name for name in self.targets if name != "description"]
        return fields[0] if len(fields) == 1 else None

    def take(self, index: Index) -> Self:
        """Return some of the sequences."""
        rows = rows_of(index, self.n)
        return replace(
            self,
            sequences=[self.sequences[row] for row in rows],
            labels=tuple(self.labels[row] for row in rows),
            descriptions=tuple(self.descriptions[row] for row in rows),
        )

    def split_target(self, name: str | None = None) -> tuple[Sequences, NDArray[Any]]:
        """Return the sequences, and a field of their descriptions: numbers if all are, else texts.

        The only field need not be named.
        """
        name = self._only_field if name is None else name
        if name is None or name not in self.targets:
            raise self._no_target(name)
        if name == "description":
            texts = list(self.descriptions)
        else:
            texts = [dict(_FIELD.findall(description))[name] for description in self.descriptions]
        numbers = parse_numbers(texts)
        if numbers is None or not np.isfinite(numbers).all():
            return self, np.array(texts, dtype=object)
        return self, numbers

    def describe(self) -> dict[str, Any]:
        """Return what is known about the sequences."""
        lengths = [len(sequence) for sequence in self.sequences]
        alphabet = sorted(set().union(*map(set, self.sequences)))
        known = {"shortest": min(lengths), "longest": max(lengths), "letters": sum(lengths)}
        return {**super().describe(), **known, "alphabet": "".join(alphabet), "fields": list(self.targets)}

    def _summary(self) -> str:
        lengths = [len(sequence) for sequence in self.sequences] or [0]
        return f", lengths {min(lengths)} to {max(lengths)}"


@dataclass
class _Reading:
    """The records of a file as they are found."""

    source: Source

    def __post_init__(self) -> None:
        self.names: dict[str, int] = {}
        self.descriptions: list[str] = []
        self.sequences: list[str] = []

    def lines(self) -> Iterator[tuple[int, str]]:
        """Lines without their ends, with their numbers."""
        for number, line in enumerate(self.source.lines(), 1):
            if number % _EVERY == 0:
                self.source.check_time(number)
            yield number, line.rstrip("\r\n")

    def name(self, line: int, header: str) -> None:
        """Take the name and the description out of a header."""
        name, _, description = header[1:].strip().replace("\t", " ").partition(" ")
        if not name:
            self.refuse("The header has no name.", f"Write it as {header[:1]}name.", line)
        if name in self.names:
            problem = f"The name {shown(name)} is that of the sequence in line {self.names[name]}, too."
            self.refuse(problem, "Rename one of them, or remove a repeated record.", line)
        if len(self.names) >= self.source.limits.rows:
            most = f"{self.source.limits.rows:,}"
            self.refuse(f"There are more than {most} sequences, the limit.", "Split the file.", line)
        self.names[name] = line
        self.descriptions.append(description.strip())

    def letters(self, line: int, text: str) -> str:
        """Check a line of letters."""
        if not _LETTERS.fullmatch(text):
            match = _LETTERS.match(text)
            at = match.end() if match else 0
            raise self.source.error(
                f"{shown(text[at])} is not a letter of a sequence; letters, * and - are accepted.",
                "Remove it, or write N (nucleotides) or X (amino acids) for what is unknown.",
                line=line,
                character=at + 1,
            )
        return text

    def refuse(self, problem: str, fix: str, line: int) -> NoReturn:
        """Raise an error about a line."""
        raise self.source.error(problem, fix, line=line)

    def check_length(self, line: int, length: int) -> None:
        """Refuse a sequence that is longer than allowed."""
        most = self.source.limits.sequence
        if length > most:
            problem = f"The sequence has more than {most:,} letters, the limit."
            self.refuse(problem, "Cut it into pieces, or allow more with Limits(sequence=...).", line)

    def dataset(self, format: str) -> Sequences:
        """Return all records."""
        if not self.sequences:
            self.refuse("There is no sequence.", "Give at least one record.", 1)
        lower = sum(any(map(str.islower, set(s))) and any(map(str.isupper, set(s))) for s in self.sequences)
        notes = ()
        if lower:
            notes = (f"{lower} sequences mix lower-case and upper-case letters, which kernels treat as different.",)
        names, descriptions = tuple(self.names), tuple(self.descriptions)
        return Sequences(self.source.path, format, self.sequences, names, descriptions, notes=notes)


def read_fasta(source: Source) -> Sequences:
    """Read FASTA: each sequence on any number of lines after its header."""
    reading = _Reading(source)
    pieces: list[str] = []
    length, begin = 0, 0

    def close() -> None:
        if begin and not pieces:
            reading.refuse("The sequence is empty.", "Add its letters, or remove the record.", begin)
        if begin:
            reading.sequences.append("".join(pieces))

    for number, line in reading.lines():
        if line.startswith(">"):
            close()
            reading.name(number, line)
            pieces, length, begin = [], 0, number
        elif not (text := line.strip()):
            continue
        elif not begin:
            reading.refuse(
                f"{shown(text)} comes before the first header.", "Begin each sequence with a line '>name'.", number
            )
        else:
            pieces.append(reading.letters(number, text))
            length += len(text)
            reading.check_length(number, length)
    close()
    return reading.dataset("fasta")


def read_fastq(source: Source) -> Sequences:
    """Read FASTQ: four lines per record, of which the qualities are checked and dropped."""
    reading = _Reading(source)
    lines = reading.lines()
    for number, header in lines:
        if not header.strip():
            continue
        if not header.startswith("@"):
            problem = f"{shown(header)} stands where '@name' is expected; a record has four lines."
            reading.refuse(problem, "Write each sequence and its qualities on one line.", number)
        reading.name(number, header)
        record = [line for _, line in zip(range(3), lines, strict=False)]
        if len(record) < 3:
            reading.refuse("The last record is cut off; a record has four lines.", "Complete it.", number)
        (at, letters), (middle, plus), (end, qualities) = record
        if not letters.strip():
            reading.refuse("The sequence is empty.", "Add its letters, or remove the record.", at)
        letters = reading.letters(at, letters.strip())
        reading.check_length(at, len(letters))
        if not plus.startswith("+") or plus[1:].strip() not in ("", header[1:].strip()):
            reading.refuse(f"{shown(plus)} stands where '+' is expected.", "Write '+' between the two.", middle)
        qualities = qualities.strip()
        if len(qualities) != len(letters) or not _QUALITIES.fullmatch(qualities):
            problem = f"There are {len(letters)} letters, but not as many qualities (characters ! to ~)."
            reading.refuse(problem, "Give every letter one quality.", end)
        reading.sequences.append(letters)
    return reading.dataset("fastq")

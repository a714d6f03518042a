"""svmlight, the format of LIBSVM: a label and ``index:value`` pairs per line.

Indices count from 1, unless one of them is 0: then all count from 0. They ascend within a line and are at
most 2^31 - 2. ``qid:7`` may follow the label, on every line or on none. ``#`` begins a comment.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Index
from mercer.io.datasets import Dataset, rows_of
from mercer.io.formats import REAL, SVMLIGHT
from mercer.io.limits import FileError, shown
from mercer.io.source import Source

__all__ = ["Sparse", "read_svmlight"]

LARGEST = 2**31 - 2
NUMBER = re.compile(REAL)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_TARGETS = ("label", "y", "target")
_CHUNK = 2**16  # pairs converted at a time


@dataclass(frozen=True, eq=False, repr=False)
class Sparse(Dataset):
    """Sparse vectors with a label each.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    matrix : (n, width) scipy.sparse.csr_array
        The vectors.
    label : (n,) float64 array
        The numbers at the beginnings of the lines.
    zero_based : bool
        Whether indices count from 0 in the file.
    qid : (n,) int64 array, optional
        The query of each line.
    """

    kind: ClassVar[str] = "sparse"
    matrix: Any
    label: Floats
    zero_based: bool = False
    qid: NDArray[np.int64] | None = None

    @property
    def n(self) -> int:
        """Number of lines."""
        return self.matrix.shape[0]

    @property
    def X(self) -> Any:
        """The vectors, a CSR array."""
        return self.matrix

    @property
    def y(self) -> Floats:
        """The labels."""
        return self.label

    @property
    def width(self) -> int:
        """Number of columns: the largest index of the file."""
        return self.matrix.shape[1]

    @property
    def targets(self) -> tuple[str, ...]:
        """The label."""
        return _TARGETS[:1]

    def take(self, index: Index) -> Self:
        """Return some of the vectors."""
        rows = rows_of(index, self.n)
        qid = None if self.qid is None else self.qid[rows]
        return replace(self, matrix=self.matrix[rows], label=self.label[rows], qid=qid)

    def split_target(self, name: str | None = None) -> tuple[Sparse, Floats]:
        """Return the vectors and the labels; the name may be left out."""
        if name is not None and name not in _TARGETS:
            raise self._no_target(name)
        return self, self.label

    def aligned(self, width: int, zero_based: bool | None = None) -> Sparse:
        """Return the same vectors with the columns of another file, such as the one that a model was fitted to.

        Parameters
        ----------
        width : int
            Number of columns of the other file.
        zero_based : bool, optional
            Whether its indices count from 0. A file that happens to have no index 0 is counted the same way.

        Raises
        ------
        FileError
            There are indices beyond the columns.
        """
        shift = 0 if zero_based is None else int(zero_based) - int(self.zero_based)
        indices = self.matrix.indices
        if len(indices) and (indices.max() + shift >= width or indices.min() + shift < 0):
            base = 0 if zero_based or (zero_based is None and self.zero_based) else 1
            largest = self.width - 1 if self.zero_based else self.width
            raise FileError(
                self.path,
                f"Indices go up to {largest}{' and down to 0' * self.zero_based}; {width} columns, counted from "
                f"{base}, are accepted.",
                "Count the columns from the same number, and remove pairs of columns that the other lacks.",
                row=int(np.searchsorted(self.matrix.indptr, int(indices.argmax()), side="right")),
            )
        parts = (self.matrix.data, indices + shift, self.matrix.indptr)
        matrix = sp.csr_array(parts, shape=(self.n, width))
        based = self.zero_based if zero_based is None else zero_based
        return replace(self, matrix=matrix, zero_based=based)

    def describe(self) -> dict[str, Any]:
        """Return what is known about the vectors."""
        return {
            **super().describe(),
            "width": self.width,
            "used": len(np.unique(self.matrix.indices)),
            "stored": int(self.matrix.nnz),
            "zero_based": self.zero_based,
            "queries": None if self.qid is None else len(np.unique(self.qid)),
            "labels": len(np.unique(self.label)),
        }

    def _summary(self) -> str:
        return f", {self.width} columns, {self.matrix.nnz} stored values"


def read_svmlight(source: Source) -> Sparse:
    """Read sparse vectors with labels."""
    reading = _Reading(source)
    for number, line in enumerate(source.lines(), 1):
        text = line.partition("#")[0]
        if text.strip():
            reading.add(number, text)
    return reading.dataset()


@dataclass
class _Reading:
    """What was read so far; pairs are converted many lines at a time."""

    source: Source
    labels: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))
    pending: list[str] = field(default_factory=list)
    indices: list[NDArray[np.int64]] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    converted: int = 0  # lines whose pairs are converted

    def add(self, number: int, text: str) -> None:
        """Add one line, comments taken off."""
        limits = self.source.limits
        if len(text) > limits.line:
            raise self.source.error(
                f"The line has more than {limits.line:,} characters, the limit.",
                "Write one sample per line, or allow more with Limits(line=...).",
                line=number,
            )
        if not SVMLIGHT.fullmatch(text):
            self._refuse(number, text)
        label, *pairs = text.split()
        if pairs and pairs[0].startswith("qid:"):
            self.queries.append(pairs.pop(0)[4:])
        if len(self.queries) not in (0, len(self.labels) + 1):
            raise self.source.error(
                "Some lines have a qid, others have none.",
                "Give every line a qid after the label, or none.",
                line=number,
            )
        self.labels.append(label)
        self.lines.append(number)
        self.counts.append(len(pairs))
        self.pending += pairs
        if len(self.lines) > limits.rows:
            raise self.source.error(
                f"There are more than {limits.rows:,} rows, the limit.",
                "Split the file, or allow more with Limits(rows=...).",
                line=number,
            )
        if len(self.pending) > _CHUNK:
            self._convert()

    def _convert(self) -> None:
        """Turn the pending pairs into numbers, and check them."""
        self.source.check_time(self.lines[-1])
        tokens = ":".join(self.pending).split(":") if self.pending else []
        owners = np.repeat(np.arange(self.converted, len(self.lines)), self.counts[self.converted :])
        # As floats, which are exact far beyond the largest index and quick for any number of digits.
        indices = np.fromiter(map(float, tokens[0::2]), np.float64, len(owners))
        values = np.fromiter(map(float, tokens[1::2]), np.float64, len(owners))
        for wrong, problem, fix in (
            (indices > LARGEST, f"exceeds the largest index, {LARGEST}", "Number the columns from 1."),
            (~np.isfinite(values), "has a value too large for a number", "Write a finite number."),
            (
                np.r_[np.zeros(min(1, len(owners)), bool), (np.diff(indices) <= 0) & (np.diff(owners) == 0)],
                "does not ascend: its index is not larger than the one before",
                "Sort the pairs of the line by their index, and keep each index once.",
            ),
        ):
            if wrong.any():
                at = int(wrong.argmax())
                row = int(owners[at])
                position = at - int(np.searchsorted(owners, row)) + (3 if self.queries else 2)
                text = shown(self.pending[at])
                raise self.source.error(f"The pair {text} {problem}.", fix, line=self.lines[row], column=position)
        self.indices.append(indices.astype(np.int64))
        self.values.append(values)
        self.pending.clear()
        self.converted = len(self.lines)

    def dataset(self) -> Sparse:
        """Return all lines as one matrix."""
        if not self.lines:
            raise self.source.error("There is no sample, only blank lines and comments.", "Add one.", line=1)
        self._convert()
        indices, values = np.concatenate(self.indices), np.concatenate(self.values)
        zero_based = bool((indices == 0).any())
        width = int(indices.max(initial=0)) + zero_based
        if not zero_based:
            indices -= 1
        ends = np.concatenate(([0], np.cumsum(np.array(self.counts, dtype=np.int64))))
        kind = np.int32 if ends[-1] <= LARGEST else np.int64
        matrix = sp.csr_array((values, indices.astype(kind), ends.astype(kind)), shape=(len(self.lines), width))
        return Sparse(
            self.source.path,
            "svmlight",
            matrix,
            self._numbers(self.labels),
            zero_based,
            self._qid(),
            notes=self._notes(indices, width, zero_based),
        )

    def _numbers(self, texts: list[str]) -> Floats:
        numbers = np.fromiter(map(float, texts), np.float64, len(texts))
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            row = int(infinite[0])
            raise self.source.error(
                f"The label {shown(texts[row])} is too large for a number.",
                "Write a finite number.",
                line=self.lines[row],
                column=1,
            )
        return numbers

    def _qid(self) -> NDArray[np.int64] | None:
        if not self.queries:
            return None
        for row, text in enumerate(self.queries):
            if len(text) > 18:
                raise self.source.error(
                    f"The qid {shown(text)} is too large.", "Number the queries from 1.", line=self.lines[row]
                )
        return np.fromiter(map(int, self.queries), np.int64, len(self.queries))

    def _notes(self, indices: NDArray[np.int64], width: int, zero_based: bool) -> tuple[str, ...]:
        notes = []
        if zero_based:
            notes.append("There is an index 0, so indices are counted from 0.")
        used = len(np.unique(indices))
        if width > 1000 * max(used, 1):
            notes.append(f"Only {used} of {width} columns hold a value: is the largest index right?")
        if width == 0:
            notes.append("No line holds a pair: all vectors are zero.")
        return tuple(notes)

    def _refuse(self, line: int, text: str) -> NoReturn:
        """Find what is wrong with a line that is not of the format."""
        for position, token in enumerate(text.split()):
            problem, fix = _wrong(position, token)
            if problem:
                raise self.source.error(f"{shown(token)} {problem}.", fix, line=line, column=position + 1)
        raise self.source.error(
            "The line is not a label and index:value pairs.", "Write it as '1 3:0.5 7:2'.", line=line
        )


def _wrong(position: int, token: str) -> tuple[str, str]:
    """What is wrong with a token, and the fix; two empty texts if nothing is."""
    if position == 0:
        if NUMBER.fullmatch(token):
            return "", ""
        if "," in token:
            return "is not one number; one label per line is accepted", "Write one file per label."
        if ":" in token:
            return "stands where the label is expected", "Begin each line with a label, 0 if it is unknown."
        return "is not a label; a finite number is accepted", "Number the classes, for example -1 and 1."
    index, colon, value = token.partition(":")
    if not colon:
        return "is not an index:value pair", "Write an index and a value with a colon between, without blanks."
    if index == "qid":
        good = position == 1 and value.isascii() and value.isdigit()
        return ("", "") if good else ("is a qid out of place or not an integer", "Write qid:1 after the label.")
    if not _INTEGER.fullmatch(index) or index[0] in "+-":
        return "has no index counted from 1", "Number the columns, and write their numbers before the colons."
    if not NUMBER.fullmatch(value):
        return "has no finite number after the colon", "Leave the pair out if the value is missing."
    return "", ""

"""Gram matrices in NumPy's ``.npy`` format, with the names of the samples in a text file beside them.

The names of ``kernel.npy`` are the lines of ``kernel.ids``, ``kernel.ids.txt`` or ``kernel.txt``, the first
that exists. Objects and pickles are never loaded; nothing is allocated that the size of the file contradicts.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Index
from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import FileError, shown
from mercer.io.source import NUMPY, Source

__all__ = ["GramMatrix", "read_gram", "read_gram_rows"]

_HEADER = 2**16  # bytes: a matrix of numbers needs 118
_KIND = re.compile(r"'descr'\s*:\s*'([^']{1,20})'")
# As numpy.save writes it. A stricter reader than NumPy's, and the only one: nothing is evaluated.
_FORM = re.compile(
    r"\{\s*'descr'\s*:\s*'(?P<kind>[<>|=]?[fiu][1248])'\s*,\s*'fortran_order'\s*:\s*(?P<fortran>True|False)\s*,"
    r"\s*'shape'\s*:\s*\((?P<shape>(?:\s*[0-9]{1,18}\s*(?:,|(?=\))))*)\s*\)\s*,?\s*\}\s*"
)
_TILE = 512
_TOLERANCE = 1e-8  # asymmetry allowed, relative to the largest entry: that of the domain Similarities
_SIDECARS = (".ids", ".ids.txt", ".txt")


@dataclass(frozen=True, eq=False, repr=False)
class GramMatrix(Dataset):
    """Similarities of samples among themselves, or of new samples with training samples.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    matrix : (n, n) or (n, training) array
        The similarities, on disk until they are used.
    labels : tuple of str, optional
        The name of each sample.
    """

    kind: ClassVar[str] = "gram"
    matrix: NDArray[Any]
    labels: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.matrix.shape[0]

    @property
    def X(self) -> NDArray[Any]:
        """The matrix."""
        return self.matrix

    @property
    def ids(self) -> tuple[str, ...] | None:
        """Names of the samples, from the file beside the matrix."""
        return self.labels

    @property
    def is_square(self) -> bool:
        """Whether the samples are compared with each other rather than with training samples."""
        return self.format == "gram"

    def take(self, index: Index) -> Self:
        """Return the matrix of some samples; of a square one, rows and columns are taken."""
        rows = rows_of(index, self.n)
        matrix = self.matrix[rows[:, None], rows] if self.is_square else self.matrix[rows]
        labels = None if self.labels is None else tuple(self.labels[row] for row in rows)
        return replace(self, matrix=matrix, labels=labels)

    def split_target(self, name: str | None = None) -> tuple[Dataset, NDArray[Any]]:
        """Refuse: a Gram matrix holds no target."""
        raise self._no_target(name)

    def describe(self) -> dict[str, Any]:
        """Return what is known about the matrix."""
        known = {"shape": list(self.matrix.shape), "dtype": str(self.matrix.dtype), "named": self.labels is not None}
        return {**super().describe(), **known}

    def _summary(self) -> str:
        return f", {self.matrix.shape[0]} x {self.matrix.shape[1]} {self.matrix.dtype}"


def read_gram(source: Source) -> GramMatrix:
    """Read a square matrix of similarities: finite and symmetric."""
    matrix = _mapped(source)
    n, columns = matrix.shape
    if n != columns:
        raise source.error(
            f"The matrix is {n} x {columns}; similarities of samples among themselves are a square matrix.",
            "Compute the whole matrix; similarities of new with training samples are read with format='gram-rows'.",
            row=min(n, columns) + 1,
        )
    _check_finite(source, matrix)
    _check_symmetric(source, matrix)
    return GramMatrix(source.path, "gram", matrix, _sidecar(source, n))


def read_gram_rows(source: Source) -> GramMatrix:
    """Read similarities of new samples (rows) with training samples (columns): finite."""
    matrix = _mapped(source)
    _check_finite(source, matrix)
    return GramMatrix(source.path, "gram-rows", matrix, _sidecar(source, matrix.shape[0]))


def _mapped(source: Source) -> NDArray[Any]:
    """The matrix, mapped into memory once its header agrees with the size of the file."""
    if source.compressed:
        raise source.error("A compressed .npy file cannot be mapped.", "Unpack it first (gunzip).", byte=0)
    dtype, shape, order, start = _header(source)
    if len(shape) != 2 or 0 in shape:
        raise source.error(
            f"The array has shape {shape}; a matrix with at least one row and column is accepted.",
            "Save the matrix of similarities: numpy.save(path, K).",
            byte=0,
        )
    need = start + math.prod(shape) * dtype.itemsize
    if need != source.size:
        raise source.error(
            f"The header announces {need} bytes ({shape[0]} x {shape[1]} {dtype}), the file has {source.size}: it "
            "is cut off or damaged.",
            "Save or copy the matrix again.",
            byte=min(need, source.size),
        )
    return np.memmap(source.path, dtype=dtype, mode="r", offset=start, shape=shape, order=order)


def _header(source: Source) -> tuple[np.dtype[Any], tuple[int, ...], Literal["C", "F"], int]:
    """Type, shape, order and the byte at which the numbers begin, from a header of numbers only."""
    head = source.head
    size = 2 if head[6:7] == b"\x01" else 4
    if not head.startswith(NUMPY) or head[6:8] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00") or len(head) < 8 + size:
        raise source.error(
            "The file is not of NumPy's .npy format (or only its beginning).",
            "Save the matrix again: numpy.save(path, K).",
            byte=0,
        )
    start = 8 + size + int.from_bytes(head[8 : 8 + size], "little")
    if start > min(_HEADER, len(head)):
        raise source.error(
            f"The header announces a length of {start} bytes: it is cut off or damaged.",
            "Save the matrix again: numpy.save(path, K).",
            byte=8,
        )
    text = head[8 + size : start].decode("latin-1")
    form = _FORM.fullmatch(text)
    if form is None or form["kind"].endswith("f1"):
        found = _KIND.search(text)
        kind = f" ({shown(found[1])})" if found else ""
        raise source.error(
            f"The header is not that of a matrix of real numbers{kind}; what needs a pickle is not loaded.",
            "Save the matrix as numbers: numpy.save(path, K.astype(float)).",
            byte=8 + size,
        )
    shape = tuple(int(number) for number in re.findall(r"[0-9]+", form["shape"]))
    return np.dtype(form["kind"]), shape, "F" if form["fortran"] == "True" else "C", start


def _check_finite(source: Source, matrix: NDArray[Any]) -> None:
    if matrix.dtype.kind != "f":
        return
    height = max(1, _TILE * _TILE // matrix.shape[1])
    for start in range(0, len(matrix), height):
        finite = np.isfinite(matrix[start : start + height])
        if not finite.all():
            row, column = divmod(int(finite.argmin()), matrix.shape[1])
            raise source.error(
                f"The similarity is {matrix[start + row, column]}; finite numbers are accepted.",
                "Recompute it, or leave the sample out.",
                row=start + row + 1,
                column=column + 1,
            )
        source.check_time()


def _check_symmetric(source: Source, matrix: NDArray[Any]) -> None:
    n, scale, gap, worst = len(matrix), 0.0, 0.0, (0, 0)
    for i in range(0, n, _TILE):
        for j in range(0, i + 1, _TILE):
            forth = matrix[i : i + _TILE, j : j + _TILE].astype(np.float64)
            back = matrix[j : j + _TILE, i : i + _TILE].T.astype(np.float64)
            with np.errstate(over="ignore"):
                gaps = np.abs(forth - back)
            scale = max(scale, float(np.abs(forth).max()), float(np.abs(back).max()))
            at = int(gaps.argmax())
            if gaps.flat[at] > gap:
                gap, worst = float(gaps.flat[at]), (i + at // gaps.shape[1], j + at % gaps.shape[1])
        source.check_time()
    if gap > _TOLERANCE * scale:
        i, j = worst
        raise source.error(
            f"The matrix is not symmetric: the similarity is {matrix[i, j]:.6g}, that of the same two samples in "
            f"row {j + 1} and column {i + 1} is {matrix[j, i]:.6g}.",
            "Use (K + K.T) / 2 if the difference is noise; otherwise it is not a kernel.",
            row=i + 1,
            column=j + 1,
        )


def _sidecar(source: Source, n: int) -> tuple[str, ...] | None:
    """The names of the samples, if there is a file of them."""
    path = next((p for p in map(source.path.with_suffix, _SIDECARS) if p.is_file()), None)
    if path is None:
        return None
    beside = Source.open(path, source.limits)
    seen: dict[str, int] = {}
    for number, line in enumerate(beside.lines(), 1):
        name = line.strip()
        if not name or name in seen:
            problem = f"The name {shown(name)} is that of line {seen[name]}, too." if name else "The line is empty."
            raise beside.error(f"{problem} Each sample needs a name of its own.", "Correct it.", line=number)
        if number > n:
            raise _miscounted(beside, source, n, number)
        seen[name] = number
    if len(seen) != n:
        raise _miscounted(beside, source, n, len(seen))
    return tuple(seen)


def _miscounted(beside: Source, source: Source, n: int, line: int) -> FileError:
    more = "more" if line > n else "fewer"
    return beside.error(
        f"There are {more} names than the {n} samples of {source.path.name}.",
        "Write the name of each sample on a line of its own, in the order of the rows, or remove this file.",
        line=line,
    )

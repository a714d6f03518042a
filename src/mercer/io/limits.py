"""What a reader may take from a file, and the errors that say where a file is wrong and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mercer.budget import Clock, budget, format_bytes
from mercer.errors import MemoryBudgetError, MercerError, ParameterError, TimeBudgetError, printable

__all__ = ["FileBudgetError", "FileError", "FileTimeError", "Limits", "shown"]
__public__ = ["FileBudgetError", "FileError", "FileTimeError", "Limits"]

_SHOWN = 40  # characters of a value quoted in a message
_PLACES = ("line", "row", "column", "character", "byte")


def shown(value: Any) -> str:
    """Return a value as a message quotes it: escaped, in quotes, cut if long.

    Examples
    --------
    >>> shown("1e400"), shown("x" * 99)
    ("'1e400'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    text = str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


class FileError(MercerError, ValueError):
    """A file cannot be read, and why: the place, what is there, what to do about it.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        One sentence: what is there, and what is accepted.
    fix : str
        One sentence: what to do.
    line, row, column, character, byte : int, optional
        Where. All but ``byte``, an offset, are counted from 1; a line is one of the text, a row a sample.
    name : str, optional
        Name of the column.

    Examples
    --------
    >>> print(FileError("data.csv", "'1e400' is too large.", "Write 1e300.", line=17, column=3, name="age"))
    data.csv, line 17, column 3 ('age'): '1e400' is too large. Write 1e300.
    """

    def __init__(self, path: Any, problem: str, fix: str, *, name: str | None = None, **place: int | None) -> None:
        self.path, self.problem, self.fix, self.name = Path(path), problem, fix, name
        self.line, self.row, self.column = place.get("line"), place.get("row"), place.get("column")
        self.character, self.byte = place.get("character"), place.get("byte")
        super().__init__(printable(f"{self.place}: {problem} {fix}"))

    @property
    def place(self) -> str:
        """The file and the place in it."""
        parts = [str(self.path)]
        for word in _PLACES:
            number = getattr(self, word)
            if number is not None:
                parts.append(f"{word} {number}")
            if word == "column" and self.name is not None:
                parts[-1] += f" ({shown(self.name)})" if number is not None else f", column {shown(self.name)}"
        return ", ".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        place = {word: getattr(self, word) for word in _PLACES}
        return _rebuilt, (type(self), (self.path, self.problem, self.fix), {"name": self.name, **place})


def _rebuilt(kind: type[FileError], arguments: tuple[Any, ...], place: dict[str, Any]) -> FileError:
    return kind(*arguments, **place)


class FileBudgetError(FileError, MemoryBudgetError):
    """A file is well formed as far as it was read, but its content would not fit in memory."""


class FileTimeError(FileError, TimeBudgetError):
    """Reading a file took longer than allowed."""


@dataclass(frozen=True)
class Limits:
    """How much of everything a reader takes from a file before it refuses.

    The defaults are generous for data and tight for attacks. Nothing is allocated for what a file merely
    claims to hold.

    Parameters
    ----------
    memory : int, float, str or None
        Bytes, or text such as ``"2GB"``, for what is read. None: 70 % of what is free.
    bytes : int
        Size of a file, after decompression.
    rows, columns : int
        Samples and columns of a table. (Indices of sparse data have a bound of their own, 2^31 - 2.)
    field : int
        Characters of one field of a delimited file.
    line : int
        Bytes of one line of JSON or svmlight.
    sequence : int
        Letters of one sequence.
    depth : int
        Nesting of JSON.
    ratio : float
        Decompressed over compressed size; files of up to a million bytes may exceed it. Of Parquet, whose pages are
        compressed and whose rows may be repeated by a few bytes: memory over the size of the file, beyond 64 MB.
    seconds : float or None
        Time for one file; None for no limit.

    Examples
    --------
    >>> Limits(memory="2GB").columns
    100000
    """

    memory: int | float | str | None = None
    bytes: int = 4 * 2**30
    rows: int = 100_000_000
    columns: int = 100_000
    field: int = 1_000_000
    line: int = 16 * 2**20
    sequence: int = 100_000_000
    depth: int = 100
    ratio: float = 200.0
    seconds: float | None = 600.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "memory" or (value is None and item.name == "seconds"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ParameterError(
                    f"Limits({item.name}={value!r}) is not a limit; a positive number is accepted. "
                    f"The default is {item.default!r}."
                )

    def require(self, path: Any, what: str, size: int, **place: Any) -> None:
        """Refuse a file whose content, ``size`` bytes in memory, is more than the budget."""
        allowed = budget(self.memory)
        if size > allowed:
            raise FileBudgetError(
                path,
                f"{what} needs about {format_bytes(size)} of memory, the budget is {format_bytes(allowed)}.",
                "Split the file, keep fewer rows or columns, or allow more with Limits(memory=...).",
                **place,
            )

    def clock(self) -> Clock:
        """Start the clock for one file."""
        return Clock.start(self.seconds)

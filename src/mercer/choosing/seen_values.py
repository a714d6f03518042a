"""What a search has seen, in a file from which the same search goes on: numbers as JSON, which keeps all their bits."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib

from mercer.errors import ParameterError

__all__ = ["SeenFile", "SeenValues", "digest"]


def digest(*parts: Any) -> str:
    """Return a mark of objects that differs if any of them does; of what cannot be pickled, the mark of its text.

    Examples
    --------
    >>> digest([1.0, 2.0]) == digest([1.0, 2.0]), digest([1.0, 2.0]) == digest([1.0, 3.0])
    (True, False)
    """
    marks = []
    for part in parts:
        try:
            marks.append(str(joblib.hash(part)))
        except Exception:  # functions without a name, open files: whatever pickle refuses, by any error
            marks.append(repr(part))
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()


class SeenFile:
    """A file that belongs to one search.

    Parameters
    ----------
    path : str or path
    stamp : str
        The mark of all that its contents depend on.
    """

    def __init__(self, path: Any, stamp: str) -> None:
        self.path, self.stamp = Path(os.fspath(path)), stamp
        if not self.path.absolute().parent.is_dir() or self.path.is_dir():
            raise ParameterError(
                f"checkpoint={os.fspath(path)!r} was given; a file in a folder that exists is accepted. Make the "
                "folder, or name another file."
            )

    def read(self) -> Any:
        """Return what was kept; None if there is nothing, or what there is belongs to another search."""
        if not self.path.exists():
            return None
        try:
            kept = json.loads(self.path.read_text("utf-8"))
            stamp, seen = kept["stamp"], kept["seen"]
        except (ValueError, KeyError, TypeError) as error:
            raise ParameterError(
                f"checkpoint={str(self.path)!r} was given, which is not that of a search and is not replaced; a new "
                "name, or the file of a search, is accepted. Name another file, or remove this one."
            ) from error
        return seen if stamp == self.stamp else None

    def write(self, seen: Any) -> None:
        """Keep something in place of what was there: a crash leaves the old file or the new one."""
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(json.dumps({"stamp": self.stamp, "seen": seen}, default=float), "utf-8")
        os.replace(beside, self.path)


class SeenValues:
    """Values of a criterion by candidate, in a file if there is one.

    Parameters
    ----------
    file : SeenFile, optional
    """

    def __init__(self, file: SeenFile | None) -> None:
        self.file = file
        self.values: dict[str, float] = (file.read() if file is not None else None) or {}

    def get(self, params: Mapping[str, Any]) -> float | None:
        """Return the value of a candidate; None if it was not seen."""
        return self.values.get(digest(sorted(params.items()))) if self.values else None

    def keep(self, params: Mapping[str, Any], value: float) -> None:
        """Enter the value of a candidate; `flush` writes it."""
        if self.file is not None:
            self.values[digest(sorted(params.items()))] = float(value)

    def flush(self) -> None:
        """Write all values to the file."""
        if self.file is not None:
            self.file.write(self.values)

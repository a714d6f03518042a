"""What the browser sends, checked: every view takes its numbers, points and kernels from here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Frames, Vectors
from mercer.errors import ParameterError
from mercer.kernels import Kernel
from mercer.language import parse

__all__ = ["Form"]

MOST_POINTS = 2000
FARTHEST = 1e6


class Form:
    """The fields of a request.

    Parameters
    ----------
    fields : mapping
        As they were sent.

    Examples
    --------
    >>> Form({"C": 2}).number("C", 0.1, 10.0)
    2.0
    """

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, Mapping):
            raise ParameterError("The request is not an object with named fields. Send {...}.")
        self.fields = fields

    def _get(self, name: str, accepted: str) -> Any:
        if name not in self.fields:
            raise ParameterError(f"The field {name!r} is missing; {accepted} is needed. Send it.")
        return self.fields[name]

    def number(self, name: str, low: float, high: float) -> float:
        """Return a number within bounds."""
        accepted = f"a number from {low:g} to {high:g}"
        value = self._get(name, accepted)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise ParameterError(f"{name} = {str(value)[:40]!r} was given; {accepted} is accepted. Change it.")
        return float(value)

    def whole(self, name: str, low: int, high: int) -> int:
        """Return a whole number within bounds."""
        value = self.number(name, low, high)
        if value != int(value):
            raise ParameterError(f"{name} = {value:g} was given; a whole number is accepted. Round it.")
        return int(value)

    def choice(self, name: str, among: Sequence[str]) -> str:
        """Return one of some words."""
        accepted = f"one of {', '.join(among)}"
        value = self._get(name, accepted)
        if not isinstance(value, str) or value not in among:
            raise ParameterError(f"{name} = {str(value)[:40]!r} was given; {accepted} is accepted. Choose one.")
        return value

    def text(self, name: str, longest: int = 4096) -> str:
        """Return a text that is not too long."""
        value = self._get(name, "a text")
        if not isinstance(value, str) or len(value) > longest:
            raise ParameterError(f"{name} is not a text of at most {longest} characters. Shorten it.")
        return value

    def flag(self, name: str) -> bool:
        """Return whether something is wanted; false if it is not given."""
        return self.fields.get(name) is True

    def points(self, name: str = "points", width: int = 2, least: int = 0) -> Floats:
        """Return rows of numbers, (n, width)."""
        accepted = f"a list of {least} to {MOST_POINTS} rows of {width} numbers"
        rows = self._get(name, accepted)
        good = isinstance(rows, list) and least <= len(rows) <= MOST_POINTS
        good = good and all(isinstance(row, list) and len(row) == width and all(map(_is_plain, row)) for row in rows)
        if not good:
            count = f"{len(rows)} rows" if isinstance(rows, list) else str(rows)[:40]
            raise ParameterError(f"{name}: {count} were given; {accepted} is accepted. Add or remove points.")
        return np.array(rows, dtype=float).reshape(len(rows), width)

    def kernel(self, name: str = "kernel", of: Sequence[type] | None = (Vectors, Frames)) -> Kernel:
        """Return the kernel that a text of mercer's grammar describes, of one of some domains."""
        kernel = parse(self.text(name))
        if not isinstance(kernel, Kernel):
            raise ParameterError(
                f"{self.text(name)[:60]!r} is a {type(kernel).__name__}; a kernel is needed. Write Gaussian(1.0)."
            )
        if of is not None and kernel.domain not in of:
            raise ParameterError(
                f"{kernel!r} compares {kernel.domain.__name__}; here points are compared. Choose a kernel on vectors."
            )
        return kernel


def _is_plain(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and abs(value) <= FARTHEST

"""Targets that are numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.errors import TargetError
from mercer.targets.target import Target, numbers

__all__ = ["Real"]
__public__ = __all__


@dataclass(frozen=True)
class Real(Target):
    """Real numbers, one per sample or several; predictions have the shape that y had.

    Parameters
    ----------
    several : bool, default True
        Whether y may have several columns; if not, a single column is taken as a vector, with a warning.
    columns : int, optional
        Learned: the number of columns of y; None if y was a vector or was not seen yet.

    Examples
    --------
    >>> target = Real().learn([[1, 2], [3, 4], [5, 6]])
    >>> target.encode([[1, 2], [3, 4], [5, 6]])
    array([[1., 2.],
           [3., 4.],
           [5., 6.]])
    """

    several: bool = True
    columns: int | None = None

    def learn(self, y: Any) -> Self:
        return self.read(y)[0]

    def read(self, y: Any) -> tuple[Self, Floats]:
        values = numbers(y, self.several)
        return replace(self, columns=values.shape[1] if values.ndim == 2 else None), values

    def encode(self, y: Any) -> Floats:
        values = numbers(y, self.several, warn=False)
        columns = values.shape[1] if values.ndim == 2 else None
        if columns != self.columns:
            known, given = _words(self.columns), _words(columns)
            raise TargetError(f"y is {given}; the y learned from was {known}. Give y in that shape.")
        return values

    def decode(self, f: Floats) -> Floats:
        return np.asarray(f).reshape(len(f)) if self.columns is None else np.asarray(f).reshape(len(f), -1)


def _words(columns: int | None) -> str:
    return "a vector" if columns is None else f"a matrix of {columns} columns"

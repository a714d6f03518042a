"""Targets of which only some are known: classes with a mark for the others, numbers with NaN."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Bools, Floats, Indices
from mercer.errors import TargetError
from mercer.targets.target import Target, class_codes, find_classes, labels, numbers, places_of

__all__ = ["PartialClasses", "PartialReal"]
__public__ = __all__


def _none_yet() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class PartialClasses(Target):
    """Classes of some samples; a mark in place of a label says that it is not known.

    Parameters
    ----------
    unlabelled : object, default -1
        The mark, as in scikit-learn's `semi_supervised`; None for texts, where NaN counts as None too.
    classes : (c,) array, optional
        Learned: the labels in sorted order, without the mark.

    Examples
    --------
    >>> target, codes = PartialClasses().read([3, -1, 5, 3])
    >>> target.classes, codes
    (array([3, 5]), array([ 0, -1,  1,  0]))
    """

    unlabelled: Any = -1
    classes: Array = field(default_factory=_none_yet)

    def learn(self, y: Any) -> Self:
        return self.read(y)[0]

    def read(self, y: Any) -> tuple[Self, Indices]:
        known, values = self._split(y)
        if self.unlabelled == -1 and len(values) and values.dtype.kind in "if" and np.all(values == 1):
            raise TargetError(
                "y has the labels -1 and 1 alone, and unlabelled=-1 says that -1 marks samples whose label is not "
                "known; so only one class is present. If -1 is a class, give unlabelled=None, or another mark."
                if not known.all()
                else "Classifier can't train when only one class is present: all of y is 1. Two classes or more are "
                "needed. Add samples of another class."
            )
        learned = replace(self, classes=find_classes(values))
        codes = np.full(len(known), -1, dtype=np.intp)
        codes[known] = places_of(learned.classes, values)
        return learned, codes

    def _split(self, y: Any) -> tuple[Bools, Array]:
        """Return which samples have a label, and their labels, checked."""
        if y is None or np.ma.is_masked(y):
            labels(y)  # says so
        try:
            values = np.asarray(y, dtype=object if self.unlabelled is None and isinstance(y, (list, tuple)) else None)
        except ValueError:  # rows of different lengths
            labels(y)
            raise
        flat = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
        if flat.ndim != 1:
            found = labels(y)  # which says what is wrong
            return np.ones(len(found), dtype=bool), found
        if self.unlabelled is None:
            known = np.array([not _is_missing(value) for value in flat.tolist()], dtype=bool).reshape(len(flat))
        else:
            if flat.dtype == object and any(map(_is_missing, flat)):
                labels(y)  # refuses what is missing and not marked as unlabelled
            known = np.broadcast_to(np.asarray(flat != self.unlabelled), flat.shape)
        if known.all():
            return known, labels(y)
        if not known.any():
            raise TargetError(
                f"All {len(flat)} samples are unlabelled: every y is {self.unlabelled!r}, which marks samples whose "
                "label is not known. Two classes or more are needed. Give some labels, or another mark as unlabelled."
            )
        return known, labels(flat[known].tolist() if flat.dtype == object else flat[known])

    def encode(self, y: Any) -> Floats:
        return class_codes(self.classes, y).astype(float)

    def decode(self, f: Floats) -> Array:
        if np.ndim(f) == 1 or np.shape(f)[1] == 1:
            return self.classes[(np.asarray(f).reshape(len(f)) > 0.0).astype(np.intp)]
        return self.classes[np.argmax(f, axis=1)]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


@dataclass(frozen=True, eq=False)
class PartialReal(Target):
    """Numbers of some samples; NaN where they are not known.

    Parameters
    ----------
    single : bool, default False
        Whether a row of several numbers may be known in part; if not, all of it is known, or nothing.
    several : bool, default True
        Whether y may have several columns; if not, a single column is taken as a vector, with a warning.
    columns : int, optional
        Learned: the number of columns of y; None if y was a vector or was not seen yet.

    Examples
    --------
    >>> PartialReal().read([1.0, np.nan, 2.0])[1]
    array([ 1., nan,  2.])
    """

    single: bool = False
    several: bool = True
    columns: int | None = None

    def learn(self, y: Any) -> Self:
        return self.read(y)[0]

    def read(self, y: Any) -> tuple[Self, Floats]:
        if y is None or np.ma.is_masked(y):
            numbers(y, True)  # says so
        try:
            values: Floats = np.array(y, dtype=float)
        except (TypeError, ValueError):
            values = np.zeros((0, 0))
        missing = np.isnan(values)
        if values.ndim == 2 and not self.several:  # one column, or an error
            numbers(np.where(missing, 0.0, values), False)
            values, missing = values.ravel(), missing.ravel()
        if values.ndim not in (1, 2) or not missing.any():
            values = numbers(y, self.several)
            return replace(self, columns=values.shape[1] if values.ndim == 2 else None), values
        if missing.all():
            raise TargetError(
                f"All {len(values)} samples are unlabelled: every y is NaN, which marks samples whose target is not "
                "known. At least one number is needed. Give some targets."
            )
        if values.ndim == 2 and not self.single and np.any(missing.any(axis=1) & ~missing.all(axis=1)):
            row = int(np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))[0])
            raise TargetError(
                f"Row {row} of y is known in part: some of its numbers are NaN and some are not; all of a row may be "
                "unknown, or nothing. Fit one output at a time."
            )
        found = np.full(values.shape, np.nan)
        found[~missing] = numbers(values[~missing], False)
        return replace(self, columns=found.shape[1] if found.ndim == 2 else None), found

    def encode(self, y: Any) -> Floats:
        return self.read(y)[1]

    def decode(self, f: Floats) -> Floats:
        return np.asarray(f).reshape(len(f)) if self.columns is None else np.asarray(f).reshape(len(f), -1)

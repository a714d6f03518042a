"""Targets from which nothing can be learned, and those that look like something else."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.domains.missing_values import is_missing
from mercer.errors import TargetError

__all__ = ["doubts", "require_known", "require_target"]

ALONE = 0.5  # of the rows: more classes than that have about one row each
FEW = 10  # rows, of which nothing is said


def require_known(y: Any) -> None:
    """Refuse targets of which some are missing, before anyone asks whether they are classes or numbers.

    Examples
    --------
    >>> require_known([0.5, 2.0])
    """
    try:
        values = np.asarray(y)
    except ValueError:  # rows of different lengths, which others refuse
        return
    if values.ndim != 1:
        return
    absent = (
        np.isnan(values) if values.dtype.kind == "f" else np.array([is_missing(value) for value in values.tolist()])
    )
    rows = np.flatnonzero(absent)
    if len(rows):
        raise TargetError(
            f"y has missing values in {len(rows)} of {len(y)} rows, the first in row {rows[0]} (counted from 0); the "
            "targets of all rows must be known. Leave these rows out of X and y."
        )


def require_target(y: Array, task: str) -> None:
    """Refuse targets that are all the same, and classes that hardly ever occur twice.

    Examples
    --------
    >>> require_target(np.array(["a", "b", "b"]), "classification")
    """
    distinct = len(np.unique(y))
    if distinct < 2 and len(y) > 1:
        raise TargetError(
            f"y is {_shown(y[0])} in all {len(y)} rows; there is nothing to predict. Give a target that varies, or "
            "rows of the other values, too."
        )
    if task == "classification" and len(y) >= FEW and distinct > ALONE * len(y):
        raise TargetError(
            f"y has {distinct} classes in {len(y)} rows, so that hardly any occurs twice, as if they named the rows. "
            'Give another target, or task="regression" if they are numbers.'
        )


def _shown(value: Any) -> str:
    """A number without a decimal point that it may not have been given with, or a text in quotes."""
    return f"{value:.15g}" if isinstance(value, (int, float, np.number)) else repr(str(value)[:40])


def doubts(y: Array, task: str) -> list[str]:
    """Return what is to be said of targets that can be learned but look like something else.

    Examples
    --------
    >>> doubts(np.arange(100.0, 130.0), "regression")
    ['the target counts the rows: 30 whole numbers without a gap, as identifiers do']
    """
    if task == "regression" and len(y) >= FEW:
        values = np.sort(y)
        if values[-1] - values[0] == len(y) - 1 and np.all(np.diff(values) == 1.0):
            return [f"the target counts the rows: {len(y)} whole numbers without a gap, as identifiers do"]
    if task == "classification":
        classes, counts = np.unique(y, return_counts=True)
        rare = int(np.sum(counts < 5))
        if 2 * rare > len(classes):
            return [f"{rare} of {len(classes)} classes have fewer than five rows, too few to be learned well"]
    return []

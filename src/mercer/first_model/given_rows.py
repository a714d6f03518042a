"""Rows as they are given: targets that can be learned, what is said about them, and which rows are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from mercer.arrays import Array, Floats, Indices
from mercer.domains.missing_values import is_missing
from mercer.errors import DomainError, TargetError
from mercer.selection.tables.table_choice import fold_numbers
from mercer.targets.target import sample_weights

__all__ = [
    "Given",
    "Pair",
    "doubts",
    "folds",
    "given_rows",
    "held_pairs",
    "is_enough",
    "require_known",
    "require_target",
]

FOLDED = 300  # rows up to which all are held out in turn; of more, a quarter
PARTS = 4
MOST_HELD = 2000  # rows; a standard error of one per cent needs no more
ALONE = 0.5  # of the rows: more classes than that have about one row each
FEW = 10  # rows; with fewer, targets are not questioned

Pair = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class Given:
    """Weights, groups and times of rows, and the score that is asked for.

    Attributes
    ----------
    weight : (n,) array or None
    groups : (n,) array of int or None
        Rows of one group are never on both sides of a split.
    time : (n,) array of int or None
        The place of each row in time; what is held out is later than what is learned from.
    scoring : str
        The name of a scikit-learn scorer.
    """

    weight: Floats | None = None
    groups: Indices | None = None
    time: Indices | None = None
    scoring: str = "r2"

    def take(self, rows: Indices) -> Given:
        """Return what is said of some rows."""
        return Given(
            None if self.weight is None else self.weight[rows],
            None if self.groups is None else self.groups[rows],
            None if self.time is None else self.time[rows],
            self.scoring,
        )


def given_rows(n: int, scoring: str, sample_weight: Any = None, groups: Any = None, time: Any = None) -> Given:
    """Return what is said of n rows, if there is one value for each."""
    weight = None if sample_weight is None else sample_weights(sample_weight, n)
    found = Given(
        weight,
        None if groups is None else _places(groups, "groups", n),
        None if time is None else _places(time, "time", n),
        scoring,
    )
    for name in ("groups", "time"):
        places = getattr(found, name)
        if places is not None and len(np.unique(places)) < 2:
            raise DomainError(f"{name} is the same in all {n} rows; at least two values are needed. Leave {name} out.")
    return found


def _places(values: Any, name: str, n: int) -> Indices:
    """Return the place of each value among those that occur, in order."""
    listed = np.asarray(values)
    if listed.shape != (n,):
        raise DomainError(
            f"{name} has shape {listed.shape} for {n} rows; one value for each row is needed. Give a column of {n}."
        )
    if any(is_missing(value) for value in listed):
        raise DomainError(f"{name} has missing values; each row needs one. Fill them in, or leave these rows out.")
    try:
        return np.unique(listed, return_inverse=True)[1].astype(np.intp)
    except TypeError:
        raise DomainError(
            f"{name} has values of different types, which cannot be sorted. Give numbers, texts or dates."
        ) from None


def folds(y: Array, task: str, given: Given, count: int) -> list[Pair]:
    """Return pairs of rows to learn from and rows to predict.

    Classes are spread over the folds; groups stay together; with times, each part is predicted from what is before it.

    Examples
    --------
    >>> late = Given(time=np.arange(6))
    >>> [(kept.tolist(), out.tolist()) for kept, out in folds(np.arange(6.0), "regression", late, 2)]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    if given.time is not None:
        block = _blocks(given.time, count + 1)
        pairs = [(np.flatnonzero(block < k), np.flatnonzero(block == k)) for k in range(1, count + 1)]
    else:
        number = fold_numbers(y, task, count) if given.groups is None else _grouped(y, task, given.groups, count)
        pairs = [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(count)]
    if given.time is not None and given.groups is not None:
        pairs = [(kept[~np.isin(given.groups[kept], given.groups[out])], out) for kept, out in pairs]
    return [(kept, out) for kept, out in pairs if len(out) and is_enough(y[kept], task)]


def held_pairs(y: Array, task: str, given: Given) -> list[Pair]:
    """Return which rows are held out of the whole choice: of a few rows each of four parts in turn, of many one."""
    n = len(y)
    if given.time is not None:
        return folds(y, task, given, PARTS - 1)[-1:]
    if n <= FOLDED:
        return folds(y, task, given, PARTS)
    return folds(y, task, given, max(PARTS, -(-n // MOST_HELD)))[:1]


def is_enough(y: Array, task: str) -> bool:
    """Return whether there is something to learn: two classes, or two rows."""
    return len(np.unique(y)) > 1 if task == "classification" else len(y) > 1


def _blocks(time: Indices, count: int) -> Indices:
    """Return which of this many intervals of time each row is in; rows of equal times share one."""
    before = np.searchsorted(np.sort(time), time, side="left")
    return np.minimum(before * count // len(time), count - 1)


def _grouped(y: Array, task: str, groups: Indices, count: int) -> Indices:
    """Return fold numbers by which no group is split."""
    count = min(count, len(np.unique(groups)))
    number = np.zeros(len(y), dtype=np.intp)
    if count < 2:
        return number
    smallest = np.unique(y, return_counts=True)[1].min() if task == "classification" else 0
    spread = StratifiedGroupKFold(count, shuffle=True, random_state=0) if smallest >= count else GroupKFold(count)
    for k, (_, out) in enumerate(spread.split(np.zeros(len(y)), y, groups)):
        number[out] = k
    return number


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

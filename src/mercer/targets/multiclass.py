"""Targets that are one of several classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import TargetError
from mercer.targets.target import Target, labels

__all__ = ["Multiclass", "class_codes", "find_classes"]
__public__ = ["Multiclass"]


def _none_yet() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Multiclass(Target):
    """Classes, two or more; each becomes a column that is +1 for its samples and -1 for the others.

    Parameters
    ----------
    classes : (c,) array, optional
        Learned: the labels in sorted order, of the type they were given in.

    Examples
    --------
    >>> target = Multiclass().learn(["b", "a", "c"])
    >>> target.encode(["c", "a"])
    array([[-1., -1.,  1.],
           [ 1., -1., -1.]])
    >>> target.decode(np.array([[0.1, 0.3, 0.2]]))
    array(['b'], dtype='<U1')
    """

    classes: Array = field(default_factory=_none_yet)

    def learn(self, y: Any) -> Self:
        return replace(self, classes=find_classes(labels(y)))

    def read(self, y: Any) -> tuple[Self, Indices]:
        values = labels(y)
        learned = replace(self, classes=find_classes(values))
        return learned, places_of(learned.classes, values)

    def codes(self, y: Any) -> Indices:
        """Numbers of the classes of samples, (n,)."""
        return class_codes(self.classes, y)

    def indicator(self, y: Any) -> Floats:
        """A column for each class, (n, c): 1 for its samples, 0 for the others."""
        codes = self.codes(y)
        out = np.zeros((len(codes), len(self.classes)))
        out[np.arange(len(codes)), codes] = 1.0
        return out

    def encode(self, y: Any) -> Floats:
        return 2.0 * self.indicator(y) - 1.0

    def decode(self, f: Floats) -> Array:
        return self.classes[np.argmax(f, axis=1)]


def find_classes(values: Array) -> Array:
    """Sorted classes of labels, (c,); TargetError if there is only one."""
    classes = np.unique(values)
    if len(classes) < 2:
        raise TargetError(
            f"Classifier can't train when only one class is present: all of y is {classes[0]!r}. Two classes "
            "or more are needed. Add samples of another class, or use a method of novelty detection."
        )
    return classes


def class_codes(classes: Array, y: Any) -> Indices:
    """Places of labels among sorted classes, (n,); TargetError for a label that is not among them."""
    if not len(classes):
        raise TargetError("No classes are known yet; a target knows them after learn(y). Call learn first.")
    return places_of(classes, labels(y, warn=False))


def places_of(classes: Array, values: Array) -> Indices:
    """Places among sorted classes of labels that have been checked, (n,)."""
    try:
        codes = np.minimum(np.searchsorted(classes, values), len(classes) - 1)
        known = np.broadcast_to(np.asarray(classes[codes] == values), values.shape)
    except TypeError:
        codes, known = np.zeros(len(values), dtype=np.intp), np.zeros(len(values), dtype=bool)
    if not np.all(known):
        strange = values[~known][0]
        raise TargetError(
            f"y has the label {strange!r}, which is not among the classes learned: "
            f"{', '.join(map(repr, classes[:10].tolist()))}{', ...' if len(classes) > 10 else ''}. Give "
            "labels that were there when the classifier was fitted."
        )
    return codes.astype(np.intp)

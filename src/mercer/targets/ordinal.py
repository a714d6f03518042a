"""Targets that are classes in an order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import TargetError
from mercer.targets.target import Target, class_codes, find_classes, labels

__all__ = ["Ordinal"]
__public__ = __all__


def _none_yet() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Ordinal(Target):
    """Classes with an order, two or more, such as grades: each becomes its place, 0, 1, ...

    Seed: [HSS] Section 3.1.4 (ordinal regression).

    Parameters
    ----------
    order : sequence of labels, optional
        From the lowest to the highest; None is the order of numbers, or of the alphabet.
    classes : (c,) array, optional
        Learned: the labels that occur, from the lowest to the highest.

    Examples
    --------
    >>> target = Ordinal(order=("low", "middle", "high")).learn(["high", "low", "middle"])
    >>> target.encode(["middle", "high"])
    array([1., 2.])
    >>> target.decode(np.array([[0.2, 0.5, 0.3]]))
    array(['middle'], dtype='<U6')
    """

    order: Any = None
    classes: Array = field(default_factory=_none_yet)

    def learn(self, y: Any) -> Self:
        found = find_classes(labels(y))
        if self.order is None:
            return replace(self, classes=found)
        order = list(self.order)
        strange = [label for label in found.tolist() if label not in order]
        if strange or len(set(order)) < len(order):
            raise TargetError(
                f"order={self.order!r} was given, and y has the labels {found.tolist()[:10]}; order must name each "
                "label once, from the lowest to the highest. Add the labels that are missing to order, or leave it out."
            )
        return replace(self, classes=np.array([label for label in order if label in found.tolist()], found.dtype))

    def codes(self, y: Any) -> Indices:
        """Places of the classes of samples, (n,), from 0."""
        places = np.argsort(self.classes, kind="stable")
        return places[class_codes(self.classes[places], y)].astype(np.intp)

    def encode(self, y: Any) -> Floats:
        return self.codes(y).astype(np.float64)

    def decode(self, f: Floats) -> Array:
        return self.classes[np.argmax(f, axis=1)]

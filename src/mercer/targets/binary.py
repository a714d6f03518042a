"""Targets that are one of two classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import TargetError
from mercer.targets.multiclass import class_codes, find_classes
from mercer.targets.target import Target, labels

__all__ = ["Binary"]
__public__ = __all__


def _none_yet() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Binary(Target):
    """Two classes: the first in sorted order becomes -1, the second +1.

    Parameters
    ----------
    classes : (2,) array, optional
        Learned: the labels in sorted order, of the type they were given in.

    Examples
    --------
    >>> target = Binary().learn(["no", "yes", "no"])
    >>> target.encode(["yes", "no"])
    array([ 1., -1.])
    >>> target.decode(np.array([-0.3, 2.0]))
    array(['no', 'yes'], dtype='<U3')
    """

    classes: Array = field(default_factory=_none_yet)

    def learn(self, y: Any) -> Self:
        classes = find_classes(labels(y))
        if len(classes) > 2:
            raise TargetError(
                "Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(classes)} classes; two are accepted. Use OneVsOneClassifier or OneVsRestClassifier of "
                "scikit-learn around this classifier."
            )
        return replace(self, classes=classes)

    def encode(self, y: Any) -> Floats:
        return 2.0 * class_codes(self.classes, y) - 1.0

    def decode(self, f: Floats) -> Array:
        return self.classes[(np.asarray(f).reshape(len(f)) > 0.0).astype(np.intp)]

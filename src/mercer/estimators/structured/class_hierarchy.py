"""Outputs that are classes of a hierarchy: classes that are near in the tree share functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats
from mercer.constraints import InstanceOf, Optional
from mercer.errors import ParameterError, TargetError
from mercer.estimators.structured.output_space import FiniteSpace
from mercer.targets import Multiclass

__all__ = ["ClassHierarchy"]
__public__ = __all__


class ClassHierarchy(FiniteSpace):
    r"""One of several classes that are nodes of a tree; an error costs as many steps as there are between the two.

    .. math:: f(x, y) = \sum_{v \succeq y} f_v(x), \qquad
        k((x, y), (x', y')) = |\{v : v \succeq y, v \succeq y'\}| \; k(x, x')

    Each node has a function, and a class adds up those on the way from the root to it (but for the root itself, which
    all have in common), so that what is said of "animal" is learned from cats and dogs alike.

    Seed: [HSS] Section 3.1.4, Eq. (88), with the joint kernel of a tree of labels.

    Parameters
    ----------
    parents : mapping
        From each label to the one above it; labels that are nobody's child are at the top.
    classes : array, optional
        Learned: the labels that are predicted, those of the training data; they may be anywhere in the tree.

    Examples
    --------
    >>> space = ClassHierarchy({"cat": "animal", "dog": "animal", "oak": "plant"}).learn(["cat", "dog", "oak"])
    >>> space.loss(0, 1), space.loss(0, 2)  # cat and dog, cat and oak
    (2.0, 4.0)
    """

    constraints = {
        "parents": InstanceOf(Mapping),
        "classes": Optional(InstanceOf(np.ndarray, list, tuple)),
    }
    example = ({"cat": "animal", "dog": "animal", "oak": "plant"},)

    def __init__(self, parents: Any, classes: Any = None) -> None:
        self.parents = parents
        self.classes = classes

    def _way(self, label: Any) -> list[Any]:
        """Return a label and all above it."""
        way = [label]
        while way[-1] in self.parents:
            way.append(self.parents[way[-1]])
            if len(way) > len(self.parents) + 1:
                raise ParameterError(
                    f"parents lead from {label!r} in a circle; a tree is accepted. Give each label one parent, and the "
                    "labels at the top none."
                )
        return way

    def learn(self, y: Any) -> Self:
        classes = Multiclass().learn(y).classes
        known = {*self.parents, *self.parents.values()}
        strange = [label for label in classes.tolist() if label not in known]
        if strange:
            raise TargetError(
                f"y has the label {strange[0]!r}, which is not in the tree; labels of the tree are accepted: "
                f"{', '.join(map(repr, sorted(map(str, known))[:10]))}. Add it to parents."
            )
        for label in known:
            self._way(label)
        return self.replace(classes=classes)

    def encode(self, y: Any) -> Array:
        return Multiclass(np.asarray(self.classes)).codes(y)

    def decode(self, outputs: Sequence[Any]) -> Any:
        return np.asarray(self.classes)[np.asarray(outputs, dtype=np.intp)]

    def tables(self) -> tuple[Floats, Floats, Floats]:
        ways = [self._way(label) for label in np.asarray(self.classes).tolist()]
        tops = {way[-1] for way in ways}
        common = tops if len(tops) == 1 else set()  # one root is in all ways and tells nothing
        nodes = {
            node: place for place, node in enumerate(dict.fromkeys(v for way in ways for v in way if v not in common))
        }
        psi = np.zeros((len(ways), len(nodes)))
        for row, way in zip(psi, ways, strict=True):
            row[[nodes[v] for v in way if v not in common]] = 1.0
        return psi, np.empty((len(ways), 0)), np.abs(psi[:, None] - psi).sum(axis=2)

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

    Each node has a function, and a class adds up those on the path from the root to it (except the root itself, which
    all have in common), so that what makes an animal is learned from cats and dogs alike.

    Seed: [HSS] Section 3.1.4, Eq. (88), with the joint kernel of a tree of labels.

    Parameters
    ----------
    parents : mapping
        From each label to its parent; labels without a parent are at the top.
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

    def _path(self, label: Any) -> list[Any]:
        """Return a label and all above it."""
        path = [label]
        while path[-1] in self.parents:
            path.append(self.parents[path[-1]])
            if len(path) > len(self.parents) + 1:
                raise ParameterError(
                    f"parents lead from {label!r} in a circle; a tree is accepted. Give each label one parent, and the "
                    "labels at the top none."
                )
        return path

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
            self._path(label)
        return self.replace(classes=classes)

    def encode(self, y: Any) -> Array:
        return Multiclass(np.asarray(self.classes)).codes(y)

    def decode(self, outputs: Sequence[Any]) -> Any:
        return np.asarray(self.classes)[np.asarray(outputs, dtype=np.intp)]

    def tables(self) -> tuple[Floats, Floats, Floats]:
        paths = [self._path(label) for label in np.asarray(self.classes).tolist()]
        tops = {path[-1] for path in paths}
        common = tops if len(tops) == 1 else set()  # a single root is in all paths and carries no information
        nodes = {
            node: place
            for place, node in enumerate(dict.fromkeys(v for path in paths for v in path if v not in common))
        }
        psi = np.zeros((len(paths), len(nodes)))
        for row, path in zip(psi, paths, strict=True):
            row[[nodes[v] for v in path if v not in common]] = 1.0
        return psi, np.empty((len(paths), 0)), np.abs(psi[:, None] - psi).sum(axis=2)

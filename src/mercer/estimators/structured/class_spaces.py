"""Outputs that are one of several classes, with any costs, or in an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats
from mercer.constraints import InstanceOf, Optional, Positive
from mercer.estimators.structured.output_space import FiniteSpace, square_cost
from mercer.targets import Multiclass, Ordinal

__all__ = ["ClassLabels", "OrderedClasses"]
__public__ = __all__


class ClassLabels(FiniteSpace):
    r"""One of several classes, with one function each; confusing them may cost more or less.

    .. math:: f(x, y) = f_y(x), \qquad k((x, y), (x', y')) = \delta_{y y'} k(x, x')

    Seed: [HSS] Section 3.1.4 (multicategory classification).

    Parameters
    ----------
    cost : (c, c) array, optional
        ``cost[a, b]`` is what it costs to predict class b where a is true, in the order of sorted classes; None is 1
        for any error.
    classes : array, optional
        Learned: the labels.

    Examples
    --------
    >>> space = ClassLabels(cost=[[0.0, 5.0], [1.0, 0.0]]).learn(["ill", "well", "ill"])
    >>> space.loss(0, 1), space.decode([1, 0])
    (5.0, array(['well', 'ill'], dtype='<U4'))
    """

    constraints = {
        "cost": Optional(InstanceOf(np.ndarray, list, tuple)),
        "classes": Optional(InstanceOf(np.ndarray, list, tuple)),
    }

    def __init__(self, cost: Any = None, classes: Any = None) -> None:
        self.cost = cost
        self.classes = classes

    def learn(self, y: Any) -> Self:
        classes = Multiclass().learn(y).classes
        if self.cost is not None:
            square_cost(self.cost, len(classes))
        return self.replace(classes=classes)

    def encode(self, y: Any) -> Array:
        return Multiclass(np.asarray(self.classes)).codes(y)

    def decode(self, outputs: Sequence[Any]) -> Any:
        return np.asarray(self.classes)[np.asarray(outputs, dtype=np.intp)]

    def tables(self) -> tuple[Floats, Floats, Floats]:
        count = len(self.classes)
        losses = 1.0 - np.eye(count) if self.cost is None else np.asarray(self.cost, dtype=float)
        return np.eye(count), np.empty((count, 0)), losses


class OrderedClasses(FiniteSpace):
    r"""Classes in an order, such as grades: one function, whose values are cut by thresholds.

    .. math:: f(x, y) = y f(x) + w_y, \qquad k((x, y), (x', y')) = y y' k(x, x') + s\, \delta_{y y'}

    The classes are numbered from minus to plus (c - 1) / 2. The class with the highest score changes where f(x)
    passes w_y - w_{y+1}, or more than one class at once where a class never has the highest score.

    Seed: [HSS] Section 3.1.4 (ordinal regression).

    Parameters
    ----------
    order : sequence of labels, optional
        From the lowest to the highest; None is the order of numbers, or of the alphabet.
    cost : (c, c) array, optional
        As for `ClassLabels`; None is the number of classes between them, |y - y'|.
    threshold_scale : float, default 100.0
        s, how freely thresholds move: large hardly penalises them.
    classes : array, optional
        Learned: the labels, from the lowest to the highest.

    Examples
    --------
    >>> space = OrderedClasses(order=("low", "middle", "high")).learn(["high", "low", "middle"])
    >>> space.loss(0, 2)
    2.0
    """

    constraints = {
        "order": Optional(InstanceOf(np.ndarray, list, tuple)),
        "cost": Optional(InstanceOf(np.ndarray, list, tuple)),
        "threshold_scale": Positive(),
        "classes": Optional(InstanceOf(np.ndarray, list, tuple)),
    }

    def __init__(
        self, order: Any = None, cost: Any = None, threshold_scale: float = 100.0, classes: Any = None
    ) -> None:
        self.order = order
        self.cost = cost
        self.threshold_scale = threshold_scale
        self.classes = classes

    def learn(self, y: Any) -> Self:
        classes = Ordinal(order=self.order).learn(y).classes
        if self.cost is not None:
            square_cost(self.cost, len(classes))
        return self.replace(classes=classes)

    def encode(self, y: Any) -> Array:
        return Ordinal(self.order, np.asarray(self.classes)).codes(y)

    def decode(self, outputs: Sequence[Any]) -> Any:
        return np.asarray(self.classes)[np.asarray(outputs, dtype=np.intp)]

    def tables(self) -> tuple[Floats, Floats, Floats]:
        count = len(self.classes)
        places = np.arange(count, dtype=float)
        losses = np.abs(places[:, None] - places) if self.cost is None else np.asarray(self.cost, dtype=float)
        return (places - 0.5 * (count - 1))[:, None], np.sqrt(self.threshold_scale) * np.eye(count), losses

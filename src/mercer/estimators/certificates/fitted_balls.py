"""The function of a fitted model on a sample, as the theory sees it: margins, norm, offset and diagonal.

Symbols: f = <w, phi(x)> + b the fitted function, d_i = k(x_i, x_i). Several classes are several functions: problems of
two classes such that the class is right where all of them are.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer import theory  # whose names are imported when they are used
from mercer.arrays import Bools, Floats, Indices
from mercer.domains import Samples, Similarities
from mercer.errors import CapabilityError, DomainError, TargetError
from mercer.gram import FeatureExpansion
from mercer.gram.element import Element

__all__ = ["FAR", "Ball", "Size", "ball_of", "class_codes", "diagonal_of", "norm_of", "two_class_problems"]

FAR = 1e150  # the margin of a sample that has no part in a problem of two classes


@dataclass(frozen=True)
class Ball:
    """A function in a ball of the space, on a sample."""

    margins: Floats
    diagonal: Floats
    norm: float
    offset: float | None

    @property
    def takes_part(self) -> Bools:
        """Which samples are of one of the two classes."""
        return self.margins != FAR

    @property
    def complexity(self) -> float:
        """The empirical Rademacher complexity of the ball of radius one."""
        return theory.kernel_ball_rademacher(self.diagonal)


class Size(NamedTuple):
    """How large the function of a regression is: its norm, the complexity of norm one, |b|, and the delta that is left.

    A complexity that is itself an estimate has its share of delta.
    """

    norm: float
    complexity: float
    offset: float | None
    delta: float


def diagonal_of(model: Any, T: Samples) -> Floats:
    """Return k(x, x), or the squared length of approximate features where that is larger."""
    kernel = model.kernel_
    if isinstance(T, Similarities) and T.shape[0] != T.shape[1]:
        raise DomainError(
            f"similarities of shape {T.shape} were given for a certificate; the square matrix of the training samples "
            "is needed. Give the matrix that the model was fitted to."
        )
    found = np.asarray(kernel.diag(kernel.prepare(T)), dtype=float)
    element = model._deciding()
    if isinstance(element, FeatureExpansion) and element.kernel is not kernel:
        pieces = (element.kernel.features(piece, element.keys)[0] for piece in T.tiles(4096))
        found = np.maximum(found, np.concatenate([_squared_lengths(rows) for rows in pieces]))
    return found


def _squared_lengths(rows: Any) -> Floats:
    squares = rows.multiply(rows) if hasattr(rows, "multiply") else rows**2  # sparse or dense
    return np.asarray(squares.sum(axis=1), dtype=float).ravel()


def _offset(model: Any, element: Any) -> float | None:
    """Return |b|; None where the model has no offset by construction."""
    size = float(np.abs(np.asarray(element.intercept)).max(initial=0.0))
    asked = getattr(model, "_has_intercept", getattr(model, "fit_intercept", None))
    without = asked is False or not hasattr(model, "intercept_")
    return None if size == 0.0 and without else size


def ball_of(model: Any, element: Any, margins: Floats, diagonal: Floats, T: Samples) -> Ball:
    """Return what the bounds need; a multiple of k(x, x), as of a ball in feature space, is one more feature."""
    extra = float(getattr(element, "diagonal", 0.0))
    offset = _offset(model, element)
    if extra:
        norm = math.hypot(norm_of(dataclasses.replace(element, diagonal=0.0), T), extra)
        return Ball(margins, diagonal + diagonal**2, norm, offset)
    return Ball(margins, diagonal, norm_of(element, T), offset)


def norm_of(element: Any, T: Samples) -> float:
    """Return |f|; a model of similarities keeps no rows, but f = sum_i c_i k(x_i, .) has |f|^2 = sum_i c_i f(x_i)."""
    if not isinstance(T, Similarities):
        return float(element.norm())
    values = element.without_intercept()(T.take(element.samples.position))
    return math.sqrt(max(float(element.coef @ values), 0.0))


def class_codes(model: Any, y: Any, n: int) -> Indices:
    """Return the class of each sample as its place among the classes of the model."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise TargetError(f"y of shape {labels.shape} was given for {n} samples; one label each is needed. Give y.")
    codes = np.searchsorted(model.classes_, labels)
    if (codes >= len(model.classes_)).any() or (model.classes_[codes] != labels).any():
        raise TargetError(
            f"y has labels that are not among the classes {model.classes_.tolist()!r:.200} of the model; a certificate "
            "is for the classes that were learned. Give the training sample, without rows that have no label."
        )
    return codes


def two_class_problems(model: Any, values: Floats, codes: Indices, diagonal: Floats, T: Samples) -> list[Ball]:
    """Return the problems of two classes: if all are right for a sample, so is the class."""
    element, count = model._deciding(), len(model.classes_)
    if count == 2:
        one = element.column(0) if element.outputs else element
        sign = np.where(codes == 1, 1.0, -1.0)
        return [ball_of(model, one, sign * (values[:, 0] if values.ndim == 2 else values), diagonal, T)]
    reduction = getattr(model, "reduction_", None)
    found = []
    if reduction is not None and reduction.kind in ("ovo", "code"):
        for column, (index, sign) in enumerate(reduction.problems(codes)):
            found.append(_part(model, element.column(column), index, sign * values[index, column], diagonal, T))
        return found
    if element.outputs != (count,):
        raise CapabilityError(
            f"{type(model).__name__} of {count} classes was asked for a certificate; for more than two, one function "
            "per class or per pair of classes is covered. Ask for it with two classes."
        )
    for first in range(count):  # the largest value wins: differences of two functions decide
        for second in range(first + 1, count):
            index = np.flatnonzero((codes == first) | (codes == second))
            sign = np.where(codes[index] == first, 1.0, -1.0)
            difference = element.column(first) - element.column(second)
            margins = sign * (values[index, first] - values[index, second])
            found.append(_part(model, difference, index, margins, diagonal, T))
    return found


def _part(model: Any, element: Element, index: Indices, margins: Floats, diagonal: Floats, T: Samples) -> Ball:
    """Return a problem in which only some samples take part: others cost nothing and weigh nothing."""
    t, d = np.full(len(diagonal), FAR), np.zeros(len(diagonal))
    t[index], d[index] = margins, diagonal[index]
    return ball_of(model, element, t, d, T)

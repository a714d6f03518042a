"""What is predicted: base class of targets, and the checks of y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer.arrays import Array, Floats
from mercer.errors import TargetError

__all__ = ["Target", "labels", "numbers"]
__public__ = ["Target"]

_NUMBERS = "Targets of a regression are finite real numbers, one per sample or one row per sample."
_LABELS = "Targets of a classifier are class labels, one per sample: integers, texts or booleans."


class Target(ABC):
    """The conversion of y as users give it to the numbers that solvers see, and back.

    A target is an immutable record: ``learn`` returns one that knows the classes or the number of
    outputs, ``encode`` and ``decode`` are its two directions.
    """

    @abstractmethod
    def learn(self, y: Any) -> Self:
        """Target that knows what this y looks like; TargetError if y is not of its kind."""

    def read(self, y: Any) -> tuple[Self, Array]:
        """Target that knows this y, and y as numbers; y is checked once, where `learn` and `encode` check it twice.

        The numbers are those of `encode`, or of classes their codes, (n,).
        """
        learned = self.learn(y)
        return learned, learned.encode(y)

    @abstractmethod
    def encode(self, y: Any) -> Floats:
        """Numbers, (n,) or (n, k), float64, that a solver takes as its right-hand side."""

    @abstractmethod
    def decode(self, f: Floats) -> Array:
        """Predictions in the form of y from the values of fitted functions, (m,) or (m, k)."""


def numbers(y: Any, several: bool, warn: bool = True) -> Floats:
    """Finite float64 numbers from y, (n,) or, if several outputs are allowed, (n, k)."""
    _require_given(y, _NUMBERS)
    try:
        values = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
        if not several:
            values = column_or_1d(values, warn=warn)
    except (ValueError, TypeError, OverflowError) as error:
        raise TargetError(
            f"{_sentence(error)} {_NUMBERS} Convert y, or drop the samples whose target is unknown."
        ) from error
    if values.dtype.kind not in "biuf":
        raise TargetError(f"y is an array of {values.dtype}. {_NUMBERS} Convert y to float.")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(values, dtype=np.float64)
    if not np.all(np.isfinite(values)):  # wider numbers than float64 that do not fit
        raise TargetError(f"y has values too large for float64. {_NUMBERS} Give y in a larger unit.")
    return values


def labels(y: Any, warn: bool = True) -> Array:
    """Class labels from y, (n,), as they were given."""
    _require_given(y, _LABELS)
    try:
        _require_one_type(y if isinstance(y, (list, tuple)) else ())
        values = _settled(column_or_1d(y, warn=warn))
        assert_all_finite(values, input_name="y")
        _require_one_type(values if values.dtype == object else ())
        check_classification_targets(values)
    except (ValueError, TypeError) as error:
        raise TargetError(
            f"{_sentence(error)} {_LABELS} Convert y, or use a regressor if y measures something."
        ) from error
    if not len(values):
        raise TargetError(f"y is empty. {_LABELS} Give at least one sample of two classes each.")
    return values


def _sentence(error: Exception) -> str:
    text = str(error).strip()
    if text.startswith("setting an array element"):
        text = "y has entries of different lengths."
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _settled(values: Array) -> Array:
    """Labels that are whole numbers as an array of those: a data frame may hold them as objects."""
    whole = values.dtype == object and all(isinstance(v, int | np.integer | np.bool_) for v in values)
    return np.array(values.tolist()) if whole and len(values) else values


def _require_one_type(values: Iterable[Any]) -> None:
    texts = [isinstance(value, str) for value in values]
    if any(texts) and not all(texts):
        names = ", ".join(sorted({type(value).__name__ for value in values}))
        raise ValueError(f"y mixes labels of the types {names}, which cannot be sorted.")


def _require_given(y: Any, accepted: str) -> None:
    if y is None:
        raise TargetError(
            f"This estimator requires y to be passed, but the target y is None. {accepted} Call fit(X, y)."
        )
    if np.ma.is_masked(y):
        count = int(np.ma.count_masked(y))
        raise TargetError(
            f"y is a masked array in which {count} values are masked. {accepted} Drop the samples whose "
            "target is unknown."
        )

"""Values that name nothing: those that are missing, and those that are measured."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

__all__ = ["is_fraction", "is_missing"]


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, pandas' NA, NaN and NaT of any type, in a tuple too.

    Examples
    --------
    >>> is_missing(None), is_missing(("a", float("nan"))), is_missing("nan")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True  # comparing pandas' NA with itself gives no truth value
    if isinstance(value, tuple):
        return any(map(is_missing, value))
    return isinstance(value, (Number, np.generic)) and bool(np.all(value != value))


def is_fraction(value: Any) -> bool:
    """Return whether a value is a floating-point or complex number, which is measured and names nothing."""
    return isinstance(value, (float, complex, np.inexact))

"""Names for the arrays that travel between the parts.

Shapes are given in the docstring of the function that receives or returns the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer.errors import ParameterError

__all__ = ["Array", "Bools", "Codes", "Floats", "Index", "Indices", "real_numbers", "shape_of"]

Array: TypeAlias = NDArray[Any]
"""An array of any kind."""

Floats: TypeAlias = NDArray[np.floating[Any]]
"""C-contiguous float64 or float32."""

Indices: TypeAlias = NDArray[np.intp]
"""Row numbers, offsets."""

Codes: TypeAlias = NDArray[np.integer[Any]]
"""Letters, words and labels as integers."""

Bools: TypeAlias = NDArray[np.bool_]
"""A mask."""

Index: TypeAlias = Indices | Bools | Codes | Sequence[int] | Sequence[bool] | slice
"""Anything that selects rows."""

_NOT_NUMBERS = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)


def real_numbers(given: Any, name: str, error: type[Exception] = ParameterError) -> NDArray[np.float64]:
    """Return what must be real numbers as a float64 array; raise if it is not.

    NumPy converts more than numbers: a date to the seconds since 1970, "1" to 1.0, a masked value to what is under the
    mask. Where an array comes from a user, that hides a mistake.

    Parameters
    ----------
    given : array-like
        Truth values are 0 and 1, and None is NaN.
    name : str
        What the user calls it.
    error : class of an error
        That is raised.

    Examples
    --------
    >>> real_numbers([1, 2.5], "y")
    array([1. , 2.5])
    """
    try:
        array = np.asarray(given)
        some = array.ravel() if array.dtype == object else ()
        wrong = next((x for x in some if isinstance(x, _NOT_NUMBERS)), None)
        kind = array.dtype if wrong is None else type(wrong).__name__
        if array.dtype.kind in "biufO" and wrong is None and not np.ma.is_masked(given):
            return array.astype(np.float64, copy=False)
        given_as = "with masked values" if np.ma.is_masked(given) else f"of type {kind}"
    except (TypeError, ValueError, OverflowError):
        given_as = f"of type {type(given).__name__} that is not an array of numbers"
    raise error(f"{name} {given_as} was given; real numbers are accepted. Convert {name} to an array of floats.")


def shape_of(values: Any) -> tuple[int, ...]:
    """Return the shape of an array or of lists; that of a number if the lists have different lengths.

    Examples
    --------
    >>> shape_of([[1, 2], [3, 4]]), shape_of([[1, 2], [3]])
    ((2, 2), ())
    """
    try:
        return np.asarray(values).shape  # np.shape would ask objects that only pretend to be arrays
    except ValueError:
        return ()

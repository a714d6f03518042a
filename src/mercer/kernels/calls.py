"""Calls of functions that users write: what goes wrong inside them is told as theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.domains.samples import kind_of
from mercer.errors import DomainError

__all__ = ["called", "real_values", "sample_count"]


def called(function: Callable[[Any], Any], data: Any, owner: Any) -> Any:
    """Return function(data); an error inside becomes a DomainError that names the kernel and keeps the cause.

    Parameters
    ----------
    function : callable
        Written by the user.
    data : object
        All the data, as they were given.
    owner : Kernel
        Named in the message.
    """
    try:
        return function(data)
    except DomainError:
        raise
    except Exception as error:
        raise DomainError(
            f'The function of {owner!r} failed on data of type {kind_of(data)}, "{type(error).__name__}: {error}"; it '
            "must take all the data at once. Correct the function, or give the data in the form that it takes."
        ) from error


def real_values(values: Any, owner: Any) -> Any:
    """Return what a function returned as real numbers, dense or sparse; DomainError if they are not."""
    if sp.issparse(values):
        return values
    try:
        array = np.asarray(values)
        if values is None:
            raise TypeError("nothing was returned")
        if array.dtype.kind in "OUS":
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub" or np.ma.is_masked(values):
        raise DomainError(
            f"The function of {owner!r} returned {kind_of(values)} that is no array of real numbers; numbers, one row "
            "per sample, are needed. Correct the function, or give data that it can turn into numbers."
        )
    return array.astype(float, copy=False)


def sample_count(data: Any, otherwise: int) -> int:
    """Return the number of samples in raw data, if they tell it."""
    if isinstance(data, Mapping):  # of columns
        data = next(iter(data.values()), None)
    shape = getattr(data, "shape", None)
    if shape is not None:
        return shape[0] if shape else otherwise
    return len(data) if hasattr(data, "__len__") else otherwise

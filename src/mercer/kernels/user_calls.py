"""Results of user functions: checked, with errors attributed to the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arguments import answer_of
from mercer.arrays import Floats
from mercer.domains.samples import kind_of, sample_count
from mercer.errors import DomainError

__all__ = ["ALL", "numbers_at", "real_values", "rows_of"]


ALL = "all the data at once"


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
            f"The function of {owner!r} returned {kind_of(values)} that is not an array of real numbers; numbers, one "
            "row per sample, are needed. Correct the function, or give data that it can turn into numbers."
        )
    return array.astype(float, copy=False)


def rows_of(function: Callable[[Any], Any], data: Any, owner: Any, single: bool = False) -> Any:
    """Return what a function returns for raw data: finite numbers, a row per sample, dense (n, k) or sparse.

    Parameters
    ----------
    function : callable
        Written by the user. Takes all the data, returns (n,) or (n, k).
    data : object
        All the data, as they were given.
    owner : Kernel
        Named in the message.
    single : bool, default False
        Whether one number per sample is needed: k = 1, and dense.
    """
    values = real_values(answer_of(function, data, who=owner, takes=ALL), owner)
    shape = tuple(values.shape)
    n = sample_count(data, shape[0] if shape else -1)
    if shape == (n,) and not sp.issparse(values):
        values = values[:, None]
    if values.ndim != 2 or values.shape[0] != n or (single and values.shape[1] != 1):
        form = f"({n},)" if single else f"({n},) or ({n}, k)"
        raise DomainError(
            f"The function of {owner!r} returned an array of shape {shape} for {n} samples; it takes all the data at "
            f"once and returns {'one number' if single else 'a row of numbers'} per sample, as an array of shape "
            f"{form}. Correct the function."
        )
    values = values.toarray() if single and sp.issparse(values) else values
    _require_finite(values.data if sp.issparse(values) else values, owner)
    return values


def numbers_at(function: Callable[[Floats], Any], points: Floats, owner: Any) -> Floats:
    """Return a function of numbers at each entry of an array; DomainError unless it gives one real number for each.

    At points that are finite its values must be, too.
    """
    values = np.asarray(answer_of(function, points, who=owner, takes=ALL))
    if values.shape != points.shape or values.dtype.kind not in "fiub" or np.ma.is_masked(values):
        raise DomainError(
            f"The function of {owner} returned shape {values.shape}, {values.dtype}, for an array of shape "
            f"{points.shape}; it must return one real number for each entry. Write it with NumPy functions, or use "
            "numpy.vectorize."
        )
    wrong = ~np.isfinite(values)
    if wrong.any() and (wrong := wrong & np.isfinite(points)).any():
        place = tuple(np.argwhere(wrong)[0])
        raise DomainError(
            f"The function of {owner} returned {values[place]} at {points[place] + 0.0:.6g}; finite numbers are "
            "needed. Say in the function what its value is there, or give another."
        )
    return values


def _require_finite(values: Any, owner: Any) -> None:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        where = f"sample {wrong[0][0]}" if np.ndim(values) == 2 else "some sample"
        raise DomainError(
            f"The function of {owner!r} returned {values[tuple(wrong[0])]} for {where}; finite numbers are needed. "
            "Correct the function, or leave out the samples that it has no number for."
        )

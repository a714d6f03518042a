"""Arrays that hold signalling NaN until they are written, so that reading what stood in memory does not pass by luck.

Adding to such a number, or multiplying it, raises NumPy's "invalid value" warning, which is an error in the tests. What
memory really holds there depends on what ran before: mostly zeros, and now and then anything.
"""

from typing import Any

import numpy as np
from numba.extending import overload

__all__ = ["fill_new_arrays", "filled"]

SIGNALS = {np.dtype(np.float64): (np.uint64, 0x7FF0000000000001), np.dtype(np.float32): (np.uint32, 0x7F800001)}


def filled(array: Any) -> Any:
    """Return an array of floats with signalling NaN in all places, any other as it is."""
    if isinstance(array, np.ndarray) and array.dtype in SIGNALS:
        whole, signal = SIGNALS[array.dtype]
        array.view(whole)[...] = signal
    return array


def fill_new_arrays() -> None:
    """Have `np.empty` and `np.empty_like` return filled arrays; compiled code goes on with its own."""
    empty, empty_like = np.empty, np.empty_like
    np.empty = lambda *args, **options: filled(empty(*args, **options))
    np.empty_like = lambda *args, **options: filled(empty_like(*args, **options))
    overload(np.empty)(lambda shape, dtype=float: lambda shape, dtype=float: empty(shape, dtype))
    overload(np.empty_like)(lambda arr: lambda arr: empty_like(arr))

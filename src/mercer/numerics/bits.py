"""Floats as the integers of the same bits, inside compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.extending import overload as compiled_overload

__all__ = ["from_bits", "to_bits"]

_PARTNER = {
    types.float64: types.int64,
    types.float32: types.int32,
    types.int64: types.float64,
    types.int32: types.float32,
}


def to_bits(x: Any) -> Any:
    """Reinterpret a float as the integer of the same width.

    Examples
    --------
    >>> int(to_bits(np.float32(1.0)))
    1065353216
    """
    x = np.asarray(x)
    return x.view(np.int32 if x.dtype == np.float32 else np.int64)[()]


def from_bits(i: Any) -> Any:
    """Reinterpret an integer as the float of the same width.

    Examples
    --------
    >>> float(from_bits(np.int32(1065353216)))
    1.0
    """
    i = np.asarray(i)
    return i.view(np.float32 if i.dtype == np.int32 else np.float64)[()]


@intrinsic
def _reinterpret(_context, value):
    partner = _PARTNER[value]

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return partner(value), generate


@compiled_overload(to_bits)
def _compile_to_bits(x):
    return lambda x: _reinterpret(x)  # pyright: ignore[reportCallIssue]


@compiled_overload(from_bits)
def _compile_from_bits(i):
    return lambda i: _reinterpret(i)  # pyright: ignore[reportCallIssue]

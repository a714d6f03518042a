"""Names for the arrays that travel between the parts.

Shapes are told where the reader looks: in the docstring of the function that receives or returns the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Codes", "Floats", "Index", "Indices"]

Array: TypeAlias = NDArray[Any]
"""An array of whatever kind."""

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

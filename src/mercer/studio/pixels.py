"""Arrays on their way to the browser: 32-bit numbers as base64, which a page reads without parsing digits."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.plots.canvas import svg

__all__ = ["grid_of", "packed_floats", "picture"]

INKS = {"light": "#1f2328", "dark": "#e6e8eb"}


def packed_floats(values: Any) -> dict[str, Any]:
    """Return an array as its shape and its little-endian 32-bit numbers in base64.

    Examples
    --------
    >>> packed_floats([[1.0]])
    {'shape': [1, 1], 'data': 'AACAPw=='}
    """
    array = np.asarray(values, dtype="<f4")
    return {"shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode("ascii")}


def grid_of(low: float, high: float, side: int) -> Floats:
    """Return the centres of side x side pixels of a square, row by row from the top, (side^2, 2)."""
    step = (high - low) / side
    centres = low + step * (np.arange(side) + 0.5)
    columns, rows = np.meshgrid(centres, centres[::-1])
    return np.column_stack([columns.ravel(), rows.ravel()])


def picture(draw: Any, size: tuple[float, float], theme: str) -> str:
    """Return what a Display draws as the address of an image, in the colour of the page's text."""
    text = svg(draw, size).replace("currentColor", INKS[theme])
    if "xmlns=" not in text[:300]:
        text = text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode('ascii')}"

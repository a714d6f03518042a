"""Words of errors about parameters: what was given, what is accepted, and what was perhaps meant."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["either", "nearest", "number_advice", "short"]


def number_advice(name: str, value: Any, words: tuple[str, ...] = (), vector: bool = False) -> str:
    """Advice for the usual ways in which a number is invalid; empty if none applies."""
    if isinstance(value, (bool, np.bool_)):
        return f"A truth value is not a number; write {name}={int(value)} if that is meant."
    if isinstance(value, str):
        quoted = value.strip().lstrip("+-").replace(".", "", 1).isdigit()
        return f"Write {name}={value.strip()}, without quotes." if quoted else nearest(value, words)
    if isinstance(value, (tuple, list, np.ndarray)) and not vector:
        return "Give a single number."
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        return f"Look at how {name} was computed."
    return ""


def nearest(value: Any, known: Sequence[Any]) -> str:
    """Ask whether the nearest of some known words was meant; empty if none is near.

    Examples
    --------
    >>> nearest("gausian", ["gaussian", "linear"])
    "Did you mean 'gaussian'?"
    """
    words = [word for word in known if isinstance(word, str)]
    near = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    return f"Did you mean {near[0]!r}?" if near else ""


def short(value: Any, longest: int = 80) -> str:
    """Return a value as text on one line, cut where it is long."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def either(kinds: list[str]) -> str:
    """Return texts as a choice.

    Examples
    --------
    >>> either(["a", "b", "c"])
    'a, b or c'
    """
    return kinds[0] if len(kinds) == 1 else f"{', '.join(kinds[:-1])} or {kinds[-1]}"

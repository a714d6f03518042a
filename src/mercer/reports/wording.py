"""How numbers and foreign text are written on a page.

Names of columns, labels and data come from anywhere. What cannot be seen (control characters, marks that turn
the direction of reading) is spelt out, and very long text is cut; the template escapes the rest.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

__all__ = ["counted", "decimals", "fixed", "number", "percent", "shown", "span"]

LONGEST = 60


def shown(value: Any, limit: int = LONGEST) -> str:
    r"""Return any value as short text without invisible characters.

    Examples
    --------
    >>> shown("age"), shown("a\u202eb"), shown("a\nb")
    ('age', 'a\\u202eb', 'a\\nb')
    >>> shown("x" * 1000, limit=5)
    'xxxxx… (1000 characters)'
    """
    try:
        text = str(value)
    except Exception as error:  # the text of an unknown object: nothing is known about it
        text = f"<{type(value).__name__}: no text, {type(error).__name__}>"
    visible = "".join(map(_visible, text[:limit]))
    return visible if len(text) <= limit else f"{visible}… ({len(text)} characters)"


def _visible(character: str) -> str:
    if character == " " or unicodedata.category(character)[0] not in "CZ":
        return character
    return character.encode("unicode_escape").decode("ascii")


def number(value: Any, digits: int = 4) -> str:
    r"""Return a number as a person writes it; text and None are returned as text.

    Examples
    --------
    >>> number(0.123456), number(1234567), number(1e-12), number(float("nan")), number(None), number(3.0)
    ('0.1235', '1\u202f234\u202f567', '1e-12', 'not defined', '–', '3')
    """
    if value is None:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}".replace(",", "\u202f")
    if not isinstance(value, (float, np.floating)):
        return shown(value)
    value = float(value)
    if np.isnan(value):
        return "not defined"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 10 ** (digits - 1) <= abs(value) < 1e6:  # a grouped integer reads better than a power of ten
        return f"{value:,.0f}".replace(",", "\u202f").replace("-", "−")
    text = f"{value:.{digits}g}"
    mantissa, e, exponent = text.partition("e")
    return mantissa.replace("-", "−") + (f"e{int(exponent)}" if e else "")


def decimals(values: Any, digits: int = 4) -> int:
    """Return how many decimals give the largest of some numbers this many digits: for columns that line up.

    Examples
    --------
    >>> decimals([0.9, 0.95]), decimals([55.2, 1.5]), decimals([123456.0])
    (4, 2, 0)
    """
    sizes = np.abs(np.asarray(list(values), dtype=float))
    largest = float(np.max(sizes[np.isfinite(sizes)], initial=0.0))
    return int(np.clip(digits - 1 - np.floor(np.log10(largest)), 0, 12)) if largest > 0 else digits


def fixed(value: float | None, places: int) -> str:
    """Return a number with a given number of decimals.

    Examples
    --------
    >>> fixed(0.5, 3), fixed(-0.25, 1), fixed(None, 2)
    ('0.500', '−0.2', '–')
    """
    if value is None or not np.isfinite(value):
        return number(value)
    return f"{value:.{places}f}".replace("-", "−")


def percent(share: float) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.5), percent(0.0012)
    ('50 %', '0.12 %')
    """
    return f"{100 * share:.3g} %"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "sample"), counted(2, "class", "classes"), counted(0, "fold")
    ('1 sample', '2 classes', 'no folds')
    """
    word = noun if n == 1 else plural or f"{noun}s"
    return f"{number(n) if n else 'no'} {word}"


def span(seconds: float) -> str:
    """Return a duration.

    Examples
    --------
    >>> span(0.00042), span(12.3), span(600.0)
    ('0.42 ms', '12.3 s', '10 min')
    """
    if seconds < 0.01:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.2g} min"

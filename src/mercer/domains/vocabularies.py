"""Symbols, words and labels: the codes that one collection has for those of another, and of what kinds they are."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import DomainError

__all__ = ["codes_among", "is_fraction", "is_missing", "require_kin", "symbol_kinds"]


def codes_among(ours: Collection[Hashable], theirs: Collection[Hashable], unknown: int) -> NDArray[np.int64]:
    """Return our codes, that is places, of their symbols; those that we do not have are unknown.

    Examples
    --------
    >>> codes_among(("G", "A", "T"), ("T", "x"), -1)
    array([ 2, -1])
    """
    place = {symbol: code for code, symbol in enumerate(ours)}
    return np.array([place.get(symbol, unknown) for symbol in theirs], dtype=np.int64)


def symbol_kinds(S: Any) -> dict[str, tuple[str, ...]]:
    """Return the kinds of the symbols of packed samples, by the part of the samples; {} if they have none.

    Examples
    --------
    >>> from mercer.domains import Strings
    >>> symbol_kinds(Strings.pack(["GATTACA"])), symbol_kinds(Strings.pack([b"GATTACA"]))
    ({'symbols': ('str',)}, {'symbols': ('number',)})
    """
    found = {
        "symbols": tuple(sorted(_kinds(getattr(S, "vocabulary", ())))),
        "labels of edges": tuple(sorted(_kinds(getattr(S, "edge_vocabulary", ())))),
    }
    parts = getattr(S, "parts", {name: getattr(S, name) for name in ("left", "right", "members") if hasattr(S, name)})
    for name, part in parts.items() if isinstance(parts, Mapping) else enumerate(parts):
        found |= {f"{what} of {name}": kinds for what, kinds in symbol_kinds(part).items()}
    return {what: kinds for what, kinds in found.items() if kinds}


def require_kin(known: Mapping[str, Iterable[str]], S: Any) -> None:
    """Raise DomainError if no symbol of packed samples can be one of those that are known: bytes are not letters.

    All unknown symbols are equally unlike any other, so the comparison would silently mean nothing.
    """
    for what, kinds in symbol_kinds(S).items():
        before = set(known.get(what, ()))
        if before and not before & set(kinds):
            bytes_too = {"bytes", "number"} & (before | set(kinds)) and "str" in before | set(kinds)
            raise DomainError(
                f"{what} of type {' and '.join(kinds)} were given, those of the training samples are of type "
                f"{' and '.join(sorted(before))}, so that none of them can be equal. Give new samples in the form of "
                f"the training samples{', as text: decode bytes by text.decode()' if bytes_too else ''}."
            )


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, pandas' NA, NaN and NaT of any type, also in a tuple.

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


def _kinds(symbols: Iterable[Hashable]) -> set[str]:
    """Return the kinds of symbols; None, for a symbol that is not there, is of no kind."""
    types = set(map(type, symbols)) - {type(None)}
    return {"number" if issubclass(one, (Number, np.number, np.bool_)) else _name(one) for one in types}


def _name(kind: type) -> str:
    return next((base.__name__ for base in (str, bytes) if issubclass(kind, base)), kind.__name__)

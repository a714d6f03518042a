"""The symbols that a model of strings knows, and strings as their numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.domains import Strings
from mercer.domains.samples import is_hashable
from mercer.errors import DomainError, ParameterError
from mercer.numerics.ragged import Ragged

__all__ = ["check_alphabet", "coded", "learned_alphabet", "strings_of"]

MISSING = -1  # the number of an observation that was not made


def check_alphabet(alphabet: Any, missing: Any, owner: Any) -> int:
    """Return the number of symbols; ParameterError unless they are a text or tuple, all different, none missing."""
    given = tuple(alphabet) if isinstance(alphabet, (str, tuple)) else ()
    sound = bool(given) and all(map(is_hashable, given)) and len(set(given)) == len(given)
    if not sound or not is_hashable(missing) or (missing is not None and missing in given):
        raise ParameterError(
            f"{type(owner).__name__} was given alphabet={str(alphabet)[:60]!r} and missing={str(missing)[:20]!r}; a "
            "text or a tuple of different symbols is accepted, without the one that means a missing observation. "
            'Write for example alphabet="ACGT".'
        )
    return len(given)


def learned_alphabet(S: Strings, weight: Floats, missing: Any) -> tuple[Hashable, ...]:
    """Return the symbols that occur in strings of positive weight, in an order that depends on them alone."""
    used = np.repeat(weight > 0.0, S.lengths)
    found = (S.vocabulary[code] for code in np.unique(S.codes[used]))
    symbols = sorted((s for s in found if missing is None or s != missing), key=lambda s: (type(s).__name__, repr(s)))
    if not symbols:
        raise DomainError(
            f"{len(S)} strings without a symbol were given to learn a model from; an alphabet cannot be found in them. "
            "Give strings that are not empty, or the alphabet."
        )
    return tuple(symbols)


def coded(S: Strings, alphabet: Any) -> NDArray[np.int64]:
    """Return the places in the alphabet of all symbols, -1 for those that it does not have."""
    place = {symbol: code for code, symbol in enumerate(alphabet)}
    known = np.array([place.get(symbol, MISSING) for symbol in S.vocabulary], dtype=np.int64)
    return known[S.codes] if len(known) else np.empty(0, dtype=np.int64)


def strings_of(codes: NDArray[Any], lengths: Any, alphabet: Any) -> Strings:
    """Return strings of the alphabet's symbols."""
    return Strings(Ragged.from_lengths(codes.astype(np.int32), lengths), tuple(alphabet))

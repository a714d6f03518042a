"""The symbols that a kernel or a model of strings knows, named alphabets, and strings as numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.constraints import Satisfies
from mercer.domains import Strings
from mercer.domains.samples import is_hashable
from mercer.errors import DomainError, ParameterError
from mercer.numerics.ragged import Ragged

__all__ = [
    "ALPHABET",
    "ALPHABETS",
    "MISSING_SYMBOL",
    "check_alphabet",
    "coded",
    "learned_alphabet",
    "letters_of",
    "packed_strings",
    "strings_of",
]

# letters, and those that denote one of several letters or none: the letter is unknown
ALPHABETS = {
    "dna": ("ACGT", "NRYSWKMBDHV-."),
    "rna": ("ACGU", "NRYSWKMBDHV-."),
    "protein": ("ACDEFGHIKLMNPQRSTVWY", "BJOUXZ*-."),
}
ALPHABET = Satisfies(
    f"None, a text or a tuple of different symbols, or one of {', '.join(map(repr, ALPHABETS))}",
    lambda value: value is None or isinstance(value, (str, tuple)),
    "'ACGT'",
)
MISSING_SYMBOL = Satisfies("None or a symbol", lambda value: is_hashable(value), "'-'")
MISSING = -1  # the number of an observation that was not made


def letters_of(alphabet: Any) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Return the symbols of an alphabet, given by name or as such, and those that denote an unknown one.

    Examples
    --------
    >>> letters_of("rna")[0], letters_of("ab")
    (('A', 'C', 'G', 'U'), (('a', 'b'), ()))
    """
    if isinstance(alphabet, str) and alphabet in ALPHABETS:
        letters, others = ALPHABETS[alphabet]
        return tuple(letters), tuple(others)
    return tuple(alphabet), ()


def check_alphabet(alphabet: Any, missing: Any, owner: Any) -> int:
    """Return the number of symbols; ParameterError unless they are a text or tuple, all different, none missing."""
    given = letters_of(alphabet)[0] if isinstance(alphabet, (str, tuple)) else ()
    sound = bool(given) and all(map(is_hashable, given)) and len(set(given)) == len(given)
    if not sound or not is_hashable(missing) or (missing is not None and missing in given):
        raise ParameterError(
            f"{type(owner).__name__} was given alphabet={str(alphabet)[:60]!r} and missing={str(missing)[:20]!r}; a "
            f"text or a tuple of different symbols, or one of {', '.join(map(repr, ALPHABETS))}, is accepted, "
            'without the one that means a missing observation. Write for example alphabet="ACGT".'
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
    place = {symbol: code for code, symbol in enumerate(letters_of(alphabet)[0])}
    known = np.array([place.get(symbol, MISSING) for symbol in S.vocabulary], dtype=np.int64)
    return known[S.codes] if len(known) else np.empty(0, dtype=np.int64)


def strings_of(codes: NDArray[Any], lengths: Any, alphabet: Any) -> Strings:
    """Return strings of the alphabet's symbols."""
    return Strings(Ragged.from_lengths(codes.astype(np.int32), lengths), letters_of(alphabet)[0])


def packed_strings(X: Any, alphabet: Any, missing: Any) -> Strings:
    """Return strings; DomainError if they have symbols and none of these is one of the alphabet.

    A symbol that the alphabet does not have may have been mistyped, and is taken for missing. If it has none of them at
    all, another alphabet is meant.
    """
    if alphabet is None:
        return Strings.pack(X)
    letters, others = letters_of(alphabet)
    if isinstance(X, (list, tuple)) and X and all(isinstance(x, bytes) for x in X) and isinstance(letters[0], str):
        X = [x.decode("latin-1") for x in X]  # the letters of the alphabet, not their numbers
    S = Strings.pack(X)
    strange = [s for s in S.vocabulary if s not in others and (missing is None or s != missing)]
    if strange and not set(letters) & set(S.vocabulary):
        raise DomainError(
            f"Strings of the symbols {', '.join(map(repr, strange[:8]))} were given for "
            f"alphabet={str(alphabet)[:60]!r}, which has none of them; strings over "
            f"{', '.join(map(repr, letters[:20]))} are accepted. Give the alphabet of the strings, or change case with "
            "str.upper."
        )
    return S

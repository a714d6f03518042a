"""Samples that are sequences of symbols: letters of a text, bases of a gene, words, events."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Codes, Indices
from mercer.domains.missing_values import is_fraction, is_missing
from mercer.domains.samples import Samples, is_hashable, kind_of
from mercer.errors import DomainError
from mercer.numerics.ragged import Ragged

__all__ = ["Strings"]
__public__ = __all__

_ACCEPTED = "Strings are a list of texts, or of sequences of symbols (words, integers, bytes)."


@dataclass(frozen=True, eq=False, repr=False)
class Strings(Samples):
    r"""Sequences of symbols of different lengths: the samples of every string kernel.

    .. math:: s = s(1) \dots s(|s|) \in \Sigma^* = \cup_{n \ge 0} \Sigma^n

    Seed: [HSS] section 2.2.5, "n-grams and Suffix Trees". Symbols may be words or events as well as letters.

    Parameters
    ----------
    ragged : Ragged
        ``(total,)`` int32 codes and ``(n + 1,)`` offsets. A code is a position in the vocabulary.
    vocabulary : tuple
        Distinct symbols in the order in which they were first seen.

    Notes
    -----
    Characters are Unicode code points, taken as they are: nothing is normalised or folded.
    Slices keep the vocabulary object, so that pieces of one collection need no alignment.

    Examples
    --------
    >>> S = Strings.pack(["GATTACA", "TAG"])
    >>> S
    <Strings: 2 samples, 4 symbols, lengths 3 to 7>
    >>> S.vocabulary, S.codes
    (('G', 'A', 'T', 'C'), array([0, 1, 2, 2, 1, 3, 1, 2, 1, 0], dtype=int32))
    >>> Strings.pack([["to", "be"], ["to", "do"]]).symbols(1)
    ('to', 'do')
    """

    ragged: Ragged
    vocabulary: tuple[Hashable, ...]

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn texts or sequences of symbols into Strings.

        Parameters
        ----------
        X : list or array of str, or of sequences of hashable symbols; a pandas, polars or pyarrow column
            One entry per sample. A table of one column counts as that column.

        Raises
        ------
        DomainError
            A single string, no sample, a sample that is not a sequence, missing or real-valued symbols.
        """
        if cls._is_packed(X):
            return X
        samples = listed(X)
        _check_samples(samples)
        if isinstance(samples[0], str):
            codes, vocabulary = _coded_text("".join(samples))
        else:
            codes, vocabulary = _coded_symbols(samples)
        return cls(Ragged.from_lengths(codes, [len(sample) for sample in samples]), vocabulary)

    def __len__(self) -> int:
        return len(self.ragged)

    @property
    def codes(self) -> Codes:
        """``(total,)`` int32 codes of all samples, one after another."""
        return self.ragged.codes

    @property
    def offsets(self) -> Indices:
        """``(n + 1,)`` where each sample begins among the codes."""
        return self.ragged.offsets

    @property
    def lengths(self) -> Indices:
        """``(n,)`` numbers of symbols."""
        return self.ragged.lengths

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(codes, offsets)``."""
        return self.codes, self.offsets

    def symbols(self, i: int) -> tuple[Hashable, ...]:
        """The symbols of sample i, as they were given."""
        return tuple(self.vocabulary[code] for code in self.ragged.row(i))

    def align(self, other: Strings) -> tuple[Strings, Strings]:
        """Both collections with codes of one vocabulary; the same objects if they have one already.

        Codes of self never change (its vocabulary may grow). What is recoded loses its derived data:
        read those from the collections given.
        """
        if other.vocabulary is self.vocabulary or other.vocabulary == self.vocabulary:
            return self, other
        position = {symbol: code for code, symbol in enumerate(self.vocabulary)}
        recoded = np.array([position.setdefault(s, len(position)) for s in other.vocabulary], dtype=np.int32)
        common = self.vocabulary if len(position) == len(self.vocabulary) else tuple(position)
        codes = recoded[other.codes] if len(recoded) else other.codes
        return self._with_vocabulary(common), type(other)(Ragged(codes, other.offsets), common)

    def _with_vocabulary(self, vocabulary: tuple[Hashable, ...]) -> Strings:
        if vocabulary is self.vocabulary:
            return self
        return type(self)(self.ragged, vocabulary)._deriving(self)

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.ragged.take(index), self.vocabulary)

    def _joined(self, other: Any) -> Self:
        left, right = self.align(other)
        return type(self)(left.ragged.concat(right.ragged), left.vocabulary)

    def _summary(self) -> str:
        spread = f", lengths {self.lengths.min()} to {self.lengths.max()}" if len(self) else ""
        return f", {len(self.vocabulary)} symbol{'' if len(self.vocabulary) == 1 else 's'}{spread}"


# ---------------------------------------------------------------------- the door


def listed(X: Any) -> list[Any]:
    """The samples of a raw container as a list."""
    if isinstance(X, np.ndarray) and X.ndim == 0:
        X = X.item()
    if isinstance(X, str | bytes):
        raise DomainError(f"a single string was given; wrap it in a list: [{X[:20]!r}]. {_ACCEPTED}")
    if nw.dependencies.is_into_dataframe(X):
        X = _only_column(X)
    if nw.dependencies.is_into_series(X):
        return nw.from_native(X, series_only=True).to_list()
    if isinstance(X, np.ndarray):
        is_column = X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "OUST"
        return (X[:, 0] if is_column else X).tolist()
    if hasattr(X, "to_pylist"):  # a pyarrow array
        return X.to_pylist()
    if isinstance(X, Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given, which has no order or no length. {_ACCEPTED} Make a list of it.")
    return list(X)


def _only_column(X: Any) -> Any:
    frame = nw.from_native(X, eager_only=True)
    if frame.shape[1] != 1:
        raise DomainError(
            f"A table of {frame.shape[1]} columns was given ({', '.join(map(str, frame.columns[:8]))}). "
            f"{_ACCEPTED} Give one column, or say which with kernel.on(column)."
        )
    return next(iter(frame.iter_columns())).to_native()


def _check_samples(samples: list[Any]) -> None:
    """Every sample is a sequence, and all are text or none is."""
    if not samples:
        raise DomainError(
            f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
        )
    kind = _kind(samples[0])
    for i, sample in enumerate(samples):
        if _kind(sample) is None:
            given = "a missing value" if is_missing(sample) else f"of type {type(sample).__name__}"
            raise DomainError(
                f"Sample {i} is {given} ({str(sample)[:40]}). {_ACCEPTED} Replace or drop it; "
                "for an empty text give ''."
            )
        if _kind(sample) is not kind:
            raise DomainError(
                f"Sample 0 is of type {type(samples[0]).__name__}, sample {i} is of type "
                f"{type(sample).__name__}. {_ACCEPTED} Give all as text or all as sequences of symbols."
            )


def _kind(sample: Any) -> type | None:
    """str, bytes or Sequence; None for anything else."""
    if isinstance(sample, np.ndarray):
        return Sequence if sample.ndim == 1 else None
    return next((kind for kind in (str, bytes, Sequence) if isinstance(sample, kind)), None)


def _coded_text(text: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Codes of the characters of a text and the characters in the order first seen, without a Python loop."""
    if text.isascii():  # a byte a character: all distinct ones are looked for
        seen = sorted((place, chr(point)) for point in range(128) if (place := text.find(chr(point))) >= 0)
        vocabulary = tuple(character for _, character in seen)
        table = bytearray(128)
        for code, character in enumerate(vocabulary):
            table[ord(character)] = code
        codes = text.encode("ascii").translate(bytes(table) + bytes(128))
        return np.frombuffer(codes, dtype=np.uint8).astype(np.int32), vocabulary
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.intp)
    if not len(points):
        return np.empty(0, dtype=np.int32), ()
    first = np.full(points.max() + 1, -1, dtype=np.intp)
    first[points[::-1]] = np.arange(len(points) - 1, -1, -1)  # of repeated positions the last assigned remains
    distinct = np.flatnonzero(first >= 0)
    distinct = distinct[np.argsort(first[distinct])]
    code = np.empty(len(first), dtype=np.int32)
    code[distinct] = np.arange(len(distinct), dtype=np.int32)
    return code[points], tuple(map(chr, distinct.tolist()))


def _coded_symbols(samples: list[Any]) -> tuple[NDArray[np.int32], tuple[Hashable, ...]]:
    """Codes of hashable symbols and the symbols in the order first seen."""
    rows = [sample.tolist() if isinstance(sample, np.ndarray) else sample for sample in samples]
    position: dict[Hashable, int] = {}
    try:
        codes = [position.setdefault(symbol, len(position)) for symbol in chain.from_iterable(rows)]
    except TypeError:
        _refuse_symbol(rows, lambda symbol: not is_hashable(symbol), "cannot be hashed")
        raise
    if any(is_missing(symbol) or is_fraction(symbol) for symbol in position):
        _refuse_symbol(rows, is_missing, "is missing")
        _refuse_symbol(rows, is_fraction, "is a real number")
    vocabulary = (symbol.item() if isinstance(symbol, np.generic) else symbol for symbol in position)
    return np.array(codes, dtype=np.int32), tuple(vocabulary)


def _refuse_symbol(rows: list[Any], is_bad: Callable[[Any], bool], what: str) -> None:
    """Raise an error that names the first bad symbol and its position."""
    for i, row in enumerate(rows):
        for j, symbol in enumerate(row):
            if is_bad(symbol):
                raise DomainError(
                    f"Symbol {j} of sample {i} {what} ({str(symbol)[:40]}). {_ACCEPTED} "
                    "Replace it by a word or an integer; for rows of numbers use a kernel on vectors."
                )

"""The base class of packed data: an ordered, sliceable, immutable collection of samples."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from numbers import Number
from types import EllipsisType, MappingProxyType
from typing import Any, ClassVar, Self, TypeGuard, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.errors import DomainError, ParameterError
from mercer.numerics.ragged import Ragged

__all__ = [
    "Samples",
    "is_hashable",
    "kind_of",
    "row_index",
    "packed",
    "packed_pair",
    "codes_among",
    "require_kin",
    "symbol_kinds",
]
__public__ = ["Samples"]


class Samples(ABC):
    """Packed, ordered, sliceable, immutable collection of samples; one subclass per domain.

    Raw data become ``Samples`` once, by the class method ``pack`` of a domain, the only code that reads raw objects.
    Everything below receives the arrays of a valid collection.

    A collection behaves like a one-dimensional array of samples: ``len(S)``, ``S[3]``, ``S[2:5]``,
    ``S[mask]``, ``S[indices]`` and ``S[indices, ...]`` are collections again (the last is how
    scikit-learn selects folds, so a packed collection goes through ``GridSearchCV`` and is packed once).
    Copies, deep copies and clones are the collection itself.

    Nothing in mercer writes to a collection. ``pack`` of numbers does not copy an array that has the right form
    already: such a collection is a view of the array, and editing the array edits the collection. What a model keeps
    (``landmarks``) is then a copy, so that no fitted model depends on a user's array.

    Attributes
    ----------
    owns : bool
        Whether no one else can write to the arrays: they were made by ``pack``, or are read-only.
    derived : mapping of str to row-aligned data
        What a kernel has computed once per collection (norms, k-mers, self-similarities):
        arrays whose first axis is the samples, SciPy CSR, ``Ragged`` or ``Samples``. Sliced with the rows.

    Notes
    -----
    A subclass writes ``pack``, ``__len__``, ``arrays`` and the two hooks ``_rows`` (some rows, given a
    slice of step one or an array of valid positions) and ``_joined`` (rows of two collections of its
    class). A frozen dataclass with ``eq=False`` is the shortest way to be immutable.
    """

    derived: Mapping[str, Any] = MappingProxyType({})
    owns: bool = True  # False in the domains whose `pack` need not copy; `pack` then says it of the collection
    is_streamed: ClassVar[bool] = False  # whether rows are read when they are needed, and not held

    @classmethod
    @abstractmethod
    def pack(cls, X: Any) -> Self:
        """Turn raw data into a collection; a collection of this class is returned as it is."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that compiled code receives."""

    @abstractmethod
    def _rows(self, index: slice | Indices) -> Self:
        """Samples at a slice of step one (a view where possible) or at valid positions."""

    @abstractmethod
    def _joined(self, other: Any) -> Self:
        """Samples of self, then those of other."""

    # ------------------------------------------------------------------ selection

    def take(self, index: Any) -> Self:
        """Samples at ``index``: positions, a slice or a boolean mask; derived data come along."""
        rows = row_index(index, len(self))
        if isinstance(rows, slice) and rows == slice(0, len(self), 1):
            return self
        part = self._rows(rows)
        if self.derived:
            vars(part)["derived"] = {key: _take_rows(value, rows) for key, value in self.derived.items()}
        if not type(self).owns:
            vars(part)["owns"] = self.owns or not _share(self.arrays, part.arrays)
        return part

    def concat(self, other: Self) -> Self:
        """Samples of self followed by those of ``other``, a collection of the same domain."""
        if type(other) is not type(self):
            raise DomainError(
                f"{type(self).__name__} cannot be joined with {type(other).__name__}; "
                f"both collections must come from one domain. Pack both with {type(self).__name__}.pack."
            )
        return self._joined(other)

    def tiles(self, rows: int) -> Iterator[Self]:
        """Consecutive pieces of at most ``rows`` samples."""
        if rows < 1:
            raise ParameterError(f"rows={rows} was given; a tile has at least one row. Use rows=1 or more.")
        for start in range(0, len(self), rows):
            yield self.take(slice(start, start + rows))

    def __getitem__(self, key: Any) -> Self:
        if isinstance(key, tuple):
            key = _first_axis(key)
        if _is_integer(key):
            position = operator.index(key)
            if not -len(self) <= position < len(self):
                raise IndexError(f"index {position} is out of bounds for a collection of {len(self)} samples")
            position %= len(self)
            return self.take(slice(position, position + 1))
        return self.take(key)

    def __iter__(self) -> Iterator[Self]:
        return self.tiles(1)

    # ------------------------------------------------------------------ what kernels add, what models keep

    def with_derived(self, key: str, rows: Any) -> Self:
        """The same samples carrying one more row-aligned array under ``key``."""
        count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        if count != len(self):
            raise DomainError(
                f"derived data {key!r} have {count} rows for {len(self)} samples; "
                "one row per sample is needed. Compute them from this collection."
            )
        return self._holding(derived={**self.derived, key: rows})

    def _holding(self, **held: Any) -> Self:
        """The same samples with some of their attributes replaced."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self), **held)
        vars(copy).pop("_own", None)  # the copy that was made of other attributes
        return copy

    def _deriving(self, other: Samples) -> Self:
        """Self, just made of the same samples as other, with the derived data of other."""
        if other.derived:
            vars(self)["derived"] = other.derived
        return self

    def landmarks(self) -> Self:
        """What a model keeps of these samples to compare new ones with them, in memory of its own."""
        return self.owned()

    def owned(self) -> Self:
        """The same samples in arrays that no one else can write to: self, or a copy, which is made once."""
        if "_own" not in vars(self):
            held = _apart(vars(self), () if self.owns else self.arrays)
            if held is vars(self):
                return self
            vars(self)["_own"] = self._holding(**held)
            vars(vars(self)["_own"])["owns"] = True
        return vars(self)["_own"]

    def _borrowing(self, raw: Any) -> Self:
        """Self, just packed, knowing whether its arrays are those of the raw data and can be written to.

        Data that nobody else has are ``()``.
        """
        if isinstance(raw, list | tuple):  # of which NumPy has made an array
            shared: Any = ()
        elif sp.issparse(raw):
            shared = [part for part in vars(raw).values() if isinstance(part, np.ndarray)]
        else:  # of another library's array only the memory is known, which may be that of self
            shared = (raw,) if isinstance(raw, np.ndarray) else self.arrays
        vars(self)["owns"] = not any(_can_be_written(a) for a in self.arrays if _share((a,), shared))
        return self

    # ------------------------------------------------------------------ size and identity

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n,)``: scikit-learn slices objects that have a shape by ``S[index, ...]``."""
        return (len(self),)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, derived data included."""
        return sum(a.nbytes for a in self.arrays) + sum(_bytes_of(rows) for rows in self.derived.values())

    def twin(self) -> Self:
        """Another collection of the same samples, in the same memory.

        A kernel compares a collection with itself (``B is A``) by routines for symmetric matrices. New samples that
        happen to be those of a model are compared as a twin, so that the answer does not depend on the caller.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_own"}
        return state if type(self).owns else {**state, "owns": True}  # what is read back has no other owner

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError(
            f"{type(self).__name__} are packed samples, not numbers in a rectangle; NumPy cannot take them. "
            f"Give them to a kernel or an estimator, or read their arrays from {type(self).__name__}.arrays."
        )

    def __repr__(self) -> str:
        plural = "" if len(self) == 1 else "s"
        return f"<{type(self).__name__}: {len(self)} sample{plural}{self._summary()}>"

    def _summary(self) -> str:
        """What ``repr`` says after the number of samples."""
        return ""

    # ------------------------------------------------------------------ the door

    @classmethod
    def _is_packed(cls, X: Any) -> TypeGuard[Self]:
        """Whether X is a collection of this domain already; one of another domain is refused."""
        if isinstance(X, Samples) and not isinstance(X, cls):
            raise DomainError(
                f"{type(X).__name__} were given where {cls.__name__} are needed; a packed collection keeps "
                f"its domain. Give the raw data, or pack them with {cls.__name__}.pack."
            )
        return isinstance(X, cls)


def row_index(index: Any, n: int) -> slice | Indices:
    """Normalise what selects rows: a slice of step one, or an array of positions in [0, n).

    Parameters
    ----------
    index : slice, sequence of int, boolean mask of length n
        Negative positions count from the end.
    n : int
        Number of rows.

    Raises
    ------
    IndexError
        A position is out of bounds, a mask has another length, or the index is of another kind.
    """
    if isinstance(index, slice):
        start, stop, step = index.indices(n)
        if step == 1:
            return slice(start, max(start, stop), 1)
        return np.arange(start, stop, step, dtype=np.intp)
    positions = np.asarray(index)
    if positions.ndim != 1:
        raise IndexError(f"an index of shape {positions.shape} was given; samples are selected by one axis")
    if positions.dtype == np.bool_:
        if len(positions) != n:
            raise IndexError(f"a mask of length {len(positions)} was given for {n} samples")
        return np.flatnonzero(positions)
    if not len(positions):
        return np.empty(0, dtype=np.intp)
    if positions.dtype.kind not in "iu":
        raise IndexError(f"an index of type {positions.dtype} was given; use integers, a slice or a mask")
    least, most = positions.min(), positions.max()
    if least < -n or most >= n:
        raise IndexError(f"positions {least} to {most} reach beyond {n} samples")
    positions = positions.astype(np.intp, copy=False)
    return np.where(positions < 0, positions + n, positions) if least < 0 else positions


def is_hashable(thing: Any) -> bool:
    """Whether an object can be a key; a tuple can only if its members can, so it has to be tried."""
    try:
        hash(thing)
    except TypeError:
        return False
    return True


def kind_of(thing: Any) -> str:
    """What an object is, in a user's words: the name of its class, or None."""
    return "None" if thing is None else type(thing).__name__


def _first_axis(key: tuple[Any, ...]) -> Any:
    """The index before the ellipsis: scikit-learn writes ``S[index, ...]``."""
    match key:
        case (EllipsisType(),):
            return slice(None)
        case (index,) | (index, EllipsisType()):
            return index
        case _:
            raise IndexError("samples have one axis; use S[index] or S[index, ...]")


def _is_integer(key: Any) -> bool:
    return not isinstance(key, bool | np.bool_) and isinstance(key, int | np.integer)


def _take_rows(rows: Any, index: slice | Indices) -> Any:
    """Rows of derived data: arrays and CSR are indexed, Ragged and Samples know how to take."""
    return rows[index] if isinstance(rows, np.ndarray) or sp.issparse(rows) else rows.take(index)


def _share(some: Iterable[NDArray[Any]], others: Iterable[NDArray[Any]]) -> bool:
    """Whether an array of one group may share memory with one of the other, judged by where they begin and end."""
    others = tuple(others)
    return any(np.may_share_memory(a, b) for a in some for b in others)


def _can_be_written(array: Any) -> bool:
    """Whether the array, or one that it is a view of, can be written to; of a read-only memory map none can."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return False


def _apart(value: Any, arrays: tuple[NDArray[Any], ...]) -> Any:
    """A value that shares no memory with some arrays: a copy where it does."""
    if isinstance(value, np.ndarray):
        return value.copy() if _share((value,), arrays) else value
    if sp.issparse(value):
        value = cast("sp.csr_array", value)
        return value.copy() if _share((value.data, value.indices, value.indptr), arrays) else value
    if isinstance(value, Samples):
        return value.owned()
    if isinstance(value, Ragged):
        codes = _apart(value.codes, arrays)
        return value if codes is value.codes else Ragged(codes, value.offsets)
    if isinstance(value, Mapping):
        found = {key: _apart(member, arrays) for key, member in value.items()}
        return value if all(found[key] is member for key, member in value.items()) else found
    if type(value) is tuple:
        members = tuple(_apart(member, arrays) for member in value)
        return value if all(map(operator.is_, members, value)) else members
    return value


def _bytes_of(rows: Any) -> int:
    if sp.issparse(rows):
        rows = cast("sp.csr_array", rows)
        return rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    return rows.nbytes


def packed(X: Any, pack: Callable[[Any], Samples]) -> Samples:
    """Return samples as they are, and raw data packed."""
    return X if isinstance(X, Samples) else pack(X)


def packed_pair(A: Any, B: Any, pack: Callable[[Any], Samples]) -> tuple[Samples, Samples]:
    """Return two collections packed; the same data are the same samples, which are compared as such."""
    left = packed(A, pack)
    return left, left if B is A else packed(B, pack)


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


def _kinds(symbols: Iterable[Hashable]) -> set[str]:
    """Return the kinds of symbols; None, for a symbol that is not there, is of no kind."""
    types = set(map(type, symbols)) - {type(None)}
    return {"number" if issubclass(one, (Number, np.number, np.bool_)) else _name(one) for one in types}


def _name(kind: type) -> str:
    return next((base.__name__ for base in (str, bytes) if issubclass(kind, base)), kind.__name__)


def sample_count(data: Any, otherwise: int) -> int:
    """Return the number of samples in raw data, if it is known."""
    if isinstance(data, Mapping):  # of columns
        data = next(iter(data.values()), None)
    shape = getattr(data, "shape", None)
    if shape is not None:
        return shape[0] if shape else otherwise
    return len(data) if hasattr(data, "__len__") else otherwise

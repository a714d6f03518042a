"""Samples that are pairs of objects: a drug and a protein, two nodes, a user and an item."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.domains.samples import Samples, is_hashable, kind_of
from mercer.errors import DomainError

__all__ = ["Pairs", "occurring"]
__public__ = ["Pairs"]

_ACCEPTED = "Pairs are a list of tuples (left, right), an array or a table with two columns."


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Samples):
    r"""Pairs of objects of two domains, each object packed once however many pairs it is in.

    .. math:: x = (a, b) \in \mathcal{X}_1 \times \mathcal{X}_2

    Seed: [HSS] Proposition 5 (iii), kernels on pairs.

    Parameters
    ----------
    left, right : Samples
        The objects.
    index : (n, 2) intp array
        Pair i is ``left[index[i, 0]]`` with ``right[index[i, 1]]``.

    Examples
    --------
    >>> from mercer.domains.strings import Strings
    >>> S = Pairs.pack([("GAT", "TAC"), ("GAT", "CAT"), ("TAG", "TAC")], Strings.pack)
    >>> S
    <Pairs: 3 samples, 2 Strings with 2 Strings>
    >>> S.index
    array([[0, 0],
           [0, 1],
           [1, 0]])
    """

    left: Samples
    right: Samples
    index: Indices

    @classmethod
    def pack(
        cls,
        X: Any,
        pack_left: Callable[[Any], Samples] | None = None,
        pack_right: Callable[[Any], Samples] | None = None,
    ) -> Self:
        """Turn a sequence of pairs into two packed collections and an index.

        Parameters
        ----------
        X : sequence of (left, right), (n, 2, ...) array, table of two columns, or Pairs
            The pairs.
        pack_left, pack_right : callable
            Packs a list of the objects on each side; ``pack_right`` is ``pack_left`` unless given.

        Raises
        ------
        DomainError
            Not pairs, no pair, or objects that their domain refuses.
        """
        if cls._is_packed(X):
            return X
        if pack_left is None:
            raise DomainError(
                f"Pairs were given without the domains of their sides. {_ACCEPTED} Use a kernel on pairs, or "
                "Pairs.pack(X, Strings.pack, Vectors.pack)."
            )
        sides = _sides(X)
        packed, index = [], []
        for side, objects, pack in zip(("left", "right"), sides, (pack_left, pack_right or pack_left), strict=True):
            distinct, positions = _distinct(objects)
            try:
                packed.append(pack(distinct))
            except DomainError as error:
                raise type(error)(f"The {side} objects of the pairs: {error}") from error
            index.append(positions)
        return cls(packed[0], packed[1], np.column_stack(index))

    @classmethod
    def among(cls, X: Any, pack: Callable[[Any], Samples]) -> Self:
        """Turn a sequence of pairs of objects of one kind into one packed collection, on both sides, and an index.

        Parameters
        ----------
        X : as for `pack`
        pack : callable
            Packs a list of the objects.

        Examples
        --------
        >>> from mercer.domains.strings import Strings
        >>> S = Pairs.among([("GAT", "TAC"), ("TAC", "CAT")], Strings.pack)
        >>> S.left is S.right, S.index.tolist()
        (True, [[0, 1], [1, 2]])
        """
        if cls._is_packed(X):
            return X
        left, right = _sides(X)
        distinct, positions = _distinct([*left, *right])
        try:
            members = pack(distinct)
        except DomainError as error:
            raise type(error)(f"The objects of the pairs: {error}") from error
        return cls(members, members, np.ascontiguousarray(positions.reshape(2, -1).T))

    @classmethod
    def grid(cls, left: Samples, right: Samples | None = None) -> Self:
        """Pair every object of one packed collection with every object of another, or of itself.

        The pairs of the first object come first: ``y.reshape(len(left), len(right))`` is the table of targets.

        Examples
        --------
        >>> from mercer.domains.vectors import Vectors
        >>> Pairs.grid(Vectors.pack([[1.0], [2.0]]), Vectors.pack([[3.0]])).index.tolist()
        [[0, 0], [1, 0]]
        """
        right = left if right is None else right
        if not (isinstance(left, Samples) and isinstance(right, Samples)):
            raise DomainError(
                f"{kind_of(left)} and {kind_of(right)} were given; all pairs are made of two packed collections. "
                "Pack both sides first, as in Pairs.grid(Strings.pack(a), Vectors.pack(b))."
            )
        index = np.indices((len(left), len(right))).reshape(2, -1).T
        return cls(left, right, np.ascontiguousarray(index, dtype=np.intp))

    @classmethod
    def zip(cls, left: Samples, right: Samples) -> Self:
        """Pair the samples of two equally long packed collections, first with first."""
        if not (isinstance(left, Samples) and isinstance(right, Samples)) or len(left) != len(right):
            given = " and ".join(
                f"{len(s)} {type(s).__name__}" if hasattr(s, "__len__") else type(s).__name__ for s in (left, right)
            )
            raise DomainError(
                f"{given} were given; two packed collections of one length are paired. "
                "Pack both sides first, as in Pairs.zip(Strings.pack(a), Vectors.pack(b))."
            )
        positions = np.arange(len(left), dtype=np.intp)
        return cls(left, right, np.column_stack((positions, positions)))

    def with_members(self, left: Samples, right: Samples) -> Self:
        """The same pairs over members that carry derived data."""
        if left is self.left and right is self.right:
            return self
        return type(self)(left, right, self.index)._deriving(self)

    def __len__(self) -> int:
        return len(self.index)

    def unzip(self) -> tuple[Samples, Samples]:
        """The left and the right objects, one per pair, repeated as often as they occur."""
        return self.left.take(self.index[:, 0]), self.right.take(self.index[:, 1])

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The index, then the arrays of the left and of the right objects."""
        return (self.index, *self.left.arrays, *self.right.arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of the index and of the objects; objects that are both sides count once."""
        objects = sum(array.nbytes for array in (*self.left.arrays, *self.right.arrays))
        sides = self.left.nbytes + (0 if self.right is self.left else self.right.nbytes)
        return super().nbytes - objects + sides

    def landmarks(self) -> Self:
        """The same pairs with only the objects that occur in them."""
        if self.right is self.left:
            used, index = occurring(self.index, len(self.left))
            members = self.left.take(used).landmarks()
            return type(self)(members, members, index)._deriving(self)
        sides = zip(self.index.T, (len(self.left), len(self.right)), strict=True)
        used, index = zip(*(occurring(column, size) for column, size in sides), strict=True)
        left, right = self.left.take(used[0]).landmarks(), self.right.take(used[1]).landmarks()
        return type(self)(left, right, np.column_stack(index))._deriving(self)

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.left, self.right, self.index[index])

    def _joined(self, other: Any) -> Self:
        left, shift_left = _merged(self.left, other.left)
        one = self.right is self.left and other.right is other.left
        right, shift_right = (left, shift_left) if one else _merged(self.right, other.right)
        shifted = other.index + np.array([shift_left, shift_right], dtype=np.intp)
        return type(self)(left, right, np.concatenate((self.index, shifted)))

    def _summary(self) -> str:
        left, right = (f"{len(s)} {type(s).__name__}" for s in (self.left, self.right))
        return f", {left} with {right}"


def occurring(index: Indices, size: int) -> tuple[Indices, Indices]:
    """Return which of `size` places occur in an array, ascending, and the array with places among these.

    Examples
    --------
    >>> occurring(np.array([[4, 1], [1, 4]]), 6)
    (array([1, 4]), array([[1, 0],
           [0, 1]]))
    """
    used = np.flatnonzero(np.bincount(index.ravel(), minlength=size))
    place = np.empty(size, dtype=np.intp)
    place[used] = np.arange(len(used))
    return used, place[index]


def _merged(mine: Samples, other: Samples) -> tuple[Samples, int]:
    """Both collections in one, and where the second begins in it; one collection needs no second copy."""
    return (mine, 0) if other is mine else (mine.concat(other), len(mine))


# ---------------------------------------------------------------------- the door


def _sides(X: Any) -> tuple[Any, Any]:
    """The left and the right objects, one per pair."""
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        if frame.shape[1] != 2:
            raise DomainError(f"A table of {frame.shape[1]} columns was given. {_ACCEPTED} Select two.")
        left, right = (column.to_list() for column in frame.iter_columns())
        return _some(left), right
    if isinstance(X, np.ndarray) and not (X.ndim == 1 and X.dtype == object):
        if X.ndim < 2 or X.shape[1] != 2:
            raise DomainError(f"An array of shape {X.shape} was given. {_ACCEPTED} Give shape (n, 2).")
        return _some(list(X[:, 0])), list(X[:, 1])
    if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make a list of tuples of it.")
    pairs = _some(list(X))
    for i, pair in enumerate(pairs):
        is_sequence = isinstance(pair, Sequence | np.ndarray) and not isinstance(pair, str | bytes)
        if not is_sequence or len(pair) != 2:
            raise DomainError(f"Sample {i} is {_shown(pair)}, not a pair. {_ACCEPTED} Give a tuple of two objects.")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _shown(thing: Any) -> str:
    return "None" if thing is None else f"of type {type(thing).__name__} ({str(thing)[:40]})"


def _some(objects: list[Any]) -> list[Any]:
    if not objects:
        raise DomainError(
            f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
        )
    return objects


def _distinct(objects: list[Any]) -> tuple[list[Any], Indices]:
    """Distinct objects in the order first seen and where each object is among them.

    Equal objects are one, and so are arrays of the same numbers; what else cannot be hashed (lists) is one with itself
    only.
    """
    position: dict[Any, int] = {}
    distinct: list[Any] = []
    positions = np.empty(len(objects), dtype=np.intp)
    for i, thing in enumerate(objects):
        key: Hashable = ("same", id(thing))
        if is_hashable(thing):
            key = ("equal", thing)
        elif isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
            key = ("array", thing.dtype.str, thing.shape, thing.tobytes())
        positions[i] = position.setdefault(key, len(distinct))
        if positions[i] == len(distinct):
            distinct.append(thing)
    return distinct, positions

"""Samples that are taken apart: each is a list of tuples of parts, all parts packed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arguments import answer_of
from mercer.arrays import Indices
from mercer.domains.samples import Samples, is_hashable, kind_of
from mercer.domains.strings import listed
from mercer.errors import DomainError
from mercer.numerics.ragged import Ragged

__all__ = ["Decompositions"]
__public__ = __all__

_TAKES = "an object, and returns a list of tuples, each with one part for each kernel"
_ACCEPTED = "A decomposition is a list of tuples, each with one part for each kernel."


@dataclass(frozen=True, eq=False, repr=False)
class Decompositions(Samples):
    r"""Objects together with the ways in which they are made of parts, each distinct part packed once.

    .. math:: R(x) = \{(x_1, \dots, x_P)\}, \qquad x_p \in \mathcal{X}_p

    Seed: [HSS] section 2.2.5, "Convolutions and Structures".

    Parameters
    ----------
    parts : tuple of Samples
        The distinct parts, by their place in the tuples; empty if no sample has any.
    index : Ragged
        ``(total, P)`` intp positions among the parts, and ``(n + 1,)`` offsets: the tuples of each sample.

    Examples
    --------
    >>> from mercer.domains.strings import Strings
    >>> def halves(word):
    ...     return [(word[:i], word[i:]) for i in range(1, len(word))]
    >>> S = Decompositions.pack(["ATG", "AT"], halves, (Strings.pack, Strings.pack))
    >>> S
    <Decompositions: 2 samples, 3 tuples of 2 Strings with 3 Strings>
    >>> S.index.row(0)
    array([[0, 0],
           [1, 1]])
    """

    parts: tuple[Samples, ...]
    index: Ragged

    @classmethod
    def pack(
        cls,
        X: Any,
        decompose: Callable[[Any], Iterable[Any]] | None = None,
        packs: Sequence[Callable[[Any], Samples]] = (),
    ) -> Self:
        """Take objects apart and pack their parts.

        Parameters
        ----------
        X : list or array of objects, or Decompositions
        decompose : callable
            Takes one object and returns a list of tuples of parts; an empty one if there are none.
        packs : sequence of callables
            Packs a list of parts, one for each place of the tuples.

        Raises
        ------
        DomainError
            No object, a decomposition that fails or is not a list, or parts that their domain refuses.
        """
        if cls._is_packed(X):
            return X
        if decompose is None or not packs:
            raise DomainError(
                f"Objects were given without a way to take them apart. {_ACCEPTED} Use a Convolution kernel, or "
                "Decompositions.pack(X, decompose, (Strings.pack,))."
            )
        objects = _listed(X)
        found = [_tuples(decompose, thing, i, len(packs)) for i, thing in enumerate(objects)]
        counts = [len(tuples) for tuples in found]
        index = np.empty((sum(counts), len(packs)), np.intp)
        parts: list[Samples] = []
        for p, pack in enumerate(packs):
            distinct, index[:, p] = _distinct([one[p] for tuples in found for one in tuples])
            if distinct:
                try:
                    parts.append(pack(distinct))
                except DomainError as error:
                    raise type(error)(f"Part {p} of the decompositions: {error}") from error
        return cls(tuple(parts), Ragged.from_lengths(index, counts))

    def with_parts(self, parts: tuple[Samples, ...]) -> Self:
        """The same decompositions over parts that carry derived data."""
        if all(new is old for new, old in zip(parts, self.parts, strict=True)):
            return self
        return type(self)(parts, self.index)._deriving(self)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Positions and offsets, then the arrays of the parts."""
        return (self.index.codes, self.index.offsets, *(array for part in self.parts for array in part.arrays))

    @property
    def nbytes(self) -> int:
        """Bytes of the positions and of the parts, derived data included."""
        own = sum(array.nbytes for part in self.parts for array in part.arrays)
        return super().nbytes - own + sum(part.nbytes for part in self.parts)

    def landmarks(self) -> Self:
        """The same decompositions with only the parts that occur in them."""
        rows = self.index.take(slice(None))
        if not self.parts or not len(rows.codes):
            return type(self)((), rows)._deriving(self)
        used, codes = zip(*(np.unique(column, return_inverse=True) for column in rows.codes.T), strict=True)
        parts = tuple(part.take(places).landmarks() for part, places in zip(self.parts, used, strict=True))
        return type(self)(parts, Ragged(np.column_stack(codes), rows.offsets))._deriving(self)

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.parts, self.index.take(index))

    def _joined(self, other: Any) -> Self:
        ours, theirs = self.index.take(slice(None)), other.index.take(slice(None))
        if not self.parts or not other.parts:  # one side has no tuple
            return type(self)(self.parts or other.parts, ours.concat(theirs))
        same = [mine is yours for mine, yours in zip(self.parts, other.parts, strict=True)]
        shifts = np.array([0 if s else len(part) for s, part in zip(same, self.parts, strict=True)], dtype=np.intp)
        parts = tuple(
            mine if s else mine.concat(yours) for s, mine, yours in zip(same, self.parts, other.parts, strict=True)
        )
        return type(self)(parts, ours.concat(Ragged(theirs.codes + shifts, theirs.offsets)))

    def _summary(self) -> str:
        members = " with ".join(f"{len(part)} {type(part).__name__}" for part in self.parts)
        return f", {int(self.index.lengths.sum())} tuples of {members or 'nothing'}"


# ---------------------------------------------------------------------- the door


def _listed(X: Any) -> list[Any]:
    """The objects of a raw container as a list; rows of arrays stay arrays."""
    if isinstance(X, np.ndarray) and X.ndim > 1:
        objects = list(X)
    elif isinstance(X, (Mapping, Set)):
        raise DomainError(f"{kind_of(X)} was given, which has no order. Make a list of the objects.")
    else:
        objects = listed(X)
    if not objects:
        raise DomainError("Found array with 0 sample(s) while a minimum of 1 is required. Give at least one object.")
    return objects


def _tuples(decompose: Callable[[Any], Iterable[Any]], thing: Any, i: int, width: int) -> list[tuple[Any, ...]]:
    """The tuples of one object; errors in the function are attributed to it."""

    def listed_parts(one: Any) -> Any:  # a generator fails only as it is read
        found = decompose(one)
        return found if isinstance(found, (str, bytes)) else list(found)

    found = answer_of(listed_parts, thing, who=f"The decomposition of sample {i}", takes=_TAKES)
    tuples = found if isinstance(found, list) else None
    if tuples is None or not all(isinstance(one, tuple) and len(one) == width for one in tuples):
        shown = (
            found if tuples is None else next(one for one in tuples if not isinstance(one, tuple) or len(one) != width)
        )
        raise DomainError(
            f"The decomposition of sample {i} has {str(shown)[:60]!r} where a tuple of {width} is needed. {_ACCEPTED} "
            "Correct the function."
        )
    return tuples


def _distinct(objects: list[Any]) -> tuple[list[Any], Indices]:
    """Distinct objects in the order first seen and where each is among them; what has no hash is one with itself."""
    position: dict[Any, int] = {}
    distinct: list[Any] = []
    positions = np.empty(len(objects), dtype=np.intp)
    for i, thing in enumerate(objects):
        key = (type(thing), thing) if is_hashable(thing) else ("same", id(thing))
        positions[i] = position.setdefault(key, len(distinct))
        if positions[i] == len(distinct):
            distinct.append(thing)
    return distinct, positions

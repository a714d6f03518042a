"""Samples that are sets: bags of vectors, of texts, of graphs, whatever a kernel on the members can compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices, real_numbers
from mercer.domains.samples import Samples, kind_of
from mercer.domains.vectors import Vectors, require_sound
from mercer.errors import DomainError, ModelError
from mercer.numerics.ragged import Ragged

__all__ = ["Sets"]
__public__ = __all__

_ACCEPTED = (
    "Sets are a list with one collection of members for each sample (an array of shape (m, d), a list), or with dicts "
    'of "members" and "weights".'
)


@dataclass(frozen=True, eq=False, repr=False)
class Sets(Samples):
    r"""Sets of objects of one domain, with repetitions and perhaps weights; the members of all sets packed together.

    .. math:: X = \{x_1, \dots, x_{|X|}\}, \qquad x_j \in \mathcal{X}

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces".

    Parameters
    ----------
    members : Samples
        The members of all sets, one set after another.
    offsets : (n + 1,) intp array
        Set i has the members ``offsets[i]`` to ``offsets[i + 1]``.
    weights : (total,) float64 array
        A positive weight for each member, 1 unless given.

    Notes
    -----
    Members are in the order in which they were given; kernels on sets ignore it, kernels on matrices do not. A set
    may be empty, but not all sets. Slices share the members.

    Examples
    --------
    >>> S = Sets.pack([[[0.0, 1.0], [1.0, 1.0]], [[2.0, 0.0]], []])
    >>> S
    <Sets: 3 samples, 3 Vectors, sizes 0 to 2>
    >>> S.set(0).X
    array([[0., 1.],
           [1., 1.]])
    >>> from mercer.domains.strings import Strings
    >>> Sets.pack([["to", "be"], ["or"]], Strings.pack)
    <Sets: 2 samples, 3 Strings, sizes 1 to 2>
    """

    members: Samples
    offsets: Indices
    weights: Floats

    @classmethod
    def pack(cls, X: Any, pack_members: Callable[[Any], Samples] = Vectors.pack) -> Self:
        """Turn collections of members into Sets.

        Parameters
        ----------
        X : list of collections, (n, m, d) array, or Sets
            Each a (m, d) array (dense or sparse), a table, a list of members, or a dict with ``"members"`` and
            ``"weights"``, a positive number for each member.
        pack_members : callable
            Packs the members of all sets; vectors unless given.

        Raises
        ------
        DomainError
            No set, no member in any set, a set that is not one, members that their domain refuses, bad weights.
        """
        if cls._is_packed(X):
            return X
        sets, weights = _unpacked(X)
        sizes = np.array([_size(members) for members in sets], dtype=np.intp)
        if not sizes.sum():
            raise DomainError(
                f"All {len(sets)} sets are empty, so that nothing is known of their members. {_ACCEPTED} Give at least "
                "one set with a member."
            )
        for i, given in enumerate(weights):
            _check_weights(given, int(sizes[i]), i)
        try:
            flat = _flat(sets, sizes)
            members = pack_members(flat)
            if not any(flat is given for given in sets):  # put together just now
                members = members._borrowing(())
        except (DomainError, ValueError) as error:
            _refuse(sets, pack_members, error)
        flat = [
            np.ones(sizes[i]) if given is None else np.asarray(given, dtype=float) for i, given in enumerate(weights)
        ]
        return cls(members, Ragged.from_lengths(np.empty(0), sizes).offsets, np.concatenate(flat))

    @classmethod
    def grouped(cls, X: Any, groups: Any, pack_members: Callable[[Any], Samples] = Vectors.pack) -> Self:
        """Make sets of the rows of one table that have the same group, in ascending order of the groups.

        Parameters
        ----------
        X : raw data
            All members, as `pack_members` takes them.
        groups : (len X,) sequence
            To which set each member belongs.

        Examples
        --------
        >>> Sets.grouped([[1.0], [2.0], [3.0]], ["b", "a", "b"]).set(1).X
        array([[1.],
               [3.]])
        """
        members, labels = pack_members(X), np.asarray(groups)
        if labels.shape != (len(members),):
            raise DomainError(
                f"Groups of shape {labels.shape} were given for {len(members)} members; one group per member is "
                "accepted. Give a list as long as the table."
            )
        _, owners = np.unique(labels, return_inverse=True)
        order = np.argsort(owners, kind="stable")
        offsets = Ragged.from_lengths(order, np.bincount(owners)).offsets
        return cls(members.take(order), offsets, np.ones(len(members)))

    # ------------------------------------------------------------------ what is in it

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Indices:
        """``(n,)`` numbers of members."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Indices:
        """``(total,)`` set to which each member belongs."""
        return np.repeat(np.arange(len(self), dtype=np.intp), self.sizes)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(offsets, weights)``, then the arrays of the members."""
        return (self.offsets, self.weights, *self.members.arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of the offsets, the weights and the members, derived data included."""
        return super().nbytes - sum(array.nbytes for array in self.members.arrays) + self.members.nbytes

    def set(self, i: int) -> Samples:
        """Members of set i."""
        return self.members[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def spread(self, rows: Any) -> Any:
        """Repeat rows, one for each set, as often as the set has members."""
        return np.repeat(rows, self.sizes, axis=0)

    def totals(self, weights: Floats | None = None) -> sp.csr_array:
        """Return the (n, total) matrix that adds over the members of each set, with weights."""
        v = self.weights if weights is None else weights
        return sp.csr_array((v, np.arange(len(v)), self.offsets), shape=(len(self), len(v)))

    def with_members(self, members: Samples) -> Self:
        """The same sets over members that carry derived data."""
        if members is self.members:
            return self
        return type(self)(members, self.offsets, self.weights)._deriving(self)

    def landmarks(self) -> Self:
        """The same sets over the landmarks of their members."""
        return self.with_members(self.members.landmarks())

    # ------------------------------------------------------------------ pieces

    def _rows(self, index: slice | Indices) -> Self:
        if isinstance(index, slice):
            offsets = self.offsets[index.start : index.stop + 1]
            chosen: Any = slice(int(offsets[0]), int(offsets[-1]))
            return type(self)(self.members[chosen], offsets - offsets[0], self.weights[chosen])
        places = Ragged(np.arange(len(self.weights), dtype=np.intp), self.offsets).take(index)
        return type(self)(self.members.take(places.codes), places.offsets, self.weights[places.codes])

    def _joined(self, other: Any) -> Self:
        offsets = np.concatenate((self.offsets, other.offsets[1:] + self.offsets[-1]))
        members = self.members.concat(other.members)
        return type(self)(members, offsets, np.concatenate((self.weights, other.weights)))

    def _summary(self) -> str:
        spread = f", sizes {self.sizes.min()} to {self.sizes.max()}" if len(self) else ""
        return f", {len(self.members)} {type(self.members).__name__}{spread}"

    def check(self) -> None:
        """Raise ModelError unless the parts fit together; those of a model file did not come through `pack`."""
        offsets, weights = self.offsets, self.weights
        good = isinstance(self.members, Samples) and isinstance(offsets, np.ndarray) and isinstance(weights, np.ndarray)
        good = good and offsets.ndim == 1 and offsets.dtype == np.intp and len(offsets) > 0 and offsets[0] == 0
        good = good and bool((np.diff(offsets) >= 0).all()) and int(offsets[-1]) == len(self.members) == len(weights)
        good = good and weights.ndim == 1 and weights.dtype == np.float64
        if not good or not bool((np.isfinite(weights) & (weights > 0.0)).all()):
            raise ModelError("The model has sets whose parts do not fit together. Save the model again.")


# ---------------------------------------------------------------------- the door


def _unpacked(X: Any) -> tuple[list[Any], list[Any]]:
    """Return the members and the weights (or None) of each raw set."""
    if nw.dependencies.is_into_series(X):
        X = nw.from_native(X, series_only=True).to_list()
    if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make a list of sets.")
    if isinstance(X, np.ndarray) and X.ndim < (3 if X.dtype != object else 1):
        raise DomainError(f"An array of shape {X.shape} was given. {_ACCEPTED} Wrap a single set in a list: [x].")
    raw = list(X)
    if not raw:
        raise DomainError(
            f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
        )
    sets, weights = [], []
    for i, one in enumerate(raw):
        given = None
        if isinstance(one, Mapping):
            if "members" not in one or not set(one) <= {"members", "weights"}:
                raise DomainError(f"Set {i} is a dict with {sorted(map(str, one))[:6]}. {_ACCEPTED} Name its members.")
            one, given = one["members"], one.get("weights")
        sets.append(_collection(one, i))
        weights.append(given)
    return sets, weights


def _collection(one: Any, i: int) -> Any:
    """Return the members of a raw set: an array with a row for each, or a list."""
    if nw.dependencies.is_into_dataframe(one):
        return nw.from_native(one, eager_only=True).to_numpy()
    if isinstance(one, Set):  # which has no order of its own, and the sums should be the same in every process
        return sorted(one, key=repr)
    strange = one is None or isinstance(one, str | bytes | Samples)
    if strange or not (sp.issparse(one) or (isinstance(one, Iterable) and hasattr(one, "__len__"))):
        raise DomainError(
            f"Set {i} is of type {kind_of(one)} ({str(one)[:40]}). {_ACCEPTED} Make a list of its members; for an "
            "empty set give []."
        )
    if sp.issparse(one) or (isinstance(one, np.ndarray) and one.ndim > 1):
        return one
    if isinstance(one, np.ndarray) and one.ndim == 0:
        raise DomainError(f"Set {i} is a single object. {_ACCEPTED} Make a list of its members.")
    members: Any = one
    return list(members)


def _size(members: Any) -> int:
    return members.shape[0] if hasattr(members, "shape") else len(members)


def _flat(sets: list[Any], sizes: Indices) -> Any:
    """Return the members of all sets in one table or list."""
    some = [members for members, size in zip(sets, sizes, strict=True) if size]
    if all(isinstance(members, np.ndarray) for members in some):
        return some[0] if len(some) == 1 else np.concatenate(some)
    if any(sp.issparse(members) for members in some):
        for members in some:
            if sp.issparse(members):
                require_sound(members)
        return sp.vstack([sp.csr_array(members) for members in some], format="csr")
    return [member for members in some for member in members]


def _refuse(sets: list[Any], pack_members: Callable[[Any], Samples], error: Exception) -> NoReturn:
    """Raise the error of the first set that cannot be packed, or that does not go with the first."""
    first: Samples | None = None
    place = 0
    for i, members in enumerate(sets):
        if not _size(members):
            continue
        try:
            packed = pack_members(members)
        except DomainError as wrong:
            raise type(wrong)(f"Set {i}: {wrong}") from wrong
        if first is None:
            first, place = packed, i
        elif isinstance(packed, Vectors) and isinstance(first, Vectors) and packed.width != first.width:
            raise DomainError(
                f"Set {i} has members with {packed.width} columns, set {place} with {first.width}. {_ACCEPTED} Give "
                "all members the same columns."
            )
    raise DomainError(f"The members of the sets do not go together: {error}. {_ACCEPTED} Give all in one form.")


def _check_weights(given: Any, size: int, i: int) -> None:
    if given is None:
        return
    try:
        weights = real_numbers(given, "weights")
    except (TypeError, ValueError):
        weights = np.empty(())
    if weights.shape != (size,) or not bool((np.isfinite(weights) & (weights > 0.0)).all()):
        raise DomainError(
            f"Set {i} has {size} members and the weights {str(given)[:60]}; a positive finite number for each member "
            "is accepted. Leave out members without weight."
        )

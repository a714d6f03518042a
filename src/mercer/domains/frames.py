"""Samples of several kinds of columns side by side: numbers, texts, similarities of one table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.domains.samples import Samples, kind_of
from mercer.domains.vectors import require_sound
from mercer.errors import DomainError

__all__ = ["WHOLE", "Frames", "Whole", "columns_of"]
__public__ = ["WHOLE", "Frames", "Whole"]


@dataclass(frozen=True)
class Whole:
    """All of the data rather than some columns; a label distinguishes several readings of them (images)."""

    label: Hashable = None


WHOLE = Whole()

Name: TypeAlias = str | int
Columns: TypeAlias = Hashable  # a name, a tuple of names, or a Whole

_ACCEPTED = "Frames are a data frame, a dict of columns, a matrix with numbered columns or a list of rows."


@dataclass(frozen=True, eq=False, repr=False)
class Frames(Samples):
    r"""Columns of several domains side by side: each part of a sample is compared by a kernel of its own.

    .. math:: x = (x_1, \dots, x_P), \qquad x_p \in \mathcal{X}_p

    Seed: [HSS] section 2.2.5, "Convolutions and Structures": objects composed of parts.

    Parameters
    ----------
    parts : dict
        Columns (one name or position, or a tuple of them) to the packed samples of those columns.

    Examples
    --------
    >>> from mercer.domains.strings import Strings
    >>> from mercer.domains.vectors import Vectors
    >>> table = {"gene": ["GATTACA", "TAG"], "age": [3.0, 5.0], "dose": [0.1, 0.2]}
    >>> S = Frames.pack(table, {"gene": Strings.pack, ("age", "dose"): Vectors.pack})
    >>> S.part("gene")
    <Strings: 2 samples, 4 symbols, lengths 3 to 7>
    >>> S[1:].part(("age", "dose")).X
    array([[5. , 0.2]])
    """

    parts: dict[Columns, Samples]

    @classmethod
    def pack(cls, X: Any, parts: Mapping[Columns, Callable[[Any], Samples]] | None = None) -> Self:
        """Pack each group of columns in its own domain.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), dict of columns, dense or sparse matrix, rows, or Frames
            Rows are samples.
        parts : mapping of columns to the function that packs them
            A single column is given to its function as a one-dimensional sequence, a tuple of columns as a
            two-dimensional table, ``WHOLE`` as the data themselves. Columns are names, or positions where
            there is no such name.

        Raises
        ------
        DomainError
            A column does not exist, a part is refused by its domain, or the columns differ in length.
        """
        if cls._is_packed(X):
            for columns in parts or ():
                X.part(columns)
            return X
        if not parts:
            raise DomainError(
                f"No parts were given for a table. {_ACCEPTED} Say which columns a kernel compares: kernel.on(columns)."
            )
        table = None if all(isinstance(columns, Whole) for columns in parts) else _table(X)
        packed = {columns: _packed(X, table, columns, pack) for columns, pack in parts.items()}
        counts = {len(samples) for samples in packed.values()}
        if len(counts) != 1:
            raise DomainError(
                f"Columns of different lengths were given: {sorted(counts)}. {_ACCEPTED} "
                "Give each sample a value in each column."
            )
        return cls(packed)

    def part(self, columns: Columns) -> Samples:
        """The packed samples of a group of columns."""
        if columns not in self.parts:
            raise DomainError(
                f"Columns {columns!r} were not packed; there are {', '.join(map(repr, self.parts))}. "
                "Pack the table with all columns that the kernels compare."
            )
        return self.parts[columns]

    def with_part(self, columns: Columns, samples: Samples) -> Self:
        """The same table with one part replaced, for example by one that carries derived data."""
        if self.parts.get(columns) is samples:
            return self
        return type(self)({**self.parts, columns: samples})._deriving(self)

    def __getstate__(self) -> dict[str, Any]:
        # pairs, for files whose keys can only be strings (skops)
        return {**super().__getstate__(), "parts": list(self.parts.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, parts=dict(state["parts"]))

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays of all parts, one part after another."""
        return tuple(array for samples in self.parts.values() for array in samples.arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of all parts and of derived data."""
        own = sum(array.nbytes for array in self.arrays)
        return super().nbytes - own + sum(samples.nbytes for samples in self.parts.values())

    def landmarks(self) -> Self:
        """The landmarks of each part."""
        kept = {columns: samples.landmarks() for columns, samples in self.parts.items()}
        if all(kept[columns] is samples for columns, samples in self.parts.items()):
            return self
        return type(self)(kept)._deriving(self)

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)({columns: samples.take(index) for columns, samples in self.parts.items()})

    def _joined(self, other: Any) -> Self:
        if self.parts.keys() != other.parts.keys():
            raise DomainError(
                f"Frames with columns {list(self.parts)} cannot be joined with columns {list(other.parts)}; "
                "the parts must be the same. Pack both for the same kernel."
            )
        return type(self)({columns: s.concat(other.parts[columns]) for columns, s in self.parts.items()})

    def _summary(self) -> str:
        return ", " + ", ".join(f"{columns!r}: {type(s).__name__}" for columns, s in self.parts.items())


# ---------------------------------------------------------------------- the door


class _Table:
    """Columns by name or position of a dict of columns; also what a list of rows becomes."""

    def __init__(self, columns: dict[Name, Any]):
        self.columns = columns

    @property
    def names(self) -> list[Name]:
        return list(self.columns)

    def one(self, name: Name) -> Any:
        return self.columns[name]

    def some(self, names: list[Name]) -> Any:
        arrays = [_as_column(self.columns[name]) for name in names]
        if len({len(array) for array in arrays}) != 1:
            raise DomainError(
                f"The columns {names} have different lengths {[len(array) for array in arrays]}. {_ACCEPTED} "
                "Give each sample a value in each column."
            )
        return np.column_stack(arrays)


class _Array(_Table):
    """Columns by position of a two-dimensional array."""

    def __init__(self, array: NDArray[Any]):
        super().__init__({j: array[:, j] for j in range(array.shape[1])})
        self.array = array

    def some(self, names: list[Name]) -> Any:
        return self.array[:, [int(name) for name in names]]


class _Sparse(_Table):
    """Columns by position of a sparse matrix; a single column is passed on as a dense array."""

    def __init__(self, matrix: Any):
        require_sound(matrix)
        super().__init__(dict.fromkeys(range(matrix.shape[1])))
        self.matrix = sp.csc_array(matrix)

    def one(self, name: Name) -> Any:
        return self.matrix[:, [int(name)]].toarray()[:, 0]

    def some(self, names: list[Name]) -> Any:
        return sp.csr_array(self.matrix[:, [int(name) for name in names]])


class _Native(_Table):
    """Columns of a data frame, passed on in its own kind, so that names and types stay."""

    def __init__(self, frame: nw.DataFrame[Any]):
        super().__init__({series.name: series.to_native() for series in frame.iter_columns()})
        self.frame = frame

    def some(self, names: list[Name]) -> Any:
        return self.frame[:, [self.names.index(name) for name in names]].to_native()


def _table(X: Any) -> _Table:
    if nw.dependencies.is_into_dataframe(X):
        try:
            return _Native(nw.from_native(X, eager_only=True))
        except nw.exceptions.DuplicateError as error:
            raise DomainError(f"Columns of the same name: {error}. {_ACCEPTED} Rename them.") from error
    if isinstance(X, Mapping):
        return _Table(dict(X))
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return _Array(X)
    if sp.issparse(X):
        return _Sparse(X)
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        if len({len(row) for row in X}) == 1:
            return _Table(dict(enumerate(map(list, zip(*X, strict=True)))))
        raise DomainError(f"Rows of different lengths were given. {_ACCEPTED} Give every row all columns.")
    raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make a two-dimensional table of it.")


def columns_of(X: Any) -> dict[Name, Any]:
    """Return the raw columns of a table by their names, or by their positions where it has none.

    Examples
    --------
    >>> columns_of([[1, "a"], [2, "b"]])
    {0: [1, 2], 1: ['a', 'b']}
    """
    table = _table(X)
    return {name: table.one(name) for name in table.names}


def _packed(X: Any, table: _Table | None, columns: Columns, pack: Callable[[Any], Samples]) -> Samples:
    if isinstance(columns, Whole) or table is None:
        return pack(X)
    if isinstance(columns, tuple):
        data = table.some([_find(table, name) for name in columns])
    else:
        data = table.one(_find(table, columns))  # pyright: ignore[reportArgumentType]
    try:
        packed = pack(data)
        return packed._borrowing(()) if isinstance(columns, tuple) else packed  # of columns put together just now
    except DomainError as error:
        raise type(error)(f"Columns {columns!r}: {error}") from error


def _find(table: _Table, name: Name) -> Name:
    """The name of a column in the table; a number that is no name counts the columns."""
    if name in table.names:
        return name
    if isinstance(name, int) and 0 <= name < len(table.names):
        return table.names[name]
    names = [str(known) for known in table.names]
    near = get_close_matches(str(name), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else " Name an existing column."
    raise DomainError(f"There is no column {name!r}; the {len(names)} columns are {', '.join(names[:20])}.{hint}")


def _as_column(values: Any) -> NDArray[Any]:
    """A column as a one-dimensional array: of numbers if it holds only those, else of objects."""
    if nw.dependencies.is_into_series(values):
        return nw.from_native(values, series_only=True).to_numpy()
    try:
        array = np.asarray(values)
    except ValueError:  # sequences of different lengths
        array = np.empty(())
    if array.ndim == 1 and (isinstance(values, np.ndarray) or array.dtype.kind in "fiub"):
        return array
    if not hasattr(values, "__len__"):
        raise DomainError(
            f"A column is {kind_of(values)}, not one value per sample. {_ACCEPTED} Give a list of values."
        )
    return np.fromiter(values, dtype=object, count=len(values))

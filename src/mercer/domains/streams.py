"""Rows of numbers that are read when they are needed, in blocks: arrays on disk, Parquet files, blocks of an iterator.

Symbols: n rows of d numbers in B blocks; a source says where its blocks begin and reads one of them.
"""

from __future__ import annotations

import os
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.domains.samples import Samples, kind_of, row_index
from mercer.domains.vectors import Vectors
from mercer.errors import CapabilityError, DomainError
from mercer.spec import derived

__all__ = ["Stream"]
__public__ = __all__

_HELD = 2**17  # rows up to which a part is read at once and becomes ordinary vectors
_BLOCK = 2**14  # rows read at once where all are needed
_KEPT = 3  # blocks of a file that are kept once they are read: one a thread, and one
_NUMBERS = ("int", "uint", "float", "double", "bool")  # types of columns
_ACCEPTED = (
    "A stream is made of an array or memory map, the path of a .npy file, one or several paths of Parquet files, a "
    "list of such parts, or an iterator (or a function that returns one) of blocks."
)


class NoArray(CapabilityError, AttributeError):
    """There is no array of all rows; an AttributeError, so that code that asks with a default gets the default."""


class Stream(Vectors):
    r"""Rows of numbers that stay where they are and are read in blocks, as often as they are needed.

    Give it as X to an estimator with a Gram of low rank, such as ``gram=Nystrom(1000)`` or
    ``gram=RandomFeatures(2000)``: its sums over rows are made block by block, and no array of n rows and several
    columns is made. ``gram=IncompleteCholesky()`` holds a factor of all rows, 8 bytes for each row and column of it;
    ``Nystrom(rank, tol=)`` reaches a tolerance without one.

    Seed: [STS] Eq. (5), the primal form, which needs sums over samples alone.

    Parameters
    ----------
    source : object
        Use `Stream.of`.

    Attributes
    ----------
    y : (n,) or (n, k) array or None
        Targets, if they came with the blocks or are a column of the file.
    width : int
        d.

    Notes
    -----
    The numbers are those of `Vectors`: finite, float32 or float64, checked whenever a block is read. ``S[index]`` of up
    to 131 072 rows are `Vectors` in memory; more rows are again a stream. What needs all rows at once, such as
    ``gram=Dense()``, is refused. Results are those of the same rows in memory, up to rounding.

    What grows with the rows are vectors, 8 bytes a row each. `KernelRidge` has at most 12 of them at a time: targets,
    weights, which rows count, the ridge of each row, the targets as they are given, centred, scaled and weighted, and
    the coefficients. `KernelLogisticRegression` and `SVC` by Newton's method have at most 20: besides these, labels and
    codes of classes, the values of the function, their change in a step, and first and second derivatives of the
    losses, since a step is chosen by all rows at once. After the fit one is left for each output, ``dual_coef_``. A
    prediction takes one.

    Examples
    --------
    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> S = Stream.of(lambda: ((rows[i : i + 2], rows[i : i + 2, 0]) for i in (0, 2, 4)))
    >>> S, S.y
    (<Stream: 6 samples, 2 columns, float64, read in blocks>, array([ 0.,  2.,  4.,  6.,  8., 10.]))
    >>> S[1:3]
    <Vectors: 2 samples, 2 columns, float64>
    """

    owns = True  # a model that has to keep rows takes them out of the stream, which copies
    is_streamed = True

    def __init__(self, source: Source, places: slice | Indices | None = None, y: Any = None) -> None:
        vars(self).update(source=source, names=source.names, y=y)
        vars(self)["places"] = slice(0, source.count) if places is None else places

    @classmethod
    def of(cls, source: Any, y: Any = None, *, columns: Sequence[str] | None = None, target: str | None = None) -> Self:
        """Return a stream of anything that gives rows.

        Parameters
        ----------
        source : array, path, list of arrays or paths, iterator or callable
            An array or a memory map; a Dask array, whose chunks are the blocks; the path of a ``.npy`` file, which is
            mapped; paths of Parquet files, or of a directory of them, whose row groups are the blocks; a list of arrays
            or paths; an iterator, or a function that returns one, of blocks X or pairs (X, y), which is read once into
            a temporary file.
        y : array, optional
            Targets.
        columns : sequence of str, optional
            Of Parquet files; None is all but the target.
        target : str, optional
            Column of Parquet files that becomes ``y``.

        Raises
        ------
        DomainError
            No rows, no numbers, blocks of different widths, files that cannot be read.
        """
        if isinstance(source, cls):
            return source
        found, own = _source(source, columns, target)
        y = own if y is None else np.asarray(y)
        if y is not None and len(y) != found.count:
            raise DomainError(
                f"A stream of {found.count} rows was given with {len(y)} targets; one target per row is accepted. "
                "Give as many targets as rows."
            )
        return cls(found, None, y)

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Return a stream of anything that gives rows; see `of`."""
        return cls.of(X)

    # rows -----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        places = self.places
        return places.stop - places.start if isinstance(places, slice) else len(places)

    @property
    def places(self) -> slice | Indices:
        """Which rows of the source these are."""
        return vars(self)["places"]

    @property
    def source(self) -> Source:
        """What reads the rows."""
        return vars(self)["source"]

    @property
    def y(self) -> Any:
        """Targets of all rows of the source at these places, or None."""
        y = vars(self)["y"]
        return None if y is None else y[self.places]

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.source.width

    @property
    def is_sparse(self) -> bool:
        """False: rows are dense."""
        return False

    @derived
    def X(self) -> Any:
        """Nothing: the rows are not in memory."""
        raise NoArray(
            f"{self!r} was given where all rows are needed at once; they are read in blocks. Use a Gram of low rank, "
            "as gram=Nystrom(1000), in KernelRidge, KernelLogisticRegression, KernelMachineClassifier or SVC, or read "
            "the rows into memory, for example S[:100_000]."
        )

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """No arrays are held."""
        return ()

    def take(self, index: Any) -> Any:
        """Rows at ``index``: up to 131 072 as `Vectors` in memory, more as a stream."""
        rows = row_index(index, len(self))
        return self if isinstance(rows, slice) and rows.stop - rows.start == len(self) > _HELD else self._rows(rows)

    def _rows(self, index: slice | Indices) -> Any:
        places = self._within(index)
        count = places.stop - places.start if isinstance(places, slice) else len(places)
        if count > _HELD:
            return type(self)(self.source, places, vars(self)["y"])
        rows = self.source.rows(places)
        return Vectors(Vectors.pack(rows).X, self.names) if count else Vectors(rows, self.names)

    def _within(self, index: slice | Indices) -> slice | Indices:
        places = self.places
        if not isinstance(places, slice):
            return places[index]
        if isinstance(index, slice):
            return slice(places.start + index.start, places.start + index.stop)
        return index + places.start

    def _joined(self, other: Any) -> Self:
        raise CapabilityError(
            f"{self!r} cannot be joined with {other!r}: its rows are read in blocks. Make one stream "
            "of both: Stream.of([first, second])."
        )

    @property
    def largest(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Largest absolute value, by a pass over the rows."""
        return max((part.largest for part in self.tiles(_BLOCK)), default=0.0)

    @property
    def squared_norms(self) -> Floats:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Squared lengths of the rows, by a pass over them."""
        return np.concatenate([part.squared_norms for part in self.tiles(_BLOCK)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.X)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "y": None} if self.source.filed else vars(self)  # the reader of the rows has the targets

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def _summary(self) -> str:
        plural = "" if self.width == 1 else "s"
        return f", {self.width} column{plural}, {self.source.dtype}, read in blocks"


# where rows come from -----------------------------------------------------------------------------------


class Source(ABC):
    """Rows in blocks that can be read in any order, by several threads."""

    count: int
    width: int
    dtype: np.dtype
    names: tuple[str, ...] | None = None
    filed = False  # whether another process can read the rows: a pickle is then a path, without the rows

    @property
    def boundaries(self) -> Indices:
        """Where blocks begin, and the end: rows that are best read together."""
        return np.array([0, self.count], dtype=np.intp)

    @abstractmethod
    def rows(self, places: slice | Indices) -> NDArray[Any]:
        """Return rows at a slice of step one or at places, (m, d)."""


class _Array(Source):
    """An array, in memory or mapped."""

    def __init__(self, X: NDArray[Any]) -> None:
        if X.ndim != 2 or not X.size or X.dtype.kind not in "fiub":
            raise DomainError(
                f"An array of shape {X.shape} and type {X.dtype} was given as rows of a stream; two-dimensional arrays "
                "of numbers with at least one row are accepted. Give an array of shape (n, d)."
            )
        self.X = X
        self.count, self.width = X.shape
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def rows(self, places: slice | Indices) -> NDArray[Any]:
        return np.ascontiguousarray(self.X[places], dtype=self.dtype)

    @derived
    def filed(self) -> bool:
        """Whether this is a whole .npy file, mapped."""
        return self.path is not None

    path: Path | None = None  # of the file

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "X": None} if self.path is not None else vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.path is not None:
            self.X = np.load(self.path, mmap_mode="r")


class _Blocks(Source):
    """Blocks one after the other; of those that must be read, the last few are kept."""

    def __init__(self, sizes: Sequence[int], width: int, dtype: Any) -> None:
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.count, self.width, self.dtype = int(self.starts[-1]), width, np.dtype(dtype)
        self._lock, self._last = threading.Lock(), OrderedDict[int, NDArray[Any]]()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_last")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._last = threading.Lock(), OrderedDict()

    @property
    def boundaries(self) -> Indices:
        """Where blocks begin, and the end."""
        return self.starts

    @abstractmethod
    def block(self, place: int) -> NDArray[Any]:
        """Read a block, (m, d)."""

    def _read(self, place: int) -> NDArray[Any]:
        with self._lock:
            if place in self._last:
                self._last.move_to_end(place)
                return self._last[place]
        found = self.block(place)
        with self._lock:
            self._last[place] = found
            while len(self._last) > _KEPT:
                self._last.popitem(last=False)
        return found

    def rows(self, places: slice | Indices) -> NDArray[Any]:
        index = np.arange(places.start, places.stop) if isinstance(places, slice) else places
        out = np.empty((len(index), self.width), self.dtype)
        which = np.searchsorted(self.starts, index, side="right") - 1
        for place in np.unique(which):
            here = which == place
            out[here] = self._some(int(place), index[here] - self.starts[place])
        return out

    def _some(self, place: int, index: Indices) -> NDArray[Any]:
        return self._read(place)[index]


class _Chunks(_Blocks):
    """A Dask array: its chunks of rows are computed when they are read, wherever Dask does that."""

    def __init__(self, X: Any) -> None:
        if X.ndim != 2 or X.dtype.kind not in "fiub" or not X.shape[1] or not sum(X.chunks[0]) > 0:
            raise DomainError(
                f"A Dask array of shape {X.shape} and type {X.dtype} was given as rows of a stream; two-dimensional "
                "arrays of numbers whose chunks have known sizes are accepted. Call its compute_chunk_sizes() first."
            )
        super().__init__(X.chunks[0], X.shape[1], np.float32 if X.dtype == np.float32 else np.float64)
        self.X = X

    def block(self, place: int) -> NDArray[Any]:
        rows = self.X[self.starts[place] : self.starts[place + 1]]
        return np.ascontiguousarray(np.asarray(rows), dtype=self.dtype)


class _Parts(_Blocks):
    """Several sources one after the other."""

    def __init__(self, parts: list[Source]) -> None:
        widths = {part.width for part in parts}
        if len(widths) != 1:
            raise DomainError(
                f"Parts of {sorted(widths)} columns were given as one stream; all must have the same columns. "
                "Give parts of the same width."
            )
        single = all(part.dtype == np.float32 for part in parts)
        super().__init__([part.count for part in parts], widths.pop(), np.float32 if single else np.float64)
        self.parts, self.names = parts, parts[0].names

    @derived
    def filed(self) -> bool:
        """Whether all parts are."""
        return all(part.filed for part in self.parts)

    @property
    def boundaries(self) -> Indices:
        """Where blocks of the parts begin, and the end."""
        inner = [part.boundaries[:-1] + start for part, start in zip(self.parts, self.starts[:-1], strict=True)]
        return np.concatenate([*inner, self.starts[-1:]])

    def block(self, place: int) -> NDArray[Any]:
        return self.parts[place].rows(slice(0, self.parts[place].count))

    def _some(self, place: int, index: Indices) -> NDArray[Any]:
        return self.parts[place].rows(index)


class _Parquet(_Blocks):
    """The row groups of a Parquet file."""

    filed = True

    def __init__(self, path: Path, columns: Sequence[str] | None, target: str | None) -> None:
        self.path = path.resolve()
        with self._opened() as file:
            schema, metadata = file.schema_arrow, file.metadata
            names = list(schema.names)
            sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            kinds = {item.name: item.type for item in schema}
        chosen = [name for name in names if name != target] if columns is None else list(columns)
        missing = [name for name in [*chosen, *([target] if target else [])] if name not in names]
        if missing:
            raise DomainError(
                f"{path} has no column {missing[0]!r}; its columns are {', '.join(names[:20])}. Give names of columns "
                "that the file has."
            )
        self.columns_ = chosen
        types = {name: str(kinds[name]) for name in chosen}
        wrong = [
            name for name, kind in types.items() if not kind.startswith(("int", "uint", "float", "double", "bool"))
        ]
        if wrong:
            raise DomainError(
                f"Column {wrong[0]!r} of {path} holds {types[wrong[0]]}; columns of numbers are accepted. Leave it out "
                "with columns=..., or encode it as numbers."
            )
        if not chosen or not sum(sizes):
            raise DomainError(f"{path} has no rows or no columns; at least one of both is needed. Write it again.")
        single = all(kind == "float" for kind in types.values())
        super().__init__(sizes, len(chosen), np.float32 if single else np.float64)
        self.names = tuple(chosen)

    def _opened(self) -> Any:
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise DomainError(
                f"Reading {self.path} needs pyarrow, which is not installed; blocks of arrays need nothing. "
                "Run: pip install 'mercer[data]'."
            ) from None
        try:
            return pq.ParquetFile(str(self.path))
        except Exception as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise DomainError(
                f"{self.path} cannot be read as Parquet: {reason}. Write or copy the file again, or give the path of "
                "another one."
            ) from error

    def block(self, place: int) -> NDArray[Any]:
        with self._opened() as file:
            table = file.read_row_group(place, columns=self.columns_, use_threads=False)
        out = np.empty((table.num_rows, self.width), self.dtype)
        for j, name in enumerate(self.columns_):
            out[:, j] = table.column(name).to_numpy()
        return out

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all rows, whatever it holds."""
        with self._opened() as file:
            parts = [file.read_row_group(i, columns=[name]).column(0).to_numpy() for i in range(len(self.starts) - 1)]
        return np.concatenate(parts)


class _Spooled(_Array):
    """The blocks of an iterator, written to a temporary file that goes with this object."""

    def __init__(self, blocks: Iterable[Any]) -> None:
        self.file = tempfile.TemporaryFile(prefix="mercer-")  # noqa: SIM115  (it lives as long as the stream)
        width, dtype, count, targets = 0, np.dtype(np.float64), 0, []
        for number, given in enumerate(blocks):
            pair = isinstance(given, tuple) and len(given) == 2
            X = Vectors.pack(given[0] if pair else given)
            if X.is_sparse:
                raise DomainError(
                    f"Block {number} of a stream is sparse; dense blocks are accepted. Use X.toarray() block by block."
                )
            if not number:
                width, dtype = X.width, np.dtype(X.X.dtype)
            if X.width != width or pair != bool(targets or (not number and pair)):
                raise DomainError(
                    f"Block {number} of a stream has {X.width} columns{' and targets' if pair else ''}, the first one "
                    f"{width}; all must be alike. Give blocks of the same columns, all with targets or none."
                )
            if pair:
                targets.append(np.asarray(given[1]))
                if len(targets[-1]) != len(X):
                    raise DomainError(
                        f"Block {number} of a stream has {len(X)} rows and {len(targets[-1])} targets; one target per "
                        "row is accepted. Give as many targets as rows."
                    )
            self.file.write(np.ascontiguousarray(X.X, dtype=dtype).tobytes())
            count += len(X)
        if not count:
            raise DomainError("An iterator without blocks was given as a stream; at least one row is needed. Check it.")
        self.file.flush()
        super().__init__(np.memmap(self.file, dtype=dtype, mode="r", shape=(count, width)))
        self.y = np.concatenate(targets) if targets else None


def _source(given: Any, columns: Sequence[str] | None, target: str | None) -> tuple[Source, Any]:
    """Return what reads the rows, and the targets that come with them."""
    if isinstance(given, np.ndarray):
        return _Array(given), None
    if hasattr(given, "__dask_graph__") and hasattr(given, "chunks"):
        return _Chunks(given), None
    if isinstance(given, (str, os.PathLike)):
        return _from_path(Path(given), columns, target)
    if isinstance(given, (list, tuple)) and given:
        pairs = [_source(part, columns, target) for part in given]
        ys = [y for _, y in pairs if y is not None]
        parts = [part for part, _ in pairs]
        return (parts[0] if len(parts) == 1 else _Parts(parts)), (np.concatenate(ys) if len(ys) == len(pairs) else None)
    blocks: Any = given() if isinstance(given, Callable) else given
    if isinstance(blocks, Samples) or not isinstance(blocks, Iterable):
        raise DomainError(f"{kind_of(given)} was given as a stream. {_ACCEPTED} Give one of these.")
    spooled = _Spooled(blocks)
    return spooled, spooled.y


def _from_path(path: Path, columns: Sequence[str] | None, target: str | None) -> tuple[Source, Any]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".parquet", ".npy"))
        if files:
            return _source(files, columns, target)
        raise DomainError(f"{path} holds no .parquet or .npy file. {_ACCEPTED} Give the path of a file.")
    if not path.exists():
        raise DomainError(f"{path} does not exist. {_ACCEPTED} Give the path of a file that does.")
    if path.suffix == ".npy":
        try:
            mapped = _Array(np.load(path, mmap_mode="r"))
            mapped.path = path.resolve()
            return mapped, None
        except (ValueError, OSError, EOFError) as error:
            raise DomainError(f"{path} cannot be read as an array: {error}. {_ACCEPTED} Write it again.") from error
    source = _Parquet(path, columns, target)
    return source, source.column(target) if target else None

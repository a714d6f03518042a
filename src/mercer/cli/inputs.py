"""From a file to what an estimator takes: split off the target, handle missing values, choose columns."""

from __future__ import annotations

import atexit
import functools
import importlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

import mercer.domains  # whose names are imported when they are used
import mercer.kernels
from mercer.arrays import Array, Bools, Indices
from mercer.budget import format_bytes
from mercer.cli.failures import UsageFault
from mercer.domains import Frames, Similarities, Strings, Vectors
from mercer.errors import DomainError
from mercer.io.datasets import Dataset
from mercer.io.limits import FileError, Limits, shown
from mercer.io.readers import read
from mercer.io.tables import Table
from mercer.kernels import Kernel, Sum
from mercer.kernels.algebra.maps import Selected
from mercer.selection.tables.table_encoder import with_dates
from mercer.spec import Spec

if TYPE_CHECKING:  # few files hold bags or links
    from mercer.cli.tables.bags import Bags
    from mercer.cli.tables.links import Links

__all__ = [
    "STDIN",
    "Problem",
    "Reading",
    "Rows",
    "column_kinds",
    "compares_texts",
    "is_bags",
    "is_known",
    "is_links",
    "kernel_read",
    "open_data",
    "pose",
    "reading",
    "samples",
    "selected_columns",
    "takes_unknown",
    "usable_columns",
]

_NUMBERS = ("number", "boolean")


STDIN = Path("-")  # the name for data that are piped in


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options that say how a data file is to be read."""

    format: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    memory: str | None = None


_AS_FOUND = Reading()


def open_data(path: Path, reading: Reading = _AS_FOUND, kinds: Mapping[str, str] | None = None) -> Dataset:
    """Read a data file, or what is piped in, within a memory budget."""
    limits = Limits(memory=reading.memory)
    if path == STDIN:
        path = _piped(limits.bytes)
    return read(path, reading.format, limits, kinds, encoding=reading.encoding, decimal=reading.decimal)


@functools.cache
def _piped(most: int) -> Path:
    """Return a file with what comes through the pipe: readers look at data more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageFault("The data are -, which is standard input, and nothing is piped in. Name a file.")
    folder = tempfile.TemporaryDirectory(prefix="mercer-")
    atexit.register(folder.cleanup)
    path, total = Path(folder.name, "stdin"), 0
    with path.open("wb") as copy:
        while piece := sys.stdin.buffer.read(2**20):
            total += len(piece)
            if total > most:
                raise UsageFault(f"More than {format_bytes(most)} are piped in, the limit. Save them as a file.")
            copy.write(piece)
    return path


# what a kernel reads --------------------------------------------------------------------------------------


def _nodes(spec: Any) -> Iterator[Spec]:
    if isinstance(spec, Spec):
        yield spec
        for _, child in spec._children():
            yield from _nodes(child)


def selected_columns(kernel: Any) -> tuple[str | int, ...]:
    """Return the columns that a kernel names by ``.on``, or that its encoder of a table reads, each once, in order.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Match
    >>> selected_columns(Gaussian(1.0).on(["age", "size"]) * Match().on("city"))
    ('age', 'size', 'city')
    """
    found: dict[str | int, None] = {}
    for node in _nodes(kernel):
        if isinstance(node, Selected):
            names = node.columns if isinstance(node.columns, (list, tuple)) else [node.columns]
            found |= dict.fromkeys(name if isinstance(name, str) else int(name) for name in names)
    return tuple(dict.fromkeys(encoded_columns(kernel)) | found)


def encoded_columns(spec: Any) -> tuple[Any, ...]:
    """Return the columns of which values may be missing, since a kernel reads them through a `TableEncoder`."""
    encoders = [getattr(node, "transform", None) for node in _nodes(spec)]
    return tuple(dict.fromkeys(name for encoder in encoders for name in getattr(encoder, "columns_", ())))


def reading(estimator: Any, *, fitted: bool = False) -> Any:
    """Return a kernel that names all columns which an estimator reads: of its kernel or kernels, and of the task.

    Examples
    --------
    >>> from mercer import MultiTaskRidge
    >>> from mercer.kernels import Linear
    >>> selected_columns(reading(MultiTaskRidge(Linear().on(["age"]), task="school")))
    ('school', 'age')
    """
    kernel = getattr(estimator, "kernel_" if fitted else "kernel", None)
    views = getattr(estimator, "kernels_", None) if fitted and kernel is None else kernel
    if isinstance(views, (tuple, list)) and all(isinstance(view, Kernel) for view in views):
        kernel = Sum(tuple(views)) if any(view.domain is Frames for view in views) else kernel
    task = getattr(estimator, "task", None)
    if isinstance(task, str) and isinstance(kernel, Kernel) and kernel.domain is Frames:
        kernel = kernel if task in selected_columns(kernel) else mercer.kernels.task_kernel(kernel, task)
    return kernel


def kernel_read(estimator: Any) -> Any:
    """The kernel of an estimator; of several kernels their sum, which reads what each of them does."""
    kernels = getattr(estimator, "kernels", None)
    if kernels is None:
        return reading(estimator)
    return importlib.import_module("mercer.estimators.mixtures.kernel_family").family_of(kernels).kernel


def column_kinds(kernel: Any) -> dict[str, str]:
    """Return how a file's columns must be read for a kernel: texts that look like numbers stay texts."""
    kinds: dict[str, str] = {}
    for node in _nodes(kernel):
        if isinstance(node, Selected) and isinstance(node.columns, str) and compares_texts(node.kernel):
            only_match = all(
                isinstance(inner, mercer.kernels.Match) or inner._children() for inner in _nodes(node.kernel)
            )
            kinds[node.columns] = "category" if only_match else "text"
    return kinds


def compares_texts(kernel: Kernel) -> bool:
    """Whether a kernel takes a column of texts: strings, documents, trees in brackets, or several of these.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Spectrum, TfIdf
    >>> compares_texts(TfIdf() + Spectrum(3)), compares_texts(Gaussian(1.0)), compares_texts(TfIdf().on("note"))
    (True, False, False)
    """
    if kernel.domain is Vectors:  # most are, and trees need not be imported to say so
        return False
    if kernel.domain is not Frames:
        return isinstance(kernel.domain, type) and issubclass(kernel.domain, (Strings, mercer.domains.Trees))
    terms = [child for _, child in kernel._children() if isinstance(child, Kernel)]
    return not isinstance(kernel, Selected) and bool(terms) and all(map(compares_texts, terms))


# the problem ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """What a table says about its rows: weights in a fit, groups that no split divides, times that splits respect."""

    weights: Any = None
    groups: Any = None
    time: Any = None


@dataclass(frozen=True)
class Problem:
    """Samples, perhaps with a target.

    Attributes
    ----------
    data : Dataset
        Without the target.
    y : array or None
    target : str or None
        The name of the target.
    dropped : int
        Rows left out because they miss a value.
    rows : Rows
    """

    data: Dataset
    y: Array | None = None
    target: str | None = None
    dropped: int = 0
    rows: Rows = Rows()

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.data.n

    def take(self, index: Indices) -> Problem:
        """Return the problem on some of the samples."""
        return replace(self, data=self.data.take(index), y=None if self.y is None else self.y[index])


def pose(
    data: Dataset,
    target: str | None,
    labels: Path | None,
    columns: Sequence[str] | None,
    drop: bool,
    unknown: bool = False,
    fill: bool = False,
) -> Problem:
    """Split off the target, and handle missing values.

    Parameters
    ----------
    data : Dataset
    target : str or None
        Its name; None for no target, or for the one that the format has.
    labels : Path or None
        A table that holds the target, if the data do not.
    columns : sequence of str or None
        Columns of a table that are used; None for all that can be.
    drop : bool
        Whether rows that miss a value are left out rather than refused.
    unknown : bool, default False
        Whether values missing in the column of the target are unknown targets, to be kept.
    fill : bool, default False
        Whether the model fills in what is missing, but for tables of texts alone.
    """
    if labels is not None:
        y, name = _labels(labels, data, target)
        used = usable_columns(data, columns)
        data, y, dropped = _complete(data, y, _texts(data, used) if fill else used, drop)
        return Problem(data, y, name, dropped)
    if isinstance(data, Table):
        used = usable_columns(data.drop(target) if target is not None else data, columns)
        used = _texts(data, used) if fill else used
        needed = [*used, *([target] if target is not None and not unknown else [])]
        data, _, dropped = _complete(data, None, needed, drop)
        if target is None:
            return Problem(data, dropped=dropped)
        assert isinstance(data, Table)
        rest, y = data.split_target(target, unknown)
        return Problem(rest, as_target(y), target, dropped)
    if target is None and data.y is None:
        return Problem(data)
    rest, y = data.split_target(target)
    return Problem(rest, as_target(y), target or data.targets[0])


def _texts(data: Dataset, names: Sequence[str]) -> list[str]:
    """Return the columns in which nothing can be filled in: those of texts, where a table has no others."""
    if not isinstance(data, Table):
        return list(names)
    kinds = with_dates(data.columns, data.kinds)
    return list(names) if all(kinds[name] == "text" for name in names) else []


def takes_unknown(estimator: Any) -> bool:
    """Return whether an estimator learns from samples whose target is missing.

    Examples
    --------
    >>> from mercer import SVC, LaplacianRidge, LaplacianSVC
    >>> [takes_unknown(model) for model in (SVC(), LaplacianSVC(), LaplacianSVC(unlabelled=None), LaplacianRidge())]
    [False, False, True, True]
    """
    marks = getattr(estimator, "unlabelled", "none is taken")
    return marks is None or bool(getattr(estimator, "unknown_targets", False))


def is_known(estimator: Any, y: Array) -> Bools:
    """Return which targets are known: neither missing nor the label by which an estimator marks unknown ones."""
    known = np.array([value is not None and value == value for value in y], dtype=bool)
    mark = getattr(estimator, "unlabelled", None)
    return known if mark is None else known & (y != mark)


def as_target(y: Array) -> Array:
    """Return whole numbers as integers, so that a class is called 1 rather than 1.0."""
    if y.dtype.kind == "f" and np.all(y == np.floor(y)) and np.all(np.abs(y) < 2.0**53):
        return y.astype(np.int64)
    return y


def usable_columns(data: Dataset, columns: Sequence[str] | None = None) -> list[str]:
    """Return the columns that kernels can read: not constants or identifiers, unless they are named."""
    if not isinstance(data, Table):
        return []
    if columns is not None:
        _require_columns(data, columns)
        return list(columns)
    return list(data.of_kind("number", "boolean", "category", "text"))


def _require_columns(table: Table, columns: Sequence[str]) -> None:
    lost = [name for name in columns if name not in table.names]
    if not lost:
        return
    near = {name: get_close_matches(name, table.names, n=1) for name in lost}
    hints = [f"is {shown(found[0])} meant by {shown(name)}?" for name, found in near.items() if found]
    there = ", ".join(map(shown, table.names[:20])) + (", ..." if len(table.names) > 20 else "")
    word, verb = ("column", "is") if len(lost) == 1 else ("columns", "are")
    raise FileError(
        table.path,
        f"The {word} {', '.join(map(shown, lost[:20]))} {verb} missing; there are {there}.",
        f"Add {'it' if len(lost) == 1 else 'them'}; {' '.join(hints)}" if hints else "Add what is missing.",
        line=1,
    )


def _complete(data: Dataset, y: Array | None, columns: Sequence[str], drop: bool) -> tuple[Dataset, Array | None, int]:
    """Return the rows without missing values; refuse them unless they may be left out."""
    if not isinstance(data, Table):
        return data, y, 0
    whole = data.complete([name for name in columns if name in data.names])
    lost = int(np.sum(~whole))
    if not lost:
        return data, y, 0
    counts = {name: data.missing[name] for name in columns if data.missing.get(name)}
    listed = ", ".join(f"{shown(name)} {count}" for name, count in list(counts.items())[:20])
    place: Any = data.where(int(np.flatnonzero(~whole)[0]))
    if not drop:
        raise FileError(
            data.path,
            f"{lost} of {data.n} rows miss a value (by column: {listed}).",
            "Fill them in, leave a column out of the file, or leave these rows out with --missing drop.",
            **place,
        )
    if lost == data.n:
        problem = f"All {data.n} rows miss a value (by column: {listed}), so none is left."
        raise FileError(data.path, problem, "Fill some in, or leave out the columns that miss most.", line=1)
    rows = np.flatnonzero(whole)
    return data.take(rows), None if y is None else y[rows], lost


def _labels(path: Path, data: Dataset, target: str | None) -> tuple[Array, str]:
    """Read the targets of samples from a table of their own, by name or in the same order."""
    table = read(path)
    if not isinstance(table, Table):
        raise FileError(path, f"This is a {table.format} file; labels are a table.", "Give a CSV file.", line=1)
    if target is None:
        rest = [name for name in table.names if table.kinds[name] != "identifier"]
        if len(rest) != 1:
            raise UsageFault(
                f"{path} has the columns {', '.join(map(shown, table.names))}; one is the target. "
                "Name it with --target."
            )
        target = rest[0]
    _, y = table.split_target(target)
    if data.ids is not None and table.ids is not None:
        place = {name: row for row, name in enumerate(table.ids)}
        strange = [name for name in data.ids if name not in place]
        if strange:
            raise FileError(
                path,
                f"{len(strange)} samples of {data.path.name} have no row here, the first is {shown(strange[0])}.",
                "Add a row for each sample, named as in the data.",
                line=1,
            )
        y = y[[place[name] for name in data.ids]]
    elif len(y) != data.n:
        raise FileError(
            path,
            f"There are {len(y)} labels for the {data.n} samples of {data.path.name}.",
            "Give one row per sample, in their order.",
            row=min(len(y), data.n) + 1,
        )
    return as_target(y), target


# what an estimator takes ----------------------------------------------------------------------------------


def is_bags(data: Dataset) -> TypeGuard[Bags]:
    """Return whether samples are bags of rows."""
    return data.kind == "bags"


def is_links(data: Dataset) -> TypeGuard[Links]:
    """Return whether samples are pairs of nodes."""
    return data.kind == "links"


def samples(data: Dataset, kernel: Any, columns: Sequence[str] | None = None) -> tuple[Any, tuple[str, ...]]:
    """Return the samples as a kernel takes them, and the columns of a table that they are made of.

    Parameters
    ----------
    data : Dataset
    kernel : Kernel, str or None
        None and scikit-learn's names compare numbers.
    columns : sequence of str, optional
        Those that a model was fitted to.
    """
    if is_bags(data):
        inner = importlib.import_module("mercer.cli.tables.bags").of_instances(kernel)
        X, used = samples(data.table, inner, columns)
        return data.sets(inner.pack(X) if isinstance(inner, Kernel) else Vectors.pack(X)), used
    if not isinstance(data, Table):
        return data.X, ()
    domain = kernel.domain if isinstance(kernel, Kernel) else Similarities if kernel == "precomputed" else Vectors
    if isinstance(kernel, Kernel) and compares_texts(kernel):
        used = columns or (data.of_kind("text") if data.of_kind("text") else data.of_kind("category"))
        if len(used) != 1:
            raise UsageFault(
                f"{kernel!r} compares texts, and {data.path} has {len(used)} columns of them; name the one that is "
                f"meant, as {kernel!r}.on({(used or data.names)[0]!r})."
            )
        _require_columns(data, used)
        return data.columns[used[0]], tuple(used)
    if domain is Frames:
        used = columns or _named(data, kernel)
        _require_columns(data, used)
        return {name: data.columns[name] for name in used}, tuple(used)
    if domain is Vectors:
        used = columns or data.of_kind(*_NUMBERS)
        _require_columns(data, used)
        return _matrix(data, used), tuple(used)
    raise DomainError(
        f"{kernel!r} compares {domain.__name__}, which a table does not hold. Give a file of them, or another kernel."
    )


def _named(table: Table, kernel: Any) -> list[str]:
    """The columns that a kernel names, numbers counted from 0; all if it also reads the whole."""
    names = [name if isinstance(name, str) else _numbered(table, name) for name in selected_columns(kernel)]
    return list(dict.fromkeys(names)) or list(usable_columns(table))


def _numbered(table: Table, position: int) -> str:
    if 0 <= position < len(table.names):
        return table.names[position]
    raise UsageFault(
        f"The kernel names column {position}; {table.path} has {len(table.names)} besides the target, counted from 0. "
        "Name columns as the file does."
    )


def _matrix(table: Table, names: Sequence[str]) -> Array:
    if not names:
        raise FileError(
            table.path,
            "There is no column of numbers that vary.",
            "Compare texts or categories with --estimator and a kernel as Spectrum(3).on('name').",
            line=1,
        )
    wrong = [name for name in names if not isinstance(table.columns[name], np.ndarray)]
    if wrong:
        raise FileError(
            table.path, "The column does not hold numbers.", "Write numbers.", name=wrong[0], column=None, line=1
        )
    return np.column_stack([np.asarray(table.columns[name], dtype=float) for name in names])

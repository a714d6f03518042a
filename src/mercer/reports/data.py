"""Facts about data: what a reader should know before believing any score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from mercer import domains  # whose names are imported when they are used
from mercer.constraints import is_real
from mercer.domains import WHOLE, Frames, Samples, Similarities, Strings, Vectors
from mercer.domains.frames import Whole
from mercer.kernels import Kernel
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import counted, number, percent, shown

__all__ = ["ColumnFacts", "DataFacts", "TargetFacts", "describe"]

MOST_COLUMNS = 2000  # columns described; the page shows fewer
SHOWN_COLUMNS = 40
SHOWN_CLASSES = 20
MOST_KEYS = 100_000  # rows compared in the search for duplicates


@dataclass(frozen=True)
class ColumnFacts:
    """One column: numbers have a range, a mean and a deviation, others a most common value."""

    name: str
    kind: str
    is_read: bool
    missing: int
    distinct: int
    low: float | None = None
    middle: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    common: str = ""
    remark: str = ""

    @property
    def is_constant(self) -> bool:
        """Whether the column has one value only."""
        return self.distinct <= 1


@dataclass(frozen=True)
class TargetFacts:
    """What is predicted: the classes and their counts, or the distribution of numbers."""

    kind: str
    classes: tuple[tuple[str, int, float], ...] = ()
    more_classes: int = 0
    low: float | None = None
    middle: float | None = None
    high: float | None = None
    mean: float | None = None
    deviation: float | None = None
    outputs: int = 1


@dataclass(frozen=True)
class DataFacts:
    """All of the data: how many, of what kinds, and anything odd."""

    n_samples: int
    domain: str
    n_columns: int
    columns: tuple[ColumnFacts, ...]
    more_columns: int
    kinds: tuple[tuple[str, int], ...]
    missing: int
    constant: tuple[str, ...]
    duplicates: int | None
    conflicts: int | None
    scale_ratio: float | None
    details: tuple[tuple[str, str], ...]
    target: TargetFacts | None
    remarks: tuple[str, ...]


def describe(subject: Subject) -> DataFacts:
    """Return the facts about the data of a report."""
    X, S = subject.X, subject.samples
    if X is None:
        raise NotApplicable("no data were given to the report")
    n = subject.n or 0
    columns = tuple(_columns(X, S, _read_by(subject)))
    kinds = Counter(column.kind for column in columns)
    duplicates, conflicts = _duplicates(S, subject.y)
    facts = DataFacts(
        n_samples=n,
        domain=_domain(X, S),
        n_columns=_width(X, S, len(columns)),
        columns=columns[:SHOWN_COLUMNS],
        more_columns=max(0, _width(X, S, len(columns)) - SHOWN_COLUMNS) if columns else 0,
        kinds=tuple(kinds.most_common()),
        missing=sum(column.missing for column in columns),
        constant=tuple(column.name for column in columns if column.is_constant and n > 1),
        duplicates=duplicates,
        conflicts=conflicts,
        scale_ratio=_scale_ratio(columns) if _sees_scales(subject) else None,
        details=() if isinstance(S, Frames) else tuple(_details(S)),
        target=None if subject.y is None else _target(subject.y, subject.task),
        remarks=(),
    )
    return replace(facts, remarks=tuple(_remarks(facts)))


# columns ------------------------------------------------------------------------------------------------


def _columns(X: Any, S: Samples | None, read: frozenset[Any] | None) -> Iterator[ColumnFacts]:
    for place, (name, values) in enumerate(_named_values(X, S)):
        if place == MOST_COLUMNS:
            return
        yield _column(name, values, read is None or name in read or place in read)


def _named_values(X: Any, S: Samples | None) -> Iterator[tuple[Any, Any]]:
    """Names and values of the columns of anything that has columns."""
    if nw.dependencies.is_into_dataframe(X):
        for series in nw.from_native(X, eager_only=True).iter_columns():
            yield series.name, series.to_numpy()
    elif isinstance(X, Mapping):
        yield from X.items()
    elif isinstance(X, np.ndarray) and X.ndim == 2 and not isinstance(S, Similarities):
        yield from enumerate(X.T)
    elif isinstance(S, Vectors):
        names = S.names or range(S.width)
        first = S.X if isinstance(S.X, np.ndarray) else _first_columns(S.X, min(S.width, MOST_COLUMNS))
        for place, name in zip(range(min(S.width, MOST_COLUMNS)), names, strict=False):
            yield name, first[:, place] if isinstance(first, np.ndarray) else first[:, [place]].toarray()[:, 0]


def _first_columns(X: Any, count: int) -> sp.csc_array:
    """Return some columns of a CSR matrix; to slice it takes memory for every column, used or not."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    kept = X.indices < count
    return sp.csc_array((X.data[kept], (rows[kept], X.indices[kept])), shape=(X.shape[0], count))


def _column(name: Any, values: Any, is_read: bool) -> ColumnFacts:
    array = np.asarray(values) if not isinstance(values, list) else np.array(values, dtype=object)
    numbers = _as_numbers(array)
    label = shown(name) if isinstance(name, str) else f"column {name}"
    if numbers is None:
        present = [str(value) for value in array if not _is_missing(value)]
        counts = Counter(present)
        lengthy = len(counts) > max(20, len(present) // 2)
        common = "" if lengthy or not counts else shown(counts.most_common(1)[0][0], 30)
        missing = len(array) - len(present)
        kind, remark = ("text", _lengths(present)) if lengthy else ("category", "")
        return ColumnFacts(label, kind, is_read, missing, len(counts), common=common, remark=remark)
    finite = numbers[np.isfinite(numbers)]
    missing = len(numbers) - len(finite)
    if not len(finite):
        return ColumnFacts(label, "number", is_read, missing, 0)
    low, middle, high = (float(q) for q in np.quantile(finite, (0.0, 0.5, 1.0)))
    spread = _moments(finite)
    return ColumnFacts(label, "number", is_read, missing, len(np.unique(finite)), low, middle, high, *spread)


def _lengths(texts: list[str]) -> str:
    sizes = np.array([len(text) for text in texts])
    return f"{sizes.min()} to {sizes.max()} characters, median {number(float(np.median(sizes)))}"


def _moments(values: Any) -> tuple[float, float]:
    """Mean and standard deviation, without overflow."""
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    return float(np.mean(values / scale) * scale), float(np.std(values / scale) * scale)


def _as_numbers(array: Any) -> Any:
    if array.dtype.kind in "biuf":
        return array.astype(float)
    if array.dtype.kind == "O" and all(value is None or is_real(value) for value in array):
        return np.array([np.nan if value is None else float(value) for value in array])
    return None


def _is_missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, float) and np.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")
    )


def _read_by(subject: Subject) -> frozenset[Any] | None:
    """Columns of a table that the kernel reads; None if it reads all."""
    kernel = subject.kernel
    if kernel is None or subject.model is not subject.estimator:
        return None
    parts = list(kernel.parts())
    if any(isinstance(part, Whole) or part == WHOLE for part in parts):
        return None
    return frozenset(name for part in parts for name in (part if isinstance(part, tuple) else (part,)))


def _width(X: Any, S: Samples | None, described: int) -> int:
    shape = getattr(X, "shape", ())
    if isinstance(S, Vectors):
        return max(S.width, described)
    return int(shape[1]) if len(shape) == 2 and not isinstance(S, Similarities) else described


# the whole ----------------------------------------------------------------------------------------------


def _domain(X: Any, S: Samples | None) -> str:
    match S:
        case Vectors():
            return "vectors" + (" (sparse)" if S.is_sparse else "")
        case Strings():
            return "texts" if isinstance(S, domains.Texts) else "strings"
        case Frames():
            return "tables of " + " and ".join(sorted({type(part).__name__.lower() for part in S.parts.values()}))
        case Similarities():
            return "similarities computed elsewhere"
        case None:
            return shown(type(X).__name__)
    return type(S).__name__.lower()


def _details(S: Samples | None) -> Iterator[tuple[str, str]]:
    """What is worth knowing about domains without columns."""
    if isinstance(S, Strings):
        lengths, is_text = np.asarray(S.lengths), isinstance(S, domains.Texts)
        yield "length", f"{lengths.min()} to {lengths.max()}, median {number(float(np.median(lengths)))}"
        yield "words" if is_text else "symbols", f"{number(len(S.vocabulary))} different"
        if not lengths.all():
            yield "empty", counted(int(np.sum(lengths == 0)), "text" if is_text else "string")
    elif isinstance(S, Similarities) and S.matrix is not None and S.position is not None:
        own = S.self_similarities()
        yield "self-similarity", f"{number(float(own.min()))} to {number(float(own.max()))}"
    elif isinstance(S, Vectors):
        yield "numbers", f"{S.X.dtype}, {'sparse' if S.is_sparse else 'dense'}"
    elif isinstance(S, domains.Trees | domains.Graphs):  # last: others need not import them
        yield from _structure(S)


def _structure(part: domains.Trees | domains.Graphs) -> Iterator[tuple[str, str]]:
    sizes = np.asarray(part.sizes)
    yield "nodes", f"{sizes.min()} to {sizes.max()}, median {number(float(np.median(sizes)))}"
    yield "labels", f"{number(len(part.vocabulary))} different"
    if isinstance(part, domains.Graphs):
        arcs = np.diff(part.indptr[part.offsets])
        yield "arcs", f"{arcs.min()} to {arcs.max()}, an edge without direction being two"
        if part.edge_vocabulary:
            yield "labels of edges", f"{number(len(part.edge_vocabulary))} different"
        if part.attributes.shape[1]:
            yield "numbers of each node", number(part.attributes.shape[1])
        if part.directed.any():
            yield "directed", counted(int(part.directed.sum()), "graph")
    if not sizes.all():
        yield "empty", counted(int(np.sum(sizes == 0)), "tree" if isinstance(part, domains.Trees) else "graph")


def _duplicates(S: Samples | None, y: Any) -> tuple[int | None, int | None]:
    """How many samples repeat an earlier one; how many of these contradict its target."""
    if S is None or len(S) > MOST_KEYS:
        return None, None
    keys = _keys(S)
    if keys is None:
        return None, None
    first: dict[bytes, int] = {}
    targets = None if y is None else np.asarray(y)
    repeated = conflicting = 0
    for place, key in enumerate(keys):
        earlier = first.setdefault(key, place)
        if earlier != place:
            repeated += 1
            conflicting += targets is not None and not np.array_equal(targets[earlier], targets[place])
    return repeated, None if y is None else conflicting


def _keys(S: Samples) -> list[bytes] | None:
    """One key per sample, equal for equal samples; None for domains without a cheap one."""
    if isinstance(S, Vectors):
        if isinstance(S.X, np.ndarray):
            return [row.tobytes() for row in S.X + 0.0]  # minus zero equals zero
        data, indices, indptr = S.arrays
        runs = [slice(a, b) for a, b in pairwise(indptr)]
        return [indices[run].tobytes() + data[run].tobytes() for run in runs]
    if isinstance(S, Strings):
        return [S.ragged.row(i).tobytes() for i in range(len(S))]
    if isinstance(S, Frames):
        parts = [_keys(part) for part in S.parts.values()]
        found = [part for part in parts if part is not None]
        return None if len(found) < len(parts) else [b"\0".join(row) for row in zip(*found, strict=True)]
    if isinstance(S, domains.Trees):
        return [S.ragged.row(i).tobytes() for i in range(len(S))]
    if isinstance(S, domains.Graphs):
        return [S.bytes_of(i) for i in range(len(S))]
    return None


def _sees_scales(subject: Subject) -> bool:
    """Whether the kernel compares several columns in one unit, so that the widest of them count most."""
    return subject.model is subject.estimator and subject.kernel is not None and _in_one_unit(subject.kernel)


def _in_one_unit(kernel: Kernel) -> bool:
    if hasattr(kernel, "transform") or np.ndim(getattr(kernel, "length_scale", 1.0)) == 1:
        return False
    columns = getattr(kernel, "columns", None)
    if columns is not None and (isinstance(columns, (str, int)) or len(columns) == 1):
        return False
    inside = [child for _, child in kernel._children() if isinstance(child, Kernel)]
    return any(map(_in_one_unit, inside)) if inside else kernel.domain is Vectors


def _scale_ratio(columns: tuple[ColumnFacts, ...]) -> float | None:
    """Largest over smallest deviation of the columns of numbers that are read and vary."""
    spread = [c.deviation for c in columns if c.kind == "number" and c.is_read and not c.is_constant and c.deviation]
    return max(spread) / min(spread) if len(spread) > 1 else None


def _target(y: Any, task: str) -> TargetFacts:
    values = np.asarray(y)
    outputs = values.shape[1] if values.ndim == 2 else 1
    if task == "classification" or _as_numbers(values.ravel()) is None:
        labels, counts = np.unique(values.astype(str) if values.dtype == object else values, return_counts=True)
        ranked = sorted(zip(counts.tolist(), labels.tolist(), strict=True), key=lambda pair: -pair[0])
        rows = tuple((shown(label), int(count), count / len(values)) for count, label in ranked[:SHOWN_CLASSES])
        return TargetFacts("classes", rows, max(0, len(labels) - SHOWN_CLASSES), outputs=outputs)
    flat = _as_numbers(values.ravel())
    low, middle, high = (float(q) for q in np.quantile(flat, (0.0, 0.5, 1.0)))
    mean, deviation = _moments(flat)
    return TargetFacts("numbers", (), 0, low, middle, high, mean, deviation, outputs)


def _remarks(facts: DataFacts) -> Iterator[str]:
    """Sentences about what is odd."""
    if facts.missing:
        yield f"{counted(facts.missing, 'value')} missing."
    if facts.constant:
        names = ", ".join(facts.constant[:5]) + (", …" if len(facts.constant) > 5 else "")
        yield f"{counted(len(facts.constant), 'column')} without variation: {names}."
    if facts.duplicates:
        share = percent(facts.duplicates / facts.n_samples)
        yield f"{counted(facts.duplicates, 'sample')} equal to an earlier one ({share})."
    if facts.conflicts:
        yield f"{counted(facts.conflicts, 'repeated sample')} with another target than the first: no model fits both."
    if facts.scale_ratio is not None and facts.scale_ratio > 100:
        yield (
            f"Columns differ in scale by a factor of {number(facts.scale_ratio, 2)}: the kernel compares them as they "
            "are, and so it sees mostly the widest ones."
        )
    classes = facts.target.classes if facts.target else ()
    if len(classes) > 1 and classes[-1][1] * 10 < classes[0][1]:
        rare, common = classes[-1][1], classes[0][1]
        yield f"Classes are unbalanced: the rarest has {counted(rare, 'sample')}, the commonest {number(common)}."
    if facts.target and facts.target.kind == "numbers" and facts.target.low == facts.target.high:
        yield "The target is constant."

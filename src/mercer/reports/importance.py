"""Which columns a model relies on: by permuting them, by the length scales it has learned, and by partial dependence.

Symbols: L the loss of the model on rows of the data, L_j the same with the values of column j permuted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.kernels import Kernel
from mercer.kernels.algebra.maps import Composed, Selected
from mercer.plots.sources import some_of
from mercer.reports.replaced_columns import Columns, columns_of
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import number, shown

__all__ = ["DependenceFacts", "ImportanceFacts", "dependence", "importance"]

MOST_COLUMNS = 200
MOST_ROWS = 300
REPEATS = 4
SECONDS = 8.0  # after which the remaining columns are not permuted
SHOWN = 20  # columns on the page
TOP = 4  # columns whose dependence is drawn
GRID = 24  # points of a curve
CURVES = 60  # rows over which a curve is averaged
MOST_LEVELS = 12  # categories of a curve
MOST_CLASSES = 4  # curves of classes in one picture


@dataclass(frozen=True)
class ColumnImportance:
    """One column: how much worse predictions are without it, over repeated permutations, and its lengths."""

    place: int
    name: str
    loss: float
    deviation: float
    lengths: str


@dataclass(frozen=True)
class ImportanceFacts:
    """The columns in the order of their importance.

    Attributes
    ----------
    rows : tuple of ColumnImportance
    measure : str
        What becomes worse, in words.
    n, repeats : int
        Rows and permutations.
    skipped : int
        Columns left out for lack of time.
    """

    rows: tuple[ColumnImportance, ...]
    measure: str
    n: int
    repeats: int
    skipped: int = 0

    @property
    def has_lengths(self) -> bool:
        """Whether any column has a length of its own."""
        return any(row.lengths for row in self.rows)


def importance(subject: Subject) -> ImportanceFacts:
    """Return how much worse the model predicts when the values of a column are permuted.

    Notes
    -----
    L_j - L, over rows of the data that the report was given. Information that two columns share is not missed when only
    one of them is permuted.
    """
    if subject.y is None or subject.task not in ("classification", "regression") or np.ndim(subject.y) != 1:
        raise NotApplicable("it needs one target for each sample")
    rows = some_of(subject.n or 0, MOST_ROWS)
    columns = columns_of(subject, rows)
    if not 1 < len(columns) <= MOST_COLUMNS:
        few = "there is one column" if len(columns) == 1 else f"{number(len(columns))} columns are too many"
        raise NotApplicable(few)
    y = np.asarray(subject.y)[rows]
    merit, measure = _merit(subject, y)
    best = float(np.mean(merit(columns.data)))
    rng = np.random.default_rng(0)
    repeats = REPEATS if len(columns) <= 50 else 1
    many = columns.take(np.tile(np.arange(columns.n), repeats))
    lengths = dict(_lengths(subject.kernel))
    found, began = [], time.perf_counter()
    for j in range(len(columns)):
        if found and time.perf_counter() - began > SECONDS:
            break
        order = np.concatenate([rng.permutation(columns.n) for _ in range(repeats)])
        loss = best - merit(many.replaced(j, columns.values(j)[order])).reshape(repeats, -1).mean(axis=1)
        own = ", ".join(number(value, 2) for value in lengths.get(columns.keys[j], ()))
        found.append(ColumnImportance(j, columns.names[j], float(loss.mean()), float(loss.std()), own))
    ordered = tuple(sorted(found, key=lambda row: -row.loss))
    return ImportanceFacts(ordered, measure, columns.n, repeats, len(columns) - len(found))


def _merit(subject: Subject, y: Array) -> tuple[Callable[[Any], Floats], str]:
    """Return what is measured for each row, large being good, and its name; all rows may come several times."""
    model = subject.estimator
    if subject.task == "regression":
        values = y.astype(float)
        variance = float(np.var(values)) or 1.0

        def explained(X: Any) -> Floats:
            predicted = np.asarray(model.predict(X), dtype=float)
            return 1.0 - (np.resize(values, len(predicted)) - predicted) ** 2 / variance

        return explained, "R²"
    if hasattr(model, "predict_proba"):
        places = np.searchsorted(model.classes_, y)

        def probability(X: Any) -> Floats:
            P = np.asarray(model.predict_proba(X), dtype=float)
            return P[np.arange(len(P)), np.resize(places, len(P))]

        return probability, "mean probability of the true class"

    def right(X: Any) -> Floats:
        predicted = np.asarray(model.predict(X))
        return (predicted == np.resize(y, len(predicted))).astype(float)

    return right, "accuracy"


# lengths ------------------------------------------------------------------------------------------------


def _lengths(kernel: Kernel | None) -> Iterator[tuple[Any, tuple[float, ...]]]:
    """Yield columns with the lengths that terms of a kernel have for them; smaller ones matter more."""
    found: dict[Any, list[float]] = {}
    for names, scale in _scaled(kernel):
        values = np.atleast_1d(np.asarray(scale, dtype=float))
        if len(values) != len(names) or len(values) < 2:
            continue
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(float(min(v for n, v in zip(names, values, strict=True) if n == name)))
    yield from ((name, tuple(values)) for name, values in found.items())


def _scaled(kernel: Any, names: tuple[Any, ...] | None = None) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield (names of the coordinates, length scales) of the terms that have a length for each of them."""
    if not isinstance(kernel, Kernel):
        return
    if isinstance(kernel, Composed):
        groups = getattr(kernel.transform, "groups_", None)
        codes = getattr(kernel.transform, "codes_", ())
        if groups is not None:
            owners = [code.name for code in codes for _ in code.groups]
            names = tuple(owners[g] for g in groups)
    elif isinstance(kernel, Selected) and isinstance(kernel.columns, (list, tuple)):
        names = tuple(kernel.columns)
    scale = getattr(kernel, "length_scale", None)
    if scale is not None and not isinstance(scale, str) and np.ndim(scale) == 1:
        yield (tuple(range(len(scale))) if names is None else names), scale
    for _, child in kernel._children():
        yield from _scaled(child, names)


# dependence ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DependenceFacts:
    """How predictions depend on one column, the others as they are in the data.

    Attributes
    ----------
    name : str
    points : tuple of float or of str
        Quantiles of a column of numbers, or categories.
    curves : tuple of (label, values)
        Mean predictions; for classes, their mean probabilities or shares.
    low, high : arrays or None
        First and last deciles of the predictions of single rows, where there is one curve.
    axis : str
    """

    name: str
    points: tuple[Any, ...]
    curves: tuple[tuple[str, Floats], ...]
    low: Floats | None
    high: Floats | None
    axis: str


def dependence(subject: Subject, places: tuple[int, ...]) -> tuple[DependenceFacts, ...]:
    """Return the partial dependence on some columns, texts left out."""
    rows = some_of(subject.n or 0, CURVES)
    every = columns_of(subject, some_of(subject.n or 0, 20 * MOST_ROWS))
    columns = columns_of(subject, rows)
    found = []
    for place in places:
        points = _points(every, place)
        if points is None:
            continue
        grid = columns.take(np.tile(np.arange(columns.n), len(points)))
        values, axis, labels = outputs(subject, grid.replaced(place, np.repeat(points, columns.n)))
        cube = values.reshape(len(points), columns.n, -1)
        single = cube.shape[2] == 1
        low, high = np.quantile(cube[:, :, 0], (0.1, 0.9), axis=1) if single else (None, None)
        curves = tuple((label, cube[:, :, k].mean(axis=1)) for k, label in enumerate(labels))
        named = tuple(map(shown, points)) if points.dtype.kind not in "fiu" else tuple(points.astype(float).tolist())
        found.append(DependenceFacts(columns.names[place], named, curves, low, high, axis))
    return tuple(found)


def _points(columns: Columns, place: int) -> Array | None:
    """Return the values that a column is set to; None for texts and for columns that do not vary."""
    numbers = columns.numbers(place)
    if numbers is not None:
        known = numbers[np.isfinite(numbers)]
        points = np.unique(known)
        points = points if len(points) <= GRID else np.unique(np.quantile(known, np.linspace(0.01, 0.99, GRID)))
        return points if len(points) > 1 else None
    values = columns.values(place)
    if values.dtype.kind not in "OUS":
        return None
    levels, counts = np.unique([str(v) for v in values if v is not None], return_counts=True)
    if len(levels) < 2 or counts.max() < 2 or len(levels) > 4 * MOST_LEVELS:
        return None
    return levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]].astype(object)


def outputs(subject: Subject, X: Any) -> tuple[Floats, str, list[str]]:
    """Return (m, k) predictions, what they are, and a label for each column: numbers, or one value per class."""
    model = subject.estimator
    if subject.task == "regression":
        return np.asarray(model.predict(X), dtype=float).reshape(-1, 1), "prediction", [""]
    classes = model.classes_
    if hasattr(model, "predict_proba"):
        P, what = np.asarray(model.predict_proba(X), dtype=float), "probability"
    else:
        P, what = (np.asarray(model.predict(X))[:, None] == classes).astype(float), "share"
    if len(classes) == 2:
        return P[:, 1:], f"{what} of {shown(classes[1], 24)}", [shown(classes[1], 24)]
    common: Indices = np.argsort(-P.mean(axis=0), kind="stable")[:MOST_CLASSES]
    return P[:, common], what, [shown(classes[k], 24) for k in common]

"""The fitted function itself, where one or two columns of numbers determine it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.plots.sources import some_of
from mercer.reports.importance import outputs
from mercer.reports.replaced_columns import Columns, columns_of
from mercer.reports.scores import ScoreFacts
from mercer.reports.subject import NotApplicable, Subject

__all__ = ["CurveFacts", "SurfaceFacts", "curve", "surface"]

POINTS = 200  # points of a curve
SIDE = 40  # points along each side of a surface
MOST_SAMPLES = 600
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class CurveFacts:
    """A function of one column, with what was observed.

    Attributes
    ----------
    name : str
    x : (p,) array
    curves : tuple of (label, (p,) array)
    low, high : (p,) arrays or None
        A band around a single curve.
    band : str
        What the band is, in words.
    seen, values : (m,) arrays
        Samples; values are None for classes.
    """

    name: str
    x: Floats
    curves: tuple[tuple[str, Floats], ...]
    low: Floats | None
    high: Floats | None
    band: str
    axis: str
    seen: Floats
    values: Floats | None


def curve(subject: Subject, scores: ScoreFacts | None) -> CurveFacts:
    """Return the fitted function of one column of numbers."""
    columns, (column,) = _numbers(subject, 1)
    known = column[np.isfinite(column)]
    x = np.linspace(known.min(), known.max(), POINTS)
    grid = columns.take(np.zeros(POINTS, dtype=np.intp)).replaced(0, x)
    values, axis, labels = outputs(subject, grid)
    curves = tuple((label, values[:, k]) for k, label in enumerate(labels))
    low = high = None
    band = ""
    if subject.task == "regression":
        low, high, band = _band(subject, grid, values[:, 0], scores)
    shown = some_of(len(column), MOST_SAMPLES)
    seen = np.asarray(subject.y, dtype=float)[shown] if subject.task == "regression" else None
    return CurveFacts(columns.names[0], x, curves, low, high, band, axis, column[shown], seen)


def _band(subject: Subject, grid: Any, mean: Floats, scores: ScoreFacts | None) -> tuple[Any, Any, str]:
    """Return the band in which nine tenths of new observations are expected."""
    model = subject.estimator
    if hasattr(model, "predict_interval"):
        low, high = np.asarray(model.predict_interval(grid), dtype=float).reshape(len(mean), 2).T
        return low, high, "the interval that the model predicts"
    if "return_std" in inspect.signature(model.predict).parameters:
        deviation = np.asarray(model.predict(grid, return_std=True)[1], dtype=float).reshape(-1)
        return mean - 1.645 * deviation, mean + 1.645 * deviation, "1.645 standard deviations of the process"
    if scores is None or scores.predicted is None:
        return None, None, ""
    error = np.abs(np.asarray(scores.truth, dtype=float) - np.asarray(scores.predicted, dtype=float))
    width = float(np.quantile(error, LEVEL))
    return mean - width, mean + width, "nine tenths of the errors of samples that were left out are within it"


@dataclass(frozen=True, eq=False)
class SurfaceFacts:
    """A function of two columns over a grid, with the samples.

    Attributes
    ----------
    names : (str, str)
    x, y : (s,) arrays
    values : (s, s) array
        Predictions, rows along y; for several classes, the number of the predicted one.
    axis : str
    classes : tuple of str
        The class of each number, where there are several classes.
    seen : (m, 2) array
    observed : (m,) array
    """

    names: tuple[str, str]
    x: Floats
    y: Floats
    values: Floats
    axis: str
    classes: tuple[str, ...]
    seen: Floats
    observed: Floats


def surface(subject: Subject) -> SurfaceFacts:
    """Return the fitted function of two columns of numbers."""
    columns, found = _numbers(subject, 2)
    x, y = (np.linspace(np.nanmin(c), np.nanmax(c), SIDE) for c in found)
    grid = columns.take(np.zeros(SIDE * SIDE, dtype=np.intp))
    first = Columns(grid.replaced(0, np.tile(x, SIDE)), grid.keys, grid.names)
    X = first.replaced(1, np.repeat(y, SIDE))
    shown = some_of(len(found[0]), MOST_SAMPLES)
    seen = np.column_stack(found)[shown]
    names = (columns.names[0], columns.names[1])
    if subject.task == "regression":
        values, axis, _ = outputs(subject, X)
        observed = np.asarray(subject.y, dtype=float)[shown]
        return SurfaceFacts(names, x, y, values.reshape(SIDE, SIDE), axis, (), seen, observed)
    labels = subject.estimator.classes_
    observed = np.searchsorted(labels, np.asarray(subject.y)[shown]).astype(float)
    if len(labels) == 2:
        values, axis, _ = outputs(subject, X)
    else:
        values, axis = np.searchsorted(labels, subject.estimator.predict(X)).astype(float), "class predicted"
    return SurfaceFacts(names, x, y, values.reshape(SIDE, SIDE), axis, tuple(map(str, labels)), seen, observed)


def _numbers(subject: Subject, count: int) -> tuple[Columns, list[Array]]:
    """Return the columns of the data if there are this many, all of numbers, with one target."""
    if subject.y is None or np.ndim(subject.y) != 1 or subject.task not in ("classification", "regression"):
        raise NotApplicable("it needs one target for each sample")
    columns = columns_of(subject, np.arange(subject.n or 0))
    if len(columns) != count:
        raise NotApplicable(f"it is drawn for {'one column' if count == 1 else 'two columns'} of numbers")
    found = [columns.numbers(j) for j in range(count)]
    if any(c is None or not np.isfinite(c).any() for c in found):
        raise NotApplicable("it is drawn for columns of numbers")
    return columns, [c for c in found if c is not None]

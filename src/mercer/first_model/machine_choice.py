"""A machine and its parameters for kernels that are given, or for the rows of a table, by what they predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mercer.estimators  # names are imported on use
from mercer.arrays import Array, real_numbers
from mercer.choosing import Found, LeaveOneOut, left_out_predictions, search
from mercer.domains import Samples
from mercer.errors import TargetError
from mercer.kernels import Kernel
from mercer.runtime.tiling import serial_blas
from mercer.selection.automatic import COARSE, RIDGES, packed_for, some_rows
from mercer.selection.tables import first_tables

__all__ = ["Chosen", "choose", "choose_for_table"]

MOST_ROWS = 50_000  # beyond, a support vector machine takes minutes; the nearest mean does not
MOST_CLASSES = 20  # each pair of them is a problem
MOST_CALIBRATED = 10_000  # rows up to which probabilities add little to the time of the fit
COSTS = (1.0, 3.0, 10.0, 30.0, 100.0)
FIRST_COST = 10.0  # at which kernels are compared
KEPT = 3  # kernels that are tried at the other costs


@dataclass(frozen=True)
class Chosen:
    """A model to be fitted, its predictions of rows left out, which rows these were, and how it was found."""

    model: Any
    predictions: Array
    rows: Array
    score: float
    steps: list[str]
    method: str = ""
    tried: list[tuple[str, float]] = field(default_factory=list)


def choose_for_table(
    columns: Mapping[Any, Any], kinds: Mapping[Any, str], y: Array, task: str, watch: Callable[[float], Any]
) -> Chosen:
    """Choose for the rows of a table; the score is that of rows which took no part in the choice."""

    def chosen(some: Mapping[Any, Any], values: Array, watch: Callable[[float], Any]) -> tuple[Chosen, list[Any]]:
        rows = some_rows(len(values))
        kernels, tried = first_tables.learned_kernels(some, kinds, values, task, lambda share: watch(0.8 * share))
        few, last = first_tables.rows_of_columns(some, rows), lambda share: watch(0.8 + 0.2 * share)
        return choose(kernels, few, values[rows], len(values), task, last), tried

    held = first_tables.held_out(
        columns, y, task, lambda *given: chosen(*given)[0].model, lambda share: watch(0.5 * share)
    )
    found, tried = chosen(columns, y, lambda share: watch(0.5 + 0.5 * share))
    true = y[held.rows]
    if task == "classification":
        score = float(np.mean(held.predictions == true)) if len(true) else np.nan
    else:
        unit = float(np.abs(true).max(initial=0.0)) or 1.0  # so that squares do not overflow
        error, total = (float(np.sum(((true - other) / unit) ** 2)) for other in (held.predictions, true.mean()))
        score = 1.0 - error / total if total else np.nan
    said = f"lengths of the columns by least squares: {tried[0].described()} is best of {len(tried)} kernels"
    mean = f", the mean of the best {min(len(tried), first_tables.AVERAGED)} is taken" if len(tried) > 1 else ""
    steps = [said + mean, *found.steps]
    listed = [(candidate.described(), candidate.error) for candidate in tried]
    return Chosen(found.model, held.predictions, held.rows, score, steps, held.method, listed)


def choose(kernels: Sequence[Kernel], X: Any, y: Array, n: int, task: str, watch: Callable[[float], Any]) -> Chosen:
    """Choose by leave-one-out on the rows given, for a model that will have n of them."""
    return (_classifier if task == "classification" else _regressor)(tuple(kernels), X, y, n, watch)


def _regressor(kernels: tuple[Kernel, ...], X: Any, y: Array, n: int, watch: Callable[[float], Any]) -> Chosen:
    """Ridge regression with an intercept: the kernel by some of the rows, then the ridge by all of them."""
    y = real_numbers(y, "y", TargetError)
    S = packed_for(kernels, X, y)
    centre = float(y.mean())
    unit = float(np.abs(y - centre).max()) or 1.0  # so that squares neither overflow nor vanish
    values, few = (y - centre) / unit, some_rows(len(y), COARSE)
    twice = len(few) < len(y)
    first = _ridge(kernels, S.take(few), values[few], lambda share: watch(0.5 * share if twice else share))
    kernel, alpha = first["kernel"], first["alpha"]
    if twice:
        alpha = _ridge((kernel,), S, values, lambda share: watch(0.5 + 0.5 * share))["alpha"]
    model = mercer.estimators.KernelRidge(kernel, alpha=alpha, fit_intercept=True)
    left_out = left_out_predictions(model, S, values, relearn=False)
    total = float(np.sum(values**2)) or 1.0
    score = 1.0 - float(np.sum((left_out - values) ** 2)) / total
    steps = [f"{_compared(len(kernels))} by closed-form leave-one-out"]
    return Chosen(model, centre + unit * left_out, np.arange(len(y)), score, steps)


def _ridge(kernels: Sequence[Kernel], S: Samples, y: Array, watch: Callable[[float], Any]) -> dict[str, Any]:
    """Return the kernel and the ridge of least error of the rows left out, ridges in units of the mean of k(x, x)."""
    grids = []
    for kernel in kernels:
        T = kernel.pack(S)
        size = float(np.mean(kernel.learn(T, y).diag(T))) or 1.0
        grids.append({"kernel": [kernel], "alpha": [float(f"{size * ridge:.4g}") for ridge in RIDGES[::-1]]})
    model = mercer.estimators.KernelRidge(kernels[0], fit_intercept=True)
    found = search(model, S, y, grids, criterion=LeaveOneOut(relearn=False), refit=False, progress=watch)
    # of ridges that are equal up to rounding the largest, which comes first, is the simplest model
    places = np.round(found.values / (float(np.mean(y**2)) or 1.0), 9)
    return found.params[int(np.nanargmin(places))]


def _classifier(kernels: tuple[Kernel, ...], X: Any, y: Array, n: int, watch: Callable[[float], Any]) -> Chosen:
    """The better one of a support vector machine and the nearest mean, by leaving one out of the same rows."""
    S = packed_for(kernels, X, y)
    few = some_rows(len(y), COARSE)
    counts = np.unique(y[few], return_counts=True)[1]
    means = _means(kernels, S.take(few), y[few])
    steps = [f"{_compared(len(kernels))} by leave-one-out"]
    if n <= MOST_ROWS and 2 <= len(counts) <= MOST_CLASSES and counts.max() > 1:
        kernel, C, score = _margin(kernels, S.take(few), y[few], watch)
        rivals = f"accuracy {score:.3f} by SVC, {means[1]:.3f} by KernelMeanClassifier"
        steps = [f"{_compared(len(kernels), f' and {len(COSTS)} costs C')} by leave-one-out: {rivals}"]
        if score >= means[1]:
            left_out = left_out_predictions(mercer.estimators.SVC(kernel, C=C), S.take(few), y[few], relearn=False)
            model = mercer.estimators.SVC(kernel, C=C, probability=n <= MOST_CALIBRATED)
            return Chosen(model, left_out, few, score, steps)
    if len(few) < len(y):
        means = _means(kernels, S, y, watch)
    model = mercer.estimators.KernelMeanClassifier(means[0])
    return Chosen(model, left_out_predictions(model, S, y, relearn=False), np.arange(len(y)), means[1], steps)


def _means(
    kernels: Sequence[Kernel], S: Samples, y: Array, watch: Callable[[float], Any] | None = None
) -> tuple[Kernel, float]:
    """Return the kernel of the best nearest-mean classifier and its share of hits; of equals the last, smoothest."""
    model = mercer.estimators.KernelMeanClassifier(kernels[0])
    grid = {"kernel": list(kernels)[::-1]}
    found = search(model, S, y, grid, criterion=LeaveOneOut(relearn=False), refit=False, progress=watch)
    return found.best_params["kernel"], 1.0 - found.best_value


def _margin(
    kernels: Sequence[Kernel], S: Samples, y: Array, watch: Callable[[float], Any]
) -> tuple[Kernel, float, float]:
    """Return kernel, cost and share of hits of the best support vector machine.

    All kernels are compared at one cost, the best of them at the others; of equals the smallest cost is taken, and then
    the smoothest kernel.
    """
    model, kept = mercer.estimators.SVC(kernels[0]), min(KEPT, len(kernels))
    total = len(kernels) + kept

    def tried(some: Sequence[Kernel], costs: Sequence[float], before: int) -> Found:
        return search(
            model, S, y, {"kernel": list(some), "C": list(costs)}, criterion=LeaveOneOut(relearn=False), refit=False,
            progress=lambda share: watch((before + share * len(some)) / total),
        )  # fmt: skip

    with serial_blas():  # matrices this small are done before a second thread has woken up
        first = tried(kernels[::-1], [FIRST_COST], 0)
        best = [first.params[i]["kernel"] for i in np.argsort(first.values, kind="stable")[:kept]]
        others = tried(best, [C for C in COSTS if C != FIRST_COST], len(kernels))
    order = {id(kernel): place for place, kernel in enumerate(kernels)}
    rows = [*zip(first.params, first.values, strict=True), *zip(others.params, others.values, strict=True)]
    params, error = min(rows, key=lambda row: (row[1], row[0]["C"], -order[id(row[0]["kernel"])]))
    return params["kernel"], float(params["C"]), 1.0 - float(error)


def _compared(kernels: int, more: str = "") -> str:
    if kernels > 1:
        return f"{kernels} kernels{more} were compared"
    return f"one kernel{more} were compared" if more else "one kernel was tried"

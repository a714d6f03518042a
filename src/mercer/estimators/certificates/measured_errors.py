"""What samples say of a fitted model: errors on the sample, left out, in folds and held out, with intervals.

Beside the bounds of a certificate; only errors on samples that had no part in the fit have an exact interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_outlier_detector
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from mercer import theory  # whose names are imported when they are used
from mercer.arguments import real_array
from mercer.arrays import Array, Floats
from mercer.domains import Samples
from mercer.errors import MercerError

__all__ = ["Request", "mean_errors", "shares_of_errors"]

_FEW = 100  # samples up to which each is left out by a fit of its own


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    delta: float
    candidates: int
    held_out: Any
    cv: int | None
    prior: float | None
    target_range: Any
    random_state: Any
    fixed: bool = True  # whether the kernels to choose from were listed before the sample was seen


def shares_of_errors(
    model: Any, X: Any, y: Array, predicted: Array, asked: Request, notes: list[str]
) -> list[theory.Estimate]:
    """Return shares of errors: on the sample, left out, in folds, held out."""
    labels = None if is_outlier_detector(model) else y

    def share(name: str, wrong: Any, exact: bool = False) -> theory.Estimate:
        errors, n = int(np.sum(wrong)), len(wrong)
        return theory.Estimate(name, errors / n, *theory.clopper_pearson(errors, n, asked.delta), n, exact)

    found = [share("training", predicted != y)]
    if asked.cv is not None:
        if (left := _left_out(model, X, labels, notes)) is not None:
            found.append(share("leave-one-out", left != y))
        counts = len(y) if labels is None else int(np.unique(y, return_counts=True)[1].min())
        if counts >= asked.cv:
            kind = KFold if labels is None else StratifiedKFold
            folds = kind(asked.cv, shuffle=True, random_state=asked.random_state)
            found.append(share(f"{asked.cv}-fold", _crossed(model, X, labels, folds) != y))
        else:
            notes.append(f"No cross-validation: the smallest class has {counts} samples, fewer than cv={asked.cv}.")
    if asked.held_out is not None:
        new, truth = asked.held_out if labels is not None else (asked.held_out, None)
        predicted = np.asarray(model.predict(new))
        found.append(share("hold-out", predicted != (1 if truth is None else np.asarray(truth)), exact=True))
    return found


def mean_errors(
    model: Any, X: Any, y: Floats, losses: Floats, ends: tuple[float, float], asked: Request, notes: list[str]
) -> list[theory.Estimate]:
    """Return mean absolute errors: on the sample, left out, in folds, held out."""

    def mean(name: str, values: Floats, exact: bool = False) -> theory.Estimate:
        half = theory.hoeffding_width(len(values), asked.delta, ends[1] - ends[0])
        value = float(values.mean())
        return theory.Estimate(name, value, max(value - half, 0.0), value + half, len(values), exact)

    def error(predicted: Any, truth: Floats) -> Floats:
        return np.abs(truth - np.clip(np.asarray(predicted, dtype=float).reshape(len(truth)), *ends))

    found = [mean("training", losses)]
    if asked.cv is not None:
        if (left := _left_out(model, X, y, notes)) is not None:
            found.append(mean("leave-one-out", error(left, y)))
        folds = KFold(asked.cv, shuffle=True, random_state=asked.random_state)
        found.append(mean(f"{asked.cv}-fold", error(_crossed(model, X, y, folds), y)))
    if asked.held_out is not None:
        new, truth = asked.held_out
        found.append(mean("hold-out", error(model.predict(new), real_array(truth, "y", 1)), exact=True))
    return found


def _left_out(model: Any, X: Any, y: Any, notes: list[str]) -> Array | None:
    """Return the prediction of each sample by the model without it: in closed form, or by fits if they are few."""
    n = len(model._packed_sample(X))
    try:
        if hasattr(model, "_left_out_predictions") and (found := model._left_out_predictions(X, y)) is not None:
            return found
        if "leave_one_out" in model.get_params(deep=False):
            other: Any = clone(model)
            return np.asarray(other.set_params(leave_one_out=True).fit(X, y).loo_predictions_)
        if n <= _FEW:
            return _crossed(model, X, y, LeaveOneOut())
    except MercerError as error:
        notes.append(f"No leave-one-out: {error}")
        return None
    notes.append(f"No leave-one-out: there is no closed form for {type(model).__name__}, and {n} fits were not made.")
    return None


def _crossed(model: Any, X: Any, y: Any, folds: Any) -> Array:
    """Return the prediction of each sample by a model fitted without its fold."""
    S = X if isinstance(X, Samples) else model._packed_sample(X)
    parts = list(folds.split(np.arange(len(S)), y))
    out: Any = None
    for rest, fold in parts:
        other: Any = clone(model)
        predicted = np.asarray(other.fit(S.take(rest), None if y is None else y[rest]).predict(S.take(fold)))
        out = np.empty(len(S), dtype=predicted.dtype) if out is None else out
        out[fold] = predicted
    return out

"""How good predictions are, and cross-validation of any estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from mercer.arrays import Array, Floats, Indices
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Rows
from mercer.first_model.given_rows import folds, given_rows

__all__ = ["Checked", "cross_validated", "measured", "said", "scores", "splits", "weighted", "words"]


def scores(task: str, y: Any, predictions: Any) -> dict[str, float]:
    """Return the usual scores: R^2 and errors, or shares of hits; and the score of the simplest guess.

    Examples
    --------
    >>> scores("classification", ["a", "b", "a"], ["a", "a", "a"])["accuracy"].__round__(3)
    0.667
    """
    y, predictions = np.asarray(y), np.asarray(predictions)
    if task == "classification":
        hits = y == predictions
        classes, counts = np.unique(y, return_counts=True)
        balanced = np.mean([hits[y == label].mean() for label in classes])
        return {
            "accuracy": float(hits.mean()),
            "balanced_accuracy": float(balanced),
            "baseline_accuracy": float(counts.max() / len(y)),
        }
    errors = np.abs(y.astype(float) - predictions.astype(float))
    unit = float(errors.max(initial=0.0)) or 1.0  # so that squares neither overflow nor vanish
    around = np.abs(y - y.mean()) / unit
    total = float(np.sum(around**2))
    return {
        "r2": 1.0 - float(np.sum((errors / unit) ** 2)) / total if total > 0 else float("nan"),
        "rmse": unit * float(np.sqrt(np.mean((errors / unit) ** 2))),
        "mae": float(errors.mean()),
    }


def words(found: dict[str, float]) -> str:
    """Return scores in words; one that was asked for by name comes first.

    Examples
    --------
    >>> words({"f1": 0.5, "r2": 0.25, "rmse": 1.0, "mae": 1.0})
    'f1 0.5, R2 0.250, root mean squared error 1, mean absolute error 1'
    """
    usual = ("accuracy", "balanced_accuracy", "baseline_accuracy") if "accuracy" in found else ("r2", "rmse", "mae")
    others = {name: value for name, value in found.items() if name not in usual}
    if others and len(others) < len(found):
        first = ", ".join(f"{name} {value:.4g}" for name, value in others.items())
        return f"{first}, {words({name: found[name] for name in usual})}"
    if "accuracy" in found:
        return (
            f"accuracy {found['accuracy']:.3f}, balanced {found['balanced_accuracy']:.3f} (the largest class alone: "
            f"{found['baseline_accuracy']:.3f})"
        )
    if "r2" in found and math.isnan(found["r2"]):
        return f"R2 undefined, since the target is constant; mean absolute error {found['mae']:.4g}"
    if "r2" in found:
        return (
            f"R2 {found['r2']:.3f}, root mean squared error {found['rmse']:.4g}, mean absolute error {found['mae']:.4g}"
        )
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in found.items())


class Checked(NamedTuple):
    """What was predicted without seeing it.

    Attributes
    ----------
    rows : (m,) array of int
        Which samples; with times the earliest are not predicted.
    predictions : (m,) array or None
        For each of them, by the model that did not see it; None for estimators that predict nothing.
    scores : (folds,) array
        The estimator's own score of each fold; for densities the mean logarithm per sample, for novelty detectors
        the share of samples inside. Empty where there are predictions.
    measured : (folds,) array
        The score that was asked for, of each fold; empty without one.
    """

    rows: Indices
    predictions: Array | None
    scores: Floats
    measured: Floats


def cross_validated(
    estimator: Any,
    S: Any,
    y: Array | None,
    pairs: Sequence[tuple[Indices, Indices]],
    monitor: Callable[[float], Any],
    weights: Floats | None = None,
    metric: str | None = None,
) -> Checked:
    """Fit an estimator without each fold in turn, and see what it predicts there.

    Parameters
    ----------
    estimator : estimator
    S : samples
    y : (n,) array or None
    pairs : sequence of (rows to learn from, rows to predict)
    monitor : callable
        Called with the share that is done.
    weights : (n,) array, optional
        Weights of the samples in the fit; in the scores all count once.
    metric : str, optional
        The name of a scikit-learn scorer.
    """
    guesses, found, measured = [], [], []
    scorer = None if metric is None else get_scorer(metric)
    for place, (train, test) in enumerate(pairs):
        model: Any = clone(estimator)
        more = weighted(model, None if weights is None else weights[train])
        model.fit(S[train], **more) if y is None else model.fit(S[train], y[train], **more)
        if y is not None and hasattr(model, "predict"):
            guesses.append(np.asarray(model.predict(S[test])))
            if scorer is not None:
                measured.append(float(scorer(model, S[test], y[test])))
        elif hasattr(model, "coverage"):
            found.append(float(model.coverage(S[test])))
        else:
            found.append(float(model.score(S[test])) / len(test) if hasattr(model, "score") else float("nan"))
        monitor((place + 1) / len(pairs))
    rows = np.concatenate([test for _, test in pairs])
    order = np.argsort(rows, kind="stable")
    predictions = np.concatenate(guesses)[order] if guesses else None
    if predictions is not None and predictions.dtype.kind == "U":
        predictions = predictions.astype(object)
    return Checked(rows[order], predictions, np.array(found), np.array(measured))


def splits(estimator: Any, y: Array | None, n: int, count: int, rows: Rows) -> list[tuple[Indices, Indices]]:
    """Return the rows to learn from and those to predict of each fold, which respects groups and time."""
    classes = is_classifier(estimator)
    if rows.groups is not None or rows.time is not None:
        task = "classification" if classes else "regression"
        values = np.arange(float(n)) if y is None else y
        pairs = folds(values, task, given_rows(n, "r2", None, rows.groups, rows.time), count)
        if not pairs:
            raise UsageFault("No fold has something to learn from: there are too few groups or times. Give --folds 0.")
        return pairs
    sizes = np.unique(y, return_counts=True)[1] if y is not None and classes and y.dtype.kind not in "f" else None
    splitter = KFold(count, shuffle=True, random_state=0)
    if sizes is not None and sizes.min() >= count:
        splitter = StratifiedKFold(count, shuffle=True, random_state=0)
    return list(splitter.split(np.zeros(n), y))


def said(count: int, pairs: Sequence[Any], rows: Rows) -> str:
    """Say how the rows were split."""
    if rows.time is not None:
        return f"{len(pairs)} stretches of time, each predicted from what is before it"
    groups = ", no group split" if rows.groups is not None else ""
    return f"{len(pairs)}-fold cross-validation{groups}"


def measured(model: Any, X: Any, y: Array, task: str, metric: str | None = None) -> dict[str, float]:
    """Return the usual scores of a fitted model on new samples, after the one that was asked for by name."""
    found = {} if metric is None else {metric: float(get_scorer(metric)(model, X, y))}
    predictions = np.asarray(model.predict(X))
    return found | (scores(task, y, predictions) if predictions.ndim == 1 else {})


def weighted(model: Any, weights: Floats | None) -> dict[str, Floats]:
    """Return the argument of `fit` that holds weights of samples; refuse them where there is none."""
    if weights is None:
        return {}
    if not has_fit_parameter(model, "sample_weight"):
        raise UsageFault(
            f"--weights was given with {type(model).__name__}, whose fit knows no weights of samples. Leave it out, or "
            "use another estimator."
        )
    return {"sample_weight": weights}

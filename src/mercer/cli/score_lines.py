"""How good predictions are, and cross-validation of any estimator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.arrays import Array, Floats

__all__ = ["cross_validated", "scores", "words"]


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
    """Return scores in words."""
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


def cross_validated(
    estimator: Any, S: Any, y: Array | None, folds: int, monitor: Callable[[float], Any]
) -> tuple[Array | None, Floats]:
    """Fit an estimator without each fold in turn.

    Returns
    -------
    predictions : (n,) array or None
        For each sample, by the model that did not see it; None for estimators that predict nothing.
    scores : (folds,) array
        The estimator's own score of each fold; for densities the mean logarithm per sample, for novelty detectors
        the share of samples inside.
    """
    n = len(y) if y is not None else S.shape[0] if hasattr(S, "shape") else len(S)
    classes = np.unique(y, return_counts=True)[1] if y is not None and y.dtype.kind not in "f" else None
    stratified = classes is not None and getattr(estimator, "_estimator_type", "") == "classifier"
    splitter = KFold(folds, shuffle=True, random_state=0)
    if stratified and classes is not None and classes.min() >= folds:
        splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
    predictions: Array | None = None
    found = []
    for place, (train, test) in enumerate(splitter.split(np.zeros(n), y)):
        model: Any = clone(estimator)
        model.fit(S[train]) if y is None else model.fit(S[train], y[train])
        if y is not None and hasattr(model, "predict"):
            guesses = np.asarray(model.predict(S[test]))
            if predictions is None:
                predictions = np.empty(
                    (n, *guesses.shape[1:]), dtype=guesses.dtype if guesses.dtype.kind != "U" else object
                )
            predictions[test] = guesses
        elif hasattr(model, "coverage"):
            found.append(float(model.coverage(S[test])))
        else:
            found.append(float(model.score(S[test])) / len(test) if hasattr(model, "score") else float("nan"))
        monitor((place + 1) / folds)
    return predictions, np.array(found)

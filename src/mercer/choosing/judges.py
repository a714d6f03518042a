"""Scores of predictions that are known, by scikit-learn's scorers or, for the usual ones, by their formula at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer, _Scorer

from mercer.arrays import Array, Indices

__all__ = ["Judge"]


class Judge:
    """What scores a model on some of the samples of a sheet.

    Parameters
    ----------
    scorer : callable or scikit-learn's scorer of several metrics
    y : (n,) or (n, k) array

    Attributes
    ----------
    signs_suffice : bool
        Whether all metrics look at predicted classes alone.
    """

    def __init__(self, scorer: Any, y: Array) -> None:
        self.scorer, self.y = scorer, y
        scorers = scorer._scorers.values() if isinstance(scorer, _MultimetricScorer) else [scorer]
        self.signs_suffice = all(isinstance(one, (_PassthroughScorer, _Scorer)) for one in scorers)
        self.quick = _quick_formula(scorer) if y.ndim == 1 else None

    def __call__(self, model: Any, places: Indices, params: Mapping[str, Any]) -> Any:
        """Return the score, or a dict of several, of a model that reads predictions by places."""
        y = self.y[places]
        given = {name: value for name, value in params.items() if value is not None}
        if self.quick is not None and not given:
            kind = self.quick if isinstance(self.quick, str) else _own_formula(model)
            if kind == "accuracy":
                return float(np.mean(model.predict(places) == y))
            if kind in ("r2", "mse") and len(y) > 1:
                errors = float(((y - model.predict(places)) ** 2).sum())
                if kind == "mse":
                    return -errors / len(y)
                total = float(((y - np.average(y)) ** 2).sum())
                if total > 0.0:
                    return 1.0 - errors / total
        return self.scorer(model, places[:, None], y, **params)


def _quick_formula(scorer: Any) -> str | bool | None:
    """Return which formula a scorer is; True for the estimator's own score, None for others."""
    if isinstance(scorer, _PassthroughScorer):
        return True
    if type(scorer) is _Scorer and _reads_classes(scorer) and not scorer._kwargs:
        known = {accuracy_score: "accuracy", r2_score: "r2", mean_squared_error: "mse"}
        kind = known.get(scorer._score_func)
        return kind if kind is None or (scorer._sign > 0) == (kind != "mse") else None
    return None


def _reads_classes(scorer: Any) -> bool:
    """Return whether a scorer looks at predictions alone, not at decision values or probabilities."""
    return isinstance(scorer, _PassthroughScorer) or getattr(scorer, "_response_method", None) == "predict"


def _own_formula(model: Any) -> str | None:
    if getattr(type(model), "score", None) is ClassifierMixin.score:
        return "accuracy"
    return "r2" if getattr(type(model), "score", None) is RegressorMixin.score else None

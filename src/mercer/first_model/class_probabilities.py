"""By what machines are compared: the score that is asked for, or the probabilities of the right classes.

Accuracy changes in steps of one row and says nothing of the rows between the steps, so that of machines which are
compared by it the luckiest is taken. Where nothing but accuracy is asked for they are compared by log P(y | x).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from mercer.arrays import Array, Floats
from mercer.first_model.given_rows import Pair

__all__ = ["comparing", "log_probability"]

LEAST = 1e-3  # of a probability, so that one row that is certainly wrong does not decide


def log_probability(y: Array, P: Floats, classes: Array, sample_weight: Floats | None = None) -> float:
    """Return the mean logarithm of the probabilities of the right classes.

    Parameters
    ----------
    y : (n,) array
    P : (n, c) array, or (n,) of the second of two classes
    classes : (c,) array
        In their order.
    sample_weight : (n,) array, optional

    Examples
    --------
    >>> classes, P = np.array(["a", "b"]), np.array([[0.8, 0.2], [0.5, 0.5]])
    >>> round(float(np.exp(log_probability(classes, P, classes))) ** 2, 3)
    0.4
    """
    P = np.column_stack([1.0 - P, P]) if P.ndim == 1 else P
    right = P[np.arange(len(y)), np.searchsorted(classes, y)]
    return float(np.average(np.log(np.maximum(right, LEAST)), weights=sample_weight))


def comparing(scoring: str, y: Array, task: str, pairs: Sequence[Pair]) -> Any:
    """Return a scorer of probabilities where accuracy is asked for and each part to learn from has all classes."""
    classes = np.unique(y) if task == "classification" else y[:0]
    if scoring != "accuracy" or any(len(np.unique(y[kept])) < len(classes) for kept, _ in pairs):
        return None
    return make_scorer(log_probability, response_method="predict_proba", classes=classes)

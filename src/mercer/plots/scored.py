"""What displays of classifiers read: classes, and a value for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arguments import real_array
from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, TargetError

__all__ = ["classes_of", "columns_of", "probabilities_of", "values_of"]


def classes_of(y: Any, classes: Any, columns: int) -> tuple[Array, Array]:
    """Return the labels of samples and all classes, of which there are as many as columns of values."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise TargetError(
            f"y of shape {labels.shape} was given; one class for each sample is accepted. Give a list of classes."
        )
    found = np.unique(labels)
    known = found if classes is None else np.asarray(classes)
    if not np.isin(found, known).all():
        strange = found[~np.isin(found, known)][0]
        raise TargetError(
            f"y holds {strange!r}, and the classes are {', '.join(map(str, known))}; only these are accepted. "
            "Leave the other samples out."
        )
    if len(known) != max(columns, 2):
        raise TargetError(
            f"{columns} column{'' if columns == 1 else 's'} of values were given for {len(known)} classes; one column "
            "for two classes, or one for each class, is accepted. Name all classes: classes=estimator.classes_."
        )
    return labels, known


def values_of(estimator: Any, X: Any) -> Floats:
    """Return what a classifier orders samples by: decision values, or else probabilities."""
    _require_classes(estimator)
    for name in ("decision_function", "predict_proba"):
        if hasattr(estimator, name):
            values = np.asarray(getattr(estimator, name)(X), dtype=float)
            return values[:, 1] if values.ndim == 2 and values.shape[1] == 2 else values
    raise CapabilityError(
        f"{type(estimator).__name__} has neither decision_function nor predict_proba; curves need values to order "
        "samples by. Use another classifier, as SVC."
    )


def probabilities_of(estimator: Any, X: Any) -> Floats:
    """Return the probabilities of classes; those of the second alone where there are two."""
    _require_classes(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise CapabilityError(
            f"{type(estimator).__name__} has no predict_proba; calibration is about probabilities. Use "
            "KernelLogisticRegression, GaussianProcessClassifier or scikit-learn's CalibratedClassifierCV."
        )
    values = np.asarray(estimator.predict_proba(X), dtype=float)
    return values[:, 1] if values.shape[1] == 2 else values


def columns_of(values: Any, name: str, n: int) -> Floats:
    """Return values as a matrix with a row for each of n samples."""
    matrix = real_array(values, name)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if len(matrix) != n:
        raise TargetError(
            f"{name} of {len(matrix)} rows was given for {n} classes of samples; as many are needed. Take both from "
            "the same samples."
        )
    return matrix


def _require_classes(estimator: Any) -> None:
    if not hasattr(estimator, "classes_"):
        raise CapabilityError(
            f"{type(estimator).__name__} is no fitted classifier: it has no classes_. Fit a classifier, as SVC."
        )

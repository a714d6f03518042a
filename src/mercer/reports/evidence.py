"""What predictions of unseen samples look like: residuals, ROC and precision curves, calibration, confusion."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import clone

import mercer.gram
import mercer.selection
import mercer.targets
from mercer import estimators  # whose names, and those of the packages above, are imported when they are used
from mercer.arrays import Floats, Indices
from mercer.errors import CapabilityError
from mercer.plots.sources import gram_matrix
from mercer.reports.scores import ScoreFacts, area_under_roc, classification_scores, regression_scores
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import number, shown

__all__ = ["calibration", "confusion", "left_out", "mistakes", "precision", "residuals", "roc"]

WORST = 8
MOST_CURVES = 6
MOST_CLASSES = 12
GROUPS = 10


@dataclass(frozen=True, eq=False)
class LeftOutFacts:
    """Leave-one-out scores in closed form."""

    scores: Mapping[str, float]
    how: str


def left_out(subject: Subject) -> LeftOutFacts:
    """Return leave-one-out scores for the estimators that have them in closed form."""
    model, S, y = subject.model, subject.samples, subject.y
    if subject.X is None or S is None or subject.model is not subject.estimator:
        raise NotApplicable("the closed form needs the data, and an estimator that is not in a pipeline")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "leave_one_out" in model.get_params(deep=False) and y is not None:
            again: Any = clone(model)
            try:
                again.set_params(leave_one_out=True).fit(S, y)
            except CapabilityError:
                raise NotApplicable(
                    f"{shown(repr(model.solver_))} keeps no factor, and the closed form needs one"
                ) from None
            scores = regression_scores(y, again.loo_predictions_)
            return LeftOutFacts(scores, "one factorisation, all samples of weight one")
        if isinstance(model, estimators.KernelMeanClassifier) and y is not None:
            return _means_left_out(subject)
        if type(model) is estimators.SVC and y is not None:
            return _margins_left_out(subject)
        if isinstance(model, estimators.ParzenDensity):
            return _density_left_out(subject)
    raise NotApplicable(f"there is no closed form for {type(model).__name__}")


def _means_left_out(subject: Subject) -> LeftOutFacts:
    target = mercer.targets.Multiclass().learn(subject.y)
    codes = target.codes(subject.y)
    assert subject.kernel is not None and subject.samples is not None
    f = mercer.selection.mean_leave_one_out(gram_matrix(subject.kernel, subject.samples), codes, len(target.classes))
    scores = classification_scores(codes, np.argmax(f, axis=1))
    if np.all(np.isfinite(f)):
        values = f[:, 1] - f[:, 0] if len(target.classes) == 2 else f
        area = area_under_roc(codes, values, np.arange(len(target.classes)))
        if area is not None:
            scores["ROC area"] = area
    return LeftOutFacts(scores, "each sample taken out of its class mean; the kernel as it was learned from all")


def _margins_left_out(subject: Subject) -> LeftOutFacts:
    model = subject.model
    by_pairs = isinstance(model.multi_class, str) and model.multi_class == "ovo"  # it may be a matrix
    if model.loss != "hinge" or not by_pairs or model.class_weight is not None or np.isinf(model.C):
        raise NotApplicable("the machine without a sample is known for the hinge, pairs, equal weights and a finite C")
    target = mercer.targets.Multiclass().learn(subject.y)
    codes, count = target.codes(subject.y), len(target.classes)
    assert subject.kernel is not None and subject.samples is not None
    margins = importlib.import_module("mercer.selection.margins")
    gram = mercer.gram.Dense().build(subject.kernel, subject.kernel.prepare(subject.samples))
    (values,) = margins.margin_leave_one_out(gram, codes, count, [model.C])
    scores = classification_scores(codes, margins.votes(values, count))
    if count == 2:
        area = area_under_roc(codes, -values[:, 0], np.arange(2))
        if area is not None:
            scores["ROC area"] = area
    return LeftOutFacts(scores, "the machine without each sample, by the span; all samples of weight one")


def _density_left_out(subject: Subject) -> LeftOutFacts:
    assert subject.kernel is not None and subject.samples is not None
    K = gram_matrix(subject.kernel, subject.samples)
    if len(K) < 2:
        raise NotApplicable("two samples are the fewest")
    mean = (K.sum(axis=1) - np.diagonal(K)) / (len(K) - 1)
    log = np.log(np.maximum(mean, np.finfo(float).tiny)) - (subject.model.log_integral_ or 0.0)
    return LeftOutFacts({"mean log-density": float(np.mean(log))}, "the kernel as it was learned from all samples")


# regression ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ResidualFacts:
    """Residuals (observed minus predicted) out of fold; several outputs are concatenated."""

    observed: Floats
    predicted: Floats
    quantiles: tuple[tuple[str, float], ...]
    bias: float
    deviation: float
    worst: tuple[tuple[int, float, float, float], ...]
    outputs: int

    @property
    def residuals(self) -> Floats:
        """Observed minus predicted."""
        return self.observed - self.predicted


def residuals(scores: ScoreFacts, index: Indices) -> ResidualFacts:
    """Return the residuals of a regression; `index` holds the numbers of the samples among all."""
    if scores.task != "regression" or scores.predicted is None:
        raise NotApplicable("residuals belong to regression")
    truth, predicted = np.asarray(scores.truth, dtype=float), np.asarray(scores.predicted, dtype=float)
    outputs = truth.shape[1] if truth.ndim == 2 else 1
    observed, guess = truth.reshape(len(truth), -1).T.ravel(), predicted.reshape(len(truth), -1).T.ravel()
    error = observed - guess
    levels = (("smallest", 0.0), ("10 %", 0.1), ("median", 0.5), ("90 %", 0.9), ("largest", 1.0))
    order = np.argsort(-np.abs(error), kind="stable")[:WORST]
    numbers = np.tile(index, outputs)
    worst = tuple((int(numbers[i]), float(observed[i]), float(guess[i]), float(error[i])) for i in order)
    return ResidualFacts(
        observed,
        guess,
        tuple((name, float(np.quantile(error, level))) for name, level in levels),
        float(np.mean(error)),
        float(np.std(error)),
        worst,
        outputs,
    )


# classification -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """One ROC curve: of a class against the others."""

    label: str
    false_positive: Floats
    true_positive: Floats
    area: float


@dataclass(frozen=True, eq=False)
class RocFacts:
    """ROC curves out of fold: one for two classes, else one for each class against the rest."""

    curves: tuple[Curve, ...]
    more: int


def roc(scores: ScoreFacts) -> RocFacts:
    """Return ROC curves from decision values."""
    y, values, classes = _decided(scores)
    if values.ndim == 1:
        columns = [(classes[1], values)]
    else:
        columns = list(zip(classes, values.T, strict=True))
    curves = []
    for label, column in columns[:MOST_CURVES]:
        positive = y == label
        if positive.all() or not positive.any():
            continue
        fpr, tpr, _ = metrics.roc_curve(positive, column)
        curves.append(Curve(shown(label, 24), fpr, tpr, float(metrics.auc(fpr, tpr))))
    return RocFacts(tuple(curves), max(0, len(columns) - MOST_CURVES))


@dataclass(frozen=True, eq=False)
class PrecisionFacts:
    """Precision against recall for two classes; `share` is the precision of guessing."""

    label: str
    recall: Floats
    precision: Floats
    area: float
    share: float


def precision(scores: ScoreFacts) -> PrecisionFacts:
    """Return precision and recall for the rarer of two classes, usually the one of interest."""
    y, values, classes = _decided(scores)
    if values.ndim != 1:
        raise NotApplicable("precision and recall are drawn for two classes")
    second = int(np.sum(y == classes[1]))
    rarer = 1 if 2 * second <= len(y) else 0
    positive = y == classes[rarer]
    if positive.all() or not positive.any():
        raise NotApplicable("one of the classes has no sample among those predicted")
    signed = values if rarer else -values
    found, recall, _ = metrics.precision_recall_curve(positive, signed)
    area = float(metrics.average_precision_score(positive, signed))
    return PrecisionFacts(shown(classes[rarer], 24), recall, found, area, float(positive.mean()))


@dataclass(frozen=True)
class Mistake:
    """A misclassified sample: its number, both classes, how sure the model was, and what the sample looks like."""

    sample: int
    truth: str
    predicted: str
    value: float | None
    excerpt: str = ""


def mistakes(scores: ScoreFacts, index: Indices) -> tuple[Mistake, ...]:
    """Return the misclassified samples with the surest decisions; `index` holds their numbers among all."""
    if scores.task != "classification" or scores.predicted is None:
        raise NotApplicable("missed classes belong to classification")
    truth, predicted, values = np.asarray(scores.truth), np.asarray(scores.predicted), scores.values
    wrong = np.flatnonzero(truth != predicted)
    sure = np.zeros(len(truth))
    if values is not None:
        sure = np.maximum(values, 1.0 - values) if scores.has_probabilities and values.ndim == 1 else np.abs(values)
        sure = sure if sure.ndim == 1 else np.sort(sure if scores.has_probabilities else values, axis=1)[:, -1]
    order = wrong[np.argsort(-sure[wrong], kind="stable")][:WORST]
    return tuple(
        Mistake(int(index[i]), shown(truth[i]), shown(predicted[i]), None if values is None else float(sure[i]))
        for i in order
    )


@dataclass(frozen=True, eq=False)
class CalibrationFacts:
    """How often a decision is right, in groups of samples with similar decision values.

    Attributes
    ----------
    groups : tuple of (mean value, share, count)
        Ten groups of about equal size, in the order of their values.
    axis, share : str
        What the value and the share are.
    """

    groups: tuple[tuple[float, float, int], ...]
    axis: str
    share: str
    has_probabilities: bool = False


def calibration(scores: ScoreFacts) -> CalibrationFacts:
    """Return calibration from decision values: of the second class, or for more classes of the margin."""
    y, values, classes = _decided(scores)
    if values.ndim == 1:
        happened = y == classes[1]
        name = "probability" if scores.has_probabilities else "decision value"
        axis, share = f"{name} of {shown(classes[1], 24)}", f"share of {shown(classes[1], 24)}"
    elif scores.has_probabilities:
        happened = y == classes[np.argmax(values, axis=1)]
        values, axis, share = values.max(axis=1), "probability of the class predicted", "share that is right"
    else:
        ordered = np.sort(values, axis=1)
        happened = y == classes[np.argmax(values, axis=1)]
        values, axis, share = (
            ordered[:, -1] - ordered[:, -2],
            "margin between the two best classes",
            "share that is right",
        )
    order = np.argsort(values, kind="stable")
    groups = [run for run in np.array_split(order, min(GROUPS, max(1, len(order) // 5))) if len(run)]
    rows = tuple((float(values[run].mean()), float(np.mean(happened[run])), len(run)) for run in groups)
    return CalibrationFacts(rows, axis, share, scores.has_probabilities)


def _decided(scores: ScoreFacts) -> tuple[Any, Floats, Any]:
    if scores.task != "classification":
        raise NotApplicable("it belongs to classification")
    if scores.values is None or scores.classes is None:
        raise NotApplicable("there are no decision values for all classes")
    return np.asarray(scores.truth), scores.values, scores.classes


@dataclass(frozen=True, eq=False)
class ConfusionFacts:
    """Counts of (true class, predicted class), out of fold."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


def confusion(scores: ScoreFacts) -> ConfusionFacts:
    """Return the confusion matrix."""
    if scores.task != "classification" or scores.classes is None or scores.predicted is None:
        raise NotApplicable("it belongs to classification")
    if len(scores.classes) > MOST_CLASSES:
        raise NotApplicable(f"{number(len(scores.classes))} classes are too many for a table")
    truth, predicted = np.asarray(scores.truth), np.asarray(scores.predicted)
    counts = tuple(
        tuple(int(np.sum((truth == row) & (predicted == column))) for column in scores.classes)
        for row in scores.classes
    )
    return ConfusionFacts(tuple(shown(label, 24) for label in scores.classes), counts)

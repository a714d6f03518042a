"""Facts about predictions: of samples that were held out when the model was chosen, or fold by fold.

All scores are of predictions for samples that the model had not seen, unless they say otherwise.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from mercer.arrays import Array, Floats
from mercer.errors import ParameterError
from mercer.reports.subject import NotApplicable, Subject, rows_of
from mercer.reports.wording import counted, decimals, shown

__all__ = ["FoldFacts", "ScoreFacts", "cross_validated", "held_out", "measured"]

SEED = 0
DRAWS = 200  # draws of the bootstrap: standard errors are off by about a twentieth


@dataclass(frozen=True)
class FoldFacts:
    """One fold of a cross-validation."""

    n_train: int
    n_test: int
    seconds: float
    scores: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class ScoreFacts:
    """Scores, and the predictions they were computed from.

    Attributes
    ----------
    names : tuple of str
        Of the scores, the most important first.
    folds : tuple of FoldFacts
        Empty for samples that were held out when the model was chosen.
    mean, deviation : mapping from names to numbers
        Over the folds; of samples held out the score of all of them, and its standard error by the bootstrap.
    fitted : mapping
        Of the model itself on the samples given: not a measure of what it will do on new ones.
    baseline : mapping
        Of the constant prediction that knows the targets alone; empty where there is none.
    truth, predicted : arrays
        Out of fold, one per sample; NaN or None where a sample was in no test fold.
    values : (n,) or (n, c) array, optional
        Decision values out of fold.
    has_probabilities : bool
        Whether these values are probabilities.
    classes : array, optional
    splitter : str
        How the samples were split, in words.
    warned : tuple of (message, count)
        Warnings met while refitting.
    """

    task: str
    names: tuple[str, ...]
    folds: tuple[FoldFacts, ...]
    mean: Mapping[str, float]
    deviation: Mapping[str, float]
    fitted: Mapping[str, float]
    baseline: Mapping[str, float]
    truth: Array | None
    predicted: Array | None
    values: Floats | None
    classes: Array | None
    splitter: str
    warned: tuple[tuple[str, int], ...]
    has_probabilities: bool = False

    @property
    def decimals(self) -> dict[str, int]:
        """How many decimals each column of scores is printed with."""
        rows = [fold.scores for fold in self.folds] or [self.mean]
        return {name: decimals([row.get(name, 0.0) for row in rows]) for name in self.names}

    @property
    def spread(self) -> str:
        """What the deviations are, in words."""
        return f"over {counted(len(self.folds), 'fold')}" if self.folds else "standard error"


def held_out(subject: Subject, held: Any) -> ScoreFacts:
    """Score the predictions that an automatic choice made of samples it had set aside.

    Notes
    -----
    The model was refitted to all samples afterwards, so folds of it could not judge the choice: its kernel was learned
    from all of them. These predictions are by models chosen and fitted without the samples.
    """
    if subject.y is None or int(np.max(held.rows)) >= len(subject.y):
        raise NotApplicable("the samples that were held out are not among those given")
    y, predicted = np.asarray(subject.y)[held.rows], np.asarray(held.predictions)
    classes = getattr(subject.model, "classes_", None)
    values = None if held.probabilities is None else np.asarray(held.probabilities, dtype=float)
    if values is not None and (values.ndim != 2 or classes is None or values.shape[1] != len(classes)):
        values = None
    if values is not None and values.shape[1] == 2:
        values = values[:, 1]

    def scored(rows: Any) -> dict[str, float]:
        return _scored(y[rows], predicted[rows], None if values is None else values[rows], classes, subject.task)

    found = scored(np.arange(len(y)))
    return ScoreFacts(
        task=subject.task,
        names=tuple(found),
        folds=(),
        mean=found,
        deviation=_standard_errors(scored, len(y), found),
        fitted=measured(subject.estimator, subject.data, np.asarray(subject.y), subject.task),
        baseline=_baseline(y, subject.task),
        truth=y,
        predicted=predicted,
        values=values,
        classes=classes,
        splitter=f"{counted(len(y), 'sample')} that took no part in the choice of the model that predicted them",
        warned=(),
        has_probabilities=values is not None,
    )


def _scored(y: Any, predicted: Any, values: Any, classes: Any, task: str) -> dict[str, float]:
    """Return the scores of predictions."""
    if task == "regression":
        return regression_scores(y, predicted)
    scores = classification_scores(y, predicted)
    area = None if values is None else area_under_roc(y, values, classes)
    return scores if area is None else {**scores, "ROC area": area}


def _standard_errors(scored: Callable[[Any], dict[str, float]], n: int, names: Iterable[str]) -> dict[str, float]:
    """Return the deviations of scores over samples drawn with replacement; one that a draw lacks is left out there."""
    rng = np.random.default_rng(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a draw of few samples may have one class
        draws = [scored(rng.integers(0, n, n)) for _ in range(DRAWS)]
    return {name: float(np.nanstd([draw.get(name, np.nan) for draw in draws])) for name in names}


def cross_validated(subject: Subject, cv: Any = 5) -> ScoreFacts:
    """Refit the estimator on folds and score it on what was left out.

    Parameters
    ----------
    subject : Subject
    cv : int, cross-validation generator or iterable
        As in scikit-learn. An int shuffles with a fixed seed, and is lowered where classes are too small.
    """
    if subject.X is None:
        raise NotApplicable("no data were given to the report")
    if subject.y is None and subject.task in ("classification", "regression"):
        raise NotApplicable("no targets y were given to the report")
    if subject.task == "other" and not hasattr(subject.estimator, "score"):
        raise NotApplicable(f"{type(subject.estimator).__name__} has no score")
    n = subject.n or 0
    y = None if subject.y is None else np.asarray(subject.y)
    splitter, words = _splitter(cv, n, y, subject.task)
    run = _Run(subject, y, n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for train, test in splitter.split(np.zeros(n), y if subject.task == "classification" else None):
            run.fold(train, test)
        fitted = measured(subject.estimator, subject.data, y, subject.task)
    messages = Counter(shown(warning.message, 300) for warning in caught)
    return run.facts(words, fitted, tuple(messages.most_common(5)))


class _Run:
    """Folds of one cross-validation, and the predictions gathered from them."""

    def __init__(self, subject: Subject, y: Any, n: int) -> None:
        self.subject, self.y, self.n = subject, y, n
        self.folds: list[FoldFacts] = []
        self.predicted: Any = None
        self.values: Any = None
        self.classes = getattr(subject.model, "classes_", None)
        self.tested = np.zeros(n, dtype=bool)

    def fold(self, train: Any, test: Any) -> None:
        data, y = self.subject.data, self.y
        began = time.perf_counter()
        model: Any = clone(self.subject.estimator)
        seen = rows_of(data, train)
        model.fit(seen) if y is None else model.fit(seen, y[train])
        left = rows_of(data, test)
        scores = measured(model, left, None if y is None else y[test], self.subject.task)
        self.folds.append(FoldFacts(len(train), len(test), time.perf_counter() - began, scores))
        self.tested[test] = True
        if self.subject.task in ("classification", "regression"):
            self.predicted = _filled(self.predicted, self.n, test, np.asarray(model.predict(left)))
            self._keep_values(model, left, test)

    def _keep_values(self, model: Any, left: Any, test: Any) -> None:
        if self.classes is None or not np.array_equal(getattr(model, "classes_", ()), self.classes):
            return
        values = decision_values(model, left)
        if values is not None:
            self.values = _filled(self.values, self.n, test, values)

    def facts(self, words: str, fitted: Mapping[str, float], warned: Any) -> ScoreFacts:
        names = tuple(dict.fromkeys(name for fold in self.folds for name in fold.scores))
        table = {name: np.array([fold.scores.get(name, np.nan) for fold in self.folds]) for name in names}
        values = self.values
        if values is not None and not np.all(np.isfinite(values[self.tested])):
            values = None  # a fold that lacked a class gave none
        is_complete = self.tested.all()
        return ScoreFacts(
            task=self.subject.task,
            names=names,
            folds=tuple(self.folds),
            mean={name: float(np.mean(column)) for name, column in table.items()},
            deviation={name: float(np.std(column)) for name, column in table.items()},
            fitted=fitted,
            baseline=_baseline(self.y, self.subject.task),
            truth=self.y if self.predicted is None or is_complete else self.y[self.tested],
            predicted=self.predicted if self.predicted is None or is_complete else self.predicted[self.tested],
            values=values if values is None or is_complete else values[self.tested],
            classes=self.classes,
            splitter=words,
            warned=warned,
        )


def _filled(whole: Any, n: int, test: Any, part: Any) -> Any:
    if whole is None:
        kind = float if part.dtype.kind == "f" else part.dtype
        whole = np.full((n, *part.shape[1:]), np.nan) if kind is float else np.empty((n, *part.shape[1:]), dtype=object)
    whole[test] = part
    return whole


def _splitter(cv: Any, n: int, y: Any, task: str) -> tuple[Any, str]:
    """Return the splitter and how it splits, in words."""
    if not isinstance(cv, (int, np.integer)) or isinstance(cv, bool):
        return check_cv(cv, y, classifier=task == "classification"), shown(type(cv).__name__)
    if cv < 2:
        raise ParameterError(f"cv={cv} was given; at least 2 folds are needed. Use cv=5.")
    if n < 4:
        raise NotApplicable(f"{counted(n, 'sample')} cannot be split into folds; 4 are the fewest")
    folds = min(int(cv), n // 2)
    if task == "classification":
        rarest = int(np.unique(y, return_counts=True)[1].min())
        if rarest < 2:
            raise NotApplicable("a class has a single sample, which cannot be both learned from and predicted")
        folds = min(folds, rarest)
        return StratifiedKFold(folds, shuffle=True, random_state=SEED), f"{folds} stratified folds, shuffled"
    return KFold(folds, shuffle=True, random_state=SEED), f"{folds} folds, shuffled"


# measures -----------------------------------------------------------------------------------------------


def measured(model: Any, data: Any, y: Any, task: str) -> dict[str, float]:
    """Return the scores of a fitted model on data."""
    if task == "regression":
        return regression_scores(y, model.predict(data)) if y is not None else {}
    if task == "classification":
        return _classification(model, data, y) if y is not None else {}
    if task == "density":
        return {"mean log-density": float(np.mean(model.score_samples(data)))}
    score = model.score(data) if y is None else model.score(data, y)
    return {"score": float(score)}


def regression_scores(y: Any, predicted: Any) -> dict[str, float]:
    """Return R², RMSE and MAE, over all outputs.

    Examples
    --------
    >>> regression_scores([1.0, 3.0], [1.0, 3.0])
    {'R²': 1.0, 'RMSE': 0.0, 'MAE': 0.0}
    """
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    r2 = float(metrics.r2_score(y, predicted)) if len(y) > 1 else float("nan")
    return {
        "R²": r2,
        "RMSE": float(np.sqrt(np.mean((y - predicted) ** 2))),
        "MAE": float(np.mean(np.abs(y - predicted))),
    }


def _classification(model: Any, data: Any, y: Any) -> dict[str, float]:
    predicted = np.asarray(model.predict(data))
    scores = classification_scores(y, predicted)
    values = decision_values(model, data)
    if values is not None:
        area = area_under_roc(y, values, model.classes_)
        if area is not None:
            scores["ROC area"] = area
    return scores


def classification_scores(y: Any, predicted: Any) -> dict[str, float]:
    """Return the accuracy, and the balanced accuracy, in which every class counts alike.

    Examples
    --------
    >>> classification_scores(["a", "a", "a", "b"], ["a", "a", "a", "a"])
    {'accuracy': 0.75, 'balanced accuracy': 0.5}
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    right = y == predicted
    recalls = [float(np.mean(right[y == label])) for label in np.unique(y)]
    return {"accuracy": float(np.mean(right)), "balanced accuracy": float(np.mean(recalls))}


def area_under_roc(y: Any, values: Floats, classes: Array) -> float | None:
    """Return the area under the curve, the mean over classes against the rest; None without all classes.

    Notes
    -----
    The area is the share of pairs of a sample in the class and one outside that are in order, ties counted half, so
    it follows from the ranks (Mann and Whitney). Standard errors need it hundreds of times.

    Examples
    --------
    >>> area_under_roc([0, 0, 1, 1], np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 1]))
    0.75
    """
    y = np.asarray(y)
    if len(np.unique(y)) < len(classes):
        return None
    columns = [(classes[1], values)] if values.ndim == 1 else zip(classes, values.T, strict=True)
    return float(np.mean([_ordered_share(y == label, column) for label, column in columns]))


def _ordered_share(inside: Array, values: Floats) -> float:
    """Return the share of pairs, one of them inside, whose values are in order."""
    count = int(np.sum(inside))
    wins = np.sum(rankdata(values)[inside]) - count * (count + 1) / 2
    return float(wins / (count * (len(values) - count)))


def decision_values(model: Any, data: Any) -> Floats | None:
    """Return decision values, (m,) for two classes or (m, c); probabilities if there is nothing else."""
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(data), dtype=float)
    elif hasattr(model, "predict_proba"):
        values = np.asarray(model.predict_proba(data), dtype=float)
        values = values[:, 1] if values.shape[1] == 2 else values
    else:
        return None
    count = len(model.classes_)
    return values if (values.ndim == 1 and count == 2) or (values.ndim == 2 and values.shape[1] == count) else None


def _baseline(y: Any, task: str) -> dict[str, float]:
    if task == "regression":
        return regression_scores(y, np.broadcast_to(np.mean(y, axis=0), y.shape))
    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        return classification_scores(y, np.full(len(y), labels[np.argmax(counts)], dtype=labels.dtype))
    return {}

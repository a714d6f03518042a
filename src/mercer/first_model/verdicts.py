"""How good a first model is: the score of rows held out, its error, that of the constant guess, and a verdict."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from mercer.arrays import Array, Floats, Indices
from mercer.errors import ParameterError
from mercer.first_model.given_rows import Pair

__all__ = [
    "Grown",
    "Held",
    "Judgement",
    "Tried",
    "comparing",
    "judged",
    "log_probability",
    "needs_probabilities",
    "require_scoring",
    "standard_error",
]
__saved__ = ["Grown", "Held", "Tried"]

WORST = 100.0  # of R^2 below zero, beyond which it is no share that anyone would read
BLOCKS = 40  # of rows, each of which is left out once for the standard error
DEFAULTS = {"classification": "accuracy", "regression": "r2"}
LEAST = 1e-3  # of a probability, so that one row that is certainly wrong does not decide


@dataclass(frozen=True)
class Tried:
    """A candidate.

    Attributes
    ----------
    name : str
    score : float
        Mean over the folds in which candidates were compared; larger is better.
    standard_error : float
    seconds : float
    size : int
        Rows on which it was compared: those that did badly on few were not tried on more.
    """

    name: str
    score: float
    standard_error: float
    seconds: float
    size: int


@dataclass(frozen=True)
class Grown:
    """A point of a learning curve: how many rows were learned from, the score of the rows held out, its error."""

    rows: int
    score: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Held:
    """Rows that took no part in the choice, and what was predicted of them.

    Attributes
    ----------
    rows : (m,) array of int
    targets, predictions : (m,) arrays
    probabilities : (m, c) array or None
        Of the classes in their order; None for numbers.
    """

    rows: Indices
    targets: Array
    predictions: Array
    probabilities: Floats | None


@dataclass(frozen=True)
class Judgement:
    """A score, its standard error, the score of the constant guess, and what follows, in a sentence."""

    score: float
    error: float
    baseline: float
    verdict: str


class _SaidNumber(RegressorMixin, BaseEstimator):
    """Numbers that are known, in the form that scorers ask for: rows are given by their places."""

    def __init__(self, held: Held) -> None:
        self.held = held

    def predict(self, places: Indices) -> Array:
        """Return what was said of rows."""
        return self.held.predictions[places]


class _SaidClass(ClassifierMixin, BaseEstimator):
    """Classes that are known."""

    def __init__(self, held: Held, classes: Array) -> None:
        self.held = held
        self.classes = classes

    @property
    def classes_(self) -> Array:
        """The classes, by the name that scorers ask for."""
        return self.classes

    def predict(self, places: Indices) -> Array:
        """Return what was said of rows."""
        return self.held.predictions[places]


class _SaidShare(_SaidClass):
    """Classes and their probabilities that are known."""

    def predict_proba(self, places: Indices) -> Floats:
        """Return what was said of rows."""
        return np.asarray(self.held.probabilities)[places]


def require_scoring(scoring: str | None, y: Array, task: str) -> str:
    """Return a score that can be computed for such targets: the one asked for, or accuracy or R^2."""
    if scoring is None:
        return DEFAULTS[task]
    if scoring not in get_scorer_names():
        raise ParameterError(
            f"scoring={scoring!r} was given; names of scikit-learn's scorers are accepted, such as 'roc_auc', "
            "'neg_log_loss' or 'neg_mean_absolute_error'. Give one of sklearn.metrics.get_scorer_names()."
        )
    held, classes = _constant(y, y, np.ones(len(y)), np.arange(len(y)), task)
    try:
        _score(held, y, classes, scoring, None)
    except (ValueError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"scoring={scoring!r} was given, which cannot score this target ({str(error).splitlines()[0][:150]}). Use "
            f"one for {task}, such as {DEFAULTS[task]!r}."
        ) from error
    return scoring


def needs_probabilities(scoring: str, y: Array, task: str) -> bool:
    """Return whether a score looks at more than the predicted classes."""
    if task != "classification":
        return False
    held, classes = _constant(y, y, np.ones(len(y)), np.arange(len(y)), task)
    try:
        _score(Held(held.rows, held.targets, held.predictions, None), y, classes, scoring, None)
    except (ValueError, TypeError, AttributeError):
        return True
    return False


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
    """Return a scorer of probabilities where accuracy is asked for and each part to learn from has all classes.

    Accuracy changes in steps of one row and says nothing of the rows between the steps, so that of machines which are
    compared by it the luckiest is taken.
    """
    classes = np.unique(y) if task == "classification" else y[:0]
    if scoring != "accuracy" or any(len(np.unique(y[kept])) < len(classes) for kept, _ in pairs):
        return None
    return make_scorer(log_probability, response_method="predict_proba", classes=classes)


def judged(held: Held, known: Array, y: Array, task: str, scoring: str, weight: Floats | None) -> Judgement:
    """Judge predictions of rows held out.

    Parameters
    ----------
    held : Held
    known : (n,) array of bool
        Which rows the constant guess is made from.
    y : (n,) array
    task, scoring : str
    weight : (n,) array or None
    """
    true, w = y[held.rows], None if weight is None else weight[held.rows]
    if not len(true):
        return Judgement(np.nan, np.nan, np.nan, "Nothing could be held out, so that it is not known how good it is.")
    kept = np.ones(len(y)) if weight is None else weight
    constant, _ = _constant(y[known], y, kept[known], held.rows, task)
    classes = np.unique(y) if task == "classification" else None
    unit = 1.0
    if scoring == "r2":  # which has no unit; squares must not overflow
        unit = float(np.abs(true).max(initial=0.0)) or 1.0
        true, held, constant = true / unit, _scaled(held, unit), _scaled(constant, unit)
    score, baseline = (_score(one, true, classes, scoring, w) for one in (held, constant))
    error = _jackknife(held, true, classes, scoring, w)
    return Judgement(score, error, baseline, _verdict(score, error, baseline, scoring, len(true)))


def _scaled(held: Held, unit: float) -> Held:
    return Held(held.rows, held.targets / unit, np.asarray(held.predictions, dtype=float) / unit, None)


def _constant(known: Array, y: Array, weight: Floats, rows: Indices, task: str) -> tuple[Held, Array | None]:
    """Return the constant guess for some rows: the mean, or the most frequent class with the shares of all."""
    if task == "regression":
        unit = float(np.abs(known).max(initial=0.0)) or 1.0
        guess = unit * float(np.average(known / unit, weights=weight))
        return Held(rows, y[rows], np.full(len(rows), guess), None), None
    classes = np.unique(y)
    shares = np.array([float(weight[known == label].sum()) for label in classes])
    shares /= shares.sum()
    guesses = np.full(len(rows), classes[int(np.argmax(shares))])
    return Held(rows, y[rows], guesses, np.tile(shares, (len(rows), 1))), classes


def _score(held: Held, y: Array, classes: Array | None, scoring: str, weight: Floats | None) -> float:
    """Return the score of known predictions by scikit-learn's scorer."""
    known = _SaidClass if held.probabilities is None else _SaidShare
    said = _SaidNumber(held) if classes is None else known(held, classes)
    more = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():  # of scores that are not defined, which are NaN
        warnings.simplefilter("ignore")
        return float(get_scorer(scoring)(said, np.arange(len(y)), y, **more))


def _jackknife(held: Held, y: Array, classes: Array | None, scoring: str, weight: Floats | None) -> float:
    """Return the standard error of a score, by leaving out each of some blocks of rows."""
    m = len(y)
    block = np.random.default_rng(0).permutation(m) % min(BLOCKS, m)
    found = []
    for k in range(int(block.max()) + 1):
        left = np.flatnonzero(block != k)
        P = None if held.probabilities is None else np.asarray(held.probabilities)[left]
        part = Held(left, y[left], held.predictions[left], P)
        try:
            value = _score(part, y[left], classes, scoring, None if weight is None else weight[left])
        except ValueError:  # as if one class is left
            continue
        found.append(value)
    finite = np.array([value for value in found if np.isfinite(value)])
    return (len(finite) - 1) * standard_error(finite) if len(finite) > 1 else np.nan


def standard_error(values: Floats) -> float:
    """Return the standard error of the mean of two numbers or more, whose squares may overflow.

    Examples
    --------
    >>> f"{standard_error(np.array([1.0, 3.0])):g} {standard_error(np.array([1e200, 3e200])):g}"
    '1 1e+200'
    """
    size = 2.0 ** (int(np.frexp(np.abs(values).max())[1]) - 1)  # by which nothing is rounded
    return size * float(np.std(values / size, ddof=1) / np.sqrt(len(values)))


def _verdict(score: float, error: float, baseline: float, scoring: str, rows: int) -> str:
    """Say in one sentence what the score means."""
    if not np.isfinite(score):
        return f"The score {scoring} is not defined on the {rows} rows held out."
    if scoring == "accuracy":
        said = f"Right on {score:.1%} (± {error:.1%}) of {rows} rows held out; the most frequent class alone has "
        said += f"{baseline:.1%}"
    elif scoring == "r2":
        share = f"{score:.1%} (± {error:.1%})" if max(-score, error) < WORST else f"{score:.2g} (± {error:.2g})"
        said = f"Explains {share} of the variance of {rows} rows held out"
    else:
        said = f"{scoring} {score:.4g} (± {error:.2g}) on {rows} rows held out; a constant guess has {baseline:.4g}"
    better = score - baseline
    if not better > 2.0 * error:
        return f"{said}: no better than guessing, as far as these rows can tell."
    return f"{said}: better than guessing beyond doubt." if better > 5.0 * error else f"{said}: better than guessing."

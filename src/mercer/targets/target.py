"""What is predicted: numbers, two classes or several, and how y and the weights of samples are checked.

Several classes are reduced to problems of two. Legend: M (c, L) the code, an entry for each class and problem: +1 and
-1 are the two sides, 0 takes no part; f_l the decision value of problem l. One against one, one against the rest and
output codes differ in M alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer.arrays import Array, Floats, Indices, real_numbers
from mercer.constraints import is_real
from mercer.errors import DomainError, ParameterError, TargetError
from mercer.targets.codes import decoding_losses, output_code

__all__ = [
    "Binary",
    "Multiclass",
    "Real",
    "Reduction",
    "Target",
    "class_codes",
    "class_weights",
    "find_classes",
    "labels",
    "numbers",
    "places_of",
    "sample_weights",
]
__public__ = ["Binary", "Multiclass", "Real", "Target"]
__saved__ = ["Reduction"]

_IMPOSSIBLE = -745.0  # logarithm of the smallest number there is: that of zero times zero is not a number

_NUMBERS = "Targets of a regression are finite real numbers, one per sample or one row per sample."
_LABELS = "Targets of a classifier are class labels, one per sample: integers, texts or booleans."


class Target(ABC):
    """The conversion of y as users give it to the numbers that solvers see, and back.

    A target is an immutable record: ``learn`` returns one that knows the classes or the number of
    outputs, ``encode`` and ``decode`` are its two directions.
    """

    @abstractmethod
    def learn(self, y: Any) -> Self:
        """Target that knows what this y looks like; TargetError if y is not of its kind."""

    def read(self, y: Any) -> tuple[Self, Array]:
        """Target that knows this y, and y as numbers; y is checked once, where `learn` and `encode` check it twice.

        The numbers are those of `encode`, or of classes their codes, (n,).
        """
        learned = self.learn(y)
        return learned, learned.encode(y)

    @abstractmethod
    def encode(self, y: Any) -> Floats:
        """Numbers, (n,) or (n, k), float64, that a solver takes as its right-hand side."""

    @abstractmethod
    def decode(self, f: Floats) -> Array:
        """Predictions in the form of y from the values of fitted functions, (m,) or (m, k)."""


def numbers(y: Any, several: bool, warn: bool = True) -> Floats:
    """Finite float64 numbers from y, (n,) or, if several outputs are allowed, (n, k)."""
    if _is_plain(y, "biuf", 2 if several else 1) and y.dtype.itemsize <= 8 and np.isfinite(y).all():
        return np.ascontiguousarray(y, dtype=np.float64)
    _require_given(y, _NUMBERS)
    try:
        values = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
        if not several:
            values = column_or_1d(values, warn=warn)
    except (ValueError, TypeError, OverflowError) as error:
        raise TargetError(
            f"{_sentence(error)} {_NUMBERS} Convert y, or drop the samples whose target is unknown."
        ) from error
    if values.dtype.kind not in "biuf":
        raise TargetError(f"y is an array of {values.dtype}. {_NUMBERS} Convert y to float.")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(values, dtype=np.float64)
    if not np.all(np.isfinite(values)):  # wider numbers than float64 that do not fit
        raise TargetError(f"y has values too large for float64. {_NUMBERS} Give y in a larger unit.")
    return values


def labels(y: Any, warn: bool = True) -> Array:
    """Class labels from y, (n,), as they were given."""
    if _is_plain(y, "iub", 1) and _is_narrow(y):
        return y
    _require_given(y, _LABELS)
    try:
        _require_one_type(y if isinstance(y, (list, tuple)) else ())
        values = _settled(column_or_1d(y, warn=warn))
        assert_all_finite(values, input_name="y")
        _require_one_type(values if values.dtype == object else ())
        check_classification_targets(values)
    except (ValueError, TypeError) as error:
        raise TargetError(
            f"{_sentence(error)} {_LABELS} Convert y, or use a regressor if y measures something."
        ) from error
    if not len(values):
        raise TargetError(f"y is empty. {_LABELS} Give at least one sample of two classes each.")
    return values


def _is_plain(y: Any, kinds: str, most: int) -> bool:
    """Whether y is an array of these kinds of numbers, not empty, of up to this many dimensions: most targets are."""
    return type(y) is np.ndarray and y.dtype.kind in kinds and 1 <= y.ndim <= most and bool(y.size)


def _is_narrow(y: Array) -> bool:
    """Whether whole numbers span so little that at most half of them differ: nothing is left to be warned of."""
    return y.dtype.kind == "b" or int(y.max()) - int(y.min()) < len(y) // 2


def _sentence(error: Exception) -> str:
    text = str(error).strip()
    if text.startswith("setting an array element"):
        text = "y has entries of different lengths."
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _settled(values: Array) -> Array:
    """Labels that are whole numbers as an array of those: a data frame may hold them as objects."""
    whole = values.dtype == object and all(isinstance(v, int | np.integer | np.bool_) for v in values)
    return np.array(values.tolist()) if whole and len(values) else values


def _require_one_type(values: Iterable[Any]) -> None:
    texts = [isinstance(value, str) for value in values]
    if any(texts) and not all(texts):
        names = ", ".join(sorted({type(value).__name__ for value in values}))
        raise ValueError(f"y mixes labels of the types {names}, which cannot be sorted.")


def _require_given(y: Any, accepted: str) -> None:
    if y is None:
        raise TargetError(
            f"This estimator requires y to be passed, but the target y is None. {accepted} Call fit(X, y)."
        )
    if np.ma.is_masked(y):
        count = int(np.ma.count_masked(y))
        raise TargetError(
            f"y is a masked array in which {count} values are masked. {accepted} Drop the samples whose "
            "target is unknown."
        )


def _none_yet() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Multiclass(Target):
    """Classes, two or more; each becomes a column that is +1 for its samples and -1 for the others.

    Parameters
    ----------
    classes : (c,) array, optional
        Learned: the labels in sorted order, of the type they were given in.

    Examples
    --------
    >>> target = Multiclass().learn(["b", "a", "c"])
    >>> target.encode(["c", "a"])
    array([[-1., -1.,  1.],
           [ 1., -1., -1.]])
    >>> target.decode(np.array([[0.1, 0.3, 0.2]]))
    array(['b'], dtype='<U1')
    """

    classes: Array = field(default_factory=_none_yet)

    def learn(self, y: Any) -> Self:
        return replace(self, classes=find_classes(labels(y)))

    def read(self, y: Any) -> tuple[Self, Indices]:
        values = labels(y)
        learned = replace(self, classes=find_classes(values))
        return learned, places_of(learned.classes, values)

    def codes(self, y: Any) -> Indices:
        """Numbers of the classes of samples, (n,)."""
        return class_codes(self.classes, y)

    def indicator(self, y: Any) -> Floats:
        """A column for each class, (n, c): 1 for its samples, 0 for the others."""
        codes = self.codes(y)
        out = np.zeros((len(codes), len(self.classes)))
        out[np.arange(len(codes)), codes] = 1.0
        return out

    def encode(self, y: Any) -> Floats:
        return 2.0 * self.indicator(y) - 1.0

    def decode(self, f: Floats) -> Array:
        return self.classes[np.argmax(f, axis=1)]


def find_classes(values: Array) -> Array:
    """Sorted classes of labels, (c,); TargetError if there is only one."""
    classes = np.unique(values)
    if len(classes) < 2:
        raise TargetError(
            f"Classifier can't train when only one class is present: all of y is {classes[0]!r}. Two classes "
            "or more are needed. Add samples of another class, or use a method of novelty detection."
        )
    return classes


def class_codes(classes: Array, y: Any) -> Indices:
    """Places of labels among sorted classes, (n,); TargetError for a label that is not among them."""
    if not len(classes):
        raise TargetError("No classes are known yet; a target knows them after learn(y). Call learn first.")
    return places_of(classes, labels(y, warn=False))


def places_of(classes: Array, values: Array) -> Indices:
    """Places among sorted classes of labels that have been checked, (n,)."""
    try:
        codes = np.minimum(np.searchsorted(classes, values), len(classes) - 1)
        known = np.asarray(classes[codes] == values)  # a single bool if they cannot be compared
        known = known if known.shape == values.shape else np.broadcast_to(known, values.shape)
    except TypeError:
        codes, known = np.zeros(len(values), dtype=np.intp), np.zeros(len(values), dtype=bool)
    if not known.all():
        strange = values[~known][0]
        raise TargetError(
            f"y has the label {strange!r}, which is not among the classes learned: "
            f"{', '.join(map(repr, classes[:10].tolist()))}{', ...' if len(classes) > 10 else ''}. Give "
            "labels that were there when the classifier was fitted."
        )
    return codes.astype(np.intp, copy=False)


@dataclass(frozen=True, eq=False)
class Binary(Target):
    """Two classes: the first in sorted order becomes -1, the second +1.

    Parameters
    ----------
    classes : (2,) array, optional
        Learned: the labels in sorted order, of the type they were given in.

    Examples
    --------
    >>> target = Binary().learn(["no", "yes", "no"])
    >>> target.encode(["yes", "no"])
    array([ 1., -1.])
    >>> target.decode(np.array([-0.3, 2.0]))
    array(['no', 'yes'], dtype='<U3')
    """

    classes: Array = field(default_factory=_none_yet)

    def learn(self, y: Any) -> Self:
        classes = find_classes(labels(y))
        if len(classes) > 2:
            raise TargetError(
                "Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(classes)} classes; two are accepted. Use OneVsOneClassifier or OneVsRestClassifier of "
                "scikit-learn around this classifier."
            )
        return replace(self, classes=classes)

    def encode(self, y: Any) -> Floats:
        return 2.0 * class_codes(self.classes, y) - 1.0

    def decode(self, f: Floats) -> Array:
        return self.classes[(np.asarray(f).reshape(len(f)) > 0.0).astype(np.intp)]


@dataclass(frozen=True)
class Real(Target):
    """Real numbers, one per sample or several; predictions have the shape that y had.

    Parameters
    ----------
    several : bool, default True
        Whether y may have several columns; if not, a single column is taken as a vector, with a warning.
    columns : int, optional
        Learned: the number of columns of y; None if y was a vector or was not seen yet.

    Examples
    --------
    >>> target = Real().learn([[1, 2], [3, 4], [5, 6]])
    >>> target.encode([[1, 2], [3, 4], [5, 6]])
    array([[1., 2.],
           [3., 4.],
           [5., 6.]])
    """

    several: bool = True
    columns: int | None = None

    def learn(self, y: Any) -> Self:
        return self.read(y)[0]

    def read(self, y: Any) -> tuple[Self, Floats]:
        values = numbers(y, self.several)
        return replace(self, columns=values.shape[1] if values.ndim == 2 else None), values

    def encode(self, y: Any) -> Floats:
        values = numbers(y, self.several, warn=False)
        columns = values.shape[1] if values.ndim == 2 else None
        if columns != self.columns:
            known, given = _words(self.columns), _words(columns)
            raise TargetError(f"y is {given}; the y learned from was {known}. Give y in that shape.")
        return values

    def decode(self, f: Floats) -> Floats:
        return np.asarray(f).reshape(len(f)) if self.columns is None else np.asarray(f).reshape(len(f), -1)


def _words(columns: int | None) -> str:
    return "a vector" if columns is None else f"a matrix of {columns} columns"


def sample_weights(sample_weight: Any, n: int) -> Floats:
    """Return weights of n samples as finite numbers that are not negative, not all zero."""
    if sample_weight is None:
        return np.ones(n)
    weight = _as_numbers(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise DomainError(
            f"sample_weight has shape {weight.shape} for {n} samples; one weight per sample is accepted. "
            f"Give an array of shape ({n},)."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise DomainError(
            f"sample_weight[{place}] = {weight[place]} was given; weights must be finite and not negative. "
            "A weight of zero leaves a sample out."
        )
    if not weight.any():
        raise DomainError("sample_weight is zero for all samples; at least one must be positive. Raise a weight.")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise DomainError(
            f"sample_weight sums to {total}; the sum of the weights must be finite. Divide them by the largest: only "
            "their ratios, and their size compared with the regularisation, matter. Give smaller weights."
        )
    return weight


def _as_numbers(sample_weight: Any) -> Floats:
    if np.ma.is_masked(sample_weight):
        raise DomainError(
            f"sample_weight is a masked array with {np.ma.count_masked(sample_weight)} masked values; one number "
            "per sample is accepted. Fill the masked weights, with 0 to leave samples out."
        )
    try:
        return real_numbers(sample_weight, "sample_weight")
    except ParameterError as error:
        raise DomainError(
            f"sample_weight of type {_type_of(sample_weight)} was given; one real number per sample is accepted. "
            "Give a list or an array of numbers."
        ) from error


def _type_of(values: Any) -> str:
    name, dtype = type(values).__name__, getattr(values, "dtype", None)
    return name if dtype is None else f"{name} of {dtype}"


@dataclass(frozen=True, eq=False)
class Reduction:
    """The two-class problems that stand for a problem of c classes.

    Seed: [HSS] Section 3.1.4, after Allwein, Schapire and Singer.

    Parameters
    ----------
    code : (c, L) array
        M, of -1, 0 and 1.
    kind : {"two", "ovo", "ovr", "code"}
        How values become classes: the sign, votes, the largest value, or the row of the code that loses least.

    Examples
    --------
    >>> Reduction.of("ovo", 3).code
    array([[ 1.,  1.,  0.],
           [-1.,  0.,  1.],
           [ 0., -1., -1.]])
    """

    code: Floats
    kind: str

    @classmethod
    def of(cls, scheme: Any, count: int) -> Reduction:
        """Return the reduction of `count` classes by a scheme: "ovo", "ovr", a kind of output code, or a code."""
        if not isinstance(scheme, str):
            scheme = output_code(count, scheme)  # an invalid code is refused even where it is not needed
        if count == 2:
            return cls(np.array([[-1.0], [1.0]]), "two")
        if isinstance(scheme, str):
            kind = scheme if scheme in ("ovo", "ovr") else "code"
            return cls(np.asarray(output_code(count, scheme), dtype=float), kind)
        return cls(np.asarray(output_code(count, scheme), dtype=float), "code")

    @property
    def votes(self) -> bool:
        """Whether the signs of the values decide."""
        return self.kind == "ovo"

    def problems(self, codes: Indices) -> list[tuple[Indices, Floats]]:
        """Return for each problem which samples take part, and on which side, +1 or -1."""
        sides = self.code[codes]
        found = []
        for column in sides.T:
            index = np.flatnonzero(column)
            found.append((index, column[index]))
        return found

    def decode(self, values: Floats) -> Indices:
        """Return the class numbers for decision values, (m, L); ties go to the first class."""
        if self.kind == "ovo":
            return np.argmax(self._won(values), axis=1)
        return np.argmax(self.confidences(values), axis=1)

    def confidences(self, values: Floats) -> Floats:
        """Return a value per class, (m, c), whose largest is the class.

        For pairs it is the number of votes, and a third of a vote at most for how clear they were.
        """
        if self.kind == "ovr":
            return values
        if self.kind == "ovo":
            sums = values @ self.code.T
            return self._won(values) + sums / (3.0 * (np.abs(sums) + 1.0))
        return -decoding_losses(self.code, values)

    def _won(self, values: Floats) -> Floats:
        """Return the number of pairs that each class wins, (m, c): won minus lost plus all, halved."""
        signs = np.where(values > 0, 1.0, -1.0)
        return 0.5 * (signs @ self.code.T + np.count_nonzero(self.code, axis=1))

    def likelihoods(self, P: Floats) -> Floats:
        """Return how likely each class is, (m, c), from the probability of the side +1 of each problem, (m, L).

        The geometric mean over the problems that a class takes part in, as if they were independent.
        """
        with np.errstate(divide="ignore"):
            yes, no = np.maximum(np.log(P), _IMPOSSIBLE), np.maximum(np.log1p(-P), _IMPOSSIBLE)
        sides = yes @ (self.code > 0).T + no @ (self.code < 0).T
        mean = sides / np.count_nonzero(self.code, axis=1)
        return np.exp(mean - mean.max(axis=1, keepdims=True))

    def dual_coef(self, coef: Floats, codes: Indices) -> Floats:
        """Return coefficients of support vectors, (q,) or (q, L), in scikit-learn's layout.

        One row for two classes; c - 1 rows for pairs, in which a vector has its coefficients against the other
        classes in order; one row per problem otherwise.
        """
        if coef.ndim == 1:
            return coef[None, :].copy()
        if self.kind != "ovo":
            return coef.T.copy()
        out = np.zeros((len(self.code) - 1, len(coef)))
        for own in range(len(self.code)):
            mine = np.flatnonzero(codes == own)
            out[:, mine] = coef[np.ix_(mine, np.flatnonzero(self.code[own]))].T
        return out


def class_weights(given: Any, classes: Array, codes: Indices, w: Floats) -> Floats:
    """Return the factor of the weights of each class, (c,).

    Parameters
    ----------
    given : None, "balanced" or dict
        "balanced" gives every class the same total weight; a dict maps labels to factors, 1 if left out.
    classes : (c,) array
    codes : (n,) array of int
    w : (n,) array
        Sample weights.
    """
    mass = np.bincount(codes, weights=w, minlength=len(classes))
    if not mass.all():
        lost = classes[np.flatnonzero(mass == 0)[0]]
        raise TargetError(
            f"class {lost!r} has no sample of positive weight; each class needs at least one. "
            "Leave its samples out of X and y, or give one of them a weight."
        )
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return mass.sum() / (len(classes) * mass)
    labels = classes.tolist()
    if given and not set(given) & set(labels):  # one of them may be missing: a fold of the data may lack a class
        raise ParameterError(
            f"class_weight has the labels {list(given)[:10]}, of which none is among the classes {labels[:10]}. "
            "Give weights for labels of y."
        )
    factors = np.array([given.get(label, 1.0) for label in labels], dtype=object)
    bad = [f for f in factors if not is_real(f) or not 0 < f < np.inf]
    if bad:
        raise ParameterError(
            f"class_weight has the value {bad[0]!r}; weights of classes must be finite numbers greater than zero. "
            "Give such numbers, or 'balanced'."
        )
    return factors.astype(float)

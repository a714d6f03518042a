"""Machines that another library has fitted: functions that are given, not learned.

Symbols: f_ij the function that separates class i (positive) from class j, c classes, P = c (c - 1) / 2 pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from itertools import combinations
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin

from mercer.arrays import Array, Floats
from mercer.constraints import Boolean, Constraint, InstanceOf, OneOf, Optional, Satisfies
from mercer.domains import Similarities, Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.estimator import remember_columns
from mercer.estimators.fits import protect
from mercer.estimators.offered import offered_if
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Kernel, Precomputed
from mercer.spec import constraints_of

__all__ = ["ImportedClassifier", "ImportedDetector", "ImportedRegressor"]
__saved__ = __all__

_VOTES, _COLUMNS = "one-versus-one", "one-versus-rest"
_MARKS = 10  # of LIBSVM's one-class machines, between which probabilities step
_SMALLEST = 1e-7  # probability of a class of a pair


def _has_length(given: Any) -> bool:
    return isinstance(given, Sized)


def _are_marks(given: Any) -> bool:
    marks = np.asarray(given, dtype=float)
    return marks.shape == (_MARKS,) and bool(np.isfinite(marks).all()) and not (np.diff(marks) < 0.0).any()


_MARKED = Satisfies(f"{_MARKS} ascending numbers, as LIBSVM writes them", _are_marks)


class _Imported(BaseEstimator):
    """An estimator whose fitted function is one of its parameters."""

    expansion: Any
    feature_names: Any
    constraints: ClassVar[Mapping[str, Constraint]] = {
        "expansion": InstanceOf(Expansion, FeatureExpansion),
        "feature_names": Optional(Satisfies("a sequence of names", _has_length)),
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        protect(cls)

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise CapabilityError: the function was fitted elsewhere."""
        raise CapabilityError(
            f"{type(self).__name__}.fit was called; this machine was fitted by another library and only its function "
            "is known, not how it was found. Use it as it is, or fit an estimator of mercer, such as "
            f"KernelRidge({self.kernel_!r:.80})."
        )

    @property
    def expansion_(self) -> Expansion | FeatureExpansion:
        """The function, one column per output."""
        return self.expansion

    @property
    def kernel_(self) -> Kernel:
        """The kernel of the function."""
        return self.expansion.kernel

    @property
    def n_features_in_(self) -> int:
        """Number of columns that new data must have."""
        samples = getattr(self.expansion, "samples", None)
        if isinstance(samples, (Vectors, Similarities)):
            return samples.width
        if isinstance(self.expansion, FeatureExpansion):
            return len(self.expansion.weights)
        raise AttributeError("n_features_in_ exists for vectors and similarities only")

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns, if the other library knew them."""
        if self.feature_names is None:
            raise AttributeError("feature_names_in_ exists only if the columns had names")
        return np.asarray(self.feature_names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel_, Precomputed)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _check_parameters(self) -> None:
        """Raise ParameterError unless all parameters are acceptable; most of all, there is a function."""
        for name, constraint in constraints_of(type(self)).items():
            constraint.check(name, getattr(self, name), self)

    def _columns(self) -> int | None:
        """Number of outputs of the function; None if it is one number per sample."""
        _Imported._check_parameters(self)
        values = self.expansion.coef if isinstance(self.expansion, Expansion) else self.expansion.weights
        return values.shape[1] if values.ndim == 2 else None

    def _evaluate(self, X: Any) -> Floats:
        """Return the function at new data: one block against the samples kept, and one product."""
        T = self.kernel_.pack(X)
        remember_columns(self, X, T, reset=False)
        return self.expansion(T)


class _Single(_Imported):
    """A machine with one function."""

    def __init__(self, expansion: Expansion | FeatureExpansion, *, feature_names: Any = None) -> None:
        self.expansion = expansion
        self.feature_names = feature_names

    def _check_parameters(self) -> None:
        """Raise ParameterError unless there is one function."""
        if self._columns() is not None:
            raise ParameterError(
                f"{type(self).__name__} was given a function of {self._columns()} outputs; one output, with "
                "coefficients of shape (n,), is accepted. Give one machine per output."
            )


class ImportedRegressor(RegressorMixin, _Single):
    r"""A regression function that another library has fitted.

    .. math:: f(x) = \sum_i c_i \, k(x, s_i) + b

    Seed: [HSS] Theorem 11, Eq. (50).

    Parameters
    ----------
    expansion : Expansion or FeatureExpansion
        f, with coefficients of shape (n,).
    feature_names : sequence of str, optional
        Names of the columns of the training data.

    Notes
    -----
    Made by ``mercer.io.from_libsvm`` and ``mercer.io.from_sklearn``. It is fitted from the start and cannot be
    fitted again; clones of it are fitted, too.

    Examples
    --------
    >>> from mercer.gram import FeatureExpansion
    >>> from mercer.kernels import Linear
    >>> ImportedRegressor(FeatureExpansion(Linear(), None, np.array([2.0]), np.array(1.0))).predict([[10.0]])
    array([21.])
    """

    def predict(self, X: Any) -> Floats:
        """Return f at new data, shape (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)


class ImportedDetector(OutlierMixin, _Single):
    r"""A one-class machine that another library has fitted: positive where new data are like the old.

    .. math:: f(x) = \sum_i c_i \, k(x, s_i) - \rho

    Seed: [HSS] Eqs. (82)-(84).

    Parameters
    ----------
    expansion : Expansion or FeatureExpansion
        f, with coefficients of shape (n,) and intercept -rho.
    feature_names : sequence of str, optional
        Names of the columns of the training data.
    marks : (10,) array, optional
        prob_density_marks of LIBSVM, ascending; `predict_proba` exists with them only.

    Notes
    -----
    Made by ``mercer.io.from_libsvm`` and ``mercer.io.from_sklearn``. It is fitted from the start and cannot be
    fitted again.

    Examples
    --------
    >>> from mercer.gram import FeatureExpansion
    >>> from mercer.kernels import Linear
    >>> machine = ImportedDetector(FeatureExpansion(Linear(), None, np.array([1.0]), np.array(-5.0)))
    >>> machine.predict([[10.0], [1.0]])
    array([ 1, -1])
    """

    constraints = {"marks": Optional(_MARKED)}

    def __init__(
        self, expansion: Expansion | FeatureExpansion, *, feature_names: Any = None, marks: Any = None
    ) -> None:
        self.expansion = expansion
        self.feature_names = feature_names
        self.marks = marks

    @property
    def offset_(self) -> Floats:
        """Rho: ``decision_function`` is ``score_samples`` minus it."""
        return -np.atleast_1d(self.expansion.intercept)

    def decision_function(self, X: Any) -> Floats:
        """Return f at new data, shape (m,): positive for inliers.

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)

    def score_samples(self, X: Any) -> Floats:
        """Return f + rho at new data, shape (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for inliers and -1 for outliers, shape (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return np.where(self._evaluate(X) > 0, 1, -1)

    @offered_if(lambda detector: _gives_marks(detector))
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability that a sample is like the old, and that it is not, shape (m, 2), as LIBSVM does.

        It is the tenth of the marks between which the decision value lies, and 0.001 or 0.999 beyond them.

        Parameters
        ----------
        X : raw data or packed samples
        """
        self._check_parameters()
        values, marks = self._evaluate(X), np.asarray(self.marks, dtype=float)
        tenth = np.searchsorted(marks, values, side="right") / _MARKS
        inside = np.where(values < marks[0], 0.001, np.where(values > marks[-1], 0.999, tenth % 1.0))
        return np.column_stack([inside, 1.0 - inside])


def _gives_marks(estimator: Any) -> bool:
    if estimator.marks is not None:
        return True
    raise AttributeError(
        "predict_proba was asked of a machine that was fitted without probabilities; it exists only if LIBSVM had "
        "fitted them. Fit it again with svm-train -b 1."
    )


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.probability is not None:
        return True
    raise AttributeError(
        "predict_proba was asked of a machine that was fitted without probabilities; it exists only if the other "
        "library had fitted them. Fit it again with probability=True, or use mercer.SVC(probability=True)."
    )


class ImportedClassifier(ClassifierMixin, _Imported):
    r"""A classifier that another library has fitted: by votes of pairs, or one function per class.

    .. math:: f_{ij}(x) = \sum_s c_{ijs} \, k(x, x_s) + b_{ij}, \qquad i < j

    Each f_ij that is positive is a vote for class i, any other one for class j; the class with most votes
    wins, and of several the first.

    Seed: [HSS] Theorem 11, Eq. (50) for each function; one versus one is of LIBSVM.

    Parameters
    ----------
    expansion : Expansion or FeatureExpansion
        All functions over the union of their samples, one column per pair (0, 1), (0, 2), ..., (1, 2), ..., or
        per class; coefficients of shape (n,) for two classes.
    classes : (c,) array
        Labels in sorted order.
    strategy : {"one-versus-one", "one-versus-rest"}, default "one-versus-one"
        What the columns are. One versus one: for two classes positive values are for the first. One versus
        rest: for two classes positive values are for the second.
    decision_function_shape : {"ovr", "ovo"}, default "ovr"
        As in scikit-learn: what ``decision_function`` returns for three classes or more of one versus one.
    break_ties : bool, default False
        As in scikit-learn: whether ties of votes are broken by ``decision_function`` ("ovr" only).
    order : (c,) array of int, optional
        The place of each class among the columns, if they are not in sorted order: it decides ties.
    feature_names : sequence of str, optional
        Names of the columns of the training data.
    probability : pair of (P,) arrays, optional
        probA and probB of LIBSVM, one of each per pair of columns; `predict_proba` exists with them only.
    couple_two : bool, default False
        Whether probabilities of two classes are coupled by iteration as well, as scikit-learn does. LIBSVM takes those
        of the sigmoid; the two differ by up to 0.005.

    Notes
    -----
    Made by ``mercer.io.from_libsvm`` and ``mercer.io.from_sklearn``. It is fitted from the start and cannot be
    fitted again; clones of it are fitted, too. Prediction is one block against all samples kept and one
    product, O(m n (d + P)).

    Probabilities are those of LIBSVM, which stops the coupling of three classes or more early: they differ by up to
    0.005 from the exact minimum that `mercer.selection.couple` finds.

    Examples
    --------
    >>> from mercer.gram import FeatureExpansion
    >>> from mercer.kernels import Linear
    >>> f = FeatureExpansion(Linear(), None, np.array([1.0]), np.array(0.0))
    >>> ImportedClassifier(f, np.array(["no", "yes"]), strategy="one-versus-rest").predict([[2.0], [-2.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    constraints = {
        "classes": Satisfies("an array of labels", _has_length),
        "strategy": OneOf(_VOTES, _COLUMNS),
        "decision_function_shape": OneOf("ovr", "ovo"),
        "break_ties": Boolean(),
        "order": Optional(
            Satisfies("the place of each class among the columns", lambda given: isinstance(given, Sized))
        ),
        "probability": Optional(Satisfies("a pair of arrays A and B", lambda given: isinstance(given, Sized))),
        "couple_two": Boolean(),
    }

    def __init__(
        self,
        expansion: Expansion | FeatureExpansion,
        classes: Array,
        *,
        strategy: str = _VOTES,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        order: Any = None,
        feature_names: Any = None,
        probability: Any = None,
        couple_two: bool = False,
    ) -> None:
        self.expansion = expansion
        self.classes = classes
        self.strategy = strategy
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.order = order
        self.feature_names = feature_names
        self.probability = probability
        self.couple_two = couple_two

    @property
    def classes_(self) -> Array:
        """Labels in sorted order."""
        return np.asarray(self.classes)

    @property
    def probA_(self) -> Floats:
        """LIBSVM's probA, if there was one."""
        return self._probabilities()[0]

    @property
    def probB_(self) -> Floats:
        """LIBSVM's probB, if there was one."""
        return self._probabilities()[1]

    def _probabilities(self) -> Any:
        if self.probability is None:
            raise AttributeError("probA_ and probB_ exist only if the model had probabilities")
        return self.probability

    def decision_function(self, X: Any) -> Floats:
        """Return decision values as scikit-learn does.

        Parameters
        ----------
        X : raw data or packed samples

        Returns
        -------
        (m,) array for two classes, positive for the second; (m, c) for "ovr"; (m, P) for "ovo"
        """
        self._check_parameters()
        values = self._evaluate(X)
        if self.strategy == _COLUMNS:
            return values
        if len(self.classes_) == 2:
            return values if self._place()[0] > self._place()[1] else -values
        pairs = self._sorted(values)
        return _by_class(pairs, len(self.classes_)) if self.decision_function_shape == "ovr" else pairs

    def predict(self, X: Any) -> Array:
        """Return labels, shape (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        self._check_parameters()
        c = len(self.classes_)
        if self.strategy == _COLUMNS or (self.break_ties and c > 2):
            values = self.decision_function(X)
            return self.classes_[np.argmax(values, axis=1) if values.ndim == 2 else (values > 0).astype(int)]
        values = self._evaluate(X)
        votes = np.zeros((len(values), c), dtype=np.intp)
        for column, (i, j) in enumerate(combinations(range(c), 2)):
            first = (values if c == 2 else values[:, column]) > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return self.classes_[np.argsort(self._place())[np.argmax(votes, axis=1)]]

    @offered_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        r"""Return the probability of each class, shape (m, c), as LIBSVM and scikit-learn do.

        .. math:: r_{ij} = 1 / (1 + e^{A_{ij} f_{ij} + B_{ij}})

        coupled to one probability per class. Only if the other library had fitted A and B.

        Parameters
        ----------
        X : raw data or packed samples
        """
        self._check_parameters()
        values = self._evaluate(X)
        values = values[:, None] if values.ndim == 1 else values
        P = expit(-(np.ravel(self.probA_) * values + np.ravel(self.probB_)))
        P = np.clip(P, _SMALLEST, 1.0 - _SMALLEST)
        if len(self.classes_) == 2 and not self.couple_two:
            return np.hstack([P, 1.0 - P])[:, self._place()]
        return _coupled(P, len(self.classes_))[:, self._place()]

    @offered_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities.

        Parameters
        ----------
        X : raw data or packed samples
        """
        return np.log(self.predict_proba(X))

    def _place(self) -> Array:
        """Return the place of each class, in sorted order, among the columns."""
        return np.arange(len(self.classes_)) if self.order is None else np.asarray(self.order, dtype=np.intp)

    def _sorted(self, values: Floats) -> Floats:
        """Return the columns in the order of sorted classes, positive for the first of each pair."""
        if self.order is None:
            return values
        place, c = self._place(), len(self.classes_)
        column = {pair: k for k, pair in enumerate(combinations(range(c), 2))}
        out = np.empty_like(values)
        for k, (a, b) in enumerate(combinations(range(c), 2)):
            i, j = int(place[a]), int(place[b])
            out[:, k] = values[:, column[i, j]] if i < j else -values[:, column[j, i]]
        return out

    def _check_parameters(self) -> None:
        """Raise ParameterError unless classes and columns fit together."""
        columns, c = self._columns(), len(np.atleast_1d(self.classes_))
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError(
                "break_ties must be False when decision_function_shape is 'ovo'; ties are broken by the values of "
                "'ovr'. Change one of the two."
            )
        expected = None if c == 2 else c * (c - 1) // 2 if self.strategy == _VOTES else c
        if c < 2 or columns != expected:
            raise ParameterError(
                f"ImportedClassifier was given {c} classes and functions of shape {columns or '(n,)'}; {self.strategy} "
                "needs (n,) for two classes, else one column per pair or class. Use from_libsvm or from_sklearn."
            )
        if not np.array_equal(np.sort(self._place()), np.arange(c)):
            raise ParameterError(
                f"ImportedClassifier was given order={self.order!r}; each of 0 to {c - 1} once is accepted. "
                "Leave it out if the columns are in sorted order."
            )
        if self.probability is not None:
            pairs = c * (c - 1) // 2
            if self.strategy != _VOTES or [np.size(part) for part in self.probability] != [pairs, pairs]:
                raise ParameterError(
                    f"ImportedClassifier was given probability={self.probability!r:.80} with {c} classes; one number A "
                    f"and one number B for each of {pairs} pairs, one-versus-one, are accepted. Leave it out."
                )


def _coupled(P: Floats, c: int) -> Floats:
    """Return probabilities of c classes from those of the first of each pair, as near to the minimum as LIBSVM goes.

    The second approach of Wu, Lin and Weng (2004), Probability estimates for multi-class classification by pairwise
    coupling, with their iteration: each class in turn is put at its best value and all are scaled to sum to one, until
    the gradient of every class is the same to 0.005 / c.
    """
    i, j = np.triu_indices(c, 1)
    Q = np.zeros((len(P), c, c))
    losses = np.zeros((len(P), c, c))
    Q[:, i, j] = Q[:, j, i] = -P * (1.0 - P)
    losses[:, i, j], losses[:, j, i] = (1.0 - P) ** 2, P**2
    np.einsum("kii->ki", Q)[:] = losses.sum(axis=2)
    p = np.full((len(P), c), 1.0 / c)
    going = np.arange(len(P))
    for _ in range(max(100, c)):
        q = np.einsum("kij,kj->ki", Q[going], p[going])
        value = np.einsum("ki,ki->k", p[going], q)
        open_ = np.abs(q - value[:, None]).max(axis=1) >= 0.005 / c
        going, q, value = going[open_], q[open_], value[open_]
        if not len(going):
            break
        for t in range(c):
            own = Q[going, t, t]
            step = (value - q[:, t]) / own
            p[going, t] += step
            value = (value + step * (step * own + 2.0 * q[:, t])) / (1.0 + step) ** 2
            q = (q + step[:, None] * Q[going, t]) / (1.0 + step)[:, None]
            p[going] /= (1.0 + step)[:, None]
    return p


def _by_class(pairs: Floats, c: int) -> Floats:
    """Return votes per class, ties ordered by the sums of decision values, which count for less than a vote."""
    votes, sums = np.zeros((len(pairs), c)), np.zeros((len(pairs), c))
    for k, (i, j) in enumerate(combinations(range(c), 2)):
        values = pairs[:, k]
        second = values < 0  # scikit-learn counts a zero for the first class here, LIBSVM for the second
        votes[:, i] += ~second
        votes[:, j] += second
        sums[:, i] += values
        sums[:, j] -= values
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))

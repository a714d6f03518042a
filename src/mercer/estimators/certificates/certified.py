"""The certificate of a fitted model: from its function and a sample to the numbers of `mercer.theory`.

Symbols: f = <w, phi(x)> + b the fitted function, m samples, d_i = k(x_i, x_i), s the size of the constant feature by
which PAC-Bayes bounds treat a bias.

All that the theory needs of a model is a function in the space of its kernel: values, norm, offset and diagonal. An
estimator gets `certificate` by this base; it declares nothing.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from mercer import theory  # whose names are imported when they are used
from mercer.arguments import SEED, real_array
from mercer.arrays import Floats
from mercer.constraints import Integer, Interval, Optional
from mercer.domains import Samples
from mercer.errors import CapabilityError, MercerError, ParameterError, TargetError
from mercer.estimators.certificates.assumptions import assumptions_of, kernel_assumption, known_candidates
from mercer.estimators.certificates.fitted_balls import (
    Ball,
    Size,
    ball_of,
    class_codes,
    diagonal_of,
    two_class_problems,
)
from mercer.estimators.certificates.measured_errors import Request, mean_errors, shares_of_errors
from mercer.estimators.fits import recall
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Precomputed

__all__ = ["Certified", "best_pac_bayes", "shared"]

_SIZES = (0.01, 0.1, 1.0, 10.0, 100.0)  # s; the bound pays for their number


class Certified:
    """Base of the estimators that theory can say something about."""

    def certificate(
        self,
        X: Any = None,
        y: Any = None,
        *,
        delta: float = 0.05,
        candidates: Any = None,
        held_out: Any = None,
        cv: int | None = 5,
        prior: float | None = 0.5,
        target_range: Any = None,
        random_state: Any = 0,
    ) -> theory.Certificate:
        """Return how far the fitted model can be trusted: bounds, what they assume, and what samples say.

        Parameters
        ----------
        X, y : optional
            The training sample. A model keeps only what it needs to predict; without X and y the arrays that it was
            fitted to are taken, if they still exist and have not changed.
        delta : float, default 0.05
            Probability with which a bound may fail: it is divided among the bounds, so that all hold together and the
            smallest may be taken. (Bounds that leave something unpaid are printed for comparison, each with delta.)
        candidates : int or fitted search, optional
            Between how many kernels was chosen on the same sample; of a search such as `GridSearchCV` its settings are
            counted. The union over them is paid for. C, alpha, nu, epsilon, losses and weights need not be counted,
            since the bounds hold for all functions at once. None is what is known: `mercer.search`, `KernelSearchCV`
            and `mercer.automatic` leave a note in the model they fit (``candidates_``), and 1 without one.
        held_out : (X, y) or X, optional
            Samples that had no part in the fit.
        cv : int or None, default 5
            Folds of cross-validation; None leaves it out, and leaving one out with it.
        prior : float or None, default 0.5
            Share of the sample on which the prior of a PAC-Bayes bound is learned; None leaves it out.
        target_range : (low, high), optional
            Between which all targets of a regression lie, those to come as well; None takes those of the sample.
        random_state : int, optional
            Of the folds and of the part for the prior.

        Returns
        -------
        certificate : Certificate

        Notes
        -----
        The bounds hold for one kernel that was fixed in advance, or `candidates`. They cover functions of several
        classes by a sum over pairs of classes. Cost: one prediction of the sample, and fits for cross-validation,
        leaving one out and the prior.
        """
        check_is_fitted(self)
        Interval(0.0, 1.0, closed="neither").check("delta", delta, self)
        candidates, fixed = known_candidates(self, candidates)
        Integer(1).check("candidates", candidates, self)
        Optional(Integer(2)).check("cv", cv, self)
        Optional(Interval(0.0, 1.0, closed="neither")).check("prior", prior, self)
        SEED.check("random_state", random_state, self)
        asked = Request(delta, candidates, held_out, cv, prior, target_range, random_state, fixed)
        self._require_covered()
        if X is None:
            X, y = _recalled(self)
        if is_classifier(self):
            return self._certified_classes(X, y, asked)
        if is_outlier_detector(self):
            return self._certified_region(X, asked)
        return _of_regressor(self, X, y, asked)

    def _require_covered(self) -> None:
        """Raise unless the fitted function is one that theory says something about."""
        _require_covered(self)

    def _certified_classes(self, X: Any, y: Any, asked: Request) -> theory.Certificate:
        return _of_classifier(self, X, y, asked)

    def _certified_region(self, X: Any, asked: Request) -> theory.Certificate:
        return _of_detector(self, X, asked)

    def _size(self, T: Samples, predicted: Floats, delta: float) -> Size:
        """Return how large the function of a regression is, and the class that it is in."""
        element = self._deciding()
        one = element.column(0) if element.outputs else element
        ball = ball_of(self, one, predicted, diagonal_of(self, T), T)
        return Size(ball.norm, ball.complexity, ball.offset, delta)

    def _packed_sample(self, X: Any) -> Samples:
        """Pack the training sample for all that its certificate looks at."""
        return vars(self)["kernel_"].pack(X)

    def _class_assumption(self, candidates: int, T: Samples) -> theory.Assumption:
        """Return whether the class of functions was fixed before the sample was seen."""
        return kernel_assumption(self, candidates)

    own_bounds: ClassVar[int] = 0  # how many `_own_bounds` adds for two classes

    def _own_bounds(self, X: Any, sign: Floats, asked: Request) -> list[theory.Bound]:
        """Return bounds of two classes that only this model has; `sign` has the classes as +1 and -1."""
        return []

    def _deciding(self) -> Any:
        """Return the function, or functions, whose sign or largest value a classifier predicts by."""
        return getattr(self, "expansion_", None)


def _recalled(model: Any) -> tuple[Any, Any]:
    found = recall(model)
    if found is None:
        raise ParameterError(
            f"{type(model).__name__}.certificate was called without data; the training data are needed, and those of "
            "this model are not at hand (gone, changed, a list, or the model was copied). Give them: certificate(X, y)."
        )
    return found


def _require_covered(model: Any) -> None:
    element, kernel = model._deciding(), getattr(model, "kernel_", None)
    if not isinstance(element, (Expansion, FeatureExpansion)) or kernel is None:
        raise CapabilityError(
            f"{type(model).__name__} was asked for a certificate; there is one for models whose function is in the "
            "space of a kernel. Compare models by cross_val_score instead."
        )
    if kernel.order != 0 or getattr(model, "repair_", None) is not None:
        raise CapabilityError(
            f"{type(model).__name__} with {kernel!r:.200} was asked for a certificate; the bounds are for positive "
            "definite kernels. Fit with one, for example Gaussian()."
        )


# classifiers --------------------------------------------------------------------------------------------------


def _of_classifier(model: Any, X: Any, y: Any, asked: Request) -> theory.Certificate:
    T = model.kernel_.pack(X)
    codes = class_codes(model, y, len(T))
    values = np.asarray(model._deciding()(T), dtype=float)
    diagonal = diagonal_of(model, T)
    parts = two_class_problems(model, values, codes, diagonal, T)
    predicted = np.asarray(model.predict(X))
    if len(model.classes_) == 2 and ((parts[0].margins > 0) != (predicted == np.asarray(y))).mean() > 0.01:
        raise CapabilityError(
            f"{type(model).__name__} does not predict by the sign of its function; the bounds are for models that do. "
            "Compare models by cross_val_score instead."
        )
    notes: list[str] = []
    bounds, loose = _classifier_bounds(model, X, y, parts, asked, notes)
    estimates = shares_of_errors(model, X, np.asarray(y), predicted, asked, notes)
    return theory.Certificate(
        repr(model), "P(error)", len(T), asked.delta, tuple(bounds), tuple(estimates), assumptions_of(model, asked, T),
        tuple(notes), frozenset(loose),
    )  # fmt: skip


def _classifier_bounds(
    model: Any, X: Any, y: Any, parts: list[Ball], asked: Request, notes: list[str]
) -> tuple[list[theory.Bound], list[str]]:
    if len(parts) > 1:
        share = shared(asked, 2 * len(parts))  # two bounds that hold together
        found = [_margin(part, share) for part in parts]
        notes.append(
            f"{len(model.classes_)} classes: sums over {len(parts)} problems of two classes, each with delta / "
            f"{2 * len(parts)}. A learned prior is for two classes only."
        )
        drawn = _pac_bayes_sum([one for part in parts for one in _pac_bayes(part, share)], 0.5 * asked.delta)
        return [_summed(found, 0.5 * asked.delta), drawn], []
    ball, share = parts[0], shared(asked, model.own_bounds + (2 if asked.prior is None else 3))
    bounds = [_margin(ball, share), *_pac_bayes(ball, share)]
    if asked.prior is not None:
        bounds += _learned_prior(model, X, y, share, notes)
    sign = np.where(class_codes(model, y, len(ball.margins)) == 1, 1.0, -1.0)
    bounds += model._own_bounds(X, sign, share)
    if ball.norm > 0.0:
        gamma = 1.0 / ball.norm  # the margin of a support vector machine
        slacks = np.maximum(0.0, gamma - ball.margins / ball.norm)
        bounds.append(theory.svm_bound(slacks, ball.diagonal, gamma, asked.delta))
    return bounds, ["SVM, fixed margin"]


def shared(asked: Request, count: int) -> Request:
    """Return what was asked for with a part of delta, so that bounds hold together and the smallest may be taken."""
    return dataclasses.replace(asked, delta=asked.delta / count)


def _margin(ball: Ball, asked: Request) -> theory.Bound:
    return theory.margin_bound(
        ball.margins, ball.norm, ball.complexity, offset=ball.offset, delta=asked.delta, choices=asked.candidates
    )


def _summed(found: list[theory.Bound], delta: float) -> theory.Bound:
    """Return the sum of bounds over problems, term by term."""
    names = list(dict.fromkeys(term.name for bound in found for term in bound.terms))
    terms = [
        theory.Term(
            name, "sum over the problems", sum(t.value for bound in found for t in bound.terms if t.name == name)
        )
        for name in names
    ]
    first = found[0]
    return theory.Bound.of_terms("margin, learned", "P(error)", terms, delta, paid=first.paid, unpaid=first.unpaid)


def _pac_bayes(ball: Ball, asked: Request) -> list[theory.Bound]:
    """Return the bound with a prior at zero, at the best size of the constant feature."""
    return [_named(best_pac_bayes(ball, asked.delta, asked.candidates), ball, asked)]


def best_pac_bayes(ball: Ball, delta: float, candidates: int = 1) -> theory.Bound:
    """Return the bound with a prior at zero, at the best size of the constant feature, which is paid for."""
    members = ball.takes_part
    return min(
        theory.svm_pac_bayes(
            _cosines(ball, s)[members], delta, choices=candidates * count, outside=int(np.sum(~members))
        )
        for s, count in _sizes(ball)
    )


def _pac_bayes_sum(found: list[theory.Bound], delta: float) -> theory.Bound:
    """Return the sum of bounds over problems."""
    first = found[0]
    terms = [
        theory.Term(term.name, "sum over the problems", sum(bound.terms[place].value for bound in found))
        for place, term in enumerate(first.terms)
        if term.name != "scale"
    ]
    formula = f"sum over the problems of {first.formula}"
    return theory.Bound(
        sum(map(float, found)), first.name, "P(error)", terms, delta, formula=formula, paid=first.paid,
        unpaid=first.unpaid,
    )  # fmt: skip


def _named(bound: theory.Bound, ball: Ball, asked: Request) -> theory.Bound:
    """Return the bound with what is paid for in the words of a model: sizes of the constant feature are no kernels."""
    paid = [bound.paid[0], *(one for one in bound.paid[1:] if "kernels" not in one)]
    if ball.offset is not None:
        paid.append(f"the bias, as a constant feature of the best of {len(_SIZES)} sizes")
    if asked.candidates > 1:
        paid.append(f"the choice between {asked.candidates} kernels")
    unpaid = ("the kernel" if asked.candidates == 1 else f"the {asked.candidates} kernels that were tried",)
    return bound.replaced(paid=tuple(paid), unpaid=unpaid)


def _sizes(ball: Ball) -> list[tuple[float, int]]:
    return [(0.0, 1)] if ball.offset is None else [(s, len(_SIZES)) for s in _SIZES]


def _cosines(ball: Ball, s: float) -> Floats:
    """Return y f(x) over the norms of f and phi(x), with a constant feature of size s for the bias."""
    norm = math.hypot(ball.norm, ball.offset / s) if ball.offset else ball.norm
    lengths = np.sqrt(ball.diagonal + s * s)
    cosines = np.divide(ball.margins, norm * lengths, out=np.zeros(len(lengths)), where=norm * lengths > 0.0)
    return np.clip(cosines, -1.0, 1.0)


def _learned_prior(model: Any, X: Any, y: Any, asked: Request, notes: list[str]) -> list[theory.Bound]:
    """Return the bound with a prior learned on part of the sample, for the rest; none where that cannot be done."""
    assert asked.prior is not None
    if isinstance(model.kernel_, Precomputed) or not isinstance(model._deciding(), Expansion):
        notes.append("No learned prior: it needs an exact Gram matrix of a kernel that is a formula.")
        return []
    try:
        T = model.kernel_.pack(X)
        n = len(T)
        order = np.random.default_rng(asked.random_state).permutation(n)
        size = min(max(round(asked.prior * n), 2), n - 2)
        first, rest = np.sort(order[:size]), np.sort(order[size:])
        other = _with_kernel(model).fit(T.take(first), np.asarray(y)[first])
        f = model._deciding().column(0) if model._deciding().outputs else model._deciding()
        g = other._deciding().column(0) if other._deciding().outputs else other._deciding()
        part = T.take(rest)
        values = np.asarray(f(part), dtype=float)
        labels = np.asarray(y)[rest]
        sign = np.where(class_codes(model, labels, len(rest)) == 1, 1.0, -1.0)
        ball = ball_of(model, f, sign * values, diagonal_of(model, part), part)
        inner, norm, b, c = float(f.inner(g)), float(g.norm()), float(f.intercept), float(g.intercept)
    except MercerError as error:
        notes.append(f"No learned prior: {error}")
        return []
    tried = []
    for s, count in _sizes(ball):
        product = inner + (b * c / s**2 if s else 0.0)
        sizes = math.hypot(ball.norm, b / s if s else 0.0) * math.hypot(norm, c / s if s else 0.0)
        cosine = float(np.clip(product / sizes, -1.0, 1.0)) if sizes else 0.0
        tried.append(theory.prior_pac_bayes(_cosines(ball, s), cosine, asked.delta, choices=asked.candidates * count))
    return [_named(min(tried), ball, asked)]


def _with_kernel(model: Any) -> Any:
    """Return an unfitted copy with the kernel that was learned."""
    other: Any = clone(model)
    known = other.get_params(deep=False)
    given = {"kernel": model.kernel_, "gamma": None, "degree": None, "coef0": None}
    if "selection" not in known:  # a Gaussian process: what was found is not searched again
        given["fixed"] = "all"
    return other.set_params(**{name: value for name, value in given.items() if name in known})


# detectors and regression -------------------------------------------------------------------------------------


def _of_detector(model: Any, X: Any, asked: Request) -> theory.Certificate:
    T = model.kernel_.pack(X)
    values = np.asarray(model._deciding()(T), dtype=float)
    ball = ball_of(model, model._deciding(), values, diagonal_of(model, T), T)
    share = shared(asked, 2)
    found = [one.replaced(bounds="P(outside)") for one in (_margin(ball, share), *_pac_bayes(ball, share))]
    inside = np.ones(len(T), dtype=int)
    notes: list[str] = []
    shares = shares_of_errors(model, X, inside, np.asarray(model.predict(X)), asked, notes)
    assumptions = assumptions_of(model, asked, T)
    return theory.Certificate(
        repr(model), "P(outside)", len(T), asked.delta, tuple(found), tuple(shares), assumptions, tuple(notes)
    )


def _of_regressor(model: Any, X: Any, y: Any, asked: Request) -> theory.Certificate:
    target = real_array(y, "y", (1, 2))
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    predicted = np.asarray(model.predict(X), dtype=float)
    if target.ndim != 1 or predicted.size != len(predicted):
        raise CapabilityError(
            f"{type(model).__name__} of several outputs was asked for a certificate; it is for one output. Fit one "
            "model for each output."
        )
    low, high = _target_range(asked.target_range, target)
    T = model._packed_sample(X)
    if len(T) != len(target):
        raise TargetError(f"{len(T)} samples and {len(target)} targets were given. Give one target per sample.")
    predicted = predicted.reshape(len(T))
    size = model._size(T, predicted, asked.delta)
    losses = np.abs(target - np.clip(predicted, low, high))
    bound = theory.regression_bound(
        losses, size.norm, size.complexity, width=high - low, offset=size.offset, delta=size.delta,
        choices=asked.candidates,
    )  # fmt: skip
    notes = ["Predictions count as if they were clipped to the range of the targets."]
    given = asked.target_range is not None
    note = "as given" if given else "taken from the sample: targets beyond it are not covered; give target_range"
    ranged = theory.Assumption(f"all targets lie in [{low:.4g}, {high:.4g}]", None if given else False, note)
    estimates = mean_errors(model, X, target, losses, (low, high), asked, notes)
    assumptions = (*assumptions_of(model, asked, T), ranged)
    what = "E |y - f|"
    return theory.Certificate(
        repr(model), what, len(T), asked.delta, (bound.replaced(bounds=what, delta=asked.delta),), tuple(estimates),
        assumptions, tuple(notes),
    )  # fmt: skip


def _target_range(given: Any, target: Floats) -> tuple[float, float]:
    ends = real_array((target.min(), target.max()) if given is None else given, "target_range", 1)
    if len(ends) != 2 or not ends[0] < ends[1] or target.min() < ends[0] or target.max() > ends[1]:
        raise ParameterError(
            f"target_range={given!r} was given for targets from {target.min():g} to {target.max():g}; it is a pair "
            "(low, high) between which all lie, low < high. Give one that holds all targets."
        )
    return float(ends[0]), float(ends[1])

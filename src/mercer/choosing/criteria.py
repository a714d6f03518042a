"""By what a model is chosen: criteria as specifications, each a number for every candidate.

Symbols: K the Gram matrix of all samples, f_-i the function fitted without sample i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, RepeatedKFold, RepeatedStratifiedKFold, cross_val_predict

from mercer.arrays import Array, Floats, Indices
from mercer.choosing.families import RidgeFamily, family_of
from mercer.choosing.sheets import fresh
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, OneOf, Optional, Positive, Satisfies
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.estimators import SVC, GaussianProcessRegressor, KernelRidge
from mercer.estimators.processes.process_evidence import DenseEvidence, Observations
from mercer.estimators.squares.ridge_criterion import RidgeCriterion
from mercer.gram import Dense
from mercer.kernels import Kernel, Precomputed
from mercer.selection.bounds.alignment_criterion import AlignmentCriterion, target_alignment
from mercer.selection.bounds.approximate_cv import generalized_approximate_cv, span_rule
from mercer.selection.bounds.radius_margin import RadiusMarginCriterion, radius_margin
from mercer.selection.held_costs import machines_along
from mercer.selection.margins import margin_leave_one_out, votes
from mercer.selection.noise import noise_variance
from mercer.selection.path import RidgeSpectrum
from mercer.spec import Spec
from mercer.targets import Multiclass

__all__ = [
    "Alignment", "Case", "Criterion", "CrossValidation", "Evidence", "GACV", "GeneralizedCV", "LeaveOneOut",
    "RadiusMarginBound", "SpanRule", "UnbiasedRisk",
]  # fmt: skip
__public__ = [
    "Alignment", "Criterion", "CrossValidation", "Evidence", "GACV", "GeneralizedCV", "LeaveOneOut",
    "RadiusMarginBound", "SpanRule", "UnbiasedRisk",
]  # fmt: skip

Slope = Any  # what `mercer.selection.hyperparameters.tune` minimises


@dataclass(frozen=True, eq=False)
class Case:
    """Models that share a kernel, and the data."""

    models: Sequence[Any]
    kernel: Kernel
    samples: Samples
    y: Array

    def __post_init__(self) -> None:
        gram = Dense().build(self.kernel, self.samples)
        object.__setattr__(self, "gram", gram)

    @property
    def K(self) -> Floats:
        """The Gram matrix, which must not be changed."""
        return self.gram.array  # pyright: ignore[reportAttributeAccessIssue]

    def sides(self) -> list[tuple[Indices, Floats]]:
        """Two-class problems: all samples, or those of each pair of classes, with +1 and -1."""
        target, codes = Multiclass().read(self.y)
        count, out = len(target.classes), []
        for a in range(count):
            for b in range(a + 1, count):
                index = np.flatnonzero((codes == a) | (codes == b))
                out.append((index, np.where(codes[index] == b, 1.0, -1.0)))
        return out

    def targets(self) -> Floats:
        """Numbers to compare K with: +-1 for two classes, a column per class for more, or y itself."""
        if not is_classifier(self.models[0]):
            return np.asarray(self.y, dtype=float)
        target, codes = Multiclass().read(self.y)
        if len(target.classes) == 2:
            return np.where(codes == 1, 1.0, -1.0)
        return (codes[:, None] == np.arange(len(target.classes))).astype(float)


class Criterion(Spec):
    """Base of the criteria: a number for each of several models that share a kernel.

    Attributes
    ----------
    greater : bool
        Whether larger numbers are better.
    """

    greater: ClassVar[bool] = False

    def values(self, case: Case) -> Floats:
        """Return the criterion of each model, (p,)."""
        raise NotImplementedError

    def slope(self, model: Any, S: Samples, y: Array) -> tuple[Slope, str | None] | None:
        """Return what is minimised with derivatives, and the parameter beside the kernel; None if there is none."""
        return None

    def _refuse(self, model: Any, accepted: str) -> CapabilityError:
        return CapabilityError(
            f"{self!r} was given {type(model).__name__}; it is defined for {accepted}. Use "
            "criterion=CrossValidation(), which works for all."
        )


def _makes_folds(given: Any) -> bool:
    return not isinstance(given, (str, bytes)) and (hasattr(given, "split") or not np.isscalar(given))


class CrossValidation(Criterion):
    """Mean score over folds.

    Seed: [SS] Section 5.1.

    Parameters
    ----------
    folds : int, splitter or iterable, default 5
        As ``cv`` of scikit-learn.
    repeats : int, default 1
        With more than one, folds are drawn anew each time.
    scoring : str or callable, optional
        As in scikit-learn; None is the estimator's own ``score``.
    random_state : int, default 0
        For repeats.

    Examples
    --------
    >>> CrossValidation(5, scoring="roc_auc")
    CrossValidation(5, scoring='roc_auc')
    """

    greater = True
    constraints = {
        "folds": AnyOf(
            Integer(2), Satisfies("a splitter of scikit-learn, pairs (train, test) of indices", _makes_folds)
        ),
        "repeats": Integer(1),
        "random_state": Integer(0),
        "scoring": Optional(AnyOf(InstanceOf(str), Satisfies("a function", callable))),
    }

    def __init__(self, folds: Any = 5, repeats: int = 1, scoring: Any = None, random_state: int = 0) -> None:
        self.folds = folds
        self.repeats = repeats
        self.scoring = scoring
        self.random_state = random_state

    def splitter(self, estimator: Any) -> Any:
        """Return what makes the folds."""
        if self.repeats == 1:
            return self.folds
        kind = RepeatedStratifiedKFold if is_classifier(estimator) else RepeatedKFold
        return kind(n_splits=self.folds, n_repeats=self.repeats, random_state=self.random_state)


class LeaveOneOut(Criterion):
    r"""Error on samples left out one by one: the share of wrong classes, or the mean squared error.

    .. math:: \frac1n \sum_i \mathbf 1[\mathrm{sign} f_{-i}(x_i) \ne y_i] \quad\text{or}\quad
        \frac1n \sum_i (y_i - f_{-i}(x_i))^2

    Seed: [SS] Section 5.1; [KIKS] Section 4.1.1.

    Notes
    -----
    Exact: support vector classifiers by following what changes when a sample leaves (where no support vector is free,
    the bias is any number of an interval, and it stays as near as it can to where it was), ridge regression, `LSSVR`
    and Gaussian processes in closed form. Any other estimator is fitted n times.

    Examples
    --------
    >>> LeaveOneOut()
    LeaveOneOut()
    """

    def values(self, case: Case) -> Floats:
        model = case.models[0]
        if _is_margin(model):
            target, codes = Multiclass().read(case.y)
            count, costs = len(target.classes), [model.C for model in case.models]
            found = margin_leave_one_out(case.gram, codes, count, costs)  # pyright: ignore[reportAttributeAccessIssue]
            return np.array([np.mean(votes(values, count) != codes) for values in found])
        if _is_smoother(model):
            spectrum, Y, alphas = _decomposed(case)
            return np.mean(np.square(spectrum.left_out_errors(Y, alphas)), axis=(1, 2))
        return np.array([_by_refitting(case, model) for model in case.models])

    def slope(self, model: Any, S: Samples, y: Array) -> tuple[Slope, str | None] | None:
        return _ridge_slope(model, S, y, "loo")


class GeneralizedCV(Criterion):
    r"""Generalised cross-validation of linear smoothers: leave-one-out with all leverages at their mean.

    .. math:: \frac{n \sum_i (y_i - f(x_i))^2}{(n - \mathrm{dof})^2}

    Seed: [KIKS] Section 4.1.1.

    Examples
    --------
    >>> GeneralizedCV()
    GeneralizedCV()
    """

    def values(self, case: Case) -> Floats:
        if not _is_smoother(case.models[0]):
            raise self._refuse(case.models[0], "KernelRidge, LSSVR and GaussianProcessRegressor")
        spectrum, Y, alphas = _decomposed(case)
        return spectrum.generalized(Y, alphas).mean(axis=1)

    def slope(self, model: Any, S: Samples, y: Array) -> tuple[Slope, str | None] | None:
        return _ridge_slope(model, S, y, "gcv")


class UnbiasedRisk(Criterion):
    r"""Unbiased estimate of the risk of linear smoothers, for a known variance of the noise (Mallows).

    .. math:: \frac1n \sum_i (y_i - f(x_i))^2 + \frac{2 \sigma^2 \, \mathrm{dof}}{n} - \sigma^2

    Seed: [SS] Section 5 (its reference [92]: the variance of the noise by the differogram).

    Parameters
    ----------
    noise : float, optional
        sigma^2; None estimates it from differences of near samples, by `noise_variance`.

    Examples
    --------
    >>> UnbiasedRisk(0.1)
    UnbiasedRisk(0.1)
    """

    constraints = {"noise": Optional(Positive())}

    def __init__(self, noise: float | None = None) -> None:
        self.noise = noise

    def values(self, case: Case) -> Floats:
        if not _is_smoother(case.models[0]):
            raise self._refuse(case.models[0], "KernelRidge, LSSVR and GaussianProcessRegressor")
        spectrum, Y, alphas = _decomposed(case)
        n = len(Y)
        found = noise_variance(case.samples, case.y) if self.noise is None else self.noise
        sigma2 = float(np.mean(found))
        a = spectrum.solve(Y, alphas)[0]
        residual = np.mean(np.square(alphas[:, None, None] * a), axis=(1, 2))
        return residual + 2.0 * sigma2 * spectrum.degrees_of_freedom(alphas) / n - sigma2


class Evidence(Criterion):
    r"""Logarithm of the evidence: how likely the targets are under the process whose posterior mean is the function.

    .. math:: \log p(y) = -\tfrac12 y^\top (K + \sigma^2 I)^{-1} y - \tfrac12 \log |K + \sigma^2 I|
        - \tfrac n2 \log 2 \pi

    Seed: [SS] Section 5.2; [KIKS] Section 4.1.4.

    Notes
    -----
    The ridge, 1 / C of `LSSVR` or the noise is sigma^2. With an intercept, the evidence is that of all contrasts (the
    restricted likelihood). The three levels of the least squares machines are `LSSVR` and `LSSVC` with
    ``selection="evidence"``.

    Examples
    --------
    >>> Evidence()
    Evidence()
    """

    greater = True

    def values(self, case: Case) -> Floats:
        if not _is_smoother(case.models[0]):
            raise self._refuse(case.models[0], "KernelRidge, LSSVR and GaussianProcessRegressor")
        spectrum, Y, alphas = _decomposed(case)
        shifted = spectrum.values[:, None] + alphas  # (m, p)
        inner = np.square(spectrum.vectors @ Y).sum(axis=1)
        k, m = Y.shape[1], len(spectrum.values)
        quadratic = (inner[:, None] / shifted).sum(axis=0)
        return -0.5 * quadratic - 0.5 * k * (np.log(shifted).sum(axis=0) + m * np.log(2.0 * np.pi))

    def slope(self, model: Any, S: Samples, y: Array) -> tuple[Slope, str | None] | None:
        name = _ridge_name(model)
        if name is None or name == "C" or _has_intercept(model):
            return None
        evidence = DenseEvidence(Observations.of(S, np.asarray(y, dtype=float)))

        def value(kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, Mapping[str, Floats]]:
            found = evidence(kernel, np.asarray(beside[name]))
            return -found.value, -np.asarray(found.kernel), {name: -np.asarray(np.sum(found.noise))}

        return value, name


class Alignment(Criterion):
    """Kernel-target alignment; nothing is fitted, so that it says nothing of C or the ridge.

    Seed: [SS] Section 5; [HSS] footnote 1.

    Parameters
    ----------
    centred : bool, default True

    Examples
    --------
    >>> Alignment(centred=False)
    Alignment(centred=False)
    """

    greater = True
    constraints = {"centred": Boolean()}

    def __init__(self, *, centred: bool = True) -> None:
        self.centred = centred

    def values(self, case: Case) -> Floats:
        return np.full(len(case.models), target_alignment(case.K, case.targets(), centred=self.centred))

    def slope(self, model: Any, S: Samples, y: Array) -> tuple[Slope, str | None] | None:
        if is_classifier(model):
            target, codes = Multiclass().read(y)
            if len(target.classes) == 2:
                y = np.where(codes == 1, 1.0, -1.0)
            else:
                y = (codes[:, None] == np.arange(len(target.classes))).astype(float)
        return AlignmentCriterion(S, np.asarray(y, dtype=float), self.centred), None


class _OfMachines(Criterion):
    """A criterion that is computed from the solution of support vector classifiers; of several classes, by pairs."""

    def values(self, case: Case) -> Floats:
        if not _is_margin(case.models[0]):
            raise self._refuse(case.models[0], "SVC with the hinge loss and a finite C")
        costs = [float(model.C) for model in case.models]
        sides = case.sides()
        total, count = np.zeros(len(costs)), sum(len(index) for index, _ in sides)
        for index, sign in sides:
            K = case.K if len(sides) == 1 else np.ascontiguousarray(case.K[np.ix_(index, index)])
            machines = machines_along(K, sign, costs, case.models[0].tol)
            for place, (C, beta, _, f) in enumerate(zip(costs, *machines, strict=True)):
                total[place] += self._errors(K, sign, C, beta, f)
        return total / count

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats) -> float:
        """The sum over samples."""
        raise NotImplementedError


class GACV(_OfMachines):
    """Generalised approximate cross-validation: an estimate of the mean hinge loss of samples left out.

    Seed: [SS] Section 5.

    Examples
    --------
    >>> GACV()
    GACV()
    """

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats) -> float:
        return len(sign) * generalized_approximate_cv(np.diagonal(K), beta, sign * f)


class SpanRule(_OfMachines):
    """The share of errors of samples left out by the approximate span: as if no other sample changed its role.

    Seed: [SS] Section 5. The exact number, at more cost, is `LeaveOneOut`.

    Examples
    --------
    >>> SpanRule()
    SpanRule()
    """

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats) -> float:
        end = C * sign
        values = span_rule(K, beta, np.minimum(end, 0.0), np.maximum(end, 0.0), f)
        return float(np.sum(sign * values <= 0.0))


class RadiusMarginBound(Criterion):
    """Radius-margin bound over n; for the hinge loss the modified form, which is no bound.

    Seed: [SS] Section 5; [HSS] Section 3.2.4.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, optional
        None is that of the estimator.

    Examples
    --------
    >>> RadiusMarginBound("squared_hinge")
    RadiusMarginBound('squared_hinge')
    """

    constraints = {"loss": Optional(OneOf("squared_hinge", "hinge"))}

    def __init__(self, loss: str | None = None) -> None:
        self.loss = loss

    def values(self, case: Case) -> Floats:
        if type(case.models[0]) is not SVC:
            raise self._refuse(case.models[0], "SVC")
        sides, out = case.sides(), np.zeros(len(case.models))
        count = sum(len(index) for index, _ in sides)
        for index, sign in sides:
            K = case.K[np.ix_(index, index)]
            for place, model in enumerate(case.models):
                out[place] += radius_margin(K, sign, float(model.C), loss=self.loss or model.loss).value
        return out / count

    def slope(self, model: Any, S: Samples, y: Array) -> tuple[Slope, str | None] | None:
        target, codes = Multiclass().read(y)
        if type(model) is not SVC or len(target.classes) != 2:
            return None
        return RadiusMarginCriterion(S, np.where(codes == 1, 1.0, -1.0), self.loss or model.loss), "C"


# what estimators are ------------------------------------------------------------------------------------------


def _is_margin(model: Any) -> bool:
    return type(model) is SVC and family_of(model) is not None and model.class_weight is None


def _ridge_name(model: Any) -> str | None:
    """Return the parameter that is the ridge; None if the estimator is no linear smoother of this form."""
    if type(model) is GaussianProcessRegressor and model.mean is None and not model.normalize_y:
        return "noise"
    family = family_of(model)
    return family.parameter if isinstance(family, RidgeFamily) else None


def _has_intercept(model: Any) -> bool:
    return _ridge_name(model) == "C" or bool(getattr(model, "_has_intercept", False))


def _is_smoother(model: Any) -> bool:
    name = _ridge_name(model)
    return name is not None and isinstance(getattr(model, name), (int, float, np.number))


def _decomposed(case: Case) -> tuple[RidgeSpectrum, Floats, Floats]:
    """The spectrum of K, targets (n, k) and ridges (p,)."""
    model, name = case.models[0], str(_ridge_name(case.models[0]))
    given = np.array([float(getattr(other, name)) for other in case.models])
    Y = np.asarray(case.y, dtype=float).reshape(len(case.y), -1)
    border = np.ones((len(Y), 1)) if _has_intercept(model) else None
    return RidgeSpectrum.of(case.K.copy(), None, border), Y, 1.0 / given if name == "C" else given


def _ridge_slope(model: Any, S: Samples, y: Array, kind: str) -> tuple[Slope, str | None] | None:
    if type(model) is not KernelRidge or _ridge_name(model) != "alpha":
        return None
    Y = np.asarray(y, dtype=float).reshape(len(y), -1)
    border = np.ones((len(Y), 1)) if model._has_intercept else None
    return RidgeCriterion(S, Y, np.ones(len(Y)), border, kind), "alpha"


def _by_refitting(case: Case, model: Any) -> float:
    """Leave one out by brute force, on rows and columns of K."""
    other = fresh(model, {"kernel": Precomputed()})
    found = cross_val_predict(other, case.K, case.y, cv=KFold(len(case.y)))
    if is_classifier(model):
        return float(np.mean(found != case.y))
    return float(np.mean(np.square(np.asarray(found) - case.y)))

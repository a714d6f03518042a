"""By what a model is chosen: criteria as specifications, each a number for every candidate.

Symbols: K the Gram matrix of all samples, f_-i the function fitted without sample i.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, RepeatedKFold, RepeatedStratifiedKFold, cross_val_predict

import mercer.selection  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices
from mercer.choosing.families import RidgeFamily, family_of, is_a, takes_matrix
from mercer.choosing.sheets import fresh
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Optional, Positive, Satisfies
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.gram import Dense, GramSpec, HasFactor
from mercer.kernels import Kernel, Precomputed
from mercer.selection.path import RidgeSpectrum, mean_leave_one_out
from mercer.spec import Spec
from mercer.targets import Multiclass

__all__ = [
    "Alignment", "Case", "Criterion", "CrossValidation", "Evidence", "GeneralizedCV", "LeaveOneOut", "Slope",
    "UnbiasedRisk", "is_margin",
]  # fmt: skip
__public__ = [
    "Alignment", "Criterion", "CrossValidation", "Evidence", "GeneralizedCV", "LeaveOneOut", "UnbiasedRisk",
]  # fmt: skip

Slope = Any  # what `mercer.selection.hyperparameters.tune` minimises


@dataclass(frozen=True, eq=False)
class Case:
    """Models that share a kernel, and the data."""

    models: Sequence[Any]
    kernel: Kernel
    samples: Samples
    y: Array
    learns: bool = False  # whether the kernel has learned from the samples
    gram: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gram", _spec_of(self.models[0]).build(self.kernel, self.samples))

    @property
    def K(self) -> Floats:
        """The Gram matrix, which must not be changed."""
        held = getattr(self.gram, "array", None)
        return self.gram.to_dense() if held is None else held

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

    Parameters
    ----------
    relearn : bool, default True
        What a kernel that learns from samples (a width "median", document frequencies) does: learn without the sample
        that is left out, for which every model is fitted n times, or, with False, once from all of them, so that errors
        of samples left out are influenced a little by them.

    Notes
    -----
    Exact: support vector classifiers by following what changes when a sample leaves (where no support vector is free,
    the bias is any number of an interval, and it stays as near as it can to where it was), ridge regression, `LSSVR`,
    Gaussian processes and `KernelMeanClassifier` in closed form, ridge regression also with a Gram of low rank and on
    all pairs of some objects. Any other estimator is fitted n times.

    Examples
    --------
    >>> LeaveOneOut()
    LeaveOneOut()
    """

    constraints = {"relearn": Boolean()}

    def __init__(self, *, relearn: bool = True) -> None:
        self.relearn = relearn

    def values(self, case: Case) -> Floats:
        said = self.predictions(case)
        if is_classifier(case.models[0]):
            return np.array([np.mean(one != case.y) for one in said])
        y = np.asarray(case.y, dtype=float)
        return np.mean(np.square(said - y), axis=tuple(range(1, said.ndim)))

    def predictions(self, case: Case) -> Array:
        """Return what each model without a sample says of it, (p, n) or (p, n, k)."""
        model = case.models[0]
        if self.relearn and case.learns:
            return np.array([_by_learning_anew(case, model) for model in case.models])
        if is_margin(model):
            target, codes = Multiclass().read(case.y)
            count, costs = len(target.classes), [model.C for model in case.models]
            margins = importlib.import_module("mercer.selection.margins")
            found = margins.margin_leave_one_out(case.gram, codes, count, costs)
            return np.array([target.classes[margins.votes(values, count)] for values in found])
        if is_a(model, "KernelMeanClassifier") and takes_matrix(model):
            target, codes = Multiclass().read(case.y)
            means = mean_leave_one_out(case.K, codes, len(target.classes))
            return np.array([target.classes[means.argmax(axis=1)]] * len(case.models))
        if _is_smoother(model) or _is_reduced(model):
            Y = np.asarray(case.y, dtype=float).reshape(len(case.y), -1)
            return (Y - _left_out_errors(case, "loo")).reshape(len(case.models), *np.shape(case.y))
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
        if _is_reduced(case.models[0]):
            return np.mean(np.square(_left_out_errors(case, "gcv")), axis=(1, 2))
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
        found = mercer.selection.noise_variance(case.samples, case.y) if self.noise is None else self.noise
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
        module = importlib.import_module("mercer.estimators.processes.process_evidence")
        evidence = module.DenseEvidence(module.Observations.of(S, np.asarray(y, dtype=float)))

        def value(kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, Mapping[str, Floats]]:
            found = evidence(kernel, np.asarray(beside[name]))
            return -found.value, -np.asarray(found.kernel), {name: -np.asarray(np.sum(found.noise))}

        return value, name


class Alignment(Criterion):
    """Kernel-target alignment; nothing is fitted, so that it says nothing about C or the ridge.

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
        return np.full(
            len(case.models), mercer.selection.target_alignment(case.K, case.targets(), centred=self.centred)
        )

    def slope(self, model: Any, S: Samples, y: Array) -> tuple[Slope, str | None] | None:
        if is_classifier(model):
            target, codes = Multiclass().read(y)
            if len(target.classes) == 2:
                y = np.where(codes == 1, 1.0, -1.0)
            else:
                y = (codes[:, None] == np.arange(len(target.classes))).astype(float)
        return mercer.selection.AlignmentCriterion(S, np.asarray(y, dtype=float), self.centred), None


# what estimators are ------------------------------------------------------------------------------------------


def is_margin(model: Any) -> bool:
    """Return whether a model is a support vector classifier whose machines are found along costs."""
    return is_a(model, "SVC") and family_of(model) is not None and model.class_weight is None


def _ridge_name(model: Any) -> str | None:
    """Return the parameter that is the ridge; None if the estimator is not a linear smoother of this form."""
    if is_a(model, "GaussianProcessRegressor") and model.mean is None and not model.normalize_y:
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


def _is_reduced(model: Any) -> bool:
    """Return whether a model is ridge regression on a Gram with a factor, or with the eigenvalues of all pairs."""
    gram = getattr(model, "gram", None)
    return is_a(model, "KernelRidge") and gram is not None and (gram.low_rank or gram.structured) and bool(model.alpha)


def _spec_of(model: Any) -> GramSpec:
    return model.gram if _is_reduced(model) else Dense()


def _left_out_errors(case: Case, which: str) -> Floats:
    """Errors of samples left out, (p, n, k), one by one ("loo") or with all leverages at their mean ("gcv")."""
    if not _is_reduced(case.models[0]):
        spectrum, Y, alphas = _decomposed(case)
        return spectrum.left_out_errors(Y, alphas)
    Y = np.asarray(case.y, dtype=float).reshape(len(case.y), -1)
    alphas, intercept = np.array([float(model.alpha) for model in case.models]), case.models[0]._has_intercept
    if isinstance(case.gram, HasFactor):
        module = importlib.import_module("mercer.estimators.squares.factor_ridge")
        return module.FactorSpectrum.of(case.gram, np.ones(len(Y)), intercept).errors(Y, alphas, which)
    if which == "gcv":
        raise CapabilityError(
            f"GeneralizedCV() was given gram={case.models[0].gram!r}; a dense matrix or a factor is needed. Use "
            "criterion=LeaveOneOut()."
        )
    return Y - mercer.selection.grid_path(case.gram, Y, alphas, intercept=intercept)


def _ridge_slope(model: Any, S: Samples, y: Array, kind: str) -> tuple[Slope, str | None] | None:
    if not is_a(model, "KernelRidge") or _ridge_name(model) != "alpha":
        return None
    Y = np.asarray(y, dtype=float).reshape(len(y), -1)
    border = np.ones((len(Y), 1)) if model._has_intercept else None
    module = importlib.import_module("mercer.estimators.squares.ridge_criterion")
    return module.RidgeCriterion(S, Y, np.ones(len(Y)), border, kind), "alpha"


def _by_learning_anew(case: Case, model: Any) -> Array:
    """Leave one out by brute force, with a kernel that learns from the other samples alone."""
    n, said = len(case.y), []
    for i in range(n):
        rest, one = np.delete(np.arange(n), i), np.array([i])
        said.append(fresh(model).fit(case.samples.take(rest), case.y[rest]).predict(case.samples.take(one))[0])
    return np.array(said)


def _by_refitting(case: Case, model: Any) -> Array:
    """Leave one out by brute force, on rows and columns of K."""
    other = fresh(model, {"kernel": Precomputed()})
    return np.asarray(cross_val_predict(other, case.K, case.y, cv=KFold(len(case.y))))

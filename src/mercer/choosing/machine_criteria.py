"""Criteria of support vector classifiers, computed from their solutions, and theoretical bounds to choose by.

Symbols: K the Gram matrix of all samples, beta the signed coefficients, f = K beta + b, ||w||^2 = beta^T K beta.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer import theory
from mercer.arrays import Array, Floats
from mercer.choosing.criteria import Case, Criterion, Slope, is_margin
from mercer.constraints import Interval, OneOf, Optional
from mercer.domains import Samples
from mercer.estimators import SVC
from mercer.estimators.certificates.certified import best_pac_bayes
from mercer.estimators.certificates.fitted_balls import FAR, Ball
from mercer.selection.bounds.approximate_cv import generalized_approximate_cv, span_bound, span_rule
from mercer.selection.bounds.radius_margin import RadiusMarginCriterion, radius_margin, smallest_ball
from mercer.selection.held_costs import machines_along
from mercer.targets import Multiclass

__all__ = ["GACV", "PACBayes", "RadiusMarginBound", "SpanBound", "SpanRule", "VCBound"]
__public__ = __all__


class _OfMachines(Criterion):
    """A criterion that is computed from the solution of support vector classifiers; of several classes, by pairs."""

    def values(self, case: Case) -> Floats:
        if not is_margin(case.models[0]):
            raise self._refuse(case.models[0], "SVC with the hinge loss and a finite C")
        costs = [float(model.C) for model in case.models]
        sides = case.sides()
        total, count = np.zeros(len(costs)), sum(len(index) for index, _ in sides)
        for index, sign in sides:
            K = case.K if len(sides) == 1 else np.ascontiguousarray(case.K[np.ix_(index, index)])
            shared = self._shared(K)
            machines = machines_along(K, sign, costs, case.models[0].tol)
            for place, (C, beta, _, f) in enumerate(zip(costs, *machines, strict=True)):
                total[place] += self._errors(K, sign, C, beta, f, shared)
        return total / count

    def _shared(self, K: Floats) -> Any:
        """Return what all costs need of the matrix."""
        return None

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats, shared: Any) -> float:
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

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats, shared: Any) -> float:
        return len(sign) * generalized_approximate_cv(np.diagonal(K), beta, sign * f)


class SpanRule(_OfMachines):
    """The share of errors of samples left out by the approximate span: as if no other sample changed its role.

    Seed: [SS] Section 5. The exact number, at more cost, is `LeaveOneOut`.

    Examples
    --------
    >>> SpanRule()
    SpanRule()
    """

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats, shared: Any) -> float:
        end = C * sign
        values = span_rule(K, beta, np.minimum(end, 0.0), np.maximum(end, 0.0), f)
        return float(np.sum(sign * values <= 0.0))


class SpanBound(_OfMachines):
    """The share of samples that a machine without them may get wrong by the span theorem: never below `LeaveOneOut`.

    Seed: [SS] Section 5, the span bound.

    Examples
    --------
    >>> SpanBound()
    SpanBound()
    """

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats, shared: Any) -> float:
        return float(np.sum(span_bound(K, sign, beta, C)))


class VCBound(_OfMachines):
    r"""The VC bound of hyperplanes with the margin that was found: training errors and a confidence term.

    .. math:: R_{emp} + \sqrt{\frac{h (\ln(2n / h) + 1) - \ln(\eta / 4)}{n}}, \qquad
        h \le \min([r^2 \|w\|^2], n) + 1

    Seed: [SS] Sections 3.1.5 and 5, Eqs. (18), (49).

    Parameters
    ----------
    eta : float, default 0.05
        One minus the confidence.

    Notes
    -----
    Margin and ball are read off the sample, so that the number is a criterion, not a bound; r is the radius of the
    smallest ball around the samples. With several classes, the mean over pairs.

    Examples
    --------
    >>> VCBound()
    VCBound(0.05)
    """

    constraints = {"eta": Interval(0.0, 1.0, closed="neither")}

    def __init__(self, eta: float = 0.05) -> None:
        self.eta = eta

    def _shared(self, K: Floats) -> Any:
        return math.sqrt(smallest_ball(K).radius2)

    def _errors(self, K: Floats, sign: Floats, C: float, beta: Floats, f: Floats, shared: Any) -> float:
        norm, n = math.sqrt(max(float(beta @ K @ beta), 0.0)), len(sign)
        wrong = float(np.mean(sign * f <= 0.0))
        return n * float(theory.vc_criterion([wrong], [norm], shared, n, self.eta).bounds[0])


class PACBayes(Criterion):
    """PAC-Bayes bound of the error probability of a support vector classifier, with a prior around zero.

    Seed: none of the five; Langford and Shawe-Taylor (2002).

    Parameters
    ----------
    delta : float, default 0.05
        One minus the confidence.

    Notes
    -----
    It bounds the classifier itself, by twice the Gibbs classifier, and pays for the bias. C is free; the kernel is not:
    ``certificate(candidates=)`` of the model that was chosen pays for the kernels that were tried. With several
    classes, bounds of pairs are added up.

    Examples
    --------
    >>> PACBayes(0.1)
    PACBayes(0.1)
    """

    constraints = {"delta": Interval(0.0, 1.0, closed="neither")}

    def __init__(self, delta: float = 0.05) -> None:
        self.delta = delta

    def values(self, case: Case) -> Floats:
        if not is_margin(case.models[0]):
            raise self._refuse(case.models[0], "SVC with the hinge loss and a finite C")
        costs, sides = [float(model.C) for model in case.models], case.sides()
        out = np.zeros(len(costs))
        for index, sign in sides:
            K = case.K[np.ix_(index, index)]
            for place, (beta, bias, f) in enumerate(
                zip(*machines_along(K, sign, costs, case.models[0].tol), strict=True)
            ):
                margins, diagonal = np.full(len(case.y), FAR), np.zeros(len(case.y))
                margins[index], diagonal[index] = sign * f, np.diagonal(K)
                norm = math.sqrt(max(float(beta @ K @ beta), 0.0))
                ball = Ball(margins, diagonal, norm, abs(float(bias)))
                out[place] += float(best_pac_bayes(ball, self.delta / len(sides)))
        return out


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

r"""The nu-property: nu lies between the share of margin errors and the share of support vectors.

Symbols: rho the margin, w_i sample weights, alpha_i coefficients, W the sum of weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mercer.arguments import checked, real_array
from mercer.constraints import Interval
from mercer.errors import ParameterError
from mercer.targets.target import sample_weights
from mercer.theory.bound import SIZE

__all__ = ["NuProperty", "nu_property"]
__public__ = __all__


class NuProperty(NamedTuple):
    """The nu-property, checked on data.

    Attributes
    ----------
    errors : float
        Margin errors, as a share of the weight.
    nu : float
    support : float
        Support vectors, as a share of the weight.
    holds : bool
        Whether errors <= nu <= support.

    Examples
    --------
    >>> NuProperty(0.1, 0.2, 0.25, True).holds
    True
    """

    errors: float
    nu: float
    support: float
    holds: bool


@checked(nu=Interval(0.0, 1.0), tol=SIZE)
def nu_property(nu: float, margins: Any, coef: Any, sample_weight: Any = None, *, tol: float = 1e-3) -> NuProperty:
    r"""Check on data that nu lies between the shares of margin errors and of support vectors.

    .. math:: \frac1W \sum_{i: y_i f(x_i) < \rho} w_i \;\le\; \nu \;\le\; \frac1W \sum_{i: \alpha_i > 0} w_i

    Seed: [ST] "Dual form of the SVM problem", where sum alpha = 1 and alpha <= 1 / (nu m); [HSS] Eqs. (80), (81) and,
    for novelty detection, (83), (84).

    Parameters
    ----------
    nu : float
    margins : (n,) array
        y_i f(x_i) - rho: zero on the margin, negative for margin errors. For a novelty detector its decision values;
        for `NuSVC` y_i times the decision value, minus 1.
    coef : (n,) array
        Coefficients of all samples; those that are not zero are support vectors.
    sample_weight : (n,) array, optional
    tol : float, default 1e-3
        Samples nearer to the margin than this are on it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassSVM(nu=0.2).fit(X)
    >>> coef = np.zeros(200)
    >>> coef[model.support_] = model.dual_coef_[0]
    >>> nu_property(0.2, model.decision_function(X), coef).holds
    True
    """
    t, alpha = real_array(margins, "margins", 1), real_array(coef, "coef", 1)
    if len(t) != len(alpha):
        raise ParameterError(
            f"{len(t)} margins and {len(alpha)} coefficients were given; there is one of each per sample. Give zero "
            "for samples that are no support vectors."
        )
    w = sample_weights(sample_weight, len(t))
    errors = float(w[t < -tol].sum() / w.sum())
    support = float(w[alpha != 0.0].sum() / w.sum())
    slack = 1e-9
    return NuProperty(errors, float(nu), support, bool(errors <= nu + slack and nu <= support + slack))

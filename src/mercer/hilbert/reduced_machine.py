"""Machines with a reduced set in place of their kernels: the same predictions, nearly, in a fraction of the time."""

from __future__ import annotations

import copy
import math
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.budget import Resources
from mercer.constraints import InstanceOf
from mercer.errors import CapabilityError
from mercer.gram import Expansion
from mercer.hilbert.reduced_set import reduced_set

__all__ = ["reduced_machine"]
__public__ = __all__

Machine = TypeVar("Machine")

# what describes the training samples by their coefficients; it does not hold for points that replace them
_OF_SAMPLES = ("support_", "support_vectors_", "n_support_", "dual_coef_")
_NEEDED = {
    "posterior_": "computes its error bars from all of its samples",
    "relevance_": "computes its error bars from its relevance vectors, which are few already",
    "last_coef_": "goes on learning from its kernels",
    "log_integral_": "is a density, and an approximation of it may be negative",
}


def reduced_machine(
    model: Machine,
    size: int | None = None,
    tol: float | None = None,
    *,
    method: str = "construction",
    sample: Any = None,
    margin: float | None = None,
    max_time: float | None = None,
) -> Machine:
    """Return a copy of a fitted machine whose function is a reduced set: it predicts that much faster.

    Seed: [HSS] Sections 2.3.2 and 3.2.1.

    Parameters
    ----------
    model : fitted estimator
        Whose predictions are made by its `expansion_` alone: support vector machines, ridge regression, least squares
        machines, logistic regression, discriminants and others.
    size, tol, method : optional
        As in `reduced_set`.
    sample : raw data or packed samples, optional
        If given, as the training data, the *decisions* on it are kept rather than the function, and the intercept is
        fitted again; see `reduced_set`.
    margin : float, optional
        Beyond which any value will do; None is 1 for classifiers, and infinite for others, whose values matter.
    max_time : float, optional
        In seconds.

    Returns
    -------
    copy of the model
        With a new `expansion_`, and `reduced_error_`, the distance of the two functions in the space of the kernel.
        What describes the training samples, `support_`, `support_vectors_`, `n_support_` and `dual_coef_`, is absent:
        the points are in ``expansion_.samples``. Probabilities are made by the sigmoids of the model as they are.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SVC
    >>> from mercer.hilbert import reduced_machine
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = SVC(Gaussian(0.5)).fit(X, y)
    >>> small = reduced_machine(model, size=10, sample=X)
    >>> len(small.expansion_.samples), len(model.expansion_.samples) > 70
    (10, True)
    >>> float((small.predict(X) == model.predict(X)).mean()) > 0.98
    True
    """
    InstanceOf(BaseEstimator).check("model", model, "reduced_machine")
    check_is_fitted(model)
    name = type(model).__name__
    f = getattr(model, "expansion_", None)
    if not isinstance(f, Expansion):
        raise CapabilityError(
            f"reduced_machine was given {name}, whose function is of the class {type(f).__name__}; it needs a machine "
            "with a sum of kernels as expansion_. One that is linear in features has no kernels to save."
        )
    for attribute, reason in _NEEDED.items():
        if hasattr(model, attribute):
            raise CapabilityError(
                f"reduced_machine was given {name}, which {reason}; it needs a machine whose predictions are made by "
                "its expansion_ alone. Reduce the function itself: reduced_set(model.expansion_, ...)."
            )
    if margin is None:
        margin = 1.0 if is_classifier(model) else math.inf
    resources = Resources(getattr(model, "memory", None), getattr(model, "n_threads", None))
    options: dict[str, Any] = {"method": method, "sample": sample, "margin": margin, "max_time": max_time}
    found = reduced_set(f, size, tol, **options, resources=resources)
    small: Any = copy.copy(model)
    small.expansion_ = found.expansion
    small.reduced_error_ = found.error
    for attribute in _OF_SAMPLES:
        vars(small).pop(attribute, None)
    change = np.asarray(found.expansion.intercept) - f.intercept
    for attribute, sign in (("intercept_", 1.0), ("offset_", -1.0)):
        if attribute in vars(small) and change.any():
            given = vars(small)[attribute]
            vars(small)[attribute] = given + sign * change.reshape(np.shape(given))
    return small

"""Predictions of samples by models that were fitted without them."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier

import mercer.estimators  # names of packages are imported when they are used
import mercer.gram
import mercer.solvers
from mercer.arguments import checked
from mercer.arrays import Array
from mercer.choosing.criteria import LeaveOneOut
from mercer.choosing.sheets import fresh
from mercer.choosing.task import case_of
from mercer.constraints import Boolean
from mercer.errors import CapabilityError
from mercer.estimators.estimator import KernelEstimator
from mercer.targets import Multiclass, Real

__all__ = ["left_out_predictions"]
__public__ = __all__


@checked(relearn=Boolean())
def left_out_predictions(estimator: Any, X: Any, y: Any, *, relearn: bool = True) -> Array:
    r"""Return what an estimator fitted to all samples but one says of that one, for each sample.

    Seed: [SS] Section 5.1; [KIKS] Section 4.1.1.

    Parameters
    ----------
    estimator : estimator with a kernel
    X : raw data or packed samples
    y : (n,) or (n, k) array
    relearn : bool, default True
        As in `LeaveOneOut`: whether a kernel that learns from samples does so without the one that is left out.

    Returns
    -------
    (n,) or (n, k) array
        Classes or numbers.

    Notes
    -----
    Exact and in closed form where `LeaveOneOut` says so; any other estimator is fitted n times.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelMeanClassifier
    >>> from mercer.kernels import Gaussian
    >>> left_out_predictions(KernelMeanClassifier(Gaussian(1.0)), [[0.0], [1.0], [4.0], [5.0]], list("aabb")).tolist()
    ['a', 'a', 'b', 'b']
    """
    if not isinstance(estimator, KernelEstimator):
        raise CapabilityError(
            f"left_out_predictions was given {estimator!r:.100}; an estimator of mercer's with a kernel is "
            "needed. Use scikit-learn's cross_val_predict with cv=LeaveOneOut()."
        )
    (Multiclass() if is_classifier(estimator) else Real()).read(y)  # which says what is wrong with targets
    ridge = isinstance(estimator, mercer.estimators.KernelRidge) and estimator.alpha is not None
    if ridge and estimator.gram is None and not (relearn and _learns(estimator, X, y)):
        model = fresh(
            estimator, {"leave_one_out": True, "gram": mercer.gram.Dense(), "solver": mercer.solvers.Cholesky()}
        )  # no spectrum is needed
        return model.fit(X, y).loo_predictions_
    estimator._check_parameters()
    return LeaveOneOut(relearn=relearn).predictions(case_of([estimator], X, y))[0]


def _learns(estimator: Any, X: Any, y: Any) -> bool:
    """Return whether the kernel of an estimator learns from samples."""
    S, kernel = estimator._pack(X)
    return kernel.learn(S, y) != kernel

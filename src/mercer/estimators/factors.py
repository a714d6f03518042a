"""A factor of K, for estimators that work in its coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.gram import Gram, HasFactor
from mercer.gram.gram import has_array
from mercer.problems import Solution, Status

__all__ = ["factor_of", "function_of"]

_SMALL = 1e-12  # of the largest eigenvalue of K: directions that are rounding


def factor_of(estimator: Any, K: Gram) -> tuple[Floats, Floats | None]:
    """Return F with K = F F^T, and the matrix that makes coefficients of weights where K is not held by its factor."""
    if isinstance(K, HasFactor):
        return K.factor(), None
    if not has_array(K):
        raise CapabilityError(
            f"{type(estimator).__name__} needs a factor of K; {type(K).__name__} offers none, and does not hold K. Use "
            "gram=Nystrom(500), or gram=Dense() if K fits."
        )
    values, U = np.linalg.eigh(K.array)
    used = values > _SMALL * max(values[-1], 0.0)
    roots = np.sqrt(values[used])
    return U[:, used] * roots, U[:, used] / roots


def function_of(K: Gram, weights: Floats, back: Floats | None, intercept: Any, status: Status) -> Any:
    """Return the function with these weights in the coordinates of the factor."""
    if back is None:
        return K.expand(Solution(weights, status, 0.0, weights=weights), intercept)
    return K.expand(Solution(back @ weights, status, 0.0), intercept)

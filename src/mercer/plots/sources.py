"""What displays read from fitted estimators, and which samples they show when there are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats, Indices
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Expansion
from mercer.kernels import Kernel

__all__ = ["fitted_kernel", "gram_matrix", "samples_of", "some_of"]


def fitted_kernel(estimator: Any) -> Kernel:
    """Return the kernel that an estimator was fitted with, parameters learned from data filled in."""
    check_is_fitted(estimator)
    kernel = getattr(estimator, "kernel_", None)
    if not isinstance(kernel, Kernel):
        raise CapabilityError(
            f"{type(estimator).__name__} has no fitted kernel (attribute kernel_); displays need an estimator of "
            "mercer that has one. Use from_kernel or from_matrix instead."
        )
    return kernel


def samples_of(estimator: Any, X: Any = None) -> Samples:
    """Return packed samples: those given, or those that the fitted function is made of."""
    kernel = fitted_kernel(estimator)
    if X is not None:
        return kernel.pack(X)
    expansion = getattr(estimator, "expansion_", None)
    if not isinstance(expansion, Expansion):
        raise ParameterError(
            f"No X was given, and this {type(estimator).__name__} keeps no samples (it holds its function by "
            "features); samples are needed to compare. Give X."
        )
    return expansion.samples


def some_of(n: int, most: int, random_state: int = 0) -> Indices:
    """Return all of n positions, or as many as allowed, drawn at random and in ascending order.

    Examples
    --------
    >>> some_of(4, 10), len(some_of(1000, 10))
    (array([0, 1, 2, 3]), 10)
    """
    if most < 2:
        raise ParameterError(f"max_samples={most} was given; at least 2 samples must be shown. Raise it.")
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, most, replace=False))


def gram_matrix(kernel: Kernel, S: Samples) -> Floats:
    """Return the Gram matrix of packed samples as float64."""
    return np.asarray(kernel(S), dtype=np.float64)

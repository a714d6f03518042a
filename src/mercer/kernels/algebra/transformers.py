"""Transformers that are fitted to training samples, as other parameters of a kernel are learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer.arrays import Floats
from mercer.domains import Objects
from mercer.errors import CapabilityError, DomainError

__all__ = ["Untransformed", "fitted_to", "unfitted_error", "waits"]


class Untransformed(Objects):
    """Data that wait for their transformer to be fitted."""


def waits(transform: Any) -> bool:
    """Return whether this is a transformer that has to be fitted before it can transform.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> waits(StandardScaler()), waits(StandardScaler().fit([[0.0], [1.0]])), waits(np.log)
    (True, False, False)
    """
    if not (hasattr(transform, "fit") and hasattr(transform, "transform") and hasattr(transform, "get_params")):
        return False
    try:
        check_is_fitted(transform)
    except NotFittedError:
        return True
    except Exception:  # not one of scikit-learn's kind, so it is taken as it is
        return False
    return False


def fitted_to(transform: Any, data: Any, y: Any, weight: Floats | None, owner: Any) -> Any:
    """Return a copy of a transformer, fitted to training data; the one given stays as it is.

    Parameters
    ----------
    transform : transformer of scikit-learn's kind
    data : raw data
    y : targets, optional
    weight : (n,) array, optional
        A sample of weight w counts as w copies.
    owner : Kernel
        Named in messages.
    """
    more = {}
    if weight is not None and not np.all(weight == weight[0]):
        if not has_fit_parameter(transform, "sample_weight"):
            raise CapabilityError(
                f"Samples of different weights were given with {owner!r}, whose {type(transform).__name__} cannot be "
                "fitted to weighted samples. Give a transformer that is fitted already, or no weights."
            )
        more["sample_weight"] = weight
    try:
        copy: Any = clone(transform)
        return copy.fit(data, **more) if y is None else copy.fit(data, y, **more)
    except Exception as error:
        raise DomainError(
            f'{type(transform).__name__} of {owner!r} could not be fitted to the training samples, "'
            f'{type(error).__name__}: {error}"; it is fitted to the data as they are given. Correct the data, or give '
            "another transformer."
        ) from error


def unfitted_error(owner: Any, transform: Any) -> CapabilityError:
    """Return the error for numbers asked of a kernel whose transformer has not been fitted."""
    return CapabilityError(
        f"{owner!r} was asked for numbers, but its {type(transform).__name__} has not been fitted; estimators fit it "
        "to their training samples. Write kernel.learn(X)(X), or fit the transformer before."
    )

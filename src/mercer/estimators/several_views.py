"""Several views of the same samples, as they are given: two tables, or a list of collections of any domain."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mercer.domains import Samples, Vectors
from mercer.errors import ParameterError, TargetError
from mercer.kernels import Kernel

__all__ = ["as_views", "column", "per_view", "reads_other_things", "require_pairs"]


def as_views(estimator: Any, X: Any, Y: Any) -> list[Any]:
    """Return the views as a list; a vector of numbers that is not the first of them becomes one column.

    Examples
    --------
    >>> [np.shape(view) for view in as_views(None, [[1.0], [2.0]], [3.0, 4.0])]
    [(2, 1), (2, 1)]
    """
    if Y is not None:
        return [X, column(Y)]
    if isinstance(X, (list, tuple)) and len(X) > 1 and all(_is_view(one) for one in X):
        return [X[0], *map(column, X[1:])]
    raise TargetError(
        f"{type(estimator).__name__} requires y to be passed, but the target y is None; two views X and Y, or a list "
        "of views are accepted. Write fit(X, Y) or fit([X, Y, Z])."
    )


def _is_view(one: Any) -> bool:
    """Whether this looks like a collection of samples rather than one sample."""
    if isinstance(one, Samples) or hasattr(one, "shape"):
        return True
    return isinstance(one, (list, tuple)) and len(one) > 0 and not isinstance(one[0], numbers.Number)


def column(Y: Any) -> Any:
    """Return a vector of numbers as one column, and anything else as it is.

    Examples
    --------
    >>> column(np.array([1.0, 2.0])).shape, column(["ab", "c"])
    ((2, 1), ['ab', 'c'])
    """
    if isinstance(Y, Samples) or not (isinstance(Y, (list, tuple)) or hasattr(Y, "__array__")):
        return Y
    if isinstance(Y, (list, tuple)) and not (len(Y) and isinstance(Y[0], (numbers.Number, np.generic))):
        return Y
    values = np.asarray(Y)
    return values[:, None] if values.ndim == 1 and values.dtype.kind in "biufO" else Y


def per_view(name: str, given: Any, count: int) -> tuple[Any, ...]:
    """Return one value for each view.

    Examples
    --------
    >>> per_view("tau", 0.5, 2), per_view("tau", (0.1, 0.2), 2)
    ((0.5, 0.5), (0.1, 0.2))
    """
    if not isinstance(given, (tuple, list, np.ndarray)) or np.ndim(given) == 0:
        return (given,) * count
    if len(given) != count:
        raise ParameterError(
            f"{name}={given!r} was given with {count} views; one for all views, or one for each is accepted. "
            f"Give {count} of them."
        )
    return tuple(given)


def reads_other_things(kernel: Any) -> bool:
    """Return whether a kernel compares something other than rows of numbers.

    Examples
    --------
    >>> reads_other_things("precomputed"), reads_other_things("rbf")
    (True, False)
    """
    if isinstance(kernel, Kernel):
        return kernel.domain is not Vectors
    return isinstance(kernel, str) and kernel == "precomputed"


def require_pairs(views: Any) -> None:
    """Raise TargetError unless all views have the same number of samples."""
    sizes = [len(view) for view in views]
    if len(set(sizes)) > 1:
        raise TargetError(
            f"Found input variables with inconsistent numbers of samples: the views have {sizes}; each sample must be "
            "there in every view. Give views of the same length, in the same order."
        )

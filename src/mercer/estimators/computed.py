"""Attributes of fitted models that are computed when they are asked for: what is written into them would be lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Computed", "frozen", "seal_computed", "protect"]

_DESCRIPTIONS = ("coef_", "dual_coef_", "intercept_", "support_vectors_")  # what describes a model's function


class Computed(property):
    """A property whose arrays are read-only."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        value = super().__get__(instance, owner)
        return value if instance is None else frozen(value)


def frozen(value: Any) -> Any:
    """Return an array, or the arrays of a tuple, as read-only views; anything else as it is.

    Examples
    --------
    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    elif sp.issparse(value):
        value = type(value)(value)  # the same entries
        value.data = frozen(value.data)
    elif type(value) is tuple:
        value = tuple(map(frozen, value))
    return value


def seal_computed(estimator: Any) -> None:
    """Make attributes that describe a fitted function read-only: a model predicts with `expansion_`, not with these."""
    state = vars(estimator)
    if "expansion_" in state or hasattr(type(estimator), "expansion_"):
        state.update({name: frozen(state[name]) for name in _DESCRIPTIONS if name in state})


def protect(cls: type) -> None:
    """Make the fitted attributes that a class of mercer, or a class above it, computes read-only."""
    for home in cls.__mro__:
        if home.__module__.partition(".")[0] in ("sklearn", "builtins", "abc"):
            continue
        for name, value in list(vars(home).items()):
            public = name.endswith("_") and not name.startswith("_")
            if public and isinstance(value, property) and not isinstance(value, Computed):
                setattr(home, name, Computed(value.fget, value.fset, value.fdel, value.__doc__))

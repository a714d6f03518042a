"""Some member of a class: an object made without knowing what its arguments mean."""

from __future__ import annotations

import inspect
from typing import Any

from mercer.errors import ParameterError
from mercer.spec import constraints_of

__all__ = ["member"]

_NUMBERS = (2, 1.5)


def member(cls: Any) -> Any:
    """Return some object of a class of kernels, losses, Grams or solvers; None if it is not known how to make one.

    Arguments that must be given are those that the class names in `example`, or numbers that its constraints accept.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Sum, Wendland
    >>> member(Gaussian), member(Wendland), member(Sum)
    (Gaussian(1.0), Wendland(4), None)
    """
    if cls.example is not None:
        return cls(*cls.example)
    arguments = []
    for name, parameter in inspect.signature(cls).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            continue
        value = next((value for value in _NUMBERS if _is_accepted(cls, name, value)), None)
        if value is None:
            return None
        arguments.append(value)
    return cls(*arguments)


def _is_accepted(cls: Any, name: str, value: float) -> bool:
    try:
        constraints_of(cls)[name].check(name, value, cls)
    except (KeyError, ParameterError):
        return False
    return True

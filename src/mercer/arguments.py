"""Arguments of functions: checked before anything is computed, by the constraints that parameters of classes have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, real_numbers
from mercer.constraints import AnyOf, Constraint, InstanceOf, Integer, Optional
from mercer.errors import DomainError, MercerError
from mercer.sparse_checks import sparse_fault

__all__ = [
    "Callback",
    "SEED",
    "answer_of",
    "checked",
    "real_array",
    "require_squares",
    "require_symmetric",
]

_LARGEST = 1e150
_ROUNDING = 1e-8  # of the largest entry, by which entries of a symmetric matrix may differ

P = ParamSpec("P")
R = TypeVar("R")

SEED = Optional(AnyOf(Integer(0, 2**32 - 1), InstanceOf(np.random.RandomState, np.random.Generator)))
"""What random_state may be."""


class Callback(Constraint):
    """Something that can be called."""

    @property
    def accepted(self) -> str:
        return "a function"

    def accepts(self, value: Any) -> bool:
        return callable(value) and not isinstance(value, type)

    def advice(self, name: str, value: Any) -> str:
        return f"Give {name} a function, by its name or as a lambda."


def checked(**constraints: Constraint) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function refuse unacceptable arguments before it does anything.

    Parameters
    ----------
    **constraints : Constraint
        What an argument of that name may be. Defaults are not checked.

    Returns
    -------
    decorator : function

    Examples
    --------
    >>> @checked(count=Integer(1))
    ... def ones(count=3):
    ...     return [1] * count
    >>> ones(2)
    [1, 1]
    >>> ones(count=0)
    Traceback (most recent call last):
    ...
    mercer.errors.ParameterError: ones was given count=0; count must be an integer >= 1. Try count=1.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        assert set(constraints) <= set(signature.parameters), f"{function.__name__} has no such argument"

        @functools.wraps(function)
        def checking(*args: P.args, **kwargs: P.kwargs) -> R:
            given = signature.bind(*args, **kwargs).arguments
            for name, constraint in constraints.items():
                if name in given and given[name] is not signature.parameters[name].default:
                    constraint.check(name, given[name], function.__name__)
            return function(*args, **kwargs)

        return checking

    return decorate


def real_array(value: Any, name: str, ndim: int | tuple[int, ...] = (1, 2)) -> Floats:
    """Return an array of finite real numbers, whatever holds them; raise DomainError if there are others.

    Parameters
    ----------
    value : array-like
    name : str
        What the user calls it.
    ndim : int or tuple of int, default (1, 2)
        How many dimensions it may have.

    Returns
    -------
    array : float64 array

    Examples
    --------
    >>> real_array([[1, 2]], "A")
    array([[1., 2.]])
    """
    allowed = (ndim,) if isinstance(ndim, int) else ndim
    words = " or ".join({0: "one number", 1: "a list of numbers", 2: "a table of numbers"}[d] for d in allowed)
    given = _dense(value, name) if sp.issparse(value) else value
    array = real_numbers("None" if value is None else given, name, DomainError)
    if array.ndim not in allowed or array.size == 0:
        raise DomainError(
            f"{name} has shape {array.shape}; {words} is accepted. Give at least one number, in that shape."
        )
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise DomainError(
            f"{name}{list(place)} = {array[place]} was given; finite numbers are accepted. Remove or replace it."
        )
    return array


def _dense(value: Any, name: str) -> Any:
    if (fault := sparse_fault(value)) is not None:  # converting it would write out of bounds
        raise DomainError(
            f"{name} is a sparse matrix that is damaged: {fault}; a sound one is accepted. Build it again."
        )
    return value.toarray()


def require_squares(values: Floats, name: str) -> None:
    """Raise DomainError unless sums of squares of numbers are finite."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST:
        raise DomainError(
            f"{name} has values up to {largest:.3g}; their squares are too large for floating-point numbers. "
            f"Divide {name} by its standard deviation."
        )


def require_symmetric(matrix: Floats, name: str) -> None:
    """Raise DomainError unless a square matrix is symmetric, up to rounding."""
    gaps = np.abs(0.5 * matrix - 0.5 * matrix.T)
    if gaps.max() > _ROUNDING * np.abs(matrix).max():
        i, j = (int(place) for place in np.unravel_index(int(gaps.argmax()), gaps.shape))
        raise DomainError(
            f"{name} is not symmetric: {name}[{i}, {j}] = {matrix[i, j]:.6g}, {name}[{j}, {i}] = {matrix[j, i]:.6g}; a "
            f"symmetric matrix is accepted. Use ({name} + {name}.T) / 2 if the difference is noise."
        )


def answer_of(
    function: Callable[..., Any], *given: Any, who: Any, takes: str, error: type[MercerError] = DomainError
) -> Any:
    """Return what a user function returns; an error inside is attributed to the function, with its cause.

    Parameters
    ----------
    function : callable
        Written by the user.
    *given : object
        Its arguments.
    who : str or object
        How the function is called in the message, or whose it is.
    takes : str
        What it takes and returns, as a clause after "it takes".
    error : type, default DomainError
        What is raised. Errors of mercer's own, and those that say that time is up, are left as they are.

    Examples
    --------
    >>> answer_of(len, "abc", who="size", takes="a text")
    3
    >>> answer_of(len, 3, who="size", takes="a text")
    Traceback (most recent call last):
    ...
    mercer.errors.DomainError: size failed on int, "TypeError: object of type 'int' has no len()"; it takes a text. \
Correct the function, or give it what it takes.
    """
    try:
        return function(*given)
    except (MercerError, TimeoutError):
        raise
    except Exception as problem:
        subject = who if isinstance(who, str) else f"The function of {who!r}"
        kinds = " and ".join("None" if one is None else type(one).__name__ for one in given)
        raise error(
            f'{subject} failed on {kinds}, "{type(problem).__name__}: {problem}"; it takes {takes}. Correct the '
            "function, or give it what it takes."
        ) from problem

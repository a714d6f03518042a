"""Methods that an estimator has only with some parameters, and a message that says why when it does not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

__all__ = ["offered_if", "require_fitted_with"]


class _Offered:
    """A method that exists if a check of its estimator passes; else AttributeError, with the check's message.

    scikit-learn's ``available_if`` hides that message behind one of its own.
    """

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], Any]) -> None:
        self.method, self.check = method, check
        wrapper: Any = self
        functools.update_wrapper(wrapper, method)

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        self.check(estimator)
        return MethodType(self.method, estimator)


def offered_if(check: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator of methods; `check` raises AttributeError, which says what to do, where there is none."""
    return lambda method: _Offered(method, check)


def require_fitted_with(estimator: Any, what: str, *attributes: str) -> None:
    """Raise NotFittedError unless an estimator is fitted, and was fitted with a parameter as it is now."""
    check_is_fitted(estimator)
    if not all(hasattr(estimator, name) for name in attributes):
        raise NotFittedError(
            f"This {type(estimator).__name__} was fitted before {what} was set, so that what it needs has not been "
            f"learned. Call fit again, with {what}."
        )

"""The errors and warnings of the whole package.

Each message has three parts: what was given, what is accepted, what to do about it. Each error is also the
built-in error that a caller expects (a bad parameter is a ``ValueError``), so ordinary ``except`` clauses
work.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "CapabilityError",
    "CheckpointError",
    "ConvergenceWarning",
    "DegenerateWarning",
    "DomainError",
    "DomainTypeError",
    "IndefiniteWarning",
    "JitterWarning",
    "MemoryBudgetError",
    "TimeBudgetError",
    "MercerError",
    "ModelError",
    "NotPositiveDefinite",
    "ParameterError",
    "TargetError",
    "printable",
    "warn_caller",
]


def printable(text: str, kept: str = "") -> str:
    r"""Return text that is safe on a terminal and on a page: whatever does not print is written as an escape.

    Parameters
    ----------
    text : str
        It may contain names and labels from anywhere.
    kept : str
        Characters that stay, such as line ends.

    Examples
    --------
    >>> printable("a\x1b[31mb"), printable("é")
    ('a\\x1b[31mb', 'é')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


_QUOTED = r"""(b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*")"""
_TEXT = re.compile(rf"\bnp\.(?:str_|bytes_|datetime64)\({_QUOTED}(?:,'\w+')?\)")
_SPAN = re.compile(r"\bnp\.timedelta64\(([^()]*)\)")
_NUMBER = re.compile(r"\bnp\.(?:u?int|float|longdouble|complex)[0-9_]*\(([^()]*|\([^()]*\))\)")
_TRUTH = re.compile(r"\bnp\.(True|False)_")


def _printed(message: str) -> str:
    """Return a message as it is shown: labels and numbers as a person writes them, nothing that controls a terminal."""
    if "np." in message:
        for known in (_TEXT, _SPAN, _NUMBER, _TRUTH):
            message = known.sub(r"\1", message)
    return printable(message, kept="\n\t")


class MercerError(Exception):
    """Any error that mercer itself raises; what it quotes cannot control a terminal."""

    def __str__(self) -> str:
        return _printed(super().__str__())


class ParameterError(MercerError, ValueError):
    """A constructor argument, or a text describing one, is not acceptable."""


class DomainError(MercerError, ValueError):
    """The samples given are not of the kind a kernel compares."""


class DomainTypeError(DomainError, TypeError):
    """The samples given are of a type that no kernel compares."""


class TargetError(MercerError, ValueError):
    """The values to be predicted are not of the kind an estimator learns."""


class CapabilityError(MercerError, TypeError):
    """Two parts do not fit together: one needs what the other does not offer."""


class NotPositiveDefinite(MercerError, np.linalg.LinAlgError):
    """A matrix that must be positive definite is not, even after the jitter allowed."""


class MemoryBudgetError(MercerError, MemoryError):
    """What was asked for would not fit in the memory allowed; nothing was allocated."""


class TimeBudgetError(MercerError, TimeoutError):
    """The time budget ran out before there was a result to return."""


class ModelError(MercerError, ValueError):
    """A file is not a model that can be read: damaged, of another kind, or too new."""


class CheckpointError(MercerError, ValueError):
    """A checkpoint cannot be resumed: it is damaged, or of another fit."""


class JitterWarning(UserWarning):
    """A multiple of the identity was added to a matrix so that it could be factored."""


class IndefiniteWarning(UserWarning):
    """A similarity is not positive definite where the theory asks for it."""


class DegenerateWarning(UserWarning):
    """A limiting case, such as a sample whose self-similarity is zero, was settled by a convention."""


def __getattr__(name: str) -> Any:
    # scikit-learn takes over a second to import and only estimators need its warning:
    # it is looked up on first use, so that kernels alone start quickly.
    if name == "ConvergenceWarning":
        return importlib.import_module("sklearn.exceptions").ConvergenceWarning
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_LIBRARIES = ("mercer", "sklearn", "contextlib")  # through which a fit is called


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's program that led here, however many library calls are in between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES:
        frame, level = frame.f_back, level + 1
    warnings.warn(_printed(message), category, stacklevel=level)

"""From an error to an exit code and one paragraph that says what to do.

0 done, 1 a bug in mercer, 2 wrong usage, 3 bad data, 4 not enough memory, time or disk space, 5 not
converged, 130 interrupted.
"""

from __future__ import annotations

import errno
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mercer
from mercer.errors import (
    CapabilityError,
    CheckpointError,
    MemoryBudgetError,
    MercerError,
    ParameterError,
    TimeBudgetError,
)
from mercer.io.atomic import OverwriteError
from mercer.io.limits import FileError
from mercer.runtime.workers import ClusterError

__all__ = ["Failure", "NotConverged", "UsageFault", "explain"]

INTERNAL, USAGE, DATA, BUDGET, PARTIAL, INTERRUPTED = 1, 2, 3, 4, 5, 130
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotConverged(MercerError):
    """A solver stopped before its tolerance, and this was not allowed."""


class UsageFault(MercerError):
    """The command's options make no sense together; found after they were read."""


@dataclass(frozen=True)
class Failure:
    """What a command says and returns when it fails.

    Attributes
    ----------
    code : int
        The exit code.
    message : str
        One paragraph.
    kind : str
        The class of the error.
    place : dict
        File, line, row, column, where known.
    """

    code: int
    message: str
    kind: str
    place: dict[str, Any]

    @property
    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return {"error": {"code": self.code, "kind": self.kind, "message": self.message, **self.place}}


def explain(error: BaseException, subject: Path | None = None) -> Failure:
    """Explain an error to the user who typed the command.

    Parameters
    ----------
    error : exception
        What was raised.
    subject : Path, optional
        The file that the command works on; named if the error names none.

    Examples
    --------
    >>> explain(ParameterError("alpha=-1 was given; it must be positive. Raise it.")).code
    2
    """
    code = _code(error)
    place: dict[str, Any] = {}
    if isinstance(error, FileError):
        place = {name: getattr(error, name) for name in ("line", "row", "column", "name")}
        place = {"file": str(error.path), **{name: value for name, value in place.items() if value is not None}}
    message = _words(error, code)
    if subject is not None and code in (DATA, BUDGET) and "file" not in place:
        place["file"] = str(subject)
        if str(subject) not in message:
            message = f"{subject}: {message}"
    return Failure(code, message, type(error).__name__, place)


def _code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, NotConverged):
        return PARTIAL
    if isinstance(error, (MemoryBudgetError, TimeBudgetError, MemoryError)):
        return BUDGET
    if isinstance(error, (UsageFault, ParameterError, CapabilityError, OverwriteError, CheckpointError, ClusterError)):
        return USAGE
    if isinstance(error, OSError):
        return BUDGET if error.errno in _FULL else DATA
    return DATA if isinstance(error, MercerError) else INTERNAL


def _words(error: BaseException, code: int) -> str:
    if code == INTERRUPTED:
        return str(error) or "Interrupted; nothing was written."
    if isinstance(error, OSError) and not isinstance(error, MercerError):
        reason = error.strerror or str(error)
        remedy = "Make room on the disk." if code == BUDGET else "Check the name, the folder and its permissions."
        return f"{error.filename or 'A file'}: {reason}. {remedy}"
    if isinstance(error, MemoryError) and not isinstance(error, MercerError):
        return "Memory ran out. Use fewer rows, or an estimator with gram=Tiles() or solver=ConjugateGradient()."
    if code == INTERNAL:
        return (
            f"This is a bug in mercer ({type(error).__name__}: {str(error)[:300]}). Please report it with "
            f"this line: mercer {mercer.__version__}, Python {platform.python_version()}, {platform.system()}. Run the "
            "command again with --debug to see where it happened, and add that and a small data file."
        )
    return str(error)

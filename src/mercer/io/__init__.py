"""Files in and out: tables, sequences, trees, graphs, Gram matrices behind one function, models in one data-only file.

Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.io.checkpoint import Checkpoint
    from mercer.io.datasets import Dataset
    from mercer.io.limits import FileBudgetError, FileError, FileTimeError, Limits
    from mercer.io.readers import FORMATS, detect, read
    from mercer.io.tables import Table

__all__ = [
    "Checkpoint",
    "Dataset",
    "FileBudgetError",
    "FileError",
    "FileTimeError",
    "FORMATS",
    "Limits",
    "Table",
    "detect",
    "read",
]

_HOMES = {
    "Checkpoint": "checkpoint",
    "Dataset": "datasets",
    "FileBudgetError": "limits",
    "FileError": "limits",
    "FileTimeError": "limits",
    "FORMATS": "readers",
    "Limits": "limits",
    "Table": "tables",
    "detect": "readers",
    "read": "readers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"mercer.io.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'mercer.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

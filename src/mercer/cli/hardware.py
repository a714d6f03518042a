"""What the standard library knows about the machine."""

from __future__ import annotations

import importlib
import importlib.util
import sys

__all__ = ["peak_memory"]


def peak_memory() -> int | None:
    """Return the largest number of bytes that this process has held in memory; None where it is not known."""
    if importlib.util.find_spec("resource") is None:  # not a Unix
        return None
    resource = importlib.import_module("resource")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024

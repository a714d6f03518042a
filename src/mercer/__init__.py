"""mercer: kernel-based pattern analysis.

Names are imported when they are first used, so that ``import mercer`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.estimators import KernelMeanClassifier, KernelRidge, ParzenDensity
    from mercer.language import parse

__version__ = "0.1.0.dev0"

__all__ = ["KernelMeanClassifier", "KernelRidge", "ParzenDensity", "parse"]

_HOMES = {
    "KernelMeanClassifier": "mercer.estimators",
    "KernelRidge": "mercer.estimators",
    "ParzenDensity": "mercer.estimators",
    "parse": "mercer.language",
}
_PACKAGES = ("domains", "gram", "kernels", "losses", "selection", "solvers", "testing")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])

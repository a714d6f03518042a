"""mercer: kernel-based pattern analysis.

Names are imported when they are first used, so that ``import mercer`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.estimators import (
        SVC,
        SVDD,
        SVR,
        BoundSVC,
        HuberSVR,
        KernelAdatron,
        KernelMeanClassifier,
        KernelPerceptron,
        KernelRidge,
        LinearProgrammingMachine,
        LinearSVC,
        LinearSVR,
        NuSVC,
        NuSVR,
        OneClassSVM,
        ParzenDensity,
        QuantileSVR,
        RelativeMarginMachine,
        enclosing_ball,
    )
    from mercer.io.interop import from_libsvm, from_sklearn
    from mercer.io.model import load, save
    from mercer.language import parse
    from mercer.reports import report

__version__ = "0.1.0.dev0"

__all__ = [
    "BoundSVC",
    "HuberSVR",
    "KernelAdatron",
    "KernelMeanClassifier",
    "KernelPerceptron",
    "KernelRidge",
    "LinearProgrammingMachine",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParzenDensity",
    "QuantileSVR",
    "RelativeMarginMachine",
    "SVC",
    "SVDD",
    "SVR",
    "enclosing_ball",
    "from_libsvm",
    "from_sklearn",
    "load",
    "parse",
    "report",
    "save",
]

_HOMES = {
    "BoundSVC": "mercer.estimators",
    "HuberSVR": "mercer.estimators",
    "KernelAdatron": "mercer.estimators",
    "KernelMeanClassifier": "mercer.estimators",
    "KernelPerceptron": "mercer.estimators",
    "KernelRidge": "mercer.estimators",
    "LinearProgrammingMachine": "mercer.estimators",
    "LinearSVC": "mercer.estimators",
    "LinearSVR": "mercer.estimators",
    "NuSVC": "mercer.estimators",
    "NuSVR": "mercer.estimators",
    "OneClassSVM": "mercer.estimators",
    "ParzenDensity": "mercer.estimators",
    "QuantileSVR": "mercer.estimators",
    "RelativeMarginMachine": "mercer.estimators",
    "SVC": "mercer.estimators",
    "SVDD": "mercer.estimators",
    "SVR": "mercer.estimators",
    "enclosing_ball": "mercer.estimators",
    "from_libsvm": "mercer.io.interop",
    "from_sklearn": "mercer.io.interop",
    "load": "mercer.io.model",
    "parse": "mercer.language",
    "report": "mercer.reports",
    "save": "mercer.io.model",
}
_PACKAGES = ("domains", "gram", "io", "kernels", "losses", "plots", "selection", "solvers", "testing")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])

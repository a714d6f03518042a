"""mercer: kernel-based pattern analysis.

Names are imported when they are first used, so that ``import mercer`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.estimators import (
        LSSVC,
        LSSVR,
        SVC,
        SVDD,
        SVR,
        BayesianLinearRegression,
        BoundSVC,
        GaussianProcessClassifier,
        GaussianProcessMixture,
        GaussianProcessRegressor,
        GraphicalStructure,
        GroupLasso,
        HuberSVR,
        KernelAdatron,
        KernelFisherDiscriminant,
        KernelGLM,
        KernelLasso,
        KernelLogisticRegression,
        KernelMachine,
        KernelMachineClassifier,
        KernelMeanClassifier,
        KernelPCR,
        KernelPerceptron,
        KernelPLS,
        KernelRidge,
        KernelRidgeCV,
        Lasso,
        LinearProgrammingMachine,
        LinearSVC,
        LinearSVR,
        NuSVC,
        NuSVR,
        OneClassSVM,
        ParzenDensity,
        QuantileSVR,
        RelativeMarginMachine,
        RelevanceVectorClassifier,
        RelevanceVectorRegressor,
        SemiparametricLatentFactor,
        SmoothingSpline,
        SparseGaussianProcessRegressor,
        enclosing_ball,
        kernel_path,
        lasso_path,
        sample_prior,
    )
    from mercer.io.interop import from_libsvm, from_sklearn
    from mercer.io.model import load, save
    from mercer.language import parse
    from mercer.reports import report

__version__ = "0.1.0.dev0"

__all__ = [
    "SparseGaussianProcessRegressor",
    "SmoothingSpline",
    "SemiparametricLatentFactor",
    "RelevanceVectorRegressor",
    "RelevanceVectorClassifier",
    "Lasso",
    "LSSVR",
    "LSSVC",
    "KernelRidgeCV",
    "KernelPLS",
    "KernelPCR",
    "KernelMachine",
    "KernelMachineClassifier",
    "KernelLogisticRegression",
    "KernelLasso",
    "KernelGLM",
    "KernelFisherDiscriminant",
    "GroupLasso",
    "GraphicalStructure",
    "GaussianProcessRegressor",
    "GaussianProcessMixture",
    "GaussianProcessClassifier",
    "BayesianLinearRegression",
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
    "kernel_path",
    "lasso_path",
    "sample_prior",
    "from_libsvm",
    "from_sklearn",
    "load",
    "parse",
    "report",
    "save",
]

_HOMES = {
    "BayesianLinearRegression": "mercer.estimators",
    "BoundSVC": "mercer.estimators",
    "GaussianProcessClassifier": "mercer.estimators",
    "GaussianProcessMixture": "mercer.estimators",
    "GaussianProcessRegressor": "mercer.estimators",
    "GraphicalStructure": "mercer.estimators",
    "GroupLasso": "mercer.estimators",
    "HuberSVR": "mercer.estimators",
    "KernelAdatron": "mercer.estimators",
    "KernelFisherDiscriminant": "mercer.estimators",
    "KernelGLM": "mercer.estimators",
    "KernelLasso": "mercer.estimators",
    "KernelLogisticRegression": "mercer.estimators",
    "KernelMachine": "mercer.estimators",
    "KernelMachineClassifier": "mercer.estimators",
    "KernelMeanClassifier": "mercer.estimators",
    "KernelPCR": "mercer.estimators",
    "KernelPLS": "mercer.estimators",
    "KernelPerceptron": "mercer.estimators",
    "KernelRidge": "mercer.estimators",
    "KernelRidgeCV": "mercer.estimators",
    "LSSVC": "mercer.estimators",
    "LSSVR": "mercer.estimators",
    "Lasso": "mercer.estimators",
    "LinearProgrammingMachine": "mercer.estimators",
    "LinearSVC": "mercer.estimators",
    "LinearSVR": "mercer.estimators",
    "NuSVC": "mercer.estimators",
    "NuSVR": "mercer.estimators",
    "OneClassSVM": "mercer.estimators",
    "ParzenDensity": "mercer.estimators",
    "QuantileSVR": "mercer.estimators",
    "RelativeMarginMachine": "mercer.estimators",
    "RelevanceVectorClassifier": "mercer.estimators",
    "RelevanceVectorRegressor": "mercer.estimators",
    "SVC": "mercer.estimators",
    "SVDD": "mercer.estimators",
    "SVR": "mercer.estimators",
    "SemiparametricLatentFactor": "mercer.estimators",
    "SmoothingSpline": "mercer.estimators",
    "SparseGaussianProcessRegressor": "mercer.estimators",
    "enclosing_ball": "mercer.estimators",
    "kernel_path": "mercer.estimators",
    "lasso_path": "mercer.estimators",
    "sample_prior": "mercer.estimators",
    "from_libsvm": "mercer.io.interop",
    "from_sklearn": "mercer.io.interop",
    "load": "mercer.io.model",
    "parse": "mercer.language",
    "report": "mercer.reports",
    "save": "mercer.io.model",
}
_PACKAGES = ("domains", "gram", "hilbert", "io", "kernels", "losses", "plots", "selection", "solvers", "testing")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])

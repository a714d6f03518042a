"""What scikit-learn users import."""

from mercer.estimators.adatron import KernelAdatron
from mercer.estimators.density import ParzenDensity
from mercer.estimators.linear import LinearSVC, LinearSVR
from mercer.estimators.linear_programming import LinearProgrammingMachine
from mercer.estimators.mean import KernelMeanClassifier
from mercer.estimators.novelty import SVDD, OneClassSVM, enclosing_ball
from mercer.estimators.online import KernelPerceptron
from mercer.estimators.relative_margin import RelativeMarginMachine
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.svc import SVC, BoundSVC, NuSVC
from mercer.estimators.svr import SVR, HuberSVR, NuSVR, QuantileSVR

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
    "enclosing_ball",
    "SVC",
    "SVDD",
    "SVR",
]

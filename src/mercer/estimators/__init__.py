"""What scikit-learn users import."""

from mercer.estimators.density import ParzenDensity
from mercer.estimators.mean import KernelMeanClassifier
from mercer.estimators.ridge import KernelRidge

__all__ = ["KernelMeanClassifier", "KernelRidge", "ParzenDensity"]

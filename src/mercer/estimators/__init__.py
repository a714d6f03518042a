"""What scikit-learn users import."""

from mercer.estimators.adatron import KernelAdatron
from mercer.estimators.bayesian_linear import BayesianLinearRegression
from mercer.estimators.component_regression import KernelPCR
from mercer.estimators.density import ParzenDensity
from mercer.estimators.fisher import KernelFisherDiscriminant
from mercer.estimators.gaussian_process import GaussianProcessRegressor
from mercer.estimators.glm import KernelGLM
from mercer.estimators.group_lasso import GroupLasso
from mercer.estimators.kernel_lasso import KernelLasso, KernelPath, kernel_path
from mercer.estimators.kernel_machine import KernelMachine, KernelMachineClassifier
from mercer.estimators.lasso import Lasso, LassoPath, lasso_path
from mercer.estimators.latent_factor import SemiparametricLatentFactor
from mercer.estimators.least_squares_classifier import LSSVC
from mercer.estimators.least_squares_svm import LSSVR
from mercer.estimators.linear import LinearSVC, LinearSVR
from mercer.estimators.linear_programming import LinearProgrammingMachine
from mercer.estimators.logistic import KernelLogisticRegression
from mercer.estimators.mean import KernelMeanClassifier
from mercer.estimators.novelty import SVDD, OneClassSVM, enclosing_ball
from mercer.estimators.online import KernelPerceptron
from mercer.estimators.pls import KernelPLS
from mercer.estimators.posterior import sample_prior
from mercer.estimators.process_classifier import GaussianProcessClassifier
from mercer.estimators.process_mixture import GaussianProcessMixture
from mercer.estimators.relative_margin import RelativeMarginMachine
from mercer.estimators.relevance import RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.ridge_cv import KernelRidgeCV
from mercer.estimators.smoothing_spline import SmoothingSpline
from mercer.estimators.sparse_process import SparseGaussianProcessRegressor
from mercer.estimators.structure import GraphicalStructure
from mercer.estimators.svc import SVC, BoundSVC, NuSVC
from mercer.estimators.svr import SVR, HuberSVR, NuSVR, QuantileSVR

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
    "enclosing_ball",
    "kernel_path",
    "lasso_path",
    "sample_prior",
    "KernelPath",
    "LassoPath",
    "SVC",
    "SVDD",
    "SVR",
]

"""What scikit-learn users import."""

from mercer.estimators.adatron import KernelAdatron
from mercer.estimators.bayesian_linear import BayesianLinearRegression
from mercer.estimators.change_points import (
    ChangeScores,
    ChangeTest,
    change_point_test,
    krylov_scan,
    mmd_scan,
    series_windows,
)
from mercer.estimators.component_regression import KernelPCR
from mercer.estimators.contrasts import KernelFeatureAnalysis, KernelProjectionPursuit
from mercer.estimators.correlation import CCA, LeastSquaresCCA
from mercer.estimators.cuts import normalized_cut
from mercer.estimators.density import ParzenDensity
from mercer.estimators.dependence_selection import DependenceSelector
from mercer.estimators.dimension_reduction import KernelDimensionReduction
from mercer.estimators.fisher import KernelFisherDiscriminant
from mercer.estimators.gaussian_process import GaussianProcessRegressor
from mercer.estimators.glm import KernelGLM
from mercer.estimators.gram_schmidt import KernelGramSchmidt
from mercer.estimators.group_lasso import GroupLasso
from mercer.estimators.ica import KernelICA, amari_error
from mercer.estimators.invariant_components import InvariantComponents
from mercer.estimators.kernel_cca import KernelCCA, retrieval_ranks
from mercer.estimators.kernel_features import KernelFeatures
from mercer.estimators.kernel_lasso import KernelLasso, KernelPath, kernel_path
from mercer.estimators.kernel_machine import KernelMachine, KernelMachineClassifier
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.kmeans import KernelKMeans
from mercer.estimators.lasso import Lasso, LassoPath, lasso_path
from mercer.estimators.latent_factor import SemiparametricLatentFactor
from mercer.estimators.least_squares_classifier import LSSVC
from mercer.estimators.least_squares_svm import LSSVR
from mercer.estimators.linear import LinearSVC, LinearSVR
from mercer.estimators.linear_programming import LinearProgrammingMachine
from mercer.estimators.locality import KernelLPP, LocalityPreservingProjection
from mercer.estimators.logistic import KernelLogisticRegression
from mercer.estimators.manifolds import DiffusionMap, LaplacianEigenmap
from mercer.estimators.mean import KernelMeanClassifier
from mercer.estimators.mean_matching import MeanMatching, mean_matching
from mercer.estimators.novelty import SVDD, OneClassSVM, enclosing_ball
from mercer.estimators.online import KernelPerceptron
from mercer.estimators.pls import KernelPLS
from mercer.estimators.posterior import sample_prior
from mercer.estimators.preimages import DistanceScaling, FixedPoint, Gradient, RidgeMap, preimage
from mercer.estimators.process_classifier import GaussianProcessClassifier
from mercer.estimators.process_mixture import GaussianProcessMixture
from mercer.estimators.reference_map import ReferencePointMap
from mercer.estimators.relative_margin import RelativeMarginMachine
from mercer.estimators.relevance import RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.ridge_cv import KernelRidgeCV
from mercer.estimators.smoothing_spline import SmoothingSpline
from mercer.estimators.sparse_process import SparseGaussianProcessRegressor
from mercer.estimators.spectral_clustering import SpectralClustering
from mercer.estimators.structure import GraphicalStructure
from mercer.estimators.svc import SVC, BoundSVC, NuSVC
from mercer.estimators.svr import SVR, HuberSVR, NuSVR, QuantileSVR
from mercer.estimators.unfolding import hessian_kernel, isomap_kernel, locally_linear_kernel, unfolding_kernel

__all__ = [
    "BayesianLinearRegression",
    "BoundSVC",
    "CCA",
    "ChangeScores",
    "ChangeTest",
    "DependenceSelector",
    "DiffusionMap",
    "DistanceScaling",
    "FixedPoint",
    "GaussianProcessClassifier",
    "GaussianProcessMixture",
    "GaussianProcessRegressor",
    "Gradient",
    "GraphicalStructure",
    "GroupLasso",
    "HuberSVR",
    "InvariantComponents",
    "KernelAdatron",
    "KernelCCA",
    "KernelDimensionReduction",
    "KernelFeatureAnalysis",
    "KernelFeatures",
    "KernelFisherDiscriminant",
    "KernelGLM",
    "KernelGramSchmidt",
    "KernelICA",
    "KernelKMeans",
    "KernelLPP",
    "KernelLasso",
    "KernelLogisticRegression",
    "KernelMachine",
    "KernelMachineClassifier",
    "KernelMeanClassifier",
    "KernelPCA",
    "KernelPCR",
    "KernelPLS",
    "KernelPath",
    "KernelPerceptron",
    "KernelProjectionPursuit",
    "KernelRidge",
    "KernelRidgeCV",
    "LSSVC",
    "LSSVR",
    "LaplacianEigenmap",
    "Lasso",
    "LassoPath",
    "LeastSquaresCCA",
    "LinearProgrammingMachine",
    "LinearSVC",
    "LinearSVR",
    "LocalityPreservingProjection",
    "MeanMatching",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParzenDensity",
    "QuantileSVR",
    "ReferencePointMap",
    "RelativeMarginMachine",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "RidgeMap",
    "SVC",
    "SVDD",
    "SVR",
    "SemiparametricLatentFactor",
    "SmoothingSpline",
    "SparseGaussianProcessRegressor",
    "SpectralClustering",
    "amari_error",
    "change_point_test",
    "enclosing_ball",
    "hessian_kernel",
    "isomap_kernel",
    "kernel_path",
    "krylov_scan",
    "lasso_path",
    "locally_linear_kernel",
    "mean_matching",
    "mmd_scan",
    "normalized_cut",
    "preimage",
    "retrieval_ranks",
    "sample_prior",
    "series_windows",
    "unfolding_kernel",
]

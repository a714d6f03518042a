"""What scikit-learn users import."""

from mercer.estimators.clustering.cuts import normalized_cut
from mercer.estimators.clustering.kmeans import KernelKMeans
from mercer.estimators.clustering.spectral_clustering import SpectralClustering
from mercer.estimators.dependence.change_points import (
    ChangeScores,
    ChangeTest,
    change_point_test,
    krylov_scan,
    mmd_scan,
    series_windows,
)
from mercer.estimators.dependence.density import ParzenDensity
from mercer.estimators.dependence.dependence_selection import DependenceSelector
from mercer.estimators.dependence.dimension_reduction import KernelDimensionReduction
from mercer.estimators.dependence.ica import KernelICA, amari_error
from mercer.estimators.dependence.mean_matching import MeanMatching, mean_matching
from mercer.estimators.geometry.contrasts import KernelFeatureAnalysis, KernelProjectionPursuit
from mercer.estimators.geometry.correlation import CCA, LeastSquaresCCA
from mercer.estimators.geometry.gram_schmidt import KernelGramSchmidt
from mercer.estimators.geometry.invariant_components import InvariantComponents
from mercer.estimators.geometry.kernel_cca import KernelCCA, retrieval_ranks
from mercer.estimators.geometry.kernel_features import KernelFeatures
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.estimators.geometry.locality import KernelLPP, LocalityPreservingProjection
from mercer.estimators.geometry.manifolds import DiffusionMap, LaplacianEigenmap
from mercer.estimators.geometry.preimages import DistanceScaling, FixedPoint, Gradient, RidgeMap, preimage
from mercer.estimators.geometry.reference_map import ReferencePointMap
from mercer.estimators.geometry.unfolding import hessian_kernel, isomap_kernel, locally_linear_kernel, unfolding_kernel
from mercer.estimators.mean import KernelMeanClassifier
from mercer.estimators.online import KernelPerceptron
from mercer.estimators.processes.bayesian_linear import BayesianLinearRegression
from mercer.estimators.processes.gaussian_process import GaussianProcessRegressor
from mercer.estimators.processes.latent_factor import SemiparametricLatentFactor
from mercer.estimators.processes.posterior import sample_prior
from mercer.estimators.processes.process_classifier import GaussianProcessClassifier
from mercer.estimators.processes.process_mixture import GaussianProcessMixture
from mercer.estimators.processes.sparse_process import SparseGaussianProcessRegressor
from mercer.estimators.sparse.group_lasso import GroupLasso
from mercer.estimators.sparse.kernel_lasso import KernelLasso, KernelPath, kernel_path
from mercer.estimators.sparse.lasso import Lasso, LassoPath, lasso_path
from mercer.estimators.sparse.relevance import RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.estimators.sparse.structure import GraphicalStructure
from mercer.estimators.squares.component_regression import KernelPCR
from mercer.estimators.squares.fisher_discriminant import KernelFisherDiscriminant
from mercer.estimators.squares.glm import KernelGLM
from mercer.estimators.squares.kernel_machine import KernelMachine, KernelMachineClassifier
from mercer.estimators.squares.least_squares_classifier import LSSVC
from mercer.estimators.squares.least_squares_svm import LSSVR
from mercer.estimators.squares.logistic import KernelLogisticRegression
from mercer.estimators.squares.pls import KernelPLS
from mercer.estimators.squares.ridge import KernelRidge
from mercer.estimators.squares.ridge_cv import KernelRidgeCV
from mercer.estimators.squares.smoothing_spline import SmoothingSpline
from mercer.estimators.svm.adatron import KernelAdatron
from mercer.estimators.svm.linear import LinearSVC, LinearSVR
from mercer.estimators.svm.linear_programming import LinearProgrammingMachine
from mercer.estimators.svm.novelty import SVDD, OneClassSVM, enclosing_ball
from mercer.estimators.svm.relative_margin import RelativeMarginMachine
from mercer.estimators.svm.svc import SVC, BoundSVC, NuSVC
from mercer.estimators.svm.svr import SVR, HuberSVR, NuSVR, QuantileSVR

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

# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.catalogue import all_estimators as all_estimators
from mercer.catalogue import all_kernels as all_kernels
from mercer.choosing.search import search as search
from mercer.estimators.boosting.adaboost import AdaBoostClassifier as AdaBoostClassifier
from mercer.estimators.boosting.lp_boost import LPBoostClassifier as LPBoostClassifier
from mercer.estimators.boosting.lp_boost import LPBoostRegressor as LPBoostRegressor
from mercer.estimators.boosting.weak_learners import KernelBalls as KernelBalls
from mercer.estimators.boosting.weak_learners import KernelStumps as KernelStumps
from mercer.estimators.boosting.weak_learners import Stumps as Stumps
from mercer.estimators.clustering.cuts import normalized_cut as normalized_cut
from mercer.estimators.clustering.kmeans import KernelKMeans as KernelKMeans
from mercer.estimators.clustering.spectral_clustering import SpectralClustering as SpectralClustering
from mercer.estimators.dependence.change_points import ChangeScores as ChangeScores
from mercer.estimators.dependence.change_points import ChangeTest as ChangeTest
from mercer.estimators.dependence.change_points import change_point_test as change_point_test
from mercer.estimators.dependence.change_points import krylov_scan as krylov_scan
from mercer.estimators.dependence.change_points import mmd_scan as mmd_scan
from mercer.estimators.dependence.change_points import series_windows as series_windows
from mercer.estimators.dependence.density import ParzenDensity as ParzenDensity
from mercer.estimators.dependence.dependence_selection import DependenceSelector as DependenceSelector
from mercer.estimators.dependence.dimension_reduction import KernelDimensionReduction as KernelDimensionReduction
from mercer.estimators.dependence.exponential_density import ExponentialDensity as ExponentialDensity
from mercer.estimators.dependence.ica import KernelICA as KernelICA
from mercer.estimators.dependence.ica import amari_error as amari_error
from mercer.estimators.dependence.mean_matching import MeanMatching as MeanMatching
from mercer.estimators.dependence.mean_matching import mean_matching as mean_matching
from mercer.estimators.geometry.contrasts import KernelFeatureAnalysis as KernelFeatureAnalysis
from mercer.estimators.geometry.contrasts import KernelProjectionPursuit as KernelProjectionPursuit
from mercer.estimators.geometry.correlation import CCA as CCA
from mercer.estimators.geometry.correlation import LeastSquaresCCA as LeastSquaresCCA
from mercer.estimators.geometry.gram_schmidt import KernelGramSchmidt as KernelGramSchmidt
from mercer.estimators.geometry.invariant_components import InvariantComponents as InvariantComponents
from mercer.estimators.geometry.kernel_cca import KernelCCA as KernelCCA
from mercer.estimators.geometry.kernel_features import KernelFeatures as KernelFeatures
from mercer.estimators.geometry.kernel_pca import KernelPCA as KernelPCA
from mercer.estimators.geometry.locality import KernelLPP as KernelLPP
from mercer.estimators.geometry.locality import LocalityPreservingProjection as LocalityPreservingProjection
from mercer.estimators.geometry.manifolds import DiffusionMap as DiffusionMap
from mercer.estimators.geometry.manifolds import LaplacianEigenmap as LaplacianEigenmap
from mercer.estimators.geometry.reference_map import ReferencePointMap as ReferencePointMap
from mercer.estimators.geometry.retrieval import retrieval_ranks as retrieval_ranks
from mercer.estimators.geometry.unfolding import hessian_kernel as hessian_kernel
from mercer.estimators.geometry.unfolding import isomap_kernel as isomap_kernel
from mercer.estimators.geometry.unfolding import locally_linear_kernel as locally_linear_kernel
from mercer.estimators.geometry.variance_unfolding import unfolding_kernel as unfolding_kernel
from mercer.estimators.mean import KernelMeanClassifier as KernelMeanClassifier
from mercer.estimators.mixtures.definite_mixture import Transduction as Transduction
from mercer.estimators.mixtures.definite_mixture import definite_mixture as definite_mixture
from mercer.estimators.mixtures.infinite_family import InfiniteFamily as InfiniteFamily
from mercer.estimators.mixtures.infinite_family import infinite_family as infinite_family
from mercer.estimators.mixtures.multiple_classifier import MultipleKernelClassifier as MultipleKernelClassifier
from mercer.estimators.mixtures.multiple_detector import MultipleKernelDetector as MultipleKernelDetector
from mercer.estimators.mixtures.multiple_regressor import MultipleKernelRegressor as MultipleKernelRegressor
from mercer.estimators.mixtures.nonlinear_family import nonlinear_family as nonlinear_family
from mercer.estimators.mixtures.weight_path import WeightPath as WeightPath
from mercer.estimators.mixtures.weight_path import weight_path as weight_path
from mercer.estimators.online import KernelPerceptron as KernelPerceptron
from mercer.estimators.processes.bayesian_linear import BayesianLinearRegression as BayesianLinearRegression
from mercer.estimators.processes.gaussian_process import GaussianProcessRegressor as GaussianProcessRegressor
from mercer.estimators.processes.latent_factor import SemiparametricLatentFactor as SemiparametricLatentFactor
from mercer.estimators.processes.posterior import sample_prior as sample_prior
from mercer.estimators.processes.process_classifier import GaussianProcessClassifier as GaussianProcessClassifier
from mercer.estimators.processes.process_mixture import GaussianProcessMixture as GaussianProcessMixture
from mercer.estimators.processes.sparse_process import SparseGaussianProcessRegressor as SparseGaussianProcessRegressor
from mercer.estimators.semi.label_propagation import LabelPropagation as LabelPropagation
from mercer.estimators.semi.laplacian import LaplacianRidge as LaplacianRidge
from mercer.estimators.semi.laplacian import LaplacianSVC as LaplacianSVC
from mercer.estimators.semi.link_propagation import LinkPropagation as LinkPropagation
from mercer.estimators.semi.sparse_laplacian import SparseLaplacianRegressor as SparseLaplacianRegressor
from mercer.estimators.semi.transductive_squares import TransductiveLSSVC as TransductiveLSSVC
from mercer.estimators.semi.transductive_squares import TransductiveRidge as TransductiveRidge
from mercer.estimators.semi.transductive_svm import TransductiveSVC as TransductiveSVC
from mercer.estimators.sparse.group_lasso import GroupLasso as GroupLasso
from mercer.estimators.sparse.kernel_lasso import KernelLasso as KernelLasso
from mercer.estimators.sparse.kernel_lasso import KernelPath as KernelPath
from mercer.estimators.sparse.kernel_lasso import kernel_path as kernel_path
from mercer.estimators.sparse.lasso import Lasso as Lasso
from mercer.estimators.sparse.lasso import LassoPath as LassoPath
from mercer.estimators.sparse.lasso import lasso_path as lasso_path
from mercer.estimators.sparse.relevance import RelevanceVectorClassifier as RelevanceVectorClassifier
from mercer.estimators.sparse.relevance import RelevanceVectorRegressor as RelevanceVectorRegressor
from mercer.estimators.sparse.structure import GraphicalStructure as GraphicalStructure
from mercer.estimators.squares.component_regression import KernelPCR as KernelPCR
from mercer.estimators.squares.dependency_estimation import KernelDependencyEstimation as KernelDependencyEstimation
from mercer.estimators.squares.fisher_discriminant import KernelFisherDiscriminant as KernelFisherDiscriminant
from mercer.estimators.squares.glm import KernelGLM as KernelGLM
from mercer.estimators.squares.kernel_machine import KernelMachine as KernelMachine
from mercer.estimators.squares.kernel_machine import KernelMachineClassifier as KernelMachineClassifier
from mercer.estimators.squares.least_squares_classifier import LSSVC as LSSVC
from mercer.estimators.squares.least_squares_svm import LSSVR as LSSVR
from mercer.estimators.squares.logistic import KernelLogisticRegression as KernelLogisticRegression
from mercer.estimators.squares.pls import KernelPLS as KernelPLS
from mercer.estimators.squares.ridge import KernelRidge as KernelRidge
from mercer.estimators.squares.ridge_cv import KernelRidgeCV as KernelRidgeCV
from mercer.estimators.squares.smoothing_spline import SmoothingSpline as SmoothingSpline
from mercer.estimators.structured.class_hierarchy import ClassHierarchy as ClassHierarchy
from mercer.estimators.structured.class_spaces import ClassLabels as ClassLabels
from mercer.estimators.structured.class_spaces import OrderedClasses as OrderedClasses
from mercer.estimators.structured.joint_labels import JointLabels as JointLabels
from mercer.estimators.structured.joint_labels import JointRanking as JointRanking
from mercer.estimators.structured.kernel_crf import KernelCRF as KernelCRF
from mercer.estimators.structured.label_sequences import LabelSequences as LabelSequences
from mercer.estimators.structured.label_sets import LabelSets as LabelSets
from mercer.estimators.structured.label_sets import Rankings as Rankings
from mercer.estimators.structured.multilabel_svc import MultilabelSVC as MultilabelSVC
from mercer.estimators.structured.network_labels import NetworkLabels as NetworkLabels
from mercer.estimators.structured.network_labels import grid_edges as grid_edges
from mercer.estimators.structured.ordinal_svc import OrdinalSVC as OrdinalSVC
from mercer.estimators.structured.output_space import FiniteSpace as FiniteSpace
from mercer.estimators.structured.output_space import OutputSpace as OutputSpace
from mercer.estimators.structured.parse_trees import ParseTrees as ParseTrees
from mercer.estimators.structured.rank_svm import RankSVM as RankSVM
from mercer.estimators.structured.sequence_process import GaussianProcessSequenceClassifier as GaussianProcessSequenceClassifier
from mercer.estimators.structured.structured_perceptron import StructuredPerceptron as StructuredPerceptron
from mercer.estimators.structured.structured_svc import StructuredSVC as StructuredSVC
from mercer.estimators.svm.adatron import KernelAdatron as KernelAdatron
from mercer.estimators.svm.linear import LinearSVC as LinearSVC
from mercer.estimators.svm.linear import LinearSVR as LinearSVR
from mercer.estimators.svm.linear_programming import LinearProgrammingMachine as LinearProgrammingMachine
from mercer.estimators.svm.novelty import OneClassSVM as OneClassSVM
from mercer.estimators.svm.novelty import SVDD as SVDD
from mercer.estimators.svm.novelty import enclosing_ball as enclosing_ball
from mercer.estimators.svm.quantile_svr import QuantileSVR as QuantileSVR
from mercer.estimators.svm.relative_margin import RelativeMarginMachine as RelativeMarginMachine
from mercer.estimators.svm.svc import MarginBoundSVC as MarginBoundSVC
from mercer.estimators.svm.svc import NuSVC as NuSVC
from mercer.estimators.svm.svc import SVC as SVC
from mercer.estimators.svm.svr import HuberSVR as HuberSVR
from mercer.estimators.svm.svr import NuSVR as NuSVR
from mercer.estimators.svm.svr import SVR as SVR
from mercer.estimators.tasks.nuclear_norm import NuclearNormClassifier as NuclearNormClassifier
from mercer.estimators.tasks.nuclear_norm import NuclearNormRegressor as NuclearNormRegressor
from mercer.estimators.tasks.task_machines import MultiTaskSVC as MultiTaskSVC
from mercer.estimators.tasks.task_machines import MultiTaskSVR as MultiTaskSVR
from mercer.estimators.tasks.task_ridge import MultiTaskRidge as MultiTaskRidge
from mercer.estimators.views.multi_instance import MultiInstanceSVC as MultiInstanceSVC
from mercer.estimators.views.multi_view import CoRegularizedRidge as CoRegularizedRidge
from mercer.estimators.views.multi_view import MultiViewLaplacianSVC as MultiViewLaplacianSVC
from mercer.estimators.views.svm2k import SVM2K as SVM2K
from mercer.first_model.any_data import automatic as automatic
from mercer.first_model.any_data import source_kernels as source_kernels
from mercer.first_model.intervals import predict_interval as predict_interval
from mercer.io.checkpoint import Checkpoint as Checkpoint
from mercer.io.interop import from_libsvm as from_libsvm
from mercer.io.interop import from_sklearn as from_sklearn
from mercer.io.model_file import load as load
from mercer.io.model_file import save as save
from mercer.language import parse as parse
from mercer.preimages.methods import preimage as preimage
from mercer.reports.report import report as report
from mercer import choosing as choosing
from mercer import domains as domains
from mercer import estimators as estimators
from mercer import gram as gram
from mercer import hilbert as hilbert
from mercer import inference as inference
from mercer import io as io
from mercer import kernels as kernels
from mercer import losses as losses
from mercer import mixtures as mixtures
from mercer import models as models
from mercer import networks as networks
from mercer import numerics as numerics
from mercer import plots as plots
from mercer import preimages as preimages
from mercer import reports as reports
from mercer import selection as selection
from mercer import solvers as solvers
from mercer import targets as targets
from mercer import testing as testing
from mercer import theory as theory
__version__: str
__all__ = [
    "AdaBoostClassifier",
    "BayesianLinearRegression",
    "CCA",
    "ChangeScores",
    "ChangeTest",
    "Checkpoint",
    "ClassHierarchy",
    "ClassLabels",
    "CoRegularizedRidge",
    "DependenceSelector",
    "DiffusionMap",
    "ExponentialDensity",
    "FiniteSpace",
    "GaussianProcessClassifier",
    "GaussianProcessMixture",
    "GaussianProcessRegressor",
    "GaussianProcessSequenceClassifier",
    "GraphicalStructure",
    "GroupLasso",
    "HuberSVR",
    "InfiniteFamily",
    "InvariantComponents",
    "JointLabels",
    "JointRanking",
    "KernelAdatron",
    "KernelBalls",
    "KernelCCA",
    "KernelCRF",
    "KernelDependencyEstimation",
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
    "KernelStumps",
    "LPBoostClassifier",
    "LPBoostRegressor",
    "LSSVC",
    "LSSVR",
    "LabelPropagation",
    "LabelSequences",
    "LabelSets",
    "LaplacianEigenmap",
    "LaplacianRidge",
    "LaplacianSVC",
    "Lasso",
    "LassoPath",
    "LeastSquaresCCA",
    "LinearProgrammingMachine",
    "LinearSVC",
    "LinearSVR",
    "LinkPropagation",
    "LocalityPreservingProjection",
    "MarginBoundSVC",
    "MeanMatching",
    "MultiInstanceSVC",
    "MultiTaskRidge",
    "MultiTaskSVC",
    "MultiTaskSVR",
    "MultiViewLaplacianSVC",
    "MultilabelSVC",
    "MultipleKernelClassifier",
    "MultipleKernelDetector",
    "MultipleKernelRegressor",
    "NetworkLabels",
    "NuSVC",
    "NuSVR",
    "NuclearNormClassifier",
    "NuclearNormRegressor",
    "OneClassSVM",
    "OrderedClasses",
    "OrdinalSVC",
    "OutputSpace",
    "ParseTrees",
    "ParzenDensity",
    "QuantileSVR",
    "RankSVM",
    "Rankings",
    "ReferencePointMap",
    "RelativeMarginMachine",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "SVC",
    "SVDD",
    "SVM2K",
    "SVR",
    "SemiparametricLatentFactor",
    "SmoothingSpline",
    "SparseGaussianProcessRegressor",
    "SparseLaplacianRegressor",
    "SpectralClustering",
    "StructuredPerceptron",
    "StructuredSVC",
    "Stumps",
    "Transduction",
    "TransductiveLSSVC",
    "TransductiveRidge",
    "TransductiveSVC",
    "WeightPath",
    "all_estimators",
    "all_kernels",
    "amari_error",
    "automatic",
    "change_point_test",
    "definite_mixture",
    "enclosing_ball",
    "from_libsvm",
    "from_sklearn",
    "grid_edges",
    "hessian_kernel",
    "infinite_family",
    "isomap_kernel",
    "kernel_path",
    "krylov_scan",
    "lasso_path",
    "load",
    "locally_linear_kernel",
    "mean_matching",
    "mmd_scan",
    "nonlinear_family",
    "normalized_cut",
    "parse",
    "predict_interval",
    "preimage",
    "report",
    "retrieval_ranks",
    "sample_prior",
    "save",
    "search",
    "series_windows",
    "source_kernels",
    "unfolding_kernel",
    "weight_path",
]

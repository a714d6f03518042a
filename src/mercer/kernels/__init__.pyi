# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.kernels.algebra.agreement import CoRegularized as CoRegularized
from mercer.kernels.algebra.convolution import Convolution as Convolution
from mercer.kernels.algebra.deep import Deep as Deep
from mercer.kernels.algebra.distance_kernels import Anchored as Anchored
from mercer.kernels.algebra.distance_kernels import FeatureDistance as FeatureDistance
from mercer.kernels.algebra.functions import Exp as Exp
from mercer.kernels.algebra.functions import Normalized as Normalized
from mercer.kernels.algebra.functions import PolynomialOf as PolynomialOf
from mercer.kernels.algebra.functions import Power as Power
from mercer.kernels.algebra.hyper import Hyperkernel as Hyperkernel
from mercer.kernels.algebra.maps import Composed as Composed
from mercer.kernels.algebra.maps import RankOne as RankOne
from mercer.kernels.algebra.maps import Selected as Selected
from mercer.kernels.algebra.pair_products import DirectSum as DirectSum
from mercer.kernels.algebra.pair_products import Tensor as Tensor
from mercer.kernels.algebra.span import Complement as Complement
from mercer.kernels.algebra.span import Subspace as Subspace
from mercer.kernels.algebra.sums import Constant as Constant
from mercer.kernels.algebra.sums import Product as Product
from mercer.kernels.algebra.sums import Sum as Sum
from mercer.kernels.composite import Scaled as Scaled
from mercer.kernels.custom import Custom as Custom
from mercer.kernels.graphs.assignment import WeisfeilerLehmanAssignment as WeisfeilerLehmanAssignment
from mercer.kernels.graphs.assignment import WeisfeilerLehmanWasserstein as WeisfeilerLehmanWasserstein
from mercer.kernels.graphs.graph_histograms import EdgeHistogram as EdgeHistogram
from mercer.kernels.graphs.graph_histograms import VertexHistogram as VertexHistogram
from mercer.kernels.graphs.graph_neural_tangent import GraphNeuralTangent as GraphNeuralTangent
from mercer.kernels.graphs.graphlets import Graphlet as Graphlet
from mercer.kernels.graphs.laplacian_kernels import CommuteTime as CommuteTime
from mercer.kernels.graphs.laplacian_kernels import Diffusion as Diffusion
from mercer.kernels.graphs.laplacian_kernels import LaplacianFunction as LaplacianFunction
from mercer.kernels.graphs.laplacian_kernels import PStepWalk as PStepWalk
from mercer.kernels.graphs.laplacian_kernels import RegularizedLaplacian as RegularizedLaplacian
from mercer.kernels.graphs.laplacian_kernels import spectral_bisection as spectral_bisection
from mercer.kernels.graphs.marginalized import Marginalized as Marginalized
from mercer.kernels.graphs.path_sums import PathSum as PathSum
from mercer.kernels.graphs.propagation import Propagation as Propagation
from mercer.kernels.graphs.random_walk import RandomWalk as RandomWalk
from mercer.kernels.graphs.shortest_path import ShortestPath as ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman as WeisfeilerLehman
from mercer.kernels.kernel import Kernel as Kernel
from mercer.kernels.models.fisher_kernel import Fisher as Fisher
from mercer.kernels.models.hidden_markov_kernel import HiddenMarkov as HiddenMarkov
from mercer.kernels.models.hidden_tree import HiddenTree as HiddenTree
from mercer.kernels.models.marginalization import Marginalization as Marginalization
from mercer.kernels.models.pair_hidden_markov import PairHiddenMarkov as PairHiddenMarkov
from mercer.kernels.pairs.pair_kernels import PairProduct as PairProduct
from mercer.kernels.pairs.pair_kernels import PairSum as PairSum
from mercer.kernels.precomputed import Precomputed as Precomputed
from mercer.kernels.series.dynamical import DynamicalSystem as DynamicalSystem
from mercer.kernels.series.global_alignment import GlobalAlignmentSeries as GlobalAlignmentSeries
from mercer.kernels.series.random_convolutions import RandomConvolutions as RandomConvolutions
from mercer.kernels.series.signature import Signature as Signature
from mercer.kernels.series.soft_dtw import SoftDTW as SoftDTW
from mercer.kernels.sets.expected_features import ExpectedFeatures as ExpectedFeatures
from mercer.kernels.sets.invariance import Invariant as Invariant
from mercer.kernels.sets.mean_map import MeanMap as MeanMap
from mercer.kernels.sets.mean_map import MinMax as MinMax
from mercer.kernels.sets.persistence import PersistenceScaleSpace as PersistenceScaleSpace
from mercer.kernels.sets.persistence import SlicedWasserstein as SlicedWasserstein
from mercer.kernels.sets.pyramid_match import PyramidMatch as PyramidMatch
from mercer.kernels.sets.subspaces import BinetCauchy as BinetCauchy
from mercer.kernels.sets.subspaces import PrincipalAngles as PrincipalAngles
from mercer.kernels.sets.tensor_subspaces import Cumulant as Cumulant
from mercer.kernels.sets.tensor_subspaces import Grassmann as Grassmann
from mercer.kernels.strings.alignment import GlobalAlignment as GlobalAlignment
from mercer.kernels.strings.alignment import LocalAlignment as LocalAlignment
from mercer.kernels.strings.edit_distance import EditDistance as EditDistance
from mercer.kernels.strings.min_hash import MinHash as MinHash
from mercer.kernels.strings.mismatch import Mismatch as Mismatch
from mercer.kernels.strings.mismatch import Wildcard as Wildcard
from mercer.kernels.strings.ordinal_match import OrdinalMatch as OrdinalMatch
from mercer.kernels.strings.spectrum import BlendedSpectrum as BlendedSpectrum
from mercer.kernels.strings.spectrum import Match as Match
from mercer.kernels.strings.spectrum import Spectrum as Spectrum
from mercer.kernels.strings.subsequence import GappySpectrum as GappySpectrum
from mercer.kernels.strings.subsequence import Subsequence as Subsequence
from mercer.kernels.strings.substrings import Substrings as Substrings
from mercer.kernels.strings.weighted_degree import WeightedDegree as WeightedDegree
from mercer.kernels.tables.gower import Gower as Gower
from mercer.kernels.tables.gower import Hamming as Hamming
from mercer.kernels.task_kernels import task_kernel as task_kernel
from mercer.kernels.texts.bag_of_words import BagOfWords as BagOfWords
from mercer.kernels.texts.bag_of_words import TfIdf as TfIdf
from mercer.kernels.texts.semantics import Cooccurrence as Cooccurrence
from mercer.kernels.texts.semantics import LatentSemantic as LatentSemantic
from mercer.kernels.texts.semantics import Semantic as Semantic
from mercer.kernels.texts.word_pairs import WordPairs as WordPairs
from mercer.kernels.trees.common_trees import CorootedSubtree as CorootedSubtree
from mercer.kernels.trees.common_trees import PartialTree as PartialTree
from mercer.kernels.trees.common_trees import SubsetTree as SubsetTree
from mercer.kernels.trees.tree_spectrum import Subtree as Subtree
from mercer.kernels.trees.tree_spectrum import TreeSpectrum as TreeSpectrum
from mercer.kernels.vectors.arccosine import ArcCosine as ArcCosine
from mercer.kernels.vectors.compact import Epanechnikov as Epanechnikov
from mercer.kernels.vectors.compact import RadialFunction as RadialFunction
from mercer.kernels.vectors.compact import Wendland as Wendland
from mercer.kernels.vectors.complex import Hermitian as Hermitian
from mercer.kernels.vectors.compositions import Aitchison as Aitchison
from mercer.kernels.vectors.conditional import InverseMultiquadric as InverseMultiquadric
from mercer.kernels.vectors.conditional import Logarithmic as Logarithmic
from mercer.kernels.vectors.conditional import Multiquadric as Multiquadric
from mercer.kernels.vectors.conditional import NegativeDistance as NegativeDistance
from mercer.kernels.vectors.conditional import ThinPlate as ThinPlate
from mercer.kernels.vectors.dot import ExponentialDot as ExponentialDot
from mercer.kernels.vectors.dot import Linear as Linear
from mercer.kernels.vectors.dot import Polynomial as Polynomial
from mercer.kernels.vectors.dot import PowerSeries as PowerSeries
from mercer.kernels.vectors.dot import Sigmoid as Sigmoid
from mercer.kernels.vectors.great_circle import Haversine as Haversine
from mercer.kernels.vectors.histogram import AdditiveChiSquared as AdditiveChiSquared
from mercer.kernels.vectors.histogram import ChiSquared as ChiSquared
from mercer.kernels.vectors.histogram import Intersection as Intersection
from mercer.kernels.vectors.histogram import Tanimoto as Tanimoto
from mercer.kernels.vectors.neural import DeepArcCosine as DeepArcCosine
from mercer.kernels.vectors.neural import NeuralTangent as NeuralTangent
from mercer.kernels.vectors.nonstationary import ChangePoint as ChangePoint
from mercer.kernels.vectors.nonstationary import Gibbs as Gibbs
from mercer.kernels.vectors.overlaps import Jaccard as Jaccard
from mercer.kernels.vectors.overlaps import OverlapCoefficient as OverlapCoefficient
from mercer.kernels.vectors.periodic import Periodic as Periodic
from mercer.kernels.vectors.pointwise import Gaussian as Gaussian
from mercer.kernels.vectors.pyramidal import Pyramidal as Pyramidal
from mercer.kernels.vectors.radial import Cauchy as Cauchy
from mercer.kernels.vectors.radial import Exponential as Exponential
from mercer.kernels.vectors.radial import Laplacian as Laplacian
from mercer.kernels.vectors.radial import Matern as Matern
from mercer.kernels.vectors.radial import RationalQuadratic as RationalQuadratic
from mercer.kernels.vectors.spectral import SpectralDensity as SpectralDensity
from mercer.kernels.vectors.spectral import SpectralMixture as SpectralMixture
from mercer.kernels.vectors.spectral import SpectralSamples as SpectralSamples
from mercer.kernels.vectors.spline import BSpline as BSpline
from mercer.kernels.vectors.spline import Brownian as Brownian
from mercer.kernels.vectors.spline import LinearSpline as LinearSpline
from mercer.kernels.vectors.subsets import AllSubsets as AllSubsets
from mercer.kernels.vectors.subsets import Anova as Anova
from mercer.kernels.vectors.weighted import Basis as Basis
from mercer.kernels.vectors.weighted import LocalityImproved as LocalityImproved
from mercer.kernels.vectors.weighted import Mahalanobis as Mahalanobis
__all__ = [
    "AdditiveChiSquared",
    "Aitchison",
    "AllSubsets",
    "Anchored",
    "Anova",
    "ArcCosine",
    "BSpline",
    "BagOfWords",
    "Basis",
    "BinetCauchy",
    "BlendedSpectrum",
    "Brownian",
    "Cauchy",
    "ChangePoint",
    "ChiSquared",
    "CoRegularized",
    "CommuteTime",
    "Complement",
    "Composed",
    "Constant",
    "Convolution",
    "Cooccurrence",
    "CorootedSubtree",
    "Cumulant",
    "Custom",
    "Deep",
    "DeepArcCosine",
    "Diffusion",
    "DirectSum",
    "DynamicalSystem",
    "EdgeHistogram",
    "EditDistance",
    "Epanechnikov",
    "Exp",
    "ExpectedFeatures",
    "Exponential",
    "ExponentialDot",
    "FeatureDistance",
    "Fisher",
    "GappySpectrum",
    "Gaussian",
    "Gibbs",
    "GlobalAlignment",
    "GlobalAlignmentSeries",
    "Gower",
    "GraphNeuralTangent",
    "Graphlet",
    "Grassmann",
    "Hamming",
    "Haversine",
    "Hermitian",
    "HiddenMarkov",
    "HiddenTree",
    "Hyperkernel",
    "Intersection",
    "Invariant",
    "InverseMultiquadric",
    "Jaccard",
    "Kernel",
    "Laplacian",
    "LaplacianFunction",
    "LatentSemantic",
    "Linear",
    "LinearSpline",
    "LocalAlignment",
    "LocalityImproved",
    "Logarithmic",
    "Mahalanobis",
    "Marginalization",
    "Marginalized",
    "Match",
    "Matern",
    "MeanMap",
    "MinHash",
    "MinMax",
    "Mismatch",
    "Multiquadric",
    "NegativeDistance",
    "NeuralTangent",
    "Normalized",
    "OrdinalMatch",
    "OverlapCoefficient",
    "PStepWalk",
    "PairHiddenMarkov",
    "PairProduct",
    "PairSum",
    "PartialTree",
    "PathSum",
    "Periodic",
    "PersistenceScaleSpace",
    "Polynomial",
    "PolynomialOf",
    "Power",
    "PowerSeries",
    "Precomputed",
    "PrincipalAngles",
    "Product",
    "Propagation",
    "PyramidMatch",
    "Pyramidal",
    "RadialFunction",
    "RandomConvolutions",
    "RandomWalk",
    "RankOne",
    "RationalQuadratic",
    "RegularizedLaplacian",
    "Scaled",
    "Selected",
    "Semantic",
    "ShortestPath",
    "Sigmoid",
    "Signature",
    "SlicedWasserstein",
    "SoftDTW",
    "SpectralDensity",
    "SpectralMixture",
    "SpectralSamples",
    "Spectrum",
    "Subsequence",
    "SubsetTree",
    "Subspace",
    "Substrings",
    "Subtree",
    "Sum",
    "Tanimoto",
    "Tensor",
    "TfIdf",
    "ThinPlate",
    "TreeSpectrum",
    "VertexHistogram",
    "WeightedDegree",
    "WeisfeilerLehman",
    "WeisfeilerLehmanAssignment",
    "WeisfeilerLehmanWasserstein",
    "Wendland",
    "Wildcard",
    "WordPairs",
    "spectral_bisection",
    "task_kernel",
]

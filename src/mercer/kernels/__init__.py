"""What similarity is: kernels and their algebra."""

from mercer.kernels.algebra import operators  # noqa: F401  (makes + * ** work on kernels)
from mercer.kernels.algebra.convolution import Convolution
from mercer.kernels.algebra.distance_kernels import Anchored, FeatureDistance
from mercer.kernels.algebra.functions import Exp, Normalized, PolynomialOf, Power
from mercer.kernels.algebra.hyper import Hyperkernel
from mercer.kernels.algebra.maps import Composed, RankOne, Selected
from mercer.kernels.algebra.pair_products import DirectSum, Tensor
from mercer.kernels.algebra.span import Complement, Subspace
from mercer.kernels.algebra.sums import Constant, Product, Scaled, Sum
from mercer.kernels.custom import Custom
from mercer.kernels.graphs.graph_histograms import EdgeHistogram, VertexHistogram
from mercer.kernels.graphs.graphlets import Graphlet
from mercer.kernels.graphs.laplacian_kernels import (
    CommuteTime,
    Diffusion,
    LaplacianFunction,
    PStepWalk,
    RegularizedLaplacian,
    spectral_bisection,
)
from mercer.kernels.graphs.marginalized import Marginalized
from mercer.kernels.graphs.path_sums import PathSum
from mercer.kernels.graphs.propagation import Propagation
from mercer.kernels.graphs.random_walk import RandomWalk
from mercer.kernels.graphs.shortest_path import ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman
from mercer.kernels.kernel import Kernel
from mercer.kernels.models.fisher_kernel import Fisher
from mercer.kernels.models.hidden_markov_kernel import HiddenMarkov
from mercer.kernels.models.hidden_tree import HiddenTree
from mercer.kernels.models.marginalization import Marginalization
from mercer.kernels.models.pair_hidden_markov import PairHiddenMarkov
from mercer.kernels.pairs.pair_kernels import PairProduct, PairSum
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.series.dynamical import DynamicalSystem
from mercer.kernels.series.global_alignment import GlobalAlignmentSeries
from mercer.kernels.series.signature import Signature
from mercer.kernels.sets.expected_features import ExpectedFeatures
from mercer.kernels.sets.mean_map import MeanMap, MinMax
from mercer.kernels.sets.pyramid_match import PyramidMatch
from mercer.kernels.sets.subspaces import BinetCauchy, PrincipalAngles
from mercer.kernels.sets.tensor_subspaces import Cumulant, Grassmann
from mercer.kernels.strings.alignment import GlobalAlignment, LocalAlignment
from mercer.kernels.strings.mismatch import Mismatch, Wildcard
from mercer.kernels.strings.spectrum import BlendedSpectrum, Match, Spectrum
from mercer.kernels.strings.subsequence import GappySpectrum, Subsequence
from mercer.kernels.strings.substrings import Substrings
from mercer.kernels.texts.bag_of_words import BagOfWords, TfIdf
from mercer.kernels.texts.semantics import Cooccurrence, LatentSemantic, Semantic
from mercer.kernels.texts.word_pairs import WordPairs
from mercer.kernels.trees.common_trees import CorootedSubtree, PartialTree, SubsetTree
from mercer.kernels.trees.tree_spectrum import Subtree, TreeSpectrum
from mercer.kernels.vectors.arccosine import ArcCosine
from mercer.kernels.vectors.compact import Epanechnikov, RadialFunction, Wendland
from mercer.kernels.vectors.complex import Hermitian
from mercer.kernels.vectors.conditional import (
    InverseMultiquadric,
    Logarithmic,
    Multiquadric,
    NegativeDistance,
    ThinPlate,
)
from mercer.kernels.vectors.dot import ExponentialDot, Linear, Polynomial, PowerSeries, Sigmoid
from mercer.kernels.vectors.histogram import AdditiveChiSquared, ChiSquared, Intersection, Tanimoto
from mercer.kernels.vectors.periodic import Periodic
from mercer.kernels.vectors.pyramidal import Pyramidal
from mercer.kernels.vectors.radial import Cauchy, Exponential, Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.vectors.spectral import SpectralDensity, SpectralMixture, SpectralSamples
from mercer.kernels.vectors.spline import Brownian, BSpline, LinearSpline
from mercer.kernels.vectors.subsets import AllSubsets, Anova
from mercer.kernels.vectors.weighted import Basis, LocalityImproved, Mahalanobis

__all__ = [
    "AdditiveChiSquared",
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
    "ChiSquared",
    "CommuteTime",
    "Complement",
    "Composed",
    "Constant",
    "Convolution",
    "Cooccurrence",
    "CorootedSubtree",
    "Cumulant",
    "Custom",
    "Diffusion",
    "DirectSum",
    "DynamicalSystem",
    "EdgeHistogram",
    "Epanechnikov",
    "Exp",
    "ExpectedFeatures",
    "Exponential",
    "ExponentialDot",
    "FeatureDistance",
    "Fisher",
    "GappySpectrum",
    "Gaussian",
    "GlobalAlignment",
    "GlobalAlignmentSeries",
    "Graphlet",
    "Grassmann",
    "Hermitian",
    "HiddenMarkov",
    "HiddenTree",
    "Hyperkernel",
    "Intersection",
    "InverseMultiquadric",
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
    "MinMax",
    "Mismatch",
    "Multiquadric",
    "NegativeDistance",
    "Normalized",
    "PStepWalk",
    "PairHiddenMarkov",
    "PairProduct",
    "PairSum",
    "PartialTree",
    "PathSum",
    "Periodic",
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
    "WeisfeilerLehman",
    "Wendland",
    "Wildcard",
    "WordPairs",
    "spectral_bisection",
]

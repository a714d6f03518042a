"""What similarity is: kernels and their algebra."""

from mercer.kernels import operators  # noqa: F401  (makes + * ** work on kernels)
from mercer.kernels.algebra import Constant, Product, Scaled, Sum
from mercer.kernels.alignment import GlobalAlignment, LocalAlignment
from mercer.kernels.arccosine import ArcCosine
from mercer.kernels.compact import Epanechnikov, RadialFunction, Wendland
from mercer.kernels.complex import Hermitian
from mercer.kernels.conditional import InverseMultiquadric, Logarithmic, Multiquadric, NegativeDistance, ThinPlate
from mercer.kernels.convolution import Convolution
from mercer.kernels.custom import Custom
from mercer.kernels.distances import Anchored, FeatureDistance
from mercer.kernels.distributions import ExpectedFeatures
from mercer.kernels.dot import ExponentialDot, Linear, Polynomial, PowerSeries, Sigmoid
from mercer.kernels.dynamical import DynamicalSystem
from mercer.kernels.fisher import Fisher
from mercer.kernels.functions import Exp, Normalized, PolynomialOf, Power
from mercer.kernels.graph_histograms import EdgeHistogram, VertexHistogram
from mercer.kernels.graphlets import Graphlet
from mercer.kernels.hidden_markov import HiddenMarkov
from mercer.kernels.hidden_tree import HiddenTree
from mercer.kernels.histogram import AdditiveChiSquared, ChiSquared, Intersection, Tanimoto
from mercer.kernels.hyper import Hyperkernel
from mercer.kernels.kernel import Kernel
from mercer.kernels.maps import Composed, DirectSum, Selected, Tensor
from mercer.kernels.marginalization import Marginalization
from mercer.kernels.marginalized import Marginalized
from mercer.kernels.mismatch import Mismatch, Wildcard
from mercer.kernels.nodes import (
    CommuteTime,
    Diffusion,
    LaplacianFunction,
    PStepWalk,
    RegularizedLaplacian,
    spectral_bisection,
)
from mercer.kernels.pair_hidden_markov import PairHiddenMarkov
from mercer.kernels.pairs import PairProduct, PairSum
from mercer.kernels.paths import PathSum
from mercer.kernels.periodic import Periodic
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.propagation import Propagation
from mercer.kernels.pyramid_match import PyramidMatch
from mercer.kernels.pyramidal import Pyramidal
from mercer.kernels.radial import Cauchy, Exponential, Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.random_walk import RandomWalk
from mercer.kernels.rank_one import RankOne
from mercer.kernels.semantics import Cooccurrence, LatentSemantic, Semantic
from mercer.kernels.sets import MeanMap, MinMax
from mercer.kernels.shortest_path import ShortestPath
from mercer.kernels.signature import Signature
from mercer.kernels.spectral import SpectralDensity, SpectralMixture, SpectralSamples
from mercer.kernels.spline import Brownian, BSpline, LinearSpline
from mercer.kernels.strings import BlendedSpectrum, Match, Spectrum
from mercer.kernels.subsequence import GappySpectrum, Subsequence
from mercer.kernels.subsets import AllSubsets, Anova
from mercer.kernels.subspace import Complement, Subspace
from mercer.kernels.subspaces import BinetCauchy, PrincipalAngles
from mercer.kernels.substrings import Substrings
from mercer.kernels.tensors import Cumulant, Grassmann
from mercer.kernels.texts import BagOfWords, TfIdf
from mercer.kernels.time_series import GlobalAlignmentSeries
from mercer.kernels.tree_spectrum import Subtree, TreeSpectrum
from mercer.kernels.trees import CorootedSubtree, PartialTree, SubsetTree
from mercer.kernels.weighted import Basis, LocalityImproved, Mahalanobis
from mercer.kernels.weisfeiler_lehman import WeisfeilerLehman
from mercer.kernels.word_pairs import WordPairs

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

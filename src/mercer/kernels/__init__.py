"""What similarity is: kernels and their algebra."""

from mercer.kernels import operators  # noqa: F401  (makes + * ** work on kernels)
from mercer.kernels.algebra import Constant, Product, Scaled, Sum
from mercer.kernels.arccosine import ArcCosine
from mercer.kernels.compact import Epanechnikov, RadialFunction, Wendland
from mercer.kernels.complex import Hermitian
from mercer.kernels.conditional import InverseMultiquadric, Logarithmic, Multiquadric, NegativeDistance, ThinPlate
from mercer.kernels.distances import Anchored, FeatureDistance
from mercer.kernels.dot import ExponentialDot, Linear, Polynomial, PowerSeries, Sigmoid
from mercer.kernels.functions import Exp, Normalized, PolynomialOf, Power
from mercer.kernels.histogram import AdditiveChiSquared, ChiSquared, Intersection, Tanimoto
from mercer.kernels.hyper import Hyperkernel
from mercer.kernels.kernel import Kernel
from mercer.kernels.maps import Composed, DirectSum, RankOne, Selected, Tensor
from mercer.kernels.periodic import Periodic
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.pyramidal import Pyramidal
from mercer.kernels.radial import Cauchy, Exponential, Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.spectral import SpectralDensity, SpectralMixture, SpectralSamples
from mercer.kernels.spline import Brownian, BSpline, LinearSpline
from mercer.kernels.strings import BlendedSpectrum, Match, Spectrum
from mercer.kernels.subsets import AllSubsets, Anova
from mercer.kernels.subspace import Complement, Subspace
from mercer.kernels.substrings import Substrings
from mercer.kernels.weighted import Basis, LocalityImproved, Mahalanobis

__all__ = [
    "AdditiveChiSquared",
    "AllSubsets",
    "Anchored",
    "Anova",
    "ArcCosine",
    "BSpline",
    "Basis",
    "BlendedSpectrum",
    "Brownian",
    "Cauchy",
    "ChiSquared",
    "Complement",
    "Composed",
    "Constant",
    "DirectSum",
    "Epanechnikov",
    "Exp",
    "Exponential",
    "ExponentialDot",
    "FeatureDistance",
    "Gaussian",
    "Hermitian",
    "Hyperkernel",
    "Intersection",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "LinearSpline",
    "LocalityImproved",
    "Logarithmic",
    "Mahalanobis",
    "Match",
    "Matern",
    "Multiquadric",
    "NegativeDistance",
    "Normalized",
    "Periodic",
    "Polynomial",
    "PolynomialOf",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "Pyramidal",
    "RadialFunction",
    "RankOne",
    "RationalQuadratic",
    "Scaled",
    "Selected",
    "Sigmoid",
    "SpectralDensity",
    "SpectralMixture",
    "SpectralSamples",
    "Spectrum",
    "Subspace",
    "Substrings",
    "Sum",
    "Tanimoto",
    "Tensor",
    "ThinPlate",
    "Wendland",
]

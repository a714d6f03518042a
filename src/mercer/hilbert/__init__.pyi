# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.hilbert.bochner import BochnerTest as BochnerTest
from mercer.hilbert.bochner import SpectralMeasure as SpectralMeasure
from mercer.hilbert.bochner import bochner_test as bochner_test
from mercer.hilbert.bochner import spectral_measure as spectral_measure
from mercer.hilbert.claims import Claim as Claim
from mercer.hilbert.definiteness import Definiteness as Definiteness
from mercer.hilbert.definiteness import definiteness as definiteness
from mercer.hilbert.definiteness import polynomials as polynomials
from mercer.hilbert.derivatives import DerivativeExpansion as DerivativeExpansion
from mercer.hilbert.derivatives import derivative_representer as derivative_representer
from mercer.hilbert.derivatives import gradient as gradient
from mercer.hilbert.derivatives import sensitivity as sensitivity
from mercer.hilbert.elements import mean_element as mean_element
from mercer.hilbert.elements import representer as representer
from mercer.hilbert.fourier_norm import FourierNorm as FourierNorm
from mercer.hilbert.fourier_norm import derivative_penalties as derivative_penalties
from mercer.hilbert.fourier_norm import fourier_norm as fourier_norm
from mercer.hilbert.fourier_norm import fourier_transform as fourier_transform
from mercer.hilbert.fourier_norm import regularized as regularized
from mercer.hilbert.kernel_learning import LearnedKernel as LearnedKernel
from mercer.hilbert.kernel_learning import learned_kernel as learned_kernel
from mercer.hilbert.measures import Circle as Circle
from mercer.hilbert.measures import Measure as Measure
from mercer.hilbert.measures import Normal as Normal
from mercer.hilbert.measures import ProductMeasure as ProductMeasure
from mercer.hilbert.measures import Sampled as Sampled
from mercer.hilbert.measures import Uniform as Uniform
from mercer.hilbert.mercer_expansion import MercerExpansion as MercerExpansion
from mercer.hilbert.mercer_expansion import mercer_expansion as mercer_expansion
from mercer.hilbert.projections import Moments as Moments
from mercer.hilbert.projections import Projection as Projection
from mercer.hilbert.projections import moments as moments
from mercer.hilbert.projections import project as project
from mercer.hilbert.projections import projection_moments as projection_moments
from mercer.hilbert.reduced_machine import reduced_machine as reduced_machine
from mercer.hilbert.reduced_set import ReducedSet as ReducedSet
from mercer.hilbert.reduced_set import reduced_set as reduced_set
from mercer.hilbert.regularization import Regularized as Regularized
from mercer.hilbert.regularization import RidgePath as RidgePath
from mercer.hilbert.regularization import ivanov as ivanov
from mercer.hilbert.regularization import morozov as morozov
from mercer.hilbert.regularization import tikhonov as tikhonov
from mercer.hilbert.regularizers import NormPower as NormPower
from mercer.hilbert.regularizers import Radius as Radius
from mercer.hilbert.regularizers import Regularizer as Regularizer
from mercer.hilbert.spectral_penalties import ElasticNuclear as ElasticNuclear
from mercer.hilbert.spectral_penalties import Nuclear as Nuclear
from mercer.hilbert.spectral_penalties import Rank as Rank
from mercer.hilbert.spectral_penalties import Schatten as Schatten
from mercer.hilbert.spectral_penalties import SpectralPenalty as SpectralPenalty
from mercer.hilbert.universality import Properties as Properties
from mercer.hilbert.universality import properties as properties
from mercer.hilbert.violation import Violation as Violation
from mercer.hilbert.violation import find_violation as find_violation
__all__ = [
    "BochnerTest",
    "Circle",
    "Claim",
    "Definiteness",
    "DerivativeExpansion",
    "ElasticNuclear",
    "FourierNorm",
    "LearnedKernel",
    "Measure",
    "MercerExpansion",
    "Moments",
    "NormPower",
    "Normal",
    "Nuclear",
    "ProductMeasure",
    "Projection",
    "Properties",
    "Radius",
    "Rank",
    "ReducedSet",
    "Regularized",
    "Regularizer",
    "RidgePath",
    "Sampled",
    "Schatten",
    "SpectralMeasure",
    "SpectralPenalty",
    "Uniform",
    "Violation",
    "bochner_test",
    "definiteness",
    "derivative_penalties",
    "derivative_representer",
    "find_violation",
    "fourier_norm",
    "fourier_transform",
    "gradient",
    "ivanov",
    "learned_kernel",
    "mean_element",
    "mercer_expansion",
    "moments",
    "morozov",
    "polynomials",
    "project",
    "projection_moments",
    "properties",
    "reduced_machine",
    "reduced_set",
    "regularized",
    "representer",
    "sensitivity",
    "spectral_measure",
    "tikhonov",
]

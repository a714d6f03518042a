"""The Hilbert space of a kernel as things one can hold, plot and test.

Elements and functionals, definiteness and its violations, expansions in eigenfunctions and in frequencies, reduced
sets, forms of regularisation, and what follows from the mathematics of a kernel.
"""

from mercer.hilbert.bochner import BochnerTest, SpectralMeasure, bochner_test, spectral_measure
from mercer.hilbert.definiteness import Definiteness, definiteness, polynomials
from mercer.hilbert.derivatives import DerivativeExpansion, derivative_representer, gradient, sensitivity
from mercer.hilbert.elements import mean_element, representer
from mercer.hilbert.fourier_norm import FourierNorm, derivative_penalties, fourier_norm, fourier_transform, regularized
from mercer.hilbert.kernel_learning import LearnedKernel, learned_kernel
from mercer.hilbert.measures import Circle, Measure, Normal, ProductMeasure, Sampled, Uniform
from mercer.hilbert.mercer_expansion import MercerExpansion, mercer_expansion
from mercer.hilbert.projections import Moments, Projection, moments, project, projection_moments
from mercer.hilbert.reduced_machine import reduced_machine
from mercer.hilbert.reduced_set import ReducedSet, reduced_set
from mercer.hilbert.regularization import Regularized, RidgePath, ivanov, morozov, tikhonov
from mercer.hilbert.regularizers import NormPower, Radius, Regularizer
from mercer.hilbert.universality import Claim, Properties, properties
from mercer.hilbert.violation import Violation, find_violation

__all__ = [
    "BochnerTest",
    "Circle",
    "Claim",
    "Definiteness",
    "DerivativeExpansion",
    "FourierNorm",
    "LearnedKernel",
    "Measure",
    "MercerExpansion",
    "Moments",
    "NormPower",
    "Normal",
    "ProductMeasure",
    "Projection",
    "Properties",
    "Radius",
    "ReducedSet",
    "Regularized",
    "Regularizer",
    "RidgePath",
    "Sampled",
    "SpectralMeasure",
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

"""Pictures as objects: each display holds the numbers it shows, and draws them on request."""

from mercer.plots.components import ComponentsDisplay
from mercer.plots.convergence import ConvergenceDisplay
from mercer.plots.correlation_display import CorrelationDisplay
from mercer.plots.eigenfunctions import EigenfunctionsDisplay
from mercer.plots.gram_display import GramDisplay
from mercer.plots.null_distribution import NullDistributionDisplay
from mercer.plots.profile import KernelProfileDisplay
from mercer.plots.spectral_density import SpectralDensityDisplay
from mercer.plots.spectrum_display import SpectrumDisplay

__all__ = [
    "ComponentsDisplay",
    "ConvergenceDisplay",
    "CorrelationDisplay",
    "EigenfunctionsDisplay",
    "GramDisplay",
    "KernelProfileDisplay",
    "NullDistributionDisplay",
    "SpectralDensityDisplay",
    "SpectrumDisplay",
]

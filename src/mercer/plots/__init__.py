"""Pictures as objects: each display holds the numbers it shows, and draws them on request."""

from mercer.plots.convergence import ConvergenceDisplay
from mercer.plots.eigenfunctions import EigenfunctionsDisplay
from mercer.plots.gram import GramDisplay
from mercer.plots.profile import KernelProfileDisplay
from mercer.plots.spectral_density import SpectralDensityDisplay
from mercer.plots.spectrum import SpectrumDisplay

__all__ = [
    "ConvergenceDisplay",
    "EigenfunctionsDisplay",
    "GramDisplay",
    "KernelProfileDisplay",
    "SpectralDensityDisplay",
    "SpectrumDisplay",
]

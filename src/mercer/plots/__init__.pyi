# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.plots.components import ComponentsDisplay as ComponentsDisplay
from mercer.plots.convergence import ConvergenceDisplay as ConvergenceDisplay
from mercer.plots.correlation_display import CorrelationDisplay as CorrelationDisplay
from mercer.plots.eigenfunctions import EigenfunctionsDisplay as EigenfunctionsDisplay
from mercer.plots.gram_display import GramDisplay as GramDisplay
from mercer.plots.kernel_weights import KernelAlignmentDisplay as KernelAlignmentDisplay
from mercer.plots.kernel_weights import KernelWeightsDisplay as KernelWeightsDisplay
from mercer.plots.kernel_weights import WeightPathDisplay as WeightPathDisplay
from mercer.plots.null_distribution import NullDistributionDisplay as NullDistributionDisplay
from mercer.plots.profile import KernelProfileDisplay as KernelProfileDisplay
from mercer.plots.spectral_density import SpectralDensityDisplay as SpectralDensityDisplay
from mercer.plots.spectrum_display import SpectrumDisplay as SpectrumDisplay
__all__ = [
    "ComponentsDisplay",
    "ConvergenceDisplay",
    "CorrelationDisplay",
    "EigenfunctionsDisplay",
    "GramDisplay",
    "KernelAlignmentDisplay",
    "KernelProfileDisplay",
    "KernelWeightsDisplay",
    "NullDistributionDisplay",
    "SpectralDensityDisplay",
    "SpectrumDisplay",
    "WeightPathDisplay",
]

# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.plots.calibration_display import CalibrationDisplay as CalibrationDisplay
from mercer.plots.certificate_display import CertificateDisplay as CertificateDisplay
from mercer.plots.components import ComponentsDisplay as ComponentsDisplay
from mercer.plots.convergence import ConvergenceDisplay as ConvergenceDisplay
from mercer.plots.correlation_display import CorrelationDisplay as CorrelationDisplay
from mercer.plots.cost_path_display import CostPathDisplay as CostPathDisplay
from mercer.plots.eigenfunctions import EigenfunctionsDisplay as EigenfunctionsDisplay
from mercer.plots.embedding_display import EmbeddingDisplay as EmbeddingDisplay
from mercer.plots.error_distribution_display import ErrorDistributionDisplay as ErrorDistributionDisplay
from mercer.plots.gram_display import GramDisplay as GramDisplay
from mercer.plots.kernel_parts import KernelPartsDisplay as KernelPartsDisplay
from mercer.plots.kernel_weights import KernelAlignmentDisplay as KernelAlignmentDisplay
from mercer.plots.kernel_weights import KernelWeightsDisplay as KernelWeightsDisplay
from mercer.plots.kernel_weights import WeightPathDisplay as WeightPathDisplay
from mercer.plots.margin_display import MarginDisplay as MarginDisplay
from mercer.plots.margin_distribution import MarginDistributionDisplay as MarginDistributionDisplay
from mercer.plots.null_distribution import NullDistributionDisplay as NullDistributionDisplay
from mercer.plots.process_bands import ProcessBandsDisplay as ProcessBandsDisplay
from mercer.plots.profile import KernelProfileDisplay as KernelProfileDisplay
from mercer.plots.roc_display import RocDisplay as RocDisplay
from mercer.plots.spectral_density import SpectralDensityDisplay as SpectralDensityDisplay
from mercer.plots.spectrum_display import SpectrumDisplay as SpectrumDisplay
from mercer.plots.validation_surface import ValidationSurfaceDisplay as ValidationSurfaceDisplay
__all__ = [
    "CalibrationDisplay",
    "CertificateDisplay",
    "ComponentsDisplay",
    "ConvergenceDisplay",
    "CorrelationDisplay",
    "CostPathDisplay",
    "EigenfunctionsDisplay",
    "EmbeddingDisplay",
    "ErrorDistributionDisplay",
    "GramDisplay",
    "KernelAlignmentDisplay",
    "KernelPartsDisplay",
    "KernelProfileDisplay",
    "KernelWeightsDisplay",
    "MarginDisplay",
    "MarginDistributionDisplay",
    "NullDistributionDisplay",
    "ProcessBandsDisplay",
    "RocDisplay",
    "SpectralDensityDisplay",
    "SpectrumDisplay",
    "ValidationSurfaceDisplay",
    "WeightPathDisplay",
]

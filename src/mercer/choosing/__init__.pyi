# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.choosing.criteria import Alignment as Alignment
from mercer.choosing.criteria import Criterion as Criterion
from mercer.choosing.criteria import CrossValidation as CrossValidation
from mercer.choosing.criteria import Evidence as Evidence
from mercer.choosing.criteria import GeneralizedCV as GeneralizedCV
from mercer.choosing.criteria import LeaveOneOut as LeaveOneOut
from mercer.choosing.criteria import UnbiasedRisk as UnbiasedRisk
from mercer.choosing.effort import Effort as Effort
from mercer.choosing.grammar import ComposedKernel as ComposedKernel
from mercer.choosing.grammar import compose_kernel as compose_kernel
from mercer.choosing.kernel_search import KernelSearchCV as KernelSearchCV
from mercer.choosing.left_out import left_out_predictions as left_out_predictions
from mercer.choosing.machine_criteria import GACV as GACV
from mercer.choosing.machine_criteria import PACBayes as PACBayes
from mercer.choosing.machine_criteria import RadiusMarginBound as RadiusMarginBound
from mercer.choosing.machine_criteria import SpanBound as SpanBound
from mercer.choosing.machine_criteria import SpanRule as SpanRule
from mercer.choosing.machine_criteria import VCBound as VCBound
from mercer.choosing.model_based import expected_improvement as expected_improvement
from mercer.choosing.power_of_tests import tuned_kernel as tuned_kernel
from mercer.choosing.search import Found as Found
from mercer.choosing.search import search as search
__all__ = [
    "Alignment",
    "ComposedKernel",
    "Criterion",
    "CrossValidation",
    "Effort",
    "Evidence",
    "Found",
    "GACV",
    "GeneralizedCV",
    "KernelSearchCV",
    "LeaveOneOut",
    "PACBayes",
    "RadiusMarginBound",
    "SpanBound",
    "SpanRule",
    "UnbiasedRisk",
    "VCBound",
    "compose_kernel",
    "expected_improvement",
    "left_out_predictions",
    "search",
    "tuned_kernel",
]

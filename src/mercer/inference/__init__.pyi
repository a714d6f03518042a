# Made by ``python -m docs.make_exports`` from what the modules declare; changes here are lost.
from mercer.inference.conditional_test import conditional_independence_test as conditional_independence_test
from mercer.inference.dependence_measures import coco as coco
from mercer.inference.dependence_measures import hsic as hsic
from mercer.inference.dependence_measures import kcc as kcc
from mercer.inference.dependence_measures import mmd as mmd
from mercer.inference.dependence_measures import nocco as nocco
from mercer.inference.goodness_of_fit import stein_discrepancy as stein_discrepancy
from mercer.inference.goodness_of_fit import stein_test as stein_test
from mercer.inference.joint import dhsic as dhsic
from mercer.inference.joint import dhsic_test as dhsic_test
from mercer.inference.nulls import WildBootstrap as WildBootstrap
from mercer.inference.options import Limits as Limits
from mercer.inference.power import AggregatedResult as AggregatedResult
from mercer.inference.power import aggregated_test as aggregated_test
from mercer.inference.power import held_out_test as held_out_test
from mercer.inference.power import hsic_power as hsic_power
from mercer.inference.power import mmd_power as mmd_power
from mercer.inference.relative import relative_hsic_test as relative_hsic_test
from mercer.inference.relative import relative_mmd_test as relative_mmd_test
from mercer.inference.result import Null as Null
from mercer.inference.result import TestResult as TestResult
from mercer.inference.tests import hsic_test as hsic_test
from mercer.inference.tests import mmd_test as mmd_test
__all__ = [
    "AggregatedResult",
    "Limits",
    "Null",
    "TestResult",
    "WildBootstrap",
    "aggregated_test",
    "coco",
    "conditional_independence_test",
    "dhsic",
    "dhsic_test",
    "held_out_test",
    "hsic",
    "hsic_power",
    "hsic_test",
    "kcc",
    "mmd",
    "mmd_power",
    "mmd_test",
    "nocco",
    "relative_hsic_test",
    "relative_mmd_test",
    "stein_discrepancy",
    "stein_test",
]

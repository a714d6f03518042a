"""Tests and measures: two samples, independence, conditional and joint independence, goodness of fit."""

from mercer.inference.conditional_test import conditional_independence_test
from mercer.inference.dependence_measures import coco, hsic, kcc, mmd, nocco
from mercer.inference.goodness_of_fit import stein_discrepancy, stein_test
from mercer.inference.joint import dhsic, dhsic_test
from mercer.inference.nulls import WildBootstrap
from mercer.inference.options import Limits
from mercer.inference.power import (
    AggregatedResult,
    aggregated_test,
    held_out_test,
    hsic_power,
    mmd_power,
)
from mercer.inference.relative import relative_hsic_test, relative_mmd_test
from mercer.inference.result import Null, TestResult
from mercer.inference.tests import hsic_test, mmd_test
from mercer.inference.tuning import tuned_kernel

__all__ = [
    "mmd",
    "hsic",
    "dhsic",
    "coco",
    "kcc",
    "nocco",
    "mmd_test",
    "hsic_test",
    "dhsic_test",
    "conditional_independence_test",
    "relative_mmd_test",
    "relative_hsic_test",
    "stein_discrepancy",
    "stein_test",
    "held_out_test",
    "aggregated_test",
    "mmd_power",
    "hsic_power",
    "tuned_kernel",
    "WildBootstrap",
    "Null",
    "TestResult",
    "AggregatedResult",
    "Limits",
]

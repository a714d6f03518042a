"""Figures of a report: well-formed, labelled, light."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.plots.convergence import ConvergenceDisplay
from mercer.plots.gram_display import arranged
from mercer.plots.spectrum_display import spectrum
from mercer.reports import figures
from mercer.reports.curve import CurveFacts, SurfaceFacts
from mercer.reports.evidence import CalibrationFacts, Curve, PrecisionFacts, ResidualFacts, RocFacts
from mercer.reports.importance import DependenceFacts

rng = np.random.default_rng(0)
S = Gaussian(1.0).pack(rng.normal(size=(50, 2)))
LINE = np.linspace(0, 1, 5000)
RESIDUALS = ResidualFacts(rng.normal(size=5000), rng.normal(size=5000), (), 0.0, 1.0, (), 1)
CURVES = RocFacts((Curve("<b>", LINE, LINE, 0.5), Curve("$c$", LINE, LINE, 0.5)), 3)
GROUPS = CalibrationFacts(((-1.0, 0.0, 10), (1.0, 0.9, 10)), "decision value", "share of <b>")
PRECISION = PrecisionFacts("<b>", LINE, LINE[::-1], 0.5, 0.1)
ROW = np.linspace(0, 1, 200)
FUNCTION = CurveFacts("<u>", ROW, (("", ROW),), ROW - 1, ROW + 1, "of <b>", "prediction", ROW, ROW)
GRID = np.linspace(0, 1, 5)
PLANE = SurfaceFacts(("<u>", "v"), GRID, GRID, rng.random((5, 5)), "prediction", (), rng.random((9, 2)), np.zeros(9))
REGIONS = SurfaceFacts(
    ("<u>", "v"), GRID, GRID, np.eye(5), "class predicted", ("a", "<b>", "c"), rng.random((9, 2)), np.arange(9) % 3.0
)
ONE = DependenceFacts("<u>", (0.0, 1.0, 2.0), (("", GRID[:3]),), GRID[:3] - 1, GRID[:3] + 1, "prediction")
CITIES = DependenceFacts("city", ("Rome", "<b>"), (("", GRID[:2]),), GRID[:2] - 1, GRID[:2] + 1, "prediction")

DRAWN = {
    "gram": lambda: figures.gram_figure(arranged(Gaussian(1.0), S, np.array(["<i>", "&"] * 25))),
    "spectrum": lambda: figures.spectrum_figure(spectrum(Gaussian(1.0), S, 0.1)),
    "convergence": lambda: figures.convergence_figure(ConvergenceDisplay(LINE[::-1], LINE, LINE)),
    "prediction": lambda: figures.prediction_figure(RESIDUALS),
    "residual": lambda: figures.residual_figure(RESIDUALS),
    "roc": lambda: figures.roc_figure(CURVES),
    "calibration": lambda: figures.calibration_figure(GROUPS),
    "precision": lambda: figures.precision_figure(PRECISION),
    "curve": lambda: figures.curve_figure(FUNCTION),
    "surface": lambda: figures.surface_figure(PLANE),
    "regions": lambda: figures.surface_figure(REGIONS),
    "dependence": lambda: figures.dependence_figure(ONE, "one"),
    "categories": lambda: figures.dependence_figure(CITIES, "cities"),
    "learning": lambda: figures.learning_figure((("<b>", (10, 20), (0.5, 0.6)),)),
    "weights": lambda: figures.weight_figure((("<b>", 0.7, 0.9), ("$c$", 0.3, 0.1))),
    "coefficients": lambda: figures.coefficient_figure(np.sort(rng.exponential(size=900))[::-1], "coefficients"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_figures_are_well_formed_and_light(name):
    figure = DRAWN[name]()
    ET.fromstring(figure.svg)
    assert figure.caption.endswith(".")
    assert len(figure.svg) < 250_000


def test_many_points_are_thinned_and_it_is_said():
    assert "600 of 5000 points are drawn." in DRAWN["residual"]().caption


def test_labels_are_text():
    text = "".join(ET.fromstring(DRAWN["roc"]().svg).itertext())
    assert "<b>: area 0.500" in text
    assert "$c$: area 0.500" in text
    assert "$c$" in "".join(ET.fromstring(DRAWN["weights"]().svg).itertext())
    assert "3 more classes are not drawn" in DRAWN["roc"]().caption


def test_a_single_coefficient_can_be_drawn():
    assert figures.coefficient_figure(np.array([1.0, 0.0]), "coefficients").svg

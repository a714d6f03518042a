"""Figures of a report as SVG; what they show are facts and displays, which are tested as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer.plots  # names are imported on use
from mercer.arrays import Floats
from mercer.plots.canvas import COLOURS, svg
from mercer.plots.certificate_display import CertificateDisplay
from mercer.plots.convergence import ConvergenceDisplay
from mercer.plots.gram_display import GramDisplay
from mercer.plots.sources import some_of
from mercer.plots.spectrum_display import SpectrumDisplay
from mercer.reports.evidence import CalibrationFacts, ResidualFacts, RocFacts
from mercer.theory import Certificate

__all__ = ["Figure"]

SIZE = (4.6, 3.3)
SQUARE = (4.6, 3.9)
MOST_POINTS = 600  # of a scatter plot: more are a blot, and slow


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption."""

    svg: str
    caption: str


def gram_figure(display: GramDisplay) -> Figure:
    """Return the heat map of the Gram matrix."""
    drawing = svg(lambda ax: display.plot(ax).ax_.set_xlabel(""), SQUARE, "gram")  # the caption says it
    return Figure(drawing, f"Gram matrix: similarity of every pair of samples. {_sentence(display.note)}")


def spectrum_figure(display: SpectrumDisplay) -> Figure:
    """Return the spectrum."""
    drawing = svg(lambda ax: display.plot(ax).ax_.set_xlabel("number"), SQUARE, "spectrum")
    return Figure(drawing, f"Eigenvalues of the Gram matrix in descending order. {_sentence(display.note)}")


def convergence_figure(display: ConvergenceDisplay) -> Figure:
    """Return the residual against the iterations."""
    drawing = svg(display.plot, SIZE, "convergence")
    return Figure(drawing, "Residual of the solver, iteration by iteration.")


def weight_figure(weights: tuple[tuple[str, float, float], ...]) -> Figure:
    """Return the weights of several kernels, and their shares of the decision."""
    names, values, shares = zip(*weights, strict=True)
    display = mercer.plots.KernelWeightsDisplay(names, np.array(values), np.array(shares))
    size = (SIZE[0], 1.2 + 0.35 * len(names))
    return Figure(
        svg(display.plot, size, "weights"), "Weights of the kernels over their sum, and shares of the decision."
    )


def prediction_figure(facts: ResidualFacts) -> Figure:
    """Return predictions against what was observed."""
    shown = some_of(len(facts.observed), MOST_POINTS)

    def draw(ax: Any) -> None:
        low, high = _range(np.concatenate([facts.observed, facts.predicted]))
        ax.plot([low, high], [low, high], color=COLOURS[7], linewidth=0.8)
        _dots(ax, facts.predicted[shown], facts.observed[shown])
        ax.set(xlabel="predicted", ylabel="observed")

    return Figure(svg(draw, SIZE, "prediction"), f"Observed against predicted, out of fold.{_thinned(facts, shown)}")


def residual_figure(facts: ResidualFacts) -> Figure:
    """Return residuals against predictions."""
    shown = some_of(len(facts.observed), MOST_POINTS)

    def draw(ax: Any) -> None:
        ax.axhline(0.0, color=COLOURS[7], linewidth=0.8)
        _dots(ax, facts.predicted[shown], facts.residuals[shown])
        ax.set(xlabel="predicted", ylabel="residual (observed − predicted)")

    return Figure(svg(draw, SIZE, "residual"), f"Residuals against predictions, out of fold.{_thinned(facts, shown)}")


def roc_figure(facts: RocFacts) -> Figure:
    """Return ROC curves."""

    def draw(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=COLOURS[7], linewidth=0.8, linestyle=":")
        for place, curve in enumerate(facts.curves):
            x, y = _steps(curve.false_positive, curve.true_positive)
            ax.plot(x, y, color=COLOURS[place % 7], linewidth=1.5, label=f"{curve.label}: area {curve.area:.3f}")
        ax.set(xlabel="false positives (share)", ylabel="true positives (share)")
        ax.legend(loc="lower right")

    many = "each class against the rest" if len(facts.curves) + facts.more > 1 else "the second class"
    more = f" {facts.more} more classes are not drawn." if facts.more else ""
    return Figure(svg(draw, SIZE, "roc"), f"ROC of {many}, out of fold.{more}")


def calibration_figure(facts: CalibrationFacts) -> Figure:
    """Return the share of hits in groups of similar decision value."""
    values, shares, counts = (np.array(column) for column in zip(*facts.groups, strict=True))
    error = np.sqrt(shares * (1 - shares) / counts)

    def draw(ax: Any) -> None:
        ax.errorbar(values, shares, yerr=error, color=COLOURS[0], marker="o", markersize=4, linewidth=1.2, capsize=2)
        ax.set(xlabel=facts.axis, ylabel=facts.share, ylim=(-0.05, 1.05))

    caption = f"Calibration: samples in {len(values)} groups by {facts.axis}, out of fold; bars are standard errors."
    return Figure(svg(draw, SIZE, "calibration"), caption)


def coefficient_figure(sizes: Floats, what: str) -> Figure:
    """Return the sizes of coefficients in descending order."""
    positive = sizes[sizes > 0]
    place = np.unique(np.round(np.geomspace(1, max(len(positive), 1), 300)).astype(int)) - 1

    def draw(ax: Any) -> None:
        ax.plot(place + 1, positive[place], color=COLOURS[0], linewidth=1.5)
        ax.set(xlabel="number, largest first", ylabel="absolute value", ylim=(0, None))

    return Figure(svg(draw, SIZE, "coefficients"), f"Sizes of the {what} in descending order.")


def parts_figure(display: mercer.plots.KernelPartsDisplay) -> Figure:
    """Return what the terms of the kernel contribute."""
    height = SIZE[1] if display.column is not None else 1.2 + 0.35 * len(display.parts)
    drawing = svg(display.plot, (SIZE[0], height), "parts")
    return Figure(drawing, "Parts of the fitted function, one for each term of the kernel; they add up to it.")


def certificate_figure(certificate: Certificate) -> Figure:
    """Return the bounds of a certificate with what samples say."""
    display = CertificateDisplay(certificate)
    drawing = svg(display.plot, (SIZE[0], 1.2 + 0.34 * len(display.labels)), "certificate")
    return Figure(drawing, f"Bounds on {certificate.quantity}, in parts; beyond the shade they say nothing.")


def _dots(ax: Any, x: Floats, y: Floats) -> None:
    ax.plot(x, y, "o", color=COLOURS[0], markersize=3.2, alpha=0.55, markeredgewidth=0)


def _steps(x: Floats, y: Floats, most: int = 300) -> tuple[Floats, Floats]:
    """Thin a curve of very many corners."""
    if len(x) <= most:
        return x, y
    keep = np.unique(np.linspace(0, len(x) - 1, most).astype(int))
    return x[keep], y[keep]


def _range(values: Floats) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _thinned(facts: ResidualFacts, shown: Any) -> str:
    n = len(facts.observed)
    return "" if len(shown) == n else f" {len(shown)} of {n} points are drawn."

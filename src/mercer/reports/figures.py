"""Figures of a report as SVG; what they show are facts and displays, which are tested as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer.plots  # names are imported on use
from mercer.arrays import Floats
from mercer.plots.canvas import COLOURS, svg
from mercer.plots.certificate_display import CertificateDisplay
from mercer.plots.gram_display import GramDisplay
from mercer.plots.sources import some_of
from mercer.plots.spectrum_display import SpectrumDisplay
from mercer.reports.curve import CurveFacts, SurfaceFacts
from mercer.reports.evidence import CalibrationFacts, PrecisionFacts, ResidualFacts, RocFacts
from mercer.reports.importance import DependenceFacts
from mercer.theory import Certificate

__all__ = ["Figure"]

SIZE = (4.6, 3.3)
SQUARE = (4.6, 3.9)
WIDE = (6.4, 3.6)
SMALL = (3.6, 2.6)
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


def convergence_figure(display: mercer.plots.ConvergenceDisplay) -> Figure:
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

    return Figure(
        svg(draw, SIZE, "prediction"), f"Observed against predicted, of samples left out.{_thinned(facts, shown)}"
    )


def residual_figure(facts: ResidualFacts) -> Figure:
    """Return residuals against predictions."""
    shown = some_of(len(facts.observed), MOST_POINTS)

    def draw(ax: Any) -> None:
        ax.axhline(0.0, color=COLOURS[7], linewidth=0.8)
        _dots(ax, facts.predicted[shown], facts.residuals[shown])
        ax.set(xlabel="predicted", ylabel="residual (observed − predicted)")

    return Figure(
        svg(draw, SIZE, "residual"), f"Residuals against predictions, of samples left out.{_thinned(facts, shown)}"
    )


def roc_figure(facts: RocFacts) -> Figure:
    """Return ROC curves."""

    def draw(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=COLOURS[7], linewidth=0.8, linestyle=":")
        for place, curve in enumerate(facts.curves):
            x, y = _steps(curve.false_positive, curve.true_positive)
            ax.plot(x, y, color=COLOURS[place % 7], linewidth=1.5, label=f"{curve.label}: area {curve.area:.3f}")
        ax.set(xlabel="false positives (share)", ylabel="true positives (share)")
        ax.legend(loc="lower right")

    several = len(facts.curves) + facts.more > 1 or not facts.curves
    many = "each class against the rest" if several else facts.curves[0].label
    more = f" {facts.more} more classes are not drawn." if facts.more else ""
    return Figure(svg(draw, SIZE, "roc"), f"ROC of {many}, of samples left out.{more}")


def precision_figure(facts: PrecisionFacts) -> Figure:
    """Return precision against recall."""

    def draw(ax: Any) -> None:
        ax.axhline(facts.share, color=COLOURS[7], linewidth=0.8, linestyle=":")
        x, y = _steps(facts.recall, facts.precision)
        ax.plot(x, y, color=COLOURS[0], linewidth=1.5, label=f"mean precision {facts.area:.3f}")
        ax.set(xlabel=f"recall of {facts.label}", ylabel="precision", ylim=(-0.02, 1.05))
        ax.legend(loc="lower left")

    caption = f"Precision against recall of {facts.label}, the rarer class, of samples left out; dotted is a guess."
    return Figure(svg(draw, SIZE, "precision"), caption)


def curve_figure(facts: CurveFacts) -> Figure:
    """Return the fitted function of one column, with its band and the samples."""

    def draw(ax: Any) -> None:
        if facts.values is not None:
            ax.plot(facts.seen, facts.values, "o", color=COLOURS[7], markersize=3.0, alpha=0.6, markeredgewidth=0)
        if facts.low is not None:
            ax.fill_between(facts.x, facts.low, facts.high, color=COLOURS[0], alpha=0.2, linewidth=0)
        for place, (label, values) in enumerate(facts.curves):
            ax.plot(facts.x, values, color=COLOURS[place % 7], linewidth=1.6, label=label)
        ax.set(xlabel=facts.name, ylabel=facts.axis if facts.values is None else "target and prediction")
        if len(facts.curves) > 1:
            ax.legend()

    band = f" The band: {facts.band}." if facts.band else ""
    return Figure(svg(draw, WIDE, "curve"), f"The fitted function of {facts.name}.{band}")


def surface_figure(facts: SurfaceFacts) -> Figure:
    """Return the fitted function of two columns, with the samples."""
    several = len(facts.classes) > 2

    def draw(ax: Any) -> None:
        extent = (facts.x[0], facts.x[-1], facts.y[0], facts.y[-1])
        if several:
            shades = [COLOURS[k % 7] for k in range(len(facts.classes))]
            colours = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in shades])
            ax.imshow(colours[facts.values.astype(int)], origin="lower", extent=extent, aspect="auto", alpha=0.35)
        else:
            low, high = (0.0, 1.0) if facts.classes else (None, None)
            picture = ax.imshow(
                facts.values, origin="lower", extent=extent, aspect="auto", cmap="viridis", alpha=0.85,
                interpolation="bilinear", vmin=low, vmax=high,
            )  # fmt: skip
            ax.figure.colorbar(picture, ax=ax, label=facts.axis)
        for k in range(len(facts.classes) or 1):
            rows = facts.observed == k if facts.classes else slice(None)
            colour = COLOURS[k % 7] if several else ("#ffffff", "#e07b39")[k % 2]
            label = facts.classes[k] if facts.classes else None
            ax.plot(
                *facts.seen[rows].T, "o", color=colour, markersize=2.6, markeredgecolor="#333333",
                markeredgewidth=0.3, label=label,
            )  # fmt: skip
        ax.set(xlabel=facts.names[0], ylabel=facts.names[1])

    if several:
        what = "The class predicted"
    else:
        what = f"The {facts.axis}" if facts.classes else "The fitted function"
    dots = f" Dots are samples{', white those of ' + facts.classes[0] if len(facts.classes) == 2 else ''}."
    return Figure(svg(draw, WIDE, "surface"), f"{what} over {facts.names[0]} and {facts.names[1]}.{dots}")


def dependence_figure(facts: DependenceFacts, salt: str) -> Figure:
    """Return how predictions depend on one column."""
    words = [isinstance(point, str) for point in facts.points]

    def draw(ax: Any) -> None:
        x = np.arange(len(facts.points)) if any(words) else np.array(facts.points)
        mark = "o" if any(words) else None
        if facts.low is not None and any(words):
            ax.vlines(x, facts.low, facts.high, color=COLOURS[0], alpha=0.3, linewidth=5)
        elif facts.low is not None:
            ax.fill_between(x, facts.low, facts.high, color=COLOURS[0], alpha=0.15, linewidth=0)
        for place, (label, values) in enumerate(facts.curves):
            line = "" if any(words) else "-"
            ax.plot(x, values, linestyle=line, marker=mark, markersize=5, color=COLOURS[place % 7], label=label)
        if any(words):
            short = [point if len(point) <= 12 else f"{point[:11]}…" for point in facts.points]
            ax.set_xticks(x, short, rotation=30 if len(short) > 4 else 0)
        ax.set(xlabel=facts.name, ylabel=facts.axis)
        if len(facts.curves) > 1:
            ax.legend()

    spread = "; shaded are four fifths of the samples" if facts.low is not None else ""
    return Figure(svg(draw, SMALL, salt), f"{facts.axis.capitalize()} by {facts.name}, others as they are{spread}.")


def learning_figure(curves: tuple[tuple[str, tuple[int, ...], tuple[float, ...]], ...]) -> Figure:
    """Return scores that were learned from growing numbers of samples."""

    def draw(ax: Any) -> None:
        for place, (name, sizes, scores) in enumerate(curves[:7]):
            short = name if len(name) <= 40 else f"{name[:39]}…"
            ax.plot(sizes, scores, marker="o", markersize=4, color=COLOURS[place], linewidth=1.3, label=short)
        ax.set(xlabel="samples learned from", ylabel="score", xscale="log")
        sizes = sorted({size for _, found, _ in curves[:7] for size in found})
        ax.set_xticks(sizes, [str(size) for size in sizes], minor=False)
        ax.minorticks_off()
        ax.legend()

    return Figure(
        svg(draw, WIDE, "learning"), "Learning curve: the score by the number of samples that were learned from."
    )


def calibration_figure(facts: CalibrationFacts) -> Figure:
    """Return the share of hits in groups of similar decision values."""
    values, shares, counts = (np.array(column) for column in zip(*facts.groups, strict=True))
    error = np.sqrt(shares * (1 - shares) / counts)

    def draw(ax: Any) -> None:
        if facts.has_probabilities:
            ax.plot([0, 1], [0, 1], color=COLOURS[7], linewidth=0.8, linestyle=":")
        ax.errorbar(values, shares, yerr=error, color=COLOURS[0], marker="o", markersize=4, linewidth=1.2, capsize=2)
        ax.set(xlabel=facts.axis, ylabel=facts.share, ylim=(-0.05, 1.05))

    caption = (
        f"Calibration: samples in {len(values)} groups by {facts.axis}, left out of the fit; bars are standard errors."
    )
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
    """Return the bounds of a certificate with the measured errors."""
    display = CertificateDisplay(certificate)
    drawing = svg(display.plot, (SIZE[0], 1.2 + 0.34 * len(display.labels)), "certificate")
    return Figure(drawing, f"Bounds on {certificate.quantity}, in parts; beyond the shade they say nothing.")


def _dots(ax: Any, x: Floats, y: Floats) -> None:
    ax.plot(x, y, "o", color=COLOURS[0], markersize=3.2, alpha=0.55, markeredgewidth=0)


def _steps(x: Floats, y: Floats, most: int = 300) -> tuple[Floats, Floats]:
    """Thin out a curve with very many corners."""
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

"""The one file that knows matplotlib: axes to draw on, and drawings as SVG text for a page.

matplotlib is optional and is imported when something is drawn, not before.
"""

from __future__ import annotations

import importlib.util
import io
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

from mercer.errors import printable

__all__ = ["COLOURS", "axes", "is_available", "logarithmic", "svg"]

# Readable on white and on black, and distinguishable for colour-blind readers.
COLOURS = ("#3b7dd8", "#e07b39", "#2a9d8f", "#c2508f", "#8a6fd1", "#b08d2e", "#6c8a3c", "#8c8c8c")
INK = "#7f7e7d"  # placeholder for the colour of the text around a drawing; see `svg`

MISSING = (
    "A picture was asked for, and matplotlib, which draws it, is not installed; any version from 3.9 on will do. "
    "Install it: pip install mercer[plot]"
)
_STYLE = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "text.parse_math": False,  # a label may hold dollar signs
    "svg.fonttype": "none",  # text stays text: it can be read, searched and scaled
}
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "legend.labelcolor")


def is_available() -> bool:
    """Return whether matplotlib can be imported."""
    return importlib.util.find_spec("matplotlib") is not None


def axes(ax: Any = None, size: tuple[float, float] = (5.0, 3.6)) -> tuple[Any, Any]:
    """Return axes to draw on and their figure: those given, or new ones of a size in inches."""
    if ax is not None:
        return ax, ax.figure
    if not is_available():
        raise ImportError(MISSING)
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax, figure


def logarithmic(ax: Any) -> None:
    """Make the vertical axis logarithmic, its powers of ten written as text rather than as a formula."""
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(_power)
    ax.yaxis.set_minor_formatter(lambda value, place: "")


def _power(value: float, place: int | None = None) -> str:
    exponent = round(math.log10(value)) if value > 0 else 0
    return f"10{str(exponent).translate(_RAISED)}"


def svg(draw: Callable[[Any], Any], size: tuple[float, float], salt: str = "mercer") -> str:
    """Return what a function draws on fresh axes as an <svg> element for an HTML page.

    Parameters
    ----------
    draw : callable
        Takes the axes.
    size : (width, height)
        In inches of 72 points.
    salt : str
        Makes the identifiers inside differ from those of other drawings on the page, and repeatable.

    Notes
    -----
    Text is escaped by matplotlib's XML writer, and characters that do not print, which XML forbids, are spelt out.
    Text and lines take the colour of the page, so that one drawing serves light, dark and paper. The global state of
    pyplot is not touched.
    """
    if not is_available():
        raise ImportError(MISSING)
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {**_STYLE, **dict.fromkeys(_INKED, INK), "svg.hashsalt": salt}
    text = io.StringIO()
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about glyphs missing from the font for measuring; the page has its own fonts
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    return _inline(printable(text.getvalue(), kept="\n\t"))


def _inline(document: str) -> str:
    """Return an SVG document as an element of a page: no prologue, no names that could clash with others."""
    element = document[document.index("<svg") :].strip()
    referred = set(re.findall(r"#([\w.-]+)[\")]", element))
    element = re.sub(r' id="([\w.-]+)"', lambda m: m[0] if m[1] in referred else "", element)
    element = re.sub(r"<style[^>]*>.*?</style>", "", element, count=1, flags=re.DOTALL)  # it would style the whole page
    element = re.sub(r'^<svg ([^>]*?) ?width="[^"]*"', r"<svg \1", element)
    element = re.sub(r'^<svg ([^>]*?) ?height="[^"]*"', r"<svg \1", element)
    return element.replace(INK, "currentColor")

"""The pictures of a report, each drawn from facts that are there."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import mercer.plots  # names are imported on use
from mercer.errors import CapabilityError
from mercer.plots.gram_display import arranged
from mercer.plots.spectrum_display import SpectrumDisplay
from mercer.reports import figures
from mercer.reports.facts import Facts
from mercer.reports.figures import Figure
from mercer.reports.subject import Subject

__all__ = ["pictures"]

GRAM_SAMPLES = 200  # of the picture: more would not be visible, only heavier

Wanted = Iterator[tuple[str, Callable[[], Figure]]]


def pictures(facts: Facts, some: Subject, display: SpectrumDisplay | None) -> Wanted:
    """Yield the names of the pictures that apply, and what draws them."""
    yield from _of_predictions(facts)
    yield from _of_columns(facts)
    yield from _of_kernel(facts, some, display)
    yield from _of_fit(facts, some)


def _of_predictions(facts: Facts) -> Wanted:
    if facts.answer is not None and (curve := facts.answer.curve):
        yield "learning", lambda: figures.learning_figure(curve)
    if (residuals := facts.residuals) is not None:
        yield "prediction", lambda: figures.prediction_figure(residuals)
        yield "residual", lambda: figures.residual_figure(residuals)
    if (roc := facts.roc) is not None:
        yield "roc", lambda: figures.roc_figure(roc)
    if (precision := facts.precision) is not None:
        yield "precision", lambda: figures.precision_figure(precision)
    if (calibration := facts.calibration) is not None:
        yield "calibration", lambda: figures.calibration_figure(calibration)


def _of_columns(facts: Facts) -> Wanted:
    if (curve := facts.curve) is not None:
        yield "curve", lambda: figures.curve_figure(curve)
    if (surface := facts.surface) is not None:
        yield "surface", lambda: figures.surface_figure(surface)
    for place, one in enumerate(facts.dependence):
        salt = f"dependence{place}"
        yield salt, lambda one=one, salt=salt: figures.dependence_figure(one, salt)


def _of_kernel(facts: Facts, some: Subject, display: SpectrumDisplay | None) -> Wanted:
    if display is not None and some.kernel is not None and some.samples is not None:
        kernel, samples, y = some.kernel, some.samples, some.y
        targets = y if y is not None and len(y) == len(samples) else None
        yield "gram", lambda: figures.gram_figure(arranged(kernel, samples, targets, max_samples=GRAM_SAMPLES))
        yield "spectrum", lambda: figures.spectrum_figure(display)
    if facts.kernel is not None and (weights := facts.kernel.weights):
        yield "weights", lambda: figures.weight_figure(weights)
    if (parts := _parts(some)) is not None:
        yield "parts", lambda: figures.parts_figure(parts)


def _of_fit(facts: Facts, some: Subject) -> Wanted:
    solution = getattr(some.model, "solution_", None)
    if solution is not None and len(solution.trace) > 1:
        tol = getattr(getattr(some.model, "solver_", None), "tol", None)
        convergence = importlib.import_module("mercer.plots.convergence").convergence  # of few solvers
        yield "convergence", lambda: figures.convergence_figure(convergence(solution, tol))
    if (certificate := facts.certificate) is not None:
        yield "certificate", lambda: figures.certificate_figure(certificate)
    if (coefficients := facts.coefficients) is not None and coefficients.n > coefficients.n_zero:
        yield "coefficients", lambda: figures.coefficient_figure(coefficients.sizes, coefficients.what)


def _parts(subject: Subject) -> mercer.plots.KernelPartsDisplay | None:
    """Return the parts of a function whose kernel is a sum; None of any other."""
    try:
        return mercer.plots.KernelPartsDisplay.of(subject.model, subject.samples)
    except CapabilityError:
        return None

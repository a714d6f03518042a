"""The report: facts are gathered section by section, then printed by one template.

A section that does not apply, or that fails, is left out with its reason: an incomplete page that says so is
better than no page.
"""

from __future__ import annotations

import functools
import html as markup
import importlib
import importlib.metadata
import os
import platform
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import mercer
import mercer.plots  # names are imported on use
from mercer.errors import CapabilityError
from mercer.io.atomic import require_replaceable, write_atomically
from mercer.plots.canvas import is_available
from mercer.plots.convergence import convergence
from mercer.plots.gram_display import arranged
from mercer.plots.sources import some_of
from mercer.plots.spectrum_display import SpectrumDisplay, ridge_of, spectrum
from mercer.reports import evidence, figures
from mercer.reports import model_section as model
from mercer.reports.certification import certified
from mercer.reports.data import DataFacts, describe
from mercer.reports.figures import Figure
from mercer.reports.recipe import Recipe, recipe
from mercer.reports.scores import ScoreFacts, cross_validated
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import counted, fixed, number, percent, shown, span
from mercer.theory import Certificate

__all__ = ["Facts", "Report", "report"]
__public__ = ["Report", "report"]

TEMPLATE = Path(__file__).with_name("report.html.jinja")
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib")
GRAM_SAMPLES = 200  # of the picture: more would not be visible, only heavier
SPECTRUM_SAMPLES = 1000
LONGEST_TEXT = 2000

Result = TypeVar("Result")


@dataclass(eq=False)
class Facts:
    """Everything a report says; a section that was left out is None and has its reason in `omitted`."""

    title: str
    name: str
    text: str
    task: str
    created: str
    n_samples: int | None
    n_used: int | None
    seconds: float = 0.0
    data: DataFacts | None = None
    kernel: model.KernelFacts | None = None
    parameters: tuple[model.ParameterFacts, ...] = ()
    scores: ScoreFacts | None = None
    left_out: evidence.LeftOutFacts | None = None
    residuals: evidence.ResidualFacts | None = None
    roc: evidence.RocFacts | None = None
    calibration: evidence.CalibrationFacts | None = None
    confusion: evidence.ConfusionFacts | None = None
    certificate: Certificate | None = None
    coefficients: model.CoefficientFacts | None = None
    condition: model.ConditionFacts | None = None
    deeds: tuple[str, ...] = ()
    recipe: Recipe | None = None
    notes: tuple[str, ...] = ()
    figures: dict[str, Figure] = field(default_factory=dict)
    omitted: list[tuple[str, str]] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def key_figures(self) -> tuple[tuple[str, str, str], ...]:
        """The few numbers at the top of the page: (label, value, remark)."""
        rows: list[tuple[str, str, str]] = []
        if self.data:
            columns = counted(self.data.n_columns, "column") if self.data.n_columns else self.data.domain
            rows.append(("samples", number(self.data.n_samples), columns))
        if self.scores:
            for name in self.scores.names[:2]:
                spread = f"± {number(self.scores.deviation[name], 2)} over {counted(len(self.scores.folds), 'fold')}"
                rows.append((name, number(self.scores.mean[name], 3), spread))
        if self.condition:
            rows.append(("effective rank", number(self.condition.effective_rank, 3), "directions that matter"))
        if self.coefficients and self.coefficients.n:
            used = self.coefficients.n - self.coefficients.n_zero
            remark = f"not zero: {percent(used / self.coefficients.n)} of {number(self.coefficients.n)}"
            if self.coefficients.what == "support vectors":
                known = self.n_samples is not None and self.n_samples >= used
                remark = f"{percent(used / self.n_samples)} of the samples" if known and self.n_samples else "are kept"
            rows.append((self.coefficients.what, number(used), remark))
        return tuple(rows)


@dataclass(frozen=True, eq=False)
class Report:
    """A report: an HTML page, and the facts it was printed from.

    Attributes
    ----------
    html : str
        The whole page: no script, nothing loaded from anywhere, everything escaped.
    facts : Facts
        The numbers.

    Notes
    -----
    ``str(report)`` is a summary in a few lines; notebooks show the page itself, in a frame of its own.
    """

    html: str
    facts: Facts

    @property
    def title(self) -> str:
        """Title of the page."""
        return self.facts.title

    def save(self, path: str | os.PathLike[str], force: bool = False) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
        force : bool, default False
            Whether a file that is there already may be replaced.

        Returns
        -------
        path : Path
        """
        target = _free(path, force)
        write_atomically(target, [self.html.encode()], force=force)
        return target

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its styles and those of a notebook do not clash."""
        page = markup.escape(self.html, quote=True)
        style = "width:100%;height:42rem;border:1px solid #8884;border-radius:6px"
        return f'<iframe sandbox srcdoc="{page}" style="{style}" title="{markup.escape(self.title)}"></iframe>'

    def __str__(self) -> str:
        facts = self.facts
        lines = [facts.title, f"  model: {facts.text}"]
        lines += [f"  {label}: {value} ({remark})" for label, value, remark in facts.key_figures]
        if facts.left_out:
            parts = (f"{name} {number(value, 3)}" for name, value in facts.left_out.scores.items())
            lines.append(f"  leave-one-out: {', '.join(parts)}")
        if facts.certificate:
            lines.append(f"  certificate: {facts.certificate.verdict}")
        lines += [f"  data: {remark}" for remark in (facts.data.remarks if facts.data else ())]
        lines += [f"  left out: {what} ({reason})" for what, reason in facts.omitted]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {len(self.html) / 1000:.0f} kB>"


def report(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    cv: Any = 5,
    max_samples: int = 2000,
    notes: Sequence[str] = (),
) -> Report:
    """Write a page about a fitted model: data, kernel, scores, pictures, conditioning, how to reproduce it.

    Parameters
    ----------
    estimator : fitted estimator
        Of mercer, or a pipeline that ends in one. One that is not fitted is copied and fitted to the data.
    X, y : data, optional
        What the model is examined on; usually what it was fitted to. Without them the page has no scores.
    path : str or path, optional
        File to write; one that is there already is not replaced (`Report.save` can).
    title : str, optional
        None is the name of the estimator.
    cv : int, splitter or None, default 5
        Folds of the cross-validation, shuffled with a fixed seed; None leaves it out.
    max_samples : int, default 2000
        Beyond it, scores and pictures are computed from samples drawn at random, and the page says so.
    notes : sequence of str, optional
        Sentences to add to what was done, for example how parameters were chosen.

    Returns
    -------
    Report

    Notes
    -----
    Pictures need matplotlib (``pip install mercer[plot]``). The
    model is refitted once per fold. Sections that do not apply are left out, and the page says why.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.reports import report
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> page = report(KernelRidge(Gaussian(1.0), alpha=0.01).fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0]))
    >>> page.facts.scores.mean["R²"] > 0.99
    True
    """
    template = _template()
    if path is not None:
        _free(path, False)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        facts = _gathered(Subject.of(estimator, X, y), title, cv, max_samples)
    facts.warned = list(dict.fromkeys(shown(warning.message, 300) for warning in caught))[:5]
    facts.notes = tuple(shown(note, 500) for note in notes)
    facts.seconds = time.perf_counter() - began
    page = Report(template.render(facts=facts, figures=facts.figures).lstrip(), facts)
    if path is not None:
        page.save(path)
    return page


# gathering ----------------------------------------------------------------------------------------------


class _Sections:
    """Runs the functions behind the sections, and keeps the reasons of those without a result."""

    def __init__(self, omitted: list[tuple[str, str]]) -> None:
        self.omitted = omitted

    def attempt(self, name: str, function: Callable[..., Result], *arguments: Any) -> Result | None:
        try:
            return function(*arguments)
        except NotApplicable as reason:
            self.omitted.append((name, str(reason)))
        except Exception as error:  # whatever went wrong in one section, the others are still worth reading
            first = shown(str(error).partition("\n")[0], 400)
            self.omitted.append((name, f"could not be computed: {type(error).__name__}: {first}"))
        return None


def _gathered(whole: Subject, title: str | None, cv: Any, max_samples: int) -> Facts:
    """Return the facts of a report, all but those about the report itself."""
    name = type(whole.model).__name__
    index = some_of(whole.n or 0, max_samples)
    some = whole.take(index)
    facts = Facts(
        title=shown(title, 200) if title else f"{name} report",
        name=name,
        text=name,
        task=whole.task,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        n_samples=whole.n,
        n_used=some.n,
        versions=_versions(),
    )
    sections = _Sections(facts.omitted)
    attempt = sections.attempt
    facts.data = attempt("Data", describe, whole)
    facts.kernel = attempt("Kernel", model.kernel_facts, whole)
    facts.parameters = attempt("Parameters", model.parameter_facts, whole) or ()
    facts.coefficients = attempt("Coefficients", model.coefficient_facts, whole)
    facts.deeds = attempt("What was done", model.deeds, whole) or ()
    facts.recipe = attempt("How to reproduce", recipe, whole, cv)
    facts.text = _text(whole, facts.recipe.text if facts.recipe else name)
    _score(facts, sections, some, index, cv)
    facts.certificate = attempt("Certificate", certified, some)
    display = attempt("Conditioning", _spectrum, some)
    if display is not None:
        facts.condition = attempt("Conditioning", model.condition_facts, whole, display)
    _draw(facts, sections, some, display)
    return facts


def _text(subject: Subject, last: str) -> str:
    """Return the model as text, after the steps of its pipeline."""
    steps = subject.estimator.steps[:-1] if subject.model is not subject.estimator else ()
    return shown(" → ".join([*(type(step).__name__ for _, step in steps), last]), LONGEST_TEXT)


def _score(facts: Facts, sections: _Sections, some: Subject, index: Any, cv: Any) -> None:
    """Fill in scores, and what the predictions behind them show."""
    attempt = sections.attempt
    if cv is None:
        facts.omitted.append(("Cross-validation", "cv=None was given"))
    else:
        facts.scores = attempt("Cross-validation", cross_validated, some, cv)
    facts.left_out = attempt("Leave-one-out", evidence.left_out, some)
    if facts.scores is None:
        return
    if some.task == "regression":
        facts.residuals = attempt("Residuals", evidence.residuals, facts.scores, index)
    if some.task == "classification":
        facts.roc = attempt("ROC curves", evidence.roc, facts.scores)
        facts.calibration = attempt("Calibration", evidence.calibration, facts.scores)
        facts.confusion = attempt("Confusion", evidence.confusion, facts.scores)


def _spectrum(subject: Subject) -> SpectrumDisplay:
    if subject.kernel is None or subject.samples is None:
        raise NotApplicable("there is no kernel, or there are no samples to compare: give X to the report")
    return spectrum(subject.kernel, subject.samples, ridge_of(subject.model), SPECTRUM_SAMPLES)


def _parts(subject: Subject) -> mercer.plots.KernelPartsDisplay | None:
    """Return the parts of a function whose kernel is a sum; None of any other."""
    try:
        return mercer.plots.KernelPartsDisplay.of(subject.model, subject.samples)
    except CapabilityError:
        return None


def _draw(facts: Facts, sections: _Sections, some: Subject, display: SpectrumDisplay | None) -> None:
    """Add the pictures, if matplotlib is installed."""
    if not is_available():
        facts.omitted.append(("Pictures", "matplotlib is not installed; get them with: pip install mercer[plot]"))
        return
    solution = getattr(some.model, "solution_", None)
    wanted: dict[str, Callable[[], Figure]] = {}
    if display is not None and some.kernel is not None and some.samples is not None:
        kernel, samples, y = some.kernel, some.samples, some.y
        targets = y if y is not None and len(y) == len(samples) else None
        heat = lambda: figures.gram_figure(arranged(kernel, samples, targets, max_samples=GRAM_SAMPLES))  # noqa: E731
        wanted |= {"gram": heat, "spectrum": lambda: figures.spectrum_figure(display)}
    if facts.kernel is not None and (weights := facts.kernel.weights):
        wanted["weights"] = lambda: figures.weight_figure(weights)
    if solution is not None and len(solution.trace) > 1:
        tol = getattr(getattr(some.model, "solver_", None), "tol", None)
        wanted["convergence"] = lambda: figures.convergence_figure(convergence(solution, tol))
    if (residuals := facts.residuals) is not None:
        wanted["prediction"] = lambda: figures.prediction_figure(residuals)
        wanted["residual"] = lambda: figures.residual_figure(residuals)
    if (roc := facts.roc) is not None:
        wanted["roc"] = lambda: figures.roc_figure(roc)
    if (calibration := facts.calibration) is not None:
        wanted["calibration"] = lambda: figures.calibration_figure(calibration)
    if (parts := _parts(some)) is not None:
        wanted["parts"] = lambda: figures.parts_figure(parts)
    if (certificate := facts.certificate) is not None:
        wanted["certificate"] = lambda: figures.certificate_figure(certificate)
    if (coefficients := facts.coefficients) is not None and coefficients.n > coefficients.n_zero:
        wanted["coefficients"] = lambda: figures.coefficient_figure(coefficients.sizes, coefficients.what)
    for name, draw in wanted.items():
        drawn = sections.attempt(f"Picture of {name}", draw)
        if drawn is not None:
            facts.figures[name] = drawn


def _versions() -> tuple[tuple[str, str], ...]:
    found = [("mercer", mercer.__version__), ("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            continue
    return (*found, ("system", f"{platform.system()} {platform.machine()}"), ("cores", str(os.cpu_count() or "?")))


# printing -----------------------------------------------------------------------------------------------


@functools.cache
def _template() -> Any:
    """Return the template, everything it prints escaped unless it is markup of our own."""
    jinja2: Any = importlib.import_module("jinja2")  # which only reports need

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(number=number, percent=percent, span=span, counted=counted, fixed=fixed)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def _free(path: str | os.PathLike[str], force: bool) -> Path:
    require_replaceable(path, force=force)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to. Make it first.")
    return target

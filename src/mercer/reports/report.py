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
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import mercer
from mercer.domains import Frames, Samples, Similarities, Strings, Vectors
from mercer.errors import CapabilityError
from mercer.io.atomic import require_replaceable, write_atomically
from mercer.plots.canvas import is_available
from mercer.plots.sources import some_of
from mercer.plots.spectrum_display import SpectrumDisplay, ridge_of, spectrum
from mercer.reports import evidence
from mercer.reports import model_section as model
from mercer.reports.answer import answer
from mercer.reports.curve import curve, surface
from mercer.reports.data import describe
from mercer.reports.facts import Facts
from mercer.reports.importance import TOP, dependence, importance
from mercer.reports.pictures import pictures
from mercer.reports.recipe import recipe
from mercer.reports.replaced_columns import columns_of, excerpts
from mercer.reports.scores import cross_validated, held_out
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import counted, fixed, number, percent, shown, span
from mercer.theory import Certificate

__all__ = ["Facts", "Report", "certified", "report"]
__public__ = ["Report", "report"]

_PIPELINE = "Earlier steps of the pipeline that learned from the same samples are not paid for."

TEMPLATES = Path(__file__).with_name("templates")
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib")
SPECTRUM_SAMPLES = 1000
LONGEST_TEXT = 2000

Result = TypeVar("Result")


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
        if facts.answer:
            lines.append(f"  verdict: {facts.answer.verdict}")
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
    cv: Any = "auto",
    max_samples: int = 2000,
    notes: Sequence[str] = (),
    held: Any = None,
) -> Report:
    """Write a page about a fitted model: how good it is, what it looks at, how it works, how to reproduce it.

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
    cv : int, splitter, "auto" or None, default "auto"
        Folds of the cross-validation, shuffled with a fixed seed; None leaves it out. With "auto", a model of
        `mercer.automatic` is scored by the samples that took no part in its choice, others by 5 folds.
    max_samples : int, default 2000
        Beyond it, scores and pictures are computed from samples drawn at random, and the page says so.
    notes : sequence of str, optional
        Sentences to add to what was done, for example how parameters were chosen.
    held : object with ``rows``, ``predictions`` and ``probabilities``, optional
        Predictions of samples that the models which made them had not seen, to be scored instead of folds, such as the
        attribute ``held_`` of a model of `mercer.automatic`, which is what None takes.

    Returns
    -------
    Report

    Notes
    -----
    Pictures need matplotlib (``pip install mercer[plot]``). The model is refitted once per fold. The answer comes
    first: a verdict, the score beside that of the simplest guess and beside what else was tried. Sections that do not
    apply are left out, and the page says why.

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
        facts = _gathered(Subject.of(estimator, X, y), title, cv, max_samples, held)
    facts.warned = list(dict.fromkeys(shown(warning.message, 300) for warning in caught))[:5]
    facts.notes = tuple(shown(note, 500) for note in notes)
    facts.seconds = time.perf_counter() - began
    page = Report(template.render(facts=facts, figures=facts.figures, style=_style()).lstrip(), facts)
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


def _gathered(whole: Subject, title: str | None, cv: Any, max_samples: int, held: Any) -> Facts:
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
    held = getattr(whole.model, "held_", None) if held is None and cv == "auto" else held
    _score(facts, sections, whole, some, index, (cv, held))
    _explain(facts, sections, whole)
    _show_worst(facts, sections, whole)
    facts.certificate = attempt("Certificate", certified, some)
    display = attempt("Conditioning", _spectrum, some)
    if display is not None:
        facts.condition = attempt("Conditioning", model.condition_facts, whole, display)
    if is_available():
        for picture, draw in pictures(facts, some, display):
            drawn = attempt(f"Picture of {picture}", draw)
            facts.figures |= {} if drawn is None else {picture: drawn}
    else:
        facts.omitted.append(("Pictures", "matplotlib is not installed; get them with: pip install mercer[plot]"))
    return facts


def _text(subject: Subject, last: str) -> str:
    """Return the model as text, after the steps of its pipeline."""
    steps = subject.estimator.steps[:-1] if subject.model is not subject.estimator else ()
    return shown(" → ".join([*(type(step).__name__ for _, step in steps), last]), LONGEST_TEXT)


def _score(facts: Facts, sections: _Sections, whole: Subject, some: Subject, index: Any, by: tuple[Any, Any]) -> None:
    """Fill in scores, by folds or by samples held out, and what the predictions behind them show."""
    attempt, (cv, held) = sections.attempt, by
    if held is not None and whole.y is not None and len(held.rows):
        facts.scores, index = attempt("Scores of samples held out", held_out, whole, held), held.rows
    elif cv is None:
        facts.omitted.append(("Cross-validation", "cv=None was given"))
    else:
        facts.scores = attempt("Cross-validation", cross_validated, some, 5 if isinstance(cv, str) else cv)
    if facts.scores is None or facts.scores.folds:
        facts.left_out = attempt("Leave-one-out", evidence.left_out, some)
    if facts.scores is not None or hasattr(whole.model, "verdict_"):
        facts.answer = attempt("Verdict", answer, whole, facts.scores)
    if facts.scores is None:
        return
    if some.task == "regression":
        facts.residuals = attempt("Residuals", evidence.residuals, facts.scores, index)
    if some.task == "classification":
        facts.roc = attempt("ROC curves", evidence.roc, facts.scores)
        facts.calibration = attempt("Calibration", evidence.calibration, facts.scores)
        facts.confusion = attempt("Confusion", evidence.confusion, facts.scores)
        facts.mistakes = attempt("Samples predicted worst", evidence.mistakes, facts.scores, index) or ()
        if facts.scores.values is not None and facts.scores.values.ndim == 1:
            facts.precision = attempt("Precision and recall", evidence.precision, facts.scores)


def _has_parts(S: Samples | None) -> bool:
    """Return whether samples, or some of their columns, consist of words, symbols or nodes."""
    if isinstance(S, Frames):
        return any(isinstance(part, Strings) for part in S.parts.values())
    if S is None or isinstance(S, Vectors | Similarities):
        return False  # they need not import trees and graphs
    return isinstance(S, Strings | mercer.domains.Trees | mercer.domains.Graphs)


def _explain(facts: Facts, sections: _Sections, whole: Subject) -> None:
    """Fill in what the model looks at: columns, or parts of texts, sequences, trees and graphs."""
    if whole.X is None or whole.y is None:
        return
    attempt = sections.attempt
    if _has_parts(whole.samples):
        weighty = importlib.import_module("mercer.reports.weighty").weighty
        facts.weighty = attempt("Parts that weigh most", weighty, whole)
    try:
        columns = columns_of(whole, np.arange(1))
    except NotApplicable:
        return
    if len(columns) == 1 and columns.numbers(0) is None:
        return
    count = len(columns)
    if count == 1:
        facts.curve = attempt("Fitted curve", curve, whole, facts.scores)
        return
    if count == 2:
        facts.surface = attempt("Fitted surface", surface, whole)
    facts.importance = attempt("Importance", importance, whole)
    if facts.importance is not None:
        top = tuple(row.place for row in facts.importance.rows if row.loss > 0.0)[:TOP]
        facts.dependence = attempt("Partial dependence", dependence, whole, top) or ()


def _show_worst(facts: Facts, sections: _Sections, whole: Subject) -> None:
    """Fill in what the samples that are predicted worst look like."""
    worst = [row[0] for row in facts.residuals.worst] if facts.residuals else [row.sample for row in facts.mistakes]
    first = [row.name for row in facts.importance.rows[:4]] if facts.importance else []
    facts.excerpts = sections.attempt("Excerpts", excerpts, whole, worst, first) or {}


def _spectrum(subject: Subject) -> SpectrumDisplay:
    if subject.kernel is None or subject.samples is None:
        raise NotApplicable("there is no kernel, or there are no samples to compare: give X to the report")
    return spectrum(subject.kernel, subject.samples, ridge_of(subject.model), SPECTRUM_SAMPLES)


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
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(number=number, percent=percent, span=span, counted=counted, fixed=fixed)
    return environment.get_template("report.html.jinja")


def _free(path: str | os.PathLike[str], force: bool) -> Path:
    require_replaceable(path, force=force)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to. Make it first.")
    return target


@functools.cache
def _style() -> str:
    """Return the style sheet, which is no template: braces in it mean what they mean in CSS."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


def certified(subject: Subject) -> Certificate:
    """Return the certificate of the model of a report, without refits for folds: these are in the section of scores."""
    model, S = subject.model, subject.samples
    if not hasattr(model, "certificate"):
        raise NotApplicable(f"there are no bounds for {type(model).__name__}")
    if subject.X is None or S is None:
        raise NotApplicable("it needs the training samples: give X and y to the report")
    try:
        own = model is subject.estimator
        found = model.certificate(subject.X if own else S, subject.y, cv=None)
    except CapabilityError as reason:
        raise NotApplicable(str(reason)) from None
    return found if own else replace(found, notes=(*found.notes, _PIPELINE))

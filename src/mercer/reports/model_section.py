"""Facts about a fitted model: its kernel, its parameters, its coefficients, and what was done on the way."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Vectors
from mercer.gram import Expansion, FeatureExpansion
from mercer.gram.auto import choice_in_words
from mercer.kernels import Kernel
from mercer.plots.spectrum_display import SpectrumDisplay
from mercer.reports.formulas import mathml
from mercer.reports.machine import machine_deeds
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import counted, number, shown

__all__ = ["CoefficientFacts", "ConditionFacts", "KernelFacts", "ParameterFacts", "PartFacts"]

LARGEST = 10  # coefficients listed
LONGEST_TEXT = 2000  # of a kernel's text on the page
MOST_KERNELS = 20  # of several, with their weights
DEEPEST = 6  # of the tree of kernels


# the kernel ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartFacts:
    """A kind of kernel in the tree of a composite one: formula and depth of its first occurrence, and how many."""

    depth: int
    text: str
    name: str
    latex: str
    math: str
    meaning: str
    times: int = 1


@dataclass(frozen=True)
class KernelFacts:
    """The kernel: its text, its tree, what is known of its mathematics, and the learned weights of several.

    Attributes
    ----------
    weights : tuple of (name, weight, share)
        Of the kernels with the largest shares of the decision function, for learners with several kernels.
    n_weights : int
        How many kernels there were to choose from.
    """

    text: str
    given: str
    parts: tuple[PartFacts, ...]
    validity: tuple[tuple[str, str], ...]
    cost: str
    weights: tuple[tuple[str, float, float], ...] = ()
    n_weights: int = 0


def kernel_facts(subject: Subject) -> KernelFacts:
    """Return the facts about the kernel of a report."""
    kernel = subject.kernel
    if kernel is None:
        raise NotApplicable(f"{type(subject.model).__name__} has no fitted kernel")
    given = getattr(subject.model, "kernels", getattr(subject.model, "kernel", None))
    weights = tuple(_weights(subject.model))
    return KernelFacts(
        text=shown(repr(kernel), LONGEST_TEXT),
        given=shown(repr(given), LONGEST_TEXT),
        parts=_kinds(_tree(kernel, 0)),
        validity=tuple(_validity(kernel)),
        cost=kernel.cost,
        weights=weights,
        n_weights=len(getattr(subject.model, "kernel_names_", ())),
    )


def _weights(model: Any) -> Iterator[tuple[str, float, float]]:
    """The kernels that carry the decision, the largest share first; without a weight a kernel has no share."""
    if not hasattr(model, "kernel_names_"):
        return
    for t in np.lexsort((-model.weights_, -model.contributions_))[:MOST_KERNELS]:
        yield shown(model.kernel_names_[t], 200), float(model.weights_[t]), float(model.contributions_[t])


def _kinds(parts: Iterable[PartFacts]) -> tuple[PartFacts, ...]:
    """Return the first kernel of each kind, and how many there are: a formula is printed once."""
    found: dict[str, PartFacts] = {}
    for part in parts:
        first = found.get(part.name)
        found[part.name] = part if first is None else replace(first, times=first.times + 1)
    return tuple(found.values())


def _tree(kernel: Kernel, depth: int) -> Iterator[PartFacts]:
    math = ""
    if kernel.formula:
        try:
            math = mathml(kernel.formula)
        except ValueError:  # a formula of a user's own kernel: its text is shown as it is
            math = ""
    meaning = (inspect.getdoc(type(kernel)) or "").partition("\n")[0]
    name = type(kernel).__name__
    yield PartFacts(depth, shown(repr(kernel), 200), name, shown(kernel.formula, 400), math, shown(meaning, 200))
    if depth < DEEPEST:
        for _, child in kernel._children():
            if isinstance(child, Kernel):
                yield from _tree(child, depth + 1)


def order_in_words(order: int | None) -> str:
    """Return the kind of definiteness.

    Examples
    --------
    >>> order_in_words(0), order_in_words(None)
    ('positive definite', 'indefinite')
    """
    if order is None:
        return "indefinite"
    return f"conditionally positive definite of order {order}" if order else "positive definite"


def _validity(kernel: Kernel) -> Iterator[tuple[str, str]]:
    yield "definiteness", ("strictly " if kernel.strict else "") + order_in_words(kernel.order)
    yield "compares", kernel.domain.__name__.lower()
    for name, words in (
        ("universal", "approximates any continuous function arbitrarily well"),
        ("stationary", "depends on the difference of the samples only"),
        ("normalised", "similarity of each sample with itself is 1"),
        ("bounded", "values stay below a bound"),
    ):
        yield name, f"yes: {words}" if getattr(kernel, name) else "no"
    if kernel.capabilities:
        yield "offers", ", ".join(sorted(kernel.capabilities)).replace("_", " ")


# parameters ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParameterFacts:
    """One parameter of the estimator: as given, its default, and what None became."""

    name: str
    value: str
    default: str
    is_default: bool
    fitted: str


def parameter_facts(subject: Subject) -> tuple[ParameterFacts, ...]:
    """Return the parameters of the model, those that were given first."""
    model = subject.model
    defaults = inspect.signature(type(model).__init__).parameters
    rows = []
    for name, value in model.get_params(deep=False).items():
        default = defaults[name].default if name in defaults else inspect.Parameter.empty
        text, usual = shown(repr(value), 300), "" if default is inspect.Parameter.empty else shown(repr(default), 100)
        fitted = getattr(model, f"{name}_", None)
        resolved = "" if fitted is None or repr(fitted) == repr(value) else shown(repr(fitted), 300)
        rows.append(ParameterFacts(name, text, usual, text == usual, resolved))
    return tuple(sorted(rows, key=lambda row: row.is_default and not row.fitted))


# coefficients -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CoefficientFacts:
    """The coefficients of the fitted function: how many, how large, which are the largest.

    Attributes
    ----------
    sizes : (n,) array
        Absolute values in descending order (lengths of the rows for several outputs).
    largest : tuple of (sample, target, coefficient)
        Numbers of samples count from 0.
    half : int
        How many of the largest make up half of the sum of all sizes.
    weights : tuple of (column, weight)
        Of the columns, for the linear kernel.
    """

    what: str
    n: int
    n_zero: int
    outputs: int
    sizes: Floats
    largest: tuple[tuple[int, str, str], ...]
    half: int
    intercept: str
    weights: tuple[tuple[str, float], ...]


def coefficient_facts(subject: Subject) -> CoefficientFacts:
    """Return the facts about the dual coefficients of a report."""
    model = subject.model
    coef = getattr(model, "dual_coef_", None)
    where = getattr(model, "support_", None)
    what = "support vectors" if where is not None else "dual coefficients"
    if coef is None:
        expansion = getattr(model, "expansion_", None)
        if not isinstance(expansion, Expansion):
            raise NotApplicable(f"{type(model).__name__} keeps no coefficients of samples")
        coef, what = expansion.coef, "weights of the samples"
    coef = np.asarray(coef, dtype=float)
    if where is not None and coef.ndim == 2 and coef.shape[0] != len(where):
        coef = coef.T  # scikit-learn's layout: one row per function
    rows = coef if coef.ndim == 2 else coef[:, None]
    if where is not None and len(rows) != len(where):
        where, what = None, "dual coefficients"  # zeros are among them
    sizes = np.linalg.norm(rows, axis=1) if rows.shape[1] > 1 else np.abs(rows[:, 0])
    order = np.argsort(-sizes, kind="stable")
    numbers = np.arange(len(rows)) if where is None else np.asarray(where)
    total = np.cumsum(sizes[order])
    targets = None if subject.y is None else np.asarray(subject.y)
    if targets is not None and (
        targets.ndim > 1 or numbers.max(initial=-1) >= len(targets) or (where is None and len(targets) != len(rows))
    ):
        targets = None  # other samples than those of the fit, or several outputs
    largest = tuple(
        (
            int(numbers[i]),
            "" if targets is None else number(targets[numbers[i]]),
            ", ".join(number(float(value)) for value in rows[i][:4]) + (", …" if rows.shape[1] > 4 else ""),
        )
        for i in order[:LARGEST]
    )
    return CoefficientFacts(
        what=what,
        n=len(rows),
        n_zero=int(np.sum(sizes == 0)),
        outputs=rows.shape[1],
        sizes=sizes[order],
        largest=largest,
        half=int(np.searchsorted(total, 0.5 * total[-1])) + 1 if len(total) and total[-1] > 0 else 0,
        intercept=_intercept(model),
        weights=tuple(_column_weights(subject)),
    )


def _intercept(model: Any) -> str:
    value = getattr(model, "intercept_", None)
    if value is None:
        return ""
    flat = np.atleast_1d(np.asarray(value, dtype=float))
    return ", ".join(number(float(v)) for v in flat[:6]) + (", …" if len(flat) > 6 else "")


def _column_weights(subject: Subject) -> Iterator[tuple[str, float]]:
    """The largest weights of columns, where the function is linear in them."""
    coef = getattr(subject.model, "coef_", None)
    if coef is None or np.ndim(coef) != 1:
        return
    names = getattr(subject.model, "feature_names_in_", None)
    if names is None and isinstance(subject.samples, Vectors):
        names = subject.samples.names
    for place in np.argsort(-np.abs(coef), kind="stable")[:LARGEST]:
        yield (f"column {place}" if names is None else shown(names[place])), float(coef[place])


# conditioning -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConditionFacts:
    """How far the numbers can be trusted: the spectrum of K and what the solver reached."""

    note: str
    largest: float
    smallest: float
    n_negative: int
    condition: float
    condition_ridge: float | None
    alpha: float | None
    rank: int
    effective_rank: float
    degrees_of_freedom: float | None
    residual: float | None
    jitter: float | None
    status: str
    iterations: int
    seconds: float | None


def condition_facts(subject: Subject, display: SpectrumDisplay) -> ConditionFacts:
    """Return the facts about conditioning, from a spectrum and the solution."""
    values, alpha = display.eigenvalues, display.alpha
    floor = float(np.abs(values).max(initial=0.0)) * len(values) * np.finfo(float).eps
    solution = getattr(subject.model, "solution_", None)
    trace = getattr(solution, "trace", None)
    top, bottom = float(values[0]), float(values[-1])
    return ConditionFacts(
        note=display.note,
        largest=top,
        smallest=bottom,
        n_negative=int(np.sum(values < -floor)),
        condition=display.condition,
        condition_ridge=None if alpha is None else (top + alpha) / (max(bottom, 0.0) + alpha),
        alpha=alpha,
        rank=display.rank,
        effective_rank=display.effective_rank,
        degrees_of_freedom=display.degrees_of_freedom,
        residual=None if solution is None else float(solution.residual),
        jitter=None if solution is None else float(solution.jitter),
        status="" if solution is None else solution.status.value,
        iterations=0 if trace is None else len(trace),
        seconds=float(trace.seconds[-1]) if trace is not None and len(trace) else None,
    )


# what was done ------------------------------------------------------------------------------------------


def deeds(subject: Subject) -> tuple[str, ...]:
    """Return what was done to the numbers, one sentence each."""
    return tuple(_deeds(subject))


def _deeds(subject: Subject) -> Iterator[str]:
    model, kernel = subject.model, subject.kernel
    if not subject.was_fitted:
        yield "The estimator came without a fit; a copy was fitted to the data for this report."
    if model is not subject.estimator:
        steps = ", ".join(shown(type(step).__name__) for _, step in subject.estimator.steps[:-1])
        yield f"The data went through {steps} before the kernel saw them."
    if kernel is not None:
        yield from _kernel_deeds(model, kernel)
    yield from _solver_deeds(model)
    yield from machine_deeds(subject)
    coef = getattr(model, "dual_coef_", None)
    zero = 0 if coef is None or hasattr(model, "support_") else int(np.sum(~np.any(np.c_[coef] != 0, axis=1)))
    if zero:
        who = counted(zero, "sample")
        yield f"{who} with a coefficient of exactly zero; samples of weight zero are left out of a fit."
    if isinstance(getattr(model, "expansion_", None), FeatureExpansion):
        yield "The fitted function is held by its weights in feature space; no training sample is kept."


def _kernel_deeds(model: Any, kernel: Kernel) -> Iterator[str]:
    given = getattr(model, "kernel", None)
    text = shown(repr(kernel), 300)
    if hasattr(model, "kernel_names_"):
        every = counted(len(model.kernel_names_), "kernel")
        yield f"Of {every} {len(model.support_kernels_)} got a weight; their sum is {text}."
    elif given is None:
        yield f"No kernel was given; {text} was chosen from the training samples."
    elif isinstance(given, str):
        yield f"The word {shown(given)!r} was read as {text}."
    elif getattr(model, "candidates_", 1) is None or hasattr(model, "story_"):
        yield "The kernel was chosen from the training samples before the fit; how is said below."
    elif repr(given) != repr(kernel):
        yield f"Learned from the training samples: {shown(repr(given), 300)} became {text}."
    else:
        yield "The kernel was used as given; nothing in it was learned from data."
    if kernel.domain is Vectors:
        yield "Columns were neither centred nor scaled nor filled in: the kernel saw the numbers as they are."
    repair = getattr(model, "repair_", None)
    if repair is not None:
        yield f"Negative eigenvalues of the Gram matrix were repaired by the requested policy, {repair}."
    elif kernel.order is None:
        yield "The kernel is indefinite: the problem that was solved need not have a solution."


def _solver_deeds(model: Any) -> Iterator[str]:
    gram, solver, solution = (getattr(model, f"{name}_", None) for name in ("gram", "solver", "solution"))
    if gram is not None:
        chosen = "" if getattr(model, "gram", None) is not None else ", chosen by the rule of Auto()"
        yield f"The Gram matrix was held as {shown(repr(gram))}{chosen}; {_exactness(gram, model)}."
        choice = getattr(model, "gram_choice_", None)
        if choice is not None and choice["tol"] is not None:
            yield f"The choice of Auto(): {shown(choice_in_words(choice), 1500)}."
    if solver is not None:
        chosen = "" if getattr(model, "solver", None) is not None else ", chosen by what the Gram offers"
        status = solution.status.value if solution else ""
        yield f"The problem was solved by {shown(repr(solver))}{chosen}{_reached(solver, solution)}. {status}".strip()
    if solution is not None:
        jitter = float(solution.jitter)
        yield (
            f"{number(jitter)} was added to the diagonal because the factorisation needed it."
            if jitter
            else "Nothing was added to the diagonal beyond what the parameters say."
        )


def _reached(solver: Any, solution: Any) -> str:
    """How far an iterative solver came."""
    if solution is None or not hasattr(solver, "max_iter") or not np.isfinite(solution.residual):
        return ""
    return f", to a residual of {number(float(solution.residual))} (its tolerance is {number(float(solver.tol))})"


def _exactness(gram: Any, model: Any) -> str:
    if (method := getattr(model, "gram_method_", None)) is not None:
        return (
            f"its products are those of the fast Gauss transform {shown(method)!r}, whose entries are off by at most "
            f"{number(model.gram_error_)} of the largest"
        )
    left = getattr(model, "residual_trace_", None)
    if left is not None:
        return (
            f"this approximates the kernel: {number(left)} of the trace of the Gram matrix is left out, and entries "
            f"are off by {number(model.gram_error_)} of their size, estimated on some of the samples"
        )
    return "this is exact" if getattr(gram, "exact", False) else "this may approximate the kernel"

"""Facts about a support vector machine: its size, how well it was solved, what else it found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from mercer.arrays import Floats
from mercer.budget import format_bytes
from mercer.gram import Expansion
from mercer.reports.subject import Subject
from mercer.reports.wording import counted, number, percent, shown

__all__ = ["machine_deeds"]

MOST_PLACED = 4000  # support vectors whose decision values are computed again
_NEAR = 1e-2  # relative to the margin: samples nearer to it than this are on it


def machine_deeds(subject: Subject) -> Iterator[str]:
    """Yield facts about a model with support vectors or a dual, one sentence each.

    Seed: [SS] Figure 6, the machine as a network with a unit per support vector.

    Parameters
    ----------
    subject : Subject
        Of a report.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Linear
    >>> model = SVC(Linear(), C=10.0).fit([[-2.0], [-1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> for sentence in list(machine_deeds(Subject.of(model)))[:2]:
    ...     print(sentence)
    The function is made of 2 support vectors (1 of 'a', 1 of 'b').
    Of the support vectors 2 are on the margin, and none is inside it or on the wrong side.
    """
    model = subject.model
    if getattr(model, "support_", None) is not None:
        yield from _size(subject)
        yield from _places(model)
    yield from _optimality(model)
    yield from _effort(model)
    yield from _findings(model)


def _size(subject: Subject) -> Iterator[str]:
    """The number of support vectors, the hidden units of the machine seen as a network."""
    model = subject.model
    count, n = len(model.support_), subject.n
    share = ""
    if n and count <= n and np.max(model.support_, initial=-1) < n:
        share = f", {percent(count / n)} of the {number(n)} samples"
    classes = getattr(model, "n_support_", None)
    each = ""
    if classes is not None and is_classifier(model) and 1 < len(classes) <= 10:
        parts = (f"{number(int(k))} of {shown(label)!r}" for k, label in zip(classes, model.classes_, strict=True))
        each = f" ({', '.join(parts)})"
    yield f"The function is made of {counted(count, 'support vector')}{share}{each}."


def _places(model: Any) -> Iterator[str]:
    """How many support vectors are on the margin (free coefficients), and how many beyond it (at the bound)."""
    expansion = getattr(model, "expansion_", None)
    if not isinstance(expansion, Expansion) or expansion.coef.ndim != 1 or len(expansion.samples) > MOST_PLACED:
        return
    one_class = is_outlier_detector(model)
    if not one_class and not (getattr(model, "unit_margin", False) and getattr(model, "loss", "hinge") == "hinge"):
        return
    used = np.flatnonzero(expansion.coef)
    values = np.asarray(expansion(expansion.samples.take(used)))
    if one_class:
        size = float(np.abs(np.atleast_1d(model.offset_)).max()) or 1.0
        free = int(np.sum(np.abs(values) <= _NEAR * size))
        yield f"Of the support vectors {free} are on the boundary of the region, and {len(used) - free} outside it."
        return
    distance = np.sign(expansion.coef[used]) * values - 1.0
    free = int(np.sum(np.abs(distance) <= _NEAR))
    rest = len(used) - free
    others = f"{rest} inside it or on the wrong side, at the bound of their coefficients"
    yield (
        f"Of the support vectors {free} are on the margin, and "
        + (others if rest else "none is inside it or on the wrong side")
        + "."
    )


def _optimality(model: Any) -> Iterator[str]:
    solution = getattr(model, "solution_", None)
    gap = float(getattr(solution, "gap", np.nan))
    if solution is None or np.isnan(gap):
        return
    worst = " of the problem that ended worst" if np.size(getattr(model, "n_iter_", 0)) > 1 else ""
    tol = getattr(getattr(model, "solver_", None), "tol", None)
    asked = "" if tol is None else f" ({number(float(tol))} was asked for)"
    yield (
        f"The optimality conditions{worst} are violated by {number(float(solution.residual), 2)} at most{asked}; the "
        f"duality gap is {number(gap, 2)}, so the objective is above its minimum by no more than that."
        + ("" if hasattr(model, "solver_") else f" {solution.status.value}")
    )


def _effort(model: Any) -> Iterator[str]:
    details = dict(getattr(getattr(model, "solution_", None), "details", {}))
    if "pairs moved" in details:
        steps = np.ravel(getattr(model, "n_iter_", details["pairs moved"]))
        several = f" in {len(steps)} problems" if len(steps) > 1 else ""
        rounds = f", in {counted(int(details['rounds']), 'working set')}" if "rounds" in details and not several else ""
        yield f"The solver moved {counted(int(steps.sum()), 'pair')} of variables{several}{rounds}."
    if "row cache, bytes" in details:
        found = percent(float(details["row cache, hit rate"]))
        size = format_bytes(int(details["row cache, bytes"]))
        yield f"Rows of the Gram matrix were kept in {size}; {found} of those asked for were found there."


def _findings(model: Any) -> Iterator[str]:
    """What a machine learns in addition to its function."""
    weights = getattr(model, "class_weight_", None)
    if weights is not None and np.any(np.asarray(weights) != 1.0) and len(weights) <= 20:
        parts = (f"{shown(label)!r} {number(float(w))}" for label, w in zip(model.classes_, weights, strict=True))
        yield f"Weights of the classes: {', '.join(parts)}."
    for name, words in (
        ("margin_", "Margin found"),
        ("slack_", "Sum of the slacks"),
        ("epsilon_", "Half-width of the tube found"),
        ("radius_", "Radius of the ball in feature space"),
    ):
        value = getattr(model, name, None)
        if value is not None:
            yield f"{words}: {_numbers(np.ravel(np.asarray(value, dtype=float)))}."
    inside = getattr(model, "coverage_", None)
    if isinstance(inside, float):
        yield f"{percent(inside)} of the training samples are inside the region."
    if getattr(model, "sigmoids_", None):
        yield "Probabilities are a sigmoid of the decision value, fitted to leave-one-out values; nothing was refitted."


def _numbers(values: Floats) -> str:
    return ", ".join(number(float(value)) for value in values[:6]) + (", …" if len(values) > 6 else "")

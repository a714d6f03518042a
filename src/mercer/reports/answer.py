"""The answer first: how good the model is, in words, beside the simplest guess and beside what else was tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.reports.scores import ScoreFacts
from mercer.reports.subject import NotApplicable, Subject
from mercer.reports.wording import number, percent, shown

__all__ = ["AnswerFacts", "TriedFacts", "answer"]

MOST_TRIED = 15


@dataclass(frozen=True)
class TriedFacts:
    """One model that was tried: its score, the standard error, and what it cost."""

    name: str
    score: float
    error: float | None
    seconds: float | None
    size: int | None


@dataclass(frozen=True)
class AnswerFacts:
    """What a reader wants to know first.

    Attributes
    ----------
    verdict : str
        One or two sentences.
    is_useless : bool
        Whether the model is no better than the simplest guess, as far as can be told.
    tried : tuple of TriedFacts
        What the model was chosen from, the best first.
    more : int
        How many more were tried.
    curve : tuple of (name, sizes, scores)
        Scores of the model, and of what was tried, on several numbers of samples.
    """

    verdict: str
    is_useless: bool
    tried: tuple[TriedFacts, ...]
    more: int
    curve: tuple[tuple[str, tuple[int, ...], tuple[float, ...]], ...]


def answer(subject: Subject, scores: ScoreFacts | None) -> AnswerFacts:
    """Return the verdict on a model, and what else was tried."""
    given = getattr(subject.model, "verdict_", "")
    if not given and scores is None:
        raise NotApplicable("there are no scores of samples that the model has not seen")
    verdict, useless = _verdict(scores) if scores is not None else ("", False)
    rows = [_tried(row) for row in getattr(subject.model, "leaderboard_", ())]
    return AnswerFacts(
        shown(given, 600) if given else verdict, useless, tuple(rows[:MOST_TRIED]), max(0, len(rows) - MOST_TRIED),
        (*_learning(subject.model), *_by_size(rows)),
    )  # fmt: skip


def _tried(row: Any) -> TriedFacts:
    return TriedFacts(shown(row.name, 160), float(row.score), row.standard_error, row.seconds, row.size)


def _learning(model: Any) -> list[tuple[str, tuple[int, ...], tuple[float, ...]]]:
    """Return the scores of the model itself when it learns from fewer samples."""
    points = [one for one in getattr(model, "learning_curve_", ()) if np.isfinite(one.score)]
    if len(points) < 2:
        return []
    return [("this model", tuple(int(one.rows) for one in points), tuple(float(one.score) for one in points))]


def _by_size(rows: list[TriedFacts]) -> list[tuple[str, tuple[int, ...], tuple[float, ...]]]:
    """Return the scores of each model that was tried on several numbers of samples."""
    groups: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.size is not None and np.isfinite(row.score):
            groups.setdefault(row.name, {})[int(row.size)] = row.score
    several = {name: sorted(points.items()) for name, points in groups.items() if len(points) > 1}
    return [(name, tuple(n for n, _ in points), tuple(s for _, s in points)) for name, points in several.items()]


def _verdict(scores: ScoreFacts) -> tuple[str, bool]:
    """Say how good predictions of unseen samples are, and whether that is better than the simplest guess."""
    main = scores.names[0]
    value, base, error = scores.mean[main], scores.baseline.get(main), _error(scores, main)
    if scores.task == "regression":
        rmse, guess = scores.mean["RMSE"], scores.baseline["RMSE"]
        useless = not value > 2.0 * error
        said = f"it explains {percent(max(value, 0.0))} of their variance, and a typical error is {number(rmse, 3)}"
        beside = f"the mean of the targets alone is off by {number(guess, 3)}"
        if useless:
            return f"No better than the mean of the targets: of samples it has not seen, {said}; {beside}.", True
        return f"Of samples it has not seen, {said}; {beside}.", False
    if scores.task == "classification" and base is not None:
        useless = not value > base + 2.0 * error
        said = f"it names the class of {percent(value)} of the samples it has not seen"
        beside = f"the commonest class alone is right for {percent(base)}"
        balanced, chance = scores.mean["balanced accuracy"], scores.baseline["balanced accuracy"]
        if useless and balanced > chance + 2.0 * _error(scores, "balanced accuracy"):
            within = f"within classes, it is right for {percent(balanced)} (a guess: {percent(chance)})"
            return f"Not more often right than the commonest class: {said}; {beside}; but {within}.", False
        if useless:
            return f"No better than guessing the commonest class: {said}; {beside}.", True
        return f"{said[0].upper()}{said[1:]}; {beside}.", False
    return f"{main[0].upper()}{main[1:]} of samples it has not seen: {number(value, 3)}.", False


def _error(scores: ScoreFacts, name: str) -> float:
    """Return the standard error of a score; over folds that of their mean."""
    return scores.deviation[name] / (np.sqrt(len(scores.folds)) if scores.folds else 1.0)

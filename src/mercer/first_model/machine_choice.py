"""A kernel and a machine for rows of any kind, chosen by their predictions for rows left out.

Machines of several families are compared in the same folds, first on some of the rows, the best of them on more. The
rows that measure how good the model is take no part in any of that.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.budget import Clock
from mercer.choosing import Effort, KernelSearchCV
from mercer.errors import TimeBudgetError
from mercer.first_model.given_rows import Given, Pair, folds, held_pairs, require_target
from mercer.first_model.held_rows import curve_of, growth_said, joined, predicted, predicted_from_fewer
from mercer.first_model.machine_families import Aim, Family, families, usual
from mercer.first_model.row_sources import Found, Source, Watch
from mercer.first_model.verdicts import (
    Grown,
    Held,
    Judgement,
    Tried,
    comparing,
    judged,
    needs_probabilities,
    standard_error,
)
from mercer.kernels import Kernel
from mercer.runtime.tiling import serial_blas
from mercer.selection.automatic import COARSE, ROWS, some_rows

__all__ = ["Chosen", "Pace", "choose"]

FOLDS = 5
COMPARING = 0.5  # of the time, after which nothing more is compared
USUAL = 60.0  # seconds
KEPT = 2  # kernels that meet all machines, where none is the usual one
DOUBT = 2.0  # standard errors by which another machine or kernel must be better than the usual one
FINALISTS = 4  # candidates that are compared on more rows
LISTED = 30  # of the leaderboard


@dataclass(frozen=True)
class Pace:
    """When nothing more is compared, so that time is left for the fit, and when all must have ended.

    Attributes
    ----------
    clock : Clock
        Of the choice and of the fit.
    until : float
        Seconds after which nothing more is compared; what is compared first has all of the time.
    """

    clock: Clock = field(default_factory=lambda: Clock.start(None))
    until: float = math.inf

    @classmethod
    def of(cls, clock: Clock) -> Pace:
        """Return the pace for a clock, which need not have a limit."""
        return cls(clock, COMPARING * (USUAL if clock.max_time is None else clock.max_time))

    @property
    def late(self) -> bool:
        """Whether it is time to come to an end with what was compared so far."""
        return self.clock.seconds > self.until

    def left(self, *, first: bool = True) -> float | None:
        """Return the seconds for what is to be done next, if they are limited."""
        end = math.inf if self.clock.max_time is None else self.clock.max_time
        end = end if first else min(end, self.until)
        return None if math.isinf(end) else max(end - self.clock.seconds, 1e-3)


UNHURRIED = Pace()


@dataclass(frozen=True)
class Chosen:
    """A model to be fitted to all rows, how good it is, and how it was found.

    Attributes
    ----------
    model : estimator
        Not fitted.
    held : Held
        Rows that took no part in the choice, and what was predicted of them.
    method : str
        Which rows these are.
    judgement : Judgement
        Score, standard error, baseline and verdict.
    curve : list of Grown
        Scores of the same rows by how many others were learned from.
    leaderboard : list of Tried
        The best first.
    steps : list of str
        What was done.
    """

    model: Any
    held: Held
    method: str
    judgement: Judgement
    curve: list[Grown]
    leaderboard: list[Tried]
    steps: list[str]

    def tell(self, model: Any, story: Sequence[str]) -> None:
        """Record on a fitted model how it was found and how good it is; a model file keeps that."""
        low = getattr(model, "residual_trace_", None)
        rank = [] if low is None else [f"K of all rows by {model.gram_!r}, which leaves {low:.2g} of its trace out"]
        model.story_ = [*story, *self.steps, *rank]
        model.leaderboard_, model.held_, model.learning_curve_ = self.leaderboard, self.held, self.curve
        model.score_, model.score_error_ = self.judgement.score, self.judgement.error
        model.baseline_, model.verdict_ = self.judgement.baseline, self.judgement.verdict


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A machine with one of the kernels, what it scored, and the merit by which it is compared, in all and by folds."""

    family: Family
    place: int
    params: dict[str, Any]
    tried: Tried
    merit: float = np.nan
    merits: Floats = field(default_factory=lambda: np.zeros(0))

    def model(self, kernel: Kernel, aim: Aim) -> Any:
        """Return the machine with a kernel."""
        params = {
            name: float(f"{value * aim.unit:.4g}") if name in self.family.in_units else value
            for name, value in self.params.items()
        }
        return self.family.make(kernel, aim).set_params(**params)


@dataclass(frozen=True, eq=False)
class _Picked:
    found: Found
    best: _Candidate
    board: list[Tried]
    steps: list[str]


def ignore(tried: Tried) -> None:
    """Report a candidate to nobody."""


def choose(
    source: Source,
    y: Array,
    task: str,
    given: Given,
    watch: Watch,
    pace: Pace = UNHURRIED,
    on_scored: Callable[[Tried], None] = ignore,
) -> Chosen:
    """Choose for rows; the score is that of rows which took no part in the choice.

    Parameters
    ----------
    source : Source
    y : (n,) array
    task : "classification" or "regression"
    given : Given
    watch : callable
        Called with the share that is done; may raise.
    pace : Pace
        How long it may take.
    on_scored : callable
        Called with each candidate once it has been scored, on whichever rows.
    """
    require_target(y, task)
    if given.weight is not None and not given.weight.all():
        counted = np.flatnonzero(given.weight > 0.0)
        chosen = choose(source.take(counted), y[counted], task, given.take(counted), watch, pace, on_scored)
        return replace(chosen, held=replace(chosen.held, rows=counted[chosen.held.rows]))
    try:
        return _chosen(source, y, task, given, watch, pace, on_scored)
    except TimeBudgetError:
        watch(1.0)  # raises the error of the whole time limit
        raise


def _chosen(
    source: Source, y: Array, task: str, given: Given, watch: Watch, pace: Pace, on_scored: Callable[[Tried], None]
) -> Chosen:
    """Choose for rows that all count."""
    centre, unit = _scale(y, given) if task == "regression" else (0.0, 1.0)
    compared = (y - centre) / unit if task == "regression" else y
    aim, pairs = Aim(task, len(y), unit), held_pairs(y, task, given)
    parts, said, fewer, picked = len(pairs) + (len(pairs) != 1), [], [], None
    classes = np.unique(y)
    for part, (kept, out) in enumerate(pairs):
        some, values, own = source.take(kept), y[kept], given.take(kept)
        picked = _pick(some, compared[kept], aim, own, _part_of(watch, part, parts), pace, on_scored)
        model = picked.best.model(picked.found.kernels[picked.best.place], aim)
        new = source.take(out)
        said.append(predicted(model, some, values, own.weight, new, classes, pace.left()))
        if not pace.late:
            left = pace.left(first=False)
            fewer.append(predicted_from_fewer(model, some, values, own, aim.task, new, classes, left))
    if len(pairs) == 1 and picked is not None:
        kernel = source.again(picked.found, picked.best.place)
    else:
        picked = _pick(source, compared, aim, given, _part_of(watch, parts - 1, parts), pace, on_scored)
        kernel = picked.found.kernels[picked.best.place]
    watch(1.0)
    held = joined(pairs, said, y)
    known = np.ones(len(y), dtype=bool)
    if len(pairs) == 1:
        known[pairs[0][1]] = False
    judgement = judged(held, known, y, task, given.scoring, given.weight)
    curve = curve_of(pairs, fewer, judgement, y, task, given)
    model, method = picked.best.model(kernel, aim), _method(pairs, held, given)
    steps = [*picked.steps, *growth_said(curve, given.scoring)]
    return Chosen(model, held, method, judgement, curve, picked.board[:LISTED], steps)


def _scale(y: Array, given: Given) -> tuple[float, float]:
    """Return centre and scale of numbers, which R^2 does not depend on; any other score may."""
    if given.scoring != "r2":
        return 0.0, 1.0
    centre = float(np.median(y))
    return centre, float(np.abs(y - centre).max()) or 1.0


def _part_of(watch: Watch, part: int, parts: int) -> Watch:
    return lambda share: watch((part + 0.98 * share) / parts)


def _method(pairs: Sequence[Pair], held: Held, given: Given) -> str:
    """Say which rows were held out."""
    if not pairs:
        return "not validated"
    if len(pairs) > 1:
        return f"{len(held.rows)} rows in {len(pairs)} folds, the whole choice made in each"
    which = "the latest rows" if given.time is not None else "rows"
    return f"{len(held.rows)} {which} held out, the whole choice made without them"


def _pick(
    source: Source,
    y: Array,
    aim: Aim,
    given: Given,
    watch: Watch,
    pace: Pace,
    on_scored: Callable[[Tried], None] = ignore,
) -> _Picked:
    """Choose a kernel and a machine by these rows."""
    found = source.find(y, aim.task, given, lambda share: watch(0.6 * share))
    board = _compared(source, found, y, aim, given, lambda share: watch(0.6 + 0.4 * share), pace, on_scored)
    best = board[0]
    counted = len({one.family.name for one in board})
    kernels = f"{len(found.kernels)} kernels and " if len(found.kernels) > 1 else ""
    steps = [
        *found.steps,
        f"{kernels}{len(board)} settings of {_counted(counted, 'machine')} were compared in folds by "
        f"{_compared_by(given, aim)}: {best.tried.name} is taken",
        *(["time was up, so that not all that was planned was compared"] if pace.late else []),
    ]
    return _Picked(found, best, [one.tried for one in board], steps)


def _compared(
    source: Source,
    found: Found,
    y: Array,
    aim: Aim,
    given: Given,
    watch: Watch,
    pace: Pace,
    on_scored: Callable[[Tried], None] = ignore,
) -> list[_Candidate]:
    """Return candidates, the best first: all of them on some rows, the best of these on more."""
    options, kernels, main = families(aim, y), found.kernels, usual(aim)
    few = some_rows(len(y), COARSE)
    trial = _Trial(source.take(few), y[few], aim.task, given.take(few), found.labels, pace, on_scored)
    places: list[int] = list(range(len(kernels)))
    board: list[_Candidate] = []
    if kernels[1:]:
        board = _preferred(trial.run([main], kernels, places, lambda share: watch(0.3 * share)), main, found.usual)
        places = list(dict.fromkeys([*(one.place for one in board), 0]))[: KEPT if found.usual is None else 1]
        options = [option for option in options if option is not main]
    board += trial.run(options, kernels, places, lambda share: watch(0.3 + 0.4 * share))
    if not board:  # too few rows to leave some out: the first machine in its middle setting
        return [trial.unjudged(main, kernels[0])]
    board = _preferred(_sorted(board), main, found.usual)
    more = some_rows(len(y), ROWS)
    if len(more) > 1.5 * len(few) and not pace.late:
        trial = _Trial(source.take(more), y[more], aim.task, given.take(more), found.labels, pace, on_scored)
        finalists = _finalists(board)
        again = _sorted(trial.repeat(finalists, kernels, lambda share: watch(0.7 + 0.3 * share)))
        rest = [one for one in board if one not in finalists[: len(again)]]
        board = [*_preferred(again, main, found.usual), *rest]
    watch(1.0)
    return board


def _sorted(board: Sequence[_Candidate]) -> list[_Candidate]:
    return sorted(board, key=lambda one: -one.merit)


def _finalists(board: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the first candidates, with the first of each family among them."""
    best = {one.family.name: one for one in reversed(board)}
    rest = [one for one in board if one is not best[one.family.name]]
    chosen = [*best.values(), *rest[: max(FINALISTS - len(best), 0)]]
    return [one for one in board if one in chosen]


def _preferred(board: list[_Candidate], main: Family, place: int | None = None) -> list[_Candidate]:
    """Return the board with the best of the usual machine and kernel first, unless another is better beyond doubt.

    Parameters
    ----------
    board : list of _Candidate
        The best first, all compared on the same rows.
    main : Family
        The usual machine.
    place : int or None
        Of the usual kernel; None if all are alike.
    """
    usual = [one for one in board if one.family is main and place in (None, one.place)]
    if not usual:
        return board
    own = usual[0]
    for other in board[: board.index(own)]:
        gain = other.merits / 2.0 - own.merits / 2.0  # halves, whose difference does not overflow
        error = standard_error(gain) if len(gain) > 1 else np.inf
        if np.mean(gain) > DOUBT * error:
            own = other
            break
    return [own, *(one for one in board if one is not own)]


@dataclass(frozen=True, eq=False)
class _Trial:
    """Rows on which candidates are compared in folds."""

    source: Source
    y: Array
    task: str
    given: Given
    labels: Sequence[str]
    pace: Pace
    on_scored: Callable[[Tried], None] = ignore

    def run(
        self, options: Sequence[Family], kernels: Sequence[Kernel], places: Sequence[int], watch: Watch
    ) -> list[_Candidate]:
        """Return the candidates of families with kernels, the best first."""
        found, total = [], len(options) * len(places)
        for i, family in enumerate(options):
            for j, place in enumerate(places):
                if found and self.pace.late:
                    break
                grid = family.grid(kernels[place], self.source.data(kernels[place]), self.y)
                found += self._scored(family, kernels[place], place, grid, first=not found)
                watch((i * len(places) + j + 1) / total)
        return _sorted(found)

    def repeat(self, board: Sequence[_Candidate], kernels: Sequence[Kernel], watch: Watch) -> list[_Candidate]:
        """Return candidates with what they score on these rows."""
        found = []
        for i, one in enumerate(board):
            if found and self.pace.late:
                break
            grid = {name: [value] for name, value in one.params.items()}
            found += self._scored(one.family, kernels[one.place], one.place, grid, first=not found)
            watch((i + 1) / len(board))
        return found

    def unjudged(self, family: Family, kernel: Kernel) -> _Candidate:
        """Return a candidate without a score, where no row can be left out."""
        grid = family.grid(kernel, self.source.data(kernel), self.y)
        params = {name: values[len(values) // 2] for name, values in grid.items()}
        tried = Tried(self._name(family, params, 0), np.nan, np.nan, 0.0, len(self.y))
        return _Candidate(family, 0, params, tried)

    def _name(self, family: Family, params: dict[str, Any], place: int) -> str:
        """Return what a candidate is called; the kernel is named where there are several."""
        shown = ", ".join(f"{name}={value:.4g}" for name, value in params.items() if name != "tol")
        return f"{family.name}({shown})" + (f", {self.labels[place]}" if len(self.labels) > 1 else "")

    def _scored(self, family: Family, kernel: Kernel, place: int, grid: Any, *, first: bool) -> list[_Candidate]:
        """Return the candidates of one family with one kernel; none if they cannot be fitted to these rows in time."""
        pairs = folds(self.y, self.task, self.given, max(2, min(FOLDS, len(self.y) // 4)))
        if not pairs:
            return []
        criterion = comparing(self.given.scoring, self.y, self.task, pairs)
        probability = criterion is not None or needs_probabilities(self.given.scoring, self.y, self.task)
        model = family.make(kernel, Aim(self.task, len(self.y), probability=probability))
        effort = Effort(max_time=self.pace.left(first=first))
        scorers = {"score": self.given.scoring, **({} if criterion is None else {"merit": criterion})}
        search = KernelSearchCV(model, grid, scoring=scorers, cv=pairs, refit=False, effort=effort)
        more = {} if self.given.weight is None else {"sample_weight": self.given.weight}
        begun = time.perf_counter()
        with warnings.catch_warnings(), serial_blas():
            warnings.simplefilter("ignore")  # the chosen model gives its warnings when it is fitted
            try:
                search.fit(self.source.data(kernel), self.y, **more)
            except (ValueError, ArithmeticError):
                return []
            except TimeBudgetError:
                if first:  # there is nothing to choose from
                    raise
                return []
        results = search.cv_results_
        scores, merits = (
            np.column_stack([results[f"split{k}_test_{name}"] for k in range(len(pairs))])
            for name in ("score", list(scorers)[-1])
        )
        seconds = (time.perf_counter() - begun) / len(scores)
        sizes = np.array([len(out) for _, out in pairs], dtype=float)
        out = []
        for params, values, own in zip(results["params"], scores, merits, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is left out
                mean, merit = float(np.average(values, weights=sizes)), float(np.average(own, weights=sizes))
            if np.isfinite(mean) and np.isfinite(merit):
                error = standard_error(values) if len(values) > 1 else np.nan
                tried = Tried(self._name(family, params, place), mean, error, seconds, len(self.y))
                out.append(_Candidate(family, place, params, tried, merit, own))
                self.on_scored(tried)
        return out


def _compared_by(given: Given, aim: Aim) -> str:
    """Say by what candidates are compared."""
    if aim.task == "classification" and given.scoring == "accuracy":
        return "the probabilities of the right classes"
    return given.scoring


def _counted(number: int, what: str) -> str:
    return f"one {what}" if number == 1 else f"{number} {what}s"

"""The engine: scores of all candidates on all folds, with each kernel matrix computed once.

Candidates are sorted by what they share: the transformers before the kernel, the kernel as it is learned from a
training part, and the parameters besides the one along which a family of estimators is fitted together. Each group is
fitted on the rows and columns of one matrix; what belongs to no group is fitted on its own.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils.validation import _check_method_params

import mercer.gram  # names are imported on use
from mercer.arrays import Floats, Indices
from mercer.budget import Clock, Plan, Resources
from mercer.choosing.dispatch import on_workers
from mercer.choosing.families import Family, family_of, takes_matrix
from mercer.choosing.judges import Judge
from mercer.choosing.sheets import Fold, Sheet, fresh, last_of, learned, prefix_of, sheets
from mercer.domains import Samples, Similarities, Vectors
from mercer.gram import Dense
from mercer.kernels import Kernel, Precomputed
from mercer.kernels.vectors.pointwise import OneBase
from mercer.runtime.tiling import run_tasks, spans, thread_count
from mercer.selection.held_costs import Held

__all__ = ["Work", "scored"]

_WIDE = 64  # columns from which on distances are worth keeping
_ROWS = 256
Split = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class Work:
    """What is asked of the engine.

    Attributes
    ----------
    estimator : estimator or Pipeline
    X, y : data as users give them
    splits : sequence of pairs (train, test) of indices
    scorer : callable or scikit-learn's scorer of several metrics
    fit_params, score_params : mappings
        What is passed to ``fit`` and to the scorer; arrays of n values are cut into folds.
    error_score : "raise" or float
    return_train_score : bool
    n_threads, memory : budgets
    at : Distributed, optional
        Whose workers do it.
    clock : Clock
        Until when they are waited for.
    stop : callable
        Asked now and then; a true answer ends the work with what is done.
    report : callable
        Called with the scores that are new, as `scored` returns them.
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[Split]
    scorer: Any
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    score_params: Mapping[str, Any] = field(default_factory=dict)
    error_score: Any = np.nan
    return_train_score: bool = False
    n_threads: int | None = None
    memory: Any = None
    verbose: int = 0
    at: mercer.gram.Distributed | None = None
    clock: Clock = field(default_factory=lambda: Clock.start(None))
    stop: Callable[[], bool] = lambda: False
    report: Callable[[dict[tuple[int, int], dict[str, Any]]], None] = lambda new: None

    def by_itself(self, params: Mapping[str, Any], number: int) -> dict[str, Any]:
        """Fit a candidate to the samples of a fold and score it, as scikit-learn does."""
        train, test = self.splits[number]
        return _fit_and_score(
            clone(self.estimator), self.X, self.y, scorer=self.scorer, train=train, test=test, verbose=self.verbose,
            parameters=dict(params), fit_params=dict(self.fit_params), score_params=dict(self.score_params),
            return_train_score=self.return_train_score, return_n_test_samples=True, return_times=True,
            error_score=self.error_score,
        )  # fmt: skip


@dataclass(eq=False)
class _Group:
    """Candidates that are fitted together on one matrix, for one fold."""

    sheet: Sheet
    fold: Fold
    matrix: _Matrix
    family: Family | None
    places: list[int] = field(default_factory=list)
    models: list[Any] = field(default_factory=list)


class _Matrix:
    """A kernel matrix that is computed when it is first needed, and forgotten after its last use."""

    def __init__(self, make: Callable[[], Floats]) -> None:
        self.make, self.lock, self.uses = make, threading.Lock(), 0
        self.held: Held | None = None

    def take(self) -> Held:
        with self.lock:
            if self.held is None:
                self.held = Held.of(self.make())
            return self.held

    def leave(self) -> None:
        with self.lock:
            self.uses -= 1
            if not self.uses:
                self.held = None


def scored(work: Work, candidates: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the scores of candidates on folds, by the numbers of both, as scikit-learn's ``_fit_and_score`` has them.

    What is missing was not reached before ``work.stop`` asked to end.
    """
    if work.at is not None:
        return on_workers(work, candidates, scored)
    out: dict[tuple[int, int], dict[str, Any]] = {}
    groups, alone = _planned(work, candidates)
    threads = min(thread_count(work.n_threads), max(1, len(groups)))
    ended = threading.Event()  # set by Ctrl-C: what is being fitted ends after the cost it is at
    asked = work.stop
    work = dataclasses.replace(work, stop=lambda: ended.is_set() or asked())
    failed: list[tuple[int, int]] = []

    def do(group: _Group) -> None:
        if work.stop():
            return
        done = _done(work, group)
        if done is None:
            failed.extend((place, group.fold.number) for place in group.places)
        else:
            out.update(done)
            work.report(done)
        group.matrix.leave()

    run_tasks(groups, do, n_threads=threads, stop=ended)
    for place, number in sorted({*failed, *alone}):
        if work.stop():
            break
        out[place, number] = work.by_itself(candidates[place], number)
        work.report({(place, number): out[place, number]})
    return out


# what is fitted together ------------------------------------------------------------------------------------


def _planned(work: Work, candidates: Sequence[Mapping[str, Any]]) -> tuple[list[_Group], list[tuple[int, int]]]:
    """Sort candidates into groups that share matrices; the others are returned as (candidate, fold)."""
    numbers = range(len(work.splits))
    models = [fresh(work.estimator, c) for c in candidates]
    able = [i for i, model in enumerate(models) if _is_able(work, model)]
    alone = [(i, j) for i in range(len(models)) if i not in set(able) for j in numbers]
    by_prefix: dict[Any, list[int]] = defaultdict(list)
    for i in able:
        by_prefix[_frozen_params(prefix_of(models[i]))].append(i)
    groups: list[_Group] = []
    for members in by_prefix.values():
        try:
            pages = list(sheets(prefix_of(models[members[0]]), work.X, np.asarray(work.y), _weights(work), work.splits))
            found = [group for page in pages for group in _of_sheet(work, page, {i: models[i] for i in members})]
        except Exception:  # whatever is wrong with the data, scikit-learn's way says it for each fit
            alone += [(i, j) for i in members for j in numbers]
            continue
        groups += found
    return groups, alone


def _is_able(work: Work, model: Any) -> bool:
    """Return whether K may take the place of the samples: for the model, and for what scores it."""
    scorers = work.scorer._scorers.values() if isinstance(work.scorer, _MultimetricScorer) else [work.scorer]
    if not all(isinstance(scorer, (_BaseScorer, _PassthroughScorer)) for scorer in scorers):
        return False  # a function of the user's may look at X
    prefix = prefix_of(model)
    given = set(work.fit_params) - ({"sample_weight"} if prefix is None else set())
    return work.y is not None and np.ndim(work.y) in (1, 2) and not given and takes_matrix(last_of(model))


def _weights(work: Work) -> Floats:
    weight = work.fit_params.get("sample_weight")
    return np.ones(len(work.y)) if weight is None else np.asarray(weight, dtype=float)


def _of_sheet(work: Work, sheet: Sheet, models: Mapping[int, Any]) -> list[_Group]:
    """Return the groups of one sheet, kernel by kernel."""
    matrices: list[tuple[Samples, Kernel, _Matrix]] = []
    known: list[tuple[Samples, Any, list[_Matrix]]] = []  # of kernels as they are given, one matrix per fold
    bases: dict[Any, _Base] = {}
    packed: list[tuple[Any, Samples, Kernel]] = []
    found: dict[Any, _Group] = {}
    weighted = all((sheet.weight[fold.train] > 0).all() for fold in sheet.folds)
    for i, model in models.items():
        last = last_of(model)
        last._check_parameters()
        S, kernel = _packed(sheet, last, packed)
        family = family_of(last) if weighted else None
        given = kernel, last.kernel if isinstance(last.kernel, str) else None, getattr(last, "gamma", None)
        own = next((own for T, other, own in known if T is S and other == given), None)
        if own is None:
            count = min(3, 1 + thread_count(work.n_threads))
            plan = {"Gram matrices": 12 * len(S) ** 2 * count}
            Plan(f"Gram matrices on {len(S)} samples", plan).require(work.memory or last.memory)
            own = [_matrix_of(last, kernel, S, sheet, fold, matrices, bases) for fold in sheet.folds]
            known.append((S, given, own))
        shared = _frozen_params(last, {family.parameter, *_OF_KERNEL}) if family is not None else i
        for fold, matrix in zip(sheet.folds, own, strict=True):
            key = id(matrix), fold.number, type(last), shared
            if key not in found:
                found[key] = _Group(sheet, fold, matrix, family)
                matrix.uses += 1
            found[key].places.append(i)
            found[key].models.append(model)
    order = {id(m): place for place, (_, _, m) in enumerate(matrices)}
    return sorted(found.values(), key=lambda group: order[id(group.matrix)])


def _matrix_of(
    last: Any, kernel: Kernel, S: Samples, sheet: Sheet, fold: Fold, matrices: list[Any], bases: dict[Any, _Base]
) -> _Matrix:
    """Return the matrix of a kernel as it is learned from a training part; the same one if that changes nothing."""
    own = learned(last, kernel, S, sheet.y, sheet.weight, fold.train)
    for T, other, matrix in matrices:
        if T is S and other == own:
            return matrix
    matrix = _Matrix(_maker(own, S, bases))
    matrices.append((S, own, matrix))
    return matrix


_OF_KERNEL = ("kernel", "gamma", "degree", "coef0", "memory", "n_threads")


def _packed(sheet: Sheet, last: Any, packed: list[tuple[Any, Samples, Kernel]]) -> tuple[Samples, Kernel]:
    """Pack the samples for a model's kernel, or take those that were packed for the same or for one like it."""
    given = [getattr(last, name, None) for name in ("kernel", "gamma", "degree", "coef0")]
    for other, S, kernel in packed:
        if _is_same(other, given):
            return S, kernel
    own = given[0]
    if isinstance(own, Kernel) and type(own).pack is Kernel.pack and own.domain is not Similarities:
        for _, S, kernel in packed:
            if type(kernel).pack is Kernel.pack and kernel.domain is own.domain:
                found = S, last._pack(S)[1]
                packed.append((given, *found))
                return found
    S, kernel = sheet.pack(last)
    packed.append((given, S, kernel))
    return S, kernel


def _is_same(one: list[Any], other: list[Any]) -> bool:
    """Return whether two kernels, as they were given with their parameters, are equal."""
    return all(type(a) is type(b) and (a is b or bool(np.all(a == b))) for a, b in zip(one, other, strict=True))


def _frozen_params(model: Any, without: Iterable[str] = ()) -> Any:
    """Return parameters as something to compare: values where they can be hashed, else which object it is."""
    if model is None:
        return None
    out = []
    for name, value in sorted(model.get_params(deep=not without).items()):
        if name in without:
            continue
        out.append((name, value if isinstance(value, (int, float, str, bytes, tuple, type(None))) else repr(value)))
    return tuple(out)


# matrices ---------------------------------------------------------------------------------------------------


class _Base:
    """Distances or products of all pairs, of which kernels of one number per pair are made."""

    def __init__(self, kernel: OneBase, S: Samples) -> None:
        self.kernel, self.samples, self.lock = kernel, S, threading.Lock()
        self.tile: Floats | None = None
        self.unit = 1.0

    def values(self) -> tuple[Floats, float]:
        with self.lock:
            if self.tile is None:
                tile, self.unit = self.kernel._unit_block(self.samples, self.samples)
                self.tile = np.array(tile)
            return self.tile, self.unit


def _maker(kernel: Kernel, S: Samples, bases: dict[Any, _Base]) -> Callable[[], Floats]:
    """Return what computes the matrix of a kernel; those of one distance share it where columns are many."""
    if isinstance(kernel, OneBase) and isinstance(S, Vectors) and S.width >= _WIDE and not S.is_streamed:
        prepared = kernel.prepare(S)
        base, length = kernel.base()
        shared = bases.setdefault((id(S), base), _Base(kernel, prepared))
        return lambda: _profiled(kernel, shared, length)
    return lambda: Dense().build(kernel, S, Resources(n_threads=1)).release()


def _profiled(kernel: OneBase, base: _Base, length: float) -> Floats:
    tile, unit = base.values()
    K = tile.copy()
    for rows in spans(len(K), _ROWS):
        kernel.profile(K[rows], unit / length)
    return K


# scores -----------------------------------------------------------------------------------------------------


def _done(work: Work, group: _Group) -> dict[tuple[int, int], dict[str, Any]] | None:
    """Fit and score the candidates of a group; None if something went wrong, which is said elsewhere."""
    held = group.matrix.take()
    try:
        if group.family is None:
            return _on_matrix(work, group, held)
        return _along(work, group, held)
    except Exception:
        if work.error_score == "raise" and group.family is None:
            raise
        return None


def _along(work: Work, group: _Group, held: Held) -> dict[tuple[int, int], dict[str, Any]] | None:
    """Fit all models of a family in one run, and read their scores from predictions that are then known."""
    assert group.family is not None
    sheet, fold = group.sheet, group.fold
    began = time.perf_counter()
    judge = Judge(work.scorer, sheet.y)
    models = [last_of(model) for model in group.models]
    exact = not judge.signs_suffice or work.return_train_score
    stubs = group.family.stubs(
        held, sheet.y, sheet.weight, models, fold.train, fold.test, exact=exact, stop=work.stop
    )  # fmt: skip
    if work.stop():
        return {}
    fitted = time.perf_counter()
    train, test = work.splits[fold.number]
    params = [_check_method_params(work.X, params=dict(work.score_params), indices=rows) for rows in (train, test)]
    out = {}
    for place, stub in zip(group.places, stubs, strict=True):
        result: dict[str, Any] = {"fit_error": None, "n_test_samples": len(fold.test)}
        result["test_scores"] = judge(stub, fold.test, params[1])
        if work.return_train_score:
            result["train_scores"] = judge(stub, fold.train, params[0])
        out[place, fold.number] = result
    ended = time.perf_counter()
    for result in out.values():
        result["fit_time"], result["score_time"] = (fitted - began) / len(out), (ended - fitted) / len(out)
    return out


def _on_matrix(work: Work, group: _Group, held: Held) -> dict[tuple[int, int], dict[str, Any]]:
    """Fit one model to rows and columns of the matrix."""
    sheet, fold = group.sheet, group.fold
    train, test = work.splits[fold.number]
    whole = Similarities.pack(held.double)  # which has k(x, x) of the samples left out, too
    out = {}
    for place, model in zip(group.places, group.models, strict=True):
        last = last_of(model)
        last = fresh(last, {"kernel": Precomputed(), **(last._settled() if last.kernel is None else {})})
        if "gamma" in last.get_params(deep=False):
            last.set_params(gamma=None, degree=None, coef0=None)
        weights = {}
        if "sample_weight" in work.fit_params:
            weights = {"sample_weight": sheet.weight}
        score = {}
        if work.score_params:  # in the order of the sheet
            order = np.empty(len(sheet.y), dtype=np.intp)
            order[np.concatenate([fold.train, fold.test])] = np.concatenate([train, test])
            score = {name: np.asarray(value)[order] for name, value in work.score_params.items()}
        out[place, fold.number] = _fit_and_score(
            last, whole, sheet.y, scorer=work.scorer, train=fold.train, test=fold.test, verbose=work.verbose,
            parameters=None, fit_params=weights, score_params=score,
            return_train_score=work.return_train_score, return_n_test_samples=True, return_times=True,
            error_score=work.error_score,
        )  # fmt: skip
    return out

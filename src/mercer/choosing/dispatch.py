"""A search on the workers of a Dask cluster: the same groups of candidates as in one process, and the same scores.

A task has the candidates of one kernel, and one fold if there are fewer kernels than folds, so that what shares a
matrix stays together. The data are sent once to each worker.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mercer.budget import Clock
from mercer.errors import TimeBudgetError

__all__ = ["by_kernel", "in_order", "is_ridge", "on_workers"]

_RIDGES = ("C", "alpha", "noise")
Scores = dict[tuple[int, int], dict[str, Any]]


def by_kernel(candidates: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Return places of candidates in groups that differ in a cost or a ridge alone."""
    groups: dict[Any, list[int]] = {}
    for place, candidate in enumerate(candidates):
        key = tuple((name, _mark(value)) for name, value in sorted(candidate.items()) if not is_ridge(name))
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _mark(value: Any) -> Any:
    """Return a number or a text itself, and of anything else which object it is."""
    return value if isinstance(value, (bool, int, float, str, bytes, type(None))) else ("object", id(value))


def is_ridge(name: str) -> bool:
    """Return whether a parameter is a cost or a ridge, at which a family of models is found together."""
    return name.rpartition("__")[2] in _RIDGES and "kernel" not in name


def on_workers(work: Any, candidates: Sequence[Mapping[str, Any]], scored: Callable[..., Scores]) -> Scores:
    """Return what ``scored`` does, by tasks on the workers of ``work.at``; what comes too late is left out."""
    groups, folds = by_kernel(candidates), list(range(len(work.splits)))
    portions = [[j] for j in folds] if len(groups) < len(folds) else [folds]
    out: Scores = {}
    plain = dataclasses.replace(work, at=None, n_threads=1, stop=_never, report=_nothing)
    with work.at.open(work.clock.deadline) as crew:
        held = crew.hold(plain)
        tasks = [(places, numbers) for places in groups for numbers in portions]
        calls = [(_part, scored, held, [candidates[i] for i in places], numbers) for places, numbers in tasks]
        for place, found in in_order(crew, calls, work.clock, work.stop):
            places, numbers = tasks[place]
            new = {(places[i], numbers[j]): result for (i, j), result in found.items()}
            out.update(new)
            work.report(new)
    return out


def in_order(
    crew: Any, calls: Sequence[tuple[Any, ...]], clock: Clock, stop: Callable[[], bool]
) -> Iterator[tuple[int, Any]]:
    """Have calls made by workers, and yield what they return with their places, in order, until time is up."""
    handles = []
    for call in calls:
        if stop():  # a crew of this process has worked by now
            break
        handles.append(crew.submit(*call))
    for place, handle in enumerate(handles):
        if stop() and place:
            return
        try:
            found = crew.gather([handle], clock.deadline)[0]
        except TimeBudgetError:
            return
        yield place, found


def _part(
    scored: Callable[..., Scores], work: Any, candidates: Sequence[Mapping[str, Any]], folds: list[int]
) -> Scores:
    return scored(dataclasses.replace(work, splits=[work.splits[j] for j in folds]), candidates)


def _never() -> bool:
    return False


def _nothing(new: Scores) -> None:
    return None

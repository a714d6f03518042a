"""What a search knows so far: scores by candidate and fold, the time that is left, and a file to go on from."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arguments import answer_of
from mercer.budget import Clock
from mercer.choosing.effort import Effort

if TYPE_CHECKING:
    from mercer.choosing.seen_values import SeenFile

__all__ = ["Ledger"]


@dataclass(eq=False)
class Ledger:
    """Scores by candidate and fold.

    Attributes
    ----------
    clock : Clock
    total : int
        Scores that a full search has.
    file : SeenFile or None
        Where scores are kept.
    """

    clock: Clock
    total: int
    folds: int
    progress: Callable[[float], Any] | None = None
    train: bool = False
    file: SeenFile | None = None
    results: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    @classmethod
    def of(
        cls, search: Any, effort: Effort, X: Any, y: Any, candidates: Sequence[Any], splits: Sequence[Any]
    ) -> Ledger:
        """Begin a search, with the scores of its checkpoint if there is one."""
        ledger = cls(
            Clock.start(effort.max_time), len(candidates) * len(splits), len(splits),
            progress=search.progress, train=search.return_train_score,
        )  # fmt: skip
        if effort.checkpoint is not None:
            asked = search.estimator, search.scoring, search.error_score, search.return_train_score
            seen = importlib.import_module("mercer.choosing.seen_values")
            file = ledger.file = seen.SeenFile(effort.checkpoint, seen.digest(*asked, candidates, splits, X, y))
            ledger.results = {(i, j): result for i, j, result in file.read() or []}
        return ledger

    def expired(self) -> bool:
        """Return whether time is up."""
        return self.clock.expired

    def keep(self, chunk: Sequence[int], numbers: Sequence[int], new: Mapping[tuple[int, int], Any]) -> None:
        """Enter new scores of some candidates on some folds."""
        with self._lock:
            for (i, j), result in new.items():
                self.results[chunk[i], numbers[j]] = result
            if self.progress is not None:
                share = min(1.0, len(self.results) / self.total)
                answer_of(self.progress, share, who="progress", takes="the share that is done")

    def begun(self, place: int) -> bool:
        """Return whether a candidate has a score."""
        return any((place, j) in self.results for j in range(self.folds))

    def finished(self) -> list[int]:
        """Return the candidates that have all their scores."""
        places = sorted({i for i, _ in self.results})
        return [i for i in places if all((i, j) in self.results for j in range(self.folds))]

    def result(self, place: int, number: int) -> dict[str, Any]:
        """Return what is known of a candidate on a fold; of what was left out, NaN."""
        if (place, number) in self.results:
            return self.results[place, number]
        other = next(iter(self.results.values()))["test_scores"]
        nothing = dict.fromkeys(other, np.nan) if isinstance(other, dict) else np.nan
        out = {"test_scores": nothing, "fit_error": None, "fit_time": 0.0, "score_time": 0.0, "n_test_samples": 0}
        return {**out, "train_scores": nothing} if self.train else out

    def score(
        self,
        work: Any,
        candidates: Sequence[Any],
        places: Sequence[int],
        folds: Sequence[int],
        scored: Callable[..., Any],
    ) -> None:
        """Have some candidates scored on some folds, and keep what is new."""
        missing = [i for i in places if any((i, j) not in self.results for j in folds)]
        numbers = [j for j in folds if any((i, j) not in self.results for i in missing)]
        splits = [work.splits[j] for j in numbers]
        for chunk in _chunks(missing, candidates, self.file is not None) if missing else []:
            report = functools.partial(self.keep, chunk, numbers)
            scored(dataclasses.replace(work, splits=splits, report=report), [candidates[i] for i in chunk])
            self._write()

    def _write(self) -> None:
        if self.file is not None:
            self.file.write([[i, j, result] for (i, j), result in sorted(self.results.items())])


def _chunks(places: Sequence[int], candidates: Sequence[Mapping[str, Any]], kept: bool) -> list[list[int]]:
    """Return candidates in portions after which scores are written: those of one kernel together."""
    if not kept:
        return [list(places)]
    by_kernel: dict[str, list[int]] = {}
    for i in places:
        key = repr([(name, value) for name, value in sorted(candidates[i].items()) if "kernel" in name])
        by_kernel.setdefault(key, []).append(i)
    return list(by_kernel.values())

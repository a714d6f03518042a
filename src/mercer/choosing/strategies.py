"""Which candidates are scored on which folds: all, fewer and fewer, or those that may still win.

Symbols: s_ij the score of candidate i on fold j; d_j = s_bj - s_ij by how much the best one, b, is ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import t as student

from mercer.arrays import Bools, Floats

__all__ = ["STRATEGIES", "survivors"]

STRATEGIES = ("all", "halving", "racing")
_LEVEL = 0.05  # of the test by which a race is lost
_FEWEST = 3  # folds until something can be said about chance


def survivors(
    strategy: str, count: int, folds: int, ledger: Any, metric: str | None
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield which candidates to score on which folds next; what they scored is read from the ledger in between."""
    alive, every = list(range(count)), list(range(folds))
    if strategy == "all":
        yield alive, every
        return
    number = 0
    while number < folds:
        step = 1 if strategy == "racing" and number >= _FEWEST else min(max(1, number), folds - number)
        if strategy == "racing" and number < _FEWEST:
            step = min(_FEWEST - number, folds - number)
        yield alive, every[number : number + step]
        number += step
        S = _table(ledger, alive, number, metric)
        if np.isnan(S).any():  # time is up
            return
        keep = _better_half(S) if strategy == "halving" else _not_lost(S)
        alive = [alive[i] for i in keep]


def _table(ledger: Any, places: list[int], folds: int, metric: str | None) -> Floats:
    """Return the scores of candidates on the first folds."""
    S = np.full((len(places), folds), np.nan)
    for row, i in enumerate(places):
        for j in range(folds):
            found = ledger.results.get((i, j))
            if found is not None:
                score = found["test_scores"]
                S[row, j] = score[metric] if isinstance(score, dict) else score
    return np.where(np.isnan(S) & ~_missing(ledger, places, folds), -np.inf, S)  # a fit that failed has lost


def _missing(ledger: Any, places: list[int], folds: int) -> Bools:
    return np.array([[(i, j) not in ledger.results for j in range(folds)] for i in places])


def _better_half(S: Floats) -> list[int]:
    """Return the better half of the rows, by their means, in their order."""
    order = np.argsort(-S.mean(axis=1), kind="stable")
    return sorted(order[: max(1, -(-len(S) // 2))].tolist())


def _not_lost(S: Floats) -> list[int]:
    """Return the rows that are not behind the best one by more than chance explains, by a one-sided paired test.

    Fold scores share training samples, so the test is only a rule; the best row always stays.
    """
    best = int(np.argmax(S.mean(axis=1)))
    folds = S.shape[1]
    if folds < _FEWEST:
        return list(range(len(S)))
    with np.errstate(invalid="ignore"):
        ahead = S[best] - S
        mean, spread = ahead.mean(axis=1), ahead.std(axis=1, ddof=1)
        bound = student.ppf(1.0 - _LEVEL, folds - 1) * spread / np.sqrt(folds)
        lost = (mean > bound) | ~np.isfinite(mean)
    lost[best] = False
    return np.flatnonzero(~lost).tolist()

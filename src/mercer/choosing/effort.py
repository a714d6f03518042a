"""How thoroughly a search looks, what it may cost, where it works, and which candidates it scores on which folds.

Symbols: s_ij the score of candidate i on fold j; d_j = s_bj - s_ij by how much the best one, b, is ahead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import t as student

import mercer.gram  # names are imported on use
from mercer.arrays import Bools, Floats
from mercer.budget import Bytes
from mercer.constraints import Integer, OneOf, Optional, Positive, Satisfies
from mercer.errors import CapabilityError
from mercer.spec import Spec

__all__ = ["Effort", "require_workers", "survivors"]
__public__ = ["Effort"]

STRATEGIES = ("all", "halving", "racing")
_LEVEL = 0.05  # of the test by which a race is lost
_FEWEST = 3  # folds until something can be said about chance


class Effort(Spec):
    """How thoroughly a search looks, and what it may cost: for `mercer.search` and `KernelSearchCV`.

    Seed: none of the five; it is not part of the theory.

    Parameters
    ----------
    strategy : {"all", "halving", "racing"}, default "all"
        Which candidates of a grid are scored on which folds. "halving" scores all on one fold, the better half on two,
        and so on; "racing" leaves out, fold by fold, those that are worse than the best by more than chance explains.
        Those left out have NaN for the rest and are never chosen.
    calls : int, default 40
        Candidates to try between bounds, where the criterion has no derivatives.
    restarts : int, default 2
        Further starts where it has.
    max_time : float, optional
        Seconds. A search ends with what it has seen by then, and fits the best of it.
    memory : int or str, optional
        Budget for matrices of cross-validation, which take 12 n^2 bytes each; None is that of the estimator.
    n_threads : int, optional
        Folds that are fitted at the same time; None uses every core.
    checkpoint : str or path, optional
        File of what was seen so far. The same search over the same data goes on from it, to the same bits; one of
        another search is replaced.
    random_state : int, default 0
        Of the points that are tried between bounds.

    Examples
    --------
    >>> Effort(strategy="racing", max_time=60.0)
    Effort('racing', max_time=60.0)
    """

    constraints = {
        "strategy": OneOf(*STRATEGIES),
        "calls": Integer(1),
        "restarts": Integer(0),
        "max_time": Optional(Positive()),
        "memory": Optional(Bytes()),
        "n_threads": Optional(Integer(1)),
        "checkpoint": Optional(
            Satisfies("a path", lambda value: isinstance(value, (str, os.PathLike)) and value != "", "'scores.json'")
        ),
        "random_state": Integer(0, 2**32 - 1),
    }

    def __init__(
        self,
        strategy: str = "all",
        *,
        calls: int = 40,
        restarts: int = 2,
        max_time: float | None = None,
        memory: int | str | None = None,
        n_threads: int | None = None,
        checkpoint: Any = None,
        random_state: int = 0,
    ) -> None:
        self.strategy = strategy
        self.calls = calls
        self.restarts = restarts
        self.max_time = max_time
        self.memory = memory
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.random_state = random_state


def require_workers(at: Any) -> None:
    """Raise unless `at` says where to work: None, or a `Distributed` without a Gram of its own."""
    if at is None:
        return
    if not isinstance(at, mercer.gram.Distributed):
        raise CapabilityError(
            f"at={at!r:.200} was given; Distributed(...) or None is accepted. Write for example at=Distributed()."
        )
    at.check()
    if at.gram is not None:
        raise CapabilityError(
            f"at={at!r} was given; workers of a search compute whole kernel matrices, of which each needs one, and "
            "gram= says how one matrix is spread over them. Leave gram out here, or give it to the estimator."
        )


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

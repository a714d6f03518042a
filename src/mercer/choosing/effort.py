"""How thoroughly a search looks, and what it may cost."""

from __future__ import annotations

import os
from typing import Any

from mercer.budget import Bytes
from mercer.choosing.strategies import STRATEGIES
from mercer.constraints import Integer, OneOf, Optional, Positive, Satisfies
from mercer.spec import Spec

__all__ = ["Effort"]
__public__ = __all__


class Effort(Spec):
    """How thoroughly a search looks, and what it may cost: for `mercer.search` and `KernelSearchCV`.

    Seed: none of the five; it is no part of the theory.

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
        Seconds. A search ends with what was seen until then, and fits the best of it.
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

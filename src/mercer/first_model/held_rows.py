"""Predictions of rows that take no part in a choice, and how their score grows with the rows that are learned from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.arrays import Array, Floats
from mercer.errors import TimeBudgetError
from mercer.first_model.given_rows import Given, Pair, is_enough
from mercer.first_model.row_sources import Source
from mercer.first_model.verdicts import Grown, Held, Judgement, judged
from mercer.selection.automatic import some_rows

__all__ = ["Said", "curve_of", "growth_said", "joined", "predicted", "predicted_from_fewer"]

HALVINGS = 3  # points of a learning curve before the last
FEWEST = 20  # rows that are learned from
MOST = 4000  # rows, so that the curve costs little beside the fit to all

Said = tuple[Array, Floats | None]  # predictions, and probabilities of all classes


def predicted(
    model: Any, some: Source, y: Array, weight: Floats | None, new: Source, classes: Array, max_time: float | None
) -> Said:
    """Fit a model to some rows, and return predictions for others, with the probabilities of all classes."""
    more = {} if weight is None else {"sample_weight": weight}
    fresh: Any = clone(model)
    model = fresh.set_params(max_time=max_time).fit(some.data(model.kernel), y, **more)
    T = new.data(model.kernel)
    predictions = np.asarray(model.predict(T))
    if not hasattr(model, "predict_proba"):
        return predictions, None
    P = np.zeros((len(predictions), len(classes)))
    P[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(T)
    return predictions, P


def predicted_from_fewer(
    model: Any, some: Source, y: Array, given: Given, task: str, new: Source, classes: Array, max_time: float | None
) -> dict[int, Said]:
    """Return what the model predicts when it has learned from a half of the rows (or 4000), a quarter, and an eighth.

    They are numbered in this order. Left out are parts with which there is nothing to learn, or no time.
    """
    found = {}
    for halving in range(HALVINGS):
        rows = some_rows(len(y), _size(len(y), halving))
        if len(rows) < FEWEST or not is_enough(y[rows], task):
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model gives its warnings when it is fitted to all rows
            try:
                weight = given.take(rows).weight
                found[halving] = predicted(model, some.take(rows), y[rows], weight, new, classes, max_time)
            except TimeBudgetError:
                break
    return found


def _size(n: int, halving: int) -> int:
    return min(n // 2, MOST) >> halving


def joined(pairs: Sequence[Pair], said: Sequence[Said], y: Array) -> Held:
    """Return the predictions of all parts."""
    if not pairs:
        return Held(np.zeros(0, dtype=np.intp), y[:0], y[:0], None)
    rows = np.concatenate([out for _, out in pairs])
    tables = [P for _, P in said if P is not None]
    probabilities = np.concatenate(tables) if len(tables) == len(said) else None
    return Held(rows, y[rows], np.concatenate([one for one, _ in said]), probabilities)


def curve_of(
    pairs: Sequence[Pair], fewer: Sequence[dict[int, Said]], whole: Judgement, y: Array, task: str, given: Given
) -> list[Grown]:
    """Return the score of the rows held out by the number of rows that were learned from, the fewest first.

    Parameters
    ----------
    pairs : sequence of pairs
        Rows learned from, and rows held out.
    fewer : sequence of dicts
        What `predicted_from_fewer` returned for each pair, if there was time.
    whole : Judgement
        Of the model that has learned from all these rows.
    y, task, given
        As in the choice.
    """
    if len(fewer) < len(pairs) or not pairs:
        return []
    known = np.ones(len(y), dtype=bool)
    sizes = [len(kept) for kept, _ in pairs]
    found = []
    for halving in reversed(range(HALVINGS)):
        if all(halving in one for one in fewer):
            held = joined(pairs, [one[halving] for one in fewer], y)
            judgement = judged(held, known, y, task, given.scoring, given.weight)
            rows = round(float(np.mean([_size(size, halving) for size in sizes])))
            found.append(Grown(rows, judgement.score, judgement.error))
    return [*found, Grown(round(float(np.mean(sizes))), whole.score, whole.error)] if found else []


def growth_said(curve: Sequence[Grown], scoring: str) -> list[str]:
    """Say what twice the rows were worth, if a half of them was tried.

    Examples
    --------
    >>> growth_said([Grown(100, 0.8, 0.02), Grown(200, 0.85, 0.02)], "r2")
    ['the same machine has r2 0.8 when it learns from 100 rows, 0.85 from 200']
    """
    if len(curve) < 2:
        return []
    half, whole = curve[-2:]
    return [
        f"the same machine has {scoring} {half.score:.3g} when it learns from {half.rows} rows, "
        f"{whole.score:.3g} from {whole.rows}"
    ]

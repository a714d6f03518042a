"""Support vector classifiers at several costs, and what each says of a sample that it has not seen.

Symbols: C the cost of an error, f_ab the decision value between the classes a and b, positive for a.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.problems import Solution
from mercer.selection.bounds.span_bound import leave_one_out_decisions
from mercer.selection.cost_path import cost_path

__all__ = ["margin_leave_one_out", "votes"]
__public__ = ["margin_leave_one_out"]


def margin_leave_one_out(gram: Any, codes: Indices, count: int, costs: Sequence[float]) -> list[Floats]:
    """Decision values of all pairs of classes, where a sample's own class takes part by the machine without it.

    Parameters
    ----------
    gram : Gram
        With rows.
    codes : (n,) array of int
        Class numbers, each of 0 to count - 1 at least once.
    count : int
        Number of classes.
    costs : sequence of float
        C.

    Returns
    -------
    values : list of (n, count (count - 1) / 2) arrays
        One for each cost; columns for the pairs (0, 1), (0, 2), ..., (1, 2), ..., positive for the first.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> K = Dense().build(Linear(), Vectors.pack([[3.0], [1.0], [-1.0], [-2.0]]))
    >>> margin_leave_one_out(K, np.array([0, 0, 1, 1]), 2, [10.0])[0][:, 0].round(6) + 0.0
    array([ 3.      ,  0.      , -0.333333, -2.      ])
    """
    out: list[Floats] = [np.empty((len(codes), count * (count - 1) // 2)) for _ in costs]
    for column, (a, b) in enumerate(combinations(range(count), 2)):
        index = np.flatnonzero((codes == a) | (codes == b))
        others = np.flatnonzero((codes != a) & (codes != b))
        sign = np.where(codes[index] == a, 1.0, -1.0)
        part = gram if not len(others) else gram.take(index)
        for C, solution, values in zip(costs, cost_path(part, sign, costs), out, strict=True):
            bias = -float(solution.multipliers[0])
            box = C * sign
            values[index, column] = leave_one_out_decisions(
                part, solution.coef, np.minimum(box, 0.0), np.maximum(box, 0.0), np.asarray(solution.state) + bias
            )
            values[others, column] = _elsewhere(gram, index, solution, others) + bias
    return out


def _elsewhere(gram: Any, index: Indices, solution: Solution, others: Indices) -> Floats:
    """Return K beta at samples that took no part."""
    if not len(others):
        return np.zeros(0)
    used = np.flatnonzero(solution.coef)
    return gram.rows(others, index[used]) @ solution.coef[used]


def votes(values: Floats, count: int) -> Indices:
    """Return the class with most votes of the pairs, (n,); of several the first.

    Parameters
    ----------
    values : (n, count (count - 1) / 2) array
        As `margin_leave_one_out` gives them.
    count : int
        Number of classes.

    Examples
    --------
    >>> votes(np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]), 3)
    array([0, 1])
    """
    won = np.zeros((len(values), count))
    for column, (a, b) in enumerate(combinations(range(count), 2)):
        first = values[:, column] > 0
        won[:, a] += first
        won[:, b] += ~first
    return np.argmax(won, axis=1)

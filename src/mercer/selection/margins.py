"""Kernel and cost of a support vector classifier, chosen by leaving one out.

Symbols: C the cost of an error, f_ab the decision value between the classes a and b, positive for a.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.domains import Samples
from mercer.errors import DomainError
from mercer.gram import Dense
from mercer.kernels import Kernel
from mercer.problems import Solution
from mercer.runtime.tiling import serial_blas
from mercer.selection.automatic import COARSE, Choice, Monitor, packed_for, some_rows, tell
from mercer.selection.bounds.span_bound import leave_one_out_decisions
from mercer.selection.cost_path import cost_path

__all__ = ["COSTS", "best_margin", "margin_leave_one_out", "votes"]
__public__ = ["best_margin", "margin_leave_one_out"]

COSTS = (1.0, 10.0, 100.0)
_FIRST = 10.0  # the cost at which kernels are compared
_KEPT = 3  # kernels that are tried at the other costs
_LEAST = 2  # samples of each class


def best_margin(kernels: Sequence[Kernel], X: Any, y: Any, monitor: Monitor | None = None) -> Choice:
    r"""Choose a kernel and a cost for a support vector classifier, by leaving one out.

    .. math:: \max_{k, C} \; \#\{i : \mathrm{sign} \, f_{-i}(x_i) = y_i\}

    Seed: [SS] Section 5, the span.

    Parameters
    ----------
    kernels : sequence of Kernel
        That read the same parts of the data, the smoothest last. Conditionally positive definite ones of order 1 are
        accepted.
    X, y : raw data or packed samples, and (n,) labels
        With more than 600 rows, 600 decide: take them with `some_rows` to know which.
    monitor : callable, optional
        Called with the fraction done.

    Returns
    -------
    choice : Choice
        With the kernel, ``C``, the share of hits, and the left-out class numbers of the rows that decided.

    Notes
    -----
    All kernels are compared at C = 10, the best three of them also at 1 and 100. Several classes are separated by
    pairs: where one of the two is a sample's own, the machine without the sample votes, else the machine of all. Of
    equal choices the one with the smallest cost and then the last kernel is taken. Cost a few solutions and
    factorisations of order 600.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]]
    >>> choice = best_margin([Gaussian(0.01), Gaussian(2.0)], X, ["a", "a", "a", "b", "b", "b"])
    >>> choice.kernel, choice.C, choice.score
    (Gaussian(2.0), 1.0, 1.0)
    """
    y = np.asarray(y)
    S = packed_for(kernels, X, y)
    rows = some_rows(len(y), COARSE)
    S, y = S.take(rows), y[rows]
    classes, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes)
    if len(classes) < 2 or counts.max() < _LEAST:
        raise DomainError(
            f"{len(y)} samples of {len(classes)} classes were given; two classes or more, one of them with at least "
            "two samples, are needed to leave one out. Add samples."
        )
    kept = min(_KEPT, len(kernels))
    found: dict[tuple[int, float], Indices] = {}

    def look(place: int, costs: Sequence[float], done: int) -> None:
        for C, guesses in zip(costs, _guesses(kernels[place], S, codes, len(classes), costs), strict=True):
            found[place, C] = guesses
        tell(monitor, done / (len(kernels) + kept))

    def quality(key: tuple[int, float]) -> tuple[float, float, int]:
        return float(np.mean(found[key] == codes)), -key[1], key[0]

    for place in range(len(kernels)):
        look(place, [_FIRST], place + 1)
    ranked = sorted(found, key=quality, reverse=True)
    for k, (place, _) in enumerate(ranked[:kept]):
        look(place, [C for C in COSTS if C != _FIRST], len(kernels) + k + 1)
    best = max(found, key=quality)
    tried = tuple(
        (repr(kernel), max(quality(key)[0] for key in found if key[0] == place)) for place, kernel in enumerate(kernels)
    )
    return Choice(kernels[best[0]], None, quality(best)[0], found[best], tried, C=best[1])


def _guesses(kernel: Kernel, S: Samples, codes: Indices, count: int, costs: Sequence[float]) -> list[Indices]:
    """Return left-out class numbers at some costs."""
    S = kernel.pack(S)
    gram = Dense().build(kernel.learn(S, codes), S)
    with serial_blas():  # matrices this small are done before a second thread has woken up
        return [votes(values, count) for values in margin_leave_one_out(gram, codes, count, costs)]


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

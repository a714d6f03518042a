r"""A first model without a question asked: kernels for the columns of a table, chosen by leaving one out.

Everything that is done to the data is in the kernel, so that its text describes all of it:

numbers
    ``Gaussian((l s_1, ..., l s_d)).on([...])`` with the standard deviations s_j, and l from a grid.
categories
    ``Match().on(name)``.
texts
    ``TfIdf().normalized().on(name)`` if most of them have several words, ``PartialTree().normalized().on(name)`` if
    all of them are trees in brackets, else ``Spectrum(p).normalized().on(name)`` with the largest p up to 3 that no
    text is too short for.

Several of these are joined by a sum (effects add up) and by a product (effects depend on each other); the
better one is kept. Symbols: l the length scale in standard deviations, alpha the ridge.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

import mercer.kernels  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices, real_numbers
from mercer.domains import Samples
from mercer.errors import DomainError, ParameterError, TargetError
from mercer.kernels import Gaussian, Kernel
from mercer.selection.path import mean_leave_one_out, ridge_path

__all__ = [
    *("COARSE", "ROWS", "Choice", "best_means", "best_ridge", "column_kernels", "find_task", "some_rows"),
    "table_kernels",
]
__public__ = ["Choice", "best_means", "best_ridge", "find_task", "table_kernels"]

ROWS = 2000  # at most this many rows decide; the model itself is fitted to all
COARSE = 600  # rows that decide between kernels, each of which costs an eigendecomposition
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # length scales in units of sqrt(d) standard deviations
RIDGES = np.logspace(-6.0, 2.0, 33)  # in units of the mean of k(x, x)
FEW = 10  # different whole numbers that may be classes

Monitor = Callable[[float], Any]


@dataclass(frozen=True)
class Choice:
    """The best of some models, and how good each was.

    Attributes
    ----------
    kernel : Kernel
        Kernel of the best model.
    alpha : float or None
        Its ridge, for regression.
    score : float
        R^2 or the share of hits of the left-out predictions on the rows that decided.
    predictions : (n,) array
        Left-out predictions of these rows: values, or class numbers among the sorted labels.
    tried : tuple of (str, float)
        Each kernel with its best score, on the rows that decided between kernels.
    C : float or None
        The cost of an error, for support vector machines.
    """

    kernel: Kernel
    alpha: float | None
    score: float
    predictions: Array
    tried: tuple[tuple[str, float], ...]
    C: float | None = None


def find_task(y: Any) -> str:
    """Return what kind of prediction a target asks for: ``"classification"`` or ``"regression"``.

    Texts and truth values are classes. Numbers are classes if they are whole and there are only two
    different ones, or at most ten with five rows for each on average; any others are quantities.

    Examples
    --------
    >>> find_task(["a", "b", "a"]), find_task([0.0, 1.0, 1.0]), find_task([1.5, 2.0, 7.0])
    ('classification', 'classification', 'regression')
    """
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        return "classification"
    distinct = len(np.unique(y))
    whole = bool(np.all(y == np.floor(y)))
    few = distinct == 2 or (2 < distinct <= FEW and len(y) >= 5 * distinct)
    return "classification" if whole and few else "regression"


def some_rows(n: int, limit: int = ROWS) -> Indices:
    """Return which rows decide: all, or `limit` of them drawn once and for all, in their order."""
    if n <= limit:
        return np.arange(n, dtype=np.intp)
    return np.sort(np.random.default_rng(0).choice(n, size=limit, replace=False)).astype(np.intp)


def table_kernels(columns: Mapping[str, Any], kinds: Mapping[str, str]) -> tuple[Kernel, ...]:
    """Return the kernels that may suit a table, one per length scale and way of joining the columns.

    Parameters
    ----------
    columns : mapping from names to columns
        Without missing values.
    kinds : mapping from names to "number", "category" or "text"
        Other columns are left out, and so are numbers that are all the same.

    Examples
    --------
    >>> columns = {"age": [20.0, 30.0, 40.0], "city": ["Oslo", "Rome", "Oslo"]}
    >>> table_kernels(columns, {"age": "number", "city": "category"})[0]
    Gaussian(2.041).on('age') + Match().on('city')
    """
    spreads = {name: standard_deviation(columns[name]) for name, kind in kinds.items() if kind == "number"}
    spreads = {name: s for name, s in spreads.items() if s > 0.0}
    others: list[Kernel] = [mercer.kernels.Match().on(name) for name, kind in kinds.items() if kind == "category"]
    others += [text_kernel(columns[name]).on(name) for name, kind in kinds.items() if kind == "text"]
    if not spreads and not others:
        raise DomainError(
            f"The columns {', '.join(map(repr, list(kinds)[:10]))} do not differ from row to row; at least one must. "
            "Give columns of numbers, categories or texts that vary."
        )
    numbers = _numbers(spreads) if spreads else []
    joined: list[Kernel] = []
    for first in numbers or [None]:
        parts = others if first is None else [first, *others]
        joined.append(reduce(operator.add, parts))
        if len(parts) > 1:
            # halved and raised, so that rows without a category in common are not wholly unlike
            milder = [0.5 * part + 0.5 for part in parts[1:]]
            joined.append(reduce(operator.mul, [parts[0], *milder]))
    return tuple(joined)


def column_kernels(columns: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Kernel]:
    """Return one kernel for each column that varies, by the column's name: sources to be weighed against each other.

    Parameters
    ----------
    columns, kinds : as in `table_kernels`

    Examples
    --------
    >>> columns = {"age": [20.0, 30.0, 40.0], "city": ["Oslo", "Rome", "Oslo"]}
    >>> column_kernels(columns, {"age": "number", "city": "category"})
    {'age': Gaussian(8.165).on('age'), 'city': Match().on('city')}
    """
    found: dict[str, Kernel] = {}
    for name, kind in kinds.items():
        if kind == "number" and (spread := standard_deviation(columns[name])) > 0.0:
            found[name] = Gaussian(_rounded(spread)).on(name)
        elif kind == "category":
            found[name] = mercer.kernels.Match().on(name)
        elif kind == "text":
            found[name] = text_kernel(columns[name]).on(name)
    if not found:
        raise DomainError(
            f"The columns {', '.join(map(repr, list(kinds)[:10]))} do not differ from row to row; at least one must. "
            "Give columns of numbers, categories or texts that vary."
        )
    return found


def standard_deviation(column: Any) -> float:
    """Return the standard deviation of numbers; zero if it is indistinguishable from rounding."""
    values = np.asarray(column, dtype=float)
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    deviation = float(np.std(values / largest))  # in units of the largest: squares neither overflow nor vanish
    return deviation * largest if deviation > 1e-14 else 0.0


def _numbers(spreads: Mapping[str, float]) -> list[Kernel]:
    names, unit = list(spreads), math.sqrt(len(spreads))
    lengths = [tuple(_rounded(factor * unit * s) for s in spreads.values()) for factor in FACTORS]
    if len(names) == 1:
        return [Gaussian(length[0]).on(names[0]) for length in lengths]
    return [Gaussian(length).on(names) for length in lengths]


def _rounded(value: float) -> float:
    """Four digits: the text of a kernel is read by people, and scores do not see the fifth."""
    return float(f"{min(max(value, 1e-300), 1e300):.4g}")


def text_kernel(texts: Sequence[str]) -> Kernel:
    """Return the kernel for texts: of trees in brackets, of words, or of letters."""
    if all(text.startswith("(") and text.rstrip().endswith(")") and _is_closed(text) for text in texts):
        return mercer.kernels.PartialTree().normalized()
    if 2 * sum(len(text.split(None, 1)) > 1 for text in texts) > len(texts):
        return mercer.kernels.TfIdf().normalized()
    shortest = min(map(len, texts))
    return mercer.kernels.Spectrum(max(1, min(3, shortest))).normalized()


def _is_closed(text: str) -> bool:
    """Whether brackets hold all of a text, and others are in them."""
    return text.count("(") == text.count(")") > 1


def best_ridge(kernels: Sequence[Kernel], X: Any, y: Any, monitor: Monitor | None = None) -> Choice:
    r"""Choose a kernel and a ridge for kernel ridge regression with an intercept, by leaving one out.

    .. math:: \min_{k, \alpha} \sum_i (y_i - f_{-i}(x_i))^2

    Seed: [KIKS] Section 4.1.1.

    Parameters
    ----------
    kernels : sequence of Kernel
        Kernels that read the same parts of the data.
    X, y : raw data or packed samples, and (n,) numbers
        All are used: take `some_rows` before. With more than 600 rows, 600 decide between kernels.
    monitor : callable, optional
        Called with the fraction done.

    Examples
    --------
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> best_ridge([Gaussian(0.01), Gaussian(1.0)], X, np.sin(X[:, 0])).kernel
    Gaussian(1.0)
    """
    y = real_numbers(y, "y", TargetError)
    S = packed_for(kernels, X, y)
    rows = some_rows(len(y), COARSE)
    found: list[tuple[float, float, Floats]] = []
    for place, kernel in enumerate(kernels):
        found.append(_ridge(kernel, S.take(rows), y[rows]))
        tell(monitor, (place + 1) / (len(kernels) + (len(rows) < len(y))))
    best = int(np.argmax([score for score, _, _ in found]))
    score, alpha, predictions = found[best]
    if len(rows) < len(y):
        score, alpha, predictions = _ridge(kernels[best], S, y)
        tell(monitor, 1.0)
    tried = tuple((repr(kernel), row[0]) for kernel, row in zip(kernels, found, strict=True))
    return Choice(kernels[best], alpha, score, predictions, tried)


def _ridge(kernel: Kernel, S: Samples, y: Floats) -> tuple[float, float, Floats]:
    """Return the best score over the ridges, that ridge, and its left-out predictions."""
    S = kernel.pack(S)
    K = kernel.learn(S, y)(S)
    size = float(np.mean(np.diagonal(K))) or 1.0
    unit = float(np.abs(y - y.mean()).max()) or 1.0  # so that squares neither overflow nor vanish
    alphas = np.array([_rounded(size * ridge) for ridge in RIDGES])
    centre = float(y.mean())
    left_out = ridge_path(K, (y - centre) / unit, alphas, intercept=True)
    total = float(np.sum(((y - centre) / unit) ** 2)) or 1.0
    scores = 1.0 - np.sum((left_out - (y - centre) / unit) ** 2, axis=1) / total
    # of ridges that are equal up to rounding the largest is the simplest model
    best = len(alphas) - 1 - int(np.argmax(np.round(scores, 9)[::-1]))
    return float(scores[best]), float(alphas[best]), centre + unit * left_out[best]


def best_means(kernels: Sequence[Kernel], X: Any, y: Any, monitor: Monitor | None = None) -> Choice:
    """Choose a kernel for the nearest-mean classifier by leaving one out.

    Seed: [HSS] Eqs. (4)-(6).

    Parameters
    ----------
    kernels : sequence of Kernel
        Kernels that read the same parts of the data.
    X, y : raw data or packed samples, and (n,) labels
        All are used: take `some_rows` before.
    monitor : callable, optional
        Called with the fraction done.

    Examples
    --------
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> best_means([Gaussian(0.1), Gaussian(1.0)], X, ["a", "a", "b", "b"]).score
    1.0
    """
    y = np.asarray(y)
    S = packed_for(kernels, X, y)
    classes, codes = np.unique(y, return_inverse=True)
    found: list[tuple[float, Indices]] = []
    for place, kernel in enumerate(kernels):
        packed = kernel.pack(S)
        values = mean_leave_one_out(kernel.learn(packed, codes)(packed), codes, len(classes))
        guesses = values.argmax(axis=1)
        found.append((float(np.mean(guesses == codes)), guesses))
        tell(monitor, (place + 1) / len(kernels))
    # of kernels that hit as often the last has the largest length scale: the smoothest
    best = len(found) - 1 - int(np.argmax([score for score, _ in found][::-1]))
    tried = tuple((repr(kernel), row[0]) for kernel, row in zip(kernels, found, strict=True))
    return Choice(kernels[best], None, found[best][0], found[best][1], tried)


def packed_for(kernels: Sequence[Kernel], X: Any, y: Array) -> Samples:
    """Return packed samples, if there are two or more with a target each, and a kernel."""
    if not kernels:
        raise ParameterError("No kernel was given; at least one is needed to choose from. Give a list of kernels.")
    S = kernels[0].pack(X)
    if len(S) != len(y) or len(y) < 2:
        raise DomainError(
            f"{len(S)} samples with {len(y)} targets were given; leaving one out needs two samples or more, with a "
            "target each. Give X and y of the same length, or name the estimator with all its parameters."
        )
    return S


def tell(monitor: Monitor | None, fraction: float) -> None:
    """Report to a monitor, if there is one, how much is done."""
    if monitor is not None:
        monitor(fraction)

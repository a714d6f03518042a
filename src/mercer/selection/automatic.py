r"""A first model without a question asked: which kernels may suit the columns of a table.

Everything that is done to the data is in the kernel, so that its text describes all of it:

numbers
    ``Gaussian((l s_1, ..., l s_d)).on([...])`` with the standard deviations s_j, and l from a grid.
categories
    ``Match().on(name)``.
texts
    ``TfIdf().normalized().on(name)`` if most of them have several words, ``PartialTree().normalized().on(name)`` if
    all of them are trees in brackets, else ``Spectrum(p).normalized().on(name)`` with the largest p up to 3 that no
    text is too short for.

Several of these are joined by a sum (effects add up) and by a product (effects depend on each other). Which one is
kept, `mercer.choosing` decides. Symbols: l the length scale in standard deviations.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

import mercer.kernels  # whose names are imported when they are used
from mercer.arrays import Array, Indices
from mercer.domains import Samples
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian, Kernel

__all__ = [
    "COARSE", "RIDGES", "ROWS", "base_kernels", "column_kernels", "find_task", "packed_for", "some_rows",
    "table_kernels", "text_kernel",
]  # fmt: skip
__public__ = ["base_kernels", "find_task", "table_kernels"]

ROWS = 2000  # at most this many rows decide; the model itself is fitted to all
COARSE = 600  # rows that decide between kernels, each of which costs an eigendecomposition
# Length scales in units of sqrt(d) standard deviations; the usual one first, for it is compared even if time is short.
FACTORS = (1.0, 0.5, 2.0, 0.25, 4.0, 8.0)
RIDGES = np.logspace(-6.0, 2.0, 33)  # in units of the mean of k(x, x)
MOST_APART = 4  # columns of numbers that have kernels of their own in a composed one
FEWEST_OF_PERIOD = 12  # rows in which a period may be looked for
FEW = 10  # different whole numbers that may be classes


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
    Gaussian(8.165).on('age') + Match().on('city')
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


def base_kernels(columns: Mapping[str, Any], kinds: Mapping[str, str], y: Any) -> list[Kernel]:
    """Return simple kernels of the columns of a table, to be composed by sums and products.

    A column of numbers has a line, a smooth function and, if no value occurs twice, a period, which starts where the
    periodogram of the target is largest; with more than four such columns, a line and a smooth function of all of them.
    Categories and texts have the kernels of `table_kernels`.

    Parameters
    ----------
    columns, kinds : as in `table_kernels`
    y : (n,) numbers

    Examples
    --------
    >>> t = np.arange(24.0)
    >>> base_kernels({"t": t}, {"t": "number"}, np.sin(2 * np.pi * t / 6))
    [(Linear() + Constant(132.3)).on('t'), Gaussian(6.922).on('t'), Periodic(6.0).on('t')]
    """
    spreads = {name: standard_deviation(columns[name]) for name, kind in kinds.items() if kind == "number"}
    spreads = {name: s for name, s in spreads.items() if s > 0.0}
    found: list[Kernel] = []
    if len(spreads) > MOST_APART:
        lengths = tuple(_rounded(math.sqrt(len(spreads)) * s) for s in spreads.values())
        found += [mercer.kernels.Linear().on(list(spreads)), Gaussian(lengths).on(list(spreads))]
    else:
        for name, spread in spreads.items():
            x = np.asarray(columns[name], dtype=float)
            level = _rounded(float(np.mean(x)) ** 2 + 1e-6 * spread**2)  # a line that need not pass through the origin
            found.append((mercer.kernels.Linear() + mercer.kernels.Constant(level)).on(name))
            found.append(Gaussian(_rounded(spread)).on(name))
            if len(np.unique(x)) == len(x) >= FEWEST_OF_PERIOD:
                found.append(mercer.kernels.Periodic(_rounded(_period(x, np.asarray(y, dtype=float))), 1.0).on(name))
    found += [mercer.kernels.Match().on(name) for name, kind in kinds.items() if kind == "category"]
    found += [text_kernel(columns[name]).on(name) for name, kind in kinds.items() if kind == "text"]
    if not found:
        raise DomainError(
            f"The columns {', '.join(map(repr, list(kinds)[:10]))} do not differ from row to row; at least one must. "
            "Give columns of numbers, categories or texts that vary."
        )
    return found


def _period(x: Any, y: Any) -> float:
    """Return the period with the largest share in a target without its trend (Lomb and Scargle)."""
    line = np.polynomial.polynomial.Polynomial.fit(x, y, 1)
    rest, span, n = y - line(x), float(np.ptp(x)), len(x)
    rest = rest - rest.mean()
    frequencies = np.arange(2.0, n // 2 + 1.0, 0.25) / (span * n / (n - 1.0))
    if not np.any(rest):
        return span / 2.0
    power = importlib.import_module("scipy.signal").lombscargle(x - x.min(), rest, 2.0 * np.pi * frequencies)
    return float(1.0 / frequencies[int(np.argmax(power))])


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

"""Sums whose order depends only on the number of terms, not on who computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mercer.runtime.workers import Crew

__all__ = ["pairwise", "tree_sum"]


def tree_sum(crew: Crew, count: int, term: Callable[[int], Any]) -> Any:
    """Return a handle of the sum of tuples of arrays, added in an order that depends on their number alone.

    Parameters
    ----------
    crew : Crew
    count : int
        Number of terms, at least one.
    term : callable
        ``term(i)`` returns a handle of term i.

    Notes
    -----
    Neighbours are added first. Terms are asked for from the first to the last, and whatever can be added is added
    before the next is asked for: of count terms about log2(count) exist at once.

    Examples
    --------
    >>> from mercer.runtime.workers import Here
    >>> tree_sum(Here(), 3, lambda i: (float(i), 1.0))
    (3.0, 3.0)
    """
    return _over(crew, term, count, 0, 1 << max(count - 1, 0).bit_length())


def _over(crew: Crew, term: Callable[[int], Any], count: int, first: int, size: int) -> Any:
    """Sum of the terms from the first on, at most `size` of them, a power of two."""
    if size == 1:
        return term(first)
    half = size // 2
    left = _over(crew, term, count, first, half)
    if first + half >= count:
        return left
    return crew.submit(_added, left, _over(crew, term, count, first + half, half))


def pairwise(terms: Sequence[Any]) -> Any:
    """Return the sum of arrays in the order of `tree_sum`."""
    terms = list(terms)
    while len(terms) > 1:
        pairs = [terms[i] + terms[i + 1] for i in range(0, len(terms) - 1, 2)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]


def _added(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """New arrays: those of the terms may be needed once more, if a worker dies."""
    return tuple(a + b for a, b in zip(one, other, strict=True))

"""A bound as a number that remembers its terms.

Symbols: m samples, delta the probability with which the bound may fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from mercer.constraints import Integer, Interval, Positive

__all__ = ["Bound", "Term"]
__public__ = __all__

COUNT = Integer(1)
DELTA = Interval(1e-100, 1.0, closed="left")  # parts of which, in a union, are still numbers
SHARE = Interval(0.0, 1.0)
NUMBER = Interval(-float("inf"), float("inf"))
SIZE = Interval(0.0, float("inf"), closed="left")
WIDTH = Positive()


class Term(NamedTuple):
    """One part of a bound.

    Attributes
    ----------
    name : str
        What it stands for.
    formula : str
        How it is computed, in plain text.
    value : float

    Examples
    --------
    >>> Term("confidence", "3 sqrt(ln(2 / delta) / (2 m))", 0.41).name
    'confidence'
    """

    name: str
    formula: str
    value: float


class Bound(float):
    """A number that a risk exceeds with probability delta at most, with the terms that it is made of.

    Seed: none of the five; it holds what the bounds of [ST] and [SS] consist of.

    Parameters
    ----------
    value : float
    name : str
        Of the theorem.
    bounds : str
        What is bounded.
    terms : sequence of Term
    delta : float
        Probability over the sample that the bound fails.
    formula : str, default "the sum of the terms"
        How the terms make the number.
    paid : sequence of str
        What was learned from the same data and is paid for in the terms.
    unpaid : sequence of str
        What must have been fixed before the data were seen: if it was not, the number is no bound.
    trivial : float, default 1.0
        The number that would be true without any data; a bound that is no smaller says nothing.

    Notes
    -----
    It is a float, and computes, compares and prints as one; `table` shows the terms.

    Examples
    --------
    >>> bound = Bound(0.3, "example", "P(error)", [Term("training error", "mean", 0.1), Term("rest", "c", 0.2)], 0.05)
    >>> bound
    0.3
    >>> bound < 0.5, bound.is_vacuous
    (True, False)
    >>> print(bound.table())
    example: P(error) <= 0.3 with probability 0.95
      training error  mean  0.1
      rest            c     0.2
    """

    name: str
    bounds: str
    terms: tuple[Term, ...]
    delta: float
    formula: str
    paid: tuple[str, ...]
    unpaid: tuple[str, ...]
    trivial: float

    def __new__(
        cls,
        value: float,
        name: str = "",
        bounds: str = "",
        terms: Iterable[Term] = (),
        delta: float = 0.05,
        *,
        formula: str = "the sum of the terms",
        paid: Iterable[str] = (),
        unpaid: Iterable[str] = (),
        trivial: float = 1.0,
    ) -> Bound:
        self = super().__new__(cls, value)
        self.name, self.bounds, self.terms, self.delta = name, bounds, tuple(terms), float(delta)
        self.formula, self.paid, self.unpaid, self.trivial = formula, tuple(paid), tuple(unpaid), float(trivial)
        return self

    @classmethod
    def of_terms(cls, name: str, bounds: str, terms: Iterable[Term], delta: float, **more: object) -> Bound:
        """Return the sum of terms as a bound."""
        kept = tuple(terms)
        return cls(sum(term.value for term in kept), name, bounds, kept, delta, **more)  # pyright: ignore

    def replaced(self, **changes: Any) -> Bound:
        """Return the same number, described otherwise: name, bounds, terms, delta, formula, paid, unpaid or trivial."""
        return Bound(float(self), **{**vars(self), **changes})

    @property
    def is_vacuous(self) -> bool:
        """Whether the number is no smaller than what is true without data."""
        return not float(self) < self.trivial

    def table(self) -> str:
        """Return the bound and its terms as text, a line each."""
        first = max((len(term.name) for term in self.terms), default=0)
        second = max((len(term.formula) for term in self.terms), default=0)
        lines = [f"{self.name}: {self.bounds} <= {float(self):.4g} with probability {1.0 - self.delta:g}"]
        lines += [f"  {t.name:{first}}  {t.formula:{second}}  {t.value:.4g}" for t in self.terms]
        if self.formula != "the sum of the terms":
            lines.append(f"  {self.formula}")
        return "\n".join(lines)

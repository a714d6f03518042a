"""Power series in the dot product: what a kernel psi(<x, z>) is made of, degree by degree.

Symbols: t = <x, z>, psi(t) = sum_n a_n t^n, I the set of degrees n with a_n > 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats

__all__ = ["Degrees", "Series"]


@dataclass(frozen=True)
class Degrees:
    """The degrees that occur in a power series: some numbers, and progressions start, start + step, ...

    Finite sets and progressions are all that sums, products and exponentials of polynomials and exponentials can
    make, so that what holds for infinitely many degrees is decided, not sampled.

    Parameters
    ----------
    single : frozenset of int
    runs : frozenset of (start, step)

    Examples
    --------
    >>> even = Degrees.of([2]).sums()
    >>> even
    Degrees(single=frozenset(), runs=frozenset({(0, 2)}))
    >>> print(even, "|", even + Degrees.of([0, 1]), "|", Degrees.of([0, 3]))
    0, 2, 4, ... | 0, 1, 2, ... | 0, 3
    >>> even.endless(odd=False), even.endless(odd=True)
    (True, False)
    """

    single: frozenset[int] = frozenset()
    runs: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def of(cls, numbers: Iterable[int], runs: Iterable[tuple[int, int]] = ()) -> Degrees:
        """Return the set of these numbers and progressions, each set written in one way only."""
        numbers, runs = {int(n) for n in numbers}, set(runs)
        if not runs:
            return cls(frozenset(numbers))
        step = math.lcm(*(step for _, step in runs))
        last = max([*numbers, *(start for start, _ in runs)])  # beyond, membership repeats with the step
        inside = [n in numbers or _within(n, runs) for n in range(last + 2 * step + 1)]
        tail = inside[last + 1 : last + 1 + step]
        step = next(p for p in range(1, step + 1) if step % p == 0 and tail == tail[:p] * (step // p))
        starts = set()
        for n in range(last + 1, last + 1 + step):
            if inside[n]:
                while n >= step and inside[n - step]:
                    n -= step
                starts.add((n, step))
        rest = (n for n, there in enumerate(inside) if there and not _within(n, starts))
        return cls(frozenset(rest), frozenset(starts))

    def __contains__(self, n: int) -> bool:
        return n in self.single or _within(n, self.runs)

    def __or__(self, other: Degrees) -> Degrees:
        return Degrees.of(self.single | other.single, self.runs | other.runs)

    def __add__(self, other: Degrees) -> Degrees:
        """Return all sums of a degree of each: what a product of series has."""
        runs = {
            (a + start, step) for s, o in ((self, other), (other, self)) for a in s.single for start, step in o.runs
        }
        for a, p in self.runs:
            for b, q in other.runs:  # p i + q j is q j + p i for j below p / gcd: multiples of p beyond
                runs |= {(a + b + q * j, p) for j in range(p // math.gcd(p, q))}
        return Degrees.of({a + b for a in self.single for b in other.single}, runs)

    def sums(self) -> Degrees:
        """Return all sums of any number of degrees, the empty one included: what an exponential has."""
        some = sorted(
            {n for n in self.single if n} | {n for start, step in self.runs for n in (start, start + step) if n}
        )
        if not some:
            return Degrees.of([0])
        step = some[0]
        generators = {n % step: n for n in reversed(some)}  # of each class, the least is enough
        for start, stride in self.runs:
            for n in range(start, start + stride * step, stride):
                generators[n % step] = min(n, generators.get(n % step, n))
        least = {0: 0}
        for _ in range(step):  # the least sum in each class modulo the step (Apery)
            for a in list(least.values()):
                for b in generators.values():
                    least[(a + b) % step] = min(a + b, least.get((a + b) % step, a + b))
        return Degrees.of((), {(n, step) for n in least.values()})

    def endless(self, *, odd: bool) -> bool:
        """Return whether infinitely many odd (or even) degrees occur."""
        return any(step % 2 == 1 or start % 2 == odd for start, step in self.runs)

    @property
    def finite(self) -> bool:
        """Whether there are finitely many."""
        return not self.runs

    def __str__(self) -> str:
        if self.finite:
            return ", ".join(map(str, sorted(self.single))) or "none"
        last = max([*self.single, *(start for start, _ in self.runs)])
        step = max(step for _, step in self.runs)
        shown = [n for n in range(last + 3 * step + 1) if n in self]
        return ", ".join(map(str, shown[: max(3, len([n for n in shown if n <= last]))])) + ", ..."


def _within(n: int, runs: Iterable[tuple[int, int]]) -> bool:
    return any(n >= start and (n - start) % step == 0 for start, step in runs)


@dataclass(frozen=True)
class Series:
    r"""A function of the dot product as a power series, closed under sums, products and exponentials.

    .. math:: \psi(t) = \sum_{n \ge 0} a_n t^n

    Seed: [HSS] Proposition 7, Eqs. (27), (28): psi(<x, x'>) is positive definite in every dimension if and only if no
    a_n is negative.

    Parameters
    ----------
    head : callable
        ``head(count)`` returns a_0, ..., a_{count - 1}.
    value : callable
        psi itself, of arrays of real or complex numbers.
    degrees : Degrees
        The n with a_n > 0, given that none is negative except perhaps a_0.

    Examples
    --------
    >>> from mercer.kernels import ExponentialDot, Linear
    >>> series = (Linear() ** 2 + ExponentialDot(1.0)).series()
    >>> series.coefficients(4).round(3)
    array([1.   , 1.   , 1.5  , 0.167])
    >>> print((Linear() ** 2).exp().series().degrees)
    0, 2, 4, ...
    """

    head: Callable[[int], Floats]
    value: Callable[[Any], Any]
    degrees: Degrees

    @classmethod
    def of(cls, coefficients: Any) -> Series:
        """Return the polynomial with these coefficients a_0, a_1, ..."""
        a = np.atleast_1d(np.asarray(coefficients, dtype=float))

        def value(t: Any) -> Any:
            return np.polynomial.polynomial.polyval(t, a)

        return cls(lambda count: _padded(a, count), value, Degrees.of(np.flatnonzero(a > 0)))

    @property
    def dense(self) -> bool:
        """Whether a_0 > 0 and infinitely many even and infinitely many odd degrees occur.

        That is Pinkus' condition for a strictly positive definite kernel, and since degrees come in progressions the
        sums of 1 / n over the even and over the odd ones diverge: it is the condition for a universal kernel as well.
        """
        return bool(self.head(1)[0] > 0) and self.degrees.endless(odd=False) and self.degrees.endless(odd=True)

    def coefficients(self, count: int) -> Floats:
        """Return a_0, ..., a_{count - 1}."""
        return self.head(count)

    def __call__(self, t: Any) -> Any:
        """Return psi(t) for an array of real or complex numbers."""
        return self.value(t)

    def __add__(self, other: Series) -> Series:
        return Series(
            lambda count: self.head(count) + other.head(count),
            lambda t: self.value(t) + other.value(t),
            self.degrees | other.degrees,
        )

    def __mul__(self, other: Series) -> Series:
        return Series(
            lambda count: np.convolve(self.head(count), other.head(count))[:count],
            lambda t: self.value(t) * other.value(t),
            self.degrees + other.degrees,
        )

    def __pow__(self, exponent: int) -> Series:
        if exponent == 1:
            return self
        half = self ** (exponent // 2)
        whole = half * half * self if exponent % 2 else half * half
        return Series(whole.head, lambda t: self.value(t) ** exponent, whole.degrees)

    def exp(self) -> Series:
        """Return exp(psi): n b_n = sum_{k=1}^n k a_k b_{n-k}, b_0 = exp(a_0)."""

        def head(count: int) -> Floats:
            a = self.head(count)
            b = np.zeros(count)
            b[:1] = np.exp(a[:1])
            slope = np.arange(count) * a
            for n in range(1, count):
                b[n] = slope[1 : n + 1] @ b[n - 1 :: -1][:n] / n
            return b

        return Series(head, lambda t: np.exp(self.value(t)), self.degrees.sums())


def _padded(a: Floats, count: int) -> Floats:
    return np.concatenate([a, np.zeros(max(0, count - len(a)))])[:count]

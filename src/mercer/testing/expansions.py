"""The laws of elements of a Hilbert space, each one function; `check_expansion` tests all of them.

Symbols: f the element, g and h others of the same space made of the samples x, b the intercept of f.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.gram import Expansion, FeatureExpansion
from mercer.gram.element import Element

__all__ = ["ELEMENT_LAWS", "ElementLaw", "check_expansion"]
__public__ = ["ELEMENT_LAWS", "check_expansion"]

_MOST = 12  # samples checked one by one
_SLACK = 1e-9  # rounding allowed, relative to the sum of the absolute terms of an inner product


class _Broken(AssertionError):
    """A law does not hold; the caller adds its name."""


class _Trial:
    """An element, some samples, and two other elements made of these samples."""

    def __init__(self, f: Element, X: Any) -> None:
        self.f, self.X = f, X
        kernel = f.kernel
        self.S: Samples = kernel.prepare(X if isinstance(X, Samples) else kernel.pack(X))
        self.points = [self.S[i] for i in range(min(len(self.S), _MOST))]
        self.rng = np.random.default_rng(0)
        self.g, self.h = self._other(), self._other()

    def _other(self) -> Element:
        """Return a random element made of the samples, of about the length of f, with as many outputs."""
        c = self.rng.normal(size=(len(self.S), *self.f.outputs))
        if self.f.kernel.order:
            c = _balanced(self.f, self.S, c)
        other: Element
        if isinstance(self.f, FeatureExpansion):
            F, keys = self.f.kernel.features(self.S, self.f.keys)
            other = FeatureExpansion(self.f.kernel, keys, np.asarray(F.T @ c), np.zeros(self.f.outputs))
        else:
            other = Expansion(self.f.kernel, self.S, c, np.zeros(self.f.outputs))
        mine, its = size_of(self.f), size_of(other)
        scale = np.where(its > 0.0, mine / np.where(its > 0.0, its, 1.0), 1.0)
        return other * np.where(scale > 0.0, scale, 1.0)

    @cached_property
    def values(self) -> Floats:
        """F - b at the samples checked, (q,) or (q, k)."""
        return self.f.without_intercept()(self.S[: len(self.points)])

    @property
    def definite(self) -> bool:
        """Whether the space has a norm, or a seminorm."""
        return self.f.kernel.order is not None

    def representer(self, place: int, minus: int | None = None) -> Expansion:
        """Return k(x, .), or k(x, .) - k(z, .)."""
        one = Expansion(self.f.kernel, self.points[place], np.ones(1), np.asarray(0.0))
        return one if minus is None else one - self.representer(minus)

    def same(self, got: Any, expected: Any, size: Any, what: str) -> None:
        """Raise unless numbers agree up to rounding relative to a size."""
        wrong = ~(np.abs(np.asarray(got) - np.asarray(expected)) <= _SLACK * np.asarray(size) + np.finfo(float).tiny)
        if wrong.any():
            raise _Broken(f"{what} is {got!r}, expected {expected!r}")

    def least(self, small: Any, large: Any, size: Any, what: str) -> None:
        """Raise unless one number is at most another, up to rounding."""
        if not (np.asarray(small) <= np.asarray(large) + _SLACK * np.asarray(size) + np.finfo(float).tiny).all():
            raise _Broken(f"{what}: {small!r} exceeds {large!r}")


def size_of(f: Element) -> Floats:
    """Return what the rounding of norms of an element is in proportion to: its absolute coefficients, times lengths."""
    if isinstance(f, Expansion):
        length = np.sqrt(np.abs(f.kernel.diag(f.samples)))
        if f.kernel.order != 0:  # the diagonal may be zero; the largest entry bounds it
            length = np.full(len(length), np.sqrt(np.abs(f.kernel(f.samples)).max(initial=0.0)))
        return np.asarray(length @ np.abs(f.coef))
    return np.asarray(f.norm())


def _terms(f: Element, S: Samples) -> Floats:
    """Return the sums of the absolute terms of f at samples, which lengths bound only of definite kernels."""
    if f.kernel.order is not None or not isinstance(f, Expansion):
        return np.zeros((len(S), *f.outputs))
    return np.asarray(np.abs(f.kernel(S, f.samples)) @ np.abs(f.coef))


def _balanced(f: Element, S: Samples, c: Floats) -> Floats:
    """Return coefficients that are orthogonal to constants, and to linear functions where the order is two."""
    P = np.ones((len(S), 1))
    if f.kernel.order == 2:
        P = np.column_stack([P, S.X])  # pyright: ignore[reportAttributeAccessIssue]
    Q = np.linalg.qr(P)[0]
    left = c - Q @ (Q.T @ c)
    return np.where(np.abs(left) > 1e-12 * np.abs(c).max(), left, 0.0)


@dataclass(frozen=True)
class ElementLaw:
    """One law of elements: its name, its formula, and the test."""

    name: str
    statement: str
    holds: Callable[[_Trial], None]


ELEMENT_LAWS: dict[str, ElementLaw] = {}


def _law(name: str, statement: str):
    def register(holds: Callable[[_Trial], None]) -> Callable[[_Trial], None]:
        ELEMENT_LAWS[name] = ElementLaw(name, statement, holds)
        return holds

    return register


def check_expansion(f: Element, X: Any, *, laws: Iterable[str] | None = None) -> None:
    """Check all laws of a Hilbert space on an element and some samples.

    Seed: [HSS] Eqs. (10), (13)-(19); [SS] Eqs. (95)-(100).

    Parameters
    ----------
    f : Expansion, FeatureExpansion or another Element
        Such as the ``expansion_`` of a fitted machine, or an element of your own kind.
    X : raw data or Samples
        Some samples of the kernel's domain; ten are enough.
    laws : iterable of str, optional
        Names out of `ELEMENT_LAWS`; all by default.

    Raises
    ------
    AssertionError
        With the name of the law that is broken, its formula, and where.

    Notes
    -----
    Laws of norms are tested if the kernel is positive definite, or conditionally so; then single samples are replaced
    by combinations that the space allows. Laws of the inner product are tested for every kernel.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.testing.expansions import check_expansion
    >>> check_expansion(KernelRidge(alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0]).expansion_, [[0.5], [2.0]])
    """
    trial = _Trial(f, X)
    for name in ELEMENT_LAWS if laws is None else laws:
        law = ELEMENT_LAWS[name]
        try:
            law.holds(trial)
        except _Broken as broken:
            message = f"{type(f).__name__} of {f.kernel!r} breaks the law of {law.name}: {law.statement}. {broken}."
            raise AssertionError(message) from None


# ------------------------------------------------------------------------------- a vector space


@_law("sums and multiples", "(2 f - 3 g)(x) = 2 f(x) - 3 g(x), intercepts included")
def _linear(trial: _Trial) -> None:
    f, g = trial.f, trial.g
    values = 2.0 * f(trial.S) - 3.0 * g(trial.S)
    length = np.sqrt(np.abs(f.kernel.diag(trial.S)).max(initial=0.0)) or 1.0
    size = length * (size_of(f) + size_of(g)) + np.abs(values).max(axis=0) + np.abs(f.intercept)
    trial.same((2.0 * f - 3.0 * g)(trial.S), values, size, "a value")
    trial.same((-f + f)(trial.S), np.zeros_like(values), size, "f - f")
    trial.same((f / 2.0 + g)(trial.S), 0.5 * f(trial.S) + g(trial.S), size, "a value")
    total: Any = sum([f, g])
    trial.same(total(trial.S), f(trial.S) + g(trial.S), size, "a value")


@_law("raw data", "f(X) = f(pack(X))")
def _raw(trial: _Trial) -> None:
    if not np.array_equal(trial.f(trial.X), trial.f(trial.S)):
        raise _Broken("values of raw data and of packed data differ")


# ---------------------------------------------------------------------------- an inner product


@_law("the inner product", "<f, g> = <g, f> and <2 f - 3 g, h> = 2 <f, h> - 3 <g, h>")
def _bilinear(trial: _Trial) -> None:
    f, g, h = trial.f, trial.g, trial.h
    size = (size_of(f) + size_of(g)) * (size_of(g) + size_of(h))
    trial.same(f.inner(g), g.inner(f), size, "<f, g>")
    expected = 2.0 * np.asarray(f.inner(h)) - 3.0 * np.asarray(g.inner(h))
    trial.same((2.0 * f - 3.0 * g).inner(h), expected, 5.0 * size, "<2 f - 3 g, h>")


@_law("reproduction", "<f, k(x, .)> = f(x) - b, and <f, g> = sum_j c_j f(x_j) for g = sum_j c_j k(x_j, .)")
def _reproducing(trial: _Trial) -> None:
    size = size_of(trial.f)
    if not trial.f.kernel.order:
        for i, value in enumerate(trial.values):
            one = trial.representer(i)
            rounding = size * size_of(one) + _terms(trial.f, trial.points[i])
            trial.same(trial.f.inner(one), value, rounding, f"at sample {i} the inner product")
    if isinstance(trial.g, Expansion):
        values = trial.f.without_intercept()(trial.g.samples)
        terms = trial.g.coef * values
        rounding = size * size_of(trial.g) + np.abs(terms).sum(axis=0)
        trial.same(trial.f.inner(trial.g), terms.sum(axis=0), rounding, "<f, g>")


@_law("representers", "<k(x, .), k(z, .)> = k(x, z) and k(x, z)^2 <= k(x, x) k(z, z)")
def _representers(trial: _Trial) -> None:
    if trial.f.kernel.order:
        return
    some = trial.S[: len(trial.points)]
    K = np.asarray(trial.f.kernel(some), dtype=float)
    size = np.sqrt(np.abs(np.outer(np.diagonal(K), np.diagonal(K)))) + np.abs(K)
    got = [[trial.representer(i).inner(trial.representer(j)) for j in range(len(K))] for i in range(len(K))]
    trial.same(got, K, size, "a matrix of inner products")
    if trial.definite:
        trial.least(K**2, np.outer(np.diagonal(K), np.diagonal(K)), size**2, "a squared value of the kernel")


# ------------------------------------------------------------------------------------- a norm


@_law("Cauchy-Schwarz", "<f, g>^2 <= |f|^2 |g|^2 and (f(x) - b)^2 <= k(x, x) |f|^2")
def _cauchy_schwarz(trial: _Trial) -> None:
    if not trial.definite:
        return
    f, g = trial.f, trial.g
    squared, size = np.asarray(f.norm()) ** 2, size_of(f) ** 2
    bound = squared * np.asarray(g.norm()) ** 2
    trial.least(np.asarray(f.inner(g)) ** 2, bound, size * size_of(g) ** 2, "a squared inner product")
    for i, value in enumerate(trial.values):
        if not trial.f.kernel.order:
            own = abs(float(f.kernel.diag(trial.points[i])[0]))
            trial.least(value**2, own * squared, own * size, f"at sample {i} the squared value")
        elif i and trial.f.kernel.order == 1:
            pair = trial.representer(i, i - 1)
            gap, length = value - trial.values[i - 1], size_of(pair) ** 2
            trial.least(gap**2, pair.norm() ** 2 * squared, length * size, f"at sample {i} the squared difference")


@_law("the norm", "|2 f| = 2 |f|, |f|^2 = <f, f>, and f / |f| has length one")
def _norm(trial: _Trial) -> None:
    if not trial.definite:
        return
    squared, size = np.asarray(trial.f.norm()) ** 2, size_of(trial.f) ** 2
    trial.same(trial.f.inner(trial.f), squared, size, "<f, f>")
    trial.same(np.asarray((-2.0 * trial.f).norm()) ** 2, 4.0 * squared, 4.0 * size, "the squared norm of -2 f")
    if (squared > 1e-3 * size).all():
        trial.same(trial.f.normalized().norm(), np.ones_like(squared), 1e3, "the norm of f / |f|")


@_law("the parallelogram", "|f + g|^2 + |f - g|^2 = 2 |f|^2 + 2 |g|^2 and |f + g|^2 - |f - g|^2 = 4 <f, g>")
def _parallelogram(trial: _Trial) -> None:
    if not trial.definite:
        return
    f, g = trial.f, trial.g
    plus, minus, mine, its = (np.asarray(e.norm()) ** 2 for e in (f + g, f - g, f, g))
    size = 4.0 * (size_of(f) + size_of(g)) ** 2
    trial.same(plus + minus, 2.0 * mine + 2.0 * its, size, "the sum of squared diagonals")
    trial.same(plus - minus, 4.0 * np.asarray(f.inner(g)), size, "the difference of squared diagonals")


@_law("distances", "d(f, f) = 0, d(f, g) = d(g, f) and d(f, h) <= d(f, g) + d(g, h)")
def _metric(trial: _Trial) -> None:
    if not trial.definite:
        return
    f, g, h = trial.f, trial.g, trial.h
    size = (size_of(f) + size_of(g) + size_of(h)) ** 2
    trial.same(np.asarray(f.distance(f)) ** 2, np.zeros(f.outputs), size, "the squared distance of f to itself")
    trial.same(np.asarray(f.distance(g)) ** 2, np.asarray(g.distance(f)) ** 2, size, "the squared distance")
    detour = np.asarray(f.distance(g)) + np.asarray(g.distance(h))
    trial.least(np.asarray(f.distance(h)) ** 2, detour**2, size, "a squared distance")

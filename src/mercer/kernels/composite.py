"""What all nodes of the kernel algebra share, and multiples: they pass data and requests on to their terms."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp

from mercer import domains  # whose names are imported when they are used
from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Interval, Satisfies
from mercer.domains import WHOLE, Frames, Samples, Vectors, Whole
from mercer.errors import DomainError
from mercer.kernels.abilities import DifferentiatedByTiles, DifferentiatedInInputs, Featured
from mercer.kernels.comparison import Base, Path, View
from mercer.kernels.kernel import (
    Kernel,
    Tiled,
    bases_of,
    derivative,
    feature_count,
    log_integral,
    narrowed,
    offers,
    overflow_error,
    pair_terms,
    pullback,
)
from mercer.kernels.power_series import Series
from mercer.kernels.protocols import HasSeries, PairTerm, Pullback
from mercer.runtime.tiling import all_finite
from mercer.spec import derived, free_names

__public__ = ["Scaled"]

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a node's text binds, loosest first


def _are_kernels(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and bool(value) and all(isinstance(kernel, Kernel) for kernel in value)


KERNELS = Satisfies("a tuple of kernels that is not empty", _are_kernels, "(Gaussian(1.0), Linear())")


class Composite(Tiled):
    """A kernel made of others; it passes data and requests on to its terms."""

    composite = True
    anchored: ClassVar[bool] = False  # compares with objects of its own: it does not move when the data do

    @property
    @abstractmethod
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels this one is made of."""

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return what the terms read of a table, together."""
        return {key: pack for kernel in self.kernels for key, pack in kernel.parts().items()}

    def pack(self, X: Any) -> Samples:
        """Pack once for all terms; terms on different columns give `Frames`."""
        self._check_domains()
        parts = self.parts()
        if self._one_reading() is not None:
            return next(iter(parts.values()))(X)
        if not parts:
            return Vectors.pack(X)
        return Frames.pack(X, parts)

    def _check_domains(self) -> None:
        read: dict[Hashable, set[str]] = {}
        for term in _terms(self):
            inner = term if term.part == WHOLE else getattr(term, "kernel", None)
            if isinstance(inner, Kernel):
                read.setdefault(term.part, set()).add(_reads(inner))
        for part, kinds in read.items():
            if len(kinds) > 1:
                where = "" if part == WHOLE else f" in columns {part!r}"
                raise DomainError(
                    f"{self!r} compares {' and '.join(sorted(kinds))} at once{where}; the terms of a kernel must "
                    "read the same data or name their columns. Use .on(columns) to say which columns each term reads."
                )

    @derived
    def domain(self) -> type[Samples]:
        """The domain of all terms, or Frames if they read different columns."""
        one = self._one_reading()
        if one is not None:
            return one.domain
        return Frames if self.parts() else Vectors

    @derived
    def other_domains(self) -> tuple[type[Samples], ...]:
        """Those of the term that packs the data."""
        one = self._one_reading()
        return () if one is None else one.other_domains

    def one_part(self) -> Hashable | None:
        """Return the only part of a table that is read, if `pack` makes no table of it; else None."""
        one = self._one_reading()
        return None if one is None else one.part

    def _one_reading(self) -> Kernel | None:
        """Return a term, if all of them read all of the data in one way; then no table is made of it."""
        keys = list(self.parts())
        if len(keys) != 1 or not isinstance(keys[0], Whole):
            return None
        term = next(term for term in _terms(self) if term.part == keys[0])
        return None if term.domain is Frames and keys[0] != WHOLE else term

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same kernel with learned terms."""
        learned = tuple(k.learn(narrowed(k, S), y, weight) for k in self.kernels)
        return self if all(a is b for a, b in zip(learned, self.kernels, strict=True)) else self.rebuild(learned)

    @abstractmethod
    def rebuild(self, kernels: tuple[Kernel, ...]) -> Kernel:
        """Return the same node over other kernels."""

    def _prepare(self, A: Samples) -> Samples:
        """Let every term add what it computes once per collection."""
        for kernel in self.kernels:
            if isinstance(A, Frames) and not kernel.composite:
                A = A.with_part(kernel.part, kernel.prepare(A.part(kernel.part)))
            else:
                A = kernel.prepare(A)
        return A

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield the bases of all terms."""
        for kernel in self.kernels:
            yield from bases_of(kernel)

    @derived
    def continuous(self) -> bool:
        """Whether all terms are."""
        return all(kernel.continuous for kernel in self.kernels)

    @property
    def capabilities(self) -> frozenset[str]:
        """What this node offers, given that all its terms offer it."""
        own = super().capabilities
        return own.intersection(*(offered(kernel) for kernel in self.kernels))

    def guarded(self, tile: Floats) -> Floats:
        """Return a tile whose numbers are finite; bounded terms may leave the range of floats together.

        The driver checks the values of kernels that are not bounded, so these are not checked twice.
        """
        if self.bounded and not self.normalised and not all_finite(tile):
            raise overflow_error(self)
        return tile

    def _blocks(self, A: Samples, B: Samples) -> list[Floats]:
        return [kernel.block(narrowed(kernel, A), narrowed(kernel, B)) for kernel in self.kernels]

    def _diags(self, A: Samples) -> list[Floats]:
        return [kernel.diag(narrowed(kernel, A)) for kernel in self.kernels]

    def _pull_term(self, kernel: Kernel, A: Samples, B: Samples, W: Floats) -> Floats:
        return pullback(kernel, narrowed(kernel, A), narrowed(kernel, B), W)


class Terms(Composite):
    """A node with a flat tuple of terms."""

    constraints = {"terms": KERNELS}

    def __init__(self, terms: tuple[Kernel, ...]) -> None:
        self.terms = terms

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The terms."""
        return tuple(self.terms)

    def rebuild(self, kernels: tuple[Kernel, ...]) -> Kernel:
        """Return the same node over other terms."""
        return type(self)(kernels)

    def joined(self, sign: str, tightness: int) -> str:
        """Return the terms' texts with a sign between them, or as a constructor where the sign would say less."""
        if len(self.kernels) < 2 or any(type(term) is type(self) for term in self.kernels):
            return f"{type(self).__name__}(({', '.join(map(repr, self.kernels))},))"
        return sign.join(enclosed(term, tightness) for term in self.kernels)


class Wrapped(Composite):
    """A node over one kernel."""

    constraints = {"kernel": InstanceOf(Kernel)}
    kernel: Kernel

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The one kernel inside."""
        return (self.kernel,)

    def rebuild(self, kernels: tuple[Kernel, ...]) -> Kernel:
        """Return the same node over another kernel."""
        return self.replace(kernel=kernels[0])

    @derived
    def stationary(self) -> bool:
        """Whether the kernel inside is."""
        return self.kernel.stationary

    @derived
    def bounded(self) -> bool:
        """Whether the kernel inside is."""
        return self.kernel.bounded


class Inheriting(ABC):
    """A node whose strictness and universality follow from those of its parts.

    `source` is the one place that says how. It is asked with what the parts say of themselves here, and with what is
    derived for data of a given width in `mercer.hilbert`.
    """

    order: int | None

    @abstractmethod
    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """Return a part from which "strict" or "universal" follows, given which parts have it; None if it does not.

        Parameters
        ----------
        name : {"strict", "universal"}
        of : callable
            Whether a part is known to have the property.
        """

    def _follows(self, name: str) -> bool:
        if self.order is None or (name == "universal" and self.order != 0):
            return False
        return self.source(name, lambda kernel: getattr(kernel, name)) is not None or dense_series(cast(Kernel, self))

    @derived
    def strict(self) -> bool:
        """Whether it follows from the parts, or from the degrees of a power series."""
        return self._follows("strict")

    @derived
    def universal(self) -> bool:
        """Whether it follows from the parts, or from the degrees of a power series."""
        return self._follows("universal")


class Scaled(Inheriting, Wrapped, Featured, DifferentiatedByTiles, DifferentiatedInInputs):
    r"""A kernel times a number that is not negative.

    .. math:: k(x, x') = a \, k_1(x, x'), \qquad a \ge 0

    Seed: [STS] Theorem 7; [HSS] Proposition 5 (i).

    Parameters
    ----------
    scale : float
        The number a. Negative values are refused: -k is not positive definite.
    kernel : Kernel

    Notes
    -----
    Written ``a * k`` and never simplified, so that a stays a parameter of its own.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (2.0 * Linear())([[1.0, 1.0]])
    array([[4.]])
    """

    constraints = {"scale": Interval(0.0, np.inf, closed="left")}
    formula = r"a \, k_1(x, x')"
    tightness = PRODUCT
    cost = "that of the kernel"

    def __init__(self, scale: float, kernel: Kernel) -> None:
        self.scale = scale
        self.kernel = kernel

    @derived
    def order(self) -> int | None:
        """That of the kernel."""
        return self.kernel.order

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """The kernel, unless the scale is zero."""
        return self.kernel if self.scale > 0 and of(self.kernel) else None

    @derived
    def nonzero(self) -> bool:
        """That of the kernel, unless the scale is zero."""
        return self.scale > 0 and self.kernel.nonzero

    @derived
    def injective(self) -> bool:
        """That of the kernel, unless the scale is zero."""
        return self.scale > 0 and self.kernel.injective

    def pair_terms(self) -> tuple[PairTerm, ...] | None:
        """Return the products of the kernel, times a."""
        found = pair_terms(self.kernel)
        return found and tuple(term._replace(weight=float(self.scale) * term.weight) for term in found)

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f(x) = sum_i coef_i k(s_i, x) for pairs, by matrices between their members; None for others."""
        return pair_function(self, samples, coef)

    def series(self) -> Series:
        """Return a times the kernel's series."""
        return Series.of([float(self.scale)]) * self.kernel.series()

    def tile(self, view: View) -> Floats:
        """Multiply the kernel's tile."""
        tile = view.value(self.kernel)
        with np.errstate(over="ignore"):
            tile *= tile.dtype.type(self.scale)
        return self.guarded(tile)

    def _diag(self, A: Samples) -> Floats:
        """Multiply the kernel's diagonal."""
        return self.scale * self._diags(A)[0]

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the kernel's features times sqrt(a)."""
        matrix, keys = self.kernel.features(narrowed(self.kernel, A), keys)
        return matrix * np.sqrt(self.scale), keys

    def _feature_count(self, A: Samples) -> int | None:
        """Return the kernel's number of features."""
        return feature_count(self.kernel, narrowed(self.kernel, A))

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw from the kernel's spectral measure (normalised to mass one)."""
        return self.kernel.frequencies(rng, count, width)

    def log_integral(self, width: int) -> float | None:
        """Return log of the scaled integral."""
        found = log_integral(self.kernel, width)
        return None if found is None or not self.scale > 0.0 else found + math.log(self.scale)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Multiply the kernel's tile; the derivative in a is the tile itself."""
        value, back = derivative(view, self.kernel)
        scaled = view.empty()
        with np.errstate(over="ignore"):
            np.multiply(value, float(self.scale), out=scaled)
        return scaled, lambda W: np.concatenate([[np.vdot(W, value)], self.scale * back(W)])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the kernel's derivative times a."""
        return self.scale * self.kernel.pullback_inputs(A, B, W)

    def latex(self, of: Callable[[Any], str]) -> str:
        """Return the number and the formula of the kernel."""
        return rf"{self.scale:.6g} \, {factor(self.kernel, of)}"

    def __repr__(self) -> str:
        return f"{np.asarray(self.scale).item()!r} * {enclosed(self.kernel, POWER)}"


def pair_function(kernel: Kernel, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
    """Return f(x) = sum_i coef_i k(s_i, x) for pairs, by matrices between their members; None for others."""
    if pair_terms(kernel) is None or not isinstance(samples, domains.Pairs):  # others do not import kernels on pairs
        return None
    return importlib.import_module("mercer.kernels.pair_forms").pair_function(kernel, samples, coef)


def dense_series(kernel: Kernel) -> bool:
    """Return whether a kernel is a series in the dot product that makes it strict and universal (Pinkus)."""
    return kernel.order == 0 and offers(kernel, HasSeries) and kernel.series().dense


def offered(kernel: Kernel) -> frozenset[str]:
    """Return what a term offers to a composite: without free parameters there is nothing to differentiate."""
    return kernel.capabilities | (frozenset() if free_names(kernel) else {"pullback"})


def enclosed(kernel: Any, tightness: int) -> str:
    """Return a term's text, in parentheses if it binds less tightly than its surroundings need."""
    return f"({kernel!r})" if getattr(kernel, "tightness", ATOM) < tightness else repr(kernel)


def factor(kernel: Any, of: Callable[[Any], str]) -> str:
    """Return the formula of a factor, in brackets if it is a sum; ``of`` gives the formula of a kernel."""
    return f"({of(kernel)})" if getattr(kernel, "tightness", ATOM) < PRODUCT else of(kernel)


def row_products(left: Any, right: Any) -> Any:
    """Return, row by row, all products of an entry of `left` and one of `right`."""
    if sp.issparse(left) or sp.issparse(right):
        left, right = sp.csr_array(left), sp.csr_array(right)
        partners = np.repeat(np.diff(right.indptr), np.diff(left.indptr))  # of each entry of `left`
        starts = np.repeat(right.indptr[:-1], np.diff(left.indptr))
        one = np.repeat(np.arange(left.nnz), partners)
        other = np.arange(len(one)) + np.repeat(starts - (np.cumsum(partners) - partners), partners)
        width = right.shape[1]
        columns = left.indices[one].astype(np.int64) * width + right.indices[other]
        ends = np.concatenate([[0], np.cumsum(np.diff(left.indptr).astype(np.int64) * np.diff(right.indptr))])
        shape = (left.shape[0], left.shape[1] * width)
        whole = np.int32 if max(shape[1], ends[-1]) <= np.iinfo(np.int32).max else np.int64  # as SciPy chooses
        entries = left.data[one] * right.data[other]
        return sp.csr_array((entries, columns.astype(whole), ends.astype(whole)), shape=shape)
    return np.einsum("ni,nj->nij", left, right).reshape(len(left), left.shape[1] * right.shape[1])


def _terms(kernel: Kernel) -> Iterable[Kernel]:
    """Yield the terms that read data, however deep in sums and products."""
    if isinstance(kernel, Composite):
        for term in kernel.kernels:
            yield from _terms(term)
    elif kernel.parts():
        yield kernel


def _reads(kernel: Kernel) -> str:
    """Return what a kernel reads, in words: a domain, and those of both sides of a pair."""
    name = getattr(kernel, "reads", kernel.domain.__name__)
    if kernel.domain is not domains.Pairs:
        return name
    sides = [_reads(side) for _, side in kernel._children() if isinstance(side, Kernel)]
    return f"{name} of {' and '.join(2 * sides if len(sides) == 1 else sides)}"

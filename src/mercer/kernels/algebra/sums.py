"""Sums and products of kernels, and constants.

Symbols: k, k_1, ... kernels with feature maps Phi, Phi_1, ...; a >= 0 a number.
Every node asks its terms for the same tile, so that bases they share are computed once.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Interval
from mercer.domains import Samples, Vectors
from mercer.kernels.abilities import Differentiated, DifferentiatedByTiles, DifferentiatedInInputs, Featured
from mercer.kernels.comparison import View
from mercer.kernels.composite import POWER, PRODUCT, SUM, Inheriting, Scaled, Terms, factor, pair_function, row_products
from mercer.kernels.kernel import Kernel, Tiled, derivative, feature_count, log_integral, narrowed, pair_terms
from mercer.kernels.power_series import Series
from mercer.kernels.protocols import PairTerm, Pullback
from mercer.spec import derived

__all__ = ["Constant", "Product", "Sum"]
__public__ = __all__


class Sum(Inheriting, Terms, Featured, DifferentiatedByTiles, DifferentiatedInInputs):
    r"""Sum of kernels: the feature spaces side by side.

    .. math:: k(x, x') = k_1(x, x') + k_2(x, x') + \dots

    Seed: [STS] Theorem 7; [HSS] Proposition 5 (i).

    Parameters
    ----------
    terms : tuple of Kernel
        Written ``k1 + k2``; sums of sums are flat.

    Notes
    -----
    Domain that of the terms, or Frames. Features side by side; differentiable if all terms are.
    Cost that of the terms; bases they share are computed once.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian(1.0) + Linear())([[1.0], [2.0]]).round(3)
    array([[2.   , 2.607],
           [2.607, 5.   ]])
    """

    formula = r"k_1(x, x') + k_2(x, x') + \dots"
    tightness = SUM
    cost = "sum of the terms"

    @derived
    def order(self) -> int | None:
        """The largest order of the terms; None if one is indefinite."""
        orders = [kernel.order for kernel in self.kernels]
        return None if None in orders else max(order for order in orders if order is not None)

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """One term suffices: a strict one makes the sum strict, and the RKHS of each is contained in the sum's."""
        return next(filter(of, self.kernels), None)

    @derived
    def nonzero(self) -> bool:
        """Whether one term is, and none is negative."""
        return self.order == 0 and any(kernel.nonzero for kernel in self.kernels)

    @derived
    def injective(self) -> bool:
        """Whether one term is: squared distances add up."""
        return self.order in (0, 1) and any(kernel.injective for kernel in self.kernels)

    @derived
    def stationary(self) -> bool:
        """Whether all terms are."""
        return all(kernel.stationary for kernel in self.kernels)

    @derived
    def bounded(self) -> bool:
        """Whether all terms are."""
        return all(kernel.bounded for kernel in self.kernels)

    def tile(self, view: View) -> Floats:
        """Add the tiles of the terms."""
        first, *rest = self.terms
        total = view.value(first)
        with np.errstate(over="ignore"):
            for term in rest:
                total += view.value(term)
        return self.guarded(total)

    def _diag(self, A: Samples) -> Floats:
        """Add the diagonals of the terms."""
        return np.sum(self._diags(A), axis=0)

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the features of the terms side by side."""
        keys = keys or (None,) * len(self.terms)
        found = [k.features(narrowed(k, A), key) for k, key in zip(self.terms, keys, strict=True)]
        matrices = [matrix for matrix, _ in found]
        stacked = sp.hstack(matrices, format="csr") if any(map(sp.issparse, matrices)) else np.hstack(matrices)
        return stacked, tuple(key for _, key in found)

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of features of all terms together."""
        counts = [feature_count(kernel, narrowed(kernel, A)) for kernel in self.kernels]
        return None if None in counts else sum(count for count in counts if count is not None)

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw from the mixture of the terms' spectral measures, weighted by k(0)."""
        weights = np.array([_variance(kernel) for kernel in self.kernels])
        picks = rng.choice(len(self.terms), size=count, p=weights / weights.sum())
        out = np.empty((count, width))
        for place, kernel in enumerate(self.kernels):
            rows = np.flatnonzero(picks == place)
            out[rows] = kernel.frequencies(rng, len(rows), width)
        return out

    @property
    def capabilities(self) -> frozenset[str]:
        """Those of all terms; frequencies only if the spectral measures are known up to their mass."""
        found = super().capabilities
        return found if all(_variance(k) is not None for k in self.kernels) else found - {"frequencies"}

    def pair_terms(self) -> tuple[PairTerm, ...] | None:
        """Return the products of all terms, if all are kernels on pairs that consist of such."""
        found = [pair_terms(kernel) for kernel in self.kernels]
        return None if None in found else tuple(term for terms in found if terms for term in terms)

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f(x) = sum_i coef_i k(s_i, x) of pairs by matrices between their members; of others None."""
        return pair_function(self, samples, coef)

    def series(self) -> Series:
        """Add the series of the terms."""
        return functools.reduce(operator.add, (kernel.series() for kernel in self.kernels))

    def log_integral(self, width: int) -> float | None:
        """Return log of the sum of the integrals, if all terms are windows."""
        found = [log_integral(kernel, width) for kernel in self.kernels]
        return float(np.logaddexp.reduce([x for x in found if x is not None])) if None not in found else None

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Add the tiles of the terms; weights go back to each of them."""
        found = [derivative(view, term) for term in self.terms]
        total = view.empty()
        np.copyto(total, found[0][0])
        with np.errstate(over="ignore"):
            for value, _ in found[1:]:
                total += value
        return total, lambda W: np.concatenate([back(W) for _, back in found])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Add the derivatives of the terms."""
        return np.sum([kernel.pullback_inputs(A, B, W) for kernel in self.kernels], axis=0)

    def latex(self, of: Callable[[Any], str]) -> str:
        """Return the formulas of the terms with a sign between them."""
        return " + ".join(map(of, self.kernels))

    def __repr__(self) -> str:
        return self.joined(" + ", PRODUCT)


class Product(Inheriting, Terms, Featured, DifferentiatedByTiles, DifferentiatedInInputs):
    r"""Product of kernels: the tensor product of the feature spaces.

    .. math:: k(x, x') = k_1(x, x') \, k_2(x, x') \cdots

    Seed: [STS] Theorem 7; [HSS] Proposition 5 (ii), Schur.

    Parameters
    ----------
    terms : tuple of Kernel
        Written ``k1 * k2``; products of products are flat.

    Notes
    -----
    Domain that of the terms, or Frames. Features all products of features; differentiable if all terms are.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() * Linear())([[1.0], [3.0]])
    array([[ 1.,  9.],
           [ 9., 81.]])
    """

    formula = r"k_1(x, x') \, k_2(x, x') \cdots"
    tightness = PRODUCT
    cost = "sum of the terms"

    @derived
    def order(self) -> int | None:
        """Positive definite if all terms are; nothing is known otherwise."""
        return 0 if all(kernel.order == 0 for kernel in self.kernels) else None

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """One term suffices if the others have a positive diagonal (Oppenheim); universal functions are continuous."""
        if not self.nonzero or (name == "universal" and not self.continuous):
            return None
        return next(filter(of, self.kernels), None)

    @derived
    def nonzero(self) -> bool:
        """Whether all terms are."""
        return self.order == 0 and all(kernel.nonzero for kernel in self.kernels)

    @derived
    def stationary(self) -> bool:
        """Whether all terms are."""
        return all(kernel.stationary for kernel in self.kernels)

    @derived
    def normalised(self) -> bool:
        """Whether all terms are."""
        return all(kernel.normalised for kernel in self.kernels)

    @derived
    def bounded(self) -> bool:
        """Whether all terms are."""
        return all(kernel.bounded for kernel in self.kernels)

    def tile(self, view: View) -> Floats:
        """Multiply the tiles of the terms."""
        first, *rest = self.terms
        total = view.value(first)
        with np.errstate(over="ignore", invalid="ignore"):
            for term in rest:
                total *= view.value(term)
        return self.guarded(total)

    def _diag(self, A: Samples) -> Floats:
        """Multiply the diagonals of the terms."""
        return np.prod(self._diags(A), axis=0)

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return all products of one feature of each term."""
        keys = keys or (None,) * len(self.terms)
        found = [k.features(narrowed(k, A), key) for k, key in zip(self.terms, keys, strict=True)]
        matrix, _ = found[0]
        for other, _ in found[1:]:
            matrix = row_products(matrix, other)
        return matrix, tuple(key for _, key in found)

    def _feature_count(self, A: Samples) -> int | None:
        """Return the product of the terms' numbers of features."""
        counts = [feature_count(kernel, narrowed(kernel, A)) for kernel in self.kernels]
        return None if None in counts else int(np.prod([float(count) for count in counts if count is not None]))

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Add independent draws: the measure of a product is the convolution of the measures."""
        return np.sum([kernel.frequencies(rng, count, width) for kernel in self.kernels], axis=0)

    def series(self) -> Series:
        """Multiply the series of the terms."""
        return functools.reduce(operator.mul, (kernel.series() for kernel in self.kernels))

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Multiply the tiles of the terms; weights go back to each times the product of all others."""
        found = [derivative(view, term) for term in self.terms]
        total = view.empty()
        np.copyto(total, found[0][0])
        with np.errstate(over="ignore", invalid="ignore"):
            for value, _ in found[1:]:
                total *= value

        def back(W: Floats) -> Floats:
            parts = []
            for place, (_, way) in enumerate(found):
                V = np.array(W, dtype=float)
                for other, (value, _) in enumerate(found):
                    if other != place:  # no division: terms may vanish
                        V *= value
                parts.append(way(V))
            return np.concatenate(parts)

        return total, back

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the product rule."""
        return np.sum([kernel.pullback_inputs(A, B, V) for kernel, V in self._others(A, B, W)], axis=0)

    def _others(self, A: Samples, B: Samples, W: Floats) -> Iterable[tuple[Kernel, Floats]]:
        """Yield each term with W times the product of all other terms (no division: terms may vanish)."""
        blocks = self._blocks(A, B)
        for place, kernel in enumerate(self.kernels):
            V = np.array(W, dtype=float)
            for other, block in enumerate(blocks):
                if other != place:
                    V *= block
            yield kernel, V

    def latex(self, of: Callable[[Any], str]) -> str:
        """Return the formulas of the terms side by side."""
        return r" \, ".join(factor(term, of) for term in self.kernels)

    def __repr__(self) -> str:
        return self.joined(" * ", POWER)


class Constant(Tiled, Featured, Differentiated, DifferentiatedInInputs):
    r"""The same value for every pair: a bias in feature space.

    .. math:: k(x, x') = c, \qquad c \ge 0

    Seed: [STS] Theorem 7 with f(x) = sqrt(c). Works beside kernels of any domain; ``k + 1.0`` writes it.

    Parameters
    ----------
    value : float, default 1.0
        Not negative.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() + 1.0)([[2.0]])
    array([[5.]])
    """

    constraints = {"value": Interval(0.0, np.inf, closed="left")}
    formula = "c"
    cost = "O(1) per pair"
    feature_limit = 1
    composite = True  # it reads no data, hence no part of a table
    stationary = True
    bounded = True
    continuous = True
    spectral_support = "atoms"

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    @derived
    def domain(self) -> type[Samples]:
        """Any; vectors when it is used alone."""
        return Vectors

    @derived
    def normalised(self) -> bool:
        """Whether the constant is one."""
        return self.value == 1

    @derived
    def nonzero(self) -> bool:
        """Whether the constant is positive."""
        return self.value > 0

    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the constant as the weight of ones."""
        return (PairTerm(float(self.value), None, None),)

    def series(self) -> Series:
        """Return the constant, the coefficient of degree 0."""
        return Series.of([float(self.value)])

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Nothing is read."""
        return {}

    def tile(self, view: View) -> Floats:
        """Return a constant tile."""
        return view.full(self.value)

    def _diag(self, A: Samples) -> Floats:
        """Return a constant vector."""
        return np.full(len(A), float(self.value))

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return one constant feature."""
        return np.full((len(A), 1), np.sqrt(self.value)), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return 1."""
        return 1

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Return zeros: all the mass is at the origin."""
        return np.zeros((count, width))

    def spectral_atoms(self, width: int) -> tuple[Floats, Floats]:
        """Return one point at the origin."""
        return np.zeros((1, width)), np.array([float(self.value)])

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the sum of the weights."""
        return np.array([float(np.sum(W))])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return zeros."""
        return np.zeros((len(A), A.X.shape[1] if hasattr(A, "X") else 0))  # pyright: ignore


def _variance(kernel: Kernel) -> float | None:
    """Return k(x, x) of a stationary kernel if it is known without data."""
    if kernel.normalised:
        return 1.0
    if isinstance(kernel, Constant):
        return float(kernel.value)
    if isinstance(kernel, Scaled):
        inner = _variance(kernel.kernel)
        return None if inner is None else float(kernel.scale) * inner
    if isinstance(kernel, (Sum, Product)):
        inner = [_variance(term) for term in kernel.kernels]
        if any(value is None for value in inner):
            return None
        return float((np.sum if isinstance(kernel, Sum) else np.prod)([v for v in inner if v is not None]))
    return None

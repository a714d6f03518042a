"""Functions of one kernel: powers, exponentials, polynomials, normalisation.

Symbols: k_1 a kernel, p a whole number, c_n >= 0 coefficients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.domains import Samples
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError
from mercer.kernels.abilities import Differentiated, DifferentiatedByTiles, DifferentiatedInInputs, Featured
from mercer.kernels.comparison import View
from mercer.kernels.composite import ATOM, POWER, Inheriting, Wrapped, enclosed, row_products
from mercer.kernels.kernel import Kernel, derivative, feature_count, narrowed, offers, overflow_error
from mercer.kernels.power_series import Series
from mercer.kernels.protocols import Compiles, Pullback
from mercer.runtime.tiling import all_finite
from mercer.spec import derived

__all__ = ["Exp", "Normalized", "PolynomialOf", "Power"]
__public__ = __all__


class Power(Inheriting, Wrapped, Featured, DifferentiatedByTiles, DifferentiatedInInputs):
    r"""A kernel to a whole power.

    .. math:: k(x, x') = k_1(x, x')^p, \qquad p = 1, 2, \dots

    Seed: [STS] Theorem 7 (products), [HSS] Proposition 5 (ii).

    Parameters
    ----------
    kernel : Kernel
    exponent : int
        At least 1: a fractional power of a kernel need not be a kernel.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() ** 2)([[2.0], [3.0]])
    array([[16., 36.],
           [36., 81.]])
    """

    constraints = {"exponent": Integer(1)}
    formula = r"k_1(x, x')^p"
    tightness = POWER
    cost = "that of the kernel"

    def __init__(self, kernel: Kernel, exponent: int) -> None:
        self.kernel = kernel
        self.exponent = exponent

    @derived
    def order(self) -> int | None:
        """Positive definite if the kernel is."""
        return self.kernel.order if self.kernel.order == 0 or self.exponent == 1 else None

    @derived
    def normalised(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.normalised

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """The kernel: powers are products (Oppenheim's inequality)."""
        return self.kernel if of(self.kernel) else None

    @derived
    def nonzero(self) -> bool:
        """Whether the kernel is."""
        return self.order == 0 and self.kernel.nonzero

    @derived
    def injective(self) -> bool:
        """Whether the kernel is and the power is odd, so that opposite images stay apart."""
        return self.strict or (self.order in (0, 1) and self.kernel.injective and self.exponent % 2 == 1)

    def series(self) -> Series:
        """Return the power of the kernel's series."""
        return self.kernel.series() ** int(self.exponent)

    def tile(self, view: View) -> Floats:
        """Raise the kernel's tile to the power."""
        tile = view.value(self.kernel)
        with np.errstate(over="ignore"):
            np.power(tile, self.exponent, out=tile)
        return self.guarded(tile)

    def _diag(self, A: Samples) -> Floats:
        """Raise the kernel's diagonal to the power."""
        return self._diags(A)[0] ** self.exponent

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return all products of `exponent` features."""
        base, keys = self.kernel.features(narrowed(self.kernel, A), keys)
        matrix = base
        for _ in range(self.exponent - 1):
            matrix = row_products(matrix, base)
        return matrix, keys

    def _feature_count(self, A: Samples) -> int | None:
        """Return the kernel's number of features to the power."""
        count = feature_count(self.kernel, narrowed(self.kernel, A))
        return None if count is None else count**self.exponent

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Add independent draws of the kernel's frequencies."""
        return np.sum([self.kernel.frequencies(rng, count, width) for _ in range(self.exponent)], axis=0)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Raise the kernel's tile to the power; weights go back by the chain rule."""
        value, back = derivative(view, self.kernel)
        with np.errstate(over="ignore"):
            slope = self.exponent * value ** (self.exponent - 1)
            return value**self.exponent, lambda W: back(W * slope)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the chain rule."""
        return self.kernel.pullback_inputs(A, B, W * self._slope(A, B))

    def _slope(self, A: Samples, B: Samples) -> Floats:
        return self.exponent * self._blocks(A, B)[0] ** (self.exponent - 1)

    def __repr__(self) -> str:
        return f"{enclosed(self.kernel, ATOM)} ** {int(self.exponent)}"


class Exp(Inheriting, Wrapped, DifferentiatedByTiles, DifferentiatedInInputs):
    r"""The exponential of a kernel: all its powers at once.

    .. math:: k(x, x') = \exp k_1(x, x') = \sum_n k_1(x, x')^n / n!

    Seed: [ST] "Kernel constructions".

    Parameters
    ----------
    kernel : Kernel
        Positive definite, or conditionally positive definite of order 1 (Schoenberg's theorem).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().exp()([[0.0], [1.0]]).round(3)
    array([[1.   , 1.   ],
           [1.   , 2.718]])
    """

    formula = r"\exp k_1(x, x')"
    cost = "that of the kernel"

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @derived
    def order(self) -> int | None:
        """Positive definite if the kernel is, or if it is conditionally so of order 1 [HSS] Prop. 2.28."""
        return 0 if self.kernel.order in (0, 1) else None

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """The kernel if it is injective: exp(<u, v>) is strict on any inner product space (Pinkus).

        If it is continuous too, exponentials of its functions separate points (Stone, Weierstrass).
        """
        kernel = self.kernel
        enough = kernel.injective if name == "strict" else of(kernel) or (kernel.injective and kernel.continuous)
        return kernel if enough else None

    @derived
    def nonzero(self) -> bool:
        """Always, since exponentials are positive."""
        return self.order == 0

    def series(self) -> Series:
        """Return the exponential of the kernel's series."""
        return self.kernel.series().exp()

    def tile(self, view: View) -> Floats:
        """Take the exponential of the kernel's tile."""
        tile = view.value(self.kernel)
        with np.errstate(over="ignore"):  # the driver reports overflow with its remedy
            np.exp(tile, out=tile)
        return self.guarded(tile)

    def _diag(self, A: Samples) -> Floats:
        """Take the exponential of the kernel's diagonal."""
        with np.errstate(over="ignore"):
            return np.exp(self._diags(A)[0])

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Take the exponential of the kernel's tile, which is its own derivative."""
        value, back = derivative(view, self.kernel)
        with np.errstate(over="ignore"):
            grown = np.exp(value)
        return grown, lambda W: back(W * grown)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the chain rule."""
        return self.kernel.pullback_inputs(A, B, W * np.exp(self._blocks(A, B)[0]))

    def __repr__(self) -> str:
        return f"{enclosed(self.kernel, ATOM)}.exp()"


class PolynomialOf(Inheriting, Wrapped, Differentiated, DifferentiatedInInputs):
    r"""A polynomial of a kernel with coefficients that are not negative.

    .. math:: k(x, x') = \sum_n c_n \, k_1(x, x')^n, \qquad c_n \ge 0

    Seed: [ST] "Kernel constructions".

    Parameters
    ----------
    kernel : Kernel
    coefficients : tuple of float
        c_0, c_1, ..., c_p; none negative, not all zero.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().polynomial((1.0, 2.0, 1.0))([[2.0]])
    array([[25.]])
    """

    constraints = {"coefficients": Interval(0.0, np.inf, closed="left", vector=True)}
    formula = r"\sum_n c_n \, k_1(x, x')^n"
    cost = "that of the kernel"

    def __init__(self, kernel: Kernel, coefficients: tuple[float, ...]) -> None:
        self.kernel = kernel
        self.coefficients = coefficients

    def check(self) -> Any:
        """Raise ParameterError for a polynomial without a positive coefficient."""
        if np.ndim(self.coefficients) != 1:
            raise ParameterError(
                f"PolynomialOf was given coefficients={self.coefficients!r}; a tuple of numbers is accepted. "
                "Give c_0, c_1, ... of the polynomial."
            )
        super().check()
        if not np.any(np.asarray(self.coefficients, dtype=float) > 0):
            raise ParameterError(
                f"PolynomialOf was given coefficients={self.coefficients!r}; at least one must be positive. "
                "Give c_0, c_1, ... of the polynomial."
            )
        return self

    @derived
    def order(self) -> int | None:
        """Positive definite if the kernel is."""
        return 0 if self.kernel.order == 0 else None

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """The kernel if one of its powers is present."""
        return self.kernel if self._beyond and of(self.kernel) else None

    @derived
    def nonzero(self) -> bool:
        """Whether c_0 is positive or the kernel is nonzero."""
        return self.order == 0 and (self.coefficients[0] > 0 or self.kernel.nonzero)

    @derived
    def injective(self) -> bool:
        """Whether the kernel is and one of its odd powers is present."""
        odd = any(c > 0 for c in tuple(self.coefficients)[1::2])
        return self.strict or (self.order == 0 and self.kernel.injective and odd)

    @property
    def _beyond(self) -> bool:
        return any(c > 0 for c in tuple(self.coefficients)[1:])

    def series(self) -> Series:
        """Return the polynomial of the kernel's series, by Horner's rule."""
        *lower, top = (Series.of([float(c)]) for c in self.coefficients)
        total, inner = top, self.kernel.series()
        for constant in reversed(lower):
            total = total * inner + constant
        return total

    def tile(self, view: View) -> Floats:
        """Evaluate the polynomial on the kernel's tile by Horner's rule."""
        tile = view.value(self.kernel)
        *lower, top = self.coefficients
        total = view.full(top)
        with np.errstate(over="ignore", invalid="ignore"):
            for coefficient in reversed(lower):
                total *= tile
                total += tile.dtype.type(coefficient)
        return self.guarded(total)

    def _diag(self, A: Samples) -> Floats:
        """Evaluate the polynomial on the kernel's diagonal."""
        values = np.polynomial.polynomial.polyval(self._diags(A)[0], np.asarray(self.coefficients, dtype=float))
        return np.asarray(values, dtype=float)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the kernel's derivatives by the chain rule, then those in the coefficients."""
        block = self._blocks(A, B)[0]
        slope = np.polynomial.polynomial.polyval(block, self._slopes())
        own = [np.vdot(W, block**n) for n in range(len(self.coefficients))]
        return np.concatenate([self._pull_term(self.kernel, A, B, W * slope), own])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the chain rule."""
        slope = np.polynomial.polynomial.polyval(self._blocks(A, B)[0], self._slopes())
        return self.kernel.pullback_inputs(A, B, W * slope)

    def _slopes(self) -> Floats:
        c = np.asarray(self.coefficients, dtype=float)
        return np.asarray(c[1:] * np.arange(1.0, len(c))) if len(c) > 1 else np.zeros(1)

    def __repr__(self) -> str:
        return f"PolynomialOf({self.kernel!r}, {tuple(map(float, self.coefficients))!r})"


class Normalized(Inheriting, Wrapped, Featured, Differentiated):
    r"""A kernel scaled to unit length: the cosine of the angle in feature space.

    .. math:: k(x, x') = \frac{k_1(x, x')}{\sqrt{k_1(x, x) \, k_1(x', x')}}

    Seed: [STS] Eq. (21); [KIKS] Section 6.2.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, or indefinite with k(x, x) >= 0. One that is conditionally positive definite only is
        refused: its k(x, x) is not a squared length, often zero.

    Notes
    -----
    An object with k(x, x) = 0 has no direction: two such objects have the value 1, one such and any
    other 0, with a DegenerateWarning; where an indefinite kernel has k(x, x') != 0 for it, that is refused.
    Cost that of the kernel; k(x, x) is computed once per collection.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalized()([[1.0, 0.0], [3.0, 3.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    synonyms = ("cosine similarity",)
    formula = r"k_1(x, x') / \sqrt{k_1(x, x) \, k_1(x', x')}"
    cost = "that of the kernel"
    normalised = True
    bounded = True

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def check(self) -> Self:
        """Raise CapabilityError for a kernel whose k(x, x) is not a squared length."""
        super().check()
        if self.kernel.order:
            raise CapabilityError(
                f"{self.kernel!r} cannot be normalised: it is conditionally positive definite of order "
                f"{self.kernel.order} only, so k(x, x) is not a squared length and may be zero. Positive definite "
                "kernels are accepted. Use one that it defines: kernel.exp(), or Anchored(kernel, point)."
            )
        return self

    @derived
    def order(self) -> int | None:
        """Positive definite if the kernel is."""
        return 0 if self.kernel.order == 0 else None

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """The kernel: all its values are multiplied by positive factors."""
        return self.kernel if of(self.kernel) else None

    @derived
    def continuous(self) -> bool:
        """Whether the kernel is and has no zero."""
        return self.kernel.continuous and self.kernel.nonzero

    def tile(self, view: View) -> Floats:
        """Divide the kernel's tile by the lengths of both sides."""
        tile = view.value(self.kernel)
        if not self.kernel.bounded and not all_finite(tile):  # quotients of infinities would be NaN
            raise overflow_error(self.kernel)
        left, right = view.comparison.keep(("lengths", id(self), view.path), lambda: self._both_lengths(view))
        a, b = left[view.rows], right[view.columns]
        if self.kernel.order != 0 and (tile[a == 0].any() or tile[:, b == 0].any()):
            raise DomainError(
                f"A sample has k(x, x) = 0 and k(x, z) != 0 with another under {self.kernel!r}, so that it cannot be "
                "normalised; samples with k(x, x) > 0 are accepted. Use a positive definite kernel, or leave it out."
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            tile /= a[:, None].astype(tile.dtype)
            tile /= b.astype(tile.dtype)
        if not (a.all() and b.all()):
            tile[a == 0, :] = 0.0
            tile[:, b == 0] = 0.0
            tile[np.ix_(a == 0, b == 0)] = 1.0
        return tile

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return the kernel's own function with coefficients and values divided by lengths, if it has one."""
        if not offers(self.kernel, Compiles):
            return None
        lengths = self._lengths(samples).reshape(-1, *[1] * (np.ndim(coef) - 1))
        scaled = np.divide(coef, lengths, out=np.zeros(np.shape(coef)), where=lengths > 0.0)
        inner = self.kernel.compile(narrowed(self.kernel, samples), scaled)
        if inner is None:
            return None
        of_zeros = np.where(lengths > 0.0, 0.0, coef).sum(axis=0)  # samples without a direction have the value 1

        def evaluate(T: Samples) -> Floats:
            values = inner(narrowed(self.kernel, T))
            own = self._lengths(T).reshape(-1, *[1] * (values.ndim - 1))
            return np.where(own > 0.0, np.divide(values, own, out=np.zeros_like(values), where=own > 0.0), of_zeros)

        return evaluate

    def _both_lengths(self, view: View) -> tuple[Floats, Floats]:
        A, B = view.collections
        left = self._lengths(A)
        return left, left if B is A else self._lengths(B)

    def _lengths(self, A: Samples) -> Floats:
        squares = self._diags(A)[0]
        if not np.all(np.isfinite(squares)):
            raise overflow_error(self.kernel)
        if not np.all(squares >= 0):
            raise DomainError(
                f"{self.kernel!r} gives a negative k(x, x) = {squares.min():.3g} for a sample; only kernels with "
                "k(x, x) >= 0 can be normalised. Use a positive definite kernel."
            )
        if not squares.all():
            warnings.warn(
                f"{int(np.sum(squares == 0))} of {len(A)} samples have zero self-similarity under {self.kernel!r}; "
                "their normalised value is 1 with each other and 0 with all others.",
                DegenerateWarning,
                stacklevel=2,
            )
        return np.sqrt(squares)

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the kernel's features scaled to unit length, and a feature of their own for zero samples."""
        matrix, keys = self.kernel.features(narrowed(self.kernel, A), keys)
        lengths = self._lengths(A)
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        zero = (lengths == 0).astype(float)[:, None]
        if sp.issparse(matrix):
            return sp.hstack([sp.diags_array(inverse) @ matrix, sp.csr_array(zero)], format="csr"), keys
        return np.hstack([matrix * inverse[:, None], zero]), keys

    def _feature_count(self, A: Samples) -> int | None:
        """Return one more than the kernel's number of features."""
        count = feature_count(self.kernel, narrowed(self.kernel, A))
        return None if count is None else count + 1

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the quotient rule: the lengths depend on the parameters too."""
        V, left, right = self._weights(A, B, W)
        gradient = self._pull_term(self.kernel, A, B, V)
        return gradient + self._diag_pullback(A, left) + self._diag_pullback(B, right)

    def _weights(self, A: Samples, B: Samples, W: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weights of dk(a, b), dk(a, a) and dk(b, b) in the derivative."""
        a, b = self._diags(A)[0], self._diags(B)[0]
        if not (a.all() and b.all()):
            raise DomainError(
                f"{self!r} is not differentiable where k(x, x) = 0, which some samples give; "
                "leave those samples out, or add a constant to the kernel."
            )
        V = W / np.sqrt(np.outer(a, b))
        WK = V * self._blocks(A, B)[0]
        return V, -0.5 * WK.sum(axis=1) / a, -0.5 * WK.sum(axis=0) / b

    def _diag_pullback(self, A: Samples, weight: Floats) -> Floats:
        total: Any = 0.0
        for place, value in enumerate(weight):
            one = A[place : place + 1]
            total = total + self._pull_term(self.kernel, one, one, np.array([[value]]))
        return total

    def __repr__(self) -> str:
        return f"{enclosed(self.kernel, ATOM)}.normalized()"

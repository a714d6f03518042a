"""What an element of the space of a kernel is: something that adds, scales, and has inner products.

Symbols: f, g elements, k their kernel, c coefficients, S samples, K = k(S, S).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError, NotPositiveDefinite, ParameterError
from mercer.kernels.kernel import Kernel
from mercer.kernels.vectors.pointwise import dense

__all__ = ["Element"]
__public__ = __all__

_BALANCED = 1e-8  # how exactly coefficients must sum to zero, relative to their absolute values


class Element(ABC):
    r"""A function in the reproducing kernel Hilbert space of a kernel, perhaps with an intercept.

    .. math:: \langle f, k(x, \cdot) \rangle = f(x), \qquad \|f\|^2 = \langle f, f \rangle

    Seed: [SS] Eqs. (93)-(100); [STS] Eqs. (12)-(14); [HSS] Eqs. (13)-(19).

    Notes
    -----
    Elements of one kernel form a vector space: ``f + g``, ``f - g``, ``-f``, ``a * f``, ``f / a``. An element of k
    outputs is k functions side by side; its inner products, norms and distances are arrays (k,), one number per output.
    An array of k numbers in place of `a` scales k outputs one by one, or makes k outputs of one.

    Constants are not in the space of most kernels. An intercept is added and scaled with its function, and is left out
    of inner products, norms and distances: they are those of f - b.
    """

    kernel: Kernel
    intercept: Floats
    __array_ufunc__ = None  # arrays do not multiply elements entry by entry

    # what a subclass defines ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def outputs(self) -> tuple[int, ...]:
        """``()`` of one function, ``(k,)`` of k functions side by side."""

    @abstractmethod
    def __call__(self, T: Any) -> Floats:
        """Return f at packed samples or raw data, shape (m,) or (m, k)."""

    @abstractmethod
    def __add__(self, other: Any) -> Any: ...

    @abstractmethod
    def __mul__(self, number: Any) -> Self: ...

    @abstractmethod
    def inner(self, other: Any) -> Any:
        """Return the inner product with another element of the same kernel, a float or (k,)."""

    @abstractmethod
    def column(self, output: int) -> Self:
        """Return one of several outputs as an element of its own."""

    @abstractmethod
    def without_intercept(self) -> Self:
        """Return the part that is in the space: f - b."""

    @abstractmethod
    def _square(self) -> tuple[Any, Any]:
        """Return the squared norm as it is computed, and a bound on its rounding."""

    # what follows -----------------------------------------------------------------------------------------

    def norm(self) -> Any:
        """Return the norm in the space, a float or (k,); the intercept has no part in it.

        A squared norm below zero by rounding is zero.

        Raises
        ------
        NotPositiveDefinite
            The squared norm is negative beyond rounding: the kernel is not positive definite. (For one that is declared
            conditionally so, balanced functions have no such norm, and negative values are rounding.)
        """
        squared, slack = (np.asarray(value, dtype=float) for value in self._square())
        if (squared < -slack).any():
            worst = float(squared.min())
            raise NotPositiveDefinite(
                f"an element of the space of {self.kernel!r:.200} has the squared norm {worst:.6g}; that of a positive "
                "definite kernel is never negative. Use a positive definite kernel; f.inner(f) is the number itself."
            )
        return plain(np.sqrt(np.maximum(squared, 0.0)))

    def distance(self, other: Any) -> Any:
        """Return the norm of the difference, a float or (k,).

        Of two means of samples (`mercer.hilbert.mean_element`) it is the maximum mean discrepancy.
        """
        return (self - other).norm()

    def normalized(self) -> Self:
        """Return the element divided by its norm, intercept included: a hyperplane's signed distances."""
        norm = np.asarray(self.norm())
        if not norm.all():
            raise ParameterError(
                "an element of norm zero cannot be normalised; only elements of positive norm have a direction. "
                "Leave out zero elements, or zero outputs, first."
            )
        return self / norm

    def __sub__(self, other: Any) -> Any:
        return self + (-other) if isinstance(other, Element) else NotImplemented

    def __neg__(self) -> Self:
        return self * -1.0

    def __rmul__(self, number: Any) -> Self:
        return self * number

    def __truediv__(self, number: Any) -> Self:
        divisor = as_factor(number, self.outputs)
        if not divisor.all():
            raise ParameterError(f"an element was divided by {number!r}; divisors are not zero. Multiply instead.")
        with np.errstate(over="ignore"):
            return self * (1.0 / divisor)

    def __radd__(self, other: Any) -> Self:
        if isinstance(other, (int, float)) and other == 0:  # where sum() begins
            return self
        return NotImplemented


def require_same_kernel(f: Element, g: Element) -> None:
    """Raise CapabilityError unless two elements have equal kernels."""
    if f.kernel is not g.kernel and f.kernel != g.kernel:
        raise CapabilityError(
            f"elements of {f.kernel!r:.200} and of {g.kernel!r:.200} were combined; a space has one kernel, the same "
            "in all its parameters. Fit both with one kernel whose parameters are numbers, not learned from data."
        )


def require_same_outputs(f: Element, g: Element) -> None:
    """Raise DomainError unless two elements have equally many outputs."""
    if f.outputs != g.outputs:
        raise DomainError(
            f"elements with outputs of shape {f.outputs} and {g.outputs} were combined; both must have as many. "
            "Take one output with .column(j), or multiply one function by an array of numbers."
        )


def as_factor(number: Any, outputs: tuple[int, ...]) -> Floats:
    """Return what an element is multiplied by as an array of shape () or (k,), or raise ParameterError."""
    try:
        factor = np.asarray(number, dtype=float)
    except (TypeError, ValueError):
        factor = np.asarray(np.nan)
    fits = factor.ndim == 0 or (factor.ndim == 1 and outputs in ((), factor.shape))
    if not fits or not np.isfinite(factor).all():
        raise ParameterError(
            f"an element with outputs of shape {outputs} was multiplied by {number!r:.100}; a finite number, or an "
            "array of one finite number per output, is accepted. Inner products are f.inner(g)."
        )
    return factor


def scaled(rows: Floats, factor: Floats, outputs: tuple[int, ...]) -> Floats:
    """Return coefficients whose last axis is the outputs, times a factor; one output times (k,) becomes k."""
    if factor.ndim == 1 and not outputs:
        return np.multiply.outer(np.asarray(rows, dtype=float), factor)
    return np.asarray(rows, dtype=float) * factor


def contracted(left: Floats, right: Floats) -> Any:
    """Return sum_i left_i right_i for each output; one function meets each of several."""
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    if left.ndim == right.ndim == 1:
        return float(left @ right)
    if left.ndim == right.ndim and left.shape[1] != right.shape[1]:
        raise DomainError(
            f"elements with {left.shape[1]} and {right.shape[1]} outputs were combined; both must have as many, or one "
            "of them one. Take one output with .column(j)."
        )
    left, right = (side if side.ndim == 2 else side[:, None] for side in (left, right))
    return np.einsum("ij,ij->j", *np.broadcast_arrays(left, right))


def plain(value: Any) -> Any:
    """Return a float for an array without axes."""
    return float(value) if np.ndim(value) == 0 else value


def is_balanced(kernel: Kernel, samples: Samples, coef: Floats) -> bool:
    """Return whether coefficients belong to the space of a kernel that may be conditionally positive definite.

    Its form is not negative for coefficients that are orthogonal to polynomials of degree below its order, and is a
    seminorm there. For other coefficients there is none.
    """
    if not kernel.order:
        return True
    P = _polynomials(samples, kernel.order)
    return not (np.abs(P.T @ coef) > _BALANCED * (np.abs(P).T @ np.abs(coef))).any()


def unbalanced_error(kernel: Kernel) -> CapabilityError:
    """Return the error for an element that a conditionally positive definite kernel has no norm of."""
    what = "sum to zero" if kernel.order == 1 else f"are orthogonal to polynomials of degree below {kernel.order}"
    return CapabilityError(
        f"a function of {kernel!r:.200}, conditionally positive definite of order {kernel.order}, was given whose "
        f"coefficients do not balance; norms and inner products are of functions whose coefficients {what}. Use "
        "differences, as of two means, a machine with an intercept, or a positive definite kernel."
    )


def _polynomials(S: Samples, order: int) -> Floats:
    """Return all monomials of degree below the order at vectors, (n, s); of other samples the constants."""
    if not isinstance(S, Vectors):
        return np.ones((len(S), 1))
    X = dense(S)
    chosen = [c for degree in range(order) for c in combinations_with_replacement(range(X.shape[1]), degree)]
    return np.stack([np.prod(X[:, list(c)], axis=1) for c in chosen], axis=1)

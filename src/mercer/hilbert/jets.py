r"""Kernels along lines: k(a_i + s u_i, b_j + t v_j) and its derivatives in s and t at zero, for all pairs.

Symbols: A, B samples with directions U, V; h = -|x - z|^2 / 2 and t = <x, z> the bases of kernels on vectors, phi the
function of a base; tau the step of a difference.
A sum, product or function of kernels follows from those of its terms by the rules of calculus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError
from mercer.kernels import (
    Cauchy,
    Constant,
    Exp,
    ExponentialDot,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polynomial,
    PolynomialOf,
    Power,
    PowerSeries,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
)
from mercer.kernels.kernel import offers
from mercer.kernels.protocols import InputDifferentiable
from mercer.kernels.vectors.pointwise import DotProduct, Radial, dense

__all__ = ["Jet", "jet", "require_smooth"]

_SMOOTH = (
    *(Cauchy, Constant, ExponentialDot, Gaussian, InverseMultiquadric, Linear, Multiquadric, Periodic, Polynomial),
    *(PowerSeries, RationalQuadratic),
)
_TERMS = (Sum, Product, Scaled, Power, Exp, PolynomialOf)
_STEP = 1e-3  # of differences of the fourth order: truncation and rounding are both near 1e-12
_NEAR = 1e-4  # squared distance in the space, over k(x, x), at which a step is short for the kernel
_GROWTH = 1.3  # by which a second difference that stays bounded cannot grow when its step is 64 times shorter


class Jet(NamedTuple):
    """Values of a kernel on all pairs and its derivatives along lines, each (p, q), or 0.0 where not needed."""

    value: Any
    left: Any
    right: Any
    mixed: Any


def jet(kernel: Kernel, A: Vectors, U: Floats | None, B: Vectors, V: Floats | None) -> Jet:
    r"""Return k(a_i, b_j) and its derivatives along u_i, along v_j, and along both.

    .. math:: \Big(k, \; \sum_m u_{im} \frac{\partial k}{\partial a_{im}}, \;
        \sum_n v_{jn} \frac{\partial k}{\partial b_{jn}}, \;
        \sum_{mn} u_{im} v_{jn} \frac{\partial^2 k}{\partial a_{im} \partial b_{jn}}\Big)

    Seed: [SS] Section 6.2, the derivative functional.

    Parameters
    ----------
    kernel : Kernel
        On vectors, with `pullback_inputs`.
    A, B : Vectors
        p and q samples.
    U, V : (p, d) and (q, d) arrays, or None
        Directions; None leaves the derivatives along them out (0.0).

    Notes
    -----
    Kernels of distances and dot products, their sums, products, multiples, powers, polynomials and exponentials: exact
    for Gaussian, Matern and dot-product kernels, else within about 1e-11 of the largest term, by fourth-order
    differences of the first derivative. Cost O(p q d). Others: by differences of `pullback_inputs`, one sample at a
    time, within about 1e-9, or 1e-4 where the mixed derivative itself has a kink (ArcCosine(1) at equal points).

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> one = np.ones((1, 1))
    >>> jet(Polynomial(2), Vectors.pack([[2.0]]), one, Vectors.pack([[3.0]]), one).mixed  # 2 (1 + x z) + 2 x z
    array([[26.]])
    """
    if isinstance(kernel, (Sum, Product)):
        first, *rest = (jet(term, A, U, B, V) for term in kernel.kernels)
        for other in rest:
            first = _sum(first, other) if isinstance(kernel, Sum) else _product(first, other)
        return first
    if type(kernel) is Scaled:
        return Jet(*(float(kernel.scale) * part for part in jet(kernel.kernel, A, U, B, V)))
    if type(kernel) is Constant:
        return Jet(np.full((len(A), len(B)), float(kernel.value)), *(_zeros(A, B, *sides) for sides in _sides(U, V)))
    if type(kernel) in (Power, Exp, PolynomialOf):
        return _function_of(kernel, jet(kernel.kernel, A, U, B, V))  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(kernel, Radial) and kernel.base()[0].kind == "distance" and type(kernel) is not Periodic:
        return _radial(kernel, dense(A), U, dense(B), V)
    if isinstance(kernel, DotProduct):
        return _dot(kernel, dense(A), U, dense(B), V)
    return _by_differences(kernel, A, U, B, V)


def _sides(U: Any, V: Any) -> tuple[tuple[Any, ...], ...]:
    return (U,), (V,), (U, V)


def _zeros(A: Samples, B: Samples, *directions: Any) -> Any:
    return 0.0 if any(d is None for d in directions) else np.zeros((len(A), len(B)))


# calculus ---------------------------------------------------------------------------------------------------


def _sum(f: Jet, g: Jet) -> Jet:
    return Jet(*(a + b for a, b in zip(f, g, strict=True)))


def _times(a: Any, b: Any) -> Any:
    """Return a product; what is not needed, 0.0, stays a number."""
    return 0.0 if np.ndim(a) == 0 or np.ndim(b) == 0 else a * b


def _product(f: Jet, g: Jet) -> Jet:
    left = _times(f.left, g.value) + _times(f.value, g.left)
    right = _times(f.right, g.value) + _times(f.value, g.right)
    across = _times(f.left, g.right) + _times(f.right, g.left)
    return Jet(f.value * g.value, left, right, _times(f.mixed, g.value) + across + _times(f.value, g.mixed))


def _chain(f: Jet, value: Floats, slope: Floats, bend: Any) -> Jet:
    """Return phi(f) from phi, phi' and phi'' at f; phi'' may be infinite where a factor of it is zero."""
    left, right = _times(slope, f.left), _times(slope, f.right)
    if np.ndim(f.mixed) == 0:
        return Jet(value, left, right, 0.0)
    both = f.left * f.right
    with np.errstate(invalid="ignore"):
        turn = np.where(both == 0.0, 0.0, bend * both)
    return Jet(value, left, right, turn + slope * f.mixed)


def _function_of(kernel: Any, f: Jet) -> Jet:
    """Return a power, an exponential or a polynomial of a kernel."""
    if isinstance(kernel, Exp):
        grown = np.exp(f.value)
        return _chain(f, grown, grown, grown)
    if isinstance(kernel, Power):
        series = np.polynomial.Polynomial([0.0] * int(kernel.exponent) + [1.0])
    else:
        series = np.polynomial.Polynomial(np.asarray(kernel.coefficients, dtype=float))
    return _chain(f, series(f.value), series.deriv(1)(f.value), series.deriv(2)(f.value))


# kernels of one base ------------------------------------------------------------------------------------------


def _radial(kernel: Radial, X: Floats, U: Floats | None, Z: Floats, V: Floats | None) -> Jet:
    """Return phi(h), with h from differences column by column: points that are equal have h = 0."""
    scale = np.broadcast_to(np.asarray(kernel.length_scale, dtype=float), X.shape[1:])
    X, Z = X / scale, Z / scale
    U, V = (None if side is None else side / scale for side in (U, V))
    shape = len(X), len(Z)
    h, along = np.zeros(shape), [np.zeros(shape) if side is not None else 0.0 for side in (U, V)]
    for m in range(X.shape[1]):
        step = X[:, m, None] - Z[:, m]
        h -= 0.5 * step * step
        if U is not None:
            along[0] -= step * U[:, m, None]
        if V is not None:
            along[1] += step * V[:, m]
    both = 0.0 if U is None or V is None else U @ V.T
    known = type(kernel) in (*_SMOOTH, Matern)
    near = h if known else np.minimum(h, -1e-10)  # a slope that is a quotient, as in RadialFunction, has none at zero
    value, slope = h.copy(), np.asarray(kernel.slope(np.ascontiguousarray(near), 1.0), dtype=float)
    kernel.profile(value, 1.0)
    base = Jet(h, along[0], along[1], both)
    return _chain(base, value, slope, 0.0 if np.ndim(both) == 0 else _radial_bend(kernel, h, slope))


def _radial_bend(kernel: Radial, h: Floats, slope: Floats) -> Floats:
    """Return phi''(h). It meets a factor of the size of h, so that steps in proportion to h are short enough."""
    if type(kernel) is Gaussian:
        return slope
    if type(kernel) is Matern and float(kernel.nu) > 1.0:
        ratio = float(kernel.nu) / (float(kernel.nu) - 1.0)  # phi'(h) = ratio times the kernel of nu - 1 at ratio h
        return ratio**2 * Matern(float(kernel.nu) - 1.0).slope(ratio * h, 1.0)
    bend = _difference(lambda e: np.asarray(kernel.slope(np.ascontiguousarray(h * (1.0 + e)), 1.0), dtype=float), _STEP)
    return bend / np.where(h == 0.0, np.inf, h)


def _dot(kernel: DotProduct, X: Floats, U: Floats | None, Z: Floats, V: Floats | None) -> Jet:
    """Return phi(t) with the derivatives of the dot product."""
    t = X @ Z.T
    left, right = (0.0 if U is None else U @ Z.T), (0.0 if V is None else X @ V.T)
    both = 0.0 if U is None or V is None else U @ V.T
    value, slope = t.copy(), np.asarray(kernel.slope(t, 1.0), dtype=float)
    kernel.profile(value, 1.0)
    bend = 0.0 if np.ndim(both) == 0 else _dot_bend(kernel, t, slope, np.linalg.norm(X, axis=1), Z)
    return _chain(Jet(t, left, right, both), value, slope, bend)


def _dot_bend(kernel: DotProduct, t: Floats, slope: Floats, lengths: Floats, Z: Floats) -> Floats:
    """Return phi''(t)."""
    if type(kernel) is Linear:
        return np.zeros_like(t)
    if type(kernel) is ExponentialDot:
        return slope / float(kernel.length_scale) ** 2
    if type(kernel) is Polynomial:
        if kernel.degree == 1:
            return np.zeros_like(t)
        lower = kernel.replace(degree=int(kernel.degree) - 1)
        return kernel.degree * kernel.scale * np.asarray(lower.slope(t, 1.0), dtype=float)
    if type(kernel) is PowerSeries:
        series = np.polynomial.Polynomial(np.atleast_1d(np.asarray(kernel.coefficients, dtype=float)))
        return series.deriv(2)(t)
    reach = np.maximum(np.multiply.outer(lengths, np.linalg.norm(Z, axis=1)), np.finfo(float).tiny)
    return _difference(lambda e: np.asarray(kernel.slope(t + e * reach, 1.0), dtype=float), _STEP) / reach


def _difference(f: Callable[[float], Floats], step: float) -> Floats:
    """Return the derivative of f at zero by a central difference of the fourth order."""
    return (8.0 * (f(step) - f(-step)) - (f(2.0 * step) - f(-2.0 * step))) / (12.0 * step)


# other kernels ------------------------------------------------------------------------------------------------


def _by_differences(kernel: Kernel, A: Vectors, U: Floats | None, B: Vectors, V: Floats | None) -> Jet:
    """Return derivatives from `pullback_inputs`, sample by sample; the mixed one by differences of it."""
    value = np.asarray(kernel.block(A, B), dtype=float)
    left = 0.0 if U is None else np.stack([_slopes(kernel, A, U, b) for b in B], axis=1)
    right = 0.0 if V is None else np.stack([_slopes(kernel, B, V, a) for a in A])
    if U is None or V is None:
        return Jet(value, left, right, 0.0)
    columns = []
    for b, v in zip(B, V, strict=True):
        tau = 0.01 * short_step(kernel, b, v)
        columns.append(_difference(lambda e, b=b, v=v: _slopes(kernel, A, U, _moved(kernel, b, e * v)), tau))
    return Jet(value, left, right, np.stack(columns, axis=1))


def _slopes(kernel: Kernel, A: Vectors, U: Floats, b: Samples) -> Floats:
    """Return the derivative of k(a_i, b) along u_i for one sample b, (p,)."""
    return np.einsum("im,im->i", kernel.pullback_inputs(A, b, np.ones((len(A), 1))), U)


def _moved(kernel: Kernel, one: Vectors, step: Floats) -> Any:
    return kernel.prepare(Vectors(np.ascontiguousarray(dense(one) + step)))


def short_step(kernel: Kernel, one: Vectors, direction: Floats) -> float:
    """Return a step along a direction, in multiples of it, that is short for the kernel at one sample."""
    start = max(1.0, float(np.abs(dense(one)).max())) / (float(np.linalg.norm(direction)) or 1.0)
    if kernel.order:  # k(x, x) says nothing about its values elsewhere
        return 1e-3 * start
    tau = start
    for _ in range(60):
        if all(_is_near(kernel, one, part * tau * direction) for part in (1.0, 0.618, 0.27)):  # not a whole period away
            return tau
        tau /= 4.0
    return 1e-3 * start


def _is_near(kernel: Kernel, one: Vectors, step: Floats) -> bool:
    """Whether a sample a step away, if there is one, is near in the space of the kernel."""
    try:
        other = _moved(kernel, one, step)
        own, its = float(kernel.diag(one)[0]), float(kernel.diag(other)[0])
        both = float(kernel.block(one, other)[0, 0])
    except DomainError:  # beyond the border of the domain
        return False
    return own + its - 2.0 * both <= _NEAR * max(abs(own), abs(its), abs(both))


# which kernels have derivatives ---------------------------------------------------------------------------------


def require_smooth(kernel: Kernel, S: Samples, U: Floats) -> None:
    """Raise CapabilityError unless derivatives at samples along directions are bounded functionals.

    They are if the mixed second derivative of the kernel exists at equal points, which is their squared norm. It is
    known for most kernels; for others its difference quotients are checked at two steps.
    """
    if not isinstance(S, Vectors):
        raise CapabilityError(
            f"a derivative at {type(S).__name__} was asked for; only functions of vectors have derivatives. Use a "
            "kernel on vectors, without .on(columns) or .of(transform)."
        )
    if type(kernel) in _TERMS:
        terms = getattr(kernel, "kernels", None) or (kernel.kernel,)  # pyright: ignore[reportAttributeAccessIssue]
        for term in terms:
            require_smooth(term, S, U)
        return
    if type(kernel) in _SMOOTH or (type(kernel) is Matern and float(kernel.nu) > 1.0):
        return
    if not offers(kernel, InputDifferentiable):
        kernel.pullback_inputs(S, S, np.ones((len(S), len(S))))  # says so
    if isinstance(kernel, Matern) or not all(_is_bounded(kernel, one, u) for one, u in zip(S, U, strict=True)):
        raise CapabilityError(
            f"{kernel!r:.200} has no second derivative at equal points, so that its functions need not be "
            "differentiable, and a derivative is not a bounded functional on them; the mixed second derivative must "
            "exist there. Use a smoother kernel, as Gaussian() or Matern(1.5)."
        )


def _is_bounded(kernel: Kernel, one: Vectors, u: Floats) -> bool:
    """Whether difference quotients of the first derivative stay bounded as the step shrinks."""
    if not u.any():
        return True
    tau = short_step(kernel, one, u)
    wide, narrow = (_quotient(kernel, one, u, step) for step in (tau, tau / 64.0))
    return not narrow > _GROWTH * abs(wide)


def _quotient(kernel: Kernel, one: Vectors, u: Floats, tau: float) -> float:
    ends = []
    for sign in (1.0, -1.0):
        try:
            ends.append((sign, float(_slopes(kernel, one, u[None, :], _moved(kernel, one, sign * tau * u))[0])))
        except DomainError:
            ends.append((0.0, float(_slopes(kernel, one, u[None, :], one)[0])))
    return (ends[0][1] - ends[1][1]) / ((ends[0][0] - ends[1][0]) * tau)

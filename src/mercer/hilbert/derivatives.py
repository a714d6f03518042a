r"""Derivatives of functions of a space, and the elements that give them by an inner product.

Symbols: f an element, x a sample of d columns, u a direction, k'_{x,u} = sum_m u_m dk(x, .)/dx_m.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.arguments import checked
from mercer.arrays import Floats, real_numbers
from mercer.constraints import InstanceOf
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram import Expansion, FeatureExpansion
from mercer.gram.element import Element, as_factor, plain, require_same_kernel, require_same_outputs, scaled
from mercer.hilbert.jets import jet, require_smooth
from mercer.kernels import Kernel, Linear
from mercer.kernels.vectors.pointwise import dense
from mercer.spec import derived
from mercer.targets.target import sample_weights

__all__ = ["DerivativeExpansion", "derivative_representer", "gradient", "sensitivity"]
__public__ = __all__

_ENTRIES = 2**20  # of a matrix at a time
_STEP = 3e-3  # of differences of the fourth order, in units of a column
_ROUNDING = 1e-8  # of squared norms with derivatives, relative to the sum of their terms


@dataclass(frozen=True, eq=False)
class DerivativeExpansion(Element):
    r"""An element made of kernels at some samples and of derivatives of kernels at others.

    .. math:: f = \sum_i c_i \, k(s_i, \cdot) + \sum_j \sum_m g_{jm} \frac{\partial k(z_j, \cdot)}{\partial z_{jm}}

    Functions that meet given values and slopes are of this form. It adds, scales and has inner products with
    elements of every kind; those with derivatives are derivatives, by the reproducing property.

    Seed: [SS] Section 6.2 (bounded linear functionals).

    Parameters
    ----------
    kernel : Kernel
        On vectors; its mixed second derivative exists at equal points.
    points : Vectors
        The q samples z_j.
    slopes : (q, d) or (q, d, k) array
        The coefficients g of the derivatives, one column of the last axis per output.
    value : Expansion, optional
        The part without derivatives, with its intercept.

    Notes
    -----
    Exact to rounding for Gaussian, Matern and dot-product kernels; mixed derivatives of others are within about 1e-11
    (kernels of the distance) or 1e-9 of the largest term (`mercer.hilbert.jets.jet`).

    Examples
    --------
    >>> from mercer.hilbert import derivative_representer
    >>> from mercer.kernels import Gaussian
    >>> slope = derivative_representer(Gaussian(2.0), [[0.0]], 0)
    >>> slope.norm()  # the second mixed derivative at equal points is 1 / l^2
    0.5
    >>> (3.0 * slope)([[0.0]])
    array([0.])
    """

    kernel: Kernel
    points: Vectors
    slopes: Floats
    value: Expansion | None = None

    def __call__(self, T: Any) -> Floats:
        """Return f at packed samples or raw data, shape (m,) or (m, k)."""
        T = self.kernel.prepare(T if isinstance(T, Samples) else self.kernel.pack(T))
        out = np.empty((len(T), *self.outputs))
        for rows in _runs(len(T), len(self.points)):
            for place, G in self._each():
                out[(rows, *place)] = jet(self.kernel, self.points, G, T[rows], None).left.sum(axis=0)
        return out if self.value is None else out + self.value(T)

    @derived
    def intercept(self) -> Floats:
        """That of the part without derivatives, or zero."""
        return np.asarray(0.0) if self.value is None else self.value.intercept

    @property
    def outputs(self) -> tuple[int, ...]:
        """``()`` of one function, ``(k,)`` of k functions side by side."""
        return self.slopes.shape[2:]

    def _each(self) -> list[tuple[tuple[int, ...], Floats]]:
        """Return the slopes of each output, (q, d), with its place."""
        if not self.outputs:
            return [((), self.slopes)]
        return [((j,), np.ascontiguousarray(self.slopes[:, :, j])) for j in range(self.outputs[0])]

    def __add__(self, other: Any) -> Any:
        if isinstance(other, FeatureExpansion):
            raise CapabilityError(
                "a function in features was added to one with derivatives; functions of samples are accepted. Fit with "
                "gram=Dense(), whose functions are made of samples."
            )
        if not isinstance(other, (Expansion, DerivativeExpansion)):
            return NotImplemented
        require_same_kernel(self, other)
        require_same_outputs(self, other)
        if isinstance(other, Expansion):
            return dataclasses.replace(self, value=other if self.value is None else self.value + other)
        values = [part.value for part in (self, other) if part.value is not None]
        points = self.kernel.prepare(self.points.concat(other.points))
        slopes = np.concatenate([self.slopes, other.slopes])
        return DerivativeExpansion(self.kernel, points, slopes, sum(values) if values else None)  # pyright: ignore

    def __radd__(self, other: Any) -> Any:
        return self + other if isinstance(other, Element) else super().__radd__(other)

    def __mul__(self, number: Any) -> Self:
        factor = as_factor(number, self.outputs)
        value = None if self.value is None else self.value * number
        return dataclasses.replace(self, slopes=scaled(self.slopes, factor, self.outputs), value=value)

    def column(self, output: int) -> Self:
        """Return one of several outputs as an element of its own."""
        value = None if self.value is None else self.value.column(output)
        return dataclasses.replace(self, slopes=np.ascontiguousarray(self.slopes[:, :, output]), value=value)

    def without_intercept(self) -> Self:
        """Return the part without the intercept."""
        return self if self.value is None else dataclasses.replace(self, value=self.value.without_intercept())

    def inner(self, other: Any) -> Any:
        """Return the inner product with another element of the same kernel, a float or (k,)."""
        return self._inner(other)[0]

    def _inner(self, other: Any) -> tuple[Any, Any]:
        """Return the inner product, and the sum of the absolute values it is made of."""
        if not isinstance(other, Element):
            raise DomainError(
                f"an inner product with {type(other).__name__} was asked for; both must be elements of the space of "
                "one kernel. Use the expansion_ of a fitted machine, or elements made by mercer.hilbert."
            )
        require_same_kernel(self, other)
        if isinstance(other, Expansion):
            other.require_in_space()
        slopes = gradient(other, self.points)  # <f', k'> is a derivative of f'
        own, its = len(self.outputs), len(other.outputs)
        if own and its and self.outputs != other.outputs:
            require_same_outputs(self, other)
        left = self.slopes if own or not its else self.slopes[:, :, None]
        terms = left * (slopes if its or not own else slopes[:, :, None])
        total, size = terms.sum(axis=(0, 1)), np.abs(terms).sum(axis=(0, 1))
        if self.value is not None:
            rest = other.inner(self.value)
            total, size = total + rest, size + np.abs(rest)
        return plain(total), size

    def _square(self) -> tuple[Any, Any]:
        squared, size = self._inner(self)
        return squared, _ROUNDING * size


@checked(kernel=InstanceOf(Kernel))
def derivative_representer(kernel: Kernel, x: Any, direction: Any) -> DerivativeExpansion:
    r"""Return the element whose inner product with f is the derivative of f at a sample.

    .. math:: \langle f, k'_{x,u} \rangle = \sum_m u_m \frac{\partial f}{\partial x_m}(x), \qquad
        \langle k'_{x,u}, k'_{z,v} \rangle = \sum_{mn} u_m v_n \frac{\partial^2 k(x, z)}{\partial x_m \partial z_n}

    Seed: [SS] Section 6.2.

    Parameters
    ----------
    kernel : Kernel
        On vectors, and smooth: a derivative is a bounded functional only where the mixed second derivative of the
        kernel exists at equal points. Laplacian, Exponential, Brownian and other kernels with a kink are refused.
    x : raw data or Vectors
        A collection of one sample.
    direction : int or (d,) array
        A column, or a direction.

    Returns
    -------
    DerivativeExpansion

    Examples
    --------
    >>> from mercer.hilbert import derivative_representer, gradient
    >>> from mercer.hilbert import representer
    >>> from mercer.kernels import Polynomial
    >>> f = representer(Polynomial(2), [[3.0]])  # (1 + 3 x)^2
    >>> f.inner(derivative_representer(Polynomial(2), [[1.0]], 0)), gradient(f, [[1.0]])
    (24.0, array([[24.]]))
    """
    S = kernel.check().prepare(kernel.pack(x).owned())
    if len(S) != 1:
        raise DomainError(
            f"a collection of {len(S)} samples was given; the representer of the derivative at one sample is made. "
            "Give a collection of one, as X[:1]; sums of several are elements."
        )
    u = _direction(direction, S.width if isinstance(S, Vectors) else 1)
    if kernel.order is None or kernel.order > 1:
        raise CapabilityError(
            f"{kernel!r:.200} has order {kernel.order}; derivatives as elements need a positive definite kernel, or a "
            "conditionally positive definite one of order 1. Use gradient for the derivatives of a function."
        )
    require_smooth(kernel, S, u[None, :])
    assert isinstance(S, Vectors)
    return DerivativeExpansion(kernel, S, u[None, :])


def _direction(given: Any, width: int) -> Floats:
    """Return a column or a direction as a vector (d,), or raise ParameterError."""
    if isinstance(given, (int, np.integer)) and -width <= given < width:
        return np.eye(width)[given]
    try:
        u = real_numbers(given, "direction")
    except (TypeError, ValueError):
        u = np.empty(0)
    if u.shape != (width,) or not np.isfinite(u).all():
        raise ParameterError(
            f"direction={given!r:.100} was given for samples with {width} columns; the number of a column, or one "
            "finite number per column, is accepted. Use 0 for the first column."
        )
    return u


@checked(f=InstanceOf(Element))
def gradient(f: Element, X: Any) -> Floats:
    r"""Return the partial derivatives of a function of a space at some samples.

    .. math:: \frac{\partial f}{\partial x_m}(x) = \sum_i c_i \frac{\partial k(x, s_i)}{\partial x_m}

    Seed: [SS] Section 6.2, f'(x) as an inner product with k'.

    Parameters
    ----------
    f : Element
        Such as the ``expansion_`` of a fitted machine, with a kernel on vectors.
    X : (m, d) array-like or Vectors

    Returns
    -------
    (m, d) array, or (m, d, k) of k outputs

    Notes
    -----
    In blocks of rows, by `Kernel.pullback_inputs`: nothing of size m x n x d. At a kink of the kernel (Laplacian, or
    Matern of nu = 1/2, at equal points) one of its slopes, or their middle, is returned. A function in features is
    differentiated by central differences of the fourth order: exact up to rounding for polynomials of degree four.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 6.0, 40)[:, None]
    >>> machine = KernelRidge(Gaussian(1.0), alpha=1e-8).fit(x, np.sin(x[:, 0]))
    >>> gradient(machine.expansion_, [[0.0 + np.pi]]).round(4)
    array([[-1.]])
    """
    T = f.kernel.prepare(X if isinstance(X, Samples) else f.kernel.pack(X))
    if not isinstance(T, Vectors):
        raise CapabilityError(
            f"derivatives at {type(T).__name__} were asked for; only functions of vectors have derivatives. Use a "
            "kernel on vectors, without .on(columns) or .of(transform)."
        )
    if isinstance(f, Expansion):
        return _gradient_of_samples(f, T)
    if isinstance(f, FeatureExpansion):
        return _gradient_of_features(f, T)
    assert isinstance(f, DerivativeExpansion)
    out = np.empty((len(T), T.width, *f.outputs))
    for rows in _runs(len(T), len(f.points)):
        for m in range(T.width):
            along = np.zeros((rows.stop - rows.start, T.width))
            along[:, m] = 1.0
            for place, G in f._each():
                out[(rows, m, *place)] = jet(f.kernel, f.points, G, T[rows], along).mixed.sum(axis=0)
    return out if f.value is None else out + gradient(f.value, T)


def _gradient_of_samples(f: Expansion, T: Vectors) -> Floats:
    out = np.empty((len(T), T.width, *f.outputs))
    for rows in _runs(len(T), len(f.samples)):
        part = T[rows]
        for j in np.ndindex(f.outputs):
            weights = np.broadcast_to(np.asarray(f.coef[(slice(None), *j)], dtype=float), (len(part), len(f.coef)))
            out[(rows, slice(None), *j)] = f.kernel.pullback_inputs(part, f.samples, weights)
    if f.diagonal:  # k(x, x) changes by both of its arguments
        for i in range(len(T)):
            own = f.kernel.pullback_inputs(T[i], T[i], np.full((1, 1), 2.0 * f.diagonal))[0]
            out[i] += own if not f.outputs else own[:, None]
    return out


def _gradient_of_features(f: FeatureExpansion, T: Vectors) -> Floats:
    if type(f.kernel) is Linear:
        weights = np.asarray(f.weights, dtype=float)
        return np.broadcast_to(weights, (len(T), *weights.shape)).copy()
    X = dense(T)
    out = np.empty((*X.shape, *f.outputs))
    for m in range(X.shape[1]):
        step = _STEP * (float(np.abs(X[:, m]).max()) or 1.0)
        ends = []
        for multiple in (1.0, -1.0, 2.0, -2.0):
            moved = X.copy()
            moved[:, m] += multiple * step
            ends.append(f(f.kernel.prepare(f.kernel.pack(moved))))
        out[:, m] = (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * step)
    return out


@checked(f=InstanceOf(Element))
def sensitivity(f: Element, X: Any, sample_weight: Any = None) -> Floats:
    r"""Return how much each column matters to a function: the mean of its squared partial derivative.

    .. math:: S_m = \frac{\sum_i w_i \, (\partial f / \partial x_m)(x_i)^2}{\sum_i w_i}

    Seed: [SS] Section 6.2, with the mean over a sample.

    Parameters
    ----------
    f : Element
        Such as the ``expansion_`` of a fitted machine, with a kernel on vectors.
    X : (n, d) array-like or Vectors
    sample_weight : (n,) array-like, optional

    Returns
    -------
    (d,) array, or (d, k) of k outputs
        In units of f per unit of the column, squared: compare columns of one scale, or times their variances.

    Examples
    --------
    >>> from mercer.hilbert import sensitivity
    >>> from mercer.hilbert import representer
    >>> from mercer.kernels import Linear
    >>> sensitivity(representer(Linear(), [[3.0, 0.0]]), [[1.0, 2.0], [5.0, 1.0]])
    array([9., 0.])
    """
    T = X if isinstance(X, Samples) else f.kernel.pack(X)
    w = sample_weights(sample_weight, len(T))
    used = np.flatnonzero(w)
    total: Any = 0.0
    for rows in _runs(len(used), 256):
        total = total + np.tensordot(w[used[rows]], gradient(f, T.take(used[rows])) ** 2, axes=1)
    return total / w.sum()


def _runs(count: int, width: int) -> list[slice]:
    """Return slices of rows whose blocks have a bounded number of entries."""
    step = max(1, _ENTRIES // max(width, 1))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]

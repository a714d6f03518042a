"""Kernels of infinitely wide networks of several layers: their outputs before training, and their tangents.

Symbols: theta_l the angle between the images of x and z after l layers, n the degree of the units, L the number of
layers, J_n as in the arc-cosine kernel, kappa_0 = 1 - theta / pi, kappa_1 = (sin theta + (pi - theta) cos theta) / pi.

An angle after a layer is computed from one minus its cosine, without a difference of nearly equal numbers: near vectors
keep their digits however many layers there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Fixed, Integer, Interval
from mercer.domains import Samples, Vectors
from mercer.kernels.abilities import Differentiated
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Tiled
from mercer.kernels.vectors.arccosine import both_directions, directions, supplements
from mercer.spec import derived

__all__ = ["DeepArcCosine", "NeuralTangent"]
__public__ = __all__

_SMALL = 0.05  # radians, below which differences are taken from their series


class _Layers(Tiled, Differentiated):
    """A kernel of the lengths of two vectors and the angle between them."""

    domain = Vectors
    continuous = True

    def _augmented(self, A: Vectors) -> Vectors:
        return A

    def tile(self, view: View) -> Floats:
        """Compute the angles of the tile, then the layers."""
        A, B = view.collections
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        key = ("directions", repr(self), view.path)
        (U, a), (V, b) = view.comparison.keep(key, lambda: self._directions(A, B))
        theta = np.pi - supplements(U[view.rows], V[view.columns])
        tile = view.empty()
        with np.errstate(over="ignore", invalid="ignore"):
            tile[...] = self._value(theta, a[view.rows], b[view.columns])
        return tile

    def _directions(self, A: Vectors, B: Vectors) -> Any:
        left = self._augmented(A)
        return both_directions(left, left if B is A else self._augmented(B))

    def _value(self, theta: Floats, a: Floats, b: Floats) -> Floats:
        """Return the kernel from the angles of the inputs and their lengths."""
        raise NotImplementedError

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)


class DeepArcCosine(_Layers):
    r"""Deep arc-cosine kernel: infinitely wide layers of threshold or rectified units, one upon the other.

    .. math:: k_1 = \frac{1}{\pi} \|x\|^n \|x'\|^n J_n(\theta_0), \qquad
        k_{l+1}(x, x') = \frac{1}{\pi} \big(k_l(x, x)\, k_l(x', x')\big)^{n/2} J_n(\theta_l), \quad
        \cos\theta_l = \frac{k_l(x, x')}{\sqrt{k_l(x, x)\, k_l(x', x')}}

    Seed: none of the five gives it; Cho & Saul, Kernel methods for deep learning (2009), Section 2.3. A kernel of
    images under a feature map is [STS] Theorem 7.

    Parameters
    ----------
    degree : {0, 1, 2}, default 1
        n: units that step, that are linear above zero, or quadratic above zero. Not a free parameter.
    depth : int, default 2
        L >= 1, the number of layers; 1 is `ArcCosine`.

    Notes
    -----
    Domain Vectors, dense or sparse. Features no; no free parameter. Positive definite of order 0, as each layer is an
    expectation of products of features of the layer before; not strict, since multiples of a vector have proportional
    features. Bounded for n = 0. For n = 2 values grow like the power 2^(L + 1) of the lengths: scale the columns.
    With depth the angles of order 1 shrink to zero, so that all vectors become alike; those of orders 0 and 2 tend to
    0.66 and 1.18, so that all become equally unlike. Cost O(mnd) by one matrix product, and O(L) a pair.

    Examples
    --------
    >>> DeepArcCosine(1, depth=2)([[1.0, 0.0], [0.0, 1.0]]).round(3)
    array([[1.   , 0.494],
           [0.494, 1.   ]])
    """

    formula = r"(k_l(x, x) k_l(x', x'))^{n/2} J_n(\theta_l) / \pi"
    cost = "O(mnd), one matrix product, and O(L) a pair"
    constraints = {"degree": Integer(0, 2), "depth": Integer(1)}

    def __init__(self, degree: int = 1, depth: int = 2) -> None:
        self.degree = degree
        self.depth = depth

    @derived
    def bounded(self) -> bool:
        """Whether the degree is 0."""
        return self.degree == 0

    @derived
    def continuous(self) -> bool:
        """Whether the degree is above 0; angles are not continuous at the zero vector."""
        return self.degree > 0

    def _norms(self, a: Floats) -> Floats:
        """Return k_{L-1}(x, x), the squared length in the last but one layer, of vectors of length a."""
        squares = a**2
        for _ in range(int(self.depth) - 1):
            squares = squares if self.degree == 1 else 3.0 * squares**2 if self.degree == 2 else np.ones_like(a)
        return squares

    def _value(self, theta: Floats, a: Floats, b: Floats) -> Floats:
        for layer in range(int(self.depth) - 1):
            theta = _next_angle(theta, int(self.degree))
            if layer == 0 and self.degree == 0:
                # the image of a zero vector has half the squared length of the others, and so another angle to them
                zero = (a == 0.0)[:, None] ^ (b == 0.0)
                theta = np.where(zero, np.pi / 4.0, theta)
                theta[np.ix_(a == 0.0, b == 0.0)] = 0.0
        phi = np.pi - theta
        if self.degree == 0:
            return phi / np.pi
        lengths = np.multiply.outer(np.sqrt(self._norms(a)), np.sqrt(self._norms(b)))
        if self.degree == 1:
            return lengths * _rectified(theta)
        cosine = np.cos(phi)
        return lengths**2 * np.maximum(phi * (1 + 2 * cosine**2) - 3 * np.sin(phi) * cosine, 0.0) / np.pi

    def _diag(self, A: Samples) -> Floats:
        """Return the squared lengths in the last layer."""
        assert isinstance(A, Vectors)
        _, a = directions(A)
        with np.errstate(over="ignore"):
            if self.degree == 0:
                return np.where((a > 0) | (self.depth > 1), 1.0, 0.5)
            return self._norms(a) if self.degree == 1 else 3.0 * self._norms(a) ** 2


class NeuralTangent(_Layers):
    r"""Neural tangent kernel: what gradient descent on an infinitely wide network of rectified units amounts to.

    .. math:: \Theta_l = \Sigma_l + \Theta_{l-1} \kappa_0(\theta_{l-1}), \quad
        \Sigma_l = \|x\| \|x'\| \kappa_1(\theta_{l-1}), \quad \cos\theta_l = \kappa_1(\theta_{l-1}), \quad
        \Theta_0 = \Sigma_0 = \langle x, x' \rangle

    Seed: none of the five gives it; Jacot, Gabriel & Hongler, Neural tangent kernel (2018), with weights of variance 2
    over the width, so that lengths stay. Sums and products of kernels are kernels, [STS] Theorem 7.

    Parameters
    ----------
    depth : int, default 2
        L >= 1, the number of hidden layers.
    offset : float, default 0.0
        Added to all dot products of inputs, at least 0: the squared size of a constant input, which makes the kernel
        one of functions that need not vanish at zero. Not a free parameter.

    Notes
    -----
    Domain Vectors, dense or sparse. Features no; no free parameter. Positive definite of order 0 as sums and products
    of such; not strict without an offset, since Theta(x, 2 x) = 2 Theta(x, x). k(x, x) = (L + 1) |x|^2. Not bounded
    (``.normalized()`` removes that). Cost O(mnd) by one matrix product, and O(L) a pair.

    Examples
    --------
    >>> NeuralTangent(1)([[1.0, 0.0], [0.0, 1.0]]).round(3)
    array([[2.   , 0.318],
           [0.318, 2.   ]])
    """

    formula = r"\Theta_l = \Sigma_l + \Theta_{l-1} \kappa_0(\theta_{l-1})"
    cost = "O(mnd), one matrix product, and O(L) a pair"
    constraints = {"depth": Integer(1), "offset": Fixed(Interval(0.0, np.inf, closed="left"))}

    def __init__(self, depth: int = 2, offset: float = 0.0) -> None:
        self.depth = depth
        self.offset = offset

    def _augmented(self, A: Vectors) -> Vectors:
        """Return the vectors with the constant input."""
        if not self.offset:
            return A
        X: Any = A.X
        column = np.full((len(A), 1), np.sqrt(float(self.offset)), X.dtype)
        joined: Any = sp.hstack([X, sp.csr_array(column)], format="csr") if A.is_sparse else np.hstack([X, column])
        return Vectors(joined)

    def _value(self, theta: Floats, a: Floats, b: Floats) -> Floats:
        tangent = np.cos(theta)
        for _ in range(int(self.depth)):
            tangent = _rectified(theta) + tangent * (1.0 - theta / np.pi)
            theta = _next_angle(theta, 1)
        return np.multiply.outer(a, b) * tangent

    def _diag(self, A: Samples) -> Floats:
        """Return (L + 1) |x|^2."""
        assert isinstance(A, Vectors)
        _, a = directions(self._augmented(A))
        with np.errstate(over="ignore"):
            return (int(self.depth) + 1.0) * a**2


def _rectified(theta: Floats) -> Floats:
    """Return kappa_1, the cosine of the angle after a layer of rectified units."""
    phi = np.pi - theta
    return np.maximum(np.sin(phi) - phi * np.cos(phi), 0.0) / np.pi


def _next_angle(theta: Floats, degree: int) -> Floats:
    """Return the angle after a layer: its cosine is J_n(theta) / J_n(0)."""
    if degree == 0:
        gap = theta / np.pi
    elif degree == 1:
        # 1 - kappa_1 = (2 pi sin^2(theta / 2) - (sin theta - theta cos theta)) / pi, the last ones of order theta^3
        series = theta**3 * (1.0 / 3.0 - theta**2 * (1.0 / 30.0 - theta**2 / 840.0))
        rest = np.where(theta < _SMALL, series, np.sin(theta) - theta * np.cos(theta))
        gap = 2.0 * np.sin(0.5 * theta) ** 2 - rest / np.pi
    else:
        # 1 - J_2 / (3 pi) = (2 pi sin^2 theta + (theta (2 + cos 2 theta) - 3/2 sin 2 theta)) / (3 pi)
        t = 2.0 * theta
        series = t**5 * (1.0 / 120.0 - t**2 * (1.0 / 2520.0 - t**2 / 120960.0))
        rest = np.where(theta < _SMALL, series, t + 0.5 * t * np.cos(t) - 1.5 * np.sin(t))
        gap = (2.0 * np.pi * np.sin(theta) ** 2 + rest) / (3.0 * np.pi)
    return 2.0 * np.arcsin(np.sqrt(np.clip(0.5 * gap, 0.0, 1.0)))

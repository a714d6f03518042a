r"""From kernels to distances and back: what conditionally positive definite kernels are good for.

Symbols: k a kernel of order 0 or 1, Phi its feature map, d(x, z) = |Phi(x) - Phi(z)| the distance that it induces,
d^2 = k(x, x) + k(z, z) - 2 k(x, z); o a point that becomes the origin; b the exponent.
A kernel of order 1 has no inner product of single images, but one of differences of images: distances, and inner
products seen from a point, are all that it defines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Data, Interval
from mercer.domains import Samples
from mercer.errors import CapabilityError, DomainError
from mercer.kernels.comparison import View
from mercer.kernels.composite import Wrapped
from mercer.kernels.kernel import Kernel, narrowed
from mercer.spec import derived

__all__ = ["Anchored", "FeatureDistance"]
__public__ = __all__


class _Inducing(Wrapped):
    """A node over a kernel that induces a distance."""

    def check(self) -> Any:
        """Raise CapabilityError unless the kernel is of order 0 or 1."""
        super().check()
        if self.kernel.order not in (0, 1):
            kind = "indefinite" if self.kernel.order is None else f"of order {self.kernel.order}"
            raise CapabilityError(
                f"{type(self).__name__} was given {self.kernel!r}, which is {kind}; kernels of order 0 and 1 induce a "
                "distance. Use a positive definite kernel, or one of order 1 such as NegativeDistance()."
            )
        return self

    def _both(self, view: View, what: str, of: Any) -> tuple[Floats, Floats]:
        """Return numbers of the samples of both sides of a tile, computed once per comparison."""

        def compute() -> tuple[Floats, Floats]:
            A, B = view.collections
            left = of(A)
            return left, left if B is A else of(B)

        left, right = view.comparison.keep((what, id(self), view.path), compute)
        return left[view.rows], right[view.columns]


class FeatureDistance(_Inducing):
    r"""Negative distance in the feature space of a kernel.

    .. math:: k(x, x') = -\|\Phi(x) - \Phi(x')\|^\beta, \qquad
              \|\Phi(x) - \Phi(x')\|^2 = k_1(x, x) + k_1(x', x') - 2 k_1(x, x')

    Seed: [HSS] Section 2.2.2, Eq. (20) (kernels from dissimilarities); [ST] "Simple classification".

    Parameters
    ----------
    kernel : Kernel
        k_1, on any domain: positive definite, or conditionally so of order 1.
    exponent : float, default 1.0
        The power beta, above 0 and at most 2.

    Notes
    -----
    Domain that of k_1. Features no; frequencies no; not differentiable (use `NegativeDistance` for vectors).
    Conditionally positive definite of order 1, for d^2 is negative definite and so are its powers up to 1 (Schoenberg).
    Its exponential is the Gaussian of distances between strings, sets, or whatever k_1 compares:
    ``(0.5 * FeatureDistance(Spectrum(3), 2.0)).exp()``. With exponent 2 it is k_1 again in all that order 1 means,
    twice: the distance it induces is sqrt(2) d. k(x, x) = 0. Cost that of k_1. Cancellation leaves distances below
    some 1e-8 of the size of the images to rounding.

    Examples
    --------
    >>> from mercer.kernels import Linear, Spectrum
    >>> FeatureDistance(Linear())([[0.0, 0.0], [3.0, 4.0]])
    array([[ 0., -5.],
           [-5.,  0.]])
    >>> (0.5 * FeatureDistance(Spectrum(1), 2.0)).exp()(["ab", "ba", "aa"]).round(3)
    array([[1.   , 1.   , 0.368],
           [1.   , 1.   , 0.368],
           [0.368, 0.368, 1.   ]])
    """

    formula = r"-\|\Phi(x) - \Phi(x')\|^\beta"
    cost = "that of the kernel"
    order = 1
    normalised = False
    constraints = {"exponent": Interval(0.0, 2.0, closed="right")}

    def __init__(self, kernel: Kernel, exponent: float = 1.0) -> None:
        self.kernel = kernel
        self.exponent = exponent

    @derived
    def strict(self) -> bool:
        """Strictly definite, on its order's terms, if the kernel is: then no two images are equal."""
        return self.kernel.strict and float(self.exponent) < 2.0

    def tile(self, view: View) -> Floats:
        """Turn the kernel's tile into powers of distances."""
        tile = view.value(self.kernel)
        left, right = self._both(view, "self-similarities", lambda A: np.asarray(self._diags(A)[0]))
        with np.errstate(over="ignore", invalid="ignore"):
            tile *= tile.dtype.type(-2.0)
            tile += left[:, None].astype(tile.dtype)
            tile += right.astype(tile.dtype)
        np.maximum(tile, tile.dtype.type(0.0), out=tile)
        if view.rows == view.columns and view.collections[0] is view.collections[1]:
            np.fill_diagonal(tile, 0.0)
        np.power(tile, tile.dtype.type(0.5 * float(self.exponent)), out=tile)
        np.subtract(tile.dtype.type(0.0), tile, out=tile)
        return self.guarded(tile)

    def _diag(self, A: Samples) -> Floats:
        """Return zeros."""
        return np.zeros(len(A))


class Anchored(_Inducing):
    r"""Inner products seen from a point: the positive definite kernel of one that is conditionally so.

    .. math:: k(x, x') = k_1(x, x') - k_1(x, o) - k_1(o, x') + k_1(o, o)
              = \langle \Phi(x) - \Phi(o), \Phi(x') - \Phi(o) \rangle

    Seed: [HSS] Section 2.2.2, Eq. (20); Lemma 13 with g = -Phi(o).

    Parameters
    ----------
    kernel : Kernel
        k_1: positive definite, or conditionally so of order 1.
    point : raw data of one sample
        o, for example ``[[0.0, 0.0]]`` or ``["abc"]``.

    Notes
    -----
    Domain that of k_1. Features no; frequencies no; not differentiable. Positive definite if and only if k_1 is
    conditionally so of order 1. It induces the distance that k_1 does, and machines that are invariant to translations
    in feature space, as the support vector machines with a bias, learn the same from both. k(o, x) = 0. The negative
    distance becomes the covariance of Brownian motion that starts at o. Cost that of k_1, and one more column.

    Examples
    --------
    >>> from mercer.kernels import NegativeDistance
    >>> Anchored(NegativeDistance(), [[0.0]])([[1.0], [2.0], [-3.0]])  # 2 min(|x|, |z|) on one side of 0
    array([[2., 2., 0.],
           [2., 4., 0.],
           [0., 0., 6.]])
    """

    formula = r"k_1(x, x') - k_1(x, o) - k_1(o, x') + k_1(o, o)"
    cost = "that of the kernel"
    anchored = True
    constraints = {"point": Data("data with one sample", "[[0.0]]")}

    def __init__(self, kernel: Kernel, point: Any) -> None:
        self.kernel = kernel
        self.point = point

    @derived
    def order(self) -> int | None:
        """Positive definite."""
        return 0

    @derived
    def stationary(self) -> bool:
        """No: one point is marked."""
        return False

    def _origin(self) -> Samples:
        packed = narrowed(self.kernel, self.pack(self.point))
        if len(packed) != 1:
            raise DomainError(
                f"Anchored was given {len(packed)} samples as its point; one is accepted, in the form of data with one "
                "sample. Write for example [[0.0]] or ['abc']."
            )
        return self.kernel.prepare(packed)

    def _seen(self, A: Samples) -> Floats:
        """Return k_1(a, o) - k_1(o, o) / 2."""
        origin = self._origin()
        values = np.asarray(self.kernel.block(self.kernel.prepare(narrowed(self.kernel, A)), origin), dtype=float)
        return values[:, 0] - 0.5 * float(self.kernel.diag(origin)[0])

    def tile(self, view: View) -> Floats:
        """Subtract what the point sees from the kernel's tile."""
        tile = view.value(self.kernel)
        left, right = self._both(view, "seen from the point", self._seen)
        with np.errstate(over="ignore", invalid="ignore"):
            tile -= left[:, None].astype(tile.dtype)
            tile -= right.astype(tile.dtype)
        return self.guarded(tile)

    def _diag(self, A: Samples) -> Floats:
        """Return the squared distances from the point."""
        return np.maximum(self._diags(A)[0] - 2.0 * self._seen(A), 0.0)

"""Radial functions with compact support, user-defined radial functions, and for what data they are kernels.

Symbols: d = |x - z|, l the length scale, r = d / l, g the function of r. `h` in the code is -d^2 / 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

from mercer.arrays import Floats
from mercer.constraints import Integer, Optional, Satisfies
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError
from mercer.kernels.comparison import common_dtype
from mercer.kernels.user_calls import numbers_at
from mercer.kernels.vectors import profiles
from mercer.kernels.vectors.pointwise import LENGTH_SCALE, Radial, dense
from mercer.numerics.hankel import radial_transform
from mercer.runtime.tiling import scalar

__all__ = ["Epanechnikov", "RadialFunction", "Wendland"]
__public__ = __all__


class _Compact(Radial):
    """A radial function that is zero from distance l on, so that most of a large Gram matrix is zeros."""

    def sparse_block(self, A: Any, B: Any) -> sp.csr_array:
        """Return k(a, b) of all pairs as a CSR array that holds only pairs nearer than the length scale.

        Neighbours are found by a tree; the dense matrix is never formed.

        Parameters
        ----------
        A, B : raw data or packed samples

        Returns
        -------
        (len A, len B) csr_array, with sorted indices
        """
        self.check()
        left = self.prepare(self.pack(A))
        right = left if B is A else self.prepare(self.pack(B))
        dtype = common_dtype(left, right)
        _, length = self.base()
        scale = length if np.ndim(self.length_scale) == 0 else np.asarray(self.length_scale, dtype=float)
        X, Z = dense(left), dense(right)
        if X.shape[1] != Z.shape[1]:
            raise DomainError(
                f"Vectors with {X.shape[1]} and with {Z.shape[1]} columns were compared; both sides must "
                "have the same columns. Give new samples the columns of the training samples, in their order."
            )
        center = Z.mean(axis=0) if len(Z) else 0.0
        found = KDTree((X - center) / scale).sparse_distance_matrix(
            KDTree((Z - center) / scale), 1.0, output_type="ndarray"
        )
        values = -0.5 * found["v"] ** 2
        self.profile(values, 1.0)
        inside = values > 0.0
        where = found["i"][inside], found["j"][inside]
        block = sp.csr_array((values[inside].astype(dtype), where), shape=(len(X), len(Z)))
        block.sort_indices()
        return block

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the Fourier transform by quadrature, to some 1e-15 of its value at zero.

        In more columns than the function is a kernel for, it takes negative values: [HSS] Theorem 8.
        """
        scales = np.broadcast_to(np.asarray(self.length_scale, dtype=float), omega.shape[1:])
        sizes = np.sqrt(np.sum((omega * scales) ** 2, axis=1))
        return radial_transform(self._of_distance, sizes, omega.shape[1], end=1.0).values * np.prod(scales)

    def _of_distance(self, r: Floats) -> Floats:
        values = -0.5 * r * r
        self.profile(values[None, :], 1.0)
        return values

    def log_integral(self, width: int) -> float | None:
        """Return log of the sphere's surface times the integral of r^(d - 1) g(r) times the length scales.

        The function is a polynomial for r < 1, for which Gauss's rule is exact.
        """
        nodes, weights = np.polynomial.legendre.leggauss(width + 64)
        r = 0.5 + 0.5 * nodes
        values = -0.5 * r * r
        self.profile(values, 1.0)
        radial = float(0.5 * weights @ (values * r ** (width - 1.0)))
        surface = math.log(2.0) + 0.5 * width * math.log(math.pi) - math.lgamma(0.5 * width)
        scales = np.broadcast_to(np.log(np.asarray(self.length_scale, dtype=float)), (width,))
        return surface + math.log(radial) + float(scales.sum())


class Wendland(_Compact):
    r"""Wendland kernel: smooth, and exactly zero beyond a distance.

    .. math:: k(x, x') = (1 - r)_+^{j + s}\, q_s(r), \quad r = \|x - x'\| / l, \quad
        j = \lfloor d / 2 \rfloor + s + 1

    with q_0 = 1, q_1 = 1 + (j + 1) r, q_2 = 1 + (j + 2) r + (j + 1)(j + 3) r^2 / 3, and q_3 of degree 3.

    Seed: [HSS] Proposition 10: a compactly supported function of the distance cannot be a kernel in every
    number of columns, so the number is an argument.

    Parameters
    ----------
    dimension : int
        Largest number of columns for which it is to be positive definite.
    smoothness : int, default 1
        0, 1, 2 or 3: the kernel has 2 * smoothness continuous derivatives.
    length_scale : float, (d,) array, "median" or "columns", default 1.0
        Distance from which on similarity is zero. "median" takes the median distance, which leaves half of
        all pairs; give a smaller number for a sparse Gram matrix.

    Notes
    -----
    Domain Vectors of at most `dimension` columns. Features no; frequencies no; differentiable in the length
    scale, and in the inputs (for smoothness 0 except at equal points, where 0 is returned). Order 0, strict
    and universal: the spectral density is positive everywhere, in up to `dimension` columns. k(x, x) = 1.
    Cost O(mnd) by one matrix product; `sparse_block` costs about the number of pairs within the length
    scale.

    Examples
    --------
    >>> Wendland(1)([[0.0], [0.5], [1.0]])
    array([[1.    , 0.3125, 0.    ],
           [0.3125, 1.    , 0.3125],
           [0.    , 0.3125, 1.    ]])
    """

    example = (4,)
    formula = r"(1 - r)_+^{j + s} q_s(r),\ r = \|x - x'\| / l"
    cost = "O(mnd), one matrix product; sparse_block: pairs within l"
    strict = True
    universal = True
    spectral_support = "everything"
    constraints = {"dimension": Integer(1), "smoothness": Integer(0, 3), "length_scale": LENGTH_SCALE}

    def __init__(self, dimension: int, smoothness: int = 1, length_scale: Any = 1.0) -> None:
        self.dimension = dimension
        self.smoothness = smoothness
        self.length_scale = length_scale

    @property
    def _exponent(self) -> int:
        return int(self.dimension) // 2 + int(self.smoothness) + 1

    def pack(self, X: Any) -> Samples:
        """Pack rows of numbers, of at most `dimension` columns."""
        return _narrow_enough(self, super().pack(X), self.dimension)

    def _prepare(self, A: Samples) -> Samples:
        """Refuse samples of more columns than `dimension`."""
        return _narrow_enough(self, A, self.dimension)

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by the kernel."""
        profiles.wendland(tile, inv_l, self._exponent, int(self.smoothness))

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return dk/dh."""
        return profiles.wendland_slope(tile, inv_l, self._exponent, int(self.smoothness))


class Epanechnikov(_Compact):
    r"""Epanechnikov function: a parabola cut off at zero, the efficient weight of density estimates.

    .. math:: k(x, x') = \max(0,\, 1 - \|x - x'\|^2 / l^2)

    Seed: [HSS] Section 3.3.1 (contrast functions).

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0
        Distance from which on the value is zero.

    Notes
    -----
    Domain Vectors. Features no; frequencies no; differentiable in the length scale and in the inputs,
    except at distance l. **Not** positive definite (order None): its Fourier transform changes sign, in any
    number of columns. It serves as a contrast or a density window; methods that need a kernel refuse it.
    k(x, x) = 1. Cost O(mnd) by one matrix product; `sparse_block` costs about the number of pairs within
    the length scale.

    Examples
    --------
    >>> Epanechnikov(2.0)([[0.0], [1.0], [3.0]])
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    formula = r"\max(0, 1 - \|x - x'\|^2 / l^2)"
    cost = "O(mnd), one matrix product"
    order = None

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by max(0, 1 - d^2 / l^2)."""
        profiles.epanechnikov(tile, inv_l)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return 2 / l^2 within distance l."""
        return profiles.epanechnikov_slope(tile, inv_l)


_OF_DISTANCES = "a function of an array of distances that returns an array of the same shape"


class RadialFunction(Radial):
    r"""A function of the distance that you give, with what you know of its validity.

    .. math:: k(x, x') = g(\|x - x'\| / l)

    Seed: [HSS] Section 2.2.4 (radial basis functions), Proposition 10.

    Parameters
    ----------
    function : callable
        g: receives an array of r = d / l >= 0 and returns an array of the same shape.
    order : int or None, default 0
        What you assert: 0 positive definite, 1, 2, ... conditionally positive definite of that order, None
        indefinite. Nothing is checked here; `mercer.testing` can look for counterexamples.
    dimension : int, optional
        Largest number of columns for which this holds; None for any.
    length_scale : float, (d,) array, "median" or "columns", default 1.0
    derivative : callable, optional
        g': with it the kernel is differentiable in its length scale and in the inputs (at r = 0, 0 is
        returned).

    Notes
    -----
    Domain Vectors, of at most `dimension` columns. Features no; frequencies no. Not assumed to be strict,
    universal, bounded or normalised; stationary. Cost O(mnd) by one matrix product, and what the function
    costs. A model with user functions can be pickled if they can, but not saved as text.

    Examples
    --------
    >>> hat = RadialFunction(lambda r: np.maximum(0.0, 1.0 - r), dimension=1)
    >>> hat([[0.0], [0.25], [2.0]])
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    formula = r"g(\|x - x'\| / l)"
    cost = "O(mnd), one matrix product, and the function"
    normalised = False
    bounded = False
    continuous = False
    constraints = {
        "function": Satisfies(_OF_DISTANCES, callable, "numpy.sinc"),
        "order": Optional(Integer(0)),
        "dimension": Optional(Integer(1)),
        "length_scale": LENGTH_SCALE,
        "derivative": Optional(Satisfies(_OF_DISTANCES, callable)),
    }

    def __init__(
        self,
        function: Callable[[Floats], Any],
        order: int | None = 0,
        dimension: int | None = None,
        length_scale: Any = 1.0,
        derivative: Callable[[Floats], Any] | None = None,
    ) -> None:
        self.function = function
        self.order = order
        self.dimension = dimension
        self.length_scale = length_scale
        self.derivative = derivative

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives only if g' was given."""
        found = super().capabilities
        return found if self.derivative is not None else found - {"pullback", "pullback_inputs"}

    def pack(self, X: Any) -> Samples:
        """Pack rows of numbers, of at most `dimension` columns."""
        return _narrow_enough(self, super().pack(X), self.dimension)

    def _prepare(self, A: Samples) -> Samples:
        """Refuse samples of more columns than `dimension`."""
        return _narrow_enough(self, A, self.dimension)

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by g(r)."""
        tile[...] = numbers_at(self.function, _distance(tile, inv_l), "RadialFunction")

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return dk/dh = -g'(r) / (l^2 r), and 0 where r = 0."""
        if self.derivative is None:
            raise self._lacks("derivative, since none was given for its function")
        r = _distance(tile, inv_l)
        slopes = np.asarray(numbers_at(self.derivative, r, "RadialFunction"), dtype=r.dtype)
        return -(inv_l**2) * np.divide(slopes, r, out=np.zeros_like(r), where=r > 0)

    def _diag(self, A: Samples) -> Floats:
        """Return g(0) for every sample."""
        return np.full(len(A), numbers_at(self.function, np.zeros((1, 1)), "RadialFunction").item())


def _narrow_enough(kernel: Any, S: Samples, dimension: int | None) -> Samples:
    """Return the samples, or refuse them if they have more columns than the kernel is definite for."""
    if dimension is None or not isinstance(S, Vectors) or S.width <= dimension:
        return S
    raise DomainError(
        f"Data with {S.width} columns were given to {type(kernel).__name__}, which is declared for at most "
        f"{dimension}: beyond, it need not be positive definite. Use dimension={S.width}, or name the "
        "columns with .on(columns)."
    )


def _distance(tile: Floats, inv_l: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.sqrt(-2.0 * tile) * scalar(tile, inv_l)

r"""Spline kernels: products over the columns of a kernel on the line.

Symbols: x, z one column of two samples, l the length scale, u = (x - z) / l, m = min(x, z), M = max(x, z),
B_n the n-fold convolution of the indicator of [-1/2, 1/2] with itself, which ends at abs(u) = (n + 1) / 2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs
from mercer.kernels.comparison import common_dtype
from mercer.kernels.kernel import Kernel
from mercer.kernels.protocols import Reason
from mercer.kernels.vectors.pointwise import dense
from mercer.runtime.compiled import compiled

__all__ = ["BSpline", "Brownian", "LinearSpline"]
__public__ = __all__


class _Columnwise(Kernel, DifferentiatedInInputs):
    """A product over the columns of one kernel on the line."""

    domain = Vectors
    continuous = True

    @abstractmethod
    def _fill(self, X: Floats, Zt: Floats, out: Floats) -> None:
        """Write the products for rows of X (q, d) and columns of Zt (d, m) into out, summed in float64."""

    @abstractmethod
    def _factors(self, x: Floats, Zt: Floats) -> tuple[Floats, Floats]:
        """Return the factors and their derivatives in x for one sample x (d, 1), both (d, m)."""

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k(a, b) for all pairs, shape (len A, len B)."""
        A, B = packed_pair(A, B, self._ready)
        _require_same_columns(A, B)
        out = np.empty((len(A), len(B)), common_dtype(A, B))
        self._fill(dense(A), np.ascontiguousarray(dense(B).T), out)
        return out

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk/da_i, by the product rule over the columns."""
        return np.stack([slopes.sum(axis=1) for slopes, _ in self._weighted_slopes(A, B, W)])

    def _weighted_slopes(self, A: Samples, B: Samples, W: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield, for each row of A, W_ij dk/da_i as (d, m), and the differences a_i - b_j."""
        _require_same_columns(A, B)
        X, Zt = dense(A), np.ascontiguousarray(dense(B).T)
        for x, w in zip(X[:, :, None], np.asarray(W, dtype=float), strict=True):
            values, slopes = self._factors(x, Zt)
            yield _product_of_others(values) * slopes * w, x - Zt


class BSpline(_Columnwise, Differentiated):
    r"""B-spline kernel: a bell made of polynomial pieces, exactly zero beyond a distance.

    .. math:: k(x, x') = \prod_j B_{2p+1}\!\left((x_j - x'_j) / l_j\right), \qquad B_{i+1} = B_i \otimes B_0

    Seed: [HSS] Eq. (36), with ``degree`` = 2 p + 1 and B_0 the indicator of [-1/2, 1/2] as in footnote 5. In
    several columns the seed convolves the indicator of the unit ball; here it is that of the unit cube, which
    makes it a product over the columns.

    Parameters
    ----------
    degree : int
        The index 2 p + 1 of the spline, which is the degree of its pieces: 1, 3, 5, ... up to 51. Degree 1
        is the hat 1 - abs(u). Even ones are not kernels: their Fourier transform, an odd power of sinc,
        takes negative values.
    length_scale : float or (d,) array, default 1.0
        Distance between knots; similarity is zero from (degree + 1) / 2 of them on.

    Notes
    -----
    Domain Vectors. Features no; frequencies by rejection (of the spectral measure divided by its mass B(0)^d);
    differentiable in the length scale and in the inputs (degree 1: except at knots, where 0 or one-sided).
    Order 0 as an inner product of B_p with itself, shifted; strict and universal, because its spectral
    density vanishes only at isolated places. Stationary and bounded; as in the seed not normalised: k(x, x)
    = B(0)^d, for example 2/3 for degree 3 and one column (``.normalized()`` makes it 1). Cost O(mnd), a
    compiled loop; sparse data are made dense tile by tile.

    Examples
    --------
    >>> BSpline(3)([[0.0], [1.0], [2.0]]).round(4)
    array([[0.6667, 0.1667, 0.    ],
           [0.1667, 0.6667, 0.1667],
           [0.    , 0.1667, 0.6667]])
    """

    example = (3,)
    formula = r"\prod_j B_{2p+1}((x_j - x'_j) / l)"
    cost = "O(mnd), a compiled loop"
    strict = True
    universal = True
    spectral_support = "everything"  # beyond isolated zeros
    stationary = True
    bounded = True
    constraints = {"degree": Integer(1, 51), "length_scale": Positive(vector=True)}

    def __init__(self, degree: int, length_scale: Any = 1.0) -> None:
        self.degree = degree
        self.length_scale = length_scale

    def check(self) -> Self:
        """Raise ParameterError unless the parameters are acceptable; even degrees give no kernel."""
        super().check()
        if self.degree % 2 == 0:
            raise ParameterError(
                f"BSpline was given degree={self.degree}; degree must be odd, since the Fourier transform of "
                "an even B-spline takes negative values and is not a kernel. "
                f"Use {self.degree - 1} or {self.degree + 1}."
            )
        return self

    def _prepare(self, A: Samples) -> Samples:
        """Refuse samples that do not have one column per length scale."""
        scales = np.size(self.length_scale)
        if np.ndim(self.length_scale) and isinstance(A, Vectors) and A.width != scales:
            raise DomainError(
                f"{scales} length scales were given for data with {A.width} columns; one length scale, or "
                "one per column, is accepted. Give a single number or as many as there are columns."
            )
        return A

    def _scales(self, width: int) -> Floats:
        return np.broadcast_to(np.asarray(self.length_scale, dtype=float), (width,))

    def _fill(self, X: Floats, Zt: Floats, out: Floats) -> None:
        _multiply_pieces(X, Zt, self._scales(len(Zt)).copy(), _pieces(int(self.degree)), out)

    def _factors(self, x: Floats, Zt: Floats) -> tuple[Floats, Floats]:
        scales = self._scales(len(Zt))[:, None]
        u = (x - Zt) / scales
        pieces = _pieces(int(self.degree))
        place = np.minimum(np.abs(u), float(len(pieces)))
        piece = np.minimum(place.astype(np.intp), len(pieces) - 1)
        s = piece + 1.0 - place
        values, slopes = np.zeros_like(u), np.zeros_like(u)
        for power in range(int(self.degree), -1, -1):
            slopes = slopes * s + values
            values = values * s + pieces[piece, power]
        inside = place < len(pieces)
        return values * inside, -np.sign(u) * slopes * inside / scales

    def _diag(self, A: Samples) -> Floats:
        """Return B(0)^d."""
        assert isinstance(A, Vectors)
        return np.full(len(A), _pieces(int(self.degree))[0].sum() ** A.width)

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw every column from the density proportional to sinc^(degree + 1), which is below min(1, (2 / u)^2)."""
        found, left = np.empty(count * width), count * width
        while left:
            # the bound min(1, 4 / u^2) is flat with mass 1/2 within 2, and beyond 2 the law of 2 / uniform
            u = np.where(rng.random(2 * left) < 0.5, 2.0 * rng.random(2 * left), 2.0 / (1.0 - rng.random(2 * left)))
            height = np.sinc(u / (2.0 * np.pi)) ** (int(self.degree) + 1) / np.minimum(1.0, 4.0 / u**2)
            kept = u[rng.random(2 * left) < height][:left]
            found[count * width - left : count * width - left + len(kept)] = kept
            left -= len(kept)
        signs = np.where(rng.random(count * width) < 0.5, -1.0, 1.0)
        return (signs * found).reshape(count, width) / self._scales(width)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the product over the columns of (l / 2 pi) sinc(w l / 2)^(degree + 1)."""
        scales = self._scales(omega.shape[1])
        u = np.sinc(omega * scales / (2.0 * np.pi))
        return np.prod(scales / (2.0 * np.pi) * u ** (int(self.degree) + 1), axis=1)

    def log_integral(self, width: int) -> float | None:
        """Return log of the product of the length scales, since a B-spline has integral 1."""
        return float(np.log(self._scales(width)).sum())

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in the length scale or scales: -(x - z) / l times that in x, by columns."""
        total = sum((slopes * t).sum(axis=1) for slopes, t in self._weighted_slopes(A, B, W))
        gradient = -np.asarray(total, dtype=float) / np.asarray(self.length_scale, dtype=float)
        return gradient if np.ndim(self.length_scale) else np.array([gradient.sum()])


class LinearSpline(_Columnwise, Differentiated):
    r"""Linear spline kernel: straight lines between any number of nodes.

    .. math:: k(x, x') = \prod_j \left(1 + x_j x'_j + \frac{\min(x_j, x'_j)^3}{3}
        + \frac{\min(x_j, x'_j)^2 |x_j - x'_j|}{2}\right), \qquad x, x' \ge 0

    Seed: [HSS] Eq. (39), one column; a product over several.

    Notes
    -----
    Domain Vectors without negative numbers. Features no; frequencies no; differentiable in the inputs; no
    parameters. Positive definite of order 0: one factor is 1 + x x' plus the integral of (x - t)_+ (x' -
    t)_+ over the nodes t >= 0. Strict and universal on bounded sets, since the functions it spans are all
    those with a square integrable second derivative. Neither stationary nor bounded: scale the data to
    about 1. No factor is ever below 1, which makes it a good base of ANOVA expansions. Cost O(mnd), a
    compiled loop; sparse data are made dense tile by tile.

    Examples
    --------
    >>> LinearSpline()([[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 1.    , 1.    ],
           [1.    , 2.3333, 3.8333],
           [1.    , 3.8333, 7.6667]])
    """

    formula = r"\prod_j (1 + x_j x'_j + \min^3 / 3 + \min^2 |x_j - x'_j| / 2)"
    cost = "O(mnd), a compiled loop"
    strict = True
    universal = True

    def reasons(self, width: int | None) -> dict[str, Reason]:
        """Return why it is strict and universal."""
        why = "its functions are all those with a square integrable second derivative, in one column; a product in more"
        return dict.fromkeys(("strict", "universal"), Reason(True, why, "HSS Eq. (39)"))

    def pack(self, X: Any) -> Samples:
        """Pack rows of numbers, none of them negative."""
        return _not_negative(self, super().pack(X))

    def _prepare(self, A: Samples) -> Samples:
        """Refuse negative numbers."""
        return _not_negative(self, A)

    def _fill(self, X: Floats, Zt: Floats, out: Floats) -> None:
        _multiply_splines(X, Zt, out)

    def _factors(self, x: Floats, Zt: Floats) -> tuple[Floats, Floats]:
        m, M = np.minimum(x, Zt), np.maximum(x, Zt)
        return 1.0 + x * Zt + m * m * (3.0 * M - m) / 6.0, Zt + m * Zt - 0.5 * m * m

    def _diag(self, A: Samples) -> Floats:
        """Return prod_j (1 + x_j^2 + x_j^3 / 3)."""
        X = dense(A)
        with np.errstate(over="ignore"):
            return np.prod(1.0 + X * X * (1.0 + X / 3.0), axis=1)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there are no free parameters."""
        return np.empty(0)


class Brownian(_Columnwise, Differentiated):
    r"""Brownian kernel: the covariance of a random walk that starts at zero.

    .. math:: k(x, x') = \prod_j \min(x_j, x'_j), \qquad x, x' \ge 0

    Seed: [HSS] Section 2.2.5, "Brownian Bridge and Related Kernels", one column; a product over several (the
    Brownian sheet). The seed calls min(x, x') the Brownian bridge, on all of R: it is the covariance of
    Brownian motion, and a kernel for x >= 0 only; the bridge between 0 and 1 has min(x, x') - x x'.

    Notes
    -----
    Domain Vectors without negative numbers. Features no; frequencies no; differentiable in the inputs, at
    equal coordinates by the mean of the slopes on either side; no parameters. Positive definite of order 0,
    as the length of the intersection of the intervals [0, x] and [0, x'] (an inner product of indicator
    functions). Not strict and not universal: a sample with a coordinate 0 is the zero of the feature space
    (add 1, or move the data, to include it). Neither stationary nor bounded. Cost O(mnd), a compiled loop;
    sparse data are made dense tile by tile.

    Examples
    --------
    >>> Brownian()([[1.0], [2.0], [3.0]])
    array([[1., 1., 1.],
           [1., 2., 2.],
           [1., 2., 3.]])
    """

    synonyms = ("Brownian motion", "Wiener process")
    formula = r"\prod_j \min(x_j, x'_j)"
    cost = "O(mnd), a compiled loop"

    def pack(self, X: Any) -> Samples:
        """Pack rows of numbers, none of them negative."""
        return _not_negative(self, super().pack(X))

    def _prepare(self, A: Samples) -> Samples:
        """Refuse negative numbers."""
        return _not_negative(self, A)

    def _fill(self, X: Floats, Zt: Floats, out: Floats) -> None:
        _multiply_minima(X, Zt, out)

    def _factors(self, x: Floats, Zt: Floats) -> tuple[Floats, Floats]:
        return np.minimum(x, Zt), 0.5 + 0.5 * np.sign(Zt - x)

    def _diag(self, A: Samples) -> Floats:
        """Return the product of the coordinates."""
        with np.errstate(over="ignore"):
            return np.prod(dense(A), axis=1)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there are no free parameters."""
        return np.empty(0)


def _require_same_columns(A: Samples, B: Samples) -> None:
    """Refuse vectors of different widths: a compiled loop would read beyond the narrower."""
    assert isinstance(A, Vectors) and isinstance(B, Vectors)
    if A.width != B.width:
        raise DomainError(
            f"Vectors with {A.width} and with {B.width} columns were compared; both sides must have the same "
            "columns. Give new samples the columns of the training samples, in their order."
        )


def _not_negative(kernel: Kernel, S: Samples) -> Samples:
    """Return the samples, or refuse them if one of their numbers is negative."""
    if isinstance(S, Vectors):
        numbers = S.X if isinstance(S.X, np.ndarray) else S.X.data
        least = float(numbers.min(initial=0.0))
        if least < 0.0:
            raise DomainError(
                f"Negative values in data: X contains {least:.6g}; {type(kernel).__name__} is a kernel for "
                "numbers from 0 on. Move the data, for example with sklearn.preprocessing.MinMaxScaler."
            )
    return S


def _product_of_others(values: Floats) -> Floats:
    """Return, for each row, the product of all other rows: without division, as factors may be zero."""
    before, after = np.ones_like(values), np.ones_like(values)
    np.cumprod(values[:-1], axis=0, out=before[1:])
    after[:-1] = np.cumprod(values[:0:-1], axis=0)[::-1]
    return before * after


@lru_cache(maxsize=64)
def _pieces(degree: int) -> Floats:
    """Return the coefficients of B on [i, i + 1], i = 0, 1, ..., in powers of s = i + 1 - u, rounded once.

    With c = (n + 1) / 2, B(u) = sum_k (-1)^k C(n + 1, k) (c - k - u)_+^n / n!, and on piece i the power is
    that of (c - k - i - 1) + s. The sum is alternating, so it is carried out in fractions; s, counted from
    the far knot, keeps the tail exact.
    """
    c = (degree + 1) // 2
    pieces = np.empty((c, degree + 1))
    for i in range(c):
        knots = [((-1) ** k * comb(degree + 1, k), c - k - i - 1) for k in range(c - i)]
        for power in range(degree + 1):
            total = sum(sign * comb(degree, power) * far ** (degree - power) for sign, far in knots)
            pieces[i, power] = float(Fraction(total, factorial(degree)))
    pieces.setflags(write=False)
    return pieces


# The loops run over one column of all samples on the right at a time, so that they run in lanes.
@compiled
def _multiply_pieces(X, Zt, scales, pieces, out):
    count, powers = pieces.shape
    row = np.empty(Zt.shape[1])
    for i in range(X.shape[0]):
        row[:] = 1.0
        for k in range(X.shape[1]):
            for j in range(row.size):
                u = abs(X[i, k] - Zt[k, j]) / scales[k]
                value = 0.0
                if u < count:
                    piece = int(u)
                    s = piece + 1.0 - u
                    for power in range(powers - 1, -1, -1):
                        value = value * s + pieces[piece, power]
                row[j] *= value
        out[i] = row


@compiled
def _multiply_splines(X, Zt, out):
    row = np.empty(Zt.shape[1])
    for i in range(X.shape[0]):
        row[:] = 1.0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(row.size):
                z = Zt[k, j]
                m, M = min(x, z), max(x, z)
                row[j] *= 1.0 + x * z + m * m * (3.0 * M - m) / 6.0
        out[i] = row


@compiled
def _multiply_minima(X, Zt, out):
    row = np.empty(Zt.shape[1])
    for i in range(X.shape[0]):
        row[:] = 1.0
        for k in range(X.shape[1]):
            x = X[i, k]
            for j in range(row.size):
                row[j] *= min(x, Zt[k, j])
        out[i] = row

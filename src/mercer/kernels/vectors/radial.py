"""Stationary kernels of the distance: similarity fades as points move apart.

Symbols: d = |x - z| (Euclidean unless said otherwise), l the length scale, nu the smoothness.
All may have one length scale per column. `h` in the code is -d^2 / 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.constraints import Fixed, Positive
from mercer.domains import Samples
from mercer.kernels.comparison import Base, View
from mercer.kernels.vectors import algebraic, bessel, profiles
from mercer.kernels.vectors.pointwise import LENGTH_SCALE, Radial, centred, in_lengths, log_volume

__all__ = ["Cauchy", "Exponential", "Laplacian", "Matern", "RationalQuadratic"]
__public__ = __all__


class Matern(Radial):
    r"""Matern kernel: a family between the exponential and the Gaussian, by smoothness.

    .. math:: k(x, x') = \frac{2^{1-\nu}}{\Gamma(\nu)} s^\nu K_\nu(s), \qquad s = \sqrt{2\nu}\, \|x - x'\| / l

    Seed: [HSS] Section 2.2.4 (radial basis functions, by Bochner's theorem).

    Parameters
    ----------
    nu : float
        Smoothness: sample functions have ceil(nu) - 1 derivatives. 0.5, 1.5, 2.5, ... are fastest; numbers above
        20 that are not halves are slow. Not a free parameter.
    length_scale : float, (d,) array, "median" or "columns", default 1.0

    Notes
    -----
    Domain Vectors. Features no; frequencies Student t with 2 nu degrees of freedom; differentiable
    (in the inputs at equal points only for nu > 1/2). Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> Matern(1.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.483],
           [0.483, 1.   ]])
    """

    formula = r"2^{1-\nu} s^\nu K_\nu(s) / \Gamma(\nu),\ s = \sqrt{2\nu}\,\|x - x'\| / l"
    cost = "O(mnd), one matrix product; a polynomial per pair; above nu = 20 a Bessel function"
    strict = True
    universal = True
    spectral_support = "everything"
    constraints = {"nu": Fixed(Positive()), "length_scale": LENGTH_SCALE}

    def __init__(self, nu: float, length_scale: Any = 1.0) -> None:
        self.nu = nu
        self.length_scale = length_scale

    @property
    def _half_order(self) -> int | None:
        """Return p with nu = p + 1/2, if there is one small enough for the polynomial form."""
        p = float(self.nu) - 0.5
        return int(p) if p.is_integer() and 0 <= p <= 20 else None

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by the kernel."""
        if self._half_order is not None:
            profiles.half_integer(tile, inv_l, self._half_order)
        else:
            tile[...] = bessel.profile(self.nu, tile, inv_l)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return dk/dh = (nu / (nu - 1)) / l^2 times the profile of nu - 1 at the same s."""
        if self._half_order is not None:
            return profiles.half_integer_slope(tile, inv_l, self._half_order)
        return bessel.slope(self.nu, tile, inv_l)

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw from a multivariate Student t with 2 nu degrees of freedom and scale 1 / l."""
        mixing = np.sqrt(2.0 * self.nu / rng.chisquare(2.0 * self.nu, size=(count, 1)))
        return rng.normal(size=(count, width)) * mixing / np.asarray(self.length_scale, dtype=float)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the density of the multivariate Student t with 2 nu degrees of freedom and scale 1 / l."""
        (s2, logs), nu, d = in_lengths(omega, self.length_scale), float(self.nu), omega.shape[1]
        logs += special.gammaln(nu + 0.5 * d) - special.gammaln(nu) - 0.5 * d * math.log(2.0 * math.pi * nu)
        return np.exp(logs - (nu + 0.5 * d) * np.log1p(s2 / (2.0 * nu)))

    def log_integral(self, width: int) -> float | None:
        """Return the logarithm of the spectral density at zero, times (2 pi)^d."""
        gammas = special.gammaln(self.nu + 0.5 * width) - special.gammaln(self.nu)
        return float(0.5 * width * math.log(2.0 * math.pi / self.nu) + gammas + log_volume(self.length_scale, width))


class Exponential(Matern):
    r"""Exponential kernel: the roughest Matern kernel.

    .. math:: k(x, x') = \exp(-\|x - x'\|_2 / l)

    Seed: [HSS] Section 2.2.4; the Matern kernel of nu = 1/2.

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0

    Notes
    -----
    Domain Vectors. Features no; frequencies Cauchy; differentiable in the length scale, and in the
    inputs except at equal points (where 0 is returned). Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> Exponential(2.0)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    synonyms = ("Ornstein-Uhlenbeck",)
    formula = r"\exp(-\|x - x'\|_2 / l)"
    cost = "O(mnd), one matrix product"
    constraints = {"length_scale": LENGTH_SCALE}
    nu = 0.5  # pyright: ignore[reportAssignmentType]

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale


class RationalQuadratic(Radial):
    r"""Rational quadratic kernel: a mixture of Gaussian kernels of many widths.

    .. math:: k(x, x') = \left(1 + \frac{\|x - x'\|^2}{2 \alpha l^2}\right)^{-\alpha}

    Seed: [HSS] Section 2.2.4 (radial basis functions).

    Parameters
    ----------
    alpha : float, default 1.0
        Heaviness of the mixture: large alpha approaches the Gaussian. Positive.
    length_scale : float, (d,) array, "median" or "columns", default 1.0

    Notes
    -----
    Domain Vectors. Features no; frequencies a gamma mixture of normals; differentiable.
    Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> RationalQuadratic(1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    formula = r"(1 + \|x - x'\|^2 / (2 \alpha l^2))^{-\alpha}"
    cost = "O(mnd), one matrix product"
    strict = True
    universal = True
    spectral_support = "everything"
    constraints = {"alpha": Positive(), "length_scale": LENGTH_SCALE}

    def __init__(self, alpha: float = 1.0, length_scale: Any = 1.0) -> None:
        self.alpha = alpha
        self.length_scale = length_scale

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by the kernel."""
        profiles.rational_quadratic(tile, inv_l, float(self.alpha))

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return dk/dh."""
        return profiles.rational_quadratic_slope(tile, inv_l, float(self.alpha))

    def pull_tile(self, view: View, W: Floats, tile: Floats, value: Floats, unit: float) -> Floats:
        """Return the derivative in alpha, then in the length scale."""
        own = np.vdot(W, profiles.rational_quadratic_alpha(tile, unit / self.base()[1], float(self.alpha)))
        return np.concatenate([[own], super().pull_tile(view, W, tile, value, unit)])

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw normals whose precision is gamma distributed with shape alpha."""
        mixing = np.sqrt(rng.gamma(self.alpha, 1.0 / self.alpha, size=(count, 1)))
        return rng.normal(size=(count, width)) * mixing / np.asarray(self.length_scale, dtype=float)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the gamma mixture of normal densities, a Bessel function; infinite at 0 if alpha <= d / 2."""
        return rational_quadratic_density(omega, float(self.alpha), self.length_scale)

    def log_integral(self, width: int) -> float | None:
        """Return log of the constant of Student's distribution with 2 alpha - d degrees of freedom."""
        alpha = float(self.alpha)
        if not alpha > 0.5 * width:  # the integral is infinite
            return None
        gammas = special.gammaln(alpha - 0.5 * width) - special.gammaln(alpha)
        return float(0.5 * width * math.log(2.0 * math.pi * alpha) + gammas + log_volume(self.length_scale, width))


class Cauchy(Radial):
    r"""Cauchy kernel: long tails, so that distant points still matter.

    .. math:: k(x, x') = \frac{1}{1 + \|x - x'\|^2 / l^2}

    Seed: [HSS] Section 2.2.4; the rational quadratic kernel with alpha = 1 and length scale l / sqrt(2).

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0
        Distance at which similarity is one half.

    Notes
    -----
    Domain Vectors. Features no; frequencies an exponential mixture of normals; differentiable.

    Examples
    --------
    >>> Cauchy(1.0)([[0.0], [1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    formula = r"1 / (1 + \|x - x'\|^2 / l^2)"
    cost = "O(mnd), one matrix product"
    strict = True
    universal = True
    spectral_support = "everything"

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by the kernel."""
        algebraic.cauchy(tile, inv_l)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return dk/dh."""
        return algebraic.cauchy_slope(tile, inv_l)

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw normals whose precision is exponentially distributed."""
        mixing = np.sqrt(2.0 * rng.exponential(size=(count, 1)))
        return rng.normal(size=(count, width)) * mixing / np.asarray(self.length_scale, dtype=float)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return that of the rational quadratic kernel with alpha = 1; infinite at 0 from two columns on."""
        return rational_quadratic_density(omega, 1.0, np.asarray(self.length_scale, dtype=float) * math.sqrt(0.5))

    def log_integral(self, width: int) -> float | None:
        """Return log of pi l in one dimension; in more the integral is infinite."""
        return math.log(math.pi) + log_volume(self.length_scale, 1) if width == 1 else None


class Laplacian(Radial):
    r"""Laplacian kernel: exponential in the sum of absolute differences.

    .. math:: k(x, x') = \exp(-\|x - x'\|_1 / l)

    Seed: [HSS] Section 2.2.4; a product of one-dimensional exponential kernels.

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0
        "median" takes the median Euclidean distance between training samples.

    Notes
    -----
    Domain Vectors. Features no; frequencies independent Cauchy; differentiable in the length scale, and
    in the inputs where no coordinate is equal. Cost O(mnd), a compiled loop.

    Examples
    --------
    >>> Laplacian(2.0)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    formula = r"\exp(-\|x - x'\|_1 / l)"
    cost = "O(mnd), a compiled loop"
    strict = True
    universal = True
    spectral_support = "everything"

    def base(self) -> tuple[Base, float]:
        """Return the 1-norm of the difference; length scales per column are part of it."""
        base, length = super().base()
        return Base("manhattan", scale=base.scale), length

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace the distance by exp(-d / l)."""
        profiles.exp_scaled(tile, -inv_l)

    def pull_tile(self, view: View, W: Floats, tile: Floats, value: Floats, unit: float) -> Floats:
        """Return the derivative in the length scale or scales: dk/dl = k |x - z|_1 / l^2."""
        length = self.base()[1]
        V = W * value
        if np.ndim(self.length_scale) == 0:
            with np.errstate(over="ignore"):
                d = np.minimum(tile * unit, 1e300)  # infinity times a kernel value of zero would be NaN
            return np.array([np.vdot(V, d / length) / length])
        X, Z, _ = centred(*view.sides)
        scales = np.asarray(self.length_scale, dtype=float)
        return np.array([np.vdot(V, np.abs(X[:, [m]] - Z[:, m])) for m in range(X.shape[1])]) / scales**2

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return -sum_j W_ij k_ij sign(a_i - b_j) / l."""
        d, length = self._base_block(A, B)
        V = W * np.exp(-d / length)
        X, Z, _ = centred(A, B)
        signs = [np.einsum("ij,ij->i", V, np.sign(X[:, [m]] - Z[:, m])) for m in range(X.shape[1])]
        return -np.stack(signs, axis=1) / np.asarray(self.length_scale, dtype=float)

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw independent Cauchy frequencies of scale 1 / l."""
        return rng.standard_cauchy(size=(count, width)) / np.asarray(self.length_scale, dtype=float)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the product of Cauchy densities of scale 1 / l."""
        u = omega * np.asarray(self.length_scale, dtype=float)
        logs = log_volume(self.length_scale, omega.shape[1]) - omega.shape[1] * math.log(math.pi)
        return np.exp(logs - np.log1p(u * u).sum(axis=1))

    def log_integral(self, width: int) -> float | None:
        """Return log of 2^d times the product of the length scales."""
        return width * math.log(2.0) + log_volume(self.length_scale, width)


def rational_quadratic_density(omega: Floats, alpha: float, length_scale: Any) -> Floats:
    r"""Return the spectral density of (1 + |x - z|^2 / (2 alpha l^2))^-alpha at frequencies (m, d).

    .. math:: v(\omega) = \Big(\frac{\alpha}{2 \pi}\Big)^{d/2} l^d \, \frac{2}{\Gamma(\alpha)}
        \Big(\frac{s}{2}\Big)^{\alpha - d/2} K_{\alpha - d/2}(s), \qquad s = \sqrt{2 \alpha} \, l |\omega|

    Where alpha > d / 2 it is a Matern profile of order alpha - d / 2. Otherwise it is infinite at zero, as the kernel
    has no integral.
    """
    d = omega.shape[1]
    s2, logs = in_lengths(omega, length_scale)
    s, order = np.sqrt(2.0 * alpha * s2), alpha - 0.5 * d
    logs += 0.5 * d * math.log(alpha / (2.0 * math.pi)) - special.gammaln(alpha)
    if order == 0.0:
        return math.exp(logs) * 2.0 * special.k0(s)
    logs += special.gammaln(abs(order))
    with np.errstate(divide="ignore", over="ignore"):
        return math.exp(logs) * bessel.matern(abs(order), s) * (0.5 * s) ** min(0.0, 2.0 * order)

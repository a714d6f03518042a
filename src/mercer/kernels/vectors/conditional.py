"""Kernels that are positive definite only up to polynomials, and a positive definite relative.

Symbols: d = |x - z|, l the length scale, r = d / l, b the exponent. `h` in the code is -d^2 / 2.
A kernel is conditionally positive definite of order q if sum_ij c_i c_j k(x_i, x_j) >= 0 whenever
sum_i c_i p(x_i) = 0 for all polynomials p of degree below q: order 1 asks for sum_i c_i = 0 ([HSS] Eq. 20),
order 2 also for sum_i c_i x_i = 0. Signs are such that this holds: -d, not d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.constraints import Interval
from mercer.domains import Samples
from mercer.kernels.protocols import Reason
from mercer.kernels.vectors.pointwise import LENGTH_SCALE, Radial
from mercer.kernels.vectors.radial import rational_quadratic_density
from mercer.runtime.tiling import scalar
from mercer.spec import derived

__all__ = ["InverseMultiquadric", "Logarithmic", "Multiquadric", "NegativeDistance", "ThinPlate"]
__public__ = __all__

EXPONENT = Interval(0.0, 2.0, closed="right")


class NegativeDistance(Radial):
    r"""Negative distance kernel: similarity is distance with the sign reversed.

    .. math:: k(x, x') = -\|x - x'\|^\beta, \qquad 0 < \beta \le 2

    Seed: [HSS] Section 2.2.2, Eq. (20) (kernels from dissimilarities).

    Parameters
    ----------
    exponent : float, default 1.0
        The power beta, above 0 and at most 2. Exponent 2 is equivalent to the linear kernel.

    Notes
    -----
    Domain Vectors. Features no; frequencies no; differentiable in the exponent, and in the inputs except at
    equal points if beta < 2 (where 0 is returned). Conditionally positive definite of order 1 because d^2 is
    negative definite and powers up to 1 of it stay so (Schoenberg); strictly for beta < 2. k(x, x) = 0, not
    bounded. It has no length scale, which would only multiply it. Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> NegativeDistance()([[0.0], [2.0]])
    array([[ 0., -2.],
           [-2.,  0.]])
    """

    formula = r"-\|x - x'\|^\beta"
    cost = "O(mnd), one matrix product"
    order = 1
    normalised = False
    bounded = False
    constraints = {"exponent": EXPONENT}
    length_scale = 1.0

    def __init__(self, exponent: float = 1.0) -> None:
        self.exponent = exponent

    @derived
    def strict(self) -> bool:
        """Strictly definite, on its order's terms, for an exponent below 2."""
        return float(self.exponent) < 2.0

    def reasons(self, width: int | None) -> dict[str, Reason]:
        """Return why it is strict on coefficients that sum to zero, unless the exponent is 2."""
        if self.strict:
            strict = Reason(True, "on coefficients that sum to zero: powers below 2 of the distance", "HSS Eq. (20)")
        else:
            why, points = "on coefficients that sum to zero it is the linear kernel", width and width + 2
            strict = Reason(False, why, "HSS Eq. (20)", points)
        outside = Reason(None, "it is conditionally positive definite only: it has no RKHS of its own")
        return {"strict": strict, "universal": outside, "characteristic": outside}

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by -d^beta."""
        _take_distance(tile, inv_l)
        _raise_to(tile, float(self.exponent))
        _reverse_sign(tile)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return beta r^(beta - 2) / l^2."""
        return _beyond_zero(_distance(tile, inv_l), float(self.exponent) - 2.0, float(self.exponent) * inv_l**2)

    def _diag(self, A: Samples) -> Floats:
        """Return zeros."""
        return np.zeros(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in the exponent, -d^beta log d."""
        h, length = self._base_block(A, B)
        r = _distance(h, 1.0 / length)
        return np.array([-np.vdot(W, special.xlogy(r ** float(self.exponent), r))])


class Logarithmic(Radial):
    r"""Logarithmic kernel: distances count less and less as they grow.

    .. math:: k(x, x') = -\log\!\left(1 + (\|x - x'\| / l)^\beta\right), \qquad 0 < \beta \le 2

    Seed: [HSS] Section 2.2.2, Eq. (20) (kernels from dissimilarities).

    Parameters
    ----------
    exponent : float, default 2.0
        The power beta, above 0 and at most 2.
    length_scale : float, (d,) array, "median" or "columns", default 1.0

    Notes
    -----
    Domain Vectors. Features no; frequencies no; differentiable in its parameters, and in the inputs except at
    equal points if beta < 2 (where 0 is returned). Conditionally positive definite of order 1, strictly:
    log(1 + s) is the integral of (1 - exp(-s u)) exp(-u) / u over u > 0, and exp(-u d^beta) is strictly
    positive definite. k(x, x) = 0, not bounded. Cost O(mnd) by one matrix product and a logarithm per pair.

    Examples
    --------
    >>> Logarithmic(1.0)([[0.0], [1.0]]).round(3)
    array([[ 0.   , -0.693],
           [-0.693,  0.   ]])
    """

    formula = r"-\log(1 + (\|x - x'\| / l)^\beta)"
    cost = "O(mnd), one matrix product"
    order = 1
    strict = True
    normalised = False
    bounded = False
    constraints = {"exponent": EXPONENT, "length_scale": LENGTH_SCALE}

    def __init__(self, exponent: float = 2.0, length_scale: Any = 1.0) -> None:
        self.exponent = exponent
        self.length_scale = length_scale

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by -log(1 + r^beta)."""
        _take_distance(tile, inv_l)
        _raise_to(tile, float(self.exponent))
        np.log1p(tile, out=tile)
        _reverse_sign(tile)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return beta r^(beta - 2) / (l^2 (1 + r^beta))."""
        r = _distance(tile, inv_l)
        beta = float(self.exponent)
        return _beyond_zero(r, beta - 2.0, beta * inv_l**2) / (1.0 + r**beta)

    def _diag(self, A: Samples) -> Floats:
        """Return zeros."""
        return np.zeros(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in the exponent, -r^beta log(r) / (1 + r^beta), then in the length scale."""
        h, length = self._base_block(A, B)
        r = _distance(h, 1.0 / length)
        power = r ** float(self.exponent)
        own = -np.vdot(W, special.xlogy(power, r) / (1.0 + power))
        return np.concatenate([[own], super()._pullback(A, B, W)])


class Multiquadric(Radial):
    r"""Multiquadric kernel: a smooth negative distance.

    .. math:: k(x, x') = -\sqrt{1 + \|x - x'\|^2 / l^2}

    Seed: [HSS] Section 2.2.2, Eq. (20), and Section 2.2.4 (radial basis functions).

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0
        Distance below which it is round like a parabola, and beyond which it is like -d / l.

    Notes
    -----
    Domain Vectors. Features no; frequencies no; differentiable in parameters and inputs. Conditionally
    positive definite of order 1, strictly: the square root is a Bernstein function of d^2. The literature
    often writes it without the minus sign, which is then conditionally negative definite. k(x, x) = -1, not
    bounded. Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> Multiquadric(1.0)([[0.0], [1.0]]).round(3)
    array([[-1.   , -1.414],
           [-1.414, -1.   ]])
    """

    formula = r"-\sqrt{1 + \|x - x'\|^2 / l^2}"
    cost = "O(mnd), one matrix product"
    order = 1
    strict = True
    normalised = False
    bounded = False

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by -sqrt(1 + r^2)."""
        _take_distance(tile, inv_l)
        np.hypot(tile, scalar(tile, 1.0), out=tile)
        np.negative(tile, out=tile)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return 1 / (l^2 sqrt(1 + r^2))."""
        return inv_l**2 / np.hypot(_distance(tile, inv_l), 1.0)

    def _diag(self, A: Samples) -> Floats:
        """Return -1 for every sample."""
        return np.full(len(A), -1.0)


class InverseMultiquadric(Radial):
    r"""Inverse multiquadric kernel: similarity falls like one over the distance.

    .. math:: k(x, x') = \frac{1}{\sqrt{1 + \|x - x'\|^2 / l^2}}

    Seed: [HSS] Section 2.2.4 (radial basis functions); the rational quadratic kernel of alpha = 1/2.

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0

    Notes
    -----
    Domain Vectors. Features no; frequencies a chi-squared mixture of normals; differentiable in parameters
    and inputs. Positive definite (order 0), strictly, and universal: a mixture of Gaussian kernels of all
    widths, whose spectral measure has full support. k(x, x) = 1. Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> InverseMultiquadric(1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    formula = r"1 / \sqrt{1 + \|x - x'\|^2 / l^2}"
    cost = "O(mnd), one matrix product"
    strict = True
    universal = True
    spectral_support = "everything"

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by 1 / sqrt(1 + r^2)."""
        _take_distance(tile, inv_l)
        np.hypot(tile, scalar(tile, 1.0), out=tile)
        np.divide(scalar(tile, 1.0), tile, out=tile)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return (1 + r^2)^(-3/2) / l^2."""
        return inv_l**2 * np.hypot(_distance(tile, inv_l), 1.0) ** -3.0

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw normals whose variance is chi-squared with one degree of freedom."""
        mixing = np.abs(rng.normal(size=(count, 1)))
        return rng.normal(size=(count, width)) * mixing / np.asarray(self.length_scale, dtype=float)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return that of the rational quadratic kernel with alpha = 1/2; infinite at 0."""
        return rational_quadratic_density(omega, 0.5, self.length_scale)


class ThinPlate(Radial):
    r"""Thin-plate kernel: the function through given points that bends least.

    .. math:: k(x, x') = \|x - x'\|^2 \log \|x - x'\|, \qquad k(x, x) = 0

    Seed: [HSS] Section 2.3.3 (regularisation with a null space), Section 2.2.4.

    Notes
    -----
    Domain Vectors. Features no; frequencies no; differentiable in the inputs; no parameters. Conditionally
    positive definite of order 2, strictly, in any number of columns (it is the bending energy of a plate in
    two): models add a linear function that is not penalised. A length scale would only multiply it, since
    (d / l)^2 log(d / l) differs by a multiple of d^2, which the side conditions remove. The sign is the one
    printed here; the negative is not definite. Not bounded. Cost O(mnd) by one matrix product and a
    logarithm per pair.

    Examples
    --------
    >>> ThinPlate()([[0.0, 0.0], [2.0, 0.0]]).round(3)
    array([[0.   , 2.773],
           [2.773, 0.   ]])
    """

    formula = r"\|x - x'\|^2 \log \|x - x'\|"
    cost = "O(mnd), one matrix product"
    order = 2
    strict = True
    normalised = False
    bounded = False
    constraints = {}
    length_scale = 1.0

    def __init__(self) -> None:
        pass

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by r^2 log r."""
        _take_distance(tile, inv_l)
        with np.errstate(over="ignore"):
            special.xlogy(tile * tile, tile, out=tile)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return -(2 log r + 1) / l^2, and 0 where r = 0."""
        r = _distance(tile, inv_l)
        logs = np.log(r, out=np.full_like(r, -0.5), where=r > 0)
        return (-2.0 * logs - 1.0) * inv_l**2

    def _diag(self, A: Samples) -> Floats:
        """Return zeros."""
        return np.zeros(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there are no free parameters."""
        return np.empty(0)


def _take_distance(tile: Floats, inv_l: float) -> None:
    """Replace h by r = sqrt(-2 h) / l."""
    np.multiply(tile, scalar(tile, -2.0), out=tile)
    np.sqrt(tile, out=tile)
    with np.errstate(over="ignore"):
        np.multiply(tile, scalar(tile, inv_l), out=tile)


def _distance(h: Floats, inv_l: float) -> Floats:
    """Return r = sqrt(-2 h) / l in a new array."""
    r = h.copy()
    _take_distance(r, inv_l)
    return r


def _reverse_sign(tile: Floats) -> None:
    """Replace a by 0 - a, which is never -0."""
    np.subtract(scalar(tile, 0.0), tile, out=tile)


def _raise_to(tile: Floats, exponent: float) -> None:
    """Replace r by r^exponent; NumPy's power is much slower than a square or no operation."""
    with np.errstate(over="ignore", under="ignore"):
        if exponent == 2.0:
            np.multiply(tile, tile, out=tile)
        elif exponent != 1.0:
            np.power(tile, scalar(tile, exponent), out=tile)


def _beyond_zero(r: Floats, exponent: float, factor: float) -> Floats:
    """Return factor r^exponent, and 0 where r = 0 makes it unbounded."""
    if exponent == 0.0:
        return np.full_like(r, factor)
    return factor * np.power(r, exponent, out=np.zeros_like(r), where=r > 0)

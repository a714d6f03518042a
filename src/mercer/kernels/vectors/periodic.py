"""Periodic similarity: what happens one period later counts as the same.

Symbols: p the period, l the length scale, t = x - z the difference of one column.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.constraints import Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.kernels.comparison import Base, View
from mercer.kernels.kernel import Kernel
from mercer.kernels.vectors import profiles
from mercer.kernels.vectors.pointwise import Gaussian, Radial, dense

__all__ = ["Periodic"]
__public__ = __all__

_ATOMS = 1e7
_MANY = 1e15  # beyond this many expected counts a Poisson number is normal to all digits


class Periodic(Radial):
    r"""Periodic kernel: the Gaussian kernel of points wound around a circle.

    .. math:: k(x, x') = \exp\!\left(-\frac{2}{l^2} \sum_j \sin^2\frac{\pi (x_j - x'_j)}{p}\right)

    It is the von Mises kernel exp(kappa (cos(2 pi t / p) - 1)) of cyclic columns, such as hours (p = 24), weekdays (7)
    and months (12), with kappa = 1 / l^2.

    Seed: [HSS] Eq. (30) after the map x -> (cos(2 pi x / p), sin(2 pi x / p)) of every column, which is
    [STS] Theorem 7, k(phi(x), phi(x')).

    Parameters
    ----------
    period : float, default 1.0
        Difference after which a column repeats, in the units of the data. Positive.
    length_scale : float, default 1.0
        Distance on the circle of radius 1 over which similarity falls to exp(-1/2): large values give
        smooth functions, small ones sharp functions of the phase. Positive.

    Notes
    -----
    Domain Vectors. Features no; frequencies multiples of 2 pi / p; differentiable in both parameters and in
    the inputs. Positive definite of order 0 as a Gaussian of mapped points; not strictly so on the line, nor
    universal, since points a period apart are the same to it. Stationary, k(x, x) = 1.
    Cost O(mnd) by one matrix product; sparse data are wound into dense columns.

    Examples
    --------
    >>> Periodic(period=2.0)([[0.0], [1.0], [2.0]]).round(3)
    array([[1.   , 0.135, 1.   ],
           [0.135, 1.   , 0.135],
           [1.   , 0.135, 1.   ]])
    """

    synonyms = ("ExpSineSquared", "von Mises kernel", "cyclic kernel")
    formula = r"\exp(-2 \sum_j \sin^2(\pi (x_j - x'_j) / p) / l^2)"
    cost = "O(mnd), one matrix product"
    spectral_support = "lattice"
    constraints = {"period": Positive(), "length_scale": Positive()}

    def __init__(self, period: float = 1.0, length_scale: float = 1.0) -> None:
        self.period = period
        self.length_scale = length_scale

    @classmethod
    def local(cls, period: float, length_scale: float, decay: float) -> Kernel:
        """Return the locally periodic kernel: a periodic one times a Gaussian one of length scale `decay`.

        Examples
        --------
        >>> Periodic.local(1.0, 0.5, 10.0)
        Periodic(1.0, length_scale=0.5) * Gaussian(10.0)
        """
        return cls(period, length_scale) * Gaussian(decay)

    def base(self) -> tuple[Base, float]:
        """Return the squared distance of wound columns, 4 sum sin^2(pi t / p)."""
        return Base("distance", period=float(self.period)), float(self.length_scale)

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by exp(h / l^2)."""
        profiles.exp_scaled(tile, inv_l * inv_l)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return exp(h / l^2) / l^2."""
        return profiles.exp_scaled_slope(tile, inv_l * inv_l)

    def pull_tile(self, view: View, W: Floats, tile: Floats, value: Floats, unit: float) -> Floats:
        """Return dk/dp = k (2 pi / (l p)^2) sum_j t_j sin(2 pi t_j / p), then dk/dl, weighted and summed."""
        length = float(self.length_scale)
        G = self.slope(tile, unit / length)
        G *= W
        X, Z = (dense(side) for side in view.sides)
        turn = 2.0 * np.pi / float(self.period)
        total = 0.0
        for m in range(X.shape[1]):
            t = X[:, [m]] - Z[:, m]
            total += float(np.vdot(G, t * np.sin(turn * t)))
        return np.array([total * turn / float(self.period), np.vdot(G, tile) * (-2.0 / length)])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return -sum_j W_ij k_ij (2 pi / (l^2 p)) sin(2 pi (a_i - b_j) / p)."""
        h, length = self._base_block(A, B)
        G = W * self.slope(h, 1.0 / length)
        X, Z = dense(A), dense(B)
        turn = 2.0 * np.pi / float(self.period)
        columns = [np.einsum("ij,ij->i", G, np.sin(turn * (X[:, [m]] - Z[:, m]))) for m in range(X.shape[1])]
        return -turn * np.stack(columns, axis=1)

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw whole multiples n of 2 pi / p, n with probability exp(-1/l^2) I_n(1/l^2) in every column.

        Those are the Fourier coefficients of exp((cos(2 pi t / p) - 1) / l^2), and the probabilities of the
        difference of two Poisson numbers of mean 1 / (2 l^2), which is how they are drawn.
        """
        mean = 0.5 / float(self.length_scale) ** 2
        if mean < _MANY:
            counts = rng.poisson(mean, size=(2, count, width)).astype(float)
            waves = counts[0] - counts[1]
        else:
            waves = np.rint(rng.normal(size=(count, width)) / float(self.length_scale))
        return waves * (2.0 * np.pi / float(self.period))

    def spectral_atoms(self, width: int) -> tuple[Floats, Floats]:
        """Return the whole multiples of 2 pi / p in every column, with products of exp(-1/l^2) I_n(1/l^2).

        As many as the probability of the others is below rounding.
        """
        argument = 1.0 / float(self.length_scale) ** 2
        most = math.ceil(9.0 / float(self.length_scale) + 20.0)
        if (2.0 * most + 1.0) ** width > _ATOMS:
            raise CapabilityError(
                f"{self!r} in {width} columns has some {(2.0 * most + 1.0) ** width:.0e} frequencies of positive mass; "
                f"at most {_ATOMS:.0e} are written down. Use `frequencies`, which draws from them, or fewer columns."
            )
        waves = np.arange(-most, most + 1)
        masses = special.ive(waves, argument)
        kept = masses > np.finfo(float).eps * masses.max() / 16.0
        waves, masses = waves[kept] * (2.0 * np.pi / float(self.period)), masses[kept]
        grid = np.stack([m.ravel() for m in np.meshgrid(*[waves] * width, indexing="ij")], axis=1)
        product = np.prod([m.ravel() for m in np.meshgrid(*[masses] * width, indexing="ij")], axis=0)
        kept = product > np.finfo(float).eps * product.max() / 16.0
        return grid[kept], product[kept]

"""Points that fill space evenly, offered in the form of a random generator.

A kernel draws its frequencies by calls such as ``rng.normal(size=(count, width))``. A generator that answers these
calls from a low-discrepancy sequence, each column of a call a coordinate of its own, through the inverse of the
distribution function, makes a quasi-Monte Carlo sampler of every kernel that draws a fixed number of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats
from scipy.stats import qmc

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.kernels.kernel import Kernel

__all__ = ["quasi_frequencies"]

_BITS = 30  # of a coordinate


def quasi_frequencies(kernel: Kernel, rng: np.random.Generator, count: int, width: int) -> Floats:
    """Frequencies of a kernel from a scrambled Sobol sequence, (count, width).

    Parameters
    ----------
    kernel : Kernel
        Lists "frequencies" in its capabilities.
    rng : Generator
        Of the scrambling, which makes every point uniform, so that averages are right in expectation.
    count, width : int

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> omega = quasi_frequencies(Gaussian(1.0), np.random.default_rng(0), 1024, 2)
    >>> bool(np.abs(omega.mean(axis=0)).max() < 1e-3)
    True
    """
    probe = _Evenly(count, None, kernel)
    kernel.frequencies(probe, count, width)  # pyright: ignore[reportArgumentType]
    if probe.used > qmc.Sobol.MAXDIM:
        raise CapabilityError(
            f"method='quasi' was given {kernel!r:.200} in {width} columns, which needs points of {probe.used} "
            f"coordinates; Sobol sequences have {qmc.Sobol.MAXDIM} at most. Use method='orthogonal' or 'hadamard'."
        )
    sobol: Any = qmc.Sobol  # newer versions call the seed rng, and know the old name
    engine = sobol(max(probe.used, 1), scramble=True, bits=_BITS, seed=rng)
    points = engine.random_base2(max(int(count) - 1, 0).bit_length())[:count]
    evenly = _Evenly(count, points + 0.5 ** (_BITS + 1), kernel)  # never 0, never 1
    return np.asarray(kernel.frequencies(evenly, count, width))  # pyright: ignore[reportArgumentType]


class _Evenly:
    """Answers calls to a random generator with the coordinates of given points, one column after the other."""

    def __init__(self, count: int, points: Floats | None, kernel: Kernel) -> None:
        self.count, self.points, self.kernel = count, points, kernel
        self.used = 0

    def _uniform(self, size: Any) -> Floats:
        """Return uniform numbers of a shape one of whose axes, the first of two or the second of three, is `count`."""
        shape = tuple(np.atleast_1d(size).tolist())
        axis = 1 if len(shape) == 3 else 0
        if shape[axis] != self.count:
            raise CapabilityError(
                f"method='quasi' was given {self.kernel!r:.200}, which draws frequencies by rejection; one that draws "
                "a fixed number of them is needed. Use method='independent'."
            )
        columns = int(np.prod(shape)) // self.count
        first, self.used = self.used, self.used + columns
        u = np.full((self.count, columns), 0.5) if self.points is None else self.points[:, first : self.used]
        rest = shape[:axis] + shape[axis + 1 :]
        return np.moveaxis(u.reshape(self.count, *rest), 0, axis)

    def random(self, size: Any) -> Floats:
        return self._uniform(size)

    def normal(self, size: Any) -> Floats:
        return special.ndtri(self._uniform(size))

    def standard_cauchy(self, size: Any) -> Floats:
        return np.tan(np.pi * (self._uniform(size) - 0.5))

    def exponential(self, size: Any) -> Floats:
        return -np.log1p(-self._uniform(size))

    def gamma(self, shape: float, scale: float, size: Any) -> Floats:
        return scale * special.gammaincinv(shape, self._uniform(size))

    def chisquare(self, df: float, size: Any) -> Floats:
        return 2.0 * special.gammaincinv(0.5 * df, self._uniform(size))

    def poisson(self, lam: float, size: Any) -> Floats:
        return stats.poisson.ppf(self._uniform(size), lam)

    def choice(self, a: int, size: Any, p: Floats) -> Any:
        return np.minimum(np.searchsorted(np.cumsum(p), self._uniform(size), side="right"), a - 1)

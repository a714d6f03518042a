"""Kernels that are exponentials of a distance between structures, of which a subclass writes the distances."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.kernels.abilities import Differentiated
from mercer.kernels.kernel import Kernel

__all__ = ["DistanceExponential"]


class DistanceExponential(Kernel, Differentiated):
    """A kernel k = exp(-d / l) of a distance d and a length scale l, its only free parameter."""

    length_scale: float
    normalised = True
    bounded = True

    @abstractmethod
    def _distances(self, A: Samples, B: Samples) -> Floats:
        """Return d of all pairs of prepared samples, (len A, len B)."""

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the exponentials of the distances."""
        A, B = packed_pair(A, B, self._ready)
        with np.errstate(over="ignore"):
            return np.exp(-self._distances(A, B) / float(self.length_scale))

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij k_ij d_ij / l^2."""
        with np.errstate(over="ignore"):
            t = np.minimum(self._distances(A, B) / float(self.length_scale), 1e300)
        return np.array([float(np.vdot(W, t * np.exp(-t))) / float(self.length_scale)])

"""Soft dynamic time warping: the least cost of aligning two time series, with a soft minimum over alignments.

Symbols: x of n points, y of m points; c_ij = |x_i - y_j|^2; g = gamma the softness; S(x, y) the soft cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Fixed, Interval, Positive
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.domains.sequences import Sequences
from mercer.kernels.abilities import Differentiated
from mercer.kernels.comparison import Comparison, side_of_tiles
from mercer.kernels.kernel import Kernel, mirror, overflow_error
from mercer.kernels.series.alignments import FARTHEST, least_costs, sum_alignments

__all__ = ["SoftDTW"]
__public__ = __all__

_CELLS = 3e6  # pairs of points that take some 20 milliseconds
_LOG2E = 1.4426950408889634


class SoftDTW(Kernel, Differentiated):
    r"""Soft-DTW kernel: similarity fades with the cost of the alignments of two time series, the best counting most.

    .. math:: k(x, y) = e^{-D(x, y) / l}, \quad
        D(x, y) = S(x, y) - \tfrac{1}{2} S(x, x) - \tfrac{1}{2} S(y, y), \quad
        S(x, y) = -\gamma \log \sum_\pi e^{-\sum_{(i, j) \in \pi} \|x_i - y_j\|^2 / \gamma}

    over alignments pi as in `GlobalAlignmentSeries`; for gamma = 0, S is the cost of the best one, which is dynamic
    time warping.

    Seed: [SS] Section 6.4, kernels for structured data. Cuturi and Blondel, Soft-DTW (2017); the divergence D by
    Blondel, Mensch and Vert (2021).

    Parameters
    ----------
    gamma : float, default 1.0
        The softness, at least 0, in squared units of the data. Not a free parameter.
    length_scale : float, default 1.0
        l > 0, in squared units of the data, for a whole series.

    Notes
    -----
    Domain Sequences, of any lengths. No features; differentiable in the length scale. Indefinite: `order` is None; the
    exponential of -S / gamma is a sum over alignments of products of Gaussians, which is not positive definite either,
    unless the local similarity is changed as `GlobalAlignmentSeries` does. k(x, x) = 1; D may be negative, so that k is
    not bounded by one. With gamma = 0 series that repeat points of others have D = 0. Cost O(n m d) a pair.

    Examples
    --------
    >>> x, y, z = [0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0]
    >>> SoftDTW(0.0, length_scale=4.0)([x, y, z]).round(3)
    array([[1.   , 1.   , 0.135],
           [1.   , 1.   , 0.105],
           [0.135, 0.105, 1.   ]])
    """

    domain = Sequences
    formula = r"\exp(-D(x, y) / l)"
    cost = "O(n m d) a pair of series of n and m points"
    order = None
    normalised = True
    constraints = {"gamma": Fixed(Interval(0.0, np.inf, closed="left")), "length_scale": Positive()}

    def __init__(self, gamma: float = 1.0, length_scale: float = 1.0) -> None:
        self.gamma = gamma
        self.length_scale = length_scale

    @property
    def _key(self) -> str:
        return f"soft cost:{float(self.gamma)!r}"

    def _prepare(self, A: Samples) -> Samples:
        """Align every series with itself, once per collection."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Sequences)
        ones = (A[i : i + 1] for i in range(len(A)))
        own = np.array([_soft_costs(one, one, float(self.gamma)).item() for one in ones])
        return A.with_derived(self._key, own)

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where series are long."""
        return side_of_tiles(comparison, _CELLS)

    def divergences(self, X: Any, Y: Any) -> Floats:
        """Return D of all pairs, (len X, len Y)."""
        self.check()
        return self._divergences(*packed_pair(X, Y, self._ready))

    def _divergences(self, A: Samples, B: Samples) -> Floats:
        assert isinstance(A, Sequences) and isinstance(B, Sequences)
        A.require_like(B)
        out = _soft_costs(A, B, float(self.gamma), symmetric=B is A)
        own = [self.prepare(S).derived[self._key] for S in (A, B)]
        with np.errstate(over="ignore", invalid="ignore"):
            out -= 0.5 * own[0][:, None] + 0.5 * own[1]
        if B is A:
            np.fill_diagonal(out, 0.0)
            mirror(out)
        if not np.isfinite(out).all():
            raise overflow_error(self)
        return out

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the exponentials of the divergences."""
        A, B = packed_pair(A, B, self._ready)
        with np.errstate(over="ignore"):
            return np.exp(-self._divergences(A, B) / float(self.length_scale))

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij k_ij D_ij / l^2."""
        with np.errstate(over="ignore"):
            t = np.minimum(self._divergences(A, B) / float(self.length_scale), 1e300)
            return np.array([float(np.vdot(W, t * np.exp(-t))) / float(self.length_scale)])


def _soft_costs(A: Sequences, B: Sequences, gamma: float, *, symmetric: bool = False) -> Floats:
    """Return S of all pairs; of a symmetric block those on and above the diagonal."""
    costs = np.zeros((len(A), len(B)))
    if gamma == 0.0:
        least_costs(A, B, costs, symmetric=symmetric)
        return costs
    logs = np.zeros((*costs.shape, 2))
    bits = min(_LOG2E / gamma, 1e300)  # of a unit of cost
    sum_alignments(A, B, logs, similarity=(bits, 1.0, 0.0), symmetric=symmetric)
    soft = -gamma * logs[:, :, 0]
    far = -logs[:, :, 0] > 0.5 * FARTHEST  # there the best alignment is all that counts, to rounding
    if far.any():
        least_costs(A, B, costs, symmetric=symmetric)
        soft[far] = costs[far]
    return soft

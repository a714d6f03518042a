r"""Incomplete Cholesky factors of points that move, and derivatives of functions of the Gram matrix in the points.

Symbols: S points, (n, m); p the r rows taken as pivots, C = K[:, p], B = K[p, p] = L L^T, F = C L^-T, so that
K ~ F F^T; w_i weights of the points and N their sum; E = W^(1/2) (F - mean), the centred factor, E E^T ~ K~.

With pivots held, a function of K~ whose derivative is a symmetric matrix M changes with S through C and B alone:
dJ = <2 R E L^-1, dC> - <L^-T E^T M E L^-1, dB>, R = W^(1/2) M. M itself is never formed; its product with E is enough,
if M sqrt(w) = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats
from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.kernels import Kernel
from mercer.kernels.kernel import offers
from mercer.kernels.protocols import InputDifferentiable
from mercer.kernels.vectors.pointwise import OneBase
from mercer.numerics.pivoting import pivoted_cholesky

__all__ = ["MovingFactor", "check_movable"]


def check_movable(kernel: Kernel, name: str) -> None:
    """Raise CapabilityError unless a kernel is positive definite on vectors and has a derivative in them."""
    if kernel.domain is not Vectors or kernel.order != 0 or not offers(kernel, InputDifferentiable):
        raise CapabilityError(
            f"{name} was given {kernel!r}; it needs a positive definite kernel on vectors that has a derivative in its "
            "inputs, to turn directions. Use such a kernel, for example Gaussian(1.0)."
        )


class MovingFactor:
    """The centred factor of a kernel's matrix on points, and derivatives in the points.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, with a derivative in its inputs.
    points : (n, m) array
        S.
    weight : (n,) array
        w, positive.
    rank : int
        Most pivots.
    tol : float
        Tolerance of what is left of the diagonal, relative to its largest entry.

    Attributes
    ----------
    array : (n, r) array
        E.
    pivots : (r,) array of int

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> factor = MovingFactor(Linear(), np.array([[1.0], [3.0]]), np.ones(2), 5, 1e-10)
    >>> factor.array @ factor.array.T
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, kernel: Kernel, points: Floats, weight: Floats, rank: int, tol: float) -> None:
        self.kernel, self.root = kernel, np.sqrt(weight)
        swap = np.arange(len(points))  # the first pivot is the least point: no order of the samples changes the choice
        least = np.lexsort(points.T[::-1])[0] if points.shape[1] > 1 else int(np.argmin(points))
        swap[[0, least]] = least, 0
        self.points = np.ascontiguousarray(points[swap])
        self.length = _plain_length(kernel)
        S = Vectors.pack(self.points)
        self.samples = kernel.prepare(S) if self.length is None else S
        found = pivoted_cholesky(kernel.diag(self.samples), self._row, rank, tol)
        self.swap, self.chosen, self.pivots = swap, found.pivots, swap[found.pivots]
        F = found.array[swap]
        self.lower = F[self.pivots]  # L: the pivots' rows of F are triangular
        self.array = self.root[:, None] * (F - (weight @ F) / weight.sum())

    def pullback(self, product: Floats) -> Floats:
        """Return the derivative in the points, (n, m), of a function of K~ with derivative M, from M E, (n, r)."""
        if not len(self.pivots):
            return np.zeros_like(self.points)
        dC = 2.0 * self._divide(self.root[:, None] * product)[self.swap]
        inner = self.array.T @ product
        dB = -self._divide(self._divide(0.5 * (inner + inner.T)).T)
        out, at_pivots = self._slopes(dC, dB)
        out[self.chosen] += at_pivots
        return out[self.swap]

    def _slopes(self, dC: Floats, dB: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives in the points through their places in C, and in the pivots through all the rest."""
        if self.length is None:
            S, P, kernel = self.samples, self.samples.take(self.chosen), self.kernel
            at_pivots = kernel.pullback_inputs(P, S, np.ascontiguousarray(dC.T))
            at_pivots = at_pivots + 2.0 * kernel.pullback_inputs(P, P, np.ascontiguousarray(dB))
            return kernel.pullback_inputs(S, P, dC), at_pivots
        S, P = self.points, self.points[self.chosen]
        slope: Any = self.kernel.slope(_halves(S, P), 1.0 / self.length)  # pyright: ignore[reportAttributeAccessIssue]
        G = dC * slope
        H = 2.0 * dB * slope[self.chosen]
        at_pivots = G.T @ S - G.sum(axis=0)[:, None] * P + H @ P - H.sum(axis=1)[:, None] * P
        return G @ P - G.sum(axis=1)[:, None] * S, at_pivots

    def _row(self, i: int) -> Floats:
        """Return one row of K; a search asks for thousands, so the short way counts."""
        if self.length is None:
            return self.kernel.block(self.samples[i : i + 1], self.samples)[0]
        tile = _halves(self.points[i : i + 1], self.points)
        self.kernel.profile(tile, 1.0 / self.length)  # pyright: ignore[reportAttributeAccessIssue]
        return tile[0]

    def _divide(self, A: Floats) -> Floats:
        """Return A L^-1."""
        return np.ascontiguousarray(solve_triangular(self.lower, A.T, lower=True, trans=1).T)


def _plain_length(kernel: Kernel) -> float | None:
    """Return the length scale of a kernel of the Euclidean distance alone; None for others."""
    base, length = kernel.base() if isinstance(kernel, OneBase) else (None, 1.0)
    plain = base is not None and base.kind == "distance" and base.scale is None and base.period is None
    return float(length) if plain else None


def _halves(A: Floats, B: Floats) -> Floats:
    """Return -|a_i - b_j|^2 / 2, by differences."""
    tile = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        gap = a[:, None] - b
        gap *= gap
        tile -= gap
    tile *= 0.5
    return tile

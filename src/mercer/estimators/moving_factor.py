r"""Incomplete Cholesky factors of points that move, and the way back from a function of the Gram matrix to the points.

Symbols: S points, (n, m); p the r rows taken as pivots, C = K[:, p], B = K[p, p] = L L^T, F = C L^-T, so that
K ~ F F^T; w_i weights of the points and N their sum; E = W^(1/2) (F - mean), the centred factor, E E^T ~ K~.

With pivots held, a function of K~ whose derivative is a symmetric matrix M changes with S through C and B alone:
dJ = <2 R E L^-1, dC> - <L^-T E^T M E L^-1, dB>, R = W^(1/2) M. M itself is never formed; its product with E is enough,
if M sqrt(w) = 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats
from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.kernels import Kernel
from mercer.kernels.pointwise import OneBase
from mercer.numerics.pivoting import pivoted_cholesky

__all__ = ["MovingFactor", "check_movable"]


def check_movable(kernel: Kernel, name: str) -> None:
    """Raise CapabilityError unless a kernel is positive definite on vectors and has a derivative in them."""
    if kernel.domain is not Vectors or kernel.order != 0 or "pullback_inputs" not in kernel.capabilities:
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
        Of what is left of the diagonal, relative to its largest entry.

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
        points = np.ascontiguousarray(points)
        swap = np.arange(len(points))  # the first pivot is the least point: no order of the samples changes the choice
        least = np.lexsort(points.T[::-1])[0] if points.shape[1] > 1 else int(np.argmin(points))
        swap[[0, least]] = least, 0
        points = points[swap]
        S = kernel.prepare(Vectors.pack(points))
        found = pivoted_cholesky(kernel.diag(S), _rows(kernel, S, points), rank, tol)
        F = found.array[swap]
        self.samples, self.pivots = S.take(swap), swap[found.pivots]
        self.lower = F[self.pivots]  # L: the pivots' rows of F are triangular
        self.array = self.root[:, None] * (F - np.average(F, axis=0, weights=weight))

    def pullback(self, product: Floats) -> Floats:
        """Return the derivative in the points, (n, m), of a function of K~ with derivative M, from M E, (n, r)."""
        if not len(self.pivots):
            return np.zeros(self.samples.shape if len(self.samples.shape) > 1 else (len(self.samples), 1))
        S, P = self.samples, self.samples.take(self.pivots)
        dC = 2.0 * self._divide(self.root[:, None] * product)
        inner = self.array.T @ product
        dB = -self._divide(self._divide(0.5 * (inner + inner.T)).T)
        out = self.kernel.pullback_inputs(S, P, dC)
        at_pivots = self.kernel.pullback_inputs(P, S, np.ascontiguousarray(dC.T))
        at_pivots = at_pivots + 2.0 * self.kernel.pullback_inputs(P, P, np.ascontiguousarray(dB))
        out[self.pivots] += at_pivots
        return out

    def _divide(self, A: Floats) -> Floats:
        """Return A L^-1."""
        return np.ascontiguousarray(solve_triangular(self.lower, A.T, lower=True, trans="T").T)


def _rows(kernel: Kernel, S: Vectors, points: Floats) -> Callable[[int], Floats]:
    """Return the function that computes one row of K; a search asks for thousands, so the short way counts."""
    base, length = kernel.base() if isinstance(kernel, OneBase) else (None, 1.0)
    if base is None or base.kind != "distance" or base.scale is not None or base.period is not None:
        return lambda i: kernel.block(S[i : i + 1], S)[0]

    def row(i: int) -> Floats:
        gap = points - points[i]
        tile = np.einsum("ij,ij->i", gap, gap)[None]
        tile *= -0.5
        kernel.profile(tile, 1.0 / length)  # pyright: ignore[reportAttributeAccessIssue]
        return tile[0]

    return row

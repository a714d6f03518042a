"""Kernel values between points that move and samples that stay, and their derivatives in the points.

Symbols: z points, (m, d); x samples, (n, d); h = -|z - x|^2 / 2 after division by the length scales per column.

A search needs values and derivatives at the same points, many times over. For a kernel that is a profile of h the two
share h, and what belongs to the samples is computed once; other kernels are called twice, piece by piece.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.domains import Samples, Vectors
from mercer.gram.gram import Cross
from mercer.kernels.kernel import Kernel
from mercer.kernels.vectors.pointwise import OneBase, Radial, dense
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["Block", "Moving"]

_PIECE = 2**20  # kernel values at a time
_STORED = 2**24  # kernel values, or numbers of sparse samples, up to which they are kept as dense arrays
_LARGEST = 1e100  # of scaled coordinates whose squares are formed without a second look


class Block(Protocol):
    """The matrix of k(z, x) for one choice of points."""

    def product(self, V: Floats) -> Floats:
        """Return the matrix times V, (m, L)."""
        ...

    def values(self) -> Floats:
        """Return the matrix, (m, n)."""
        ...

    def pull(self, B: Floats, A: Floats) -> Floats:
        """Return sum_i (B A^T)_pi dk(z_p, x_i)/dz_p, (m, d), for B (m, L) and A (n, L)."""
        ...


class Moving:
    """A kernel between points that move and given samples.

    Parameters
    ----------
    kernel : Kernel
    samples : Samples
        Prepared; for derivatives they must be vectors.
    resources : Resources

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X, Z = Vectors.pack([[0.0], [1.0]]), Vectors.pack([[0.5]])
    >>> near = Moving(Gaussian(1.0), X, Resources()).near(Z)
    >>> near.values().round(3), near.pull(np.ones((1, 1)), np.ones((2, 1)))
    (array([[0.882, 0.882]]), array([[0.]]))
    """

    def __init__(self, kernel: Kernel, samples: Samples, resources: Resources) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self._sides: _Sides | None = None
        if _is_profile(kernel) and isinstance(samples, Vectors) and len(samples) and _may_be_dense(samples):
            sides = _Sides(kernel, samples)
            self._sides = sides if sides.is_moderate else None

    def near(self, Z: Samples) -> Block:
        """Return the block of prepared points against the samples."""
        if self._sides is None or len(Z) * len(self.samples) > _STORED:
            return _Pieces(self.kernel, Z, self.samples, self.resources)
        return _Stored(self._sides, self._sides.scaled(Z), self._sides.right)

    def own(self, Z: Samples) -> Block:
        """Return the block of prepared points against each other; derivatives are in the first argument alone."""
        if self._sides is None or len(Z) ** 2 > _STORED:
            return _Pieces(self.kernel, Z, Z, self.resources)
        side = self._sides.scaled(Z)
        return _Stored(self._sides, side, side)


def _is_profile(kernel: Kernel) -> bool:
    """Return whether a kernel is a profile of the squared distance, by the formulas of its base class."""
    if not (isinstance(kernel, Radial) and type(kernel).tile is OneBase.tile):
        return False
    return type(kernel)._pullback_inputs is Radial._pullback_inputs and kernel.base()[0].kind == "distance"


def _may_be_dense(samples: Vectors) -> bool:
    """Return whether vectors are dense, or few enough to be made so once: points that move are dense anyway."""
    return not samples.is_sparse or len(samples) * samples.width <= _STORED


class _Sides:
    """How points are centred and scaled, so that distances keep their digits, and the samples so treated."""

    def __init__(self, kernel: Any, samples: Vectors) -> None:
        self.kernel = kernel
        base, length = kernel.base()
        self.inverse = 1.0 / length
        self.scale = 1.0 if base.scale is None else np.asarray(base.scale)
        self.centre = dense(samples).mean(axis=0)
        self.right = self.scaled(samples)

    @property
    def is_moderate(self) -> bool:
        return bool(np.abs(self.right[0]).max(initial=0.0) < _LARGEST) and 0.0 < self.inverse < _LARGEST

    def scaled(self, Z: Samples) -> tuple[Floats, Floats]:
        """Return points and half their squared norms."""
        points = (dense(Z) - self.centre) / self.scale
        return points, 0.5 * np.einsum("ij,ij->i", points, points)


class _Stored:
    """Values that are kept for the derivative."""

    def __init__(self, sides: _Sides, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> None:
        self.sides, self.left, self.right = sides, left[0], right[0]
        self.h = self.left @ self.right.T
        self.h -= left[1][:, None]
        self.h -= right[1]
        np.minimum(self.h, 0.0, out=self.h)
        if left is right:
            np.fill_diagonal(self.h, 0.0)
        self.K = self.h.copy()
        sides.kernel.profile(self.K, sides.inverse)

    def product(self, V: Floats) -> Floats:
        return self.K @ V

    def values(self) -> Floats:
        return self.K

    def pull(self, B: Floats, A: Floats) -> Floats:
        G = self.sides.kernel.slope_at(self.h, self.K, self.sides.inverse)
        G *= B @ A.T
        return (G @ self.right - G.sum(axis=1)[:, None] * self.left) / self.sides.scale


class _Pieces:
    """Values and derivatives that are computed on demand."""

    def __init__(self, kernel: Kernel, Z: Samples, X: Samples, resources: Resources) -> None:
        self.kernel, self.Z, self.X, self.resources = kernel, Z, X, resources

    def product(self, V: Floats) -> Floats:
        return Cross(self.kernel, self.Z, self.X, self.resources) @ V

    def values(self) -> Floats:
        if self.X is self.Z:  # symmetric to the last bit
            return np.asarray(self.kernel.block(self.Z, self.Z), dtype=float)
        return Cross(self.kernel, self.Z, self.X, self.resources).to_dense()

    def pull(self, B: Floats, A: Floats) -> Floats:
        m, n = len(self.Z), len(self.X)
        width = getattr(self.X, "width", 1)
        rows = min(max(64, _PIECE // max(m, width)), -(-n // 2) if m * n > 2**16 else n)
        pieces = spans(n, max(rows, 1))
        parts: list[Any] = [None] * len(pieces)

        def work(place: int) -> None:
            piece = pieces[place]
            parts[place] = self.kernel.pullback_inputs(self.Z, self.X.take(piece), B @ A[piece].T)

        threads = self.resources.n_threads if len(pieces) > 1 else 1
        run_tasks(range(len(pieces)), work, n_threads=threads, monitor=self.resources.monitor)
        return np.sum(parts, axis=0)

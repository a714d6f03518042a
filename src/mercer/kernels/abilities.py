"""What kernels of this package derive from to offer more: features, derivatives in parameters and in inputs.

Each of these classes has the public methods of a protocol in `mercer.kernels.protocols`, which take raw data as well as
packed samples, and leaves what is computed to a method that begins with an underscore.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.free_parameters import free_names, free_values
from mercer.kernels import protocols
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.kernel import Kernel, grain_of, offers
from mercer.kernels.protocols import Pullback
from mercer.runtime.tiling import Monitor, run_tasks, tile_grid

__all__ = [
    "Differentiated", "DifferentiatedByTiles", "DifferentiatedInInputs", "Featured", "block_derivative", "derivative",
    "pull", "pullback",
]  # fmt: skip


class _Door(ABC):
    @abstractmethod
    def _ready(self, X: Any) -> Samples: ...


class Featured(_Door):
    """A kernel with a finite feature map."""

    def features(self, A: Any, keys: Any = None) -> tuple[Any, Any]:
        """Return (matrix, keys): a finite feature map, shape (len A, D), dense or sparse."""
        return self._features(self._ready(A), keys)

    @abstractmethod
    def _features(self, A: Samples, keys: Any) -> tuple[Any, Any]: ...

    def feature_count(self, A: Any) -> int | None:
        """Return D, the number of features on these samples, or None if there is no finite map."""
        return self._feature_count(self._ready(A))

    @abstractmethod
    def _feature_count(self, A: Samples) -> int | None: ...


class Differentiated(_Door):
    """A kernel with a derivative in its parameters."""

    def pullback(self, A: Any, B: Any, W: Floats) -> Floats:
        """Return sum_ij W_ij dk(a_i, b_j)/dtheta for the free parameters theta, shape (p,)."""
        return self._pullback(*packed_pair(A, B, self._ready), W)

    @abstractmethod
    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats: ...


class DifferentiatedByTiles(Differentiated):
    """A kernel that is differentiated tile by tile, together with its value."""

    @abstractmethod
    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile, which must not be overwritten, and the pullback to the parameters."""

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij dk(a_i, b_j)/dtheta for weights (len A, len B), by pullbacks of tiles.

        An override of `pullback` is not used: it may be the caller.
        """
        weights = functools.partial(_tile_of, np.asarray(W, dtype=float), B is A)
        kernel = cast(Kernel, self)
        return _pull(lambda view: self.value_and_pullback(view.part(kernel)), kernel, A, B, weights, None, None)


class DifferentiatedInInputs(_Door):
    """A kernel with a derivative in its inputs."""

    def pullback_inputs(self, A: Any, B: Any, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i (first argument only), shape (len A, d)."""
        return self._pullback_inputs(*packed_pair(A, B, self._ready), W)

    @abstractmethod
    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats: ...


def derivative(view: View, kernel: Kernel) -> tuple[Floats, Pullback]:
    """Return a kernel's values on a tile and the pullback to its parameters; neither may be overwritten."""
    part = view.part(kernel)
    if offers(kernel, protocols.TileDifferentiable) and _pulls_tiles(type(kernel)):
        return kernel.value_and_pullback(part)
    return block_derivative(part, kernel)


def block_derivative(view: View, kernel: Kernel) -> tuple[Floats, Pullback]:
    """Return the same as `derivative` for a kernel that differentiates whole blocks, or has no parameters."""
    if not len(free_values(kernel)):
        return kernel.tile(view), _nothing
    sides = view.sides
    return kernel.tile(view), lambda W: pullback(kernel, *sides, W)


def pullback(kernel: Kernel, A: Samples, B: Samples, W: Floats) -> Floats:
    """Return sum_ij W_ij dk(a_i, b_j)/dtheta, (p,), which is empty for a kernel without free parameters."""
    if offers(kernel, protocols.Differentiable) or free_names(kernel):
        return kernel.pullback(A, B, W)
    return np.zeros(0)


@functools.cache
def _pulls_tiles(cls: type) -> bool:
    """Return whether a class differentiates tiles, without a subclass of it that differentiates whole blocks."""
    for member in cls.__mro__:
        if "value_and_pullback" in vars(member):
            return True
        if "pullback" in vars(member) or "_pullback" in vars(member):
            return False
    return False


def _nothing(W: Floats) -> Floats:
    return np.empty(0)


def pull(
    kernel: Kernel,
    A: Samples,
    B: Samples,
    weights: Callable[[slice, slice], Floats],
    *,
    n_threads: int | None = None,
    monitor: Monitor | None = None,
) -> Floats:
    """Return sum_ij W_ij dk(a_i, b_j)/dtheta, (p,), tile by tile: nothing of the size of W is allocated.

    Parameters
    ----------
    kernel : Kernel
    A, B : Samples
        Prepared; ``B is A`` computes half of the tiles.
    weights : callable
        ``weights(rows, columns)`` returns W for the tile of two slices. If ``B is A``, only tiles on and above the
        diagonal are asked for, and one above includes its mirror image: W_ij + W_ji.
    n_threads, monitor : optional
        As in `mercer.runtime.tiling.run_tasks`.

    Notes
    -----
    The sum is taken in a fixed order: it does not depend on the number of threads.
    """
    return _pull(functools.partial(derivative, kernel=kernel), kernel, A, B, weights, n_threads, monitor)


def _pull(
    differentiate: Callable[[View], tuple[Floats, Pullback]],
    kernel: Kernel,
    A: Samples,
    B: Samples,
    weights: Callable[[slice, slice], Floats],
    n_threads: int | None,
    monitor: Monitor | None,
) -> Floats:
    count = len(free_values(kernel))
    if count == 0 or not len(A) or not len(B):
        return np.zeros(count)
    comparison = Comparison(kernel, A, B, np.float64)
    grid = tile_grid(len(A), len(B), 8, symmetric=comparison.symmetric, side=grain_of(kernel, comparison))
    parts: list[Any] = [None] * len(grid)

    def work(place: int) -> None:
        _, back = differentiate(comparison.at(*grid[place]))
        parts[place] = back(weights(*grid[place]))

    run_tasks(range(len(grid)), work, n_threads=n_threads, monitor=monitor)
    return np.sum(parts, axis=0)


def _tile_of(W: Floats, symmetric: bool, rows: slice, columns: slice) -> Floats:
    """Return a tile of weights, with that on the other side of the diagonal where a tile covers both."""
    if symmetric and rows != columns:
        return W[rows, columns] + W[columns, rows].T
    return W[rows, columns]

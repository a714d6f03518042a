"""What kernels of this package derive from to offer more: features, derivatives in parameters and in inputs.

Each of these classes has the public methods of a protocol in `mercer.kernels.protocols`, which take raw data as well as
packed samples, and leaves what is computed to a method that begins with an underscore.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Kernel, pull_by
from mercer.kernels.protocols import Pullback

__all__ = ["Differentiated", "DifferentiatedByTiles", "DifferentiatedInInputs", "Featured"]


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
        return pull_by(lambda view: self.value_and_pullback(view.part(kernel)), kernel, A, B, weights, None, None)


class DifferentiatedInInputs(_Door):
    """A kernel with a derivative in its inputs."""

    def pullback_inputs(self, A: Any, B: Any, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i (first argument only), shape (len A, d)."""
        return self._pullback_inputs(*packed_pair(A, B, self._ready), W)

    @abstractmethod
    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats: ...


def _tile_of(W: Floats, symmetric: bool, rows: slice, columns: slice) -> Floats:
    """Return a tile of weights, with that on the other side of the diagonal where a tile covers both."""
    if symmetric and rows != columns:
        return W[rows, columns] + W[columns, rows].T
    return W[rows, columns]

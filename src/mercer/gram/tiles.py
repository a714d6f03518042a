"""Tiles: the Gram matrix computed when it is needed and never stored."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources, parse_bytes
from mercer.constraints import Bytes, OneOf
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.gram.gram import Gram, GramSpec
from mercer.gram.products import fits_single, product, quick_fill
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill
from mercer.spec import derived

__all__ = ["Tiles"]
__public__ = __all__


class Tiles(GramSpec):
    """The Gram matrix tile by tile: computed in cache, used, forgotten.

    Seed: [KIKS] Sections 3.2, 6.1.1 (no Gram matrix in memory).

    Parameters
    ----------
    memory : int or str, default "1GB"
        Largest block of K, in bytes, that a solver works on at once; a smaller ``memory`` of the estimator takes
        precedence.
    precision : {"double", "mixed"}, default "double"
        "mixed" computes tiles in float32 and sums in float64: about twice as fast, with a relative error
        of about 1e-6 per entry. Vectors that float32 cannot hold are still computed in float64.

    Notes
    -----
    Offers products and rows. Memory is a few tiles per thread, whatever n is.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> K = Tiles().build(Gaussian(1.0), Vectors.pack([[0.0], [1.0]]))
    >>> (K @ np.ones(2)).round(3)
    array([1.607, 1.607])
    """

    exact = True
    streamed = True

    constraints = {"memory": Bytes(), "precision": OneOf("double", "mixed")}

    def __init__(self, memory: int | str = "1GB", precision: str = "double") -> None:
        self.memory = memory
        self.precision = precision

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the buffers of products: operands and results."""
        return Plan(f"{kernel!r} in tiles on {n} samples", {"operands": 16 * n * (width + 2)})

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> TileGram:
        """Prepare the samples; no kernel value is computed yet."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        dtype = np.float32 if self.precision == "mixed" and fits_single(samples) else np.float64
        return TileGram(kernel, kernel.prepare(samples), dtype, parse_bytes(self.memory), resources)


def same_rows(rows: Indices | None, others: Indices | None) -> bool:
    """Return whether two choices of rows are the same; None is all rows."""
    return others is None if rows is None else others is not None and np.array_equal(rows, others)


class TileGram(Gram):
    """A Gram matrix that is computed tile by tile, as an operator."""

    def __init__(
        self, kernel: Kernel, samples: Samples, dtype: Any, memory: int, resources: Resources = UNLIMITED
    ) -> None:
        self.kernel, self.resources = kernel, resources
        self._dtype, self.memory = np.dtype(dtype), memory
        self._comparison = Comparison(kernel, samples, samples, dtype)
        self._chosen: tuple[Indices | None, Comparison] = None, self._comparison
        self._rough: Comparison | None = None  # of the Gram that this one refines

    @derived
    def samples(self) -> Samples:
        """The samples; those of a part of a Gram are copied on first use."""
        return self._comparison.A

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._comparison.lengths

    @property
    def dtype(self) -> np.dtype:
        """Of the tiles."""
        return self._dtype

    @property
    def entry_cost(self) -> float:
        """Two operations a column and some for the profile of a kernel on vectors; else unknown and large."""
        uses = self._comparison.uses
        width = getattr(self._comparison.take(np.zeros(0, np.intp)), "width", None)
        return float("inf") if width is None or not uses else (2.0 * width + 16.0) * len(uses)

    @property
    def entry_error(self) -> float:
        """Return a bound on the rounding of an entry over the largest one; points far out have coarser coordinates."""
        return super().entry_error if self.dtype == np.float64 else self._comparison.rounding()

    def diag(self) -> Floats:
        """Return the diagonal; for a normalised kernel without reading the samples."""
        return np.ones(self.shape[0]) if self.kernel.normalised else super().diag()

    def refined(self) -> TileGram:
        """Return the same Gram with tiles in float64; of few rows it is made from those samples alone."""
        if self.dtype == np.float64:
            return self
        fine = copy.copy(self)
        fine._dtype = np.dtype(np.float64)
        fine._rough = self._comparison
        return fine

    def _between(self, rows: Indices | None, columns: Indices | None) -> Comparison:
        """Return the comparison of some rows and columns; None is all."""
        rough = self._rough
        if rough is None:
            if not same_rows(rows, self._chosen[0]):  # the same ones are requested many times
                self._chosen = (
                    (None, self._comparison) if rows is None else (rows.copy(), self._comparison.narrow(rows))
                )
            if rows is columns and rows is not None:
                return self._comparison.narrow(rows, rows)
            return self._chosen[1].narrow(None, columns)
        left = rough.A if rows is None else rough.take(rows)
        right = left if columns is rows else rough.A if columns is None else rough.take(columns)
        return Comparison(self.kernel, left, right, np.float64)

    def __matmul__(self, V: Floats) -> Floats:
        """Return K @ V; tiles in the Gram's precision, sums in float64."""
        return product(self.kernel, self._between(None, None), V, self.resources)

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]."""
        n = self.shape[0]
        every = isinstance(columns, slice) and columns == slice(None)
        index = np.asarray(index)
        against = None if every else index if columns is index else np.arange(n)[columns]
        shape = len(index), n if against is None else len(against)
        out = np.empty(shape, self.dtype) if out is None else out
        comparison = self._between(index, against)
        if self.dtype == np.float32:
            quick_fill(self.kernel, comparison, out, self.resources)
        else:
            fill(self.kernel, comparison, out, n_threads=self.resources.n_threads)
        return out

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`; nothing is stored."""
        out += product(self.kernel, self._between(rows, np.asarray(index)), V, self.resources)

    def take(self, index: Index) -> TileGram:
        """Return the Gram of some samples, made of what was prepared for all of them."""
        chosen = np.arange(self.shape[0])[index]
        small = copy.copy(self)
        small._comparison = self._comparison.narrow(chosen, chosen)
        small._chosen = None, small._comparison
        small._rough = None if self._rough is None else self._rough.narrow(chosen, chosen)
        return small

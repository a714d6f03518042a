"""Distributed: the Gram matrix over blocks of samples held by the workers of a Dask cluster.

Symbols: the n samples are cut into blocks S_1, ..., S_B of consecutive rows; V_j the rows of V that belong to S_j.
"""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.constraints import Boolean, InstanceOf, Integer, Optional
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.errors import CapabilityError
from mercer.gram.exact import Tiles
from mercer.gram.expansion import Expansion, FeatureExpansion, fits_single, product
from mercer.gram.gram import Gram, GramSpec
from mercer.gram.low_rank.factor import FactorGram, require_definite
from mercer.gram.low_rank.factor import block as kernel_block
from mercer.gram.low_rank.incomplete_cholesky import IncompleteCholesky
from mercer.gram.low_rank.nystrom import Nystrom
from mercer.gram.low_rank.random_features import RandomFeatures
from mercer.gram.low_rank.sparse_greedy import SparseGreedy
from mercer.gram.tree_sums import pairwise, tree_sum
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel
from mercer.runtime.tiling import spans
from mercer.runtime.workers import Crew, DaskClient, dismiss, hire, leave, send_home, share, users

__all__ = ["Distributed"]
__public__ = __all__

_FACTORS = (Nystrom, RandomFeatures, IncompleteCholesky, SparseGreedy)
_SEEN = 4096  # samples, at least, on which a factor is made
_OFFERS = 12  # samples for each column of a factor
_HELD = (
    2**29
)  # bytes of a whole factor that workers keep; a number alone decides, so that results are the same anywhere
_KEPT = 2**30  # bytes of samples read from files that workers keep


class Distributed(GramSpec):
    r"""The Gram matrix by blocks of samples on many processes or machines, with the same numbers as in one.

    .. math:: (K V)_{S_i} = \sum_j k(S_i, S_j)\, V_j, \qquad F^\top W F = \sum_i F_{S_i}^\top W_{S_i} F_{S_i}

    Seed: [KIKS] Sections 3.2, 6.1.1 (no Gram matrix in memory), 3.3 (solvers that need products alone).

    Parameters
    ----------
    address : str, Client, cluster or None, default None
        Address of a Dask scheduler, such as "tcp://127.0.0.1:8786"; or an open Dask `Client` or cluster, which stays
        open. None starts workers on this machine, which end when they are no longer used; "here" is this process, with
        the same blocks and the same order of sums, and without Dask.
    block : int, default 4096
        Rows of a block. Row groups of a file stay together up to 16 times as many rows, and small ones are joined.
    gram : GramSpec or None, default None
        What is distributed. None or `Tiles` is K itself, by products; `Nystrom`, `RandomFeatures`,
        `IncompleteCholesky` and `SparseGreedy` are its factor F, whose sums are made where the blocks are. The
        factor's coordinates are found in this process on 12 samples a column.
    workers : int or None, default None
        How many are started on this machine; None is one per core.
    trusted : bool, default False
        Whether a scheduler on another machine may be contacted without encryption (tcp:// instead of tls://).

    Notes
    -----
    Offers products and rows, and with a factor what low-rank Grams offer. Results do not depend on the number of
    workers, nor on workers that die: blocks, the tree by which sums are added and the precision are fixed, and BLAS
    has one thread in a task. They are the same to the bit as with "here", on machines of the same kind. Whatever dies
    with a worker is computed again; the scheduler must live. If no worker is left, this is reported after 5 s, and
    after 60 s, or at the end of `max_time`, the fit ends with an error; a `Checkpoint` keeps what was reached.

    A product sends V to every worker and brings back K V: 16 n k bytes for each. K itself needs all samples on every
    worker; sums of a factor need each block on one. Blocks of files are read by the workers.

    Workers are started when a Gram is built, which takes two seconds or so. ``with Distributed().open():`` keeps them
    for all fits inside. A program that starts workers has its main part under ``if __name__ == "__main__":``.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack([[0.0], [1.0], [2.0]])
    >>> K = Distributed("here", block=2).build(Gaussian(1.0), S)
    >>> (K @ np.ones(3)).round(3)
    array([1.742, 2.213, 1.742])
    """

    exact = True
    distributed = True

    constraints = {
        "address": Optional(InstanceOf(str, DaskClient)),
        "block": Integer(1),
        "gram": Optional(InstanceOf(GramSpec)),
        "workers": Optional(Integer(1)),
        "trusted": Boolean(),
    }

    def __init__(
        self,
        address: Any = None,
        block: int = 4096,
        gram: GramSpec | None = None,
        workers: int | None = None,
        trusted: bool = False,
    ) -> None:
        self.address = address
        self.block = block
        self.gram = gram
        self.workers = workers
        self.trusted = trusted

    immaterial = ("address", "workers", "trusted")  # where the same numbers are computed

    def __sklearn_clone__(self) -> Distributed:
        return copy.copy(self)  # a client is not copied

    def check(self) -> Any:
        """Raise unless the parameters are acceptable and there is a way to distribute the Gram."""
        super().check()
        if self.gram is not None and not isinstance(self.gram, (Tiles, *_FACTORS)):
            raise CapabilityError(
                f"Distributed(gram={self.gram!r}) was given; a Gram that is made of products or of a factor is "
                "accepted. Use gram=None, Tiles(), Nystrom(500), RandomFeatures(500), IncompleteCholesky(500) or "
                "SparseGreedy(500).",
            )
        return self

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the buffers of this process: those of what is distributed, of a few samples if it is a factor."""
        inner = Tiles() if self.gram is None else self.gram
        if isinstance(inner, Tiles):
            return inner.plan(kernel, n, width, memory)
        return inner.plan(kernel, min(n, self._seen(inner)), width, memory)

    @contextmanager
    def open(self, deadline: float | None = None) -> Iterator[Crew]:
        """Keep the workers for everything inside.

        Parameters
        ----------
        deadline : float, optional
            Moment of the monotonic clock until which a first worker is waited for.

        Examples
        --------
        >>> with Distributed("here").open() as crew:
        ...     crew.gather([crew.submit(abs, -1)])
        [1]
        """
        self.check()
        crew = hire(self.address, self.workers, self.trusted, deadline=deadline)
        outermost = users(crew) == 1
        try:
            yield crew
        finally:
            (send_home if outermost else dismiss)(crew)
            gc.collect()  # Grams that are unreachable but in a reference cycle dismiss it too

    def build(
        self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED
    ) -> DistributedGram | DistributedFactorGram:
        """Hand the blocks out; no kernel value of K itself is computed yet."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        self.plan(kernel, len(samples), getattr(samples, "width", 1), resources.memory).require(resources.memory)
        threads = resources.n_threads
        crew = hire(self.address, self.workers or threads, self.trusted, threads, resources.deadline)
        try:
            layout = Layout.of(kernel, samples, self.block)
            if self.gram is None or isinstance(self.gram, Tiles):
                mixed = self.gram is not None and self.gram.precision == "mixed" and fits_single(samples)
                return DistributedGram(kernel, layout, np.float32 if mixed else np.float64, crew, resources)
            require_definite(self.gram, kernel)
            inner = self._factor(kernel, layout, crew, resources)
            return DistributedFactorGram(kernel, layout, inner, crew, resources)
        except BaseException:
            dismiss(crew)
            raise

    @staticmethod
    def _seen(inner: Any) -> int:
        rank = inner.count if isinstance(inner, RandomFeatures) else inner.rank
        return max(_SEEN, _OFFERS * (rank or 0))

    def _factor(self, kernel: Kernel, layout: Layout, crew: Crew, resources: Resources) -> FactorGram:
        """The factor as it is on some of the samples, without any."""
        spec: Any = self.gram
        n, most = len(layout.samples), self._seen(spec)
        some = np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
        if (given := getattr(spec, "landmarks", None)) is not None and len(some) < n:
            places = np.asarray(given, dtype=np.intp)
            some = np.unique(places)
            spec = spec.replace(landmarks=tuple(int(i) for i in np.searchsorted(some, places)))
        gram = spec.build(kernel, layout.chosen(some, crew, resources.deadline), resources)
        gram._held = gram._kept = None
        if gram.root is not None:
            _ = gram._split  # the same directions for all blocks
        gram._residual = None
        return gram.take(slice(0, 0))


@dataclass(frozen=True)
class Layout:
    """Samples and where their blocks begin and end.

    Attributes
    ----------
    kernel : Kernel
        That they are prepared for.
    samples : Samples
        Prepared; those of a file are read when they are needed.
    blocks : list of slice
    filed : bool
        Whether a worker reads them itself.
    """

    kernel: Kernel
    samples: Samples
    blocks: list[slice]
    filed: bool

    @classmethod
    def of(cls, kernel: Kernel, samples: Samples, block: int) -> Layout:
        """Blocks of this many rows, or those of a file."""
        source: Any = getattr(samples, "source", None)
        if source is None or not source.filed or not isinstance(samples.places, slice):  # pyright: ignore
            prepared = samples if samples.is_streamed else kernel.prepare(samples)
            return cls(kernel, prepared, spans(len(samples), block), False)
        bounds = np.clip(source.boundaries, samples.places.start, samples.places.stop)  # pyright: ignore
        return cls(kernel, samples, _file_blocks(np.unique(bounds - bounds[0]), block), True)

    def piece(self, i: int) -> Samples | Reference:
        """Block i, or where it is to be read."""
        rows = self.blocks[i]
        return Reference(self.samples, rows) if self.filed else self._near(rows)

    def _near(self, index: Index) -> Samples:
        part = self.samples.take(index)
        return self.kernel.prepare(part) if self.samples.is_streamed else part

    @property
    def longest(self) -> int:
        """Rows of the longest block."""
        return max((rows.stop - rows.start for rows in self.blocks), default=1)

    def chosen(self, index: Index, crew: Crew, deadline: float | None = None) -> Samples:
        """Some samples, prepared; those of a file are found by the workers, each in its own blocks."""
        if not self.filed:
            return self._near(index)
        places = np.arange(len(self.samples))[index]
        order = np.argsort(places, kind="stable")
        starts = [rows.start for rows in self.blocks]
        found, tasks = np.searchsorted(starts, places[order], side="right") - 1, []
        for i in np.unique(found):
            inside = places[order][found == i] - starts[i]
            tasks.append(crew.submit(_some, self.piece(int(i)), inside))
        if not tasks:
            return self._near(slice(0, 0))
        whole, *rest = crew.gather(tasks, deadline)
        for part in rest:
            whole = whole.concat(part)
        return self.kernel.prepare(whole.take(np.argsort(order)))


def _file_blocks(bounds: Indices, block: int) -> list[slice]:
    """Groups of rows of a file, joined to blocks of `block` rows at least; 16 times as many are cut.

    Examples
    --------
    >>> _file_blocks(np.array([0, 3, 6, 100]), 5)
    [slice(0, 6, None), slice(6, 86, None), slice(86, 100, None)]
    """
    out, start = [], int(bounds[0])
    for stop in map(int, bounds[1:]):
        if stop - start >= block or stop == bounds[-1]:
            out += [slice(start + p.start, start + p.stop) for p in spans(stop - start, 16 * block)]
            start = stop
    return out


@dataclass(frozen=True)
class Reference:
    """Rows of a file: what is sent instead of them."""

    samples: Samples
    rows: slice

    def read(self, kernel: Kernel) -> Samples:
        """Read and prepare the rows."""
        return kernel.prepare(self.samples.take(self.rows))


class DistributedGram(Gram):
    """K over blocks of samples with the workers, by products: as an operator."""

    def __init__(self, kernel: Kernel, layout: Layout, dtype: Any, crew: Crew, resources: Resources) -> None:
        self.kernel, self.layout, self.resources = kernel, layout, resources
        self.samples, self.crew = layout.samples, crew
        self._dtype = np.dtype(dtype)
        self._kernel = crew.hold(kernel)
        # one handle of all blocks: tracking many dependencies of a task takes longer than many tasks do
        pieces = [layout.piece(i) for i in range(len(layout.blocks))]
        if layout.filed:
            self._blocks = crew.submit(list, [crew.submit(_read, piece, self._kernel) for piece in pieces])
        else:
            self._blocks = crew.hold(pieces)
        self.close = weakref.finalize(self, leave, crew)

    @property
    def dtype(self) -> np.dtype:
        """Of the tiles."""
        return self._dtype

    def refined(self) -> DistributedGram:
        """Return the same Gram with tiles in float64."""
        return self if self.dtype == np.float64 else self._with(self.layout, np.float64)

    def _with(self, layout: Layout, dtype: Any) -> DistributedGram:
        return DistributedGram(self.kernel, layout, dtype, share(self.crew), self.resources)

    def take(self, index: Index) -> DistributedGram:
        """Return the Gram of some samples, in blocks of the same size."""
        chosen = self.layout.chosen(index, self.crew, self.resources.deadline)
        return self._with(Layout.of(self.kernel, chosen, self.layout.longest), self.dtype)

    def __matmul__(self, V: Floats) -> Floats:
        """Return K @ V: each task makes the rows of one block."""
        V = np.asarray(V, dtype=float)
        if len(V) != self.shape[0]:
            raise ValueError(f"a matrix with {self.shape[0]} columns cannot be multiplied with {len(V)} rows")
        crew = self.crew
        operand = crew.hold(np.ascontiguousarray(V))
        tasks = [
            crew.submit(_block_rows, self._kernel, self._blocks, i, operand, self.dtype, crew.threads)
            for i in range(len(self.layout.blocks))
        ]
        return np.concatenate(crew.gather(tasks, self.resources.deadline)) if tasks else np.zeros_like(V)

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]; each task makes some columns."""
        index, crew = np.asarray(index), self.crew
        left = crew.hold(self._chosen(index))
        every = isinstance(columns, slice) and columns == slice(None)
        rights, count = self._cut(None if every else np.arange(self.shape[0])[columns])
        tasks = [crew.submit(_block, self._kernel, left, rights, j, self.dtype) for j in range(count)]
        found = (
            np.hstack(crew.gather(tasks, self.resources.deadline)) if tasks else np.empty((len(index), 0), self.dtype)
        )
        if out is None:
            return found
        out[...] = found
        return out

    def _cut(self, index: Indices | None) -> tuple[Any, int]:
        """Return a handle of blocks of some samples, and how many they are."""
        if index is None:
            return self._blocks, len(self.layout.blocks)
        pieces = [self._chosen(index[piece]) for piece in spans(len(index), self.layout.longest)]
        return self.crew.hold(pieces), len(pieces)

    def _chosen(self, index: Indices) -> Samples:
        return self.layout.chosen(index, self.crew, self.resources.deadline)

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`; each task makes the rows of one block."""
        crew, threads = self.crew, self.crew.threads
        right, operand = crew.hold(self._chosen(np.asarray(index))), crew.hold(np.ascontiguousarray(V, dtype=float))
        lefts, count = self._cut(None if rows is None else np.asarray(rows))
        tasks = [
            crew.submit(_columns_product, self._kernel, lefts, i, right, operand, self.dtype, threads)
            for i in range(count)
        ]
        if tasks:
            out += np.concatenate(crew.gather(tasks, self.resources.deadline))


class DistributedFactorGram(FactorGram):
    """A factor over blocks of samples with the workers: sums over rows are made there, as an operator.

    Attributes
    ----------
    inner : FactorGram
        The factor's coordinates, without samples.
    """

    def __init__(
        self, kernel: Kernel, layout: Layout, inner: FactorGram, crew: Crew, resources: Resources = UNLIMITED
    ) -> None:
        super().__init__(kernel, layout.samples, resources)
        self.layout, self.inner, self.crew = layout, inner, crew
        self.root, self.tile_dtype = inner.root, inner.tile_dtype
        self._directions = inner._directions
        n = len(layout.samples)
        self.holds = 8 * n * inner.rank <= _HELD
        sent = copy.copy(inner)
        sent.resources = Resources(n_threads=crew.threads)
        self._inner = crew.hold(sent)
        kept = not layout.filed or 8 * n * (getattr(layout.samples, "width", 1) + self.holds * inner.rank) <= _KEPT
        make: Callable[[int], Any] = layout.piece
        if kept:
            make = lambda i: crew.submit(_part, self._inner, layout.piece(i), self.holds)  # noqa: E731
        self._parts = [make(i) for i in range(len(layout.blocks))]
        self.close = weakref.finalize(self, leave, crew)

    @property
    def rank(self) -> int:
        """Number of columns of F."""
        return self.inner.rank

    def _rows(self, T: Samples) -> Floats:
        return self.inner._rows(T)

    def _columns(self, T: Samples) -> Floats:
        return self.inner._columns(T)

    def _function(self, weights: Floats, intercept: Floats) -> Expansion | FeatureExpansion:
        return self.inner._function(weights, intercept)

    @property
    def _through(self) -> Floats | None:
        """R, unless the workers keep F."""
        return None if self.holds else self.root

    def hold(self) -> None:
        """Do nothing: workers keep what they keep."""

    def take(self, index: Index) -> Any:
        """Return the Gram of some samples, in this process."""
        small = copy.copy(self.inner)
        small.samples, small.resources = self.layout.chosen(index, self.crew, self.resources.deadline), self.resources
        small._residual = None
        small.hold()
        return small

    # sums over rows ---------------------------------------------------------------------------------

    def _summed_over(self, function: Callable[..., Any], *operands: Floats) -> tuple[Floats, ...]:
        """Return the sum over blocks of what a function makes of a part of F and the rows of operands."""
        crew, blocks = self.crew, self.layout.blocks

        def term(i: int) -> Any:
            pieces = [np.ascontiguousarray(operand[blocks[i]]) for operand in operands]
            return crew.submit(function, self._inner, self._parts[i], self.holds, *pieces)

        return crew.gather([tree_sum(crew, len(blocks), term)], self.resources.deadline)[0]

    def _each(self, function: Callable[..., Any], *operands: Any) -> Floats:
        """Return the rows that a function makes of each part of F, one below the other."""
        crew = self.crew
        tasks = [crew.submit(function, self._inner, part, self.holds, *operands) for part in self._parts]
        return np.concatenate(crew.gather(tasks, self.resources.deadline))

    def _normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        square, moment = self._summed_over(_normal, weight, rhs)
        return square, moment

    def _moment(self, V: Floats, index: Indices | None = None) -> Floats:
        if index is not None:
            return super()._moment(V, index)
        return self._summed_over(_moment, np.asarray(V, dtype=float))[0]

    def _times(self, w: Floats, index: Indices | None = None) -> Floats:
        if index is not None:
            return super()._times(w, index)
        return self._each(_times, self.crew.hold(np.ascontiguousarray(w)))

    def _lengths(self, index: Indices | None) -> Floats:
        return super()._lengths(index) if index is not None else self._each(_lengths)

    def sweep(self, weights: Floats, respond: Callable[[slice, Floats], Floats]) -> tuple[Floats, Floats]:
        """Return F weights and F^T U, where U answers the rows of F weights, here; in two passes over the blocks."""
        values = self._times(np.asarray(weights, dtype=float))
        return values, self._moment(respond(slice(0, len(values)), values))


# tasks ------------------------------------------------------------------------------------------------------


def _read(reference: Reference, kernel: Kernel) -> Samples:
    return reference.read(kernel)


def _some(reference: Reference, index: Indices) -> Samples:
    return reference.samples.take(reference.rows).take(index)


def _block_rows(kernel: Kernel, blocks: list[Samples], i: int, V: Floats, dtype: Any, threads: int | None) -> Floats:
    """Rows of K V: products with one block after the other, added as a tree."""
    parts, start = [], 0
    for right in blocks:
        parts.append(_product(kernel, blocks[i], right, V[start : start + len(right)], dtype, threads))
        start += len(right)
    return pairwise(parts)


def _product(kernel: Kernel, left: Samples, right: Samples, V: Floats, dtype: Any, threads: int | None) -> Floats:
    return product(kernel, Comparison(kernel, left, right, dtype), V, Resources(n_threads=threads))


def _columns_product(
    kernel: Kernel, lefts: list[Samples], i: int, right: Samples, V: Floats, dtype: Any, threads: int | None
) -> Floats:
    return _product(kernel, lefts[i], right, V, dtype, threads)


def _block(kernel: Kernel, left: Samples, rights: list[Samples], j: int, dtype: Any) -> Floats:
    return kernel_block(kernel, left, rights[j], dtype)


def _part(inner: FactorGram, piece: Any, holds: bool) -> FactorGram:
    """The factor on one block: read if it has to be, with its rows of F if they are kept."""
    if isinstance(piece, FactorGram):
        return piece
    part = copy.copy(inner)
    part.samples = piece.read(inner.kernel) if isinstance(piece, Reference) else piece
    if holds:
        dtype = np.float64 if part.root is not None else part.tile_dtype
        part._held = part._streamed(part.samples, part._rows, part.rank, dtype, None)
    return part


def _normal(inner: FactorGram, piece: Any, holds: bool, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
    return _part(inner, piece, holds)._normal(weight, rhs)


def _moment(inner: FactorGram, piece: Any, holds: bool, V: Floats) -> tuple[Floats]:
    return (_part(inner, piece, holds)._moment(V),)


def _times(inner: FactorGram, piece: Any, holds: bool, w: Floats) -> Floats:
    return _part(inner, piece, holds)._times(w)


def _lengths(inner: FactorGram, piece: Any, holds: bool) -> Floats:
    return _part(inner, piece, holds)._lengths(None)

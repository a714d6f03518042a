"""Gram matrices of low rank, K ~ F F^T, whose factor is read a few rows at a time and need not be in memory.

Symbols: n samples, r columns of F. F may be a product C R of c columns that are cheap to compute (kernel values with
landmarks, say) and a small root R (c, r): sums over rows are then taken of C, and R is applied to the sums.
"""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Plan, Resources
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed
from mercer.errors import CapabilityError, ConvergenceWarning, warn_caller
from mercer.gram.expansion import Expansion, FeatureExpansion, quick_fill
from mercer.gram.gram import Cross, Gram
from mercer.gram.low_rank.factor_rows import (
    CHEAP,
    DEEP,
    ROWS,
    add_triangle,
    backward,
    divided,
    forward,
    held_bytes,
    large_directions,
    mirror_lower,
    row_ranges,
    sandwiched,
)
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill
from mercer.runtime.tiling import in_background, run_tasks, spans

__all__ = ["FactorCross", "FactorGram", "Residual"]

_ALONE = Resources(n_threads=1)
_PROBES = 2048  # samples on which what is left is estimated where all would take too long
_PAIRS = 256  # samples among which entries of K and of F F^T are compared
_AT_ONCE = 2**14  # samples that a thread reads at once
_LOOKS = 512  # samples that show in which directions C is large


@dataclass(frozen=True)
class Residual:
    r"""How far a Gram matrix of low rank is from K, as stated in reports.

    Attributes
    ----------
    trace : float
        tr(K - F F^T) / tr K.
    spread : float
        Standard error of `trace`; 0 if all samples were read.
    entries : float
        Estimate of the relative error of the entries, :math:`\|K - F F^\top\|_F / \|K\|_F` among some samples.
    """

    trace: float
    spread: float
    entries: float


class FactorGram(Gram):
    r"""A Gram matrix with a factor of r columns, as an operator; the factor is held if it fits.

    .. math:: K \approx F F^\top, \qquad F = C R

    Seed: [KIKS] Section 3.2; [STS] Eqs. (15)-(16) for the primal form.

    Notes
    -----
    A subclass gives `rank`, `_rows` (rows of F of prepared samples) and `_function` (the function of given weights in
    the coordinates of F). One whose F is a product C R gives `root` and `_columns` besides; sums are then made of C.
    All else is here once. Sums are made in a fixed order: they do not depend on the number of threads.
    """

    low_rank = True

    root: Any = None  # R (c, r), if rows of F are those of C times it
    tile_dtype: np.dtype = np.dtype(np.float64)  # of the rows of C while they are summed

    def __init__(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self._held: Floats | None = None  # F
        self._kept: Floats | None = None  # C
        self._directions: tuple[Floats, Floats] | None = None
        self._residual: Residual | None = None

    # what a subclass gives --------------------------------------------------------------------------

    @property
    @abstractmethod
    def rank(self) -> int:
        """Number of columns of F."""

    @abstractmethod
    def _rows(self, T: Samples) -> Floats:
        """Return the rows of F of prepared samples, (m, r), in this thread; float32 or float64."""

    @abstractmethod
    def _function(self, weights: Floats, intercept: Floats) -> Expansion | FeatureExpansion:
        """Return the function x -> F(x) weights + intercept."""

    def _columns(self, T: Samples) -> Floats:
        """Return the rows of C of prepared samples, (m, c), in this thread."""
        return self._rows(T)

    # the factor -------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Compute the whole factor, if it fits a quarter of the memory budget and takes about a second; else perhaps C.

        Kernel values of vectors are quickly computed again: at most 256 MB of them are kept, of others all that fit.
        """
        if self.samples.is_streamed:  # memory is not to grow with the samples
            return
        across = None if self.root is None else len(self.root)
        size, monitor = (len(self.samples), self.rank, across), self.resources.monitor
        quick = isinstance(self.samples, Vectors)
        F, C = held_bytes(self.kernel, *size, self.tile_dtype.itemsize, self.resources.memory, quick)
        if F:
            dtype = np.dtype(np.float64) if across is not None else self.tile_dtype
            self._held = self._streamed(self.samples, self._rows, self.rank, dtype, monitor)
        elif C and across is not None:
            self._kept = self._streamed(self.samples, self._columns, across, self.tile_dtype, monitor)

    def features(self, T: Samples) -> Floats:
        """Return the factor's rows of new samples, (m, r)."""
        return self._features(self.kernel.prepare(T))

    def _features(self, T: Samples, monitor: Any = None) -> Floats:
        return self._streamed(T, self._rows, self.rank, np.float64, monitor)

    def _streamed(self, T: Samples, part: Callable[[Samples], Floats], width: int, dtype: Any, monitor: Any) -> Floats:
        out = np.empty((len(T), width), dtype)

        def work(rows: slice) -> None:
            out[rows] = part(T.take(rows))

        run_tasks(spans(len(T), ROWS), work, n_threads=self.resources.n_threads, monitor=monitor)
        return out

    def factor(self, rows: slice = slice(None)) -> Floats:
        """Return rows of F."""
        if self._held is not None:
            return np.asarray(self._held[rows], dtype=float)
        if self._kept is not None and self.root is not None:
            return np.asarray(self._kept[rows] @ self.root, dtype=float)
        return self._features(self.samples.take(rows))

    def _part(self, rows: slice, index: Indices | None) -> Floats:
        """Return consecutive rows of F, or of the rows of F at some places, in this thread."""
        chosen = rows if index is None else index[rows]
        if self._held is not None:
            return self._held[chosen]
        if self._kept is not None and self.root is not None:
            return self._kept[chosen] @ self.root
        return self._rows(self.samples.take(chosen))

    def _raw(self, rows: slice, index: Indices | None) -> Floats:
        """Return the same rows of C, or of F if it is held or all there is."""
        if self._through is None:
            return self._part(rows, index)
        chosen = rows if index is None else index[rows]
        return self._columns(self.samples.take(chosen)) if self._kept is None else self._kept[chosen]

    def _reader(self, span: slice) -> tuple[Callable[[slice], Floats], int]:
        """Return what gives rows of C within a span, valid until the next call in this thread; and how many at once."""
        return lambda rows: self._raw(rows, None), ROWS

    @property
    def _through(self) -> Floats | None:
        """R, if sums are made of C and not of F."""
        return None if self._held is not None else self.root

    def _count(self, index: Indices | None) -> int:
        return len(self.samples) if index is None else len(index)

    # sums over rows ---------------------------------------------------------------------------------

    @staticmethod
    def _stretches(span: slice) -> list[slice]:
        """Cut a span into pieces that are read at once: no more of them are in memory than there are threads."""
        return [slice(span.start + p.start, span.start + p.stop) for p in spans(span.stop - span.start, _AT_ONCE)]

    def _summed(
        self,
        shapes: list[tuple[int, ...]],
        add: Callable[..., None],
        index: Indices | None = None,
        part: Callable[[slice, Indices | None], Floats] | None = None,
    ) -> list[Floats]:
        """Return sums over rows of F, which `add` adds to given arrays; the order of the sum is always the same."""
        part = self._part if part is None else part
        ranges = row_ranges(self._count(index), sum(int(np.prod(shape)) for shape in shapes))
        sums: list[list[Floats]] = [[np.zeros(shape) for shape in shapes] for _ in ranges]
        stop = threading.Event()

        def work(place: int) -> None:
            first, last = ranges[place].start, ranges[place].stop
            for start in range(first, last, ROWS):
                if stop.is_set():
                    return
                rows = slice(start, min(start + ROWS, last))
                add(rows, part(rows, index), *sums[place])

        run_tasks(range(len(ranges)), work, n_threads=self.resources.n_threads, stop=stop)
        total = sums[0]
        for more in sums[1:]:
            for one, other in zip(total, more, strict=True):
                one += other
        return total

    def normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        """Return F^T W F and F^T W rhs, streamed over blocks of rows in a fixed order.

        Parameters
        ----------
        weight : (n,) array or float
        rhs : (n,) or (n, k) array
        """
        n = len(self.samples)
        weight = np.broadcast_to(np.asarray(weight, dtype=float), (n,))
        rhs = np.asarray(rhs, dtype=float)
        square, moment = self._normal(weight, rhs.reshape(n, -1))
        if self._through is None:
            return square, moment.reshape(len(moment), *rhs.shape[1:])
        T = self._split[1]
        moment = (T.T @ moment).reshape(T.shape[1], *rhs.shape[1:])
        return in_background(sandwiched, square, T, work=4.0 * T.size * len(T)), moment

    def _normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        """Return B^T W B and B^T W rhs, where F = B or F = B T for T of `_split`."""
        n, k = rhs.shape
        split = None if self._through is None else self._split[0]
        width = self.rank if self._through is None else len(self._split[1])
        ranges = row_ranges(n, width * width)
        sums = [(np.zeros((width, width)), np.zeros((width, k))) for _ in ranges]
        signs = np.any(weight < 0.0)
        root = np.sqrt(np.abs(weight))
        stop = threading.Event()

        def work(place: int) -> None:
            square, moment = sums[place]
            part = None
            for start in range(ranges[place].start, ranges[place].stop, DEEP):
                rows = slice(start, min(start + DEEP, ranges[place].stop))
                read, height = self._reader(rows)
                B = None
                for piece in spans(rows.stop - rows.start, height):
                    if stop.is_set():
                        return
                    C = read(slice(start + piece.start, start + piece.stop))
                    if B is None:
                        B = np.empty((rows.stop - rows.start, width), C.dtype)
                    divided(C, split, root[start + piece.start : start + piece.stop], B[piece])
                assert B is not None
                if part is None or part.dtype != B.dtype:
                    part = np.empty((width, width), B.dtype)
                right = (root[rows, None] * rhs[rows]).astype(B.dtype)
                left = B
                if signs:
                    left = B * np.sign(weight[rows, None]).astype(B.dtype)
                np.matmul(left.T, B, out=part)
                add_triangle(square, part)
                moment += left.T @ right

        run_tasks(range(len(ranges)), work, n_threads=self.resources.n_threads, stop=stop)
        square, moment = sums[0]
        for more, other in sums[1:]:
            square += more
            moment += other
        mirror_lower(square)
        return square, moment

    @property
    def _split(self) -> tuple[Floats, Floats]:
        """A few directions U (c, q) in which C is large, and T with F = B T for B = (C U, C - C U U^T).

        Rounding of sums of squares is that of the largest numbers in them; what is left without these directions is
        small, and R enlarges only the rounding of that.
        """
        if self._directions is None:
            assert self.root is not None
            n = len(self.samples)
            some = np.sort(np.random.default_rng(0).choice(n, min(n, _LOOKS), replace=False))
            C = np.asarray(self._raw(slice(0, len(some)), some), dtype=float)
            U = large_directions(C)
            self._directions = U.astype(self.tile_dtype), np.vstack([U.T @ self.root, self.root])
        return self._directions

    def _moment(self, V: Floats, index: Indices | None = None) -> Floats:
        """Return F^T V, of some rows of F."""
        V = np.asarray(V, dtype=float)
        through = self._through
        width = self.rank if through is None else len(through)

        def add(rows: slice, C: Floats, total: Floats) -> None:
            total += C.T @ V[rows]

        total = self._summed([(width, *V.shape[1:])], add, index, self._raw)[0]
        return total if through is None else through.T @ total

    def _times(self, w: Floats, index: Indices | None = None) -> Floats:
        """Return F w, of some rows of F."""
        out = np.empty((self._count(index), *w.shape[1:]))
        through = self._through
        inner = w if through is None else through @ w

        def work(rows: slice) -> None:
            out[rows] = self._raw(rows, index) @ inner

        run_tasks(spans(len(out), ROWS), work, n_threads=self.resources.n_threads)
        return out

    def moment(self, V: Floats) -> Floats:
        """Return F^T V, (r,) or (r, k), streamed."""
        return self._moment(V)

    def times(self, weights: Floats) -> Floats:
        """Return F @ weights, (n,) or (n, k), streamed."""
        return self._times(np.asarray(weights, dtype=float))

    def sweep(self, weights: Floats, respond: Callable[[slice, Floats], Floats]) -> tuple[Floats, Floats]:
        """Return F weights and F^T U in one pass, where U answers the rows of F weights.

        Parameters
        ----------
        weights : (r, k) array
        respond : callable
            ``respond(rows, values)`` returns the rows of U, (m, p), for the values of F weights at some rows, (m, k).

        Returns
        -------
        values : (n, k) array
        moment : (r, p) array
            Products with rows of C in float32 are made in float64.
        """
        through = self._through
        inner = np.ascontiguousarray((weights if through is None else through @ weights).T)
        n = len(self.samples)
        values = np.empty((n, weights.shape[1]))
        width = respond(slice(0, 0), values[:0]).shape[1]
        across = self.rank if through is None else len(through)

        ranges = row_ranges(n, width * across)
        sums = [np.zeros((width, across)) for _ in ranges]
        stop = threading.Event()

        def work(place: int) -> None:
            total = sums[place]
            for span in self._stretches(ranges[place]):
                read, height = self._reader(span)
                for start in range(span.start, span.stop, height):
                    if stop.is_set():
                        return
                    rows = slice(start, min(start + height, span.stop))
                    C, out = read(rows), values[rows]
                    if C.dtype == np.float32 and width + len(inner) <= 8:
                        forward(C, inner, out)
                        backward(C, np.ascontiguousarray(respond(rows, out)), total)
                    else:
                        C = C.astype(np.float64, copy=False)
                        np.matmul(C, inner.T, out=out)
                        total += respond(rows, out).T @ C

        run_tasks(range(len(ranges)), work, n_threads=self.resources.n_threads, stop=stop)
        for more in sums[1:]:
            sums[0] += more
        total = sums[0].T
        return values, total if through is None else through.T @ total

    # the matrix -------------------------------------------------------------------------------------

    def __matmul__(self, V: Floats) -> Floats:
        """Return F (F^T V)."""
        return self._times(self._moment(V))

    def diag(self) -> Floats:
        """Return the squared lengths of the rows of F."""
        return self._lengths(None)

    def _lengths(self, index: Indices | None) -> Floats:
        out = np.empty(self._count(index))

        def work(rows: slice) -> None:
            F = self._part(rows, index)
            out[rows] = np.einsum("ij,ij->i", F, F, dtype=float)

        run_tasks(spans(len(out), ROWS), work, n_threads=self.resources.n_threads)
        return out

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]."""
        index = np.asarray(index)
        left = np.asarray(self._part(slice(0, len(index)), index), dtype=float)
        every = isinstance(columns, slice) and columns == slice(None)
        found = self._times(left.T, None if every else np.arange(len(self.samples))[columns]).T
        if out is None:
            return np.ascontiguousarray(found)
        out[...] = found
        return out

    @property
    def entry_cost(self) -> float:
        """Two operations a coordinate, and as many again for each column of C where the factor is not held."""
        return 2.0 * self.rank * (1.0 if self._through is None else 1.0 + len(self._through))

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        out += self._times(self._moment(V, np.asarray(index)), None if rows is None else np.asarray(rows))

    def take(self, index: Index) -> Self:
        """Return the Gram of some samples; the coordinates stay those of all."""
        if self._through is not None and len(self.samples):
            _ = self._split  # found once, for all parts
        small = copy.copy(self)
        small.samples = self.samples.take(index)
        small._held = None if self._held is None else self._held[index]
        small._kept = None if self._kept is None else self._kept[index]
        small._residual = None
        return small

    def to_dense(self) -> Floats:
        """Return K as a new (n, n) array, if the memory budget allows it."""
        n = len(self.samples)
        Plan(f"{self!r}", {"Gram matrix": 8 * n * n, "factor": 8 * n * self.rank}).require(self.resources.memory)
        F = self.factor()
        return F @ F.T

    def cross(self, T: Samples) -> FactorCross:
        """Return the operator between new samples and these, under the same approximation."""
        T = packed(T, self.kernel.pack)
        return FactorCross(self, T)

    def expand(self, solution: Any, intercept: Any = 0.0) -> Expansion | FeatureExpansion:
        """Return the fitted function; its weights come from the solver, or are F^T coef."""
        weights = solution.weights
        if weights is None:
            weights = self._moment(solution.coef)
        return self.function(weights, intercept)

    def function(self, weights: Floats, intercept: Any = 0.0) -> Expansion | FeatureExpansion:
        """Return the function x -> F(x) weights + intercept, for weights (r,) or (r, k)."""
        return self._function(np.asarray(weights, dtype=float), np.asarray(intercept, dtype=float))

    # how far it is from K ---------------------------------------------------------------------------

    @property
    def residual(self) -> Residual:
        """How far the matrix is from K: over all samples if that is cheap, otherwise estimated on some."""
        if self._residual is None:
            self._residual = self._measured()
        return self._residual

    @property
    def residual_trace(self) -> float:
        """tr(K - F F^T) / tr K, or its estimate (see `residual`)."""
        return self.residual.trace

    def _measured(self) -> Residual:
        n = len(self.samples)
        rng = np.random.default_rng(0)
        cost = 2.0 * n * self.rank * (1 if self._through is None else len(self._through))
        index = None if cost <= CHEAP or n <= _PROBES else np.sort(rng.choice(n, _PROBES, replace=False))
        own = self.kernel.diag(self.samples)
        total = max(float(own.sum()), np.finfo(float).tiny)
        part = (own if index is None else own[index]) - self._lengths(index)
        trace = float(part.sum()) if index is None else float(part.mean()) * n
        spread = 0.0 if index is None else float(part.std()) * n / float(np.sqrt(len(part))) / total
        return Residual(trace / total, spread, self.entries_error())

    def entries_error(self) -> float:
        """Return the relative error of entries of K among some samples, in the Frobenius norm."""
        n = len(self.samples)
        some = np.sort(np.random.default_rng(0).choice(n, min(n, _PAIRS), replace=False))
        chosen = self.samples.take(some)
        K = block(self.kernel, chosen, chosen)
        F = self._part(slice(0, len(some)), some)
        size = float(np.linalg.norm(K))
        return float(np.linalg.norm(K - F @ F.T)) / size if size > 0.0 else 0.0


class FactorCross(Cross):
    """The (m, n) matrix between new samples and training samples in the coordinates of a factor."""

    def __init__(self, gram: FactorGram, T: Samples) -> None:
        self.gram, self.T = gram, gram.kernel.prepare(T)
        self.shape = len(T), len(gram.samples)

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k)."""
        gram = self.gram
        moment = gram._moment(V)
        inner = moment if gram.root is None else gram.root @ moment
        out = np.empty((len(self.T), *moment.shape[1:]))

        def work(rows: slice) -> None:
            out[rows] = gram._columns(self.T.take(rows)) @ inner

        run_tasks(spans(len(self.T), ROWS), work, n_threads=gram.resources.n_threads)
        return out

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        m, n = self.shape
        Plan(f"{self.gram!r}, {m} x {n}", {"matrix": 8 * m * n}).require(self.gram.resources.memory)
        return self.gram._times(self.gram._features(self.T).T).T.copy()


def block(kernel: Kernel, A: Samples, B: Samples, dtype: Any = np.float64) -> Floats:
    """Return kernel values of prepared samples, tile by tile, without further threads; quick ones in float32."""
    out = np.empty((len(A), len(B)), dtype)
    comparison = Comparison(kernel, A, B, dtype)
    if dtype == np.float32:
        quick_fill(kernel, comparison, out, _ALONE)
    else:
        fill(kernel, comparison, out, n_threads=1)
    return out


def require_definite(spec: Any, kernel: Kernel) -> None:
    """Raise CapabilityError for kernels whose matrix has no root."""
    if kernel.order:
        raise CapabilityError(
            f"{type(spec).__name__}() was given {kernel!r}, which is conditionally positive definite; it needs a "
            "positive definite kernel, whose matrix has a root. Use gram=Dense() or gram=Tiles()."
        )


def warn_left(spec: Any, left: float, tol: float) -> None:
    """Warn if a factor of the largest rank that was allowed leaves more of the trace than was asked for.

    A tolerance of zero asks for the rank alone.
    """
    if tol > 0.0 and left > tol * (1.0 + 1e-9) + 64.0 * np.finfo(float).eps:
        warn_caller(
            f"{spec!r} leaves {left:.3g} of the trace of the Gram matrix; tol={tol:.3g} was asked for. "
            "Give a larger rank, or a larger tol.",
            ConvergenceWarning,
        )

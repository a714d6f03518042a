"""The Gram matrix itself: as one array in memory, or in tiles that are computed when they are needed."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

import mercer.gram  # for rarely chosen ways: names are imported on use
from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Bytes, Memory, Plan, Resources, budget, format_bytes, parse_bytes
from mercer.constraints import OneOf, Optional
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.errors import CapabilityError
from mercer.gram.expansion import Expansion, FeatureExpansion, fits_single, product, quick_fill
from mercer.gram.gram import Cross, Gram, GramSpec, gram_plan, has_features
from mercer.gram.repair import POLICIES, Mend, Repair, mended, repair_plan
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill, pair_terms
from mercer.runtime.tiling import spans
from mercer.spec import derived

__all__ = ["Dense", "Tiles", "exact_choice", "exact_spec"]
__public__ = ["Dense", "Tiles"]

_PART = 0.1  # of a row that is wanted, from which two passes over rows are quicker than one over pairs of positions
_PASS = 64  # rows at a time: what is held in between stays in a cache


class Dense(GramSpec):
    r"""The Gram matrix as one array: fastest while 8 n^2 bytes fit.

    Seed: [STS] Definition 1, Eq. (9); [HSS] Definition 1, Eq. (8); Section 2.2.4 on negative squares.

    Parameters
    ----------
    indefinite : {None, "reject", "clip", "flip", "shift"}, default None
        What is done about negative eigenvalues, K = U diag(lambda) U^T. None: nothing, the kernel is trusted.
        "reject": NotPositiveDefinite is raised, with the quotient that shows it. "clip": max(lambda, 0), the nearest
        positive definite matrix. "flip": abs(lambda), the form of the Krein space made a norm. "shift": minus the least
        eigenvalue is added to all, the smallest multiple of the identity that helps.

    Notes
    -----
    Offers products and rows; direct solvers factor the array in place. Half of it is computed.
    The plan is compared with the memory budget before anything is allocated.

    An indefinite k with finitely many negative squares is the difference of two positive definite kernels, an inner
    product of a Krein space: "clip" forgets the negative part, "flip" adds it instead. A policy belongs to the training
    samples. With N the eigenvectors of negative eigenvalues the fitted function at new ones is that of k itself with
    coefficients c - t N N^T c (t = 1 for "clip", 2 for "flip"), which gives the repaired values at the training
    samples; usually no coefficient is zero then. After "shift" the coefficients are used as they are: what was added
    to the diagonal says nothing about new samples, as the ridge does not. A part of a repaired matrix (``take``) is a
    part of it, not repaired again, so that functions found on parts are functions on the whole. Kernels that are
    conditionally positive definite of order 1 are judged and repaired on vectors of sum zero. Negative eigenvalues
    within rounding are left alone, and a definite matrix is not changed in a single bit. A policy costs a Cholesky
    factor if there is nothing to do, else eigenvectors: some 5 n^3 operations and three more matrices of memory.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> K = Dense().build(Gaussian(1.0), Vectors.pack([[0.0], [1.0]]))
    >>> (K @ np.ones(2)).round(3)
    array([1.607, 1.607])
    >>> from mercer.kernels import Precomputed
    >>> similar = Precomputed().pack([[1.0, 2.0], [2.0, 1.0]])
    >>> K = Dense(indefinite="flip").build(Precomputed(), similar)
    >>> K.array.round(6)
    array([[2., 1.],
           [1., 2.]])
    >>> print(K.repair)
    flip: 1 of 2 eigenvalues was negative (the least -1, the largest 3); the matrix was changed by 63.2 %
    """

    exact = True
    differentiable = True
    stored = True

    constraints = {"indefinite": Optional(OneOf(*POLICIES))}

    def __init__(self, *, indefinite: str | None = None) -> None:
        self.indefinite = indefinite

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the one large buffer, and with a policy those of eigenvectors."""
        plan = gram_plan(repr(kernel), n)
        return plan if self.indefinite is None else repair_plan(plan, n)

    def build(
        self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED, array: Floats | None = None
    ) -> DenseGram:
        """Compute the matrix in float64, in an (n, n) array that is given or allocated."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        # a plan in words only where there is more to say than that one matrix fits
        if array is None and (self.indefinite is not None or 8 * len(samples) ** 2 > budget(resources.memory)):
            self.plan(kernel, len(samples), memory=resources.memory).require(resources.memory)
        samples = kernel.prepare(samples)
        K = np.empty((len(samples), len(samples))) if array is None else array
        comparison = Comparison(kernel, samples, samples, np.float64)
        fill(kernel, comparison, K, n_threads=resources.n_threads, monitor=resources.monitor)
        if self.indefinite is not None:
            mend = mended(K, self.indefinite, kernel.order or 0)
            if mend is not None:
                return MendedGram(kernel, samples, K, resources, mend)
        return DenseGram(kernel, samples, K, resources)


class DenseGram(Gram):
    """A Gram matrix in memory, as an operator."""

    stored = True
    pairwise = True

    repair: Repair | None = None  # what a policy has changed

    def __init__(self, kernel: Kernel, samples: Samples, array: Floats, resources: Resources = UNLIMITED) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self._array: Floats | None = array

    @property
    def array(self) -> Floats:
        """The matrix; it must not be written to."""
        if self._array is None:
            raise CapabilityError(
                "the Gram matrix was given to a solver that overwrote it, so no more products can be taken; "
                "a Gram gives its array away once. Build it again."
            )
        return self._array

    def release(self) -> Floats:
        """Hand over the array, to be overwritten; the Gram has no numbers afterwards."""
        array, self._array = self.array, None
        return array

    def __matmul__(self, V: Floats) -> Floats:
        """Return K @ V."""
        return self.array @ np.asarray(V, dtype=float)

    def diag(self) -> Floats:
        """Return the diagonal."""
        return np.diagonal(self.array).copy()

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]."""
        if isinstance(columns, slice):
            found = self.array[index][:, columns]
        else:
            found = _entries(self.array, np.asarray(index), np.arange(self.shape[0])[columns])
        if out is None:
            return found
        out[...] = found
        return out

    @property
    def entry_cost(self) -> float:
        """Nothing: the entries are stored."""
        return 0.0

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        if rows is None:
            out += self.array[index].T @ V  # rows are contiguous, and K is symmetric
        else:
            out += self.array[np.ix_(rows, index)] @ V

    def take(self, index: Index) -> DenseGram:
        """Return the Gram of some samples, a copy."""
        every = np.arange(self.shape[0])[index]
        return DenseGram(self.kernel, self.samples.take(index), _entries(self.array, every, every), self.resources)

    def to_dense(self) -> Floats:
        """Return a copy of the matrix."""
        self_plan = Plan(f"a copy of {self!r}", {"Gram matrix": self.array.nbytes})
        self_plan.require(self.resources.memory)
        return self.array.copy()


class MendedGram(DenseGram):
    """A Gram matrix in memory that a policy has changed; its functions are made of the kernel as it is.

    Parameters
    ----------
    kernel, samples, array, resources : as in DenseGram
    mend : Mend
        Over the samples for which the matrix was repaired.
    source : Samples, optional
        Those samples; None if they are `samples`.
    index : (n,) array of int, optional
        Positions of `samples` among them.
    """

    def __init__(
        self,
        kernel: Kernel,
        samples: Samples,
        array: Floats,
        resources: Resources,
        mend: Mend,
        source: Samples | None = None,
        index: Indices | None = None,
    ) -> None:
        super().__init__(kernel, samples, array, resources)
        self.mend, self.repair = mend, mend.repair
        self.source = samples if source is None else source
        self.index = np.arange(len(samples)) if index is None else index

    def take(self, index: Index) -> MendedGram:
        """Return the part of some samples, a copy: it is as positive definite as the whole."""
        array, place = self.array[index][:, index], self.index[index]
        return MendedGram(
            self.kernel, self.samples.take(index), array, self.resources, self.mend, self.source, place
        )  # fmt: skip

    def cross(self, T: Samples) -> Cross:
        """Return the operator between new samples and these under the same repair."""
        T = packed(T, self.kernel.pack)
        if not self.mend.vectors.shape[1]:
            return super().cross(T)
        return MendedCross(Cross(self.kernel, T, self.source, self.resources), self.mend, self.index)

    def expand(self, solution: Any, intercept: Any = 0.0) -> Expansion | FeatureExpansion:
        """Return the fitted function: that of the kernel itself, with coefficients that make up for the repair."""
        if not self.mend.vectors.shape[1]:
            return super().expand(solution, intercept)
        coef, constant = self.mend.coefficients(_spread(solution.coef, self.index, len(self.source)))
        return Expansion(
            self.kernel, self.source.landmarks(), coef, np.asarray(intercept, dtype=float) + constant
        )  # fmt: skip


class MendedCross(Cross):
    """The matrix between new samples and training samples whose own matrix was repaired."""

    def __init__(self, cross: Cross, mend: Mend, index: Indices) -> None:
        self.inner, self.mend, self.index = cross, mend, index
        self.shape = cross.shape[0], len(index)

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k)."""
        coef, constant = self.mend.coefficients(_spread(V, self.index, self.inner.shape[1]))
        return self.inner @ coef + constant

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        K, N = self.inner.to_dense(), self.mend.vectors
        K -= (K @ N - self.mend.means) @ (self.mend.factor * N.T)
        return np.ascontiguousarray(K[:, self.index])


def _spread(V: Any, index: Indices, n: int) -> Floats:
    """Return coefficients of some samples as coefficients of all n."""
    V = np.asarray(V, dtype=float)
    wide = np.zeros((n, *V.shape[1:]))
    wide[index] = V
    return wide


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

    pairwise = True

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


def _entries(K: Floats, index: Indices, columns: Indices) -> Floats:
    """Return K[index][:, columns] without a copy of whole rows."""
    if len(columns) < _PART * K.shape[1]:
        return K[index[:, None], columns]
    if len(index) <= _PASS:
        return K.take(index, axis=0).take(columns, axis=1)
    out = np.empty((len(index), len(columns)), K.dtype)
    for rows in spans(len(index), _PASS):
        out[rows] = K.take(index[rows], axis=0).take(columns, axis=1)
    return out


def exact_spec(kernel: Kernel, n: int, features: int | None = None, memory: Memory = None) -> GramSpec:
    """Return how K of n samples is held exactly: by fewer features than samples, in one array, or in tiles.

    Parameters
    ----------
    kernel : Kernel
    n : int
    features : int, optional
        How many the kernel has on the samples, if there is a finite map that may be used.
    memory : bytes, optional
        What may be allocated.
    """
    allowed = budget(memory)
    if features is not None and features < n:
        primal = mercer.gram.Features()
        if primal.plan(kernel, n, features, memory).total <= allowed:
            return primal
    if 8 * n * n <= allowed:
        return Dense()
    return Tiles() if pair_terms(kernel) is None else mercer.gram.Kronecker()


class Option(NamedTuple):
    """A way to hold K, with what it takes."""

    spec: GramSpec
    bytes: int
    seconds: float | None
    verdict: str = ""

    def record(self) -> dict[str, Any]:
        return {"gram": self.spec, "bytes": self.bytes, "seconds": self.seconds, "verdict": self.verdict}


def choice_record(
    spec: GramSpec,
    reason: str,
    error: float,
    measure: str,
    tol: float | None,
    rest: list[Option],
) -> dict[str, Any]:
    others = [option.record() for option in rest]
    return {"gram": spec, "reason": reason, "error": error, "measure": measure, "tol": tol, "alternatives": others}


def reason_of(spec: GramSpec, resources: Resources) -> str:
    allowed = format_bytes(budget(resources.memory))
    if has_features(spec):
        return f"the kernel has fewer features than there are samples, and they fit {allowed}"
    return f"the matrix fits {allowed}" if isinstance(spec, Dense) else f"the matrix does not fit {allowed}"


def exact_choice(chosen: GramSpec, kernel: Kernel, samples: Samples, resources: Resources) -> dict[str, Any]:
    """The report on an exact choice and on the other exact ways; their times are not estimated."""
    n, width = len(samples), getattr(samples, "width", 1)
    rest = [
        Option(spec, spec.plan(kernel, n, width, resources.memory).total, None, "exact")
        for spec in (Dense(), Tiles())
        if type(spec) is not type(chosen)
    ]
    return choice_record(chosen, reason_of(chosen, resources), 0.0, "exact", None, rest)

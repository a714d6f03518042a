"""How K is held: what a user writes (`GramSpec`), what solvers see (`Gram`), and what they return (`Solution`).

Symbols: n training samples, m new samples, q chosen rows, k outputs, r rank.
Solvers ask for products, rows or factors; how the numbers are computed is the Gram's business.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources, format_bytes
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.errors import ParameterError
from mercer.gram.expansion import Expansion, FeatureExpansion, product
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, bases_of, fill
from mercer.notebooks import array, table
from mercer.runtime.tiling import thread_count, tile_side
from mercer.spec import Spec

if TYPE_CHECKING:
    from mercer.gram.auto import Auto
    from mercer.gram.exact import Dense, DenseGram, Tiles
    from mercer.gram.gauss.fast_gauss import FastGauss
    from mercer.gram.low_rank.factor import FactorGram
    from mercer.gram.low_rank.features import Features
    from mercer.gram.low_rank.nystrom import NystromGram

__all__ = [
    "Capability",
    "Cross",
    "Gram",
    "GramSpec",
    "HasEigen",
    "HasFactor",
    "HasRows",
    "Solution",
    "Status",
    "Trace",
    "tile_bytes",
]
__public__ = ["Cross", "Gram", "GramSpec", "HasEigen", "HasFactor", "HasRows"]
__saved__ = ["Solution", "Status", "Trace"]


_OFFERED: dict[tuple[type, type], bool] = {}  # whether objects of a class have the methods of a protocol


class Capability(type(Protocol)):
    """Metaclass of protocols whose methods belong to classes: each class is checked once, not each object."""

    def __instancecheck__(cls, instance: Any) -> bool:
        key = cls, type(instance)
        found = _OFFERED.get(key)
        if found is None:
            found = _OFFERED[key] = super().__instancecheck__(instance)
        return found


@runtime_checkable
class HasRows(Protocol, metaclass=Capability):
    """A Gram that gives rows of K, and adds multiples of its columns."""

    def rows(self, index: Indices, columns: Index = ..., out: Floats | None = ...) -> Floats:
        """Return K[index][:, columns], shape (q, n) or (q, len columns)."""
        ...

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = ...) -> None:
        """Add K[:, index] @ V to `out`, tile by tile; of some rows only, if they are given."""
        ...


@runtime_checkable
class HasFactor(Protocol, metaclass=Capability):
    """A Gram with K = F F^T, F of shape (n, r)."""

    def factor(self, rows: slice = ...) -> Floats:
        """Return rows of F."""
        ...

    def normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        """Return F^T W F and F^T W rhs, streamed, in float64."""
        ...


@runtime_checkable
class HasEigen(Protocol, metaclass=Capability):
    """A Gram that knows its eigenvalues and eigenvectors."""

    def eigh(self) -> tuple[Floats, Floats]:
        """Return eigenvalues (ascending) and eigenvectors."""
        ...


class GramSpec(Spec, ABC):
    """How a Gram matrix is to be held, as the user writes it: ``gram=Tiles()``.

    Attributes
    ----------
    exact : bool
        Whether K is held exactly, up to rounding, and not approximated.
    stored : bool
        Whether all of K is one array in memory.
    streamed : bool
        Whether nothing of K is held: products are computed from the samples each time.
    low_rank : bool
        Whether K = F F^T is held by F.
    undecided : bool
        Whether one of the other ways is chosen once the samples are known.
    structured : bool
        Whether K is held as a product of smaller matrices.
    distributed : bool
        Whether other processes hold it.
    differentiable : bool
        Whether K as it is held has a derivative in the kernel's parameters that is known in closed form.
    """

    exact: ClassVar[bool] = False
    stored: ClassVar[bool] = False
    streamed: ClassVar[bool] = False
    low_rank: ClassVar[bool] = False
    undecided: ClassVar[bool] = False
    structured: ClassVar[bool] = False
    distributed: ClassVar[bool] = False
    differentiable: ClassVar[bool] = False

    @abstractmethod
    def build(self, kernel: Kernel, samples: Any, resources: Resources = UNLIMITED) -> Gram:
        """Return the operator for a kernel on raw data or packed samples, within the memory budget."""

    @abstractmethod
    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the large buffers of n samples within a budget, before anything is allocated.

        Parameters
        ----------
        kernel : Kernel
        n, width : int
            Number of samples, and of their columns.
        memory : int or str, optional
            The budget: it decides what is held rather than computed again. None is 70 % of what is free.
        """


class Gram(ABC):
    """The matrix of k(x_i, x_j) over training samples, as an operator.

    Attributes
    ----------
    stored : bool
        Whether all of K is one array in memory; `has_array` asks it of anything.
    low_rank : bool
        Whether K is approximated by F F^T with few columns of F; `is_low_rank` asks it of anything.
    pairwise : bool
        Whether a product passes over all pairs of samples, so that fewer products are worth some preparation.
    repeats : (q,) array of places or None
        The sample of each row, if a sample may have several.
    """

    stored: ClassVar[bool] = False
    low_rank: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False
    repeats: Indices | None = None
    kernel: Kernel
    samples: Samples
    resources: Resources

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return len(self.samples), len(self.samples)

    @abstractmethod
    def __matmul__(self, V: Floats) -> Floats:
        """Return K @ V for V of shape (n,) or (n, k), in float64."""

    @abstractmethod
    def take(self, index: Index) -> Gram:
        """Return the Gram of some of the samples."""

    def diag(self) -> Floats:
        """Return the diagonal of K, shape (n,)."""
        return self.kernel.diag(self.samples)

    @property
    def dtype(self) -> np.dtype:
        """Type of the entries of K while they are computed; sums are always in float64."""
        return np.dtype(np.float64)

    @property
    def entry_cost(self) -> float:
        """Return about how many floating-point operations one entry of K costs; 0 if it is stored."""
        return float("inf")

    @property
    def entry_error(self) -> float:
        """Return a bound on the rounding of an entry of K, over the largest one."""
        return 1e-12

    def refined(self) -> Gram:
        """Return the same Gram with entries in float64."""
        return self

    def cross(self, T: Samples) -> Cross:
        """Return the (m, n) operator between new samples and these, under the same approximation."""
        T = packed(T, self.kernel.pack)
        return Cross(self.kernel, T, self.samples, self.resources)

    def expand(self, solution: Solution, intercept: Any = 0.0) -> Expansion | FeatureExpansion:
        """Return the fitted function f(x) = sum_i coef_i k(x, x_i) + intercept; zero coefficients are dropped."""
        coef = np.asarray(solution.coef, dtype=float)
        used = np.flatnonzero(coef if coef.ndim == 1 else np.any(coef != 0, axis=1))
        samples = self.samples
        if len(used) < len(samples):
            samples, coef = samples.take(used), coef[used]
        return Expansion(self.kernel, samples.landmarks(), coef, np.asarray(intercept, dtype=float))

    def to_dense(self) -> Floats:
        """Return K as a new (n, n) float64 array, if the memory budget allows it."""
        n = len(self.samples)
        plan = Plan(f"{self.kernel!r} on {n} samples", {"Gram matrix": 8 * n * n}, ("gram=Tiles()",))
        plan.require(self.resources.memory)
        K = np.empty((n, n))
        comparison = Comparison(self.kernel, self.samples, self.samples, np.float64)
        fill(self.kernel, comparison, K, n_threads=self.resources.n_threads, monitor=self.resources.monitor)
        return K

    def __repr__(self) -> str:
        return f"<{type(self).__name__} Gram of {self.kernel!r} on {len(self.samples)} samples>"


class Cross:
    """The (m, n) matrix between new samples and training samples, never stored unless asked.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Tiles
    >>> from mercer.kernels import Linear
    >>> S, T = Vectors.pack([[1.0], [2.0]]), Vectors.pack([[3.0]])
    >>> Tiles().build(Linear(), S).cross(T) @ np.array([1.0, 1.0])
    array([9.])
    """

    def __init__(self, kernel: Kernel, T: Samples, S: Samples, resources: Resources = UNLIMITED) -> None:
        self.kernel, self.resources = kernel, resources
        self.comparison = Comparison.across(kernel, kernel.prepare(T), S, np.float64)
        self.shape = len(T), len(S)

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k)."""
        return product(self.kernel, self.comparison, V, self.resources)

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        m, n = self.shape
        Plan(f"{self.kernel!r} on {m} x {n} samples", {"matrix": 8 * m * n}).require(self.resources.memory)
        out = np.empty(self.shape)
        fill(self.kernel, self.comparison, out, n_threads=self.resources.n_threads, monitor=self.resources.monitor)
        return out


def tile_bytes(kernel: Kernel, n_threads: int | None = None, columns: int | None = None) -> int:
    """Return the bytes of the tiles of K that are computed at once, of at most this many columns."""
    try:
        count = 1 + len(list(bases_of(kernel)))
    except ParameterError:  # of a kernel that has not learned yet, which is one that compares by distances
        count = 2
    side = tile_side(8)
    return thread_count(n_threads) * count * 8 * side * (side if columns is None else min(side, columns))


def gram_plan(what: str, n: int) -> Plan:
    """Return the plan of a dense Gram matrix of n samples, with its alternatives and their cost."""
    tiles = format_bytes(64 * n)
    return Plan(
        f"{what} on {n} samples",
        {"Gram matrix": 8 * n * n},
        (f"gram=Tiles() (about {tiles} per right-hand side, slower)",),
    )


# what a Gram is, asked of anything used as one --------------------------------------------------------


def has_array(gram: Any) -> TypeGuard[DenseGram]:
    """Return whether all of K is one array in memory, which may be read (`array`) or taken over (`release`)."""
    return getattr(gram, "stored", False)


def is_low_rank(gram: Any) -> TypeGuard[FactorGram]:
    """Return whether K is approximated by F F^T, whose rank and residual the Gram knows."""
    return getattr(gram, "low_rank", False)


def has_landmarks(gram: Any) -> TypeGuard[NystromGram]:
    """Return whether K is approximated through some of the samples."""
    return getattr(gram, "landmarks", None) is not None


# what the user has written, if anything ----------------------------------------------------------------


def is_undecided(spec: Any) -> TypeGuard[Auto]:
    """Return whether the way to hold K is to be chosen once the samples are known."""
    return isinstance(spec, GramSpec) and spec.undecided


def is_stored(spec: Any) -> TypeGuard[Dense]:
    """Return whether all of K is asked for as an array."""
    return isinstance(spec, GramSpec) and spec.stored


def is_streamed(spec: Any) -> TypeGuard[Tiles]:
    """Return whether K itself is asked for, tile by tile, nothing of it held."""
    return isinstance(spec, GramSpec) and spec.streamed and spec.exact


def is_transform(spec: Any) -> TypeGuard[FastGauss]:
    """Return whether products alone are asked for, to a tolerance."""
    return isinstance(spec, GramSpec) and spec.streamed and not spec.exact


def has_features(spec: Any) -> TypeGuard[Features]:
    """Return whether the kernel's own finite features are asked for."""
    return isinstance(spec, GramSpec) and spec.low_rank and spec.exact


def is_approximate_factor(spec: Any) -> bool:
    """Return whether K is asked for by a factor of few columns that approximates it."""
    return isinstance(spec, GramSpec) and spec.low_rank and not spec.exact


def is_factored(spec: Any) -> bool:
    """Return whether K is asked for by a factor, approximate or of the kernel's own features."""
    return isinstance(spec, GramSpec) and spec.low_rank


# what a solver finds, and a Gram turns into a function ---------------------------------------------------


class Status(Enum):
    """How a solver ended; the value of each is a sentence of advice.

    Examples
    --------
    >>> Status.STALLED.name
    'STALLED'
    """

    CONVERGED = "The tolerance was reached."
    MAX_ITER = (
        "The iterations ran out before the tolerance was reached: raise max_iter, loosen tol, or regularise "
        "more strongly."
    )
    TIME = (
        "The time ran out before the tolerance was reached: raise max_time, loosen tol, or choose an approximate Gram."
    )
    STOPPED = "The run was stopped before the tolerance was reached: start again from this solution."
    UNBOUNDED = (
        "The problem has no solution: its objective falls without end. Bound the coefficients (a finite C), or use a "
        "positive definite kernel."
    )
    STALLED = "Rounding keeps the tolerance out of reach: loosen tol, regularise more strongly, or scale the samples."

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value,)  # skops calls this, not __reduce_ex__

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self is Status.CONVERGED


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened, iteration by iteration; a direct solver has a trace of one entry.

    Attributes
    ----------
    objective : (t,) array
        Value of what is minimised, summed over the outputs.
    residual : (t,) array
        Largest residual over the outputs, as in `Solution`.
    seconds : (t,) array
        Time since the start.
    """

    objective: Floats
    residual: Floats
    seconds: Floats

    @classmethod
    def of(cls, rows: list[tuple[float, float, float]]) -> Trace:
        """Trace from rows (objective, residual, seconds)."""
        columns = np.array(rows, dtype=np.float64).reshape(len(rows), 3).T.copy()
        return cls(columns[0], columns[1], columns[2])

    def __len__(self) -> int:
        return len(self.residual)


def _no_multipliers() -> Floats:
    return np.zeros(0)


def _no_trace() -> Trace:
    return Trace.of([])


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, how well, and what of its work can be reused.

    Attributes
    ----------
    coef : (n,) or (n, k) array
        Signed coefficients: f = K coef, plus what the multipliers or the intercept add.
    status : Status
        How the solver ended, with advice.
    residual : float
        Violation actually reached, computed for the problem as given, without the jitter. For a
        linear system the largest over the outputs of the length of what is left over that of the right-hand
        side; for a BoxQP the largest violation of the optimality conditions, in the unit of f.
    gap : float
        Duality gap: the objective is above its minimum by no more than this; NaN where it was not computed.
    weights : (r,) or (r, k) array, optional
        The same function in the coordinates of the Gram's factor, F^T coef; it has more correct digits.
    multipliers : (s,) or (s, k) array
        One per equality constraint; for a border the coefficients of its functions.
    jitter : float
        0.0 unless a factorisation needed help.
    trace : Trace
        Iteration by iteration.
    state : object, optional
        What can be reused for other right-hand sides, such as a factor.
    details : mapping
        Figures of the run for a report, by name: pairs moved, hit rate of the row cache, ...
    """

    coef: Floats
    status: Status
    residual: float
    weights: Floats | None = None
    multipliers: Floats = field(default_factory=_no_multipliers)
    jitter: float = 0.0
    trace: Trace = field(default_factory=_no_trace)
    state: Any = None
    gap: float = math.nan
    details: Mapping[str, Any] = field(default_factory=dict)

    def _cells(self) -> tuple[str, list[tuple[str, Any]], str]:
        figures = {"residual": self.residual, "duality gap": self.gap, "jitter": self.jitter, **self.details}
        return self.status.name.lower().replace("_", " "), list(figures.items()), self.status.value

    def _repr_html_(self) -> str:
        return table(*self._cells())

    def _repr_latex_(self) -> str:
        return array(*self._cells())

"""What a kernel is: a pure function that compares two packed collections.

Write ``block(A, B)`` and a kernel works everywhere. Kernels of this package that share work with
others write ``tile(view)`` instead (see `mercer.kernels.comparison`).
"""

from __future__ import annotations

import functools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mercer import budget, kernels
from mercer.arrays import Bools, Floats
from mercer.constraints import Constraint
from mercer.domains import WHOLE, Frames, Samples
from mercer.domains.samples import packed, packed_pair
from mercer.errors import CapabilityError, DomainError
from mercer.kernels.comparison import Base, Comparison, Path, View
from mercer.kernels.in_notebooks import Shown
from mercer.kernels.protocols import (
    CAPABILITIES,
    Compiles,
    Differentiable,
    HasBases,
    HasFeatures,
    HasGrain,
    HasQuickTiles,
    IsWindow,
    PairTerm,
    Pullback,
    TileDifferentiable,
)
from mercer.runtime.tiling import Monitor, all_finite, run_tasks, tile_grid, transpose_into
from mercer.spec import Spec, derived, free_names, free_values

if TYPE_CHECKING:
    from mercer.kernels.algebra import deep, functions, maps, pair_products, sums

__public__ = ["Kernel"]

_CORNER = 64  # order of the corners on the diagonal of a tile that are mirrored entry by entry
_NAMES = {protocol: name for name, (protocol, _) in CAPABILITIES.items()}

SCIKIT_LEARN = "sklearn.gaussian_process.kernels"  # the home of its kernel objects


class Lacking(CapabilityError, AttributeError):
    """A kernel was asked for something it does not have."""


class Kernel(Spec, Shown, ABC):
    r"""A similarity between two objects: an inner product of their images in a feature space.

    .. math:: k(x, x') = \langle \Phi(x), \Phi(x') \rangle

    Seed: [HSS] Eq. (2), Definition 2; [STS] Definition 1.

    Notes
    -----
    A subclass sets `domain` and writes `block`; everything else follows. `order` is 0 for a positive
    definite kernel, 1, 2, ... for one that is conditionally positive definite of that order, and None
    for an indefinite one. Kernels are combined with ``+``, ``*``, ``**`` and the methods below.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> k = 0.5 * Gaussian(1.0) + Linear()
    >>> k
    0.5 * Gaussian(1.0) + Linear()
    >>> k([[0.0], [1.0]]).round(3)
    array([[0.5  , 0.303],
           [0.303, 1.5  ]])
    """

    domain: type[Samples]
    other_domains: tuple[type[Samples], ...] = ()  # what `pack` may return besides, for some kinds of data
    composite: ClassVar[bool] = False  # passes the parts of a table on to its terms
    formula: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    part: Hashable = WHOLE

    # what is known of the mathematics -------------------------------------------------------------

    order: int | None = 0
    strict: bool = False
    universal: bool = False
    stationary: bool = False
    normalised: bool = False  # k(x, x) = 1
    bounded: bool = False
    continuous: bool = False  # is known to be
    spectral_support: str | None = None  # where the Fourier transform lives: "everything", "open", "lattice" or "atoms"
    feature_limit: int | None = None  # this many features suffice for any data; 0 for finitely many

    @derived
    def nonzero(self) -> bool:
        """Whether k(x, x) > 0 is known for every x: no object is the zero of the feature space."""
        return self.normalised or (self.order == 0 and (self.strict or self.universal))

    @derived
    def injective(self) -> bool:
        """Whether different objects are known to have different images in the feature space."""
        return self.strict and self.order in (0, 1)

    @property
    def capabilities(self) -> frozenset[str]:
        """Which of the methods in `mercer.kernels.protocols.CAPABILITIES` this kernel offers."""
        return frozenset(name for name, (protocol, _) in CAPABILITIES.items() if writes(type(self), protocol))

    def __getattr__(self, name: str) -> Any:
        """Explain that this kernel lacks something that others offer."""
        if name not in CAPABILITIES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise self._lacks(CAPABILITIES[name][1])

    def _lacks(self, what: str) -> CapabilityError:
        return Lacking(
            f"{self!r} has no {what.removeprefix('a ')}; kernels that have one list it in `capabilities`. "
            f"Choose another kernel, or write the method in {type(self).__name__}."
        )

    # data -------------------------------------------------------------------------------------------

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return what this kernel reads of a table: columns, and how they are packed."""
        return {WHOLE: self.pack}

    def pack(self, X: Any) -> Samples:
        """Turn raw data into packed samples; packed samples are returned as they are."""
        return self.domain.pack(X)

    def learn(self, S: Any, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the kernel with everything filled in that is learned from training samples, raw or packed.

        Arrays among its parameters are copied: a model keeps what is returned, and edits of theirs must not reach it.
        """
        return self.owned()._learn(packed(S, self.pack), y, weight)

    def _learn(self, S: Samples, y: Any, weight: Floats | None) -> Kernel:
        return self

    def prepare(self, A: Any) -> Samples:
        """Return samples, raw or packed, together with what is worth computing once per collection."""
        return self._prepare(packed(A, self.pack))

    def _prepare(self, A: Samples) -> Samples:
        return A

    def _ready(self, X: Any) -> Samples:
        """Return prepared samples of raw data; packed ones are prepared already."""
        return X if isinstance(X, Samples) else self.prepare(self.pack(X))

    # numbers ----------------------------------------------------------------------------------------

    @abstractmethod
    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k(a, b) for all pairs, shape (len A, len B)."""

    def tile(self, view: View) -> Floats:
        """Return the kernel's values on one tile, in an array that the caller may overwrite."""
        block = np.asarray(self.block(*view.sides))
        if block.shape != view.shape:
            raise DomainError(
                f"{type(self).__name__}.block returned shape {block.shape} for {view.shape[0]} and "
                f"{view.shape[1]} samples; it must return {view.shape}. Correct the kernel's block."
            )
        out = view.empty()
        np.copyto(out, block)
        return out

    def diag(self, A: Any) -> Floats:
        """Return k(a, a) for all samples, shape (len A,).

        As for the matrix, values beyond the range of numbers raise an error.
        """
        A = self._ready(A)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._diag(A)
        if not np.isfinite(values).all():
            raise overflow_error(self)
        return values

    def _diag(self, A: Samples) -> Floats:
        single = range(len(A))
        return np.array([self.block(one, one)[0, 0] for one in (A[i : i + 1] for i in single)], dtype=float)

    def __call__(self, X: Any, Y: Any = None, *, n_threads: int | None = None) -> Floats:
        """Return the matrix of k(x, y), or of k(x, x') if Y is left out.

        Parameters
        ----------
        X, Y : raw data or packed samples
        n_threads : int, optional
            None uses every core.

        Returns
        -------
        (len X, len Y) array
        """
        self.check()
        A = self.prepare(self.pack(X))
        B = A if Y is None else self.prepare(self.pack(Y))
        comparison = Comparison(self, A, B)
        size = len(A) * len(B) * comparison.dtype.itemsize
        budget.Plan(f"{self!r} on {len(A)} x {len(B)} samples", {"matrix": size}).require(None)
        out = np.empty((len(A), len(B)), comparison.dtype)
        fill(self, comparison, out, n_threads=n_threads)
        return out

    def distance(self, X: Any, Y: Any = None) -> Floats:
        r"""Return the distances between images in feature space.

        .. math:: \|\Phi(x) - \Phi(x')\| = \sqrt{k(x, x) + k(x', x') - 2 k(x, x')}

        Seed: [ST] "Simple classification"; [HSS] Section 2.2.2 (it is defined for conditionally
        positive definite kernels of order 1 as well). Rounding below zero gives 0; more
        below zero, as other functions may give, is refused.

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> Linear().distance([[0.0, 0.0], [3.0, 4.0]])
        array([[0., 5.],
               [5., 0.]])
        """
        A = self.prepare(self.pack(X))
        B = A if Y is None else self.prepare(self.pack(Y))
        K = self(A, None if Y is None else B)
        squared = self.diag(A)[:, None] + (self.diag(A) if Y is None else self.diag(B)) - 2.0 * K
        if Y is None:
            np.fill_diagonal(squared, 0.0)
        least = float(squared.min(initial=0.0))
        if least < -1e-5 * float(np.abs(K).max(initial=0.0)):
            raise DomainError(
                f"{self!r} gives {least:.3g} where the square of a distance should be; positive definite kernels and "
                "those conditionally so of order 1 induce distances. Use such a kernel."
            )
        return np.sqrt(np.maximum(squared, 0.0))

    # the algebra: one node class per operation ------------------------------------------------------

    __array_ufunc__ = None  # arrays do not multiply kernels entry by entry

    def __add__(self, other: Any) -> sums.Sum:
        return _operators().add(self, other)

    def __radd__(self, other: Any) -> sums.Sum:
        return _operators().add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        return _operators().multiply(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return _operators().multiply(other, self)

    def __pow__(self, exponent: int) -> functions.Power:
        return kernels.Power(self, exponent).check()

    def exp(self) -> functions.Exp:
        """Return the kernel exp(k)."""
        return kernels.Exp(self).check()

    def polynomial(self, coefficients: tuple[float, ...]) -> functions.PolynomialOf:
        """Return c_0 + c_1 k + c_2 k^2 + ... with coefficients that are not negative."""
        return kernels.PolynomialOf(self, tuple(coefficients)).check()

    def normalized(self) -> functions.Normalized:
        """Return k(x, z) / sqrt(k(x, x) k(z, z))."""
        return kernels.Normalized(self).check()

    def on(self, columns: Any) -> maps.Selected:
        """Return the kernel applied to some columns of a table."""
        return kernels.Selected(self, columns).check()

    def of(self, transform: Any) -> maps.Composed | deep.Deep:
        """Return k(t(x), t(z)) for a function or a transformer t, which `learn` fits if it is not fitted.

        A map with parameters and a derivative in them makes a `Deep` kernel, which learns them with its own.
        """
        return _operators().compose(self, transform)

    def tensor(self, other: Kernel) -> pair_products.Tensor:
        """Return k(x, z) k'(x', z') on pairs (x, x'), (z, z')."""
        return kernels.Tensor(self, other).check()

    def direct_sum(self, other: Kernel) -> pair_products.DirectSum:
        """Return k(x, z) + k'(x', z') on pairs (x, x'), (z, z')."""
        return kernels.DirectSum(self, other).check()

    def __copy__(self) -> Self:
        return self.replace()


def _operators() -> Any:
    """Return what + * ** build, which are kernels themselves and need this module first."""
    from mercer.kernels.algebra import operators

    return operators


class Tiled(Kernel):
    """A kernel that writes `tile` and gets `block` from it."""

    @abstractmethod
    def tile(self, view: View) -> Floats:
        """Return the kernel's values on one tile, in an array that the caller may overwrite."""

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k(a, b) for all pairs, shape (len A, len B)."""
        A, B = packed_pair(A, B, self._ready)
        view = Comparison(self, A, B).at(slice(0, len(A)), slice(0, len(B)))
        block = view.value(self)
        return mirror(block) if B is A else block


def fill(
    kernel: Kernel,
    comparison: Comparison,
    out: Floats,
    *,
    n_threads: int | None = None,
    monitor: Monitor | None = None,
) -> None:
    """Fill a matrix with a kernel's values, tile by tile; of a symmetric one, half is computed."""
    guard = not kernel.bounded
    symmetric = comparison.symmetric

    def work(task: tuple[slice, slice]) -> None:
        rows, columns = task
        tile = comparison.at(rows, columns).value(kernel)
        if guard and not all_finite(tile):
            raise overflow_error(kernel)
        if symmetric and rows == columns:
            mirror(tile)
        out[rows, columns] = tile
        if symmetric and rows != columns:
            transpose_into(tile, out[columns, rows])

    side = grain_of(kernel, comparison)
    grid = tile_grid(out.shape[0], out.shape[1], comparison.dtype.itemsize, symmetric=symmetric, side=side)
    run_tasks(grid, work, n_threads=n_threads, monitor=monitor)


def mirror(tile: Floats) -> Floats:
    """Copy the upper triangle of a square tile below its diagonal: rounding must not break symmetry."""
    n = len(tile)
    for start in range(0, n, _CORNER):
        stop = min(start + _CORNER, n)
        corner = tile[start:stop, start:stop]
        np.copyto(corner, corner.T, where=_below_diagonal(stop - start))
        tile[stop:, start:stop] = tile[start:stop, stop:].T
    return tile


@functools.lru_cache(maxsize=64)
def _below_diagonal(n: int) -> Bools:
    return np.tri(n, k=-1, dtype=bool)


def overflow_error(kernel: Kernel) -> DomainError:
    """Return the error for a kernel whose values leave the range of floating-point numbers."""
    return DomainError(
        f"Input X gives values of {kernel!r} that are too large for floating-point numbers; all values must be "
        "finite. Scale the data (for example with StandardScaler), normalise the kernel, or lower its degree."
    )


def narrowed(kernel: Kernel, A: Samples) -> Samples:
    """Return the part of a table that one term of a composite kernel reads."""
    return A.part(kernel.part) if isinstance(A, Frames) and not kernel.composite else A


# derivatives in parameters ---------------------------------------------------------------------------


def derivative(view: View, kernel: Kernel) -> tuple[Floats, Pullback]:
    """Return a kernel's values on a tile and the pullback to its parameters; neither may be overwritten."""
    part = view.part(kernel)
    if offers(kernel, TileDifferentiable) and _pulls_tiles(type(kernel)):
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
    if offers(kernel, Differentiable) or free_names(kernel):
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
    return pull_by(functools.partial(derivative, kernel=kernel), kernel, A, B, weights, n_threads, monitor)


def pull_by(
    differentiate: Callable[[View], tuple[Floats, Pullback]],
    kernel: Kernel,
    A: Samples,
    B: Samples,
    weights: Callable[[slice, slice], Floats],
    n_threads: int | None,
    monitor: Monitor | None,
) -> Floats:
    """Return the same with a given derivative of tiles."""
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


# asking for what only some kernels can do: the protocols are in `mercer.kernels.protocols` --------------


def offers(kernel: Kernel, protocol: type) -> bool:
    """Return whether a kernel satisfies a protocol, and all of its terms do where that matters.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> offers(Linear(), HasFeatures), offers(Linear() + Gaussian(1.0), HasFeatures)
    (True, False)
    """
    if not writes(type(kernel), protocol):
        return False
    name = _NAMES.get(protocol)
    return name is None or name in kernel.capabilities


@functools.cache
def writes(cls: type, protocol: type) -> bool:
    """Return whether a class has the methods of a protocol."""
    return all(callable(getattr(cls, name, None)) for name in vars(protocol) if not name.startswith("_"))


def feature_count(kernel: Kernel, A: Samples) -> int | None:
    """Return D, the number of features of a kernel on samples, or None if there is no finite map or D is not known."""
    count = getattr(kernel, "feature_count", None) if offers(kernel, HasFeatures) else None
    return None if count is None else count(A)


def log_integral(kernel: Kernel, width: int) -> float | None:
    """Return log of the integral of k(., z) over `width` dimensions, or None if k is no window."""
    return kernel.log_integral(width) if offers(kernel, IsWindow) else None


def bases_of(kernel: Kernel) -> Iterable[tuple[Path, Base, float | None]]:
    """Return the bases that a kernel's `tile` asks of a view."""
    return kernel.bases() if offers(kernel, HasBases) else ()


def quick_tiles(kernel: Kernel, comparison: Comparison) -> Callable[..., Floats] | None:
    """Return the function that makes tiles in one pass, if a kernel has one."""
    return kernel.quick(comparison) if offers(kernel, HasQuickTiles) else None


def compiled_expansion(kernel: Kernel, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
    """Return f(x) = sum_i coef_i k(s_i, x) as one function, if a kernel can do so."""
    return kernel.compile(samples, coef) if offers(kernel, Compiles) else None


def grain_of(kernel: Kernel, comparison: Comparison) -> int | None:
    """Return how many rows and columns a tile should have at most, or None for as many as stay in cache."""
    return kernel.grain(comparison) if offers(kernel, HasGrain) else term_grain(kernel, comparison)


def term_grain(kernel: Kernel, comparison: Comparison) -> int | None:
    """Return the smallest grain that the terms of a kernel ask for."""
    terms: Any = (child for _, child in kernel._children() if hasattr(child, "block"))
    asked = (grain_of(term, comparison) for term in terms)
    return min((side for side in asked if side is not None), default=None)


# kernels of others ---------------------------------------------------------------------------------------


class AnyKernel(Constraint):
    """A kernel, in whatever way it may be given to an estimator. Not free (its own parameters may be)."""

    @property
    def accepted(self) -> str:
        return "a Kernel, a scikit-learn name such as 'rbf', a function of two collections, or None"

    def accepts(self, value: Any) -> bool:
        return value is None or isinstance(value, (Kernel, str)) or is_foreign(value)

    def advice(self, name: str, value: Any) -> str:
        if isinstance(value, type):
            return f"Write {name}={value.__name__}(...): an object, not its class."
        return f"Give {name} an object of mercer.kernels such as Gaussian(1.0); this is of type {type(value).__name__}."


def is_scikit_learn(given: Any) -> bool:
    """Return whether this is a kernel object of scikit-learn; its module is not imported to find out."""
    home = sys.modules.get(SCIKIT_LEARN)
    return home is not None and isinstance(given, home.Kernel)


def is_foreign(given: Any) -> bool:
    """Return whether this is no kernel of mercer but can be made one: a function, or a kernel object of scikit-learn.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> is_foreign(lambda A, B: A @ B.T), is_foreign(Gaussian(1.0)), is_foreign("rbf")
    (True, False, False)
    """
    if isinstance(given, (Kernel, type)):
        return False
    return is_scikit_learn(given) or callable(given)


def pair_terms(kernel: Any) -> tuple[PairTerm, ...] | None:
    """Return the products that a kernel on pairs is the sum of, or None if it is no such sum.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> pair_terms(2.0 * Gaussian(1.0).tensor(Linear()))
    (PairTerm(weight=2.0, left=Gaussian(1.0), right=Linear(), symmetric=False),)
    >>> pair_terms(Gaussian(1.0)) is None
    True
    """
    find = getattr(kernel, "pair_terms", None)
    return None if find is None else find()

"""What a kernel is: a pure function that compares two packed collections.

Write ``block(A, B)`` and a kernel works everywhere. Kernels of this package that share work with
others write ``tile(view)`` instead (see `mercer.kernels.comparison`).
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mercer import budget
from mercer.arrays import Floats
from mercer.constraints import free_names, free_values
from mercer.domains import WHOLE, Frames, Samples
from mercer.domains.doors import open_doors, packing
from mercer.errors import CapabilityError, DomainError
from mercer.kernels.comparison import Base, Comparison, Path, View
from mercer.kernels.power_series import Series
from mercer.numerics.algebraic import all_finite, transpose_into
from mercer.runtime.tiling import Monitor, run_tasks, tile_grid
from mercer.spec import Spec

if TYPE_CHECKING:
    from mercer.kernels.algebra import functions, maps, pair_products, sums

__public__ = ["Kernel"]

Pullback = Callable[[Floats], Floats]  # weights of a tile -> derivatives in the free parameters

CAPABILITIES = (
    "features",
    "frequencies",
    "pullback",
    "pullback_inputs",
    "series",
    "spectral_density",
    "spectral_atoms",
)


# how many arguments of a method are samples: whoever calls it may give raw data as well
_PACKED = {"learn": 1, "prepare": 1}
_READY = {"diag": 1, "features": 1, "feature_count": 1, "block": 2, "pullback": 2, "pullback_inputs": 2}


class Kernel(Spec, ABC):
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

    domain: ClassVar[type[Samples]]
    other_domains: tuple[type[Samples], ...] = ()  # what `pack` may return besides, for some kinds of data
    composite: ClassVar[bool] = False  # hands the parts of a table on to its terms
    formula: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    part: Hashable = WHOLE

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "diag" in vars(cls):  # like the matrix, no diagonal leaves the range of numbers without a word
            setattr(cls, "diag", _finite_diagonal(cls.diag))  # noqa: B010  (the type checker forbids the plain form)
        open_doors(cls, _PACKED, lambda kernel, X: kernel.pack(X))
        open_doors(cls, _READY, lambda kernel, X: kernel.prepare(kernel.pack(X)))

    # what is known of the mathematics -------------------------------------------------------------

    order: int | None = 0
    strict: bool = False
    universal: bool = False
    stationary: bool = False
    normalised: bool = False  # k(x, x) = 1
    bounded: bool = False
    continuous: bool = False  # is known to be
    spectral_support: str | None = None  # where the Fourier transform lives: "everything", "open", "lattice" or "atoms"

    @property
    def nonzero(self) -> bool:
        """Whether k(x, x) > 0 is known for every x: no object is the zero of the feature space."""
        return self.normalised or (self.order == 0 and (self.strict or self.universal))

    @property
    def injective(self) -> bool:
        """Whether different objects are known to have different images in the feature space."""
        return self.strict and self.order in (0, 1)

    @property
    def capabilities(self) -> frozenset[str]:
        """Which of `CAPABILITIES` this kernel offers."""
        return frozenset(name for name in CAPABILITIES if getattr(type(self), name) is not getattr(Kernel, name))

    # data -------------------------------------------------------------------------------------------

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return what this kernel reads of a table: columns, and how they are packed."""
        return {WHOLE: self.pack}

    def pack(self, X: Any) -> Samples:
        """Turn raw data into packed samples; packed samples are returned as they are."""
        return self.domain.pack(X)

    def learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the kernel with everything filled in that is learned from training samples."""
        return self

    def prepare(self, A: Samples) -> Samples:
        """Return the samples together with what is worth computing once per collection."""
        return A

    # numbers ----------------------------------------------------------------------------------------

    @abstractmethod
    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k(a, b) for all pairs, shape (len A, len B)."""

    def tile(self, view: View) -> Floats:
        """Return the kernel's numbers on one tile, in an array that the caller may overwrite."""
        block = np.asarray(self.block(*view.sides))
        if block.shape != view.shape:
            raise DomainError(
                f"{type(self).__name__}.block returned shape {block.shape} for {view.shape[0]} and "
                f"{view.shape[1]} samples; it must return {view.shape}. Correct the kernel's block."
            )
        out = view.empty()
        np.copyto(out, block)
        return out

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the kernel's numbers on one tile, which must not be overwritten, and the way back to parameters.

        The second is a function of weights W of the tile's shape that returns sum_ij W_ij dk(a_i, b_j)/dtheta, (p,).
        """
        if not len(free_values(self)):
            return self.tile(view), _nothing
        sides = view.sides
        return self.tile(view), lambda W: self.pullback(*sides, W)

    def quick(self, comparison: Comparison) -> Callable[..., Floats] | None:
        """Return a function that makes tiles of a comparison in one pass, or None where there is no such way.

        It is called with rows, columns (two slices) and perhaps V, and returns the tile or, without writing it, the
        tile times V, which has the tile's dtype and a column per output. Entries are off by the rounding of the tile's
        dtype, as `tile` has them, but for near points no more exact. A tile is valid until the thread's next one.
        """
        return None

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f(x) = sum_i coef_i k(s_i, x) as one function, or None where pair by pair is the only way.

        Parameters
        ----------
        samples : Samples
            The s_i, as the kernel packs them.
        coef : (n,) or (n, k) array

        Returns
        -------
        callable or None
            It takes packed samples and returns an array of shape (m,) or (m, k).
        """
        return None

    def grain(self, comparison: Comparison) -> int | None:
        """Return how many rows and columns a tile should have at most, or None for as many as stay in cache.

        A kernel whose pairs take long asks for tiles of some 20 milliseconds, so that threads get equal shares and
        Ctrl-C is answered. A term of a composite is asked with the whole comparison, whose samples need not be of the
        term's domain.
        """
        terms = (child.grain(comparison) for _, child in self._children() if isinstance(child, Kernel))
        return min((asked for asked in terms if asked is not None), default=None)

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield (path, base, squared length scale) for every base that `tile` asks of a view."""
        return ()

    def diag(self, A: Samples) -> Floats:
        """Return k(a, a) for all samples, shape (len A,)."""
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
        positive definite kernels of order 1 as well). Ledger: K-ALG-DIST, F-CPD. Rounding below zero gives 0; more
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

    # what only some kernels can do ------------------------------------------------------------------

    def features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return (matrix, keys): a finite feature map, shape (len A, D), dense or sparse."""
        raise self._lacks("a finite feature map")

    def feature_count(self, A: Samples) -> int | None:
        """Return D, the number of features on these samples, or None if there is no finite map."""
        return None

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw from the spectral measure, shape (count, width): k(x, z) = E cos(w . (x - z))."""
        raise self._lacks("a sampler of its spectral measure")

    def series(self) -> Series:
        """Return the kernel as a power series in the dot product, k(x, z) = sum_n a_n <x, z>^n."""
        raise self._lacks("a power series in the dot product")

    def spectral_density(self, omega: Floats) -> Floats:
        """Return v at frequencies (m, d), shape (m,): k(x, z) = integral of v(w) cos(w . (x - z)) dw.

        It integrates to k(0), over all frequencies of both signs. `mercer.hilbert.spectral_measure` finds it for sums
        and products too.
        """
        raise self._lacks("a spectral density of its own")

    def spectral_atoms(self, width: int) -> tuple[Floats, Floats]:
        """Return (frequencies w (q, width), masses m (q,)): k(x, z) = sum_i m_i cos(w_i . (x - z)), up to rounding."""
        raise self._lacks("a spectral measure of points")

    def log_integral(self, width: int) -> float | None:
        """Return log of the integral of k(., z) over `width` dimensions, or None if k is no window.

        A window is nowhere negative, and its integral is finite and the same for every z: divided by it, k(., z) is
        the density of a distribution around z.
        """
        return None

    def pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij dk(a_i, b_j)/dtheta for the free parameters theta, shape (p,)."""
        if not free_names(self):
            return np.zeros(0)
        raise self._lacks("a derivative in its parameters")

    def pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i (first argument only), shape (len A, d)."""
        raise self._lacks("a derivative in its inputs")

    def _lacks(self, what: str) -> CapabilityError:
        return CapabilityError(
            f"{self!r} has no {what.removeprefix('a ')}; kernels that have one list it in `capabilities`. "
            f"Choose another kernel, or write the method in {type(self).__name__}."
        )

    # the algebra: one node class per operation ------------------------------------------------------

    __array_ufunc__ = None  # arrays do not multiply kernels entry by entry
    operators: ClassVar[Any] = None  # the module mercer.kernels.algebra.operators, which needs this class first

    def __add__(self, other: Any) -> sums.Sum:
        return self.operators.add(self, other)

    def __radd__(self, other: Any) -> sums.Sum:
        return self.operators.add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        return self.operators.multiply(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return self.operators.multiply(other, self)

    def __pow__(self, exponent: int) -> functions.Power:
        return self.operators.Power(self, exponent).check()

    def exp(self) -> functions.Exp:
        """Return the kernel exp(k)."""
        return self.operators.Exp(self).check()

    def polynomial(self, coefficients: tuple[float, ...]) -> functions.PolynomialOf:
        """Return c_0 + c_1 k + c_2 k^2 + ... with coefficients that are not negative."""
        return self.operators.PolynomialOf(self, tuple(coefficients)).check()

    def normalized(self) -> functions.Normalized:
        """Return k(x, z) / sqrt(k(x, x) k(z, z))."""
        return self.operators.Normalized(self).check()

    def on(self, columns: Any) -> maps.Selected:
        """Return the kernel applied to some columns of a table."""
        return self.operators.Selected(self, columns).check()

    def of(self, transform: Any) -> maps.Composed:
        """Return k(t(x), t(z)) for a function or a transformer t, which `learn` fits if it is not fitted."""
        return self.operators.Composed(self, transform).check()

    def tensor(self, other: Kernel) -> pair_products.Tensor:
        """Return k(x, z) k'(x', z') on pairs (x, x'), (z, z')."""
        return self.operators.Tensor(self, other).check()

    def direct_sum(self, other: Kernel) -> pair_products.DirectSum:
        """Return k(x, z) + k'(x', z') on pairs (x, x'), (z, z')."""
        return self.operators.DirectSum(self, other).check()

    def __copy__(self) -> Self:
        return self.replace()


for _name in ("learn", "prepare", "diag"):  # that every kernel has; the others say what a kernel lacks
    setattr(Kernel, _name, packing(vars(Kernel)[_name], 1, lambda kernel, X: kernel.pack(X)))


class Tiled(Kernel):
    """A kernel that writes `tile` and gets `block` from it."""

    @abstractmethod
    def tile(self, view: View) -> Floats:
        """Return the kernel's numbers on one tile, in an array that the caller may overwrite."""

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k(a, b) for all pairs, shape (len A, len B)."""
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

    side = kernel.grain(comparison)
    grid = tile_grid(out.shape[0], out.shape[1], comparison.dtype.itemsize, symmetric=symmetric, side=side)
    run_tasks(grid, work, n_threads=n_threads, monitor=monitor)


def derivative(view: View, kernel: Kernel) -> tuple[Floats, Pullback]:
    """Return a kernel's numbers on a tile and the way back to its parameters; neither may be overwritten."""
    part = view.part(kernel)
    if _pulls_tiles(type(kernel)):
        return kernel.value_and_pullback(part)
    return Kernel.value_and_pullback(kernel, part)


@functools.cache
def _pulls_tiles(cls: type) -> bool:
    """Tell whether a class says how tiles are differentiated, rather than a subclass of it how whole blocks are."""
    for member in cls.__mro__:
        if "value_and_pullback" in vars(member):
            return True
        if "pullback" in vars(member):
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
        diagonal are asked for, and one above stands for its mirror image as well: W_ij + W_ji.
    n_threads, monitor : optional
        As in `mercer.runtime.tiling.run_tasks`.

    Notes
    -----
    The sum is taken in a fixed order: it does not depend on the number of threads.
    """
    return _pull(functools.partial(derivative, kernel=kernel), kernel, A, B, weights, n_threads, monitor)


def pull_block(kernel: Kernel, A: Samples, B: Samples, W: Floats) -> Floats:
    """Return sum_ij W_ij dk(a_i, b_j)/dtheta for weights (len A, len B), by the kernel's way back from tiles.

    It is the `pullback` of kernels that say how tiles are differentiated. What a subclass makes of `pullback` is not
    asked: it may be what is calling.
    """
    weights = functools.partial(_tile_of, np.asarray(W, dtype=float), B is A)
    return _pull(lambda view: kernel.value_and_pullback(view.part(kernel)), kernel, A, B, weights, None, None)


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
    grid = tile_grid(len(A), len(B), 8, symmetric=comparison.symmetric, side=kernel.grain(comparison))
    parts: list[Any] = [None] * len(grid)

    def work(place: int) -> None:
        _, back = differentiate(comparison.at(*grid[place]))
        parts[place] = back(weights(*grid[place]))

    run_tasks(range(len(grid)), work, n_threads=n_threads, monitor=monitor)
    return np.sum(parts, axis=0)


def _tile_of(W: Floats, symmetric: bool, rows: slice, columns: slice) -> Floats:
    """Return a tile of weights, with that on the other side of the diagonal where tiles stand for both."""
    if symmetric and rows != columns:
        return W[rows, columns] + W[columns, rows].T
    return W[rows, columns]


def _finite_diagonal(diag: Callable[[Any, Samples], Floats]) -> Callable[[Any, Samples], Floats]:
    @functools.wraps(diag)
    def finite(self: Kernel, A: Samples) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            values = diag(self, A)
        if not np.isfinite(values).all():
            raise overflow_error(self)
        return values

    return finite


def offered(kernel: Kernel) -> frozenset[str]:
    """Return what a term offers to a composite: without free parameters there is nothing to derive it in."""
    return kernel.capabilities | (frozenset() if free_names(kernel) else {"pullback"})


def mirror(tile: Floats) -> Floats:
    """Copy the upper triangle of a square tile below its diagonal: rounding must not break symmetry."""
    lower = np.tri(len(tile), k=-1, dtype=bool)
    tile[lower] = tile.T[lower]
    return tile


def overflow_error(kernel: Kernel) -> DomainError:
    """Return the error for a kernel whose values leave the range of floating-point numbers."""
    return DomainError(
        f"Input X gives values of {kernel!r} that are too large for floating-point numbers; all values must be "
        "finite. Scale the data (for example with StandardScaler), normalise the kernel, or lower its degree."
    )


def narrowed(kernel: Kernel, A: Samples) -> Samples:
    """Return the part of a table that one term of a composite kernel reads."""
    return A.part(kernel.part) if isinstance(A, Frames) and not kernel.composite else A

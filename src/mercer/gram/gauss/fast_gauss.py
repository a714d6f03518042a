"""FastGauss: products with the matrix of a Gaussian kernel in linear time, to a tolerance that is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Index
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.constraints import Interval, OneOf
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed
from mercer.errors import CapabilityError, DomainError
from mercer.gram.expansion import Expansion, product
from mercer.gram.gauss.choice import METHODS, Choice, GaussTransform, choose_method
from mercer.gram.gram import Cross, Gram, GramSpec
from mercer.kernels.comparison import Comparison
from mercer.kernels.composite import Scaled
from mercer.kernels.kernel import Kernel
from mercer.kernels.vectors.pointwise import Gaussian

__all__ = ["FastGauss", "FastGaussExpansion"]
__public__ = ["FastGauss"]

_EPS = float(np.finfo(np.float64).eps)


class FastGauss(GramSpec):
    r"""Products with the Gram matrix of a Gaussian kernel by a fast Gauss transform: linear in the number of samples.

    .. math:: \max_i \Big| (\tilde K v)_i - \sum_j a \, e^{-\|x_i - x_j\|^2 / (2 l^2)} \, v_j \Big|
        \le \mathrm{tol} \cdot a \sum_j |v_j|

    Seed: [KIKS] Section 3.5, Section 4.1.1.

    Parameters
    ----------
    tol : float, default 1e-6
        Error of a product over the sum of the absolute weights and the size a of the kernel. Between 1e-10 and 0.1.
    method : {"auto", "hermite", "taylor", "tree"}, default "auto"
        "hermite" has Hermite and Taylor series on a grid of boxes, "taylor" (the improved transform) clusters with a
        series of total degree, "tree" two trees whose pairs of nodes are left out, taken as constant, expanded or
        summed. "auto" counts operations on some of the samples and takes the cheapest, which may be "direct": all
        pairs in float64, if there are few of them or no transform is cheaper.

    Notes
    -----
    Kernels: `Gaussian`, with one length scale or one per column, and a number times it. Offers products and nothing
    else: for conjugate gradients, partial least squares and everything that works by products; what needs rows or
    factors raises an error. The function that `expand` returns is computed by the transform as well.

    The bound is proved for each method (see `mercer.gram.gauss.choice`), and holds for any points and weights;
    ``gram.bound`` is its value, ``gram.measured(V)`` compares some entries of a product with their exact values. On
    weights of mixed signs errors are usually smaller by orders of magnitude. The matrix of "hermite" is symmetric to
    rounding; it has eigenvalues down to about -tol, so conjugate gradients need a shift well above tol n in the
    worst case, and cannot reach a residual below the error of their products.

    Near-linear in one to three dimensions, and up to six or so for length scales that are not small compared with the
    extent of the data. Memory O(n d).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(4000, 2))
    >>> K = FastGauss(1e-6).build(Gaussian(0.5), Vectors.pack(X))
    >>> K.method, K.bound <= 1e-6, K.measured(np.ones(4000)) <= 1e-6
    ('hermite', True, True)
    """

    synonyms = ("fast Gauss transform", "improved fast Gauss transform")
    streamed = True

    constraints = {"tol": Interval(1e-10, 0.1), "method": OneOf("auto", *METHODS)}

    def __init__(self, tol: float = 1e-6, method: str = "auto") -> None:
        self.tol = tol
        self.method = method

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the buffers of products: points sorted into boxes, and series."""
        return self._plan(kernel, n, width, max(2**16, min(2**22, 32 * n)))

    def _plan(self, kernel: Kernel, n: int, width: int, series: int) -> Plan:
        """Return the buffers of products with this many numbers of series."""
        buffers = {"points": 8 * n * (2 * width + 4), "series": 8 * series}
        return Plan(f"{kernel!r} by a fast Gauss transform on {n} samples", buffers, ("gram=Tiles()",))

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> FastGaussGram:
        """Choose the transform and sort the samples; no product is computed yet."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        unit_of(kernel, samples)  # refuses what is not a Gaussian on vectors
        n, width = len(samples), getattr(samples, "width", 1)
        self._plan(kernel, n, width, 2**12).require(resources.memory)
        gram = FastGaussGram(kernel, kernel.prepare(samples), self.tol, self.method, resources)
        if gram.fast is not None:  # chosen now, so that what cannot be done is refused here
            self._plan(kernel, n, width, 3 * gram.fast.transform.held).require(resources.memory)
        return gram


class OnlyProducts(CapabilityError, AttributeError):
    """A Gram known only by its products does not have what was asked for; also an AttributeError, for `hasattr`."""


class Unit(NamedTuple):
    """Size of a kernel, and the origin and the lengths in which it is exp(-d^2)."""

    size: float
    origin: Floats
    lengths: Floats

    def points(self, samples: Samples) -> Floats:
        """Return vectors in this unit, (n, d) float64."""
        X: Any = samples.X  # pyright: ignore[reportAttributeAccessIssue]
        with np.errstate(over="ignore", invalid="ignore"):
            X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
            return np.ascontiguousarray((X - self.origin) / self.lengths)


def unit_of(kernel: Kernel, samples: Samples) -> Unit:
    """Return the unit in which a kernel is a number times exp(-d^2), about the middle of some samples.

    Raises
    ------
    CapabilityError
        The kernel is not a Gaussian on vectors, nor a number times one.
    """
    size, inner = 1.0, kernel
    while isinstance(inner, Scaled):
        size, inner = size * float(inner.scale), inner.kernel
    plain = isinstance(inner, Gaussian) and type(inner).profile is Gaussian.profile
    if not plain or not isinstance(samples, Vectors):
        raise CapabilityError(
            f"FastGauss() was given {kernel!r} on {type(samples).__name__}; Gaussian(length_scale) on Vectors, and a "
            "number times it, are accepted. Use gram=Tiles() or gram=Nystrom(500) for other kernels."
        )
    assert isinstance(inner, Gaussian)
    inner.base()  # refuses a length scale that is not known yet
    lengths = np.asarray(inner.length_scale, dtype=np.float64)
    if lengths.ndim and len(lengths) != samples.width:
        raise DomainError(
            f"{len(lengths)} length scales were given for data with {samples.width} columns; one length scale, or one "
            "per column, is accepted. Give a single number or as many as there are columns."
        )
    X: Any = samples.X
    if sp.issparse(X):
        ends = [X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()]
    else:  # column by column: for few columns much quicker than along the rows
        ends = [[column.min() for column in X.T], [column.max() for column in X.T]]
    origin = np.sum(0.5 * np.asarray(ends, dtype=np.float64), axis=0)
    return Unit(size, origin, np.broadcast_to(math.sqrt(2.0) * lengths, (samples.width,)))


class Fast(NamedTuple):
    """A transform, and the unit that its points are in."""

    transform: GaussTransform
    unit: Unit


def fast_transform(kernel: Kernel, samples: Samples, tol: float, method: str) -> tuple[Fast | None, Choice]:
    """Return the transform for sources and as many targets like them, or None where all pairs are cheaper.

    Points whose rounded coordinates, in length scales, are not exact enough for the tolerance are summed directly.
    """
    unit = unit_of(kernel, samples)
    Y = unit.points(samples)
    extent = float(np.max(np.abs(Y), initial=0.0))
    if not 8.0 * _EPS * extent * math.sqrt(Y.shape[1]) <= 0.02 * tol:
        return None, Choice("direct", {})
    choice = choose_method(Y, tol, method)
    if choice.method == "direct":
        return None, choice
    if math.isinf(choice.costs[choice.method]):
        raise CapabilityError(
            f"FastGauss(method={method!r}) was given {len(Y)} samples in {Y.shape[1]} dimensions with length scales "
            f"of {unit.lengths.min() / math.sqrt(2.0):.3g} or more, for which series of that kind have too many terms; "
            "wider kernels are accepted. Use method='auto'."
        )
    try:
        return Fast(GaussTransform(Y, tol, choice), unit), choice
    except ValueError:  # all samples need more than the subset suggested
        rest = {name: cost for name, cost in choice.costs.items() if name != choice.method}
        if method != "auto":
            raise CapabilityError(
                f"FastGauss(method={method!r}) was given {len(Y)} samples for which it needs too many clusters or "
                "boxes; wider kernels, or samples nearer together, are accepted. Use method='auto'."
            ) from None
        other = Choice("tree" if rest["tree"] < rest["direct"] else "direct", rest)
        return (Fast(GaussTransform(Y, tol, other), unit) if other.method == "tree" else None), other


class FastGaussGram(Gram):
    """The Gram matrix of a Gaussian kernel, known by its products to a tolerance."""

    def __init__(
        self, kernel: Kernel, samples: Samples, tol: float, asked: str = "auto", resources: Resources = UNLIMITED
    ) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self.tol, self.asked = tol, asked

    def __getattr__(self, name: str) -> Any:
        """Explain that rows, factors and eigenvectors are not available."""
        if name in ("rows", "update", "factor", "normal", "eigh"):
            raise OnlyProducts(
                f"FastGauss() was given where Gram.{name} is needed; a fast Gauss transform offers only products. Use "
                "gram=Dense(), gram=Tiles() or gram=Nystrom(500), or a solver by products, such as ConjugateGradient()."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @cached_property
    def _chosen(self) -> tuple[Fast | None, Choice]:
        return fast_transform(self.kernel, self.samples, self.tol, self.asked)

    @property
    def fast(self) -> Fast | None:
        """The transform; None if all pairs are summed."""
        return self._chosen[0]

    @property
    def method(self) -> str:
        """Which transform is used: "hermite", "taylor", "tree" or "direct"."""
        return self._chosen[1].method

    @property
    def costs(self) -> Mapping[str, float]:
        """Estimated nanoseconds of a product by each method that was compared."""
        return self._chosen[1].costs

    @property
    def bound(self) -> float:
        """Error of a product over the sum of the absolute weights and the size of the kernel; at most tol."""
        return 64.0 * _EPS if self.fast is None else self.fast.transform.bound

    @property
    def entry_error(self) -> float:
        """Return the bound: an entry is the product with a unit vector."""
        return max(self.bound, super().entry_error)

    def __matmul__(self, V: Floats) -> Floats:
        """Return K @ V within the bound."""
        if self.fast is None:
            comparison = Comparison(self.kernel, self.samples, self.samples, np.float64)
            return product(self.kernel, comparison, V, self.resources)
        return _multiplied(self.fast, V, None, self.resources, len(self.samples))

    def measured(self, V: Floats, count: int = 100, random_state: int = 0) -> float:
        """Return the error of a product at some random samples over the sum of the absolute weights: at most `bound`.

        Parameters
        ----------
        V : (n,) array
        count : int, default 100
            Samples whose exact sums are computed: O(count n).
        random_state : int, default 0
        """
        n = len(self.samples)
        index = np.random.default_rng(random_state).choice(n, min(count, n), replace=False)
        comparison = Comparison(self.kernel, self.samples.take(index), self.samples, np.float64)
        exact = product(self.kernel, comparison, V, self.resources)
        size = unit_of(self.kernel, self.samples).size * float(np.sum(np.abs(V)))
        error = float(np.max(np.abs((self @ V)[index] - exact)))
        return error / size if size else error

    def take(self, index: Index) -> FastGaussGram:
        """Return the Gram of some samples; the transform is chosen again when it is needed."""
        return FastGaussGram(self.kernel, self.samples.take(index), self.tol, self.asked, self.resources)

    def cross(self, T: Samples) -> Cross:
        """Return the (m, n) operator between new samples and these, under the same transform."""
        T = packed(T, self.kernel.pack)
        return Cross(self.kernel, T, self.samples, self.resources) if self.fast is None else FastGaussCross(self, T)

    def expand(self, solution: Any, intercept: Any = 0.0) -> Expansion:
        """Return the fitted function, which is computed by the transform."""
        f = super().expand(solution, intercept)
        assert isinstance(f, Expansion)
        return FastGaussExpansion(f.kernel, f.samples, f.coef, f.intercept, f.diagonal, self.tol, self.asked)


class FastGaussCross(Cross):
    """The (m, n) matrix between new samples and training samples, known by its products to a tolerance."""

    def __init__(self, gram: FastGaussGram, T: Samples) -> None:
        super().__init__(gram.kernel, T, gram.samples, gram.resources)
        self.gram = gram

    @cached_property
    def _aim(self) -> Any:
        assert self.gram.fast is not None
        return _aimed(self.gram.fast, self.comparison.A)

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k), within the bound of the Gram."""
        if self._aim is None or not self.shape[0]:
            return super().__matmul__(V)
        assert self.gram.fast is not None
        return _multiplied(self.gram.fast, V, self._aim, self.resources, self.shape[1])


@dataclass(frozen=True, eq=False)
class FastGaussExpansion(Expansion):
    r"""A function made of Gaussians at some samples, computed by a fast Gauss transform.

    .. math:: |\tilde f(x) - f(x)| \le \mathrm{tol} \cdot a \sum_i |c_i|

    Seed: [KIKS] Section 3.5.

    Parameters
    ----------
    kernel, samples, coef, intercept, diagonal
        As in `Expansion`.
    tol, method
        As in `FastGauss`.

    Notes
    -----
    What depends on the samples alone is made once and kept. The transform is chosen for as many new samples as
    there are old ones, so that a value does not depend on how many are evaluated together, except with the method
    "tree", where it does within the tolerance. Sums of functions, inner products and norms are exact, as those of
    `Expansion`.

    Examples
    --------
    >>> S = Vectors.pack(np.random.default_rng(0).normal(size=(4000, 2)))
    >>> f = FastGaussExpansion(Gaussian(0.5), S, np.ones(4000), np.array(0.0), tol=1e-6)
    >>> exact = Expansion(Gaussian(0.5), S, np.ones(4000), np.array(0.0))
    >>> bool(abs(f([[0.0, 0.0]]) - exact([[0.0, 0.0]])) <= 1e-6 * 4000)
    True
    """

    tol: float = 1e-6
    method: str = "auto"

    def __call__(self, T: Any, resources: Resources = UNLIMITED, dtype: Any = np.float64) -> Floats:
        """Return f at packed samples or raw data, shape (m,) or (m, k)."""
        T = T if isinstance(T, Samples) else self.kernel.pack(T)
        aim = None if self._fast is None or not len(T) else _aimed(self._fast[0], T)
        if self._fast is None or aim is None:
            return super().__call__(T, resources, dtype)
        fast, moments = self._fast
        parts = [fast.transform.values(made, aim, resources.n_threads) for made in moments]
        values = fast.unit.size * np.concatenate(parts, axis=1).reshape(len(T), *self.outputs)
        if self.diagonal:
            own = self.diagonal * self.kernel.diag(T)
            values += own if values.ndim == 1 else own[:, None]
        return values + self.intercept

    @cached_property
    def _fast(self) -> tuple[Fast, list[Any]] | None:
        """The transform and what it makes of the samples; None where all pairs are cheaper."""
        fast, _ = fast_transform(self.kernel, self.samples, self.tol, self.method)
        if fast is None:
            return None
        coef = np.asarray(self.coef, dtype=np.float64).reshape(len(self.samples), -1)
        return fast, [fast.transform.moments(coef[:, some]) for some in fast.transform.columns(coef.shape[1])]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_fast"}


def _aimed(fast: Fast, T: Samples) -> Any:
    """Return what products at new samples need; None where they are too far apart, or their coordinates too coarse."""
    if not isinstance(T, Vectors) or T.width != len(fast.unit.lengths):
        return None  # refused where samples are compared
    X = fast.unit.points(T)
    if not np.max(np.abs(X), initial=0.0) < 1e15:
        return None
    try:
        return fast.transform.aim(X)
    except ValueError:
        return None


def _multiplied(fast: Fast, V: Floats, aim: Any, resources: Resources, n: int) -> Floats:
    """Return products at the targets aimed at, in the shape of V."""
    V = np.asarray(V, dtype=np.float64)
    columns = V[:, None] if V.ndim == 1 else V
    if len(columns) != n:
        raise ValueError(f"a matrix with {n} columns cannot be multiplied with an array of {len(columns)} rows")
    out = fast.transform.product(columns, aim, resources.n_threads)
    out *= fast.unit.size
    return out[:, 0] if V.ndim == 1 else out

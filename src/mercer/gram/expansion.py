"""The fitted function as an element of the feature space: all that `predict` needs.

Symbols: s_i the samples kept, c_i their coefficients, b the intercept, w weights of features Phi.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer import domains  # whose names are imported when they are used
from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError
from mercer.gram.element import (
    Element,
    as_factor,
    contracted,
    is_balanced,
    plain,
    require_same_kernel,
    require_same_outputs,
    scaled,
    unbalanced_error,
)
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, compiled_expansion, fill, grain_of, offers, overflow_error, quick_tiles
from mercer.kernels.protocols import HasQuickTiles, Keys
from mercer.runtime.tiling import all_finite, run_tasks, spans, tile_side

__all__ = ["Expansion", "FeatureExpansion"]
__public__ = __all__

_FEW = 2**12  # entries below which float32 saves nothing
SMALL = 2**17  # entries below which a second thread costs more than it saves

_BLOCK = 2**15  # samples of a stream at which a function is evaluated at once


@dataclass(frozen=True, eq=False)
class Expansion(Element):
    r"""A function made of kernels at some samples: what the representer theorem promises.

    .. math:: f(x) = \sum_i c_i \, k(x, s_i) + \delta \, k(x, x) + b, \qquad
        \langle f, g \rangle = \sum_{ij} c_i \, c'_j \, k(s_i, s'_j)

    Seed: [HSS] Theorem 11, Eq. (50), and Eqs. (13)-(19); [STS] Eqs. (12)-(14); [SS] Eqs. (95)-(100).

    Parameters
    ----------
    kernel : Kernel
    samples : Samples
        The packed, prepared samples with coefficients.
    coef : (n,) or (n, k) array
        One column per output.
    intercept : float or (k,) array
    diagonal : float, default 0.0
        Multiple of k(x, x), for distances in feature space.

    Notes
    -----
    ``f + g``, ``f - g``, ``-f``, ``a * f``, ``f / a`` are elements again; `inner`, `norm` and `distance` are those of
    the space, computed in tiles: O(n m) kernel values, none stored. What is not in the space:

    * The intercept b. It is added and scaled with its function; inner products, norms and distances leave it out.
    * The multiple of k(x, x). It is added and scaled; an element that has one has no inner products (CapabilityError).

    A conditionally positive definite kernel has a seminorm on functions whose coefficients sum to zero (of order 2: are
    orthogonal to linear functions); others are refused. The form of an indefinite kernel is computed as it is; a
    norm whose square is negative is refused.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Linear
    >>> f = Expansion(Linear(), Vectors.pack([[1.0], [2.0]]), np.array([1.0, 1.0]), np.array(0.5))
    >>> f(Vectors.pack([[10.0]]))
    array([30.5])
    >>> (2.0 * f - f)([[10.0]])
    array([30.5])
    >>> f.norm(), f.distance(0.5 * f)
    (3.0, 1.5)
    """

    kernel: Kernel
    samples: Samples
    coef: Floats
    intercept: Floats
    diagonal: float = 0.0

    def __call__(self, T: Any, resources: Resources = UNLIMITED, dtype: Any = np.float64) -> Floats:
        """Return f at packed samples or raw data, shape (m,) or (m, k); sums are in float64, tiles in `dtype`."""
        T = T if isinstance(T, Samples) else self.kernel.pack(T)
        if T.is_streamed and len(T):
            return np.concatenate([self(part, resources, dtype) for part in T.tiles(_BLOCK)])
        if (whole := self._whole) is not None:
            values = whole(T)
        else:
            T = self.kernel.prepare(T)
            comparison = Comparison.across(self.kernel, T, self.samples, dtype)
            values = product(self.kernel, comparison, self.coef, resources)
        if self.diagonal:
            own = self.diagonal * self.kernel.diag(T)
            values += own if values.ndim == 1 else own[:, None]
        return values + self.intercept

    def signed(self, T: Samples, resources: Resources = UNLIMITED) -> Floats:
        """Return f at packed samples; by float32 only as far as the signs are certain.

        This is known for kernels whose tiles are made in one pass (`HasQuickTiles`) and that have k(x, x) = 1; other
        kernels are evaluated in float64.
        """
        quick = offers(self.kernel, HasQuickTiles) and self.kernel.normalised
        if not quick or np.abs(self.coef).max(initial=0.0) > 1e30:  # beyond float32
            return self(T, resources)
        if len(T) * len(self.samples) <= _FEW:  # nothing is gained
            return self(T, resources)
        if T.is_streamed or not (fits_single(T) and fits_single(self.samples)):
            return self(T, resources)
        comparison = Comparison.across(self.kernel, self.kernel.prepare(T), self.samples, np.float32)
        values = product(self.kernel, comparison, self.coef, resources) + (self.intercept + self.diagonal)
        near = np.abs(values) <= comparison.rounding() * np.abs(self.coef).sum(axis=0)
        rows = np.flatnonzero(near if values.ndim == 1 else near.any(axis=1))
        if len(rows):
            values[rows] = self(T.take(rows), resources)
        return values

    @cached_property
    def _whole(self) -> Callable[[Samples], Floats] | None:
        """The function as a whole, if the kernel can evaluate it faster than pair by pair."""
        return compiled_expansion(self.kernel, self.samples, self.coef)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_whole"}

    # the space --------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[int, ...]:
        """``()`` of one function, ``(k,)`` of k functions side by side."""
        return self.coef.shape[1:]

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Expansion):
            return NotImplemented
        require_same_kernel(self, other)
        require_same_outputs(self, other)
        intercept = np.asarray(self.intercept + other.intercept, dtype=float)
        diagonal = self.diagonal + other.diagonal
        if other.samples is self.samples:
            samples, coef = self.samples, self.coef + other.coef
        else:
            samples = self.kernel.prepare(self.samples.concat(other.samples))
            coef = np.concatenate([self.coef, other.coef])
        return Expansion(self.kernel, samples, coef, intercept, diagonal)._like(self, other)

    def _like(self, *parts: Expansion) -> Self:
        """Return self, made of balanced parts, as balanced: what is left after cancelling is rounding alone."""
        if self.kernel.order and all(part._balanced for part in parts):
            vars(self)["_balanced"] = True
        return self

    @cached_property
    def _balanced(self) -> bool:
        return is_balanced(self.kernel, self.samples, self.coef)

    def __mul__(self, number: Any) -> Self:
        factor = as_factor(number, self.outputs)
        if factor.ndim and self.diagonal:
            raise CapabilityError(
                "a function with a multiple of k(x, x) was multiplied by an array; it has one such multiple for all "
                "outputs and takes one number. Multiply it number by number."
            )
        coef, intercept = (scaled(part, factor, self.outputs) for part in (self.coef, self.intercept))
        diagonal = self.diagonal * float(factor) if self.diagonal else 0.0
        return dataclasses.replace(self, coef=coef, intercept=intercept, diagonal=diagonal)._like(self)

    def column(self, output: int) -> Self:
        """Return one of several outputs as an element of its own."""
        intercept = np.broadcast_to(self.intercept, self.outputs)[output]
        coef = np.ascontiguousarray(self.coef[:, output])
        return dataclasses.replace(self, coef=coef, intercept=np.asarray(intercept))._like(self)

    def without_intercept(self) -> Self:
        """Return the part without the intercept."""
        return dataclasses.replace(self, intercept=np.zeros(np.shape(self.intercept)))._like(self)

    def inner(self, other: Any, resources: Resources = UNLIMITED) -> Any:
        """Return the inner product with another element of the same kernel, a float or (k,).

        Parameters
        ----------
        other : Expansion, FeatureExpansion or another Element
            With equally many outputs, or one of them with one.
        resources : Resources, optional
            Memory and threads.
        """
        if not isinstance(other, Expansion):
            return _other_way(self, other)
        require_same_kernel(self, other)
        for f in (self, other):
            f.require_in_space()
        comparison = Comparison(self.kernel, self.samples, other.samples, np.float64)
        return contracted(self.coef, product(self.kernel, comparison, other.coef, resources))

    def require_in_space(self) -> None:
        """Raise CapabilityError for what has no inner products: a multiple of k(x, x), unbalanced coefficients."""
        if self.diagonal:
            raise CapabilityError(
                f"a function with the term {self.diagonal:.6g} k(x, x) was given; it is not in the space of the kernel "
                "and has no inner products. Use dataclasses.replace(f, diagonal=0.0) for the rest of it."
            )
        if not self._balanced:
            raise unbalanced_error(self.kernel)

    def _square(self) -> tuple[Any, Any]:
        self.require_in_space()
        comparison = Comparison(self.kernel, self.samples, self.samples, np.float64)
        coef, size = np.asarray(self.coef, dtype=float), np.abs(self.coef)
        squared = contracted(coef, product(self.kernel, comparison, coef))
        if self.kernel.order:  # coefficients that cancel no longer balance, and what is below zero is rounding
            return squared, np.full(self.outputs, np.inf)
        if self.kernel.order == 0:  # entries are at most sqrt(k(x, x) k(z, z))
            total = (np.sqrt(np.abs(self.kernel.diag(self.samples))) @ size) ** 2
        else:
            total = np.abs(contracted(size, product(self.kernel, comparison, size)))
        unit = comparison.rounding() + 8.0 * np.sqrt(len(coef)) * np.finfo(float).eps
        return squared, unit * total

    # other forms ------------------------------------------------------------------------------------------

    def compact(self) -> Self:
        """Return the same function with equal samples merged and zero coefficients left out.

        Vectors and strings are compared by value. For other samples, only the coefficients are considered.

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> f = Expansion(Linear(), Vectors.pack([[1.0], [2.0], [1.0]]), np.array([1.0, 1.0, 2.0]), np.array(0.0))
        >>> f.compact().coef
        array([3., 1.])
        """
        first, group = _groups(self.samples)
        coef = np.zeros((len(first), *self.outputs))
        np.add.at(coef, group, self.coef)
        used = coef != 0.0 if coef.ndim == 1 else (coef != 0.0).any(axis=1)
        if not used.any():
            used[:1] = True  # samples are never empty
        return dataclasses.replace(self, samples=self.samples.take(first[used]), coef=coef[used])._like(self)

    def to_features(self) -> FeatureExpansion:
        r"""Return the same function in its primal form, if the kernel has a finite feature map.

        .. math:: w = \sum_i c_i \, \Phi(s_i)

        Seed: [SS] Eqs. (6), (7); [STS] Eqs. (5)-(8).

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> f = Expansion(Linear(), Vectors.pack([[1.0], [2.0]]), np.array([1.0, 1.0]), np.array(0.5))
        >>> f.to_features().weights
        array([3.])
        """
        if self.diagonal:
            self.require_in_space()
        matrix, keys = self.kernel.features(self.samples)
        weights = np.asarray(matrix.T @ np.asarray(self.coef, dtype=float))
        return FeatureExpansion(self.kernel, keys, weights, self.intercept)


@dataclass(frozen=True, eq=False)
class FeatureExpansion(Element):
    r"""A function that is linear in a finite feature map.

    .. math:: f(x) = \langle w, \Phi(x) \rangle + b

    Seed: [STS] Eqs. (5)-(8), the primal form; [SS] Eq. (6).

    Parameters
    ----------
    kernel : Kernel
        Has `features`.
    keys : object
        What identifies the features of the training samples.
    weights : (D,) or (D, k) array
    intercept : float or (k,) array

    Notes
    -----
    It adds and scales like an `Expansion`, and with one: their sum is in features. Weights are aligned by their keys.
    Inner products are those of the weights. They are those of the space if w is a combination of features of samples,
    as every penalised fit makes it, or if the features are linearly independent; a part of w that no sample
    sees counts in the norm, though not in the function.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Linear
    >>> f = FeatureExpansion(Linear(), None, np.array([2.0]), np.array(1.0))
    >>> f(Vectors.pack([[10.0]]))
    array([21.])
    >>> (-f).norm()
    2.0
    """

    kernel: Kernel
    keys: Any
    weights: Floats
    intercept: Floats

    def __call__(self, T: Any, resources: Resources = UNLIMITED) -> Floats:
        """Return f at packed samples or raw data, shape (m,) or (m, k), in float64."""
        T = T if isinstance(T, Samples) else self.kernel.pack(T)
        with np.errstate(over="ignore", invalid="ignore"):  # estimators refuse what is not finite
            values = [np.asarray(self.kernel.features(piece, self.keys)[0] @ self.weights) for piece in T.tiles(4096)]
        shape = self.weights.shape[1:]
        return (np.concatenate(values) if values else np.empty((0, *shape))) + self.intercept

    @property
    def outputs(self) -> tuple[int, ...]:
        """``()`` of one function, ``(k,)`` of k functions side by side."""
        return self.weights.shape[1:]

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Expansion):
            require_same_kernel(self, other)
            other = other.to_features()
        if not isinstance(other, FeatureExpansion):
            return NotImplemented
        require_same_kernel(self, other)
        require_same_outputs(self, other)
        keys, mine, theirs = _aligned(self, other)
        return FeatureExpansion(self.kernel, keys, mine + theirs, np.asarray(self.intercept + other.intercept))

    def __radd__(self, other: Any) -> Any:
        return self + other if isinstance(other, Expansion) else super().__radd__(other)

    def __mul__(self, number: Any) -> Self:
        factor = as_factor(number, self.outputs)
        weights, intercept = (scaled(part, factor, self.outputs) for part in (self.weights, self.intercept))
        return dataclasses.replace(self, weights=weights, intercept=intercept)

    def column(self, output: int) -> Self:
        """Return one of several outputs as an element of its own."""
        intercept = np.broadcast_to(self.intercept, self.outputs)[output]
        weights = np.ascontiguousarray(self.weights[:, output])
        return dataclasses.replace(self, weights=weights, intercept=np.asarray(intercept))

    def without_intercept(self) -> Self:
        """Return the part without the intercept."""
        return dataclasses.replace(self, intercept=np.zeros(np.shape(self.intercept)))

    def inner(self, other: Any) -> Any:
        """Return the inner product with another element of the same kernel, a float or (k,)."""
        if isinstance(other, Expansion):  # the reproducing property, sample by sample
            require_same_kernel(self, other)
            other.require_in_space()
            return contracted(other.coef, self.without_intercept()(other.samples))
        if not isinstance(other, FeatureExpansion):
            return _other_way(self, other)
        require_same_kernel(self, other)
        _, mine, theirs = _aligned(self, other)
        return contracted(mine, theirs)

    def _square(self) -> tuple[Any, Any]:
        return plain(np.sum(np.asarray(self.weights, dtype=float) ** 2, axis=0)), 0.0


def _other_way(f: Element, other: Any) -> Any:
    """Return <other, f>, for elements of other kinds, which know this kind."""
    if not isinstance(other, Element):
        raise DomainError(
            f"an inner product with {type(other).__name__} was asked for; both must be elements of the space of one "
            "kernel. Use the expansion_ of a fitted machine, or elements made by mercer.hilbert."
        )
    return other.inner(f)


def _groups(S: Samples) -> tuple[Indices, Indices]:
    """Return the first sample of each set of equal ones, in order, and the set of each sample."""
    keys: list[Any]
    if isinstance(S, Vectors) and isinstance(S.X, np.ndarray):
        X = S.X + 0.0  # -0.0 and 0.0 are one number
        keys = [row.tobytes() for row in X]
    elif isinstance(S, Vectors) or type(S) is domains.Strings:
        keys = [tuple(array.tobytes() for array in one.arrays) for one in S]
    else:
        keys = list(range(len(S)))
    places: dict[Any, int] = {}
    group = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.intp)
    return np.unique(group, return_index=True)[1].astype(np.intp), group


def _aligned(f: FeatureExpansion, g: FeatureExpansion) -> tuple[Any, Floats, Floats]:
    """Return keys of the features of both, and the weights of both on them."""
    if _same_keys(f.keys, g.keys) and len(f.weights) == len(g.weights):
        return f.keys, f.weights, g.weights
    if not isinstance(f.keys, Keys) or type(g.keys) is not type(f.keys):
        raise CapabilityError(
            f"two functions of {f.kernel!r:.200} in {len(f.weights)} and {len(g.weights)} features were combined; the "
            "features of both must be the same. Fit with gram=Dense(), whose functions are combined sample by sample."
        )
    keys = f.keys.merged(g.keys)
    spread = []
    for part in (f, g):
        weights = np.zeros((len(keys), *part.outputs))
        weights[keys.find(part.keys)] = part.weights
        spread.append(weights)
    return keys, spread[0], spread[1]


def _same_keys(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same_keys, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, Keys):
        return len(a) == len(b) and np.array_equal(a.find(b), np.arange(len(a)))
    return bool(np.all(a == b))


def product(kernel: Kernel, comparison: Comparison, V: Floats, resources: Resources = UNLIMITED) -> Floats:
    """Return the kernel matrix of a comparison times V, tile by tile; nothing n x n is stored.

    Tiles have the comparison's precision, sums are in float64. Each task owns some rows and goes through
    its tiles in order, so the result does not depend on the number of threads.
    """
    V = np.asarray(V)
    columns = V[:, None] if V.ndim == 1 else V  # there may be no rows
    m, n = comparison.lengths
    if len(columns) != n:
        raise ValueError(f"a matrix with {n} columns cannot be multiplied with an array of {len(columns)} rows")
    right = np.ascontiguousarray(columns, dtype=comparison.dtype)
    out = np.zeros((m, columns.shape[1]))
    # consumed at once, so fewer and larger tiles pay; the grid depends on the shape alone, as sums must
    grain = grain_of(kernel, comparison) if m and n else None
    side = 3 * tile_side(comparison.dtype.itemsize) // 2 if grain is None else grain
    pieces = spans(n, side)
    height = side if n >= side or grain is not None else min(side * side // max(n, 1), 1024)
    guard = not kernel.bounded
    low = None
    # a float32 copy of V loses digits that float64 coefficients have; split V in two to keep them
    if comparison.dtype == np.float32 and columns.dtype != np.float32:
        rest = columns - right.astype(columns.dtype)
        low = rest.astype(np.float32) if rest.any() else None

    quick = quick_tiles(kernel, comparison) if m and n else None

    def work(rows: slice) -> None:
        total = np.zeros((rows.stop - rows.start, columns.shape[1]))
        for piece in pieces:
            if quick is not None:
                total += quick(rows, piece, right[piece])
                continue
            tile = comparison.at(rows, piece).value(kernel)
            if guard and not all_finite(tile):
                raise overflow_error(kernel)
            total += tile @ right[piece]
            if low is not None:
                total += tile @ low[piece]
        out[rows] = total

    threads = 1 if m * n < SMALL and grain is None else resources.n_threads
    run_tasks(spans(m, height), work, n_threads=threads, monitor=resources.monitor)
    return out.reshape(m, *V.shape[1:])


def quick_fill(kernel: Kernel, comparison: Comparison, out: Floats, resources: Resources = UNLIMITED) -> None:
    """Fill a matrix as `fill` does, by the kernel's quick tiles where it has them: for blocks of float32."""
    m, n = comparison.lengths
    quick = quick_tiles(kernel, comparison) if m and n else None
    if quick is None:
        fill(kernel, comparison, out, n_threads=resources.n_threads)
        return

    def work(task: tuple[slice, slice]) -> None:
        out[task] = quick(*task)

    grid = [(rows, columns) for rows in spans(m, 256) for columns in spans(n, 2048)]
    run_tasks(grid, work, n_threads=1 if out.size < 4 * SMALL else resources.n_threads)


def fits_single(samples: Samples) -> bool:
    """Return whether float32 holds the numbers of vectors, and their squares; true for all other samples."""
    X = getattr(samples, "X", None)
    if X is None:
        return True
    values = X if isinstance(X, np.ndarray) else X.data
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    return largest == 0.0 or 1e-15 < largest < 1e15

r"""Random maps to a few features whose inner products are right on average.

Symbols: q frequencies omega, drawn from the spectral measure of a stationary kernel; D features; phi the map, so that
E <phi(x), phi(z)> = k(x, z). A map is a record of arrays: saved with a model, it is restored to the bit.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import InstanceOf, OneOf
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram.low_rank.cosines import cosines_and_sines
from mercer.gram.low_rank.hadamard import StructuredProjection, padded_width
from mercer.gram.low_rank.quasi_random import quasi_frequencies
from mercer.kernels import Constant, Normalized, Polynomial, Power, Product, Scaled, Sum
from mercer.kernels.abilities import Featured
from mercer.kernels.algebra.maps import Composed, Selected
from mercer.kernels.comparison import Base, Path, View
from mercer.kernels.composite import Wrapped
from mercer.kernels.kernel import Kernel, feature_count, narrowed
from mercer.kernels.vectors.pointwise import Radial
from mercer.numerics.sketches import CountSketch, sketched_product

__all__ = [
    "ExactFeatures", "FeatureMap", "FoldedFeatures", "Joined", "Mapped", "Multiplied", "PartOf", "PolynomialSketch",
    "Rescaled", "UnitLength", "Waves", "draw_map",
]  # fmt: skip
__saved__ = __all__

METHODS = ("independent", "orthogonal", "quasi", "hadamard")
_LOOKS = 256  # samples that show how large the terms of a sum are
_CENTRE = 4096  # samples whose mean is the origin of the waves


class FeatureMap(ABC):
    """A map from prepared samples to features; subclasses are frozen dataclasses of arrays, kernels and other maps."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of features."""

    @abstractmethod
    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        """Return the features of prepared samples, (m, D), a new array of the precision asked for."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _same(self, other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.count} features>"


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if dataclasses.is_dataclass(a) and type(a) is type(b):
        return all(_same(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    return type(a) is type(b) and bool(np.all(a == b))


def _numbers(A: Samples, dtype: Any) -> Any:
    """The matrix of vectors, dense or sparse, in a precision."""
    if not isinstance(A, Vectors):
        raise DomainError(
            f"{type(A).__name__} were given to a map of vectors. Give the data that the map was made for."
        )
    return A.X.astype(dtype, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class Waves(FeatureMap):
    r"""Cosines and sines of random frequencies.

    .. math:: \phi(x) = \sqrt{k(0) / q} \, \big(\cos\langle \omega_i, x \rangle, \sin\langle \omega_i, x \rangle\big)_i

    Attributes
    ----------
    frequencies : (q, d) array or None
    structured : tuple of StructuredProjection
        Projections that are added to those of the frequencies.
    units : tuple of (d,) arrays
        Factors of the columns before a structured projection: one over the length scales.
    origin : (d,) array or None
        Subtracted from the samples first, which changes no inner product and keeps angles small.
    scale : float
        sqrt(k(0) / q).
    """

    frequencies: Floats | None
    structured: tuple[StructuredProjection, ...]
    units: tuple[Floats, ...]
    origin: Floats | None
    scale: float

    def check(self) -> None:
        """Raise ParameterError unless the arrays fit together, as those of a file need not."""
        lengths = {len(part) for part in (*self.structured, *(() if self.frequencies is None else (self.frequencies,)))}
        widths = {len(part) for part in (*self.units, *(() if self.origin is None else (self.origin,)))}
        widths |= set() if self.frequencies is None else {self.frequencies.shape[-1]}
        narrow = all(part.signs.shape[1] >= max(widths) for part in self.structured)
        if len(lengths) != 1 or len(widths) != 1 or not narrow or len(self.units) != len(self.structured):
            raise ParameterError("Waves were given arrays that do not fit together. Draw them by draw_map.")

    @property
    def count(self) -> int:
        return 2 * len(self.structured[0] if self.frequencies is None else self.frequencies)

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        X = _numbers(A, np.float64 if self.origin is not None else dtype)
        if self.origin is not None:
            X = (X - self.origin).astype(dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = None if self.frequencies is None else np.asarray(X @ self.frequencies.T.astype(dtype, copy=False))
            for unit, projection in zip(self.units, self.structured, strict=True):
                dense = X.toarray() if sp.issparse(X) else X
                more = projection(dense * unit.astype(dtype, copy=False))
                Z = more if Z is None else Z + more
        assert Z is not None
        out = np.empty((Z.shape[0], self.count), dtype)
        cosines_and_sines(np.ascontiguousarray(Z), self.scale, out)
        return out


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialSketch(FeatureMap):
    r"""TensorSketch: the p-fold outer product of (sqrt(s) x, sqrt(c)), folded into D numbers.

    .. math:: \phi(x) = \mathcal{F}^{-1} \prod_{j=1}^{p} \mathcal{F} S_j(\sqrt{s} x, \sqrt{c}), \qquad
        E \langle \phi(x), \phi(z) \rangle = (s \langle x, z \rangle + c)^p

    Attributes
    ----------
    sketches : tuple of p CountSketch
    root, column : float
        sqrt(s) and sqrt(c).
    """

    sketches: tuple[CountSketch, ...]
    root: float
    column: float

    @property
    def count(self) -> int:
        return self.sketches[0].count

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        X = _numbers(A, dtype) * np.dtype(dtype).type(self.root)
        constant = np.full((X.shape[0], 1), self.column, dtype)
        Y = sp.hstack([X, sp.csr_array(constant)], format="csr") if sp.issparse(X) else np.hstack([X, constant])
        return sketched_product([sketch(Y) for sketch in self.sketches])


@dataclass(frozen=True, eq=False, repr=False)
class ExactFeatures(FeatureMap):
    """The features that a kernel has, all of them: no randomness, no error."""

    kernel: Kernel
    keys: Any
    size: int

    @property
    def count(self) -> int:
        return self.size

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        matrix = self.kernel.features(A, self.keys)[0]
        return np.array(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=dtype, order="C")


@dataclass(frozen=True, eq=False, repr=False)
class FoldedFeatures(FeatureMap):
    """The features of a kernel that has too many, folded by a count sketch."""

    kernel: Kernel
    keys: Any
    sketch: CountSketch

    @property
    def count(self) -> int:
        return self.sketch.count

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        return self.sketch(self.kernel.features(A, self.keys)[0].astype(dtype, copy=False))


@dataclass(frozen=True, eq=False, repr=False)
class Joined(FeatureMap):
    """Features of the terms of a sum, side by side."""

    kernels: tuple[Kernel, ...]
    maps: tuple[FeatureMap, ...]

    @property
    def count(self) -> int:
        return sum(part.count for part in self.maps)

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        pairs = zip(self.kernels, self.maps, strict=True)
        return np.hstack([part(narrowed(kernel, A), dtype) for kernel, part in pairs])


@dataclass(frozen=True, eq=False, repr=False)
class Multiplied(FeatureMap):
    """Features of a product: a sketch of the outer product of the factors' features."""

    kernels: tuple[Kernel, ...]
    maps: tuple[FeatureMap, ...]
    sketches: tuple[CountSketch, ...]

    @property
    def count(self) -> int:
        return self.sketches[0].count

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        parts = zip(self.kernels, self.maps, self.sketches, strict=True)
        return sketched_product([sketch(part(narrowed(kernel, A), dtype)) for kernel, part, sketch in parts])


@dataclass(frozen=True, eq=False, repr=False)
class Rescaled(FeatureMap):
    """Features times a number."""

    kernel: Kernel
    inner: FeatureMap
    factor: float

    @property
    def count(self) -> int:
        return self.inner.count

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        out = self.inner(narrowed(self.kernel, A), dtype)
        out *= np.dtype(dtype).type(self.factor)
        return out


@dataclass(frozen=True, eq=False, repr=False)
class UnitLength(FeatureMap):
    """Features divided by sqrt(k(x, x)), exactly; zero where that is zero."""

    kernel: Kernel
    inner: FeatureMap

    @property
    def count(self) -> int:
        return self.inner.count

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        part = narrowed(self.kernel, A)
        own = self.kernel.diag(part)
        root = np.sqrt(np.where(own > 0.0, own, np.inf))
        return (self.inner(part, dtype) / root[:, None]).astype(dtype, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class PartOf(FeatureMap):
    """Features of the columns, or the images, that a kernel reads."""

    kernel: Selected | Composed
    inner: FeatureMap

    @property
    def count(self) -> int:
        return self.inner.count

    def __call__(self, A: Samples, dtype: Any = np.float64) -> Floats:
        return self.inner(self.kernel._inner(A), dtype)


class Mapped(Wrapped, Featured):
    r"""The kernel of a map to finitely many features, near another kernel.

    .. math:: \tilde k(x, x') = \langle \phi(x), \phi(x') \rangle

    Seed: [STS] Theorem 7 (the inner product of images is a kernel).

    Parameters
    ----------
    kernel : Kernel
        The kernel that the map was made for; it says how data are packed.
    map : FeatureMap
    precision : {"double", "mixed"}, default "double"
        Of the features; "mixed" is float32.

    Notes
    -----
    The kernel of functions fitted with ``gram=RandomFeatures(...)``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> S = Vectors.pack([[1.0, 2.0]])
    >>> Mapped(Linear(), draw_map(Linear(), S, 5, np.random.default_rng(0)))([[3.0, 4.0]])
    array([[25.]])
    """

    constraints = {"map": InstanceOf(FeatureMap), "precision": OneOf("double", "mixed")}
    formula = r"\langle \phi(x), \phi(x') \rangle"
    cost = "O(mnD), and the map once per sample"
    order = 0

    def __init__(self, kernel: Kernel, map: FeatureMap, precision: str = "double") -> None:
        self.kernel = kernel
        self.map = map
        self.precision = precision

    @property
    def capabilities(self) -> frozenset[str]:
        """Features alone: their number is finite, whatever the kernel is."""
        return frozenset({"features"})

    stationary = False
    bounded = False

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Only the samples of a view are needed."""
        return ()

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the features, in float64 or float32."""
        dtype = np.float32 if self.precision == "mixed" else np.float64
        part = narrowed(self.kernel, A)
        return self.map(self.kernel.prepare(part), dtype), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return D."""
        return self.map.count

    def tile(self, view: View) -> Floats:
        """Multiply the features of both sides."""
        left, right = view.sides
        out = view.empty()
        np.copyto(out, self.features(left)[0] @ self.features(right)[0].T)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the squared lengths of the features."""
        F = self.features(A)[0]
        return np.einsum("ij,ij->i", F, F, dtype=float)


# how maps are drawn ---------------------------------------------------------------------------------------


def draw_map(
    kernel: Kernel, A: Samples, count: int, rng: np.random.Generator, method: str = "independent"
) -> FeatureMap:
    """Draw a map of at most `count` features for a kernel on prepared samples.

    Parameters
    ----------
    kernel : Kernel
    A : Samples
        Prepared training samples: their width, their centre and the sizes of the terms of a sum are used.
    count : int
    rng : Generator
    method : {"independent", "orthogonal", "quasi", "hadamard"}, default "independent"
        How frequencies are drawn.

    Returns
    -------
    FeatureMap

    Raises
    ------
    CapabilityError
        If the kernel offers neither frequencies nor features and is not made of kernels that do.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> S = Vectors.pack(np.zeros((3, 2)))
    >>> draw_map(Gaussian(1.0) + Linear(), S, 100, np.random.default_rng(0))
    <Joined: 100 features>
    """
    able = kernel.capabilities
    if isinstance(kernel, Sum):
        return _joined(kernel, A, count, rng, method)
    if isinstance(kernel, Scaled):
        inner = draw_map(kernel.kernel, narrowed(kernel.kernel, A), count, rng, method)
        return Rescaled(kernel.kernel, inner, float(np.sqrt(kernel.scale)))
    if isinstance(kernel, (Selected, Composed)):
        return PartOf(kernel, draw_map(kernel.kernel, kernel._inner(A), count, rng, method))
    if isinstance(kernel, Normalized):
        part = narrowed(kernel.kernel, A)
        return UnitLength(kernel.kernel, draw_map(kernel.kernel, part, count, rng, method))
    size = feature_count(kernel, A)
    if size is not None and size <= count:
        return ExactFeatures(kernel, kernel.features(A[:1] if isinstance(A, Vectors) else A)[1], size)
    if "frequencies" in able and isinstance(A, Vectors):
        return _waves(kernel, A, count // 2, rng, method)
    if isinstance(kernel, Polynomial):
        width = _width(A) + 1
        sketches = tuple(CountSketch.draw(rng, width, count) for _ in range(int(kernel.degree)))
        return PolynomialSketch(sketches, float(np.sqrt(kernel.scale)), float(np.sqrt(kernel.offset)))
    if isinstance(kernel, (Product, Power)):
        factors = kernel.kernels if isinstance(kernel, Product) else (kernel.kernel,) * int(kernel.exponent)
        maps = tuple(draw_map(factor, narrowed(factor, A), count, rng, method) for factor in factors)
        return Multiplied(factors, maps, tuple(CountSketch.draw(rng, part.count, count) for part in maps))
    if "features" in able:
        matrix, keys = kernel.features(A)
        return FoldedFeatures(kernel, keys, CountSketch.draw(rng, matrix.shape[1], count))
    raise CapabilityError(
        f"RandomFeatures() was given {kernel!r:.200}, from whose spectral measure nothing can be drawn; kernels that "
        "list 'frequencies' or 'features' in their capabilities, and sums, products and multiples of them, are "
        "accepted. Use gram=Nystrom(500)."
    )


def _width(A: Samples) -> int:
    assert isinstance(A, Vectors)
    return A.width


def _joined(kernel: Sum, A: Samples, count: int, rng: np.random.Generator, method: str) -> FeatureMap:
    """Draw the terms of a sum on their own: exact ones take what they need, the others share by their size."""
    terms, parts = kernel.kernels, [narrowed(term, A) for term in kernel.kernels]
    each = count // len(terms)
    if each < 2:
        raise ParameterError(
            f"RandomFeatures(count={count}) was given a sum of {len(terms)} kernels; at least two features are needed "
            f"for each. Give count={2 * len(terms)} or more."
        )
    sizes = [_exact_size(term, part) for term, part in zip(terms, parts, strict=True)]
    needs = [size if size is not None and size <= each else None for size in sizes]
    left = count - sum(size for size in needs if size is not None)
    some = [part.take(np.arange(min(len(part), _LOOKS))) for part in parts]
    weights = np.array([max(float(np.mean(t.diag(p))), 0.0) for t, p in zip(terms, some, strict=True)])
    weights[[size is not None for size in needs]] = 0.0
    total, spare = float(weights.sum()) or 1.0, left - 2 * sum(size is None for size in needs)
    maps = []
    for term, part, size, weight in zip(terms, parts, needs, weights, strict=True):
        share = size if size is not None else 2 + int(spare * weight / total)
        maps.append(draw_map(term, part, share, rng, method))
    return Joined(terms, tuple(maps))


def _exact_size(kernel: Kernel, A: Samples) -> int | None:
    return feature_count(kernel, A)


def _waves(kernel: Kernel, A: Vectors, q: int, rng: np.random.Generator, method: str) -> Waves:
    width, size = A.width, float(kernel.diag(A[:1])[0])
    scale, origin = float(np.sqrt(size / q)), None
    some = A.take(slice(None, None, max(len(A) // _CENTRE, 1)))
    if isinstance(some.X, np.ndarray):
        origin = np.asarray(np.mean(some.X, axis=0, dtype=np.float64))
    if method == "independent":
        return Waves(np.asarray(kernel.frequencies(rng, q, width), dtype=np.float64), (), (), origin, scale)
    if method == "quasi":
        return Waves(quasi_frequencies(kernel, rng, q, width), (), (), origin, scale)
    terms = _isotropic(kernel, method)
    if not terms:  # a constant
        return Waves(np.zeros((q, width)), (), (), origin, scale)
    if method == "orthogonal":
        omega = np.zeros((q, width))
        for unit, lengths in terms:
            radii = np.linalg.norm(unit.frequencies(rng, q, width), axis=1)
            omega += radii[:, None] * orthogonal_directions(rng, q, width) / lengths
        return Waves(omega, (), (), origin, scale)
    structured, units = [], []
    for unit, lengths in terms:
        radii = np.linalg.norm(unit.frequencies(rng, q, padded_width(width)), axis=1)  # of the law in the padded space
        structured.append(StructuredProjection.draw(rng, radii, width))
        units.append(np.broadcast_to(1.0 / lengths, (width,)).copy())
    return Waves(None, tuple(structured), tuple(units), origin, scale)


def _isotropic(kernel: Kernel, method: str) -> list[tuple[Kernel, Floats]]:
    """Return the factors of a product, each as a kernel of length scale one, which is isotropic, and its scales."""
    if isinstance(kernel, Constant):
        return []
    if isinstance(kernel, Scaled):
        return _isotropic(kernel.kernel, method)
    if isinstance(kernel, Product):
        return [pair for factor in kernel.kernels for pair in _isotropic(factor, method)]
    if isinstance(kernel, Power):
        return _isotropic(kernel.kernel, method) * int(kernel.exponent)
    if isinstance(kernel, Radial) and (base := kernel.base()[0]).kind == "distance" and base.period is None:
        unit = copy.copy(kernel)
        unit.length_scale = 1.0
        return [(unit, np.asarray(kernel.length_scale, dtype=np.float64))]
    raise CapabilityError(
        f"method={method!r} was given {kernel!r:.200}, whose frequencies do not have uniform directions; kernels of "
        "the Euclidean distance, and products of them, are accepted. Use method='quasi' or 'independent'."
    )


def orthogonal_directions(rng: np.random.Generator, count: int, width: int) -> Floats:
    """Draw unit vectors (count, width), each uniform, in blocks of `width` that are orthogonal.

    Examples
    --------
    >>> U = orthogonal_directions(np.random.default_rng(0), 3, 2)
    >>> bool(abs(U[0] @ U[1]) < 1e-15), np.linalg.norm(U, axis=1).round(6)
    (True, array([1., 1., 1.]))
    """
    out = np.empty((count, width))
    for first in range(0, count, width):
        size = min(width, count - first)
        Q, R = np.linalg.qr(rng.normal(size=(width, size)))
        out[first : first + size] = (Q * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)).T
    return out

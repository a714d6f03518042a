r"""The pieces of a spectral measure, and how sums and products of kernels combine them.

Symbols: a_i points with masses m_i, S the columns of a density v, t a difference of samples, w a frequency.

A piece is the convolution of points with a density on some columns (a point at zero on the others), so that its kernel
is sum_i m_i cos(<a_i, t>) times the transform of v at the columns S of t.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.kernels.algebra.functions import Exp, Normalized, PolynomialOf, Power
from mercer.kernels.algebra.maps import Selected
from mercer.kernels.algebra.sums import Product, Sum
from mercer.kernels.composite import Scaled
from mercer.kernels.kernel import Kernel, offers
from mercer.kernels.protocols import HasFrequencies
from mercer.kernels.vectors.compact import Epanechnikov, Wendland
from mercer.kernels.vectors.pointwise import Radial
from mercer.kernels.vectors.spectral import SpectralDensity, SpectralMixture
from mercer.numerics.hankel import radial_transform, sphere_surface

__all__ = ["Piece", "pieces_of"]

_MOST_POINTS = 1_000_000
_TABLE = 1800  # frequencies of a tabulated distribution
_TABLE_END = 100.0  # times the scale
_WORDS = {"everything": 0, "open": 1}

Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Piece:
    """Points convolved with a density on some columns.

    Attributes
    ----------
    points : (q, d) array
    masses : (q,) array
    columns : tuple of int
        On which the density is defined; none if there are only points.
    transform : callable
        Differences (m, |columns|) -> the kernel whose density it is, (m,).
    density : callable or None
        Frequencies (m, |columns|) -> density, (m,); None if it is not known.
    draw : callable or None
        (rng, count) -> frequencies (count, |columns|), of the density divided by its mass.
    scale : (|columns|,) array
        How far the density reaches.
    support : str
        "everything" or "open" for a density, "lattice" or "atoms" for points.
    lengths : (|columns|,) array or None
        If the kernel is a function of |t / lengths| alone.
    is_positive, is_proved : bool
        Whether the density is declared to be nowhere negative, and whether that is a theorem.
    error : float
        Of the density, absolute.
    """

    points: Floats
    masses: Floats
    columns: tuple[int, ...]
    transform: Function
    density: Function | None = None
    draw: Callable[[np.random.Generator, int], Floats] | None = None
    scale: Any = ()
    support: str = "atoms"
    lengths: Floats | None = None
    is_positive: bool = True
    is_proved: bool = True
    error: float = 0.0

    @cached_property
    def mass(self) -> float:
        """Mass of all frequencies."""
        return float(self.masses.sum() * self.transform(np.zeros((1, len(self.columns))))[0])

    def value(self, t: Floats) -> Floats:
        """Return the kernel at differences (m, d)."""
        waves = np.concatenate([np.cos(part @ self.points.T) @ self.masses for part in _chunks(t, len(self.masses))])
        return waves * self.transform(t[:, list(self.columns)])

    def density_at(self, omega: Floats, kernel: Kernel) -> Floats:
        """Return the density at frequencies in its columns: copies of it about the points."""
        if self.density is None:
            raise CapabilityError(
                f"{kernel!r} in {len(self.columns)} columns has a spectral density that is not known: it is that of a "
                "product of kernels of different shape; one column is accepted. Ask in one, or draw from it by sample."
            )
        inside = self.points[:, list(self.columns)]
        total = np.zeros(len(omega))
        for point, mass in zip(inside, self.masses, strict=True):
            total += mass * self.density(omega - point)
        return total

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw frequencies (count, d): a point, and a frequency of the density about it."""
        if not self.is_positive:
            raise CapabilityError(
                "A sample was asked of a spectral measure that may be negative; only a positive one can be drawn from. "
                "Use a positive definite kernel."
            )
        picks = rng.choice(len(self.masses), size=count, p=self.masses / self.masses.sum())
        out = self.points[picks].copy()
        if self.columns:
            draw = self.draw or _tabulated(self)
            out[:, list(self.columns)] += draw(rng, count)
        return out


def _one(t: Floats) -> Floats:
    return np.ones(len(t))


def _chunks(rows: Floats, width: int) -> Iterable[Floats]:
    step = max(1, 4_000_000 // max(1, width))
    return (rows[i : i + step] for i in range(0, max(1, len(rows)), step))


# ------------------------------------------------------------------------------------- from kernels to pieces


def pieces_of(kernel: Kernel, columns: tuple[int, ...], width: int) -> list[Piece]:
    """Return the pieces of a kernel that reads these columns, out of a given number."""
    match kernel:
        case Scaled():
            return [_times(piece, float(kernel.scale)) for piece in pieces_of(kernel.kernel, columns, width)]
        case Sum():
            return [piece for term in kernel.kernels for piece in pieces_of(term, columns, width)]
        case Product():
            return _product([pieces_of(term, columns, width) for term in kernel.kernels])
        case Power():
            return _product([pieces_of(kernel.kernel, columns, width)] * int(kernel.exponent))
        case PolynomialOf():
            inner = pieces_of(kernel.kernel, columns, width)
            powers = [_product([inner] * n) if n else [_points(np.zeros((1, width)), np.ones(1))]
                      for n in range(len(kernel.coefficients))]  # fmt: skip
            return [
                _times(p, float(c)) for c, power in zip(kernel.coefficients, powers, strict=True) if c for p in power
            ]
        case Normalized():
            inner = pieces_of(kernel.kernel, columns, width)
            return [_times(piece, 1.0 / math.fsum(p.mass for p in inner)) for piece in inner]
        case Selected():
            return pieces_of(kernel.kernel, _selected(kernel, columns), width)
    return _leaf(kernel, columns, width)


def _selected(kernel: Selected, columns: tuple[int, ...]) -> tuple[int, ...]:
    chosen = kernel.columns if isinstance(kernel.columns, (list, tuple)) else [kernel.columns]
    if not all(isinstance(name, (int, np.integer)) and 0 <= name < len(columns) for name in chosen):
        raise CapabilityError(
            f"{kernel!r} names columns that are not numbers below {len(columns)}; frequencies belong to numbered "
            "columns. Write .on([0, 2]), and give a width that holds them."
        )
    return tuple(columns[int(name)] for name in chosen)


def _leaf(kernel: Kernel, columns: tuple[int, ...], width: int) -> list[Piece]:
    if not (kernel.stationary and issubclass(kernel.domain, Vectors)) or kernel.order not in (0, None):
        raise CapabilityError(
            f"{kernel!r} has no spectral measure; bounded kernels on vectors that depend on the difference alone have "
            "one (`stationary`, order 0). Use for example Gaussian, Matern or Periodic, their sums and products."
        )
    d = len(columns)
    if "spectral_atoms" in kernel.capabilities:
        inside, masses = kernel.spectral_atoms(d)
        points = np.zeros((len(masses), width))
        points[:, list(columns)] = inside
        return [_points(points, masses, kernel.spectral_support or "atoms")]
    dimension = getattr(kernel, "dimension", None)
    declared = kernel.order == 0 and (dimension is None or d <= dimension)
    draw = (lambda rng, n: kernel.frequencies(rng, n, d)) if offers(kernel, HasFrequencies) else None
    piece = Piece(
        points=np.zeros((1, width)),
        masses=np.ones(1),
        columns=columns,
        transform=_differences(kernel),
        draw=draw,
        lengths=_lengths(kernel, d),
        support=kernel.spectral_support or "open",
        is_positive=declared,
        is_proved=declared,
    )
    if isinstance(kernel, Exp):  # a series of powers, whose measures are convolutions: no smaller, no less positive
        inner = pieces_of(kernel.kernel, columns, width)
        words = [word for word in _WORDS if word in {one.support for one in inner}]
        proved = all(one.is_proved for one in inner)
        return _transformed(replace(piece, is_proved=proved, support=words[0] if words else "open"), d)
    if "spectral_density" not in kernel.capabilities:
        return _transformed(replace(piece, is_proved=False), d)
    piece = replace(piece, density=kernel.spectral_density, scale=_spectral_scale(kernel, d))
    if isinstance(kernel, (Epanechnikov, Wendland)):  # found by quadrature
        piece = replace(piece, error=1e-14 * abs(float(kernel.spectral_density(np.zeros((1, d)))[0])))
    return [piece]


def _spectral_scale(kernel: Kernel, d: int) -> Floats:
    """Return how far a density reaches in every column."""
    if isinstance(kernel, SpectralMixture):
        means, scales = (np.asarray(v, dtype=float).reshape(-1, d) for v in (kernel.means, kernel.scales))
        return np.max(np.abs(means) + scales, axis=0)
    if isinstance(kernel, SpectralDensity):
        return np.full(d, float(kernel.scale))
    return 1.0 / np.broadcast_to(np.asarray(getattr(kernel, "length_scale", 1.0), dtype=float), (d,))


def _lengths(kernel: Kernel, d: int) -> Floats | None:
    """Return l if the kernel is a function of |t / l|, or None; on a line every kernel is, in some unit."""
    if isinstance(kernel, Exp):
        return _lengths(kernel.kernel, d)
    if isinstance(kernel, Radial) and kernel.base()[0].kind == "distance" and kernel.base()[0].period is None:
        return np.broadcast_to(np.asarray(kernel.length_scale, dtype=float), (d,)).copy()
    return np.array([_half_width(_differences(kernel))]) if d == 1 else None


def _half_width(transform: Function) -> float:
    """Return about the least distance at which a function on the line has lost half of its value."""
    t = 2.0 ** np.arange(-60.0, 61.0)
    values = transform(t[:, None])
    below = np.flatnonzero(np.abs(values) < 0.5 * abs(float(transform(np.zeros((1, 1)))[0])))
    return float(t[below[0]]) if len(below) else 1.0


def _differences(kernel: Kernel) -> Function:
    """Return the kernel as a function of differences (m, d); one declared for few columns is evaluated in one."""
    dimension = getattr(kernel, "dimension", None)

    def transform(t: Floats) -> Floats:
        if dimension is not None and t.shape[1] > dimension:  # a function of the distance: walk along a line
            lengths = np.broadcast_to(np.asarray(kernel.length_scale, dtype=float), t.shape[1:])  # pyright: ignore
            line = kernel.replace(length_scale=1.0)
            r = np.sqrt(np.sum((t / lengths) ** 2, axis=1))
            return np.asarray(line(np.zeros((1, 1)), r[:, None]), dtype=float)[0]
        return np.asarray(kernel(np.zeros((1, t.shape[1])), t), dtype=float)[0]

    return transform


def _points(points: Floats, masses: Floats, support: str = "atoms") -> Piece:
    return Piece(np.asarray(points, dtype=float), np.asarray(masses, dtype=float), (), _one, support=support)


# ------------------------------------------------------------------------------------------ algebra of pieces


def _times(piece: Piece, factor: float) -> Piece:
    return replace(piece, masses=factor * piece.masses)


def _product(factors: list[list[Piece]]) -> list[Piece]:
    total = factors[0]
    for other in factors[1:]:
        total = [_convolved(a, b) for a, b in itertools.product(total, other)]
    return total


def _convolved(a: Piece, b: Piece) -> Piece:
    """Return the piece whose kernel is the product: points add, masses multiply, densities convolve."""
    if len(a.masses) * len(b.masses) > _MOST_POINTS:
        raise CapabilityError(
            f"The product of two kernels has {len(a.masses) * len(b.masses)} spectral points; at most {_MOST_POINTS} "
            "are written down. Use the sampler `frequencies` of the product, or kernels with longer length scales."
        )
    points = (a.points[:, None] + b.points[None]).reshape(-1, a.points.shape[1])
    masses = np.outer(a.masses, b.masses).ravel()
    if not a.columns or not b.columns:
        lattice = "atoms" if "atoms" in (a.support, b.support) and (len(a.masses) > 1 and len(b.masses) > 1) else None
        dense = b if not a.columns else a
        support = lattice or (dense.support if dense.columns else (a if len(a.masses) > 1 else b).support)
        return replace(dense, points=points, masses=masses, support=support)
    columns = tuple(sorted({*a.columns, *b.columns}))
    place = {column: i for i, column in enumerate(columns)}
    left, right = ([place[c] for c in piece.columns] for piece in (a, b))
    scale = np.zeros(len(columns))
    scale[left] += a.scale
    scale[right] = np.hypot(scale[right], b.scale)

    def transform(t: Floats) -> Floats:
        return a.transform(t[:, left]) * b.transform(t[:, right])

    def draw(rng: np.random.Generator, count: int) -> Floats:
        out = np.zeros((count, len(columns)))
        out[:, left] += (a.draw or _tabulated(a))(rng, count)
        out[:, right] += (b.draw or _tabulated(b))(rng, count)
        return out

    both = Piece(
        points, masses, columns, transform, draw=draw, scale=scale,
        support=min(a.support, b.support, key=lambda word: _WORDS.get(word, 2)),
        is_positive=a.is_positive and b.is_positive, is_proved=a.is_proved and b.is_proved,
    )  # fmt: skip
    if len(columns) == len(a.columns) + len(b.columns):
        if a.density is None or b.density is None:
            return both
        v, u = a.density, b.density
        peaks = [abs(float(p.density(np.zeros((1, len(p.columns))))[0])) for p in (a, b)]  # pyright: ignore
        error = a.error * peaks[1] + b.error * peaks[0] if a.error or b.error else 0.0
        return replace(both, density=lambda w: v(w[:, left]) * u(w[:, right]), error=error)
    lengths = _common_lengths(a, b, left, right)
    return both if lengths is None else _transformed(replace(both, lengths=lengths), len(columns))[-1]


def _common_lengths(a: Piece, b: Piece, left: list[int], right: list[int]) -> Floats | None:
    """Return the shorter of two proportional vectors of lengths on the same columns, or None."""
    if a.lengths is None or b.lengths is None or left != right:
        return None
    ratio = b.lengths / a.lengths
    return np.minimum(a.lengths, b.lengths) if np.allclose(ratio, ratio[0], rtol=1e-12) else None


# ------------------------------------------------------------------------------------------ what is not a formula


def _transformed(piece: Piece, d: int) -> list[Piece]:
    """Return the piece with a density by quadrature, if it is a function of one distance.

    A function that falls to a constant instead of zero has a point at frequency zero, which comes first.
    """
    if piece.lengths is None:
        return [replace(piece, scale=piece.scale if np.size(piece.scale) else np.ones(d))]
    lengths, whole = piece.lengths, piece.transform
    axis = np.zeros(d)
    axis[0] = lengths[0]
    level, again = whole(np.array([1e9, 3e9])[:, None] * axis)
    constant = float(again) if again > 1e-3 * abs(whole(np.zeros((1, d)))[0]) else 0.0
    if abs(level - again) > 1e-6 * abs(again) and constant:
        raise CapabilityError(
            "A function that neither falls to a constant nor to zero at a distance was given; functions that do can be "
            "transformed. Use a kernel that knows its spectrum, for example Periodic."
        )
    if constant:
        piece = replace(piece, transform=lambda t: whole(t) - constant)
    shifted = piece.transform

    def profile(r: Floats) -> Floats:
        return shifted(r[:, None] * axis)

    def density(omega: Floats) -> Floats:
        sizes = np.sqrt(np.sum((omega * lengths) ** 2, axis=1))
        return radial_transform(profile, sizes, d).values * np.prod(lengths)

    # the error is computed on a grid once; there may be an integrable pole at zero, which is not counted
    stated = radial_transform(profile, np.linspace(0.01, 30.0, 64), d).error * float(np.prod(lengths))
    found = replace(piece, density=density, scale=1.0 / lengths, error=stated)
    return [_points(np.zeros_like(piece.points), np.array([constant])), found] if constant else [found]


def _tabulated(piece: Piece) -> Callable[[np.random.Generator, int], Floats]:
    """Return a sampler of a density of one distance: the inverse of its tabulated distribution function.

    Beyond the table, of 100 over the length scale, the tail is continued as the power of the last stretch.
    """
    if piece.density is None or piece.lengths is None:
        raise CapabilityError(
            "A sample was asked of a spectral density that has no sampler and is not a function of the distance; those "
            "can be drawn from. Use a kernel that lists frequencies in its capabilities."
        )
    d, lengths, density = len(piece.columns), piece.lengths, piece.density
    grid = np.concatenate([np.linspace(0.0, 1.0, _TABLE // 6), np.geomspace(1.0, _TABLE_END, 5 * _TABLE // 6)[1:]])
    along = np.zeros((len(grid), d))
    along[:, 0] = grid / lengths[0]
    radial = np.maximum(density(along), 0.0) * grid ** (d - 1) * sphere_surface(d) / np.prod(lengths)
    if not np.isfinite(radial[0]):
        radial[0] = radial[1]
    steps = np.diff(grid) * 0.5 * (radial[1:] + radial[:-1])
    total = float(piece.transform(np.zeros((1, d)))[0])
    rising = np.concatenate([[0.0], np.cumsum(steps)]) / max(total, float(steps.sum()))
    tail = 1.0 - rising[-1]
    half = np.searchsorted(grid, 0.5 * _TABLE_END)
    mass = rising[-1] - rising[half]
    power = max(math.log2((tail + mass) / tail), 0.5) if tail > 0.0 else 1.0

    def draw(rng: np.random.Generator, count: int) -> Floats:
        u = rng.random(count)
        inside = np.interp(u, rising, grid)
        with np.errstate(divide="ignore"):
            beyond = _TABLE_END * (tail / (1.0 - u)) ** (1.0 / power) if tail > 0.0 else inside
        size = np.where(u > rising[-1], beyond, inside)
        turn = rng.normal(size=(count, d))
        return size[:, None] * turn / np.linalg.norm(turn, axis=1)[:, None] / lengths

    return draw

"""Kernels on vectors that are a function of one number per pair, a distance or a dot product, and the Gaussian.

Symbols: h = -|x - z|^2 / 2 the half negative squared distance, l the length scale, t = <x, z>.
One matrix product gives h or t for a tile; a subclass only writes its profile, in place.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import Positive, is_real
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import DifferentiatedByTiles, DifferentiatedInInputs
from mercer.kernels.comparison import Base, Comparison, Path, View
from mercer.kernels.kernel import Kernel, Tiled
from mercer.kernels.protocols import Pullback
from mercer.kernels.vectors import profiles
from mercer.sparse_checks import without_unused
from mercer.spec import free_values

__public__ = ["Gaussian"]

LENGTH_SCALE = Positive(vector=True, words=("columns", "median"))
_LENGTHS = 12  # arrays of one number for each column while lengths are found and become a tuple
_BLOCK = 2**14  # rows of a stream that are read together
_DIGITS = 9  # of lengths per column: the order of a sum, or weights instead of copies, must not show
MEDIAN_ROWS = 1000  # the median distance is exact up to this many rows, and over as many chosen ones beyond


_DISTANCE = Base("distance")


class OneBase(Tiled):
    """A kernel on vectors that applies a profile to one base."""

    domain = Vectors

    @abstractmethod
    def base(self) -> tuple[Base, float]:
        """Return the base and the length that divides it."""

    @abstractmethod
    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace a tile of the base by the kernel's values."""

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return dk/dbase for a tile of the base, in a new array."""
        raise self._lacks("slope")

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield the one base."""
        base, length = self.base()
        yield (), base, length * length if base.kind == "distance" else None

    def tile(self, view: View) -> Floats:
        """Apply the profile to the base."""
        base, length = view.comparison.keep(("base", id(self)), self.base)
        tile, unit = view.base(base)
        self.profile(tile, unit / length)
        return tile

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Apply the profile to a copy of the base, which is kept for the pullback."""
        base, length = view.comparison.keep(("base", id(self)), self.base)
        tile, unit = view.base(base)
        value = view.empty()
        np.copyto(value, tile)
        self.profile(value, unit / length)
        return value, lambda W: self.pull_tile(view, W, tile, value, unit)

    def pull_tile(self, view: View, W: Floats, tile: Floats, value: Floats, unit: float) -> Floats:
        """Return sum_ij W_ij dk/dtheta, (p,), from a tile of the base, in its unit, and the kernel's values."""
        if len(free_values(self)):
            raise self._lacks("derivative in its parameters")
        return np.empty(0)

    def _base_block(self, A: Samples, B: Samples) -> tuple[Floats, float]:
        """Return the base between two collections, and the length it is to be divided by, in true units."""
        tile, unit = self._unit_block(A, B)
        base, length = self.base()
        with np.errstate(over="ignore"):  # the unit squared may be infinite, and zero times it no number
            return (tile * unit * unit if base.kind != "manhattan" else tile * unit), length

    def _unit_block(self, A: Samples, B: Samples) -> tuple[Floats, float]:
        """Return the base between two collections and the unit of length it is in: nothing overflows in it."""
        view = Comparison(self, A, B, np.float64).at(slice(0, len(A)), slice(0, len(B)))
        return view.base(self.base()[0])


class Radial(OneBase, DifferentiatedByTiles, DifferentiatedInInputs):
    """A kernel that depends on the distance alone, k(x, z) = g(|x - z| / l).

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns"
        The unit of distance, one for all columns or one per column (automatic relevance
        determination). "median" takes the median distance between training samples; "columns" takes, for each
        column, its standard deviation times sqrt(d / 2), so that columns count alike whatever their units.
    """

    stationary = True
    normalised = True
    bounded = True
    continuous = True
    constraints = {"length_scale": LENGTH_SCALE}

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale

    def base(self) -> tuple[Base, float]:
        """Return the squared distance; length scales per column are part of it."""
        if type(self.length_scale) is float:  # the usual case
            return _DISTANCE, self.length_scale
        if isinstance(self.length_scale, str):
            raise ParameterError(
                f"{self!r} is not fitted: its length scale is learned from training samples. "
                "Use it in an estimator, call learn(samples), or give a number."
            )
        if np.ndim(self.length_scale) == 0:
            return _DISTANCE, float(self.length_scale)
        return Base("distance", scale=tuple(map(float, self.length_scale))), 1.0

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Replace "median" and "columns" by what they are for the samples."""
        if not isinstance(self.length_scale, str):
            return self
        assert isinstance(S, Vectors)
        if self.length_scale == "columns":
            return self.replace(length_scale=column_lengths(S, weight))
        return self.replace(length_scale=median_distance(S, weight))

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def slope_at(self, tile: Floats, value: Floats, inv_l: float) -> Floats:
        """Return dk/dh for a tile of h where the kernel's values are known, in a new array."""
        return self.slope(tile, inv_l)

    def pull_tile(self, view: View, W: Floats, tile: Floats, value: Floats, unit: float) -> Floats:
        """Return the derivative in the length scale or scales, weighted and summed."""
        base, length = view.comparison.keep(("base", id(self)), self.base)
        G = self.slope_at(tile, value, unit / length)
        G *= W
        if np.ndim(self.length_scale) == 0:
            return np.array([np.vdot(G, tile) * (-2.0 / float(self.length_scale))])
        scales = np.asarray(self.length_scale, dtype=float)
        recipe = view.comparison.recipe(view.path, base)
        if recipe.left.is_sparse or recipe.right.is_sparse:
            X, Z, _ = centred(*view.sides)
            X, Z = X / scales / unit, Z / scales / unit  # in the unit of h, whose squares do not overflow
        else:
            X, Z = recipe.left.points[view.rows], recipe.right.points[view.columns]
        squares = G.sum(axis=1) @ X**2 + G.sum(axis=0) @ Z**2 - 2.0 * np.einsum("id,id->d", X, G @ Z)
        return squares / scales

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk/dh (b_j - a_i) / l^2."""
        h, length = self._base_block(A, B)
        G = W * self.slope(h, 1.0 / length)
        X, Z, _ = centred(A, B)
        gradient = G @ Z - G.sum(axis=1)[:, None] * X
        return gradient if np.ndim(self.length_scale) == 0 else gradient / np.asarray(self.length_scale) ** 2


class Gaussian(Radial):
    r"""Gaussian kernel: similarity fades with the squared distance.

    .. math:: k(x, x') = \exp\!\left(-\|x - x'\|^2 / (2 l^2)\right)

    Seed: [HSS] Eq. (30), [STS] Eq. (18), with ``length_scale`` = sigma. [KIKS] Section 2 and [SS] Section 3.3
    write exp(-d^2 / s^2): there s = sqrt(2) l.

    Parameters
    ----------
    length_scale : float, (d,) array, "median" or "columns", default 1.0
        Distance over which similarity falls to exp(-1/2). Positive.

    Notes
    -----
    Domain Vectors. Features no; frequencies normal; differentiable in parameters and inputs.
    Cost O(mnd) by one matrix product; memory O(mn). Values below 2.2e-308 are returned as zero.

    Examples
    --------
    >>> Gaussian(1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    synonyms = ("radial basis function", "RBF", "squared exponential")
    formula = r"\exp(-\|x - x'\|^2 / (2 l^2))"
    cost = "O(mnd), one matrix product"
    strict = True
    universal = True
    spectral_support = "everything"

    def __init__(self, length_scale: Any = 1.0) -> None:
        self.length_scale = length_scale

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """Return exp(-gamma d^2), as scikit-learn writes it: l = 1 / sqrt(2 gamma).

        Examples
        --------
        >>> Gaussian.from_gamma(0.5)
        Gaussian(1.0)
        """
        if not is_real(gamma) or not 0 < gamma < np.inf:
            raise ParameterError(
                f"Gaussian.from_gamma was given gamma={gamma!r}; gamma must be a finite number greater than zero. "
                "Use 1 / (2 length_scale ** 2)."
            )
        return cls(1.0 / math.sqrt(2.0 * float(gamma)))

    def quick(self, comparison: Comparison) -> Callable[..., Floats] | None:
        """Return how to make a tile or its product in one pass, if exponents are exact enough without a second pass."""
        changed = type(self).tile is not Gaussian.tile or type(self).profile is not Gaussian.profile
        if changed or comparison.is_table(()):  # a subclass has values of its own
            return None
        base, length = self.base()
        recipe = comparison.recipe((), base)
        left, right = recipe.left, recipe.right
        scale = (1.0 / length) ** 2 if length > 1e-150 else math.inf  # its square has no inverse
        if not profiles.is_exact_enough(left, right, scale):
            return None

        def run(rows: slice, columns: slice, V: Floats | None = None) -> Floats:
            comparison.scratch.reset()
            shape = rows.stop - rows.start, columns.stop - columns.start
            tile = comparison.scratch.empty(shape, comparison.dtype)
            if V is None:
                return profiles.gaussian_tile(left, right, (rows, columns), tile, scale)
            return profiles.gaussian_sums(left, right, (rows, columns), tile, V, scale)

        return run

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Replace h by exp(h / l^2)."""
        profiles.exp_scaled(tile, inv_l * inv_l)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return exp(h / l^2) / l^2."""
        return profiles.exp_scaled_slope(tile, inv_l * inv_l)

    def slope_at(self, tile: Floats, value: Floats, inv_l: float) -> Floats:
        """Return exp(h / l^2) / l^2 without a second exponential."""
        square = inv_l * inv_l
        if type(self).slope is not Gaussian.slope or not 0.0 < square < math.inf:
            return self.slope(tile, inv_l)
        return value * square

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw normal frequencies with standard deviation 1 / l."""
        return rng.normal(size=(count, width)) / np.asarray(self.length_scale, dtype=float)

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the normal density with standard deviation 1 / l."""
        s2, logs = in_lengths(omega, self.length_scale)
        return np.exp(logs - 0.5 * omega.shape[1] * math.log(2.0 * math.pi) - 0.5 * s2)

    def log_integral(self, width: int) -> float | None:
        """Return log of (2 pi)^(d/2) times the product of the length scales."""
        return 0.5 * width * math.log(2.0 * math.pi) + log_volume(self.length_scale, width)


class DotProduct(OneBase, DifferentiatedByTiles, DifferentiatedInInputs):
    """A kernel that depends on the dot product alone, k(x, z) = psi(<x, z>)."""

    continuous = True

    def base(self) -> tuple[Base, float]:
        """Return the dot product."""
        return Base("dot"), 1.0

    @abstractmethod
    def apply(self, tile: Floats) -> None:
        """Replace dot products by the kernel's values."""

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Apply the function to dot products, which are in units of ``inv_l`` squared."""
        if inv_l != 1.0:
            with np.errstate(over="ignore"):  # twice, not by the square, which may overflow where 0 must stay 0
                tile *= inv_l
                tile *= inv_l
        self.apply(tile)

    def _diag(self, A: Samples) -> Floats:
        """Apply the function to squared norms."""
        assert isinstance(A, Vectors)
        values = np.array(A.squared_norms, dtype=float)[None, :]
        self.apply(values)
        return values[0]

    def parameter_slopes(self, t: Floats) -> list[Floats]:
        """Return dk/dtheta on a block of dot products, one array per free parameter."""
        if len(free_values(self)):
            raise self._lacks("derivative in its parameters")
        return []

    def pull_tile(self, view: View, W: Floats, tile: Floats, value: Floats, unit: float) -> Floats:
        """Contract the derivative in each free parameter with the weights."""
        with np.errstate(over="ignore"):
            t = tile if unit == 1.0 else tile * unit * unit
        return np.array([float(np.vdot(W, slope)) for slope in self.parameter_slopes(t)])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij psi'(t_ij) b_j."""
        t, _ = self._base_block(A, B)
        return (W * self.slope(t, 1.0)) @ dense(B)


def dense(A: Samples) -> Floats:
    """Return vectors as a dense float64 array."""
    assert isinstance(A, Vectors)
    return np.asarray(A.dense(), dtype=float)


def centred(A: Samples, B: Samples) -> tuple[Floats, Floats, Floats]:
    """Return rows of both sides from the mean of the second, and that mean: differences lose fewer digits."""
    X, Z = dense(A), dense(B)
    center = Z.mean(axis=0)
    return X - center, Z - center, center


def median_distance(S: Vectors, weight: Floats | None = None) -> float:
    """Return the median distance between samples that are not equal, pair (i, j) weighted w_i w_j.

    Up to 1000 rows the median is over all pairs. Beyond, 1000 rows are chosen by their place along a fixed
    direction, evenly in weight, so that neither the order of the rows nor repeating a row instead of
    weighting it changes the choice. All rows equal gives 1.
    """
    w = np.ones(len(S)) if weight is None else np.asarray(weight, dtype=float)
    w = np.ldexp(w, -np.frexp(w.max())[1])  # products of weights must neither overflow nor vanish
    if len(S) > MEDIAN_ROWS:
        S, w = S.take(spaced_rows(S, w, MEDIAN_ROWS)), np.ones(MEDIAN_ROWS)
    probe = _Distance()
    h, unit = probe._unit_block(S, S)
    if np.all(w == w[0]):
        median = _median_root(np.concatenate([np.zeros(0), *(row[i + 1 :] for i, row in enumerate(h))]), None, unit)
    else:
        above = np.triu_indices(len(S), 1)
        median = _median_root(h[above], np.outer(w, w)[above], unit)
    if median is None:
        return 1.0
    if not np.isfinite(median):
        raise DomainError(
            "Input X has a median distance that is too large for floating-point numbers; it must be finite. "
            "Scale the data, for example with StandardScaler."
        )
    return median


def _median_root(h: Floats, weight: Floats | None, unit: float) -> float | None:
    """Return the weighted median of the roots of -2 h that are not zero, in a unit; None if all are."""
    with np.errstate(over="ignore"):
        if weight is None:  # roots have the order of h from its end, and half of the order is enough; h is overwritten
            if unit < 1.0 or np.any(h == 0.0):
                h = h[np.sqrt(-2.0 * h) * unit > 0.0]
            if not len(h):
                return None
            middle = len(h) // 2
            h.partition(middle)
            return float(np.sqrt(-2.0 * h[middle]) * unit)
        root = np.sqrt(-2.0 * h) * unit
    apart = root > 0.0
    if not apart.any():
        return None
    root, weight = root[apart], weight[apart]
    order = np.argsort(root)
    reached = np.cumsum(weight[order])
    return float(root[order][np.searchsorted(reached, 0.5 * reached[-1])])


def spaced_rows(S: Vectors, w: Floats, count: int) -> Indices:
    """Return rows by their place along a fixed direction, evenly in weight; one of much weight comes several times."""
    parts: list[Any] = [part.X for part in S.tiles(_BLOCK)] if S.is_streamed else [without_unused(S.X)]
    direction = np.random.default_rng(0).normal(size=parts[0].shape[1])
    place = np.argsort(np.concatenate([np.asarray(part @ direction) for part in parts]), kind="stable")
    level = np.cumsum(w[place]) / w.sum()
    return place[np.searchsorted(level, (np.arange(count) + 0.5) / count)]


def column_lengths(S: Vectors, weight: Floats | None = None) -> float | tuple[float, ...]:
    """Return the standard deviation of each column times sqrt(d / 2), for d columns that vary.

    With them a Gaussian is scikit-learn's, with gamma="scale", of standardised columns. Of columns that are constant,
    but for rounding, the standard deviation counts as 1. One column gives a number.
    """
    S.require_columns(_LENGTHS, "length scale of each column", "kernel=Gaussian('median')")
    w = np.ones(len(S)) if weight is None else np.asarray(weight, dtype=float)
    w = w / w.sum()
    size = S.largest or 1.0  # squares must not overflow
    mean = np.zeros(S.width)
    for rows, part in _parts(S):
        mean += w[rows] @ (part.X / size)
    variance = np.zeros(S.width)
    for rows, part in _parts(S):
        variance += _spread(part, w[rows], mean, size)
    rounding = (len(S) * np.finfo(np.float64).eps * np.abs(mean)) ** 2
    varies = variance > rounding
    deviation = np.where(varies, size * np.sqrt(np.maximum(variance, 0.0)), 1.0)
    lengths = deviation * np.sqrt(max(int(varies.sum()), 1) / 2.0)
    shown = tuple(float(f"{length:.{_DIGITS}g}") for length in lengths)
    return shown[0] if S.width == 1 else shown


def _spread(S: Vectors, w: Floats, mean: Floats, size: float) -> Floats:
    """Return the weighted sums of squared differences from the mean, of each column divided by `size`."""
    if isinstance(S.X, np.ndarray):
        return w @ np.square(S.X / size - mean)
    values, columns, starts = S.arrays
    own = np.repeat(w, np.diff(starts))
    stored = np.bincount(columns, own * np.square(values / size - mean[columns]), minlength=S.width)
    rest = w.sum() - np.bincount(columns, own, minlength=S.width)  # what is not stored is zero
    return stored + np.maximum(rest, 0.0) * mean**2


def _parts(S: Vectors) -> Iterator[tuple[slice, Vectors]]:
    """Yield blocks of rows: of a stream one after the other, of what is held so many that copies stay small."""
    start = 0
    for part in S.tiles(_BLOCK):
        yield slice(start, start + len(part)), part
        start += len(part)


class _Distance(Radial):
    """The base alone, to compute distances."""

    def profile(self, tile: Floats, inv_l: float) -> None:
        """Keep the base."""


def log_volume(length_scale: Any, width: int) -> float:
    """Return log of the product of the length scales over all columns."""
    logs = np.log(np.asarray(length_scale, dtype=float))
    return float(logs.sum()) if logs.ndim else width * float(logs)


def in_lengths(omega: Floats, length_scale: Any) -> tuple[Floats, float]:
    """Return |l w|^2 for each frequency, and the log of the product of the length scales."""
    scaled = omega * np.asarray(length_scale, dtype=float)
    return np.einsum("md,md->m", scaled, scaled), log_volume(length_scale, omega.shape[1])

r"""Bochner's theorem: a stationary kernel and the measure of frequencies that it is made of.

Symbols: t = x - x' a difference, omega a frequency (radians per unit of x), v a density, m_i the masses of points a_i.

The convention throughout: k(x, x') is the integral of cos(omega . (x - x')) over the measure, which is symmetric
and has mass k(0). It is made of pieces, each a convolution of points with a density on some of the columns: the measure
of a sum of kernels adds pieces, that of a product convolves them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import optimize

from mercer.arguments import checked
from mercer.arrays import Floats, real_numbers
from mercer.constraints import InstanceOf, Integer
from mercer.errors import ParameterError
from mercer.hilbert.spectral_pieces import Piece, pieces_of
from mercer.kernels.kernel import Kernel

__all__ = ["BochnerTest", "SpectralMeasure", "bochner_test", "spectral_measure"]
__public__ = __all__

_SEARCH = 400  # frequencies on each ray at which a density is evaluated
_FAR = 60.0  # frequencies times length scales up to which it is


@dataclass(frozen=True, eq=False, repr=False)
class SpectralMeasure:
    r"""The measure of frequencies whose characteristic function is a stationary kernel.

    .. math:: k(x, x') = \int \cos\langle \omega, x - x' \rangle \, d\mu(\omega)

    Seed: [HSS] Theorem 8, Eqs. (31)-(32), (65).

    Parameters
    ----------
    kernel : Kernel
        Stationary.
    width : int
        Number of columns d.
    pieces : tuple of Piece
        The measure is their sum.

    Notes
    -----
    Made by `spectral_measure`. Its density is the part that has one with respect to volume in all columns; its atoms
    are points of positive mass; a kernel that reads only some of the columns has a measure on a subspace, which is
    neither and counts in `mass`, `sample` and calls.

    Examples
    --------
    >>> from mercer.hilbert import spectral_measure
    >>> from mercer.kernels import Gaussian
    >>> measure = spectral_measure(2.0 * Gaussian(1.0) + 0.5)
    >>> measure
    <SpectralMeasure of 2.0 * Gaussian(1.0) + Constant(0.5) in 1 column: mass 2.5, density on everything, 1 atom>
    >>> measure.density([[0.0]]).round(3), measure.atoms[1]
    (array([0.798]), array([0.5]))
    """

    kernel: Kernel
    width: int
    pieces: tuple[Piece, ...]

    @property
    def mass(self) -> float:
        """The mass of all frequencies, k(0)."""
        return math.fsum(piece.mass for piece in self.pieces)

    @property
    def has_density(self) -> bool:
        """Whether a part of the measure has a density in all columns that can be evaluated."""
        return any(self._is_dense(piece) and piece.density is not None for piece in self.pieces)

    @property
    def is_absolutely_continuous(self) -> bool:
        """Whether the density, known or not, is all there is."""
        return all(self._is_dense(piece) or piece.mass == 0.0 for piece in self.pieces)

    @property
    def support(self) -> str:
        """Where the mass is: "everything", "open" (a set with inner points), "subspace", "lattice" or "atoms"."""
        words = [piece.support if len(piece.columns) in (0, self.width) else "subspace" for piece in self.pieces]
        order = ("everything", "open", "subspace", "lattice", "atoms")
        return next((word for word in order if word in words), "atoms")

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """Points of positive mass, (q, d), and their masses, (q,)."""
        found = [piece for piece in self.pieces if not piece.columns]
        if not found:
            return np.empty((0, self.width)), np.empty(0)
        return np.vstack([piece.points for piece in found]), np.concatenate([piece.masses for piece in found])

    @cached_property
    def error(self) -> float:
        """Absolute error of the density: rounding where it is a formula, else what quadrature states."""
        return max((piece.error for piece in self.pieces if self._is_dense(piece)), default=0.0)

    @property
    def scale(self) -> Floats:
        """Frequencies per column at which the density has fallen off, (d,); for grids and pictures."""
        wide = np.zeros(self.width)
        for piece in self.pieces:
            spread = np.zeros(self.width)
            spread[list(piece.columns)] = piece.scale
            wide = np.maximum(wide, spread + (np.sqrt(piece.masses @ piece.points**2 / piece.masses.sum() + 0.0)))
        return np.where(wide > 0.0, wide, 1.0)

    def density(self, omega: Any) -> Floats:
        """Return the density at frequencies (m, d), shape (m,); atoms and subspaces are not part of it.

        Raises
        ------
        CapabilityError
            If a part has a density that is not known: a product of kernels of different shape in several columns.
        """
        omega = self._checked(omega)
        total = np.zeros(len(omega))
        for piece in self.pieces:
            if self._is_dense(piece):
                total += piece.density_at(omega, self.kernel)
        return total

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw frequencies (count, d) from the measure divided by its mass."""
        masses = np.array([piece.mass for piece in self.pieces])
        picks = rng.choice(len(masses), size=count, p=masses / masses.sum())
        out = np.empty((count, self.width))
        for place, piece in enumerate(self.pieces):
            rows = np.flatnonzero(picks == place)
            if len(rows):
                out[rows] = piece.sample(rng, len(rows))
        return out

    def __call__(self, t: Any) -> Floats:
        """Return the kernel at differences (m, d): sum over pieces of points' cosines times the density's transform."""
        t = self._checked(t)
        return np.sum([piece.value(t) for piece in self.pieces], axis=0)

    def _is_dense(self, piece: Piece) -> bool:
        return len(piece.columns) == self.width

    def _checked(self, omega: Any) -> Floats:
        found = real_numbers(omega, "omega")
        if found.ndim != 2 or found.shape[1] != self.width:
            raise ParameterError(
                f"An array of shape {found.shape} was given; frequencies and differences are rows of {self.width} "
                f"numbers, (m, {self.width}). Reshape it, for one column with omega[:, None]."
            )
        return found

    def __repr__(self) -> str:
        parts = [f"mass {self.mass:.6g}"]
        if any(map(self._is_dense, self.pieces)):
            parts.append(f"density on {'everything' if self.support == 'everything' else 'an open set'}")
        if any(0 < len(piece.columns) < self.width for piece in self.pieces):
            parts.append("a density on a subspace")
        if count := len(self.atoms[1]):
            parts.append(f"{count} atom{'s' if count > 1 else ''}")
        columns = f"{self.width} column{'s' if self.width > 1 else ''}"
        return f"<SpectralMeasure of {self.kernel!r} in {columns}: {', '.join(parts)}>"


@checked(kernel=InstanceOf(Kernel), width=Integer(1))
def spectral_measure(kernel: Kernel, width: int = 1) -> SpectralMeasure:
    r"""Return the measure of frequencies that a stationary kernel is made of.

    .. math:: k(x, x') = \int \cos\langle \omega, x - x' \rangle \, d\mu(\omega), \qquad \mu(\mathbb{R}^d) = k(0)

    Seed: [HSS] Theorem 8, Eqs. (31)-(33).

    Parameters
    ----------
    kernel : Kernel
        Stationary: a kernel of the distance, a periodic one, sums, products, multiples and powers of such, each perhaps
        on some columns (by number).
    width : int, default 1
        Number of columns of the data.

    Returns
    -------
    measure : SpectralMeasure

    Notes
    -----
    Densities are formulas where there are some. A function of the distance without one is transformed by quadrature, in
    any number of columns, with the error that `SpectralMeasure.error` states; so is the product of two kernels of the
    same shape. What is not a kernel has a signed measure: see `bochner_test`.

    Examples
    --------
    >>> from mercer.hilbert import spectral_measure
    >>> from mercer.kernels import Matern, Periodic
    >>> spectral_measure(Periodic(2.0)).support
    'lattice'
    >>> measure = spectral_measure(Matern(1.5) * Periodic(2.0))  # a bell about every multiple of pi
    >>> measure.density([[0.0], [np.pi], [2 * np.pi]]).round(3)
    array([0.18 , 0.087, 0.024])
    >>> bool(np.isclose(measure([[0.3]])[0], (Matern(1.5) * Periodic(2.0))([[0.0]], [[0.3]])[0, 0]))
    True
    """
    if not isinstance(kernel, Kernel):
        raise ParameterError(f"{kernel!r} was given; a kernel is needed. Use for example mercer.kernels.Gaussian(1.0).")
    if isinstance(width, bool) or not isinstance(width, (int, np.integer)) or width < 1:
        raise ParameterError(f"width={width!r} was given; a number of columns, 1, 2, ..., is needed. Give one.")
    return SpectralMeasure(kernel.check(), int(width), tuple(pieces_of(kernel, tuple(range(width)), int(width))))


@dataclass(frozen=True)
class BochnerTest:
    """What the spectral density says about positive definiteness.

    Attributes
    ----------
    positive : bool
        Whether no frequency with a negative density was found. A negative one proves that the function is not a kernel.
    omega : (d,) array
        Where the density is least.
    density : float
        Its value there.
    error : float
        How far the value may be off.
    proved : bool
        Whether the answer holds for all frequencies: a negative value, or formulas that are nowhere negative.
    """

    positive: bool
    omega: Floats
    density: float
    error: float
    proved: bool


@checked(kernel=InstanceOf(Kernel), width=Integer(1))
def bochner_test(kernel: Kernel, width: int = 1) -> BochnerTest:
    r"""Look for a frequency with a negative density: if there is one, the function is not positive definite.

    Seed: [HSS] Theorem 8: a continuous function of the difference is positive definite if and only if its measure is
    not negative; Proposition 10 (in how many columns a compactly supported one can be).

    Parameters
    ----------
    kernel : Kernel
        A stationary function, kernel or not.
    width : int, default 1
        Number of columns: some functions are kernels in few columns only.

    Returns
    -------
    result : BochnerTest

    Notes
    -----
    Frequencies are checked along eight rays, up to sixty over the length scale; a value counts as negative below
    eight times its error and 1e-12 of the largest.

    Examples
    --------
    >>> from mercer.hilbert import bochner_test
    >>> from mercer.kernels import Epanechnikov, RadialFunction
    >>> bochner_test(Epanechnikov(1.0)).positive
    False
    >>> hat = RadialFunction(lambda r: np.maximum(0.0, 1.0 - r))  # on the line a kernel, in the plane none
    >>> bochner_test(hat, 1).positive, bochner_test(hat, 2).positive
    (True, False)
    """
    measure = spectral_measure(kernel, width)
    signed = [piece for piece in measure.pieces if not piece.is_proved]
    if not signed:
        place = np.full(width, np.inf)
        return BochnerTest(True, place, 0.0, 0.0, True)
    # what is negative on a subspace is so whatever happens elsewhere, so each kind of piece is checked separately
    worst = None
    for columns in {piece.columns for piece in signed}:
        group = [piece for piece in measure.pieces if piece.columns == columns]
        found = _least(group, columns, measure)
        if worst is None or found.density < worst.density:
            worst = found
    assert worst is not None
    return worst


def _least(group: list[Piece], columns: tuple[int, ...], measure: SpectralMeasure) -> BochnerTest:
    """Search the density of all pieces on the same columns for its least value."""
    error = sum(piece.error for piece in group)

    def density(omega: Floats) -> Floats:
        return np.sum([piece.density_at(omega, measure.kernel) for piece in group], axis=0)

    reach = np.max([piece.scale for piece in group], axis=0)
    size = np.concatenate([np.geomspace(1e-2, 1.0, 32), np.linspace(1.0, _FAR, _SEARCH)[1:]])
    alike = all(piece.lengths is not None and not piece.points.any() for piece in group)
    rays = _rays(1 if alike else len(columns), len(columns))
    values = np.array([density(size[:, None] * ray * reach) for ray in rays])
    top = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    i, j = np.unravel_index(np.nanargmin(values), values.shape)
    low, high = size[max(j - 1, 0)], size[min(j + 1, len(size) - 1)]
    best: Any = optimize.minimize_scalar(
        lambda s: float(density(np.array([s * rays[i] * reach]))[0]), bounds=(low, high), method="bounded"
    )
    s, value = (best.x, best.fun) if best.fun < values[i, j] else (size[j], values[i, j])
    place = np.zeros(measure.width)
    place[list(columns)] = s * rays[i] * reach
    negative = value < -8.0 * error - 1e-12 * top
    return BochnerTest(not negative, place, float(value), float(error), bool(negative))


def _rays(kinds: int, d: int) -> Floats:
    """Return directions: the first axis, the diagonal, and some at random; one where all are alike."""
    if kinds == 1:
        return np.eye(1, d)
    others = np.random.default_rng(0).normal(size=(6, d))
    rays = np.vstack([np.eye(1, d), np.ones((1, d)), others])
    return rays / np.linalg.norm(rays, axis=1)[:, None]

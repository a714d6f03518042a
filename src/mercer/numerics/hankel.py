r"""Fourier transforms of functions of the distance, in any number of dimensions, by quadrature.

Symbols: g the function of r = |x|, d the dimension, w = |omega|, S_d = 2 pi^(d/2) / Gamma(d/2) the sphere's surface,
Omega_d(z) = Gamma(d/2) (2/z)^(d/2-1) J_{d/2-1}(z) the mean of cos(<z u, e>) over directions e: cos z in one dimension,
J_0(z) in two, sin(z) / z in three.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from mercer.arrays import Floats

__all__ = ["Panels", "Transform", "direction_mean", "radial_transform", "resolve", "sphere_surface"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = 0.5 + 0.5 * _NODES, 0.5 * _WEIGHTS  # on [0, 1]
_HALVES = np.concatenate([0.5 * _NODES, 0.5 + 0.5 * _NODES])
_HALVED = np.concatenate([0.5 * _WEIGHTS, 0.5 * _WEIGHTS])
_TURN = 6.0  # radians per panel: 16 nodes then have all digits
_NEGLIGIBLE = 1e-17
_FAR = 64.0  # length scales within which a function is resolved; beyond, it is smooth or zero
_OCTAVES = 120  # of distance, for integrals that do not oscillate
_TAIL = 40  # half waves that are summed and extrapolated
_DEEPEST = 48  # halvings of a panel: beyond, its length is lost in rounding
_MOST = 4_000_000  # numbers in a block of waves


class Transform(NamedTuple):
    """Values of a transform, and how far they may be off."""

    values: Floats
    error: float


@dataclass(frozen=True, eq=False)
class Panels:
    """Intervals on each of which a function is as good as a polynomial of degree 15.

    Attributes
    ----------
    edges : (p + 1,) array
        In ascending order; the last one is where the function has ended or is smooth to infinity.
    vanishes : bool
        Whether it is negligible beyond.
    """

    edges: Floats
    vanishes: bool

    def nodes(self, longest: float = math.inf) -> tuple[Floats, Floats]:
        """Return nodes and weights of Gauss's rule on panels not longer than this."""
        lengths = np.diff(self.edges)
        pieces = np.maximum(1, np.ceil(lengths / longest)).astype(int)
        steps = np.repeat(lengths / pieces, pieces)
        place = np.arange(len(steps)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        starts = np.repeat(self.edges[:-1], pieces) + place * steps
        return (starts[:, None] + steps[:, None] * _NODES).ravel(), (steps[:, None] * _WEIGHTS).ravel()

    def interpolant(self, g: Callable[[Floats], Floats], start: float = 0.0) -> Callable[[Floats], Floats]:
        """Return the function as polynomials on the panels; it takes r + start."""
        edges, lengths = self.edges, np.diff(self.edges)
        values = g((edges[:-1, None] + lengths[:, None] * _NODES).ravel()).reshape(len(lengths), -1)
        coefficients = values @ _to_legendre().T

        def evaluate(r: Floats) -> Floats:
            place = np.clip(np.searchsorted(edges, r - start, side="right") - 1, 0, len(lengths) - 1)
            x = 2.0 * ((r - start) - edges[place]) / lengths[place] - 1.0
            return np.polynomial.legendre.legval(x, coefficients[place].T, tensor=False)

        return evaluate

    def upto(self, end: float) -> Panels:
        """Return the panels continued to a farther end, each new one as long as all before it."""
        edges = list(self.edges)
        while edges[-1] < end:
            edges.append(2.0 * edges[-1])
        return Panels(np.array(edges), self.vanishes)


def sphere_surface(d: int) -> float:
    """Return the surface of the unit sphere in d dimensions: 2, 2 pi, 4 pi, ...

    Examples
    --------
    >>> sphere_surface(1), round(sphere_surface(3) / math.pi, 12)
    (2.0, 4.0)
    """
    return 2.0 * math.exp(0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)) if d > 1 else 2.0


def direction_mean(z: Floats, d: int) -> Floats:
    """Return Omega_d(z), the mean of a plane wave over all directions; 1 at z = 0.

    Examples
    --------
    >>> direction_mean(np.array([0.0, np.pi]), 1)
    array([ 1., -1.])
    """
    if d == 1:
        return np.cos(z)
    if d == 2:
        return special.j0(z)
    if d == 3:
        return np.sinc(z / np.pi)
    order = 0.5 * d - 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = math.exp(math.lgamma(0.5 * d)) * (2.0 / z) ** order * special.jv(order, z)
    near = z < 1e-3 * math.sqrt(d)
    return np.where(near, 1.0 - z * z / (2.0 * d) * (1.0 - z * z / (4.0 * (d + 2.0))), values)


def resolve(
    g: Callable[[Floats], Floats],
    scale: float = 1.0,
    end: float = math.inf,
    tolerance: float = 1e-14,
    most: int = 2048,
    size: float | None = None,
) -> Panels:
    """Return panels on which a function on [0, end) is resolved, jumps and kinks included.

    Parameters
    ----------
    g : callable
        Takes and returns an array.
    scale : float
        A length over which the function changes; powers of two about it are tried.
    end : float
        Where the function ends, if it does.
    tolerance : float
        Relative to the size; above the noise of the function.
    most : int
        Panels that are halved at once: where there are more of them, it is noise that is not resolved.
    size : float, optional
        None is the largest value.
    """
    edges = [0.0, min(scale, end)]
    start = abs(float(g(np.zeros(1))[0]))
    top, quiet = (start if math.isfinite(start) else 0.0), 0  # an integrable pole at zero is no size
    while edges[-1] < min(end, _FAR * scale) and quiet < 3:
        a, b = edges[-2], edges[-1]
        largest = float(np.abs(g(a + (b - a) * _HALVES)).max())
        top = max(top, largest)
        quiet = quiet + 1 if largest <= _NEGLIGIBLE * top else 0
        edges.append(min(2.0 * b, end))
    vanishes = quiet >= 3 or edges[-1] >= end
    return Panels(_refined(g, np.array(edges), tolerance * (top if size is None else size), most), vanishes)


def _refined(g: Callable[[Floats], Floats], edges: Floats, allowed: float, most: int) -> Floats:
    """Halve panels until the polynomial through 16 nodes is the function at 32 others."""
    kept: list[Floats] = [edges[:1]]
    left, right = edges[:-1], edges[1:]
    whole = edges[-1]
    interpolate = np.polynomial.legendre.legvander(2.0 * _HALVES - 1.0, 15) @ _to_legendre()
    for _ in range(_DEEPEST):
        if not len(left) or len(left) > most:
            break
        lengths = right - left
        coarse = g((left[:, None] + lengths[:, None] * _NODES).ravel()).reshape(len(left), -1)
        fine = g((left[:, None] + lengths[:, None] * _HALVES).ravel()).reshape(len(left), -1)
        miss = np.abs(coarse @ interpolate.T - fine).max(axis=1) * np.minimum(1.0, 64.0 * lengths / whole)
        bad = miss > allowed
        kept.append(right[~bad])
        middle = 0.5 * (left[bad] + right[bad])
        left, right = np.concatenate([left[bad], middle]), np.concatenate([middle, right[bad]])
    kept.append(right)
    return np.unique(np.concatenate(kept))


def _to_legendre() -> Floats:
    """Return the matrix that takes values at the 16 nodes to coefficients of Legendre polynomials."""
    return np.linalg.inv(np.polynomial.legendre.legvander(2.0 * _NODES - 1.0, 15))


def radial_transform(
    g: Callable[[Floats], Floats], w: Floats, d: int = 1, *, scale: float = 1.0, end: float = math.inf
) -> Transform:
    r"""Return the density whose characteristic function is a function of the distance.

    .. math:: v(\omega) = (2 \pi)^{-d} \int g(|x|) \cos\langle \omega, x \rangle \, dx
        = \frac{S_d}{(2 \pi)^d} \int_0^\infty g(r) \, r^{d-1} \, \Omega_d(w r) \, dr

    Seed: [HSS] Eq. (32) inverted.

    Parameters
    ----------
    g : callable
        Takes an array of r >= 0 and returns one of the same shape. It may have kinks and jumps.
    w : (m,) array
        Sizes of frequencies, in radians per unit of distance.
    d : int
        The dimension.
    scale : float
        A distance over which g changes.
    end : float
        g is zero from here on; infinite if it never ends.

    Returns
    -------
    values : (m,) array
        Infinite where the integral is: at w = 0 if g falls too slowly.
    error : float
        Absolute, estimated by halving all steps.

    Notes
    -----
    Gauss's rule on panels that resolve g and the waves; where g falls so slowly that it has not ended after 64
    scales, the remaining half waves, an alternating series, are summed by repeated averages. Cost proportional to the
    number of waves within 64 scales.

    Examples
    --------
    >>> values, error = radial_transform(lambda r: np.exp(-r), np.array([0.0, 1.0]))
    >>> (values * np.pi).round(12)
    array([1. , 0.5])
    """
    w = np.abs(np.asarray(w, dtype=float))
    values = np.empty(w.shape)
    panels, worst = resolve(g, scale, end), 0.0
    factor = math.exp(math.log(sphere_surface(d)) - d * math.log(2.0 * math.pi))
    least = 1e-6 / panels.edges[-1]
    octave = np.floor(np.log2(np.maximum(w, least)))
    for one in np.unique(octave):
        members = np.flatnonzero(octave == one)
        values[members], error = _group(g, w[members], d, panels)
        worst = max(worst, error)
    return Transform(factor * values, factor * worst)


def _group(g: Callable[[Floats], Floats], w: Floats, d: int, panels: Panels) -> tuple[Floats, float]:
    """Return the integrals for frequencies of one octave, and by how much the finest rule differs from a coarser."""
    if not panels.vanishes and float(w.max()) * panels.edges[-1] <= 2e-6:
        value, error = _steady(g, d, panels)
        return np.full(len(w), value), error
    if not panels.vanishes:
        panels = panels.upto(8.0 * math.pi / float(w.min()))
    longest = _TURN / max(float(w.max()), 1e-300)
    values = _waves(g, w, d, panels, longest)
    probes = np.unique([0, len(w) - 1])
    error = float(np.abs(_waves(g, w[probes], d, panels, 0.6 * longest) - values[probes]).max())
    if panels.vanishes:
        return values, error
    tails, doubt = _tails(g, w, d, float(panels.edges[-1]))
    return values + tails, max(error, doubt)


def _waves(g: Callable[[Floats], Floats], w: Floats, d: int, panels: Panels, longest: float) -> Floats:
    """Integrate g(r) r^(d-1) Omega_d(w r) over all panels."""
    r, weights = panels.nodes(longest)
    weighted = weights * g(r) * r ** (d - 1)
    step = max(1, _MOST // max(1, len(r)))
    parts = [direction_mean(w[i : i + step, None] * r, d) @ weighted for i in range(0, len(w), step)]
    return np.concatenate(parts)


def _steady(g: Callable[[Floats], Floats], d: int, panels: Panels) -> tuple[float, float]:
    """Integrate g(r) r^(d-1) to infinity by octaves; infinite if they do not fall."""
    r, weights = panels.nodes()
    total, end = float(np.sum(weights * g(r) * r ** (d - 1))), float(panels.edges[-1])
    parts: list[float] = []
    doubt = 0.0
    for _ in range(_OCTAVES):
        once, twice = (
            float(np.sum(end * rule * g(r) * r ** (d - 1)))
            for r, rule in ((end + end * _NODES, _WEIGHTS), (end + end * _HALVES, _HALVED))
        )
        parts.append(twice)
        doubt += abs(once - twice)  # of a function that is not smooth beyond the panels, as a power of sin(r) / r
        end *= 2.0
        if abs(parts[-1]) <= 1e-17 * abs(total):
            return total + math.fsum(parts), doubt + 1e-15 * abs(total)
        if len(parts) > 30 and abs(parts[-1]) >= (1.0 - 1e-9) * abs(parts[-10]):
            return math.inf, 0.0
    ratio = parts[-1] / parts[-2]  # octaves of a power of r are a geometric series
    rest = parts[-1] * ratio / (1.0 - ratio)
    return total + math.fsum(parts) + rest, doubt + abs(rest)


def _tails(g: Callable[[Floats], Floats], w: Floats, d: int, start: float) -> tuple[Floats, float]:
    """Return the integrals beyond a place where g is smooth: half waves, summed by extrapolation."""
    once, twice = (_half_waves(g, w, d, start, *rule) for rule in ((_NODES, _WEIGHTS), (_HALVES, _HALVED)))
    best, before = _extrapolated(twice), _extrapolated(twice[:, :-2])
    unresolved = np.abs(np.diff(once - twice, axis=1, prepend=0.0)).sum(axis=1)  # as in `_steady`
    return best, float(np.maximum(np.abs(best - before), unresolved).max())


def _half_waves(
    g: Callable[[Floats], Floats], w: Floats, d: int, start: float, nodes: Floats, weights: Floats
) -> Floats:
    """Return partial sums of the integrals over half waves, (m, 40), by a rule on [0, 1]."""
    half = math.pi / w
    r = start + half[:, None, None] * (np.arange(_TAIL)[:, None] + nodes)
    values = np.asarray(g(r.ravel())).reshape(r.shape) * r ** (d - 1) * direction_mean(w[:, None, None] * r, d)
    return np.cumsum((values @ weights) * half[:, None], axis=1)


def _extrapolated(sums: Floats) -> Floats:
    """Return the limits of rows of partial sums of alternating series by repeated averages."""
    table = sums[:, len(sums[0]) // 3 :]
    while table.shape[1] > 1:
        table = 0.5 * (table[:, 1:] + table[:, :-1])
    return table[:, 0]
